"""Work directories that say whose they are, so that what a killed process left behind can be told and removed.

A name is ``<what>-<process>-<namespace>-<random>``; process numbers are those of the namespace, so that containers that
share a folder do not take each other's for dead.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

_NAME = re.compile(r"(?:stage|bases|pdf|vera)-(\d+)-(\d+)-\w+")


def prefix(what: str) -> str:
    """The beginning of the name of a work directory of this process; `what` is stage, bases, pdf or vera."""
    return f"{what}-{os.getpid()}-{_namespace()}-"


def sweep(parent: Path | None) -> int:
    """Remove the work directories of processes that are gone, in `parent` (default: the system's); returns how many."""
    gone = 0
    for path in Path(parent or tempfile.gettempdir()).iterdir():
        found = _NAME.fullmatch(path.name)
        if found is None or int(found[2]) != _namespace() or Path(f"/proc/{found[1]}").exists():
            continue
        shutil.rmtree(path, ignore_errors=True)  # another sweep may be at it
        gone += not path.exists()
    return gone


def _namespace() -> int:
    """The number of this process's namespace of process numbers (pid_namespaces(7)); 0 where there are none."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except FileNotFoundError:
        return 0
