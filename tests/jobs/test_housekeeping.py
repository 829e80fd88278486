"""Housekeeping: partitions retire and come back, dead letters go back, uploads are purged when they may be."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from dagster import DagsterInstance, JobDefinition

from assets.partitions import PARTITION_SET
from assets.platform import Platform
from assets.stage import tell_settled
from jobs.access import restore_owner, revoke_owner
from jobs.housekeeping import purge_sources, redrive_dead_letters, retire_partitions, retire_settled, scan_incoming
from jobs.purge import Purged, purge_published, purgeable
from jobs.scan import scan_bucket
from resources.errors import Code, StoreError
from resources.publication import publish
from resources.values import ObjectRef
from resources.versions import Version
from resources.work import REMEDIATE, Source
from sensors.dead_letters import dead_letters
from sensors.intake import intake
from tests.resources.conftest import Clock, new_doc
from tests.sensors.conftest import requests, tick
from tests.sensors.test_intake import upload

LOG = logging.getLogger("test")


def run(
    job: JobDefinition, platform: Platform, instance: DagsterInstance, config: Mapping[str, Any] | None = None
) -> None:
    """Dagster makes a platform of its own, with this process's settings and the real clock."""
    ops = {"ops": {next(iter(job.nodes)).name: {"config": dict(config)}}} if config else None
    assert job.execute_in_process(instance=instance, resources={"platform": platform}, run_config=ops).success


def taken(platform: Platform, instance: DagsterInstance, key: str = "incoming/a.pdf", body: bytes = b"%PDF-1.7") -> str:
    """An upload whose run was asked for; Dagster adds the partition."""
    doc = upload(platform, key, body)
    (request,) = requests(tick(intake, platform, instance))
    instance.add_dynamic_partitions(PARTITION_SET, [str(request.partition_key)])
    return doc


def done(platform: Platform, doc: str) -> None:
    store = platform.store
    tell_settled(store, store.work.succeed(store.work.claim(doc, REMEDIATE, new_doc())))


