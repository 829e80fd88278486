"""The op log of a document: append-only, one item an op, the single truth about what was done to it.

An append is one transaction of three parts: the session holds the lease; META's headSeq is where the caller believes it
is; each op's place is free. Whatever is too large for DynamoDB is refused whole, or lies in the bucket under its hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resources.documents import Documents, doc_key
from resources.errors import Code, StoreError
from resources.objects import Objects
from resources.table import Item, Refused, Write
from resources.values import new_token

#: DynamoDB: 100 items and 4 MB a transaction, of which lease and META take two items; 400 KB an item.
MAX_OPS = 98
MAX_BATCH_BYTES = 3_900_000
#: An op whose JSON is larger lies in the bucket.
INLINE_BYTES = 350 * 1024
MAX_OP_BYTES = 5 << 20
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Appended:
    """Where the log is now. `duplicate`: the same batch was there already."""

    head_seq: int
    duplicate: bool = False


def canonical(record: Record) -> bytes:
    """The bytes a record is hashed and stored as."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def op_key(seq: int) -> str:
    """The sort key of an op."""
    return f"OP#{seq:012d}"


class Log:
    """Appends to and reads the logs of documents."""

    def __init__(self, documents: Documents, objects: Objects) -> None:
        self.documents = documents
        self.table = documents.table
        self.objects = objects

    def append(self, doc: str, base_seq: int, records: Sequence[Record], session: str) -> Appended:
        """Append one batch after `base_seq`. The same batch again answers `duplicate`.

        Raises StoreError: BATCH_TOO_LARGE, OP_INVALID (seq or baseHash is not what it must be), SEQ_CONFLICT,
        LEASE_LOST, NOT_READY, NOT_FOUND.
        """
        document = self.documents.get(doc)
        if document.base is None:
            raise StoreError(Code.NOT_READY, f"Document {doc} has no base yet.")
        if not records:
            raise StoreError(Code.OP_INVALID, "There is no op to append.")
        if len(records) > MAX_OPS:
            raise StoreError(Code.BATCH_TOO_LARGE, f"{len(records)} ops are more than {MAX_OPS} at a time.")
        for seq, record in enumerate(records, base_seq + 1):
            if record.get("seq") != seq:
                raise StoreError(Code.OP_INVALID, f"Op {record.get('seq')} stands at place {seq}.")
            if record.get("baseHash") != document.base.sha256:
                raise StoreError(Code.OP_INVALID, f"Op {seq} was made for another base.")
        payloads = [canonical(record) for record in records]
        items = [self._item(doc, record, data) for record, data in zip(records, payloads, strict=True)]
        size = sum(min(len(data), INLINE_BYTES) for data in payloads)
        if size > MAX_BATCH_BYTES:
            raise StoreError(Code.BATCH_TOO_LARGE, f"{size} bytes are more than {MAX_BATCH_BYTES} at a time.")
        units = sum(
            (len(data) if "s3Key" not in item else 512) // 1024 + 1 for data, item in zip(payloads, items, strict=True)
        )
        head = base_seq + len(records)
        writes = [
            self.documents.lease_check(doc, session),
            Write(
                doc_key(doc),
                "META",
                update="SET headSeq = :head ADD writeUnits :units",
                condition="headSeq = :base AND #status = :ready",
                values={":head": head, ":base": base_seq, ":ready": "ready", ":units": 2 * units + 2},
                names={"#status": "status"},
            ),
            *(Write(doc_key(doc), op_key(i["seq"]), put=i, condition="attribute_not_exists(pk)") for i in items),
        ]
        try:
            self.table.transact(writes, new_token())
        except Refused as refused:
            if self._holds(doc, items):
                return Appended(self.documents.get(doc).head_seq, duplicate=True)
            if refused.index == 0:
                raise StoreError(Code.LEASE_LOST, "The lease has expired, or somebody else has it.") from refused
            now = self.documents.get(doc)
            if now.status != "ready":
                raise StoreError(Code.NOT_READY, f"Document {doc} is {now.status}.") from refused
            message = f"The log is at {now.head_seq}, not at {base_seq}."
            raise StoreError(Code.SEQ_CONFLICT, message, headSeq=now.head_seq) from refused
        return Appended(head)

    def append_all(self, doc: str, base_seq: int, records: Sequence[Record], session: str, user: str) -> Appended:
        """Append a long log as consecutive batches under the caller's lease, which is renewed on the way.

        Repeated after a crash, the batches that are there already answer as duplicates.
        """
        head, duplicate = base_seq, True
        batch: list[Record] = []
        size = 0
        for record in [*records, None]:
            length = min(len(canonical(record)), INLINE_BYTES) if record is not None else 0
            if batch and (record is None or len(batch) == MAX_OPS or size + length > MAX_BATCH_BYTES // 2):
                self.documents.acquire_lease(doc, user, session)
                done = self.append(doc, head, batch, session)
                duplicate = duplicate and done.duplicate
                head += len(batch)
                batch, size = [], 0
            if record is not None:
                batch.append(record)
                size += length
        return Appended(head, duplicate)

    def read(self, doc: str, first: int, last: int) -> Iterator[Record]:
        """The records [first, last] in order, in bounded memory.

        Raises StoreError NOT_FOUND for a gap, OBJECT_CHANGED where a stored payload is not what its hash says.
        """
        wanted = first
        for item in self.table.query(doc_key(doc), op_key(first), op_key(last)):
            if item["seq"] != wanted:
                break
            data = (
                self.objects.read(item["s3Key"]) if "s3Key" in item else item["record"].encode("utf-8", "surrogatepass")
            )
            if hashlib.sha256(data).hexdigest() != item["sha256"]:
                raise StoreError(Code.OBJECT_CHANGED, f"Op {wanted} of {doc} is not what was appended.")
            yield json.loads(data)
            wanted += 1
        if wanted <= last:
            raise StoreError(Code.NOT_FOUND, f"Op {wanted} of {doc} is not there.")

    def _item(self, doc: str, record: Record, data: bytes) -> Item:
        digest = hashlib.sha256(data).hexdigest()
        item: Item = {"seq": record["seq"], "opId": record["opId"], "sha256": digest, "author": record["author"]}
        if len(data) <= INLINE_BYTES:
            return item | {"record": data.decode("utf-8", "surrogatepass")}
        if len(data) > MAX_OP_BYTES:
            message = f"Op {record['seq']} has {len(data)} bytes, the most is {MAX_OP_BYTES}."
            raise StoreError(Code.BATCH_TOO_LARGE, message)
        key = f"docs/{doc}/ops/{record['seq']:012d}-{record['opId']}-{digest[:16]}.json"
        self.objects.put_bytes(data, key, once=True, content_type="application/json")
        return item | {"s3Key": key}

    def _holds(self, doc: str, items: Sequence[Item]) -> bool:
        """Whether exactly these ops stand in the log."""
        found = self.table.query(doc_key(doc), op_key(items[0]["seq"]), op_key(items[-1]["seq"]))
        stands = {item["seq"]: (item["opId"], item["sha256"]) for item in found}
        return all(stands.get(item["seq"]) == (item["opId"], item["sha256"]) for item in items)
