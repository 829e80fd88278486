"""What an analyzer is: anything that turns pages of a base into blocks. `layout` is one; a model or an OCR engine fits.

An analyzer is known by its name and version, which are stored with what it made: a page analyzed by another version is
analyzed again, never mixed in silently.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pdf.layout.analyze import analyze
from pdf.layout.model import VERSION, PageAnalysis


class Analyzer(Protocol):
    """Analyzes pages [first, last) of a base PDF, each once and independently of the others.

    The results are in page order, JSON-able, and depend on nothing but the base and the analyzer's version. Raises
    `pdf.errors.PdfError`; a retryable one (a service that is busy) may be tried again for the same pages.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def analyze(self, base: Path, first: int, last: int) -> list[PageAnalysis]: ...


class Layout:
    """The analyzer that needs no model and no network."""

    name = "layout"
    version = str(VERSION)

    def analyze(self, base: Path, first: int, last: int) -> list[PageAnalysis]:
        return analyze(base, first, last)
