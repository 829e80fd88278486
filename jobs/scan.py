"""The batch scan: what lies under ``incoming/`` against what the store knows, a job (a folder) at a time.

A file that the store does not know in this version is taken. Beyond that the job's newest record decides: COMPLETE is
left alone; of FAILED the files are taken again whose failure was not their own; a job that is active is left alone
while it moves, and looked into when it has not for 30 minutes.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from assets.stage import tell_settled
from jobs.intake import job_of, take_object
from pdf.errors import Code as PdfCode
from resources.errors import Code
from resources.guards import NAMES as GUARDS
from resources.jobs import FAILED as JOB_FAILED
from resources.jobs import SETTLED as JOB_SETTLED
from resources.jobs import Job
from resources.queues import INCOMING, ObjectCreated
from resources.store import Store
from resources.values import ObjectRef, document_id
from resources.work import DONE, FAILED, QUEUED, RUNNING, SETTLED, Row

#: Failures that the same bytes would only repeat, or that wait for a person.
FINAL = (frozenset(PdfCode) - {PdfCode.DISK_FULL}) | frozenset(
    (*GUARDS, Code.OWNER_REVOKED, Code.SUPERSEDED, Code.OVER_BUDGET, "RUN_CANCELLED")
)


@dataclass
class Scanned:
    """What a scan came to: objects seen, files taken, files taken again, jobs reclaimed."""

    seen: int = 0
    taken: int = 0
    again: int = 0
    reclaimed: int = 0


def scan_bucket(store: Store, log: logging.Logger) -> Scanned:
    """Take what no event told of, and take up what was left lying; at most so many jobs (`SCAN_JOB_LIMIT`)."""
    found, jobs = Scanned(), 0
    depth = store.settings.job_folder_depth
    listing = (one for one in store.objects.latest(INCOMING) if not one.key.endswith("/"))
    for job_id, files in itertools.groupby(listing, lambda one: job_of(one.key, depth)):
        acted = _job(store, log, job_id, list(files), found)
        jobs += acted
        if jobs >= store.settings.scan_job_limit:
            break
    return found


def _job(store: Store, log: logging.Logger, job_id: str, files: Sequence[ObjectRef], found: Scanned) -> bool:
    """One job; True where something was taken."""
    found.seen += len(files)
    before = (found.taken, found.again, found.reclaimed)
    known, unknown = _divide(store, files)
    job = store.jobs.latest(job_id)
    if job is not None and job.status not in JOB_SETTLED:
        if store.jobs.end_empty(job):
            log.warning("Job %s has failed: none of its files is a PDF.", job_id)
            return False
        job = _stale(store, log, job, found)
    for file in unknown:
        # A listing has no sequencer; the empty one is earlier than any event's, so it never replaces what one told.
        event = ObjectCreated(store.objects.bucket, file.key, file.version_id, file.size, "")
        found.taken += take_object(store, event) in ("new", "replaced")
    if job is not None and job.status == JOB_FAILED:
        _again(store, log, job, known, store.settings.folder_wait_seconds if unknown else 0, found)
    return before != (found.taken, found.again, found.reclaimed)


def _divide(store: Store, files: Sequence[ObjectRef]) -> tuple[list[Row], list[ObjectRef]]:
    """The rows of the files that the store knows in this version, and the other files."""
    known: list[Row] = []
    unknown: list[ObjectRef] = []
    for file in files:
        row = store.work.get(document_id(store.objects.bucket, file.key))
        if row is not None and row.source is not None and row.source.version_id == file.version_id:
            known.append(row)
        else:
            unknown.append(file)
    return known, unknown


def _stale(store: Store, log: logging.Logger, job: Job, found: Scanned) -> Job:
    """An active job after a look: what has ended is told; what waits or runs keeps it; otherwise it is reclaimed."""
    if store.clock() - job.updated_at <= store.settings.stale_job_minutes * 60:
        return job
    alive = False
    for item in store.jobs.files(job.id, job.started):
        row = store.work.get(item["document"])
        if row is None or (row.job_id, row.job_started) != (job.id, job.started):
            continue
        if row.state in SETTLED:
            tell_settled(store, row)
        elif row.state == QUEUED or (row.state == RUNNING and row.lease_expires_at >= store.clock()):
            alive = True  # the store's own queue holds it: it cannot be lost, only late
    if alive:
        store.jobs.touch(job)
    elif store.jobs.reclaim(job):
        found.reclaimed += 1
        log.warning("Job %s of %s did not move: it is taken again.", job.id, job.started)
    now = store.jobs.get(job.id, job.started)
    return now if now is not None else job


def _again(
    store: Store, log: logging.Logger, job: Job, known: Sequence[Row], quiet_seconds: float, found: Scanned
) -> None:
    """The files of a failed job that are worth another try, as a new run of the job, once its folder is quiet."""
    worth = [row for row in known if _worth(store, job, row)]
    if not worth:
        return
    fresh = store.jobs.open(job.id, quiet_seconds)
    for row in worth:
        taken = store.work.take_again(row, fresh.id, fresh.started, store.settings.scan_retake_limit)
        if taken is None:
            continue
        assert row.source is not None
        store.jobs.add_file(fresh, row.document, row.source.key.removeprefix(INCOMING))
        found.again += 1
    log.warning("Job %s has failed: %d of its files are tried again.", job.id, len(worth))


def _worth(store: Store, job: Job, row: Row) -> bool:
    if (row.job_id, row.job_started) != (job.id, job.started) or row.state == DONE:
        return False
    if row.state == FAILED:
        return row.code not in FINAL and row.retaken < store.settings.scan_retake_limit
    return row.state == RUNNING and row.lease_expires_at < store.clock()
