"""The fast lane's launcher for one machine: workers forked from a process that has imported the code already."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import Array, DagsterRun, Field, IntSource
from dagster._config.config_schema import UserConfigSchema
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClass, serialize_value
from dagster._serdes.config_class import ConfigurableClassData

from orchestration.launchers.host import HostRunLauncher
from orchestration.launchers.processes import ProcessRef, reference


class WarmRunLauncher(HostRunLauncher, ConfigurableClass):
    """Forks each run worker from one warm process of its own, which is started at the first run.

    Args:
        preload: modules that the warm process imports before it forks; the code location's among them.
        start_seconds: how long the warm process may take to import them.
    """

    def __init__(self, preload: Sequence[str], start_seconds: int, inst_data: ConfigurableClassData | None = None):
        self._inst_data = inst_data
        self.preload = tuple(preload)
        self.start_seconds = start_seconds
        self._server: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        super().__init__()  # type: ignore[no-untyped-call]

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        """Where the configuration came from."""
        return self._inst_data

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """``preload``: modules to import once; ``start_seconds``: how long that may take."""
        return {
            "preload": Field(Array(str), is_required=False, default_value=["orchestration.definitions"]),
            "start_seconds": Field(IntSource, is_required=False, default_value=120),
        }

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> WarmRunLauncher:
        """Made by Dagster from the instance's configuration."""
        return cls(config_value["preload"], config_value["start_seconds"], inst_data=inst_data)

    @property
    def _folder(self) -> Path:
        folder = Path(self._instance.root_directory) / "warm"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _ready(self) -> socket.socket:
        """A connection to the warm process, which is started where it does not run."""
        # One socket a launching process: a daemon that restarts never meets the warm process of the one before.
        path = self._folder / f"{os.getpid()}.sock"
        with self._starting:
            if self._server is None or self._server.poll() is not None:
                path.unlink(missing_ok=True)
                command = [sys.executable, "-m", "orchestration.launchers.warm_server", str(path), *self.preload]
                with (self._folder / "server.log").open("ab") as log:
                    self._server = subprocess.Popen(
                        command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                    )
            deadline = time.monotonic() + self.start_seconds
            while True:
                connection = socket.socket(socket.AF_UNIX)
                try:
                    connection.connect(str(path))
                except (FileNotFoundError, ConnectionRefusedError):
                    connection.close()
                else:
                    connection.settimeout(self.start_seconds)
                    return connection
                if self._server.poll() is not None:
                    code = self._server.returncode
                    raise RuntimeError(f"the warm process ended with exit code {code}; see {self._folder}/server.log")
                if time.monotonic() > deadline:
                    self._server.kill()
                    raise TimeoutError(f"the warm process was not ready after {self.start_seconds} s")
                time.sleep(0.05)

    def start_worker(self, run: DagsterRun, arguments: ExecuteRunArgs) -> ProcessRef:
        """Fork a worker. A run is asked for once only: a lost answer is an error, never a second worker."""
        request = {"arguments": serialize_value(arguments), "log": str(self._folder / f"{run.run_id}.log")}
        with self._ready() as connection:
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = connection.makefile("rb").readline()
        if not answer:
            raise RuntimeError(f"the warm process did not say whether it started run {run.run_id}")
        worker = reference(int(answer))
        if worker is None:
            raise RuntimeError(f"the worker of run {run.run_id} ended at once; see {request['log']}")
        return worker

    def dispose(self) -> None:
        """End the warm process; workers go on."""
        if self._server is not None and self._server.stdin is not None:
            self._server.stdin.close()
            self._server.wait(10)
            (self._folder / f"{os.getpid()}.sock").unlink(missing_ok=True)
