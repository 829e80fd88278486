"""PDFium's view of a loaded page: its objects paired with what the content stream paints, and what it knows of each."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pdf.content import scanner
from pdf.content.annotations import Annots
from pdf.content.painting import Painting, Stream
from pdf.errors import Code, PdfError
from pdf.items import Box, Char, Font, Item, PageItems

#: (a, b, c, d, e, f) as in ISO 32000-1 8.3.3: x' = a x + c y + e, y' = b x + d y + f
Matrix = tuple[float, float, float, float, float, float]
#: An object of PDFium's: ctypes has no better type for it.
Handle = Any

_KINDS = {
    raw.FPDF_PAGEOBJ_TEXT: "text",
    raw.FPDF_PAGEOBJ_PATH: "path",
    raw.FPDF_PAGEOBJ_IMAGE: "image",
    raw.FPDF_PAGEOBJ_SHADING: "shading",
    raw.FPDF_PAGEOBJ_FORM: "form",
}


class PageView:
    """A loaded page of PDFium with its frame of reference."""

    def __init__(self, document: pdfium.PdfDocument, number: int, unit: float) -> None:
        self.number = number
        self.page = raw.FPDF_LoadPage(document.raw, number)
        if not self.page:
            raise PdfError(Code.SOURCE_DAMAGED, f"Page {number + 1} cannot be loaded.")
        self.text = raw.FPDFText_LoadPage(self.page)
        rect = raw.FS_RECTF()
        raw.FPDF_GetPageBoundingBox(self.page, rect)
        left, bottom, right, top = rect.left, rect.bottom, rect.right, rect.top
        self.unit = unit
        self.rotation = raw.FPDFPage_GetRotation(self.page) % 4
        wide, high = right - left, top - bottom
        self.width, self.height = (wide, high) if self.rotation % 2 == 0 else (high, wide)
        self.width *= unit
        self.height *= unit
        u = unit
        self.frame: Matrix = (
            (u, 0, 0, u, -left * u, -bottom * u),
            (0, -u, u, 0, -bottom * u, right * u),
            (-u, 0, 0, -u, right * u, top * u),
            (0, u, -u, 0, top * u, -left * u),
        )[self.rotation]
        self.objects: dict[int, Handle] = {}
        self.frames: dict[int, Matrix] = {}
        self.codes: dict[int, int] = {}

    def close(self) -> None:
        if self.page:
            if self.text:
                raw.FPDFText_ClosePage(self.text)
            raw.FPDF_ClosePage(self.page)
        self.page = self.text = None

    def box(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        return _box(self.frame, x0, y0, x1, y1)

    def items(self, painting: Painting, annots: Annots, page: pikepdf.Page) -> PageItems:
        items = [Item(i, leaf.kind) for i, leaf in enumerate(painting.leaves)]
        matched: list[tuple[int, Handle, Matrix]] = []
        aligned = self._zip(
            painting, 0, self.page, raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject, self.frame, matched
        )
        fonts = _Fonts()
        texts = self._texts()
        for index, handle, frame in matched:
            self.objects[index] = handle
            self.frames[index] = frame
            self._fill(items[index], handle, frame, fonts, texts)
        _marks(painting, items)
        return PageItems(
            self.number,
            self.width,
            self.height,
            self.rotation * 90,
            self.unit,
            aligned,
            items,
            fonts.fonts,
            annots.read(page, self.box),
            self,
        )

    def _zip(
        self,
        painting: Painting,
        use_number: int,
        holder: Handle,
        count: Callable[[Handle], int],
        get: Callable[[Handle, int], Handle],
        frame: Matrix,
        matched: list[tuple[int, Handle, Matrix]],
    ) -> bool:
        """Pair the objects of one stream with what it paints; into entered forms likewise. False if texts differ."""
        use = painting.uses[use_number]
        paints = use.stream.paints
        handles = [get(holder, i) for i in range(count(holder))]
        kinds = [_KINDS.get(raw.FPDFPageObj_GetType(h), "") for h in handles]
        wanted: list[tuple[str, int, int]] = []  # kind, leaf or -1, use entered or -1
        leaf = use.first
        for at, paint in enumerate(paints):
            inner = use.entered.get(at)
            if inner is not None:
                wanted.append(("form", -1, inner))
                leaf = painting.uses[inner].last
            elif paint.kind != "xobject" or (
                leaf < use.last and painting.leaves[leaf].use == use_number and painting.leaves[leaf].paint == at
            ):
                wanted.append((painting.leaves[leaf].kind, leaf, -1))
                leaf += 1
        aligned = True
        if [w[0] for w in wanted] == kinds:
            pairs = list(zip(wanted, handles, strict=True))
        else:
            pairs = []
            for kind in ("text", "path", "image", "shading", "form"):
                ours = [w for w in wanted if w[0] == kind]
                theirs = [h for h, k in zip(handles, kinds, strict=True) if k == kind]
                if len(ours) == len(theirs):
                    pairs.extend(zip(ours, theirs, strict=True))
                elif kind in ("text", "form"):
                    aligned = False
        for (_, leaf, inner), handle in pairs:
            if inner < 0:
                matched.append((leaf, handle, frame))
                continue
            inside = _multiply(_matrix(handle), frame)
            aligned &= self._zip(
                painting, inner, handle, raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject, inside, matched
            )
        return aligned

    def _texts(self) -> dict[int, tuple[str, int, int]]:
        """Address of each text object → (its text, first and last + 1 of its characters)."""
        out: dict[int, tuple[str, int, int]] = {}
        page = self.text
        if not page:
            return out
        unicode, owner = raw.FPDFText_GetUnicode, raw.FPDFText_GetTextObject
        address = ctypes.addressof
        last = 0
        start = 0
        chars: list[int] = []
        count = raw.FPDFText_CountChars(page)

        def put(end: int) -> None:
            if not last:
                return
            text = _decode(tracked(page, start, chars) if len(chars) > 10 and chars[1] == chars[3] == 0x20 else chars)
            if last in out:  # painted texts may interleave in PDFium's order
                before = out[last]
                out[last] = (before[0] + text, min(before[1], start), max(before[2], end))
            else:
                out[last] = (text, start, end)

        pending: list[int] = []
        for i in range(count):
            handle = owner(page, i)
            code = unicode(page, i)
            if not handle:
                pending.append(code)  # a space that PDFium reads from a gap
                continue
            here = address(handle.contents)
            if here != last:
                put(i - len(pending))
                last, start, chars = here, i, []
            elif pending:
                chars.extend(pending)
            pending = []
            chars.append(code)
        put(count - len(pending))
        return out

    def _fill(
        self, item: Item, handle: Handle, frame: Matrix, fonts: _Fonts, texts: dict[int, tuple[str, int, int]]
    ) -> None:
        item.box = _bounds(handle, frame)
        kind = item.kind
        if kind == "text":
            found = texts.get(ctypes.addressof(handle.contents))
            if found is not None:
                item.text, first, last = found
                item.span = (first, last)
            a, b, c, d, e, f = _multiply(_matrix(handle), frame)
            raw.FPDFTextObj_GetFontSize(handle, _FLOAT)
            item.size = abs(_FLOAT.value) * math.hypot(c, d)
            item.origin = (e, f)
            if b or a < 0:
                item.angle = math.degrees(math.atan2(b, a))
            item.font = fonts.number(raw.FPDFTextObj_GetFont(handle))
            item.visible = raw.FPDFTextObj_GetTextRenderMode(handle) not in (
                raw.FPDF_TEXTRENDERMODE_INVISIBLE,
                raw.FPDF_TEXTRENDERMODE_CLIP,
            )
            item.colour = _colour(raw.FPDFPageObj_GetFillColor, handle)
        elif kind == "path":
            raw.FPDFPath_GetDrawMode(handle, _INT, _INT2)
            item.filled = _INT.value != 0
            item.stroked = _INT2.value != 0
            item.segments = raw.FPDFPath_CountSegments(handle)
            if item.stroked:
                raw.FPDFPageObj_GetStrokeWidth(handle, _FLOAT)
                item.stroke_width = _FLOAT.value * self.unit
            get = raw.FPDFPageObj_GetFillColor if item.filled else raw.FPDFPageObj_GetStrokeColor
            item.colour = _colour(get, handle)

    def chars(self, item: Item) -> list[Char]:
        first, last = item.span
        if not self.text or last <= first:
            return []
        wanted = ctypes.addressof(self.objects[item.index].contents)
        out: list[Char] = []
        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        x, y = ctypes.c_double(), ctypes.c_double()
        code = -1
        before: tuple[float, float] | None = None
        for i in range(first, last):
            handle = raw.FPDFText_GetTextObject(self.text, i)
            if handle and ctypes.addressof(handle.contents) != wanted:
                continue
            raw.FPDFText_GetCharBox(self.text, i, left, right, bottom, top)
            x0, _, x1, _ = self.box(left.value, bottom.value, right.value, top.value)
            text = _decode([raw.FPDFText_GetUnicode(self.text, i)])
            if not handle or raw.FPDFText_IsGenerated(self.text, i) == 1:
                out.append(Char(text, x0, x1, -1))
                continue
            raw.FPDFText_GetCharOrigin(self.text, i, x, y)
            here = (x.value, y.value)
            if here != before:
                code += 1
            before = here
            out.append(Char(text, x0, x1, code))
        return out

    def gaps(self, item: Item, least: float) -> list[tuple[int, float, float]]:
        first, last = item.span
        text = item.text
        if not self.text or last - first != len(text):
            return []
        page = self.text
        left, right, bottom, top = _EDGES
        turned = self.frame[0] == 0 or self.frame[1] != 0
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
                begin = self.box(a, low, b, high)[2]
                start = self.box(left.value, bottom.value, right.value, top.value)[0]
            else:
                begin, start = b * self.frame[0] + self.frame[4], left.value * self.frame[0] + self.frame[4]
            if start - begin >= least:
                out.append((end, begin, start))
            at = text.find(" ", end)
        return out

    def parts(self, item: Item) -> list[Box]:
        if item.kind != "path" or item.index not in self.objects:
            return []
        handle = self.objects[item.index]
        frame = _multiply(_matrix(handle), self.frames[item.index])
        x, y = ctypes.c_float(), ctypes.c_float()
        groups: list[list[tuple[float, float]]] = []
        for i in range(min(item.segments, 20_000)):
            segment = raw.FPDFPath_GetPathSegment(handle, i)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            if raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_MOVETO or not groups:
                groups.append([])
            groups[-1].append((x.value, y.value))
        return [
            _box(frame, min(p[0] for p in g), min(p[1] for p in g), max(p[0] for p in g), max(p[1] for p in g))
            for g in groups
            if len(g) > 1
        ]


def tracked(page: Handle, first: int, chars: list[int]) -> list[int]:
    """A text set with space between all its letters: of the spaces PDFium makes of that only those between words are
    kept, where the gap is clearly wider. `first` is the number of its first character.

    Digits and signs that stand apart are cells or marks on an axis: they stay apart.
    """
    letters = [c for c in chars if c != 0x20]
    spaces = [i for i, c in enumerate(chars) if c == 0x20 and 0 < i < len(chars) - 1]
    if len(spaces) < 0.8 * (len(letters) - 1) or sum(chr(c).isalpha() for c in letters) < 0.8 * len(letters):
        return chars
    left, right, bottom, top = _EDGES
    gaps: dict[int, float] = {}
    widths: list[float] = []
    for at in spaces:
        raw.FPDFText_GetCharBox(page, first + at - 1, left, right, bottom, top)
        end = right.value
        widths.append(end - left.value)
        raw.FPDFText_GetCharBox(page, first + at + 1, left, right, bottom, top)
        gaps[at] = left.value - end
    usual = sorted(gaps.values())[len(gaps) // 2]
    if usual <= 0 or usual > sorted(widths)[len(widths) // 2]:
        return chars
    gone = {at for at, gap in gaps.items() if gap < 1.7 * usual}
    return [c for i, c in enumerate(chars) if i not in gone]


_FLOAT, _INT, _INT2 = ctypes.c_float(), ctypes.c_int(), ctypes.c_int()
_L, _B, _R, _T = (ctypes.c_float() for _ in range(4))
_RED, _GREEN, _BLUE, _ALPHA = (ctypes.c_uint() for _ in range(4))
_MATRIX = raw.FS_MATRIX()
_EDGES = tuple(ctypes.c_double() for _ in range(4))


def _matrix(handle: Handle) -> Matrix:
    raw.FPDFPageObj_GetMatrix(handle, _MATRIX)
    m = _MATRIX
    return m.a, m.b, m.c, m.d, m.e, m.f


def _multiply(m: Matrix, n: Matrix) -> Matrix:
    """First m, then n."""
    a, b, c, d, e, f = m
    p, q, r, s, t, u = n
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


def _box(m: Matrix, x0: float, y0: float, x1: float, y1: float) -> Box:
    """The upright box around a rectangle after m."""
    a, b, c, d, e, f = m
    if b == 0 == c:
        p, q, r, s = a * x0 + e, d * y0 + f, a * x1 + e, d * y1 + f
        return (min(p, r), min(q, s), max(p, r), max(q, s))
    xs = [a * x + c * y + e for x in (x0, x1) for y in (y0, y1)]
    ys = [b * x + d * y + f for x in (x0, x1) for y in (y0, y1)]
    return min(xs), min(ys), max(xs), max(ys)


def _bounds(handle: Handle, frame: Matrix) -> Box:
    if not raw.FPDFPageObj_GetBounds(handle, _L, _B, _R, _T):
        return (0.0, 0.0, 0.0, 0.0)
    return _box(frame, _L.value, _B.value, _R.value, _T.value)


def _colour(get: Callable[..., int], handle: Handle) -> int:
    if not get(handle, _RED, _GREEN, _BLUE, _ALPHA):
        return 0
    return _RED.value << 16 | _GREEN.value << 8 | _BLUE.value


def _decode(codes: list[int]) -> str:
    """UTF-32 of PDFium to text: no text for code 0, surrogates joined."""
    text = "".join(map(chr, codes)).replace("\0", "")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Fonts:
    """The fonts of a page, numbered as they come up."""

    def __init__(self) -> None:
        self.fonts: list[Font] = []
        self._numbers: dict[int, int] = {}

    def number(self, handle: Handle) -> int:
        if not handle:
            return -1
        key = ctypes.addressof(handle.contents)
        if key not in self._numbers:
            self._numbers[key] = len(self.fonts)
            self.fonts.append(_font(handle))
        return self._numbers[key]


_FIXED, _SERIF, _SYMBOLIC, _ITALIC, _FORCE_BOLD = 1, 2, 4, 64, 1 << 18


def _font(handle: Handle) -> Font:
    size = raw.FPDFFont_GetBaseFontName(handle, None, 0)
    buffer = ctypes.create_string_buffer(max(size, 1))
    raw.FPDFFont_GetBaseFontName(handle, buffer, size)
    name = buffer.value.decode("utf-8", "replace")
    if len(name) > 7 and name[6] == "+" and name[:6].isalpha():
        name = name[7:]
    flags = max(raw.FPDFFont_GetFlags(handle), 0)
    weight = raw.FPDFFont_GetWeight(handle)
    raw.FPDFFont_GetItalicAngle(handle, _INT)
    low = name.lower()
    bold = bool(flags & _FORCE_BOLD) or any(w in low for w in ("bold", "black", "heavy", "semibd", "demi"))
    return Font(
        name,
        bold,
        bool(flags & _ITALIC) or _INT.value != 0 or "italic" in low or "oblique" in low,
        bool(flags & _FIXED) or any(w in low for w in ("mono", "courier", "consol", "typewriter")),
        bool(flags & _SERIF),
        bool(flags & _SYMBOLIC),
        max(700 if bold else 400, weight if weight > 0 else 0) if bold else (weight if weight > 0 else 400),
        raw.FPDFFont_GetIsEmbedded(handle) == 1,
    )


def _marks(painting: Painting, items: list[Item]) -> None:
    """Set `Item.mark` from the marked content the streams have; what a form paints is in what encloses its `Do`."""
    around = [_marks_of(use.stream, use.resources) if use.stream.marked else None for use in painting.uses]
    if not any(around):
        return
    for item, leaf in zip(items, painting.leaves, strict=True):
        use, paint = leaf.use, leaf.paint
        while use >= 0:
            marks = around[use]
            mark = marks[paint] if marks is not None else None
            if mark is not None and (item.mark is None or mark[1] >= 0 or mark[0] == "Artifact"):
                item.mark = mark
            if item.mark is not None and (item.mark[1] >= 0 or item.mark[0] == "Artifact"):
                break
            use, paint = painting.uses[use].parent, painting.uses[use].paint


def _marks_of(stream: Stream, resources: pikepdf.Object) -> list[tuple[str, int] | None]:
    """For each paint of a stream the innermost mark with an MCID around it, or Artifact, else the innermost mark."""
    out: list[tuple[str, int] | None] = []
    stack: list[tuple[str, int] | None] = [None]
    paints = iter([*(p.op for p in stream.paints), -1])
    following = next(paints)
    for number, op in enumerate(stream.ops):
        if number == following:
            out.append(stack[-1])
            following = next(paints)
        elif op.name in (b"BMC", b"BDC"):
            _, tag, named, inline = scanner.tag_operands(stream.data, op)
            mcid = scanner.mcid(inline) if inline is not None else -1
            if named is not None:
                mcid = _named_mcid(resources, scanner.decode_name(named))
            before = stack[-1]
            if mcid < 0 and before is not None and (before[1] >= 0 or before[0] == "Artifact"):
                stack.append(before)
            else:
                stack.append((scanner.decode_name(tag), mcid))
        elif op.name == b"EMC" and len(stack) > 1:
            stack.pop()
    return out


def _named_mcid(resources: pikepdf.Object, name: str) -> int:
    lists = resources.get("/Properties")
    found = lists.get("/" + name) if isinstance(lists, pikepdf.Dictionary) and name else None
    value = found.get("/MCID") if isinstance(found, pikepdf.Dictionary) else None
    return value if isinstance(value, int) else -1
