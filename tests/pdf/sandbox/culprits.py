"""What a hostile file may make a tool do. Run in the sandbox by `test_sandbox`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pdf.errors import Code, PdfError


def environment() -> dict[str, str]:
    return dict(os.environ)


def double(number: int) -> int:
    return 2 * number


def refuse() -> int:
    raise PdfError(Code.NEEDS_OCR, "A scan.", retryable=True)


def mistake() -> int:
    raise KeyError("ours")


def connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def eat_memory() -> int:
    kept = []
    while True:
        kept.append(bytearray(16 << 20))


def eat_memory_and_abort() -> int:
    kept = bytearray(1)
    try:
        while True:
            kept += bytearray(16 << 20)
    except MemoryError:
        os.abort()


def spin() -> int:
    while True:
        pass


def sleep() -> int:
    time.sleep(600)
    return 0


def die() -> int:
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0


def write_much() -> int:
    with Path(tempfile.gettempdir(), "much").open("wb") as out:
        while True:
            out.write(bytes(1 << 20))


def fork_many() -> int:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(600)
    time.sleep(600)
    return 0


def leave_behind(marker: str) -> int:
    """A grandchild in a session of its own, with the marker in its command line."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys, time; time.sleep(600)", marker], start_new_session=True
    )
    return child.pid


def sleep_with_child(marker: str) -> int:
    leave_behind(marker)
    time.sleep(600)
    return 0


def scribble() -> str:
    Path("scratch").write_text("x")
    Path(tempfile.gettempdir(), "more").write_text("y")
    return str(Path.cwd())


def open_files() -> list[str]:
    out = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            out.append(str(entry.readlink()))
        except OSError:
            continue
    return out


def claim(size: int) -> int:
    """Touch that many MB."""
    data = bytearray(size << 20)
    for at in range(0, len(data), 4096):
        data[at] = 1
    return len(data)
