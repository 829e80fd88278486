"""The batch scan, state by state: what it takes, what it leaves alone, what it takes again."""

from __future__ import annotations

import dataclasses
import logging

import pytest
from dagster import DagsterInstance

from assets.platform import Platform
from assets.stage import tell_settled
from jobs.intake import take_object
from jobs.scan import Scanned, scan_bucket
from resources.jobs import Job
from resources.rows import Claim, Row
from resources.work import DONE, FAILED, QUEUED, REMEDIATE, RUNNING
from sensors.intake import intake
from tests.resources.conftest import Clock, new_doc, race
from tests.sensors.conftest import FakeTime, requests, tick
from tests.sensors.test_intake import event, upload

LOG = logging.getLogger("test")


@pytest.fixture
def batch(platform: Platform) -> Platform:
    """Without events: what comes on the queue is never looked at."""
    return platform


def scan(platform: Platform) -> Scanned:
    return scan_bucket(platform.store, LOG)


def counts(found: Scanned) -> tuple[int, int, int]:
    return found.taken, found.again, found.reclaimed


def row(platform: Platform, doc: str) -> Row:
    found = platform.store.work.get(doc)
    assert found is not None
    return found


def job(platform: Platform, name: str) -> Job:
    found = platform.store.jobs.latest(name)
    assert found is not None
    return found


def begin(platform: Platform, doc: str) -> Claim:
    """Its run has begun."""
    at = row(platform, doc)
    platform.store.jobs.advance(at.job_id, at.job_started, "IN_PROGRESS")
    return platform.store.work.claim(doc, REMEDIATE, new_doc())


def end(platform: Platform, doc: str, code: str = "") -> None:
    """Its run has ended: well, or with a code."""
    claim = begin(platform, doc)
    work = platform.store.work
    settled = work.fail(claim, code, "why", retryable=False) if code else work.succeed(claim)
    tell_settled(platform.store, settled)


def test_none_is_taken_and_the_record_is_there_before_anything_is_sent(batch: Platform) -> None:
    doc = upload(batch, "incoming/s/a.pdf")
    assert counts(scan(batch)) == (1, 0, 0)
    assert (job(batch, "s").status, row(batch, doc).state) == ("QUEUED", QUEUED)


