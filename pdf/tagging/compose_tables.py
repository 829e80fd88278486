"""Tables that go on over a page: the same columns at the same places, last on one page and first on the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pdf.layout.model import Block
from pdf.tagging.compose_flow import Entry


def continued(entries: Sequence[Entry]) -> dict[int, int]:
    """Key of a table that goes on from the page before → key of the table it continues."""
    out: dict[int, int] = {}
    for before, entry in pairwise(entries):
        if before.block.role != "Table" or entry.block.role != "Table" or entry.page != before.page + 1:
            continue
        if before.block.children[-1:] and before.block.children[-1].role == "Caption":
            continue  # what stands under a table ends it
        if captioned(entry.block) or not same_columns(before.block, entry.block):
            continue
        out[entry.key] = before.key
    return out


def captioned(table: Block) -> bool:
    return any(c.role == "Caption" for c in table.children)


def same_columns(a: Block, b: Block) -> bool:
    """As many columns between the same edges (points)."""
    if a.attrs.get("columns") != b.attrs.get("columns"):
        return False
    return abs(a.box[0] - b.box[0]) < 6 and abs(a.box[2] - b.box[2]) < 6
