"""Queues and what S3 puts on them; facts that are booked once."""

from __future__ import annotations

import json

import pytest

from resources.alerts import RecordedAlerts
from resources.ledger import COST, day_of
from resources.queues import parse_s3_event
from resources.store import Store
from tests.resources.conftest import Clock, other, race


def s3_event(key: str, name: str = "ObjectCreated:Put") -> str:
    record = {
        "eventName": name,
        "s3": {
            "bucket": {"name": "b"},
            "object": {"key": key, "size": 5, "versionId": "v", "sequencer": "0055"},
        },
    }
    return json.dumps({"Records": [record]})


@pytest.mark.parametrize(
    ("encoded", "key"),
    [
        ("incoming/a+b.pdf", "incoming/a b.pdf"),
        ("incoming/a%2Bb.pdf", "incoming/a+b.pdf"),
        ("incoming/100%2525.pdf", "incoming/100%25.pdf"),
        ("incoming/%23.pdf", "incoming/#.pdf"),
        ("incoming/%C3%BC.pdf", "incoming/ü.pdf"),
        ("incoming/u%CC%88.pdf", "incoming/u\u0308.pdf"),
    ],
)
def test_keys_are_decoded_as_s3_encodes_them(encoded: str, key: str) -> None:
    (event,) = parse_s3_event(s3_event(encoded))
    assert (event.key, event.version_id, event.size, event.sequencer) == (key, "v", 5, "0055")


def test_other_events_tell_of_nothing() -> None:
    assert parse_s3_event('{"Event": "s3:TestEvent", "Bucket": "b"}') == []
    assert parse_s3_event(s3_event("k", "ObjectRemoved:Delete")) == []


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"Records": 1}', '{"Records": [{}]}', '{"Records": [1]}', "null"])
def test_what_is_no_event_is_an_error(body: str) -> None:
    with pytest.raises(ValueError):
        parse_s3_event(body)


def test_messages_are_hidden_taken_off_and_given_back(store: Store) -> None:
    for n in range(25):
        store.verify.send({"n": n})
    first = store.verify.receive(15)
    assert len(first) == 15
    store.verify.delete(first[:10])
    store.verify.give_back(first[10:])
    assert store.verify.depth() == 15
    assert len(store.verify.receive(100)) == 15


def test_dead_letters_go_back(store: Store) -> None:
    for n in range(3):
        store.verify_dead.send({"n": n})
    assert store.verify_dead.move_to(store.verify) == 3
    assert (store.verify_dead.depth(), store.verify.depth()) == (0, 3)


def test_a_fact_is_booked_once(store: Store, clock: Clock) -> None:
    good, _ = race(
        [lambda s=other(store), n=n: s.ledger.record(COST, "fact", clock.now, {"usd": n}) for n in range(16)]
    )
    assert sum(good) == 1
    (row,) = store.ledger.rows(COST, "2027-01-15")
    assert row["id"] == "fact"


def test_an_alert_is_a_row_before_it_is_sent_on(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(store.alerts, RecordedAlerts)

    def deaf(subject: str, message: str) -> None:
        raise ConnectionError(subject)

    monkeypatch.setattr(store.alerts.onward, "send", deaf)
    with pytest.raises(ConnectionError):
        store.alerts.send("Dead letters", "3 messages")
    (row,) = store.ledger.rows(RecordedAlerts.KIND, day_of(clock.now))
    assert (row["subject"], row["message"]) == ("Dead letters", "3 messages")
