"""Work into the queue and out of it: uploads written down once, rows taken fairly, nothing forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from resources.errors import Code, StoreError
from resources.rows import (
    CANCELLED,
    DONE,
    FAILED,
    QUEUED,
    REMEDIATE,
    RUNNING,
    Row,
    Rows,
    Source,
    later,
    source_item,
    work_key,
)
from resources.table import Item, Refused, Write
from resources.values import iso

#: Rows looked at when work is chosen.
LOOK_AT = 100


class Offers(Rows):
    """Offering work, and taking what is due."""

    def offer(
        self,
        doc: str,
        owner: str,
        source: Source,
        job_id: str,
        job_started: str,
        *,
        due_at: float,
        lane: str = "fast",
        over: Source | None = None,
    ) -> str:
        """An upload is to be worked on: ``new``, ``replaced``, ``duplicate`` or ``stale``. Durable when it returns.

        The condition: there is no row; or its source is another VersionId with an earlier sequencer, or the one that is
        known to be older (`over`). A newer upload is a new source revision and generation: what runs for the old one
        can change nothing any more.
        """
        now = self.clock()
        item: Item = {
            "document": doc,
            "state": QUEUED,
            "owner": owner,
            "generation": 1,
            "revision": 1,
            "source": source_item(source),
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
            older = over is not None and stands.source.version_id == over.version_id
            if not older and not later(source.sequencer, stands.source.sequencer):
                return "stale"
            try:
                self._change(
                    doc,
                    REMEDIATE,
                    "SET #state = :queued, #source = :source, generation = generation + :one, "
                    "revision = revision + :one, jobId = :job, jobStarted = :started, lane = :lane, "
                    "attempts = :none, dueQueue = :queued, dueAt = :due, updatedAt = :now "
                    "REMOVE #token, runId, leaseExpiresAt, reroutedAt, code, reason, progress, highWater, barren, "
                    "spentUsd, guardAlertedAt, retaken",
                    "#source.versionId = :before",
                    {
                        ":queued": QUEUED,
                        ":source": source_item(source),
                        ":one": 1,
                        ":job": job_id,
                        ":started": job_started,
                        ":lane": lane,
                        ":none": 0,
                        ":due": due_at,
                        ":now": now,
                        ":before": stands.source.version_id,
                    },
                )
                return "replaced"
            except Refused:
                continue

    def learn_sequencer(self, row: Row, sequencer: str) -> None:
        """An upload that a scan found has no place of its own among its key's events yet; its own event tells it.

        Without it a late event of an older upload would count as newer.
        """
        if row.source is None or not later(sequencer, row.source.sequencer):
            return
        try:
            self._change(
                row.document,
                row.kind,
                "SET #source.sequencer = :told",
                "#source.versionId = :version AND #source.sequencer = :known",
                {":told": sequencer, ":version": row.source.version_id, ":known": row.source.sequencer},
            )
        except Refused:
            return  # it has moved on, or knows it already

    def again(self, doc: str, owner: str, job_id: str, job_started: str) -> Row:
        """A person wants an upload's failed or cancelled work tried again: a new generation, due now.

        The condition: it is the owner's, and settled as failed or cancelled. Work that waits or runs is returned as it
        is. Raises NOT_FOUND for another's, NOT_READY for work that is done.
        """
        now = self.clock()
        try:
            return self._change(
                doc,
                REMEDIATE,
                "SET #state = :queued, generation = generation + :one, attempts = :none, barren = :none, "
                "highWater = if_not_exists(progress, :none), jobId = :job, jobStarted = :started, "
                "dueQueue = :queued, dueAt = :now, updatedAt = :now "
                "REMOVE #token, runId, leaseExpiresAt, code, reason, spentUsd, guardAlertedAt, retaken",
                "#owner = :owner AND #state IN (:failed, :cancelled)",
                {
                    ":queued": QUEUED,
                    ":one": 1,
                    ":none": 0,
                    ":job": job_id,
                    ":started": job_started,
                    ":now": now,
                    ":owner": owner,
                    ":failed": FAILED,
                    ":cancelled": CANCELLED,
                },
            )
        except Refused as refused:
            if refused.item is None or refused.item["owner"] != owner:
                raise StoreError(Code.NOT_FOUND, f"There is no work on document {doc}.") from refused
            row = Row.read(refused.item)
            if row.state == DONE:
                raise StoreError(Code.NOT_READY, f"The work on document {doc} is done.") from refused
            return row

    def take_again(self, row: Row, job_id: str, job_started: str, most: int) -> Row | None:
        """A scan takes failed or forgotten work again, `most` times: a new generation in a new run of its job, due now.

        None where it has moved on. The condition: state, generation and time of change are those that were seen, and it
        was not taken again too often.
        """
        now = self.clock()
        try:
            return self._change(
                row.document,
                row.kind,
                "SET #state = :queued, generation = generation + :one, attempts = :none, barren = :none, "
                "highWater = if_not_exists(progress, :none), retaken = if_not_exists(retaken, :none) + :one, "
                "jobId = :job, jobStarted = :started, dueQueue = :queued, dueAt = :now, updatedAt = :now "
                "REMOVE #token, runId, leaseExpiresAt, code, guardAlertedAt",
                "#state = :before AND generation = :seen AND updatedAt = :moved "
                "AND (attribute_not_exists(retaken) OR retaken < :most)",
                {
                    ":queued": QUEUED,
                    ":one": 1,
                    ":none": 0,
                    ":job": job_id,
                    ":started": job_started,
                    ":now": now,
                    ":before": row.state,
                    ":seen": row.generation,
                    ":moved": row.updated_at,
                    ":most": most,
                },
            )
        except Refused:
            return None

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

    def due(self, limit: int, busy: Callable[[], Mapping[str, int]] = dict) -> list[Row]:
        """Take rows whose time has come, fairly: owners with nothing running first, then by time.

        `busy` says how many runs there are for an owner, waiting or under way: an owner who has as many as may be
        active waits. A row that is taken is due again after `hold_seconds` unless it is claimed: a crash between this
        and the run only delays. Taking is conditional, so that two who look at once do not both take.
        """
        now = self.clock()
        values = {":queue": QUEUED, ":now": now}
        waiting = [
            Row.read(i) for i in self.table.index("by_due", "dueQueue = :queue AND dueAt <= :now", values, LOOK_AT)
        ]
        if not waiting:
            return []
        running, asked = Counter(row.owner for row in self.running()), busy()
        turns: Counter[str] = Counter()
        order = []
        for row in sorted(waiting, key=lambda row: (row.due_at, row.created_at, row.document)):
            active = max(running[row.owner], asked.get(row.owner, 0)) + turns[row.owner]
            if active >= self.owners.places:
                continue
            order.append((active, row.due_at, row.created_at, row.document, row))
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

    def asked(self, limit: int) -> list[Row]:
        """Rows that are due later: runs were asked for them (or they were postponed); the next to be due come first."""
        values = {":queue": QUEUED, ":now": self.clock()}
        return [Row.read(i) for i in self.table.index("by_due", "dueQueue = :queue AND dueAt > :now", values, limit)]

    def postpone(self, row: Row, due_at: float) -> bool:
        """A row that waits is due later (its folder is not quiet yet); False where it has moved on."""
        return self._reschedule(row, due_at) is not None

    def _reschedule(self, row: Row, due_at: float) -> Row | None:
        try:
            item = self._change(
                row.document,
                row.kind,
                "SET dueAt = :due",
                "#state = :queued AND generation = :generation AND dueAt = :before",
                {
                    ":due": due_at,
                    ":queued": QUEUED,
                    ":generation": row.generation,
                    ":before": row.due_at,
                },
            )
        except Refused:
            return None
        return item

    def never_began(self, row: Row, reason: str) -> Row | None:
        """The run that was asked for with this row's run key ended before it claimed: count the attempt."""
        now = self.clock()
        wait = self.wait_after(row.attempts + 1)
        try:
            item = self._change(
                row.document,
                row.kind,
                "SET attempts = :new, dueAt = :due, reason = :reason, updatedAt = :now",
                "#state = :queued AND generation = :generation AND attempts = :old",
                {
                    ":new": row.attempts + 1,
                    ":old": row.attempts,
                    ":due": now + wait,
                    ":reason": reason[:2000],
                    ":now": now,
                    ":queued": QUEUED,
                    ":generation": row.generation,
                },
            )
        except Refused:
            return None
        return item

    def recover(self) -> list[Row]:
        """Rows whose lease has ended are queued again, so that somebody looks at them; returns those."""
        now = self.clock()
        values = {":queue": RUNNING, ":now": now}
        out = []
        for item in self.table.index("by_due", "dueQueue = :queue AND dueAt < :now", values, LOOK_AT):
            row = Row.read(item)
            try:
                changed = self._change(
                    row.document,
                    row.kind,
                    "SET #state = :queued, dueQueue = :queued, dueAt = :now, reason = :why, "
                    "updatedAt = :now REMOVE #token, leaseExpiresAt",
                    "#state = :running AND #token = :token AND leaseExpiresAt < :now",
                    {
                        ":queued": QUEUED,
                        ":running": RUNNING,
                        ":token": row.token,
                        ":now": now,
                        ":why": "The worker's lease ended: it died, or was cut off.",
                    },
                )
            except Refused:
                continue
            out.append(changed)
        return out
