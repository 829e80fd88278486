"""Pages that an analyzer goes over are asked for once and booked once, whoever dies in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.ceilings import Phase
from assets.chunks import chunk_of
from assets.platform import Platform
from assets.stage import Stage
from assets.values import ChunkTask
from pdf.layout.analyzer import load
from resources.errors import Code, StoreError
from resources.ledger import COST
from resources.objects import Objects
from resources.settings import load_settings
from resources.store import Store
from resources.work import REMEDIATE, Source
from tests.assets.double import Double
from tests.pdf.layout.paper import PROSE, Page, write
from tests.resources.conftest import Clock, new_doc


class WithDouble(Platform):
    """A platform with a store and an analyzer of the test."""

    def use(self, store: Store, analyzer: Double) -> WithDouble:
        self._store, self._settings, self._analyzer = store, store.settings, analyzer
        return self


@pytest.fixture
def double() -> Double:
    return Double()


@pytest.fixture
def at(store: Store, double: Double) -> Iterator[Stage]:
    doc = new_doc()
    source = Source("incoming/a.pdf", "v1", 10, "01")
    store.work.offer(doc, "owner", source, "job", "2027-01-15T08:00:00Z", due_at=store.clock())
    claim = store.work.claim(doc, REMEDIATE, "run-1")
    platform = WithDouble().use(store, double)
    yield Stage("chunk", doc, claim, Phase("chunk"), platform)
    platform.close()


@pytest.fixture
def task(at: Stage, tmp_path: Path) -> ChunkTask:
    path = write(tmp_path / "base.pdf", *[Page().lines(72, 780, PROSE) for _ in range(3)])
    base = at.store.objects.put_file(path, f"docs/{at.document}/base.pdf")
    return ChunkTask(at.document, 1, 1, base, 0, 1, 3, 0, 3)


def booked(at: Stage) -> list[float]:
    day = at.store.ledger.rows(COST, "2027-01-15")
    return [row["usd"] for row in day if row["operation"] == "analyze"]


def marks(at: Stage, task: ChunkTask) -> list[int]:
    chunk = chunk_of(at, task)
    _, _, body = at.store.objects.read(chunk.stored.key, chunk.stored.version_id).partition(b"\n")
    assert chunk.engine.endswith("+double/1")
    return [page["blocks"][0]["attrs"]["double"] for page in json.loads(body)]


def test_each_page_is_refined_stored_and_booked(at: Stage, task: ChunkTask, double: Double) -> None:
    assert marks(at, task) == [1, 1, 1]
    assert (double.asked, booked(at)) == ([0, 1, 2], [0.25] * 3)
    assert chunk_of(at, task).reused


def test_a_busy_provider_rests_and_no_page_is_paid_twice(
    at: Stage, task: ChunkTask, double: Double, clock: Clock
) -> None:
    double.busy_at = {2}
    for _ in range(2):  # the second call is held by the cooldown alone: the double would answer
        with pytest.raises(StoreError) as refused:
            chunk_of(at, task)
        assert refused.value.code == Code.COOLING_DOWN and refused.value.retryable
    assert double.asked == [0, 1]
    clock.pass_(121)
    assert marks(at, task) == [1, 1, 1]
    assert (double.asked, booked(at)) == ([0, 1, 2], [0.25] * 3)


def test_a_worker_that_dies_before_it_books_is_booked_for(
    at: Stage, task: ChunkTask, double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Objects.put_bytes

    def dies(self: Objects, data: bytes, key: str, **more: object) -> object:
        put(self, data, key, **more)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(Objects, "put_bytes", dies)
    with pytest.raises(KeyboardInterrupt):
        chunk_of(at, task)
    assert (double.asked, booked(at)) == ([0], [])
    monkeypatch.setattr(Objects, "put_bytes", put)
    assert marks(at, task) == [1, 1, 1]
    assert (double.asked, booked(at)) == ([0, 1, 2], [0.25] * 3)


def test_a_lost_claim_asks_nothing(at: Stage, task: ChunkTask, double: Double, clock: Clock) -> None:
    clock.pass_(601)
    with pytest.raises(StoreError) as refused:
        chunk_of(at, task)
    assert (refused.value.code, double.asked) == (Code.CLAIM_LOST, [])


def test_the_setting_names_an_analyzer_or_fails_loudly() -> None:
    assert load(load_settings().analyzer) is None
    made = load("tests.assets.double:Double")
    assert made is not None and made.name == "double"
    for wrong in ("vision", "tests.assets.double:Nobody", "no.such.module:Thing"):
        with pytest.raises(ValueError, match="ANALYZER is"):
            load(wrong)
