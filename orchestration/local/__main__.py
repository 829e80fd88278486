"""``python -m orchestration.local run|api|stop|query|pictures``: see ``make help``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from orchestration.local.places import ROOT, Places
from orchestration.local.supervise import AlreadyRunning, ServiceFailed


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make", description="A local run of the accessible-PDF platform.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="start everything, upload PDFs, show what becomes of them")
    run.add_argument("--pdfs", type=Path, help="a folder of PDFs, or one PDF, in place of the samples")
    run.add_argument("--port", type=int, help="port of Dagster's UI on this machine (3000, or a free one)")
    run.add_argument("--exit", action="store_true", help="end when every document has settled; exit code 0 if well")
    run.add_argument("--seconds", type=float, default=900, help="give up when nothing has moved for this long (900)")
    serve = commands.add_parser("api", help="serve the editing API alone")
    stop = commands.add_parser("stop", help="stop everything that a run started")
    query = commands.add_parser("query", help="ask the metrics, in SQL")
    query.add_argument("sql", help="for example: select * from cost_ledger limit 10")
    pictures = commands.add_parser("pictures", help="take the pictures of the UI for the README")
    pictures.add_argument("--out", type=Path, default=ROOT / "docs/pictures", help="folder (docs/pictures)")
    for command in (run, serve, stop, query, pictures):
        command.add_argument("--state", type=Path, default=Places().base, help="folder of everything that is kept")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Do what was asked; returns the exit code."""
    options = parse(arguments)
    places = Places(options.state.resolve())
    # Deferred: `stop` has no use for what `run` imports.
    if options.command == "stop":
        from orchestration.local.halt import stop

        for text in stop(places):
            print(text, flush=True)
        return 0
    if options.command == "query":
        from orchestration.local.query import run as ask

        return ask(options.sql, places)
    if options.command == "api":
        from orchestration.local.serve import serve

        return serve(places)
    if options.command == "pictures":
        return take_pictures(places, options.out)
    from orchestration.local.run import Options, PortTaken, TookTooLong, run

    try:
        return run(Options(options.pdfs, options.port, options.exit, options.seconds), places)
    except AlreadyRunning as error:
        print(f"{error}: it is running already (make stop ends it)", file=sys.stderr)
    except (ServiceFailed, TookTooLong, PortTaken, FileNotFoundError) as error:
        print(error, file=sys.stderr)
    return 1


def take_pictures(places: Places, folder: Path) -> int:
    """``make pictures``; returns the exit code."""
    from orchestration.local.pictures import NothingToSee, take

    try:
        for path in take(places, folder):
            print(path, flush=True)
    except NothingToSee as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
