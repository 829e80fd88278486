"""A Dagster instance with our lane launcher, and a code location of toy jobs, for tests of the launchers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.workspace.context import WorkspaceProcessContext, WorkspaceRequestContext
from dagster._core.workspace.load_target import ModuleTarget

ROOT = Path(__file__).parents[2]
LANES: dict[str, Any] = {
    "fast": {"module": "dagster._core.launcher", "class": "DefaultRunLauncher"},
    "long": {
        "module": "orchestration.launchers.long_pool",
        "class": "LongPoolLauncher",
        "config": {"max_runs": 1, "wait_seconds": 30},
    },
}


@dataclass
class Toys:
    """The instance, and how a test makes and launches runs of the toy job."""

    instance: DagsterInstance
    workspace: WorkspaceRequestContext
    folder: Path

    def run(self, name: str, seconds: float = 0.0, tags: dict[str, str] | None = None) -> DagsterRun:
        """Create a run of the waiting job which writes its process number to ``folder/name`` when it begins."""
        location = self.workspace.code_locations[0]
        repository = next(iter(location.get_repositories().values()))
        job = repository.get_full_job("waiting")
        plan = location.get_execution_plan(
            job,
            run_config=(config := {"ops": {"wait": {"config": {"file": str(self.folder / name), "seconds": seconds}}}}),
            step_keys_to_execute=None,
            known_state=None,
            instance=self.instance,
        )
        return self.instance.create_run(
            job_name="waiting",
            run_id=None,
            run_config=config,
            status=DagsterRunStatus.NOT_STARTED,
            tags=tags or {},
            root_run_id=None,
            parent_run_id=None,
            step_keys_to_execute=None,
            execution_plan_snapshot=plan.execution_plan_snapshot,
            job_snapshot=job.job_snapshot,
            parent_job_snapshot=job.parent_job_snapshot,
            asset_selection=None,
            asset_check_selection=None,
            resolved_op_selection=None,
            op_selection=None,
            remote_job_origin=job.get_remote_origin(),
            job_code_origin=job.get_python_origin(),
            asset_graph=repository.asset_graph,
        )

    def launch(self, name: str, seconds: float = 0.0, tags: dict[str, str] | None = None) -> DagsterRun:
        """Create and launch a run."""
        run = self.run(name, seconds, tags)
        self.instance.launch_run(run.run_id, self.workspace)
        return self.again(run)

    def again(self, run: DagsterRun) -> DagsterRun:
        """The run as it is now."""
        found = self.instance.get_run_by_id(run.run_id)
        assert found is not None
        return found

    def began(self, name: str, seconds: float = 40) -> int:
        """Wait until the run named so has begun; its process number."""
        wait_for(lambda: (self.folder / name).exists() and (self.folder / name).read_text() != "", seconds)
        return int((self.folder / name).read_text())

    def ended(self, run: DagsterRun, seconds: float = 40) -> DagsterRunStatus:
        """Wait until the run has ended; how."""
        wait_for(lambda: self.again(run).is_finished, seconds)
        return self.again(run).status


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds; the test fails when it does not within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not come true within {seconds} s"
        time.sleep(0.1)


def write_instance(home: Path, lanes: dict[str, Any], **config: Any) -> None:
    """Write a ``dagster.yaml`` with our launcher and no run queue."""
    launcher = {
        "module": "orchestration.launchers.lanes",
        "class": "LaneRunLauncher",
        "config": {"lanes": lanes, **config},
    }
    home.mkdir(parents=True, exist_ok=True)
    coordinator = {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"}
    (home / "dagster.yaml").write_text(
        yaml.safe_dump({"run_launcher": launcher, "run_coordinator": coordinator, "telemetry": {"enabled": False}})
    )


@contextmanager
def toy_location(home: Path, lanes: dict[str, Any]) -> Iterator[Toys]:
    """An instance in ``home`` with these lanes, and a code server that has the toy jobs."""
    write_instance(home, lanes)
    with ExitStack() as stack:
        instance = stack.enter_context(DagsterInstance.from_config(str(home)))
        target = ModuleTarget(
            module_name="tests.orchestration.toy", attribute=None, working_directory=str(ROOT), location_name="toy"
        )
        context = stack.enter_context(WorkspaceProcessContext(instance, target))
        yield Toys(instance, context.create_request_context(), home)
        instance.run_launcher.dispose()


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toys]:
    """Toy jobs behind our launcher, with both lanes on this machine."""
    with toy_location(tmp_path_factory.mktemp("toys"), LANES) as made:
        yield made
