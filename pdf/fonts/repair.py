"""One pass over the fonts that a document uses, mending each."""

from __future__ import annotations

import pikepdf

from pdf.fonts import encodings
from pdf.fonts.embed import embed_simple
from pdf.fonts.model import FontRepair
from pdf.fonts.session import Session
from pdf.fonts.simple import SimpleFont
from pdf.fonts.usage import FontUse, used_fonts


def repair_fonts(pdf: pikepdf.Pdf) -> FontRepair:
    """Mend the fonts of an open document in place."""
    uses = used_fonts(pdf)
    session = Session(pdf)
    for use in uses:
        _drop_glyph_lists(use, session)
        subtype = use.font.get("/Subtype")
        if subtype == pikepdf.Name.Type0:
            continue
        if subtype == pikepdf.Name.Type3:
            continue
        repair_simple(SimpleFont(use), session)
    visible = sorted({change.font for change in session.changes if change.visible})
    texts = sorted({change.font for change in session.changes if change.kind == "unicode"})
    return FontRepair(
        len(uses),
        session.changes,
        session.failures,
        f"Fonts that the file did not embed were put in: {_listed(visible)}." if visible else None,
        f"Characters were given the Unicode value they lacked, in: {_listed(texts)}." if texts else None,
    )


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


def repair_simple(font: SimpleFont, session: Session) -> None:
    """Embed, and complete the Unicode values, of a simple font."""
    texts = _missing_texts(font, session)
    if font.file is None and font.seen:
        embed_simple(font, session)
    if texts:
        known = {(code, 1): text for code, text in font.mapped.items() if code < 256 and encodings.allowed(text)}
        session.set_unicode(font.font, known | {(code, 1): text for code, text in texts.items()})
        session.changed(font.name, "unicode", f"{len(texts)} characters were given their Unicode values")


def _missing_texts(font: SimpleFont, session: Session) -> dict[int, str]:
    """The Unicode values that readers cannot know: of codes without one in ToUnicode and without a standard name."""
    known = encodings.standard_names() if font.codes - font.mapped.keys() else frozenset()
    lost: list[int] = []
    found: dict[int, str] = {}
    for code in sorted(font.codes):
        mapped = font.mapped.get(code)
        if mapped is not None and (encodings.allowed(mapped) or mapped == ""):
            continue
        if mapped is None and font.names.get(code) in known:
            continue
        text = font.text(code)
        if text:
            found[code] = text
        else:
            lost.append(code)
    if lost:
        listed = ", ".join(f"{code} ({font.names.get(code, 'no name')})" for code in lost[:6])
        session.failed(font.name, "7.21.7", f"no Unicode value can be told for the codes {listed}")
    return found
