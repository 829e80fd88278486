"""The structure tree written into a PDF (ISO 32000-1 14.7): elements, parent tree, annotations, attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pikepdf
from pikepdf import Array, Dictionary, Name, Object, String

from pdf.content.annotations import field_name, field_value
from pdf.tagging.ops import Attributes, Ref
from pdf.tagging.pages import Marker, Slot
from pdf.tagging.tree import Element, Tree

#: Annotations that are not for a reader (ISO 14289-1 7.18.1, 7.18.2, 7.18.8).
UNREAD = frozenset(("Popup", "PrinterMark", "TrapNet"))
_HIDDEN = 2


@dataclass
class Plan:
    """What stands where: for each element its kids with content as slots, and each page's assigned content."""

    slots: dict[int, list[Element | Slot | Ref]]
    pages: list[dict[int, list[tuple[int, int, Slot]]]]


def plan(tree: Tree) -> Plan:
    """Walk the tree in reading order. Content of one element that goes on where it left off is one slot."""
    pages: list[dict[int, list[tuple[int, int, Slot]]]] = [{} for _ in range(tree.pages)]
    slots: dict[int, list[Element | Slot | Ref]] = {}
    stack = [tree.root]
    while stack:
        element = stack.pop()
        kids: list[Element | Slot | Ref] = []
        before: Ref | None = None
        for kid in element.kids:
            if isinstance(kid, Element):
                kids.append(kid)
                before = None
                continue
            if kid.o is None:
                kids.append(kid)
                before = None
                continue
            if before is None or not _goes_on(before, kid):
                kids.append(Slot(element, kid.p))
            slot = kids[-1]
            assert isinstance(slot, Slot)
            first, last = kid.c if kid.c is not None else (0, 1 << 30)
            for item in range(*kid.o):
                pages[kid.p].setdefault(item, []).append((first, last, slot))
            before = kid
        slots[id(element)] = kids
        stack.extend(reversed([kid for kid in kids if isinstance(kid, Element)]))
    for page in pages:
        for parts in page.values():
            parts.sort(key=lambda part: part[0])
    return Plan(slots, pages)


def _goes_on(before: Ref, ref: Ref) -> bool:
    assert before.o is not None and ref.o is not None
    return before.p == ref.p and before.o[1] == ref.o[0] and ref.c is None


class Writer:
    """Writes one tree. `write` is called once, after all pages are marked."""

    def __init__(self, pdf: pikepdf.Pdf, tree: Tree, made: Plan, marker: Marker) -> None:
        self.pdf = pdf
        self.tree = tree
        self.plan = made
        self.marker = marker
        self.pages = marker.pages.list
        self.objects: dict[int, Object] = {}
        self.annots: list[tuple[int, Object]] = []
        self.key = len(marker.parents)
        self.ids: dict[str, Object] = {}
        self.named = {
            id_
            for element in tree.byid.values()
            if element.attrs and element.attrs.headers
            for id_ in element.attrs.headers
        }

    def write(self) -> int:
        """Write the tree into the catalog; returns the number of elements."""
        root = self.pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))
        self.pdf.Root.StructTreeRoot = root
        root.K = Array([self._element(self.tree.root, root)])
        numbers: list[Object | int] = []
        for key, elements in enumerate(self.marker.parents):
            numbers += (key, self.pdf.make_indirect(Array([self.objects[id(e)] for e in elements])))
        for key, element in self.annots:
            numbers += (key, element)
        root.ParentTree = self.pdf.make_indirect(Dictionary(Nums=Array(numbers)))
        root.ParentTreeNextKey = self.key
        if self.ids:
            names: list[Object] = []
            for id_ in sorted(self.ids):
                names += (String(id_), self.ids[id_])
            first, last = min(self.ids), max(self.ids)
            tree = Dictionary(
                Kids=Array([self.pdf.make_indirect(Dictionary(Limits=Array([String(first), String(last)])))])
            )
            tree.Kids[0].Names = Array(names)
            root.IDTree = tree
        return len(self.objects)

    def _element(self, element: Element, parent: Object) -> Object:
        values: dict[str, Object | str] = {"/S": Name("/" + element.role), "/P": parent}
        if element.alt and element.role != "Link":
            values["/Alt"] = String(element.alt)
        for key, text in (
            ("/ActualText", element.actual),
            ("/E", element.expansion),
            ("/Lang", element.lang),
            ("/T", element.title),
        ):
            if text:
                values[key] = String(text)
        written = self.pdf.make_indirect(Dictionary(values))
        self.objects[id(element)] = written
        if element.role == "Note" or element.id in self.named:  # ISO 14289-1 7.9: every note has an id
            written.ID = String(element.id)
            self.ids[element.id] = written
        page: Object | None = None
        kids: list[Object | int] = []
        for kid in self.plan.slots[id(element)]:
            if isinstance(kid, Element):
                kids.append(self._element(kid, written))
            elif isinstance(kid, Slot):
                here = self.pages[kid.page].obj
                for form, mcid in kid.places:
                    if page is None:
                        page = here
                        written.Pg = page
                    if form is None and here is page:
                        kids.append(mcid)
                        continue
                    content = Dictionary(Type=Name.MCR, Pg=here, MCID=mcid)
                    if form is not None:
                        content.Stm = form
                    kids.append(content)
            else:
                kids.append(self._annotation(kid, element, written))
        if len(kids) == 1:
            written.K = kids[0]
        elif kids:
            written.K = Array(kids)
        if element.attrs is not None:
            attributes = _attributes(element.attrs)
            if attributes:
                written.A = attributes[0] if len(attributes) == 1 else Array(attributes)
        return written

    def _annotation(self, ref: Ref, element: Element, written: Object) -> Object:
        assert ref.a is not None
        page = self.pages[ref.p].obj
        annot = page.Annots[ref.a]
        if not annot.is_indirect:
            annot = self.pdf.make_indirect(annot)
            page.Annots[ref.a] = annot
        annot.StructParent = self.key
        self.annots.append((self.key, written))
        self.key += 1
        describe(annot, element)
        return Dictionary(Type=Name.OBJR, Obj=annot, Pg=page)


