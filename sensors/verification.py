"""Saved versions: a message on the verify queue becomes work, which the intake sensor gives its run."""

from dagster import DefaultSensorStatus, SensorEvaluationContext, SkipReason, sensor

from assets.platform import Platform
from jobs.remediation import verify_version
from resources.errors import Code, StoreError
from resources.queues import Message, parse_verify_message
from resources.store import Store
from resources.versions import SETTLED

BATCH = 50


@sensor(
    job=verify_version,
    minimum_interval_seconds=2,
    default_status=DefaultSensorStatus.RUNNING,
    description="Reads the verify queue: a version that an editor has committed becomes work.",
)
def verification(context: SensorEvaluationContext, platform: Platform) -> SkipReason:
    """Queue → store. The run is asked for when its row is due, which is at once."""
    store = platform.store
    taken: list[Message] = []
    for message in store.verify.receive(BATCH):
        try:
            context.log.info("%s", take_message(store, message.body))
        except ValueError as error:
            # Left on the queue: after its third receive it is a dead letter, which alerts.
            context.log.error("A message on the verify queue is unreadable: %s", error)
            continue
        taken.append(message)
    store.verify.delete(taken)
    return SkipReason(f"{len(taken)} versions to verify." if taken else "Nothing waits.")


def take_message(store: Store, body: str) -> str:
    """Write a version down as work; what is settled or gone is dropped. Raises ValueError for no message of ours."""
    found = parse_verify_message(body)
    doc, number = found.docId, found.version
    try:
        version = store.versions.get(doc, number)
        document = store.documents.get(doc)
    except StoreError as error:
        if error.code != Code.NOT_FOUND:
            raise
        return f"{doc}/{number}: gone"
    if version.status in SETTLED:
        return f"{doc}/{number}: settled already"
    return f"{doc}/{number}: {store.work.offer_verification(doc, number, document.owner, version.revision)}"
