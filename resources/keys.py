"""The platform's KMS key: found by its alias, so that no key id is configured anywhere."""

from __future__ import annotations

import functools
from typing import Any

from botocore.exceptions import ClientError

from resources.errors import Code, StoreError


class Keys:
    """The key behind an alias."""

    def __init__(self, client: Any, alias: str) -> None:
        self.client = client
        self.alias = alias

    @functools.cached_property
    def arn(self) -> str:
        """The key's ARN, asked for once. Raises StoreError NOT_CONFIGURED where there is no such key."""
        try:
            found: str = self.client.describe_key(KeyId=self.alias)["KeyMetadata"]["Arn"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "NotFoundException":
                raise
            raise StoreError(Code.NOT_CONFIGURED, f"There is no key {self.alias}: is the stack provisioned?") from error
        return found
