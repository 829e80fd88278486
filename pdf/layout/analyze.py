"""A page's items to blocks in reading order: the steps of the layout, each in its own module."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from pdf.layout import tables as tabular
from pdf.layout.blocks import Row, rows_of
from pdf.layout.captions import captions, kind
from pdf.layout.content import PageContent
from pdf.layout.figures import Figure, around, beside, figures, grow, united
from pdf.layout.frame import Frame, frame_of
from pdf.layout.grid import grids
from pdf.layout.lines import Line, Span, segments
from pdf.layout.model import Artifact, Block, PageAnalysis, Piece, Ref
from pdf.layout.notes import notes
from pdf.layout.order import arrange
from pdf.layout.pack import Packer
from pdf.layout.places import drop_caps, line_numbers, picture_bullets
from pdf.layout.tables import Table
from pdf.layout.unruled import aligned
from pdf.page import PageItems, PageReader


def analyze(base: Path, first: int, last: int) -> list[PageAnalysis]:
    """Analyze pages [first, last) of a base PDF. Each page is read once and alone, so chunks may be cut anywhere."""
    with PageReader(base) as reader:
        return [page(reader.read(number)) for number in range(first, min(last, reader.pages))]


class Box:
    """A table or a figure as a thing to be put in order among lines."""

    __slots__ = ("base", "order", "size", "text", "thing", "x0", "x1", "y0", "y1")

    def __init__(self, thing: Table | Figure, size: float) -> None:
        self.thing = thing
        self.x0, self.y0, self.x1, self.y1 = thing.box
        self.base, self.size, self.order, self.text = thing.box[3] - size, size, thing.order, ""


def page(items: PageItems) -> PageAnalysis:
    """The analysis of one page. Where its items' addresses cannot be trusted it is one block, in painting order."""
    if not items.aligned:
        return whole(items)
    frame = frame_of(items)
    content = PageContent(frame.blank, frame.uri, lambda i: [(c.text, c.code) for c in items.chars(items.items[i])])
    packer = Packer(frame, content)
    spans = frame.spans
    found, taken = ruled_tables(frame, spans)
    left = [s for s in spans if s.item not in taken or not in_table(s, found)]
    used = {i for t in found for i in t.items}
    free = [d for d in frame.drawings if d.item not in used]
    pictures, rest = figures(free, left, frame.width, frame.height, frame.widgets)
    pictures = [f for f in pictures if not any(inside(f.box, t.box) for t in found)]
    claimed = {id(s) for f in pictures for s in f.spans}
    left = [s for s in left if id(s) not in claimed]
    lines, turned = upright(left)
    lines = grow(pictures, lines, no_label)
    turned = [beside(pictures, group, lambda g: span_box(g, frame)) for group in turned]
    pictures = united(pictures)
    lines, numbers = line_numbers(lines, frame.width)
    free = [d for d in rest if d.item not in used]
    lines = drop_caps(picture_bullets(lines, free))
    size = packer.body_size(lines)
    atoms: list[Line | Box] = [*lines, *(Box(t, size) for t in found), *(Box(f, size) for f in pictures)]
    blocks: list[Block] = []
    for region in arrange(atoms):
        blocks.extend(notes(column(region, frame, packer), size, frame.height, frame.across((0.0, frame.width))))
    for group in filter(None, turned):
        blocks.extend(packer.turned(group))
    blocks = packer.annotations(captions(blocks))
    artifacts: list[Artifact] = []
    if numbers:
        refs = packer.refs([s for g in numbers for s in g.spans])
        artifacts.append(Artifact(refs, "line-number", packer.box(around([(g.x0, g.y0, g.x1, g.y1) for g in numbers]))))
    return PageAnalysis(
        number=items.number,
        width=round(items.width, 2),
        height=round(items.height, 2),
        blocks=tuple(blocks),
        artifacts=tuple(artifacts),
        styles=packer.styles(spans),
        aligned=items.aligned,
        count=len(items.items),
    )


