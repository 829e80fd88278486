"""Fenced work: one row a unit, in the work table: pk ``WORK#<document>``, sk the kind.

Kinds are ``remediate`` (a source revision on its way to publication) and ``verify#<n>`` (an editor's saved version).
A row goes ``queued → running → done | failed | cancelled``. Whoever works on it holds a *claim*: a random token, with
the generation and source revision it was taken for, and a lease that is renewed. Success and failure go through the
same fence: after a cancel, a lost lease or a newer upload, an old run can change nothing.

Rows that wait or run are in the index ``by_due``: ``dueQueue`` is their state, ``dueAt`` when somebody must look at
them (epoch seconds): a queued row to be run, a running one when its lease ends.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from resources.errors import Code, StoreError
from resources.table import Item, Refused, Table, Write
from resources.values import Clock, iso, new_token

REMEDIATE = "remediate"
QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
SETTLED = (DONE, FAILED, CANCELLED)
#: Rows looked at when work is chosen.
LOOK_AT = 100
#: Waits before the attempts after a failure that a retry can help, seconds; then the last one.
RETRY_WAITS = (10.0, 25.0, 62.5, 156.25, 390.6)


def work_key(doc: str) -> str:
    """The partition of a document's work."""
    return f"WORK#{doc}"


@dataclass(frozen=True)
class Source:
    """The upload that a row is about. `sequencer` is S3's: longer, then greater, is later."""

    key: str
    version_id: str
    size: int
    sequencer: str = ""


@dataclass(frozen=True)
class Row:
    """A unit of work as it stands."""

    document: str
    kind: str
    state: str
    owner: str
    generation: int
    revision: int
    source: Source | None
    job_id: str
    job_started: str
    lane: str
    attempts: int
    due_at: float
    run_id: str | None
    token: str | None
    lease_expires_at: float
    rerouted_at: str | None
    code: str | None
    reason: str | None
    created_at: str
    updated_at: float

    @classmethod
    def read(cls, item: Item) -> Row:
        """From the stored item."""
        found = item.get("source")
        source = Source(found["key"], found["versionId"], found["size"], found["sequencer"]) if found else None
        return cls(
            item["document"],
            item["sk"],
            item["state"],
            item["owner"],
            item["generation"],
            item["revision"],
            source,
            item["jobId"],
            item["jobStarted"],
            item["lane"],
            item["attempts"],
            item.get("dueAt", 0),
            item.get("runId"),
            item.get("token"),
            item.get("leaseExpiresAt", 0),
            item.get("reroutedAt"),
            item.get("code"),
            item.get("reason"),
            item["createdAt"],
            item["updatedAt"],
        )

    @property
    def run_key(self) -> str:
        """What makes the run of this attempt one run, however often it is asked for."""
        return f"{self.document}:{self.kind}:r{self.revision}:g{self.generation}:a{self.attempts}"


@dataclass(frozen=True)
class Claim:
    """The right to work on a row, as long as the store agrees (`Work.check`)."""

    document: str
    kind: str
    token: str
    generation: int
    revision: int
    owner: str
    lane: str
    attempt: int
    run_id: str
    source: Source | None
    job_id: str
    job_started: str


def later(one: str, other: str) -> bool:
    """Whether S3 sequencer `one` is after `other` of the same key: hexadecimal numbers of different lengths."""
    width = max(len(one), len(other))
    return one.rjust(width, "0").lower() > other.rjust(width, "0").lower()


