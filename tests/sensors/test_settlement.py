"""However a run ends, its document and its job come to one end, once."""

from __future__ import annotations

import json

import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus

from assets.platform import Platform
from resources.errors import StoreError
from resources.queues import verify_message
from resources.work import REMEDIATE, Source
from sensors.dead_letters import dead_letters
from sensors.guards import sweep
from sensors.settlement import end_stillborn, recovery, settle
from sensors.verification import take_message, verification
from tests.resources.conftest import Clock, new_doc
from tests.resources.test_versions import saved
from tests.sensors.conftest import tick

LOST = ("RUN_LOST", "It was killed.")
RUN = "0b8a3c1e-5d1f-4a67-9a65-2c6c2f1e7d11"


def queued(platform: Platform) -> str:
    store, doc = platform.store, new_doc()
    job = store.jobs.open("job", 0)
    source = Source("incoming/a.pdf", "v1", 10, "01")
    store.work.offer(doc, "owner", source, job.id, job.started, due_at=store.clock())
    store.jobs.add_file(job, doc, "a.pdf")
    return doc


def run_of(doc: str, run_id: str, status: DagsterRunStatus = DagsterRunStatus.FAILURE, **tags: str) -> DagsterRun:
    if "run_key" in tags:
        tags["dagster/run_key"] = tags.pop("run_key")
    return DagsterRun("remediate_document", run_id=run_id, status=status, tags={"document": doc, **tags})


def outcome(platform: Platform, doc: str) -> tuple[str, str | None, str]:
    row, job = platform.store.work.get(doc), platform.store.jobs.latest("job")
    assert row is not None and job is not None
    try:
        found = platform.store.documents.get(doc).outcome
    except Exception:  # noqa: BLE001 there is no document yet
        found = None
    return row.state, found, job.status


def test_a_killed_worker_leaves_work_for_the_next_run(platform: Platform) -> None:
    doc = queued(platform)
    platform.store.work.claim(doc, REMEDIATE, "run-1")
    for _ in range(2):
        settle(platform.store, run_of(doc, "run-1"), *LOST, retryable=True)
    assert outcome(platform, doc) == ("queued", None, "QUEUED")
    row = platform.store.work.get(doc)
    assert row is not None and (row.attempts, row.code) == (1, "RUN_LOST")


def test_a_document_whose_workers_always_die_fails_for_good(platform: Platform, clock: Clock) -> None:
    doc = queued(platform)
    for attempt in range(5):
        platform.store.work.claim(doc, REMEDIATE, f"run-{attempt}")
        settle(platform.store, run_of(doc, f"run-{attempt}"), *LOST, retryable=True)
        clock.pass_(500)
    assert outcome(platform, doc) == ("failed", "failed", "FAILED")
    assert platform.store.documents.get(doc).code == "RUN_LOST"


def test_a_cancelled_run_is_final(platform: Platform) -> None:
    doc = queued(platform)
    platform.store.work.claim(doc, REMEDIATE, "run-1")
    settle(platform.store, run_of(doc, "run-1", DagsterRunStatus.CANCELED), "RUN_CANCELLED", "x", retryable=False)
    assert outcome(platform, doc) == ("failed", "failed", "FAILED")


def test_another_runs_end_changes_nothing(platform: Platform) -> None:
    doc = queued(platform)
    platform.store.work.claim(doc, REMEDIATE, "run-2")
    settle(platform.store, run_of(doc, "run-1"), *LOST, retryable=True)
    assert outcome(platform, doc)[0] == "running"


def test_a_run_that_never_began_is_asked_for_under_another_key(platform: Platform, clock: Clock) -> None:
    doc = queued(platform)
    (row,) = platform.store.work.due(1)
    run = run_of(doc, "run-1", generation="1", run_key=row.run_key)
    for _ in range(2):
        settle(platform.store, run, *LOST, retryable=True)
    clock.pass_(60)
    (again,) = platform.store.work.due(1)
    assert (again.attempts, again.run_key != row.run_key) == (1, True)


def test_a_run_of_an_older_generation_changes_nothing(platform: Platform) -> None:
    doc = queued(platform)
    (row,) = platform.store.work.due(1)
    source = Source("incoming/a.pdf", "v2", 10, "02")
    platform.store.work.offer(doc, "owner", source, "job", row.job_started, due_at=platform.store.clock())
    run = run_of(doc, "run-1", generation="1", run_key=row.run_key)
    settle(platform.store, run, *LOST, retryable=True)
    now = platform.store.work.get(doc)
    assert now is not None and (now.attempts, now.generation) == (0, 2)


def test_leases_that_ended_are_recovered(platform: Platform, instance: DagsterInstance, clock: Clock) -> None:
    doc = queued(platform)
    platform.store.work.claim(doc, REMEDIATE, "run-1")
    clock.pass_(601)
    tick(recovery, platform, instance)
    assert outcome(platform, doc)[0] == "queued"


