"""Drawn lines to a grid: rules that touch are one frame, and its crossings are the corners of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdf.layout.model import Box

#: Lines that miss each other by this much (points) still meet.
MEET = 3.0
#: Coordinates this close (points) are one edge of the grid.
SAME = 2.5
#: More drawn lines than this on one page are a chart or a map, not a table.
MANY = 2500


@dataclass(frozen=True)
class Rule:
    """A horizontal (`across`) or vertical line at `at`, from `start` to `end`, points. `items` painted it."""

    across: bool
    at: float
    start: float
    end: float
    items: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cell:
    """Rows [row, row + rows) and columns [column, column + columns) of a grid; row 0 is the top one."""

    row: int
    column: int
    rows: int
    columns: int
    box: Box


@dataclass(frozen=True)
class Grid:
    box: Box
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    items: tuple[int, ...]


def straighten(rules: Sequence[Rule]) -> list[Rule]:
    """Pieces of one line joined, doubles dropped; sorted by direction, place and start."""
    out: list[Rule] = []
    for across in (True, False):
        group = sorted((r for r in rules if r.across is across), key=lambda r: (r.at, r.start, r.end))
        lanes: list[list[Rule]] = []
        for rule in group:
            if lanes and rule.at - lanes[-1][0].at <= SAME * 0.7:
                lanes[-1].append(rule)
            else:
                lanes.append([rule])
        for lane in lanes:
            at = lane[len(lane) // 2].at
            lane.sort(key=lambda r: (r.start, r.end))
            start, end, items = lane[0].start, lane[0].end, list(lane[0].items)
            for rule in lane[1:]:
                if rule.start <= end + MEET:
                    end = max(end, rule.end)
                    items.extend(rule.items)
                else:
                    out.append(Rule(across, at, start, end, tuple(sorted(set(items)))))
                    start, end, items = rule.start, rule.end, list(rule.items)
            out.append(Rule(across, at, start, end, tuple(sorted(set(items)))))
    return out


def grids(rules: Sequence[Rule]) -> list[Grid]:
    """Every frame with at least two rows or columns of cells, from the top of the page to its foot."""
    if not rules or len(rules) > MANY:
        return []
    lines = straighten(rules)
    across = [r for r in lines if r.across]
    down = [r for r in lines if not r.across]
    if len(across) < 2 or not down:
        return []
    h = np.array([(r.at, r.start, r.end) for r in across])
    v = np.array([(r.at, r.start, r.end) for r in down])
    touch = (
        (v[None, :, 0] >= h[:, None, 1] - MEET)
        & (v[None, :, 0] <= h[:, None, 2] + MEET)
        & (h[:, None, 0] >= v[None, :, 1] - MEET)
        & (h[:, None, 0] <= v[None, :, 2] + MEET)
    )
    seen_h, seen_v = [False] * len(across), [False] * len(down)
    out: list[Grid] = []
    for first in range(len(across)):
        if seen_h[first]:
            continue
        todo, part_h, part_v = [(True, first)], [], []
        seen_h[first] = True
        while todo:
            is_h, i = todo.pop()
            if is_h:
                part_h.append(i)
                for j in np.flatnonzero(touch[i]).tolist():
                    if not seen_v[j]:
                        seen_v[j] = True
                        todo.append((False, j))
            else:
                part_v.append(i)
                for j in np.flatnonzero(touch[:, i]).tolist():
                    if not seen_h[j]:
                        seen_h[j] = True
                        todo.append((True, j))
        if len(part_h) >= 2 and part_v:
            grid = build([across[i] for i in sorted(part_h)], [down[i] for i in sorted(part_v)])
            if grid is not None:
                out.append(grid)
    return sorted(out, key=lambda g: (-g.box[3], g.box[0]))


def edges(values: Sequence[float]) -> list[float]:
    """Sorted coordinates with near ones made one."""
    out: list[list[float]] = []
    for value in sorted(values):
        if out and value - out[-1][-1] <= SAME:
            out[-1].append(value)
        else:
            out.append([value])
    return [sum(group) / len(group) for group in out]


def build(across: Sequence[Rule], down: Sequence[Rule]) -> Grid | None:
    """The cells of one frame; cells without a line between them are one cell that spans."""
    xs = edges([r.at for r in down] + [x for r in across for x in (r.start, r.end)])
    ys = edges([r.at for r in across] + [y for r in down for y in (r.start, r.end)])
    xs = [x for i, x in enumerate(xs) if i == 0 or x - xs[i - 1] > 4]
    ys = [y for i, y in enumerate(ys) if i == 0 or y - ys[i - 1] > 4]
    columns, rows = len(xs) - 1, len(ys) - 1
    if columns < 1 or rows < 1 or columns * rows < 2 or columns * rows > 20000:
        return None

    def covered(rules: Sequence[Rule], at: float, start: float, end: float) -> bool:
        middle, reach = (start + end) / 2, 0.0
        for r in rules:
            if abs(r.at - at) <= SAME + 1 and r.start - MEET <= middle <= r.end + MEET:
                reach = max(reach, min(r.end, end) - max(r.start, start))
        return reach >= 0.6 * (end - start)

    by_y = {i: [r for r in across if abs(r.at - y) <= SAME + 1] for i, y in enumerate(ys)}
    by_x = {i: [r for r in down if abs(r.at - x) <= SAME + 1] for i, x in enumerate(xs)}
    parent = list(range(rows * columns))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for r in range(rows):
        for c in range(columns):
            here = r * columns + c
            if c + 1 < columns and not covered(by_x[c + 1], xs[c + 1], ys[r], ys[r + 1]):
                parent[max(find(here), find(here + 1))] = min(find(here), find(here + 1))
            if r + 1 < rows and not covered(by_y[r + 1], ys[r + 1], xs[c], xs[c + 1]):
                a, b = find(here), find(here + columns)
                parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for i in range(rows * columns):
        groups.setdefault(find(i), []).append(i)
    cells: list[Cell] = []
    for members in groups.values():
        rs = [m // columns for m in members]
        cs = [m % columns for m in members]
        r0, r1, c0, c1 = min(rs), max(rs), min(cs), max(cs)
        if (r1 - r0 + 1) * (c1 - c0 + 1) != len(members):
            return None  # a cell that is no rectangle: a drawing
        # ys run upwards, rows downwards
        cells.append(Cell(rows - 1 - r1, c0, r1 - r0 + 1, c1 - c0 + 1, (xs[c0], ys[r0], xs[c1 + 1], ys[r1 + 1])))
    cells.sort(key=lambda c: (c.row, c.column))
    items = sorted({i for r in (*across, *down) for i in r.items})
    return Grid((xs[0], ys[0], xs[-1], ys[-1]), rows, columns, tuple(cells), tuple(items))
