"""The errors of everything that touches the store: a stable code, a sentence for a person, whether a retry can help."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Why the store refused. The codes are part of the product: they are stored, shown and documented."""

    # A caller asked for something that is not, or no longer, so.
    NOT_FOUND = "NOT_FOUND"
    NOT_READY = "NOT_READY"
    SEQ_CONFLICT = "SEQ_CONFLICT"
    LEASE_HELD = "LEASE_HELD"
    LEASE_LOST = "LEASE_LOST"
    VERSION_CONFLICT = "VERSION_CONFLICT"
    BASE_CONFLICT = "BASE_CONFLICT"
    UPLOAD_EXPIRED = "UPLOAD_EXPIRED"
    UPLOAD_INVALID = "UPLOAD_INVALID"
    BATCH_TOO_LARGE = "BATCH_TOO_LARGE"
    OP_INVALID = "OP_INVALID"
    # Stored bytes are not what was said of them.
    OBJECT_MISSING = "OBJECT_MISSING"
    OBJECT_CHANGED = "OBJECT_CHANGED"
    OBJECT_EXISTS = "OBJECT_EXISTS"
    # Fenced work.
    CLAIM_HELD = "CLAIM_HELD"
    CLAIM_LOST = "CLAIM_LOST"
    SUPERSEDED = "SUPERSEDED"
    CANCELLED = "CANCELLED"
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    ALREADY_REROUTED = "ALREADY_REROUTED"
    # An owner whose access was revoked, or who has enough in work.
    OWNER_REVOKED = "OWNER_REVOKED"
    OWNER_BUSY = "OWNER_BUSY"
    # Staged results.
    STAGE_CONFLICT = "STAGE_CONFLICT"
    OVER_BUDGET = "OVER_BUDGET"
    # Runaway guards.
    ATTEMPT_CAP = "ATTEMPT_CAP"
    COST_CEILING = "COST_CEILING"
    REDELIVERY_LOOP = "REDELIVERY_LOOP"
    STALLED = "STALLED"
    # A provider asked for a rest.
    COOLING_DOWN = "COOLING_DOWN"
    # Publication.
    NOT_VERIFIED = "NOT_VERIFIED"
    # Settings.
    NOT_CONFIGURED = "NOT_CONFIGURED"


class StoreError(Exception):
    """The store refused. ``retryable`` is true only where the same call may succeed later.

    `details` are facts that a caller goes on with (the log's head after a conflict).
    """

    def __init__(self, code: Code, message: str, *, retryable: bool = False, **details: int | str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
        self.details = details
