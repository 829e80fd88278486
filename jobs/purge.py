"""Purging uploads: what lies under ``incoming/`` goes when what was made of it has been published long enough."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime

from botocore.exceptions import BotoCoreError, ClientError

from resources.errors import Code, StoreError
from resources.queues import INCOMING
from resources.store import Store
from resources.values import ObjectRef, document_id


@dataclass
class Purged:
    """What a purge came to: objects seen, object versions removed, and what could not be removed, a sentence each."""

    seen: int = 0
    removed: int = 0
    failures: list[str] = field(default_factory=list)


def purge_published(store: Store, log: logging.Logger) -> Purged:
    """Go through ``incoming/``. What cannot be looked into, or removed, is told of and left for the next time."""
    out = Purged()
    for upload in store.objects.latest(INCOMING):
        out.seen += 1
        try:
            if purgeable(store, upload):
                out.removed += store.objects.delete_with_older(upload)
        except (StoreError, ClientError, BotoCoreError) as error:
            log.error("%s could not be purged: %s", upload.key, error)
            out.failures.append(f"{upload.key}: {error}"[:300])
    log.info("Looked at %d uploads, removed %d, failed with %d.", out.seen, out.removed, len(out.failures))
    return out


def purgeable(store: Store, upload: ObjectRef) -> bool:
    """Whether the active version was made of exactly this upload, is verified and published, and stands long enough.

    The published bytes must be there: an upload is never removed before what was made of it is seen.
    """
    doc = document_id(store.objects.bucket, upload.key)
    row = store.work.get(doc)
    if row is None or row.source is None or row.source.version_id != upload.version_id:
        return False
    try:
        document = store.documents.get(doc)
        version = store.versions.get(doc, document.active_version) if document.active_version else None
    except StoreError as error:
        if error.code != Code.NOT_FOUND:
            raise
        return False
    if version is None or document.active_since is None or document.outcome != "published":
        return False
    if not (version.revision == document.source_revision == row.revision) or version.status != "passed":
        return False
    age = store.clock() - datetime.fromisoformat(document.active_since).timestamp()
    if age < store.settings.source_retention_hours * 3600 or version.published is None:
        return False
    stands = store.objects.head(version.published.key, version.published.version_id)
    return stands is not None and (stands.sha256, stands.size) == (version.sha256, version.size)
