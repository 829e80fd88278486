"""A page as objects: what PDFium sees (geometry, Unicode, fonts) at the place the content stream paints it.

PDFium's page objects come in the order of the painting operators, so both lists are zipped, form by form; the index of
an item is its place in the flat list of `pdf.content.painting`, which is what ops address. Coordinates are points as
the reader sees the page: origin at the lower left of the crop box, /Rotate and /UserUnit applied, y upwards.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from types import TracebackType

import pikepdf
import pypdfium2 as pdfium

from pdf.content.annotations import Annots
from pdf.content.painting import Painter
from pdf.errors import Code, PdfError
from pdf.items import Char, Font, Item, PageItems
from pdf.pdfium import PageView

__all__ = ["Char", "Font", "Item", "PageItems", "PageReader"]


class PageReader:
    """Reads pages of a base PDF one at a time; a context manager. Not for several threads: PDFium is not thread-safe.

    Raises PdfError (SOURCE_DAMAGED, NOT_A_PDF, ENCRYPTED) when the file does not open.
    """

    def __init__(self, base: Path) -> None:
        try:
            self._pdf = pikepdf.open(base)
            self.pages = len(self._pdf.pages)
        except pikepdf.PasswordError as error:
            raise PdfError(Code.ENCRYPTED, "The file needs a password.") from error
        except (pikepdf.PdfError, ValueError, RuntimeError) as error:
            raise PdfError(Code.SOURCE_DAMAGED, f"The file cannot be read: {error}") from error
        try:
            self._document = pdfium.PdfDocument(base)
        except pdfium.PdfiumError as error:
            self._pdf.close()
            raise PdfError(Code.SOURCE_DAMAGED, f"PDFium cannot read the file: {error}") from error
        self._painter = Painter(self._pdf)
        self._annots = Annots(self._pdf)
        self._view: PageView | None = None

    def __enter__(self) -> PageReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close both readers. The items read stay; `chars` and `parts` no longer work."""
        if self._view is not None:
            self._view.close()
            self._view = None
        self._document.close()
        self._pdf.close()

    def read(self, number: int) -> PageItems:
        """The page with this number (from 0). Raises PdfError SOURCE_DAMAGED when PDFium cannot load it."""
        if self._view is not None:
            self._view.close()
        page = self._pdf.pages[number]
        painting = self._painter.page(page)
        unit = page.obj.get("/UserUnit")
        scale = float(unit) if isinstance(unit, int | float | Decimal) else 1.0
        self._view = view = PageView(self._document, number, scale if 0 < scale < 1000 else 1.0)
        return view.items(painting, self._annots, page)
