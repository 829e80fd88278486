"""``make chaos``: run it, print what happened and what does not hold; the exit code is 1 where anything does not."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.run import chaos


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make chaos")
    parser.add_argument("--seed", type=int, default=1, help="the same seed plans the same trouble")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--documents", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=3600, help="give up after this long")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        found = chaos(Path(folder), options.seed, options.kills, options.documents, options.seconds, print)
    for text in found:
        print(f"FAULT: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
