"""Between the zygote and the worker: keeps the time, counts processes, ends everything, tells what happened."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdf.errors import Code
from pdf.sandbox.worker import work

_PR_SET_CHILD_SUBREAPER = 36
#: How often the number of processes is looked at, seconds.
LOOK = 0.1
_LIBC = ctypes.CDLL(None, use_errno=True)


def watch(report: socket.socket, call: Mapping[str, Any]) -> None:
    """Run one call in a worker and write its report: code and sentence where it was ended, else what it used."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What the worker leaves behind becomes ours, so that it can be found and ended.
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    limits = call["limits"]
    folder = Path(call["folder"])
    began = time.monotonic()
    monitor = os.getpid()
    child = os.fork()
    if child == 0:
        report.close()
        work(folder, limits, monitor)
    ended = _wait(child, report, began + limits["wall_seconds"], limits["processes"])
    _kill(child)
    _, status, usage = os.wait4(child, 0)
    _reap()
    seconds = time.monotonic() - began
    peak = usage.ru_maxrss / 1024
    code, message = ended or _death(status, limits, peak)
    facts = {
        "code": code,
        "message": message,
        "seconds": round(seconds, 4),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 4),
        "peak_memory_mb": round(peak, 1),
    }
    report.sendall(json.dumps(facts).encode())


def _wait(child: int, report: socket.socket, deadline: float, processes: int) -> tuple[Code, str] | None:
    """Until the worker has ended, or must be: (code, sentence) of why, None where it ended by itself."""
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(report, select.POLLIN | select.POLLHUP)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return Code.TOOL_TIMEOUT, "The file took longer than it may, and was given up."
            for found, _ in poll.poll(min(left, LOOK) * 1000):
                if found == handle:
                    return None
                return Code.CHILD_KILLED, "Nobody waits for the result any more."
            if len(descendants(os.getpid())) > processes:
                return Code.CHILD_KILLED, "The file made a tool start too many processes, and was given up."
    finally:
        os.close(handle)


def _death(status: int, limits: Mapping[str, Any], peak: float) -> tuple[Code | None, str]:
    """What the worker's end means."""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return None, ""
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number == signal.SIGXCPU:
        return Code.TOOL_TIMEOUT, "The file took more computing time than it may, and was given up."
    if number == signal.SIGXFSZ:
        return Code.CHILD_KILLED, "The file made a tool write more than it may, and was given up."
    # A library that gets no memory aborts; near its limit that is the reason.
    if number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGTRAP, signal.SIGILL) and peak > 0.5 * limits["memory_mb"]:
        return Code.OUT_OF_MEMORY, "The file needs more memory than it may have."
    if number:
        name = signal.Signals(number).name
        return Code.CHILD_KILLED, f"The process that was working on the file was ended by {name}."
    return Code.CHILD_KILLED, "The process that was working on the file ended without a result."


def _kill(child: int) -> None:
    """End the worker's whole session: it leads its own process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it may not lead a group yet
        os.kill(child, signal.SIGKILL)


def _reap() -> None:
    """End and collect whatever is left, also what moved to a session of its own; such come to us as their reaper."""
    while True:
        for left in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def descendants(pid: int) -> list[int]:
    """All processes below one, by /proc."""
    out: list[int] = []
    stack = [pid]
    while stack:
        try:
            found = Path(f"/proc/{stack[-1]}/task/{stack.pop()}/children").read_text().split()
        except OSError:
            continue
        kids = [int(kid) for kid in found]
        out += kids
        stack += kids
    return out
