"""Tables: cells from drawn frames, and from aligned columns where nothing is drawn. What is none is not made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pdf.layout.blocks import Row
from pdf.layout.figures import Figure
from pdf.layout.grid import Cell, Grid
from pdf.layout.lines import Line, Span, segments
from pdf.layout.model import Box


@dataclass
class TableCell:
    row: int
    column: int
    rows: int
    columns: int
    lines: list[Line] = field(default_factory=list)
    header: str = ""  # "" | Column | Row | Both
    figures: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


@dataclass
class Table:
    """`items` are the drawn lines it used. `ruled` says the cells come from them."""

    box: Box
    rows: int
    columns: int
    cells: list[TableCell]
    items: tuple[int, ...] = ()
    ruled: bool = False
    order: int = 0
    confidence: float = 0.9
    shaded: frozenset[int] = frozenset()

    @property
    def starts(self) -> list[float]:
        """Where the text of each column begins, points."""
        out = []
        for c in range(self.columns):
            xs = sorted(g.x0 for cell in self.cells if cell.column == c and cell.columns == 1 for g in cell.lines)
            out.append(xs[len(xs) // 2] if xs else -1.0)
        return out


def ruled(grid: Grid, spans: Sequence[Span], widgets: Sequence[Box] = ()) -> Table | None:
    """The table of a drawn grid, or None where the frame is a form, a box around text, or a drawing."""
    if grid.rows < 2 and grid.columns < 3:
        return None
    if len(grid.cells) < 4 and not (len(grid.cells) >= 3 and grid.columns >= 2 and grid.rows >= 2):
        return None
    if grid.columns < 2:
        return None
    x0, y0, x1, y1 = grid.box
    fields = sum(1 for w in widgets if x0 <= (w[0] + w[2]) / 2 <= x1 and y0 <= (w[1] + w[3]) / 2 <= y1)
    if fields > 0.3 * len(grid.cells):
        return None
    owner = Locator(grid.cells, grid.box)
    held: dict[int, list[Span]] = {}
    count = 0
    for span in spans:
        at = owner.find((span.x0 + span.x1) / 2, (span.y0 + span.y1) / 2)
        if at is not None:
            held.setdefault(at, []).append(span)
            count += len(span.text)
    if not held or count < 4:
        return None
    rows_used = {grid.cells[i].row for i in held}
    columns_used = {grid.cells[i].column for i in held}
    if len(rows_used) < 2 or len(columns_used) < 2:
        return None
    if len(held) < 0.3 * len(grid.cells):
        return None
    cells = []
    for i, cell in enumerate(grid.cells):
        lines = sorted(segments(held[i]), key=lambda g: (-g.base, g.x0)) if i in held else []
        cells.append(TableCell(cell.row, cell.column, cell.rows, cell.columns, lines))
    biggest = max(sum(len(g.text) for g in c.lines) for c in cells)
    if biggest > 0.75 * count and biggest > 400:
        return None  # a box around prose
    order = min(s.order for group in held.values() for s in group)
    table = prune(Table(grid.box, grid.rows, grid.columns, cells, grid.items, True, order, 0.95))
    return split_rows(table) if table is not None else None


def split_rows(table: Table) -> Table:
    """Rows that no line parts: where the cells of a row hold lines on the same baselines all along, each is a row."""
    out: list[TableCell] = []
    shift = 0
    for r in range(table.rows):
        mine = [c for c in table.cells if c.row == r]
        held = [c for c in mine if c.lines]
        bases = baselines(held) if all(c.rows == 1 for c in mine) and len(held) >= 3 else []
        spanned = any(c.row < r < c.row + c.rows for c in table.cells)
        if len(bases) < 2 or spanned:
            for c in mine:
                c.row += shift
                out.append(c)
            continue
        for c in mine:
            for k, base in enumerate(bases):
                lines = [g for g in c.lines if nearest_base(bases, g.base) == base]
                out.append(TableCell(r + shift + k, c.column, 1, c.columns, lines))
        shift += len(bases) - 1
    table.cells = out
    table.rows += shift
    return table


def baselines(cells: Sequence[TableCell]) -> list[float]:
    """The baselines most of a row's cells have in common, from the top; empty when the cells wrap each for itself."""
    bases: list[float] = max((apart(c.lines) for c in cells), key=len)
    if len(bases) < 2:
        return []
    lines = [g for c in cells for g in c.lines]
    shared = sum(1 for g in lines if any(abs(g.base - b) < 2.2 for b in bases))
    long = sum(1 for c in cells if len(c.lines) >= 0.7 * len(bases))
    figures = sum(1 for g in lines if numeric(g.text) or g.text in "-–—")
    return bases if shared >= 0.95 * len(lines) and long >= 2 and figures >= 0.4 * len(lines) else []


