"""Painted text to lines: spans on one baseline, in reading direction, with the spaces that a gap stands for."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pdf.layout.model import Style

#: A gap of this many em between two texts of one painted line is a space between words.
WORD_GAP = 0.16
#: Wider than this (em) the two stand apart: a cell, a tab, another column.
APART = 1.15


class Span:
    """One painted text (or a part of it) in the reading frame: x along the line, y upwards, points."""

    __slots__ = (
        "base",
        "c0",
        "c1",
        "drawn",
        "item",
        "link",
        "mirror",
        "order",
        "own",
        "size",
        "style",
        "text",
        "turn",
        "x0",
        "x1",
        "y0",
        "y1",
    )

    def __init__(
        self,
        item: int,
        text: str,
        box: tuple[float, float, float, float],
        base: float,
        size: float,
        style: Style,
        order: int,
        c0: int = -1,
        c1: int = -1,
    ) -> None:
        self.item, self.text, self.base, self.size, self.style, self.order = item, text, base, size, style, order
        self.x0, self.y0, self.x1, self.y1 = box
        self.c0, self.c1 = c0, c1
        self.link = -1
        #: a picture that stands for the text
        self.drawn = False
        #: x is measured from the right edge of the page
        self.mirror = False
        #: direction against the page's, degrees; a span of another direction is in a frame of its own
        self.turn = 0.0
        #: its place in that frame: along, up, length (the box is the page's)
        self.own = (0.0, 0.0, 0.0)


class Line:
    """Spans side by side on one baseline. `size` and `style` are those of most of its characters."""

    __slots__ = ("base", "bold", "order", "size", "spans", "style", "text", "x0", "x1", "y0", "y1")

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans
        self.x0 = min(s.x0 for s in spans)
        self.x1 = max(s.x1 for s in spans)
        self.y0 = min(s.y0 for s in spans)
        self.y1 = max(s.y1 for s in spans)
        self.order = min(s.order for s in spans)
        if len(spans) == 1:
            only = spans[0]
            self.style, self.size, self.base = only.style, only.size, only.base
            self.text = only.text.strip()
        else:
            first = spans[0].style
            if all(s.style is first for s in spans):
                self.style = first
                lead = max(spans, key=lambda s: len(s.text))
            else:
                weights: dict[Style, int] = {}
                for s in spans:
                    weights[s.style] = weights.get(s.style, 0) + len(s.text)
                self.style = max(weights, key=lambda k: weights[k])
                lead = max((s for s in spans if s.style == self.style), key=lambda s: len(s.text))
            self.size, self.base = lead.size, lead.base
            self.text = join(spans)
        # A line is bold only when all of its words are: a bold run-in does not make a heading.
        self.bold = all(s.style.bold for s in spans if s.text.strip())


def join(spans: Sequence[Span]) -> str:
    """The text of spans in reading order, a space where the gap between them stands for one."""
    parts: list[str] = []
    before: Span | None = None
    if len(spans) > 1 and not spans[0].mirror and any(not s.text.isascii() for s in spans):
        spans = in_reading_order(spans)
    for span in spans:
        if before is not None and parts and not parts[-1].endswith(" ") and not span.text.startswith(" "):
            gap = max(span.x0 - before.x1, before.x0 - span.x1)
            size = max(span.size, before.size)
            if gap > WORD_GAP * size and not (cjk(before.text[-1:]) and cjk(span.text[:1]) and gap < APART * size):
                parts.append(" ")
        parts.append(span.text)
        before = span
    return " ".join("".join(parts).split())


def in_reading_order(spans: Sequence[Span]) -> Sequence[Span]:
    """Spans of one line as they are read: from its right end where most of its letters run from right to left."""
    if spans[0].mirror or not rtl("".join(s.text for s in spans)):
        return spans
    return sorted(spans, key=lambda s: (-s.x1, s.order))


def cjk(char: str) -> bool:
    """Whether a character is written without spaces between words (Chinese, Japanese)."""
    if not char or char < "\u2e80":
        return False
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\uff00" <= char <= "\uffef"


def rtl(text: str) -> bool:
    """Whether most letters of a text are written from right to left (Unicode bidirectional class R or AL)."""
    if text.isascii() or max(text) <= "\u0590":
        return False
    right = left = 0
    for char in text:
        if char > "\u0590":
            kind = unicodedata.bidirectional(char)
            if kind in ("R", "AL"):
                right += 1
                continue
        if char.isalpha():
            left += 1
    return right > left


def segments(spans: Sequence[Span]) -> list[Line]:
    """Spans in painting order to segments: stretches of one baseline without a gap wider than `APART` em.

    The painting order decides first (texts painted one after the other on one baseline belong together); what then
    still lies side by side without a wide gap is joined, so that lines painted in pieces come out whole.
    """
    runs: list[list[Span]] = []
    current: list[Span] = []
    for span in spans:
        if current and follows(current, span):
            current.append(span)
        else:
            if current:
                runs.append(current)
            current = [span]
    if current:
        runs.append(current)
    return merge([Line(run) for run in runs])


def follows(run: list[Span], span: Span) -> bool:
    """Whether a span continues a run: same baseline (or raised or lowered within it) and close behind it."""
    last = run[-1]
    size = max(last.size, span.size)
    gap = span.x0 - last.x1
    if gap > APART * size or gap < -0.6 * size:
        return False
    shift = span.base - last.base
    if abs(shift) <= 0.2 * size:
        return True
    # a mark above or below the line is smaller than the line
    small = min(last.size, span.size)
    return small < 0.85 * size and -0.6 * size <= shift <= 0.75 * size and gap < 0.45 * size


def merge(runs: list[Line]) -> list[Line]:
    """Join segments that lie side by side on one baseline and touch (within the gap of a word)."""
    runs.sort(key=lambda r: (-r.base, r.x0))
    rows: list[list[Line]] = []
    for run in runs:
        for row in reversed(rows[-3:]):
            head = row[0]
            size = max(head.size, run.size)
            if abs(head.base - run.base) <= 0.15 * size or (
                min(head.size, run.size) < 0.85 * size
                and min(head.y1, run.y1) - max(head.y0, run.y0) > 0.4 * (min(head.y1 - head.y0, run.y1 - run.y0))
                and any(abs(run.x0 - o.x1) < 0.45 * size or abs(o.x0 - run.x1) < 0.45 * size for o in row)
            ):
                row.append(run)
                break
        else:
            rows.append([run])
    out: list[Line] = []
    for row in rows:
        if len(row) == 1:
            out.append(row[0])
            continue
        row.sort(key=lambda r: r.x0)
        group = [row[0]]
        for run in row[1:]:
            size = max(group[-1].size, run.size)
            gap = run.x0 - max(g.x1 for g in group)
            if -0.6 * size <= gap <= 0.75 * size or (gap < 0 and run.x1 <= max(g.x1 for g in group)):
                group.append(run)
            else:
                out.append(combine(group))
                group = [run]
        out.append(combine(group))
    return out


def combine(group: list[Line]) -> Line:
    """One line of several, its spans from left to right."""
    if len(group) == 1:
        return group[0]
    spans = sorted((s for g in group for s in g.spans), key=lambda s: (s.x0, s.order))
    return Line(spans)
