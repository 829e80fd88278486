"""Rules of the console: what it uploads, what it calls right and wrong, what it starts and stops."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from orchestration.launchers.processes import ProcessRef, is_alive, reference
from orchestration.local.environment import child_environment
from orchestration.local.halt import stop_leftovers
from orchestration.local.places import Places
from orchestration.local.screen import Screen, human_size
from orchestration.local.stages import stage_name
from orchestration.local.supervise import (
    AlreadyRunning,
    Lock,
    Record,
    Service,
    ServiceFailed,
    Supervisor,
    free_port,
    port_is_free,
)
from orchestration.local.uploads import HASH, Upload, Uploader, find
from orchestration.local.views import DocumentView, Expectation, mistakes, read_expectations, wrong


def view(status: str, **more: Any) -> DocumentView:
    return DocumentView(name="a.pdf", document_id="1", key="incoming/a.pdf", status=status, **more)


# --- what is right ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "expected", "phrase"),
    [
        (view("published", lane="fast"), Expectation("published", lane="fast"), None),
        (view("published", lane="fast"), Expectation("published", lane="long"), "long lane"),
        (view("refused", code="ENCRYPTED"), Expectation("refused", "ENCRYPTED"), None),
        (view("refused", code="NOT_A_PDF"), Expectation("refused", "ENCRYPTED"), "refused with ENCRYPTED"),
        (view("refused", code="ENCRYPTED", message="locked"), Expectation("published"), r"ENCRYPTED: locked"),
        (view("published"), Expectation("refused", "NEEDS_OCR"), "should be refused"),
        (view("running", stage="verifying"), Expectation("published"), "verifying"),
        (view("refused", code="NEEDS_OCR"), None, None),
        (view("needs_review"), None, None),
        (view("failed", code="STORE"), None, "failed: STORE"),
    ],
)
def test_what_counts_as_right(seen: DocumentView, expected: Expectation | None, phrase: str | None) -> None:
    said = wrong(seen, expected)
    assert (said is None) if phrase is None else (said is not None and phrase in said)


def test_expectations_are_by_name_and_a_folder_may_have_none(tmp_path: Path) -> None:
    assert read_expectations(tmp_path) is None
    (tmp_path / "expected.json").write_text(json.dumps({"a.pdf": {"status": "refused", "code": "ENCRYPTED"}}))
    expected = read_expectations(tmp_path)
    assert expected == {"a.pdf": Expectation("refused", "ENCRYPTED")}
    assert mistakes([view("published")], expected) == ["a.pdf should be refused and is published"]


# --- uploads ---------------------------------------------------------------------------------------------------


class Store:
    """Just enough of S3: objects with metadata and versions, 404 for the others."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.puts: list[dict[str, Any]] = []

    def head_object(self, **arguments: Any) -> dict[str, Any]:
        if arguments["Key"] not in self.objects:
            raise ClientError({"Error": {"Code": "404"}, "ResponseMetadata": {"HTTPStatusCode": 404}}, "HeadObject")
        return self.objects[arguments["Key"]]

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        body = arguments.pop("Body").read()
        self.puts.append(arguments)
        self.objects[arguments["Key"]] = {
            "ContentLength": len(body),
            "Metadata": arguments["Metadata"],
            "VersionId": (version := f"v{len(self.puts)}"),
            "LastModified": datetime.fromtimestamp(50, UTC),
        }
        return {"VersionId": version}


def uploader(store: Store, folder: Path, *published: str) -> Uploader:
    """An uploader of a new console: what it knows is in the store and in the memory file."""
    return Uploader(store, "b", folder / "uploads.json", lambda key, version: version in published, lambda: 100.0)


def one(folder: Path, data: bytes = b"one") -> Upload:
    (folder / "a.pdf").write_bytes(data)
    (file,) = find(folder)
    return file


def test_the_same_bytes_are_uploaded_once(tmp_path: Path) -> None:
    store = Store()
    first = uploader(store, tmp_path).upload(one(tmp_path))
    assert (first.fresh, first.version_id, first.at) == (True, "v1", 100)
    again = uploader(store, tmp_path).upload(one(tmp_path))
    assert (again.fresh, again.version_id, again.at) == (False, "v1", 100)
    assert uploader(store, tmp_path).upload(one(tmp_path, b"two")).fresh, "other bytes of the same size"
    assert len(store.puts) == 2


