"""The painted things of a page as values: what a reader of pages gives, and layout works on.

Coordinates are points as the reader sees the page: origin at the lower left of the crop box, /Rotate and /UserUnit
applied, y upwards. The index of an item is its content address (`pdf.content.painting`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pdf.content.annotations import Annot

Box = tuple[float, float, float, float]


class View(Protocol):
    """The loaded page behind the items; it answers until the next page is read."""

    def chars(self, item: Item) -> list[Char]: ...

    def gaps(self, item: Item, least: float) -> list[tuple[int, float, float]]: ...

    def parts(self, item: Item) -> list[Box]: ...


@dataclass(frozen=True)
class Font:
    """A font as it is used on the page. `name` is the base font without subset prefix; `weight` 100–900."""

    name: str
    bold: bool
    italic: bool
    mono: bool
    serif: bool
    symbolic: bool
    weight: int
    embedded: bool


@dataclass(slots=True)
class Item:
    """One painted thing. `index` is its content address on the page.

    `box` is (x0, y0, x1, y1); items PDFium does not know have an empty box. Text items have `text` (spaces that PDFium
    reads from gaps inside one operator included), `size` (effective, points), `origin` (start of the baseline),
    `angle` (degrees, counter-clockwise, of the baseline as the reader sees it), `font` (index into `PageItems.fonts`),
    `visible` (false for render mode 3, as under a scan). `colour` is 0xRRGGBB of fill (stroke where not filled).
    Path items have `filled`, `stroked`, `segments` (count), `stroke_width`.
    `mark` is (tag, MCID or -1) of the innermost marked content the file already has around it.
    """

    index: int
    kind: str
    box: Box = (0.0, 0.0, 0.0, 0.0)
    text: str = ""
    size: float = 0.0
    origin: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0
    font: int = -1
    colour: int = 0
    visible: bool = True
    filled: bool = False
    stroked: bool = False
    segments: int = 0
    stroke_width: float = 0.0
    mark: tuple[str, int] | None = None
    #: inside [first, last) of PDFium's characters of the page; what `PageItems.chars` reads
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Char:
    """A character of a text item. `x0`, `x1` along the page's x axis, reader space. `code` is the index of the painted
    character code it comes from (several for a ligature), -1 for a space that is not painted; Ref.c counts codes."""

    text: str
    x0: float
    x1: float
    code: int


@dataclass
class PageItems:
    """A page, number from 0. `aligned` is false when the items' addresses cannot be trusted (PDFium and the content
    stream disagree about the text): such a page must not be tagged by parts."""

    number: int
    width: float
    height: float
    rotation: int
    user_unit: float
    aligned: bool
    items: list[Item]
    fonts: list[Font]
    annots: list[Annot]
    _view: View | None = field(default=None, repr=False, compare=False)

    @property
    def links(self) -> list[Annot]:
        return [a for a in self.annots if a.subtype == "Link"]

    @property
    def widgets(self) -> list[Annot]:
        return [a for a in self.annots if a.subtype == "Widget"]

    def chars(self, item: Item) -> list[Char]:
        """The characters of a text item with their x extents and code indices, until the next page is read.

        `code` is -1 for all when the painted codes cannot be counted (then the item cannot be split)."""
        return self._view.chars(item) if self._view is not None else []

    def parts(self, item: Item) -> list[Box]:
        """The boxes of a path's subpaths, where it has several (a table's rules drawn at once)."""
        return self._view.parts(item) if self._view is not None else []

    def gaps(self, item: Item, least: float) -> list[tuple[int, float, float]]:
        """Gaps inside one painted text, at least `least` points wide: (index of the first character after it, where it
        begins, where it ends). A producer may paint a label and its text, or a row of cells, at once.

        Only the characters beside spaces are measured: PDFium reads a wide gap as a space, so there is no other place
        for one, and a whole page costs little."""
        return self._view.gaps(item, least) if self._view is not None else []