def test_a_settled_documents_partition_retires_and_comes_back_when_it_is_touched(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    settled, active = taken(platform, instance), taken(platform, instance, "incoming/b.pdf")
    done(platform, settled)
    retire_settled(instance, platform.store)
    assert set(instance.get_dynamic_partitions(PARTITION_SET)) == {settled, active}
    clock.pass_(15 * 86400)
    retire_settled(instance, platform.store)
    assert instance.get_dynamic_partitions(PARTITION_SET) == [active]
    upload(platform, "incoming/a.pdf", b"%PDF-1.7 anew")
    answer = tick(intake, platform, instance)
    (added,) = answer.dynamic_partitions_requests
    assert settled in added.partition_keys
    assert settled in {one.partition_key for one in requests(answer)}


def test_dead_letters_alert_once_and_go_back(
    platform: Platform, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(platform.store.alerts, "send", lambda subject, message: said.append(subject))
    platform.store.intake_dead.send({"one": 1})
    first = tick(dead_letters, platform, instance)
    tick(dead_letters, platform, instance, first.cursor)
    assert said == [f"Dead letters in {platform.store.intake_dead.name}"]
    run(redrive_dead_letters, platform, instance, {"queue": "intake"})
    assert platform.store.intake_dead.depth() == 0
    assert any(message.body == '{"one":1}' for message in platform.store.intake.receive(10))
    again = tick(dead_letters, platform, instance, first.cursor)
    platform.store.intake_dead.send({"two": 2})
    tick(dead_letters, platform, instance, again.cursor)
    assert len(said) == 2


def published(platform: Platform, doc: str, revision: int = 1) -> Version:
    """A document whose version 1 was made of its upload, has passed and is published."""
    store = platform.store
    store.documents.open_source(doc, "unowned", "Title", revision, 8)
    base = store.objects.put_bytes(b"base", f"docs/{doc}/base.pdf")
    store.documents.set_base(doc, revision, base, 1, None, "fast")
    store.documents.acquire_lease(doc, "unowned", "s")
    ref = store.objects.put_bytes(b"version", store.versions.key(doc, 1))
    store.versions.create(doc, 0, ref.sha256, ref.size, "s")
    store.versions.commit(doc, 1)
    store.versions.begin_verification(doc, 1)
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/1/verify.json")
    record = {"verdict": "passed", "sha256": ref.sha256, "shortcomings": []}
    version = store.versions.settle(doc, 1, ref.sha256, record, report)
    publish(store.versions, version, "policy", "", [])
    done(platform, doc)
    return store.versions.get(doc, 1)


def there(platform: Platform, *keys: str) -> list[bool]:
    return [platform.objects.head(key) is not None for key in keys]


def test_an_upload_is_purged_only_when_it_is_published_active_and_old_enough(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    keys = [f"incoming/{name}.pdf" for name in ("works", "failed", "stands")]
    works, failed, stands = (taken(platform, instance, key) for key in keys)
    platform.store.work.claim(works, REMEDIATE, "run")
    claim = platform.store.work.claim(failed, REMEDIATE, "run")
    tell_settled(platform.store, platform.store.work.fail(claim, "SOURCE_DAMAGED", "x", retryable=False))
    published(platform, stands)
    clock.pass_(23 * 3600)
    assert purge_published(platform.store, LOG) == Purged(3, 0, [])
    clock.pass_(2 * 3600)
    assert purge_published(platform.store, LOG) == Purged(3, 1, [])
    assert there(platform, *keys) == [True, True, False]
    assert purge_published(platform.store, LOG) == Purged(2, 0, [])


def test_older_versions_go_first_and_none_comes_back_to_light(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    doc = taken(platform, instance)
    upload(platform, "incoming/a.pdf", b"%PDF-1.7 two")
    tick(intake, platform, instance)
    published(platform, doc, revision=2)
    clock.pass_(25 * 3600)
    assert purge_published(platform.store, LOG).removed == 2
    left = platform.objects.client.list_object_versions(Bucket=platform.objects.bucket, Prefix="incoming/a")
    assert left.get("Versions", []) == []
    assert scan_bucket(platform.store, LOG).seen == 0
    upload(platform, "incoming/a.pdf", b"%PDF-1.7 three")  # and without events a newer one is taken all the same
    assert scan_bucket(platform.store, LOG).taken == 1


def test_a_newer_upload_is_not_purged_for_the_older(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    doc = taken(platform, instance)
    published(platform, doc)
    clock.pass_(25 * 3600)
    seen = platform.objects.head("incoming/a.pdf")
    assert seen is not None and purgeable(platform.store, seen)
    upload(platform, "incoming/a.pdf", b"%PDF-1.7 anew")
    assert platform.objects.delete_with_older(seen) == 0  # it came after the listing
    assert purge_published(platform.store, LOG).removed == 0
    tick(intake, platform, instance)
    assert purge_published(platform.store, LOG).removed == 0
    head = platform.objects.head("incoming/a.pdf")
    assert head is not None and head.size == len(b"%PDF-1.7 anew")


def test_an_upload_whose_published_bytes_are_gone_stays(
    platform: Platform, instance: DagsterInstance, clock: Clock
) -> None:
    version = published(platform, taken(platform, instance))
    clock.pass_(25 * 3600)
    assert version.published is not None
    platform.objects.delete_version(version.published)
    assert purge_published(platform.store, LOG) == Purged(1, 0, [])


def test_what_cannot_be_removed_is_told_and_does_not_hold_up_the_rest(
    platform: Platform, instance: DagsterInstance, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        published(platform, taken(platform, instance, f"incoming/{name}.pdf"))
    clock.pass_(25 * 3600)
    real = platform.objects.delete_with_older

    def broken(ref: ObjectRef) -> int:
        if ref.key == "incoming/a.pdf":
            raise EndpointConnectionError(endpoint_url="http://nowhere")
        return real(ref)

    with monkeypatch.context() as patch:
        patch.setattr(platform.objects, "delete_with_older", broken)
        found = purge_published(platform.store, LOG)
    assert (found.removed, len(found.failures)) == (1, 1)
    assert "incoming/a.pdf" in found.failures[0]
    assert purge_published(platform.store, LOG).removed == 1


def test_housekeeping_runs_as_jobs(platform: Platform, instance: DagsterInstance) -> None:
    for job in (purge_sources, retire_partitions, scan_incoming):
        run(job, platform, instance)


def test_an_operator_withdraws_an_owners_access_and_gives_it_back(
    platform: Platform, instance: DagsterInstance
) -> None:
    store = platform.store
    doc = new_doc()
    store.work.offer(doc, "somebody", Source("incoming/a.pdf", "v", 1, "1"), "job", "2027", due_at=store.clock())
    claim = store.work.claim(doc, REMEDIATE, "run")
    run(revoke_owner, platform, instance, {"owner": "somebody"})
    with pytest.raises(StoreError) as error:
        store.work.succeed(claim)
    assert error.value.code == Code.OWNER_REVOKED
    run(restore_owner, platform, instance, {"owner": "somebody"})
    assert store.work.owners.epoch("somebody") == 2
