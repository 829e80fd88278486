"""Step output in the platform's bucket, under the platform's key.

The bucket refuses every object that does not name the key (its policy), and Dagster's own manager cannot look the key
up: this one finds it by its alias, as everything else does, when it first uploads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import boto3
from dagster import Field, StringSource
from dagster._config.config_schema import UserConfigSchema
from dagster._core.storage.compute_log_manager import ComputeIOType
from dagster._serdes.config_class import ConfigurableClassData
from dagster_aws.s3.compute_log_manager import S3ComputeLogManager

from resources.keys import Keys


class KeyedS3ComputeLogManager(S3ComputeLogManager):
    """Dagster's S3 compute logs, encrypted (SSE-KMS) with the key behind ``key_alias``."""

    def __init__(self, key_alias: str, inst_data: ConfigurableClassData | None = None, **options: Any):
        super().__init__(inst_data=inst_data, **options)
        self._keys = Keys(boto3.client("kms", endpoint_url=options.get("endpoint_url")), key_alias)

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """As Dagster's, and ``key_alias`` (``alias/…``); what the objects are encrypted with is not for the caller."""
        fields = dict(super().config_type())  # type: ignore[no-untyped-call]
        del fields["upload_extra_args"]
        return {**fields, "key_alias": Field(StringSource)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> KeyedS3ComputeLogManager:
        """Made by Dagster from the instance's configuration."""
        return cls(inst_data=inst_data, **config_value)

    def _upload_file_obj(self, data: IO[bytes], log_key: Any, io_type: ComputeIOType, partial: bool = False) -> None:
        self._upload_extra_args = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": self._keys.arn}
        super()._upload_file_obj(data, log_key, io_type, partial)
