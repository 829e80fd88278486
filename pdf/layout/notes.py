"""Footnotes: small text at the foot of a column, under a short rule or with a raised mark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pdf.layout.blocks import Row
from pdf.layout.model import Block

_MARK = re.compile(r"^(\d{1,3}|[*†‡§¶]{1,3}|[a-z])(?=\s*\S)")


def note_label(row: Row) -> str:
    """The raised mark a note begins with ("1", "*"), or ""."""
    spans = row.lines[0].spans
    found = _MARK.match(row.text)
    if not found:
        return ""
    first = spans[0]
    mark = found[1]
    if first.text.strip() != mark:
        return mark if not mark.isalnum() and len(spans[0].text) > 2 else ""
    rest = next((s for s in [*spans[1:], *(t for g in row.lines[1:] for t in g.spans)] if s.text.strip()), None)
    if rest is None:
        return ""
    raised = first.base - rest.base > 0.12 * rest.size
    if raised or first.size < 0.8 * rest.size:
        return mark
    # a number that stands apart before the text, as some set their notes
    return mark if mark.isdigit() and len(row.lines) > 1 and len(row.lines[0].spans) == 1 and len(rest.text) > 3 else ""


def small(block: Block, body: float) -> bool:
    """Whether a block is set smaller than the text of its page."""
    return block.style is not None and block.style.size <= 0.93 * body


def notes(
    blocks: Sequence[Block], body: float, height: float, rules: Sequence[tuple[float, float, float]]
) -> list[Block]:
    """Blocks of one region with its footnotes marked as Note.

    `rules` are horizontal lines (y, x0, x1). A note is smaller than the body, stands at the foot of its column and
    either carries a mark or follows a note; under a short rule a number it begins with is enough.
    """
    out = list(blocks)
    last = len(out) - 1
    while last >= 0 and out[last].text.strip("-– ").isdigit() and out[last].lines == 1:
        last -= 1  # the page's number stands below its notes
    foot = last + 1
    while last >= 0 and out[last].role == "P" and small(out[last], body):
        last -= 1
    start = None
    for i in range(last + 1, foot):
        block = out[i]
        if start is None:
            ruled = any(
                block.box[3] - 2 <= y <= block.box[3] + 14
                and x0 <= block.box[0] + 6
                and x1 - x0 < 0.62 * (block.column[1] - block.column[0])
                and x1 - x0 > 20
                for y, x0, x1 in rules
            )
            marked = "mark" in block.attrs or (ruled and block.text[:1] in "0123456789*†‡")
            if block.box[3] < 0.6 * height and marked:
                start = i
        if start is not None:
            out[i] = replace(block, role="Note")
    return out