def unplaced(tree: Tree, pages: Sequence[pikepdf.Page]) -> list[tuple[str, Ref]]:
    """Annotations a reader meets that no element holds, and the role each needs (ISO 14289-1 7.18)."""
    out = []
    for number, page in enumerate(pages):
        annots = page.obj.get("/Annots")
        if not isinstance(annots, Array):
            continue
        for index, annot in enumerate(annots):
            if (number, index) in tree.annots or not isinstance(annot, Dictionary):
                continue
            subtype = str(annot.get("/Subtype", ""))[1:]
            flags = annot.get("/F", 0)
            if subtype in UNREAD or (isinstance(flags, int) and flags & _HIDDEN):
                continue
            out.append(({"Link": "Link", "Widget": "Form"}.get(subtype, "Annot"), Ref(number, a=index)))
    return out


def describe(annot: Object, element: Element) -> None:
    """What the annotation is, in words, where it does not say so itself (ISO 14289-1 7.18.1, 7.18.4, 7.18.5)."""
    subtype = annot.get("/Subtype")
    if subtype == Name.Widget:
        if not str(field_value(annot, "/TU") or "").strip():
            _field(annot).TU = String(element.alt or field_name(annot) or "Form field")
        return
    if not str(annot.get("/Contents") or "").strip():
        annot.Contents = String(element.alt or _address(annot) or str(subtype or "/Annotation")[1:])


def _field(widget: Object) -> Object:
    """The field a widget belongs to: itself, or the nearest of its parents that has a name (ISO 32000-1 12.7.3)."""
    node = widget
    for _ in range(32):
        parent = node.get("/Parent")
        if "/T" in node or not isinstance(parent, Dictionary):
            break
        node = parent
    return node


def _address(annot: Object) -> str:
    action = annot.get("/A")
    uri = action.get("/URI") if isinstance(action, Dictionary) else None
    return str(uri) if uri is not None else ""


def _attributes(attrs: Attributes) -> list[Object]:
    """Attribute objects by owner (ISO 32000-1 14.8.5)."""
    table: dict[str, object] = {}
    if attrs.scope:
        table["/Scope"] = Name("/" + attrs.scope)
    if attrs.colSpan and attrs.colSpan > 1:
        table["/ColSpan"] = attrs.colSpan
    if attrs.rowSpan and attrs.rowSpan > 1:
        table["/RowSpan"] = attrs.rowSpan
    if attrs.headers:
        table["/Headers"] = Array([String(id_) for id_ in attrs.headers])
    if attrs.summary:
        table["/Summary"] = String(attrs.summary)
    layout: dict[str, object] = {}
    if attrs.placement:
        layout["/Placement"] = Name("/" + attrs.placement)
    if attrs.bbox:
        layout["/BBox"] = Array([round(value, 3) for value in attrs.bbox])
    out: list[Object] = []
    if table:
        out.append(Dictionary({"/O": Name.Table, **table}))
    if attrs.listNumbering:
        out.append(Dictionary({"/O": Name.List, "/ListNumbering": Name("/" + attrs.listNumbering)}))
    if layout:
        out.append(Dictionary({"/O": Name.Layout, **layout}))
    return out
