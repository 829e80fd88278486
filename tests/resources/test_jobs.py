"""Job records: forward only, half tolerated, settled once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resources.errors import Code, StoreError
from resources.jobs import ONCE, Job
from resources.store import Store
from tests.resources.conftest import Clock, new_doc, other, race


def job_of(store: Store, files: int) -> tuple[Job, list[str]]:
    job = store.jobs.open("folder", 30)
    docs = [new_doc() for _ in range(files)]
    for doc in docs:
        store.jobs.add_file(job, doc, f"{doc}.pdf")
    return job, docs


def latest(store: Store) -> Job:
    job = store.jobs.latest("folder")
    assert job is not None
    return job


def test_files_of_a_folder_join_one_run_until_it_begins(store: Store, clock: Clock) -> None:
    first, _ = job_of(store, 2)
    clock.pass_(10)
    second, _ = job_of(store, 1)
    assert second.started == first.started
    assert second.quiet_at == clock.now + 30
    assert latest(store).total == 3
    store.jobs.advance("folder", first.started, "IN_PROGRESS")
    clock.pass_(1)
    third, _ = job_of(store, 1)
    assert third.started != first.started


def test_a_file_counts_once(store: Store) -> None:
    job, (doc,) = job_of(store, 1)
    race([lambda s=other(store): s.jobs.add_file(job, doc, "again") for _ in range(8)])
    assert latest(store).total == 1


def test_the_status_only_moves_forward(store: Store) -> None:
    job, _ = job_of(store, 1)
    for status in ("TAGGING", "OPTIMIZING", "IN_PROGRESS"):
        store.jobs.advance("folder", job.started, status)
        assert latest(store).status == "TAGGING"


def test_half_may_fail(store: Store) -> None:
    job, docs = job_of(store, 4)
    for n, doc in enumerate(docs):
        store.jobs.settle_file("folder", job.started, doc, ok=n < 2, stage="inspect", code="ENCRYPTED")
    found = latest(store)
    assert (found.status, found.succeeded, found.failed) == ("COMPLETE", 2, 2)


def test_more_than_half_may_not(store: Store) -> None:
    job, docs = job_of(store, 3)
    for n, doc in enumerate(docs):
        store.jobs.settle_file("folder", job.started, doc, ok=n < 1, stage="inspect", code="ENCRYPTED")
    assert latest(store).status == "FAILED"
    store.jobs.advance("folder", job.started, "VERIFYING")
    assert latest(store).status == "FAILED"


def test_a_file_is_settled_once(store: Store) -> None:
    job, docs = job_of(store, 2)
    race(
        [
            lambda s=other(store), ok=ok: s.jobs.settle_file("folder", job.started, docs[0], ok=ok)
            for ok in (True, False) * 4
        ]
    )
    found = latest(store)
    assert found.succeeded + found.failed == 1
    assert found.status == "QUEUED"


def test_unsupported_files_are_recorded_once(store: Store) -> None:
    job, _ = job_of(store, 1)
    for _ in range(2):
        store.jobs.add_unsupported(job, "a.docx")
    assert latest(store).unsupported == ("a.docx",)


def test_a_run_that_began_meanwhile_takes_no_more_files(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = store.jobs.open("job", 0)
    store.jobs.add_file(seen, new_doc(), "a.pdf")
    store.jobs.advance("job", seen.started, "IN_PROGRESS")
    monkeypatch.setattr(store.jobs, "latest", lambda _: seen)  # what was seen a moment before
    other_run = store.jobs.open("job", 0)
    assert (other_run.started != seen.started, other_run.total, other_run.status) == (True, 0, "QUEUED")
    first = store.jobs.get("job", seen.started)
    assert first is not None and (first.total, first.status) == (1, "IN_PROGRESS")


def test_an_end_is_not_ended_again(store: Store) -> None:
    job = store.jobs.open("job", 0)
    docs = [new_doc(), new_doc()]
    for doc in docs:
        store.jobs.add_file(job, doc, f"{doc}.pdf")
    store.jobs.settle_file("job", job.started, docs[0], ok=True)
    half = store.jobs.settle_file("job", job.started, docs[1], ok=False)
    assert half is not None and half.status == "COMPLETE"
    store.jobs._finish(replace(half, failed=2, succeeded=0))  # one who counted otherwise comes late
    now = store.jobs.get("job", job.started)
    assert now is not None and (now.status, now.error) == ("COMPLETE", None)


def test_files_of_a_job_that_is_not_there_are_not_counted(store: Store) -> None:
    job = store.jobs.open("job", 0)
    gone = replace(job, id="gone")
    with pytest.raises(StoreError) as refused:
        store.jobs.add_file(gone, new_doc(), "a.pdf")
    assert refused.value.code == Code.NOT_FOUND
    assert (store.jobs.get("gone", job.started), store.jobs.files("gone", job.started)) == (None, [])


def test_a_job_of_one_run_is_opened_once(store: Store) -> None:
    job_id = new_doc()
    good, bad = race([lambda s=other(store): s.jobs.open_once(job_id) for _ in range(8)])
    assert not bad and {job.started for job in good} == {ONCE}
    store.jobs.add_file(good[0], new_doc(), "a.pdf")
    assert store.jobs.open_once(job_id).total == 1
