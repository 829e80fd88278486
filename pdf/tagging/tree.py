"""The structure tree as ops make it: elements, who holds which content, and what is refused.

Ids, ranges and content held twice are checked at each op; which roles may stand in which (ISO 32000-1 14.8.4) only at
the end of a log, since a person may pass through a state that is not yet right. What is refused is a PdfError
OP_REFUSED that names the op; the tree is not used after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod

from pdf.errors import Code, PdfError
from pdf.tagging import ops
from pdf.tagging.ops import Attributes, Node, Ref

MAX_DEPTH = 200
#: Codes of a text item run to here where a Ref names no range of them.
WHOLE = 1 << 30


@dataclass(eq=False, slots=True)
class Element:
    """A structure element. Its kids are elements and content in reading order; content ranges are kept as Refs."""

    id: str
    role: str
    parent: Element | None = None
    kids: list[Element | Ref] = field(default_factory=list)
    alt: str = ""
    actual: str = ""
    expansion: str = ""
    lang: str = ""
    title: str = ""
    attrs: Attributes | None = None
    waiting: bool = False

    def elements(self) -> Iterator[Element]:
        """The kids that are elements."""
        return (kid for kid in self.kids if isinstance(kid, Element))


@dataclass(frozen=True, slots=True)
class Artifact:
    """How a piece of content that is not read is marked."""

    kind: str
    subtype: str | None = None


Owner = Element | Artifact
#: (first code, last code + 1, who holds it), in the order of the codes
Holdings = list[tuple[int, int, Owner]]


class Refused(Exception):
    """An op that cannot be applied to the tree as it is; says why."""


class Tree:
    """The state after a prefix of a log. `sizes` gives a page's number of items and of annotations."""

    def __init__(self, pages: int, sizes: Callable[[int], tuple[int, int]]) -> None:
        self.pages = pages
        self.sizes = sizes
        self.title: str | None = None
        self.lang: str | None = None
        self.clear()

    def clear(self) -> None:
        """An empty tree; title and language stay."""
        self.root = Element(ops.ROOT, "Document")
        self.byid = {self.root.id: self.root}
        self.held: dict[tuple[int, int], Holdings] = {}
        self.annots: dict[tuple[int, int], Element] = {}

    def apply(self, op: ops.Op, where: str = "") -> None:
        """Apply one op. Raises PdfError OP_REFUSED with `where` in its sentence."""
        try:
            self._apply(op)
        except Refused as refusal:
            raise PdfError(Code.OP_REFUSED, f"{where}{op.type}: {refusal}.") from refusal

    @singledispatchmethod
    def _apply(self, op: object) -> None:
        raise Refused(f"no rule for {op!r}")

    @_apply.register
    def _(self, op: ops.Reset) -> None:
        self.clear()

    @_apply.register
    def _(self, op: ops.Document) -> None:
        if op.title is not None:
            self.title = op.title
        if op.lang is not None:
            self.lang = op.lang

    @_apply.register
    def _(self, op: ops.Add) -> None:
        parent = self._find(op.parent)
        made = [self._build(node, parent, op.take, self._depth(parent) + 1) for node in op.nodes]
        self._insert(parent, op.at, made)

    @_apply.register
    def _(self, op: ops.Place) -> None:
        element = self._find(op.node)
        for ref in op.content:
            self._release(ref)
            self.hold(ref, element)
        self._insert(element, op.at, op.content)

    @_apply.register
    def _(self, op: ops.Artifact) -> None:
        artifact = Artifact(op.kind, op.subtype)
        for ref in op.content:
            if ref.a is not None:
                raise Refused("an annotation cannot be an artifact")
            self._release(ref)
            self.hold(ref, artifact)

    @_apply.register
    def _(self, op: ops.SetRole) -> None:
        self._movable(op.node).role = op.role

    @_apply.register
    def _(self, op: ops.SetText) -> None:
        element = self._find(op.node)
        if op.alt is not None:
            element.alt, element.waiting = op.alt, False
        for name in ("actual", "expansion", "lang", "title"):
            value = getattr(op, name)
            if value is not None:
                setattr(element, name, value)

    @_apply.register
    def _(self, op: ops.SetAttributes) -> None:
        self._find(op.node).attrs = op.attrs

    @_apply.register
    def _(self, op: ops.Move) -> None:
        element, parent = self._movable(op.node), self._find(op.parent)
        above: Element | None = parent
        while above is not None:
            if above is element:
                raise Refused(f"{op.node} would stand below itself")
            above = above.parent
        if self._depth(parent) + self._height(element) > MAX_DEPTH:
            raise Refused(f"the tree would be deeper than {MAX_DEPTH}")
        self._unlink(element)
        self._insert(parent, op.at, [element])
        element.parent = parent

    @_apply.register
    def _(self, op: ops.Merge) -> None:
        element, into = self._movable(op.node), self._find(op.into)
        above: Element | None = into
        while above is not None:
            if above is element:
                raise Refused(f"{op.into} is {op.node} or stands below it")
            above = above.parent
        self._unlink(element)
        self._adopt(element.kids, into)
        into.kids.extend(element.kids)
        del self.byid[element.id]

    @_apply.register
    def _(self, op: ops.Split) -> None:
        element = self._movable(op.node)
        if not 0 < op.at < len(element.kids):
            raise Refused(f"{op.node} has {len(element.kids)} kids and cannot be split at {op.at}")
        self._new(op.id)
        second = Element(op.id, element.role, element.parent, lang=element.lang, attrs=element.attrs)
        self.byid[op.id] = second
        second.kids, element.kids = element.kids[op.at :], element.kids[: op.at]
        self._adopt(second.kids, second)
        assert element.parent is not None
        element.parent.kids.insert(_index(element.parent, element) + 1, second)

    @_apply.register
    def _(self, op: ops.Remove) -> None:
        element = self._movable(op.node)
        parent = element.parent
        assert parent is not None
        at = _index(parent, element)
        self._adopt(element.kids, parent)
        parent.kids[at : at + 1] = element.kids
        del self.byid[element.id]

    # elements

    def _find(self, id_: str) -> Element:
        try:
            return self.byid[id_]
        except KeyError:
            raise Refused(f"there is no node {id_}") from None

    def _movable(self, id_: str) -> Element:
        if id_ == ops.ROOT:
            raise Refused("the document itself stays as it is")
        return self._find(id_)

    def _new(self, id_: str) -> None:
        if id_ in self.byid:
            raise Refused(f"there is a node {id_} already")

    def _build(self, node: Node, parent: Element, take: bool, depth: int) -> Element:
        self._new(node.id)
        if depth > MAX_DEPTH:
            raise Refused(f"the tree would be deeper than {MAX_DEPTH}")
        element = Element(
            node.id,
            node.role,
            parent,
            [],
            node.alt or "",
            node.actual or "",
            node.expansion or "",
            node.lang or "",
            node.title or "",
            node.attrs,
            node.waiting,
        )
        self.byid[node.id] = element
        for kid in node.kids:
            if isinstance(kid, Node):
                element.kids.append(self._build(kid, element, take, depth + 1))
            else:
                if take:
                    self._release(kid)
                self.hold(kid, element)
                element.kids.append(kid)
        return element

    def _insert(self, parent: Element, at: int | None, kids: Sequence[Element | Ref]) -> None:
        if at is None:
            parent.kids.extend(kids)
        elif at <= len(parent.kids):
            parent.kids[at:at] = kids
        else:
            raise Refused(f"{parent.id} has {len(parent.kids)} kids, there is no place {at}")

    def _unlink(self, element: Element) -> None:
        assert element.parent is not None
        del element.parent.kids[_index(element.parent, element)]

    def _adopt(self, kids: Sequence[Element | Ref], parent: Element) -> None:
        for kid in kids:
            if isinstance(kid, Element):
                kid.parent = parent
                continue
            if kid.a is not None:
                self.annots[kid.p, kid.a] = parent
                continue
            first, last = _codes(kid)
            for item in _items(kid):
                self.held[kid.p, item] = [
                    (a, b, parent if first <= a and b <= last else owner) for a, b, owner in self.held[kid.p, item]
                ]

    def _depth(self, element: Element) -> int:
        depth = 0
        above = element.parent
        while above is not None:
            above, depth = above.parent, depth + 1
        return depth

    def _height(self, element: Element) -> int:
        height, level = 0, [element]
        while level:
            height, level = height + 1, [kid for one in level for kid in one.elements()]
        return height

    # content

    def _check(self, ref: Ref) -> None:
        if ref.p >= self.pages:
            raise Refused(f"there is no page {ref.p}")
        items, annots = self.sizes(ref.p)
        if ref.a is not None:
            if ref.o is not None or ref.c is not None:
                raise Refused("a reference names items or an annotation, not both")
            if ref.a >= annots:
                raise Refused(f"page {ref.p} has no annotation {ref.a}")
        elif ref.o is None:
            raise Refused("a reference names neither items nor an annotation")
        else:
            first, last = ref.o
            if not first < last <= items:
                raise Refused(f"page {ref.p} has {items} items, not [{first}, {last})")
            if ref.c is not None and (last != first + 1 or not ref.c[0] < ref.c[1]):
                raise Refused("a range of codes is not empty and lies in one item")

    def hold(self, ref: Ref, owner: Owner) -> None:
        self._check(ref)
        if ref.a is not None:
            assert isinstance(owner, Element)
            if (ref.p, ref.a) in self.annots:
                raise Refused(f"annotation {ref.a} of page {ref.p} is in the tree already")
            self.annots[ref.p, ref.a] = owner
            return
        first, last = _codes(ref)
        for item in _items(ref):
            holdings = self.held.setdefault((ref.p, item), [])
            if any(a < last and first < b for a, b, _ in holdings):
                raise Refused(f"item {item} of page {ref.p} is held already")
            holdings.append((first, last, owner))
            if len(holdings) > 1:
                holdings.sort(key=lambda held: held[0])

    def _release(self, ref: Ref) -> None:
        """Take content from whoever holds it."""
        self._check(ref)
        if ref.a is not None:
            owner = self.annots.pop((ref.p, ref.a), None)
            if owner is not None:
                owner.kids = [
                    kid for kid in owner.kids if not (isinstance(kid, Ref) and kid.p == ref.p and kid.a == ref.a)
                ]
            return
        first, last = _codes(ref)
        losers: dict[int, Element] = {}
        for item in _items(ref):
            kept: Holdings = []
            for a, b, holder in self.held.get((ref.p, item), ()):
                if b <= first or last <= a:
                    kept.append((a, b, holder))
                    continue
                if isinstance(holder, Element):
                    losers[id(holder)] = holder
                if a < first:
                    kept.append((a, first, holder))
                if last < b:
                    kept.append((last, b, holder))
            self.held[ref.p, item] = kept
        for loser in losers.values():
            loser.kids = [part for kid in loser.kids for part in _without(kid, ref)]


