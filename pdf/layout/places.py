"""Small matters of place: drop caps joined to their line, line numbers set apart, fields put beside their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pdf.layout.figures import Drawing
from pdf.layout.lines import Line, Span
from pdf.layout.model import Block, Box


def drop_caps(lines: list[Line]) -> list[Line]:
    """A large initial that stands beside the first lines of a paragraph becomes the beginning of the first one."""
    caps = [g for g in lines if len(g.text) <= 2 and g.text[:1].isalpha() and g.y1 - g.y0 > 0]
    if not caps:
        return lines
    sizes = sorted(g.size for g in lines)
    usual = sizes[len(sizes) // 2]
    gone: set[int] = set()
    swap: dict[int, Line] = {}
    for cap in caps:
        if cap.size < 1.8 * usual:
            continue
        beside = [
            g
            for g in lines
            if g is not cap
            and g.size < 0.6 * cap.size
            and -2 <= g.x0 - cap.x1 < 1.2 * usual
            and cap.y0 - 0.3 * usual < g.base < cap.y1
        ]
        if len(beside) < 2:
            continue
        first = max(beside, key=lambda g: g.base)
        joined = Line([*first.spans])
        joined.spans = [*cap.spans, *first.spans]
        joined.text = cap.text + ("" if first.text[:1].islower() or cap.text.isupper() else " ") + first.text
        joined.x0 = cap.x0
        joined.order = min(cap.order, first.order)
        gone.add(id(cap))
        swap[id(first)] = joined
    return [swap.get(id(g), g) for g in lines if id(g) not in gone]


def picture_bullets(lines: list[Line], drawings: Sequence[Drawing]) -> list[Line]:
    """Small pictures that stand before lines as bullets do become their first sign, "•".

    At least two of them must stand at one distance before a line, or share their left edge: one alone is an icon.
    """
    small = [
        d for d in drawings if 1.2 <= d.box[2] - d.box[0] <= 17 and 1.2 <= d.box[3] - d.box[1] <= 17 and not thin(d.box)
    ]
    if not small or not lines or len(small) > 400:
        return lines
    found: dict[int, tuple[Drawing, Line]] = {}
    for d in small:
        middle = (d.box[1] + d.box[3]) / 2
        best: Line | None = None
        for line in lines:
            gap = line.x0 - d.box[2]
            if (
                -0.1 * line.size <= gap <= 3.2 * line.size
                and abs(middle - line.base - 0.32 * line.size) < 0.6 * line.size
                and d.box[3] - d.box[1] < 1.5 * line.size
                and (best is None or line.x0 < best.x0)
            ):
                best = line
        if best is not None and sum(map(str.isalnum, best.text)) >= 2:
            kept = found.get(id(best))
            if kept is None or d.box[0] < kept[0].box[0]:
                found[id(best)] = (d, best)
    lanes: dict[int, int] = {}
    for d, _ in found.values():
        for lane in {round(d.box[0] / 3), round((d.box[0] + 1) / 3)}:
            lanes[lane] = lanes.get(lane, 0) + 1
    out: list[Line] = []
    for line in lines:
        pair = found.get(id(line))
        if pair is None or max(lanes[round(pair[0].box[0] / 3)], lanes[round((pair[0].box[0] + 1) / 3)]) < 2:
            out.append(line)
            continue
        d = pair[0]
        sign = Span(d.item, "•", (d.box[0], line.y0, d.box[2], line.y1), line.base, line.size, line.style, line.order)
        sign.drawn = True
        joined = Line([sign, *line.spans])
        joined.text = "• " + line.text
        joined.bold, joined.style, joined.size, joined.base = line.bold, line.style, line.size, line.base
        out.append(joined)
    return out


def thin(box: Box) -> bool:
    """Whether a box is a rule rather than a sign."""
    w, h = box[2] - box[0], box[3] - box[1]
    return max(w, h) > 3.2 * min(w, h)


def line_numbers(lines: list[Line], width: float) -> tuple[list[Line], list[Line]]:
    """Numbers in the margin that count the lines (transcripts, drafts), set apart from the text.

    They stand in one vertical line beside all text, count up by a fixed step, and there are at least eight of them.
    """
    numbers = [g for g in lines if g.text.isdigit() and len(g.text) <= 4]
    if len(numbers) < 8:
        return lines, []
    lanes: dict[int, list[Line]] = {}
    for g in numbers:
        lanes.setdefault(round(g.x1 / 4), []).append(g)
    out: list[Line] = []
    for key in sorted(lanes):
        lane = sorted(lanes[key], key=lambda g: -g.base)
        if len(lane) < 8:
            continue
        values = [int(g.text) for g in lane]
        steps = [b - a for a, b in pairwise(values)]
        if len(set(steps)) != 1 or steps[0] not in (1, 5, 10):
            continue
        others = [g for g in lines if g not in lane]
        x0, x1 = min(g.x0 for g in lane), max(g.x1 for g in lane)
        clear = all(g.x0 > x1 + 3 or g.x1 < x0 - 3 for g in others if lane[-1].y0 <= g.base <= lane[0].y1)
        left = sum(1 for g in others if g.x0 > x1)
        if clear and (left > 0.9 * len(others) or left < 0.1 * len(others)) and len(others) >= 3:
            wide = sum(len(g.text) for g in others) / len(others)
            if wide > 12:
                out.extend(lane)
    if not out:
        return lines, []
    taken = {id(g) for g in out}
    return [g for g in lines if id(g) not in taken], out


def place(blocks: list[Block], fields: Sequence[tuple[int, Box]], role: str) -> list[Block]:
    """Annotations no text lies under, each put after the block that stands before it: left of it, else above."""
    if not fields:
        return blocks
    after: dict[int, list[tuple[int, Box]]] = {}
    for index, box in fields:
        after.setdefault(nearest(blocks, box), []).append((index, box))
    out: list[Block] = []
    for i in range(-1, len(blocks)):
        if i >= 0:
            out.append(blocks[i])
        for index, box in sorted(after.get(i, ()), key=lambda f: (-round(f[1][3] / 4), f[1][0], f[0])):
            out.append(Block(role, box, attrs={"annot": index}))
    return out


def nearest(blocks: Sequence[Block], box: Box) -> int:
    """The block after which something at `box` is read: -1 for before everything."""
    best, least = -1, 1e9
    middle = (box[1] + box[3]) / 2
    for i, b in enumerate(blocks):
        if b.box[1] - 2 <= middle <= b.box[3] + 2:
            cost = (
                box[0] - b.box[2]
                if b.box[2] <= box[0] + 3
                else (0.5 if b.box[0] <= box[0] else 200 + b.box[0] - box[0])
            )
        elif b.box[1] >= middle:
            across = max(b.box[0] - box[2], box[0] - b.box[2], 0.0)
            cost = 3 * (b.box[1] - middle) + across
        else:
            continue
        if cost < least:
            best, least = i, cost
    return best


__all__ = ["drop_caps", "line_numbers", "nearest", "place", "replace"]
