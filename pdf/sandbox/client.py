"""The caller's side: starts the zygote, sends calls, turns what came of them into values and errors."""

from __future__ import annotations

import functools
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from pdf.errors import Code, PdfError
from pdf.workdir import prefix

log = logging.getLogger(__name__)
T = TypeVar("T")
ROOT = Path(__file__).parents[2]
#: A result larger than this is refused: the largest honest one, the analysis of an 800-page chunk, is far smaller.
RESULT_BYTES = 256 << 20


@dataclass(frozen=True)
class Limits:
    """What one call may use: wall-clock and CPU seconds, memory and the size of a file it writes in MB, processes."""

    wall_seconds: float = 120
    cpu_seconds: int = 110
    memory_mb: int = 2048
    file_mb: int = 2048
    processes: int = 64


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What a call gave, and what it cost. `peak_memory_mb` is the high-water mark of the call's own process."""

    value: T
    seconds: float
    cpu_seconds: float
    peak_memory_mb: float


class Sandbox:
    """Runs functions on untrusted files. Thread-safe; a context manager. The zygote starts with the first call.

    `work` is the folder in which each call gets a directory of its own, removed after it (default: the system's).
    """

    def __init__(self, limits: Limits = Limits(), work: Path | None = None) -> None:
        self.limits = limits
        self.work = work
        self._lock = threading.Lock()
        self._zygote: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote. Calls that are under way end with CHILD_KILLED."""
        with self._lock:
            self._end()

    def call(
        self, function: Callable[..., T], /, *args: Any, limits: Limits | None = None, **kwargs: Any
    ) -> Outcome[T]:
        """Run a module-level function of annotated, JSON-able parameters and result.

        Raises the function's own PdfError, or PdfError CHILD_KILLED (it crashed, or had to be ended), TOOL_TIMEOUT,
        OUT_OF_MEMORY, TOOL_FAILED (an error in our own code: the log has its trace).
        """
        names = list(_hints(function))
        arguments = dict(zip((name for name in names if name != "return"), args, strict=False)) | kwargs
        sent = {name: _adapter(function, name).dump_python(value, mode="json") for name, value in arguments.items()}
        raw = self.run(f"{function.__module__}:{function.__qualname__}", sent, limits)
        try:
            value: T = _adapter(function, "return").validate_json(raw.value)
        except ValidationError as error:
            raise PdfError(Code.TOOL_FAILED, f"{function.__name__} gave a result that is none.") from error
        return Outcome(value, raw.seconds, raw.cpu_seconds, raw.peak_memory_mb)

    def run(self, name: str, arguments: dict[str, Any], limits: Limits | None = None) -> Outcome[bytes]:
        """`call` for a caller that does not import the function: ``module:name``, arguments and result as JSON."""
        limits = limits or self.limits
        folder = Path(tempfile.mkdtemp(prefix=prefix("pdf"), dir=self.work))
        try:
            (folder / "call.json").write_text(json.dumps({"function": name, "arguments": arguments}))
            (folder / "tmp").mkdir()
            ours, theirs = socket.socketpair()
            with ours, theirs:
                message = json.dumps({"folder": str(folder), "limits": asdict(limits)}).encode()
                self._send(message, theirs)
                theirs.close()
                # The monitor keeps the wall time; twice that, and it is the monitor that hangs.
                ours.settimeout(2 * limits.wall_seconds + 30)
                report = _read(ours)
            return self._outcome(name, folder, report)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _outcome(self, name: str, folder: Path, report: bytes) -> Outcome[bytes]:
        if not report:
            raise PdfError(Code.CHILD_KILLED, "The process that was working on the file was ended from outside.")
        facts = json.loads(report)
        if facts["code"] is not None:
            log.warning("%s: %s (%s)", name, facts["message"], _tail(folder / "stderr"))
            raise PdfError(Code(facts["code"]), facts["message"])
        result = folder / "result.json"
        if not result.exists() or result.stat().st_size > RESULT_BYTES:
            raise PdfError(Code.CHILD_KILLED, "The process that was working on the file ended without a result.")
        answer = result.read_bytes()
        kind, body = answer[:1], answer[1:]
        if kind == b"E":
            error = json.loads(body)
            raise PdfError(Code(error["code"]), error["message"], retryable=error["retryable"])
        if kind == b"X":
            log.error("%s failed:\n%s", name, body.decode(errors="replace"))
            last = body.decode(errors="replace").strip().rsplit("\n", 1)[-1][:300]
            raise PdfError(Code.TOOL_FAILED, f"An error in the program itself ({name}): {last}")
        return Outcome(body, facts["seconds"], facts["cpu_seconds"], facts["peak_memory_mb"])

    def _send(self, message: bytes, channel: socket.socket) -> None:
        with self._lock:
            for attempt in (1, 2):
                control = self._started()
                try:
                    socket.send_fds(control, [message], [channel.fileno()])
                    return
                except OSError as error:  # the zygote is gone: a new one, once
                    self._end()
                    if attempt == 2:
                        raise PdfError(
                            Code.CHILD_KILLED, f"The sandbox cannot be started: {error}", retryable=True
                        ) from error

    def _started(self) -> socket.socket:
        """The zygote's control socket. A process forked from the one that started it starts its own."""
        if self._owner != os.getpid():
            self._zygote = self._control = None
        if self._control is None or self._zygote is None or self._zygote.poll() is not None:
            self._end()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._zygote = subprocess.Popen(
                    [sys.executable, "-m", "pdf.sandbox.zygote", str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    env=clean_environment(),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                )
            self._control = ours
            self._owner = os.getpid()
        return self._control

    def _end(self) -> None:
        control, zygote = self._control, self._zygote
        self._control = self._zygote = None
        if self._owner != os.getpid():
            return
        if control is not None:
            control.close()  # the zygote ends at the end of its input
        if zygote is not None:
            try:
                zygote.wait(timeout=5)
            except subprocess.TimeoutExpired:
                zygote.kill()
                zygote.wait()


def clean_environment() -> dict[str, str]:
    """The environment of all that opens an untrusted file: what the tools need, and nothing of this process's."""
    return {
        "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        # One thread a process: a library's thread pool would not survive the fork.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def _read(channel: socket.socket) -> bytes:
    parts = []
    try:
        while part := channel.recv(65536):
            parts.append(part)
    except OSError:
        return b""
    return b"".join(parts)


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-2000:].decode(errors="replace").strip() or "it said nothing"
    except OSError:
        return "it said nothing"


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function)


@functools.cache
def _adapter(function: Callable[..., Any], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_hints(function)[name])
