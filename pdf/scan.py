"""Whether a page has text, or is only a picture of a page: a look at its operators, without rendering."""

from __future__ import annotations

import re
from enum import StrEnum

import pikepdf

from pdf.content import scanner
from pdf.content.painting import inherited
from pdf.streams import content, decoded

#: The part of the page that pictures must cover for a page without text to count as a scan.
COVERED = 0.4
_MAX_DEPTH = 8
_MAX_STREAMS = 500

_SHOWS_TEXT = re.compile(rb"""[)>\]][\x00\t\n\x0c\r ]*(?:T[jJ]|['"])(?![^\x00\t\n\x0c\r ()<>\[\]{}/%])""")
_PLACED = re.compile(
    rb"(?<![^\x00\t\n\x0c\r ()<>\[\]{}/%])(?:"
    rb"((?:[-+.0-9]+[\x00\t\n\x0c\r ]+){6})cm|/([^\x00\t\n\x0c\r ()<>\[\]{}/%]+)[\x00\t\n\x0c\r ]+Do|(q)|(Q)|(BI)"
    rb")(?![^\x00\t\n\x0c\r ()<>\[\]{}/%])"
)
_IMAGE_SIZE = re.compile(rb"/(?:W|Width|H|Height)[\x00\t\n\x0c\r ]+(\d+)")

_Matrix = tuple[float, float, float, float, float, float]


class PageContent(StrEnum):
    """What a page shows. DRAWN: vector graphics, perhaps small pictures, no text."""

    TEXT = "text"
    SCAN = "scan"
    DRAWN = "drawn"
    BLANK = "blank"


def look(page: pikepdf.Page) -> PageContent:
    """What the page shows. Forms are looked into; of loops and bombs each stream is read once."""
    data = content(page)
    if _shows_text(data):
        return PageContent.TEXT
    resources = inherited(page.obj, "/Resources")
    if not isinstance(resources, pikepdf.Dictionary):
        return PageContent.DRAWN if data.strip() else PageContent.BLANK
    streams: list[tuple[bytes, pikepdf.Object]] = [(data, resources)]
    if _form_text(resources, streams, set(), 0):
        return PageContent.TEXT
    width, height = _page_size(page.obj)
    covered = _covered(data, resources, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), 0, [0])
    if covered >= COVERED * width * height:
        return PageContent.SCAN
    return PageContent.DRAWN if any(d.strip() for d, _ in streams) else PageContent.BLANK


def _shows_text(data: bytes) -> bool:
    """Whether a string that is not empty is shown. The quick search may be fooled by binary data and empty strings,
    so what it finds is looked at by the scanner."""
    if _SHOWS_TEXT.search(data) is None:
        return False
    return any(op.name in (b"Tj", b"TJ", b"'", b'"') and scanner.shows_text(data, op) for op in scanner.operators(data))


def _form_text(
    resources: pikepdf.Object,
    streams: list[tuple[bytes, pikepdf.Object]],
    seen: set[tuple[int, int]],
    depth: int,
) -> bool:
    xobjects = resources.get("/XObject")
    if not isinstance(xobjects, pikepdf.Dictionary) or depth > _MAX_DEPTH:
        return False
    for target in xobjects.values():
        if not isinstance(target, pikepdf.Stream) or target.get("/Subtype") != pikepdf.Name.Form:
            continue
        if target.objgen in seen or len(seen) >= _MAX_STREAMS:
            continue
        seen.add(target.objgen)
        data = decoded(target)
        if _shows_text(data):
            return True
        own = target.get("/Resources")
        if isinstance(own, pikepdf.Dictionary):
            streams.append((data, own))
            if _form_text(own, streams, seen, depth + 1):
                return True
    return False


def _page_size(page: pikepdf.Object) -> tuple[float, float]:
    box = inherited(page, "/MediaBox")
    try:
        x0, y0, x1, y1 = (float(v) for v in box) if box is not None else (0, 0, 612, 792)
    except (TypeError, ValueError):
        return 612.0, 792.0
    return abs(x1 - x0) or 612.0, abs(y1 - y0) or 792.0


def _covered(data: bytes, resources: pikepdf.Object, matrix: _Matrix, depth: int, budget: list[int]) -> float:
    """The area of the pictures painted, in user space units squared; overlaps count twice (strips do not overlap)."""
    area, stack, at = 0.0, [], 0
    xobjects = resources.get("/XObject")
    while (found := _PLACED.search(data, at)) is not None:
        at = found.end()
        if found[3]:
            stack.append(matrix)
        elif found[4]:
            matrix = stack.pop() if stack else matrix
        elif found[1]:
            matrix = _multiply(_numbers(found[1]), matrix)
        elif found[5]:
            at = scanner.inline_image_end(data, at)
            area += _unit_area(matrix)
        elif isinstance(xobjects, pikepdf.Dictionary):
            budget[0] += 1
            target = xobjects.get("/" + scanner.decode_name(found[2]))
            if not isinstance(target, pikepdf.Stream) or budget[0] > _MAX_STREAMS:
                continue
            kind = target.get("/Subtype")
            if kind == pikepdf.Name.Image:
                area += _unit_area(matrix)
            elif kind == pikepdf.Name.Form and depth < _MAX_DEPTH:
                own = target.get("/Resources")
                inner = own if isinstance(own, pikepdf.Dictionary) else resources
                area += _covered(decoded(target), inner, _form_matrix(target, matrix), depth + 1, budget)
    return area


def _form_matrix(form: pikepdf.Object, outer: _Matrix) -> _Matrix:
    own = form.get("/Matrix")
    try:
        numbers = tuple(float(v) for v in own) if own is not None else ()
    except (TypeError, ValueError):
        numbers = ()
    return _multiply(numbers, outer) if len(numbers) == 6 else outer


def _numbers(operands: bytes) -> _Matrix:
    try:
        a, b, c, d, e, f = (float(v) for v in operands.split())
    except ValueError:
        return (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    return (a, b, c, d, e, f)


def _unit_area(m: _Matrix) -> float:
    return abs(m[0] * m[3] - m[1] * m[2])


def _multiply(m: _Matrix, n: _Matrix) -> _Matrix:
    """First m, then n."""
    a, b, c, d, e, f = m
    p, q, r, s, t, u = n
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u
