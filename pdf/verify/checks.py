"""The oracles as values: what each may say, and the verdict that follows. A missing oracle is never a pass."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import pikepdf

from pdf.errors import Code, PdfError
from pdf.tagging.replay import digest, replay
from pdf.tools import qpdf

REPLAY, QPDF, PIXELS, UA1 = "replay", "qpdf", "pixelDiff", "ua1"
ORACLES = (REPLAY, QPDF, PIXELS, UA1)
#: Failures of a replay that say something of the log; the others say that the replay itself could not be done.
_OF_THE_LOG = (Code.UNKNOWN_OP, Code.OP_REFUSED, Code.WRONG_BASE, Code.SEQ_GAP, Code.DRIFT)


class Result(StrEnum):
    """What a check came to. `waived`: it differs, and the version declared why."""

    PASS = "pass"
    FAIL = "fail"
    COULD_NOT_VERIFY = "could_not_verify"
    WAIVED = "waived"


@dataclass(frozen=True)
class Check:
    """One oracle's answer: a `reason` in a sentence, figures in `detail`, and the `tool` with its version."""

    name: str
    result: Result
    reason: str
    tool: str
    detail: dict[str, Any] = field(default_factory=dict)


def verdict(checks: Iterable[Check]) -> str:
    """``passed``, ``failed`` or ``could_not_verify``.

    Failed if replay, qpdf or the pixels failed; else undecided if any oracle could not answer, or was not asked; else
    passed. Whether the file is PDF/UA-1 is told beside it and does not decide over its integrity.
    """
    found = {check.name: check.result for check in checks}
    if Result.FAIL in (found.get(REPLAY), found.get(QPDF), found.get(PIXELS)):
        return "failed"
    if any(found.get(name) in (None, Result.COULD_NOT_VERIFY) for name in ORACLES):
        return "could_not_verify"
    return "passed"


def check_replay(base: Path, ops: Path, version: Path, expected_sha256: str | None = None, first_seq: int = 1) -> Check:
    """Replay the log over the base and compare with the version's bytes, and those with the hash committed for them."""
    tool = f"replay 1, pikepdf {package_version('pikepdf')}, libqpdf {pikepdf.__libqpdf_version__}"
    stored = digest(version)
    if expected_sha256 is not None and stored != expected_sha256:
        return Check(
            REPLAY, Result.FAIL, "The stored bytes are not those that were committed.", tool, {"sha256": stored}
        )
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = replay(base, ops, Path(folder) / "replay.pdf", first_seq)
        except PdfError as error:
            result = Result.FAIL if error.code in _OF_THE_LOG else Result.COULD_NOT_VERIFY
            return Check(REPLAY, result, error.message, tool, {"code": str(error.code)})
    if made.sha256 != stored:
        reason = "Base and log give other bytes than these."
        return Check(REPLAY, Result.FAIL, reason, tool, {"sha256": stored, "replayed": made.sha256})
    return Check(
        REPLAY, Result.PASS, "Base and log give exactly these bytes.", tool, {"sha256": stored, "ops": made.ops}
    )


def check_qpdf(version: Path) -> Check:
    """`qpdf --check`: exit code 0, or 3 for warnings, passes; 2 fails; anything else is no answer."""
    tool = f"libqpdf {qpdf.version()}"
    found = qpdf.check(version)
    if found.errors:
        said = " ".join(found.messages)
        return Check(QPDF, Result.FAIL, f"The file is damaged. {said}".strip()[:500], tool)
    with pikepdf.open(version) as pdf:
        detail = {"pages": len(pdf.pages)}
    return Check(QPDF, Result.PASS, "No errors." if found.ok else "No errors; there are warnings.", tool, detail)


def undecided(name: str, reason: str, tool: str = "") -> Check:
    """A check that could not be made."""
    return Check(name, Result.COULD_NOT_VERIFY, reason, tool)
