"""What must hold when the dust has settled, read from the store alone."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestration.local.halt import run_workers
from orchestration.local.uploads import Upload
from resources.ledger import COST, day_of
from resources.store import Store
from resources.values import document_id
from resources.work import REMEDIATE, SETTLED
from tests.e2e.platform import Running

_OBJECTS = re.compile(
    r"docs/[0-9a-f-]{36}/(base\.pdf|versions/1\.pdf|reports/1/(verify\.json|report\.html)|ops/.*\.json)"
    r"|chunks/[0-9a-f-]{36}/r1/\d+\.json|published/[0-9a-f-]{36}/versions/r1/document\.pdf|incoming/.*|metrics/.*|dagster/.*"
)


def faults(
    platform: Running, uploads: Sequence[Upload], wanted: Mapping[str, tuple[str, str]], scratch: Path
) -> list[str]:
    """Everything that is not as it must be, a sentence each. `wanted`: sample → (outcome, SHA-256 or code)."""
    store = platform.look.store
    out: list[str] = []
    for upload in uploads:
        sample = upload.name.rsplit("-", 1)[-1]
        out.extend(_document(store, document_id(platform.look.bucket, upload.key), *wanted[sample]))
    out.extend(_ledger(store))
    out.extend(_leftovers(platform, store, scratch))
    return out


def _document(store: Store, doc: str, outcome: str, fact: str) -> list[str]:
    out: list[str] = []
    document, row = store.documents.get(doc), store.work.get(doc, REMEDIATE)
    if document.outcome != outcome:
        out.append(f"{doc}: {document.outcome} ({document.code}: {document.reason}), not {outcome}")
    if row is None or row.state not in SETTLED or row.token is not None:
        out.append(f"{doc}: its work is {row and row.state}")
    job = store.jobs.get(row.job_id, row.job_started) if row is not None else None
    if job is None or job.status not in ("COMPLETE", "FAILED") or job.succeeded + job.failed != job.total:
        out.append(f"{doc}: its job is {job}")
    items = list(store.documents.table.query(f"DOC#{doc}"))
    kinds = Counter(item["sk"].split("#")[0] for item in items)
    if outcome != "published":
        return [*out, *([f"{doc}: {document.code}, not {fact}"] if document.code != fact else [])]
    if (kinds["VER"], kinds["AUDIT"], document.active_version) != (1, 1, 1):
        out.append(f"{doc}: {kinds['VER']} versions, {kinds['AUDIT']} publications, active {document.active_version}")
    if not kinds["VER"]:
        return out
    lease = next((item for item in items if item["sk"] == "LEASE"), None)
    if lease is not None and lease["expiresAt"] > store.clock() * 1000:
        out.append(f"{doc}: {lease['holderUserId']} still holds the lease")
    version = store.versions.get(doc, 1)
    if version.sha256 != fact:
        out.append(f"{doc}: other bytes than without chaos")
    key = store.versions.published_key(doc, 1)
    listed = store.objects.client.list_object_versions(Bucket=store.objects.bucket, Prefix=key)
    found = [one["VersionId"] for one in listed.get("Versions", [])]
    if version.published is None or found != [version.published.version_id]:
        out.append(f"{doc}: {len(found)} published objects")
    booked = Counter(
        row["operation"]
        for row in store.ledger.rows(COST, day_of(store.clock()))
        if row["document"] == doc and row["operation"] in ("verify", "storage")
    )
    if booked != {"verify": 1, "storage": 1}:
        out.append(f"{doc}: booked {dict(booked)}")
    return out


def _ledger(store: Store) -> list[str]:
    ids = Counter(row["id"] for row in store.ledger.rows(COST, day_of(store.clock())))
    return [f"{ident} is booked {count} times" for ident, count in ids.items() if count > 1]


def _leftovers(platform: Running, store: Store, scratch: Path) -> list[str]:
    out = [f"run worker {ref.pid} lives" for ref in run_workers()]
    out += [f"{one.key} is left" for one in store.objects.keys("") if not _OBJECTS.fullmatch(one.key)]
    uploads = store.objects.client.list_multipart_uploads(Bucket=store.objects.bucket).get("Uploads", [])
    out += [f"the upload of {one['Key']} is open" for one in uploads]
    waiting = {queue.name: queue.depth() for queue in (store.intake, store.verify)}
    out += [f"{count} messages wait on {name}" for name, count in waiting.items() if count]
    dead = {queue.name: queue.depth() for queue in (store.intake_dead, store.verify_dead)}
    out += [f"{count} dead letters on {name}" for name, count in dead.items() if count]
    out += [f"{path} is left" for path in sorted(scratch.iterdir()) if not _in_use(path)]
    pools = platform.look.instance.event_log_storage.get_concurrency_keys()
    for pool in pools:
        info = platform.look.instance.event_log_storage.get_concurrency_info(pool)
        if info.claimed_slots:
            out.append(f"{len(info.claimed_slots)} places of {pool} are held")
    return out


def _in_use(path: Path) -> bool:
    """Whether a work directory belongs to a process that lives: it is named ``<what>-<process>-<random>``."""
    parts = path.name.split("-")
    return len(parts) >= 3 and parts[1].isdigit() and Path(f"/proc/{parts[1]}").exists() and os.getpid() > 0
