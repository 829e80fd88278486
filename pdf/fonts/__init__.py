"""Fonts made whole: embedded, with Unicode values and widths that agree (ISO 14289-1 7.21).

`repair` works on files; `repair_fonts` on an open document, so that a caller which saves anyway saves once.
"""

from __future__ import annotations

from pathlib import Path

from pdf.fonts.model import FontChange, FontFailure, FontRepair
from pdf.fonts.repair import repair_fonts
from pdf.save import save

__all__ = ["FontChange", "FontFailure", "FontRepair", "repair", "repair_fonts"]


def repair(source: Path, target: Path) -> FontRepair:
    """Write `source` to `target` with its fonts made whole. Deterministic: the same bytes for the same source.

    Every substitution is in `changes`; what cannot be recovered is in `failures` and stays as it is.
    Raises PdfError as `pdf.inspect.open_source` does, and DISK_FULL.
    """
    from pdf.inspect import open_source

    with open_source(source) as pdf:
        outcome = repair_fonts(pdf)
        save(pdf, target)
    return outcome
