"""Owners as the work table knows them: whether what they sent in may be worked on, and how much of it at once.

pk ``OWNER#<owner>``, sk ``ACCESS``: the *authorization epoch*, which every revocation raises, so that what was claimed
before one can change nothing after it. sk ``PLACE#<n>``: one of the owner's places for claimed rows, with the row and
the token that holds it. A place is never given back by a timer: it is free when its row is not claimed under that token
any more, so a crash keeps none.
"""

from __future__ import annotations

from collections.abc import Callable

from resources.errors import Code, StoreError
from resources.table import Item, Refused, Table, Write
from resources.values import Clock

#: The answer to whether a place's holder (document, kind, token) still has its claim.
Alive = Callable[[str, str, str], bool]


class Owners:
    """Access and places of owners."""

    def __init__(self, table: Table, clock: Clock, places: int = 8) -> None:
        self.table = table
        self.clock = clock
        self.places = places

    def epoch(self, owner: str) -> int:
        """The owner's authorization epoch. Raises OWNER_REVOKED while access is revoked."""
        item = self.table.get(_key(owner), "ACCESS")
        if item is not None and item["revoked"]:
            raise StoreError(Code.OWNER_REVOKED, "The owner's access was revoked.")
        return int(item["epoch"]) if item else 0

    def revoke(self, owner: str) -> int:
        """What runs for the owner can change nothing from now on, and nothing more begins; returns the new epoch."""
        return self._turn(owner, revoked=True)

    def restore(self, owner: str) -> int:
        """The owner's work may be taken again. What was claimed before stays fenced; returns the new epoch."""
        return self._turn(owner, revoked=False)

    def _turn(self, owner: str, *, revoked: bool) -> int:
        made = self.table.write(
            Write(
                _key(owner),
                "ACCESS",
                update="SET revoked = :revoked, updatedAt = :now ADD epoch :one",
                values={":revoked": revoked, ":now": self.clock(), ":one": 1},
            )
        )
        assert made is not None
        return int(made["epoch"])

    def allowed(self, owner: str, epoch: int) -> Write:
        """The part of a transaction that holds while the owner's access is what it was in that epoch."""
        return Write(
            _key(owner),
            "ACCESS",
            condition="attribute_not_exists(pk) OR (epoch = :epoch AND revoked = :no)",
            values={":epoch": epoch, ":no": False},
        )

    def take_place(self, owner: str, doc: str, kind: str, token: str, alive: Alive) -> tuple[int, Write]:
        """A place that is free, and the part of a transaction that takes it. Raises OWNER_BUSY (a retry helps).

        The condition: nobody has taken it since it was looked at.
        """
        held = {item["sk"]: item for item in self.table.query(_key(owner), "PLACE#")}
        for place in range(self.places):
            item = held.get(_place(place))
            if item is None or not alive(item["document"], item["kind"], item["token"]):
                return place, self._take(owner, place, {"document": doc, "kind": kind, "token": token}, item)
        raise StoreError(Code.OWNER_BUSY, f"{self.places} documents of this owner are in work.", retryable=True)

    def _take(self, owner: str, place: int, holder: Item, before: Item | None) -> Write:
        return Write(
            _key(owner),
            _place(place),
            put=holder,
            condition="attribute_not_exists(pk) OR #token = :seen",
            values={":seen": before["token"] if before else ""},
            names={"#token": "token"},
        )

    def leave_place(self, owner: str, place: int, token: str) -> None:
        """A place is free again, so that nobody has to look for its holder. The condition: this token holds it."""
        write = Write(
            _key(owner),
            _place(place),
            delete=True,
            condition="#token = :token",
            values={":token": token},
            names={"#token": "token"},
        )
        try:
            self.table.write(write)
        except Refused:
            return  # it is another's by now, or gone


def _key(owner: str) -> str:
    return f"OWNER#{owner}"


def _place(place: int) -> str:
    return f"PLACE#{place}"
