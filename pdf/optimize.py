"""Smaller without losing anything a reader relies on."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pikepdf

from pdf.errors import Code, PdfError
from pdf.inspect import open_source, signatures, walk_fields
from pdf.save import save


@dataclass(frozen=True)
class Candidate:
    """A way the file could be written: its size in bytes (none if it was not made) and why it was refused."""

    name: str
    size_bytes: int | None
    accepted: bool
    reason: str


@dataclass(frozen=True)
class Optimization:
    """The outcome: which candidate was chosen and why the others were not; sizes in bytes."""

    pages: int
    size_before: int
    size_after: int
    chosen: str
    sha256: str
    candidates: list[Candidate] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)


def optimize(source: Path, target: Path) -> Optimization:
    """Write the smallest form of `source` that loses nothing to `target`.

    Raises PdfError as `open_source` does, and PAGE_COUNT_CHANGED, FEATURE_LOST, TOOL_FAILED, DISK_FULL.
    """
    with open_source(source) as pdf:
        pages = len(pdf.pages)
        if is_signed(pdf):
            shutil.copyfile(source, target)
            candidates = [Candidate("untouched", source.stat().st_size, True, "the file is signed: its bytes stay")]
        else:
            save(pdf, target, linearize=True)
            candidates = [Candidate("lossless", target.stat().st_size, True, "")]
            if target.stat().st_size > source.stat().st_size:
                candidates = [Candidate("lossless", target.stat().st_size, True, "not smaller")]
    with open_source(target) as made:
        if len(made.pages) != pages:
            raise PdfError(Code.PAGE_COUNT_CHANGED, f"{pages} pages became {len(made.pages)}.")
    return Optimization(
        pages,
        source.stat().st_size,
        target.stat().st_size,
        candidates[0].name,
        hashlib.sha256(target.read_bytes()).hexdigest(),
        candidates,
        {"pikepdf": pikepdf.__version__, "qpdf": pikepdf.__libqpdf_version__},
    )


def is_signed(pdf: pikepdf.Pdf) -> bool:
    acroform = pdf.Root.get("/AcroForm")
    fields = walk_fields(acroform) if isinstance(acroform, pikepdf.Dictionary) else []
    return signatures(pdf.Root, fields)[0]