def test_complete_is_left_alone(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/s/a.pdf")
    scan(batch)
    end(batch, doc)
    clock.pass_(7 * 86400)
    assert counts(scan(batch)) == (0, 0, 0)
    assert (job(batch, "s").status, row(batch, doc).state) == ("COMPLETE", DONE)


def test_a_new_file_of_a_complete_job_is_a_new_run_of_it(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/s/a.pdf")
    scan(batch)
    end(batch, doc)
    clock.pass_(1)
    upload(batch, "incoming/s/b.pdf")
    assert counts(scan(batch)) == (1, 0, 0)
    assert (job(batch, "s").total, job(batch, "s").status) == (1, "QUEUED")
    assert row(batch, doc).state == DONE


def test_failed_is_taken_again_as_a_new_run_of_its_job(
    batch: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    docs = [upload(batch, f"incoming/s/{n}.pdf") for n in range(3)]
    scan(batch)
    end(batch, docs[0])
    for doc in docs[1:]:
        end(batch, doc, "RUN_LOST")
    old = job(batch, "s")
    assert old.status == "FAILED"
    clock.pass_(60)
    assert counts(scan(batch)) == (0, 2, 0)
    new = job(batch, "s")
    assert (new.started != old.started, new.total, new.status) == (True, 2, "QUEUED")
    assert [(row(batch, doc).state, row(batch, doc).generation) for doc in docs] == [
        (DONE, 1),
        (QUEUED, 2),
        (QUEUED, 2),
    ]
    assert {one.partition_key for one in requests(tick(intake, batch, instance))} == set(docs[1:])
    for doc in docs[1:]:
        end(batch, doc)
    assert job(batch, "s").status == "COMPLETE"


@pytest.mark.parametrize("code", ["ENCRYPTED", "OUT_OF_MEMORY", "COST_CEILING", "RUN_CANCELLED", "OWNER_REVOKED"])
def test_what_the_same_bytes_would_only_repeat_is_not_taken_again(batch: Platform, clock: Clock, code: str) -> None:
    doc = upload(batch, "incoming/a.pdf")
    scan(batch)
    end(batch, doc, code)
    clock.pass_(3600)
    assert counts(scan(batch)) == (0, 0, 0)
    assert row(batch, doc).state == FAILED


def test_taking_again_ends(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/a.pdf")
    scan(batch)
    for n in range(7):
        end(batch, doc, "RUN_LOST")
        clock.pass_(60)
        assert counts(scan(batch)) == (0, 1 if n < 5 else 0, 0)
        if n == 5:
            break
    upload(batch, "incoming/a.pdf", b"%PDF-1.7 mended")
    assert counts(scan(batch)) == (1, 0, 0)
    assert row(batch, doc).retaken == 0


def test_active_that_moved_lately_is_left_alone(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/a.pdf")
    scan(batch)
    begin(batch, doc)
    clock.pass_(29 * 60)  # its lease is long over, which is for the recovery to see
    assert counts(scan(batch)) == (0, 0, 0)
    assert (job(batch, "a.pdf").status, row(batch, doc).state) == ("IN_PROGRESS", RUNNING)


def test_active_that_did_not_move_is_reclaimed(batch: Platform, instance: DagsterInstance, clock: Clock) -> None:
    doc = upload(batch, "incoming/a.pdf")
    scan(batch)
    claim = begin(batch, doc)
    old = job(batch, "a.pdf")
    clock.pass_(31 * 60)
    assert counts(scan(batch)) == (0, 1, 1)
    was, new = batch.store.jobs.get("a.pdf", old.started), job(batch, "a.pdf")
    assert was is not None and (was.status, was.error) == (
        "FAILED",
        "Nothing worked on it any more: it is taken again.",
    )
    assert (new.started != old.started, new.total, row(batch, doc).generation) == (True, 1, 2)
    with pytest.raises(Exception, match="SUPERSEDED"):
        batch.store.work.succeed(claim)
    assert len(requests(tick(intake, batch, instance))) == 1
    assert counts(scan(batch)) == (0, 0, 0)


def test_active_that_waits_its_turn_or_works_is_not_stale(batch: Platform, clock: Clock) -> None:
    docs = [upload(batch, f"incoming/{n}.pdf") for n in range(2)]
    scan(batch)
    claim = begin(batch, docs[0])
    for _ in range(31):
        clock.pass_(60)
        batch.store.work.renew(claim)
    assert counts(scan(batch)) == (0, 0, 0)
    assert job(batch, "0.pdf").updated_at == job(batch, "1.pdf").updated_at == clock.now
    batch.store.work.check(claim)


def test_a_job_that_nobody_told_of_its_last_file_is_told(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/a.pdf")
    scan(batch)
    batch.store.work.succeed(begin(batch, doc))  # and the worker died here
    assert job(batch, "a.pdf").status == "IN_PROGRESS"
    clock.pass_(31 * 60)
    assert counts(scan(batch)) == (0, 0, 0)
    assert job(batch, "a.pdf").status == "COMPLETE"


def test_a_scan_takes_so_many_jobs(batch: Platform) -> None:
    for n in range(5):
        upload(batch, f"incoming/j{n}/a.pdf")
        upload(batch, f"incoming/j{n}/b.pdf")
    few = batch.settings.model_copy(update={"scan_job_limit": 2})
    limited = FakeTime().use(dataclasses.replace(batch.store, settings=few))
    assert [scan(limited).taken for _ in range(4)] == [4, 4, 2, 0]


def test_scans_at_once_take_a_file_once(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/a.pdf")
    good, bad = race([lambda: scan(batch).taken for _ in range(8)])
    assert (sum(good), bad) == (1, [])
    end(batch, doc, "RUN_LOST")
    clock.pass_(60)
    good, bad = race([lambda: scan(batch).again for _ in range(8)])
    assert (sum(good), bad) == (1, [])
    assert (row(batch, doc).generation, job(batch, "a.pdf").total) == (2, 1)


def test_a_job_that_moved_while_it_was_looked_at_is_not_reclaimed(batch: Platform, clock: Clock) -> None:
    upload(batch, "incoming/a.pdf")
    scan(batch)
    seen = job(batch, "a.pdf")
    clock.pass_(31 * 60)
    batch.store.jobs.advance("a.pdf", seen.started, "TAGGING")
    assert not batch.store.jobs.reclaim(seen)
    batch.store.jobs.touch(seen)
    assert job(batch, "a.pdf").status == "TAGGING"


def test_without_events_a_replacement_is_taken_too(batch: Platform, clock: Clock) -> None:
    doc = upload(batch, "incoming/a.pdf")
    old = batch.objects.head("incoming/a.pdf")
    scan(batch)
    begin(batch, doc)
    upload(batch, "incoming/a.pdf", b"%PDF-1.7 two")
    assert counts(scan(batch)) == (1, 0, 0)
    assert (row(batch, doc).revision, row(batch, doc).state) == (2, QUEUED)
    assert counts(scan(batch)) == (0, 0, 0)
    assert old is not None
    assert take_object(batch.store, event(batch, "incoming/a.pdf", old.version_id, "")) == "stale"


def test_a_late_event_does_not_undo_what_a_scan_has_replaced(batch: Platform) -> None:
    doc = upload(batch, "incoming/a.pdf")
    old = batch.objects.head("incoming/a.pdf")
    assert old is not None
    first = event(batch, "incoming/a.pdf", old.version_id, "05")
    take_object(batch.store, first)
    upload(batch, "incoming/a.pdf", b"%PDF-1.7 two")
    assert counts(scan(batch)) == (1, 0, 0)
    new = batch.objects.head("incoming/a.pdf")
    assert new is not None
    assert take_object(batch.store, first) == "stale"
    assert take_object(batch.store, event(batch, "incoming/a.pdf", new.version_id, "09")) == "duplicate"
    source = row(batch, doc).source
    assert source is not None and (source.version_id, source.sequencer) == (new.version_id, "09")


def test_an_upload_that_came_after_the_listing_stays(batch: Platform) -> None:
    doc = upload(batch, "incoming/a.pdf")
    scan(batch)
    upload(batch, "incoming/a.pdf", b"%PDF-1.7 two")
    listed = batch.objects.head("incoming/a.pdf")
    upload(batch, "incoming/a.pdf", b"%PDF-1.7 three")
    newest = batch.objects.head("incoming/a.pdf")
    assert listed is not None and newest is not None
    assert take_object(batch.store, event(batch, "incoming/a.pdf", newest.version_id, "09")) == "replaced"
    assert take_object(batch.store, event(batch, "incoming/a.pdf", listed.version_id, "")) == "stale"
    source = row(batch, doc).source
    assert source is not None and source.version_id == newest.version_id
