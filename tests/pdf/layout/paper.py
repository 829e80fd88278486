"""Pages made by hand for tests: text, lines and boxes at known places, and the tagging as an indented outline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pikepdf
from pikepdf import Array, Dictionary, Name

from pdf.layout import PageAnalysis, analyze
from pdf.page import PageReader
from pdf.tagging import ops
from pdf.tagging.compose import compose

FONTS = {"r": "Helvetica", "b": "Helvetica-Bold", "i": "Helvetica-Oblique", "m": "Courier", "t": "Times-Roman"}


class Page:
    """A page to draw on, points, y upwards."""

    def __init__(self, width: float = 595, height: float = 842, rotate: int = 0, unit: float = 1.0) -> None:
        self.width, self.height, self.rotate, self.unit = width, height, rotate, unit
        self.parts: list[str] = []
        self.annots: list[Dictionary] = []

    def text(self, x: float, y: float, text: str, size: float = 11, font: str = "r", colour: str = "0 g") -> Page:
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        self.parts.append(f"BT {colour} /{font} {size} Tf {x} {y} Td ({escaped}) Tj ET 0 g")
        return self

    def turned(self, x: float, y: float, text: str, size: float, a: float, b: float) -> Page:
        """Text along the direction (a, b)."""
        self.parts.append(f"BT /r {size} Tf {a} {b} {-b} {a} {x} {y} Tm ({text}) Tj ET")
        return self

    def raw(self, code: str) -> Page:
        self.parts.append(code)
        return self

    def lines(
        self, x: float, y: float, texts: Sequence[str], size: float = 11, font: str = "r", lead: float = 0
    ) -> Page:
        for i, line in enumerate(texts):
            self.text(x, y - i * (lead or 1.25 * size), line, size, font)
        return self

    def line(self, x0: float, y0: float, x1: float, y1: float) -> Page:
        self.parts.append(f"0.5 w {x0} {y0} m {x1} {y1} l S")
        return self

    def box(self, x0: float, y0: float, x1: float, y1: float, paint: str = "f") -> Page:
        self.parts.append(f"{x0} {y0} {x1 - x0} {y1 - y0} re {paint}")
        return self

    def link(self, x0: float, y0: float, x1: float, y1: float, uri: str) -> Page:
        action = Dictionary(S=Name.URI, URI=pikepdf.String(uri))
        self.annots.append(Dictionary(Type=Name.Annot, Subtype=Name.Link, Rect=Array([x0, y0, x1, y1]), A=action))
        return self


PROSE = (
    "The reading room opens at nine and closes when the last reader has left the",
    "building, and every shelf carries a label in large print and in braille. The",
    "catalogue can be heard as well as seen, which is used more than was thought.",
)


def write(path: Path, *pages: Page) -> Path:
    """The pages as a PDF file."""
    with pikepdf.new() as pdf:
        fonts = Dictionary(
            {
                f"/{key}": pdf.make_indirect(
                    Dictionary(
                        Type=Name.Font, Subtype=Name.Type1, BaseFont=Name(f"/{name}"), Encoding=Name.WinAnsiEncoding
                    )
                )
                for key, name in FONTS.items()
            }
        )
        for page in pages:
            made = pdf.add_blank_page(page_size=(page.width, page.height))
            made.obj.Resources = Dictionary(Font=fonts)
            made.obj.Contents = pdf.make_stream("\n".join(page.parts).encode("cp1252"))
            if page.rotate:
                made.obj.Rotate = page.rotate
            if page.unit != 1.0:
                made.obj.UserUnit = page.unit
            if page.annots:
                made.obj.Annots = Array([pdf.make_indirect(a) for a in page.annots])
        pdf.save(path, deterministic_id=True)
    return path


def analyses(path: Path) -> list[PageAnalysis]:
    return analyze(path, 0, 10_000)


def outline(path: Path) -> list[str]:
    """The structure tree that the engine composes: a line a node, two spaces a level, its own text behind the role."""
    return show(path, compose(analyses(path)))


def show(path: Path, made: Sequence[ops.Op]) -> list[str]:
    texts: dict[tuple[int, int], tuple[str, list[tuple[str, int]]]] = {}
    with PageReader(path) as reader:
        for number in range(reader.pages):
            page = reader.read(number)
            for item in page.items:
                chars = [(c.text, c.code) for c in page.chars(item)] if item.kind == "text" else []
                texts[number, item.index] = (item.text if item.kind == "text" else f"<{item.kind}>", chars)
    kids: dict[str, list[ops.Node | ops.Ref]] = {ops.ROOT: []}

    def take(node: ops.Node) -> None:
        assert node.id not in kids, "ids are used once"
        kids[node.id] = list(node.kids)
        for kid in node.kids:
            if isinstance(kid, ops.Node):
                take(kid)

    for op in made:
        if isinstance(op, ops.Add):
            for node in op.nodes:
                take(node)
            kids[op.parent].extend(op.nodes)
    out: list[str] = []

    def text_of(ref: ops.Ref) -> str:
        if ref.o is None:
            return "<link>"
        whole = [texts[ref.p, i] for i in range(*ref.o)]
        if ref.c is None:
            return " ".join(t for t, _ in whole)
        return "".join(t for t, code in whole[0][1] if ref.c[0] <= code < ref.c[1])

    def walk(node: ops.Node, depth: int) -> None:
        own = " ".join(text_of(k) for k in kids[node.id] if isinstance(k, ops.Ref))
        out.append("  " * depth + " ".join(f"{node.role} {own}".split()))
        for kid in kids[node.id]:
            if isinstance(kid, ops.Node):
                walk(kid, depth + 1)

    for top in kids[ops.ROOT]:
        assert isinstance(top, ops.Node)
        walk(top, 0)
    return out
