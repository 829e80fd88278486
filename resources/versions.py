"""Saved versions: created under the lease, committed with exact bytes, verified, published.

A version's status goes ``uploading → queued → verifying → passed | failed | could_not_verify``. What a version is made
of is pinned when it is created: the base, where its ops begin (logStart) and end (upToSeq).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from resources.documents import Documents, doc_key, ref_from, ref_item
from resources.errors import Code, StoreError
from resources.objects import Objects
from resources.table import Item, Refused, Write
from resources.values import ObjectRef, iso, new_token

SETTLED = ("passed", "failed", "could_not_verify")


def version_key(number: int) -> str:
    """The sort key of a version."""
    return f"VER#{number:06d}"


@dataclass(frozen=True)
class Version:
    """VER#n. `stored` is None until it is committed. `verification` is the summary that publication goes by."""

    document: str
    number: int
    revision: int
    base: ObjectRef
    log_start: int
    up_to_seq: int
    sha256: str
    size: int
    stored: ObjectRef | None
    status: str
    attempts: int
    verification: Mapping[str, Any] | None
    report: ObjectRef | None
    pixel_changes_reason: str | None
    published: ObjectRef | None
    figures_waiting: int
    committed_at: str | None = None
    verified_at: str | None = None
    verify_booked: bool = False

    @classmethod
    def read(cls, item: Item) -> Version:
        """From the stored item."""
        base = ref_from(item["base"])
        assert base is not None
        return cls(
            item["docId"],
            item["version"],
            item["revision"],
            base,
            item["logStart"],
            item["upToSeq"],
            item["sha256"],
            item["size"],
            ref_from(item.get("stored")),
            item["status"],
            item.get("attempts", 0),
            item.get("verification"),
            ref_from(item.get("report")),
            item.get("pixelChangesReason"),
            ref_from(item.get("published")),
            item.get("figuresWaiting", 0),
            item.get("committedAt"),
            item.get("verifiedAt"),
            item.get("verifyCostBooked", False),
        )


