"""Blank each condition of the store in turn, and list the test that fails without it.

    python -m tests.mutation [PART OF FILE:LINE:FUNCTION …]   every condition, or some

Prints a line a condition; the exit code is 1 when one can go and no test notices.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.mutation.sites import ROOT, Site, sites

#: The tests of the store and of what the API adds to it.
TESTS = (
    "tests/resources",
    "tests/api/test_costs_and_deletion.py",
    "tests/api/test_uploads.py",
    "tests/api/test_batches.py",
    "tests/sensors",
    "tests/jobs",
)
SECONDS = 400


def caught(site: Site) -> str:
    """The first test that fails without the condition; empty where none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "tests.mutation.plugin", *TESTS]
    environment = {**os.environ, "MUTATE": site.name}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode == 0:
        return ""
    # A captured log line may begin like that too; only a test has a name with colons.
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR ")) and "::" in line]
    if done.returncode != 1 or not failed:
        raise RuntimeError(f"{site.name}: pytest did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return failed[0].split(" ")[1]


def main() -> int:
    """Try them, two at a time."""
    wanted = [
        site
        for site in sites()
        if not sys.argv[1:] or any(part in f"{site.name}:{site.function}" for part in sys.argv[1:])
    ]
    free = 0
    with ThreadPoolExecutor(2) as pool:
        for site, test in zip(wanted, pool.map(caught, wanted), strict=True):
            free += not test
            print(f"{site.name:30} {site.function:22} {test or 'NO TEST FAILS'}", flush=True)
    print(f"{len(wanted)} conditions, {len(wanted) - free} caught")
    return 1 if free else 0


if __name__ == "__main__":
    sys.exit(main())
