"""Pictures: images, and drawings made of many paths with the words inside them; what only decorates is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pdf.layout.lines import Line, Span
from pdf.layout.model import Box

#: Smaller than this (points, either side) a picture is a bullet, an icon in a line, a spacer.
SMALL = 14.0
#: Drawings closer than this (points) are one.
CLOSE = 7.0
#: A page with more paths than this is clustered on boxes of the grid only.
MANY = 4000


@dataclass
class Drawing:
    """A painted path, image or shading. `kind`: image | path | shading. `solid`: filled; `plain`: an upright rectangle
    or rule."""

    item: int
    kind: str
    box: Box
    solid: bool = False
    plain: bool = False
    light: bool = False
    pieces: int = 1


@dataclass
class Figure:
    box: Box
    items: list[int] = field(default_factory=list)
    images: int = 0
    spans: list[Span] = field(default_factory=list)
    order: int = 0


def figures(
    drawings: Sequence[Drawing], spans: Sequence[Span], width: float, height: float, widgets: Sequence[Box] = ()
) -> tuple[list[Figure], list[Drawing]]:
    """Figures of a page, and the drawings that are background or decoration. Spans inside a figure are taken by it.

    `widgets` are the boxes of form fields: lines around them are a form's, and the words among them are read.
    """
    page = width * height
    keep: list[Drawing] = []
    rest: list[Drawing] = []
    text_area = sum((s.x1 - s.x0) * (s.y1 - s.y0) for s in spans)
    for d in drawings:
        x0, y0, x1, y1 = d.box
        w, h = min(x1, width) - max(x0, 0.0), min(y1, height) - max(y0, 0.0)
        if w <= 0 or h <= 0 or (d.kind != "image" and d.plain):
            rest.append(d)
        elif w * h > 0.8 * page and (text_area > 0.02 * page or d.kind != "image"):
            rest.append(d)  # behind everything
        elif d.kind == "image" and (w < SMALL or h < SMALL or w > 25 * h or h > 25 * w):
            rest.append(d)
        else:
            keep.append(d)
    clusters = cluster(keep)
    out: list[Figure] = []
    for group in clusters:
        box = around([d.box for d in group])
        w, h = box[2] - box[0], box[3] - box[1]
        images = sum(1 for d in group if d.kind == "image")
        few = len(group) + sum(d.pieces - 1 for d in group) < 3
        if not images and (w < 2 * SMALL or h < 2 * SMALL or (few and not framed(group, rest, spans))):
            rest.extend(group)
            continue
        out.append(Figure(box, [d.item for d in group], images, order=min(d.item for d in group)))
    out = [*out, *charts(rest, spans, width, height)]
    out = take_plain(out, rest)
    final: list[Figure] = []
    for figure in sorted(out, key=lambda f: (-f.box[3], f.box[0])):
        inside = [s for s in spans if within(s, figure.box, 3.0)]
        if is_frame(figure, inside) or (inside and not figure.images and any(centred(w, figure.box) for w in widgets)):
            rest.extend(d for d in keep if d.item in set(figure.items))
            continue
        figure.spans = inside
        final.append(figure)
    return final, rest


def charts(rest: list[Drawing], spans: Sequence[Span], width: float, height: float) -> list[Figure]:
    """Charts drawn of nothing but bars and lines: many of them together with little text among them.

    Takes the drawings it uses out of `rest`.
    """
    plain = [
        d
        for d in rest
        if d.kind == "path"
        and d.box[0] > 0
        and d.box[1] > 0
        and d.box[2] < width
        and d.box[3] < height
        and (d.box[2] - d.box[0]) * (d.box[3] - d.box[1]) < 0.5 * width * height
    ]
    if len(plain) < 3 or len(plain) > MANY:
        return []
    out = bars_in_a_row(plain, rest, spans)
    taken = {i for f in out for i in f.items}
    plain = [d for d in plain if d.item not in taken]
    for group in cluster(plain):
        box = around([d.box for d in group])
        w, h = box[2] - box[0], box[3] - box[1]
        bars = [d for d in group if d.solid and d.box[2] - d.box[0] > 3 and d.box[3] - d.box[1] > 3]
        shapes = sum(d.pieces for d in bars)
        if w < 60 or h < 50 or shapes < 4:
            continue
        tops = {round(d.box[3]) for d in bars} | {round(d.box[1]) for d in bars}
        sides = {round(d.box[0]) for d in bars} | {round(d.box[2]) for d in bars}
        if len(bars) >= 4 and (len(tops) < 4 or len(sides) < 4):
            continue
        inside = [s for s in spans if within(s, box, 0.0)]
        chars = sum(len(s.text) for s in inside)
        covered = sum((s.x1 - s.x0) * (s.y1 - s.y0) for s in inside)
        if covered > 0.12 * w * h or (inside and chars / len(inside) > 16):
            continue
        out.append(Figure(box, [d.item for d in group], 0, order=min(d.item for d in group)))
        gone = {d.item for d in group}
        rest[:] = [d for d in rest if d.item not in gone]
    return out


def bars_in_a_row(plain: Sequence[Drawing], rest: list[Drawing], spans: Sequence[Span]) -> list[Figure]:
    """Bars of one width on one line, of different heights (or lying, of different lengths), with no words in them."""
    out: list[Figure] = []
    solid = [d for d in plain if d.solid and d.box[2] - d.box[0] > 4 and d.box[3] - d.box[1] > 4]
    for lying in (False, True):
        rows: dict[tuple[int, int], list[Drawing]] = {}
        for d in solid:
            x0, y0, x1, y1 = d.box
            key = (round(x0), round(y1 - y0)) if lying else (round(y0), round(x1 - x0))
            rows.setdefault(key, []).append(d)
        for group in rows.values():
            lengths = {round(d.box[2] - d.box[0] if lying else d.box[3] - d.box[1]) for d in group}
            if len(group) < 3 or len(lengths) < 2:
                continue
            box = around([d.box for d in group])
            if box[2] - box[0] < 40 or box[3] - box[1] < 30 or any(within(s, d.box, 0.0) for d in group for s in spans):
                continue
            out.append(Figure(box, [d.item for d in group], 0, order=min(d.item for d in group)))
            gone = {d.item for d in group}
            rest[:] = [d for d in rest if d.item not in gone]
            solid = [d for d in solid if d.item not in gone]
    return out


def framed(group: Sequence[Drawing], rest: Sequence[Drawing], spans: Sequence[Span]) -> bool:
    """Whether a curve or a slanted line is drawn in a frame of its own that holds no text: a graph."""
    box = around([d.box for d in group])
    for d in rest:
        x0, y0, x1, y1 = d.box
        inside = x0 - 1 <= box[0] and y0 - 1 <= box[1] and x1 + 1 >= box[2] and y1 + 1 >= box[3]
        if d.plain and inside and x1 - x0 > 50 and y1 - y0 > 40:
            near = box[0] - x0 < 40 and box[1] - y0 < 40 and x1 - box[2] < 40 and y1 - box[3] < 40
            if near and not any(within(s, d.box, 0.0) for s in spans):
                return True
    return False


def grow(found: Sequence[Figure], lines: Sequence[Line], refuse: Callable[[str], bool]) -> list[Line]:
    """Put the words around a drawing that belong to it (the labels of axes, a legend) into its figure; the lines left.

    They are short, no larger than the text around, close to the drawing, and not part of a paragraph.
    """
    drawn = [f for f in found if not f.images]
    if not drawn:
        return list(lines)
    left = list(lines)
    for figure in drawn:
        for _ in range(3):
            x0, y0, x1, y1 = figure.box
            near = [
                g
                for g in left
                if len(g.text) <= 28
                and g.x1 > x0 - 22
                and g.x0 < x1 + 22
                and g.y1 > y0 - 15
                and g.y0 < y1 + 12
                and not refuse(g.text)
                and not in_paragraph(g, left)
                and not in_row(g, figure.box, left)
            ]
            if not near:
                break
            gone = {id(g) for g in near}
            left = [g for g in left if id(g) not in gone]
            figure.spans = [*figure.spans, *(s for g in near for s in g.spans)]
            figure.box = around([figure.box, *((g.x0, g.y0, g.x1, g.y1) for g in near)])
    return left


def in_row(line: Line, box: Box, lines: Sequence[Line]) -> bool:
    """Whether a line above or below a drawing belongs to a row that goes on beside it: a table's."""
    if box[1] - 2 < line.base < box[3]:
        return False
    return any(abs(o.base - line.base) < 1.5 and (o.x1 < box[0] - 22 or o.x0 > box[2] + 22) for o in lines)


