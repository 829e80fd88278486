"""The analysts' tables, made every hour for the day that is on, and once more for the day that has ended."""

from datetime import timedelta

from dagster import (
    AssetSelection,
    DefaultScheduleStatus,
    RunRequest,
    ScheduleEvaluationContext,
    define_asset_job,
    schedule,
)

from resources.ledger import CEILINGS, COST

build_metrics = define_asset_job(
    "build_metrics",
    selection=AssetSelection.assets(COST, CEILINGS),
    description="A day of the ledger as Parquet.",
)


@schedule(
    job=build_metrics, cron_schedule="5 * * * *", execution_timezone="UTC", default_status=DefaultScheduleStatus.RUNNING
)
def hourly_metrics(context: ScheduleEvaluationContext) -> list[RunRequest]:
    """Today's facts; in the first hour of a day also yesterday's, which are complete then."""
    now = context.scheduled_execution_time
    days = [now] if now.hour else [now - timedelta(days=1), now]
    return [
        RunRequest(run_key=f"metrics:{day:%Y-%m-%d}:{now:%Y-%m-%dT%H}", partition_key=f"{day:%Y-%m-%d}") for day in days
    ]
