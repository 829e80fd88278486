"""Which lane a document takes: by its pages, by its bytes, by the time it needed; and no further than once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assets.ceilings import Phase
from assets.platform import Platform
from assets.retry import Problem
from assets.stage import Stage, slow_goes_long
from assets.uploaded import lane_allows
from pdf.errors import Code as PdfCode
from pdf.errors import PdfError
from pdf.inspect import Inspection
from resources.settings import Settings
from resources.store import Store
from resources.work import FAILED, LONG, QUEUED, REMEDIATE, RUNNING, Claim, Row, Source
from tests.resources.conftest import new_doc

SLOW = Problem(str(PdfCode.TOOL_TIMEOUT), "It took too long.", False)
MB = 1 << 20


class At(Platform):
    """A platform with a store and settings of the test."""

    def use(self, store: Store, settings: Settings) -> At:
        self._store, self._settings = store, settings
        return self


def stage_of(store: Store, size: int = 10, **settings: object) -> Stage:
    doc = new_doc()
    store.work.offer(doc, "owner", Source("incoming/a.pdf", "v1", size, "01"), "job", "2027", due_at=store.clock())
    claim = store.work.claim(doc, REMEDIATE, "run-1")
    changed = store.settings.model_copy(update=settings)
    return Stage("inspect", doc, claim, Phase("inspect"), At().use(replace(store, settings=changed), changed))


def found(pages: int) -> Inspection:
    made: Inspection = object.__new__(Inspection)
    object.__setattr__(made, "pages", pages)
    return made


def row(at: Stage) -> Row:
    now = at.store.work.get(at.document)
    assert now is not None
    return now


@pytest.mark.parametrize(
    ("pages", "size", "lane"),
    [(32, 10, "fast"), (33, 10, LONG), (800, 10, LONG), (1, 101 * MB, LONG), (1, 99 * MB, "fast")],
)
def test_pages_and_bytes_choose_the_lane(store: Store, pages: int, size: int, lane: str) -> None:
    at = stage_of(store, size)
    assert lane_allows(at, found(pages)) == (lane == "fast")
    assert (row(at).lane, row(at).state) == (lane, RUNNING if lane == "fast" else QUEUED)
    if lane == LONG:
        assert row(at).pages == pages
        again = replace(at, claim=store.work.claim(at.document, REMEDIATE, "run-2"))
        assert lane_allows(again, found(pages))


@pytest.mark.parametrize(("pages", "long_lane"), [(801, True), (33, False)])
def test_what_no_lane_takes_is_refused_at_once(store: Store, pages: int, long_lane: bool) -> None:
    at = stage_of(store, long_lane_enabled=long_lane)
    with pytest.raises(PdfError) as error:
        lane_allows(at, found(pages))
    assert error.value.code == PdfCode.DOCUMENT_TOO_LARGE
    assert row(at).spent_usd == 0


def slow(at: Stage, claim: Claim, pages: int, problem: Problem = SLOW) -> bool:
    return slow_goes_long(at.store, claim, problem, pages)


def test_a_time_out_goes_to_the_long_lane_once(store: Store) -> None:
    at = stage_of(store)
    assert slow(at, at.claim, 20)
    assert (row(at).lane, row(at).state, row(at).generation) == (LONG, QUEUED, 2)
    second = store.work.claim(at.document, REMEDIATE, "run-2")
    assert not slow(at, second, 20)
    store.work.fail(second, SLOW.code, SLOW.message, retryable=False)
    assert row(at).state == FAILED


def test_what_is_small_or_failed_otherwise_does_not(store: Store) -> None:
    at = stage_of(store)
    assert not slow(at, at.claim, 3)
    assert not slow(at, at.claim, 20, Problem("OUT_OF_MEMORY", "x", False))
    without = stage_of(store, long_lane_enabled=False)
    assert not slow(without, without.claim, 20)
    large = stage_of(store, 11 * MB)
    assert slow(large, large.claim, 1)


def test_a_long_document_has_more_time(store: Store) -> None:
    at = stage_of(store)
    platform = at.platform
    try:
        assert platform.sandbox.limits.wall_seconds == store.settings.sandbox_seconds
        platform.use_lane(LONG)
        assert platform.sandbox.limits.wall_seconds == store.settings.host_sandbox_seconds > 100
    finally:
        platform.close()
