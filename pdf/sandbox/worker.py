"""The worker: gives up what it does not need, then runs the one function it is there for."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from pydantic import TypeAdapter

from pdf.errors import Code, PdfError
from pdf.sandbox import confine

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def work(folder: Path, limits: Mapping[str, Any], monitor: int) -> NoReturn:
    """Run the call in `folder` and end this process: 0 with ``result.json`` written.

    The result begins with a letter: V the value as JSON, E a PdfError, X the trace of an error that is ours.
    """
    status = 1
    try:
        _confine(folder, limits, monitor)
        call = json.loads((folder / "call.json").read_bytes())
        (folder / "result.json").write_bytes(_run(call["function"], call["arguments"]))
        status = 0
    except MemoryError:
        status = _refused(folder, Code.OUT_OF_MEMORY, "The file needs more memory than it may have.")
    except OSError as error:
        status = _refused(folder, Code.DISK_FULL, f"The result could not be written: {error.strerror}.")
    finally:
        sys.stderr.flush()
        os._exit(status)


def _refused(folder: Path, code: Code, message: str) -> int:
    (folder / "result.json").write_bytes(_error(PdfError(code, message)))
    return 0


def _run(name: str, arguments: Mapping[str, Any]) -> bytes:
    module, _, function_name = name.partition(":")
    function: Any = getattr(importlib.import_module(module), function_name)
    hints = get_type_hints(function)
    try:
        given = {key: TypeAdapter(hints[key]).validate_python(value, strict=False) for key, value in arguments.items()}
        return b"V" + TypeAdapter(hints["return"]).dump_json(function(**given))
    except PdfError as error:
        return _error(error)
    except MemoryError:
        return _error(PdfError(Code.OUT_OF_MEMORY, "The file needs more memory than it may have."))
    except OSError as error:
        if error.errno in (28, 122):  # ENOSPC, EDQUOT
            return _error(PdfError(Code.DISK_FULL, "There is no room on the disk for the result.", retryable=True))
        return b"X" + traceback.format_exc().encode(errors="replace")
    except Exception:  # noqa: BLE001 it is reported whole, as an error of ours
        return b"X" + traceback.format_exc().encode(errors="replace")


def _error(error: PdfError) -> bytes:
    return b"E" + json.dumps({"code": error.code, "message": error.message, "retryable": error.retryable}).encode()


def _confine(folder: Path, limits: Mapping[str, Any], monitor: int) -> None:
    os.setsid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != monitor:  # it died before it could be listened to
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    confine.without_network()
    temporary = folder / "tmp"
    os.chdir(temporary)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    said = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.closerange(3, 1024)
    confine.limits(limits["memory_mb"], limits["file_mb"], limits["cpu_seconds"])
