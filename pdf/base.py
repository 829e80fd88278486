"""The base: what a document is before its first tag. Optimized, with its fonts made whole, and from then on fixed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pdf.fonts import FontRepair, repair_fonts
from pdf.inspect import open_source
from pdf.optimize import Optimization, optimize
from pdf.save import save


@dataclass(frozen=True)
class Base:
    """The base file: `sha256` and `size` (bytes) of what was written. `pixel_changes_reason` says why its pages may
    look different from the source, None when they do not; `text_changes_reason` likewise for the extracted text."""

    optimization: Optimization
    fonts: FontRepair
    sha256: str
    size: int
    pages: int
    pixel_changes_reason: str | None
    text_changes_reason: str | None = None


def make_base(source: Path, target: Path) -> Base:
    """Optimize `source`, mend its fonts, write `target`. The same source gives the same bytes.

    Raises PdfError as `optimize` and `repair` do.
    """
    optimized = target.with_name(target.name + ".optimized")
    try:
        optimization = optimize(source, optimized)
        with open_source(optimized) as pdf:
            pages = len(pdf.pages)
            fonts = repair_fonts(pdf)
            save(pdf, target)
    finally:
        optimized.unlink(missing_ok=True)
    data = target.read_bytes()
    return Base(
        optimization,
        fonts,
        hashlib.sha256(data).hexdigest(),
        len(data),
        pages,
        fonts.pixel_changes_reason,
        fonts.text_changes_reason,
    )
