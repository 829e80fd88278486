"""A short turn of every fuzz target, the same each time; ``make fuzz`` takes long ones. What was found is kept."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdf.content import painting
from pdf.tagging import marks
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


#: Operations that may follow each other in any order, more or less as producers write them.
OPERATIONS = (
    *(b"q", b"Q", b"BT", b"ET", b"1 0 0 1 9 9 cm", b"/F1 9 Tf", b"0.5 g", b"9 Tr", b"9 9 Td"),
    *(b"(a\\)b) Tj", b"[(a) -9 <62>] TJ", b"(c) '", b'1 2 (d) "', b"() Tj", b"[] TJ"),
    *(b"0 0 9 9 re f", b"1 1 m 2 2 l S", b"0 0 9 9 re W n", b"/X Do", b"/S sh", b"% q BT (", b"f"),
    *(b"/P <</MCID 0>> BDC", b"/Artifact BMC", b"/Span /M BDC", b"/OC /L BDC", b"EMC", b"/P /M DP"),
    b"BI /W 2 /H 2 /BPC 8 /CS /G ID a EI EI",
)


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(st.lists(st.sampled_from(OPERATIONS), max_size=30), st.randoms(use_true_random=False))
def test_marked_anew_a_stream_paints_what_it_painted(operations: list[bytes], dice: random.Random) -> None:
    stream = painting.scan(b"\n".join(operations))
    labels: list[marks.Parts] = [((0, 1, dice.randint(0, 2)),) if dice.random() < 0.8 else () for _ in stream.paints]
    made = marks.marked(stream, labels, lambda label: b"/P <</MCID %d>>" % int(str(label)))
    again = painting.scan(made)
    assert [(p.kind, p.name) for p in again.paints] == [(p.kind, p.name) for p in stream.paints]
    opened = sum(op.name in (b"BDC", b"BMC") for op in again.ops)
    kept = sum(op.name == b"EMC" for op in again.ops)
    assert opened == kept


#: Inputs that once were a finding.
FOUND: list[tuple[str, bytes]] = [
    ("log", b'{"v": 1, "op": {"type": []}}'),
    ("log", b'{"v": ' + b"[" * 50_000),
    ("log", SEEDS["log"][0].replace(b'"title"', b'"' + b"null" * 500 + b'title"')),
    ("s3_event", b"[" * 50_000),
    ("s3_event", created('{"key": "incoming/a.pdf", "size": 1e999}')),
    ("s3_event", created('{"key": "\\ud800"}')),
    ("verify_message", b'{"type": "tags-verify"}'),
    ("shown", b"BI /W 99999999999999999999 /H 2 /BPC 8 /CS /G ID abcd EI"),
    ("content", b"BI /W 2 /H 2 /BPC -99999999999999999999 /CS /G ID abcd EI"),
    ("shown", b"BT /\x80F1 1 Tf <0001> Tj ET"),
    ("program", b"%!\n/FontMatrix [e 0 0 e 0 0] def\ncurrentfile eexec\nxxxxxxxx"),
    ("program", b"%!\n/FontMatrix [0 0 0 0 0 0] def\ncurrentfile eexec\nxxxxxxxx"),
    ("report", SEEDS["report"][0].replace(b'testNumber="8"', b'testNumber=","')),
    ("cmap", b"1 begincidrange <\x0b0> <ff> 3 endcidrange"),
]


@pytest.mark.parametrize(("name", "data"), FOUND, ids=range(len(FOUND)))
def test_what_was_found_is_mended(name: str, data: bytes) -> None:
    TARGETS[name](data)
