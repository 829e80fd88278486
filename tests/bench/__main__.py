"""``make bench [PDFS=folder]``: what the engine does with PDFs, in figures.

    python -m tests.bench [--pdfs FOLDER] [--out FOLDER] [--jobs N] [--no-verify]

Tags every file through the command line, as a user would, and verifies what came out. Without a folder it takes the
samples, whose tagged twins say how right the roles are. Compare figures of one run with each other only: machines are
noisy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.measure import Cost, run
from tests.corpus.roles import agreement
from tests.corpus.samples import write

Row = dict[str, Any]
COMMAND = [sys.executable, "-m", "pdf"]


def tagged(files: Sequence[Path], out: Path, jobs: int) -> tuple[list[Row], Cost]:
    """Tag the files; a row each."""
    return run([*COMMAND, "tag", "--out", str(out), "--jobs", str(jobs), *map(str, files)])


def verified(rows: Sequence[Row], out: Path) -> list[Row]:
    """Verify what was tagged; a row each."""
    found: list[Row] = []
    for row in rows:
        stem = out / Path(row["file"]).stem
        more, _ = run([*COMMAND, "verify", f"{stem}.base.pdf", f"{stem}.ops.jsonl", f"{stem}.pdf"])
        found += more
    return found


def roles(twins: Path, out: Path) -> dict[str, tuple[int, int]]:
    """Over all samples with a twin, for each role: (characters given it, characters that have it)."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for twin in sorted(twins.glob("*.pdf")):
        version = out / twin.name
        if version.is_file():
            for role, (same, count) in agreement(twin, version).items():
                right[role] += same
                total[role] += count
    return {role: (right[role], count) for role, count in sorted(total.items())}


def share(part: float, whole: float) -> str:
    """A share in per cent."""
    return f"{part / whole:.1%}" if whole else "–"


def print_engine(rows: Sequence[Row], cost: Cost) -> None:
    """Speed and memory of tagging."""
    good = [row for row in rows if row["ok"]]
    pages = sum(row["pages"] for row in good)
    print(f"files {len(rows)}, tagged {len(good)}, refused {len(rows) - len(good)}, pages {pages}")
    for code, count in sorted(Counter(row["code"] for row in rows if not row["ok"]).items()):
        print(f"  refused {code}: {count}")
    if not good:
        return
    print(f"documents a minute {len(rows) / cost.seconds * 60:.1f}, pages a second {pages / cost.seconds:.1f}")
    each = [row["cpu_seconds"] / row["pages"] for row in good]
    whole, middle = cost.cpu_seconds / pages, statistics.median(each)
    print(f"CPU a page, all of the command {whole:.4f} s; median of the files {middle:.4f} s")
    print(f"peak memory of a file {max(row['peak_memory_mb'] for row in good):.0f} MB")
    before, after = sum(row["size_source"] for row in good), sum(row["size"] for row in good)
    print(f"size {before} → {after} bytes ({share(after - before, before)})")


def print_verification(found: Sequence[Row]) -> None:
    """What the oracles and the structure checks say."""
    count = len(found)
    print(f"verified {count}")
    for name in ("replay", "qpdf", "pixelDiff", "ua1"):
        passed = sum(row["checks"][name]["result"] in ("pass", "waived") for row in found)
        print(f"  {name}: {share(passed, count)}")
    clean = sum(not [f for f in row["structure"] if f["severity"] == "error"] for row in found)
    print(f"  structure without errors: {share(clean, count)}")
    print(f"  figures that wait for a description: {sum(row['figures_waiting'] or 0 for row in found)}")
    rules: Counter[str] = Counter(rule for row in found for rule in row["failed_rules"])
    for rule, times in rules.most_common(10):
        print(f"  rule {rule} fails in {times} files")
    errors: Counter[str] = Counter(f["rule"] for row in found for f in row["structure"] if f["severity"] == "error")
    for rule, times in errors.most_common(10):
        print(f"  structure {rule} in {times} files")


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="make bench", description="Measure the tag engine.")
    parser.add_argument("--pdfs", type=Path, help="a folder of PDFs (the samples)")
    parser.add_argument("--out", type=Path, help="where to keep what is made (nowhere)")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time (1)")
    parser.add_argument("--no-verify", action="store_true", help="only tag")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder, twins = options.pdfs, None
        if folder is None:
            folder = Path(name) / "samples"
            write(folder)
            twins = folder / "twins"
        out = options.out or Path(name) / "tagged"
        files = sorted(folder.glob("*.pdf"))
        if not files:
            sys.exit(f"There is no PDF in {folder}.")
        rows, cost = tagged(files, out, options.jobs)
        print_engine(rows, cost)
        good = [row for row in rows if row["ok"]]
        if good and not options.no_verify:
            found = verified(good, out)
            print_verification(found)
            if options.out:
                (out / "bench.json").write_text(json.dumps({"tag": rows, "verify": found}, indent=1))
        if twins is not None:
            print("characters with the role of their twin")
            for role, (same, count) in roles(twins, out).items():
                print(f"  {role}: {share(same, count)} of {count}")


if __name__ == "__main__":
    main(sys.argv[1:])
