"""One run of a command: its output lines, and what it and everything it started cost."""

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
    """Wall clock and CPU seconds (of all descendants), peak memory in MB of the largest single process."""

    seconds: float
    cpu_seconds: float
    peak_memory_mb: float


def run(command: Sequence[str]) -> tuple[list[dict[str, Any]], Cost]:
    """Run ``command``, which prints one JSON object a line; returns those and the cost.

    Exit code 1 says that a file was refused and is no failure of the benchmark; any other is, and raises.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command[:6]} ended with {done.returncode}: {done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rows, Cost(seconds, cpu, after.ru_maxrss / 1024)
