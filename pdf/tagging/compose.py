"""Analyses of pages to the ops of a document: what only the whole document shows is decided here.

Running heads and feet, heading levels, lists and tables that go on over a page, title and language. Deterministic: the
same analyses give the same ops, whatever chunks they came in. Each item of a page is placed at most once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from pdf import language
from pdf.layout.model import Block, PageAnalysis
from pdf.layout.pack import walk
from pdf.tagging.compose_flow import Entry, body_style, flow
from pdf.tagging.compose_furniture import furniture
from pdf.tagging.compose_headings import headings
from pdf.tagging.compose_lists import List, lists
from pdf.tagging.compose_nodes import Nodes
from pdf.tagging.compose_tables import continued
from pdf.tagging.ops import ROOT, Add, Artifact, Document, Node, Op

if TYPE_CHECKING:
    from pdf.inspect import Inspection


def compose(analyses: Sequence[PageAnalysis], inspection: Inspection | None = None) -> list[Op]:
    """The ops that tag a document from nothing: `document`, then for each page its artifacts and its nodes.

    `inspection` gives the title and the language the file declares. Pages may come in any order.
    """
    pages = sorted(analyses, key=lambda p: p.number)
    heads = furniture(pages)
    entries = flow(pages, heads)
    body = body_style(pages)
    levels = headings(entries, body)
    lang = language.of_document(
        [e.block.text for e in entries if e.block.text], (inspection.language or "") if inspection else ""
    )
    ops: list[Op] = [Document(title=title(entries, levels, inspection), lang=lang if lang != "und" else "en")]
    nodes = Nodes(pages, lang)
    groups = lists(entries, levels)
    joined = continued(entries)
    by_page: dict[int, list[Entry]] = {p.number: [] for p in pages}
    for entry in entries:
        by_page[entry.page].append(entry)
    left_out: dict[int, list[tuple[str, Block]]] = {p.number: [] for p in pages}
    for (number, _), head in sorted(heads.items(), key=lambda h: h[0]):
        left_out[number].append(head)
    for page in pages:
        kept = left_out[page.number]
        links = [n for _, block in kept for n in nodes.links(page.number, block)]
        ops.extend(running(page, kept, nodes))
        ops.extend(page_ops(page, by_page[page.number], levels, groups, joined, nodes))
        if links:
            # a link must be in the tree, also in a running head (ISO 14289-1 7.18.5)
            ops.append(Add((Node(nodes.id(page.number), "P", tuple(links)),), ROOT))
    return ops


def title(entries: Sequence[Entry], levels: dict[int, int], inspection: Inspection | None) -> str | None:
    """The document's title: the file's own where it says something, else its first heading on the first pages."""
    declared = " ".join((inspection.title or "").split()) if inspection else ""
    if declared and says_something(declared):
        return declared[:500]
    found = [e for e in entries if e.key in levels and e.page < entries[0].page + 3 and len(e.block.text) > 2]
    if found:
        best = max(found, key=lambda e: (e.block.style.size if e.block.style else 0.0, -e.key))
        return best.block.text[:300]
    first = next((e.block.text for e in entries if len(e.block.text) > 3), "")
    return first[:120] or (declared or None)


def says_something(text: str) -> bool:
    """Whether a declared title is one, rather than a file's name or a program's default."""
    low = text.lower()
    if low in (
        "untitled",
        "document",
        "title",
        "none",
        "unknown",
        "layout 1",
        "print",
        "slide 1",
        "powerpoint presentation",
    ):
        return False
    if (
        low.startswith(("microsoft word -", "untitled", "microsoft powerpoint -"))
        or low.rsplit(".", 1)[-1] in _SUFFIXES
    ):
        return False
    return sum(map(str.isalpha, text)) >= 3


_SUFFIXES = frozenset(
    ("doc", "docx", "pdf", "indd", "qxd", "tex", "dvi", "ps", "odt", "rtf", "ppt", "pptx", "xls", "xlsx", "html", "pub")
)


def running(page: PageAnalysis, kept: Sequence[tuple[str, Block]], nodes: Nodes) -> list[Op]:
    """Artifact ops for a page's running heads and feet, watermarks and line numbers."""
    out: list[Op] = []
    for kind, block in kept:
        refs = nodes.block_refs(page.number, block)
        if refs:
            subtype = {"head": "Header", "foot": "Footer", "watermark": "Watermark"}.get(kind)
            out.append(Artifact(refs, "Pagination", subtype))  # type: ignore[arg-type]
    for artifact in page.artifacts:
        refs = nodes.refs(page.number, artifact.refs)
        if refs:
            out.append(Artifact(refs, "Layout"))
    return out


