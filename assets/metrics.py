"""`cost_ledger` and `phase_ceilings`: the ledger's facts of a day as Parquet, for analysts.

One file a day and table, ``metrics/<table>/day=YYYY-MM-DD/part.parquet``, made anew from the ledger each time, so a day
can be backfilled or rematerialized without double counting. The same files answer DuckDB and Athena.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.parquet
from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    DailyPartitionsDefinition,
    MaterializeResult,
    TableColumn,
    TableSchema,
    asset,
)

from assets.platform import Platform
from resources.ledger import CEILINGS, COST
from resources.store import Store
from resources.values import ObjectRef

DAYS = DailyPartitionsDefinition(start_date="2026-01-01", timezone="UTC", end_offset=1)
PREFIX = "metrics"


@dataclass(frozen=True)
class Column:
    """A column: its Arrow type and what it means, with its unit."""

    name: str
    type: pyarrow.DataType
    description: str


COLUMNS: dict[str, tuple[Column, ...]] = {
    COST: (
        Column("id", pyarrow.string(), "The fact's id; once only"),
        Column("booked_at", pyarrow.float64(), "When, epoch seconds"),
        Column(
            "operation",
            pyarrow.string(),
            "What was done: inspect, optimize, chunk, analyze, assemble, verify, publish, storage",
        ),
        Column("document", pyarrow.string(), "Document id"),
        Column("owner", pyarrow.string(), "Who pays"),
        Column("job_id", pyarrow.string(), "The job it belongs to"),
        Column("pages", pyarrow.int64(), "Pages worked on"),
        Column("seconds", pyarrow.float64(), "Wall-clock seconds"),
        Column("cpu_seconds", pyarrow.float64(), "CPU seconds of all its processes"),
        Column("usd", pyarrow.float64(), "Dollars; 0 where no hourly rate is set"),
        Column("write_units", pyarrow.int64(), "DynamoDB write units that the log has accrued"),
        Column("s3_puts", pyarrow.int64(), "Objects stored"),
        Column("kms_requests", pyarrow.int64(), "Calls of the key"),
    ),
    CEILINGS: (
        Column("id", pyarrow.string(), "The fact's id; once only"),
        Column("booked_at", pyarrow.float64(), "When, epoch seconds"),
        Column("phase", pyarrow.string(), "The phase of the work"),
        Column("document", pyarrow.string(), "Document id"),
        Column("job_id", pyarrow.string(), "The job it belongs to"),
        Column("run_id", pyarrow.string(), "Dagster's run"),
        Column("pages", pyarrow.int64(), "Pages worked on"),
        Column("chunk_count", pyarrow.int64(), "Chunks of the document"),
        Column("chunk_index", pyarrow.int64(), "Which chunk; -1 where it is none"),
        Column("seconds", pyarrow.float64(), "Wall-clock seconds"),
        Column("cpu_seconds", pyarrow.float64(), "CPU seconds of all its processes"),
        Column("ceiling_fraction", pyarrow.float64(), "Share of the 900 s ceiling"),
        Column("peak_memory_mb", pyarrow.float64(), "High-water mark of the phase's own process, MB"),
        Column("memory_limit_mb", pyarrow.float64(), "Memory it may have, MB"),
        Column("memory_fraction", pyarrow.float64(), "Share of that limit"),
        Column("ok", pyarrow.bool_(), "Whether the phase ended well"),
    ),
}


def key_of(table: str, day: str) -> str:
    """Where a day of a table lies."""
    return f"{PREFIX}/{table}/day={day}/part.parquet"


def to_table(name: str, rows: Sequence[dict[str, Any]]) -> pyarrow.Table:
    """Facts as an Arrow table with exactly the documented columns. Raises ArrowInvalid where one has another type."""
    columns = COLUMNS[name]
    schema = pyarrow.schema([(column.name, column.type) for column in columns])
    plain = [{c.name: _plain(row.get(c.name), c.type) for c in columns} for row in rows]
    return pyarrow.Table.from_pylist(plain, schema)


def _plain(value: Any, kind: pyarrow.DataType) -> Any:
    return float(value) if pyarrow.types.is_floating(kind) and value is not None else value


def to_parquet(table: pyarrow.Table) -> bytes:
    """The table as the bytes of a Parquet file."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def build(store: Store, table: str, day: str) -> tuple[list[dict[str, Any]], ObjectRef]:
    """Make a day's file of a table from the ledger; returns the facts and the file."""
    rows = list(store.ledger.rows(table, day))
    return rows, store.objects.put_bytes(to_parquet(to_table(table, rows)), key_of(table, day))


