"""Claims: the right to work on a row, and the fence that everything a worker does to it goes through.

Whoever works on a row holds a *claim*: a random token, with the generation and source revision it was taken for, and a
lease that is renewed. Success and failure go through the same fence: after a cancel, a lost lease or a newer upload, an
old run can change nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from resources.errors import Code, StoreError
from resources.offers import Offers
from resources.rows import (
    CANCELLED,
    DONE,
    FAILED,
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
        ATTEMPTS_EXHAUSTED. The condition: nothing has changed since it was looked at, and nobody else has a live claim;
        and `also` (the provider that the work needs may be asked) holds, else COOLING_DOWN.
        """
        for _ in range(20):
            row = self.get(doc, kind)
            if row is None:
                raise StoreError(Code.NOT_FOUND, f"There is no work on document {doc}.")
            now = self.clock()
            if row.state == RUNNING and row.run_id == run_id and row.token is not None:
                return self._claim_of(row)
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
            if attempts >= self.max_attempts:
                self._exhaust(row)
                raise StoreError(Code.ATTEMPTS_EXHAUSTED, f"Document {doc} was tried {attempts} times.")
            try:
                item = self._change(
                    doc,
                    kind,
                    "SET #state = :running, #token = :token, runId = :run, attempts = :attempts, "
                    "generation = :generation, leaseExpiresAt = :until, dueQueue = :running, dueAt = :until, "
                    "updatedAt = :now REMOVE code, reason",
                    "#state = :before AND generation = :seen AND attempts = :tried "
                    "AND (attribute_not_exists(leaseExpiresAt) OR #state <> :running OR leaseExpiresAt < :now)",
                    {
                        ":running": RUNNING,
                        ":token": new_token(),
                        ":run": run_id,
                        ":attempts": attempts + 1,
                        ":generation": row.generation + (1 if again else 0),
                        ":until": now + self.lease_seconds,
                        ":now": now,
                        ":before": row.state,
                        ":seen": row.generation,
                        ":tried": row.attempts,
                    },
                    also,
                )
            except Refused as refused:
                if refused.index == 1:
                    raise StoreError(
                        Code.COOLING_DOWN, f"What document {doc} needs was asked to rest.", retryable=True
                    ) from refused
                continue  # it moved on, perhaps by our own write whose answer was lost: look again
            return self._claim_of(item)
        raise StoreError(Code.CLAIM_HELD, f"The work on document {doc} is being fought over.", retryable=True)

    def _claim_of(self, row: Row) -> Claim:
        assert row.token is not None and row.run_id is not None
        return Claim(
            row.document,
            row.kind,
            row.token,
            row.generation,
            row.revision,
            row.owner,
            row.lane,
            row.attempts,
            row.run_id,
            row.source,
            row.job_id,
            row.job_started,
        )

    def _exhaust(self, row: Row) -> None:
        reason = f"It was tried {row.attempts} times. The last error: {row.reason or 'none was recorded'}"
        try:
            self._change(
                row.document,
                row.kind,
                "SET #state = :failed, code = :code, reason = :reason, updatedAt = :now "
                "REMOVE dueQueue, dueAt, #token, leaseExpiresAt",
                "generation = :seen AND attempts = :tried AND #state = :before",
                {
                    ":failed": FAILED,
                    ":code": row.code or Code.ATTEMPTS_EXHAUSTED,
                    ":reason": reason[:2000],
                    ":now": self.clock(),
                    ":seen": row.generation,
                    ":tried": row.attempts,
                    ":before": row.state,
                },
            )
        except Refused:
            return

    def done(self, claim: Claim) -> Write:
        """The part of a transaction that settles the row as done, while the claim holds."""
        condition, values, names = self._held(claim)
        return Write(
            work_key(claim.document),
            claim.kind,
            update="SET #state = :done, updatedAt = :at REMOVE dueQueue, dueAt, #token, leaseExpiresAt, code, reason",
            condition=condition,
            values={**values, ":done": DONE, ":at": self.clock()},
            names=names,
            table=self.table.name,
        )

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

    def check(self, claim: Claim) -> None:
        """Whether the claim still holds. Raises CANCELLED, SUPERSEDED, CLAIM_LOST."""
        row = self.get(claim.document, claim.kind)
        if row is None or row.token != claim.token or row.state != RUNNING or row.lease_expires_at < self.clock():
            raise self._lost(claim, row)

    def _lost(self, claim: Claim, row: Row | None) -> StoreError:
        if row is not None and row.state == CANCELLED:
            return StoreError(Code.CANCELLED, f"The work on document {claim.document} was cancelled.")
        if row is not None and (row.generation != claim.generation or row.revision != claim.revision):
            return StoreError(Code.SUPERSEDED, f"Document {claim.document} has a newer upload or attempt.")
        return StoreError(Code.CLAIM_LOST, f"The claim on document {claim.document} was lost.")

    def _settle(self, claim: Claim, update: str, values: dict[str, Any], done: Callable[[Row], bool]) -> Row:
        condition, held, _ = self._held(claim)
        try:
            item = self._change(claim.document, claim.kind, update, condition, {**held, **values})
        except Refused as refused:
            row = Row.read(refused.item) if refused.item else None
            # The answer to our own write may have been lost.
            if row is not None and row.generation == claim.generation and row.run_id == claim.run_id and done(row):
                return row
            raise self._lost(claim, row) from refused
        return item

    def renew(self, claim: Claim) -> None:
        """The lease begins anew. Raises as `check`."""
        until = self.clock() + self.lease_seconds
        self._settle(claim, "SET leaseExpiresAt = :until, dueAt = :until", {":until": until}, lambda row: False)

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
        if retryable and claim.attempt < self.max_attempts:
            wait = self.wait_after(claim.attempt)
            values |= {":queued": QUEUED, ":due": now + wait}
            update = (
                "SET #state = :queued, dueQueue = :queued, dueAt = :due, code = :code, reason = :reason, "
                "updatedAt = :at REMOVE #token, leaseExpiresAt"
            )
            return self._settle(claim, update, values, lambda row: row.state == QUEUED and row.token is None)
        values |= {":failed": FAILED}
        update = (
            "SET #state = :failed, code = :code, reason = :reason, updatedAt = :at "
            "REMOVE dueQueue, dueAt, #token, leaseExpiresAt"
        )
        return self._settle(claim, update, values, lambda row: row.state == FAILED)

    def reroute(self, claim: Claim, lane: str) -> Row:
        """The work goes to another lane, once, as a new attempt of a new generation. Raises ALREADY_REROUTED."""
        now = self.clock()
        condition, held, _ = self._held(claim)
        try:
            item = self._change(
                claim.document,
                claim.kind,
                "SET #state = :queued, lane = :lane, reroutedAt = :at, generation = generation + :one, "
                "attempts = :none, dueQueue = :queued, dueAt = :now, updatedAt = :now "
                "REMOVE #token, leaseExpiresAt, code, reason",
                f"{condition} AND attribute_not_exists(reroutedAt)",
                {**held, ":queued": QUEUED, ":lane": lane, ":at": iso(now), ":one": 1, ":none": 0},
            )
        except Refused as refused:
            row = Row.read(refused.item) if refused.item else None
            if row is not None and row.generation == claim.generation + 1 and row.lane == lane and row.rerouted_at:
                return row  # the answer to our own write was lost
            if row is not None and row.rerouted_at is not None and row.token == claim.token:
                raise StoreError(
                    Code.ALREADY_REROUTED, f"Document {claim.document} was rerouted once already."
                ) from refused
            raise self._lost(claim, row) from refused
        return item

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
                return self.fail(self._claim_of(row), code, reason, retryable=retryable)
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