def page_ops(
    page: PageAnalysis,
    entries: Sequence[Entry],
    levels: dict[int, int],
    groups: dict[int, List],
    joined: dict[int, int],
    nodes: Nodes,
) -> list[Op]:
    """A page's nodes: one `add` for what begins on it, and one before for each list or table that goes on."""
    fresh: list[Node] = []
    out: list[Op] = []
    called = Called(nodes.marks[page.number])
    at = 0
    while at < len(entries):
        entry = entries[at]
        called.seen(fresh, entries[at])
        if entry.key in groups:
            group = groups[entry.key]
            stop = at
            while stop < len(entries) and entries[stop].key in group.members:
                called.seen(fresh, entries[stop])
                stop += 1
            parent, made = nodes.list_part(group, {e.key for e in entries[at:stop]})
            if parent:
                out.extend(Add((n,), p) for p, n in parent)
            fresh.extend(made)
            at = stop
            continue
        if entry.block.role == "TOCI":
            stop = at
            while stop < len(entries) and entries[stop].block.role == "TOCI":
                stop += 1
            fresh.extend(nodes.contents(entries[at:stop]))
            at = stop
            continue
        if entry.key in joined and joined[entry.key] in nodes.ids:
            rows = nodes.rows(entry)
            if rows:
                out.append(Add(tuple(rows), nodes.ids[joined[entry.key]]))
                nodes.ids[entry.key] = nodes.ids[joined[entry.key]]
            at += 1
            continue
        node = nodes.node(entry, levels.get(entry.key, 0))
        if node is not None and not called.holds(entry, node):
            fresh.append(node)
        at += 1
    if fresh:
        out.append(Add(tuple(called.placed(fresh)), ROOT))
    return out


class Called:
    """Puts the notes of a page behind what calls them: there they are read where they belong (ISO 32000-1 14.8.4.4.1).

    `marks` are those of the page's notes. A note nobody calls stays where it is.
    """

    def __init__(self, marks: Set[str]) -> None:
        self.marks = marks
        self.callers: dict[str, int] = {}
        self.notes: dict[int, list[Node]] = {}
        self.last = -1

    def seen(self, fresh: Sequence[Node], entry: Entry) -> None:
        """A block that is about to become the next node (or a part of it)."""
        if entry.block.role != "Note" and self.marks:
            for block in walk((entry.block,)):
                for piece in block.pieces:
                    if piece.kind == "mark" and piece.text in self.marks:
                        self.callers.setdefault(piece.text, len(fresh))

    def holds(self, entry: Entry, node: Node) -> bool:
        """Whether a note's node has its place behind a caller; a note without a mark goes on with the one before."""
        if entry.block.role != "Note":
            self.last = -1
            return False
        if "mark" in entry.block.attrs:
            self.last = self.callers.get(str(entry.block.attrs["mark"]), -1)
        if self.last < 0:
            return False
        self.notes.setdefault(self.last, []).append(node)
        return True

    def placed(self, fresh: Sequence[Node]) -> list[Node]:
        """The page's nodes with the notes behind their callers."""
        out: list[Node] = []
        for i, node in enumerate(fresh):
            out.append(node)
            out.extend(self.notes.pop(i, ()))
        out.extend(n for held in self.notes.values() for n in held)  # called from what went on from the page before
        return out
