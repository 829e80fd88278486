"""A DynamoDB table in Python values. Conditions that guard truth are passed in by the module that owns the item."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

Item = dict[str, Any]
#: How often a write that met another transaction is tried again.
CONFLICTS = 8
_TO, _FROM = TypeSerializer(), TypeDeserializer()


class Refused(Exception):
    """A condition did not hold. `item` is what stands there (of a transaction: of the part with this `index`)."""

    def __init__(self, item: Item | None, index: int = 0) -> None:
        super().__init__("the condition did not hold")
        self.item = item
        self.index = index


@dataclass(frozen=True)
class Write:
    """A part of a transaction, or a write alone. Exactly one of `put` (an item), `update` (an expression), `delete`,
    and none of them for a mere check. `values` are those of both expressions."""

    pk: str
    sk: str
    put: Item | None = None
    update: str | None = None
    delete: bool = False
    condition: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None


def _dump(value: Any) -> Any:
    if isinstance(value, float):
        # One number has one form: what is repeated must be the same to the last sign.
        return Decimal(int(value)) if value.is_integer() else Decimal(repr(value))
    if isinstance(value, Mapping):
        return {key: _dump(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_dump(part) for part in value]
    return value


def _load(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {key: _load(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_load(part) for part in value]
    return bytes(value) if hasattr(value, "value") else value


def to_wire(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as DynamoDB takes it. None is left out."""
    return {key: _TO.serialize(_dump(value)) for key, value in item.items() if value is not None}


def from_wire(item: Mapping[str, Any]) -> Item:
    """An item as Python values: numbers as int where they are whole."""
    return {key: _load(_FROM.deserialize(value)) for key, value in item.items()}


def _undisturbed(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Make a call again while another transaction holds one of its items: DynamoDB refuses then, for milliseconds.

    Nothing was written; where a condition did not hold as well, that is the answer.
    """
    for turn in range(CONFLICTS):
        try:
            return call()
        except ClientError as error:
            codes = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
            alone = error.response["Error"]["Code"] == "TransactionConflictException"
            if not alone and ("TransactionConflict" not in codes or "ConditionalCheckFailed" in codes):
                raise
        time.sleep(random.uniform(0.5, 1) * min(0.01 * 2**turn, 0.5))
    return call()


class Table:
    """One table with string keys `pk` and `sk`."""

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name

    def get(self, pk: str, sk: str) -> Item | None:
        """An item, read consistently."""
        found = self.client.get_item(TableName=self.name, Key=to_wire({"pk": pk, "sk": sk}), ConsistentRead=True).get(
            "Item"
        )
        return from_wire(found) if found else None

    def get_many(self, keys: Sequence[tuple[str, str]]) -> list[Item]:
        """Items, read consistently, in the order of the keys; those that are not there are left out.

        At most 100 keys. What DynamoDB leaves unprocessed is asked for again.
        """
        found: dict[tuple[str, str], Item] = {}
        asked = {self.name: {"Keys": [to_wire({"pk": pk, "sk": sk}) for pk, sk in keys], "ConsistentRead": True}}
        turn = 0
        while asked and keys:
            if turn:
                time.sleep(min(0.02 * 2**turn, 1))
            answer = self.client.batch_get_item(RequestItems=asked)
            for wire in answer["Responses"].get(self.name, []):
                item = from_wire(wire)
                found[item["pk"], item["sk"]] = item
            asked = answer.get("UnprocessedKeys") or {}
            turn += 1
        return [found[key] for key in keys if key in found]

    def write(self, write: Write) -> Item | None:
        """One write; returns the new item of an update. Raises `Refused` where its condition does not hold."""
        arguments = self._arguments(write)
        arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            if write.put is not None:
                _undisturbed(lambda: self.client.put_item(**arguments))
                return write.put
            if write.delete:
                _undisturbed(lambda: self.client.delete_item(**arguments))
                return None
            made = _undisturbed(lambda: self.client.update_item(**arguments, ReturnValues="ALL_NEW"))
            return from_wire(made["Attributes"])
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            found = error.response.get("Item")
            raise Refused(from_wire(found) if found else None) from error

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """All of the writes or none. With `token` (a new one a call) a repetition by the client is one transaction.

        Raises `Refused` with the first part whose condition does not hold.
        """
        items = []
        for write in writes:
            arguments = self._arguments(write)
            arguments["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            kind = (
                "Put"
                if write.put is not None
                else "Update"
                if write.update is not None
                else "Delete"
                if write.delete
                else "ConditionCheck"
            )
            items.append({kind: arguments})
        try:
            _undisturbed(lambda: self.client.transact_write_items(TransactItems=items, ClientRequestToken=token[:36]))
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise
            reasons = error.response.get("CancellationReasons", [])
            for index, reason in enumerate(reasons):
                if reason.get("Code") == "ConditionalCheckFailed":
                    found = reason.get("Item")
                    raise Refused(from_wire(found) if found else None, index) from error
            raise

    def query(
        self, pk: str, first: str = "", last: str | None = None, *, newest: bool = False, limit: int | None = None
    ) -> Iterator[Item]:
        """Items of a partition with `first` <= sk <= `last`, a page at a time, read consistently."""
        condition, values = "pk = :pk", {":pk": pk}
        if last is not None:
            condition += " AND sk BETWEEN :first AND :last"
            values |= {":first": first or " ", ":last": last}
        elif first:
            condition += " AND begins_with(sk, :first)"
            values[":first"] = first
        yield from self._pages(condition, values, ConsistentRead=True, ScanIndexForward=not newest, most=limit)

    def index(self, index: str, condition: str, values: Mapping[str, Any], limit: int) -> list[Item]:
        """Items by an index, which may lag behind: look again by `get` or a condition before relying on one."""
        return list(self._pages(condition, values, IndexName=index, most=limit))

    def _pages(self, condition: str, values: Mapping[str, Any], most: int | None, **more: Any) -> Iterator[Item]:
        arguments: dict[str, Any] = {
            "TableName": self.name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": to_wire(values),
            **more,
        }
        seen = 0
        while True:
            if most is not None:
                arguments["Limit"] = most - seen
            page = self.client.query(**arguments)
            for item in page["Items"]:
                seen += 1
                yield from_wire(item)
            if "LastEvaluatedKey" not in page or (most is not None and seen >= most):
                return
            arguments["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _arguments(self, write: Write) -> dict[str, Any]:
        arguments: dict[str, Any] = {"TableName": write.table or self.name}
        if write.put is not None:
            arguments["Item"] = to_wire({**write.put, "pk": write.pk, "sk": write.sk})
        else:
            arguments["Key"] = to_wire({"pk": write.pk, "sk": write.sk})
        if write.update is not None:
            arguments["UpdateExpression"] = write.update
        if write.condition is not None:
            arguments["ConditionExpression"] = write.condition
        if write.values:
            arguments["ExpressionAttributeValues"] = to_wire(write.values)
        if write.names:
            arguments["ExpressionAttributeNames"] = dict(write.names)
        return arguments
