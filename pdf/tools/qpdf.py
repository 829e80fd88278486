"""qpdf's check, by the library inside pikepdf: no program of its own, the same version as everything else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pikepdf
from pikepdf.jbig2 import JBIG2DecoderInterface, get_decoder, set_decoder


@dataclass(frozen=True)
class Checked:
    """The outcome: `ok` without errors and warnings; `errors` when qpdf could not make sense of the file."""

    ok: bool
    errors: bool
    messages: list[str]


class _Unread(JBIG2DecoderInterface):
    """Takes JBIG2 data unread. Without a `jbig2dec` program pikepdf cannot decode it, and qpdf would call every file
    with such a picture broken; whether the picture is, the pixels tell."""

    def check_available(self) -> None:
        return

    def decode_jbig2(self, jbig2: bytes, jbig2_globals: bytes) -> bytes:
        return b""


def check(path: Path) -> Checked:
    """Check a file as `qpdf --check` does: structure, and that every stream can be decoded (but for JBIG2 pictures).

    The time it takes is the file's choice: only for files of our own making, or inside the sandbox.
    """
    before = get_decoder()
    set_decoder(_Unread())
    job = pikepdf.Job(["qpdf", "--check", "--no-warn", str(path)])
    try:
        job.run()
    except (pikepdf.PdfError, RuntimeError) as error:
        return Checked(False, True, [str(error).replace(f"{path}: ", "")[:300]])
    finally:
        set_decoder(before)
    warned = bool(job.has_warnings) or job.exit_code == 3
    return Checked(not warned and job.exit_code == 0, job.exit_code == 2, ["qpdf warns of problems"] if warned else [])


def version() -> str:
    """The version of libqpdf."""
    return pikepdf.__libqpdf_version__
