"""What a page paints, as one flat list: the content address of everything that can be tagged.

A leaf is one painting operator that paints something: text shown, a path painted, an image, a shading. Form XObjects
are entered where they are painted, so their leaves take their place in the list; only one that cannot be entered (it
paints itself, lies too deep, or the page already has too many leaves) is a leaf itself. Tiling patterns and Type 3
glyphs are resources, not content, and are never entered. The index of a leaf is what ops address (`pdf.tagging.ops`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pikepdf

from pdf import streams
from pdf.content import scanner
from pdf.content.scanner import Operator

#: Forms nested deeper than this stay closed; PDFium's own limit is higher.
MAX_DEPTH = 16
#: A page that paints more than this has its further forms left closed.
MAX_LEAVES = 400_000

_TEXT = frozenset((b"Tj", b"TJ", b"'", b'"'))
_MARKS = frozenset((b"BDC", b"BMC", b"EMC", b"DP", b"MP"))
_PATH = frozenset((b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*", b"S", b"s"))


@dataclass(frozen=True)
class Paint:
    """A painting operator of one stream: `kind` text | path | image | shading | xobject; `op` is its place in
    `Stream.ops`; `name` that of the XObject."""

    kind: str
    op: int
    name: str = ""


@dataclass
class Stream:
    """A scanned content stream, shared by all of its uses."""

    data: bytes
    ops: list[Operator]
    paints: list[Paint]
    #: whether it holds marked content (`BMC`, `BDC`, `MP`, `DP`), or an end of it that has no beginning
    marked: bool
    #: places in `ops` of operators that show an empty text
    hollow: frozenset[int] = frozenset()


@dataclass
class Use:
    """A stream where it is painted: the page itself, or a form painted by `Use.paint` of `parent`."""

    stream: Stream
    resources: pikepdf.Object
    form: pikepdf.Object | None = None
    parent: int = -1
    paint: int = -1
    #: the leaves it holds are [first, last)
    first: int = 0
    last: int = 0
    #: paint index → use, for the forms entered
    entered: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Leaf:
    """One thing painted: `kind` text | path | image | shading | form (one that was not entered)."""

    kind: str
    use: int
    paint: int


@dataclass
class Painting:
    """The flat list of a page. `uses[0]` is the page's own content."""

    uses: list[Use]
    leaves: list[Leaf]


def scan(data: bytes) -> Stream:
    """Scan a stream into its operators of interest and what they paint."""
    ops: list[Operator] = []
    paints: list[Paint] = []
    hollow: list[int] = []
    marked = False
    for op in scanner.operators(data):
        name = op.name
        if name in _TEXT:
            if scanner.shows_text(data, op):
                paints.append(Paint("text", len(ops)))
            else:
                hollow.append(len(ops))
        elif name in _PATH:
            if scanner.has_path(data, op):
                paints.append(Paint("path", len(ops)))
        elif name == b"Do":
            target = scanner.name_operand(data, op)
            if target is not None:
                paints.append(Paint("xobject", len(ops), target))
        elif name == b"BI":
            paints.append(Paint("image", len(ops)))
        elif name == b"sh":
            paints.append(Paint("shading", len(ops)))
        elif name in _MARKS:
            marked = True
        ops.append(op)
    return Stream(data, ops, paints, marked, frozenset(hollow))


class Painter:
    """Reads the paintings of a document's pages. Scans of forms are kept, since pages share them."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.pdf = pdf
        self._forms: dict[tuple[int, int], Stream] = {}

    def page(self, page: pikepdf.Page) -> Painting:
        """The painting of a page. Damaged streams and resources count as empty, as viewers have it."""
        resources = inherited(page.obj, "/Resources")
        if not isinstance(resources, pikepdf.Dictionary):
            resources = pikepdf.Dictionary()
        painting = Painting([Use(scan(streams.content(page)), resources)], [])
        self._walk(painting, 0, resources, ())
        return painting

    def _walk(
        self, painting: Painting, number: int, page_resources: pikepdf.Object, path: tuple[tuple[int, int], ...]
    ) -> None:
        use = painting.uses[number]
        leaves = painting.leaves
        use.first = len(leaves)
        xobjects = _dictionary(use.resources, "/XObject")
        found: dict[str, tuple[str, pikepdf.Object | None]] = {}
        for at, paint in enumerate(use.stream.paints):
            if paint.kind != "xobject":
                leaves.append(Leaf(paint.kind, number, at))
                continue
            if paint.name not in found:
                found[paint.name] = _xobject(xobjects, paint.name)
            kind, target = found[paint.name]
            if kind == "image":
                leaves.append(Leaf("image", number, at))
            elif kind == "form" and target is not None:
                key = target.objgen
                if key in path or len(path) >= MAX_DEPTH or len(leaves) >= MAX_LEAVES:
                    leaves.append(Leaf("form", number, at))
                    continue
                resources = target.get("/Resources")
                if not isinstance(resources, pikepdf.Dictionary):
                    resources = page_resources
                use.entered[at] = len(painting.uses)
                painting.uses.append(Use(self._form(target), resources, target, number, at))
                self._walk(painting, len(painting.uses) - 1, page_resources, (*path, key))
        use.last = len(leaves)

    def _form(self, form: pikepdf.Object) -> Stream:
        key = form.objgen
        if key not in self._forms:
            self._forms[key] = scan(streams.decoded(form))
        return self._forms[key]


def inherited(page: pikepdf.Object, key: str) -> pikepdf.Object | None:
    """An inheritable page attribute (ISO 32000-1 7.7.3.4)."""
    node = page
    for _ in range(64):
        value = node.get(key)
        if value is not None:
            return value
        parent = node.get("/Parent")
        if not isinstance(parent, pikepdf.Dictionary):
            return None
        node = parent
    return None


def _dictionary(owner: pikepdf.Object, key: str) -> pikepdf.Object | None:
    value = owner.get(key)
    return value if isinstance(value, pikepdf.Dictionary) else None


def _xobject(xobjects: pikepdf.Object | None, name: str) -> tuple[str, pikepdf.Object | None]:
    if xobjects is None:
        return "", None
    target = xobjects.get("/" + name) if name else None
    if not isinstance(target, pikepdf.Stream):
        return "", None
    subtype = target.get("/Subtype")
    if subtype == pikepdf.Name.Image:
        return "image", target
    if subtype == pikepdf.Name.Form:
        return "form", target
    return "", None
