"""The command line: the functions the platform calls, for engineers and benchmarks.

    python -m pdf inspect FILE…
    python -m pdf optimize IN OUT
    python -m pdf tag --out DIR [--jobs N] FILE…
    python -m pdf replay BASE OPS OUT
    python -m pdf verify BASE OPS VERSION

One JSON object a line a file on stdout; exit code 1 if any was not ok. Every file is opened in the sandbox only.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdf.errors import PdfError
from pdf.sandbox import Limits, Sandbox

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One line of output to be: the file it is about, and what makes its fields."""

    file: Path
    work: Callable[[], Row]


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line. Ends the process with a sentence where it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m pdf", description="Accessible PDFs, one file at a time.")
    parser.add_argument("--seconds", type=float, default=600, help="time a file may take (600)")
    parser.add_argument("--memory-mb", type=int, default=2048, help="memory a file may take (2048)")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("inspect", help="what a file is")
    one.add_argument("files", nargs="+", type=Path)
    one = commands.add_parser("optimize", help="smaller, with nothing lost")
    one.add_argument("source", type=Path)
    one.add_argument("target", type=Path)
    one = commands.add_parser("tag", help="DIR/<name>.pdf, <name>.base.pdf and <name>.ops.jsonl of each file")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--jobs", type=int, default=1, help="files at a time (1)")
    one.add_argument("files", nargs="+", type=Path)
    one = commands.add_parser("replay", help="the version that a log makes of a base")
    one.add_argument("base", type=Path)
    one.add_argument("ops", type=Path)
    one.add_argument("target", type=Path)
    one = commands.add_parser("verify", help="is a version what it says, whole, unchanged to the eye, and accessible?")
    one.add_argument("base", type=Path)
    one.add_argument("ops", type=Path)
    one.add_argument("version", type=Path)
    return parser.parse_args(arguments)


def jobs(options: argparse.Namespace, sandbox: Sandbox) -> Iterator[Job]:
    """What there is to do, a file at a time."""

    def call(file: Path, name: str, summary: Callable[[Row], Row], **arguments: Path) -> Job:
        sent = {key: str(path.absolute()) for key, path in arguments.items()}

        def work() -> Row:
            outcome = sandbox.run(name, sent)
            cost = {"cpu_seconds": outcome.cpu_seconds, "peak_memory_mb": outcome.peak_memory_mb}
            return {**summary(json.loads(outcome.value)), **cost}

        return Job(file, work)

    if options.command == "inspect":
        for file in options.files:
            yield call(file, "pdf.inspect:inspect", lambda value: value, source=file)
    elif options.command == "optimize":
        yield call(options.source, "pdf.optimize:optimize", lambda v: v, source=options.source, target=options.target)
    elif options.command == "tag":
        options.out.mkdir(parents=True, exist_ok=True)
        for file in options.files:
            yield call(file, "pdf.tag:tag", _tagged, source=file, out=options.out)
    elif options.command == "replay":
        names = {"base": options.base, "log": options.ops, "target": options.target}
        yield call(options.base, "pdf.tagging.replay:replay", lambda value: value, **names)
    else:
        yield Job(options.version, lambda: _verified(options, sandbox))


def _tagged(value: Row) -> Row:
    """What is worth a line of all that became of a file."""
    base, replay = value["base"], value["replay"]
    return {
        "pages": base["pages"],
        "size_source": value["inspection"]["size_bytes"],
        "size_base": base["size"],
        "size": replay["size"],
        "sha256": replay["sha256"],
        "elements": replay["nodes"],
        "figures_waiting": replay["waiting"],
        "tree_kept": value["composed"]["kept"],
        "tree_replaced_because": value["composed"]["reasons"],
        "pixel_changes_reason": base["pixel_changes_reason"],
        "text_changes_reason": base["text_changes_reason"],
    }


def _verified(options: argparse.Namespace, sandbox: Sandbox) -> Row:
    # Deferred: only this command needs the verifier.
    from pdf.verify.verify import verify_files

    return verify_files(options.base, options.ops, options.version, sandbox=sandbox)


def rows(work: Iterable[Job], at_once: int) -> Iterator[Row]:
    """Do the jobs, some at a time; a row each, in order."""

    def one(job: Job) -> Row:
        row: Row = {"file": str(job.file), "ok": True, "code": None, "message": None}
        if not job.file.is_file():
            return row | {"ok": False, "code": "NOT_FOUND", "message": "There is no such file."}
        try:
            return row | job.work()
        except PdfError as error:
            return row | {"ok": False, "code": str(error.code), "message": error.message}

    with ThreadPoolExecutor(max(1, at_once)) as pool:
        yield from pool.map(one, work)


def main(arguments: list[str]) -> int:
    """Run a command; returns the exit code."""
    options = parse(arguments)
    limits = Limits(wall_seconds=options.seconds, cpu_seconds=int(options.seconds) + 1, memory_mb=options.memory_mb)
    good = True
    with Sandbox(limits) as sandbox:
        for row in rows(jobs(options, sandbox), getattr(options, "jobs", 1)):
            good = good and bool(row["ok"])
            print(json.dumps(row, ensure_ascii=False), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
