"""The report a person reads: one HTML page that needs nothing else, itself accessible.

Verdict and reasons first, then each check, the structure as a reader of the tree meets it, the rules that fail in plain
words, and pages before and after with what differs between them.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy
import pikepdf
from numpy.typing import NDArray
from PIL import Image

from pdf.tagging.imported import import_tree
from pdf.tagging.pages import Pages
from pdf.tagging.tree import Element, Tree
from pdf.verify.pixels import TOLERANCE, Rendering
from pdf.verify.verify import VERIFICATION, Verification

#: Pages shown, and the width of a picture in pixels: enough to recognize a page by.
PAGES, WIDTH = 6, 420
#: Elements listed.
ELEMENTS = 1500
TEMPLATE = Path(__file__).parent / "report.html"


@dataclass(frozen=True)
class PagePictures:
    """A page (from 1) before, after, and what differs, as data URIs."""

    number: int
    before: str
    after: str
    difference: str
    differs: bool


@dataclass(frozen=True)
class Line:
    """An element in the list of the tree: its depth, role, and its texts."""

    depth: int
    role: str
    text: str


def render(record: Path, base: Path, version: Path, title: str, target: Path) -> int:
    """Write the report for a verification (JSON, as `record`) to `target`; returns its size in bytes."""
    found = VERIFICATION.validate_json(record.read_bytes())
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        title=title,
        found=found,
        shortcomings=found.shortcomings(),
        pages=pictures(base, version, found),
        lines=tree_lines(version),
        most=ELEMENTS,
    )
    target.write_text(page, encoding="utf-8")
    return target.stat().st_size


def chosen(found: Verification) -> list[int]:
    """The pages (from 0) worth showing: those that differ or break a rule, then the first ones."""
    wanted = [int(number) - 1 for number in found.check("pixelDiff").detail.get("differing_pages", [])]
    wanted += [page - 1 for rule in found.failed_rules for page in rule.pages]
    if found.structure is not None:
        wanted += [page - 1 for finding in found.structure.findings for page in finding.pages]
    wanted += range(found.pages)
    return sorted(dict.fromkeys(number for number in wanted if 0 <= number < found.pages), key=wanted.index)[:PAGES]


def pictures(base: Path, version: Path, found: Verification) -> list[PagePictures]:
    """The chosen pages, small."""
    before, after = Rendering(base), Rendering(version)
    out = []
    try:
        for number in sorted(chosen(found)):
            if number >= min(len(before), len(after)):
                continue
            one, two = _picture(before, number), _picture(after, number)
            same = one.shape == two.shape
            apart = numpy.abs(one.astype(int) - two).max(axis=2) if same else numpy.full(one.shape[:2], 255)
            differs = bool((apart > TOLERANCE).any())
            out.append(PagePictures(number + 1, _uri(one), _uri(two), _uri(_heat(apart)), differs))
    finally:
        before.close()
        after.close()
    return out


def _picture(document: Rendering, number: int) -> NDArray[numpy.uint8]:
    with document.page(number) as page:
        scale = min(WIDTH / max(page.points[0], 1.0), 2 * WIDTH / max(page.points[1], 1.0))
        width, height = page.size(scale)
        return page.render(scale, 0, 0, width, height)[..., 2::-1]


def _heat(apart: NDArray[numpy.int_]) -> NDArray[numpy.uint8]:
    """White where equal, red where different."""
    out = numpy.full((*apart.shape, 3), 255, numpy.uint8)
    out[apart > TOLERANCE] = (200, 0, 0)
    return out


def _uri(pixels: NDArray[numpy.uint8]) -> str:
    out = io.BytesIO()
    Image.fromarray(numpy.ascontiguousarray(pixels)).save(out, "JPEG", quality=70)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


def tree_lines(version: Path) -> list[Line]:
    """The structure tree, as a list with depths."""
    with pikepdf.open(version) as pdf:
        if "/StructTreeRoot" not in pdf.Root:
            return []
        pages = Pages(pdf)
        tree = Tree(len(pages.list), pages.sizes)
        import_tree(pdf, pages, tree)
    out: list[Line] = []
    stack: list[tuple[Element, int]] = [(tree.root, 0)]
    while stack and len(out) < ELEMENTS:
        element, depth = stack.pop()
        texts = [element.title, f"alt: {element.alt}" if element.alt else "", element.actual]
        out.append(Line(depth, element.role, " · ".join(text for text in texts if text)[:300]))
        stack.extend((kid, depth + 1) for kid in reversed(list(element.elements())))
    return out
