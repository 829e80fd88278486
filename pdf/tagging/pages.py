"""The pages of a base as replay needs them: what each paints, and how its content is marked and written back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import pikepdf

from pdf.content import scanner
from pdf.content.painting import Painter, Painting
from pdf.tagging import marks
from pdf.tagging.split import Splitter
from pdf.tagging.tree import WHOLE, Artifact, Element

#: Scanned pages are kept up to this much content; the others are scanned again when they are marked.
KEEP_BYTES = 64 << 20

UNREAD = Artifact("Layout")


class Slot:
    """A stretch of one element's content on one page; gets the places where its content is marked."""

    __slots__ = ("element", "page", "places")

    def __init__(self, element: Element, page: int) -> None:
        self.element = element
        self.page = page
        #: (form that holds the content or None for the page itself, MCID)
        self.places: list[tuple[pikepdf.Object | None, int]] = []


#: Item → (first code, last code + 1, who reads it), in order and without overlap.
Assigned = Mapping[int, Sequence[tuple[int, int, Slot | Artifact]]]


class Pages:
    """The scanned pages of a PDF, scanned when they are asked for."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.pdf = pdf
        self.list = list(pdf.pages)
        self._painter = Painter(pdf)
        self._kept: dict[int, Painting] = {}
        self._sizes: dict[int, tuple[int, int]] = {}
        self._bytes = 0

    def painting(self, number: int) -> Painting:
        """What the page paints, as it stands in the base."""
        found = self._kept.get(number)
        if found is None:
            found = self._painter.page(self.list[number])
            size = len(found.uses[0].stream.data)
            if self._bytes + size <= KEEP_BYTES:
                self._bytes += size
                self._kept[number] = found
        return found

    def sizes(self, number: int) -> tuple[int, int]:
        """(items, annotations) of a page."""
        if number not in self._sizes:
            annots = self.list[number].obj.get("/Annots")
            count = len(annots) if isinstance(annots, pikepdf.Array) else 0
            self._sizes[number] = (len(self.painting(number).leaves), count)
        return self._sizes[number]


class Marker:
    """Marks the content of pages and numbers it. `parents[n]` lists the elements of /StructParents n by MCID."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.pdf = pages.pdf
        self.parents: list[list[Element]] = []
        self._cleaned: set[tuple[int, int]] = set()

    def mark(self, number: int, assigned: Assigned) -> None:
        """Mark one page. What nobody reads becomes an artifact (ISO 14289-1 7.1: all content is one or the other)."""
        page = self.pages.list[number]
        painting = self.pages.painting(number)
        self._clean_forms(painting)
        if not painting.leaves:
            if "/StructParents" in page.obj:
                del page.obj["/StructParents"]
            return
        job = _Page(self, page, painting, number, assigned)
        data = job.write(0, None)
        page.obj.Contents = self.pdf.make_stream(data)

    def key(self) -> int:
        """The next /StructParents key."""
        self.parents.append([])
        return len(self.parents) - 1

    def _clean_forms(self, painting: Painting) -> None:
        """Take old marks and keys out of the forms a page paints; each form once."""
        for use in painting.uses[1:]:
            form = use.form
            assert form is not None
            if form.objgen in self._cleaned:
                continue
            self._cleaned.add(form.objgen)
            for key in ("/StructParents", "/StructParent"):
                if key in form:
                    del form[key]
            if use.stream.marked:
                stays = _stays(use.resources)
                form.write(marks.marked(use.stream, [()] * len(use.stream.paints), lambda label: b"", stays))


