"""Tables nobody framed: rows of text on common columns, with drawn lines and shades as witnesses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pdf.layout import captions
from pdf.layout.blocks import Row
from pdf.layout.lines import Line
from pdf.layout.tables import Table, TableCell, alike


def aligned(
    rows: Sequence[Row], rules: Sequence[tuple[float, float, float]], known: Sequence[Table] = ()
) -> list[tuple[int, int, Table]]:
    """Tables among the rows of one column that nothing frames: (first row, last row + 1, table).

    `rules` are horizontal lines (y, x0, x1) in the column: they are evidence for a table of two columns, which without
    them might as well be labels and their texts. `known` are the column's other tables, which these rows may continue.
    """
    out: list[tuple[int, int, Table]] = []
    i = 0
    while i < len(rows):
        if len(rows[i].lines) < 2 or rows[i].entry or is_item(rows[i]):
            i += 1
            continue
        end = i + 1
        single = 0
        last = i
        while end < len(rows):
            row, before = rows[end], rows[end - 1]
            if row.entry or before.base - row.base > 3.2 * max(row.size, before.size):
                break
            if len(row.lines) >= 2 and not is_item(row):
                last, single = end, 0
            else:
                single += 1
                if single > 3:
                    break
            end += 1
        found = None
        if last - i >= 2 or (known and last > i):
            stop = last + 1
            while stop < len(rows) and stop - last <= 2 and continues(rows, i, last, stop):
                stop += 1
            # a caption in two pieces above the table would hide its columns
            above = bool(captions.kind(rows[i].text))
            starts = [k for k in range(i, last) if len(rows[k].lines) >= 2 and not is_item(rows[k])][
                : 3 if above else 1
            ]
            for start in starts[: 3 if above else 1]:
                near = [t for t in known if -6 < t.box[1] - rows[start].y1 < 24]
                found = fit(rows[start:stop], rules, near) if last - start >= 2 or near else None
                if found is not None:
                    out.append((start, stop, found))
                    break
            if found is not None:
                i = stop
                continue
        i = max(last + 1, i + 1)
    return out


def is_item(row: Row) -> bool:
    """A label and its text, side by side, are a list item, not two cells."""
    return row.label is not None and len(row.lines) == 2 and row.lines[0].text == row.label.text


def continues(rows: Sequence[Row], first: int, last: int, at: int) -> bool:
    """Whether a row of one segment after the last row of cells is the rest of a cell (not under the first column)."""
    row, before = rows[at], rows[at - 1]
    starts = sorted({round(g.x0) for r in rows[first : last + 1] for g in r.lines[1:]})
    close = len(row.lines) == 1 and before.base - row.base < 1.35 * row.size
    under = any(abs(row.x0 - x) < 2 for x in starts) and row.x0 > rows[first].x0 + 2 * row.size
    # the rest of a first cell is narrow, and nothing follows closely
    after = rows[at + 1] if at + 1 < len(rows) else None
    narrow = abs(row.x0 - rows[first].x0) < 2 and bool(starts) and row.x1 < starts[0] - 3
    return close and (under or (narrow and (after is None or row.base - after.base > 1.6 * row.size)))


def fit(rows: Sequence[Row], rules: Sequence[tuple[float, float, float]], above: Sequence[Table] = ()) -> Table | None:
    """The table that rows of segments make, or None. `above`: a table right above that they may go on with."""
    separators = gaps(rows)
    columns = len(separators) + 1
    if columns < 2:
        return None
    y1, y0 = rows[0].y1, rows[-1].y0
    x0, x1 = min(r.x0 for r in rows), max(r.x1 for r in rows)
    lined = sum(1 for y, a, b in rules if y0 - 12 <= y <= y1 + 12 and min(b, x1) - max(a, x0) > 0.5 * (x1 - x0))
    placed: list[list[tuple[int, int, Line]]] = []
    for row in rows:
        cells = []
        for line in row.lines:
            a = sum(1 for s in separators if s <= line.x0 + 0.5)
            b = sum(1 for s in separators if s < line.x1 - 0.5)
            cells.append((a, max(a, b), line))
        placed.append(cells)
    # rows that only continue cells of the row above are one with it; where rules part the rows, they say so
    merged: list[list[tuple[int, int, Line]]] = []
    bases: list[float] = []
    parted = [
        any(b.base + 0.3 * b.size < y < a.base + 0.1 * a.size and e - s > 0.8 * (x1 - x0) for y, s, e in rules)
        for a, b in pairwise(rows)
    ]
    by_rules = sum(parted) >= 3 and sum(parted) >= 0.3 * len(parted)
    steps = [a.base - b.base for a, b in pairwise(rows)]
    tight = min(steps, default=0.0)
    airy = sum(1 for s in steps if s > 1.22 * tight) >= max(2, 0.3 * len(steps))
    for i, (row, cells) in enumerate(zip(rows, placed, strict=True)):
        first = min(c[0] for c in cells)
        close = bool(bases) and bases[-1] - row.base < 1.3 * row.size
        ruled_off = i > 0 and parted[i - 1]
        wraps = first > 0 or (airy and i > 0 and steps[i - 1] < 1.12 * tight)
        goes_on = (i > 0 and not ruled_off) if by_rules else close and not ruled_off and wraps
        if merged and goes_on and (by_rules or len(cells) < columns):
            merged[-1].extend(cells)
        else:
            merged.append(list(cells))
        bases.append(row.base)
    begins = [min((g.x0 for cells in merged for a, b, g in cells if a == b == c), default=-1.0) for c in range(columns)]
    goes_with = any(t.columns == columns and alike(t.starts, begins) for t in above)
    if len(merged) < 3 and not (lined >= 2 and len(merged) >= 2) and not goes_with:
        return None
    filled = [sum(1 for cells in merged if any(a <= c <= b for a, b, _ in cells)) for c in range(columns)]
    if min(filled) < (0.2 if lined >= 2 and columns >= 4 else 0.4) * len(merged):
        return None
    full = sum(1 for cells in merged if len({c[0] for c in cells}) >= max(2, columns - 1)) / len(merged)
    if full < 0.6:
        return None
    texts = [line.text for cells in merged for _, _, line in cells]
    mean = sum(len(t) for t in texts) / len(texts)
    if columns == 2 and lined < 3 and not goes_with:
        return None
    keys = [" ".join(g.text for a, _, g in cells if a == 0).rstrip() for cells in merged]
    if columns == 2 and sum(k.endswith(":") for k in keys) >= 0.6 * len(keys):
        return None  # labels and what is filled in beside them
    if columns >= 3 and lined < 2 and not goes_with and (mean > 28 or len(merged) < 4):
        return None
    if not straight(merged, columns):
        return None
    cells_out: list[TableCell] = []
    for r, cells in enumerate(merged):
        grouped: dict[tuple[int, int], list[Line]] = {}
        for a, b, line in cells:
            grouped.setdefault((a, b), []).append(line)
        taken: set[int] = set()
        for (a, b), lines in sorted(grouped.items(), key=lambda kv: (kv[0][0], -kv[0][1])):
            span = range(a, b + 1)
            if any(c in taken for c in span):
                host = next(
                    c
                    for c in cells_out
                    if (c.row == r and c.column <= a < c.column + c.columns) or (c.row == r and c.column == a)
                )
                host.lines.extend(lines)
                continue
            taken.update(span)
            cells_out.append(TableCell(r, a, 1, b - a + 1, list(lines)))
        cells_out.extend(TableCell(r, c, 1, 1) for c in range(columns) if c not in taken)
    cells_out.sort(key=lambda c: (c.row, c.column))
    order = min(line.order for row in rows for line in row.lines)
    return Table((x0, y0, x1, y1), len(merged), columns, cells_out, (), False, order, 0.7)


def gaps(rows: Sequence[Row]) -> list[float]:
    """x of the white gaps that run through all rows but a few (a heading that spans columns crosses some)."""
    events: list[tuple[float, int]] = []
    many = [r for r in rows if len(r.lines) >= 2]
    for row in many:
        for line in row.lines:
            events.append((line.x0, 1))
            events.append((line.x1, -1))
    events.sort()
    limit = 0 if len(many) < 8 else len(many) // 12
    size = rows[0].size
    depth, out, start = 0, [], None
    left = min(r.x0 for r in many)
    right = max(r.x1 for r in many)
    for x, change in events:
        depth += change
        if depth <= limit and start is None:
            start = x
        elif depth > limit and start is not None:
            if x - start > 0.55 * size and start > left and x < right + 1:
                out.append((start + x) / 2)
            start = None
    return out


def straight(merged: Sequence[Sequence[tuple[int, int, Line]]], columns: int) -> bool:
    """Whether the cells of each column share a left edge, a right edge or a middle (points, within 3)."""
    good = 0
    for c in range(columns):
        mine = [line for cells in merged for a, b, line in cells if a == b == c]
        if len(mine) < 2:
            good += 1
            continue
        for values in ([g.x0 for g in mine], [g.x1 for g in mine], [(g.x0 + g.x1) / 2 for g in mine]):
            values.sort()
            best = max(
                sum(1 for v in values if abs(v - w) <= 3) for w in (values[len(values) // 2], values[0], values[-1])
            )
            if best >= 0.6 * len(values):
                good += 1
                break
    return good >= columns - (1 if columns > 4 else 0)