class Work:
    """The rows of the work table."""

    def __init__(
        self,
        table: Table,
        clock: Clock,
        *,
        lease_seconds: float = 600,
        max_attempts: int = 5,
        hold_seconds: float = 120,
        renew_seconds: float = 60,
    ) -> None:
        self.table = table
        self.clock = clock
        self.lease_seconds = lease_seconds
        self.max_attempts = max_attempts
        self.hold_seconds = hold_seconds
        self.renew_seconds = renew_seconds

    def get(self, doc: str, kind: str = REMEDIATE) -> Row | None:
        """A row as it stands; None where there is none."""
        item = self.table.get(work_key(doc), kind)
        return Row.read(item) if item else None

    # Into the queue.

    def offer(
        self, doc: str, owner: str, source: Source, job_id: str, job_started: str, *, due_at: float, lane: str = "fast"
    ) -> str:
        """An upload is to be worked on: ``new``, ``replaced``, ``duplicate`` or ``stale``. Durable when it returns.

        The condition: there is no row; or its source is another VersionId with an earlier sequencer. A newer upload
        is a new source revision and generation: what runs for the old one can change nothing any more.
        """
        now = self.clock()
        item: Item = {
            "document": doc,
            "state": QUEUED,
            "owner": owner,
            "generation": 1,
            "revision": 1,
            "source": _source_item(source),
            "jobId": job_id,
            "jobStarted": job_started,
            "lane": lane,
            "attempts": 0,
            "dueQueue": QUEUED,
            "dueAt": due_at,
            "createdAt": iso(now),
            "updatedAt": now,
        }
        while True:
            try:
                self.table.write(Write(work_key(doc), REMEDIATE, put=item, condition="attribute_not_exists(pk)"))
                return "new"
            except Refused as refused:
                assert refused.item is not None
                stands = Row.read(refused.item)
            assert stands.source is not None
            if stands.source.version_id == source.version_id:
                return "duplicate"
            if not later(source.sequencer, stands.source.sequencer):
                return "stale"
            try:
                self.table.write(
                    Write(
                        work_key(doc),
                        REMEDIATE,
                        update="SET #state = :queued, #source = :source, generation = generation + :one, "
                        "revision = revision + :one, jobId = :job, jobStarted = :started, lane = :lane, "
                        "attempts = :none, dueQueue = :queued, dueAt = :due, updatedAt = :now "
                        "REMOVE #token, runId, leaseExpiresAt, reroutedAt, code, reason",
                        # Raced by another event of the same key: look again which one is later.
                        condition="#source.versionId = :before",
                        values={
                            ":queued": QUEUED,
                            ":source": _source_item(source),
                            ":one": 1,
                            ":job": job_id,
                            ":started": job_started,
                            ":lane": lane,
                            ":none": 0,
                            ":due": due_at,
                            ":now": now,
                            ":before": stands.source.version_id,
                        },
                        names={"#state": "state", "#source": "source", "#token": "token"},
                    )
                )
                return "replaced"
            except Refused:
                continue

    def offer_verification(self, doc: str, version: int, owner: str, revision: int) -> str:
        """A saved version is to be verified: ``new``, or ``duplicate`` while a row for it waits or runs."""
        now = self.clock()
        item: Item = {
            "document": doc,
            "state": QUEUED,
            "owner": owner,
            "generation": 1,
            "revision": revision,
            "jobId": f"verify-{doc}-{version}",
            "jobStarted": iso(now),
            "lane": "fast",
            "attempts": 0,
            "dueQueue": QUEUED,
            "dueAt": now,
            "createdAt": iso(now),
            "updatedAt": now,
        }
        kind = f"verify#{version}"
        condition = "attribute_not_exists(pk) OR #state IN (:done, :failed, :cancelled)"
        names = {"#state": "state"}
        values = {":done": DONE, ":failed": FAILED, ":cancelled": CANCELLED}
        before = self.get(doc, kind)
        if before is not None:
            item["generation"] = before.generation + 1
        try:
            self.table.write(Write(work_key(doc), kind, put=item, condition=condition, values=values, names=names))
        except Refused:
            return "duplicate"
        return "new"

    # Out of the queue.

    def due(self, limit: int) -> list[Row]:
        """Take rows whose time has come, fairly: owners with nothing running first, then by time.

        A row that is taken is due again after `hold_seconds` unless it is claimed: a crash between this and the run
        only delays. Taking is conditional, so that two who look at once do not both take.
        """
        now = self.clock()
        values = {":queue": QUEUED, ":now": now}
        waiting = [
            Row.read(i) for i in self.table.index("by_due", "dueQueue = :queue AND dueAt <= :now", values, LOOK_AT)
        ]
        running = Counter(row.owner for row in self.running())
        turns: Counter[str] = Counter()
        order = []
        for row in sorted(waiting, key=lambda row: (row.due_at, row.created_at, row.document)):
            order.append(((running[row.owner] + turns[row.owner]), row.due_at, row.created_at, row.document, row))
            turns[row.owner] += 1
        out: list[Row] = []
        for *_, row in sorted(order, key=lambda entry: entry[:4]):
            if len(out) >= limit:
                break
            taken = self._reschedule(row, now + self.hold_seconds)
            if taken is not None:
                out.append(taken)
        return out

    def running(self) -> list[Row]:
        """Rows that are claimed, the lease that ends first before the others."""
        values = {":queue": RUNNING, ":now": 0}
        return [Row.read(i) for i in self.table.index("by_due", "dueQueue = :queue AND dueAt > :now", values, 1000)]

    def waiting(self, limit: int = 1000) -> list[Row]:
        """Rows that wait, due or not."""
        values = {":queue": QUEUED, ":now": 0}
        return [Row.read(i) for i in self.table.index("by_due", "dueQueue = :queue AND dueAt > :now", values, limit)]

    def postpone(self, row: Row, due_at: float) -> bool:
        """A row that waits is due later (its folder is not quiet yet); False where it has moved on."""
        return self._reschedule(row, due_at) is not None

    def _reschedule(self, row: Row, due_at: float) -> Row | None:
        try:
            item = self.table.write(
                Write(
                    work_key(row.document),
                    row.kind,
                    update="SET dueAt = :due",
                    condition="#state = :queued AND generation = :generation AND dueAt = :before",
                    values={
                        ":due": due_at,
                        ":queued": QUEUED,
                        ":generation": row.generation,
                        ":before": row.due_at,
                    },
                    names={"#state": "state"},
                )
            )
        except Refused:
            return None
        assert item is not None
        return Row.read(item)

    # Claims.

    def claim(self, doc: str, kind: str, run_id: str, generation: int | None = None) -> Claim:
        """Claim a row for a run. The same run again has the same claim: each of its steps may ask.

        A row that was settled is worked on again in a new generation (a person rematerialized it). With `generation`,
        a run that was asked for an older one is SUPERSEDED. Raises NOT_FOUND, CLAIM_HELD, CANCELLED, SUPERSEDED,
        ATTEMPTS_EXHAUSTED. The condition: nothing has changed since it was looked at, and nobody else has a live claim.
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
                item = self.table.write(
                    Write(
                        work_key(doc),
                        kind,
                        update="SET #state = :running, #token = :token, runId = :run, attempts = :attempts, "
                        "generation = :generation, leaseExpiresAt = :until, dueQueue = :running, dueAt = :until, "
                        "updatedAt = :now REMOVE code, reason",
                        condition="#state = :before AND generation = :seen AND attempts = :tried "
                        "AND (attribute_not_exists(leaseExpiresAt) OR #state <> :running OR leaseExpiresAt < :now)",
                        values={
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
                        names={"#state": "state", "#token": "token"},
                    )
                )
            except Refused:
                continue  # it moved on, perhaps by our own write whose answer was lost: look again
            assert item is not None
            return self._claim_of(Row.read(item))
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
            self.table.write(
                Write(
                    work_key(row.document),
                    row.kind,
                    update="SET #state = :failed, code = :code, reason = :reason, updatedAt = :now "
                    "REMOVE dueQueue, dueAt, #token, leaseExpiresAt",
                    condition="generation = :seen AND attempts = :tried AND #state = :before",
                    values={
                        ":failed": FAILED,
                        ":code": row.code or Code.ATTEMPTS_EXHAUSTED,
                        ":reason": reason[:2000],
                        ":now": self.clock(),
                        ":seen": row.generation,
                        ":tried": row.attempts,
                        ":before": row.state,
                    },
                    names={"#state": "state", "#token": "token"},
                )
            )
        except Refused:
            return

    def fence(self, claim: Claim) -> Write:
        """The part of a transaction that holds only while the claim does."""
        condition, values, names = self._held(claim)
        return Write(
            work_key(claim.document), claim.kind, condition=condition, values=values, names=names, table=self.table.name
        )

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
        condition, held, names = self._held(claim)
        try:
            item = self.table.write(
                Write(
                    work_key(claim.document),
                    claim.kind,
                    update=update,
                    condition=condition,
                    values={**held, **values},
                    names=names,
                )
            )
        except Refused as refused:
            row = Row.read(refused.item) if refused.item else None
            # The answer to our own write may have been lost.
            if row is not None and row.generation == claim.generation and row.run_id == claim.run_id and done(row):
                return row
            raise self._lost(claim, row) from refused
        assert item is not None
        return Row.read(item)

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
            wait = RETRY_WAITS[min(claim.attempt, len(RETRY_WAITS)) - 1]
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
        condition, held, names = self._held(claim)
        try:
            item = self.table.write(
                Write(
                    work_key(claim.document),
                    claim.kind,
                    update="SET #state = :queued, lane = :lane, reroutedAt = :at, generation = generation + :one, "
                    "attempts = :none, dueQueue = :queued, dueAt = :now, updatedAt = :now "
                    "REMOVE #token, leaseExpiresAt, code, reason",
                    condition=f"{condition} AND attribute_not_exists(reroutedAt)",
                    values={**held, ":queued": QUEUED, ":lane": lane, ":at": iso(now), ":one": 1, ":none": 0},
                    names=names,
                )
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
        assert item is not None
        return Row.read(item)

    def cancel(self, doc: str, kind: str, owner: str) -> Row:
        """Stop the work: whatever runs for it can change nothing any more. Raises NOT_FOUND for another's."""
        try:
            item = self.table.write(
                Write(
                    work_key(doc),
                    kind,
                    update="SET #state = :cancelled, updatedAt = :now REMOVE dueQueue, dueAt, #token, leaseExpiresAt",
                    condition="#owner = :owner AND #state IN (:queued, :running)",
                    values={
                        ":cancelled": CANCELLED,
                        ":owner": owner,
                        ":queued": QUEUED,
                        ":running": RUNNING,
                        ":now": self.clock(),
                    },
                    names={"#state": "state", "#token": "token", "#owner": "owner"},
                )
            )
        except Refused as refused:
            if refused.item is None or refused.item["owner"] != owner:
                raise StoreError(Code.NOT_FOUND, f"There is no work on document {doc}.") from refused
            return Row.read(refused.item)
        assert item is not None
        return Row.read(item)

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

    def never_began(self, row: Row, reason: str) -> Row | None:
        """The run that was asked for with this row's run key ended before it claimed: count the attempt."""
        now = self.clock()
        wait = RETRY_WAITS[min(row.attempts + 1, len(RETRY_WAITS)) - 1]
        try:
            item = self.table.write(
                Write(
                    work_key(row.document),
                    row.kind,
                    update="SET attempts = :new, dueAt = :due, reason = :reason, updatedAt = :now",
                    condition="#state = :queued AND generation = :generation AND attempts = :old",
                    values={
                        ":new": row.attempts + 1,
                        ":old": row.attempts,
                        ":due": now + wait,
                        ":reason": reason[:2000],
                        ":now": now,
                        ":queued": QUEUED,
                        ":generation": row.generation,
                    },
                    names={"#state": "state"},
                )
            )
        except Refused:
            return None
        assert item is not None
        return Row.read(item)

    def recover(self) -> list[Row]:
        """Rows whose lease has ended are queued again, so that somebody looks at them; returns those."""
        now = self.clock()
        values = {":queue": RUNNING, ":now": now}
        out = []
        for item in self.table.index("by_due", "dueQueue = :queue AND dueAt < :now", values, LOOK_AT):
            row = Row.read(item)
            try:
                changed = self.table.write(
                    Write(
                        work_key(row.document),
                        row.kind,
                        update="SET #state = :queued, dueQueue = :queued, dueAt = :now, reason = :why, "
                        "updatedAt = :now REMOVE #token, leaseExpiresAt",
                        condition="#state = :running AND #token = :token AND leaseExpiresAt < :now",
                        values={
                            ":queued": QUEUED,
                            ":running": RUNNING,
                            ":token": row.token,
                            ":now": now,
                            ":why": "The worker's lease ended: it died, or was cut off.",
                        },
                        names={"#state": "state", "#token": "token"},
                    )
                )
            except Refused:
                continue
            assert changed is not None
            out.append(Row.read(changed))
        return out

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

        thread = threading.Thread(target=renew, name=f"renew-{claim.document}", daemon=True)
        thread.start()
        try:
            yield claim
        finally:
            stop.set()
            thread.join()


def _source_item(source: Source) -> Item:
    return {
        "key": source.key,
        "versionId": source.version_id,
        "size": source.size,
        "sequencer": source.sequencer,
    }
