"""The op log: appended by one, in order, whole; read back exactly."""

from __future__ import annotations

import tracemalloc

import pytest

from resources.documents import doc_key
from resources.errors import Code, StoreError
from resources.log import MAX_OPS
from resources.store import Store
from resources.table import Write
from tests.resources.conftest import Clock, other, race, ready, record


def refused(call) -> Code:
    with pytest.raises(StoreError) as error:
        call()
    return error.value.code


@pytest.mark.parametrize("callers", [2, 16])
def test_one_of_many_appends(store: Store, callers: int) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    good, bad = race(
        [lambda s=other(store), n=n: s.log.append(doc, 0, [record(1, base, f"by {n}")], "s") for n in range(callers)]
    )
    assert len(good) == 1
    assert {e.code for e in bad if isinstance(e, StoreError)} == {Code.SEQ_CONFLICT}
    assert store.documents.get(doc).head_seq == 1


def test_the_same_batch_again_is_a_duplicate_and_another_byte_a_conflict(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    batch = [record(1, base), record(2, base)]
    assert store.log.append(doc, 0, batch, "s").head_seq == 2
    again = store.log.append(doc, 0, batch, "s")
    assert (again.head_seq, again.duplicate) == (2, True)
    assert refused(lambda: store.log.append(doc, 0, [batch[0], record(2, base, "y")], "s")) == Code.SEQ_CONFLICT


def test_without_the_lease_nothing_is_appended(store: Store, clock: Clock) -> None:
    doc, base = ready(store)
    assert refused(lambda: store.log.append(doc, 0, [record(1, base)], "s")) == Code.LEASE_LOST
    store.documents.acquire_lease(doc, "u", "s")
    clock.pass_(46)
    assert refused(lambda: store.log.append(doc, 0, [record(1, base)], "s")) == Code.LEASE_LOST
    store.documents.acquire_lease(doc, "v", "t")
    assert refused(lambda: store.log.append(doc, 0, [record(1, base)], "s")) == Code.LEASE_LOST
    assert store.documents.get(doc).head_seq == 0


def test_a_stale_or_skipped_place_is_a_conflict(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(1, base)], "s")
    assert refused(lambda: store.log.append(doc, 0, [record(1, base, "other")], "s")) == Code.SEQ_CONFLICT
    assert refused(lambda: store.log.append(doc, 5, [record(6, base)], "s")) == Code.SEQ_CONFLICT


def test_records_that_do_not_belong_are_refused(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    assert refused(lambda: store.log.append(doc, 0, [record(2, base)], "s")) == Code.OP_INVALID
    wrong = {**record(1, base), "baseHash": "0" * 64}
    assert refused(lambda: store.log.append(doc, 0, [wrong], "s")) == Code.OP_INVALID
    assert refused(lambda: store.log.append(doc, 0, [], "s")) == Code.OP_INVALID


def test_a_batch_over_the_limits_is_refused_whole(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    many = [record(n, base) for n in range(1, MAX_OPS + 2)]
    assert refused(lambda: store.log.append(doc, 0, many, "s")) == Code.BATCH_TOO_LARGE
    large = [record(n, base, "x" * 340_000) for n in range(1, 14)]
    assert refused(lambda: store.log.append(doc, 0, large, "s")) == Code.BATCH_TOO_LARGE
    assert refused(lambda: store.log.append(doc, 0, [record(1, base, "x" * (6 << 20))], "s")) == Code.BATCH_TOO_LARGE
    assert store.documents.get(doc).head_seq == 0


def test_a_large_op_lies_in_the_bucket_and_reads_the_same(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    batch = [record(1, base), record(2, base, "ü" * 250_000), record(3, base)]
    store.log.append(doc, 0, batch, "s")
    assert list(store.log.read(doc, 1, 3)) == batch
    assert len(list(store.objects.keys(f"docs/{doc}/ops/"))) == 1


def test_a_long_log_is_appended_in_batches_and_again_without_harm(store: Store) -> None:
    doc, base = ready(store)
    ops = [record(n, base) for n in range(1, 2 * MAX_OPS + 6)]
    # A run that died after the first batch.
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, ops[:MAX_OPS], "s")
    assert store.log.append_all(doc, 0, ops, "s", "u").head_seq == len(ops)
    again = store.log.append_all(doc, 0, ops, "s", "u")
    assert again.duplicate
    assert list(store.log.read(doc, 1, len(ops))) == ops


def test_a_gap_and_a_changed_payload_are_seen(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(n, base) for n in (1, 2, 3)], "s")
    assert refused(lambda: list(store.log.read(doc, 1, 4))) == Code.NOT_FOUND
    table = store.documents.table
    key = {"pk": {"S": f"DOC#{doc}"}, "sk": {"S": "OP#000000000002"}}
    change = {"record": {"Value": {"S": "{}"}, "Action": "PUT"}}
    table.client.update_item(TableName=table.name, Key=key, AttributeUpdates=change)
    assert refused(lambda: list(store.log.read(doc, 1, 3))) == Code.OBJECT_CHANGED
    table.client.delete_item(TableName=table.name, Key=key)
    assert refused(lambda: list(store.log.read(doc, 1, 3))) == Code.NOT_FOUND


def test_an_op_that_stands_is_never_written_over(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(1, base)], "s")
    table = store.documents.table  # as if META had been put back to an earlier state
    table.write(Write(doc_key(doc), "META", update="SET headSeq = :n", values={":n": 0}))
    assert refused(lambda: store.log.append(doc, 0, [record(1, base, "other")], "s")) == Code.SEQ_CONFLICT
    (stands,) = store.log.read(doc, 1, 1)
    assert stands == record(1, base)


def test_a_long_log_is_read_in_bounded_memory(store: Store) -> None:
    doc, base = ready(store)
    text = "x" * 2000
    store.log.append_all(doc, 0, [record(n, base, text) for n in range(1, 2001)], "s", "u")
    tracemalloc.start()
    count = sum(1 for _ in store.log.read(doc, 1, 2000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2000
    assert peak < 12 << 20, "a page of the log, not the log: DynamoDB answers with 1 MB at a time"
