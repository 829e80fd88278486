"""What the assets hand to one another: references to stored objects, pinned by VersionId and SHA-256, and small facts.

A reference is enough to find and to check the bytes, never the bytes. `REFERENCES` is the closed set of kinds that may
cross from one step to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from pdf.inspect import Inspection
from resources.values import ObjectRef


@dataclass(frozen=True)
class UploadedPdf:
    """A source that may go on: stored, readable, within the limits, its lane decided."""

    document: str
    revision: int
    generation: int
    lane: str
    source: ObjectRef
    inspection: Inspection


@dataclass(frozen=True)
class OptimizedPdf:
    """The base of a revision (version 0): optimized, its fonts repaired; what every op log of it refers to.

    ``maker`` is the version of the code that made it; ``pixel_changes_reason`` says why pages may look different from
    the source, None where they must not.
    """

    document: str
    revision: int
    generation: int
    base: ObjectRef
    source_sha256: str
    pages: int
    inspection: Inspection
    pixel_changes_reason: str | None
    maker: str


@dataclass(frozen=True)
class ChunkTask:
    """Pages ``first`` to ``last - 1`` of a base, to be analyzed; the document has ``count`` chunks, ``pages`` pages."""

    document: str
    revision: int
    generation: int
    base: ObjectRef
    index: int
    count: int
    pages: int
    first: int
    last: int


@dataclass(frozen=True)
class Chunk:
    """The stored analysis of pages ``first`` to ``last - 1``."""

    index: int
    first: int
    last: int
    stored: ObjectRef
    base_sha256: str
    engine: str
    reused: bool


@dataclass(frozen=True)
class ChunkManifest:
    """Every chunk of a base, in order: pages 0 to ``pages - 1`` exactly once."""

    document: str
    revision: int
    generation: int
    base_sha256: str
    pages: int
    engine: str
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class AssembledDocument:
    """A stored, committed version made by replaying the document's log, waiting for verification."""

    document: str
    revision: int
    generation: int
    version: int
    stored: ObjectRef
    up_to_seq: int
    pages: int
    figures_waiting: int


@dataclass(frozen=True)
class VerifiedVersion:
    """A settled verdict. The verification record in the store is the truth; this says where it is."""

    document: str
    revision: int
    generation: int
    version: int
    sha256: str
    verdict: str
    report_key: str


@dataclass(frozen=True)
class PublishedVersion:
    """What readers get: the published object of a revision, and the version it was copied from."""

    document: str
    revision: int
    version: int
    stored: ObjectRef
    published_at: str


REFERENCES: tuple[type, ...] = (
    UploadedPdf,
    OptimizedPdf,
    ChunkTask,
    Chunk,
    ChunkManifest,
    AssembledDocument,
    VerifiedVersion,
    PublishedVersion,
)
