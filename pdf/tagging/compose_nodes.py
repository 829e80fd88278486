"""Blocks to nodes of the structure tree: ids, content refs, links, labels, spans, alternative texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pdf import language
from pdf.layout import labels
from pdf.layout.model import Block, PageAnalysis, Piece
from pdf.layout.model import Ref as Content
from pdf.tagging import alt
from pdf.tagging.compose_flow import Entry
from pdf.tagging.compose_lists import List, ListItem, lists
from pdf.tagging.ops import Attributes, Node, Ref


class Claims:
    """What of a page is placed already: whole items, and ranges of codes inside items."""

    def __init__(self) -> None:
        self.whole: set[int] = set()
        self.parts: dict[int, list[tuple[int, int]]] = {}
        self.annots: set[int] = set()

    def take(self, content: Iterable[Content]) -> list[tuple[tuple[int, int], tuple[int, int] | None]]:
        """The part of the content nobody has, as ranges of items and of codes; it is taken by this."""
        out: list[tuple[tuple[int, int], tuple[int, int] | None]] = []
        for ref in content:
            if ref.chars is not None:
                held = self.parts.setdefault(ref.first, [])
                a, b = ref.chars
                if ref.first not in self.whole and not any(a < d and c < b for c, d in held):
                    held.append((a, b))
                    out.append(((ref.first, ref.last), ref.chars))
                continue
            start = -1
            for item in range(ref.first, ref.last):
                free = item not in self.whole and item not in self.parts
                if free:
                    self.whole.add(item)
                    if start < 0:
                        start = item
                elif start >= 0:
                    out.append(((start, item), None))
                    start = -1
            if start >= 0:
                out.append(((start, ref.last), None))
        return out


class Nodes:
    """Makes nodes. `ids` are those of entries whose node exists; an id is "p<page>.<number>", both from 0."""

    def __init__(self, pages: Sequence[PageAnalysis], lang: str) -> None:
        self.lang = lang
        self.claims: dict[int, Claims] = {p.number: Claims() for p in pages}
        self.count: dict[int, int] = dict.fromkeys(self.claims, 0)
        self.ids: dict[int, str] = {}
        #: whether what is set in a fixed pitch is code: not where all the text is
        counts = [(c.style.mono, c.chars) for p in pages for c in p.styles]
        self.code = sum(n for mono, n in counts if mono) < 0.4 * sum(n for _, n in counts)
        #: the marks of each page's notes
        self.marks = {
            p.number: {str(b.attrs["mark"]) for b in p.blocks if b.role == "Note" and "mark" in b.attrs} for p in pages
        }
        #: how many blocks inside cells have been made: their entries have keys below 0
        self.inside = 0

    def id(self, page: int) -> str:
        number = self.count[page]
        self.count[page] = number + 1
        return f"p{page}.{number}"

    def refs(self, page: int, content: Iterable[Content]) -> tuple[Ref, ...]:
        """Refs of an op, of what is not placed yet."""
        return tuple(Ref(page, o, c) for o, c in self.claims[page].take(content))

    def block_refs(self, page: int, block: Block) -> tuple[Ref, ...]:
        """All of a block's content, its children's too."""
        out = list(self.refs(page, (r for p in block.pieces for r in p.refs)))
        for child in block.children:
            out.extend(self.block_refs(page, child))
        return tuple(out)

    def links(self, page: int, block: Block) -> list[Node]:
        """The links in a block that is not read itself."""
        found = [k for k in self.pieces(page, (p for p in block.pieces if p.kind == "link")) if isinstance(k, Node)]
        return [*found, *(n for child in block.children for n in self.links(page, child))]

    def annot(self, page: int, index: int) -> tuple[Ref, ...]:
        held = self.claims[page].annots
        if index in held:
            return ()
        held.add(index)
        return (Ref(page, a=index),)

    def pieces(self, page: int, pieces: Iterable[Piece]) -> list[Node | Ref]:
        """Pieces to kids: a Link with its annotations where a link lies over the text (ISO 32000-1 14.8.4.4.2)."""
        out: list[Node | Ref] = []
        for piece in pieces:
            if piece.kind == "leader":
                ident = self.id(page)
                refs = self.refs(page, piece.refs)
                if refs:  # the dots are there for the eye: a space is read instead
                    out.append(Node(ident, "Span", refs, actual=" "))
                continue
            if piece.kind == "mark" and piece.text in self.marks[page]:
                ident = self.id(page)
                refs = self.refs(page, piece.refs)
                if refs:  # it calls a note of this page (ISO 32000-1 14.8.4.4.1)
                    out.append(Node(ident, "Reference", refs))
                continue
            if piece.kind != "link":
                out.extend(self.refs(page, piece.refs))
                continue
            ident = self.id(page)
            kids: list[Node | Ref] = list(self.refs(page, piece.refs))
            for index in piece.annots:
                kids.extend(self.annot(page, index))
            if any(isinstance(k, Ref) and k.a is not None for k in kids):
                out.append(Node(ident, "Link", tuple(kids)))
            else:
                out.extend(kids)  # its annotation is another Link's: the text alone is no link
        return out

    def node(self, entry: Entry, level: int = 0) -> Node | None:
        """The node of one block with all that is in it; None when nothing is left to hold."""
        block, page = entry.block, entry.page
        self.ids[entry.key] = ident = self.id(page)
        if block.role in ("Link", "Form", "Annot"):
            kids: tuple[Node | Ref, ...] = self.annot(page, int(block.attrs["annot"]))
            if not kids:
                return None
            if block.role == "Link":
                return Node(ident, "P", (Node(self.id(page), "Link", kids),))
            return Node(ident, block.role, kids)  # type: ignore[arg-type]
        if block.role == "Table":
            return self.table(entry, ident)
        if block.role == "Figure":
            return self.figure(entry, ident)
        role = f"H{level}" if level else block.role
        if role == "P" and self.code and block.style is not None and block.style.mono:
            role = "Code"
        kids = self.text_kids(page, block)
        if not kids:
            return None
        if role == "Formula":
            # the signs are read where Unicode knows them; a formula needs a text either way (ISO 14289-1 7.7)
            known = sum(1 for c in block.text if not "\ue000" <= c <= "\uf8ff" and c != "\ufffd")
            waiting = known < 0.8 * len(block.text)
            return Node(ident, "Formula", kids, alt=alt.formula(page) if waiting else block.text, waiting=waiting)
        return Node(ident, role, kids, lang=self.run(block.text))  # type: ignore[arg-type]

    def text_kids(self, page: int, block: Block) -> tuple[Node | Ref, ...]:
        if block.role == "Note":
            out: list[Node | Ref] = []
            for piece in block.pieces:
                if piece.kind == "label":
                    ident = self.id(page)
                    refs = self.refs(page, piece.refs)
                    if refs:
                        out.append(Node(ident, "Lbl", refs))
                else:
                    out.extend(self.pieces(page, [piece]))
            return tuple(out)
        return tuple(self.pieces(page, block.pieces))

    def run(self, text: str) -> str | None:
        return language.of_run(text, self.lang)

    def figure(self, entry: Entry, ident: str) -> Node | None:
        """A Figure with its caption. Its caption is its description where it says something; else it waits for one."""
        block, page = entry.block, entry.page
        before: list[Node | Ref] = []
        after: list[Node | Ref] = []
        seen = False
        said = ""
        refs = self.refs(page, (r for p in block.pieces for r in p.refs))
        for child in block.children:
            seen = seen or child.box[3] <= block.box[3] - 1
            kids = self.text_kids(page, child)
            if kids:
                node = Node(self.id(page), "Caption", kids, lang=self.run(child.text))
                (after if seen else before).append(node)
                said = said or child.text
        if not refs:
            return None
        waiting = not describes(said)
        text = alt.placeholder(page, block.text) if waiting else said
        x0, y0, x1, y1 = block.box
        del x0, y0, x1, y1
        return Node(ident, "Figure", (*before, *refs, *after), alt=text, waiting=waiting)

    def table(self, entry: Entry, ident: str) -> Node | None:
        """Caption above, rows, caption below: it is the first or the last child (ISO 32000-1 14.8.4.3.4)."""
        above: list[Node | Ref] = []
        below: list[Node | Ref] = []
        seen = False
        for child in entry.block.children:
            seen = seen or child.role == "TR"
            if child.role == "Caption":
                kids = self.text_kids(entry.page, child)
                if kids:
                    node = Node(self.id(entry.page), "Caption", kids, lang=self.run(child.text))
                    (below if seen else above).append(node)
        rows = self.rows(entry)
        captions = [*above, *below]
        if not rows:
            return (
                Node(ident, "P", tuple(k for c in captions if isinstance(c, Node) for k in c.kids))
                if captions
                else None
            )
        return Node(ident, "Table", (*above, *rows, *below))

    def rows(self, entry: Entry) -> list[Node]:
        """The TRs of a table (or of a table's part on one page)."""
        page = entry.page
        out: list[Node] = []
        for row in entry.block.children:
            if row.role != "TR":
                continue
            ident = self.id(page)
            cells = tuple(self.cell(page, cell) for cell in row.children)
            if cells:
                out.append(Node(ident, "TR", cells))
        return out

    def cell(self, page: int, cell: Block) -> Node:
        scope = cell.attrs.get("Scope")
        columns, rows = int(cell.attrs.get("ColSpan", 1)), int(cell.attrs.get("RowSpan", 1))
        attrs = None
        if scope or columns > 1 or rows > 1:
            attrs = Attributes(
                scope=scope if scope else None,  # type: ignore[arg-type]
                colSpan=columns if columns > 1 else None,
                rowSpan=rows if rows > 1 else None,
            )
        ident = self.id(page)
        kids = list(self.pieces(page, cell.pieces))
        kids.extend(self.inner(page, cell.children))
        return Node(ident, "TH" if scope else "TD", tuple(kids), attrs=attrs, lang=self.run(cell.text))

    def inner(self, page: int, blocks: Sequence[Block]) -> list[Node | Ref]:
        """The blocks inside a cell: lists, paragraphs, fields."""
        out: list[Node | Ref] = []
        # An entry of contents needs contents around it, which a cell has not: there it is a paragraph.
        blocks = [replace(block, role="P") if block.role == "TOCI" else block for block in blocks]
        entries = [Entry(-1 - self.inside - i, page, block) for i, block in enumerate(blocks)]
        self.inside += len(entries)
        groups = lists(entries, {})
        at = 0
        while at < len(entries):
            group = groups.get(entries[at].key)
            if group is None:
                made = self.node(entries[at])
                if made is not None:
                    out.append(made)
                at += 1
                continue
            _, fresh = self.list_part(group, group.members)
            out.extend(fresh)
            while at < len(entries) and entries[at].key in group.members:
                at += 1
        return out

    def contents(self, entries: Sequence[Entry]) -> list[Node]:
        """Consecutive entries of a table of contents: TOC > TOCI > Reference > content (ISO 32000-1 14.8.4.3.1)."""
        if not entries:
            return []
        page = entries[0].page
        top = self.id(page)
        items: list[Node | Ref] = []
        for entry in entries:
            ident, inner = self.id(page), self.id(page)
            kids = self.pieces(entry.page, entry.block.pieces)
            if kids:
                items.append(Node(ident, "TOCI", (Node(inner, "Reference", tuple(kids)),)))
        return [Node(top, "TOC", tuple(items))] if items else []

    def list_part(self, group: List, keys: set[int]) -> tuple[list[tuple[str, Node]], list[Node]]:
        """The nodes of a list for the entries on one page: (what is added to nodes made before, new nodes)."""
        later: list[tuple[str, Node]] = []
        fresh = self._list(group, keys, later)
        return later, [fresh] if fresh is not None else []

    def _list(self, found: List, keys: set[int], later: list[tuple[str, Node]]) -> Node | None:
        known = found.node
        ident = ""
        kids: list[Node | Ref] = []
        for item in found.items:
            if item.entry.key in keys:
                if not known and not ident:
                    ident = self.id(item.entry.page)
                    found.node = ident
                node = self._item(item, keys, later)
                if known:
                    later.append((known, node))
                else:
                    kids.append(node)
            elif item.entry.key in self.ids:
                self._grow(item, keys, later)
        if not kids:
            return None
        numbering = labels.numbering(found.label)
        return Node(ident, "L", tuple(kids), attrs=Attributes(listNumbering=numbering))  # type: ignore[arg-type]

    def _grow(self, item: ListItem, keys: set[int], later: list[tuple[str, Node]]) -> None:
        """What a page adds to an item of a page before."""
        body = self.ids[item.entry.key]
        for entry in item.more:
            if entry.key in keys:
                node = self.node(entry)
                if node is not None:
                    later.append((body, node))
        for inner in item.inner:
            node = self._list(inner, keys, later)
            if node is not None:
                later.append((body, node))

    def _item(self, item: ListItem, keys: set[int], later: list[tuple[str, Node]]) -> Node:
        """LI > Lbl + LBody (ISO 32000-1 14.8.4.3.3)."""
        page, block = item.entry.page, item.entry.block
        ident, body = self.id(page), self.id(page)
        self.ids[item.entry.key] = body
        label = [p for p in block.pieces if p.kind == "label"]
        rest = [p for p in block.pieces if p.kind != "label"]
        head: list[Node | Ref] = []
        if label:
            name = self.id(page)
            refs = self.refs(page, (r for p in label for r in p.refs))
            if refs:
                head.append(Node(name, "Lbl", refs, actual="•" if "drawn" in block.attrs else None))
        kids = self.pieces(page, rest)
        for entry in item.more:
            if entry.key in keys:
                node = self.node(entry)
                if node is not None:
                    kids.append(node)
        for inner in item.inner:
            node = self._list(inner, keys, later)
            if node is not None:
                kids.append(node)
        return Node(ident, "LI", (*head, Node(body, "LBody", tuple(kids))), lang=self.run(block.text))


def describes(caption: str) -> bool:
    """Whether a caption says more than a number: at least three words besides "Figure 2"."""
    words = [w for w in caption.split() if sum(map(str.isalpha, w)) >= 2]
    return len(words) >= 4
