"""``make bench-optimize [PDFS=folder]``: bytes, time and what is lost, against qpdf and plain Ghostscript; and what the
pixel check costs.

    python -m tests.bench_optimize [--pdfs FOLDER] [--no-pixels]

Ghostscript runs with its `/ebook` settings and nothing else, whatever its version: as the spec's peer, not as the
candidate that the platform would take. Compare figures of one run with each other only.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2

from pdf import inventory
from pdf.errors import PdfError
from pdf.optimize import optimize
from pdf.sandbox import Limits, Sandbox
from pdf.verify.pixels import DPI, check_pixels
from tests.corpus.samples import write
from tests.pdf.verify.test_pixels import poster

LIMITS = Limits(wall_seconds=600, cpu_seconds=600)


@dataclass(frozen=True)
class Made:
    """What a tool made of a file: bytes, seconds, what it lost in words."""

    size: int
    seconds: float
    lost: tuple[str, ...]


def plain_qpdf(source: Path, target: Path) -> None:
    """Object streams, linearized, deflated anew."""
    options = ("--object-streams=generate", "--linearize", "--recompress-flate")
    pikepdf.Job(["qpdf", *options, str(source), str(target)]).run()


def plain_ghostscript(source: Path, target: Path) -> None:
    """`/ebook`, as it comes."""
    command = ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=pdfwrite", "-dPDFSETTINGS=/ebook"]
    subprocess.run([*command, f"-sOutputFile={target}", str(source)], timeout=600, capture_output=True, check=False)


def made(source: Path, folder: Path, make: Callable[[Path, Path], object]) -> Made | None:
    """What `make` writes; None where it writes nothing that can be read."""
    target = folder / "made.pdf"
    target.unlink(missing_ok=True)
    began = time.monotonic()
    try:
        make(source, target)
        seconds = time.monotonic() - began
        gone = inventory.lost(inventory.take(source), inventory.take(target))
    except (PdfError, pikepdf.PdfError, OSError, RuntimeError, subprocess.TimeoutExpired):
        return None
    return Made(target.stat().st_size, seconds, tuple(gone))


def compared(files: list[Path]) -> None:
    """Bytes, seconds a page and losses of each tool, over the files that all of them could write."""
    with tempfile.TemporaryDirectory() as name, Sandbox(LIMITS) as sandbox:
        ways: dict[str, Callable[[Path, Path], object]] = {
            "this": lambda source, target: sandbox.call(optimize, source, target),
            "qpdf": plain_qpdf,
        }
        if shutil.which("gs"):
            ways["ghostscript /ebook"] = plain_ghostscript
        rows = [(file, {way: made(file, Path(name), make) for way, make in ways.items()}) for file in files]
    good = [(file, row) for file, row in rows if all(row.values())]
    for file, row in rows:
        if not all(row.values()):
            print(
                f"  left out, not written by {', '.join(way for way, one in row.items() if one is None)}: {file.name}"
            )
    before = sum(file.stat().st_size for file, _ in good)
    pages = sum(len(pikepdf.open(file).pages) for file, _ in good)
    print(f"{len(good)} files, {pages} pages, {before} bytes")
    for way in ways:
        ours = [one for _, row in good if (one := row[way]) is not None]
        size, seconds = sum(one.size for one in ours), sum(one.seconds for one in ours)
        words = sum(any("the text" in text for text in one.lost) for one in ours)
        more = sum(any("metadata" not in text for text in one.lost) for one in ours)
        print(
            f"  {way}: {size} bytes ({size / before:.1%} of the source), {seconds / pages:.3f} s a page, "
            f"something lost in {sum(bool(one.lost) for one in ours)} files, "
            f"more than metadata in {more}, text in {words}"
        )


def rendered(path: Path) -> None:
    """A file rendered once, forms drawn, at the resolution of the check."""
    with pypdfium2.PdfDocument(path) as document:
        document.init_forms()
        for page in document:
            page.render(scale=DPI / 72, may_draw_forms=True)
            page.close()


def pixels(files: list[Path]) -> None:
    """The check against rendering both files once; and its memory on a page of 14,400 points."""
    ratios = []
    for file in files:
        try:
            times = []
            for step in (rendered, lambda path: check_pixels(path, path), rendered):
                began = time.monotonic()
                step(file)
                if step is rendered:
                    rendered(file)
                times.append(time.monotonic() - began)
        except (pypdfium2.PdfiumError, MemoryError):
            continue
        if times[1] > 0.1:
            ratios.append(2 * times[1] / (times[0] + times[2]))
    if ratios:
        print(f"pixel check ÷ rendering both once, median of {len(ratios)} files: {statistics.median(ratios):.2f}")
    with tempfile.TemporaryDirectory() as name, Sandbox(LIMITS) as sandbox:
        page = poster(Path(name) / "poster.pdf", 14_400, 14_400)
        outcome = sandbox.call(check_pixels, page, page, None)
        print(f"a page of 14,400 × 14,400 points: {outcome.peak_memory_mb:.0f} MB, {outcome.seconds:.1f} s")


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="make bench-optimize", description="Measure optimization.")
    parser.add_argument("--pdfs", type=Path, help="a folder of PDFs (the samples)")
    parser.add_argument("--no-pixels", action="store_true", help="only optimization")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.pdfs
        if folder is None:
            folder = Path(name) / "samples"
            write(folder)
        files = sorted(folder.glob("*.pdf"))
        if not files:
            sys.exit(f"There is no PDF in {folder}.")
        compared(files)
        if not options.no_pixels:
            pixels(files)


if __name__ == "__main__":
    main()
