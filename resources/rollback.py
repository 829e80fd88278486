"""Going back to a version that was published before: the bytes first, then one transaction, with who and why."""

from __future__ import annotations

from resources.documents import Document, doc_key, ref_item
from resources.errors import Code, StoreError
from resources.publication import address
from resources.table import Refused, Write
from resources.values import iso, new_token
from resources.versions import Versions, version_key


def rollback(versions: Versions, doc: str, number: int, user: str, why: str, base_url: str) -> Document:
    """Make a published version the active one again. Repeated, it changes nothing.

    Its object must be there with its size and SHA-256. The conditions: the version has passed and is published with
    these bytes; the active version is what it was when it was looked at; the document is not being deleted.
    Raises NOT_VERIFIED, OBJECT_MISSING, OBJECT_CHANGED, VERSION_CONFLICT.
    """
    objects, documents = versions.objects, versions.documents
    document = documents.get(doc)
    version = versions.get(doc, number)
    if version.published is None or version.status != "passed":
        raise StoreError(Code.NOT_VERIFIED, f"Version {number} was never published.")
    if document.active_version == number:
        return document
    stands = objects.head(version.published.key, version.published.version_id)
    if stands is None:
        raise StoreError(Code.OBJECT_MISSING, f"The published object of version {number} is gone.")
    if (stands.size, stands.sha256) != (version.published.size, version.published.sha256):
        raise StoreError(Code.OBJECT_CHANGED, f"The published object of version {number} is not what it was.")
    ref = version.published
    current = objects.head(ref.key)
    made = current is None or current.version_id != ref.version_id
    if made:  # another version of the revision lies at its address
        ref = objects.copy(ref, ref.key)
    now, token = iso(versions.clock()), new_token()
    audit = {"docId": doc, "action": "rollback", "version": number, "from": document.active_version, "at": now}
    try:
        documents.table.transact(
            [
                Write(
                    doc_key(doc),
                    version_key(number),
                    update="SET published = :ref",
                    condition="#status = :passed AND sha256 = :sha",
                    values={":ref": ref_item(ref), ":passed": "passed", ":sha": ref.sha256},
                    names={"#status": "status"},
                ),
                Write(
                    doc_key(doc),
                    "META",
                    update="SET activeVersion = :n, activeSince = :now, publishedKey = :key, publishedUrl = :url, "
                    "updatedAt = :now",
                    condition="activeVersion = :seen AND #status <> :deleting",
                    values={
                        ":n": number,
                        ":key": ref.key,
                        ":url": address(base_url, ref.key),
                        ":now": now,
                        ":seen": document.active_version,
                        ":deleting": "deleting",
                    },
                    names={"#status": "status"},
                ),
                Write(doc_key(doc), f"AUDIT#{now}#{token[:12]}", put={**audit, "by": user, "why": why[:2000]}),
            ],
            token,
        )
    except Refused as refused:
        after = documents.get(doc)
        if after.active_version == number:
            return after  # our own answer was lost, or somebody else did the same
        if made:
            objects.delete_version(ref)
        raise StoreError(Code.VERSION_CONFLICT, "The active version has changed meanwhile.") from refused
    return documents.get(doc)