def cost_checks(rows: Sequence[dict[str, Any]]) -> Iterator[AssetCheckResult]:
    """No cost is negative, no fact is booked twice."""
    negative = [row["id"] for row in rows if row["usd"] < 0 or row["seconds"] < 0]
    yield _check("no_negative_cost", COST, negative)
    yield _check("no_double_booking", COST, _twice(rows))


def ceiling_checks(rows: Sequence[dict[str, Any]]) -> Iterator[AssetCheckResult]:
    """No fact is booked twice, every phase has measured its memory."""
    yield _check("no_double_booking", CEILINGS, _twice(rows))
    yield _check("memory_was_measured", CEILINGS, [row["id"] for row in rows if row["peak_memory_mb"] <= 0])


def _twice(rows: Sequence[dict[str, Any]]) -> list[str]:
    seen: set[str] = set()
    return [row["id"] for row in rows if row["id"] in seen or seen.add(row["id"])]  # type: ignore[func-returns-value]


def _check(name: str, table: str, wrong: Sequence[str]) -> AssetCheckResult:
    return AssetCheckResult(
        check_name=name,
        asset_key=table,
        passed=not wrong,
        severity=AssetCheckSeverity.ERROR,
        metadata={"rows": len(wrong), "first": ", ".join(wrong[:10])},
    )


_CHECKS = {COST: cost_checks, CEILINGS: ceiling_checks}
_SPECS = {
    COST: {
        "no_negative_cost": "No cost and no duration is negative.",
        "no_double_booking": "Every fact is there once.",
    },
    CEILINGS: {
        "no_double_booking": "Every fact is there once.",
        "memory_was_measured": "Every phase knows its peak memory.",
    },
}
_DESCRIPTIONS = {
    COST: "What the work cost, by document, owner and operation. One row a step that did something.",
    CEILINGS: "How near each phase came to its ceilings of time and memory.",
}


def _metrics_asset(table: str) -> AssetsDefinition:
    schema = TableSchema(columns=[TableColumn(c.name, str(c.type), description=c.description) for c in COLUMNS[table]])

    @asset(
        name=table,
        partitions_def=DAYS,
        group_name="metrics",
        owners=["team:analytics"],
        kinds={"parquet", "s3"},
        check_specs=[AssetCheckSpec(name, asset=table, description=text) for name, text in _SPECS[table].items()],
        metadata={"dagster/column_schema": schema},
        description=_DESCRIPTIONS[table],
    )
    def day_of_facts(context: AssetExecutionContext, platform: Platform):  # type: ignore[no-untyped-def]
        rows, ref = build(platform.store, table, context.partition_key)
        seconds = float(sum(row["seconds"] for row in rows))
        yield MaterializeResult(
            metadata={
                "dagster/partition_row_count": len(rows),
                "size_bytes": ref.size,
                "seconds": round(seconds, 3),
                "file": f"s3://{platform.objects.bucket}/{ref.key}",
            },
            check_results=list(_CHECKS[table](rows)),
        )

    return day_of_facts


cost_ledger = _metrics_asset(COST)
phase_ceilings = _metrics_asset(CEILINGS)
METRICS = (cost_ledger, phase_ceilings)
