"""Lines to the content of a block: refs to painted items, cut where a link or a label begins and ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pdf.layout.lines import Line, Span, in_reading_order, join
from pdf.layout.model import Piece, Ref


@dataclass
class PageContent:
    """What pieces need to know about the page. `blank`: items that paint only spaces; `uri`: per link annotation,
    whether it leaves the document."""

    blank: set[int] = field(default_factory=set)
    uri: dict[int, bool] = field(default_factory=dict)
    #: a text item's characters, each with the index of the painted code it comes from (-1: none)
    read: Callable[[int], list[tuple[str, int]]] | None = None
    known: dict[int, list[int]] = field(default_factory=dict)

    def codes(self, item: int) -> list[int]:
        """For each place in an item's text (its end included) how many painted codes stand before it. Empty when the
        item cannot be cut."""
        found = self.known.get(item)
        if found is None:
            found = []
            count = 0
            for text, code in self.read(item) if self.read is not None else ():
                found.extend([code if code >= 0 else count] * len(text))
                count = code + 1 if code >= 0 else count
            found = [*found, count] if count else []
            self.known[item] = found
        return found


def spans_of(lines: Sequence[Line]) -> list[Span]:
    """All spans of lines in the order they are read (a right-to-left line from its right end)."""
    out: list[Span] = []
    for line in lines:
        out.extend(in_reading_order(line.spans))
    return out


def refs(spans: Sequence[Span], page: PageContent) -> tuple[Ref, ...]:
    """Refs of spans in order. Neighbours in painting order become one range; spaces painted between go with them."""
    out: list[Ref] = []
    first = last = -1
    blank = page.blank
    for span in spans:
        if span.c0 >= 0:
            if first >= 0:
                out.append(Ref(first, last + 1))
                first = -1
            codes = page.codes(span.item)
            if len(codes) <= span.c1:
                if span.c0 == 0:  # it cannot be cut: all of it goes where it begins
                    out.append(Ref(span.item, span.item + 1))
                continue
            start = 0 if span.c0 == 0 else codes[span.c0]
            end = codes[span.c1] if span.c1 < len(codes) - 1 else codes[-1]
            if end <= start:
                continue
            if out and out[-1].chars and out[-1].first == span.item and out[-1].chars[1] == start:
                out[-1] = Ref(span.item, span.item + 1, (out[-1].chars[0], end))
            else:
                out.append(Ref(span.item, span.item + 1, (start, end)))
            continue
        if first >= 0 and span.item > last and all(k in blank for k in range(last + 1, span.item)):
            last = span.item
            continue
        if first >= 0:
            out.append(Ref(first, last + 1))
        first = last = span.item
    if first >= 0:
        out.append(Ref(first, last + 1))
    return tuple(out)


def pieces(spans: Sequence[Span], page: PageContent, kind: str = "text") -> list[Piece]:
    """Spans to pieces, a new piece where a link begins or ends. Pieces of one target in a row are one link."""
    out: list[Piece] = []
    group: list[Span] = []
    manners = [manner(span, spans[i - 1] if i else None) for i, span in enumerate(spans)]
    for i, span in enumerate([*spans, None]):
        if group and (span is None or span.link != group[-1].link or manners[i] != manners[i - 1]):
            link = group[-1].link
            if manners[i - 1] == "mark" and link < 0:
                out.append(Piece(refs(group, page), join(group), "mark"))
            elif manners[i - 1] == "leader":
                out.append(Piece(refs(group, page), "", "leader"))
            elif link >= 0:
                out.append(Piece(refs(group, page), join(group), "link", (link,), page.uri.get(link, False)))
            else:
                out.append(Piece(refs(group, page), join(group), kind))
            group = []
        if span is not None:
            group.append(span)
    return out


def manner(span: Span, before: Span | None) -> str:
    """leader: nothing but the dots that lead to a page number; mark: a raised number or sign that may call a note."""
    text = span.text
    if len(text) >= 4 and not text.strip(" .…·_"):
        return "leader"
    if before is None or len(text) > 5 or span.size > 0.85 * before.size:
        return ""
    raised = 0.12 * before.size < span.base - before.base < before.size
    return "mark" if raised and (text.strip().isdigit() or text.strip() in ("*", "**", "†", "‡", "§")) else ""


def cut(spans: Sequence[Span], count: int) -> tuple[list[Span], list[Span]]:
    """Cut spans after the first `count` characters that are no spaces; a span is split by characters if it must be."""
    head: list[Span] = []
    for i, span in enumerate(spans):
        visible = sum(1 for c in span.text if not c.isspace())
        if visible <= count:
            head.append(span)
            count -= visible
            if count == 0:
                return head, list(spans[i + 1 :])
            continue
        at, seen = 0, 0
        while seen < count:
            seen += not span.text[at].isspace()
            at += 1
        one, two = halves(span, at)
        return [*head, one], [two, *spans[i + 1 :]]
    return head, []


def halves(span: Span, at: int) -> tuple[Span, Span]:
    """A span cut before its character `at`; the cut's place is estimated from the share of characters."""
    start = max(span.c0, 0)
    end = span.c1 if span.c0 >= 0 else len(span.text)
    x = span.x0 + (span.x1 - span.x0) * at / max(len(span.text), 1)
    a = Span(span.item, span.text[:at], (span.x0, span.y0, x, span.y1), span.base, span.size, span.style, span.order)
    b = Span(span.item, span.text[at:], (x, span.y0, span.x1, span.y1), span.base, span.size, span.style, span.order)
    a.c0, a.c1, b.c0, b.c1 = start, start + at, start + at, end
    a.link = b.link = span.link
    return a, b
