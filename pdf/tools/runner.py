"""Running a program of somebody else: no shell, no environment of ours, a deadline, and nothing of it left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pdf.errors import Code, PdfError

#: The most of a program's words that are kept, in bytes.
_KEPT = 64_000


@dataclass(frozen=True)
class Ran:
    """How a program ended, and the last it said."""

    exit_code: int
    output: str


def run(command: Sequence[str], *, seconds: float, folder: Path, answer: Path | None = None) -> Ran:
    """Run a program with `folder` as its working and temporary directory. Its stdout goes to the file `answer` where
    that is wanted whole.

    Raises PdfError TOOL_TIMEOUT (the whole process group is killed), TOOL_MISSING, TOOL_FAILED (killed by a signal).
    """
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder), "HOME": str(folder)}
    log = folder / "tool.log"
    try:
        with log.open("ab") as stream, (answer or log).open("ab") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=stream,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
    except FileNotFoundError as error:
        raise PdfError(Code.TOOL_MISSING, f"{command[0]} is not installed.") from error
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired as error:
        raise PdfError(Code.TOOL_TIMEOUT, f"{Path(command[0]).name} took more than {seconds:.0f} s.") from error
    finally:
        with contextlib.suppress(ProcessLookupError):  # whatever it started goes too, when it has ended as well
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said = _tail(log)
        log.unlink(missing_ok=True)
    if code < 0:
        raise PdfError(Code.TOOL_FAILED, f"{Path(command[0]).name} was ended by signal {-code}.")
    return Ran(code, said)


def _tail(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(stream.tell() - _KEPT, 0))
        return stream.read().decode("utf-8", "replace").strip()
