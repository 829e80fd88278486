"""What the analysis of a page says: frozen values, JSON-able with pydantic's TypeAdapter, coordinates in points.

Boxes are (x0, y0, x1, y1) as the reader sees the page: origin at the lower left of the crop box, rotation applied,
y upwards. Content is addressed by flat item indices of the page's painting order (`pdf.page`), with a character range
where one painted text holds two things.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Box = tuple[float, float, float, float]

#: Raised when a field changes meaning, so that a stored chunk of another version is analyzed again.
VERSION = 2


@dataclass(frozen=True)
class Ref:
    """Items [first, last) of the page, or the characters [chars[0], chars[1]) of the one item `first`."""

    first: int
    last: int
    chars: tuple[int, int] | None = None


@dataclass(frozen=True)
class Style:
    """How a text is set. `size` in points (rounded to 0.5), `family` without subset prefix and style words."""

    size: float
    bold: bool = False
    italic: bool = False
    mono: bool = False
    family: str = ""
    colour: str = "#000000"


@dataclass(frozen=True)
class Piece:
    """A stretch of a block's content. `kind`: text, label (of a list item or note), link, leader (dots in
    contents), or mark (a raised number that may call a note).

    `annots` are the indices of the link annotations that lie over it (a link broken over lines has several).
    """

    refs: tuple[Ref, ...]
    text: str = ""
    kind: str = "text"
    annots: tuple[int, ...] = ()
    uri: bool = False


@dataclass(frozen=True)
class Block:
    """One thing on the page, in reading order.

    Roles: P, Caption, Note, Code, Formula, Figure, Table, TR, TH, TD, TOCI, Link, Form, Annot (the last three: an
    annotation no text lies under, `attrs["annot"]` its index). Headings and lists are decided over
    the document, so on a page they are P with the evidence for them (style, label, box, alignment).
    """

    role: str
    box: Box
    text: str = ""
    style: Style | None = None
    pieces: tuple[Piece, ...] = ()
    children: tuple[Block, ...] = ()
    #: the list label the text begins with ("•", "2.", "(a)"), else ""
    label: str = ""
    #: where its lines begin, and where the text after the label does: points along the reading direction, as `column`
    left: float = 0.0
    body_x: float = 0.0
    lines: int = 1
    #: the column the block stands in: (left, right)
    column: tuple[float, float] = (0.0, 0.0)
    #: space above, to the block before in the same column; -1 at the top of a column
    above: float = -1.0
    #: distance of the baselines inside the block, 0 with one line
    leading: float = 0.0
    confidence: float = 1.0
    attrs: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Artifact:
    """Content that is not read: `kind` layout | page | background | watermark | line-number | decoration."""

    refs: tuple[Ref, ...]
    kind: str
    box: Box
    text: str = ""


@dataclass(frozen=True)
class StyleCount:
    """How many characters of the page are set in a style."""

    style: Style
    chars: int


@dataclass(frozen=True)
class PageAnalysis:
    """One page. `number` counts from 0."""

    number: int
    width: float
    height: float
    blocks: tuple[Block, ...]
    artifacts: tuple[Artifact, ...] = ()
    styles: tuple[StyleCount, ...] = ()
    #: false when the items' addresses cannot be trusted (see `pdf.page.PageItems`)
    aligned: bool = True
    #: how many items the page paints
    count: int = 0
    version: int = VERSION
