"""The annotations of a page as plain values (ISO 32000-1 12.5): where they lie, what they do, what they are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pikepdf

Box = tuple[float, float, float, float]

_INVISIBLE, _HIDDEN, _NOVIEW = 1, 2, 32


@dataclass(frozen=True)
class Annot:
    """One annotation; `index` is its place in the page's /Annots (what a Ref's "a" addresses).

    `boxes` are its quadrilaterals where it has some, else its rectangle; reader space. `target` is the page number
    (from 0) a link goes to inside the document, -1 for none; `top` the height there in that page's user space.
    Of widgets: `field_type` Tx | Btn | Ch | Sig, full `name`, `tooltip` (/TU). `contents` is /Contents.
    """

    index: int
    subtype: str
    box: Box
    boxes: tuple[Box, ...]
    hidden: bool = False
    uri: str = ""
    target: int = -1
    top: float | None = None
    contents: str = ""
    field_type: str = ""
    name: str = ""
    tooltip: str = ""


class Annots:
    """Reads the annotations of a document's pages. Named destinations and page numbers are looked up once."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.pdf = pdf
        self._numbers: dict[tuple[int, int], int] | None = None
        self._named: dict[str, pikepdf.Object] | None = None

    def read(self, page: pikepdf.Page, box: Callable[[float, float, float, float], Box]) -> list[Annot]:
        """The annotations of a page; `box` turns a rectangle of user space into one of the reader's."""
        listed = page.obj.get("/Annots")
        if not isinstance(listed, pikepdf.Array):
            return []
        out = []
        for index, annot in enumerate(listed):
            if not isinstance(annot, pikepdf.Dictionary):
                continue
            rect = numbers(annot.get("/Rect"), 4)
            if rect is None:
                continue
            out.append(self._annot(index, annot, rect, box))
        return out

    def _annot(self, index: int, annot: pikepdf.Object, rect: list[float], box: Callable[..., Box]) -> Annot:
        subtype = name(annot.get("/Subtype"))
        flags = annot.get("/F")
        hidden = isinstance(flags, int) and bool(flags & (_INVISIBLE | _HIDDEN | _NOVIEW))
        whole = box(*rect)
        uri, target, top = "", -1, None
        boxes: tuple[Box, ...] = (whole,)
        if subtype == "Link":
            uri, target, top = self._destination(annot)
            quads = annot.get("/QuadPoints")
            if isinstance(quads, pikepdf.Array) and len(quads) >= 8:
                points = numbers(quads, len(quads) // 8 * 8)
                if points:
                    boxes = tuple(
                        box(min(q[0::2]), min(q[1::2]), max(q[0::2]), max(q[1::2]))
                        for q in (points[i : i + 8] for i in range(0, len(points), 8))
                    )
        field_type = full_name = tooltip = ""
        if subtype == "Widget":
            field_type = name(field_value(annot, "/FT"))
            full_name = field_name(annot)
            tooltip = text(field_value(annot, "/TU"))
        return Annot(
            index,
            subtype,
            whole,
            boxes,
            hidden,
            uri,
            target,
            top,
            text(annot.get("/Contents")),
            field_type,
            full_name,
            tooltip,
        )

    def _destination(self, annot: pikepdf.Object) -> tuple[str, int, float | None]:
        action = annot.get("/A")
        dest = annot.get("/Dest")
        if isinstance(action, pikepdf.Dictionary):
            kind = name(action.get("/S"))
            if kind == "URI":
                return text(action.get("/URI")), -1, None
            if kind == "GoTo":
                dest = action.get("/D")
        return ("", *self.resolve(dest))

    def resolve(self, dest: object) -> tuple[int, float | None]:
        """(page number or -1, top or None) of an explicit or named destination (ISO 32000-1 12.3.2)."""
        if isinstance(dest, pikepdf.String | pikepdf.Name):
            dest = self._names().get(str(dest).removeprefix("/") if isinstance(dest, pikepdf.Name) else str(dest))
            if isinstance(dest, pikepdf.Dictionary):
                dest = dest.get("/D")
        if not isinstance(dest, pikepdf.Array) or len(dest) == 0:
            return -1, None
        page = dest[0]
        if not isinstance(page, pikepdf.Dictionary):
            return -1, None
        if self._numbers is None:
            self._numbers = {p.obj.objgen: i for i, p in enumerate(self.pdf.pages)}
        number = self._numbers.get(page.objgen, -1)
        top = None
        kind = name(dest[1]) if len(dest) > 1 else ""
        at = {"XYZ": 3, "FitH": 2, "FitBH": 2, "FitR": 5}.get(kind)
        if at is not None and len(dest) > at:
            top = number_of(dest[at])
        return number, top

    def _names(self) -> dict[str, pikepdf.Object]:
        if self._named is None:
            self._named = {}
            names = self.pdf.Root.get("/Names")
            tree = names.get("/Dests") if isinstance(names, pikepdf.Dictionary) else None
            if isinstance(tree, pikepdf.Dictionary):
                for name_, value in tree_entries(tree, "/Names"):
                    self._named.setdefault(str(name_), value)
            old = self.pdf.Root.get("/Dests")
            if isinstance(old, pikepdf.Dictionary):
                for key, value in old.items():
                    self._named.setdefault(key.removeprefix("/"), value)
        return self._named


def tree_entries(tree: pikepdf.Object, leaves: str) -> list[tuple[pikepdf.Object, pikepdf.Object]]:
    """The entries of a name tree (`leaves` /Names) or number tree (/Nums), each node once however it loops."""
    out: list[tuple[pikepdf.Object, pikepdf.Object]] = []
    seen: set[tuple[int, int]] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, pikepdf.Dictionary) or (node.is_indirect and node.objgen in seen):
            continue
        seen.add(node.objgen)
        listed = node.get(leaves)
        if isinstance(listed, pikepdf.Array):
            values = list(listed)
            out.extend(zip(values[0::2], values[1::2], strict=False))
        kids = node.get("/Kids")
        if isinstance(kids, pikepdf.Array):
            stack.extend(reversed(list(kids)))
    return out


def field_value(widget: pikepdf.Object, key: str) -> pikepdf.Object | None:
    """A field's value, looked for in the widget and then in its parents (ISO 32000-1 12.7.3.1)."""
    node: object = widget
    for _ in range(32):
        if not isinstance(node, pikepdf.Dictionary):
            return None
        value = node.get(key)
        if value is not None:
            return value
        node = node.get("/Parent")
    return None


def field_name(widget: pikepdf.Object) -> str:
    """The fully qualified name of a widget's field, "a.b.c" (ISO 32000-1 12.7.3.2)."""
    parts: list[str] = []
    node: object = widget
    for _ in range(32):
        if not isinstance(node, pikepdf.Dictionary):
            break
        part = text(node.get("/T"))
        if part:
            parts.append(part)
        node = node.get("/Parent")
    return ".".join(reversed(parts))


def name(value: object) -> str:
    """A name's text without its slash; of anything else nothing."""
    return str(value)[1:] if isinstance(value, pikepdf.Name) else ""


def text(value: object) -> str:
    """A text string's text; of anything else nothing."""
    return str(value) if isinstance(value, pikepdf.String) else ""


def number_of(value: object) -> float | None:
    """A number as a float; None for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def numbers(value: object, count: int) -> list[float] | None:
    """The first `count` numbers of an array, None if there are not that many."""
    if not isinstance(value, pikepdf.Array) or len(value) < count:
        return None
    found = [number_of(value[i]) for i in range(count)]
    return None if any(v is None for v in found) else found  # type: ignore[return-value]
