"""Staging: the results of a document's chunks, gathered under one claim, and made the document's own all at once.

pk ``STAGE#<document>``, sk ``<token>#<index>`` a chunk's result and ``<token>#HEAD`` how many there are: scratch, which
the table forgets. What a claim has staged counts only after its commit, which writes what it is into the work row:
until then, and when it fails, the complete one before stays in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resources.documents import ref_from, ref_item
from resources.errors import Code, StoreError
from resources.rows import Claim
from resources.table import Item, Refused, Table, Write
from resources.values import ObjectRef, new_token
from resources.work import Work

#: Staged rows are forgotten by the table itself after this long; the results they point at are not.
KEEP_SECONDS = 7 * 86400


@dataclass(frozen=True)
class Budget:
    """What one generation may stage. An item is a page's analysis."""

    chunks: int = 4096
    items: int = 50_000
    chunk_items: int = 250


@dataclass(frozen=True)
class Staged:
    """A chunk's result: pages [first, last), and the stored bytes. `facts` say what it was made of and by."""

    index: int
    first: int
    last: int
    stored: ObjectRef
    facts: Mapping[str, Any]

    @property
    def items(self) -> int:
        """What it counts for in the budget."""
        return self.last - self.first

    def same(self, other: Staged) -> bool:
        """Whether it is the same pages with the same bytes, wherever those are stored."""
        own, others = self.stored, other.stored
        return (self.index, self.first, self.last, own.sha256) == (other.index, other.first, other.last, others.sha256)


class Staging:
    """Staged results in the work table."""

    def __init__(self, work: Work, budget: Budget) -> None:
        self.work = work
        self.table: Table = work.table
        self.budget = budget

    def put(self, claim: Claim, chunk: Staged) -> int:
        """Stage a chunk; returns how many are staged. The same chunk again changes nothing.

        The conditions: there is no other at its index, the budget is kept, the claim holds.
        Raises STAGE_CONFLICT, OVER_BUDGET, and as `Work.check`.
        """
        if chunk.items > self.budget.chunk_items:
            raise self._over(f"{chunk.items} pages in a chunk", self.budget.chunk_items)
        forget = int(self.work.clock()) + KEEP_SECONDS
        place = Write(
            _key(claim.document),
            _chunk_key(claim.token, chunk.index),
            put={**_item(chunk), "expiresAtSeconds": forget},
            condition="attribute_not_exists(pk)",
        )
        count = Write(
            _key(claim.document),
            f"{claim.token}#HEAD",
            update="SET expiresAtSeconds = :forget ADD chunks :one, pages :items",
            condition="attribute_not_exists(pk) OR (chunks < :chunks AND pages <= :room)",
            values={
                ":forget": forget,
                ":one": 1,
                ":items": chunk.items,
                ":chunks": self.budget.chunks,
                ":room": self.budget.items - chunk.items,
            },
        )
        try:
            self.table.transact([place, count, *self.work.fenced(claim)], new_token())
        except Refused as refused:
            if refused.index == 1:
                raise self._over("chunks or pages", self.budget.chunks, self.budget.items) from refused
            if refused.index > 1:
                raise self._lost(claim) from refused
            assert refused.item is not None
            if not chunk.same(_read(refused.item)):
                raise StoreError(
                    Code.STAGE_CONFLICT,
                    f"Chunk {chunk.index} of document {claim.document} was staged with other bytes.",
                ) from refused
        return self._count(claim)

    def _lost(self, claim: Claim) -> StoreError:
        self.work.check(claim)
        return StoreError(Code.CLAIM_LOST, f"The claim on document {claim.document} was lost.", retryable=True)

    def _count(self, claim: Claim) -> int:
        head = self.table.get(_key(claim.document), f"{claim.token}#HEAD")
        return int(head["chunks"]) if head else 0

    def commit(self, claim: Claim, count: int, pages: int) -> list[Staged]:
        """Make what the claim has staged the document's complete result; returns it. Repeated, it changes nothing.

        It must be whole: `count` chunks without a gap over all pages. The conditions: the claim holds, its owner has
        access, and nothing was staged after it was read. Raises NOT_READY, and as `Work.check`.
        """
        chunks = self.of(claim)
        page = 0
        for index, chunk in enumerate(chunks):
            if (chunk.index, chunk.first) != (index, page):
                break
            page = chunk.last
        if len(chunks) != count or page != pages:
            raise StoreError(Code.NOT_READY, f"The chunks of document {claim.document} are not complete.")
        whole = Write(
            _key(claim.document),
            f"{claim.token}#HEAD",
            condition="chunks = :count",
            values={":count": count},
        )
        staged = {"revision": claim.revision, "chunks": count, "pages": pages, "sha256": digest(chunks)}
        point = self.work.fenced(claim, "SET staged = :staged", {":staged": staged})
        try:
            self.table.transact([whole, *point], new_token())
        except Refused as refused:
            if refused.index:
                raise self._lost(claim) from refused
            raise StoreError(Code.NOT_READY, f"The chunks of document {claim.document} changed.") from refused
        return chunks

    def require(self, claim: Claim, chunks: Sequence[Staged]) -> None:
        """Whether these are the document's complete result. Raises NOT_READY, and as `Work.check`."""
        staged = self.work.check(claim).staged
        if staged is None or (staged["revision"], staged["sha256"]) != (claim.revision, digest(chunks)):
            raise StoreError(
                Code.NOT_READY, f"The chunks of document {claim.document} are not the complete ones of this source."
            )

    def of(self, claim: Claim) -> list[Staged]:
        """What the claim has staged, in order."""
        items = self.table.query(_key(claim.document), f"{claim.token}#0", f"{claim.token}#9")
        return sorted((_read(item) for item in items), key=lambda chunk: chunk.index)

    def _over(self, what: str, *most: int) -> StoreError:
        numbers = " and ".join(str(number) for number in most)
        return StoreError(Code.OVER_BUDGET, f"The document is over its budget: {what}, of which {numbers} are allowed.")


def digest(chunks: Sequence[Staged]) -> str:
    """What makes two results the same: their pages and their bytes, in order (SHA-256)."""
    text = "\n".join(f"{one.index} {one.first} {one.last} {one.stored.sha256}" for one in chunks)
    return hashlib.sha256(text.encode()).hexdigest()


def _key(doc: str) -> str:
    return f"STAGE#{doc}"


def _chunk_key(token: str, index: int) -> str:
    return f"{token}#{index:06d}"


def _item(chunk: Staged) -> Item:
    return {
        "index": chunk.index,
        "first": chunk.first,
        "last": chunk.last,
        "stored": ref_item(chunk.stored),
        "facts": dict(chunk.facts),
    }


def _read(item: Item) -> Staged:
    stored = ref_from(item["stored"])
    assert stored is not None
    return Staged(item["index"], item["first"], item["last"], stored, item["facts"])
