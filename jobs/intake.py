"""How an object under ``incoming/`` becomes work: which document and job it is, and what is not taken."""

from __future__ import annotations

from dataclasses import replace

from assets.stage import UNSUPPORTED, tell_settled
from pdf import header
from pdf.errors import Code as PdfCode
from resources.errors import Code, StoreError
from resources.queues import INCOMING, ObjectCreated
from resources.store import Store
from resources.values import document_id
from resources.work import FAILED, REMEDIATE, SETTLED, Row, Source, later

OWNER_METADATA = "owner-id"
#: What an intake came to, beside the answers of `Work.offer`.
IGNORED, GONE = "ignored", "gone"


def job_of(key: str, depth: int) -> str:
    """The job that a key belongs to: its first folders, up to `depth`; a file at the root is its own."""
    parts = key.removeprefix(INCOMING).split("/")
    return "/".join(parts[: min(depth, len(parts) - 1)]) or parts[0]


def take_object(store: Store, event: ObjectCreated) -> str:
    """Write an upload down in the store, durably. Repeated, it changes nothing.

    Returns ``new``, ``replaced``, ``duplicate``, ``stale``, ``unsupported`` (recorded in its job, not run), ``gone``
    (deleted meanwhile), ``ignored`` (a folder marker, or outside of ``incoming/``).
    """
    key = event.key
    if event.bucket != store.objects.bucket or not key.startswith(INCOMING) or key.endswith("/"):
        return IGNORED
    settings = store.settings
    job_id = job_of(key, settings.job_folder_depth)
    in_folder = "/" in key.removeprefix(INCOMING)
    wait = settings.folder_wait_seconds if in_folder else 0
    name = key.removeprefix(INCOMING)
    if not key.lower().endswith(".pdf"):
        known = store.jobs.latest(job_id)
        if known is None or name not in known.unsupported:  # a scan sees it again and again
            store.jobs.add_unsupported(store.jobs.open(job_id, wait), name)
        return UNSUPPORTED
    try:
        metadata = store.objects.metadata(key, event.version_id)
    except StoreError as error:
        if error.code != Code.OBJECT_MISSING:
            raise
        return GONE
    doc = document_id(event.bucket, key)
    row = store.work.get(doc)
    if row is not None and row.source is not None and row.source.version_id == event.version_id:
        # The file's place in its job is written after the row: a crash between the two is mended here.
        store.work.learn_sequencer(row, event.sequencer)
        job = store.jobs.get(row.job_id, row.job_started)
        if job is not None:
            store.jobs.add_file(job, doc, name)
            if row.state in SETTLED:
                tell_settled(store, row)
        return "duplicate"
    over = _superseded(store, event, row)
    sequencer = over.sequencer if over is not None else event.sequencer
    job = store.jobs.open(job_id, wait)
    newer = row is not None and row.source is not None and (over or later(sequencer, row.source.sequencer))
    if row is not None and newer and (row.job_id, row.job_started) != (job.id, job.started):
        # Its old job must not wait for it for ever. Before the row moves on: after it nobody knows that job.
        reason, code = "A newer upload has taken its place.", str(Code.SUPERSEDED)
        store.jobs.settle_file(row.job_id, row.job_started, doc, ok=False, stage="intake", code=code, reason=reason)
    owner = metadata.get(OWNER_METADATA) or settings.intake_owner_id
    source = Source(key, event.version_id, event.size, sequencer)
    due_at = store.clock() + wait
    answer = store.work.offer(doc, owner, source, job.id, job.started, due_at=due_at, over=over)
    if answer in ("new", "replaced"):
        store.jobs.add_file(job, doc, name)
    return answer


def _superseded(store: Store, event: ObjectCreated, row: Row | None) -> Source | None:
    """The stored source that an upload without a place among its key's events has replaced, as the bucket shows it.

    The row is read before the bucket is asked: what it holds was there already when the bucket called another the
    newest. The new source takes over the old one's place, so that a late event of the old one does not undo this.
    """
    if event.sequencer or row is None or row.source is None:
        return None
    newest = store.objects.head(event.key)
    return row.source if newest is not None and newest.version_id == event.version_id else None


def refuse_unlike(store: Store, row: Row) -> bool:
    """Whether an upload that is due is no PDF by its first bytes, whatever its name says: then its work fails before
    any run, with its code and sentence, and its job lists it as unsupported."""
    if row.kind != REMEDIATE or row.source is None:
        return False
    head = store.objects.peek(row.source.key, row.source.version_id, header.HEAD_BYTES)
    problem = header.problem(head) if head is not None else ""
    if not problem:
        return False
    # Told before the row: after a crash between the two it is due again, and is told again, which changes nothing.
    tell_settled(store, replace(row, state=FAILED, code=PdfCode.NOT_A_PDF, reason=problem))
    store.work.give_up(row, PdfCode.NOT_A_PDF, problem)
    return True
