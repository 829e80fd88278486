"""Objects: exactly the bytes that were said, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.errors import Code, StoreError
from resources.store import Store
from resources.values import ObjectRef
from tests.resources.conftest import other, race


def test_what_is_fetched_is_what_was_pinned(store: Store, tmp_path: Path) -> None:
    ref = store.objects.put_bytes(b"one", "docs/a")
    store.objects.put_bytes(b"two", "docs/a")
    store.objects.fetch(ref, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert store.objects.head("docs/a", ref.version_id) == ref


def test_other_bytes_than_recorded_are_an_error(store: Store, tmp_path: Path) -> None:
    ref = store.objects.put_bytes(b"one", "docs/a")
    wrong = ObjectRef(ref.key, ref.version_id, "0" * 64, ref.size)
    with pytest.raises(StoreError) as error:
        store.objects.fetch(wrong, tmp_path / "a")
    assert error.value.code == Code.OBJECT_CHANGED
    assert not (tmp_path / "a").exists()


def test_once_never_overwrites(store: Store) -> None:
    good, bad = race(
        [lambda s=other(store), n=n: s.objects.put_bytes(b"%d" % n, "docs/once", once=True) for n in range(8)]
    )
    assert len(good) == 1
    assert {e.code for e in bad if isinstance(e, StoreError)} == {Code.OBJECT_EXISTS}
    data = store.objects.read("docs/once")
    assert store.objects.put_bytes(data, "docs/once", once=True) == good[0]


def test_objects_are_encrypted_with_the_platforms_key(store: Store) -> None:
    store.objects.put_bytes(b"x", "docs/a")
    head = store.objects.client.head_object(Bucket=store.objects.bucket, Key="docs/a")
    assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", store.objects.key_id)


def test_a_copy_is_the_pinned_version(store: Store, tmp_path: Path) -> None:
    ref = store.objects.put_bytes(b"one", "docs/a")
    store.objects.put_bytes(b"two", "docs/a")
    copy = store.objects.copy(ref, "published/a")
    store.objects.fetch(copy, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"one"


def test_missing_objects_say_so(store: Store, tmp_path: Path) -> None:
    assert store.objects.head("nothing") is None
    with pytest.raises(StoreError) as error:
        store.objects.read("nothing")
    assert error.value.code == Code.OBJECT_MISSING


def test_every_version_under_a_folder_goes_and_nothing_else(store: Store) -> None:
    for key in ("docs/a/1", "docs/a/1", "docs/a/2", "docs/ab", "docs/b/1"):
        store.objects.put_bytes(b"x", key)
    assert store.objects.delete_versions("docs/a/") == 3
    assert [ref.key for ref in store.objects.keys("docs/")] == ["docs/ab", "docs/b/1"]
    with pytest.raises(ValueError):
        store.objects.delete_versions("docs")