def whole(items: PageItems) -> PageAnalysis:
    """A page that must not be tagged by parts: everything on it as one paragraph."""
    text = " ".join(i.text.strip() for i in items.items if i.text.strip())
    box = (0.0, 0.0, round(items.width, 2), round(items.height, 2))
    piece = Piece((Ref(0, len(items.items)),), text)
    blocks = (Block("P", box, text=text, pieces=(piece,), confidence=0.1),) if text else ()
    packer = Packer(Frame(items, 0, items.width, items.height), PageContent())
    return PageAnalysis(
        number=items.number,
        width=box[2],
        height=box[3],
        blocks=tuple(packer.annotations(list(blocks))),
        aligned=False,
        count=len(items.items),
    )


def no_label(text: str) -> bool:
    """Whether words beside a drawing are not a part of it: its caption, or where it comes from."""
    return bool(kind(text)) or text.lower().startswith(("bron:", "source", "quelle", "fuente", "fonte"))


def column(region: list[Line | Box], frame: Frame, packer: Packer) -> list[Block]:
    """The blocks of one region: stretches of lines between tables and figures."""
    span = (min(a.x0 for a in region), max(a.x1 for a in region))
    things: list[list[Row] | Table | Figure] = []
    for atom in region:
        if isinstance(atom, Box):
            things.append(atom.thing)
        elif things and isinstance(things[-1], list):
            things[-1].append(atom)  # type: ignore[arg-type]
        else:
            things.append([atom])  # type: ignore[list-item]
    parts: list[list[Row] | Table | Figure] = []
    known = [t for t in things if isinstance(t, Table)]
    for thing in things:
        if not isinstance(thing, list):
            parts.append(thing)
            continue
        rows = rows_of(thing)  # type: ignore[arg-type]
        at = 0
        for first, last, table in aligned(rows, frame.bands(span), known):
            parts.extend((rows[at:first], table))
            at = last
        parts.append(rows[at:])
    parts = [p for p in parts if not isinstance(p, list) or p]
    for above, part in pairwise(parts):
        if isinstance(part, Table) and part.ruled and isinstance(above, list) and tabular.headed(part, above[-1]):
            above.pop()
    out: list[Block] = []
    for part in tabular.joined([p for p in parts if not isinstance(p, list) or p]):
        if isinstance(part, Table):
            tabular.regular(part)
            tabular.headers(part)
            out.append(packer.table(part, span))
        elif isinstance(part, Figure):
            out.append(packer.figure(part, span))
        else:
            out.extend(packer.paragraphs(part, span))
    return out


def ruled_tables(frame: Frame, spans: list[Span]) -> tuple[list[Table], set[int]]:
    """Tables of drawn frames, outermost first, and the items their text is painted by."""
    out: list[Table] = []
    for grid in grids(frame.rules):
        if any(inside(grid.box, t.box) for t in out):
            continue
        table = tabular.ruled(grid, [s for s in spans if within(s, grid.box)], frame.widgets)
        if table is not None:
            out.append(table)
    taken = {s.item for t in out for c in t.cells for g in c.lines for s in g.spans}
    return out, taken


def span_box(line: Line, frame: Frame) -> tuple[float, float, float, float]:
    """The box of a line of another direction in the frame of the page: its spans' own coordinates are not."""
    return around([frame.to(frame.items.items[s.item].box) for s in line.spans])


def in_table(span: Span, found: list[Table]) -> bool:
    return any(within(span, t.box) for t in found)


def within(span: Span, box: tuple[float, float, float, float]) -> bool:
    x, y = (span.x0 + span.x1) / 2, (span.y0 + span.y1) / 2
    return box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1


def inside(small: tuple[float, float, float, float], big: tuple[float, float, float, float]) -> bool:
    return small[0] >= big[0] - 2 and small[1] >= big[1] - 2 and small[2] <= big[2] + 2 and small[3] <= big[3] + 2


def upright(spans: list[Span]) -> tuple[list[Line], list[list[Line]]]:
    """Lines of the page's own direction, and those of each other direction (each in its own frame)."""
    main = [s for s in spans if s.turn == 0]
    others: dict[float, list[Span]] = {}
    for s in spans:
        if s.turn != 0:
            along, up, length = s.own
            own = Span(
                s.item,
                s.text,
                (along, up - 0.21 * s.size, along + length, up + 0.74 * s.size),
                up,
                s.size,
                s.style,
                s.order,
            )
            own.turn = s.turn
            others.setdefault(s.turn, []).append(own)
    return segments(main), [segments(others[k]) for k in sorted(others)]