class Versions:
    """The versions of documents."""

    def __init__(self, documents: Documents, objects: Objects) -> None:
        self.documents = documents
        self.table = documents.table
        self.objects = objects
        self.clock = documents.clock

    def get(self, doc: str, number: int) -> Version:
        """A version. Raises StoreError NOT_FOUND."""
        item = self.table.get(doc_key(doc), version_key(number))
        if item is None:
            raise StoreError(Code.NOT_FOUND, f"Document {doc} has no version {number}.")
        return Version.read(item)

    def list(self, doc: str) -> list[Version]:
        """All versions of a document, oldest first."""
        return [Version.read(item) for item in self.table.query(doc_key(doc), "VER#")]

    def create(
        self, doc: str, up_to_seq: int, sha256: str, size: int, session: str, figures_waiting: int = 0
    ) -> Version:
        """The next version of the log up to `up_to_seq`, for these bytes, not yet uploaded.

        One transaction: the session holds the lease, and latestVersion is what it was when it was looked at. The same
        bytes of the same prefix again are the version that is there. Raises VERSION_CONFLICT, LEASE_LOST, NOT_READY.
        """
        document = self.documents.get(doc)
        if document.base is None or document.status != "ready":
            raise StoreError(Code.NOT_READY, f"Document {doc} has no base yet.")
        if document.latest_version:
            last = self.get(doc, document.latest_version)
            if (last.up_to_seq, last.sha256, last.base) == (up_to_seq, sha256, document.base):
                return last
        if not document.log_start <= up_to_seq <= document.head_seq:
            raise StoreError(Code.SEQ_CONFLICT, f"The log is at {document.head_seq}, not at {up_to_seq}.")
        number = document.latest_version + 1
        item: Item = {
            "docId": doc,
            "version": number,
            "revision": document.base_revision,
            "base": ref_item(document.base),
            "logStart": document.log_start,
            "upToSeq": up_to_seq,
            "sha256": sha256,
            "size": size,
            "status": "uploading",
            "attempts": 0,
            "pixelChangesReason": document.pixel_changes_reason,
            "figuresWaiting": figures_waiting,
            "createdAt": iso(self.clock()),
        }
        try:
            self.table.transact(
                [
                    self.documents.lease_check(doc, session),
                    Write(
                        doc_key(doc),
                        "META",
                        update="SET latestVersion = :new",
                        condition="latestVersion = :old AND baseRevision = :rev AND #status = :ready",
                        values={
                            ":new": number,
                            ":old": number - 1,
                            ":rev": document.base_revision,
                            ":ready": "ready",
                        },
                        names={"#status": "status"},
                    ),
                    Write(doc_key(doc), version_key(number), put=item, condition="attribute_not_exists(pk)"),
                ],
                new_token(),
            )
        except Refused as refused:
            if refused.index == 0:
                raise StoreError(Code.LEASE_LOST, "The lease has expired, or somebody else has it.") from refused
            raise StoreError(
                Code.VERSION_CONFLICT, f"Somebody else saved version {number} of {doc}.", retryable=True
            ) from refused
        return self.get(doc, number)

    def key(self, doc: str, number: int) -> str:
        """Where a version's bytes lie."""
        return f"docs/{doc}/versions/{number}.pdf"

    def commit(self, doc: str, number: int) -> Version:
        """The bytes are uploaded: demand the exact size and SHA-256, pin the VersionId, make it ``queued``.

        Repeated, it changes nothing. Raises OBJECT_MISSING, OBJECT_CHANGED.
        """
        version = self.get(doc, number)
        if version.status != "uploading":
            return version
        found = self.objects.head(self.key(doc, number))
        if found is None:
            raise StoreError(Code.OBJECT_MISSING, f"Version {number} of {doc} is not uploaded.")
        if found.sha256 != version.sha256 or found.size != version.size:
            raise StoreError(Code.OBJECT_CHANGED, f"What was uploaded is not version {number} of {doc}.")
        try:
            item = self.table.write(
                Write(
                    doc_key(doc),
                    version_key(number),
                    update="SET #stored = :stored, #status = :queued, committedAt = :now",
                    condition="#status = :uploading",
                    values={
                        ":stored": ref_item(found),
                        ":queued": "queued",
                        ":uploading": "uploading",
                        ":now": iso(self.clock()),
                    },
                    names={"#status": "status", "#stored": "stored"},
                )
            )
        except Refused as refused:
            item = refused.item
        assert item is not None
        return Version.read(item)

    def sent(self, doc: str, number: int, ok: bool) -> Version:
        """Whether the message about a committed version could be sent: ``queued``, else ``enqueue_failed``."""
        before, after = ("enqueue_failed", "queued") if ok else ("queued", "enqueue_failed")
        with suppress(Refused):  # it is so already, or verification has begun
            self.table.write(
                Write(
                    doc_key(doc),
                    version_key(number),
                    update="SET #status = :after",
                    condition="#status = :before",
                    values={":before": before, ":after": after},
                    names={"#status": "status"},
                )
            )
        return self.get(doc, number)

    def begin_verification(self, doc: str, number: int) -> Version:
        """``verifying``, one attempt more. A settled version stays as it is (its message is dropped)."""
        try:
            item = self.table.write(
                Write(
                    doc_key(doc),
                    version_key(number),
                    update="SET #status = :verifying ADD attempts :one",
                    condition="#status IN (:queued, :failed_send, :verifying)",
                    values={
                        ":verifying": "verifying",
                        ":queued": "queued",
                        ":failed_send": "enqueue_failed",
                        ":one": 1,
                    },
                    names={"#status": "status"},
                )
            )
        except Refused as refused:
            item = refused.item
            if item is None:
                raise StoreError(Code.NOT_FOUND, f"Document {doc} has no version {number}.") from refused
            if item["status"] == "uploading":
                raise StoreError(Code.NOT_READY, f"Version {number} of {doc} is not committed.") from refused
        assert item is not None
        return Version.read(item)

    def settle(self, doc: str, number: int, sha256: str, verification: Mapping[str, Any], report: ObjectRef) -> Version:
        """Record a verdict, bound to the bytes it is about. The first one stands."""
        status = verification["verdict"]
        if status not in SETTLED:
            raise ValueError(f"{status!r} is no verdict")
        try:
            item = self.table.write(
                Write(
                    doc_key(doc),
                    version_key(number),
                    update="SET #status = :status, verification = :facts, report = :report, verifiedAt = :now",
                    condition="#status = :verifying AND sha256 = :sha",
                    values={
                        ":status": status,
                        ":facts": dict(verification),
                        ":report": ref_item(report),
                        ":verifying": "verifying",
                        ":sha": sha256,
                        ":now": iso(self.clock()),
                    },
                    names={"#status": "status"},
                )
            )
        except Refused as refused:
            item = refused.item
            if item is None:
                raise StoreError(Code.NOT_FOUND, f"Document {doc} has no version {number}.") from refused
            if item["sha256"] != sha256:
                message = f"The verdict is about other bytes than {doc}/{number}."
                raise StoreError(Code.OBJECT_CHANGED, message) from refused
        assert item is not None
        return Version.read(item)

    def reopen(self, doc: str, number: int) -> Version:
        """A settled version is to be verified again (a person rematerialized it): ``queued`` once more."""
        try:
            item = self.table.write(
                Write(
                    doc_key(doc),
                    version_key(number),
                    update="SET #status = :queued, attempts = :none",
                    condition="#status IN (:a, :b, :c) AND attribute_not_exists(published)",
                    values={":queued": "queued", ":none": 0, ":a": "passed", ":b": "failed", ":c": "could_not_verify"},
                    names={"#status": "status"},
                )
            )
        except Refused as refused:
            item = refused.item
            if item is None:
                raise StoreError(Code.NOT_FOUND, f"Document {doc} has no version {number}.") from refused
        assert item is not None
        return Version.read(item)

    def published_key(self, doc: str, revision: int) -> str:
        """Where readers get a revision: relative, so that the delivery's address can change."""
        return f"published/{doc}/versions/r{revision}/document.pdf"

    def publish(self, version: Version, published: ObjectRef, why: str, url: str, fences: Sequence[Write]) -> None:
        """Publish: one transaction of the version row, META's activeVersion and address, an audit row, and `fences`.

        The conditions: the version's verdict is `passed` and about these bytes; the source revision is the newest and
        the document is not being deleted; each of `fences` (the caller's claim, the job's settlement).
        Raises NOT_VERIFIED, SUPERSEDED, CLAIM_LOST.
        """
        token = new_token()
        now = iso(self.clock())
        doc, key = version.document, version_key(version.number)
        audit = {
            "docId": doc,
            "action": "publish",
            "version": version.number,
            "sha256": version.sha256,
            "why": why,
            "at": now,
        }
        try:
            self.table.transact(
                [
                    Write(
                        doc_key(doc),
                        key,
                        update="SET published = :ref, publishedAt = :now",
                        condition="#status = :passed AND sha256 = :sha",
                        values={
                            ":ref": ref_item(published),
                            ":now": now,
                            ":passed": "passed",
                            ":sha": published.sha256,
                        },
                        names={"#status": "status"},
                    ),
                    Write(
                        doc_key(doc),
                        "META",
                        update="SET activeVersion = :n, activeSince = :now, publishedKey = :key, publishedUrl = :url, "
                        "outcome = :done, updatedAt = :now REMOVE code, reason",
                        condition="sourceRevision = :rev AND #status = :ready",
                        values={
                            ":n": version.number,
                            ":key": published.key,
                            ":url": url,
                            ":done": "published",
                            ":now": now,
                            ":rev": version.revision,
                            ":ready": "ready",
                        },
                        names={"#status": "status"},
                    ),
                    Write(doc_key(doc), f"AUDIT#{now}#{token[:12]}", put=audit),
                    *fences,
                ],
                token,
            )
        except Refused as refused:
            if refused.index == 0:
                raise StoreError(
                    Code.NOT_VERIFIED, f"Version {version.number} of {doc} has not passed with these bytes."
                ) from refused
            if refused.index == 1:
                raise StoreError(Code.SUPERSEDED, f"Document {doc} has a newer source.") from refused
            raise StoreError(Code.CLAIM_LOST, "The claim on this work was lost.") from refused
