"""The worker: gives up what it does not need, then runs the one function it is there for."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from pydantic import TypeAdapter

from pdf.errors import Code, PdfError

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
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
    without_network()
    temporary = folder / "tmp"
    os.chdir(temporary)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    said = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.closerange(3, 1024)
    megabyte = 1 << 20
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, 256)
    _limit(resource.RLIMIT_FSIZE, limits["file_mb"] * megabyte)
    # The soft limit's signal says what happened; the hard one, a little later, ends what would not listen.
    _limit(resource.RLIMIT_CPU, limits["cpu_seconds"], limits["cpu_seconds"] + 2)
    # Private memory: what is shared with the zygote, and files that are mapped, do not count.
    _limit(resource.RLIMIT_DATA, limits["memory_mb"] * megabyte)


def _limit(what: int, soft: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(what)
    top = (hard or soft) if most == resource.RLIM_INFINITY else min(hard or soft, most)
    resource.setrlimit(what, (min(soft, top), top))


def without_network() -> bool:
    """Move into a network namespace with nothing in it; False where the system does not allow that."""
    if _LIBC.unshare(_CLONE_NEWNET) == 0:
        return True
    return bool(_LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)
