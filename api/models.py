"""What calls say and answers hold, camelCase on the wire. What is too much or of another kind is refused with 422."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pdf.errors import Code as PdfCode
from resources.documents import Document
from resources.errors import Code
from resources.uploads import Signed
from resources.versions import Version

#: A document's id.
ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the bytes, hexadecimal")]
Session = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{8,64}$", description="Random id of one editing session")]
Title = Annotated[str, Field(min_length=1, max_length=500)]
#: Nothing larger is a number anybody means; DynamoDB and JavaScript still hold it exactly.
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Size = Annotated[int, Field(ge=1, le=5 << 30, description="Bytes")]
Why = Annotated[str, Field(min_length=3, max_length=2000, description="Why, for the audit")]


#: Codes whose sentences are about the document, or about what its owner did. Others may quote what the platform met.
SAYABLE = (frozenset(PdfCode) - {PdfCode.TOOL_FAILED}) | frozenset(
    (
        *(Code.CANCELLED, Code.SUPERSEDED, Code.OWNER_REVOKED, Code.OVER_BUDGET, Code.COST_CEILING),
        *("NEEDS_REVIEW", "RUN_LOST", "RUN_CANCELLED", "RUN_INCOMPLETE"),
    )
)


def safe(code: str | None, reason: str | None) -> str | None:
    """A reason that is safe to show to a caller: the inside of the platform is for its operators."""
    if code is None or code in SAYABLE:
        return reason
    return "The platform could not do this. Its operators see why under this code."


class Wire(BaseModel):
    """The form of everything on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class Create(Wire):
    """A document to be made."""

    title: Title


class Bytes(Wire):
    """What is going to be uploaded."""

    sha256: Sha256
    size: Size


class Hold(Wire):
    """A lease to be taken or kept."""

    session_id: Session


class Append(Wire):
    """Ops to be appended after `baseSeq`. Each is a record of docs/ops.schema.json; its author is the caller."""

    base_seq: Count
    session_id: Session
    ops: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)]


class Save(Wire):
    """A version to be made of the log up to `upToSeq`: the bytes that replaying it gave."""

    up_to_seq: Count
    sha256: Sha256
    size: Size
    session_id: Session
    figures_waiting: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class Reason(Wire):
    """Why somebody does this."""

    why: Why


class Authorize(Wire):
    """A source that a caller wants to upload. `docId` of one's own document: a replacement of its source."""

    file_name: Annotated[str, Field(min_length=5, max_length=255)]
    content_type: Annotated[str, Field(max_length=100)]
    size: Size
    sha256: Sha256
    title: Title
    external_code: Annotated[str, Field(max_length=200)] = ""
    doc_id: Annotated[str, Field(max_length=36)] | None = None
    part_sha256: Annotated[
        list[Sha256], Field(max_length=200, description="From 100 MiB on: the SHA-256 of each 32 MiB part")
    ] = []


class Confirm(Wire):
    """An upload that is done. `etags`: what S3 answered for each part, in order."""

    etags: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=200)] = []


class DocumentOut(Wire):
    """A document as its owner sees it."""

    id: str
    title: str
    status: str
    source_revision: int
    base_sha256: str | None
    base_size: int | None
    pages: int
    log_start: int
    head_seq: int
    latest_version: int
    active_version: int
    published_url: str | None
    outcome: str | None
    code: str | None
    reason: str | None

    @classmethod
    def of(cls, found: Document, url: str | None) -> DocumentOut:
        """From the store's."""
        return cls(
            id=found.id,
            title=found.title,
            status=found.status,
            source_revision=found.source_revision,
            base_sha256=found.base.sha256 if found.base else None,
            base_size=found.base.size if found.base else None,
            pages=found.pages,
            log_start=found.log_start,
            head_seq=found.head_seq,
            latest_version=found.latest_version,
            active_version=found.active_version,
            published_url=url,
            outcome=found.outcome,
            code=found.code,
            reason=safe(found.code, found.reason),
        )


class Listed(Wire):
    """A page of one's documents. `next`: what to ask for as `after`, if there is more."""

    documents: list[DocumentOut]
    next: str | None


class SignedOut(Wire):
    """An address that works for `seconds`, with exactly these headers."""

    method: str
    url: str
    headers: dict[str, str]
    seconds: int

    @classmethod
    def of(cls, found: Signed) -> SignedOut:
        """From the store's."""
        return cls(method=found.method, url=found.url, headers=dict(found.headers), seconds=found.seconds)


class LeaseOut(Wire):
    """A lease. Clients renew it every 15 s."""

    expires_at: Annotated[int, Field(description="Epoch milliseconds")]


class AppendOut(Wire):
    """Where the log is now."""

    head_seq: int
    duplicate: bool


class OpsOut(Wire):
    """Records of the log. `next`: the seq to go on from, if there is more."""

    ops: list[dict[str, Any]]
    next: int | None


class VersionOut(Wire):
    """A saved version. `verification` is there when its verdict is."""

    version: int
    status: str
    revision: int
    up_to_seq: int
    sha256: str
    size: int
    attempts: int
    published: bool
    figures_waiting: int
    verification: dict[str, Any] | None

    @classmethod
    def of(cls, found: Version) -> VersionOut:
        """From the store's."""
        return cls(
            version=found.number,
            status=found.status,
            revision=found.revision,
            up_to_seq=found.up_to_seq,
            sha256=found.sha256,
            size=found.size,
            attempts=found.attempts,
            published=found.published is not None,
            figures_waiting=found.figures_waiting,
            verification=dict(found.verification) if found.verification is not None else None,
        )


class SavedOut(Wire):
    """A version that waits for its bytes, and where they go."""

    version: VersionOut
    upload: SignedOut | None


class VersionsOut(Wire):
    """All versions, oldest first."""

    versions: list[VersionOut]


class AuthorizedOut(Wire):
    """Where a source goes: one address, or one a part."""

    doc_id: str
    upload_id: str
    uploads: list[SignedOut]


class WorkOut(Wire):
    """The work on a document's source."""

    state: str
    generation: int
    revision: int
    attempts: int
    lane: str
    code: str | None
    reason: str | None


class Batch(Wire):
    """Documents whose work is to be tried again together. `batchId` is the caller's: said again, it is the same."""

    batch_id: UUID
    doc_ids: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=100)]


class BatchItem(Wire):
    """Whether a document was queued, or why not."""

    doc_id: str
    queued: bool
    code: str | None
    reason: str | None


class BatchQueued(Wire):
    """What a batch came to."""

    batch_id: str
    items: list[BatchItem]


class BatchState(Wire):
    """A document of a batch: queued, running, succeeded, failed, or moved (deleted, or taken up elsewhere)."""

    doc_id: str
    state: str
    code: str | None
    reason: str | None


class BatchOut(Wire):
    """A batch as it is."""

    batch_id: str
    status: str
    all_succeeded: bool
    items: list[BatchState]


class Problem(Wire):
    """An error: its stable code, a sentence, and facts by which to go on."""

    model_config = ConfigDict(extra="allow")
    code: str
    message: str


class ErrorOut(Wire):
    """The one shape of an error."""

    error: Problem


class HealthOut(Wire):
    """What is there and what is missing."""

    status: str
    missing: list[str]
