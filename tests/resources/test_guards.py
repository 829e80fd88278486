"""Runaway guards: attempts without progress, money without end, work that does not move. Each is told once."""

from __future__ import annotations

import pytest

from resources.errors import Code
from resources.guards import Bounds, Guards
from resources.ledger import COST, day_of
from resources.store import Store
from resources.work import FAILED, LONG, QUEUED, REMEDIATE, RUNNING, Claim, Row
from tests.resources.conftest import Clock, new_doc, other, race
from tests.resources.test_work import claimed, offer, offered, refused


class Heard:
    """Alerts, kept."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def send(self, subject: str, message: str) -> None:
        self.said.append((subject, message))


def guards(store: Store, heard: Heard | None = None, *, long_lane: bool = True) -> Guards:
    return Guards(store.work, heard or Heard(), Bounds(), long_lane=long_lane)


def row_of(store: Store, doc: str) -> Row:
    row = store.work.get(doc)
    assert row is not None
    return row


def long_doc(store: Store, pages: int = 100) -> str:
    """A document on the long lane, queued."""
    claim = claimed(store)
    store.work.reroute(claim, LONG, pages)
    return claim.document


def attempt(store: Store, doc: str, clock: Clock, progress: int = 0, code: str = "") -> Claim:
    """An attempt that gets so far and dies, or fails with a code."""
    claim = store.work.claim(doc, REMEDIATE, new_doc())
    if progress:
        store.work.reach(claim, progress, 100)
    if code:
        store.work.fail(claim, code, "not now", retryable=True)
    clock.pass_(601)
    store.work.recover()
    return claim


def test_attempts_that_get_no_further_are_capped(store: Store, clock: Clock) -> None:
    doc = long_doc(store)
    for _ in range(3):
        attempt(store, doc, clock)
    assert refused(lambda: store.work.claim(doc, REMEDIATE, "run-4")) == Code.ATTEMPT_CAP
    row = row_of(store, doc)
    assert (row.state, row.code) == (FAILED, Code.ATTEMPT_CAP)
    assert row.reason is not None and "lease ended" in row.reason  # the last error


def test_an_attempt_that_gets_further_than_any_before_begins_the_count_anew(store: Store, clock: Clock) -> None:
    doc = long_doc(store)
    for progress in (1, 0, 2, 2, 1):  # the first and the third get further than any before
        attempt(store, doc, clock, progress)
    assert row_of(store, doc).barren == 3
    assert refused(lambda: store.work.claim(doc, REMEDIATE, "run")) == Code.ATTEMPT_CAP


def test_progress_that_goes_on_may_take_any_number_of_attempts(store: Store, clock: Clock) -> None:
    doc = long_doc(store)
    for progress in range(1, 12):
        attempt(store, doc, clock, progress)
    assert row_of(store, doc).state == QUEUED


def test_a_rest_is_no_attempt_and_a_step_that_asks_again_is_none(store: Store, clock: Clock) -> None:
    doc = long_doc(store)
    for _ in range(8):
        attempt(store, doc, clock, code=Code.COOLING_DOWN)
    claim = store.work.claim(doc, REMEDIATE, "run")
    assert store.work.claim(doc, REMEDIATE, "run") == claim
    assert row_of(store, doc).barren == 1


def test_how_far_the_work_has_got_only_grows(store: Store, clock: Clock) -> None:
    doc = offered(store)
    claim = store.work.claim(doc, REMEDIATE, "run")
    for n, best in ((3, 3), (2, 3), (5, 5)):
        store.work.reach(claim, n, 20)
        assert row_of(store, doc).progress == best
    clock.pass_(601)
    assert refused(lambda: store.work.reach(claim, 9, 20)) == Code.CLAIM_LOST
    assert row_of(store, doc).progress == 5


def spend(store: Store, claim: Claim, fact: str, usd: float) -> bool:
    return store.ledger.record(COST, fact, store.clock(), {"usd": usd}, store.work.spend(claim, usd))


def test_what_a_document_may_cost_over_all_attempts(store: Store, clock: Clock) -> None:
    doc = offered(store)
    claim = store.work.claim(doc, REMEDIATE, "run-1")
    watch = guards(store)
    for n in range(2):
        watch.before_band(claim, 3)
        assert spend(store, claim, f"{doc}:{n}", 2.0)
        assert not spend(store, claim, f"{doc}:{n}", 2.0)  # said again: booked once, counted once
    store.work.fail(claim, "X", "x", retryable=True)
    clock.pass_(60)
    claim = store.work.claim(doc, REMEDIATE, "run-2")
    watch.before_band(claim, 3)
    spend(store, claim, f"{doc}:2", 1.5)
    assert refused(lambda: watch.before_band(claim, 3)) == Code.COST_CEILING
    watch.before_band(claim, 6)  # a dollar a page, where that is more


def test_a_newer_upload_does_not_pay_for_the_older(store: Store) -> None:
    claim = claimed(store)
    spend(store, claim, f"{claim.document}:1", 9.0)
    offer(store, claim.document, "v2", "02")
    assert row_of(store, claim.document).spent_usd == 0
    assert spend(store, claim, f"{claim.document}:2", 9.0)  # it was spent, and is booked
    assert row_of(store, claim.document).spent_usd == 0


def test_racing_bookings_of_one_fact_count_once(store: Store) -> None:
    claim = claimed(store)
    good, _ = race([lambda s=other(store): spend(s, claim, claim.document, 0.25) for _ in range(16)])
    assert sorted(good) == [False] * 15 + [True]
    assert row_of(store, claim.document).spent_usd == 0.25


def test_what_has_stalled_is_rerouted_once_and_then_fails(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    watch = guards(store)

    def wait(minutes: float, held: Claim) -> None:
        for _ in range(int(minutes)):
            clock.pass_(60)
            store.work.renew(held)

    wait(239, claim)
    assert watch.sweep() == []
    wait(2, claim)
    (swept,) = watch.sweep()
    assert (swept.after.lane, swept.after.state, swept.after.generation) == (LONG, QUEUED, 2)
    assert refused(lambda: store.work.renew(claim)) == Code.SUPERSEDED
    second = store.work.claim(claim.document, REMEDIATE, "run-2")
    store.work.reach(second, 1, 12)
    wait(241, second)
    (swept,) = watch.sweep()
    assert (swept.after.state, swept.after.code) == (FAILED, Code.STALLED)
    assert refused(lambda: store.work.succeed(second)) == Code.CLAIM_LOST
    assert watch.sweep() == []


def test_without_a_long_lane_what_has_stalled_fails(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    clock.pass_(241 * 60)
    (swept,) = guards(store, long_lane=False).sweep()
    assert (swept.after.document, swept.after.code) == (claim.document, Code.STALLED)


def test_work_that_waits_for_its_turn_has_not_stalled(store: Store, clock: Clock) -> None:
    offered(store)
    long_doc(store)
    clock.pass_(300 * 60)
    assert guards(store).sweep() == []


def test_the_long_lane_ends_at_last_whatever_moves(store: Store, clock: Clock) -> None:
    doc = long_doc(store, pages=100)
    watch = guards(store)
    for n in range(78):  # 480 + 300 minutes
        claim = store.work.claim(doc, REMEDIATE, f"run-{n}")
        store.work.reach(claim, n + 1, 100)
        clock.pass_(599)
        store.work.fail(claim, "X", "the disk was full", retryable=True)
        clock.pass_(1)
        assert watch.sweep() == []
    clock.pass_(60)
    (swept,) = watch.sweep()
    assert (swept.after.state, swept.after.code) == (FAILED, Code.REDELIVERY_LOOP)
    assert swept.after.reason is not None and "the disk was full" in swept.after.reason


def test_a_cap_that_was_lowered_holds_for_what_waits(store: Store, clock: Clock) -> None:
    doc = long_doc(store)
    for _ in range(2):
        attempt(store, doc, clock)
    store.work.max_barren = 1
    (swept,) = guards(store).sweep()
    assert (swept.after.document, swept.after.code) == (doc, Code.ATTEMPT_CAP)


def test_a_row_that_has_moved_meanwhile_is_not_swept(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(store)
    seen = row_of(store, claim.document)
    clock.pass_(241 * 60)
    store.work.recover()
    fresh = store.work.claim(claim.document, REMEDIATE, "run-2")
    monkeypatch.setattr(store.work, "running", lambda: [seen])
    assert guards(store).sweep() == []
    assert guards(store, long_lane=False).sweep() == []
    store.work.check(fresh)
    assert row_of(store, claim.document).state == RUNNING


def test_a_guard_is_told_once(store: Store) -> None:
    heard = Heard()
    claim = claimed(store)
    store.work.fail(claim, Code.COST_CEILING, "too dear", retryable=False)
    good, _ = race(
        [
            lambda s=other(store): guards(s, heard).alert(claim.document, REMEDIATE, Code.COST_CEILING, "too dear")
            for _ in range(8)
        ]
    )
    assert sorted(good) == [False] * 7 + [True]
    assert heard.said == [("Guard cost-ceiling", f"Document {claim.document} was stopped. too dear")]
    assert not guards(store, heard).alert(claim.document, REMEDIATE, "ENCRYPTED", "no guard")


def test_what_is_no_guards_work_is_not_told(store: Store) -> None:
    heard = Heard()
    claim = claimed(store)
    assert not guards(store, heard).alert(claim.document, REMEDIATE, Code.STALLED, "it runs")
    assert heard.said == []


def test_what_stalled_is_refunded_once(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    spend(store, claim, claim.document, 1.25)
    clock.pass_(241 * 60)
    (swept,) = guards(store, long_lane=False).sweep()
    assert [store.costs.refund(swept.after) for _ in range(2)] == [True, False]
    (fact,) = [f for f in store.ledger.rows(COST, day_of(clock.now)) if f.get("operation") == "refund"]
    assert fact["usd"] == -1.25
    assert not store.costs.refund(row_of(store, offered(store)))
