"""What a process gives up before it opens an untrusted file: the network, and more than its share of the machine.

    python …/confine.py MEMORY_MB COMMAND…

runs a program of somebody else's so; as a file, since it needs nothing else of this project.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
MEGABYTE = 1 << 20


def without_network() -> bool:
    """Move into a network namespace with nothing in it; False where the system does not allow that."""
    if _LIBC.unshare(_CLONE_NEWNET) == 0:
        return True
    return bool(_LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def limits(memory_mb: int, file_mb: int, cpu_seconds: int | None = None) -> None:
    """Limit this process and what it starts: memory, the size of a file, computing time, open files; no core dumps."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, 256)
    _limit(resource.RLIMIT_FSIZE, file_mb * MEGABYTE)
    if cpu_seconds is not None:
        # The soft limit's signal says what happened; the hard one, a little later, ends what would not listen.
        _limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 2)
    # Private memory: what is shared with a parent, and files that are mapped, do not count.
    _limit(resource.RLIMIT_DATA, memory_mb * MEGABYTE)


def _limit(what: int, soft: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(what)
    top = (hard or soft) if most == resource.RLIM_INFINITY else min(hard or soft, most)
    resource.setrlimit(what, (min(soft, top), top))


if __name__ == "__main__":
    without_network()
    limits(int(sys.argv[1]), 64)
    os.execvp(sys.argv[2], sys.argv[2:])
