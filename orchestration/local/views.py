"""What the console knows of one document at one moment, and whether that is the end it should come to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CHECKS = ("replay", "qpdf", "pixelDiff", "ua1", "structure")
SETTLED = ("published", "refused", "needs_review", "failed", "cancelled")


@dataclass(frozen=True)
class DocumentView:
    """One document: what is known, None where it is not known yet. Sizes in bytes, ``seconds`` since its upload."""

    name: str
    document_id: str
    key: str
    status: str = "waiting"
    stage: str = "uploaded"
    pages: int | None = None
    lane: str | None = None
    seconds: float = 0.0
    code: str | None = None
    message: str | None = None
    size_before: int | None = None
    size_after: int | None = None
    checks: Mapping[str, str] = field(default_factory=dict)
    published_key: str | None = None
    report_key: str | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.status in SETTLED


@dataclass(frozen=True)
class Expectation:
    """How a sample must end: its status, and the code where it is refused."""

    status: str
    code: str | None = None
    lane: str | None = None


def read_expectations(folder: Path) -> dict[str, Expectation] | None:
    """``expected.json`` of a folder of samples, by file name; None where the folder has none (a person's own PDFs)."""
    try:
        text = (folder / "expected.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return {
        name: Expectation(value["status"], value.get("code"), value.get("lane"))
        for name, value in json.loads(text).items()
    }


def wrong(view: DocumentView, expected: Expectation | None) -> str | None:
    """Why a document did not end as it should, as a phrase; None where it did.

    Without an expectation a document is right when it has settled, however: a refusal with its code is an answer.
    ``failed`` is not: it means that the platform, not the file, was at fault.
    """
    if not view.settled:
        return f"has not settled (last seen: {view.stage})"
    if expected is None:
        return f"failed: {view.code or 'no code'}" if view.status == "failed" else None
    if view.status != expected.status:
        told = f" ({view.code}: {view.message})" if view.code else ""
        return f"should be {expected.status} and is {view.status}{told}"
    if expected.code and view.code != expected.code:
        return f"should be refused with {expected.code}, not {view.code}"
    if expected.lane and view.status == "published" and view.lane != expected.lane:
        return f"should take the {expected.lane} lane, not {view.lane}"
    return None


def mistakes(views: Sequence[DocumentView], expected: Mapping[str, Expectation] | None) -> list[str]:
    """A sentence for every document that did not end as it should."""
    found = []
    for view in views:
        phrase = wrong(view, expected.get(view.name) if expected is not None else None)
        if phrase:
            found.append(f"{view.name} {phrase}")
    return found
