"""The command itself, as `make run` and `make stop` call it, in a folder of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestration.local.places import ROOT, Places
from orchestration.local.supervise import Record
from tests.corpus.plain import letter


def command(state: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "orchestration.local", *arguments, "--state", str(state)]


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's own folder: a letter, and a text somebody called .pdf."""
    folder = tmp_path_factory.mktemp("mine")
    letter(folder / "letter.pdf")
    (folder / "notes.pdf").write_text("no PDF at all\n")
    return folder


def test_a_run_ends_with_a_table_and_the_next_one_finds_its_state(mine: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    run = command(state, "run", "--exit", "--pdfs", str(mine))
    first = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "\x1b" not in first.stdout and "Traceback" not in first.stdout + first.stderr
    assert "uploaded 2 files" in first.stdout
    table = first.stdout[first.stdout.index("document") :]
    assert "published" in table and "refused NOT_A_PDF" in table
    assert (state / "results/letter/letter.pdf").stat().st_size > 1000
    assert "PDF/UA-1" in (state / "results/letter/report.html").read_text()
    assert Record(Places(state).record).read() == {}, "nothing is left running"

    again = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "uploaded 0 files" in again.stdout and "2 are known" in again.stdout
    assert "inspecting" not in again.stdout, "nothing is done again"
    assert again.stdout.count("published") >= 2, "yesterday's state is shown"


def test_stop_ends_a_console_that_runs_and_says_when_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    letter(tmp_path / "empty/letter.pdf")
    state = tmp_path / "state"
    console = subprocess.Popen(
        command(state, "run", "--pdfs", str(tmp_path / "empty")), cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    record = Record(Places(state).record)
    deadline = time.monotonic() + 120
    while len(record.alive()) < 3:
        assert console.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    second = subprocess.run(command(state, "run"), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1 and "running already" in second.stderr and "Traceback" not in second.stderr
    started = record.alive()
    stopped = subprocess.run(command(state, "stop"), cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert stopped.returncode == 0 and "asking the console" in stopped.stdout
    assert console.wait(30) == 1
    assert console.stdout is not None and "stopping" in console.stdout.read()
    assert not [name for name, ref in started.items() if Path(f"/proc/{ref.pid}").exists() and name != "console"]
    none = subprocess.run(command(state, "stop"), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert none.returncode == 0 and "nothing is running" in none.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pdfs", "/nowhere/at/all"], "there is no /nowhere/at/all"),
        (["--port", "taken"], "is taken by another program"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(mine: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        given = [str(taken.getsockname()[1]) if argument == "taken" else argument for argument in arguments]
        if "--pdfs" not in given:
            given += ["--pdfs", str(mine)]
        done = subprocess.run(command(tmp_path, "run", *given), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert words in done.stderr and len(done.stderr.splitlines()) == 1


def test_ctrl_c_stops_everything(mine: Path, tmp_path: Path) -> None:
    console = subprocess.Popen(
        command(tmp_path, "run", "--pdfs", str(mine)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    record = Record(Places(tmp_path).record)
    deadline = time.monotonic() + 120
    while not record.facts():
        assert console.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    started = record.alive()
    console.send_signal(signal.SIGINT)
    out, err = console.communicate(timeout=60)
    assert console.returncode == 1 and "stopping" in out and "Traceback" not in err
    assert len(started) >= 4
    assert not [name for name, ref in started.items() if Path(f"/proc/{ref.pid}").exists()]
