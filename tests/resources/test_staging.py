"""Staging: under one claim, within its budget, whole or not at all; the complete result before stays until then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resources.errors import Code
from resources.staging import Budget, Staged, Staging
from resources.store import Store
from resources.values import ObjectRef
from resources.work import REMEDIATE, Claim
from tests.resources.conftest import Clock, other, race
from tests.resources.test_work import claimed, offer, refused


def chunk(index: int, text: str = "x", pages: int = 4) -> Staged:
    ref = ObjectRef(f"chunks/{index}.json", "v", f"{text:0>64}", 10)
    return Staged(index, index * pages, (index + 1) * pages, ref, {"engine": "layout"})


def pointer(store: Store, claim: Claim) -> object:
    row = store.work.get(claim.document)
    assert row is not None
    return row.staged


def test_chunks_are_staged_in_any_order_and_become_the_result_at_once(store: Store) -> None:
    claim = claimed(store)
    assert [store.staging.put(claim, chunk(n)) for n in (2, 0, 1)] == [1, 2, 3]
    assert pointer(store, claim) is None
    assert store.staging.commit(claim, 3, 12) == [chunk(0), chunk(1), chunk(2)]
    store.staging.require(claim, [chunk(0), chunk(1), chunk(2)])
    assert refused(lambda: store.staging.require(claim, [chunk(0), chunk(1), chunk(2, "y")])) == Code.NOT_READY
    before = pointer(store, claim)
    store.staging.commit(claim, 3, 12)  # its answer was lost
    assert pointer(store, claim) == before


@pytest.mark.parametrize("callers", [2, 16])
def test_the_same_chunk_counts_once_and_another_is_refused(store: Store, callers: int) -> None:
    claim = claimed(store)
    good, bad = race([lambda s=other(store): s.staging.put(claim, chunk(0)) for _ in range(callers)])
    assert not bad and set(good) == {1}
    moved = replace(chunk(0), stored=replace(chunk(0).stored, version_id="another"))
    assert store.staging.put(claim, moved) == 1  # the same bytes, stored once more
    assert refused(lambda: store.staging.put(claim, chunk(0, "y"))) == Code.STAGE_CONFLICT
    assert store.staging.of(claim) == [chunk(0)]


def test_what_is_not_whole_is_not_committed(store: Store) -> None:
    claim = claimed(store)
    store.staging.put(claim, chunk(0))
    store.staging.put(claim, chunk(2))
    for count, pages in ((2, 8), (3, 12), (2, 12)):
        assert refused(lambda c=count, p=pages: store.staging.commit(claim, c, p)) == Code.NOT_READY
    assert pointer(store, claim) is None


def test_what_is_staged_while_it_is_committed_is_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claimed(store)
    store.staging.put(claim, chunk(0))
    seen = store.staging.of(claim)
    store.staging.put(claim, chunk(1))
    monkeypatch.setattr(store.staging, "of", lambda _: seen)
    assert refused(lambda: store.staging.commit(claim, 1, 4)) == Code.NOT_READY


@pytest.mark.parametrize(
    ("budget", "fits"), [(Budget(2, 100, 100), 2), (Budget(100, 11, 100), 2), (Budget(100, 100, 3), 0)]
)
def test_over_the_budget_is_a_failure_that_says_so(store: Store, budget: Budget, fits: int) -> None:
    staging, claim = Staging(store.work, budget), claimed(store)
    for n in range(fits):
        staging.put(claim, chunk(n))
    assert refused(lambda: staging.put(claim, chunk(fits))) == Code.OVER_BUDGET
    assert len(staging.of(claim)) == fits


def test_who_lost_the_claim_stages_nothing_and_what_was_complete_stays(store: Store, clock: Clock) -> None:
    first = claimed(store)
    store.staging.put(first, chunk(0))
    store.staging.commit(first, 1, 4)
    store.work.fail(first, "X", "x", retryable=True)
    clock.pass_(20)
    second = store.work.claim(first.document, REMEDIATE, "run-2")
    assert store.staging.of(second) == []  # a claim sees nothing of another's
    store.staging.put(second, chunk(0, "y"))
    store.staging.require(second, [chunk(0)])
    for act in (lambda: store.staging.put(first, chunk(1)), lambda: store.staging.commit(first, 1, 4)):
        assert refused(act) == Code.CLAIM_LOST
    store.work.fail(second, "Y", "y", retryable=False)
    kept = pointer(store, second)
    assert isinstance(kept, dict) and kept["chunks"] == 1
    store.work.claim(first.document, REMEDIATE, "run-3")
    assert pointer(store, second) == kept


def test_a_revoked_owner_stages_nothing(store: Store) -> None:
    claim = claimed(store)
    store.staging.put(claim, chunk(0))
    store.work.owners.revoke("owner")
    assert refused(lambda: store.staging.put(claim, chunk(1))) == Code.OWNER_REVOKED
    assert refused(lambda: store.staging.commit(claim, 1, 4)) == Code.OWNER_REVOKED


def test_the_result_of_an_older_upload_is_not_that_of_a_newer(store: Store) -> None:
    claim = claimed(store)
    store.staging.put(claim, chunk(0))
    store.staging.commit(claim, 1, 4)
    assert offer(store, claim.document, "v2", "02") == "replaced"
    newer = store.work.claim(claim.document, REMEDIATE, "run-2")
    assert refused(lambda: store.staging.require(newer, [chunk(0)])) == Code.NOT_READY
