"""Uploading PDFs to ``incoming/`` as any S3 client would: one PutObject a file, nothing the platform relies on.

The only thing of ours is optional metadata that holds the file's SHA-256, by which a later start sees that the same
bytes are there already and leaves them alone. An object that somebody else uploaded has none, and is replaced by a new
version: that is what uploading again means. Housekeeping removes an upload a day after its publication; so the console
remembers what it uploaded, and does not upload again what has been published.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
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
    """A file and the key it goes to. ``fresh``: it was uploaded now, not found from an earlier start. ``at``: when it
    was uploaded, seconds since 1970."""

    name: str
    key: str
    path: Path
    size: int
    fresh: bool = False
    version_id: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class Memory:
    """What was uploaded to a key: its SHA-256, the VersionId that S3 gave it, and when."""

    sha256: str
    version_id: str
    at: float


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


class Uploader:
    """Uploads files to a bucket.

    Args:
        memory: the file that remembers what was uploaded, by key.
        published: whether the platform has published this VersionId of this key.
        clock: seconds since 1970.
    """

    def __init__(
        self, s3: S3, bucket: str, memory: Path, published: Callable[[str, str], bool], clock: Callable[[], float]
    ):
        self._s3, self._bucket = s3, bucket
        self._published, self._clock = published, clock
        self._path = memory
        stored = json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else {}
        self._memory = {key: Memory(**value) for key, value in stored.items()}

    def upload(self, file: Upload) -> Upload:
        """Upload a file unless its key holds the same bytes already; says which in ``fresh``."""
        digest = sha256(file.path)
        known = self._memory.get(file.key)
        try:
            there = self._s3.head_object(Bucket=self._bucket, Key=file.key)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
                raise
            if known is not None and known.sha256 == digest and self._published(file.key, known.version_id):
                return replace(file, version_id=known.version_id, at=known.at)
        else:
            if there["ContentLength"] == file.size and there.get("Metadata", {}).get(HASH) == digest:
                at = known.at if known and known.version_id == there["VersionId"] else there["LastModified"].timestamp()
                return replace(file, version_id=there["VersionId"], at=at)
        at = self._clock()
        with file.path.open("rb") as body:
            answer = self._s3.put_object(
                Bucket=self._bucket, Key=file.key, Body=body, ContentType="application/pdf", Metadata={HASH: digest}
            )
        self._remember(file.key, Memory(digest, answer["VersionId"], at))
        return replace(file, fresh=True, version_id=answer["VersionId"], at=at)

    def _remember(self, key: str, memory: Memory) -> None:
        self._memory[key] = memory
        unfinished = self._path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({key: asdict(value) for key, value in self._memory.items()}, indent=1))
        unfinished.replace(self._path)

    def upload_all(self, files: Sequence[Upload]) -> list[Upload]:
        """Upload files one after the other, as a person's client does."""
        return [self.upload(file) for file in files]