def apart(lines: Sequence[Line]) -> list[float]:
    """The baselines of a cell's lines, pieces of one line counted once."""
    out: list[float] = []
    for line in lines:
        if not out or abs(out[-1] - line.base) > 2.2:
            out.append(line.base)
    return out


def nearest_base(bases: Sequence[float], base: float) -> float:
    return min(bases, key=lambda b: abs(b - base))


def prune(table: Table) -> Table | None:
    """Without rows and columns that hold nothing anywhere (double rules, gaps between frames)."""
    rows = sorted({r for c in table.cells if c.lines for r in range(c.row, c.row + c.rows)})
    columns = sorted({k for c in table.cells if c.lines for k in range(c.column, c.column + c.columns)})
    # rows or columns that are told apart by no cell of their own are one
    rows = [r for r in rows if any(c.row == r and c.lines for c in table.cells)]
    columns = [k for k in columns if any(c.column == k and c.lines for c in table.cells)]
    if len(rows) < 2 or len(columns) < 2:
        return None
    kept: list[TableCell] = []
    for c in table.cells:
        mine_r = [i for i, r in enumerate(rows) if c.row <= r < c.row + c.rows]
        mine_c = [i for i, k in enumerate(columns) if c.column <= k < c.column + c.columns]
        if mine_r and mine_c:
            kept.append(TableCell(mine_r[0], mine_c[0], len(mine_r), len(mine_c), c.lines))
        elif c.lines:
            return None
    table.cells, table.rows, table.columns = kept, len(rows), len(columns)
    return table


