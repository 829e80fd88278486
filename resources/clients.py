"""AWS clients, with their time-outs and retries written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from resources.settings import Settings

#: boto's own retries for throttling and service errors. Longer trouble is the business of a stage's retry (spec: 10 s,
#: then ×2.5), which does not keep a connection open meanwhile.
CONFIG = Config(
    connect_timeout=5,
    read_timeout=60,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=32,
    # Checksums are given by us where they matter; S3 checks them.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


@dataclass(frozen=True)
class Clients:
    """One client a service, shared by all threads of a process (boto3 clients are thread-safe)."""

    s3: Any
    dynamodb: Any
    sqs: Any
    kms: Any
    sns: Any


def make_clients(settings: Settings, session: boto3.Session | None = None) -> Clients:
    """Clients for the region and endpoint of the settings; credentials as boto3 finds them."""
    session = session or boto3.Session()
    # Signed addresses for objects under our own key need signature version 4, whatever the region's default is.
    style = {"addressing_style": "path"} if settings.aws_endpoint_url else {}
    s3_config = CONFIG.merge(Config(signature_version="s3v4", s3=style))

    def client(name: str, config: Config = CONFIG) -> Any:
        return session.client(
            name, region_name=settings.aws_region, endpoint_url=settings.aws_endpoint_url, config=config
        )

    return Clients(client("s3", s3_config), client("dynamodb"), client("sqs"), client("kms"), client("sns"))
