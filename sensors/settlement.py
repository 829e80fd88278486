"""Runs that ended, however: the document's work row, outcome and job record are settled once, whatever crashed.

A stage settles its own failures. What is left are runs that could not: a worker that was killed, a machine that went, a
run that was cancelled or never began.
"""

from collections.abc import Callable

from dagster import (
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    DefaultSensorStatus,
    RunsFilter,
    RunStatusSensorContext,
    RunStatusSensorDefinition,
    SensorEvaluationContext,
    SkipReason,
    run_status_sensor,
    sensor,
)
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import WorkerStatus
from dagster._core.storage.dagster_run import FINISHED_STATUSES

from assets.platform import Platform
from assets.stage import GENERATION_TAG, KIND_TAG, tell_settled
from jobs.remediation import DOCUMENT_TAG, remediate_document, verify_version
from resources.store import Store
from resources.work import DONE, FAILED, QUEUED, REMEDIATE, RUNNING, Row

_KILLED = ("RUN_LOST", "The worker that ran the document was killed, or its machine went.")
_CANCELLED = ("RUN_CANCELLED", "Somebody cancelled the run.")
#: What `settle` answers where it counted an attempt that never began.
NEVER_BEGAN = "never began"
#: Dagster's tag of a run that was asked for once.
RUN_KEY_TAG = "dagster/run_key"
#: Rows looked at for runs that ended unheard, in one turn.
LOOK_AT = 200
_NEVER = "The run ended before it began to work."


def settle(store: Store, run: DagsterRun, code: str, reason: str, *, retryable: bool) -> str:
    """Settle what a run left behind; returns what was done, in words."""
    doc = run.tags.get(DOCUMENT_TAG) or run.tags.get("dagster/partition")
    if not doc:
        return "no document"
    kind = run.tags.get(KIND_TAG, REMEDIATE)
    row = store.work.get(doc, kind)
    if row is None:
        return "no work"
    if row.state == RUNNING and row.run_id == run.run_id:
        after = store.work.run_ended(doc, kind, run.run_id, code, reason, retryable=retryable)
        if after is not None and after.state == FAILED:
            tell_settled(store, after)
        return f"was running, is {after.state if after else 'another run’s'}"
    if row.state == QUEUED and row.run_id != run.run_id and run.tags.get(GENERATION_TAG) == str(row.generation):
        asked = run.tags.get(RUN_KEY_TAG, "")
        if asked == row.run_key:
            after = store.work.never_began(row, _NEVER)
            return NEVER_BEGAN if after else "moved on"
    if row.state in (DONE, FAILED):
        # Who settled the row may have died before it told anybody; a budget that is spent is told by nobody else.
        tell_settled(store, row)
    return f"is {row.state}"


def _make(
    name: str, status: DagsterRunStatus, seconds: int, handle: Callable[[Store, DagsterRun], str]
) -> RunStatusSensorDefinition:
    """`seconds` between looks: each costs a tenth of a second of a core; only what somebody waits for is frequent."""

    @run_status_sensor(
        name=name,
        run_status=status,
        monitored_jobs=[remediate_document, verify_version],
        default_status=DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=seconds,
        description=f"Settles the work of document runs that ended as {status.value.lower()}.",
    )
    def settlement(context: RunStatusSensorContext, platform: Platform) -> None:
        context.log.info("%s: %s", context.dagster_run.run_id, handle(platform.store, context.dagster_run))

    return settlement


settle_failed = _make(
    "settle_failed", DagsterRunStatus.FAILURE, 3, lambda store, run: settle(store, run, *_KILLED, retryable=True)
)
settle_cancelled = _make(
    "settle_cancelled",
    DagsterRunStatus.CANCELED,
    10,
    lambda store, run: settle(store, run, *_CANCELLED, retryable=False),
)
settle_succeeded = _make(
    # A run that succeeded has settled its row, unless a stage was skipped by something nobody foresaw.
    "settle_succeeded",
    DagsterRunStatus.SUCCESS,
    15,
    lambda store, run: settle(store, run, "RUN_INCOMPLETE", "The run ended without a result.", retryable=False),
)


@sensor(
    minimum_interval_seconds=15,
    default_status=DefaultSensorStatus.RUNNING,
    description="Queues work again whose worker has lost its lease: it died, or was cut off from the store.",
)
def recovery(context: SensorEvaluationContext, platform: Platform) -> SkipReason:
    """Leases end whether or not anybody noticed what happened to the run; so do the work directories of the dead."""
    platform.sweep()
    store = platform.store
    found = store.work.recover()
    for row in found:
        context.log.warning("%s: the lease has ended, it is queued again", row.document)
    late = [row.document for row in store.work.asked(LOOK_AT) if settle_late(context.instance, store, row)]
    for doc in late:
        context.log.warning("%s: its run has ended unheard, it is asked for again", doc)
    for run_id in end_stillborn(context.instance):
        context.log.warning("%s: its worker died while it started", run_id)
    return SkipReason(f"{len(found)} leases had ended, {len(late)} runs had ended unheard.")


def settle_late(instance: DagsterInstance, store: Store, row: Row) -> bool:
    """Settle the run that a waiting row was asked for, where it has ended and nobody settled it.

    Dagster tells a sensor of a run's end once. Where the sensor could not reach the store just then, the row would be
    asked for under the same run key for ever, and never run again.
    """
    ended = RunsFilter(tags={RUN_KEY_TAG: row.run_key}, statuses=list(FINISHED_STATUSES))
    return any(settle(store, run, *_KILLED, retryable=True) == NEVER_BEGAN for run in instance.get_runs(ended, limit=1))


def end_stillborn(instance: DagsterInstance) -> list[str]:
    """Fail runs whose worker died before it said that it had started; returns their ids.

    Dagster looks at the worker's health only once a run has started, and otherwise waits for its whole start time-out.
    The run is read again after its worker was found gone: what is still starting then has nobody to start it.
    """
    launcher = instance.run_launcher
    out: list[str] = []
    if not launcher.supports_check_run_worker_health:
        return out
    for run in instance.get_runs(RunsFilter(statuses=[DagsterRunStatus.STARTING]), limit=LOOK_AT):
        try:
            gone = launcher.check_run_worker_health(run).status == WorkerStatus.FAILED
        except (ValueError, DagsterUserCodeUnreachableError):
            continue  # nothing is known of a worker of another machine, or of a server that does not answer
        if not gone:
            continue
        now = instance.get_run_by_id(run.run_id)
        if now is not None and now.status == DagsterRunStatus.STARTING:
            instance.report_run_failed(now, "The worker died while it started.")
            out.append(run.run_id)
    return out


SENSORS = (settle_failed, settle_cancelled, settle_succeeded, recovery)
