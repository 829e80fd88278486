"""Publishing a version: its bytes where readers get them, then the one transaction that makes them the active ones."""

from __future__ import annotations

from collections.abc import Sequence

from resources.errors import StoreError
from resources.table import Write
from resources.values import ObjectRef
from resources.versions import Version, Versions


def publish(versions: Versions, version: Version, why: str, base_url: str, fences: Sequence[Write]) -> ObjectRef:
    """Copy a committed version to its public address and publish it; returns the published object.

    A candidate whose transaction is refused is removed again, unless it was our own write whose answer was lost.
    Raises as `Versions.publish`.
    """
    assert version.stored is not None
    objects = versions.objects
    candidate = objects.copy(version.stored, versions.published_key(version.document, version.revision))
    try:
        versions.publish(version, candidate, why, address(base_url, candidate.key), fences)
    except StoreError:
        if versions.get(version.document, version.number).published != candidate:
            objects.delete_version(candidate)
            raise
    return candidate


def address(base_url: str, key: str) -> str:
    """The full address of a published key, as it is delivered now."""
    return f"{base_url.rstrip('/')}/{key}"
