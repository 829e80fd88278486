"""Housekeeping: scanning the bucket for what no event told of, redriving dead letters, retiring partitions, purging."""

from dagster import (
    Config,
    DagsterInstance,
    DefaultScheduleStatus,
    OpExecutionContext,
    ScheduleDefinition,
    job,
    op,
)
from pydantic import Field

from assets.partitions import PARTITION_SET
from assets.platform import Platform
from jobs.purge import purge_published
from jobs.scan import scan_bucket
from resources.store import Store
from resources.work import REMEDIATE, SETTLED


class Redrive(Config):
    """Which queue's dead letters go back."""

    queue: str = Field("intake", description="`intake` or `verify`")


@op(description="Take what lies under incoming/ and no event has told of, and what failed by no fault of its own.")
def scan(context: OpExecutionContext, platform: Platform) -> None:
    """A file that the store knows in this version is skipped; at most so many are taken at a time."""
    if platform.settings.intake_mode == "realtime":
        context.log.info("INTAKE_MODE is realtime: nothing is scanned.")
        return
    found = scan_bucket(platform.store, context.log)
    context.log.info(
        "Scanned %d objects: %d taken, %d taken again, %d jobs reclaimed.",
        *(found.seen, found.taken, found.again, found.reclaimed),
    )


@op(description="Put a queue's dead letters back into it, after the cause was mended.")
def redrive(context: OpExecutionContext, platform: Platform, config: Redrive) -> None:
    """Reads of the queue bear a message that comes twice."""
    store = platform.store
    pairs = {"intake": (store.intake_dead, store.intake), "verify": (store.verify_dead, store.verify)}
    dead, alive = pairs[config.queue]
    context.log.info("Moved %d messages back to %s.", dead.move_to(alive), alive.name)


@op(description="Take settled documents out of the set of partitions; they come back when they are touched.")
def retire(context: OpExecutionContext, platform: Platform) -> None:
    """The set is what people look at; the registry of documents is the store."""
    context.log.info("Retired %d partitions.", retire_settled(context.instance, platform.store))


def retire_settled(instance: DagsterInstance, store: Store) -> int:
    """Retire the partitions of documents that settled so many days ago, or are gone; returns how many."""
    before = store.clock() - store.settings.partition_days * 86400
    gone = 0
    for key in instance.get_dynamic_partitions(PARTITION_SET):
        row = store.work.get(key, REMEDIATE)
        if row is None or (row.state in SETTLED and row.updated_at < before):
            instance.delete_dynamic_partition(PARTITION_SET, key)
            gone += 1
    return gone


@op(description="Remove uploads whose revision has been published for the retention time.")
def purge(context: OpExecutionContext, platform: Platform) -> None:
    """Only what is verified, published, active and old enough; anything else stays. The outcome is in the metadata."""
    found = purge_published(platform.store, context.log)
    context.add_output_metadata({"seen": found.seen, "removed": found.removed, "failures": found.failures})


@job(description="Finds uploads that no event has told of. Every five minutes.")
def scan_incoming() -> None:
    """One step."""
    scan()


@job(description="Puts dead letters back, by hand, after the cause was mended.")
def redrive_dead_letters() -> None:
    """One step."""
    redrive()


@job(description="Keeps the set of partitions to what is on its way or was settled lately. Daily.")
def retire_partitions() -> None:
    """One step."""
    retire()


@job(description="Removes uploads whose published version has stood for the retention time. Hourly.")
def purge_sources() -> None:
    """One step."""
    purge()


JOBS = (scan_incoming, redrive_dead_letters, retire_partitions, purge_sources)
SCHEDULES = tuple(
    ScheduleDefinition(job=target, cron_schedule=cron, execution_timezone="UTC", default_status=status)
    for target, cron, status in (
        (scan_incoming, "*/5 * * * *", DefaultScheduleStatus.RUNNING),
        (retire_partitions, "10 3 * * *", DefaultScheduleStatus.RUNNING),
        (purge_sources, "20 * * * *", DefaultScheduleStatus.RUNNING),
    )
)