def in_paragraph(line: Line, lines: Sequence[Line]) -> bool:
    """Whether a long line of the same left edge stands right above or below."""
    return any(
        len(o.text) > 40 and abs(o.x0 - line.x0) < 14 and 0 < abs(o.base - line.base) < 1.7 * line.size for o in lines
    )


def take_plain(found: list[Figure], rest: list[Drawing]) -> list[Figure]:
    """Rules and bars that lie inside a figure are part of it."""
    for figure in found:
        x0, y0, x1, y1 = figure.box
        mine = [
            d
            for d in rest
            if d.kind != "image"
            and d.box[0] >= x0 - 4
            and d.box[2] <= x1 + 4
            and d.box[1] >= y0 - 4
            and d.box[3] <= y1 + 4
        ]
        if mine:
            figure.items.extend(d.item for d in mine)
            gone = {d.item for d in mine}
            rest[:] = [d for d in rest if d.item not in gone]
    return found


def is_frame(figure: Figure, inside: Sequence[Span]) -> bool:
    """Whether drawn lines only frame or underlie prose: then they decorate, and the text is read as text."""
    if not inside:
        return False
    area = (figure.box[2] - figure.box[0]) * (figure.box[3] - figure.box[1])
    chars = sum(len(s.text) for s in inside)
    covered = sum((s.x1 - s.x0) * (s.y1 - s.y0) for s in inside)
    long = sum(len(s.text) for s in inside if len(s.text) > 25)
    if figure.images:
        return covered > 0.25 * area and chars > 60
    return (covered > 0.2 * area and chars > 40) or (long > 0.5 * chars and chars > 60)


