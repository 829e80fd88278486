"""A write that meets another transaction is made again; a condition that did not hold is not."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from resources import table
from resources.store import Store
from resources.table import Refused, Table, Write


class Busy:
    """A client whose first answers are refusals, as DynamoDB words them."""

    def __init__(self, client: Any, *refusals: dict[str, Any]) -> None:
        self.client, self.refusals = client, list(refusals)

    def __getattr__(self, name: str) -> Any:
        if self.refusals:
            answer = self.refusals.pop(0)

            def refuse(**_: Any) -> Any:
                raise ClientError(answer, name)

            return refuse
        return getattr(self.client, name)


def cancelled(*codes: str) -> dict[str, Any]:
    return {
        "Error": {"Code": "TransactionCanceledException", "Message": "cancelled"},
        "CancellationReasons": [{"Code": code} for code in codes],
    }


ALONE = {"Error": {"Code": "TransactionConflictException", "Message": "in a transaction"}}


def test_a_write_that_meets_a_transaction_is_made_again(store: Store) -> None:
    mine = store.work.table
    busy = Table(Busy(mine.client, cancelled("None", "TransactionConflict"), ALONE), mine.name)
    busy.transact([Write("A", "1", put={"n": 1}), Write("A", "2", put={"n": 2})], "token-1")
    assert mine.get("A", "2") == {"pk": "A", "sk": "2", "n": 2}
    alone = Table(Busy(mine.client, ALONE, ALONE), mine.name)
    alone.write(Write("A", "3", put={"n": 3}))
    assert mine.get("A", "3") is not None


def test_a_condition_that_did_not_hold_is_the_answer(store: Store) -> None:
    mine = store.work.table
    busy = Table(Busy(mine.client, cancelled("TransactionConflict", "ConditionalCheckFailed")), mine.name)
    with pytest.raises(Refused) as refused:
        busy.transact([Write("A", "1", put={}), Write("A", "2", put={}, condition="attribute_exists(pk)")], "token-2")
    assert refused.value.index == 1


def test_a_conflict_that_does_not_end_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CONFLICTS", 2)
    mine = store.work.table
    busy = Table(Busy(mine.client, *[ALONE] * 3), mine.name)
    with pytest.raises(ClientError):
        busy.write(Write("A", "1", put={}))
    assert mine.get("A", "1") is None
