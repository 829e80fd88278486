"""Rules of the lane launcher: which launcher gets a run, who ends it, who is asked whether it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dagster import DagsterRunStatus
from dagster._core.launcher.base import WorkerStatus
from dagster._serdes.config_class import ConfigurableClassData

from orchestration.launchers.host import WORKER_TAG
from orchestration.launchers.lanes import LAUNCHED_TAG, LaneRunLauncher, UnknownLane
from orchestration.launchers.long_pool import LongPoolLauncher
from orchestration.launchers.processes import ProcessRef, is_alive, reference, wait_gone
from orchestration.launchers.slot import NO_PLACE
from tests.orchestration.conftest import Toys, wait_for


def launcher(toys: Toys) -> LaneRunLauncher:
    found = toys.instance.run_launcher
    assert isinstance(found, LaneRunLauncher)
    return found


def worker(toys: Toys, run) -> ProcessRef:
    return ProcessRef.from_json(toys.again(run).tags[WORKER_TAG])


def test_a_run_without_a_lane_takes_the_default_and_ends(toys: Toys) -> None:
    run = toys.launch("default")
    assert run.tags[LAUNCHED_TAG] == "fast"
    assert WORKER_TAG not in run.tags, "the fast lane here is Dagster's own launcher"
    assert toys.ended(run) is DagsterRunStatus.SUCCESS


def test_a_long_run_is_a_process_of_its_own(toys: Toys) -> None:
    run = toys.launch("long", tags={"lane": "long"})
    assert run.tags[LAUNCHED_TAG] == "long"
    assert toys.began("long") == worker(toys, run).pid
    assert toys.ended(run) is DagsterRunStatus.SUCCESS
    wait_for(lambda: not is_alive(worker(toys, run)), 20)


def test_an_unknown_lane_fails_and_starts_nothing(toys: Toys) -> None:
    run = toys.run("unknown", tags={"lane": "slow"})
    with pytest.raises(UnknownLane, match=r"'slow'.*fast, long"):
        toys.instance.launch_run(run.run_id, toys.workspace)
    assert toys.again(run).status is DagsterRunStatus.FAILURE
    assert not (toys.folder / "unknown").exists()


def test_tag_over_setting_over_default(toys: Toys) -> None:
    data = ConfigurableClassData("dagster._core.launcher", "DefaultRunLauncher", "{}")
    lanes = LaneRunLauncher({"fast": data, "long": data}, "fast", {"waiting": "long"})
    assert lanes.lane_of(toys.run("a", tags={"lane": "fast"})) == "fast"
    assert lanes.lane_of(toys.run("b")) == "long"
    assert LaneRunLauncher({"fast": data}, "fast").lane_of(toys.run("c")) == "fast"


def test_a_default_lane_that_is_not_configured_is_refused() -> None:
    with pytest.raises(UnknownLane):
        LaneRunLauncher({}, "fast")


@pytest.mark.parametrize("lane", ["fast", "long"])
def test_a_killed_worker_is_seen(toys: Toys, lane: str) -> None:
    run = toys.launch(f"killed-{lane}", seconds=60, tags={"lane": lane})
    pid = toys.began(f"killed-{lane}")
    assert launcher(toys).check_run_worker_health(toys.again(run)).status is WorkerStatus.RUNNING
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: reference(pid) is None, 10)
    wait_for(
        lambda: (
            launcher(toys).check_run_worker_health(toys.again(run)).status is WorkerStatus.FAILED
            or toys.again(run).status is DagsterRunStatus.FAILURE
        ),
        10,
    )


@pytest.mark.parametrize("lane", ["fast", "long"])
def test_terminate_ends_the_worker_of_its_lane(toys: Toys, lane: str) -> None:
    run = toys.launch(f"ended-{lane}", seconds=60, tags={"lane": lane})
    pid = toys.began(f"ended-{lane}")
    assert launcher(toys).terminate(run.run_id)
    assert toys.ended(run) is DagsterRunStatus.CANCELED
    wait_for(lambda: reference(pid) is None, 20)
    assert not launcher(toys).terminate(run.run_id), "an ended run cannot be ended again"


def test_the_launcher_that_launched_is_asked_whatever_the_tag_says_later(toys: Toys) -> None:
    run = toys.launch("relabelled", seconds=60, tags={"lane": "long"})
    pid = toys.began("relabelled")
    toys.instance.add_run_tags(run.run_id, {"lane": "fast"})
    assert launcher(toys).check_run_worker_health(toys.again(run)).run_worker_id == str(pid)
    assert launcher(toys).terminate(run.run_id)
    assert toys.ended(run) is DagsterRunStatus.CANCELED


def test_the_pool_runs_no_more_than_its_places(toys: Toys) -> None:
    first = toys.launch("place-1", seconds=60, tags={"lane": "long"})
    pid = toys.began("place-1")
    second = toys.launch("place-2", tags={"lane": "long"})
    time.sleep(3)
    assert not (toys.folder / "place-2").exists(), "the second run began beside the first"
    os.kill(pid, signal.SIGKILL)  # a crash frees the place: nothing has to be counted down
    assert toys.ended(second) is DagsterRunStatus.SUCCESS
    toys.instance.report_run_failed(toys.again(first))


def test_a_worker_without_a_place_gives_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orchestration.launchers.slot", str(tmp_path), "1"]
    holder = subprocess.Popen(
        [*command, "5", sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"1\n"
    late = subprocess.run([*command, "0.2", sys.executable, "-c", ""], capture_output=True, text=True, timeout=30)
    holder.kill()
    holder.communicate()
    assert late.returncode == NO_PLACE
    assert "no place among 1" in late.stderr


def test_a_pool_without_places_is_refused() -> None:
    with pytest.raises(ValueError, match="max_runs is 0"):
        LongPoolLauncher(0, 1)


def test_a_process_number_used_again_is_another_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    ref = reference(child.pid)
    assert ref is not None and is_alive(ref)
    assert not is_alive(ProcessRef(ref.host, ref.boot, ref.pid, ref.started - 1))
    child.kill()
    wait_for(lambda: reference(child.pid) is None, 10)  # a zombie until it is waited for: gone all the same
    assert not is_alive(ref)
    child.wait()
    assert wait_gone(ref, 0)


def test_a_worker_of_another_machine_is_not_judged_here() -> None:
    ref = reference(os.getpid())
    assert ref is not None
    with pytest.raises(ValueError, match="runs on elsewhere"):
        is_alive(ProcessRef("elsewhere", ref.boot, ref.pid, ref.started))
