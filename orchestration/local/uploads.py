"""Uploading PDFs to ``incoming/`` as any S3 client would: one PutObject a file, nothing the platform relies on.

The only thing of ours is optional metadata that holds the file's SHA-256, by which a later start sees that the same
bytes are there already and leaves them alone. An object that somebody else uploaded has none, and is replaced by a new
version: that is what uploading again means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from botocore.exceptions import ClientError

PREFIX = "incoming/"
HASH = "content-sha256"


class S3(Protocol):
    """What is used of a boto3 S3 client."""

    def head_object(self, **arguments: Any) -> dict[str, Any]: ...
    def put_object(self, **arguments: Any) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Upload:
    """A file and the key it goes to. ``fresh``: it was uploaded now, not found from an earlier start."""

    name: str
    key: str
    path: Path
    size: int
    fresh: bool = False


def find(source: Path) -> list[Upload]:
    """The files to upload: a PDF, or every PDF below a folder; of the samples, those that ``expected.json`` names.

    Raises ``FileNotFoundError`` where there is none. Sub-folders become part of the key: a folder is one job.
    """
    if source.is_file():
        paths = [(source.name, source)]
    elif (source / "expected.json").is_file():
        names = json.loads((source / "expected.json").read_text(encoding="utf-8"))
        paths = [(name, source / name) for name in names]
    else:
        paths = sorted(
            (path.relative_to(source).as_posix(), path)
            for path in source.rglob("*")
            if path.is_file() and path.suffix.lower() == ".pdf"
        )
    if not paths:
        raise FileNotFoundError(f"no PDF in {source}" if source.exists() else f"there is no {source}")
    return [Upload(name, PREFIX + name, path, path.stat().st_size) for name, path in paths]


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def upload(s3: S3, bucket: str, file: Upload) -> Upload:
    """Upload a file unless its key holds the same bytes already; says which in ``fresh``."""
    digest = sha256(file.path)
    try:
        there = s3.head_object(Bucket=bucket, Key=file.key)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
            raise
    else:
        if there["ContentLength"] == file.size and there.get("Metadata", {}).get(HASH) == digest:
            return file
    with file.path.open("rb") as body:
        s3.put_object(Bucket=bucket, Key=file.key, Body=body, ContentType="application/pdf", Metadata={HASH: digest})
    return Upload(file.name, file.key, file.path, file.size, fresh=True)


def upload_all(s3: S3, bucket: str, files: Sequence[Upload]) -> list[Upload]:
    """Upload files one after the other, as a person's client does."""
    return [upload(s3, bucket, file) for file in files]
