"""META and LEASE: each rule is a condition of the store, raced by real callers."""

from __future__ import annotations

import pytest

from resources.errors import Code, StoreError
from resources.store import Store
from tests.resources.conftest import Clock, base_ref, new_doc, other, race, ready


def code(error: pytest.ExceptionInfo[StoreError]) -> Code:
    return error.value.code


def test_a_source_is_opened_once_however_often(store: Store) -> None:
    doc = new_doc()
    good, bad = race([lambda s=other(store): s.documents.open_source(doc, "owner", "T", 1) for _ in range(8)])
    assert not bad
    assert {(d.status, d.source_revision, d.head_seq) for d in good} == {("awaiting_base", 1, 0)}
    assert list(store.documents.owned("owner")) == [doc]


def test_a_newer_source_moves_on_and_an_older_one_is_superseded(store: Store) -> None:
    doc, _ = ready(store)
    assert store.documents.open_source(doc, "owner", "T", 2).source_revision == 2
    with pytest.raises(StoreError) as error:
        store.documents.open_source(doc, "owner", "T", 1)
    assert code(error) == Code.SUPERSEDED


def test_a_base_is_fixed_by_one_of_many(store: Store) -> None:
    doc = new_doc()
    store.documents.open_source(doc, "owner", "T", 1)
    refs = [base_ref(store, doc, b"base %d" % n) for n in range(8)]
    good, bad = race([lambda s=other(store), r=ref: s.documents.set_base(doc, 1, r, 3, None, "fast") for ref in refs])
    assert len(good) == 1
    assert {e.code for e in bad if isinstance(e, StoreError)} == {Code.BASE_CONFLICT}
    assert store.documents.get(doc).base == good[0].base


def test_the_same_base_again_is_no_conflict(store: Store) -> None:
    doc, ref = ready(store)
    again = base_ref(store, doc)  # the same bytes, another VersionId: a crash after the PUT
    assert store.documents.set_base(doc, 1, again, 3, None, "fast").base == ref


def test_a_base_of_an_old_source_is_refused(store: Store) -> None:
    doc, ref = ready(store)
    store.documents.open_source(doc, "owner", "T", 2)
    with pytest.raises(StoreError) as error:
        store.documents.set_base(doc, 1, ref, 3, None, "fast")
    assert code(error) == Code.SUPERSEDED


def test_an_outcome_is_about_its_own_revision(store: Store) -> None:
    doc, _ = ready(store)
    store.documents.open_source(doc, "owner", "T", 2)
    store.documents.set_outcome(doc, 1, "failed", "X", "too late")
    assert store.documents.get(doc).outcome is None
    store.documents.set_outcome(doc, 2, "refused", "ENCRYPTED", "It needs a password.")
    found = store.documents.get(doc)
    assert (found.outcome, found.code, found.reason) == ("refused", "ENCRYPTED", "It needs a password.")


def test_nobody_there_is_not_found(store: Store) -> None:
    with pytest.raises(StoreError) as error:
        store.documents.get(new_doc())
    assert code(error) == Code.NOT_FOUND


@pytest.mark.parametrize("callers", [2, 16])
def test_one_session_gets_the_lease(store: Store, callers: int) -> None:
    doc, _ = ready(store)
    good, bad = race(
        [lambda s=other(store), n=n: s.documents.acquire_lease(doc, "user", f"s{n}") for n in range(callers)]
    )
    assert len(good) == 1
    assert {e.code for e in bad if isinstance(e, StoreError)} == {Code.LEASE_HELD}


def test_a_heartbeat_keeps_the_lease_and_an_expired_one_is_taken_over(store: Store, clock: Clock) -> None:
    doc, _ = ready(store)
    first = store.documents.acquire_lease(doc, "a", "one")
    clock.pass_(30)
    assert store.documents.acquire_lease(doc, "a", "one") > first
    clock.pass_(44)
    with pytest.raises(StoreError) as error:
        store.documents.acquire_lease(doc, "b", "two")
    assert code(error) == Code.LEASE_HELD
    clock.pass_(2)
    store.documents.acquire_lease(doc, "b", "two")
    with pytest.raises(StoreError):
        store.documents.acquire_lease(doc, "a", "one")


def test_only_its_holder_releases_a_lease(store: Store) -> None:
    doc, _ = ready(store)
    store.documents.acquire_lease(doc, "a", "one")
    store.documents.release_lease(doc, "b", "two")
    with pytest.raises(StoreError):
        store.documents.acquire_lease(doc, "b", "two")
    store.documents.release_lease(doc, "a", "one")
    store.documents.acquire_lease(doc, "b", "two")


def test_what_is_not_there_is_not_deleted(store: Store) -> None:
    doc = new_doc()
    for call in (store.documents.begin_delete, store.documents.get):
        with pytest.raises(StoreError) as error:
            call(doc)
        assert code(error) == Code.NOT_FOUND
