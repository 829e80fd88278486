"""`published_version`: verified bytes where readers get them, if the policy holds; else the document waits.

Publication re-reads the verification record, bound to the SHA-256 it publishes: a blocking check only stops its own
run. Version row, active version, audit and the work's settlement are one transaction behind the claim's fence.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dagster import AssetExecutionContext, Output, asset

from assets.partitions import documents
from assets.platform import Platform
from assets.stage import Stage, stage
from assets.values import PublishedVersion
from assets.verified import verification_report, version_number
from resources import publication
from resources.errors import Code, StoreError
from resources.values import iso
from resources.versions import Version
from resources.work import REMEDIATE


@asset(
    partitions_def=documents,
    group_name="remediation",
    owners=["team:documents"],
    kinds={"s3", "dynamodb", "pdf"},
    deps=[verification_report],
    output_required=False,
    description="The published PDF of a source revision. Only what has passed, with exactly the bytes that passed; "
    "under the policy `compliant` only PDF/UA-1 with sound structure. Everything else waits as `needs_review`.",
)
def published_version(context: AssetExecutionContext, platform: Platform) -> Iterator[Output[PublishedVersion]]:
    """Yields nothing where the document waits for review: the reasons are in the document and in the log."""
    with stage(context, platform, "publish") as at:
        value, reasons = publish(at, version_number(context, at))
    if value is None:
        context.log.warning("Not published, waits for review: %s", " ".join(reasons))
        return
    metadata: dict[str, Any] = {
        "version": value.version,
        "size_bytes": value.stored.size,
        "sha256": value.stored.sha256,
        "published": f"s3://{at.store.objects.bucket}/{value.stored.key}",
        **at.phase_metadata(),
    }
    yield Output(value, metadata=metadata)


def publish(at: Stage, number: int) -> tuple[PublishedVersion | None, list[str]]:
    """Publish a version, or say why it waits. The work is settled either way."""
    store = at.store
    version = store.versions.get(at.document, number)
    store.costs.verify(version, at.claim.owner)
    reasons = why_not(version, at.platform.settings.publish_policy)
    if reasons:
        settle_for_review(at, reasons)
        return None, reasons
    if version.published is not None and store.documents.get(at.document).active_version == number:
        settle_done(at)
        return _value(version, iso(store.clock())), []
    store.work.check(at.claim)
    done = store.work.done(at.claim)
    publication.publish(store.versions, version, "policy", at.platform.settings.public_base_url, done)
    store.work.owners.leave_place(at.claim.owner, at.claim.place, at.claim.token)
    tell_done(at)
    return _value(store.versions.get(at.document, number), iso(store.clock())), []


def why_not(version: Version, policy: str) -> list[str]:
    """Why a version must wait, by its record; empty where it may be published."""
    record: Mapping[str, Any] | None = version.verification
    if record is None or record.get("sha256") != version.sha256:
        raise StoreError(Code.NOT_VERIFIED, f"Version {version.number} of {version.document} has no verdict.")
    wanting = [str(text) for text in record.get("shortcomings", [])]
    if policy == "compliant" and wanting:
        return wanting
    return [] if record["verdict"] == "passed" else wanting or [f"The verdict is {record['verdict']}."]


def settle_for_review(at: Stage, reasons: list[str]) -> None:
    """The work is done; the document waits. Repeated after a crash, it changes nothing."""
    claim = at.claim
    at.store.work.check(claim)
    at.store.documents.set_outcome(
        at.document, claim.revision, "needs_review", "NEEDS_REVIEW", " ".join(reasons)[:1900]
    )
    settle_done(at)


def settle_done(at: Stage) -> None:
    """The work row, then the job. A crash between them is mended by the settlement sensor."""
    at.store.work.succeed(at.claim)
    tell_done(at)


def tell_done(at: Stage) -> None:
    """The job's record learns that this file has ended well."""
    claim = at.claim
    if claim.kind == REMEDIATE:
        at.store.jobs.settle_file(claim.job_id, claim.job_started, at.document, ok=True)


def _value(version: Version, at: str) -> PublishedVersion:
    assert version.published is not None
    return PublishedVersion(version.document, version.revision, version.number, version.published, at)
