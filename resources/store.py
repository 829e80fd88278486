"""Everything of the store for one set of settings, put together once."""

from __future__ import annotations

from dataclasses import dataclass

from resources.alerts import Alerts, LogAlerts, RecordedAlerts, TopicAlerts
from resources.clients import Clients
from resources.cooldowns import Cooldowns
from resources.costs import Costs
from resources.deletion import Deletion
from resources.documents import Documents
from resources.guards import Bounds, Guards
from resources.jobs import Jobs
from resources.keys import Keys
from resources.ledger import Ledger
from resources.log import Log
from resources.objects import Objects
from resources.owners import Owners
from resources.queues import Queue
from resources.settings import Settings
from resources.staging import Budget, Staging
from resources.table import Table
from resources.uploads import Uploads
from resources.values import Clock
from resources.versions import Versions
from resources.work import Work


@dataclass(frozen=True)
class Store:
    """The rooms of the store. Making one talks to nothing but KMS, to find the key."""

    settings: Settings
    clock: Clock
    objects: Objects
    documents: Documents
    log: Log
    versions: Versions
    work: Work
    staging: Staging
    guards: Guards
    cooldowns: Cooldowns
    jobs: Jobs
    ledger: Ledger
    uploads: Uploads
    costs: Costs
    deletion: Deletion
    intake: Queue
    intake_dead: Queue
    verify: Queue
    verify_dead: Queue
    alerts: Alerts


def make_store(settings: Settings, clients: Clients, clock: Clock) -> Store:
    """Put a store together. Raises StoreError NOT_CONFIGURED where the stack is not provisioned."""
    objects = Objects(clients.s3, settings.bucket, Keys(clients.kms, settings.key_alias).arn)
    documents = Documents(Table(clients.dynamodb, settings.documents_table), clock, settings.editor_lease_seconds)
    rows = Table(clients.dynamodb, settings.work_table)
    work = Work(
        rows,
        clock,
        Owners(rows, clock, settings.owner_active_rows),
        lease_seconds=settings.claim_lease_seconds,
        max_attempts=settings.max_attempts,
        max_barren=settings.host_max_attempts,
        hold_seconds=settings.due_hold_seconds,
        renew_seconds=settings.claim_renew_seconds,
        retry_seconds=settings.retry_seconds,
    )

    versions = Versions(documents, objects)
    ledger = Ledger(Table(clients.dynamodb, settings.ledger_table))
    sink = TopicAlerts(clients.sns, settings.alerts_topic_name) if settings.alerts_topic else LogAlerts()
    alerts = RecordedAlerts(ledger, clock, sink)
    bounds = Bounds(
        settings.sweep_minutes,
        settings.host_lane_minutes,
        settings.host_lane_minutes_a_page,
        settings.cost_ceiling_usd,
        settings.cost_ceiling_usd_a_page,
    )
    budget = Budget(settings.stage_max_chunks, settings.stage_max_items, settings.stage_chunk_items)
    costs = Costs(documents, ledger, settings.hourly_rate_usd)

    def queue(name: str) -> Queue:
        return Queue(clients.sqs, name)

    return Store(
        settings=settings,
        clock=clock,
        objects=objects,
        documents=documents,
        log=Log(documents, objects),
        versions=versions,
        work=work,
        staging=Staging(work, budget),
        guards=Guards(work, alerts, bounds, long_lane=settings.long_lane_enabled),
        cooldowns=Cooldowns(rows, clock),
        jobs=Jobs(rows, clock),
        ledger=ledger,
        uploads=Uploads(documents, objects, settings.upload_seconds),
        costs=costs,
        deletion=Deletion(documents, versions, objects, work, costs),
        intake=queue(settings.intake_queue),
        intake_dead=queue(f"{settings.intake_queue}-dlq"),
        verify=queue(settings.verify_queue),
        verify_dead=queue(f"{settings.verify_queue}-dlq"),
        alerts=alerts,
    )
