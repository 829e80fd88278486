"""What veraPDF does not see: whether the structure says what the page says.

A file may pass PDF/UA-1 with everything an artifact, one giant paragraph, half its text left out of the tree or in any
order. So the text of every page is compared with the base's, every piece of content is followed from the page to the
tree and back, and the tree is looked at for what a listener would miss. Errors stand in the way of publication;
warnings and what waits for a person are told.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2
from pikepdf import Array, Dictionary, Object

from pdf.page import Item, PageReader
from pdf.tagging.alt import is_placeholder
from pdf.tagging.imported import import_tree, marked_items
from pdf.tagging.metadata import UNTITLED
from pdf.tagging.ops import Ref
from pdf.tagging.pages import Pages
from pdf.tagging.tree import Element, Tree

ERROR, WARNING, INFO = "error", "warning", "info"
#: Shares of the text that is in artifacts: running heads and feet are a few per cent of a page.
ARTIFACTS_WARN, ARTIFACTS_FAIL = 0.25, 0.5
#: An element that alone holds this much of a long text is no structure.
ONE_ELEMENT, LONG_TEXT = 0.6, 3000
#: Steps of reading that jump up the page, of all steps: columns and tables make a few.
BACKWARD_WARN, BACKWARD_FAIL, STEPS = 0.15, 0.35, 20
#: A picture that covers this much of its page is something to be described.
PICTURE = 0.04
#: A document of this many pages is expected to have headings.
LONG_DOCUMENT = 6
_EMPTY_ALT = re.compile(
    r"(?:image|picture|photo|figure|graphic|logo|icon|img|bild|abbildung|imagen|imagem|immagine|chart|diagram|untitled)?"
    r"[\s._#-]*\d*(?:\.(?:png|jpe?g|gif|tiff?|bmp|svg|emf|wmf|eps))?",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|tiff?|bmp|svg|emf|wmf|eps)", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """Something about the structure: the rule's name, how bad, in words, and the pages (from 1; at most twenty)."""

    rule: str
    severity: str
    message: str
    pages: tuple[int, ...] = ()


