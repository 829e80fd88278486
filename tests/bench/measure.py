"""One run of a command that prints a JSON object a line: its rows, and what it and all it started cost."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Cost:
    """Wall-clock seconds, and the CPU seconds of the command and all its descendants."""

    seconds: float
    cpu_seconds: float


def run(command: Sequence[str]) -> tuple[list[dict[str, Any]], Cost]:
    """Run ``command``; returns its rows and its cost.

    Exit code 1 says that a file was not ok, which the rows tell; any other but 0 raises ``RuntimeError``.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command[:6])} ended with {done.returncode}: {done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return rows, Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
