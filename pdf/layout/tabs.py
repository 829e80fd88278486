"""Wide gaps inside one painted text: a producer may paint a label and its text, or a row of cells, at once."""

from __future__ import annotations

import ctypes

import pypdfium2.raw as raw

from pdf.page import Item, PageItems

_EDGES = tuple(ctypes.c_double() for _ in range(4))


def gaps(items: PageItems, item: Item, least: float) -> list[tuple[int, float, float]]:
    """Gaps at least `least` points wide: (index of the first character after it, where it begins, where it ends).

    Only the characters beside spaces are measured: PDFium reads a wide gap as a space, so there is no other place for
    one, and a whole page costs little. Of an unrotated page only (reader space along x is the page's).
    """
    view = items._view
    first, last = item.span
    text = item.text
    if view is None or not view.text or last - first != len(text):
        return []
    page = view.text
    left, right, bottom, top = _EDGES
    turned = view.frame[0] == 0 or view.frame[1] != 0
    out: list[tuple[int, float, float]] = []
    at = text.find(" ")
    while at >= 0:
        end = at
        while end < len(text) and text[end] == " ":
            end += 1
        if at == 0 or end >= len(text):
            at = text.find(" ", end) if end < len(text) else -1
            continue
        raw.FPDFText_GetCharBox(page, first + at - 1, left, right, bottom, top)
        a, b = left.value, right.value
        low, high = bottom.value, top.value
        raw.FPDFText_GetCharBox(page, first + end, left, right, bottom, top)
        if turned:
            begin = view.box(a, low, b, high)[2]
            start = view.box(left.value, bottom.value, right.value, top.value)[0]
        else:
            begin, start = b * view.frame[0] + view.frame[4], left.value * view.frame[0] + view.frame[4]
        if start - begin >= least:
            out.append((end, begin, start))
        at = text.find(" ", end)
    return out
