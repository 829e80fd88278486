"""A short turn of every fuzz target, the same each time; ``make fuzz`` takes long ones. What was found is kept."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import changed
from tests.fuzz.targets import SEEDS, TARGETS, WORDS

#: No input of a few kilobytes keeps a parser busy for longer, seconds.
SLOW = 5.0


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_it_is_given_it_answers_or_refuses(name: str) -> None:
    target = TARGETS[name]
    inputs = st.one_of(changed(SEEDS[name], WORDS.get(name, ())), st.binary(max_size=300))

    @settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(inputs)
    def turn(data: bytes) -> None:
        began = time.monotonic()
        target(data)
        assert time.monotonic() - began < SLOW

    turn()


def created(of: str) -> bytes:
    """An event of S3 about such an object."""
    place = f'{{"bucket": {{"name": "b"}}, "object": {of}}}'
    return f'{{"Records": [{{"eventName": "ObjectCreated:Put", "s3": {place}}}]}}'.encode()


#: Inputs that once were a finding.
FOUND: list[tuple[str, bytes]] = [
    ("log", b'{"v": 1, "op": {"type": []}}'),
    ("log", b'{"v": ' + b"[" * 50_000),
    ("s3_event", b"[" * 50_000),
    ("s3_event", created('{"key": "incoming/a.pdf", "size": 1e999}')),
    ("s3_event", created('{"key": "\\ud800"}')),
    ("verify_message", b'{"type": "tags-verify"}'),
    ("shown", b"BT /\x80F1 1 Tf <0001> Tj ET"),
    ("cmap", b"1 begincidrange <\x0b0> <ff> 3 endcidrange"),
]


@pytest.mark.parametrize(("name", "data"), FOUND, ids=range(len(FOUND)))
def test_what_was_found_is_mended(name: str, data: bytes) -> None:
    TARGETS[name](data)
