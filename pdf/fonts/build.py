"""Building the font program that is put in: a CFF with just the glyphs shown, each as wide as the file says.

Outlines come from installed fonts by way of pens, so TrueType and CFF sources serve alike. A glyph whose width differs
from the one the file lays its text out with is made narrower or wider to fit it (ISO 14289-1 7.21.5).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from pdf.fonts.cff import BadFont
from pdf.fonts.cffwrite import copied as copied_glyphs
from pdf.fonts.faces import Face, load

#: A glyph is never squeezed or stretched beyond these factors; it keeps its shape and takes the width around it.
_NARROWEST, _WIDEST = 0.55, 1.3
#: Below this difference (of 1000) the outline stays as it is.
_SAME = 12.0


@dataclass(frozen=True)
class Glyph:
    """One glyph wanted: where its outline is (None: blank) and its advance in 1/1000 em."""

    face: Face | None
    source: int
    width: float


def name_keyed(font_name: str, glyphs: dict[str, Glyph]) -> tuple[bytes, tuple[int, int, int, int]]:
    """A bare CFF (FontFile3, subtype Type1C) whose glyphs have these names; and its bounding box."""
    copied = _copied(font_name, glyphs)
    if copied is not None:
        return copied
    order = [".notdef", *sorted(glyphs)]
    strings, box = _charstrings({".notdef": Glyph(None, 0, 0.0), **glyphs}, order)
    from fontTools.fontBuilder import FontBuilder

    builder = FontBuilder(1000, isTTF=False)
    builder.setupGlyphOrder(order)
    builder.setupCFF(font_name, {}, strings, {})
    fonts = builder.font["CFF "].cff
    fonts[0].FontBBox = list(box)
    return _compiled(fonts, builder.font), box


def _copied(font_name: str, glyphs: dict[str, Glyph]) -> tuple[bytes, tuple[int, int, int, int]] | None:
    """The same by copying charstrings, where all glyphs are of one CFF face and keep their shapes."""
    faces = {glyph.face for glyph in glyphs.values()}
    face = next(iter(faces)) if len(faces) == 1 else None
    if face is None:
        return None
    loaded = load(face)
    source = loaded.cff
    if source is None or loaded.units != 1000:
        return None
    wanted: dict[str, tuple[int, float | None]] = {}
    for name, glyph in glyphs.items():
        own = source.width(glyph.source)
        if abs(own - glyph.width) > _SAME:
            return None
        wanted[name] = (glyph.source, None if abs(own - glyph.width) < 0.01 else glyph.width)
    try:
        data = copied_glyphs(source, font_name, wanted)
    except BadFont:
        return None
    box = [round(float(v)) for v in source.top.get(5, [0, 0, 0, 0])]
    return data, (box[0], box[1], box[2], box[3])


def cid_keyed(font_name: str, glyphs: dict[int, Glyph]) -> tuple[bytes, tuple[int, int, int, int]]:
    """A bare CID-keyed CFF (FontFile3, subtype CIDFontType0C) whose glyphs have these CIDs; and its bounding box."""
    order = [".notdef", *[f"cid{cid:05d}" for cid in sorted(glyphs) if cid]]
    wanted = {".notdef": glyphs.get(0, Glyph(None, 0, 0.0)), **{f"cid{c:05d}": g for c, g in glyphs.items() if c}}
    strings, box = _charstrings(wanted, order)
    from fontTools.cffLib import (
        CFFFontSet,
        CharStrings,
        FDArrayIndex,
        FDSelect,
        FontDict,
        GlobalSubrsIndex,
        IndexedStrings,
        PrivateDict,
        TopDict,
        TopDictIndex,
    )

    fonts: Any = CFFFontSet()
    fonts.major, fonts.minor, fonts.hdrSize, fonts.offSize = 1, 0, 4, 4
    fonts.fontNames = [font_name]
    fonts.strings = IndexedStrings()
    fonts.GlobalSubrs = GlobalSubrsIndex()
    top: Any = TopDict(strings=fonts.strings, GlobalSubrs=fonts.GlobalSubrs)
    top.ROS = ("Adobe", "Identity", 0)
    top.CIDCount = max(glyphs, default=0) + 1
    top.charset = order
    top.FontBBox = list(box)
    top.numGlyphs = len(order)
    font_dict: Any = FontDict(strings=fonts.strings, GlobalSubrs=fonts.GlobalSubrs)
    private: Any = PrivateDict()
    font_dict.Private = private
    array: Any = FDArrayIndex()
    array.append(font_dict)
    select: Any = FDSelect()
    select.gidArray = [0] * len(order)
    select.format = 3
    top.FDArray, top.FDSelect = array, select
    charstrings: Any = CharStrings(None, top.charset, fonts.GlobalSubrs, private, select, array)
    for number, name in enumerate(order):
        string = strings[name]
        string.private = private
        string.globalSubrs = fonts.GlobalSubrs
        string.fdSelectIndex = number
        charstrings.charStrings[name] = string
    top.CharStrings = charstrings
    fonts.topDictIndex = TopDictIndex()
    fonts.topDictIndex.append(top)
    return _compiled(fonts, None), box


def _compiled(fonts: Any, font: Any) -> bytes:
    out = io.BytesIO()
    if font is None:
        from fontTools.ttLib import TTFont

        font = TTFont(recalcBBoxes=False)
    fonts.compile(out, font)
    return out.getvalue()


def _charstrings(glyphs: dict[str, Glyph], order: list[str]) -> tuple[dict[str, Any], tuple[int, int, int, int]]:
    from fontTools.pens.boundsPen import ControlBoundsPen
    from fontTools.pens.recordingPen import RecordingPen
    from fontTools.pens.t2CharStringPen import T2CharStringPen
    from fontTools.pens.transformPen import TransformPen

    out: dict[str, Any] = {}
    x0 = y0 = x1 = y1 = 0.0
    for name in order:
        glyph = glyphs[name]
        pen = T2CharStringPen(round(glyph.width), None)
        if glyph.face is not None:
            loaded = load(glyph.face)
            source = loaded.outlines[loaded.order[glyph.source]]
            scale = 1000.0 / loaded.units
            own = float(source.width) * scale
            wide, shift = scale, 0.0
            if abs(own - glyph.width) > _SAME and own > 0 and glyph.width > 0:
                factor = glyph.width / own
                held = min(max(factor, _NARROWEST), _WIDEST)
                wide, shift = scale * held, (glyph.width - own * held) / 2 if held != factor else 0.0
            recorded = RecordingPen()
            source.draw(TransformPen(recorded, (wide, 0, 0, scale, shift, 0)))
            recorded.replay(pen)
            bounds = ControlBoundsPen(None)
            recorded.replay(bounds)
            if bounds.bounds is not None:
                a, b, c, d = bounds.bounds
                x0, y0, x1, y1 = min(x0, a), min(y0, b), max(x1, c), max(y1, d)
        out[name] = pen.getCharString()
    return out, (round(x0), round(y0), round(x1), round(y1))