@dataclass(frozen=True)
class StructureReport:
    """What the checks found. `text` counts the characters of all pages, `in_tree` and `in_artifacts` where they are;
    `roles` counts elements; `figures_waiting` those a person still has to describe."""

    findings: tuple[Finding, ...]
    figures_waiting: int
    text: int
    in_tree: int
    in_artifacts: int
    roles: dict[str, int]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What stands in the way of publication."""
        return tuple(f for f in self.findings if f.severity == ERROR)


def check(base: Path, version: Path) -> StructureReport:
    """Check the structure of `version`, whose pages are those of `base`. Raises PdfError where one cannot be read."""
    return _Checker(base, version).run()


class _Checker:
    def __init__(self, base: Path, version: Path) -> None:
        self.base, self.version = base, version
        self.findings: list[Finding] = []
        self.tree_of_item: dict[tuple[int, int], Element] = {}
        self.chars: dict[int, int] = {}
        self.total = self.read = self.unread = 0

    def found(self, rule: str, severity: str, message: str, pages: Sequence[int] = ()) -> None:
        self.findings.append(Finding(rule, severity, message, tuple(sorted(set(pages)))[:20]))

    def run(self) -> StructureReport:
        self.texts()
        with pikepdf.open(self.version) as pdf:
            if "/StructTreeRoot" not in pdf.Root:
                self.found("no-tree", ERROR, "The file has no structure tree.")
                return StructureReport(tuple(self.findings), 0, 0, 0, 0, {})
            pages = Pages(pdf)
            tree = Tree(len(pages.list), pages.sizes)
            import_tree(pdf, pages, tree)
            self.parent_tree(pdf, pages)
            if tree.root.title == UNTITLED or _title(pdf) == UNTITLED:
                self.found("no-title", WARNING, "Nobody has given the document a title.")
            self.content(tree)
        self.one_element(tree)
        self.order(tree)
        waiting = self.figures(tree)
        self.tables(tree)
        self.headings(tree, len(pages.list))
        self.languages(tree)
        roles = Counter(element.role for element in tree.byid.values())
        order = {ERROR: 0, WARNING: 1, INFO: 2}
        findings = tuple(sorted(self.findings, key=lambda f: (order[f.severity], f.rule)))
        return StructureReport(findings, waiting, self.total, self.read, self.unread, dict(sorted(roles.items())))

    def texts(self) -> None:
        """The text of every page is the base's: nothing swapped, blanked or covered by another text layer."""
        different = [number + 1 for number, same in enumerate(_same_texts(self.base, self.version)) if not same]
        if different:
            self.found("text-changed", ERROR, "The text of pages is not the text it was.", different)

    def parent_tree(self, pdf: pikepdf.Pdf, pages: Pages) -> None:
        """Content leads to its element (through the parent tree) as the element leads to its content."""
        wrong: set[int] = set()
        reverse = _parent_tree(pdf.Root.StructTreeRoot)
        forward: dict[tuple[tuple[int, int], int], tuple[int, int]] = {}
        numbers = {page.obj.objgen: number for number, page in enumerate(pages.list)}
        for element, stream, mcid, place in _content_items(pdf.Root.StructTreeRoot):
            key = (stream, mcid)
            if key in forward:
                wrong.add(numbers.get(place, 0) + 1)
            forward[key] = element
        for number, page in enumerate(pages.list):
            owners = [page.obj, *(use.form for use in pages.painting(number).uses[1:] if use.form is not None)]
            for owner in owners:
                parents = reverse.get(_number(owner.get("/StructParents")), [])
                for mcid, parent in enumerate(parents):
                    if parent is not None and forward.get((owner.objgen, mcid)) != parent:
                        wrong.add(number + 1)
            for (stream, mcid), _ in marked_items(pages.painting(number)).items():
                owner_id = page.obj.objgen if stream == (0, 0) else stream
                if (owner_id, mcid) not in forward:
                    wrong.add(number + 1)
        if wrong:
            message = "Content and structure do not lead to each other: a piece is missing, or is there twice."
            self.found("parent-tree", ERROR, message, sorted(wrong))

    def content(self, tree: Tree) -> None:
        """All text is in the tree or an artifact; how much of it in which; pictures left out."""
        nowhere: list[int] = []
        pictures: list[int] = []
        self.boxes: dict[tuple[int, int], Item] = {}
        with PageReader(self.version) as reader:
            for number in range(reader.pages):
                page = reader.read(number)
                area = max(page.width * page.height, 1.0)
                for item in page.items:
                    held = tree.held.get((number, item.index))
                    if item.kind == "text":
                        length = sum(not c.isspace() for c in item.text)
                        self.total += length
                        if held:
                            self.read += length
                            self.boxes[number, item.index] = item
                            owner = held[0][2]
                            if isinstance(owner, Element):
                                self.chars[id(owner)] = self.chars.get(id(owner), 0) + length
                        elif item.mark is not None and item.mark[0] == "Artifact":
                            self.unread += length
                        elif length:
                            nowhere.append(number + 1)
                    elif item.kind == "image" and not held:
                        x0, y0, x1, y1 = item.box
                        share = max(0.0, x1 - x0) * max(0.0, y1 - y0) / area
                        if PICTURE < share < 0.9:
                            pictures.append(number + 1)
        if nowhere:
            self.found("content-not-reached", ERROR, "Text is neither in the tree nor an artifact.", nowhere)
        if self.total and self.unread > ARTIFACTS_FAIL * self.total:
            share = self.unread * 100 // self.total
            self.found("text-left-out", ERROR, f"{share} % of the text is left out as decoration.")
        elif self.total and self.unread > ARTIFACTS_WARN * self.total:
            share = self.unread * 100 // self.total
            self.found("text-left-out", WARNING, f"{share} % of the text is left out as decoration.")
        if pictures:
            message = "Pictures are left out as decoration. Somebody should look whether they say something."
            self.found("pictures-left-out", WARNING, message, pictures)

    def one_element(self, tree: Tree) -> None:
        """No element holds nearly all."""
        if self.read > LONG_TEXT and self.chars and max(self.chars.values()) > ONE_ELEMENT * self.read:
            self.found("one-element", ERROR, "One element holds most of the text: there is no structure to move in.")

    def order(self, tree: Tree) -> None:
        """Reading goes down the page (and its columns), and from page to page."""
        sequence = [
            (ref.p, item)
            for _, ref in _refs(tree.root)
            if ref.o is not None
            for item in range(*ref.o)
            if (ref.p, item) in self.boxes
        ]
        steps = backward = jumps = turns = 0
        pages: set[int] = set()
        for (p, a), (q, b) in itertools.pairwise(sequence):
            if p != q:
                turns += 1
                if q < p:
                    jumps += 1
                    pages.add(p + 1)
                continue
            one, two = self.boxes[p, a], self.boxes[q, b]
            if one.angle or two.angle:
                continue
            steps += 1
            height = max(one.size, two.size, 4.0)
            up = two.origin[1] - one.origin[1]
            beside = two.box[0] > one.box[2] or two.box[2] < one.box[0]
            # Up to another column is reading; up over what stands above is not. Painting may be in any order.
            if up > 1.5 * height and not beside:
                backward += 1
                pages.add(p + 1)
        share = backward / steps if steps >= STEPS else 0.0
        if share > BACKWARD_FAIL or (turns > 4 and jumps > 0.3 * turns):
            self.found("order", ERROR, "The reading order jumps back and forth.", sorted(pages))
        elif share > BACKWARD_WARN:
            self.found("order", WARNING, f"{share:.0%} of the steps of reading go up the page.", sorted(pages))

    def figures(self, tree: Tree) -> int:
        """Alternative texts say something; returns how many wait for a person."""
        waiting = 0
        empty: list[int] = []
        for element in tree.byid.values():
            if element.role not in ("Figure", "Formula"):
                continue
            text = (element.alt or element.actual).strip()
            if is_placeholder(text):
                waiting += 1
            elif _EMPTY_ALT.fullmatch(text) or _FILE_NAME.fullmatch(text):
                empty.append(_page(element) + 1)
        if empty:
            self.found("alt-says-nothing", ERROR, "The alternative text of figures says nothing.", empty)
        if waiting:
            self.found("figures-waiting", INFO, f"{waiting} figures wait for a description by a person.")
        return waiting

    def tables(self, tree: Tree) -> None:
        """A table has header cells, more than one cell, and rows of one length."""
        bare: list[int] = []
        ragged: list[int] = []
        for element in tree.byid.values():
            if element.role != "Table":
                continue
            rows = list(_below(element, "TR"))
            cells = [[cell for cell in row.elements() if cell.role in ("TH", "TD")] for row in rows]
            if not any(cell.role == "TH" for row in cells for cell in row):
                bare.append(_page(element) + 1)
            if len(set(_widths(cells))) > 1:
                ragged.append(_page(element) + 1)
        if bare:
            self.found("table-without-headers", ERROR, "Tables have no header cells.", bare)
        if ragged:
            self.found("table-ragged", WARNING, "Tables have rows of different lengths.", ragged)

    def headings(self, tree: Tree, pages: int) -> None:
        """A long document has headings, and they do not skip levels on the way down."""
        levels = [int(e.role[1:]) for e in _in_order(tree.root) if re.fullmatch(r"H[1-6]", e.role)]
        if not levels and not any(e.role == "H" for e in tree.byid.values()) and pages >= LONG_DOCUMENT:
            self.found("no-headings", WARNING, f"{pages} pages have no heading to move to.")
        before = 0
        for level in levels:
            if level > before + 1:
                self.found("heading-levels", WARNING, f"A heading of level {level} follows one of level {before}.")
                break
            before = level

    def languages(self, tree: Tree) -> None:
        """Somebody knows the language."""
        if (tree.lang or "und").lower() == "und":
            self.found("no-language", WARNING, "The language of the document is not known.")


