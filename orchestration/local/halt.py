"""Stopping a local run so that nothing is lost: no new runs, a moment for those under way, and the store last."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

from orchestration.launchers.host import WORKER_TAG
from orchestration.launchers.processes import ProcessRef, is_alive, is_here, send
from orchestration.local.environment import adopt, child_environment
from orchestration.local.places import Places
from orchestration.local.supervise import Record, Supervisor, stop_process

# The store is last: everything else writes to it until it has ended.
ORDER = ("daemon", "webserver", "code-server", "api", "aws")
GRACE_SECONDS = 10.0
NOWHERE = "http://127.0.0.1:9"  # nothing listens there: reading Dagster's own records needs no AWS


def run_workers() -> list[ProcessRef]:
    """The processes of this machine that execute a run now, as the runs' tags name them."""
    from dagster import DagsterInstance, RunsFilter
    from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES

    with DagsterInstance.get() as instance:
        runs = instance.get_runs(filters=RunsFilter(statuses=IN_PROGRESS_RUN_STATUSES))
        named = [ProcessRef.from_json(run.tags[WORKER_TAG]) for run in runs if WORKER_TAG in run.tags]
    return [worker for worker in named if is_here(worker) and is_alive(worker)]


def halt(supervisor: Supervisor, places: Places) -> Iterator[str]:
    """Stop every service of this console, in order; yields a sentence for what a person should know.

    Runs under way get a few seconds. Those that need longer are killed as a crash would kill them: their claims
    expire, and the next start takes their documents up again. (To cancel them would settle the documents.)
    """
    if not (places.dagster_home / "dagster.yaml").exists():
        return
    supervisor.stop("daemon")
    workers = run_workers()
    if workers:
        yield f"waiting up to {GRACE_SECONDS:g} s for {len(workers)} runs"
    deadline = time.monotonic() + GRACE_SECONDS
    while any(is_alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.2)
    cut = [worker for worker in workers if send(worker, signal.SIGKILL, group=True)]
    if cut:
        yield f"{len(cut)} runs were cut short; the next start takes their documents up again"
    for name in ORDER[1:]:
        if not supervisor.stop(name):
            yield f"{name} did not end by itself and was killed"


def stop_leftovers(record: Record, places: Places) -> list[str]:
    """Stop what a console that was killed has left running; the names of what was stopped.

    Nothing but recorded processes is touched, each only if it is still the very process that was recorded.
    """
    alive = record.alive()
    alive.pop("console", None)
    stopped = []
    for name in [*(name for name in ORDER if name in alive), *sorted(set(alive) - set(ORDER))]:
        if name == "code-server" and (places.dagster_home / "dagster.yaml").exists():
            adopt(child_environment(places, record.facts().get("endpoint", NOWHERE)))
            stopped += [f"run worker {ref.pid}" for ref in run_workers() if send(ref, signal.SIGKILL, group=True)]
        stop_process(alive[name], 20)
        stopped.append(name)
    record.remove()
    return stopped


def stop(places: Places) -> Iterator[str]:
    """``make stop``: ask the console to end, and end what it may have left; yields what was done."""
    record = Record(places.record)
    console = record.alive().get("console")
    if console is not None:
        yield f"asking the console (process {console.pid}) to stop"
        if not stop_process(console, 90):
            yield "the console did not end by itself and was killed"
    leftovers = stop_leftovers(record, places)
    if leftovers:
        yield f"stopped {', '.join(leftovers)}"
    if console is None and not leftovers:
        yield "nothing is running"
