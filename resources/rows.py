"""A unit of work as it is stored: one row, who holds it, and the one way a row is changed.

Rows are in the work table: pk ``WORK#<document>``, sk the kind: ``remediate`` (a source revision on its way to
publication) or ``verify#<n>`` (an editor's saved version). A row goes ``queued → running → done | failed | cancelled``.
Rows that wait or run are in the index ``by_due``: ``dueQueue`` is their state, ``dueAt`` when somebody must look at
them (epoch seconds): a queued row to be run, a running one when its lease ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resources.owners import Owners
from resources.table import Item, Refused, Table, Write
from resources.values import Clock, new_token

REMEDIATE = "remediate"
QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
SETTLED = (DONE, FAILED, CANCELLED)
#: Each wait after a failure that a retry can help is so much longer than the one before, up to the fifth.
RETRY_FACTOR, RETRY_STEPS = 2.5, 5
#: Nothing that waits for another attempt waits longer.
LONGEST_WAIT_SECONDS = 24 * 3600.0
#: The lane of documents that are long or have stalled.
LONG = "long"


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
    """A unit of work as it stands.

    `epoch` and `place` are its claim's. `progress` is how far any attempt has got, `high_water` how far it had got when
    the last attempt began, `barren` how many attempts in a row got no further. `spent_usd` is over all attempts.
    `retaken` counts how often a scan has taken it again after it failed.
    """

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
    epoch: int = 0
    place: int = 0
    pages: int = 0
    progress: int = 0
    high_water: int = 0
    barren: int = 0
    spent_usd: float = 0.0
    retaken: int = 0
    staged: Item | None = None
    guard_alerted_at: float | None = None

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
            item.get("epoch", 0),
            item.get("place", 0),
            item.get("pages", 0),
            item.get("progress", 0),
            item.get("highWater", 0),
            item.get("barren", 0),
            float(item.get("spentUsd", 0)),
            item.get("retaken", 0),
            item.get("staged"),
            item.get("guardAlertedAt"),
        )

    @property
    def run_key(self) -> str:
        """What makes the run of this attempt one run, however often it is asked for."""
        return f"{self.document}:{self.kind}:r{self.revision}:g{self.generation}:a{self.attempts}"

    def claim(self) -> Claim:
        """The claim that the row stands for, or stood for: a row without a token gives one that never holds."""
        return Claim(
            self.document,
            self.kind,
            self.token or "",
            self.generation,
            self.revision,
            self.owner,
            self.lane,
            self.attempts,
            self.run_id or "",
            self.source,
            self.job_id,
            self.job_started,
            self.epoch,
            self.place,
        )


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
    epoch: int = 0
    place: int = 0


def later(one: str, other: str) -> bool:
    """Whether S3 sequencer `one` is after `other` of the same key: hexadecimal numbers of different lengths."""
    width = max(len(one), len(other))
    return one.rjust(width, "0").lower() > other.rjust(width, "0").lower()


def source_item(source: Source) -> Item:
    """An upload to be stored."""
    return {
        "key": source.key,
        "versionId": source.version_id,
        "size": source.size,
        "sequencer": source.sequencer,
    }


class Rows:
    """The rows of the work table, and the one way to change one."""

    def __init__(
        self,
        table: Table,
        clock: Clock,
        owners: Owners,
        *,
        lease_seconds: float = 600,
        max_attempts: int = 5,
        max_barren: int = 3,
        hold_seconds: float = 120,
        renew_seconds: float = 60,
        retry_seconds: float = 10,
    ) -> None:
        self.table = table
        self.clock = clock
        self.lease_seconds = lease_seconds
        self.owners = owners
        self.max_attempts = max_attempts
        self.max_barren = max_barren
        self.hold_seconds = hold_seconds
        self.renew_seconds = renew_seconds
        self.retry_seconds = retry_seconds

    def wait_after(self, attempt: int) -> float:
        """Seconds until the next attempt after this one (from 1) failed: 10, 25, 62.5, 156.25, 390.6, 390.6, …"""
        wait = self.retry_seconds * RETRY_FACTOR ** (min(attempt, RETRY_STEPS) - 1)
        return float(min(wait, LONGEST_WAIT_SECONDS))

    def get(self, doc: str, kind: str = REMEDIATE) -> Row | None:
        """A row as it stands; None where there is none."""
        item = self.table.get(work_key(doc), kind)
        return Row.read(item) if item else None

    def _change(
        self,
        doc: str,
        kind: str,
        update: str,
        condition: str,
        values: Mapping[str, Any],
        also: Sequence[Write | None] = (),
    ) -> Row:
        """Change a row while `condition` holds; returns it as it is then. Raises `Refused` with what stands there.

        Each of `also` must hold in the same moment (None stands for nothing): where one does not, `Refused.index` is
        its place from 1. Both expressions write ``#state``, ``#token``, ``#source`` and ``#owner``: those words are
        DynamoDB's own.
        """
        reserved = ("state", "token", "source", "owner")
        names = {f"#{word}": word for word in reserved if f"#{word}" in f"{update} {condition}"}
        write = Write(work_key(doc), kind, update=update, condition=condition, values=values, names=names)
        if not any(also):
            item = self.table.write(write)
        else:
            places = [place for place, one in enumerate(also, 1) if one is not None]
            try:
                self.table.transact([write, *(one for one in also if one is not None)], new_token())
            except Refused as refused:
                if refused.index:
                    refused.index = places[refused.index - 1]
                raise
            item = self.table.get(work_key(doc), kind)
        assert item is not None
        return Row.read(item)