def _same_texts(base: Path, version: Path) -> list[bool]:
    before, after = pypdfium2.PdfDocument(base), pypdfium2.PdfDocument(version)
    try:
        if len(before) != len(after):
            return [False]
        return [_text(before, number) == _text(after, number) for number in range(len(before))]
    finally:
        before.close()
        after.close()


def _text(document: pypdfium2.PdfDocument, number: int) -> str:
    page = document[number]
    text = page.get_textpage()
    found = "".join(str(text.get_text_range()).split())
    text.close()
    page.close()
    return found


def _title(pdf: pikepdf.Pdf) -> str:
    with pdf.open_metadata(set_pikepdf_as_editor=False, update_docinfo=False) as metadata:
        return str(metadata.get("dc:title", ""))


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1


def _parent_tree(root: Object) -> dict[int, list[tuple[int, int] | None]]:
    """/StructParents → the element (as objgen) of each MCID."""
    out: dict[int, list[tuple[int, int] | None]] = {}
    seen: set[tuple[int, int]] = set()
    stack = [root.get("/ParentTree")]
    while stack:
        node = stack.pop()
        if not isinstance(node, Dictionary) or (node.is_indirect and node.objgen in seen):
            continue
        seen.add(node.objgen)
        numbers = node.get("/Nums")
        if isinstance(numbers, Array):
            values = list(numbers)
            for key, value in zip(values[0::2], values[1::2], strict=False):
                if isinstance(value, Array) and isinstance(key, int):
                    out[key] = [v.objgen if isinstance(v, Dictionary) else None for v in value]
        kids = node.get("/Kids")
        if isinstance(kids, Array):
            stack.extend(kids)
    return out


