"""How assets hand values on: small references as JSON in the bucket. Never PDF bytes, never pickle.

Every value that may cross from one step to the next is one of the frozen dataclasses of `assets.values`; its kind is
stored with it, so that a value is never read back as something else. An asset's value lies at
``dagster/refs/<asset>/<document>.json``, an op's at ``dagster/refs/runs/<run>/<step>/<output>.json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from dagster import InitResourceContext, InputContext, IOManager, OutputContext, io_manager
from pydantic import TypeAdapter

from assets.values import REFERENCES
from resources.objects import Objects

T = TypeVar("T")
PREFIX = "dagster/refs"
RUN_PREFIX = f"{PREFIX}/runs"
_KINDS: dict[str, type] = {kind.__name__: kind for kind in REFERENCES}


def encode(value: object) -> bytes:
    """A reference as JSON bytes ``{"kind", "value"}``. ``TypeError`` for anything that is no reference."""
    kind = type(value).__name__
    if _KINDS.get(kind) is not type(value):
        raise TypeError(f"{kind} is not a reference that may pass between assets; see assets.values.REFERENCES")
    body = {"kind": kind, "value": TypeAdapter(type(value)).dump_python(value, mode="json")}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def decode(raw: bytes) -> object:
    """The reference in these bytes. ``TypeError`` for an unknown kind, ``ValidationError`` for a bad value."""
    body = json.loads(raw)
    kind = _KINDS.get(body["kind"])
    if kind is None:
        raise TypeError(f"{body['kind']!r} is not a reference that may pass between assets")
    return TypeAdapter(kind).validate_python(body["value"])


def asset_key(asset: str, document: str) -> str:
    """Where the value of an asset for a document lies."""
    return f"{PREFIX}/{asset}/{document}.json"


def load(objects: Objects, asset: str, document: str, kind: type[T]) -> T:
    """The last value of an asset for a document. ``TypeError`` when it is of another kind."""
    value = decode(objects.read(asset_key(asset, document)))
    if type(value) is not kind:
        raise TypeError(f"{asset} of {document} is a {type(value).__name__}, not a {kind.__name__}")
    return value


class ReferenceIOManager(IOManager):
    """Stores references as JSON objects. An asset's value is overwritten by its next run: the bucket keeps versions."""

    def __init__(self, objects: Objects):
        self._objects = objects

    def handle_output(self, context: OutputContext, obj: object) -> None:
        """Store a step's value."""
        self._objects.put_bytes(encode(obj), self._key(context), content_type="application/json")

    def load_input(self, context: InputContext) -> object:
        """Read an upstream value. Fan-in calls this once for each mapped step."""
        if context.has_asset_key:
            path: Sequence[str] = context.get_asset_identifier()
            return decode(self._objects.read(f"{PREFIX}/{'/'.join(path)}.json"))
        return decode(self._objects.read(_op_key(context.get_identifier())))

    def _key(self, context: OutputContext) -> str:
        if context.has_asset_key:
            return f"{PREFIX}/{'/'.join(context.get_asset_identifier())}.json"
        return _op_key(context.get_identifier())


def _op_key(identifier: Sequence[str]) -> str:
    return f"{RUN_PREFIX}/{'/'.join(identifier)}.json"


@io_manager(
    required_resource_keys={"platform"}, description="References between assets as small JSON objects in the bucket."
)
def references(context: InitResourceContext) -> Any:
    """The IO manager of every stage; uses the run's ``platform``."""
    return ReferenceIOManager(cast(Any, context.resources).platform.objects)