def _index(parent: Element, kid: Element) -> int:
    return next(i for i, other in enumerate(parent.kids) if other is kid)


def _items(ref: Ref) -> range:
    assert ref.o is not None
    return range(*ref.o)


def _codes(ref: Ref) -> tuple[int, int]:
    return ref.c if ref.c is not None else (0, WHOLE)


def _without(kid: Element | Ref, gone: Ref) -> list[Element | Ref]:
    """What is left of a kid when content is taken away."""
    if isinstance(kid, Element) or kid.a is not None or kid.p != gone.p:
        return [kid]
    assert kid.o is not None and gone.o is not None
    first, last = max(kid.o[0], gone.o[0]), min(kid.o[1], gone.o[1])
    if first >= last:
        return [kid]
    out: list[Element | Ref] = []
    if kid.o[0] < first:
        out.append(Ref(kid.p, (kid.o[0], first)))
    if gone.c is not None or kid.c is not None:  # then both meet in one item
        a, b = _codes(kid)
        x, y = _codes(gone)
        if a < x:
            out.append(Ref(kid.p, (first, last), (a, min(b, x))))
        if y < b:
            out.append(Ref(kid.p, (first, last), (max(a, y), b)))
    if last < kid.o[1]:
        out.append(Ref(kid.p, (last, kid.o[1])))
    return out