def test_a_run_that_ended_unheard_is_asked_for_again(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    doc = queued(platform)
    (row,) = platform.store.work.due(1)
    tags = {"document": doc, "generation": "1", "dagster/run_key": row.run_key}
    tick(recovery, platform, instance)
    seen = platform.store.work.get(doc)
    assert seen is not None and seen.attempts == 0, "its run may still come"
    instance.add_run(DagsterRun("remediate_document", status=DagsterRunStatus.FAILURE, tags=tags))
    for _ in range(2):
        tick(recovery, platform, instance)
    clock.pass_(60)
    (again,) = platform.store.work.due(1)
    assert (again.attempts, again.run_key != row.run_key) == (1, True)


def message(doc: str, version: int) -> str:
    return json.dumps(verify_message(doc, version))


def test_a_saved_version_becomes_work_once(platform: Platform, instance: DagsterInstance) -> None:
    version = saved(platform.store)
    for _ in range(3):
        platform.store.verify.send(json.loads(message(version.document, 1)))
    tick(verification, platform, instance)
    assert platform.store.verify.depth() == 0
    (row,) = platform.store.work.due(10)
    assert (row.kind, row.document) == ("verify#1", version.document)


def test_messages_about_what_is_settled_or_gone_are_dropped(platform: Platform) -> None:
    version = saved(platform.store)
    doc = version.document
    platform.store.versions.begin_verification(doc, 1)
    report = platform.objects.put_bytes(b"{}", "report")
    facts = {"verdict": "passed", "sha256": version.sha256}
    platform.store.versions.settle(doc, 1, version.sha256, facts, report)
    assert "settled" in take_message(platform.store, message(doc, 1))
    assert "gone" in take_message(platform.store, message(new_doc(), 1))
    for other in ('{"type": "other"}', f'{{"docId": "{doc}", "version": 1}}', '{"type": "tags-verify"}', "[" * 50_000):
        with pytest.raises(ValueError):
            take_message(platform.store, other)


def test_dead_letters_alert_once(
    platform: Platform, instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    platform.store.intake_dead.send({"x": 1})
    first = tick(dead_letters, platform, instance)
    second = tick(dead_letters, platform, instance, first.cursor)
    assert caplog.text.count("ALERT") == 1
    platform.store.intake_dead.delete(platform.store.intake_dead.receive(10))
    third = tick(dead_letters, platform, instance, second.cursor)
    platform.store.intake_dead.send({"x": 1})
    tick(dead_letters, platform, instance, third.cursor)
    assert caplog.text.count("ALERT") == 2


def test_who_died_after_settling_the_row_is_told_for(platform: Platform) -> None:
    """A worker killed between the work row and the job's record."""
    done, failed = queued(platform), queued(platform)
    platform.store.work.succeed(platform.store.work.claim(done, REMEDIATE, "run-1"))
    claim = platform.store.work.claim(failed, REMEDIATE, "run-2")
    platform.store.work.fail(claim, "ENCRYPTED", "It needs a password.", retryable=False)
    for _ in range(2):
        settle(platform.store, run_of(done, "run-1"), *LOST, retryable=True)
        settle(platform.store, run_of(failed, "run-2"), *LOST, retryable=True)
    assert outcome(platform, failed) == ("failed", "refused", "COMPLETE")
    assert platform.store.documents.get(failed).code == "ENCRYPTED"
    job = platform.store.jobs.latest("job")
    assert job is not None and (job.succeeded, job.failed) == (1, 1)


def test_a_spent_budget_is_told(platform: Platform, clock: Clock) -> None:
    """Claims that were lost without a word spend the budget; the run that finds it spent has no claim to tell with."""
    doc = queued(platform)
    for attempt in range(5):
        platform.store.work.claim(doc, REMEDIATE, f"run-{attempt}")
        clock.pass_(601)
    with pytest.raises(StoreError):
        platform.store.work.claim(doc, REMEDIATE, "run-5")
    settle(platform.store, run_of(doc, "run-5", generation="1"), *LOST, retryable=True)
    assert outcome(platform, doc) == ("failed", "failed", "FAILED")
    assert platform.store.documents.get(doc).code == "ATTEMPTS_EXHAUSTED"


def test_what_is_swept_is_told_once_and_its_run_is_ended(
    platform: Platform, instance: DagsterInstance, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc = queued(platform)
    platform.store.work.claim(doc, REMEDIATE, RUN)
    instance.add_run(run_of(doc, RUN, DagsterRunStatus.STARTED))
    ended: list[str] = []
    monkeypatch.setattr(type(instance.run_coordinator), "cancel_run", lambda self, run_id: ended.append(run_id))
    said: list[str] = []
    monkeypatch.setattr(platform.store.guards.alerts, "send", lambda subject, message: said.append(subject))
    clock.pass_(241 * 60)
    tick(sweep, platform, instance)  # from the fast lane to the long one
    row = platform.store.work.get(doc)
    assert row is not None and (row.state, row.lane) == ("queued", "long")
    platform.store.work.claim(doc, REMEDIATE, "run-2")
    clock.pass_(241 * 60)
    for _ in range(2):
        tick(sweep, platform, instance)
    assert outcome(platform, doc) == ("failed", "failed", "FAILED")
    assert platform.store.documents.get(doc).code == "STALLED"
    assert (ended, said) == ([RUN], ["Guard stalled"])
    settle(platform.store, run_of(doc, "run-2"), *LOST, retryable=True)
    assert said == ["Guard stalled"]


def test_a_run_whose_worker_died_while_it_started_fails_at_once(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = {"a": WorkerStatus.FAILED, "b": WorkerStatus.RUNNING, "c": WorkerStatus.UNKNOWN, "d": WorkerStatus.FAILED}
    ids = {name: RUN[:-1] + name for name in health}
    for name in health:
        status = DagsterRunStatus.STARTED if name == "d" else DagsterRunStatus.STARTING
        instance.add_run(run_of(new_doc(), ids[name], status))

    class Launcher:
        supports_check_run_worker_health = True

        def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
            return CheckRunHealthResult(health[run.run_id[-1]])

    monkeypatch.setattr(type(instance), "run_launcher", Launcher())
    assert end_stillborn(instance) == [ids["a"]]
    found = {run.run_id[-1]: run.status for run in instance.get_runs()}
    assert found == {
        "a": DagsterRunStatus.FAILURE,
        "b": DagsterRunStatus.STARTING,
        "c": DagsterRunStatus.STARTING,
        "d": DagsterRunStatus.STARTED,
    }