def centred(small: Box, big: Box) -> bool:
    """Whether the middle of one box lies in the other."""
    x, y = (small[0] + small[2]) / 2, (small[1] + small[3]) / 2
    return big[0] <= x <= big[2] and big[1] <= y <= big[3]


def united(found: Sequence[Figure]) -> list[Figure]:
    """Figures that lie over one another made one: the parts of a chart, a picture in its frame."""
    out: list[Figure] = []
    for figure in found:
        merged = figure
        apart = False
        while not apart:
            apart = True
            for other in out:
                a, b = merged.box, other.box
                if min(a[2], b[2]) - max(a[0], b[0]) > 2 and min(a[3], b[3]) - max(a[1], b[1]) > 2:
                    out.remove(other)
                    merged = Figure(
                        around([a, b]),
                        [*other.items, *merged.items],
                        other.images + merged.images,
                        [*other.spans, *merged.spans],
                        min(other.order, merged.order),
                    )
                    apart = False
                    break
        out.append(merged)
    return out


def beside(found: Sequence[Figure], lines: Sequence[Line], box: Callable[[Line], Box]) -> list[Line]:
    """Put short lines of another direction that touch a figure (the name of an axis) into it; the lines left."""
    left: list[Line] = []
    for line in lines:
        x0, y0, x1, y1 = box(line)
        host = next(
            (f for f in found if x0 > f.box[0] - 16 and x1 < f.box[2] + 16 and y0 > f.box[1] - 8 and y1 < f.box[3] + 8),
            None,
        )
        if host is None or len(line.text) > 60:
            left.append(line)
            continue
        host.spans = [*host.spans, *line.spans]
        host.box = around([host.box, (x0, y0, x1, y1)])
    return left


def within(span: Span, box: Box, slack: float) -> bool:
    x, y = (span.x0 + span.x1) / 2, (span.y0 + span.y1) / 2
    return box[0] - slack <= x <= box[2] + slack and box[1] - slack <= y <= box[3] + slack


def around(boxes: Sequence[Box]) -> Box:
    """The box around boxes."""
    return (
        min(b[0] for b in boxes),
        min(b[1] for b in boxes),
        max(b[2] for b in boxes),
        max(b[3] for b in boxes),
    )


def cluster(drawings: Sequence[Drawing]) -> list[list[Drawing]]:
    """Groups of drawings that touch or nearly touch: a flood over a coarse grid, linear in the number of drawings."""
    if not drawings:
        return []
    cell = CLOSE
    if len(drawings) > MANY:
        cell = 2 * CLOSE
    parent = list(range(len(drawings)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    owner: dict[tuple[int, int], int] = {}
    for i, d in enumerate(drawings):
        x0, y0, x1, y1 = (int(v // cell) for v in d.box)
        # the cells along a very large box are bounded: its edge is enough to meet its neighbours
        xs = range(x0, x1 + 1)
        ys = range(y0, y1 + 1)
        big = len(xs) * len(ys) > 600
        for gx in xs:
            for gy in ys:
                if big and gx not in (x0, x1) and gy not in (y0, y1):
                    continue
                other = owner.setdefault((gx, gy), i)
                if other != i:
                    a, b = find(i), find(other)
                    if a != b:
                        parent[max(a, b)] = min(a, b)
    groups: dict[int, list[Drawing]] = {}
    for i, d in enumerate(drawings):
        groups.setdefault(find(i), []).append(d)
    return [groups[k] for k in sorted(groups)]