def _content_items(root: Object) -> Iterator[tuple[tuple[int, int], tuple[int, int], int, tuple[int, int]]]:
    """(element, stream that holds the content, MCID, page) of all marked content in the tree; ids are objgens."""
    stack: list[tuple[Object, Object | None]] = [(root, None)]
    seen: set[tuple[int, int]] = set()
    while stack:
        element, page = stack.pop()
        if element.is_indirect:
            if element.objgen in seen:
                continue
            seen.add(element.objgen)
        here = element.get("/Pg")
        page = here if isinstance(here, Dictionary) else page
        kids = element.get("/K")
        for kid in list(kids) if isinstance(kids, Array) else [kids]:
            if isinstance(kid, int) and page is not None:
                yield element.objgen, page.objgen, int(kid), page.objgen
            elif isinstance(kid, Dictionary) and "/MCID" in kid and "/S" not in kid:
                own = kid.get("/Pg")
                place = own if isinstance(own, Dictionary) else page
                stream = kid.get("/Stm")
                if place is not None:
                    holder = stream if isinstance(stream, pikepdf.Stream) else place
                    yield element.objgen, holder.objgen, _number(kid.get("/MCID")), place.objgen
            elif isinstance(kid, Dictionary) and "/S" in kid:
                stack.append((kid, page))


def _in_order(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(list(element.elements())))


def _refs(root: Element) -> Iterator[tuple[Element, Ref]]:
    """All content in reading order, with the element that holds it."""
    stack: list[tuple[Element, Element | Ref]] = [(root, root)]
    while stack:
        owner, kid = stack.pop()
        if isinstance(kid, Ref):
            yield owner, kid
        else:
            stack.extend((kid, below) for below in reversed(kid.kids))


def _below(element: Element, role: str) -> Iterator[Element]:
    """Elements of a role below one, not inside a table of their own."""
    for kid in element.elements():
        if kid.role == role:
            yield kid
        elif kid.role != "Table":
            yield from _below(kid, role)


def _widths(rows: Sequence[Sequence[Element]]) -> list[int]:
    """Columns of each row, with what reaches down into it from above."""
    out: list[int] = []
    reaching: list[tuple[int, int]] = []
    for row in rows:
        width = sum(columns for columns, _ in reaching)
        reaching = [(columns, left - 1) for columns, left in reaching if left > 1]
        for cell in row:
            columns = (cell.attrs.colSpan if cell.attrs else None) or 1
            down = (cell.attrs.rowSpan if cell.attrs else None) or 1
            width += columns
            if down > 1:
                reaching.append((columns, down - 1))
        out.append(width)
    return out


def _page(element: Element) -> int:
    """The page an element begins on, from 0."""
    for _, ref in _refs(element):
        return ref.p
    return 0
