"""Many documents' work tried again at once, as one batch: a job of its own, looked at and cancelled as a whole."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from api import models as m
from api.context import Caller, Calling, owned
from api.errors import ApiError
from api.sources import called_off
from resources.errors import Code, StoreError
from resources.jobs import ONCE, Job
from resources.work import CANCELLED, FAILED, REMEDIATE

router = APIRouter()
BatchId = Annotated[str, Path(alias="batchId", pattern=f"^{m.ID}$")]


@router.post("/batches", status_code=202, summary="Try many documents' work again")
def enqueue(who: Calling, body: m.Batch) -> m.BatchQueued:
    """Each document is queued, or it is said why not; where none is, this is no 202. The same batch again is itself."""
    who.store.work.owners.epoch(who.user)
    items = [_queue(who, str(body.batch_id), doc) for doc in dict.fromkeys(body.doc_ids)]
    if not any(item.queued for item in items):
        said = [item.model_dump(by_alias=True) for item in items]
        raise ApiError(409, "NOTHING_QUEUED", "None of the documents could be queued.", items=said)
    return m.BatchQueued(batch_id=str(body.batch_id), items=items)


def _queue(who: Caller, batch: str, doc: str) -> m.BatchItem:
    store, job_id = who.store, _job_id(who, batch)
    try:
        of = owned(who, doc)
        row = store.work.get(doc)
        if row is None:
            raise StoreError(Code.NOT_FOUND, "There is no work on this document.")
        if row.job_id != job_id:
            if row.state not in (FAILED, CANCELLED):
                done = row.state == "done"
                raise StoreError(Code.NOT_READY, "Its work is done." if done else "Its work waits or runs already.")
            job = store.jobs.open_once(job_id)
            row = store.work.again(doc, who.user, job.id, job.started)
        # After the row, and again where this call is a repetition: a crash between the two is mended by it.
        known = store.jobs.get(row.job_id, row.job_started)
        if known is None or known.id != job_id:
            raise StoreError(Code.NOT_READY, "Its work waits or runs already.")
        store.jobs.add_file(known, doc, of.document.title)
    except StoreError as error:
        return m.BatchItem(doc_id=doc, queued=False, code=str(error.code), reason=error.message)
    return m.BatchItem(doc_id=doc, queued=True, code=None, reason=None)


@router.get("/batches/{batchId}", summary="A batch's documents")
def batch(who: Calling, batch_id: BatchId) -> m.BatchOut:
    """Each is queued, running, or in its end state. `allSucceeded` is what may depend on the whole batch."""
    job = _found(who, batch_id)
    items = [_shown(who, job, item["document"], item["state"]) for item in who.store.jobs.files(job.id, job.started)]
    succeeded = bool(items) and all(item.state == "succeeded" for item in items)
    return m.BatchOut(batch_id=batch_id, status=job.status, all_succeeded=succeeded, items=items)


def _shown(who: Caller, job: Job, doc: str, state: str) -> m.BatchState:
    row = who.store.work.get(doc)
    if row is None or (row.job_id, row.job_started) != (job.id, job.started):
        # Deleted, or taken up elsewhere since: what the batch itself knows.
        return m.BatchState(doc_id=doc, state="moved" if state == "waiting" else state, code=None, reason=None)
    now = row.state if state == "waiting" else state
    return m.BatchState(doc_id=doc, state=now, code=row.code, reason=m.safe(row.code, row.reason))


@router.post("/batches/{batchId}/cancel", summary="Cancel a batch")
def cancel(who: Calling, batch_id: BatchId) -> m.BatchOut:
    """Whatever of it waits or runs is cancelled; what has ended stays as it is."""
    job = _found(who, batch_id)
    for item in who.store.jobs.files(job.id, job.started):
        row = who.store.work.get(item["document"])
        if row is not None and (row.job_id, row.job_started) == (job.id, job.started):
            called_off(who.store, who.store.work.cancel(row.document, REMEDIATE, who.user))
    return batch(who, batch_id)


def _found(who: Caller, batch_id: str) -> Job:
    job = who.store.jobs.get(_job_id(who, batch_id), ONCE)
    if job is None:
        raise StoreError(Code.NOT_FOUND, "There is no such batch.")
    return job


def _job_id(who: Caller, batch: str) -> str:
    """A batch's job. The user is in its key, so that nobody finds another's."""
    return f"batch:{who.user}:{batch}"
