"""Claims: the right to work on a row, and the fence that everything a worker does to it goes through.

Whoever works on a row holds a *claim*: a random token, with the generation and source revision it was taken for, and a
lease that is renewed. Success and failure go through the same fence: after a cancel, a lost lease or a newer upload, an
old run can change nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from resources.errors import Code, StoreError
from resources.offers import Offers
from resources.rows import (
    CANCELLED,
    DONE,
    FAILED,
    LONG,
    QUEUED,
    REMEDIATE,
    RUNNING,
    SETTLED,
    Claim,
    Row,
    Source,
    later,
    work_key,
)
from resources.table import Refused, Write
from resources.values import iso, new_token

log = logging.getLogger(__name__)

# What a row is belongs to this room's face: users of work need not know how it is divided.
__all__ = [
    "CANCELLED",
    "DONE",
    "FAILED",
    "LONG",
    "QUEUED",
    "REMEDIATE",
    "RUNNING",
    "SETTLED",
    "Claim",
    "Row",
    "Source",
    "Work",
    "later",
]


class Work(Offers):
    """The work table as the platform uses it: offering, taking, claiming, settling."""

    def claim(
        self, doc: str, kind: str, run_id: str, generation: int | None = None, also: Write | None = None
    ) -> Claim:
        """Claim a row for a run. The same run again has the same claim: each of its steps may ask.

        A row that was settled is worked on again in a new generation (a person rematerialized it). With `generation`,
        a run that was asked for an older one is SUPERSEDED. Raises NOT_FOUND, CLAIM_HELD, CANCELLED, SUPERSEDED,
        ATTEMPTS_EXHAUSTED, ATTEMPT_CAP, OWNER_REVOKED, OWNER_BUSY. The conditions: nothing has changed since it was
        looked at, and nobody else has a live claim; the owner's access is what it was, and has a place; and `also` (the
        provider that the work needs may be asked) holds, else COOLING_DOWN.
        """
        for _ in range(20):
            row = self.get(doc, kind)
            if row is None:
                raise StoreError(Code.NOT_FOUND, f"There is no work on document {doc}.")
            now = self.clock()
            if row.state == RUNNING and row.run_id == run_id and row.token is not None:
                return row.claim()
            if generation is not None and row.generation != generation:
                raise StoreError(
                    Code.SUPERSEDED, f"The work on document {doc} has moved on since this run was asked for."
                )
            if row.state == RUNNING and row.lease_expires_at >= now:
                raise StoreError(Code.CLAIM_HELD, f"Another run works on document {doc}.", retryable=True)
            again = row.state in SETTLED
            if row.state == CANCELLED:
                raise StoreError(Code.CANCELLED, f"The work on document {doc} was cancelled.")
            attempts = 0 if again else row.attempts
            # An attempt that got further than any before counts as the first of those that did not.
            barren = 1 if again else 1 + (1 if row.progress > row.high_water else row.barren)
            self._require_budget(row, attempts, barren)
            token = new_token()
            try:
                epoch = self.owners.epoch(row.owner)
            except StoreError as revoked:
                if not again:  # what has ended stays as it ended
                    self.give_up(row, revoked.code, revoked.message)
                raise
            place, taken = self.owners.take_place(row.owner, doc, kind, token, self._alive)
            try:
                item = self._change(
                    doc,
                    kind,
                    "SET #state = :running, #token = :token, runId = :run, attempts = :attempts, "
                    "generation = :generation, leaseExpiresAt = :until, dueQueue = :running, dueAt = :until, "
                    "epoch = :epoch, place = :place, barren = :barren, highWater = :reached, "
                    f"updatedAt = :now REMOVE code, reason{', spentUsd, guardAlertedAt' if again else ''}",
                    "#state = :before AND generation = :seen AND attempts = :tried "
                    "AND (attribute_not_exists(leaseExpiresAt) OR #state <> :running OR leaseExpiresAt < :now)",
                    {
                        ":running": RUNNING,
                        ":token": token,
                        ":run": run_id,
                        ":attempts": attempts + 1,
                        ":generation": row.generation + (1 if again else 0),
                        ":until": now + self.lease_seconds,
                        ":epoch": epoch,
                        ":place": place,
                        ":barren": barren,
                        ":reached": row.progress,
                        ":now": now,
                        ":before": row.state,
                        ":seen": row.generation,
                        ":tried": row.attempts,
                    },
                    (also, self.owners.allowed(row.owner, epoch), taken),
                )
            except Refused as refused:
                if refused.index == 1:
                    raise StoreError(
                        Code.COOLING_DOWN, f"What document {doc} needs was asked to rest.", retryable=True
                    ) from refused
                continue  # it moved on, perhaps by our own write whose answer was lost: look again
            return item.claim()
        raise StoreError(Code.CLAIM_HELD, f"The work on document {doc} is being fought over.", retryable=True)

    def _alive(self, doc: str, kind: str, token: str) -> bool:
        """Whether a row is claimed under this token. A lease that has ended never comes back."""
        row = self.get(doc, kind)
        return row is not None and row.state == RUNNING and row.token == token and row.lease_expires_at >= self.clock()

    def _require_budget(self, row: Row, attempts: int, barren: int) -> None:
        """Whether the row may be tried once more: on the long lane only attempts that get no further count.

        A row whose budget is spent fails for good, quoting its last error.
        """
        tried = row.barren if row.lane == LONG else attempts
        if (barren <= self.max_barren) if row.lane == LONG else (attempts < self.max_attempts):
            return
        code = Code.ATTEMPT_CAP if row.lane == LONG else Code.ATTEMPTS_EXHAUSTED
        further = " without getting any further" if row.lane == LONG else ""
        reason = f"It was tried {tried} times{further}. The last error: {row.reason or 'none was recorded'}"
        # What an attempt failed with tells a person more than that there were too many; a guard names itself.
        self.give_up(row, code if row.lane == LONG else row.code or code, reason)
        raise StoreError(code, f"Document {row.document}: {reason}")

    def give_up(self, row: Row, code: str, reason: str) -> Row | None:
        """A row fails for good without its worker, as it was seen; None where it has moved on.

        The condition: its state, generation, attempts and time of change are those that were seen.
        """
        try:
            return self._change(
                row.document,
                row.kind,
                "SET #state = :failed, code = :code, reason = :reason, updatedAt = :now "
                "REMOVE dueQueue, dueAt, #token, leaseExpiresAt",
                "generation = :seen AND attempts = :tried AND #state = :before AND updatedAt = :moved",
                {
                    ":failed": FAILED,
                    ":code": code,
                    ":reason": reason[:2000],
                    ":now": self.clock(),
                    ":seen": row.generation,
                    ":tried": row.attempts,
                    ":before": row.state,
                    ":moved": row.updated_at,
                },
            )
        except Refused:
            return None

    def done(self, claim: Claim) -> list[Write]:
        """The parts of a transaction that settle the row as done, while the claim holds and its owner has access."""
        update = "SET #state = :done, updatedAt = :at REMOVE dueQueue, dueAt, #token, leaseExpiresAt, code, reason"
        return self.fenced(claim, update, {":done": DONE, ":at": self.clock()})

    def fenced(self, claim: Claim, update: str | None = None, values: Mapping[str, Any] | None = None) -> list[Write]:
        """The parts of a transaction that hold while the claim does and its owner has access. Without `update` the row
        stays as it is."""
        condition, held, names = self._held(claim)
        key, name = work_key(claim.document), self.table.name
        row = Write(
            key,
            claim.kind,
            update=update,
            condition=condition,
            values={**held, **(values or {})},
            names=names,
            table=name,
        )
        return [row, replace(self.owners.allowed(claim.owner, claim.epoch), table=name)]

    def _held(self, claim: Claim) -> tuple[str, dict[str, Any], dict[str, str]]:
        """The fence: running, with this token, generation and revision, and a lease that has not ended."""
        return (
            "#state = :running AND #token = :token AND generation = :generation AND revision = :revision "
            "AND leaseExpiresAt >= :now",
            {
                ":running": RUNNING,
                ":token": claim.token,
                ":generation": claim.generation,
                ":revision": claim.revision,
                ":now": self.clock(),
            },
            {"#state": "state", "#token": "token"},
        )

    def check(self, claim: Claim) -> Row:
        """The row, while the claim still holds. Raises CANCELLED, SUPERSEDED, CLAIM_LOST, OWNER_REVOKED."""
        row = self.get(claim.document, claim.kind)
        if row is None or row.token != claim.token or row.state != RUNNING or row.lease_expires_at < self.clock():
            raise self.lost(claim, row)
        if self.owners.epoch(claim.owner) != claim.epoch:
            raise _revoked()
        return row

    def lost(self, claim: Claim, row: Row | None) -> StoreError:
        """Why a claim does not hold any more, by the row as it stands."""
        if row is not None and row.state == CANCELLED:
            return StoreError(Code.CANCELLED, f"The work on document {claim.document} was cancelled.")
        if row is not None and (row.generation != claim.generation or row.revision != claim.revision):
            return StoreError(Code.SUPERSEDED, f"Document {claim.document} has a newer upload or attempt.")
        return StoreError(Code.CLAIM_LOST, f"The claim on document {claim.document} was lost.")

    def _settle(self, claim: Claim, update: str, values: dict[str, Any], done: Callable[[Row], bool]) -> Row:
        condition, held, _ = self._held(claim)
        access = self.owners.allowed(claim.owner, claim.epoch)
        try:
            item = self._change(claim.document, claim.kind, update, condition, {**held, **values}, (access,))
        except Refused as refused:
            if refused.index == 1:
                raise _revoked() from refused
            row = Row.read(refused.item) if refused.item else None
            # The answer to our own write may have been lost.
            if row is not None and row.generation == claim.generation and row.run_id == claim.run_id and done(row):
                return row
            raise self.lost(claim, row) from refused
        self.owners.leave_place(claim.owner, claim.place, claim.token)
        return item

    def renew(self, claim: Claim) -> None:
        """The lease begins anew. Raises CANCELLED, SUPERSEDED, CLAIM_LOST."""
        condition, held, _ = self._held(claim)
        values = {**held, ":until": self.clock() + self.lease_seconds}
        try:
            self._change(claim.document, claim.kind, "SET leaseExpiresAt = :until, dueAt = :until", condition, values)
        except Refused as refused:
            raise self.lost(claim, Row.read(refused.item) if refused.item else None) from refused

    def reach(self, claim: Claim, progress: int, pages: int) -> None:
        """How far the work has got, as a number that only grows; of how many pages. Raises as `renew`.

        The conditions: the claim holds, and no attempt has got as far.
        """
        condition, held, _ = self._held(claim)
        try:
            self._change(
                claim.document,
                claim.kind,
                "SET progress = :progress, pages = :pages, updatedAt = :at",
                f"{condition} AND (attribute_not_exists(progress) OR progress < :progress)",
                {**held, ":progress": progress, ":pages": pages, ":at": self.clock()},
            )
        except Refused as refused:
            row = Row.read(refused.item) if refused.item else None
            if row is None or row.progress < progress or row.token != claim.token or row.state != RUNNING:
                raise self.lost(claim, row) from refused

    def spend(self, claim: Claim, usd: float) -> Write:
        """The part of a transaction that adds to what the document's revision has cost, over all attempts."""
        return Write(
            work_key(claim.document),
            claim.kind,
            update="ADD spentUsd :usd",
            condition="attribute_exists(pk) AND revision = :revision",
            values={":usd": usd, ":revision": claim.revision},
            table=self.table.name,
        )

    def succeed(self, claim: Claim) -> Row:
        """The work is done. Raises as `check`."""
        update = "SET #state = :done, updatedAt = :at REMOVE dueQueue, dueAt, #token, leaseExpiresAt, code, reason"
        return self._settle(claim, update, {":done": DONE, ":at": self.clock()}, lambda row: row.state == DONE)

    def fail(self, claim: Claim, code: str, reason: str, *, retryable: bool) -> Row:
        """The attempt failed: to be tried again later where that can help and the budget allows, else failed for good.

        Raises as `check`.
        """
        now = self.clock()
        values: dict[str, Any] = {":code": code, ":reason": reason[:2000], ":at": now}
        if retryable and (claim.lane == LONG or claim.attempt < self.max_attempts):
            wait = self.wait_after(claim.attempt)
            # A provider's rest is no attempt that got nowhere.
            rest = 1 if code == Code.COOLING_DOWN else 0
            values |= {":queued": QUEUED, ":due": now + wait, ":rest": rest}
            update = (
                "SET #state = :queued, dueQueue = :queued, dueAt = :due, code = :code, reason = :reason, "
                "updatedAt = :at, barren = barren - :rest REMOVE #token, leaseExpiresAt"
            )
            return self._settle(claim, update, values, lambda row: row.state == QUEUED and row.token is None)
        values |= {":failed": FAILED}
        update = (
            "SET #state = :failed, code = :code, reason = :reason, updatedAt = :at "
            "REMOVE dueQueue, dueAt, #token, leaseExpiresAt"
        )
        return self._settle(claim, update, values, lambda row: row.state == FAILED)

    def reroute(self, claim: Claim, lane: str, pages: int) -> Row:
        """The work goes to another lane, once, as a new attempt of a new generation. Raises ALREADY_REROUTED, and as
        `check`."""
        condition, held, _ = self._held(claim)
        access = self.owners.allowed(claim.owner, claim.epoch)
        try:
            made = self._to_lane(claim.document, claim.kind, lane, pages, condition, held, access)
        except Refused as refused:
            if refused.index == 1:
                raise _revoked() from refused
            row = Row.read(refused.item) if refused.item else None
            if row is not None and row.generation == claim.generation + 1 and row.lane == lane and row.rerouted_at:
                return row  # the answer to our own write was lost
            if row is not None and row.rerouted_at is not None and row.token == claim.token:
                raise StoreError(
                    Code.ALREADY_REROUTED, f"Document {claim.document} was rerouted once already."
                ) from refused
            raise self.lost(claim, row) from refused
        self.owners.leave_place(claim.owner, claim.place, claim.token)
        return made

    def reroute_stalled(self, row: Row, lane: str) -> Row | None:
        """A row that has stalled goes to another lane without its worker's help; None where it has moved on.

        The condition: its state, generation and time of change are those that were seen; it was not rerouted before.
        """
        seen = "#state = :before AND generation = :generation AND updatedAt = :moved"
        values = {":before": row.state, ":generation": row.generation, ":moved": row.updated_at}
        try:
            return self._to_lane(row.document, row.kind, lane, row.pages, seen, values, None)
        except Refused:
            return None

    def _to_lane(
        self, doc: str, kind: str, lane: str, pages: int, seen: str, values: dict[str, Any], access: Write | None
    ) -> Row:
        now = self.clock()
        return self._change(
            doc,
            kind,
            "SET #state = :queued, lane = :lane, reroutedAt = :at, generation = generation + :one, "
            "attempts = :none, barren = :none, highWater = if_not_exists(progress, :none), pages = :pages, "
            "dueQueue = :queued, dueAt = :moment, updatedAt = :moment REMOVE #token, leaseExpiresAt, code, reason",
            f"{seen} AND attribute_not_exists(reroutedAt)",
            {
                **values,
                ":queued": QUEUED,
                ":lane": lane,
                ":pages": pages,
                ":at": iso(now),
                ":moment": now,
                ":one": 1,
                ":none": 0,
            },
            (access,),
        )

    def cancel(self, doc: str, kind: str, owner: str) -> Row:
        """Stop the work: whatever runs for it can change nothing any more. Raises NOT_FOUND for another's."""
        try:
            item = self._change(
                doc,
                kind,
                "SET #state = :cancelled, updatedAt = :now REMOVE dueQueue, dueAt, #token, leaseExpiresAt",
                "#owner = :owner AND #state IN (:queued, :running)",
                {
                    ":cancelled": CANCELLED,
                    ":owner": owner,
                    ":queued": QUEUED,
                    ":running": RUNNING,
                    ":now": self.clock(),
                },
            )
        except Refused as refused:
            if refused.item is None or refused.item["owner"] != owner:
                raise StoreError(Code.NOT_FOUND, f"There is no work on document {doc}.") from refused
            return Row.read(refused.item)
        return item

    def run_ended(self, doc: str, kind: str, run_id: str, code: str, reason: str, *, retryable: bool) -> Row | None:
        """A run has ended without settling its row (it was killed, or never began): settle for it.

        None where the row is not that run's any more. A run that never claimed leaves the row queued; it is made due
        with one attempt counted, so that the next run has another run key.
        """
        row = self.get(doc, kind)
        if row is None or row.state in SETTLED:
            return None
        if row.state == RUNNING and row.run_id == run_id and row.token is not None:
            try:
                return self.fail(row.claim(), code, reason, retryable=retryable)
            except StoreError:
                return None
        return None

    @contextmanager
    def hold(self, claim: Claim) -> Iterator[Claim]:
        """Keep the claim alive in the background while the context lasts. Losing it is seen by the next fence."""
        stop = threading.Event()

        def renew() -> None:
            while not stop.wait(self.renew_seconds):
                try:
                    self.renew(claim)
                except StoreError:
                    return
                except (BotoCoreError, ClientError) as error:
                    # The next turn may reach the store again; the lease lasts for several.
                    log.warning("The claim on %s could not be renewed: %s", claim.document, error)

        thread = threading.Thread(target=renew, name=f"renew-{claim.document}", daemon=True)
        thread.start()
        try:
            yield claim
        finally:
            stop.set()
            thread.join()


def _revoked() -> StoreError:
    return StoreError(Code.OWNER_REVOKED, "The owner's access was revoked.")
