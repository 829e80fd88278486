"""Fenced work: one claim at a time, nothing done by who has lost it, nothing forgotten."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from botocore.exceptions import EndpointConnectionError

from resources.errors import Code, StoreError
from resources.store import Store
from resources.work import CANCELLED, DONE, FAILED, QUEUED, REMEDIATE, RUNNING, Claim, Source, later
from tests.resources.conftest import Clock, new_doc, other, race

JOB = ("job", "2027-01-15T08:00:00Z")


def offer(store: Store, doc: str, version: str = "v1", sequencer: str = "01", owner: str = "owner") -> str:
    source = Source(f"incoming/{doc}.pdf", version, 10, sequencer)
    return store.work.offer(doc, owner, source, "job", "2026-01-01", due_at=store.clock())


def offered(store: Store, owner: str = "owner") -> str:
    doc = new_doc()
    assert offer(store, doc, owner=owner) == "new"
    return doc


def claimed(store: Store) -> Claim:
    return store.work.claim(offered(store), REMEDIATE, "run-1")


def refused(call) -> Code:
    with pytest.raises(StoreError) as error:
        call()
    return error.value.code


def state(store: Store, doc: str) -> str:
    row = store.work.get(doc)
    assert row is not None
    return row.state


def test_an_upload_is_written_down_once(store: Store) -> None:
    doc = new_doc()
    answers, bad = race([lambda s=other(store): offer(s, doc) for _ in range(16)])
    assert not bad
    assert sorted(answers) == ["duplicate"] * 15 + ["new"]


def test_events_may_come_late_and_in_any_order(store: Store) -> None:
    doc = new_doc()
    assert offer(store, doc, "v2", "0A") == "new"
    assert offer(store, doc, "v1", "9") == "stale"
    assert offer(store, doc, "v3", "0100") == "replaced"
    assert offer(store, doc, "v2", "0A") == "stale"
    row = store.work.get(doc)
    assert row is not None and row.source is not None
    assert (row.source.version_id, row.revision, row.generation) == ("v3", 2, 2)


def test_of_racing_uploads_the_last_one_stays(store: Store) -> None:
    doc = new_doc()
    race([lambda s=other(store), n=n: offer(s, doc, f"v{n}", f"{n:04x}") for n in range(1, 17)])
    row = store.work.get(doc)
    assert row is not None and row.source is not None
    assert row.source.version_id == "v16"


@pytest.mark.parametrize(
    ("one", "two"), [("02", "01"), ("0100", "ff"), ("b", "0a"), ("0055AED6DCD90281E5", "0055AED6DCD90281E4")]
)
def test_sequencers_are_numbers_of_any_length(one: str, two: str) -> None:
    assert later(one, two)
    assert not later(two, one)
    assert not later(one, one)


@pytest.mark.parametrize("callers", [2, 16])
def test_one_run_gets_the_claim(store: Store, callers: int) -> None:
    doc = offered(store)
    good, bad = race([lambda s=other(store), n=n: s.work.claim(doc, REMEDIATE, f"run-{n}") for n in range(callers)])
    assert len(good) == 1
    assert {e.code for e in bad if isinstance(e, StoreError)} == {Code.CLAIM_HELD}


def test_the_steps_of_a_run_share_its_claim(store: Store) -> None:
    claim = claimed(store)
    assert store.work.claim(claim.document, REMEDIATE, "run-1") == claim


def test_an_expired_claim_is_taken_over_and_the_old_one_changes_nothing(store: Store, clock: Clock) -> None:
    old = claimed(store)
    clock.pass_(601)
    new = store.work.claim(old.document, REMEDIATE, "run-2")
    assert new.attempt == 2
    for act in (
        lambda: store.work.check(old),
        lambda: store.work.renew(old),
        lambda: store.work.succeed(old),
        lambda: store.work.fail(old, "X", "x", retryable=True),
        lambda: store.work.reroute(old, "long", 40),
    ):
        assert refused(act) == Code.CLAIM_LOST
    store.work.succeed(new)
    assert state(store, old.document) == DONE


def test_a_lease_that_has_ended_fences_even_when_nobody_took_over(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    clock.pass_(601)
    assert refused(lambda: store.work.check(claim)) == Code.CLAIM_LOST
    assert refused(lambda: store.work.succeed(claim)) == Code.CLAIM_LOST
    assert refused(lambda: store.work.fail(claim, "X", "x", retryable=False)) == Code.CLAIM_LOST


def test_renewal_keeps_the_claim(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    for _ in range(3):
        clock.pass_(500)
        store.work.renew(claim)
    store.work.check(claim)


def test_after_a_cancel_nothing_can_be_changed(store: Store) -> None:
    claim = claimed(store)
    assert refused(lambda: store.work.cancel(claim.document, REMEDIATE, "somebody else")) == Code.NOT_FOUND
    store.work.cancel(claim.document, REMEDIATE, "owner")
    assert refused(lambda: store.work.succeed(claim)) == Code.CANCELLED
    assert refused(lambda: store.work.fail(claim, "X", "x", retryable=True)) == Code.CANCELLED
    assert refused(lambda: store.work.claim(claim.document, REMEDIATE, "run-2")) == Code.CANCELLED
    assert state(store, claim.document) == CANCELLED


def test_after_a_newer_upload_the_old_run_changes_nothing(store: Store) -> None:
    claim = claimed(store)
    assert offer(store, claim.document, "v2", "02") == "replaced"
    for act in (
        lambda: store.work.check(claim),
        lambda: store.work.succeed(claim),
        lambda: store.work.fail(claim, "X", "x", retryable=True),
        lambda: store.work.claim(claim.document, REMEDIATE, "run-9", generation=1),
    ):
        assert refused(act) == Code.SUPERSEDED
    assert state(store, claim.document) == QUEUED


def test_failures_that_a_retry_can_help_come_back_later_and_not_for_ever(store: Store, clock: Clock) -> None:
    doc = offered(store)
    waits = []
    for attempt in range(1, 6):
        claim = store.work.claim(doc, REMEDIATE, f"run-{attempt}")
        assert claim.attempt == attempt
        row = store.work.fail(claim, "SLOW", "slow down", retryable=True)
        if row.state == QUEUED:
            waits.append(round(row.due_at - clock.now, 1))
            assert row.document not in [r.document for r in store.work.due(10)]
            clock.pass_(waits[-1] + 1)
    assert waits == [10.0, 25.0, 62.5, 156.2]
    assert state(store, doc) == FAILED


def test_other_failures_are_final_and_a_person_may_run_it_again(store: Store) -> None:
    claim = claimed(store)
    row = store.work.fail(claim, "ENCRYPTED", "It needs a password.", retryable=False)
    assert (row.state, row.code) == (FAILED, "ENCRYPTED")
    again = store.work.claim(claim.document, REMEDIATE, "run-2")
    assert (again.generation, again.attempt) == (2, 1)


def test_budget_is_spent_by_runs_that_die(store: Store, clock: Clock) -> None:
    doc = offered(store)
    for attempt in range(5):
        store.work.claim(doc, REMEDIATE, f"run-{attempt}")
        clock.pass_(601)
    assert refused(lambda: store.work.claim(doc, REMEDIATE, "run-6")) == Code.ATTEMPTS_EXHAUSTED
    assert state(store, doc) == FAILED


def test_rerouting_is_done_once_and_fences_the_old_run(store: Store) -> None:
    claim = claimed(store)
    row = store.work.reroute(claim, "long", 40)
    assert (row.lane, row.generation, row.state) == ("long", 2, QUEUED)
    assert store.work.reroute(claim, "long", 40) == row  # its answer was lost
    assert refused(lambda: store.work.succeed(claim)) == Code.SUPERSEDED
    second = store.work.claim(claim.document, REMEDIATE, "run-2")
    assert refused(lambda: store.work.reroute(second, "other", 40)) == Code.ALREADY_REROUTED


def test_work_is_taken_by_one_and_comes_back_when_it_is_not_claimed(store: Store, clock: Clock) -> None:
    docs = {offered(store, f"owner-{n % 2}") for n in range(10)}
    good, _ = race([lambda s=other(store): s.work.due(10) for _ in range(4)])
    taken = [row.document for rows in good for row in rows]
    assert sorted(taken) == sorted(docs)
    assert store.work.due(10) == []
    clock.pass_(121)
    assert {row.document for row in store.work.due(10)} == docs


def test_the_run_key_names_the_attempt(store: Store, clock: Clock) -> None:
    doc = offered(store)
    (row,) = store.work.due(10)
    clock.pass_(121)
    (again,) = store.work.due(10)
    assert row.run_key == again.run_key
    claim = store.work.claim(doc, REMEDIATE, "run-1")
    store.work.fail(claim, "X", "x", retryable=True)
    clock.pass_(60)
    (later_row,) = store.work.due(10)
    assert later_row.run_key != row.run_key


def test_owners_take_turns(store: Store, clock: Clock) -> None:
    for _ in range(5):
        offered(store, "many")
        clock.pass_(1)
    offered(store, "few")
    assert [row.owner for row in store.work.due(3)][:2] == ["many", "few"]
    store.work.claim(offered(store, "busy"), REMEDIATE, "run")
    clock.pass_(1)
    offered(store, "busy")
    offered(store, "idle")
    owners = [row.owner for row in store.work.due(10)]
    assert owners.index("idle") < owners.index("busy")


def test_a_lease_that_has_ended_is_queued_again(store: Store, clock: Clock) -> None:
    claim = claimed(store)
    assert store.work.recover() == []
    clock.pass_(601)
    good, _ = race([lambda s=other(store): s.work.recover() for _ in range(4)])
    assert sum(len(rows) for rows in good) == 1
    assert state(store, claim.document) == QUEUED
    assert store.work.claim(claim.document, REMEDIATE, "run-2").attempt == 2


def test_a_run_that_ended_without_a_word_is_settled_for_it(store: Store) -> None:
    claim = claimed(store)
    assert store.work.run_ended(claim.document, REMEDIATE, "another", "LOST", "x", retryable=True) is None
    assert state(store, claim.document) == RUNNING
    row = store.work.run_ended(claim.document, REMEDIATE, "run-1", "LOST", "x", retryable=True)
    assert row is not None and row.state == QUEUED
    assert store.work.run_ended(claim.document, REMEDIATE, "run-1", "LOST", "x", retryable=True) is None


def test_a_run_that_never_began_counts_once(store: Store) -> None:
    doc = offered(store)
    (row,) = store.work.due(1)
    good, _ = race([lambda s=other(store): s.work.never_began(row, "x") for _ in range(4)])
    assert sum(one is not None for one in good) == 1
    now = store.work.get(doc)
    assert now is not None and now.attempts == 1


def test_one_row_a_version_to_verify(store: Store) -> None:
    doc = new_doc()
    answers, _ = race([lambda s=other(store): s.work.offer_verification(doc, 2, "owner", 1) for _ in range(8)])
    assert sorted(answers) == ["duplicate"] * 7 + ["new"]
    claim = store.work.claim(doc, "verify#2", "run-1")
    assert store.work.offer_verification(doc, 2, "owner", 1) == "duplicate"
    store.work.succeed(claim)
    assert store.work.offer_verification(doc, 2, "owner", 1) == "new"


def test_a_claim_with_another_token_is_no_claim(store: Store) -> None:
    claim = claimed(store)
    for forged in (replace(claim, token="0" * 32), replace(claim, generation=7), replace(claim, revision=7)):
        with pytest.raises(StoreError):
            store.work.succeed(forged)
    store.work.succeed(claim)


def test_holding_renews_in_the_background(store: Store, clock: Clock) -> None:
    store.work.renew_seconds = 0.05
    claim = claimed(store)
    before = store.work.get(claim.document)
    with store.work.hold(claim):
        clock.pass_(300)
        deadline = 100
        while (now := store.work.get(claim.document)) and now.lease_expires_at == before.lease_expires_at:  # type: ignore[union-attr]
            deadline -= 1
            assert deadline
    store.work.check(claim)


def test_a_store_that_does_not_answer_once_does_not_end_the_renewal(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.work.renew_seconds = 0.02
    claim = claimed(store)
    real, calls = store.work.renew, []

    def renew(claim: Claim) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise EndpointConnectionError(endpoint_url="http://nowhere")
        real(claim)

    monkeypatch.setattr(store.work, "renew", renew)
    with store.work.hold(claim):
        until = time.monotonic() + 10
        while len(calls) < 3:
            assert time.monotonic() < until
            time.sleep(0.01)
    store.work.check(claim)


def test_what_has_moved_on_learns_nothing_of_its_old_event(store: Store) -> None:
    doc = new_doc()
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v1", 1, ""), *JOB, due_at=0)
    seen = store.work.get(doc)
    assert seen is not None
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v2", 1, "05"), *JOB, due_at=0)
    store.work.learn_sequencer(seen, "99")
    now = store.work.get(doc)
    assert now is not None and now.source is not None
    assert (now.source.version_id, now.source.sequencer) == ("v2", "05")


def test_one_of_many_tries_again(store: Store) -> None:
    doc = new_doc()
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v1", 1, "01"), *JOB, due_at=0)
    claim = store.work.claim(doc, REMEDIATE, "run")
    store.work.fail(claim, "CODE", "why", retryable=False)
    good, bad = race([lambda s=other(store): s.work.again(doc, "owner", *JOB) for _ in range(16)])
    assert not bad and {row.generation for row in good} == {2}
    for stranger in ("somebody", "Owner"):
        with pytest.raises(StoreError) as refused:
            store.work.again(doc, stranger, *JOB)
        assert refused.value.code == Code.NOT_FOUND


def test_a_claim_on_what_was_seen_a_moment_before_is_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    doc = new_doc()
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v1", 1, "01"), *JOB, due_at=0)
    real, seen = store.work.get, [store.work.get(doc)]
    first = store.work.claim(doc, REMEDIATE, "run-1")
    monkeypatch.setattr(store.work, "get", lambda *key: seen.pop() if seen else real(*key))
    with pytest.raises(StoreError) as refused:
        store.work.claim(doc, REMEDIATE, "run-2")
    assert refused.value.code == Code.CLAIM_HELD
    store.work.check(first)


def test_a_newer_upload_is_not_failed_for_the_attempts_of_the_old(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc = new_doc()
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v1", 1, "01"), *JOB, due_at=0)
    monkeypatch.setattr(store.work, "max_attempts", 1)
    store.work.fail(store.work.claim(doc, REMEDIATE, "run-1"), "CODE", "why", retryable=False)
    row = store.work.get(doc)
    assert row is not None
    spent = replace(row, state=QUEUED, attempts=1)
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v2", 1, "02"), *JOB, due_at=0)
    with monkeypatch.context() as patch, pytest.raises(StoreError) as refused:
        patch.setattr(store.work, "get", lambda *_: spent)  # what was seen a moment before
        store.work.claim(doc, REMEDIATE, "run-2")
    assert refused.value.code == Code.ATTEMPTS_EXHAUSTED
    now = store.work.get(doc)
    assert now is not None and (now.state, now.generation) == (QUEUED, 2)


def test_a_lease_that_was_renewed_since_it_was_looked_at_is_not_recovered(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(store)
    seen = store.work.table.get(f"WORK#{claim.document}", REMEDIATE)
    store.work.renew(claim)
    monkeypatch.setattr(store.work.table, "index", lambda *_: [seen])
    assert store.work.recover() == []
    store.work.check(claim)
