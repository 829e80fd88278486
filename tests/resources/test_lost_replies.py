"""The first answer to a write is lost: the client asks again, and what it is told is what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from resources.clients import make_clients
from resources.errors import Code, StoreError
from resources.objects import Objects
from resources.rollback import rollback
from resources.settings import load_settings
from resources.store import Store, make_store
from resources.values import ObjectRef
from resources.work import REMEDIATE, Source
from tests.conftest import session
from tests.proxy import Proxy, proxy, put, write
from tests.resources.conftest import Clock, new_doc, ready, record

SOURCE = Source("incoming/a.pdf", "v1", 10, "01")
JOB = ("job", "2027-01-15T08:00:00Z")


@pytest.fixture
def lossy(aws_server: str) -> Iterator[Proxy]:
    with proxy(aws_server) as found:
        yield found


@pytest.fixture
def far(store: Store, lossy: Proxy, clock: Clock) -> Store:
    """The same store, behind the proxy."""
    settings = load_settings(aws_endpoint_url=lossy.url)
    return make_store(settings, make_clients(settings, session()), clock)


def offered(store: Store) -> str:
    doc = new_doc()
    store.work.offer(doc, "owner", SOURCE, *JOB, due_at=store.clock())
    return doc


def leased(store: Store) -> tuple[str, ObjectRef]:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "owner", "s")
    return doc, base


def committed(store: Store, data: bytes = b"version") -> str:
    doc, _ = leased(store)
    kept = store.objects.put_bytes(data, f"docs/{doc}/versions/1.pdf")
    store.versions.create(doc, 0, kept.sha256, kept.size, "s")
    store.versions.commit(doc, 1)
    return doc


def verified(store: Store) -> str:
    doc = committed(store)
    version = store.versions.begin_verification(doc, 1)
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/1/verify.json")
    facts = {"verdict": "passed", "sha256": version.sha256, "seconds": 1.0, "pages": 1}
    store.versions.settle(doc, 1, version.sha256, facts, report)
    return doc


def offer(near: Store, far: Store) -> Any:
    doc = new_doc()
    answer = far.work.offer(doc, "owner", SOURCE, *JOB, due_at=far.clock())
    row = near.work.get(doc)
    assert row is not None and answer in ("new", "duplicate")
    return row.state, row.generation, row.revision


def claim(near: Store, far: Store) -> Any:
    doc = offered(near)
    made = far.work.claim(doc, REMEDIATE, "run")
    far.work.check(made)
    row = near.work.get(doc)
    assert row is not None
    return made.attempt, row.attempts, row.generation


def succeed(near: Store, far: Store) -> Any:
    doc = offered(near)
    return far.work.succeed(near.work.claim(doc, REMEDIATE, "run")).state


def fail(near: Store, far: Store) -> Any:
    doc = offered(near)
    row = far.work.fail(near.work.claim(doc, REMEDIATE, "run"), "CODE", "why", retryable=True)
    return row.state, row.attempts, row.code


def reroute(near: Store, far: Store) -> Any:
    doc = offered(near)
    row = far.work.reroute(near.work.claim(doc, REMEDIATE, "run"), "long", 40)
    return row.generation, row.lane


def cancel(near: Store, far: Store) -> Any:
    return far.work.cancel(offered(near), REMEDIATE, "owner").state


def append(near: Store, far: Store) -> Any:
    doc, base = leased(near)
    return far.log.append(doc, 0, [record(n, base) for n in (1, 2, 3)], "s")


def lease(near: Store, far: Store) -> Any:
    doc, _ = ready(near)
    return far.documents.acquire_lease(doc, "owner", "s") - int(near.clock() * 1000)


def create(near: Store, far: Store) -> Any:
    doc, _ = leased(near)
    return far.versions.create(doc, 0, "a" * 64, 7, "s").number, near.documents.get(doc).latest_version


def commit(near: Store, far: Store) -> Any:
    doc, _ = leased(near)
    kept = near.objects.put_bytes(b"version", f"docs/{doc}/versions/1.pdf")
    near.versions.create(doc, 0, kept.sha256, kept.size, "s")
    return far.versions.commit(doc, 1).status


def settle(near: Store, far: Store) -> Any:
    doc = committed(near)
    version = near.versions.begin_verification(doc, 1)
    report = near.objects.put_bytes(b"{}", "report")
    return far.versions.settle(doc, 1, version.sha256, {"verdict": "passed"}, report).status


def publish(near: Store, far: Store) -> Any:
    doc = verified(near)
    version = near.versions.get(doc, 1)
    assert version.stored is not None
    copied = near.objects.copy(version.stored, near.versions.published_key(doc, 1))
    far.versions.publish(version, copied, "policy", "url", [])
    audits = list(near.documents.table.query(f"DOC#{doc}", "AUDIT#"))
    return near.documents.get(doc).active_version, len(audits)


def back(near: Store, far: Store) -> Any:
    doc = verified(near)
    version = near.versions.get(doc, 1)
    assert version.stored is not None
    copied = near.objects.copy(version.stored, near.versions.published_key(doc, 1))
    near.versions.publish(version, copied, "policy", "url", [])
    near.documents.table.client.update_item(
        TableName=near.documents.table.name,
        Key={"pk": {"S": f"DOC#{doc}"}, "sk": {"S": "META"}},
        UpdateExpression="SET activeVersion = :n",
        ExpressionAttributeValues={":n": {"N": "2"}},
    )
    return rollback(far.versions, doc, 1, "owner", "why", "").active_version


def book(near: Store, far: Store) -> Any:
    doc = verified(near)
    far.costs.verify(near.versions.get(doc, 1), "owner")
    again = near.costs.verify(near.versions.get(doc, 1), "owner")
    return near.versions.get(doc, 1).verify_booked, again


def job(near: Store, far: Store) -> Any:
    made = far.jobs.open(f"job-{new_doc()}", 0)
    doc = new_doc()
    near.jobs.add_file(made, doc, "a.pdf")
    far.jobs.settle_file(made.id, made.started, doc, ok=True)
    now = near.jobs.get(made.id, made.started)
    assert now is not None
    return now.status, now.total, now.succeeded


CALLS = (
    *(offer, claim, succeed, fail, reroute, cancel, append, lease),
    *(create, commit, settle, publish, back, book, job),
)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_lost_answer_changes_nothing(
    store: Store, far: Store, lossy: Proxy, call: Callable[[Store, Store], Any]
) -> None:
    heard = call(store, far)
    lossy.lose = [write]
    assert call(store, far) == heard
    assert lossy.lost == 1


def test_a_conditional_put_whose_answer_was_lost_is_recognised(far: Store, lossy: Proxy) -> None:
    lossy.lose = [put]
    made = far.objects.put_bytes(b"data", "docs/x/a", once=True)
    assert far.objects.head("docs/x/a") == made and lossy.lost == 1
    with pytest.raises(StoreError) as refused:
        far.objects.put_bytes(b"other", "docs/x/a", once=True)
    assert refused.value.code == Code.OBJECT_EXISTS


def conflict(code: str) -> bytes:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>busy</Message></Error>'.encode()


def test_a_put_that_met_another_is_made_again_and_a_refused_one_is_not(far: Store, lossy: Proxy) -> None:
    lossy.refuse = [(put, 409, conflict("ConditionalRequestConflict"))] * 2
    assert far.objects.put_bytes(b"data", "docs/x/b", once=True).size == 4
    lossy.lost = 0
    lossy.refuse = [(put, 412, conflict("PreconditionFailed"))] * 2
    with pytest.raises(StoreError) as refused:
        Objects(far.objects.client, far.objects.bucket, far.objects.key_id).put_bytes(b"x", "docs/x/b", once=True)
    assert (refused.value.code, lossy.lost) == (Code.OBJECT_EXISTS, 1)
