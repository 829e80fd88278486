"""Intake: nothing leaves the queue before it is written down, and everything gets one run."""

from __future__ import annotations

import dataclasses
import logging
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunRequest

from assets.platform import Platform
from jobs.intake import job_of, take_object
from jobs.remediation import run_config
from jobs.scan import scan_bucket
from resources.errors import Code, StoreError
from resources.jobs import summary
from resources.queues import ObjectCreated
from resources.values import document_id
from sensors.intake import intake
from tests.resources.conftest import Clock
from tests.sensors.conftest import FakeTime, requests, tick


def upload(platform: Platform, key: str, body: bytes = b"%PDF-1.7", **more: Any) -> str:
    """Put an object as any client would; returns its document id."""
    objects = platform.objects
    objects.client.put_object(Bucket=objects.bucket, Key=key, Body=body, **more)
    return document_id(objects.bucket, key)


def settle_events(platform: Platform) -> None:
    """The test event that S3 sends when a bucket is set up is not the subject here."""
    platform.store.intake.delete([m for m in platform.store.intake.receive(10) if "s3:TestEvent" in m.body])


def test_an_upload_becomes_one_run(platform: Platform, instance: DagsterInstance, clock: Clock) -> None:
    doc = upload(platform, "incoming/a b+ü.pdf", Metadata={"owner-id": "somebody"})
    (request,) = requests(tick(intake, platform, instance))
    assert request.partition_key == doc
    assert request.tags["owner"] == "somebody"
    assert (request.tags["lane"], request.tags["generation"]) == ("fast", "1")
    assert platform.store.intake.depth() == 0
    assert requests(tick(intake, platform, instance)) == []
    clock.pass_(121)  # the run was never started: it is asked for again, under the same key
    (again,) = requests(tick(intake, platform, instance))
    assert again.run_key == request.run_key


def test_the_same_event_twice_is_one_document(platform: Platform, instance: DagsterInstance) -> None:
    upload(platform, "incoming/a.pdf")
    messages = [m for m in platform.store.intake.receive(10) if "s3:TestEvent" not in m.body]
    for _ in range(3):
        platform.store.intake.client.send_message(QueueUrl=platform.store.intake.url, MessageBody=messages[0].body)
    assert len(requests(tick(intake, platform, instance))) == 1
    job = platform.store.jobs.latest("a.pdf")
    assert job is not None and job.total == 1


