"""The errors of everything that touches a PDF: a stable code, a sentence for a person, and whether a retry can help."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """Why a document could not go on. The codes are part of the product: they are stored, shown and documented."""

    # The file itself.
    NOT_A_PDF = "NOT_A_PDF"
    SOURCE_DAMAGED = "SOURCE_DAMAGED"
    ENCRYPTED = "ENCRYPTED"
    NO_PAGES = "NO_PAGES"
    PORTFOLIO = "PORTFOLIO"
    DYNAMIC_XFA = "DYNAMIC_XFA"
    NEEDS_OCR = "NEEDS_OCR"
    SIGNED = "SIGNED"
    TOO_LARGE = "TOO_LARGE"  # in bytes
    DOCUMENT_TOO_LARGE = "DOCUMENT_TOO_LARGE"  # in pages
    # What a step did to it.
    PAGE_COUNT_CHANGED = "PAGE_COUNT_CHANGED"
    FEATURE_LOST = "FEATURE_LOST"
    TEXT_CHANGED = "TEXT_CHANGED"
    # The op log and its replay.
    UNKNOWN_OP = "UNKNOWN_OP"
    OP_REFUSED = "OP_REFUSED"
    WRONG_BASE = "WRONG_BASE"
    SEQ_GAP = "SEQ_GAP"
    DRIFT = "DRIFT"
    # The tools and the machine.
    TOOL_MISSING = "TOOL_MISSING"
    TOOL_FAILED = "TOOL_FAILED"
    TOOL_TIMEOUT = "TOOL_TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    CHILD_KILLED = "CHILD_KILLED"
    DISK_FULL = "DISK_FULL"


class PdfError(Exception):
    """A PDF could not be read, changed or judged. ``retryable`` is true only where the same call may succeed later."""

    def __init__(self, code: Code, message: str, *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
