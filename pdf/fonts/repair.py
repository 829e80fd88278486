"""One pass over the fonts that a document uses, mending each."""

from __future__ import annotations

import pikepdf

from pdf.fonts.model import FontChange, FontFailure, FontRepair
from pdf.fonts.usage import used_fonts


def repair_fonts(pdf: pikepdf.Pdf) -> FontRepair:
    """Mend the fonts of an open document in place."""
    uses = used_fonts(pdf)
    changes: list[FontChange] = []
    failures: list[FontFailure] = []
    for use in uses:
        font = use.font
        for holder in [font, *font.get("/DescendantFonts", [])]:
            descriptor = holder.get("/FontDescriptor")
            if not isinstance(descriptor, pikepdf.Dictionary):
                continue
            for key, kind in (("/CIDSet", "cid-set"), ("/CharSet", "char-set")):
                if key in descriptor:
                    del descriptor[key]
                    changes.append(FontChange(use.name, kind, "the optional list of glyphs was taken out"))
    return FontRepair(len(uses), changes, failures)