def test_what_was_published_and_then_removed_is_not_uploaded_again(tmp_path: Path) -> None:
    store = Store()
    uploader(store, tmp_path).upload(one(tmp_path))
    store.objects.clear()  # housekeeping, a day later
    known = uploader(store, tmp_path, "v1").upload(one(tmp_path))
    assert (known.fresh, known.version_id) == (False, "v1")
    assert uploader(store, tmp_path).upload(one(tmp_path)).fresh, "removed without having been published"


def test_an_object_of_somebody_else_is_replaced(tmp_path: Path) -> None:
    store = Store()
    store.objects["incoming/a.pdf"] = {"ContentLength": 3}
    assert uploader(store, tmp_path).upload(one(tmp_path)).fresh


def test_nothing_but_the_usual_is_asked_of_the_store(tmp_path: Path) -> None:
    store = Store()
    uploader(store, tmp_path).upload(one(tmp_path))
    assert set(store.puts[0]) == {"Bucket", "Key", "ContentType", "Metadata"}
    assert set(store.puts[0]["Metadata"]) == {HASH}


def test_folders_become_keys_and_only_pdfs_are_taken(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    for name in ("b.PDF", "job/a.pdf", "notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    assert [file.key for file in find(tmp_path)] == ["incoming/b.PDF", "incoming/job/a.pdf"]
    assert [file.key for file in find(tmp_path / "b.PDF")] == ["incoming/b.PDF"]


def test_of_the_samples_only_those_that_are_expected_are_taken(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "expected.json").write_text(json.dumps({"a.pdf": {"status": "published"}}))
    assert [file.name for file in find(tmp_path)] == ["a.pdf"]


def test_a_folder_without_pdfs_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no PDF in"):
        find(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no"):
        find(tmp_path / "missing")


# --- screen ----------------------------------------------------------------------------------------------------


def test_a_pipe_gets_a_line_only_when_something_changed() -> None:
    out = io.StringIO()
    screen = Screen(out, live=False)
    for seen in (view("running", stage="verifying"), view("running", stage="verifying"), view("published")):
        screen.update([seen])
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert "verifying" in lines[0] and "published" in lines[1]
    assert "\x1b" not in out.getvalue()


def test_the_table_shows_checks_and_codes() -> None:
    out = io.StringIO()
    passed = dict.fromkeys(("replay", "qpdf", "ua1"), "pass") | {"pixelDiff": "waived", "structure": "fail"}
    rows = [
        view("published", pages=3, lane="fast", size_before=2_000_000, size_after=900, checks=passed),
        view("refused", code="NEEDS_OCR"),
    ]
    Screen(out, live=False).table(rows)
    head, _, first, second = out.getvalue().splitlines()
    assert head.split()[:4] == ["document", "pages", "lane", "size"]
    assert " ".join(first.split()) == "a.pdf 3 fast 2.0 MB → 900 B pass pass waived pass FAIL published 0"
    assert "refused NEEDS_OCR" in second


@pytest.mark.parametrize(
    ("size", "text"), [(None, ""), (812, "812 B"), (84_400, "84 kB"), (1_300_000, "1.3 MB"), (999_999, "1000 kB")]
)
def test_sizes(size: int | None, text: str) -> None:
    assert human_size(size) == text


def test_stages_are_said_in_words() -> None:
    assert stage_name("tagging_chunks.analyze[3]") == "analyzing pages"
    assert stage_name("verification_report") == "verifying"
    assert stage_name("something_new") == "something new"


# --- the environment of children -------------------------------------------------------------------------------


def test_children_never_see_a_real_account(tmp_path: Path) -> None:
    mine = {
        "PATH": "/bin",
        "MAX_PAGES": "10",
        "AWS_PROFILE": "work",
        "AWS_SESSION_TOKEN": "secret",
        "AWS_ENDPOINT_URL_S3": "https://elsewhere",
        "AWS_ACCESS_KEY_ID": "real",
        "DAGSTER_HOME": "/elsewhere",
        "VIRTUAL_ENV": "/other",
    }
    made = child_environment(Places(tmp_path), "http://127.0.0.1:1", mine)
    assert made["MAX_PAGES"] == "10" and made["PATH"] == "/bin"
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "VIRTUAL_ENV"} & set(made)
    assert made["AWS_ACCESS_KEY_ID"] != "real"
    assert made["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert made["DAGSTER_HOME"] == str(tmp_path / "dagster")


# --- processes -------------------------------------------------------------------------------------------------


def service(name: str, code: str, folder: Path, **more: Any) -> Service:
    environment = {"PATH": "/usr/bin:/bin"}
    return Service(name, [sys.executable, "-c", code], environment, more.pop("ready", lambda: True), folder, **more)


def make_supervisor(folder: Path) -> Supervisor:
    return Supervisor(Record(folder / "run.json"), folder)


def test_a_service_is_started_recorded_and_stopped(tmp_path: Path) -> None:
    supervisor = make_supervisor(tmp_path)
    ready = tmp_path / "ready"
    code = f"import time, pathlib; time.sleep(0.3); pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
    supervisor.start(service("one", code, tmp_path, ready=ready.exists))
    supervisor.wait_ready("one")
    supervisor.note(ui="http://127.0.0.1:1")
    supervisor.check()
    record = Record(tmp_path / "run.json")
    assert set(record.alive()) == {"console", "one"}
    assert record.facts() == {"ui": "http://127.0.0.1:1"}
    assert supervisor.stop("one")
    assert set(record.alive()) == {"console"}
    assert supervisor.stop("one"), "stopping what is stopped is nothing"


def test_a_service_that_ends_is_said_with_its_log(tmp_path: Path) -> None:
    supervisor = make_supervisor(tmp_path)
    supervisor.start(service("one", "import sys, time; time.sleep(0.3); sys.exit('the disk is full')", tmp_path))
    supervisor.wait_ready("one")
    with pytest.raises(ServiceFailed, match=r"one ended unexpectedly with exit code 1(.|\n)*the disk is full"):
        for _ in range(100):
            supervisor.check()
            time.sleep(0.1)


def test_a_service_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    supervisor = make_supervisor(tmp_path)
    supervisor.start(service("one", "import time; time.sleep(60)", tmp_path, ready=lambda: False, ready_seconds=0.5))
    with pytest.raises(ServiceFailed, match=r"was not ready after 0\.5 s"):
        supervisor.wait_ready("one")
    supervisor.stop("one")


def test_a_service_that_does_not_end_is_killed(tmp_path: Path) -> None:
    supervisor = make_supervisor(tmp_path)
    deaf = tmp_path / "deaf"
    code = (
        "import pathlib, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"pathlib.Path({str(deaf)!r}).touch(); time.sleep(60)"
    )
    supervisor.start(service("one", code, tmp_path, ready=deaf.exists, stop_seconds=0.5))
    supervisor.wait_ready("one")
    ref = supervisor.process("one")
    assert not supervisor.stop("one")
    assert not is_alive(ref)


def test_what_a_killed_console_left_is_stopped_and_nothing_else(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    left, kept = reference(child.pid), reference(other.pid)
    assert left is not None and kept is not None
    # The number of the second one is recorded too, but for a process that started at another time.
    stale = ProcessRef(kept.host, kept.boot, kept.pid, kept.started - 5)
    places = Places(tmp_path)
    record = Record(places.record)
    record.write({"aws": left, "daemon": stale}, {})
    assert stop_leftovers(record, places) == ["aws"]
    assert child.wait(10) == -signal.SIGTERM
    assert other.poll() is None
    assert record.read() == {}
    other.kill()
    other.wait()


def test_one_console_a_folder(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "run.lock")
    with pytest.raises(AlreadyRunning):
        Lock(tmp_path / "run.lock")
    lock.release()
    Lock(tmp_path / "run.lock").release()


def test_the_lock_goes_with_its_process_however_that_ends(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from orchestration.local.supervise import Lock;"
        f"lock = Lock(Path({str(tmp_path / 'run.lock')!r})); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    with pytest.raises(AlreadyRunning):
        Lock(tmp_path / "run.lock")
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    Lock(tmp_path / "run.lock").release()


def test_a_taken_port_is_seen() -> None:
    port = free_port()
    assert port_is_free(port)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        assert not port_is_free(port)
