"""Versions: exact bytes, one winner, a verdict once, publication as one transaction."""

from __future__ import annotations

from typing import Any

import pytest

from resources.documents import doc_key
from resources.errors import Code, StoreError
from resources.store import Store
from resources.table import Write
from resources.values import ObjectRef
from resources.versions import Version
from resources.work import REMEDIATE, Source
from tests.resources.conftest import other, race, ready, record


def saved(store: Store, data: bytes = b"version") -> Version:
    """A committed version of a document with one op."""
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(1, base)], "s")
    ref = store.objects.put_bytes(data, store.versions.key(doc, 1))
    version = store.versions.create(doc, 1, ref.sha256, ref.size, "s")
    return store.versions.commit(doc, version.number)


def facts(version: Version, verdict: str = "passed", **more: Any) -> dict[str, Any]:
    return {"verdict": verdict, "sha256": version.sha256, "shortcomings": [], **more}


def verified(store: Store, verdict: str = "passed") -> Version:
    version = saved(store)
    store.versions.begin_verification(version.document, 1)
    report = store.objects.put_bytes(b"{}", f"docs/{version.document}/reports/1/verify.json")
    return store.versions.settle(version.document, 1, version.sha256, facts(version, verdict), report)


def candidate(store: Store, version: Version) -> ObjectRef:
    assert version.stored is not None
    return store.objects.copy(version.stored, store.versions.published_key(version.document, version.revision))


def refused(call) -> Code:
    with pytest.raises(StoreError) as error:
        call()
    return error.value.code


@pytest.mark.parametrize("callers", [2, 16])
def test_one_of_many_saves(store: Store, callers: int) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(1, base)], "s")
    good, bad = race(
        [lambda s=other(store), n=n: s.versions.create(doc, 1, f"{n:064x}", 5, "s") for n in range(callers)]
    )
    # Who looked before another one saved is refused; who looked after it saves the next one. Nobody's is lost.
    assert {e.code for e in bad if isinstance(e, StoreError)} <= {Code.VERSION_CONFLICT}
    assert len(good) + len(bad) == callers
    assert sorted(version.number for version in good) == list(range(1, len(good) + 1))
    assert store.documents.get(doc).latest_version == len(good)


def test_the_same_save_again_is_the_same_version(store: Store) -> None:
    version = saved(store)
    again = store.versions.create(version.document, 1, version.sha256, version.size, "s")
    assert again.number == 1
    assert store.documents.get(version.document).latest_version == 1


def test_saving_needs_the_lease_and_a_prefix_of_the_log(store: Store) -> None:
    doc, base = ready(store)
    assert refused(lambda: store.versions.create(doc, 0, "0" * 64, 1, "s")) == Code.LEASE_LOST
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(1, base)], "s")
    assert refused(lambda: store.versions.create(doc, 2, "0" * 64, 1, "s")) == Code.SEQ_CONFLICT


def test_commit_demands_the_very_bytes_and_pins_them(store: Store) -> None:
    doc, base = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 0, [record(1, base)], "s")
    right = store.objects.put_bytes(b"right", "elsewhere")
    store.versions.create(doc, 1, right.sha256, right.size, "s")
    assert refused(lambda: store.versions.commit(doc, 1)) == Code.OBJECT_MISSING
    store.objects.put_bytes(b"wrong", store.versions.key(doc, 1))
    assert refused(lambda: store.versions.commit(doc, 1)) == Code.OBJECT_CHANGED
    pinned = store.objects.put_bytes(b"right", store.versions.key(doc, 1))
    assert store.versions.commit(doc, 1).stored == pinned
    store.objects.put_bytes(b"later", store.versions.key(doc, 1))
    assert store.versions.commit(doc, 1).stored == pinned


def test_a_verdict_is_given_once_and_about_its_bytes(store: Store) -> None:
    version = saved(store)
    doc = version.document
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/1/verify.json")
    store.versions.begin_verification(doc, 1)
    assert refused(lambda: store.versions.settle(doc, 1, "0" * 64, facts(version), report)) == Code.OBJECT_CHANGED
    good, _ = race(
        [
            lambda s=other(store), v=v: s.versions.settle(doc, 1, version.sha256, facts(version, v), report)
            for v in ("passed", "failed") * 4
        ]
    )
    assert len({v.status for v in good}) == 1
    assert store.versions.begin_verification(doc, 1).status == good[0].status


def test_attempts_are_counted(store: Store) -> None:
    version = saved(store)
    assert [store.versions.begin_verification(version.document, 1).attempts for _ in range(3)] == [1, 2, 3]


def test_publication_needs_a_passed_verdict_about_the_very_bytes(store: Store) -> None:
    for verdict in ("failed", "could_not_verify"):
        version = verified(store, verdict)
        ref = candidate(store, version)
        assert refused(lambda v=version, r=ref: store.versions.publish(v, r, "", "", [])) == Code.NOT_VERIFIED
    version = verified(store)
    other_bytes = store.objects.put_bytes(b"other", store.versions.published_key(version.document, 1))
    assert refused(lambda: store.versions.publish(version, other_bytes, "", "", [])) == Code.NOT_VERIFIED
    assert store.documents.get(version.document).active_version == 0


