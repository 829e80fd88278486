"""Dead letters: one alert when a dead-letter queue is no longer empty, and another only after it was emptied."""

import json

from dagster import DefaultSensorStatus, SensorEvaluationContext, SensorResult, sensor

from assets.platform import Platform


@sensor(
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.RUNNING,
    description="Tells an operator, once, that messages could not be worked on. The job redrive_dead_letters puts them "
    "back after the cause was mended.",
)
def dead_letters(context: SensorEvaluationContext, platform: Platform) -> SensorResult:
    """The cursor remembers which queues were alerted about."""
    store = platform.store
    told = set(json.loads(context.cursor or "[]"))
    now = set()
    for queue in (store.intake_dead, store.verify_dead):
        depth = queue.depth()
        if not depth:
            continue
        now.add(queue.name)
        if queue.name not in told:
            store.alerts.send(
                f"Dead letters in {queue.name}",
                f"{depth} messages could not be worked on. See the runbook, dead letters.",
            )
    return SensorResult(skip_reason=f"{len(now)} queues have dead letters.", cursor=json.dumps(sorted(now)))
