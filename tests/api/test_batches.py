"""Batches: each document is queued or it is said why not; what depends on all knows when all have succeeded."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from api.models import safe
from assets.stage import tell_settled
from resources.store import Store
from resources.work import FAILED, REMEDIATE, Source
from tests.api.conftest import Client
from tests.resources.conftest import new_doc, race


def failed(store: Store, user: str = "ann", code: str = "RUN_LOST") -> str:
    """A document of a user whose work has failed."""
    doc = store.documents.create(user, "Title").id
    store.work.offer(doc, user, Source(f"incoming/{doc}.pdf", "v", 9, "1"), "job", "2027", due_at=store.clock())
    store.work.fail(store.work.claim(doc, REMEDIATE, new_doc()), code, "It was killed.", retryable=False)
    return doc


def ask(client: Client, docs: list[str], status: int = 202, batch: str = "") -> Any:
    return client.call("POST", "/batches", status, json={"batchId": batch or str(uuid.uuid4()), "docIds": docs})


def end(store: Store, doc: str, code: str = "") -> None:
    claim = store.work.claim(doc, REMEDIATE, new_doc())
    settled = store.work.fail(claim, code, "why", retryable=False) if code else store.work.succeed(claim)
    tell_settled(store, settled)


def test_a_batch_says_of_each_document_whether_it_is_queued(ann: Client, store: Store) -> None:
    good, others, done = failed(store), failed(store, "ben"), failed(store)
    ask(ann, [done])
    end(store, done)
    answer = ask(ann, [good, others, done, "nonsense", good])
    assert [(item["docId"], item["queued"], item["code"]) for item in answer["items"]] == [
        (good, True, None),
        (others, False, "NOT_FOUND"),
        (done, False, "NOT_READY"),
        ("nonsense", False, "NOT_FOUND"),
    ]
    assert ask(ann, [good], 409)["error"]["code"] == "NOTHING_QUEUED"  # it waits in the other batch


def test_none_queued_is_no_202(ann: Client, store: Store) -> None:
    error = ask(ann, [new_doc(), failed(store, "ben")], 409)["error"]
    assert error["code"] == "NOTHING_QUEUED"
    assert [item["code"] for item in error["items"]] == ["NOT_FOUND"] * 2


def test_the_state_of_a_batch(ann: Client, ben: Client, store: Store) -> None:
    docs = [failed(store) for _ in range(3)]
    batch = ask(ann, docs)["batchId"]
    store.work.claim(docs[0], REMEDIATE, "run")

    def shown() -> tuple[dict[str, str], bool]:
        found = ann.call("GET", f"/batches/{batch}")
        return {item["docId"]: item["state"] for item in found["items"]}, found["allSucceeded"]

    assert shown() == ({docs[0]: "running", docs[1]: "queued", docs[2]: "queued"}, False)
    end(store, docs[1])
    end(store, docs[2], "ENCRYPTED")
    assert shown() == ({docs[0]: "running", docs[1]: "succeeded", docs[2]: "failed"}, False)
    assert ben.code("GET", f"/batches/{batch}", 404) == "NOT_FOUND"
    assert ben.code("POST", f"/batches/{batch}/cancel", 404) == "NOT_FOUND"


def test_all_have_succeeded_only_when_all_have(ann: Client, store: Store) -> None:
    docs = [failed(store) for _ in range(2)]
    batch = ask(ann, docs)["batchId"]
    for doc in docs:
        assert not ann.call("GET", f"/batches/{batch}")["allSucceeded"]
        end(store, doc)
    assert ann.call("GET", f"/batches/{batch}")["allSucceeded"]


def test_the_same_batch_again_is_itself_and_mends_what_a_crash_left(
    ann: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc, batch = failed(store), str(uuid.uuid4())

    def dies(*_: object) -> None:
        raise RuntimeError("the machine is gone")

    with monkeypatch.context() as patch:
        patch.setattr(store.jobs, "add_file", dies)
        ask(ann, [doc], 500, batch)
    for _ in range(2):
        assert ask(ann, [doc], batch=batch)["items"][0]["queued"]
    found = ann.call("GET", f"/batches/{batch}")
    assert [item["docId"] for item in found["items"]] == [doc]
    row = store.work.get(doc)
    assert row is not None and row.generation == 2


def test_racing_calls_queue_a_document_once(ann: Client, store: Store) -> None:
    doc, batch = failed(store), str(uuid.uuid4())
    good, bad = race([lambda: ask(ann, [doc], batch=batch) for _ in range(8)])
    assert not bad and len(good) == 8
    row = store.work.get(doc)
    assert row is not None and row.generation == 2
    assert len(ann.call("GET", f"/batches/{batch}")["items"]) == 1


def test_a_batch_is_cancelled_by_its_owner(ann: Client, store: Store) -> None:
    docs = [failed(store) for _ in range(2)]
    batch = ask(ann, docs)["batchId"]
    end(store, docs[0])
    for _ in range(2):
        found = ann.call("POST", f"/batches/{batch}/cancel")
        assert [item["state"] for item in found["items"]] == [
            {docs[0]: "succeeded"}.get(item["docId"], "failed") for item in found["items"]
        ]
    row = store.work.get(docs[1])
    assert row is not None and row.state == "cancelled"


def test_a_revoked_user_queues_nothing(ann: Client, store: Store) -> None:
    doc = failed(store)
    store.work.owners.revoke("ann")
    assert ask(ann, [doc], 403)["error"]["code"] == "OWNER_REVOKED"
    assert ann.code("POST", f"/{doc}/retry", 403) == "OWNER_REVOKED"
    row = store.work.get(doc)
    assert row is not None and row.state == FAILED


def test_what_a_caller_is_told_says_nothing_of_the_inside(ann: Client, store: Store) -> None:
    inside = "KeyError: 'secret-bucket'"
    assert safe("UNEXPECTED", inside) == safe("AWS_AccessDenied", inside) == safe("TOOL_FAILED", inside)
    assert inside not in str(safe("UNEXPECTED", inside))
    assert safe("ENCRYPTED", "The file needs a password.") == "The file needs a password."
    assert safe(None, None) is None
