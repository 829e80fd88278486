"""Lines of a column to blocks: where a paragraph ends, where a list item or an entry of the contents begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pdf.layout import labels
from pdf.layout.formulas import in_formula, only_mathematics
from pdf.layout.labels import Label
from pdf.layout.lines import Line

#: "Title ..... 12": leader dots and a page number, or a page number at the right after a wide gap.
LEADER = re.compile(r"(?:[.…·_]\s?){4,}\s*[\dA-Za-z.\-]{0,9}\s*$")
ENTRY_END = re.compile(r"(?:^|\s)(\d{1,4}|[ivxl]{1,7}|[A-Z]?-?\d{1,3}-\d{1,3})\s*$")

#: Bullets that come from fonts of mathematics.
_ITEMIZE = "•∗*◦⋄∘·"


@dataclass
class Row:
    """What stands on one baseline of a column: one line, or several segments apart from each other."""

    lines: list[Line]
    x0: float = 0.0
    x1: float = 0.0
    y0: float = 0.0
    y1: float = 0.0
    base: float = 0.0
    size: float = 0.0
    text: str = ""
    label: Label | None = None
    body_x: float = 0.0
    bold: bool = False
    entry: bool = False
    formula: bool = False

    def __post_init__(self) -> None:
        lines = self.lines
        self.x0, self.x1 = min(s.x0 for s in lines), max(s.x1 for s in lines)
        self.y0, self.y1 = min(s.y0 for s in lines), max(s.y1 for s in lines)
        lead = max(lines, key=lambda s: len(s.text))
        self.base, self.size = lead.base, lead.size
        self.text = lines[0].text if len(lines) == 1 else " ".join(s.text for s in lines if s.text)
        self.bold = all(s.bold for s in lines)
        self.style = lead.style
        self.label = labels.find(self.text)
        sign = self.label is not None and self.label.kind in ("bullet", "dash") and self.label.text not in _ITEMIZE
        if sign and only_mathematics(lines[0].spans[0]):
            self.label = None  # a minus, a bracket's upper half
        self.body_x = self.x0
        if self.label is not None:
            self.body_x = body_start(self)
        self.formula = in_formula([s for g in lines for s in g.spans], self.text)
        self.entry = bool(LEADER.search(self.text)) and any(c.isalpha() for c in self.text)


def body_start(row: Row) -> float:
    """Where the text after a row's label begins, points."""
    assert row.label is not None
    left = len("".join(row.label.text.split()))
    for line in row.lines:
        for span in line.spans:
            visible = len("".join(span.text.split()))
            if left <= 0 and visible:
                return span.x0
            if visible > left > 0:
                # inside this text: after the label's share of it and the space behind
                at, seen = 0, 0
                while seen < left:
                    seen += not span.text[at].isspace()
                    at += 1
                while at < len(span.text) and span.text[at].isspace():
                    at += 1
                return span.x0 + (span.x1 - span.x0) * at / len(span.text)
            left -= visible
    return row.x1


@dataclass
class Paragraph:
    rows: list[Row] = field(default_factory=list)
    label: Label | None = None
    above: float = -1.0
    entry: bool = False


def rows_of(lines: Sequence[Line]) -> list[Row]:
    """Segments of a column (already sorted by rows) to rows."""
    out: list[list[Line]] = []
    for line in lines:
        if out and abs(out[-1][0].base - line.base) <= 0.3 * min(out[-1][0].size, line.size):
            out[-1].append(line)
        else:
            out.append([line])
    found = [Row(sorted(group, key=lambda s: s.x0)) for group in out]
    mark_entries(found)
    return found


