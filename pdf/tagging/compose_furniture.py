"""Running heads, running feet, page numbers and watermarks: what stands at the same place page after page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdf.layout.model import Block, PageAnalysis
from pdf.tagging.compose_flow import body_style

#: The share of a page's height, from either edge, in which heads and feet stand.
ZONE = 0.13
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"^\W{0,3}(?:(?:page|pg\.?|p\.|seite|página|pagina|side|sida|strana|strona|страница|стр\.?)\s*)?"
    r"(\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/|von|de|di|av|van|sur|из)\s*\d{1,4})?\W{0,3}$",
    re.I,
)
#: A running head with the page's number at its outer or inner end.
_OUTER = re.compile(r"^(\d{1,4})\b.{3,100}$")
_INNER = re.compile(r"^.{3,100}?\b(\d{1,4})$")


def furniture(pages: Sequence[PageAnalysis]) -> dict[tuple[int, int], tuple[str, Block]]:
    """(page number, index of the block) → (head | foot | watermark, the block)."""
    found: dict[tuple[int, int], tuple[str, Block]] = {}
    edges: list[tuple[PageAnalysis, int, Block, str, int]] = []
    for page in pages:
        edges.extend((page, i, b, zone, rank) for i, b, zone, rank in at_edges(page))
    seen: dict[tuple[str, str], set[int]] = {}
    for page, _, block, zone, _ in edges:
        seen.setdefault((zone, shape(block.text)), set()).add(page.number)
    body = body_style(pages).size
    numbers = numbered(edges, body)
    many = len(pages)
    for page, i, block, zone, _ in edges:
        alike = seen[zone, shape(block.text)]
        near = sum(1 for n in alike if abs(n - page.number) <= 6)
        # set larger than the text it is a heading that comes back, unless most pages have it
        heavy = block.style is not None and block.style.size > 1.3 * body and len(alike) < 0.6 * many
        often = len(alike) >= 2 and (near >= 3 or many <= 4 or len(alike) >= 0.3 * many)
        if (often and not heavy) or (page.number, i) in numbers:
            found[page.number, i] = (zone, block)
    if most_of_it(pages, found):
        found = {key: at for key, at in found.items() if key in numbers}
    found.update(beside(pages))
    outermost(edges, found)
    for page in pages:
        for i, block in enumerate(page.blocks):
            if watermark(block, page):
                found[page.number, i] = ("watermark", block)
    return found


def most_of_it(pages: Sequence[PageAnalysis], found: dict[tuple[int, int], tuple[str, Block]]) -> bool:
    """Whether what comes back is most of the text: copies of one page, or of a form. That is no decoration."""
    total = sum(len(block.text) for page in pages for block in page.blocks)
    return 2 * sum(len(block.text) for _, block in found.values()) > total


def at_edges(page: PageAnalysis) -> list[tuple[int, Block, str, int]]:
    """The text blocks in the top and bottom zones of a page that have nothing but their like beyond them."""
    out: list[tuple[int, Block, str, int]] = []
    texts = [
        (i, b) for i, b in enumerate(page.blocks) if b.role in ("P", "TOCI", "Note", "Table") and "turn" not in b.attrs
    ]
    ordered = sorted(texts, key=lambda e: (-e[1].box[3], e[1].box[0]))
    for rank, (i, b) in enumerate(ordered[:5]):
        if b.box[1] < page.height * (1 - ZONE) or b.lines > 4 or b.role == "Table":
            break
        out.append((i, b, "head", rank))
    ordered = sorted(texts, key=lambda e: (e[1].box[1], e[1].box[0]))
    for rank, (i, b) in enumerate(ordered[:5]):
        if b.box[3] > page.height * ZONE or b.lines > 4 or b.role == "Table":
            break
        out.append((i, b, "foot", rank))
    return out


def shape(text: str) -> str:
    """A text with its numbers made alike."""
    return _DIGITS.sub("#", "".join(text.split()).lower())[:120]


def numbered(edges: Sequence[tuple[PageAnalysis, int, Block, str, int]], body: float) -> set[tuple[int, int]]:
    """Page numbers: alone in an edge zone, and counting with the pages (or the only one there is)."""
    found: list[tuple[int, int, int, str]] = []
    for page, i, block, zone, _ in edges:
        match = _NUMBER.match(block.text)
        if match:
            value = int(match[1]) if match[1].isdigit() else roman(match[1].lower())
            found.append((page.number, i, value, zone))
    steps: dict[int, int] = {}
    for number, _, value, _ in found:
        steps[value - number] = steps.get(value - number, 0) + 1
    turning: dict[tuple[str, int], int] = {}
    ends: list[tuple[int, int, tuple[str, int]]] = []
    for page, i, block, zone, _ in edges:
        if block.lines != 1 or not plain(block, body):
            continue
        for found_number in filter(None, (_OUTER.match(block.text), _INNER.match(block.text))):
            key = (zone, int(found_number[1]) - page.number)
            turning[key] = turning.get(key, 0) + 1
            ends.append((page.number, i, key))
    alone = len({number for number, *_ in found}) == len(found)
    with_text = {(number, i) for number, i, key in ends if turning[key] >= 3}
    return with_text | {
        (number, i)
        for number, i, value, zone in found
        if steps[value - number] >= 2 or (zone == "foot" and alone and value == number + 1)
    }


def plain(block: Block, body: float) -> bool:
    """Whether a block may be a running head: no note, no item, not larger than the text (a chapter's heading is)."""
    size = block.style.size if block.style else body
    return block.role == "P" and "mark" not in block.attrs and not block.label and size <= body + 0.6


def beside(pages: Sequence[PageAnalysis]) -> dict[tuple[int, int], tuple[str, Block]]:
    """Text along the edge of the page that runs in another direction and comes back at its place on other pages."""
    seen: dict[tuple[str, int, int], list[tuple[int, int, Block]]] = {}
    for page in pages:
        for i, block in enumerate(page.blocks):
            if "turn" in block.attrs:
                key = (shape(block.text), round(block.box[0] / 6), round(block.box[1] / 6))
                seen.setdefault(key, []).append((page.number, i, block))
    out: dict[tuple[int, int], tuple[str, Block]] = {}
    for group in seen.values():
        if len({number for number, _, _ in group}) >= 2:
            out.update({(number, i): ("side", block) for number, i, block in group})
    return out


def roman(text: str) -> int:
    values = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
    total = 0
    for i, char in enumerate(text):
        value = values.get(char, 0)
        total += -value if i + 1 < len(text) and values.get(text[i + 1], 0) > value else value
    return total


def outermost(
    edges: Sequence[tuple[PageAnalysis, int, Block, str, int]], found: dict[tuple[int, int], tuple[str, Block]]
) -> None:
    """What stands on the line of a running head or foot (a chapter's name that changes) goes with it."""
    lines: dict[tuple[int, str], list[Block]] = {}
    for (number, _), (zone, block) in found.items():
        lines.setdefault((number, zone), []).append(block)
    places: dict[tuple[str, int], int] = {}
    for (_, _), (zone, block) in found.items():
        key = (zone, round(block.box[1] / 3))
        places[key] = places.get(key, 0) + 1
    for page, i, block, zone, _ in edges:
        if (page.number, i) in found or block.lines > 1:
            continue
        beside = any(abs(o.box[1] - block.box[1]) < 2.5 for o in lines.get((page.number, zone), ()))
        usual = places.get((zone, round(block.box[1] / 3)), 0) >= max(3, 0.5 * len({e[0].number for e in edges}))
        if beside and usual:
            found[page.number, i] = (zone, block)


def watermark(block: Block, page: PageAnalysis) -> bool:
    """Large slanted text across the page."""
    turn = int(block.attrs.get("turn", 0))
    if turn % 90 == 0 or block.style is None:
        return False
    return block.style.size >= 24 and len(block.text) < 60 and block.box[2] - block.box[0] > 0.2 * page.width
