"""Everything of the store for one set of settings, put together once."""

from __future__ import annotations

from dataclasses import dataclass

from resources.alerts import Alerts, LogAlerts, TopicAlerts
from resources.clients import Clients
from resources.cooldowns import Cooldowns
from resources.costs import Costs
from resources.deletion import Deletion
from resources.documents import Documents
from resources.jobs import Jobs
from resources.keys import Keys
from resources.ledger import Ledger
from resources.log import Log
from resources.objects import Objects
from resources.queues import Queue
from resources.settings import Settings
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
        lease_seconds=settings.claim_lease_seconds,
        max_attempts=settings.max_attempts,
        hold_seconds=settings.due_hold_seconds,
        renew_seconds=settings.claim_renew_seconds,
        retry_seconds=settings.retry_seconds,
    )

    versions = Versions(documents, objects)
    ledger = Ledger(Table(clients.dynamodb, settings.ledger_table))
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
        alerts=TopicAlerts(clients.sns, settings.alerts_topic_name) if settings.alerts_topic else LogAlerts(),
    )
