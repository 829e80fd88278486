"""Whether a file says that it is a PDF, by its first bytes alone."""

from __future__ import annotations

#: A PDF says so at its beginning (ISO 32000-1, 7.5.2); some readers accept up to 1024 bytes before it.
WITHIN_BYTES = 1024
#: How much of a file is looked at: some producers write more than readers accept, and their files can be repaired.
HEAD_BYTES = 4 * WITHIN_BYTES


def problem(head: bytes) -> str:
    """Why a file that begins so is no PDF, as a sentence; empty where it may be one. `head`: its first `HEAD_BYTES`."""
    if not head:
        return "The file is empty."
    if b"%PDF-" in head or b"%!PS-Adobe" in head[:WITHIN_BYTES]:
        return ""
    kind = _kind(head)
    return f"The file is no PDF{f', but {kind}' if kind else ''}."


def _kind(head: bytes) -> str:
    start = head.lstrip()[:64].lower()
    if head.startswith(b"PK\x03\x04"):
        return "a ZIP archive or an office document"
    if start.startswith((b"<!doctype html", b"<html")):
        return "a web page"
    if head.startswith((b"\xff\xd8", b"\x89PNG", b"GIF8")):
        return "a picture"
    return ""