class _Page:
    """One page while it is marked."""

    def __init__(self, marker: Marker, page: pikepdf.Page, painting: Painting, number: int, assigned: Assigned) -> None:
        self.marker = marker
        self.page = page
        self.painting = painting
        self.number = number
        self.labels = [self._parts(assigned.get(item)) for item in range(len(painting.leaves))]
        self.copies = 0
        #: use → the /XObject dictionary of its own that copies are put into
        self.xobjects: dict[int, pikepdf.Object] = {}

    def _parts(self, held: Sequence[tuple[int, int, Slot | Artifact]] | None) -> marks.Parts:
        if held is None:
            return ((0, WHOLE, UNREAD),)
        parts: list[tuple[int, int, Hashable]] = []
        at = 0
        for first, last, label in held:
            if first > at:
                parts.append((at, first, UNREAD))
            parts.append((first, last, label))
            at = last
        if at < WHOLE:
            parts.append((at, WHOLE, UNREAD))
        return parts

    def write(self, number: int, form: pikepdf.Object | None) -> bytes:
        """The marked content of a use; forms in it that hold more than one label get a copy of their own."""
        use = self.painting.uses[number]
        labels: list[marks.Parts] = [()] * len(use.stream.paints)
        renamed: dict[int, bytes] = {}
        for leaf in range(use.first, use.last):
            where = self.painting.leaves[leaf]
            if where.use == number:
                labels[where.paint] = self.labels[leaf]
        for paint, inner in use.entered.items():
            found = self._one_label(inner)
            if found is None:
                labels[paint] = ((0, WHOLE, None),)
                renamed[paint] = self._copy(inner, number, form)
            elif found != ():
                labels[paint] = ((0, WHOLE, found[0]),)
        marker = self.marker
        key = -1
        elements: list[Element] = []

        def begin(label: Hashable) -> bytes:
            nonlocal key, elements
            if isinstance(label, Artifact):
                subtype = f" /Subtype /{label.subtype}" if label.subtype else ""
                return f"/Artifact <</Type /{label.kind}{subtype}>>".encode()
            assert isinstance(label, Slot)
            if key < 0:
                key = marker.key()
                elements = marker.parents[key]
            label.places.append((form, len(elements)))
            elements.append(label.element)
            return b"/%s <</MCID %d>>" % (label.element.role.encode(), len(elements) - 1)

        splitter = Splitter(use.stream, use.resources)
        data = marks.marked(use.stream, labels, begin, _stays(use.resources), splitter, renamed, UNREAD)
        owner = self.page.obj if form is None else form
        if key >= 0:
            owner.StructParents = key
        elif "/StructParents" in owner:
            del owner["/StructParents"]
        return data

    def _one_label(self, number: int) -> tuple[Hashable, ...] | None:
        """The label of all that a form paints; () where it paints nothing, None where there are several."""
        use = self.painting.uses[number]
        label: tuple[Hashable, ...] = ()
        for leaf in range(use.first, use.last):
            parts = self.labels[leaf]
            if len(parts) != 1 or (label and parts[0][2] != label[0]):
                return None
            label = (parts[0][2],)
        return label

    def _copy(self, inner: int, outer: int, outer_form: pikepdf.Object | None) -> bytes:
        """Give the form its own copy, marked inside, in the resources of what paints it; returns the copy's name.

        A form holds MCIDs of one place only (ISO 32000-1 14.7.4.2), and may be painted by other pages too."""
        use = self.painting.uses[inner]
        assert use.form is not None
        copy = self.marker.pdf.make_stream(b"")
        for name, value in use.form.items():
            if name not in ("/Length", "/Filter", "/DecodeParms"):
                copy[name] = value
        copy.write(self.write(inner, copy))
        owner = self.page.obj if outer_form is None else outer_form
        if outer not in self.xobjects:
            resources = _own(owner, "/Resources", self.painting.uses[outer].resources)
            self.xobjects[outer] = _own(resources, "/XObject", resources.get("/XObject"))
        xobjects = self.xobjects[outer]
        self.copies += 1
        name = f"Marked{self.number}x{self.copies}"
        xobjects["/" + name] = copy
        return name.encode()


def _own(owner: pikepdf.Object, key: str, now: pikepdf.Object | None) -> pikepdf.Object:
    """A dictionary of `owner` that nothing else shares, so that it can be added to."""
    mine = pikepdf.Dictionary()
    if isinstance(now, pikepdf.Dictionary):
        for name, value in now.items():
            mine[name] = value
    owner[key] = mine
    return owner[key]


def _stays(resources: pikepdf.Object) -> Callable[[bytes], bool]:
    """Whether a named property list is worth its mark: it replaces text, and has no MCID of its own."""
    lists = resources.get("/Properties")

    def stays(name: bytes) -> bool:
        found = lists.get("/" + scanner.decode_name(name)) if isinstance(lists, pikepdf.Dictionary) and name else None
        return isinstance(found, pikepdf.Dictionary) and "/ActualText" in found and "/MCID" not in found

    return stays
