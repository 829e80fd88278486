"""Sources that callers upload, and the work on them: authorize, confirm, look, cancel, try again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from api import models as m
from api.context import Calling, Owning, owned
from resources.errors import Code, StoreError
from resources.store import Store
from resources.work import CANCELLED, REMEDIATE, Row, Source

router = APIRouter()


@router.post("/uploads", status_code=201, summary="Authorize an upload")
def authorize(who: Calling, body: m.Authorize) -> m.AuthorizedOut:
    """Bytes go straight to S3, to an address for exactly them. With `docId`, they replace that document's source."""
    store = who.store
    if not body.file_name.lower().endswith(".pdf") or body.content_type != "application/pdf":
        raise StoreError(Code.UPLOAD_INVALID, "Only PDF is taken: a name that ends with .pdf, and application/pdf.")
    if body.size > who.settings.max_source_mb << 20:
        raise StoreError(Code.UPLOAD_INVALID, f"The most is {who.settings.max_source_mb} MB.")
    if body.doc_id is None:
        doc = store.documents.create(who.user, body.title).id
    else:
        document = owned(who, body.doc_id).document
        if document.status == "deleting" or (document.base is not None and store.work.get(document.id) is None):
            raise StoreError(Code.NOT_READY, "The document takes no source: it was opened with a base of its own.")
        doc = document.id
    made = store.uploads.authorize(doc, body.sha256, body.size, body.title, body.external_code, body.part_sha256)
    uploads = [m.SignedOut.of(one) for one in store.uploads.addresses(made)]
    return m.AuthorizedOut(doc_id=doc, upload_id=made.id, uploads=uploads)


@router.post("/{docId}/uploads/{uploadId}/confirm", summary="Confirm an upload")
def confirm(of: Owning, upload_id: Annotated[str, Path(alias="uploadId", max_length=36)], body: m.Confirm) -> m.WorkOut:
    """What came is checked: size, SHA-256, a PDF's signature. Then it is work, once, however often this is called.

    The row of the work is what its run is asked for by, so there is no second thing that could be forgotten.
    """
    store = of.store
    store.work.owners.epoch(of.user)
    upload = store.uploads.find(of.id, upload_id)
    ref = store.uploads.arrived(upload, body.etags)
    job = store.jobs.open(f"upload-{upload.id}", 0)
    # Authorized later is newer: the place among this document's sources, as S3's sequencer is for events.
    source = Source(ref.key, ref.version_id, ref.size, f"{int(upload.authorized_at * 1000):016x}")
    answer = store.work.offer(of.id, of.user, source, job.id, job.started, due_at=store.clock())
    if answer == "stale":
        raise StoreError(Code.SUPERSEDED, "A newer upload of this document has been confirmed.")
    if answer == "duplicate":
        row = store.work.get(of.id)
        assert row is not None
        known = store.jobs.get(row.job_id, row.job_started)
        job = known if known is not None else job
    store.jobs.add_file(job, of.id, upload.title)
    store.uploads.confirm(upload)
    return shown(store.work.get(of.id))


@router.get("/{docId}/work", summary="The work on a document's source")
def work(of: Owning) -> m.WorkOut:
    """Where it is."""
    return shown(of.store.work.get(of.id))


@router.post("/{docId}/cancel", summary="Cancel the work")
def cancel(of: Owning) -> m.WorkOut:
    """Whatever runs for it can change nothing any more. What is settled stays as it is."""
    row = of.store.work.cancel(of.id, REMEDIATE, of.user)
    called_off(of.store, row)
    return shown(row)


def called_off(store: Store, row: Row) -> None:
    """Tell a cancelled row's document and job. After the row: repeated after a crash, both change nothing."""
    if row.state != CANCELLED:
        return
    code, reason = str(Code.CANCELLED), "Its owner has cancelled it."
    store.documents.set_outcome(row.document, row.revision, "cancelled", code, reason)
    store.jobs.settle_file(
        row.job_id, row.job_started, row.document, ok=False, stage="cancel", code=code, reason=reason
    )


@router.post("/{docId}/retry", summary="Try the work again")
def retry(of: Owning) -> m.WorkOut:
    """A new generation of work that has failed or was cancelled; what is stored already is not done again."""
    store = of.store
    store.work.owners.epoch(of.user)
    before = store.work.get(of.id)
    if before is None:
        raise StoreError(Code.NOT_FOUND, "There is no work on this document.")
    if before.state not in ("failed", "cancelled"):
        return shown(store.work.again(of.id, of.user, before.job_id, before.job_started))
    job = store.jobs.open(before.job_id, 0)
    # The file first: a crash after the row would leave it in a job that does not know of it.
    store.jobs.add_file(job, of.id, of.document.title)
    return shown(store.work.again(of.id, of.user, job.id, job.started))


def shown(row: Row | None) -> m.WorkOut:
    """The work as its owner sees it. Raises NOT_FOUND."""
    if row is None:
        raise StoreError(Code.NOT_FOUND, "There is no work on this document.")
    return m.WorkOut(
        state=row.state,
        generation=row.generation,
        revision=row.revision,
        attempts=row.attempts,
        lane=row.lane,
        code=row.code,
        reason=m.safe(row.code, row.reason),
    )
