"""Working shapes (lines, rows, tables, figures) to the frozen blocks of the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pdf.layout import content, labels
from pdf.layout.blocks import Paragraph, Row, paragraphs, rows_of, text_of
from pdf.layout.content import PageContent
from pdf.layout.figures import Figure, around
from pdf.layout.formulas import is_formula
from pdf.layout.frame import Frame
from pdf.layout.lines import Line, Span, join, rtl
from pdf.layout.model import Block, Box, Piece, Ref, Style, StyleCount
from pdf.layout.notes import note_label
from pdf.layout.places import place
from pdf.layout.tables import Table, TableCell


def r2(value: float) -> float:
    """Rounded to 0.01 point, without a negative zero: the same digits on every machine."""
    return round(value, 2) + 0.0


class Packer:
    def __init__(self, frame: Frame, page: PageContent) -> None:
        self.frame, self.page = frame, page

    def refs(self, spans: Sequence[Span]) -> tuple[Ref, ...]:
        return content.refs(spans, self.page)

    def box(self, box: Box) -> Box:
        """A box of the reading frame as the reader sees the page, rounded."""
        x0, y0, x1, y1 = self.frame.back(box)
        return (r2(x0), r2(y0), r2(x1), r2(y1))

    def body_size(self, lines: Sequence[Line]) -> float:
        """The text size of most characters of the page, points."""
        sizes: dict[float, int] = {}
        for line in lines:
            key = round(line.size * 2) / 2
            sizes[key] = sizes.get(key, 0) + len(line.text)
        return max(sizes, key=lambda k: (sizes[k], -k)) if sizes else 10.0

    def styles(self, spans: Sequence[Span]) -> tuple[StyleCount, ...]:
        counts: dict[Style, int] = {}
        for span in spans:
            counts[span.style] = counts.get(span.style, 0) + len(span.text)
        ordered = sorted(
            counts.items(), key=lambda kv: (-kv[1], kv[0].size, kv[0].family, kv[0].colour, kv[0].bold, kv[0].italic)
        )
        return tuple(StyleCount(style, count) for style, count in ordered)

    def paragraphs(self, rows: Sequence[Row], span: tuple[float, float]) -> list[Block]:
        out = []
        for paragraph in paragraphs(rows):
            out.append(self.paragraph(paragraph, span))
        return out

    def paragraph(self, paragraph: Paragraph, span: tuple[float, float]) -> Block:
        rows = paragraph.rows
        spans = content.spans_of([line for row in rows for line in row.lines])
        text = text_of(paragraph)
        label = paragraph.label.text if paragraph.label else ""
        role = "P"
        if paragraph.entry:
            role = "TOCI"
        elif not label and is_formula(spans, len(rows)):
            role = "Formula"
            spans.sort(key=lambda s: s.order)  # as it was written: a fraction's parts lie above each other
            text = join(spans)
        mark = "" if label else note_label(rows[0])
        parts: list[Piece] = []
        if label or mark:
            head, tail = content.cut(spans, len("".join((label or mark).split())))
            parts = [*content.pieces(head, self.page, "label"), *content.pieces(tail, self.page)]
        else:
            parts = content.pieces(spans, self.page)
        x0, x1 = min(r.x0 for r in rows), max(r.x1 for r in rows)
        box = (x0, min(r.y0 for r in rows), x1, max(r.y1 for r in rows))
        attrs: dict[str, int | str] = {}
        if mark:
            attrs["mark"] = mark
        if abs((x0 + x1) / 2 - (span[0] + span[1]) / 2) < 3 and x0 > span[0] + 6 and len(rows) < 6:
            attrs["centred"] = 1
        if rtl(text):
            attrs["rtl"] = 1
        if spans[0].drawn:
            attrs["drawn"] = 1
        if len(rows) == 1 and len(rows[0].lines) > 1:
            attrs["cells"] = len(rows[0].lines)
        return Block(
            role=role,
            box=self.box(box),
            text=text,
            style=style_of(spans),
            pieces=tuple(parts),
            label=label,
            left=r2(x0),
            body_x=r2(rows[0].body_x),
            lines=len(rows),
            column=(r2(span[0]), r2(span[1])),
            above=r2(paragraph.above),
            leading=r2((rows[0].base - rows[-1].base) / (len(rows) - 1)) if len(rows) > 1 else 0.0,
            attrs=attrs,
        )

    def table(self, table: Table, span: tuple[float, float]) -> Block:
        """Table > TR > TH | TD, spans as attributes; cells from left to right."""
        rows: list[Block] = []
        for r in range(table.rows):
            cells = [self.cell(c, span) for c in table.cells if c.row == r]
            if cells:
                rows.append(
                    Block(
                        "TR",
                        around([c.box for c in cells if c.text] or [c.box for c in cells]),
                        children=tuple(cells),
                    )
                )
        return Block(
            "Table",
            self.box(table.box),
            children=tuple(rows),
            column=(r2(span[0]), r2(span[1])),
            confidence=table.confidence,
            attrs={"columns": table.columns, "ruled": int(table.ruled)},
        )

    def cell(self, cell: TableCell, span: tuple[float, float]) -> Block:
        spans = content.spans_of(cell.lines)
        text = " ".join(line.text for line in cell.lines)
        attrs: dict[str, int | str] = {}
        if cell.rows > 1:
            attrs["RowSpan"] = cell.rows
        if cell.columns > 1:
            attrs["ColSpan"] = cell.columns
        if cell.header:
            attrs["Scope"] = cell.header
        box = (0.0, 0.0, 0.0, 0.0)
        if spans:
            box = self.box(around([(s.x0, s.y0, s.x1, s.y1) for s in spans]))
        inner: list[Block] = []
        if any(line.text[:1] in "•▪■➢►‣" or labels.find(line.text) for line in cell.lines) and len(cell.lines) > 1:
            inner = self.paragraphs(rows_of(cell.lines), (box[0], box[2]))
            if not any(b.label for b in inner):
                inner = []
        return Block(
            "TH" if cell.header else "TD",
            box,
            text=text,
            style=style_of(spans) if spans else None,
            pieces=() if inner else tuple(content.pieces(spans, self.page)),
            children=tuple(inner),
            lines=len(cell.lines),
            attrs=attrs,
        )

    def turned(self, lines: Sequence[Line]) -> list[Block]:
        """Lines of another direction than the page's: a block for each group of rows."""
        items = self.frame.items.items
        out = []
        for paragraph in paragraphs(rows_of(lines)):
            block = self.paragraph(paragraph, (0.0, 0.0))
            spans = [s for row in paragraph.rows for line in row.lines for s in line.spans]
            x0, y0, x1, y1 = around([items[s.item].box for s in spans])
            attrs = {**block.attrs, "turn": round(spans[0].turn)}
            out.append(replace(block, box=(r2(x0), r2(y0), r2(x1), r2(y1)), role="P", attrs=attrs))
        return out

    def annotations(self, blocks: list[Block]) -> list[Block]:
        """Blocks with the annotations no text claims put where they are read: links, fields, others."""
        claimed = {a for b in walk(blocks) for p in b.pieces for a in p.annots}
        loose: dict[str, list[tuple[int, Box]]] = {"Link": [], "Form": [], "Annot": []}
        for annot in self.frame.items.annots:
            if annot.hidden or annot.index in claimed or annot.subtype == "Popup":
                continue
            x0, y0, x1, y1 = annot.box
            role = {"Link": "Link", "Widget": "Form"}.get(annot.subtype, "Annot")
            loose[role].append((annot.index, (r2(x0), r2(y0), r2(x1), r2(y1))))
        for role, found in loose.items():
            blocks = place(blocks, found, role)
        return blocks

    def figure(self, figure: Figure, span: tuple[float, float]) -> Block:
        """One Figure; its refs are its paths, images and words in painting order."""
        items = sorted({*figure.items, *(s.item for s in figure.spans)})
        found: list[Ref] = []
        for item in items:
            if found and found[-1].last == item:
                found[-1] = Ref(found[-1].first, item + 1)
            else:
                found.append(Ref(item, item + 1))
        lines = sorted(figure.spans, key=lambda s: (-round(s.base), s.x0))
        return Block(
            "Figure",
            self.box(figure.box),
            text=" ".join(s.text.strip() for s in lines),
            pieces=(Piece(tuple(found)),),
            column=(r2(span[0]), r2(span[1])),
            attrs={"images": figure.images, "words": len(figure.spans)},
        )


def style_of(spans: Sequence[Span]) -> Style:
    """The style of most characters; bold and italic only when all of them are."""
    first = spans[0].style
    if all(s.style is first for s in spans):
        return first
    weights: dict[Style, int] = {}
    for s in spans:
        weights[s.style] = weights.get(s.style, 0) + len(s.text) - s.text.count(" ")
    main = max(weights, key=lambda k: (weights[k], k.size))
    if len(weights) == 1:
        return main
    if main.size < 12 and all(c.isupper() for s in spans for c in s.text if c.isalpha()):
        # small capitals: the size is that of the capitals
        main = max((k for k in weights if k.size <= 1.4 * main.size), key=lambda k: k.size)
    total = sum(weights.values())
    heavy = sum(n for k, n in weights.items() if k.bold)
    slanted = sum(n for k, n in weights.items() if k.italic)
    return Style(main.size, heavy >= 0.97 * total, slanted >= 0.9 * total, main.mono, main.family, main.colour)


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks and all their children, in reading order."""
    for block in blocks:
        yield block
        yield from walk(block.children)
