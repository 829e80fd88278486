"""The long lane without a cluster: run workers as processes of this machine, few at once.

The run queue's limit for ``lane=long`` normally keeps the number down. The pool is the second guard, for runs that
another queue, a person or a second daemon starts: a worker begins only when it holds one of the places.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import DagsterInstance, DagsterRun, Field, IntSource
from dagster._config.config_schema import UserConfigSchema
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClass, serialize_value
from dagster._serdes.config_class import ConfigurableClassData

from orchestration.launchers.host import HostRunLauncher
from orchestration.launchers.processes import ProcessRef, reference


class LongPoolLauncher(HostRunLauncher, ConfigurableClass):
    """At most ``max_runs`` run workers at once on this machine, each a fresh process."""

    def __init__(self, max_runs: int, wait_seconds: int, inst_data: ConfigurableClassData | None = None):
        if max_runs < 1:
            raise ValueError(f"max_runs is {max_runs}: the long lane needs at least one place")
        self._inst_data = inst_data
        self.max_runs = max_runs
        self.wait_seconds = wait_seconds
        self._children: list[subprocess.Popen[bytes]] = []
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """Where the configuration came from."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """``max_runs`` workers at once; a worker waits ``wait_seconds`` at most for its place."""
        return {
            "max_runs": Field(IntSource, is_required=False, default_value=1),
            "wait_seconds": Field(IntSource, is_required=False, default_value=150),
        }

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> LongPoolLauncher:
        """Made by Dagster from the instance's configuration."""
        return cls(config_value["max_runs"], config_value["wait_seconds"], inst_data=inst_data)

    def start_worker(self, run: DagsterRun, arguments: ExecuteRunArgs) -> ProcessRef:
        """Start a process that waits for its place and then executes the run."""
        instance: DagsterInstance = self._instance
        home = Path(instance.root_directory)
        logs = home / "long-pool"
        logs.mkdir(parents=True, exist_ok=True)
        # Ended workers of ours stay zombies until they are asked for.
        self._children = [child for child in self._children if child.poll() is None]
        command = [
            *(sys.executable, "-m", "orchestration.launchers.slot"),
            *(str(logs), str(self.max_runs), str(self.wait_seconds)),
            *(sys.executable, "-m", "dagster", "api", "execute_run", serialize_value(arguments)),
        ]
        with (logs / f"{run.run_id}.log").open("ab") as log:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, close_fds=True
            )
        self._children.append(child)
        worker = reference(child.pid)
        if worker is None:
            raise RuntimeError(f"the worker of run {run.run_id} ended at once with exit code {child.wait()}")
        return worker