class Locator:
    """Which cell a point lies in, without asking every cell."""

    def __init__(self, cells: Sequence[Cell], box: Box) -> None:
        self.box = box
        self.by_row: dict[int, list[int]] = {}
        self.cells = cells
        self.bands: list[tuple[float, float, int]] = []
        for i, cell in enumerate(cells):
            self.by_row.setdefault(int(cell.box[1] // 20), [])
            for band in range(int(cell.box[1] // 20), int(cell.box[3] // 20) + 1):
                self.by_row.setdefault(band, []).append(i)

    def find(self, x: float, y: float) -> int | None:
        if not (self.box[0] - 1 <= x <= self.box[2] + 1 and self.box[1] - 1 <= y <= self.box[3] + 1):
            return None
        for i in self.by_row.get(int(y // 20), ()):
            box = self.cells[i].box
            if box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1:
                return i
        return None


def regular(table: Table) -> None:
    """Make every place of the grid belong to one cell (ISO 14289-1 7.2: rows of one length, spans counted).

    A cell that begins where another one lies is part of that one; spans end before the next cell; gaps are empty cells.
    """
    owner: dict[tuple[int, int], TableCell] = {}
    kept: list[TableCell] = []
    for cell in sorted(table.cells, key=lambda c: (c.row, c.column, -c.columns * c.rows)):
        other = owner.get((cell.row, cell.column))
        if other is not None:
            other.lines.extend(cell.lines)
            continue
        columns = 1
        while columns < min(cell.columns, table.columns - cell.column):
            if (cell.row, cell.column + columns) in owner:
                break
            columns += 1
        across = range(cell.column, cell.column + columns)
        rows = 1
        while rows < min(cell.rows, table.rows - cell.row):
            if any((cell.row + rows, c) in owner for c in across):
                break
            rows += 1
        cell.rows, cell.columns = rows, columns
        kept.append(cell)
        owner.update({(r, c): cell for r in range(cell.row, cell.row + rows) for c in across})
    for r in range(table.rows):
        kept.extend(TableCell(r, c, 1, 1) for c in range(table.columns) if (r, c) not in owner)
    table.cells = sorted(kept, key=lambda c: (c.row, c.column))


Part = list[Row] | Figure


def joined(parts: Sequence[Part | Table]) -> list[Part | Table]:
    """Parts of a column with tables that follow each other closely on the same columns made one."""
    out: list[Part | Table] = []
    for part in parts:
        before = out[-1] if out else None
        if isinstance(part, Table) and isinstance(before, Table) and same(before, part):
            for c in part.cells:
                c.row += before.rows
            before.cells.extend(part.cells)
            before.rows += part.rows
            a, b = before.box, part.box
            before.box = (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
            before.items += part.items
            continue
        out.append(part)
    return out


def headed(table: Table, row: Row) -> bool:
    """Take the row right above a table's frame as its first row, where its parts name the columns below them.

    Some frames begin under the names of their columns.
    """
    if table.columns < 3 or not 0 <= row.base - table.box[3] < 1.2 * row.size + 2:
        return False
    if not table.columns - 1 <= len(row.lines) <= table.columns or any(len(g.text) > 40 for g in row.lines):
        return False
    extents: dict[int, tuple[float, float]] = {}
    for c in table.cells:
        if c.columns == 1 and c.lines:
            a, b = extents.get(c.column, (1e9, -1e9))
            extents[c.column] = (min(a, *(g.x0 for g in c.lines)), max(b, *(g.x1 for g in c.lines)))
    places = []
    for line in row.lines:
        over = [k for k, (a, b) in extents.items() if min(b, line.x1) - max(a, line.x0) > 0]
        if len(over) != 1:
            return False
        places.append(over[0])
    if len(set(places)) < len(places) or any(c.row == 0 and c.lines and bold(c) for c in table.cells):
        return False
    for c in table.cells:
        c.row += 1
    table.cells.extend(TableCell(0, k, 1, 1, [g]) for k, g in zip(places, row.lines, strict=True))
    table.rows += 1
    x0, y0, x1, _ = table.box
    table.box = (x0, y0, x1, row.y1)
    return True


def same(a: Table, b: Table) -> bool:
    """Whether one table goes on with the other: as many columns, beginning at the same places, close below."""
    if a.columns != b.columns or (a.ruled and b.ruled) or a.box[1] - b.box[3] > 24:
        return False
    return alike(a.starts, b.starts)


def alike(a: Sequence[float], b: Sequence[float]) -> bool:
    known = [(x, y) for x, y in zip(a, b, strict=True) if x >= 0 and y >= 0]
    return len(known) >= 2 and sum(1 for x, y in known if abs(x - y) < 4) >= 0.7 * len(known)


def headers(table: Table) -> None:
    """Mark header cells: the first row (rows, where its cells span), since a table needs headers to be read (ISO
    14289-1 7.5) and they are there; the first column when it is set apart, or names the figures beside it."""
    first = [c for c in table.cells if c.row == 0 and c.lines]
    depth = 1
    if first and any(c.columns > 1 for c in first) and table.rows > 2:
        second = [c for c in table.cells if c.row == 1 and c.lines]
        plain = bool(second) and all(not any(ch.isdigit() for ch in c.text) for c in second)
        heavy = bool(second) and all(bold(c) for c in second)
        # where the first row only names groups of columns, or the table, the second names the columns
        names = len([c for c in first if c.columns == 1 and c.rows == 1]) <= 1 and len(second) >= 0.6 * table.columns
        if plain or heavy or (names and table.columns > 2):
            depth = 2
    for c in table.cells:
        if c.row < depth:
            c.header = "Column"
    body = [c for c in table.cells if c.row >= depth]
    column = [c for c in body if c.column == 0 and c.lines]
    others = [c for c in body if c.column > 0 and c.lines]
    if column and others:
        strong = sum(bold(c) for c in column) / len(column)
        rest = sum(bold(c) for c in others) / len(others)
        named = sum(not numeric(c.text) for c in column) / len(column)
        figures = sum(numeric(c.text) for c in others) / len(others)
        # a corner left empty between the names of columns and of rows
        corner = not any(c.lines for c in table.cells if c.row < depth and c.column == 0)
        stub = corner and named > 0.9 and len(column) >= 0.8 * (table.rows - depth)
        if (strong > 0.8 and rest < 0.4) or (named > 0.9 and figures > 0.6 and len(column) >= 2) or stub:
            for c in column:
                c.header = "Row"


def bold(cell: TableCell) -> bool:
    return bool(cell.lines) and all(line.bold for line in cell.lines)


def numeric(text: str) -> bool:
    """Whether a text is mostly figures: a number, an amount, a date, a share."""
    kept = [c for c in text if not c.isspace()]
    return bool(kept) and sum(c.isdigit() for c in kept) >= 0.4 * len(kept)