def mark_entries(rows: Sequence[Row]) -> None:
    """Find contents without leader dots: rows in a run that end in page numbers which never fall, set at the right.

    A row between two of them without a number is the beginning of an entry that goes on.
    """
    run: list[int] = []
    value = 0

    def settle() -> None:
        if len(run) < 5:
            return
        apart = [i for i in run if len(rows[i].lines) >= 2 and rows[i].lines[-1].text.strip().isdigit()]
        ends = sorted(rows[i].x1 for i in apart)
        if len(apart) < 0.7 * len(run) or sum(1 for e in ends if abs(e - ends[len(ends) // 2]) < 3) < 0.7 * len(apart):
            return
        for i in run:
            rows[i].entry = True

    for i, row in enumerate(rows):
        found = ENTRY_END.search(row.text)
        number = int(found[1]) if found and found[1].isdigit() else -1
        if number >= 0 and any(c.isalpha() for c in row.text) and (not run or value <= number <= value + 200):
            run.append(i)
            value = number
        elif run and (i - run[-1] > 2 or number >= 0):
            settle()
            run = []
            if number >= 0 and any(c.isalpha() for c in row.text):
                run, value = [i], number
    settle()


def paragraphs(rows: Sequence[Row]) -> list[Paragraph]:
    """Rows of one column, from top to bottom, to paragraphs."""
    if not rows:
        return []
    right = column_right(rows)
    typical = leadings(rows)
    out: list[Paragraph] = []
    current = Paragraph()
    for i, row in enumerate(rows):
        before = rows[i - 1] if i else None
        if before is None or breaks(current, before, row, rows[i + 1] if i + 1 < len(rows) else None, right, typical):
            if current.rows:
                out.append(current)
            gap = -1.0 if before is None else before.y0 - row.y1
            current = Paragraph([row], row.label, gap, row.entry)
        else:
            current.rows.append(row)
            current.entry = current.entry or row.entry
    out.append(current)
    return out


def column_right(rows: Sequence[Row]) -> float:
    """The right edge that full lines reach."""
    ends = sorted((r.x1 for r in rows), reverse=True)
    return ends[min(len(ends) - 1, max(0, len(ends) // 10))]


def leadings(rows: Sequence[Row]) -> dict[int, float]:
    """Usual distance of baselines for each text size (rounded): the lower median over neighbours of one size."""
    found: dict[int, list[float]] = {}
    for a, b in pairwise(rows):
        step = a.base - b.base
        if 0.5 * b.size < step < 2.2 * b.size and abs(a.size - b.size) < 0.6:
            found.setdefault(round(b.size), []).append(step)
    return {size: sorted(steps)[(len(steps) - 1) // 3] for size, steps in found.items()}


def breaks(
    current: Paragraph, before: Row, row: Row, after: Row | None, right: float, typical: dict[int, float]
) -> bool:
    """Whether a new block begins with `row`."""
    size = max(before.size, row.size)
    step = before.base - row.base
    if step < 1.6 * size and before.y0 - row.y1 < 0.1 * size and before.formula and row.formula:
        return False  # a fraction's numerator, the line it stands on, its denominator
    usual = typical.get(round(row.size), 1.2 * row.size)
    if step > 1.25 * usual + 0.12 * size and step > 1.12 * size:
        return True
    if step < -0.5 * size:
        return True
    if abs(before.size - row.size) > 0.08 * size:
        return True
    if before.entry or (row.entry and row.label is not None):
        return True
    if before.bold != row.bold and not row_style_runs_on(before, row):
        return True
    if row.style.italic != before.style.italic and row.style.bold and before.style.bold:
        return True
    if row.style.mono != before.style.mono:
        return True
    if row.style.colour != before.style.colour and row.bold == before.bold and len(row.lines) == 1 == len(before.lines):
        whole = all(s.style.colour == row.style.colour for s in row.lines[0].spans)
        if (
            whole
            and all(s.style.colour == before.style.colour for s in before.lines[0].spans)
            and not linked(before, row)
        ):
            return True
    if row.label is not None and starts_item(current, before, row):
        return True
    room = right - before.x1
    word = row.text.split(" ", 1)[0]
    need = (row.x1 - row.x0) * (len(word) + 1) / max(len(row.text), 1)
    if current.label is not None:
        # an item's further lines hang under its text; a line that steps out ends it
        if (
            row.x0 < min(current.rows[0].body_x, current.rows[0].x0 + 3 * size) - 0.6 * size
            and row.x0 < current.rows[0].body_x - 3
        ):
            return row.x0 < current.rows[0].x0 - 0.5 * size or room > need + size or len(current.rows) > 1
        return room > need + 1.5 * size and row.text[:1].isupper() and before.text.rstrip()[-1:] in ".:;!?"
    centred = abs((before.x0 + before.x1) - (row.x0 + row.x1)) < size and abs(before.x0 - row.x0) > 0.5 * size
    if centred:
        return False
    first = len(current.rows) == 1
    if first and before.x0 - row.x0 > 5 * size:
        return True  # a caption or a heading in the middle, then the text
    if row.x0 > before.x0 + 0.8 * size and not first and row.x0 < before.x0 + 6 * size:
        # indented: a first line, if the lines after it go back
        return after is None or after.x0 < row.x0 - 0.5 * size or before.text.rstrip()[-1:] in ".:!?"
    if room > need + 1.2 * size and room > 0.08 * (right - row.x0):
        # the next word had room on the line before: somebody ended it there
        return before.text.rstrip()[-1:] in '.:;!?”")' or row.text[:1].isupper() or room > 0.35 * (right - row.x0)
    return False


def linked(before: Row, row: Row) -> bool:
    return any(s.link >= 0 for r in (before, row) for g in r.lines for s in g.spans)


def row_style_runs_on(before: Row, row: Row) -> bool:
    """A bold run-in that goes over the end of a line, or ends on the next one, is no break."""
    last = before.lines[-1].spans[-1].style.bold
    first = row.lines[0].spans[0].style.bold
    return last == first


def starts_item(current: Paragraph, before: Row, row: Row) -> bool:
    """Whether a row with a label begins an item, rather than a sentence that happens to begin with a number."""
    label = row.label
    assert label is not None
    if label.kind == "bullet":
        return True
    if label.kind == "dash":
        return (
            row.body_x - row.x0 > 0.9 * row.size or abs(row.x0 - before.x0) > 1 or before.text.rstrip()[-1:] in ".;:,"
        )
    if current.label is not None:
        if labels.follows(current.label, label) or abs(current.rows[0].x0 - row.x0) < 2:
            return True
        # initials and numbers at the beginning of an item's further lines stand under its text
        hangs = abs(row.x0 - current.rows[0].body_x) < 0.5 * row.size
        if hangs and (label.kind == "upper" or before.text.rstrip()[-1:] not in ".:;!?"):
            return False
    if label.kind == "upper" and label.form == "#." and before.text.rstrip()[-1:] not in ".:;!?":
        return False
    if label.kind == "decimal" and label.value > 99 and label.form == "#.":
        return False
    # "see 4. The…" : a line inside a paragraph that begins with a number keeps the paragraph's left edge
    return not (abs(row.x0 - before.x0) < 1 and before.text.rstrip()[-1:] not in ".:;!?" and label.value != 1)


def text_of(paragraph: Paragraph) -> str:
    """The text of a paragraph, words broken by a hyphen at a line's end made whole."""
    out = ""
    for row in paragraph.rows:
        text = row.text
        if not out:
            out = text
        elif out.endswith("\u00ad") or (
            out.endswith("-") and len(out) > 2 and out[-2].isalpha() and text[:1].islower()
        ):
            out = out[:-1] + text
        else:
            out += " " + text
    return out


__all__ = ["Paragraph", "Row", "paragraphs", "rows_of", "text_of"]
