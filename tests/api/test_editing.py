"""An editor's way: document, base, lease, ops, version, commit, download; and what is refused on it."""

from __future__ import annotations

import hashlib

import httpx
import pytest

from resources.store import Store
from tests.api.conftest import SESSION, Client, bytes_of, opened, record, saved, send
from tests.resources.conftest import Clock


def test_from_a_document_to_a_committed_version(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    body = {"baseSeq": 0, "sessionId": SESSION, "ops": [record(1, pdf), record(2, pdf, title="Another")]}
    assert ann.call("POST", f"/{doc}/ops", json=body) == {"headSeq": 2, "duplicate": False}
    assert ann.call("POST", f"/{doc}/ops", json=body) == {"headSeq": 2, "duplicate": True}
    read = ann.call("GET", f"/{doc}/ops?from=2")
    assert (read["ops"], read["next"]) == ([record(2, pdf, title="Another")], None)
    assert ann.call("GET", f"/{doc}/ops?limit=1")["next"] == 2
    number = saved(ann, doc, pdf + b"%", 2)
    got = ann.call("GET", f"/{doc}/versions/{number}/download-url")
    assert httpx.get(got["url"]).content == pdf + b"%"
    assert httpx.get(ann.call("GET", f"/{doc}/versions/0/download-url")["url"]).content == pdf
    (message,) = store.verify.receive(10)
    assert f'"docId":"{doc}","version":{number}' in message.body
    assert [v["version"] for v in ann.call("GET", f"/{doc}/versions")["versions"]] == [number]
    assert ann.call("GET", f"/{doc}")["latestVersion"] == number


def test_a_download_is_of_the_committed_bytes_though_the_key_is_written_again(
    ann: Client, pdf: bytes, store: Store
) -> None:
    doc = opened(ann, pdf)
    number = saved(ann, doc, pdf)
    store.objects.put_bytes(b"other", store.versions.key(doc, number))
    assert httpx.get(ann.call("GET", f"/{doc}/versions/{number}/download-url")["url"]).content == pdf


def test_commits_are_resumable(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    assert ann.call("POST", f"/{doc}/base/commit", json=bytes_of(pdf))["status"] == "ready"
    number = saved(ann, doc, pdf)
    for _ in range(2):
        assert ann.call("POST", f"/{doc}/versions/{number}/commit")["status"] == "queued"
    assert len(store.verify.receive(10)) == 3  # the verifier drops duplicates by status


def test_a_message_that_cannot_be_sent_leaves_enqueue_failed_and_can_be_sent_again(
    ann: Client, pdf: bytes, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc = opened(ann, pdf)
    made = ann.call("POST", f"/{doc}/versions", 201, json={"upToSeq": 0, "sessionId": SESSION, **bytes_of(pdf)})
    send(made["upload"], pdf)
    url = store.verify.url
    monkeypatch.setattr(store.verify, "_url", url + "-gone")
    assert ann.call("POST", f"/{doc}/versions/1/commit")["status"] == "enqueue_failed"
    monkeypatch.setattr(store.verify, "_url", url)
    assert ann.call("POST", f"/{doc}/versions/1/commit")["status"] == "queued"
    assert len(store.verify.receive(10)) == 1


def test_what_is_refused_has_its_code_and_what_to_go_on_with(ann: Client, pdf: bytes, clock: Clock) -> None:
    doc = opened(ann, pdf)
    ops = {"baseSeq": 0, "sessionId": SESSION, "ops": [record(1, pdf)]}
    ann.call("POST", f"/{doc}/ops", json=ops)
    changed = {**ops, "ops": [record(1, pdf, title="Changed")]}
    answer = ann.call("POST", f"/{doc}/ops", 409, json=changed)["error"]
    assert (answer["code"], answer["headSeq"]) == ("SEQ_CONFLICT", 1)
    assert ann.code("POST", f"/{doc}/ops", 409, json={**changed, "sessionId": "session-2"}) == "LEASE_LOST"
    assert ann.code("POST", f"/{doc}/lease", 409, json={"sessionId": "session-2"}) == "LEASE_HELD"
    stranger = {**ops, "baseSeq": 1, "ops": [record(2, pdf, author="engine/1")]}
    assert ann.code("POST", f"/{doc}/ops", 422, json=stranger) == "OP_INVALID"
    unknown = {**record(2, pdf), "op": {"type": "explode"}}
    assert ann.code("POST", f"/{doc}/ops", 422, json={**ops, "baseSeq": 1, "ops": [unknown]}) == "OP_INVALID"
    other_base = {**record(2, pdf), "baseHash": "0" * 64}
    assert ann.code("POST", f"/{doc}/ops", 422, json={**ops, "baseSeq": 1, "ops": [other_base]}) == "OP_INVALID"
    many = [record(2 + i, pdf) for i in range(99)]
    assert ann.code("POST", f"/{doc}/ops", 413, json={**ops, "baseSeq": 1, "ops": many}) == "BATCH_TOO_LARGE"
    clock.pass_(46)
    assert ann.code("POST", f"/{doc}/ops", 409, json={**ops, "baseSeq": 1, "ops": many[:1]}) == "LEASE_LOST"
    ann.call("POST", f"/{doc}/lease", json={"sessionId": "session-2"})  # it has expired: anybody may take it
    assert ann.code("POST", f"/{doc}/ops", 409, json={**ops, "baseSeq": 1, "ops": many[:1]}) == "LEASE_LOST"
    bytes_ = bytes_of(pdf)
    assert (
        ann.code("POST", f"/{doc}/versions", 409, json={"upToSeq": 9, "sessionId": "session-2", **bytes_})
        == "SEQ_CONFLICT"
    )
    made = ann.call("POST", f"/{doc}/versions", 201, json={"upToSeq": 1, "sessionId": "session-2", **bytes_})
    assert ann.code("POST", f"/{doc}/versions/1/commit", 409) == "OBJECT_MISSING"
    assert send(made["upload"], pdf).status_code == 200
    assert ann.code("POST", f"/{doc}/versions/1/publish", 409, json={"why": "because"}) == "NOT_VERIFIED"
    assert ann.code("POST", f"/{doc}/versions/1/rollback", 409, json={"why": "because"}) == "NOT_VERIFIED"
    assert ann.code("POST", f"/{doc}/base/upload-url", 409, json=bytes_) == "NOT_READY"


def test_a_released_lease_is_free_and_anothers_is_left_alone(ann: Client, pdf: bytes) -> None:
    doc = opened(ann, pdf)
    ann.call("DELETE", f"/{doc}/lease?sessionId=session-2", 204)
    assert ann.code("POST", f"/{doc}/lease", 409, json={"sessionId": "session-2"}) == "LEASE_HELD"
    ann.call("DELETE", f"/{doc}/lease?sessionId={SESSION}", 204)
    ann.call("POST", f"/{doc}/lease", json={"sessionId": "session-2"})


def test_mine_are_listed_a_page_at_a_time(ann: Client, ben: Client) -> None:
    made = {ann.call("POST", "", 201, json={"title": f"Document {n}"})["id"] for n in range(5)}
    ben.call("POST", "", 201, json={"title": "Not Ann's"})
    seen: list[str] = []
    after = ""
    while True:
        page = ann.call("GET", f"?limit=2&after={after}")
        seen += [one["id"] for one in page["documents"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == sorted(made)


def test_a_large_op_lies_in_the_bucket_and_is_read_back(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    nodes = [{"id": f"n{i}", "role": "P", "kids": [{"p": 0, "o": [i, i + 1]}], "alt": "x" * 20_000} for i in range(20)]
    large = {**record(1, pdf), "op": {"type": "add", "parent": "root", "nodes": nodes}}
    ann.call("POST", f"/{doc}/ops", json={"baseSeq": 0, "sessionId": SESSION, "ops": [large]})
    assert ann.call("GET", f"/{doc}/ops")["ops"] == [large]
    assert len(list(store.objects.keys(f"docs/{doc}/ops/"))) == 1


def test_a_base_of_other_bytes_is_not_committed(ann: Client, pdf: bytes) -> None:
    doc = ann.call("POST", "", 201, json={"title": "A title"})["id"]
    assert ann.code("POST", f"/{doc}/base/commit", 409, json=bytes_of(pdf)) == "OBJECT_MISSING"
    signed = ann.call("POST", f"/{doc}/base/upload-url", json=bytes_of(pdf))
    send(signed, pdf)
    assert ann.code("POST", f"/{doc}/base/commit", 409, json=bytes_of(b"other")) == "OBJECT_CHANGED"
    assert ann.call("GET", f"/{doc}")["status"] == "awaiting_base"
    ann.call("POST", f"/{doc}/base/commit", json=bytes_of(pdf))
    assert ann.call("GET", f"/{doc}")["baseSha256"] == hashlib.sha256(pdf).hexdigest()


def test_a_person_publishes_what_has_passed_and_waits(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    saved(ann, doc, pdf)
    version = store.versions.begin_verification(doc, 1)
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/1/verify.json")
    facts = {"verdict": "passed", "sha256": version.sha256, "shortcomings": ["not PDF/UA-1"], "seconds": 1, "pages": 1}
    store.versions.settle(doc, 1, version.sha256, facts, report)
    for _ in range(2):
        shown = ann.call("POST", f"/{doc}/versions/1/publish", json={"why": "The client knows."})
        assert (shown["outcome"], shown["activeVersion"]) == ("published", 1)
    assert shown["publishedUrl"] == f"https://files.example/published/{doc}/versions/r1/document.pdf"
    assert store.objects.read(f"published/{doc}/versions/r1/document.pdf") == pdf
    (audit,) = store.documents.table.query(f"DOC#{doc}", "AUDIT#")
    assert (audit["action"], audit["why"]) == ("publish", "ann: The client knows.")
    saved(ann, doc, pdf + b"%")
    assert ann.code("POST", f"/{doc}/versions/2/publish", 409, json={"why": "because"}) == "NOT_VERIFIED"
    assert ann.call("POST", f"/{doc}/versions/1/rollback", json={"why": "because"})["activeVersion"] == 1
