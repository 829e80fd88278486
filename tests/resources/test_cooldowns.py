"""A provider that asked for a rest is left alone by everyone, and the later of two ends stands."""

from __future__ import annotations

import pytest

from resources.errors import Code, StoreError
from resources.store import Store
from resources.work import REMEDIATE, Source
from tests.resources.conftest import Clock, new_doc, other, race


def queued(store: Store) -> str:
    doc = new_doc()
    source = Source("incoming/a.pdf", "v1", 10, "01")
    store.work.offer(doc, "owner", source, "job", "2027-01-15T08:00:00Z", due_at=store.clock())
    return doc


def test_the_later_end_stands_whoever_tells_it_last(store: Store) -> None:
    waits = [30.0, 90.0, 60.0, 10.0] * 4
    race([lambda s=other(store), w=w: s.cooldowns.slow_down("vision", w) for w in waits])
    assert store.cooldowns.eligible_at("vision") == store.clock() + 90
    assert store.cooldowns.slow_down("vision", 5) == store.clock() + 90


def test_groups_rest_apart_and_a_rest_ends(store: Store, clock: Clock) -> None:
    store.cooldowns.slow_down("vision", 60)
    store.cooldowns.require("ocr")
    store.cooldowns.require("")
    with pytest.raises(StoreError) as refused:
        store.cooldowns.require("vision")
    assert refused.value.code == Code.COOLING_DOWN and refused.value.retryable
    clock.pass_(60)
    store.cooldowns.require("vision")


def test_no_claim_is_given_while_its_provider_rests(store: Store, clock: Clock) -> None:
    doc = queued(store)
    store.cooldowns.slow_down("vision", 60)
    with pytest.raises(StoreError) as refused:
        store.work.claim(doc, REMEDIATE, "run-1", also=store.cooldowns.open("vision"))
    assert refused.value.code == Code.COOLING_DOWN
    row = store.work.get(doc)
    assert row is not None and (row.state, row.attempts) == ("queued", 0)
    clock.pass_(61)
    claim = store.work.claim(doc, REMEDIATE, "run-1", also=store.cooldowns.open("vision"))
    assert claim.attempt == 1


def test_one_of_sixteen_gets_a_claim_that_needs_a_provider(store: Store) -> None:
    doc = queued(store)

    def claim(number: int) -> str:
        mine = other(store)
        try:
            return mine.work.claim(doc, REMEDIATE, f"run-{number}", also=mine.cooldowns.open("vision")).run_id
        except StoreError as error:
            return str(error.code)

    answers, _ = race([lambda n=n: claim(n) for n in range(16)])
    assert sorted(answers).count("CLAIM_HELD") == 15
