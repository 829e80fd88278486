"""The blocks of all pages in one flow, without what repeats on every page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pdf.layout.model import Block, PageAnalysis, Style


@dataclass(frozen=True)
class Entry:
    """A block in the flow of the document. `key` is its place in the flow; `page` its page's number."""

    key: int
    page: int
    block: Block
    height: float = 0.0
    width: float = 0.0


def flow(pages: Sequence[PageAnalysis], left_out: Mapping[tuple[int, int], object]) -> list[Entry]:
    """All blocks in reading order, but for those left out: (page number, index of the block)."""
    out: list[Entry] = []
    for page in pages:
        for i, block in enumerate(page.blocks):
            if (page.number, i) not in left_out:
                out.append(Entry(len(out), page.number, block, page.height, page.width))
    return contents(out)


def contents(entries: list[Entry]) -> list[Entry]:
    """Three entries of contents and more in a row are contents, short blocks among them too; fewer are text."""
    out = list(entries)
    at = 0
    while at < len(out):
        if out[at].block.role != "TOCI":
            at += 1
            continue
        last = at
        stop = at + 1
        while stop < len(out) and stop - last <= 2:
            block = out[stop].block
            if block.role == "TOCI":
                last = stop
            elif block.role != "P" or block.lines > 2 or len(block.text) > 120:
                break
            stop += 1
        many = sum(1 for e in out[at : last + 1] if e.block.role == "TOCI")
        for i in range(at, last + 1):
            if many < 3 and out[i].block.role == "TOCI":
                out[i] = replace(out[i], block=replace(out[i].block, role="P"))
            elif many >= 3 and out[i].block.role == "P":
                mine, near = out[i].block.style, out[i + 1].block.style
                if mine is not None and near is not None and mine.size <= near.size + 1.6:
                    out[i] = replace(out[i], block=replace(out[i].block, role="TOCI"))
        at = last + 1
    return out


def body_style(pages: Sequence[PageAnalysis]) -> Style:
    """The style most running text of the document is set in (size, weight, family)."""
    sizes: dict[float, int] = {}
    styles: dict[tuple[float, bool, bool, str], int] = {}
    for page in pages:
        for count in page.styles:
            s = count.style
            sizes[s.size] = sizes.get(s.size, 0) + count.chars
            key = (s.size, s.bold, s.italic, s.family)
            styles[key] = styles.get(key, 0) + count.chars
    if not sizes:
        return Style(10.0)
    size = max(sizes, key=lambda k: (sizes[k], k))
    best = max((k for k in styles if k[0] == size), key=lambda k: (styles[k], k))
    return Style(best[0], best[1], best[2], False, best[3])
