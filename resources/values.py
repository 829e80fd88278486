"""Small values that cross rooms: references to objects, clocks, ids."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


@dataclass(frozen=True)
class ObjectRef:
    """Exactly these bytes: an object at a pinned VersionId, with its SHA-256 (hex) and size in bytes."""

    key: str
    version_id: str
    sha256: str
    size: int


class Clock(Protocol):
    """Seconds since 1970."""

    def __call__(self) -> float: ...


def system_clock() -> float:
    """This machine's clock."""
    return time.time()


def iso(seconds: float) -> str:
    """A time as ISO 8601 in UTC with milliseconds: sorts as it passes."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_token() -> str:
    """A random token nobody can guess."""
    return uuid.uuid4().hex


def document_id(bucket: str, key: str) -> str:
    """The id of an object that simply appears under ``incoming/``: the same key is always the same document."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"s3://{bucket}/{key}"))
