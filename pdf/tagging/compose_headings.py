"""Headings and their levels: by size, weight and numbering against the body text, consistent over the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdf.layout import labels
from pdf.layout.model import Block, Style
from pdf.tagging.compose_flow import Entry

#: No heading is longer than this many characters.
LONGEST = 220


@dataclass(frozen=True)
class Look:
    """How a heading looks: headings that look alike have one level."""

    size: float
    bold: bool
    italic: bool
    caps: bool
    family: str


def headings(entries: Sequence[Entry], body: Style) -> dict[int, int]:
    """Key of each heading's entry → its level, 1 to 6; the first is 1 and none is skipped going down."""
    found = [e for i, e in enumerate(entries) if is_heading(entries, i, body)]
    found = without_runs(found, entries, body)
    if not found:
        return {}
    ranks = ranked(found, body)
    levels: dict[int, int] = {}
    before = 0
    for entry in found:
        level = ranks[look(entry.block)]
        depth = numbering(entry.block)
        if depth:
            level = ranks.get(("depth", depth), level)  # type: ignore[call-overload]
        level = max(1, min(level, before + 1, 6))
        levels[entry.key] = level
        before = level
    return levels


def look(block: Block) -> Look:
    style = block.style or Style(10.0)
    return Look(style.size, style.bold, style.italic, caps(block.text), style.family)


def caps(text: str) -> bool:
    """Whether a text is set in capitals (scripts without them never are)."""
    letters = [c for c in text if c.isalpha()]
    return len(letters) >= 3 and sum(c.isupper() for c in letters) > 0.9 * len(letters)


def numbering(block: Block) -> int:
    """The depth of a heading's number: 1 for "2 Results", 3 for "2.1.4", 0 without."""
    label = labels.find(block.text)
    if label is None:
        first = block.text.split(" ", 1)
        return 1 if len(first) == 2 and first[0].isdigit() and len(first[0]) <= 2 else 0
    if label.kind == "deep":
        return len(label.text.strip(".").split("."))
    return 0


def is_heading(entries: Sequence[Entry], i: int, body: Style) -> bool:
    """Whether a block alone looks like a heading."""
    block = entries[i].block
    if block.role != "P" or block.style is None or "turn" in block.attrs:
        return False
    text = block.text
    letters = sum(map(str.isalpha, text))
    if letters < 2 or len(text) > LONGEST or letters < 0.4 * len(text.replace(" ", "")):
        return False
    kind = labels.find(block.label) if block.label else None
    if kind is not None and kind.kind in ("bullet", "dash"):
        return False
    style = block.style
    ratio = style.size / body.size
    after = next((e.block for e in entries[i + 1 : i + 2]), None)
    if ratio >= 1.18 and block.lines <= 4:
        return not text.rstrip().endswith((",", ";"))
    if text.rstrip()[-1:] in ",;" or block.lines > 3:
        return False
    strong = style.bold and not body.bold
    stop = text.rstrip()[-1:] in ".:" and not numbering(block)
    if strong and ratio >= 0.93 and block.lines <= 2 and not stop and after is not None:
        return True
    if ratio >= 1.07 and block.lines <= 2 and not stop and after is not None:
        return True
    if (
        numbering(block) >= 2
        and block.lines <= 2
        and len(text) < 110
        and (strong or style.italic or block.above > 0.5 * body.size)
    ):
        return after is not None and after.role == "P" and not stop
    if caps(text) and ratio >= 0.95 and block.lines <= 2 and letters >= 5 and block.above > 0.4 * body.size:
        return after is not None and not stop
    return False


def without_runs(found: Sequence[Entry], entries: Sequence[Entry], body: Style) -> list[Entry]:
    """Without long runs of one look with no text between them: those are addresses, tables, forms."""
    keep = {e.key for e in found}
    out: list[Entry] = []
    at = 0
    ordered = list(found)
    while at < len(ordered):
        stop = at + 1
        while (
            stop < len(ordered)
            and ordered[stop].key == ordered[stop - 1].key + 1
            and look(ordered[stop].block) == look(ordered[at].block)
        ):
            stop += 1
        run = ordered[at:stop]
        style = run[0].block.style
        if len(run) < 4 or (style is not None and style.size > 1.3 * body.size):
            out.extend(run)
        at = stop
    return [e for e in out if e.key in keep]


def ranked(found: Sequence[Entry], body: Style) -> dict[Look, int]:
    """The level of each look: larger before smaller, bold before light; numbering says which looks are of one depth."""
    looks: dict[Look, list[Entry]] = {}
    for entry in found:
        looks.setdefault(look(entry.block), []).append(entry)
    ordered = sorted(looks, key=lambda k: (-k.size, not k.bold, not k.caps, k.italic, k.family))
    out: dict[Look, int] = {}
    level = 0
    before: Look | None = None
    for one in ordered:
        same = before is not None and (
            abs(before.size - one.size) < 0.6
            and before.bold == one.bold
            and before.caps == one.caps
            and before.italic == one.italic
        )
        if not same:
            level += 1
        out[one] = min(level, 6)
        before = one
    return out
