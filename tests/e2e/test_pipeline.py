"""From an upload to a published file, through everything that `make run` starts."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path

import pikepdf
import pytest
from dagster import DagsterRunStatus

from orchestration.launchers.host import WORKER_TAG
from orchestration.launchers.processes import ProcessRef, is_alive
from orchestration.local.uploads import Upload
from orchestration.local.views import CHECKS, DocumentView
from tests.e2e.platform import Running
from tests.orchestration.conftest import wait_for

STAGES = {
    "uploaded_pdf",
    "optimized_pdf",
    "tagging_chunks",
    "assembled_document",
    "verification_report",
    "published_version",
}


@pytest.fixture(scope="module")
def settled(platform: Running, samples: Path) -> dict[str, tuple[Upload, DocumentView]]:
    """The three samples, each under its own name, at their end."""
    uploads = [platform.put(path.name, path) for path in sorted(samples.iterdir())]
    return {file.name: (file, view) for file, view in zip(uploads, platform.settled(*uploads), strict=True)}


def published(platform: Running, view: DocumentView) -> bytes:
    assert view.published_key is not None, (view.status, view.code, view.message)
    body: bytes = platform.look.s3.get_object(Bucket=platform.look.bucket, Key=view.published_key)["Body"].read()
    return body


@pytest.mark.parametrize("name", ["letter.pdf", "article.pdf"])
def test_an_upload_is_published_accessible(
    platform: Running, settled: dict[str, tuple[Upload, DocumentView]], name: str, tmp_path: Path
) -> None:
    upload, view = settled[name]
    assert (view.status, view.code, view.message) == ("published", None, None)
    assert set(view.checks) == set(CHECKS)
    assert set(view.checks.values()) <= {"pass", "waived"}
    data = published(platform, view)
    (tmp_path / name).write_bytes(data)
    with pikepdf.open(tmp_path / name) as pdf:
        assert pdf.Root.MarkInfo.Marked and pdf.Root.StructTreeRoot.K is not None
        assert len(pdf.pages) == view.pages
    version = platform.look.store.versions.get(view.document_id, 1)
    assert version.sha256 == hashlib.sha256(data).hexdigest(), "what is published is what was verified"
    wait_for(lambda: platform.runs(upload)[0].is_finished, 60)  # the store knows it a moment earlier
    (run,) = platform.runs(upload)
    assert run.status is DagsterRunStatus.SUCCESS and run.tags["dagster/partition"] == view.document_id


def test_a_file_that_cannot_be_opened_is_refused_with_its_code(
    platform: Running, settled: dict[str, tuple[Upload, DocumentView]]
) -> None:
    upload, view = settled["encrypted.pdf"]
    assert (view.status, view.code) == ("refused", "ENCRYPTED")
    assert view.message
    assert not platform.objects(f"published/{view.document_id}/")
    assert len(platform.runs(upload)) == 1, "a refusal is not tried again"


def test_a_worker_killed_while_it_assembles_is_replaced_and_the_same_bytes_are_published_once(
    platform: Running, samples: Path, settled: dict[str, tuple[Upload, DocumentView]]
) -> None:
    upload = platform.put("killed.pdf", samples / "article.pdf")
    worker = worker_at(platform, upload, "assembled_document")
    os.killpg(worker.pid, signal.SIGKILL)
    (view,) = platform.settled(upload)
    assert (view.status, view.code, view.message) == ("published", None, None)
    again, killed = platform.runs(upload)
    assert killed.status is DagsterRunStatus.FAILURE and not is_alive(worker)
    wait_for(lambda: platform.runs(upload)[0].is_finished, 60)
    assert platform.runs(upload)[0].status is DagsterRunStatus.SUCCESS, again.run_id
    undisturbed = published(platform, settled["article.pdf"][1])
    assert published(platform, view) == undisturbed
    assert len(platform.objects(f"published/{view.document_id}/")) == 1
    assert len(platform.look.store.versions.list(view.document_id)) == 1


def worker_at(platform: Running, upload: Upload, step: str, seconds: float = 120) -> ProcessRef:
    """Wait until the document's run is at a step; the process that executes it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for run in platform.runs(upload):
            begun = platform.look.instance.get_run_step_stats(run.run_id, step_keys=[step])
            if any(stats.start_time is not None and stats.end_time is None for stats in begun):
                return ProcessRef.from_json(run.tags[WORKER_TAG])
        time.sleep(0.02)
    raise AssertionError(f"no run of {upload.name} came to {step}")


def test_uploading_the_same_bytes_again_is_a_new_revision_with_the_same_result(
    platform: Running, samples: Path, settled: dict[str, tuple[Upload, DocumentView]]
) -> None:
    (view,) = platform.settled(platform.put("letter.pdf", samples / "letter.pdf"))
    assert view.status == "published"
    assert view.published_key is not None and "/r2/" in view.published_key
    assert published(platform, view) == published(platform, settled["letter.pdf"][1])
