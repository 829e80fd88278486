"""Cooldowns: when a provider that said "slow down" may be asked again, for everyone who shares its quota.

pk ``PROVIDER#<group>``, sk ``COOLDOWN``, in the work table: ``eligibleAt`` (epoch seconds).
"""

from __future__ import annotations

from resources.errors import Code, StoreError
from resources.table import Refused, Table, Write
from resources.values import Clock

#: A cooldown is forgotten so long after its end.
KEEP_SECONDS = 7 * 86400


class Cooldowns:
    """Cooldowns by provider group. The group "" is nobody's: it never cools down."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self.table = table
        self.clock = clock

    def slow_down(self, group: str, seconds: float) -> float:
        """The provider asked for `seconds` of rest; returns the time it may be asked again.

        The condition: the end only moves on. Of two workers that are told different times the later one stands.
        """
        until = self.clock() + seconds
        write = Write(
            _key(group),
            "COOLDOWN",
            update="SET eligibleAt = :until, expiresAtSeconds = :forget",
            condition="attribute_not_exists(pk) OR eligibleAt < :until",
            values={":until": until, ":forget": int(until) + KEEP_SECONDS},
        )
        try:
            self.table.write(write)
        except Refused as refused:
            assert refused.item is not None
            return float(refused.item["eligibleAt"])
        return until

    def eligible_at(self, group: str) -> float:
        """When the provider may be asked again (epoch seconds); 0 where nothing holds it."""
        item = self.table.get(_key(group), "COOLDOWN") if group else None
        return float(item["eligibleAt"]) if item else 0.0

    def require(self, group: str) -> None:
        """Raises COOLING_DOWN (a retry helps) while the provider must be left alone."""
        wait = self.eligible_at(group) - self.clock()
        if wait > 0:
            raise StoreError(Code.COOLING_DOWN, f"{group} asked for a rest of {wait:.0f} s more.", retryable=True)

    def open(self, group: str) -> Write:
        """The part of a transaction that holds only while the provider may be asked."""
        return Write(
            _key(group),
            "COOLDOWN",
            condition="attribute_not_exists(pk) OR eligibleAt <= :now",
            values={":now": self.clock()},
        )


def _key(group: str) -> str:
    return f"PROVIDER#{group}"
