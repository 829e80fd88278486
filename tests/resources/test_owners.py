"""Owners: a revocation fences what was claimed before it, and no owner has more than their places."""

from __future__ import annotations

import pytest

from resources.errors import Code, StoreError
from resources.owners import Owners
from resources.store import Store
from resources.table import Refused
from resources.values import new_token
from resources.work import DONE, FAILED, REMEDIATE
from tests.resources.conftest import Clock, new_doc, other, race
from tests.resources.test_work import claimed, offered, refused, state


def test_after_a_revocation_the_old_run_changes_nothing(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    store.work.owners.revoke("owner")
    for act in (
        lambda: store.work.check(claim),
        lambda: store.work.succeed(claim),
        lambda: store.work.fail(claim, "X", "x", retryable=True),
        lambda: store.work.reroute(claim, "long", 40),
    ):
        assert refused(act) == Code.OWNER_REVOKED
    with pytest.raises(Refused):
        store.work.table.transact(store.work.done(claim), new_token())
    assert state(store, claim.document) == "running"


def test_access_that_came_back_is_another_epoch(store: Store) -> None:
    claim = claimed(store)
    assert store.work.owners.revoke("owner") == 1
    assert store.work.owners.restore("owner") == 2
    assert refused(lambda: store.work.check(claim)) == Code.OWNER_REVOKED
    assert refused(lambda: store.work.succeed(claim)) == Code.OWNER_REVOKED
    again = store.work.claim(offered(store), REMEDIATE, "run-2")
    assert again.epoch == 2
    store.work.succeed(again)
    assert state(store, again.document) == DONE


def test_work_of_a_revoked_owner_fails_when_it_is_taken(store: Store) -> None:
    doc = offered(store)
    store.work.owners.revoke("owner")
    assert refused(lambda: store.work.claim(doc, REMEDIATE, "run")) == Code.OWNER_REVOKED
    row = store.work.get(doc)
    assert row is not None and (row.state, row.code) == (FAILED, Code.OWNER_REVOKED)


def test_work_of_a_revoked_owner_that_is_done_stays_done(store: Store) -> None:
    claim = claimed(store)
    store.work.succeed(claim)
    store.work.owners.revoke("owner")
    assert refused(lambda: store.work.claim(claim.document, REMEDIATE, "run-2")) == Code.OWNER_REVOKED
    assert state(store, claim.document) == DONE


def test_a_revocation_between_look_and_claim_is_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = offered(store)
    store.work.owners.revoke("owner")
    seen = [0]
    real = store.work.owners.epoch
    monkeypatch.setattr(store.work.owners, "epoch", lambda owner: seen.pop() if seen else real(owner))
    assert refused(lambda: store.work.claim(doc, REMEDIATE, "run")) == Code.OWNER_REVOKED


@pytest.mark.parametrize("callers", [2, 16])
def test_an_owner_has_so_many_places(store: Store, callers: int) -> None:
    store.work.owners.places = 1
    docs = [offered(store) for _ in range(callers)]

    def one(number: int) -> object:
        mine = other(store)
        mine.work.owners.places = 1
        return mine.work.claim(docs[number], REMEDIATE, f"run-{number}")

    good, bad = race([lambda n=n: one(n) for n in range(callers)])
    assert len(good) == 1
    assert {e.code for e in bad if isinstance(e, StoreError)} == {Code.OWNER_BUSY}
    assert {state(store, doc) for doc in docs} == {"running", "queued"}


def test_a_place_is_free_when_its_work_ends_however(store: Store, clock: Clock) -> None:
    store.work.owners.places = 1

    def busy() -> bool:
        try:
            store.work.succeed(store.work.claim(offered(store), REMEDIATE, new_doc()))
        except StoreError as error:
            assert (error.code, error.retryable) == (Code.OWNER_BUSY, True)
            return True
        return False

    assert not busy()
    claim = claimed(store)
    assert busy()
    store.work.fail(claim, "X", "x", retryable=True)
    assert not busy()
    claim = claimed(store)
    store.work.cancel(claim.document, REMEDIATE, "owner")
    assert not busy()
    claimed(store)  # its worker dies
    assert busy()
    clock.pass_(601)
    assert not busy()


def test_a_place_that_another_has_by_now_is_not_given_back(store: Store) -> None:
    owners = Owners(store.work.table, store.clock, 1)
    place, taken = owners.take_place("o", "d", "k", "one", lambda *_: False)
    store.work.table.write(taken)
    owners.leave_place("o", place, "two")
    with pytest.raises(StoreError):
        owners.take_place("o", "e", "k", "two", lambda *_: True)
    owners.leave_place("o", place, "one")
    assert owners.take_place("o", "e", "k", "two", lambda *_: True)[0] == place


def test_an_owner_who_is_busy_waits_and_others_do_not(store: Store) -> None:
    for _ in range(20):
        offered(store, "many")
    offered(store, "few")
    owners = [row.owner for row in store.work.due(50, lambda: {"many": 5})]
    assert (owners.count("many"), owners.count("few")) == (3, 1)
