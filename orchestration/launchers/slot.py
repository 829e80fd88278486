"""Wait for a free place on this machine, then become the run worker: ``python -m …slot DIR PLACES SECONDS COMMAND…``.

A place is a file with an advisory lock (flock(2)). The lock lives as long as the process that holds it, through
``exec``, and the kernel gives it back whatever ends that process, so a place cannot leak as a counter can.
Exit code 75 (``EX_TEMPFAIL``): no place became free in time.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

NO_PLACE = 75


def take(directory: Path, places: int, seconds: float, *, step: float = 0.25) -> int | None:
    """Take one of ``places`` places; returns the file descriptor that holds it, or None after ``seconds``."""
    directory.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    while True:
        for index in range(places):
            descriptor = os.open(directory / f"place-{index}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            return descriptor
        if time.monotonic() >= deadline:
            return None
        time.sleep(step)


def main(arguments: list[str]) -> NoReturn:
    """Take a place and replace this process by the command."""
    directory, places, seconds, *command = arguments
    descriptor = take(Path(directory), int(places), float(seconds))
    if descriptor is None:
        print(f"no place among {places} became free within {seconds} s", file=sys.stderr)
        sys.exit(NO_PLACE)
    os.set_inheritable(descriptor, True)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
