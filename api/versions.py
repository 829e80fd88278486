"""Saved versions: made, committed, looked at, fetched, published by hand, gone back to."""

from __future__ import annotations

import logging

from botocore.exceptions import BotoCoreError, ClientError
from fastapi import APIRouter

from api import models as m
from api.context import Number, Own, Owning
from api.editing import shown
from resources import publication
from resources.costs import seconds_of
from resources.errors import Code, StoreError
from resources.queues import verify_message
from resources.rollback import rollback
from resources.values import ObjectRef
from resources.versions import Version

router = APIRouter()
log = logging.getLogger("api")


@router.post("/{docId}/versions", status_code=201, summary="Save a version")
def save(of: Owning, body: m.Save) -> m.SavedOut:
    """Under the lease. Answers where its bytes go; the same bytes of the same log again are the same version."""
    made = of.store.versions.create(
        of.id, body.up_to_seq, body.sha256, body.size, body.session_id, body.figures_waiting
    )
    key = of.store.versions.key(of.id, made.number)
    upload = of.store.uploads.put(key, made.sha256, made.size) if made.status == "uploading" else None
    return m.SavedOut(version=m.VersionOut.of(made), upload=m.SignedOut.of(upload) if upload else None)


@router.post("/{docId}/versions/{version}/commit", summary="Commit a version")
def commit(of: Owning, version: Number) -> m.VersionOut:
    """Exactly the announced bytes, pinned; then it is verified. A `queued` version sends its message again."""
    found = of.store.versions.commit(of.id, version)
    assert found.committed_at is not None
    of.store.costs.storage(of.id, f"v{version}", seconds_of(found.committed_at))
    if found.status in ("queued", "enqueue_failed"):
        found = of.store.versions.sent(of.id, version, send(of, version))
    return m.VersionOut.of(found)


def send(of: Own, version: int) -> bool:
    """Tell the verifier; False where the queue did not take it (the client may commit again)."""
    try:
        of.store.verify.send(verify_message(of.id, version))
    except (ClientError, BotoCoreError) as error:
        log.error("a version could not be enqueued", extra={"docId": of.id, "version": version, "problem": str(error)})
        return False
    return True


@router.get("/{docId}/versions", summary="All versions")
def all_versions(of: Owning) -> m.VersionsOut:
    """Oldest first."""
    return m.VersionsOut(versions=[m.VersionOut.of(one) for one in of.store.versions.list(of.id)])


@router.get("/{docId}/versions/{version}", summary="A version")
def one(of: Owning, version: Number) -> m.VersionOut:
    """With its verdict, once it is there. The first read of that books what verifying cost."""
    found = of.store.versions.get(of.id, version)
    of.store.costs.verify(found, of.document.owner)
    return m.VersionOut.of(found)


@router.get("/{docId}/versions/{version}/download-url", summary="Where a version's bytes are")
def download(of: Owning, version: Number) -> m.SignedOut:
    """Exactly the committed bytes, also if the key was written again. Version 0 is the base."""
    ref: ObjectRef | None = of.document.base if version == 0 else of.store.versions.get(of.id, version).stored
    if ref is None:
        raise StoreError(Code.NOT_READY, "There are no committed bytes yet.")
    return m.SignedOut.of(of.store.uploads.get(ref, f"{of.id}-{version}.pdf"))


@router.post("/{docId}/versions/{version}/publish", summary="Publish by hand")
def publish(of: Owning, version: Number, body: m.Reason) -> m.DocumentOut:
    """A person publishes a version that has passed and waited for review. The audit says who and why."""
    found = of.store.versions.get(of.id, version)
    check_verdict(found)
    if found.published is None or of.document.active_version != version:
        publication.publish(of.store.versions, found, f"{of.user}: {body.why}", of.settings.public_base_url, [])
    return shown(of, of.store.documents.get(of.id))


def check_verdict(found: Version) -> None:
    """Raises NOT_VERIFIED unless the record says that exactly these bytes have passed."""
    record = found.verification
    if found.status != "passed" or record is None or record.get("sha256") != found.sha256:
        raise StoreError(Code.NOT_VERIFIED, f"Version {found.number} has not passed.")


@router.post("/{docId}/versions/{version}/rollback", summary="Go back to a version")
def back(of: Owning, version: Number, body: m.Reason) -> m.DocumentOut:
    """One that was published before; its object is checked first."""
    base = of.settings.public_base_url
    return shown(of, rollback(of.store.versions, of.id, version, of.user, body.why, base))
