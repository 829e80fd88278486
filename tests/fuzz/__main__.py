"""Long turns of the fuzz targets: ``python -m tests.fuzz --minutes 10``. Findings are printed and kept; 1 if any.

Each round takes every target for some seconds, with other inputs than the round before.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.files import damaged_files
from tests.fuzz.mutate import changed
from tests.fuzz.targets import SEEDS, TARGETS, WORDS
from tests.fuzz.test_fuzz import SLOW

#: Examples of one turn of a target.
EXAMPLES = 2000


def turn(name: str, number: int, keep: Path) -> tuple[int, str]:
    """One turn of a target: (inputs it was given, what was found)."""
    count = 0
    last = b""
    inputs = st.one_of(changed(SEEDS[name], WORDS.get(name, ())), st.binary(max_size=2000))

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs)
    def one(data: bytes) -> None:
        nonlocal count, last
        count, last = count + 1, data
        began = time.monotonic()
        TARGETS[name](data)
        assert time.monotonic() - began < SLOW, "it is slow"

    try:
        one()
    except Exception:  # noqa: BLE001 whatever it is, it is the finding
        path = keep / f"{name}-{number}"
        path.write_bytes(last)
        return count, f"{name}: {path}\n{traceback.format_exc(limit=-6)[:3000]}"
    return count, ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the parsers.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path(".local/fuzz"), help="where findings are kept (.local/fuzz)")
    parser.add_argument("--only", choices=[*TARGETS, "files"], action="append")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * options.minutes
    names = options.only or [*TARGETS, "files"]
    counts = dict.fromkeys(names, 0)
    findings: list[str] = []
    number = options.seed
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        while time.monotonic() < until:
            number += 1
            asked = {
                name: pool.submit(damaged_files, number, options.keep, min(45.0, max(5.0, until - time.monotonic())))
                if name == "files"
                else pool.submit(turn, name, number, options.keep)
                for name in names
            }
            for name, future in asked.items():
                count, found = future.result()
                counts[name] += count
                if found:
                    findings.append(found)
                    print(found, flush=True)
    print(f"seed {options.seed}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    print(f"{len(findings)} findings in {options.minutes:g} minutes")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
