"""Cost booking, exactly once: what a document's storing and verifying cost, whoever asks how often.

A booking is one transaction: what says that it is not booked yet, and the fact in the ledger. The fact's time is that
of what it is about, so a retry on another day books nothing new.
"""

from __future__ import annotations

from datetime import datetime

from resources.documents import Documents, doc_key
from resources.ledger import COST, Ledger, cost
from resources.rows import Row
from resources.table import Refused, Write
from resources.values import new_token
from resources.versions import SETTLED, Version, version_key


class Costs:
    """Books the costs of documents."""

    def __init__(self, documents: Documents, ledger: Ledger, hourly_usd: float) -> None:
        self.documents = documents
        self.table = documents.table
        self.ledger = ledger
        self.hourly_usd = hourly_usd

    def storage(self, doc: str, reason: str, at: float, puts: int = 1) -> bool:
        """Book what was stored since the last time: puts, KMS requests, and the write units the log has accrued.

        `reason` names the occasion (``v3``, ``delete``) and makes the fact one. The conditions: the fact is not there,
        and META still has the units that are taken from it. False where it was booked before.
        """
        while True:
            item = self.table.get(doc_key(doc), "META")
            if item is None:
                return False
            units = int(item.get("writeUnits", 0))
            fields = cost("storage", doc, item["ownerId"], s3_puts=puts, kms_requests=puts, write_units=units)
            take = Write(
                doc_key(doc),
                "META",
                update="SET writeUnits = writeUnits - :n",
                condition="writeUnits >= :n",
                values={":n": units},
            )
            try:
                self.table.transact([self.ledger.fact(COST, f"storage:{doc}:{reason}", at, fields), take], new_token())
                return True
            except Refused as refused:
                if refused.index == 0:
                    return False

    def verify(self, version: Version, owner: str) -> bool:
        """Book a finished verification: its duration always, dollars where an hour has a price.

        The condition: nobody has claimed it for this version (``verifyCostBooked``).
        """
        if version.status not in SETTLED or version.verification is None or version.verify_booked:
            return False
        doc, seconds = version.document, float(version.verification.get("seconds", 0.0))
        fields = cost(
            "verify",
            doc,
            owner,
            version=version.number,
            pages=int(version.verification.get("pages", 0)),
            seconds=round(seconds, 3),
            usd=round(seconds / 3600 * self.hourly_usd, 8),
        )
        fact = f"verify:{doc}:v{version.number}:{version.verified_at}"
        claim = Write(
            doc_key(doc),
            version_key(version.number),
            update="SET verifyCostBooked = :yes",
            condition="attribute_not_exists(verifyCostBooked) AND verifiedAt = :at",
            values={":yes": True, ":at": version.verified_at},
        )
        try:
            self.table.transact(
                [self.ledger.fact(COST, fact, seconds_of(version.verified_at), fields), claim], new_token()
            )
        except Refused:
            return False
        return True

    def refund(self, row: Row) -> bool:
        """Give back what work has cost that was stopped by no fault of its document; once a generation.

        The condition: the fact is not booked. False where there is nothing, or it was booked before.
        """
        if row.spent_usd <= 0:
            return False
        fact = f"refund:{row.document}:{row.kind}:g{row.generation}"
        fields = cost("refund", row.document, row.owner, job_id=row.job_id, pages=row.pages, usd=-row.spent_usd)
        return self.ledger.record(COST, fact, row.updated_at, fields)


def seconds_of(iso: str | None) -> float:
    """A stored time as epoch seconds."""
    assert iso is not None
    return datetime.fromisoformat(iso).timestamp()
