"""Link annotations by place, so that a text need not ask every link of its page whether it lies over it."""

from __future__ import annotations

from collections.abc import Sequence

from pdf.layout.model import Box

#: The page is divided into squares this wide (points).
CELL = 20.0
#: A link over more squares than this is asked for every text: there cannot be many that do not lie over each other.
MANY_CELLS = 1000

#: The number of a link annotation, and its areas in the reading frame.
Area = tuple[int, list[Box]]


class Links:
    """The visible links of a page, in the order of their annotations."""

    def __init__(self, areas: Sequence[Area]) -> None:
        self._areas = areas
        self._cells: dict[tuple[int, int], list[int]] = {}
        self._large: list[int] = []
        for at, (_, quads) in enumerate(areas):
            cells = _cells(*quads)
            if cells is None:
                self._large.append(at)
                continue
            for cell in cells:
                self._cells.setdefault(cell, []).append(at)

    def over(self, box: Box) -> list[Area]:
        """The links of which an area lies over a text."""
        if not self._areas:
            return []
        cells = _cells(box)
        if cells is None:
            near = list(range(len(self._areas)))
        else:
            near = sorted({*self._large, *(at for cell in cells for at in self._cells.get(cell, ()))})
        return [area for area in map(self._areas.__getitem__, near) if any(meets(box, quad) for quad in area[1])]


def _cells(*boxes: Box) -> set[tuple[int, int]] | None:
    """The squares that boxes lie over, or None for more than `MANY_CELLS`."""
    out: set[tuple[int, int]] = set()
    for box in boxes:
        x0, y0, x1, y1 = (int(v // CELL) for v in box)
        if (x1 - x0 + 1) * (y1 - y0 + 1) > MANY_CELLS:
            return None
        out.update((x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1))
    return out


def meets(box: Box, quad: Box) -> bool:
    """Whether a link's area lies over a text: at least a third of the text's height."""
    if box[2] < quad[0] + 0.5 or box[0] > quad[2] - 0.5:
        return False
    over = min(box[3], quad[3]) - max(box[1], quad[1])
    return over > 0.35 * min(box[3] - box[1], quad[3] - quad[1])


def covers(box: Box, quads: list[Box]) -> bool:
    """Whether one of a link's areas lies over a whole text."""
    return any(q[0] - 1.5 <= box[0] and box[2] <= q[2] + 1.5 and meets(box, q) for q in quads)
