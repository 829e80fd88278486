"""An error nobody foresaw is tried again; the third time it is a verdict, and never a pass."""

from __future__ import annotations

from typing import Any

import pytest

from assets import verified
from assets.ceilings import Phase
from assets.published import why_not
from assets.retry import problem_of
from assets.stage import Stage, settle_failure
from resources.errors import Code, StoreError
from resources.store import Store
from tests.assets.double import Double
from tests.assets.test_refined import WithDouble
from tests.resources.conftest import ready


@pytest.fixture
def at(store: Store) -> Stage:
    doc, _ = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    kept = store.objects.put_bytes(b"version", store.versions.key(doc, 1))
    store.versions.create(doc, 0, kept.sha256, kept.size, "s")
    store.versions.commit(doc, 1)
    store.work.offer_verification(doc, 1, "owner", 1)
    claim = store.work.claim(doc, "verify#1", "run-1")
    return Stage("verify", doc, claim, Phase("verify"), WithDouble().use(store, Double()))


def test_the_third_time_it_is_a_verdict(at: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("an oracle nobody knows")

    monkeypatch.setattr(verified, "run_checks", broken)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            verified.examined(at, 1)
    assert at.store.versions.get(at.document, 1).status == "verifying"
    version, found = verified.examined(at, 1)
    assert (version.status, found.verdict, version.attempts) == ("could_not_verify", "could_not_verify", 3)
    assert [check.result for check in found.checks] == ["could_not_verify"] * 4
    assert all("an oracle nobody knows" in check.reason for check in found.checks)
    assert why_not(version, "integrity")
    assert not any(check.passed for check in verified.check_results(found))


def test_an_error_nobody_foresaw_is_tried_again_only_where_it_ends_as_a_verdict(at: Stage) -> None:
    problem = problem_of(RuntimeError("an oracle nobody knows"))
    settle_failure(at.store, at.claim, "verify", problem)
    row = at.store.work.get(at.document, "verify#1")
    assert row is not None and (row.state, row.code) == ("queued", "UNEXPECTED")
    claim = at.store.work.claim(at.document, "verify#1", "run-2")
    settle_failure(at.store, claim, "publish", problem)
    row = at.store.work.get(at.document, "verify#1")
    assert row is not None and row.state == "failed"


def test_a_store_that_does_not_answer_is_no_verdict(at: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise StoreError(Code.OBJECT_MISSING, "It is not there just now.", retryable=True)

    monkeypatch.setattr(verified, "run_checks", away)
    for _ in range(4):
        with pytest.raises(StoreError):
            verified.examined(at, 1)
    assert at.store.versions.get(at.document, 1).status == "verifying"
