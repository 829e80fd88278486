"""One pass over the fonts that a document uses, mending each."""

from __future__ import annotations

import struct

import pikepdf

from pdf.fonts.cff import BadFont
from pdf.fonts.cidprograms import repair_composite_program
from pdf.fonts.composite import CompositeFont, embed_composite, repair_encoding
from pdf.fonts.embed import embed_simple
from pdf.fonts.model import FontRepair
from pdf.fonts.programs import repair_simple_program
from pdf.fonts.session import Session
from pdf.fonts.simple import SimpleFont
from pdf.fonts.type3 import Type3Font
from pdf.fonts.unicode import AnyFont, complete, needs_of
from pdf.fonts.usage import FontUse, used_fonts

#: What reading a font dictionary or program that follows no rule may raise: the font stays, and is reported.
_BROKEN = (
    *(BadFont, IndexError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError),
    *(struct.error, pikepdf.PdfError),
)


def repair_fonts(pdf: pikepdf.Pdf) -> FontRepair:
    """Mend the fonts of an open document in place: ISO 14289-1 7.21, as far as the file and this machine allow."""
    uses = used_fonts(pdf)
    session = Session(pdf)
    fonts = [_font(use) for use in uses]
    complete([needs_of(font) for font in fonts], fonts, session)
    for font in fonts:
        try:
            _mend(font, session)
        except _BROKEN as error:
            session.failed(font.name, "7.21", f"the font is broken in a way nothing here mends: {error!r}"[:200])
    visible = sorted({change.font for change in session.changes if change.visible})
    texts = sorted({change.font for change in session.changes if change.kind in ("unicode", "private")})
    return FontRepair(
        len(uses),
        session.changes,
        session.failures,
        f"Fonts or glyphs that the file lacked were put in: {_listed(visible)}." if visible else None,
        f"Characters were given the Unicode values they lacked, in: {_listed(texts)}." if texts else None,
    )


def _mend(font: AnyFont, session: Session) -> None:
    _drop_glyph_lists(font.use, session)
    if isinstance(font, SimpleFont):
        if font.file is not None:
            repair_simple_program(font, session)
        elif font.seen:
            embed_simple(font, session)
    elif isinstance(font, CompositeFont):
        repair_encoding(font, session)
        if font.file is not None:
            repair_composite_program(font, session)
        elif font.use.seen:
            embed_composite(font, session)


def _font(use: FontUse) -> AnyFont:
    subtype = use.font.get("/Subtype")
    if subtype == pikepdf.Name.Type0:
        return CompositeFont(use)
    return Type3Font(use) if subtype == pikepdf.Name.Type3 else SimpleFont(use)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _drop_glyph_lists(use: FontUse, session: Session) -> None:
    """Take out /CIDSet and /CharSet: optional, and often wrong (ISO 14289-1 7.21.4.2 wants them right or absent)."""
    descendants = use.font.get("/DescendantFonts")
    holders = [use.font, *(descendants if isinstance(descendants, pikepdf.Array) else [])]
    for holder in holders:
        descriptor = holder.get("/FontDescriptor") if isinstance(holder, pikepdf.Dictionary) else None
        if not isinstance(descriptor, pikepdf.Dictionary):
            continue
        for key, kind in (("/CIDSet", "cid-set"), ("/CharSet", "char-set")):
            if key in descriptor:
                del descriptor[key]
                session.changed(use.name, kind, "the optional list of its glyphs was taken out")
