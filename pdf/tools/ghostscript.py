"""Ghostscript as a program beside us, never linked: it may make a candidate, which then must prove itself.

Versions 10.00.0 to 10.02.0 damage text that looks unchanged (over 10 % of the characters of many documents that are not
Latin): they are refused. Debian 12 ships 10.00.0.
"""

from __future__ import annotations

import functools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pdf.errors import Code, PdfError
from pdf.tools.runner import run

#: First and last version known to damage text.
KNOWN_BAD = ((10, 0, 0), (10, 2, 0))
#: Older versions lack switches that are used here.
OLDEST = (9, 50, 0)


@dataclass(frozen=True)
class Ghostscript:
    """The installed program. `refusal` says why it is not used; empty when it may be."""

    path: str
    version: str
    refusal: str


@functools.cache
def find() -> Ghostscript | None:
    """The Ghostscript on the PATH with its version; None when there is none."""
    path = shutil.which("gs")
    if path is None:
        return None
    with TemporaryDirectory() as folder:
        try:
            said = run([path, "--version"], seconds=20, folder=Path(folder)).output
        except PdfError as error:
            return Ghostscript(path, "", f"it does not tell its version ({error.code})")
    return judged(path, said)


def judged(path: str, said: str) -> Ghostscript:
    """What to think of a Ghostscript that says this when it is asked for its version."""
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?", said.strip())
    if found is None:
        return Ghostscript(path, "", "it does not tell its version")
    version = (int(found[1]), int(found[2]), int(found[3] or 0))
    refusal = ""
    if KNOWN_BAD[0] <= version <= KNOWN_BAD[1]:
        refusal = f"version {said.strip()} is known to damage text"
    elif version < OLDEST:
        refusal = f"version {said.strip()} is too old"
    return Ghostscript(path, said.strip(), refusal)


def compress(program: Ghostscript, source: Path, target: Path, *, seconds: float) -> None:
    """Write `source` to `target` by the `/ebook` settings, PDF 1.6, pages as they are turned.

    Raises PdfError TOOL_TIMEOUT, TOOL_FAILED.
    """
    command = [
        program.path,
        "-q",
        "-dBATCH",
        "-dNOPAUSE",
        "-dSAFER",
        "-dPDFSTOPONERROR",
        "-sDEVICE=pdfwrite",
        "-dPDFSETTINGS=/ebook",
        "-dCompatibilityLevel=1.6",
        "-dAutoRotatePages=/None",
        "-dDetectDuplicateImages=true",
        "-dEmbedAllFonts=true",
        "-dSubsetFonts=true",
        "-dCompressFonts=true",
        f"--permit-file-read={source}",
        f"-sOutputFile={target}",
        str(source),
    ]
    with TemporaryDirectory(dir=target.parent) as folder:
        ran = run(command, seconds=seconds, folder=Path(folder))
    if ran.exit_code != 0 or not target.exists() or target.stat().st_size == 0:
        target.unlink(missing_ok=True)
        last = ran.output.splitlines()[-1] if ran.output else "it says nothing"
        raise PdfError(Code.TOOL_FAILED, f"Ghostscript ended with {ran.exit_code}: {last[:200]}")
