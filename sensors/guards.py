"""The sweep: work that does not end is rerouted once, or fails, and its run is ended."""

from dagster import DagsterInstance, DefaultSensorStatus, SensorEvaluationContext, SkipReason, sensor

from assets.platform import Platform
from assets.stage import tell_settled
from resources.guards import Swept
from resources.work import FAILED


@sensor(
    minimum_interval_seconds=60,
    default_status=DefaultSensorStatus.RUNNING,
    description="Runaway guards: work that did not move for hours goes to the long lane, and from there fails; so does "
    "what is on the long lane for longer than its pages allow. Each tells an operator once.",
)
def sweep(context: SensorEvaluationContext, platform: Platform) -> SkipReason:
    """The store decides; what ran for a swept row is ended, so that its place is free."""
    found = platform.store.guards.sweep()
    for swept in found:
        if swept.after.state == FAILED:
            tell_settled(platform.store, swept.after)
        context.log.error("%s: %s", swept.after.document, swept.after.reason or "rerouted to the long lane")
        end_run(context.instance, swept)
    return SkipReason(f"{len(found)} units of work were swept.")


def end_run(instance: DagsterInstance, swept: Swept) -> None:
    """End the run that a swept row had, if it is still under way."""
    run = instance.get_run_by_id(swept.before.run_id) if swept.before.run_id else None
    if run is not None and not run.is_finished:
        instance.run_coordinator.cancel_run(run.run_id)
