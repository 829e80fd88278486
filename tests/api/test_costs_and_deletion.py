"""What storing and verifying cost is booked once, whoever asks; a deleted document leaves nothing but that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from resources.errors import Code, StoreError
from resources.ledger import COST, day_of
from resources.store import Store
from resources.table import Table
from resources.values import iso
from resources.work import REMEDIATE, Source
from tests.api.conftest import SESSION, Client, opened, record, saved
from tests.resources.conftest import Clock, other, race


def booked(store: Store, operation: str) -> list[dict[str, Any]]:
    return [row for row in store.ledger.rows(COST, day_of(store.clock())) if row["operation"] == operation]


def verdict(store: Store, doc: str, number: int) -> None:
    version = store.versions.begin_verification(doc, number)
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/{number}/verify.json")
    facts = {"verdict": "passed", "sha256": version.sha256, "seconds": 3.5, "pages": 2}
    store.versions.settle(doc, number, version.sha256, facts, report)


def test_each_commit_books_what_the_log_accrued_since_the_last(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    ann.call("POST", f"/{doc}/ops", json={"baseSeq": 0, "sessionId": SESSION, "ops": [record(1, pdf)]})
    units = store.documents.get(doc).write_units
    assert units > 0
    saved(ann, doc, pdf, 1)
    ann.call("POST", f"/{doc}/versions/1/commit")
    saved(ann, doc, pdf + b"%", 1)
    assert [row["write_units"] for row in booked(store, "storage")] == [units, 0]
    assert store.documents.get(doc).write_units == 0


def test_racing_bookings_take_the_units_once(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    ann.call("POST", f"/{doc}/ops", json={"baseSeq": 0, "sessionId": SESSION, "ops": [record(1, pdf)]})
    units = store.documents.get(doc).write_units
    calls = [lambda s=other(store), n=n: s.costs.storage(doc, f"v{n % 4}", s.clock()) for n in range(16)]
    won, failed = race(calls)
    assert (won.count(True), failed) == (4, [])
    rows = booked(store, "storage")
    assert sum(row["write_units"] for row in rows) == units and len(rows) == 4
    assert store.documents.get(doc).write_units == 0


def test_a_verification_is_booked_at_its_first_read(ann: Client, pdf: bytes, store: Store, clock: Clock) -> None:
    doc = opened(ann, pdf)
    saved(ann, doc, pdf)
    ann.call("GET", f"/{doc}/versions/1")
    assert booked(store, "verify") == []
    verdict(store, doc, 1)
    race([lambda s=other(store): s.costs.verify(s.versions.get(doc, 1), "ann") for _ in range(16)])
    ann.call("GET", f"/{doc}/versions/1")
    clock.pass_(86400)  # a retry on another day books nothing either
    assert not store.costs.verify(store.versions.get(doc, 1), "ann")
    clock.pass_(-86400)
    (row,) = booked(store, "verify")
    assert (row["seconds"], row["pages"], row["owner"], row["usd"]) == (3.5, 2, "ann", 0)


def everything(store: Store, doc: str) -> list[str]:
    client = store.objects.client
    found = client.list_object_versions(Bucket=store.objects.bucket)
    keys = [one["Key"] for one in [*found.get("Versions", []), *found.get("DeleteMarkers", [])] if doc in one["Key"]]
    items = [item["sk"] for item in store.documents.table.query(f"DOC#{doc}")]
    items += [item["sk"] for item in store.work.table.query(f"WORK#{doc}")]
    return [*keys, *items]


def full(ann: Client, pdf: bytes, store: Store) -> str:
    """A document with ops, versions, two versions of an object, work and a verdict that nobody has read."""
    doc = opened(ann, pdf)
    ann.call("POST", f"/{doc}/ops", json={"baseSeq": 0, "sessionId": SESSION, "ops": [record(1, pdf)]})
    saved(ann, doc, pdf, 1)
    store.objects.put_bytes(b"other", store.versions.key(doc, 1))
    store.objects.put_bytes(b"{}", f"chunks/{doc}/r1/0.json")
    source = Source("incoming/a.pdf", "v1", 10, "01")
    store.work.offer(doc, "ann", source, "job", "2027-01-15T08:00:00Z", due_at=store.clock())
    verdict(store, doc, 1)
    ann.call("POST", f"/{doc}/ops", json={"baseSeq": 1, "sessionId": SESSION, "ops": [record(2, pdf)]})
    return doc


def test_a_deleted_document_leaves_its_costs_and_nothing_else(ann: Client, pdf: bytes, store: Store) -> None:
    doc, kept = full(ann, pdf, store), opened(ann, pdf)
    before = everything(store, kept)
    claim = store.work.claim(doc, REMEDIATE, "run-1")
    ann.call("DELETE", f"/{doc}", 204)
    assert everything(store, doc) == []
    assert (everything(store, kept), [d["id"] for d in ann.call("GET", "")["documents"]]) == (before, [kept])
    assert len(booked(store, "verify")) == 1 and booked(store, "storage")[-1]["write_units"] > 0
    assert ann.code("DELETE", f"/{doc}", 404) == "NOT_FOUND"
    with pytest.raises(StoreError) as lost:
        store.work.check(claim)
    assert lost.value.code == Code.CLAIM_LOST


def test_a_deletion_that_dies_anywhere_is_finished_by_the_same_call(
    ann: Client, pdf: bytes, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every write and every deletion of objects is, in turn, the last thing that happens before the process dies."""
    real: dict[str, Callable[..., Any]] = {name: getattr(Table, name) for name in ("write", "transact")}
    purge = type(store.objects).delete_versions
    step = 0
    while True:
        doc = full(ann, pdf, store)
        left = [step]

        def dying(call: Callable[..., Any], left: list[int] = left) -> Callable[..., Any]:
            def wrapped(*args: Any, **more: Any) -> Any:
                if left[0] < 0:
                    return call(*args, **more)
                found = call(*args, **more)
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
                return found

            return wrapped

        with monkeypatch.context() as patch:
            for name, call in real.items():
                patch.setattr(Table, name, dying(call))
            patch.setattr(type(store.objects), "delete_versions", dying(purge))
            try:
                store.deletion.delete(doc, "ann")
                died = False
            except KeyboardInterrupt:
                died = True
        if died and doc in list(store.documents.owned("ann")) and _meta(store, doc):
            assert store.documents.get(doc).status == "deleting"
        if _meta(store, doc):
            store.deletion.delete(doc, "ann")
        assert everything(store, doc) == []
        assert list(store.documents.owned("ann")) == []
        if not died:
            break
        step += 1
    assert step >= 10
    rows = [row for row in booked(store, "storage") if row["id"].endswith(":delete")]
    assert len(rows) == step + 1 == len(booked(store, "verify"))
    assert all(row["write_units"] > 0 for row in rows)


def _meta(store: Store, doc: str) -> bool:
    return store.documents.table.get(f"DOC#{doc}", "META") is not None


def test_a_version_is_booked_once_though_it_is_verified_again(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    saved(ann, doc, pdf)
    verdict(store, doc, 1)
    stale = store.versions.get(doc, 1)
    assert store.costs.verify(stale, "ann")
    again = replace(stale, verified_at=iso(store.clock() + 90_000))  # another day's fact has another place
    assert not store.costs.verify(again, "ann")
    assert len(booked(store, "verify")) == 1
    assert list(store.ledger.rows(COST, day_of(store.clock() + 90_000))) == []
