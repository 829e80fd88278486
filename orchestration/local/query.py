"""``make query``: SQL over the metrics' Parquet files, by DuckDB on this machine.

The files are fetched with the platform's own client into a folder that is removed afterwards: DuckDB needs no network
and no extension, and what is asked cannot reach anything else. Each table is a view of that name; ``day`` is a column.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb

from assets.metrics import COLUMNS, PREFIX, build, to_parquet, to_table
from infra.local import process
from orchestration.local.environment import adopt, child_environment
from orchestration.local.places import Places
from orchestration.local.supervise import Record, free_port
from resources.ledger import day_of
from resources.objects import Objects
from resources.store import Store


class BadQuestion(ValueError):
    """DuckDB does not understand the question; the argument is its sentence."""


def fetch(objects: Objects, folder: Path) -> None:
    """Copy every metrics file into `folder`; a table without any gets an empty one, so that its view has columns."""
    for table in COLUMNS:
        empty = folder / table / "day=none" / "part.parquet"
        empty.parent.mkdir(parents=True)
        empty.write_bytes(to_parquet(to_table(table, [])))
    for found in objects.keys(f"{PREFIX}/"):
        path = folder / Path(found.key).relative_to(PREFIX)
        if found.key.endswith(".parquet"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(objects.read(found.key))


def ask(folder: Path, sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """(column names, rows) of a question. Raises BadQuestion."""
    with duckdb.connect(":memory:") as database:
        for table in COLUMNS:
            files = folder / table / "*" / "part.parquet"
            database.execute(
                f"create view {table} as select * from read_parquet('{files}', hive_partitioning = true, "
                "hive_types = {'day': VARCHAR})"
            )
        try:
            answer = database.execute(sql)
        except duckdb.Error as error:
            raise BadQuestion(str(error).strip()) from error
        names = [column[0] for column in answer.description or []]
        return names, answer.fetchall()


def table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The answer as text, columns lined up."""
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[n]) for row in cells)]) for n, name in enumerate(names)]
    lines = [list(names), ["-" * width for width in widths], *cells]
    padded = ([value.ljust(width) for value, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(values).rstrip() for values in padded)


def _text(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def query(store: Store, sql: str) -> str:
    """Ask, and show the answer; today's facts are written first, so that they are in it. Raises BadQuestion."""
    for name in COLUMNS:
        build(store, name, day_of(store.clock()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fetch(store.objects, folder)
        return table(*ask(folder, sql))


def run(sql: str, places: Places) -> int:
    """``make query``: asks the running platform, or starts its store for as long as the question takes."""
    # Deferred: what a question needs is imported only when one is asked.
    from resources.clients import make_clients
    from resources.settings import load_settings
    from resources.store import make_store
    from resources.values import system_clock

    record = Record(places.record)
    running = "aws" in record.alive()
    port = 0
    server = None
    if not running:
        if not places.aws.is_dir():
            print("There is nothing to ask yet: make run fills the store.", file=sys.stderr)
            return 1
        port = free_port()
        server = process.start(port, places.aws)
    endpoint = record.facts()["endpoint"] if running else f"http://127.0.0.1:{port}"
    try:
        adopt(child_environment(places, endpoint))
        settings = load_settings()
        print(query(make_store(settings, make_clients(settings), system_clock), sql))
    except BadQuestion as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        if server is not None:
            server.terminate()
            server.wait(timeout=30)
    return 0
