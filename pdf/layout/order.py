"""Reading order: recursive cuts along white gutters, with the painting order as the second witness.

A page is cut at the gutter with the most text on both of its sides (above it, left of it, right of it, below it), and
each part again (the XY-cut of Nagy and Seth, with a gutter that may end before the page does). A gutter is refused when
what lies beside it are rows (labels and their texts, cells): rows share baselines and are painted across.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

#: The portions of a refused gutter that are tried, from its top (0) to its foot (1).
PORTIONS = ((0.2, 1.0), (0.35, 1.0), (0.5, 1.0), (0.0, 0.8), (0.0, 0.65), (0.0, 0.5))


class Atom(Protocol):
    """Anything with a place: a line, a table, a figure. `chars` is 0 for what is not a line of text."""

    x0: float
    x1: float
    y0: float
    y1: float
    base: float
    size: float
    order: int
    text: str


A = TypeVar("A", bound=Atom)


def arrange(atoms: Sequence[A], depth: int = 0) -> list[list[A]]:
    """Atoms of a page to regions (columns) in reading order; a region is sorted by rows, left to right in a row."""
    if len(atoms) < 4 or depth > 12:
        return [rows(atoms)] if atoms else []
    found = gutter(atoms)
    if found is None:
        return [rows(atoms)]
    above, left, right, below = found
    out: list[list[A]] = []
    for part in (above, left, right, below):
        if part:
            out.extend(arrange(part, depth + 1))
    return out


def rows(atoms: Sequence[A]) -> list[A]:
    """Top to bottom; what shares a baseline from left to right."""
    ordered = sorted(atoms, key=lambda a: (-a.base, a.x0, a.order))
    out: list[A] = []
    row: list[A] = []
    for atom in ordered:
        if row and abs(row[0].base - atom.base) <= 0.3 * min(row[0].size, atom.size):
            row.append(atom)
        else:
            out.extend(sorted(row, key=lambda a: (a.x0, a.order)))
            row = [atom]
    out.extend(sorted(row, key=lambda a: (a.x0, a.order)))
    return out


def gutter(atoms: Sequence[A]) -> tuple[list[A], list[A], list[A], list[A]] | None:
    """The best gutter's parts (above, left, right, below), or None where the atoms are one column."""
    n = len(atoms)
    table = np.array([(a.x0, a.y0, a.x1, a.y1, a.size) for a in atoms], dtype=float)
    left, bottom = table[:, 0].min(), table[:, 1].min()
    right, top = table[:, 2].max(), table[:, 3].max()
    sizes = sorted(a.size for a in atoms)
    size = (sizes[(n - 1) // 2] + sizes[n // 2]) / 2
    cell = max(2.0, (top - bottom) / 320, (right - left) / 320)
    if right - left < 8 * size or top - bottom < 2.5 * size:
        return None
    pad = 0.35 * table[:, 4]
    ix0 = np.floor((table[:, 0] - left) / cell).astype(int)
    ix1 = np.ceil((table[:, 2] - left) / cell).astype(int)
    iy0 = np.floor((top - table[:, 3] - pad) / cell).astype(int).clip(0)
    iy1 = np.ceil((top - table[:, 1] + pad) / cell).astype(int)
    high, wide = int(iy1.max()) + 1, int(ix1.max()) + 1
    occupied = np.zeros((high, wide), dtype=np.int16)
    for i in range(n):
        occupied[iy0[i] : iy1[i], ix0[i] : ix1[i]] = 1
    w = max(2, round(0.8 * size / cell))
    if wide <= w + 2:
        return None
    centre = (table[:, 1] + table[:, 3]) / 2
    for _ in range(6):
        sums = np.zeros((high, wide + 1), dtype=np.int16)
        np.cumsum(occupied, axis=1, out=sums[:, 1:])
        free = sums[:, w:] == sums[:, :-w]
        two = free & (sums[:, : wide + 1 - w] > 0) & (sums[:, -1:] > sums[:, w:])
        total = np.cumsum(two, axis=0, dtype=np.int32)
        score = total - np.maximum.accumulate(np.where(free, 0, total), axis=0)
        best = int(score.max())
        if best * cell < 2.2 * size:
            return None
        flat = int(score.argmax())
        y, x = divmod(flat, score.shape[1])
        stretch = 1
        while x + stretch < score.shape[1] and score[y, x + stretch] == best:
            stretch += 1
        x += stretch // 2
        column = free[:, x]
        start = y
        while start > 0 and column[start - 1]:
            start -= 1
        end = y
        while end + 1 < high and column[end + 1]:
            end += 1
        both = np.flatnonzero(two[start : end + 1, x])
        first, last = start + int(both[0]), start + int(both[-1])
        middle = left + (x + w / 2) * cell
        y_top, y_bottom = top - start * cell, top - (end + 1) * cell
        in_top, in_bottom = top - first * cell, top - (last + 1) * cell
        parts = split(atoms, centre, middle, (y_top, in_top, in_bottom, y_bottom))
        if columns(parts[1], parts[2], size):
            return parts
        for a, b in PORTIONS if (last - first) * cell > 14 * size else ():
            # a table above or below the columns may have the same gutter: a portion of it may do
            y1 = top - (first + a * (last - first)) * cell
            y0 = top - (first + b * (last - first)) * cell
            parts = split(atoms, centre, middle, (y1, y1, y0, y0))
            if painted_apart(parts[1], parts[2]) and columns(parts[1], parts[2], size):
                return parts
        occupied[first : last + 1, x : x + w] = 1
    return None


def split(
    atoms: Sequence[A], centre: np.ndarray, middle: float, band: tuple[float, float, float, float]
) -> tuple[list[A], list[A], list[A], list[A]]:
    """Atoms above, left of, right of and below a gutter.

    Where only one side has text the geometry does not say whether it belongs to the column or stands before or after
    the columns; the painting order does.
    """
    y_top, in_top, in_bottom, y_bottom = band
    above: list[A] = []
    below: list[A] = []
    left: list[A] = []
    right: list[A] = []
    tail: list[A] = []
    for atom, y in zip(atoms, centre.tolist(), strict=True):
        if y > y_top:
            above.append(atom)
        elif y < y_bottom:
            below.append(atom)
        elif y > in_top:
            above.append(atom)
        elif y < in_bottom:
            if atom.x0 > middle:
                right.append(atom)
            else:
                tail.append(atom)
        elif (atom.x0 + atom.x1) / 2 < middle:
            left.append(atom)
        else:
            right.append(atom)
    if tail:
        first_right = min((a.order for a in right), default=0)
        for atom in tail:
            (left if atom.order < first_right else below).append(atom)
    return above, left, right, below


def columns(left: Sequence[Atom], right: Sequence[Atom], size: float) -> bool:
    """Whether two sides of a gutter are columns, read one after the other, rather than rows, read across."""
    lines_l = [a for a in left if a.text]
    lines_r = [a for a in right if a.text]
    if not left or not right:
        return False
    if not lines_l or not lines_r:
        return True  # a picture beside text
    if max(len(a.text) for a in lines_l) <= 5 or max(len(a.text) for a in lines_r) <= 3:
        return False  # labels, numbers
    few = min(len(lines_l), len(lines_r))
    bases = sorted(a.base for a in lines_r)
    aligned = sum(1 for a in lines_l if near(bases, a.base, 0.2 * size))
    share = aligned / few
    sides = sorted([(a.order, 0) for a in lines_l] + [(a.order, 1) for a in lines_r])
    turns = sum(1 for a, b in pairwise(sides) if a[1] != b[1])
    prose = min(fullness(lines_l), fullness(lines_r))
    if few < 3 and share > 0.5:
        return turns <= 1 and few >= 2 and prose > 0.5
    if share < 0.5:
        return True
    if turns <= max(2, 0.15 * few):
        # painted one after the other: columns, if either side reads as text
        full = any(fullness(side) > 0.6 and mean_chars(side) > 25 and len(side) >= 4 for side in (lines_l, lines_r))
        return prose > 0.25 or share < 0.8 or mean_chars(lines_l) > 12 or full
    return prose > 0.6 and min(mean_chars(lines_l), mean_chars(lines_r)) > 24 and few >= 5


def painted_apart(left: Sequence[Atom], right: Sequence[Atom]) -> bool:
    """Whether the lines of two sides are painted one side after the other, and both have some."""
    sides = sorted([(a.order, 0) for a in left if a.text] + [(a.order, 1) for a in right if a.text])
    turns = sum(1 for a, b in pairwise(sides) if a[1] != b[1])
    few = min(sum(1 for _, s in sides if s == 0), sum(1 for _, s in sides if s == 1))
    return few >= 6 and turns <= max(2, 0.1 * few)


def near(ordered: list[float], value: float, tolerance: float) -> bool:
    """Whether a sorted list holds a value within the tolerance."""
    from bisect import bisect_left

    i = bisect_left(ordered, value - tolerance)
    return i < len(ordered) and ordered[i] <= value + tolerance


def fullness(lines: Sequence[Atom]) -> float:
    """Share of lines that fill at least 0.75 of their column."""
    x0 = min(a.x0 for a in lines)
    x1 = max(a.x1 for a in lines)
    return sum(1 for a in lines if a.x1 - a.x0 > 0.75 * (x1 - x0)) / len(lines)


def mean_chars(lines: Sequence[Atom]) -> float:
    return sum(len(a.text) for a in lines) / len(lines)
