"""The launcher that routes a run to its lane.

A lane is a name (``fast``, ``long``) and the launcher that starts its runs. Which lane a run takes is decided once,
when it is launched: the run's tag ``lane`` wins over the setting for its job, which wins over the default lane. The
choice is written to the run, so that ending it and asking after its health go to the launcher that started it, even
when the configuration has changed in between. A lane that is not configured is an error, never another lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from dagster import DagsterInstance, DagsterRun, DefaultRunLauncher, Field, Permissive, StringSource
from dagster._config.config_schema import UserConfigSchema
from dagster._config.field_utils import Shape
from dagster._core.launcher.base import (
    CheckRunHealthResult,
    LaunchRunContext,
    ResumeRunContext,
    RunLauncher,
    WorkerStatus,
)
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import ConfigurableClass, deserialize_value
from dagster._serdes.config_class import ConfigurableClassData

LANE_TAG = "lane"
LAUNCHED_TAG = "host/launched_lane"


class UnknownLane(ValueError):
    """A run asks for a lane that this instance does not have."""


class LaneRunLauncher(RunLauncher[DagsterInstance], ConfigurableClass):
    """Routes runs by lane to the configured launchers.

    Args:
        lanes: lane name → launcher. Each is given the Dagster instance when it is first used.
        default_lane: the lane of runs which no tag and no setting places.
        job_lanes: job name → lane, the setting that a run's own tag overrides.
    Raises ``UnknownLane`` where the default or a job's lane is not among ``lanes``.
    """

    def __init__(
        self,
        lanes: Mapping[str, ConfigurableClassData],
        default_lane: str,
        job_lanes: Mapping[str, str] | None = None,
        inst_data: ConfigurableClassData | None = None,
    ):
        self._inst_data = inst_data
        self._lanes = dict(lanes)
        self._default_lane = default_lane
        self._job_lanes = dict(job_lanes or {})
        self._launchers: dict[str, RunLauncher[DagsterInstance]] = {}
        for lane in (default_lane, *self._job_lanes.values()):
            self._known(lane)
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """Where the configuration came from."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """``lanes``: name → ``{module, class, config}`` as for any launcher; ``default_lane``; ``job_lanes``."""
        launcher = Shape(
            {
                "module": StringSource,
                "class": StringSource,
                "config": Field(Permissive(), is_required=False),
            }
        )
        return {
            "lanes": Field({"fast": Field(launcher), "long": Field(launcher, is_required=False)}),
            "default_lane": Field(StringSource, is_required=False, default_value="fast"),
            "job_lanes": Field(Permissive(), is_required=False),
        }

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> LaneRunLauncher:
        """Made by Dagster from the instance's configuration."""
        lanes = {
            name: ConfigurableClassData(value["module"], value["class"], yaml.safe_dump(value.get("config") or {}))
            for name, value in config_value["lanes"].items()
            if value
        }
        return cls(lanes, config_value["default_lane"], config_value.get("job_lanes"), inst_data=inst_data)

    def _known(self, lane: str) -> str:
        if lane not in self._lanes:
            raise UnknownLane(f"there is no lane {lane!r} here; configured: {', '.join(sorted(self._lanes))}")
        return lane

    def lane_of(self, run: DagsterRun) -> str:
        """The lane a run would be launched in: tag, else the job's setting, else the default. ``UnknownLane``."""
        return self._known(run.tags.get(LANE_TAG) or self._job_lanes.get(run.job_name) or self._default_lane)

    def launcher_of(self, lane: str) -> RunLauncher[DagsterInstance]:
        """The launcher of a lane, made at its first use: a lane nobody uses needs nothing of its own to be there."""
        known = self._known(lane)
        if known not in self._launchers:
            launcher: RunLauncher[DagsterInstance] = self._lanes[known].rehydrate(as_type=RunLauncher)  # type: ignore[type-abstract]
            launcher.register_instance(self._instance)
            self._launchers[known] = launcher
        return self._launchers[known]

    def _launched_by(self, run: DagsterRun) -> RunLauncher[DagsterInstance]:
        return self.launcher_of(run.tags.get(LAUNCHED_TAG) or self.lane_of(run))

    def launch_run(self, context: LaunchRunContext) -> None:
        """Launch in the run's lane, and write the choice to the run first."""
        lane = self.lane_of(context.dagster_run)
        launcher = self.launcher_of(lane)
        self._instance.add_run_tags(context.dagster_run.run_id, {LAUNCHED_TAG: lane})
        launcher.launch_run(context)

    def terminate(self, run_id: str) -> bool:
        """End the run through the launcher that started it."""
        run = self._instance.get_run_by_id(run_id)
        return run is not None and self._launched_by(run).terminate(run_id)

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Every lane is asked; see :meth:`check_run_worker_health` for the one that cannot answer by itself."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Ask the launcher that started the run; for Dagster's default launcher, ask the code server."""
        launcher = self._launched_by(run)
        if launcher.supports_check_run_worker_health:
            return launcher.check_run_worker_health(run)
        if isinstance(launcher, DefaultRunLauncher):
            return _ask_code_server(launcher, run)
        return CheckRunHealthResult(WorkerStatus.RUNNING, f"{type(launcher).__name__} cannot tell")

    def get_run_worker_debug_info(self, run: DagsterRun, include_container_logs: bool | None = True) -> str | None:
        """What the launcher that started the run can say about a worker that failed."""
        return self._launched_by(run).get_run_worker_debug_info(run, include_container_logs)

    @property
    def supports_resume_run(self) -> bool:
        """A lane whose launcher cannot resume says so when it is asked to."""
        return any(self.launcher_of(lane).supports_resume_run for lane in self._lanes)

    def resume_run(self, context: ResumeRunContext) -> None:
        """Resume through the launcher that started the run."""
        self._launched_by(context.dagster_run).resume_run(context)

    def join(self, timeout: int = 30) -> None:
        """Wait for the runs of every launcher in use."""
        for launcher in self._launchers.values():
            launcher.join(timeout)

    def dispose(self) -> None:
        """Let every launcher in use clean up."""
        for launcher in self._launchers.values():
            launcher.dispose()


def _ask_code_server(launcher: DefaultRunLauncher, run: DagsterRun) -> CheckRunHealthResult:
    """The default launcher's workers are children of a code server; it alone knows them.

    A server that does not know the run (it was restarted) means the worker is lost. A server that does not answer
    raises: nothing is known, and the run stays as it is until the next look.
    """
    client = launcher._get_grpc_client_for_termination(run.run_id)
    if client is None:
        return CheckRunHealthResult(WorkerStatus.UNKNOWN, "the run does not say which code server executes it")
    answer = deserialize_value(
        client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=10), CanCancelExecutionResult
    )
    if answer.can_cancel:
        return CheckRunHealthResult(WorkerStatus.RUNNING)
    return CheckRunHealthResult(WorkerStatus.FAILED, "the code server does not execute this run (any more)")
