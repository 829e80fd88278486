"""Going back: to what was published, as it was published, by one of many, with an audit."""

from __future__ import annotations

import pytest

from resources.errors import Code, StoreError
from resources.rollback import rollback
from resources.store import Store
from tests.resources.conftest import other, race, ready


def published(store: Store, doc: str, number: int, data: bytes) -> None:
    """A version saved, verified and published."""
    store.documents.acquire_lease(doc, "u", "s")
    kept = store.objects.put_bytes(data, store.versions.key(doc, number))
    store.versions.create(doc, 0, kept.sha256, kept.size, "s")
    version = store.versions.commit(doc, number)
    store.versions.begin_verification(doc, number)
    report = store.objects.put_bytes(b"{}", f"docs/{doc}/reports/{number}/verify.json")
    store.versions.settle(doc, number, version.sha256, {"verdict": "passed", "sha256": version.sha256}, report)
    version = store.versions.get(doc, number)
    assert version.stored is not None
    copied = store.objects.copy(version.stored, store.versions.published_key(doc, version.revision))
    store.versions.publish(version, copied, "policy", "url", [])


@pytest.fixture
def doc(store: Store) -> str:
    doc, _ = ready(store)
    published(store, doc, 1, b"first")
    published(store, doc, 2, b"second")
    return doc


def back(store: Store, doc: str, number: int = 1) -> int:
    return rollback(store.versions, doc, number, "ann", "it was better", "https://x").active_version


def code(store: Store, doc: str, number: int = 1) -> Code:
    with pytest.raises(StoreError) as refused:
        back(store, doc, number)
    return refused.value.code


def audits(store: Store, doc: str) -> list[str]:
    return sorted(item["action"] for item in store.documents.table.query(f"DOC#{doc}", "AUDIT#"))


def test_readers_get_the_old_bytes_again(store: Store, doc: str) -> None:
    key = store.versions.published_key(doc, 1)
    assert store.objects.read(key) == b"second"
    for _ in range(2):
        assert back(store, doc) == 1
    assert store.objects.read(key) == b"first"
    assert audits(store, doc) == ["publish", "publish", "rollback"]
    assert back(store, doc, 2) == 2 and store.objects.read(key) == b"second"


def test_many_who_go_back_do_it_once(store: Store, doc: str) -> None:
    good, bad = race([lambda s=other(store): back(s, doc) for _ in range(8)])
    assert (set(good), bad) == ({1}, [])
    assert audits(store, doc).count("rollback") == 1
    assert store.objects.read(store.versions.published_key(doc, 1)) == b"first"


def test_an_object_that_is_gone_or_altered_is_not_gone_back_to(store: Store, doc: str) -> None:
    version = store.versions.get(doc, 1)
    assert version.published is not None
    assert code(store, doc, 3) == Code.NOT_FOUND
    store.objects.delete_version(version.published)
    assert code(store, doc) == Code.OBJECT_MISSING
    other_bytes = store.objects.put_bytes(b"other", "elsewhere")
    names = {"#p": "published"}
    store.documents.table.client.update_item(
        TableName=store.documents.table.name,
        Key={"pk": {"S": f"DOC#{doc}"}, "sk": {"S": "VER#000001"}},
        UpdateExpression="SET #p.#k = :k, #p.versionId = :v",
        ExpressionAttributeNames={**names, "#k": "key"},
        ExpressionAttributeValues={":k": {"S": "elsewhere"}, ":v": {"S": other_bytes.version_id}},
    )
    assert code(store, doc) == Code.OBJECT_CHANGED
    assert store.documents.get(doc).active_version == 2


def test_a_verdict_or_a_document_that_changes_meanwhile_stops_it(
    store: Store, doc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, version = store.documents.get(doc), store.versions.get(doc, 1)
    table = store.documents.table.client
    key = {"pk": {"S": f"DOC#{doc}"}, "sk": {"S": "VER#000001"}}
    monkeypatch.setattr(store.versions, "get", lambda *_: version)
    change = {"ExpressionAttributeNames": {"#s": "status"}, "UpdateExpression": "SET #s = :s"}
    name = store.documents.table.name
    table.update_item(TableName=name, Key=key, ExpressionAttributeValues={":s": {"S": "failed"}}, **change)
    assert code(store, doc) == Code.VERSION_CONFLICT
    table.update_item(TableName=name, Key=key, ExpressionAttributeValues={":s": {"S": "passed"}}, **change)
    store.documents.begin_delete(doc)
    assert code(store, doc) == Code.VERSION_CONFLICT
    assert store.objects.read(store.versions.published_key(doc, 1)) == b"second", "the candidate is removed again"
    assert store.documents.get(doc).active_version == seen.active_version == 2
