"""What every launcher that starts run workers as processes of this machine has in common.

The worker's process is recorded in the run's tags, so that any process that shares the Dagster storage (the daemon
after a restart, the webserver) can see whether it lives and can end it. The workers lead a session of their own:
they survive a restart of the daemon.
"""

from __future__ import annotations

import logging
import signal
import threading
from abc import abstractmethod

from dagster import DagsterInstance, DagsterRun
from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, RunLauncher, WorkerStatus
from dagster._grpc.types import ExecuteRunArgs

from orchestration.launchers.processes import ProcessRef, is_alive, send, wait_gone

WORKER_TAG = "host/worker"
logger = logging.getLogger(__name__)


class HostRunLauncher(RunLauncher[DagsterInstance]):
    """A launcher whose run worker is one process of this machine. Subclasses say how it is started."""

    kill_after_seconds: float = 20.0  # from the polite request to end until the process group is killed

    @abstractmethod
    def start_worker(self, run: DagsterRun, arguments: ExecuteRunArgs) -> ProcessRef:
        """Start the process that executes the run and return at once."""

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start the worker of a run and record its process in the run's tags."""
        run = context.dagster_run
        origin = context.job_code_origin
        if origin is None:
            raise ValueError(f"run {run.run_id} does not say where its code is, so no worker can load it")
        arguments = ExecuteRunArgs(
            job_origin=origin, run_id=run.run_id, instance_ref=self._instance.get_ref(), set_exit_code_on_failure=True
        )
        worker = self.start_worker(run, arguments)
        self._instance.add_run_tags(run.run_id, {WORKER_TAG: worker.to_json()})
        self._instance.report_engine_event(
            f"Started the run worker as process {worker.pid} on {worker.host}.", run, cls=type(self)
        )

    def _worker(self, run: DagsterRun) -> ProcessRef | None:
        text = run.tags.get(WORKER_TAG)
        return ProcessRef.from_json(text) if text else None

    def terminate(self, run_id: str) -> bool:
        """Ask the worker to end; where it does not within ``kill_after_seconds``, its process group is killed."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        worker = self._worker(run)
        if worker is None or not send(worker, signal.SIGTERM):
            return False
        threading.Thread(target=self._kill_later, args=(worker,), name=f"end-{worker.pid}", daemon=True).start()
        return True

    def _kill_later(self, worker: ProcessRef) -> None:
        if not wait_gone(worker, self.kill_after_seconds, step=0.5) and send(worker, signal.SIGKILL, group=True):
            logger.warning("run worker %d did not end in %g s and was killed", worker.pid, self.kill_after_seconds)

    @property
    def supports_check_run_worker_health(self) -> bool:
        """A worker can be looked up by its process."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """RUNNING while the recorded process lives, FAILED when it is gone.

        Raises ``ValueError`` for a worker of another machine: nothing is known of it here, and an error leaves the
        run as it is where an answer of "unknown" would fail it.
        """
        worker = self._worker(run)
        if worker is None:
            return CheckRunHealthResult(WorkerStatus.UNKNOWN, "the run does not say which process executes it")
        if is_alive(worker):
            return CheckRunHealthResult(WorkerStatus.RUNNING, run_worker_id=str(worker.pid))
        return CheckRunHealthResult(
            WorkerStatus.FAILED, f"process {worker.pid} on {worker.host} is gone", run_worker_id=str(worker.pid)
        )
