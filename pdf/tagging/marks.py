"""Marked content put into a content stream (ISO 32000-1 14.6): the bytes stay, `BDC` and `EMC` go between them.

What a stream paints gets labels; neighbours of one label share one sequence. A sequence lies wholly inside a text
object or around whole ones, never over the edge of a `q … Q`, a `BT … ET` or a sequence that stays. Old marks go,
except optional content and those that carry a replacement text: they say something that is not in the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from pdf.content import scanner
from pdf.content.painting import Paint, Stream
from pdf.content.scanner import Operator
from pdf.tagging.split import Splitter

#: Of one painting operator: (first code, last code + 1, label) in order; one entry for all but a text that is split.
#: Empty for what paints nothing that could be marked; a single entry with label None for a form marked inside itself.
Parts = Sequence[tuple[int, int, Hashable | None]]

_OPENS = {b"q": b"Q", b"BT": b"ET", b"BDC": b"EMC", b"BMC": b"EMC"}
_CLOSES = frozenset(_OPENS.values())
_MARKS = (b"BDC", b"BMC")
_SAYS = re.compile(rb"/(?:ActualText|Alt|E|Lang)(?![A-Za-z0-9])")
_MCID = re.compile(rb"/MCID[\x00\t\n\x0c\r ]+\d+")


@dataclass(slots=True)
class _Run:
    """A stretch [start, end) of the stream that paints one label; label None: one that is not to be marked."""

    start: int
    end: int
    label: Hashable | None


@dataclass(slots=True)
class _Edit:
    """New text for the bytes [start, end): pieces of content and labels whose sequence begins or (None) ends there."""

    start: int
    end: int
    new: list[bytes | tuple[Hashable] | None]


@dataclass(slots=True)
class _Block:
    """An open `q`, `BT` or kept `BDC`, and the runs in it."""

    closes: bytes
    start: int
    runs: list[_Run] = field(default_factory=list)

    def add(self, run: _Run) -> None:
        """Append a run, or let the last one reach over it where both have the same label."""
        last = self.runs[-1] if self.runs else None
        if last is not None and last.label is not None and last.label == run.label:
            last.end = run.end
        else:
            self.runs.append(run)


def marked(
    stream: Stream,
    labels: Sequence[Parts],
    begin: Callable[[Hashable], bytes],
    named: Callable[[bytes], bool] = lambda name: False,
    splitter: Splitter | None = None,
    renamed: Mapping[int, bytes] | None = None,
    idle: Hashable | None = None,
) -> bytes:
    """The stream with its paints marked.

    `labels[i]` says what `stream.paints[i]` shows. `begin(label)` gives the tag and property list that open a sequence;
    it is called once a sequence, in the order of the stream. `named(name)` says whether the property list of that name
    is kept (it has a replacement text). A text that cannot be split is marked as a whole, as its first part.
    `renamed`: paint → the XObject it paints instead. `idle` labels empty texts that nothing stands before: they paint
    nothing, and still may not stand outside the marks (veraPDF reads ISO 14289-1 7.1 so).
    """
    gone, edits = _old_marks(stream, named) if stream.marked else (frozenset(), [])
    single: dict[int, tuple[Paint, Parts]] = {p.op: (p, parts) for p, parts in zip(stream.paints, labels, strict=True)}
    splits: dict[int, _Edit] = {}
    for number, (_, parts) in single.items():
        if len(parts) > 1:
            edit = _split(stream.ops[number], parts, splitter)
            if edit is not None:
                splits[number] = edit
    edits += splits.values()
    for index, name in (renamed or {}).items():
        op = stream.ops[stream.paints[index].op]
        edits.append(_Edit(scanner.name_start(stream.data, op), op.at, [b"/" + name + b" "]))
    runs = _nested(stream, single, gone, splits, idle)
    if runs is None:
        runs = _flat(stream, single, splits, idle)
    for run in runs:
        assert run.label is not None
        edits += (_Edit(run.start, run.start, [(run.label,)]), _Edit(run.end, run.end, [None]))
    return _written(stream.data, edits, begin)


def _nested(
    stream: Stream,
    paints: dict[int, tuple[Paint, Parts]],
    gone: frozenset[int],
    splits: dict[int, _Edit],
    idle: Hashable | None,
) -> list[_Run] | None:
    """The sequences of a stream, as few as may be; None for a stream whose operators are not properly nested."""
    stack = [_Block(b"", 0)]
    out: list[_Run] = []

    def emit(block: _Block) -> None:
        out.extend(run for run in block.runs if run.label is not None)

    for number, op in enumerate(stream.ops):
        if number in gone:
            continue
        name = op.name
        if name in _OPENS:
            stack.append(_Block(_OPENS[name], op.start))
        elif name in _CLOSES:
            if stack[-1].closes != name:
                if name == b"Q" and not any(block.closes == b"Q" for block in stack):
                    continue  # one too many is common, and viewers pass over it
                return None
            block = stack.pop()
            if not block.runs:
                continue
            if len(block.runs) == 1 and block.runs[0].label is not None:
                stack[-1].add(_Run(block.start, op.end, block.runs[0].label))
            else:
                emit(block)
                stack[-1].runs.append(_Run(block.start, op.end, None))
        elif number in paints:
            parts = paints[number][1]
            if number in splits:
                stack[-1].runs.append(_Run(op.start, op.end, None))
            elif parts:
                label = parts[0][2]
                run = _Run(op.start, op.end, label)
                if label is None:
                    stack[-1].runs.append(run)
                else:
                    stack[-1].add(run)
        elif idle is not None and number in stream.hollow:
            before = stack[-1].runs[-1].label if stack[-1].runs else None
            stack[-1].add(_Run(op.start, op.end, idle if before is None else before))
    for block in stack:
        emit(block)
    return out


def _flat(
    stream: Stream, paints: dict[int, tuple[Paint, Parts]], splits: dict[int, _Edit], idle: Hashable | None
) -> list[_Run]:
    """Every painting operator in a sequence of its own: right however the stream is nested."""
    out = [
        _Run(stream.ops[number].start, stream.ops[number].end, parts[0][2])
        for number, (_, parts) in paints.items()
        if parts and parts[0][2] is not None and number not in splits
    ]
    if idle is not None:
        out += (_Run(stream.ops[number].start, stream.ops[number].end, idle) for number in sorted(stream.hollow))
    return out


def _split(op: Operator, parts: Parts, splitter: Splitter | None) -> _Edit | None:
    cut = splitter.cut(op, [(first, last) for first, last, _ in parts]) if splitter is not None else None
    if cut is None:
        return None
    before, pieces = cut
    new: list[bytes | tuple[Hashable] | None] = [before]
    for piece, (_, _, label) in zip(pieces, parts, strict=True):
        new += ((label,), piece, None)
    return _Edit(op.start, op.end, new)


def _old_marks(stream: Stream, named: Callable[[bytes], bool]) -> tuple[frozenset[int], list[_Edit]]:
    """(numbers of the operators that go, the edits that take them out, and MCIDs out of those that stay)."""
    data = stream.data
    gone: set[int] = set()
    edits: dict[int, _Edit] = {}
    stack: list[int] = []
    for number, op in enumerate(stream.ops):
        if op.name in _MARKS:
            start, tag, name, inline = scanner.tag_operands(data, op)
            stays = tag == b"OC" or (inline is not None and _SAYS.search(inline) is not None)
            stays = stays or (name is not None and named(name))
            if not stays:
                gone.add(number)
                edits[number] = _Edit(start, op.end, [b" "])
            elif inline is not None and _MCID.search(inline):
                edits[number] = _Edit(start, op.at, [b"/" + tag + b" " + _MCID.sub(b"", inline) + b" "])
            stack.append(number)
        elif op.name == b"EMC" and (not stack or stack.pop() in gone):
            gone.add(number)
            edits[number] = _Edit(op.at, op.end, [b" "])
    for number in stack:  # never closed: it cannot stay
        gone.add(number)
        start = scanner.tag_operands(data, stream.ops[number])[0]
        edits[number] = _Edit(start, stream.ops[number].end, [b" "])
    return frozenset(gone), list(edits.values())


def _written(data: bytes, edits: list[_Edit], begin: Callable[[Hashable], bytes]) -> bytes:
    parts: list[bytes] = []
    at = 0
    # Where one sequence ends and the next begins, the end comes first.
    edits.sort(key=lambda edit: (edit.start, edit.end, edit.new[0] is not None))
    for edit in edits:
        parts.append(data[at : edit.start])
        for piece in edit.new:
            if piece is None:
                parts.append(b"\nEMC\n")
            elif isinstance(piece, bytes):
                parts.append(piece)
            else:
                parts += (b"\n", begin(piece[0]), b" BDC\n")
        at = edit.end
    parts.append(data[at:])
    return b"".join(parts)
