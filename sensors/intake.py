"""Uploads: S3's events are written down in the store and only then taken off the queue; what is due gets its run."""

from collections import Counter

from botocore.exceptions import ClientError
from dagster import (
    DagsterInstance,
    DagsterRunStatus,
    DefaultSensorStatus,
    RunRequest,
    RunsFilter,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES as UNDER_WAY

from assets.partitions import documents
from assets.platform import Platform
from jobs.intake import refuse_unlike, take_object
from jobs.remediation import OWNER_TAG, remediate_document, request, verify_version
from resources.errors import StoreError
from resources.queues import Message, parse_s3_event
from resources.store import Store
from resources.work import REMEDIATE

#: A tick ends well inside Dagster's limit of 60 s, whatever waits.
TICK_SECONDS = 20.0


@sensor(
    jobs=[remediate_document, verify_version],
    minimum_interval_seconds=1,
    default_status=DefaultSensorStatus.RUNNING,
    description="Reads S3's events from the intake queue, writes them down as work, and asks for the runs of all work "
    "that is due.",
)
def intake(context: SensorEvaluationContext, platform: Platform) -> SensorResult | SkipReason:
    """Queue → store → runs. Nothing leaves the queue before it is durable; nothing sleeps."""
    store = platform.store
    taken = read_queue(context, store)
    requests = launch(platform, context.instance)
    if not requests:
        return SkipReason(f"{taken} events taken, nothing is due." if taken else "Nothing waits.")
    keys = sorted({str(one.partition_key) for one in requests})
    return SensorResult(run_requests=requests, dynamic_partitions_requests=[documents.build_add_request(keys)])


def read_queue(context: SensorEvaluationContext, store: Store) -> int:
    """Take a bounded batch of events; returns how many messages were taken off."""
    until = store.clock() + TICK_SECONDS
    most = store.settings.intake_batch_messages
    count = 0
    while count < most and store.clock() < until:
        messages = store.intake.receive(min(10, most - count))
        if not messages:
            break
        done: list[Message] = []
        for message in messages:
            try:
                events = parse_s3_event(message.body)
            except ValueError as error:
                # It will never be readable: to the dead letters at once, where people look.
                context.log.error("A message on the intake queue is unreadable: %s", error)
                store.intake_dead.client.send_message(QueueUrl=store.intake_dead.url, MessageBody=message.body)
                done.append(message)
                continue
            try:
                for event in events:
                    context.log.info("%s: %s", event.key, take_object(store, event))
            except (StoreError, ClientError) as error:
                # Only what could not be taken goes back; it is seen again after the visibility time, three times. Its
                # neighbours do not wait for it, nor become dead letters with it.
                context.log.warning("An upload could not be taken yet: %s", error)
                continue
            done.append(message)
        store.intake.delete(done)
        count += len(messages)
    return count


def active(instance: DagsterInstance) -> Counter[str]:
    """How many runs each owner has that wait or are under way."""
    runs = instance.get_runs(RunsFilter(statuses=list(UNDER_WAY)))
    return Counter(run.tags[OWNER_TAG] for run in runs if OWNER_TAG in run.tags)


def launch(platform: Platform, instance: DagsterInstance) -> list[RunRequest]:
    """Requests for the runs of rows that are due, as many as Dagster's queue has room for: the rest waits in the store,
    where owners take turns. A folder that is not quiet yet is looked at again later; so are uploads while the provider
    that their pages need has asked for a rest."""
    store, analyzer = platform.store, platform.analyzer
    rest = store.cooldowns.eligible_at(analyzer.provider) if analyzer is not None else 0.0
    queued = instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.NOT_STARTED, DagsterRunStatus.QUEUED]))
    room = min(store.settings.intake_launch_limit, store.settings.intake_queue_runs - queued)
    out: list[RunRequest] = []
    if room <= 0:
        return out
    for row in store.work.due(room, lambda: active(instance)):
        if rest > store.clock() and row.kind == REMEDIATE:
            store.work.postpone(row, rest)
            continue
        job = store.jobs.get(row.job_id, row.job_started)
        if job is not None and job.status == "QUEUED":
            if job.quiet_at > store.clock():
                store.work.postpone(row, job.quiet_at)
                continue
            store.jobs.advance(job.id, job.started, "IN_PROGRESS")
        if not refuse_unlike(store, row):
            out.append(request(row, store.settings))
    return out
