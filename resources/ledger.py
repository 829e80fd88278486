"""The ledger: facts for analysts, each exactly once, whoever writes it how often.

pk ``<table>#<day>``, sk the fact's id; the day is the fact's own (UTC), so that a day is read in one query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from resources.table import Item, Refused, Table, Write
from resources.values import iso, new_token

COST, CEILINGS = "cost_ledger", "phase_ceilings"
#: How long facts stay in the table; the Parquet files made of them stay.
KEEP_DAYS = 400


def cost(operation: str, document: str, owner: str, **more: Any) -> Item:
    """The fields of a fact of `COST`; what an operation has nothing of is 0."""
    return {
        "operation": operation,
        "document": document,
        "owner": owner,
        "job_id": "",
        "pages": 0,
        "seconds": 0.0,
        "cpu_seconds": 0.0,
        "usd": 0.0,
        "write_units": 0,
        "s3_puts": 0,
        "kms_requests": 0,
        **more,
    }


class Ledger:
    """Writes and reads facts."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def fact(self, kind: str, fact_id: str, at: float, fields: Mapping[str, Any]) -> Write:
        """The write that books a fact of a table, for a transaction too.

        The condition: there is no fact with this id. `at` (epoch seconds) must be the fact's, not the retry's.
        """
        item: Item = {
            **fields,
            "id": fact_id,
            "booked_at": at,
            "expiresAtSeconds": int(at) + KEEP_DAYS * 86400,
        }
        return Write(
            f"{kind}#{day_of(at)}", fact_id, put=item, condition="attribute_not_exists(pk)", table=self.table.name
        )

    def record(self, kind: str, fact_id: str, at: float, fields: Mapping[str, Any], also: Write | None = None) -> bool:
        """Book a fact. False where it is booked already: the first one stands.

        `also` is written in the same moment, so that it is done once too; where it does not hold, the fact is booked
        alone: what was spent was spent.
        """
        fact = self.fact(kind, fact_id, at, fields)
        try:
            if also is not None:
                try:
                    self.table.transact([fact, also], new_token())
                    return True
                except Refused as refused:
                    if refused.index == 0:
                        return False
            self.table.write(fact)
        except Refused:
            return False
        return True

    def rows(self, kind: str, day: str) -> Iterator[Item]:
        """The facts of a day (``YYYY-MM-DD``), in the order of their ids."""
        for item in self.table.query(f"{kind}#{day}"):
            yield {key: value for key, value in item.items() if key not in ("pk", "sk", "expiresAtSeconds")}


def day_of(at: float) -> str:
    """The day of a time, UTC."""
    return iso(at)[:10]
