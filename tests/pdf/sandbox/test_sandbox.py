"""Whatever a file makes a tool do is a result with a code, and nothing is left of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pdf.errors import Code, PdfError
from pdf.sandbox import Limits, Sandbox
from pdf.sandbox.confine import without_network
from tests.pdf.sandbox import culprits

SHORT = Limits(wall_seconds=20, cpu_seconds=15, memory_mb=512, file_mb=8, processes=16)
MB = 1 << 20


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(SHORT, tmp_path_factory.mktemp("work")) as found:
        yield found


def refused(sandbox: Sandbox, function, *args, limits: Limits | None = None) -> PdfError:
    with pytest.raises(PdfError) as caught:
        sandbox.call(function, *args, limits=limits)
    return caught.value


def running(marker: str) -> list[int]:
    """Processes with the marker in their command line."""
    out = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    out.append(int(entry.name))
            except OSError:
                continue
    return out


def gone(marker: str, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while running(marker):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_a_call_gives_its_value_and_what_it_cost(sandbox: Sandbox) -> None:
    outcome = sandbox.call(culprits.double, 21)
    assert outcome.value == 42
    assert 0 < outcome.seconds < 20
    assert outcome.peak_memory_mb > 1


def test_peak_memory_is_that_of_the_call_alone(sandbox: Sandbox) -> None:
    large = sandbox.call(culprits.claim, 200).peak_memory_mb
    small = sandbox.call(culprits.double, 1).peak_memory_mb
    assert large - small > 150


def test_the_child_has_no_credentials(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "plainly-fake")
    monkeypatch.setenv("DATABASE_URL", "plainly-fake")
    with Sandbox(SHORT, tmp_path) as fresh:
        found = fresh.call(culprits.environment).value
    assert "plainly-fake" not in found.values()
    assert not [name for name in found if name.startswith(("AWS_", "DAGSTER_"))]


def test_the_child_inherits_no_open_files(sandbox: Sandbox, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        found = sandbox.call(culprits.open_files).value
    assert not [name for name in found if "secret" in name or name.startswith("socket:")]


def test_the_child_has_no_network_where_the_system_allows_that(sandbox: Sandbox) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0 if without_network() else 1)
    allowed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        reached = sandbox.call(culprits.connect, server.getsockname()[1]).value
    assert reached is not allowed


def test_a_refusal_keeps_its_code_and_sentence(sandbox: Sandbox) -> None:
    error = refused(sandbox, culprits.refuse)
    assert (error.code, error.message, error.retryable) == (Code.NEEDS_OCR, "A scan.", True)


def test_a_mistake_of_ours_is_no_traceback(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    error = refused(sandbox, culprits.mistake)
    assert error.code == Code.TOOL_FAILED
    assert "\n" not in error.message
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("culprit", [culprits.eat_memory, culprits.eat_memory_and_abort])
def test_a_memory_bomb_is_out_of_memory(sandbox: Sandbox, culprit) -> None:
    assert refused(sandbox, culprit).code == Code.OUT_OF_MEMORY


def test_a_loop_ends_by_its_computing_time(sandbox: Sandbox) -> None:
    error = refused(sandbox, culprits.spin, limits=Limits(wall_seconds=30, cpu_seconds=1))
    assert error.code == Code.TOOL_TIMEOUT
    assert "computing time" in error.message


def test_a_hang_ends_by_the_clock(sandbox: Sandbox) -> None:
    began = time.monotonic()
    assert refused(sandbox, culprits.sleep, limits=Limits(wall_seconds=0.5)).code == Code.TOOL_TIMEOUT
    assert time.monotonic() - began < 5


def test_a_crash_is_a_result(sandbox: Sandbox) -> None:
    error = refused(sandbox, culprits.die)
    assert error.code == Code.CHILD_KILLED
    assert "SIGSEGV" in error.message


def test_a_file_that_grows_without_end_is_stopped(sandbox: Sandbox) -> None:
    assert refused(sandbox, culprits.write_much).code in (Code.CHILD_KILLED, Code.TOOL_FAILED)


def test_a_fork_bomb_is_stopped(sandbox: Sandbox) -> None:
    error = refused(sandbox, culprits.fork_many)
    assert error.code == Code.CHILD_KILLED
    assert "processes" in error.message


def test_nothing_outlives_its_call(sandbox: Sandbox) -> None:
    marker = uuid.uuid4().hex
    sandbox.call(culprits.leave_behind, marker)
    assert running(marker) == []


def test_the_work_directory_is_removed(sandbox: Sandbox) -> None:
    folder = Path(sandbox.call(culprits.scribble).value)
    assert not folder.exists()
    refused(sandbox, culprits.die)
    assert sandbox.work is not None
    assert list(sandbox.work.iterdir()) == []


def test_calls_from_threads_do_not_wait_for_each_other(sandbox: Sandbox) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert [o.value for o in pool.map(lambda n: sandbox.call(culprits.double, n), range(24))] == [
            2 * n for n in range(24)
        ]


def test_a_zygote_that_was_killed_is_replaced(tmp_path: Path) -> None:
    with Sandbox(SHORT, tmp_path) as fresh:
        fresh.call(culprits.double, 1)
        assert fresh._zygote is not None
        fresh._zygote.kill()
        fresh._zygote.wait()
        assert fresh.call(culprits.double, 2).value == 4


def test_a_forked_process_gets_a_zygote_of_its_own(tmp_path: Path) -> None:
    with Sandbox(SHORT, tmp_path) as fresh:
        fresh.call(culprits.double, 1)
        child = os.fork()
        if child == 0:
            good = fresh.call(culprits.double, 4).value == 8
            fresh.close()
            os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert fresh.call(culprits.double, 3).value == 6


def test_nothing_outlives_a_killed_caller(tmp_path: Path) -> None:
    marker = uuid.uuid4().hex
    script = textwrap.dedent(
        f"""
        from pathlib import Path
        from pdf.sandbox import Sandbox
        from tests.pdf.sandbox import culprits
        Sandbox(work=Path({str(tmp_path)!r})).call(culprits.sleep_with_child, {marker!r})
        """
    )
    caller = subprocess.Popen([sys.executable, "-c", script, marker], cwd=Path(__file__).parents[3])
    until = time.monotonic() + 30
    while len(running(marker)) < 2:  # the caller, and the grandchild
        assert time.monotonic() < until
        time.sleep(0.05)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    assert gone(marker)
