"""A store on the embedded AWS, with a clock that the test moves."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from resources.clients import make_clients
from resources.settings import load_settings
from resources.store import Store, make_store
from resources.values import ObjectRef
from tests.conftest import LocalStack, session

T = TypeVar("T")


@dataclass
class Clock:
    """Seconds since 1970, as the test says."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(stack: LocalStack, clock: Clock) -> Store:
    settings = load_settings()
    return make_store(settings, make_clients(settings, session()), clock)


def other(store: Store) -> Store:
    """Another process's view of the same store: clients and connections of its own."""
    return make_store(store.settings, make_clients(store.settings, session()), store.clock)


def race(calls: Sequence[Callable[[], T]]) -> tuple[list[T], list[Exception]]:
    """Make all calls at once; what they returned, and what they raised."""
    good: list[T] = []
    bad: list[Exception] = []
    with ThreadPoolExecutor(len(calls)) as pool:
        for future in [pool.submit(call) for call in calls]:
            error = future.exception()
            if error is None:
                good.append(future.result())
            else:
                assert isinstance(error, Exception)
                bad.append(error)
    return good, bad


def new_doc() -> str:
    return str(uuid.uuid4())


def base_ref(store: Store, doc: str, data: bytes = b"base") -> ObjectRef:
    return store.objects.put_bytes(data, f"docs/{doc}/base.pdf")


def ready(store: Store, doc: str | None = None, data: bytes = b"base") -> tuple[str, ObjectRef]:
    """A document with a base."""
    doc = doc or new_doc()
    store.documents.open_source(doc, "owner", "Title", 1)
    ref = base_ref(store, doc, data)
    store.documents.set_base(doc, 1, ref, 3, None, "fast")
    return doc, ref


def record(seq: int, base: ObjectRef, text: str = "x", author: str = "engine/1") -> dict[str, Any]:
    """An op record of the log."""
    op = {"type": "text", "node": "n1", "alt": text}
    return {"v": 1, "seq": seq, "opId": f"op-{seq}", "author": author, "baseHash": base.sha256, "op": op}
