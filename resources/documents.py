"""Documents: their META item, their base, and who may edit them (the single-editor lease).

Items are in the documents table: pk ``DOC#<id>``, sk ``META`` | ``LEASE`` | ``OP#<seq>`` | ``VER#<n>`` | ``AUDIT#…``;
pk ``OWNER#<user>``, sk ``DOC#<id>`` is an owner's list. The log is in `resources.log`, versions in
`resources.versions`.

A replacement of the source is a new *source revision* of the same document. The log only grows, so a new base takes
``logStart`` = the log's head when it was set: a version replays what came after it over the base it was made for.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from resources.errors import Code, StoreError
from resources.table import Item, Refused, Table, Write
from resources.values import Clock, ObjectRef, iso, new_token


def doc_key(doc: str) -> str:
    """The partition of a document."""
    return f"DOC#{doc}"


@dataclass(frozen=True)
class Document:
    """META. `status`: awaiting_base | ready | deleting; `outcome` what became of the newest source revision, for
    people: None while it is on its way, published | needs_review | refused | failed | cancelled, with code and reason.
    """

    id: str
    owner: str
    title: str
    status: str
    source_revision: int
    base: ObjectRef | None
    base_revision: int
    pages: int
    head_seq: int
    log_start: int
    latest_version: int
    active_version: int
    published_key: str | None
    pixel_changes_reason: str | None
    outcome: str | None
    code: str | None
    reason: str | None
    lane: str | None
    source_size: int
    write_units: int
    active_since: str | None = None

    @classmethod
    def read(cls, item: Item) -> Document:
        """From the stored item."""
        base = ref_from(item.get("base"))
        return cls(
            item["docId"],
            item["ownerId"],
            item["title"],
            item["status"],
            item["sourceRevision"],
            base,
            item.get("baseRevision", 0),
            item.get("pages", 0),
            item["headSeq"],
            item.get("logStart", 0),
            item["latestVersion"],
            item.get("activeVersion", 0),
            item.get("publishedKey"),
            item.get("pixelChangesReason"),
            item.get("outcome"),
            item.get("code"),
            item.get("reason"),
            item.get("lane"),
            item.get("sourceSize", 0),
            item.get("writeUnits", 0),
            item.get("activeSince"),
        )


def ref_from(value: Any) -> ObjectRef | None:
    """An object reference as it is stored."""
    return ObjectRef(value["key"], value["versionId"], value["sha256"], value["size"]) if value else None


def ref_item(ref: ObjectRef) -> Item:
    """An object reference to be stored."""
    return {"key": ref.key, "versionId": ref.version_id, "sha256": ref.sha256, "size": ref.size}


class Documents:
    """The documents table as far as META and LEASE go."""

    def __init__(self, table: Table, clock: Clock, lease_seconds: int = 45) -> None:
        self.table = table
        self.clock = clock
        self.lease_seconds = lease_seconds

    def get(self, doc: str) -> Document:
        """A document. Raises StoreError NOT_FOUND."""
        item = self.table.get(doc_key(doc), "META")
        if item is None:
            raise StoreError(Code.NOT_FOUND, f"There is no document {doc}.")
        return Document.read(item)

    def get_many(self, docs: Sequence[str]) -> list[Document]:
        """Documents in the order of their ids (at most 100); one that was deleted meanwhile is left out."""
        return [Document.read(item) for item in self.table.get_many([(doc_key(doc), "META") for doc in docs])]

    def create(self, owner: str, title: str) -> Document:
        """A new document, under an id of our own, that waits for its base."""
        doc = str(uuid.uuid4())
        return self.open_source(doc, owner, title, 1)

    def open_source(self, doc: str, owner: str, title: str, revision: int, size: int = 0) -> Document:
        """The document for a source revision: made when it is not there, moved on when the revision is newer.

        An older revision is SUPERSEDED, a document that is being deleted NOT_READY. Repeated, it changes nothing.
        """
        now = iso(self.clock())
        meta: Item = {
            "docId": doc,
            "ownerId": owner,
            "title": title,
            "status": "awaiting_base",
            "sourceRevision": revision,
            "sourceSize": size,
            "headSeq": 0,
            "latestVersion": 0,
            "writeUnits": 0,
            "createdAt": now,
        }
        listed = {"title": title, "createdAt": now}
        try:
            self.table.transact(
                [
                    Write(doc_key(doc), "META", put=meta, condition="attribute_not_exists(pk)"),
                    Write(f"OWNER#{owner}", doc_key(doc), put=listed),
                ],
                new_token(),
            )
        except Refused:
            self._move_on(doc, revision, size, now)
        return self.get(doc)

    def _move_on(self, doc: str, revision: int, size: int, now: str) -> None:
        try:
            self.table.write(
                Write(
                    doc_key(doc),
                    "META",
                    update="SET sourceRevision = :new, sourceSize = :size, updatedAt = :now "
                    "REMOVE outcome, code, reason",
                    condition="sourceRevision < :new AND #status <> :deleting",
                    values={":new": revision, ":size": size, ":now": now, ":deleting": "deleting"},
                    names={"#status": "status"},
                )
            )
        except Refused as refused:
            found = refused.item
            if found is None or found["status"] == "deleting":
                raise StoreError(Code.NOT_READY, f"Document {doc} is being deleted.") from refused
            if found["sourceRevision"] > revision:
                raise StoreError(Code.SUPERSEDED, f"Document {doc} has a newer source.") from refused

    def set_base(
        self, doc: str, revision: int, base: ObjectRef, pages: int, pixel_changes_reason: str | None, lane: str
    ) -> Document:
        """Fix version 0 of a source revision. From now on its bytes never change: other bytes are BASE_CONFLICT.

        The condition: the revision is the document's newest, and has no base yet.
        """
        values: Item = {
            ":base": ref_item(base),
            ":rev": revision,
            ":pages": pages,
            ":lane": lane,
            ":ready": "ready",
            ":deleting": "deleting",
            ":now": iso(self.clock()),
        }
        change = (
            "SET #base = :base, baseRevision = :rev, pages = :pages, lane = :lane, logStart = headSeq, "
            "#status = :ready, updatedAt = :now"
        )
        if pixel_changes_reason:
            values[":why"] = pixel_changes_reason
            change += ", pixelChangesReason = :why"
        else:
            change += " REMOVE pixelChangesReason"
        try:
            found = self.table.write(
                Write(
                    doc_key(doc),
                    "META",
                    update=change,
                    condition="sourceRevision = :rev AND (attribute_not_exists(baseRevision) OR baseRevision < :rev) "
                    "AND #status <> :deleting",
                    values=values,
                    names={"#status": "status", "#base": "base"},
                )
            )
        except Refused as refused:
            found = refused.item
            if found is None:
                raise StoreError(Code.NOT_FOUND, f"There is no document {doc}.") from refused
            if found["sourceRevision"] != revision:
                raise StoreError(Code.SUPERSEDED, f"Document {doc} has a newer source.") from refused
            if found.get("baseRevision") != revision or found["base"]["sha256"] != base.sha256:
                raise StoreError(Code.BASE_CONFLICT, f"Document {doc} has another base already.") from refused
        assert found is not None
        return Document.read(found)

    def set_outcome(self, doc: str, revision: int, outcome: str, code: str | None, reason: str | None) -> None:
        """What became of a source revision, for people to read. A newer revision's outcome is left alone."""
        names = {"#code": "code", "#reason": "reason"}
        values: Item = {":rev": revision, ":outcome": outcome, ":now": iso(self.clock())}
        change = "SET outcome = :outcome, updatedAt = :now"
        removed = []
        for name, value in (("code", code), ("reason", reason)):
            if value:
                change += f", #{name} = :{name}"
                values[f":{name}"] = value[:2000]
            else:
                removed.append(f"#{name}")
        if removed:
            change += " REMOVE " + ", ".join(removed)
        try:
            self.table.write(
                Write(
                    doc_key(doc),
                    "META",
                    update=change,
                    condition="sourceRevision = :rev",
                    values=values,
                    names=names,
                )
            )
        except Refused as refused:
            if refused.item is None:
                raise StoreError(Code.NOT_FOUND, f"There is no document {doc}.") from refused

    def owned(self, owner: str, after: str = "", limit: int | None = None) -> Iterator[str]:
        """Ids of an owner's documents in the order of the ids, those after `after`."""
        first = doc_key(after) + " " if after else doc_key("")
        for item in self.table.query(f"OWNER#{owner}", first, doc_key("~"), limit=limit):
            yield item["sk"].removeprefix("DOC#")

    def begin_delete(self, doc: str) -> float:
        """``deleting``: from now on nothing can be edited. Returns when that was first said (epoch seconds)."""
        try:
            item = self.table.write(
                Write(
                    doc_key(doc),
                    "META",
                    update="SET #status = :deleting, deletingAt = if_not_exists(deletingAt, :now)",
                    condition="attribute_exists(pk)",
                    values={":deleting": "deleting", ":now": self.clock()},
                    names={"#status": "status"},
                )
            )
        except Refused as refused:
            raise StoreError(Code.NOT_FOUND, f"There is no document {doc}.") from refused
        assert item is not None
        return float(item["deletingAt"])

    # The single-editor lease.

    def acquire_lease(self, doc: str, user: str, session: str) -> int:
        """Take the lease, or keep it (the heartbeat); returns when it ends, epoch ms. Raises LEASE_HELD.

        The condition: there is none, it has expired, or the same user and session hold it.
        """
        now = int(self.clock() * 1000)
        until = now + self.lease_seconds * 1000
        lease = {"holderUserId": user, "holderSessionId": session, "expiresAt": until}
        try:
            self.table.write(
                Write(
                    doc_key(doc),
                    "LEASE",
                    put=lease,
                    condition="attribute_not_exists(pk) OR expiresAt < :now "
                    "OR (holderUserId = :user AND holderSessionId = :session)",
                    values={":now": now, ":user": user, ":session": session},
                )
            )
        except Refused as refused:
            raise StoreError(Code.LEASE_HELD, "Somebody else is editing the document.", retryable=True) from refused
        return until

    def release_lease(self, doc: str, user: str, session: str) -> None:
        """Give the lease back; one that somebody else holds by now is left alone."""
        try:
            self.table.write(
                Write(
                    doc_key(doc),
                    "LEASE",
                    delete=True,
                    condition="attribute_not_exists(pk) OR (holderUserId = :user AND holderSessionId = :session)",
                    values={":user": user, ":session": session},
                )
            )
        except Refused:
            return

    def lease_check(self, doc: str, session: str) -> Write:
        """The part of a transaction that holds only while `session` has a lease that has not expired."""
        return Write(
            doc_key(doc),
            "LEASE",
            condition="holderSessionId = :session AND expiresAt >= :now",
            values={":session": session, ":now": int(self.clock() * 1000)},
        )
