"""The tree a file came with, as elements: so that a kept tree is written the same way as one that ops made.

Ids are ``t1, t2, …`` in document order, so an op can address them. Roles are resolved through the role map; attributes
that PDF/UA-1 asks for come along. What the tree says twice, or of content that is not there, is left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pikepdf
from pikepdf import Array, Dictionary, Name, Object

from pdf.content import scanner
from pdf.content.painting import Painting, Stream
from pdf.tagging import ops
from pdf.tagging.ops import Attributes, Ref
from pdf.tagging.pages import Pages
from pdf.tagging.tree import MAX_DEPTH, Element, Refused, Tree

MAX_ELEMENTS = 500_000
#: (stream of a form, or (0, 0) for the page's own content; MCID) → the items it marks
Marked = dict[tuple[tuple[int, int], int], list[int]]
_PAGE = (0, 0)
_SCOPES = {"/Row": "Row", "/Column": "Column", "/Both": "Both"}
_PLACEMENTS = {"/Block": "Block", "/Inline": "Inline", "/Before": "Before", "/Start": "Start", "/End": "End"}
_NUMBERINGS = frozenset(
    ("None", "Disc", "Circle", "Square", "Decimal", "UpperRoman", "LowerRoman", "UpperAlpha", "LowerAlpha")
)


def import_tree(pdf: pikepdf.Pdf, pages: Pages, tree: Tree) -> None:
    """Fill `tree` with the structure tree of the file, title and language with what its catalog says."""
    _Import(pdf, pages, tree).run()


def marked_items(painting: Painting) -> Marked:
    """Which items of a page are marked with which MCID."""
    out: Marked = {}
    for number, use in enumerate(painting.uses):
        if not use.stream.marked:
            continue
        key = use.form.objgen if use.form is not None else _PAGE
        around = _mcids(use.stream, use.resources)
        for leaf in range(use.first, use.last):
            # What a form paints inside a marked sequence of its parent belongs to that sequence.
            inner, where = painting.leaves[leaf].use, painting.leaves[leaf].paint
            while inner != number and painting.uses[inner].parent >= 0:
                inner, where = painting.uses[inner].parent, painting.uses[inner].paint
            if inner == number and around[where] >= 0:
                out.setdefault((key, around[where]), []).append(leaf)
    return out


def _mcids(stream: Stream, resources: Object) -> list[int]:
    """The innermost MCID around each paint of a stream, -1 for none."""
    lists = resources.get("/Properties")
    out: list[int] = []
    stack = [-1]
    paints = {paint.op for paint in stream.paints}
    for number, op in enumerate(stream.ops):
        if number in paints:
            out.append(stack[-1])
        elif op.name in (b"BMC", b"BDC"):
            _, _, name, inline = scanner.tag_operands(stream.data, op)
            found = scanner.mcid(inline) if inline is not None else -1
            if name is not None and isinstance(lists, Dictionary):
                listed = lists.get("/" + scanner.decode_name(name))
                value = listed.get("/MCID") if isinstance(listed, Dictionary) else None
                found = value if isinstance(value, int) else -1
            stack.append(found if found >= 0 else stack[-1])
        elif op.name == b"EMC" and len(stack) > 1:
            stack.pop()
    return out


class _Import:
    def __init__(self, pdf: pikepdf.Pdf, pages: Pages, tree: Tree) -> None:
        self.pdf, self.pages, self.tree = pdf, pages, tree
        self.numbers = {page.obj.objgen: i for i, page in enumerate(pages.list)}
        self.marked: dict[int, Marked] = {}
        self.annots: dict[tuple[int, int], tuple[int, int]] = {}
        self.seen: set[tuple[int, int]] = set()
        self.count = 0
        root = pdf.Root.get("/StructTreeRoot")
        self.root = root if isinstance(root, Dictionary) else Dictionary()
        roles = self.root.get("/RoleMap")
        self.roles = roles if isinstance(roles, Dictionary) else Dictionary()

    def run(self) -> None:
        lang = self.pdf.Root.get("/Lang")
        if lang is not None:
            with contextlib.suppress(ValueError):
                self.tree.lang = str(lang)
        for number, page in enumerate(self.pages.list):
            annots = page.obj.get("/Annots")
            if isinstance(annots, Array):
                for index, annot in enumerate(annots):
                    if isinstance(annot, Dictionary) and annot.is_indirect:
                        self.annots[annot.objgen] = (number, index)
        for kid in self._kids(self.root):
            if isinstance(kid, Dictionary) and self._role(kid) == "Document":
                self.tree.root.lang = self._text(kid, "/Lang")
                self._content(kid, self.tree.root, None, 1)
            else:
                self._kid(kid, self.tree.root, None, 1)

    def _kids(self, owner: Object) -> list[Object]:
        kids = owner.get("/K")
        if kids is None:
            return []
        return list(kids) if isinstance(kids, Array) else [kids]

    def _role(self, element: Object) -> str:
        role = element.get("/S")
        for _ in range(8):
            if not isinstance(role, Name):
                return "NonStruct"
            if str(role)[1:] in ops.ROLES:
                return str(role)[1:]
            role = self.roles.get(str(role))
        return "NonStruct"

    def _text(self, owner: Object, key: str) -> str:
        value = owner.get(key)
        return str(value) if isinstance(value, pikepdf.String) else ""

    def _content(self, owner: Object, element: Element, page: int | None, depth: int) -> None:
        page = self._page(owner, page)
        for kid in self._kids(owner):
            self._kid(kid, element, page, depth)

    def _page(self, owner: Object, page: int | None) -> int | None:
        here = owner.get("/Pg")
        return self.numbers.get(here.objgen, page) if isinstance(here, Dictionary) else page

    def _kid(self, kid: Object | int, parent: Element, page: int | None, depth: int) -> None:
        if isinstance(kid, int):
            self._place(parent, page, _PAGE, kid)
        elif not isinstance(kid, Dictionary):
            return
        elif kid.get("/Type") == Name.MCR or ("/MCID" in kid and "/S" not in kid):
            stream = kid.get("/Stm")
            mcid = kid.get("/MCID")
            if isinstance(mcid, int):
                key = stream.objgen if isinstance(stream, pikepdf.Stream) else _PAGE
                self._place(parent, self._page(kid, page), key, mcid)
        elif kid.get("/Type") == Name.OBJR or ("/Obj" in kid and "/S" not in kid):
            target = kid.get("/Obj")
            place = self.annots.get(target.objgen) if isinstance(target, Dictionary) else None
            if place is not None:
                self.hold(Ref(place[0], a=place[1]), parent)
        elif "/S" in kid and depth < MAX_DEPTH and self.count < MAX_ELEMENTS:
            if kid.is_indirect:
                if kid.objgen in self.seen:
                    return
                self.seen.add(kid.objgen)
            self._element(kid, parent, page, depth)

    def _element(self, kid: Object, parent: Element, page: int | None, depth: int) -> None:
        role = self._role(kid)
        if role == "Document":
            role = "Part"
        self.count += 1
        element = Element(f"t{self.count}", role, parent, attrs=self._attributes(kid))
        element.alt, element.actual = self._text(kid, "/Alt"), self._text(kid, "/ActualText")
        element.expansion, element.title = self._text(kid, "/E"), self._text(kid, "/T")
        element.lang = self._text(kid, "/Lang")
        self.tree.byid[element.id] = element
        parent.kids.append(element)
        self._content(kid, element, page, depth + 1)

    def _place(self, parent: Element, page: int | None, stream: tuple[int, int], mcid: int) -> None:
        if page is None:
            return
        if page not in self.marked:
            self.marked[page] = marked_items(self.pages.painting(page))
        for first, last in _ranges(self.marked[page].get((stream, mcid), [])):
            self.hold(Ref(page, (first, last)), parent)

    def hold(self, ref: Ref, parent: Element) -> None:
        with contextlib.suppress(Refused):  # the tree names it twice: the first one has it
            self.tree.hold(ref, parent)
            parent.kids.append(ref)

    def _attributes(self, kid: Object) -> Attributes | None:
        found: dict[str, object] = {}
        for values in self._attribute_objects(kid):
            owner = values.get("/O")
            if owner == Name.Table:
                scope = _SCOPES.get(str(values.get("/Scope")))
                if scope:
                    found["scope"] = scope
                for key, name in (("/ColSpan", "colSpan"), ("/RowSpan", "rowSpan")):
                    number = values.get(key)
                    if isinstance(number, int) and 1 <= number <= 1000:
                        found[name] = number
            elif owner == Name.List:
                numbering = str(values.get("/ListNumbering", "/None"))[1:]
                if numbering in _NUMBERINGS:
                    found["listNumbering"] = numbering
            elif owner == Name.Layout:
                placement = _PLACEMENTS.get(str(values.get("/Placement")))
                if placement:
                    found["placement"] = placement
                box = values.get("/BBox")
                if isinstance(box, Array) and len(box) == 4:
                    with contextlib.suppress(TypeError, ValueError):
                        found["bbox"] = tuple(float(v) for v in box)
        return Attributes(**found) if found else None  # type: ignore[arg-type]

    def _attribute_objects(self, kid: Object) -> Iterator[Object]:
        attributes = kid.get("/A")
        for values in list(attributes) if isinstance(attributes, Array) else [attributes]:
            if isinstance(values, Dictionary):
                yield values
        classes = self.root.get("/ClassMap")
        names = kid.get("/C")
        if isinstance(classes, Dictionary):
            for name in list(names) if isinstance(names, Array) else [names]:
                value = classes.get(str(name)) if isinstance(name, Name) else None
                for values in list(value) if isinstance(value, Array) else [value]:
                    if isinstance(values, Dictionary):
                        yield values


def _ranges(items: list[int]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for item in items:
        if out and out[-1][1] == item:
            out[-1] = (out[-1][0], item + 1)
        else:
            out.append((item, item + 1))
    return out
