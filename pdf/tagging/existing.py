"""A file that comes in tagged: whether its tree is good enough to keep, and the ops that complete it.

A kept tree stays as it is read (`pdf.tagging.imported`); what it lacks is added by ops, so the log still tells
everything. A tree that would mislead a listener is replaced: the log begins with a `reset` that says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pikepdf

from pdf.errors import PdfError
from pdf.tagging.alt import placeholder
from pdf.tagging.imported import import_tree
from pdf.tagging.ops import Attributes, Document, Op, Reset, SetAttributes, SetText
from pdf.tagging.pages import Pages
from pdf.tagging.tree import Element, Tree, check

#: A tree that holds less of the text than this leaves too much unread.
COVERED = 0.9
#: More of the text than this in one element is no structure.
ONE_ELEMENT = 0.8
#: A document of this many text items is expected to have more than one kind of element.
SMALL = 40


@dataclass(frozen=True)
class Existing:
    """What became of the tree a file came with: `kept`, the `reasons` against it, the `ops` that begin the log."""

    kept: bool
    reasons: tuple[str, ...]
    ops: tuple[Op, ...]


def judge(base: Path, title: str, lang: str) -> Existing:
    """Look at the tree of a tagged base. `title` and `lang` are what the document is to have where it says nothing."""
    with pikepdf.open(base) as pdf:
        pages = Pages(pdf)
        tree = Tree(len(pages.list), pages.sizes)
        import_tree(pdf, pages, tree)
        reasons = _faults(pages, tree)
        if reasons:
            return Existing(False, reasons, (Reset(reason="; ".join(reasons)),))
        return Existing(True, (), (Document(title=title, lang=tree.lang or lang), *_completed(tree)))


def _faults(pages: Pages, tree: Tree) -> tuple[str, ...]:
    out: list[str] = []
    try:
        check(tree)
    except PdfError as error:
        out.append(error.message.rstrip("."))
    held: dict[int, int] = {}
    texts = covered = 0
    for number in range(len(pages.list)):
        for item, leaf in enumerate(pages.painting(number).leaves):
            if leaf.kind != "text":
                continue
            texts += 1
            holdings = tree.held.get((number, item))
            if holdings:
                covered += 1
                owner = id(holdings[0][2])
                held[owner] = held.get(owner, 0) + 1
    if texts and covered < COVERED * texts:
        out.append(f"only {covered * 100 // texts} % of the text is in the tree")
    if texts >= SMALL and held and max(held.values()) > ONE_ELEMENT * texts:
        out.append("one element holds nearly all of the text")
    roles = [element.role for element in tree.byid.values() if element is not tree.root]
    if texts >= SMALL and len(set(roles) - {"Part", "Sect", "Div", "Art", "NonStruct", "Span", "Link"}) < 2:
        out.append("the elements do not tell headings, lists or tables from paragraphs")
    if any(element.role == "Table" and not _has_cells(element) for element in tree.byid.values()):
        out.append("a table has no rows and cells")
    return tuple(out)


def _has_cells(table: Element) -> bool:
    stack = list(table.elements())
    while stack:
        element = stack.pop()
        if element.role in ("TH", "TD"):
            return True
        stack.extend(element.elements())
    return False


def _completed(tree: Tree) -> list[Op]:
    """Ops for what the tree lacks and can be told from it: placeholders for figures, the direction of header cells."""
    out: list[Op] = []
    stack = [tree.root]
    while stack:
        element = stack.pop()
        if element.role in ("Figure", "Formula") and not (element.alt or element.actual):
            out.append(SetText(node=element.id, alt=placeholder(_page(element))))
        if element.role == "TH" and (element.attrs is None or not (element.attrs.scope or element.attrs.headers)):
            old = element.attrs
            scope = "Column" if _in_first_row(element) else "Row"
            spans = {"colSpan": old.colSpan, "rowSpan": old.rowSpan} if old else {}
            out.append(SetAttributes(node=element.id, attrs=Attributes(scope=scope, **spans)))  # type: ignore[arg-type]
        stack.extend(reversed(list(element.elements())))
    return out


def _in_first_row(cell: Element) -> bool:
    row = cell.parent
    group = row.parent if row is not None else None
    if row is None or group is None:
        return True
    return group.role == "THead" or next(group.elements()) is row or all(k.role == "TH" for k in row.elements())


def _page(element: Element) -> int:
    for kid in element.kids:
        found = _page(kid) if isinstance(kid, Element) else kid.p
        if found >= 0:
            return found
    return 0
