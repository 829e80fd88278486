"""Smaller without losing anything a reader relies on (links, tags, fields, text, pixels …).

Three candidates: the original, only linearized; the same content encoded better (`pdf.lossless`); and what Ghostscript
makes of it. Each is compared with the source, feature by feature, and Ghostscript's page by page in pixels too; the
smallest that loses nothing is taken, and every decision is recorded. A signed file keeps its bytes.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pikepdf

from pdf import inventory
from pdf.errors import Code, PdfError
from pdf.inspect import open_source, signatures, walk_fields
from pdf.lossless import squeeze
from pdf.save import save
from pdf.tools import ghostscript, qpdf

#: Time for Ghostscript: a start, and so much a page.
_SECONDS, _SECONDS_A_PAGE = 30.0, 2.0


@dataclass(frozen=True)
class Candidate:
    """A way the file could be written: its size in bytes (none if it was not made) and why it was refused."""

    name: str
    size_bytes: int | None
    accepted: bool
    reason: str


@dataclass(frozen=True)
class Optimization:
    """The outcome: which candidate was chosen and why the others were not; sizes in bytes; `tools` with versions."""

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
            untouched = Candidate("untouched", source.stat().st_size, True, "the file is signed: its bytes stay")
            return _outcome(source, target, pages, untouched, [untouched])
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix="optimize-") as name:
        folder = Path(name)
        linearized = _linearized(source, folder)
        seen, before = _reference(source, folder / "linearized.pdf")
        candidates = [linearized, *_rewritten(seen, folder, before, pages)]
        usable = [c for c in candidates if c.accepted and c.size_bytes is not None]
        if not usable:
            raise PdfError(Code.FEATURE_LOST, f"The file cannot be rewritten without loss: {candidates[0].reason}.")
        chosen = min(usable, key=lambda c: (c.size_bytes or 0, candidates.index(c)))
        made = folder / f"{chosen.name}.pdf"
        if chosen.name == "linearized":
            _prove(before, made)
        made.replace(target)
    size = source.stat().st_size
    if (chosen.size_bytes or 0) >= size:
        note = "smaller is not to be had; it was only linearized" if chosen.name == "linearized" else chosen.reason
        candidates = [Candidate(c.name, c.size_bytes, c.accepted, note) if c is chosen else c for c in candidates]
    return _outcome(source, target, pages, chosen, candidates)


def is_signed(pdf: pikepdf.Pdf) -> bool:
    """Whether the file bears a person's or an author's signature."""
    acroform = pdf.Root.get("/AcroForm")
    fields = walk_fields(acroform) if isinstance(acroform, pikepdf.Dictionary) else []
    return signatures(pdf.Root, fields)[0]


def tools() -> dict[str, str]:
    """The versions of what optimization uses."""
    found = ghostscript.find()
    used = {"pikepdf": pikepdf.__version__, "qpdf": qpdf.version()}
    return used | ({"ghostscript": found.version or "unknown"} if found is not None else {})


def _outcome(source: Path, target: Path, pages: int, chosen: Candidate, candidates: list[Candidate]) -> Optimization:
    with target.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Optimization(pages, source.stat().st_size, target.stat().st_size, chosen.name, digest, candidates, tools())


def _linearized(source: Path, folder: Path) -> Candidate:
    """The original as it is, but linearized: what is published when nothing better can be had."""
    target = folder / "linearized.pdf"
    with open_source(source) as pdf:
        save(pdf, target, linearize=True, object_streams=False)
    return Candidate("linearized", target.stat().st_size, True, "")


def _reference(source: Path, linearized: Path) -> tuple[Path, inventory.Inventory]:
    """What the candidates are compared with: the source; or, where only qpdf can read that, what qpdf reads in it."""
    try:
        return source, inventory.take(source)
    except PdfError as error:
        if error.code is not Code.SOURCE_DAMAGED:
            raise
        gone = inventory.lost(inventory.take(source, texts=False), inventory.take(linearized, texts=False))
        if gone:
            raise PdfError(
                Code.FEATURE_LOST, f"The file cannot be repaired without loss: {'; '.join(gone[:4])}"
            ) from error
        return linearized, inventory.take(linearized)


def _rewritten(source: Path, folder: Path, before: inventory.Inventory, pages: int) -> list[Candidate]:
    lossless = _lossless(source, folder, before, fonts=True)
    if not lossless.accepted:  # fonts are what a viewer may see in another way
        lossless = _lossless(source, folder, before, fonts=False)
    return [lossless, _ghostscript(source, folder, before, pages)]


def _lossless(source: Path, folder: Path, before: inventory.Inventory, *, fonts: bool) -> Candidate:
    target = folder / "lossless.pdf"
    try:
        with open_source(source) as pdf:
            gains = squeeze(pdf, fonts=fonts)
            save(pdf, target, linearize=True)
        _prove(before, target)
        if (gains.pictures or gains.fonts) and (worst := _unlike(source, target, exactly=True)):
            raise PdfError(Code.FEATURE_LOST, worst)
    except PdfError as error:
        if error.code is Code.DISK_FULL:
            raise
        return Candidate("lossless", _size(target), False, error.message)
    done = []
    if gains.pictures:
        done.append(f"{gains.pictures} pictures encoded anew (-{gains.picture_bytes} bytes)")
    if gains.duplicates:
        done.append(f"{gains.duplicates} duplicates joined (-{gains.duplicate_bytes} bytes)")
    if gains.fonts:
        done.append(f"{gains.fonts} font programs without what nobody shows (-{gains.font_bytes} bytes, inflated)")
    return Candidate("lossless", target.stat().st_size, True, "; ".join(done))


def _ghostscript(source: Path, folder: Path, before: inventory.Inventory, pages: int) -> Candidate:
    name = "ghostscript"
    program = ghostscript.find()
    if program is None:
        return Candidate(name, None, False, "Ghostscript is not installed (Debian: ghostscript)")
    if program.refusal:
        return Candidate(name, None, False, program.refusal)
    if before.tagged:
        return Candidate(name, None, False, "the file is tagged, and Ghostscript drops the structure")
    if before.fields:
        return Candidate(name, None, False, "the file has form fields, and Ghostscript drops them")
    target = folder / "ghostscript.pdf"
    raw = folder / "ghostscript-raw.pdf"
    try:
        ghostscript.compress(program, source, raw, seconds=_SECONDS + _SECONDS_A_PAGE * pages)
        if raw.stat().st_size >= source.stat().st_size:
            return Candidate(name, raw.stat().st_size, False, "it is not smaller")
        with open_source(raw) as pdf:
            save(pdf, target, linearize=True)
        _prove(before, target)
        worst = _unlike(source, target)
    except PdfError as error:
        if error.code is Code.DISK_FULL:
            raise
        return Candidate(name, _size(target) or _size(raw), False, error.message)
    if worst:
        return Candidate(name, target.stat().st_size, False, worst)
    return Candidate(name, target.stat().st_size, True, "")


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def _prove(before: inventory.Inventory, made: Path) -> None:
    """Raise PdfError where a candidate lost something, or qpdf finds it broken."""
    checked = qpdf.check(made)
    if checked.errors:
        raise PdfError(Code.TOOL_FAILED, f"qpdf rejects it: {checked.messages[0]}")
    after = inventory.take(made)
    if len(after.pages) != len(before.pages):
        raise PdfError(Code.PAGE_COUNT_CHANGED, f"{len(before.pages)} pages became {len(after.pages)}")
    gone = inventory.lost(before, after)
    if gone:
        raise PdfError(Code.FEATURE_LOST, "; ".join(gone[:4]))


def _unlike(source: Path, made: Path, *, exactly: bool = False) -> str:
    """What page of a candidate looks different from the source to the eye; empty when none does.

    `exactly`: at 72 dpi every pixel is the same. Otherwise pictures may have been reduced: a page is alike when no more
    than 0.5 % of its pixels differ by more than 24 of 255, and the mean difference is at most 1.5.
    """
    import numpy as np
    import pypdfium2 as pdfium

    with pdfium.PdfDocument(source) as first, pdfium.PdfDocument(made) as second:
        for number in range(len(first)):
            one, two = first[number], second[number]
            scale = min(1.0, 2000 / max(*one.get_size(), 1))
            a, b = (np.asarray(page.render(scale=scale).to_numpy()) for page in (one, two))
            one.close()
            two.close()
            if a.shape != b.shape:
                return f"page {number + 1} has another size"
            if np.array_equal(a, b):
                continue
            apart = np.abs(a.astype(np.int16) - b)
            if exactly or float((apart.max(axis=2) > 24).mean()) > 0.005 or float(apart.mean()) > 1.5:
                return f"page {number + 1} looks different"
    return ""
