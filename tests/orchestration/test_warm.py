"""Rules of the warm launcher: a worker is a fork that lives by itself; the code it runs is the code on the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterRunStatus
from dagster._core.launcher.base import WorkerStatus

from orchestration.launchers.host import WORKER_TAG
from orchestration.launchers.lanes import LaneRunLauncher
from orchestration.launchers.processes import ProcessRef, reference
from orchestration.launchers.warm import WarmRunLauncher
from tests.orchestration.conftest import LANES, ROOT, Toys, toy_location, wait_for

TOY = ROOT / "tests/orchestration/toy.py"


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toys]:
    fast = {
        "module": "orchestration.launchers.warm",
        "class": "WarmRunLauncher",
        "config": {"preload": ["tests.orchestration.toy"]},
    }
    with toy_location(tmp_path_factory.mktemp("warm"), {**LANES, "fast": fast}) as made:
        yield made


def server(warm: Toys) -> subprocess.Popen[bytes]:
    lanes = warm.instance.run_launcher
    assert isinstance(lanes, LaneRunLauncher)
    launcher = lanes.launcher_of("fast")
    assert isinstance(launcher, WarmRunLauncher)
    assert launcher._server is not None
    return launcher._server


def test_a_worker_is_a_fork_of_the_warm_process(warm: Toys) -> None:
    run = warm.launch("forked", seconds=1)
    pid = warm.began("forked")
    worker, parent = Path(f"/proc/{pid}"), server(warm).pid
    assert ProcessRef.from_json(run.tags[WORKER_TAG]).pid == pid
    assert f"PPid:\t{parent}\n" in (worker / "status").read_text()
    # The same command line: it was forked and has executed no other program, so it has imported nothing again.
    assert (worker / "cmdline").read_bytes() == Path(f"/proc/{parent}/cmdline").read_bytes()
    assert warm.ended(run) is DagsterRunStatus.SUCCESS


def test_a_killed_worker_is_seen(warm: Toys) -> None:
    run = warm.launch("killed", seconds=60)
    pid = warm.began("killed")
    health = warm.instance.run_launcher.check_run_worker_health
    assert health(warm.again(run)).status is WorkerStatus.RUNNING
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: health(warm.again(run)).status is WorkerStatus.FAILED, 10)
    warm.instance.report_run_failed(warm.again(run))


def test_terminate_cancels_the_run(warm: Toys) -> None:
    run = warm.launch("ended", seconds=60)
    pid = warm.began("ended")
    assert warm.instance.run_launcher.terminate(run.run_id)
    assert warm.ended(run) is DagsterRunStatus.CANCELED
    wait_for(lambda: reference(pid) is None, 20)


def test_a_worker_outlives_the_warm_process_and_the_next_run_gets_a_new_one(warm: Toys) -> None:
    run = warm.launch("outlives", seconds=8)
    pid = warm.began("outlives")
    old = server(warm)
    old.kill()
    old.wait()
    assert reference(pid) is not None
    assert warm.ended(warm.launch("after")) is DagsterRunStatus.SUCCESS
    assert server(warm).pid != old.pid
    assert warm.ended(run) is DagsterRunStatus.SUCCESS


def test_changed_code_is_what_runs(warm: Toys) -> None:
    assert warm.ended(warm.launch("before-change")) is DagsterRunStatus.SUCCESS
    started = reference(server(warm).pid)
    log = warm.folder / "warm" / "server.log"
    size = log.stat().st_size if log.exists() else 0
    command = Path(f"/proc/{server(warm).pid}/cmdline")
    assert b"fd:" not in command.read_bytes()
    os.utime(TOY)
    assert warm.ended(warm.launch("after-change")) is DagsterRunStatus.SUCCESS
    assert b"fd:" in command.read_bytes(), f"the warm process did not start anew: {log.read_text()[size:]}"
    assert reference(server(warm).pid) == started, "the same process, so that its launcher still holds its lifeline"


def test_the_warm_process_ends_with_its_launcher(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orchestration.launchers.warm_server", str(tmp_path / "s")]
    process = subprocess.Popen([*command, "tests.orchestration.toy"], stdin=subprocess.PIPE, cwd=ROOT)
    wait_for(lambda: (tmp_path / "s").exists(), 60)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0