def test_a_folder_waits_until_it_is_quiet_and_is_one_job(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    for n in range(5):
        upload(platform, f"incoming/job-1/{n}.pdf")
    assert requests(tick(intake, platform, instance)) == []
    clock.pass_(20)
    upload(platform, "incoming/job-1/late.pdf")
    upload(platform, "incoming/job-1/notes.docx")
    upload(platform, "incoming/job-1/")
    assert requests(tick(intake, platform, instance)) == []
    clock.pass_(15)  # the first files' 30 s are over, the last one's are not
    assert requests(tick(intake, platform, instance)) == []
    clock.pass_(16)
    found = requests(tick(intake, platform, instance))
    assert len(found) == 6
    assert {request.tags["job"] for request in found} == {"job-1"}
    job = platform.store.jobs.latest("job-1")
    assert job is not None
    assert (job.total, job.unsupported, job.status) == (6, ("job-1/notes.docx",), "IN_PROGRESS")


def test_what_is_no_event_goes_to_the_dead_letters(platform: Platform, instance: DagsterInstance) -> None:
    settle_events(platform)
    store = platform.store
    bodies = ['{"something": "else"}', "[" * 50_000, '{"Records": [{"eventName": "ObjectCreated:Put", "s3": 5}]}']
    for body in bodies:
        store.intake.client.send_message(QueueUrl=store.intake.url, MessageBody=body)
    upload(platform, "incoming/a.pdf")
    assert len(requests(tick(intake, platform, instance))) == 1
    assert sorted(message.body for message in store.intake_dead.receive(10)) == sorted(bodies)
    assert store.intake.depth() == 0


@pytest.mark.parametrize(
    "problem",
    [
        StoreError(Code.NOT_READY, "not now", retryable=True),
        ClientError({"Error": {"Code": "InvalidArgument", "Message": "no such VersionId"}}, "HeadObject"),
    ],
)
def test_only_what_could_not_be_taken_stays_on_the_queue(
    platform: Platform, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    settle_events(platform)
    for name in ("good", "bad"):
        upload(platform, f"incoming/{name}.pdf")
    real = platform.store.objects.metadata

    def metadata(key: str, version_id: str) -> dict[str, str]:
        if "bad" in key:
            raise problem
        return real(key, version_id)

    monkeypatch.setattr(platform.store.objects, "metadata", metadata)
    assert len(requests(tick(intake, platform, instance))) == 1
    assert platform.store.intake.depth() == 1


def event(platform: Platform, key: str, version: str = "v1", sequencer: str = "01") -> ObjectCreated:
    return ObjectCreated(platform.objects.bucket, key, version, 8, sequencer)


def test_what_is_gone_or_elsewhere_is_not_taken(platform: Platform) -> None:
    store = platform.store
    assert take_object(store, event(platform, "incoming/never.pdf", "00000000-0000-0000-0000-000000000000")) == "gone"
    assert take_object(store, event(platform, "docs/x.pdf")) == "ignored"
    assert take_object(store, event(platform, "incoming/folder/")) == "ignored"
    assert take_object(store, ObjectCreated("another-bucket", "incoming/a.pdf", "v", 1, "1")) == "ignored"


def test_a_crash_between_row_and_job_is_mended_by_the_next_delivery(platform: Platform) -> None:
    doc = upload(platform, "incoming/a.pdf")
    head = platform.objects.head("incoming/a.pdf")
    assert head is not None
    told = ObjectCreated(platform.objects.bucket, "incoming/a.pdf", head.version_id, head.size, "01")
    assert take_object(platform.store, told) == "new"
    row = platform.store.work.get(doc)
    assert row is not None
    files = platform.store.jobs.table
    client_key = {"pk": {"S": f"JOB#{row.job_id}"}, "sk": {"S": f"{row.job_started}#FILE#{doc}"}}
    files.client.delete_item(TableName=files.name, Key=client_key)
    assert take_object(platform.store, told) == "duplicate"
    assert len(platform.store.jobs.files(row.job_id, row.job_started)) == 1


def test_a_replacement_is_a_new_run_of_the_same_document(platform: Platform, instance: DagsterInstance) -> None:
    doc = upload(platform, "incoming/a.pdf")
    (first,) = requests(tick(intake, platform, instance))
    assert upload(platform, "incoming/a.pdf", b"%PDF-1.7 other") == doc
    (second,) = requests(tick(intake, platform, instance))
    assert first.run_key != second.run_key
    assert second.tags["generation"] == "2"


def test_many_uploads_are_taken_in_bounded_batches(
    platform: Platform, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_events(platform)
    for n in range(12):
        upload(platform, f"incoming/{n}.pdf")
    fewer = platform.settings.model_copy(update={"intake_launch_limit": 5})
    platform = FakeTime().use(dataclasses.replace(platform.store, settings=fewer))
    counts = [len(requests(tick(intake, platform, instance))) for _ in range(4)]
    assert counts == [5, 5, 2, 0]


@pytest.mark.parametrize(
    ("key", "depth", "job"),
    [
        ("incoming/a.pdf", 1, "a.pdf"),
        ("incoming/s/a.pdf", 1, "s"),
        ("incoming/s/p/a.pdf", 1, "s"),
        ("incoming/s/p/a.pdf", 2, "s/p"),
        ("incoming/s/a.pdf", 2, "s"),
    ],
)
def test_jobs_are_named_by_folders(key: str, depth: int, job: str) -> None:
    assert job_of(key, depth) == job


def test_the_long_lane_runs_bands_side_by_side_and_no_more_than_allowed(platform: Platform) -> None:
    settings = platform.settings
    assert run_config("fast", settings) == {"execution": {"config": {"in_process": {}}}}
    found = run_config("long", settings)["execution"]["config"]["multiprocess"]
    assert found["max_concurrent"] == settings.host_map_concurrency == 4


def test_the_job_of_a_replaced_upload_does_not_wait_for_it(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    upload(platform, "incoming/a.pdf")
    tick(intake, platform, instance)
    first = platform.store.jobs.latest("a.pdf")
    clock.pass_(1)
    upload(platform, "incoming/a.pdf", b"%PDF-1.7 other")
    tick(intake, platform, instance)
    assert first is not None
    old, new = platform.store.jobs.get("a.pdf", first.started), platform.store.jobs.latest("a.pdf")
    assert old is not None and new is not None and new.started != old.started
    assert (old.status, new.status, new.total) == ("FAILED", "IN_PROGRESS", 1)


def test_a_file_replaced_while_its_folder_waits_stays_in_its_job(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    upload(platform, "incoming/job-2/a.pdf")
    tick(intake, platform, instance)
    upload(platform, "incoming/job-2/a.pdf", b"%PDF-1.7 other")
    tick(intake, platform, instance)
    job = platform.store.jobs.latest("job-2")
    assert job is not None and (job.total, job.failed, job.status) == (1, 0, "QUEUED")


def test_a_late_event_of_an_older_upload_does_not_undo_what_a_scan_found(platform: Platform) -> None:
    doc = upload(platform, "incoming/a.pdf", b"%PDF-1.7 one")
    old = platform.objects.head("incoming/a.pdf")
    upload(platform, "incoming/a.pdf", b"%PDF-1.7 two")
    new = platform.objects.head("incoming/a.pdf")
    assert old is not None and new is not None
    assert take_object(platform.store, event(platform, "incoming/a.pdf", new.version_id, "")) == "new"
    assert take_object(platform.store, event(platform, "incoming/a.pdf", new.version_id, "02")) == "duplicate"
    assert take_object(platform.store, event(platform, "incoming/a.pdf", old.version_id, "01")) == "stale"
    row = platform.store.work.get(doc)
    assert row is not None and row.source is not None and row.source.version_id == new.version_id


def test_a_folder_without_any_pdf_fails_once_it_is_quiet(platform: Platform, clock: Clock) -> None:
    upload(platform, "incoming/only/notes.docx")
    scan_bucket(platform.store, logging.getLogger("test"))
    job = platform.store.jobs.latest("only")
    assert job is not None and (job.status, job.unsupported) == ("QUEUED", ("only/notes.docx",))
    for _ in range(3):
        clock.pass_(31)
        scan_bucket(platform.store, logging.getLogger("test"))
    last = platform.store.jobs.latest("only")
    assert last is not None and (last.started, last.status) == (job.started, "FAILED")
    assert last.error == "None of its files is a PDF."


def test_a_folder_that_a_pdf_comes_into_meanwhile_does_not_fail(platform: Platform, clock: Clock) -> None:
    upload(platform, "incoming/some/notes.docx")
    scan_bucket(platform.store, logging.getLogger("test"))
    seen = platform.store.jobs.latest("some")
    assert seen is not None
    upload(platform, "incoming/some/a.pdf")
    scan_bucket(platform.store, logging.getLogger("test"))
    clock.pass_(60)
    assert not platform.store.jobs.end_empty(seen)
    job = platform.store.jobs.latest("some")
    assert job is not None and (job.started, job.status, job.total) == (seen.started, "QUEUED", 1)


@pytest.mark.parametrize("body", [b"PK\x03\x04 an office document", b"", b"<html>"])
def test_what_is_no_pdf_by_its_content_is_not_run(platform: Platform, instance: DagsterInstance, body: bytes) -> None:
    doc = upload(platform, "incoming/letter.pdf", body)
    assert requests(tick(intake, platform, instance)) == []
    store = platform.store
    row, job = store.work.get(doc), store.jobs.latest("letter.pdf")
    assert row is not None and (row.state, row.code) == ("failed", "NOT_A_PDF")
    document = store.documents.get(doc)
    assert (document.outcome, document.code) == ("refused", "NOT_A_PDF")
    assert job is not None and job.status == "FAILED"
    told = summary(job, store.jobs.files(job.id, job.started))
    assert told["failed_files"]["unsupported"] == ["letter.pdf"]
    upload(platform, "incoming/letter.pdf", b"%PDF-1.7")
    assert [one.partition_key for one in requests(tick(intake, platform, instance))] == [doc]


def test_a_crash_while_what_is_no_pdf_is_refused_loses_nothing(
    platform: Platform, instance: DagsterInstance, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc = upload(platform, "incoming/letter.pdf", b"no such thing")

    def dies(*_: object, **__: object) -> None:
        raise RuntimeError("the machine is gone")

    for name in ("settle_file", "give_up"):
        with monkeypatch.context() as patch, pytest.raises(RuntimeError):
            patch.setattr(platform.store.jobs if name == "settle_file" else platform.store.work, name, dies)
            tick(intake, platform, instance)
        clock.pass_(121)
    assert requests(tick(intake, platform, instance)) == []
    row, job = platform.store.work.get(doc), platform.store.jobs.latest("letter.pdf")
    assert row is not None and (row.state, row.code) == ("failed", "NOT_A_PDF")
    assert platform.store.documents.get(doc).code == "NOT_A_PDF"
    assert job is not None and (job.status, job.failed) == ("FAILED", 1)


def test_one_file_that_is_no_pdf_does_not_end_its_folders_job(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    for n in range(3):
        upload(platform, f"incoming/job-3/{n}.pdf", b"%PDF-1.7" if n else b"nothing of the kind")
    tick(intake, platform, instance)
    clock.pass_(31)
    assert len(requests(tick(intake, platform, instance))) == 2
    job = platform.store.jobs.latest("job-3")
    assert job is not None and (job.status, job.total, job.failed) == ("IN_PROGRESS", 3, 1)


def test_the_queue_of_runs_is_bounded_and_the_rest_waits_in_the_store(
    platform: Platform, instance: DagsterInstance
) -> None:
    for n in range(20):
        upload(platform, f"incoming/{n}.pdf", Metadata={"owner-id": f"owner-{n % 5}"})
    fewer = platform.settings.model_copy(update={"intake_queue_runs": 12})
    platform = FakeTime().use(dataclasses.replace(platform.store, settings=fewer))
    first = requests(tick(intake, platform, instance))
    assert len(first) == 12
    for one in first:
        instance.add_run(queued_run(one))
    assert requests(tick(intake, platform, instance)) == []
    for run in instance.get_runs(limit=5):
        instance.report_run_canceled(run)
    assert len(requests(tick(intake, platform, instance))) == 5


def test_an_owner_has_so_many_runs_and_others_pass_by(platform: Platform, instance: DagsterInstance) -> None:
    for n in range(30):
        upload(platform, f"incoming/many-{n}.pdf", Metadata={"owner-id": "many"})
    first = requests(tick(intake, platform, instance))
    assert len(first) == platform.settings.owner_active_rows == 8
    for one in first:
        instance.add_run(queued_run(one))
    upload(platform, "incoming/few.pdf", Metadata={"owner-id": "few"})
    assert [one.tags["owner"] for one in requests(tick(intake, platform, instance))] == ["few"]


def queued_run(one: RunRequest) -> DagsterRun:
    return DagsterRun(str(one.job_name), run_id=str(uuid.uuid4()), status=DagsterRunStatus.NOT_STARTED, tags=one.tags)
