"""Runaway guards: what stops work that would go on, or cost, without end. Each alerts once.

- *attempt cap*: on the long lane, attempts in a row that got no further than any before (`Work.claim`);
- *cost ceiling*: what a document may cost over all its attempts, asked before each band;
- *sweep*: work that has not moved for hours goes to the long lane, and from there fails; and whatever is longer on the
  long lane than its pages allow fails, however often it is delivered again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from resources.alerts import Alerts
from resources.errors import Code, StoreError
from resources.rows import LONG, QUEUED, REMEDIATE, RUNNING, Claim, Row, work_key
from resources.table import Refused, Write
from resources.work import Work

log = logging.getLogger(__name__)

#: The code that a guard ends work with → the guard's name in alerts.
NAMES = {
    Code.ATTEMPT_CAP: "attempt-cap",
    Code.COST_CEILING: "cost-ceiling",
    Code.REDELIVERY_LOOP: "redelivery-loop",
    Code.STALLED: "stalled",
}


@dataclass(frozen=True)
class Bounds:
    """The guards' numbers: minutes, US dollars."""

    stall_minutes: float = 240
    lane_minutes: float = 480
    lane_minutes_a_page: float = 3
    cost_usd: float = 5.0
    cost_usd_a_page: float = 1.0

    def cost_ceiling(self, pages: int) -> float:
        """What a document of so many pages may cost."""
        return max(self.cost_usd, pages * self.cost_usd_a_page)

    def lane_seconds(self, pages: int) -> float:
        """How long a document of so many pages may be on the long lane, from when it was put there."""
        return 60 * (self.lane_minutes + pages * self.lane_minutes_a_page)


@dataclass(frozen=True)
class Swept:
    """A row that the sweep has moved: as it was, and as it is."""

    before: Row
    after: Row


class Guards:
    """Watches over work."""

    def __init__(self, work: Work, alerts: Alerts, bounds: Bounds, *, long_lane: bool) -> None:
        self.work = work
        self.alerts = alerts
        self.bounds = bounds
        self.long_lane = long_lane

    def before_band(self, claim: Claim, pages: int) -> None:
        """Whether the next band of a document of `pages` may be paid for. Raises COST_CEILING, and as `Work.check`."""
        spent = self.work.check(claim).spent_usd
        most = self.bounds.cost_ceiling(pages)
        if spent >= most:
            raise StoreError(
                Code.COST_CEILING, f"The document has cost {spent:.2f} $ over all attempts; the most is {most:.2f} $."
            )

    def sweep(self) -> list[Swept]:
        """Reroute or fail what does not end; returns that. Who works on it can change nothing any more."""
        out = []
        waiting = [row for row in self.work.waiting() if row.lane == LONG]
        for row in [*self.work.running(), *waiting]:
            after = self._judge(row)
            if after is not None:
                out.append(Swept(row, after))
        return out

    def _judge(self, row: Row) -> Row | None:
        now = self.work.clock()
        if row.lane == LONG and row.state == QUEUED and row.barren > self.work.max_barren:
            return self.work.give_up(row, Code.ATTEMPT_CAP, f"It got no further in {row.barren} attempts.")
        if row.rerouted_at is not None:
            minutes = (now - datetime.fromisoformat(row.rerouted_at).timestamp()) / 60
            if minutes * 60 > self.bounds.lane_seconds(row.pages):
                reason = f"It is on the long lane for {minutes:.0f} minutes. The last error: {row.reason or 'none'}"
                return self.work.give_up(row, Code.REDELIVERY_LOOP, reason)
        if row.state != RUNNING or now - row.updated_at <= self.bounds.stall_minutes * 60:
            return None
        if self.long_lane and row.lane != LONG and row.rerouted_at is None and row.kind == REMEDIATE:
            return self.work.reroute_stalled(row, LONG)
        minutes = (now - row.updated_at) / 60
        return self.work.give_up(row, Code.STALLED, f"It did not move for {minutes:.0f} minutes.")

    def alert(self, doc: str, kind: str, code: str, reason: str) -> bool:
        """Tell an operator of a guard that has ended work; once a generation, whoever says it. True where it was now.

        The condition: nobody has told it yet (``guardAlertedAt``).
        """
        if code not in NAMES:
            return False
        try:
            self.work.table.write(
                Write(
                    work_key(doc),
                    kind,
                    update="SET guardAlertedAt = :now",
                    condition="code = :code AND attribute_not_exists(guardAlertedAt)",
                    values={":now": self.work.clock(), ":code": code},
                )
            )
        except Refused:
            return False
        log.error("%s: document %s: %s", NAMES[Code(code)], doc, reason)
        self.alerts.send(f"Guard {NAMES[Code(code)]}", f"Document {doc} was stopped. {reason}")
        return True
