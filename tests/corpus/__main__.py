"""``python -m tests.corpus --out DIR``: make the samples, their tagged twins and ``expected.json``."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.corpus.samples import SAMPLES, write


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample documents.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write them to")
    folder = parser.parse_args().out
    left_out = write(folder)
    for name, families in left_out.items():
        print(f"{name}: left out, this machine has no font {', '.join(families)} (see README, Fonts)")
    print(f"{len(SAMPLES) - len(left_out)} samples in {folder}")


if __name__ == "__main__":
    main()
