"""Do the pages look as before? Both files rendered by PDFium at 150 dpi, form fields drawn, compared pixel by pixel.

Rendered in tiles, so that memory depends on a tile and never on a page: one of 14,400 points is 30,000 pixels wide.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as package_version
from pathlib import Path

import numpy
import pypdfium2
import pypdfium2.raw as raw
from numpy.typing import NDArray

from pdf.verify.checks import PIXELS, Check, Result

DPI = 150
#: Difference of a channel (of 255) that counts as none, and the share of pixels of each page that must be within it.
TOLERANCE = 2
SHARE = 0.9995
#: Pixels of one tile; 4 bytes each, two of them at a time.
TILE_PIXELS = 4 << 20
MAX_SIDE = 1 << 15


class Rendering:
    """A document open for rendering, forms included."""

    def __init__(self, path: Path) -> None:
        self.document = pypdfium2.PdfDocument(path)
        self.document.init_forms()

    def close(self) -> None:
        self.document.close()

    def __len__(self) -> int:
        return len(self.document)

    @contextmanager
    def page(self, number: int) -> Iterator[RenderedPage]:
        """One page, loaded while the context lasts."""
        page = self.document[number]
        try:
            yield RenderedPage(page, self.document.formenv)
        finally:
            page.close()


class RenderedPage:
    """A loaded page; renders any part of itself."""

    def __init__(self, page: pypdfium2.PdfPage, forms: pypdfium2.PdfFormEnv | None) -> None:
        self._page, self._forms = page, forms
        width, height = page.get_size()
        self.points = (width, height)

    def size(self, scale: float) -> tuple[int, int]:
        """Width and height in pixels at `scale` pixels a point."""
        return max(1, math.ceil(self.points[0] * scale)), max(1, math.ceil(self.points[1] * scale))

    def render(self, scale: float, left: int, top: int, width: int, height: int) -> NDArray[numpy.uint8]:
        """Pixels [top, top + height) × [left, left + width): an array (height, width, 4), BGRx on white."""
        whole = self.size(scale)
        buffer = numpy.empty((height, width, 4), numpy.uint8)
        pointer = buffer.ctypes.data_as(ctypes.c_void_p)
        bitmap = raw.FPDFBitmap_CreateEx(width, height, raw.FPDFBitmap_BGRx, pointer, width * 4)
        if not bitmap:
            raise MemoryError
        try:
            raw.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
            place = (-left, -top, *whole, 0, raw.FPDF_ANNOT)
            raw.FPDF_RenderPageBitmap(bitmap, self._page.raw, *place)
            if self._forms is not None:
                raw.FPDF_FFLDraw(self._forms.raw, bitmap, self._page.raw, *place)
        finally:
            raw.FPDFBitmap_Destroy(bitmap)
        return buffer


def check_pixels(base: Path, version: Path, pixel_changes_reason: str | None = None) -> Check:
    """Compare every page of `version` with `base`. Where they differ, a declared reason waives it."""
    tool = f"PDFium {raw_version()}, {DPI} dpi, tolerance {TOLERANCE}, {SHARE:.2%} of each page"
    before, after = Rendering(base), Rendering(version)
    try:
        if len(before) != len(after):
            pages = {"pages_before": len(before), "pages_after": len(after)}
            return Check(PIXELS, Result.FAIL, "The number of pages has changed.", tool, pages)
        shares = [page_share(before, after, number) for number in range(len(before))]
    finally:
        before.close()
        after.close()
    worst = min(shares, default=1.0)
    differing = [number + 1 for number, share in enumerate(shares) if share < SHARE]
    detail = {"worst_share": round(worst, 6), "pages": len(shares), "differing_pages": differing[:100]}
    if not differing:
        return Check(PIXELS, Result.PASS, "Every page looks as before.", tool, detail)
    reason = f"{len(differing)} of {len(shares)} pages look different; the first is page {differing[0]}."
    if pixel_changes_reason:
        return Check(PIXELS, Result.WAIVED, f"{reason} Declared: {pixel_changes_reason}", tool, detail)
    return Check(PIXELS, Result.FAIL, reason, tool, detail)


def page_share(before: Rendering, after: Rendering, number: int) -> float:
    """The share of a page's pixels that are the same within the tolerance; 0 for pages of another size."""
    with before.page(number) as one, after.page(number) as two:
        scale = DPI / 72
        width, height = one.size(scale)
        if two.size(scale) != (width, height):
            return 0.0
        different = 0
        for left, top, wide, high in tiles(width, height):
            a, b = one.render(scale, left, top, wide, high), two.render(scale, left, top, wide, high)
            different += differences(a, b)
            if different > (1 - SHARE) * width * height:
                break  # it cannot pass any more
        return 1 - different / (width * height)


def differences(a: NDArray[numpy.uint8], b: NDArray[numpy.uint8]) -> int:
    """How many pixels differ by more than the tolerance in any channel."""
    # Most pages are equal: one pass over the bytes tells, as 64-bit words.
    if numpy.array_equal(a.view(numpy.uint32), b.view(numpy.uint32)):
        return 0
    apart = numpy.maximum(a, b)
    apart -= numpy.minimum(a, b)
    return int((apart[..., :3] > TOLERANCE).any(axis=2).sum())


def tiles(width: int, height: int) -> Iterator[tuple[int, int, int, int]]:
    """(left, top, width, height) of tiles that cover a page, none larger than TILE_PIXELS."""
    wide = min(width, MAX_SIDE, TILE_PIXELS)
    high = max(1, min(height, TILE_PIXELS // wide))
    for top in range(0, height, high):
        for left in range(0, width, wide):
            yield left, top, min(wide, width - left), min(high, height - top)


def raw_version() -> str:
    """The version of PDFium, as its binding names it."""
    return f"{pypdfium2.PDFIUM_INFO.build} (pypdfium2 {package_version('pypdfium2')})"