# Which roles may stand where, as far as PDF/UA-1 7.2 has it checked.
_PARENTS = {
    "TR": {"Table", "THead", "TBody", "TFoot"},
    "TH": {"TR"},
    "TD": {"TR"},
    "THead": {"Table"},
    "TBody": {"Table"},
    "TFoot": {"Table"},
    "LI": {"L"},
    "LBody": {"LI"},
    "TOCI": {"TOC"},
}
_KIDS = {
    "Table": {"TR", "THead", "TBody", "TFoot", "Caption"},
    "THead": {"TR"},
    "TBody": {"TR"},
    "TFoot": {"TR"},
    "TR": {"TH", "TD"},
    "L": {"L", "LI", "Caption"},
    "LI": {"Lbl", "LBody"},
    "TOC": {"TOC", "TOCI", "Caption"},
}


def check(tree: Tree) -> None:
    """Whether every element may stand where it stands. Raises PdfError OP_REFUSED naming the first that may not."""
    stack = [tree.root]
    while stack:
        element = stack.pop()
        allowed = _KIDS.get(element.role)
        for kid in element.kids:
            if isinstance(kid, Ref):
                if allowed is not None:
                    raise PdfError(Code.OP_REFUSED, f"{element.id}: content cannot stand right in a {element.role}.")
                continue
            if allowed is not None and kid.role not in allowed:
                raise PdfError(Code.OP_REFUSED, f"{kid.id}: a {kid.role} cannot stand in a {element.role}.")
            wanted = _PARENTS.get(kid.role)
            if wanted is not None and element.role not in wanted:
                raise PdfError(Code.OP_REFUSED, f"{kid.id}: a {kid.role} cannot stand in a {element.role}.")
            if kid.role == "Document":
                raise PdfError(Code.OP_REFUSED, f"{kid.id}: there is one Document, and it is the top.")
            stack.append(kid)
        roles = [kid.role for kid in element.elements()]
        if element.role in ("Table", "L", "TOC") and "Caption" in roles:
            middle = roles[1:-1] if len(roles) > 1 else []
            if "Caption" in middle or roles.count("Caption") > 1:
                raise PdfError(
                    Code.OP_REFUSED, f"{element.id}: the caption is the first or the last of a {element.role}."
                )
        if roles.count("THead") > 1 or roles.count("TFoot") > 1:
            raise PdfError(Code.OP_REFUSED, f"{element.id}: a table has one head and one foot.")