def test_publication_of_a_superseded_source_is_refused(store: Store) -> None:
    version = verified(store)
    ref = candidate(store, version)
    store.documents.open_source(version.document, "owner", "T", 2)
    assert refused(lambda: store.versions.publish(version, ref, "", "", [])) == Code.SUPERSEDED


def test_publication_is_all_or_nothing(store: Store) -> None:
    version = verified(store)
    ref = candidate(store, version)
    lost = Write("WORK#x", "none", condition="attribute_exists(pk)", table=store.work.table.name)
    assert refused(lambda: store.versions.publish(version, ref, "", "", [lost])) == Code.CLAIM_LOST
    now = store.versions.get(version.document, 1)
    assert now.published is None
    assert store.documents.get(version.document).active_version == 0
    assert not list(store.documents.table.query(f"DOC#{version.document}", "AUDIT#"))
    store.versions.publish(version, ref, "policy", "https://example.org/x", [])
    document = store.documents.get(version.document)
    assert (document.active_version, document.outcome, document.published_key) == (1, "published", ref.key)
    assert len(list(store.documents.table.query(f"DOC#{version.document}", "AUDIT#"))) == 1


def test_a_published_version_is_not_reopened(store: Store) -> None:
    version = verified(store)
    store.versions.publish(version, candidate(store, version), "policy", "", [])
    assert store.versions.reopen(version.document, 1).status == "passed"


def test_a_version_replays_the_log_of_its_own_base(store: Store) -> None:
    version = saved(store)
    doc = version.document
    store.documents.open_source(doc, "owner", "T", 2)
    ref = store.objects.put_bytes(b"second", f"docs/{doc}/base.pdf")
    store.documents.set_base(doc, 2, ref, 3, None, "fast")
    assert store.documents.get(doc).log_start == 1
    store.documents.acquire_lease(doc, "u", "s")
    store.log.append(doc, 1, [record(2, ref)], "s")
    second = store.versions.create(doc, 2, "1" * 64, 3, "s")
    assert (second.number, second.log_start, second.base) == (2, 1, ref)
    assert store.versions.get(doc, 1).base == version.base


def test_nothing_is_saved_of_a_document_that_is_being_deleted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    doc, _ = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    seen = store.documents.get(doc)
    store.documents.begin_delete(doc)
    monkeypatch.setattr(store.documents, "get", lambda _: seen)  # what was seen a moment before
    with pytest.raises(StoreError) as refused:
        store.versions.create(doc, 0, "a" * 64, 1, "s")
    assert refused.value.code == Code.VERSION_CONFLICT
    assert store.versions.list(doc) == []


def test_a_version_that_stands_is_never_written_over(store: Store) -> None:
    doc, _ = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    first = store.versions.create(doc, 0, "a" * 64, 1, "s")
    table = store.documents.table  # as if META had been put back to an earlier state
    table.write(Write(doc_key(doc), "META", update="SET latestVersion = :n", values={":n": 0}))
    with pytest.raises(StoreError) as refused:
        store.versions.create(doc, 0, "b" * 64, 1, "s")
    assert refused.value.code == Code.VERSION_CONFLICT
    assert store.versions.get(doc, 1) == first


def test_a_late_commit_and_a_late_message_move_nothing_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    doc, _ = ready(store)
    store.documents.acquire_lease(doc, "u", "s")
    kept = store.objects.put_bytes(b"version", store.versions.key(doc, 1))
    seen = store.versions.create(doc, 0, kept.sha256, kept.size, "s")
    store.versions.commit(doc, 1)
    store.versions.begin_verification(doc, 1)
    for ok in (True, False):
        assert store.versions.sent(doc, 1, ok).status == "verifying"
    with monkeypatch.context() as patch:
        patch.setattr(store.versions, "get", lambda *_: seen)
        assert store.versions.commit(doc, 1).status == "verifying"
    assert store.versions.get(doc, 1).status == "verifying"


def test_a_worker_that_lost_its_claim_publishes_nothing(store: Store) -> None:
    version = verified(store)
    doc = version.document
    source = Source("incoming/a.pdf", "v1", 1, "01")
    store.work.offer(doc, "owner", source, "job", "2027-01-15T08:00:00Z", due_at=0)
    lost = store.work.claim(doc, REMEDIATE, "run-1")
    store.work.cancel(doc, REMEDIATE, "owner")
    ref = candidate(store, version)
    assert (
        refused(lambda: store.versions.publish(version, ref, "policy", "u", store.work.done(lost))) == Code.CLAIM_LOST
    )
    row = store.work.get(doc)
    assert row is not None and (row.state, store.documents.get(doc).active_version) == ("cancelled", 0)
    assert store.versions.get(doc, 1).published is None
