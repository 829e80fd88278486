"""Documents, their base, lease and log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from api import models as m
from api.context import Calling, Own, Owning
from api.errors import ApiError
from pdf.errors import PdfError
from pdf.tagging.ops import parse
from resources.documents import Document
from resources.errors import Code, StoreError
from resources.log import canonical
from resources.publication import address

router = APIRouter()
#: Most records that one read of the log answers with, and about how many bytes.
MAX_READ, MAX_READ_BYTES = 1000, 4 << 20


def shown(found: Own | Calling, document: Document) -> m.DocumentOut:
    """A document with its public address."""
    key = document.published_key
    return m.DocumentOut.of(document, address(found.settings.public_base_url, key) if key else None)


@router.post("", status_code=201, summary="Create a document")
def create(who: Calling, body: m.Create) -> m.DocumentOut:
    """It waits for its base (`awaiting_base`)."""
    return shown(who, who.store.documents.create(who.user, body.title))


@router.get("", summary="List my documents")
def mine(
    who: Calling,
    after: Annotated[str, Query(pattern=f"^({m.ID})?$")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> m.Listed:
    """In the order of their ids, a page at a time."""
    ids = list(who.store.documents.owned(who.user, after, limit + 1))
    out = [shown(who, document) for document in who.store.documents.get_many(ids[:limit])]
    return m.Listed(documents=out, next=ids[limit - 1] if len(ids) > limit else None)


@router.get("/{docId}", summary="A document")
def read(of: Owning) -> m.DocumentOut:
    """As it stands."""
    return shown(of, of.document)


@router.delete("/{docId}", status_code=204, summary="Delete a document")
def delete(of: Owning) -> None:
    """Everything of it, in every version. What fails half-way is finished by the same call again."""
    of.store.deletion.delete(of.id, of.user)


@router.post("/{docId}/base/upload-url", summary="Where the base goes")
def base_url(of: Owning, body: m.Bytes) -> m.SignedOut:
    """An address for exactly these bytes. Only while the document awaits its base."""
    if of.document.status != "awaiting_base":
        raise StoreError(Code.NOT_READY, "The document does not wait for a base.")
    return m.SignedOut.of(of.store.uploads.put(base_key(of.id), body.sha256, body.size))


@router.post("/{docId}/base/commit", summary="Commit the base (version 0)")
def base_commit(of: Owning, body: m.Bytes) -> m.DocumentOut:
    """The object must be there with exactly this size and SHA-256. Repeated, it changes nothing."""
    if of.document.status == "deleting":
        raise StoreError(Code.NOT_READY, "The document is being deleted.")
    found = of.store.objects.head(base_key(of.id))
    if found is None:
        raise StoreError(Code.OBJECT_MISSING, "The base is not uploaded yet.")
    if (found.sha256, found.size) != (body.sha256, body.size):
        raise StoreError(Code.OBJECT_CHANGED, "What was uploaded is not what is to be committed.")
    made = of.store.documents.set_base(of.id, 1, found, 0, None, "fast")
    return shown(of, made)


@router.post("/{docId}/lease", summary="Take or keep the lease")
def hold(of: Owning, body: m.Hold) -> m.LeaseOut:
    """The heartbeat too: send it every 15 s; the lease ends 45 s after the last."""
    if of.document.status == "deleting":
        raise StoreError(Code.NOT_READY, "The document is being deleted.")
    return m.LeaseOut(expires_at=of.store.documents.acquire_lease(of.id, of.user, body.session_id))


@router.delete("/{docId}/lease", status_code=204, summary="Give the lease back")
def release(of: Owning, session_id: Annotated[m.Session, Query(alias="sessionId")]) -> None:
    """One that another session holds by now is left alone."""
    of.store.documents.release_lease(of.id, of.user, session_id)


@router.post("/{docId}/ops", summary="Append ops")
def append(of: Owning, body: m.Append) -> m.AppendOut:
    """All or none. The same batch again answers `duplicate: true`; one that comes too late, SEQ_CONFLICT."""
    for place, record in enumerate(body.ops, body.base_seq + 1):
        if record.get("author") != of.user:
            raise StoreError(Code.OP_INVALID, f"Op {place} must have its caller as author.")
        try:
            parse(canonical(record), f"op {place}")
        except PdfError as error:
            raise ApiError(422, str(Code.OP_INVALID), error.message) from error
    done = of.store.log.append(of.id, body.base_seq, body.ops, body.session_id)
    return m.AppendOut(head_seq=done.head_seq, duplicate=done.duplicate)


@router.get("/{docId}/ops", summary="Read the log")
def ops(
    of: Owning,
    first: Annotated[int, Query(ge=1, le=2**53 - 1, alias="from")] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_READ)] = 100,
) -> m.OpsOut:
    """Records from a seq on. Fewer than asked for where they are large: go on from `next`."""
    last = min(of.document.head_seq, first + limit - 1)
    out, size = [], 0
    for record in of.store.log.read(of.id, first, last) if last >= first else ():
        out.append(dict(record))
        size += len(canonical(record))
        if size >= MAX_READ_BYTES:
            break
    reached = first + len(out)
    return m.OpsOut(ops=out, next=reached if reached <= of.document.head_seq and out else None)


def base_key(doc: str) -> str:
    """Where a document's base lies."""
    return f"docs/{doc}/base.pdf"
