"""Which process on this machine is meant: by number, and by when it started.

A process number alone is not an identity: after a crash or a reboot the same number is another program. Linux tells
when a process started, in clock ticks since boot (proc(5), ``stat`` field 22), and which boot this is; number, tick
and boot together name one process for ever. A zombie counts as gone: it will never work again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessRef:
    """One process, on one machine, of one boot. ``started`` is in clock ticks since that boot."""

    host: str
    boot: str
    pid: int
    started: int

    def to_json(self) -> str:
        """The reference as one line of JSON, for a run tag or a file."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> ProcessRef:
        """Read what :meth:`to_json` wrote. Raises ``ValueError`` where it is anything else."""
        try:
            value = json.loads(text)
            return ProcessRef(str(value["host"]), str(value["boot"]), int(value["pid"]), int(value["started"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a process reference: {text!r}") from error


def this_host() -> str:
    """The name that tells this machine from another one that shares the same Dagster storage."""
    return socket.gethostname()


def boot_id() -> str:
    """The kernel's name for the current boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _state_and_start(pid: int) -> tuple[str, int] | None:
    """State letter and start tick of a process, or None where there is none of that number."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in brackets and may hold spaces and brackets itself: count from the last one.
    fields = stat[stat.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])


def reference(pid: int) -> ProcessRef | None:
    """Name the process that has this number now; None where it is gone or a zombie."""
    found = _state_and_start(pid)
    if found is None or found[0] in "ZX":
        return None
    return ProcessRef(host=this_host(), boot=boot_id(), pid=pid, started=found[1])


def is_here(ref: ProcessRef) -> bool:
    """Whether the process belongs to this machine, so that its number means something here."""
    return ref.host == this_host()


def is_alive(ref: ProcessRef) -> bool:
    """Whether exactly this process still runs. Raises ``ValueError`` for a process of another machine."""
    if not is_here(ref):
        raise ValueError(f"process {ref.pid} runs on {ref.host}; it cannot be seen from {this_host()}")
    return reference(ref.pid) == ref


def send(ref: ProcessRef, number: signal.Signals, *, group: bool = False) -> bool:
    """Send a signal to exactly this process, or to the process group it leads. False where it is gone."""
    if not is_alive(ref):
        return False
    try:
        if group and os.getpgid(ref.pid) == ref.pid:
            os.killpg(ref.pid, number)
        else:
            os.kill(ref.pid, number)
    except ProcessLookupError:
        return False
    return True


def wait_gone(ref: ProcessRef, seconds: float, *, step: float = 0.05) -> bool:
    """Wait until the process has ended; False where it still runs after ``seconds``."""
    deadline = time.monotonic() + seconds
    while is_alive(ref):
        if time.monotonic() >= deadline:
            return False
        time.sleep(step)
    return True
