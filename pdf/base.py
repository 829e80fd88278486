"""The base: what a document is before its first tag. Optimized, with its fonts made whole, and from then on fixed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pikepdf

from pdf.content.inline import mend_inline_images
from pdf.fonts import FontRepair, repair_fonts
from pdf.inspect import open_source
from pdf.optimize import Candidate, Optimization, optimize, tools
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


def make_base(source: Path, target: Path, *, thorough: bool = False) -> Base:
    """Optimize `source`, mend its fonts, write `target`. The same source gives the same bytes.

    Not `thorough`, the file is only written better (object streams, unused objects dropped), which loses nothing by
    construction and costs one pass; `thorough` runs all of `optimize` first, with its candidates and their proofs.
    A signature does not outlive this: a base is made to be changed.

    Raises PdfError as `optimize` and `repair` do.
    """
    if not thorough:
        with open_source(source) as pdf:
            return _written(pdf, source, target, None)
    optimized = target.with_name(target.name + ".optimized")
    try:
        optimization = optimize(source, optimized)
        with open_source(optimized) as pdf:
            return _written(pdf, source, target, optimization)
    finally:
        optimized.unlink(missing_ok=True)


def _written(pdf: pikepdf.Pdf, source: Path, target: Path, optimization: Optimization | None) -> Base:
    pages = len(pdf.pages)
    mend_inline_images(pdf)
    fonts = repair_fonts(pdf)
    save(pdf, target)
    data = target.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if optimization is None:
        written = Candidate("rewritten", len(data), True, "object streams; its fonts are mended already")
        optimization = Optimization(pages, source.stat().st_size, len(data), written.name, digest, [written], tools())
    return Base(optimization, fonts, digest, len(data), pages, fonts.pixel_changes_reason, fonts.text_changes_reason)
