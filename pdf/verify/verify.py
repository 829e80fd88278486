"""Verify a version: every oracle in a child process of its own, our structure checks, the verdict.

Whatever happens to a child (killed, out of memory, too slow) is an answer: *could not verify*, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pdf.errors import PdfError
from pdf.sandbox import Limits, Sandbox
from pdf.tagging.replay import digest
from pdf.tools.verapdf import FailedRule, Vera, VeraFailed
from pdf.verify import checks, pixels, structure
from pdf.verify.checks import Check, Result, undecided, verdict
from pdf.verify.structure import Finding, StructureReport

#: Time veraPDF gets: so much, and so much a page. A file that needs more is no ordinary one.
UA1_SECONDS, UA1_SECONDS_A_PAGE = 20.0, 1.0


@dataclass(frozen=True)
class Verification:
    """All that is known of a version: `sha256` are the bytes it is about. `structure` is None where it could not be
    looked at; that is an error of the structure, not of the integrity that `verdict` tells."""

    sha256: str
    size: int
    pages: int
    verdict: str
    ua1_compliant: bool | None
    failed_rules: tuple[FailedRule, ...]
    checks: tuple[Check, ...]
    structure: StructureReport | None
    structure_problem: str | None
    seconds: float
    peak_memory_mb: float

    def check(self, name: str) -> Check:
        """One oracle's answer."""
        return next(check for check in self.checks if check.name == name)

    def shortcomings(self) -> list[str]:
        """Why it is not compliant, in sentences: what stands in the way of the policy ``compliant``."""
        out = []
        if self.verdict != "passed":
            out += [f"{c.name}: {c.reason}" for c in self.checks if c.result in (Result.FAIL, Result.COULD_NOT_VERIFY)]
        if self.ua1_compliant is False:
            rules = ", ".join(rule.name for rule in self.failed_rules[:12])
            out.append(f"It is not PDF/UA-1: {len(self.failed_rules)} rules fail ({rules}).")
        if self.structure is None:
            out.append(f"The structure could not be checked: {self.structure_problem}")
        else:
            out += [f"{finding.rule}: {finding.message}" for finding in self.structure.errors]
        return out


VERIFICATION: TypeAdapter[Verification] = TypeAdapter(Verification)


def verify(
    base: Path,
    ops: Path,
    version: Path,
    *,
    sandbox: Sandbox,
    vera: Vera,
    expected_sha256: str | None = None,
    first_seq: int = 1,
    pixel_changes_reason: str | None = None,
    limits: Limits | None = None,
) -> Verification:
    """Verify `version` against its base and log (JSON Lines). Raises nothing for what a file does."""
    began = time.monotonic()
    limits = limits or sandbox.limits
    peak = 0.0

    def ask(name: str, function: Callable[..., Check], *arguments: Any) -> Check:
        nonlocal peak
        try:
            outcome = sandbox.call(function, *arguments, limits=limits)
        except PdfError as error:
            return undecided(name, error.message)
        peak = max(peak, outcome.peak_memory_mb)
        return outcome.value

    sound = ask(checks.QPDF, checks.check_qpdf, version)
    pages = int(sound.detail.get("pages", 0))
    # veraPDF is a process of its own: it reads the file while the others do.
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(check_ua1, version, vera, pages, limits.wall_seconds)
        played = ask(checks.REPLAY, checks.check_replay, base, ops, version, expected_sha256, first_seq)
        alike = ask(checks.PIXELS, pixels.check_pixels, base, version, pixel_changes_reason)
        looked, problem = None, None
        try:
            outcome = sandbox.call(structure.check, base, version, limits=limits)
            looked, peak = outcome.value, max(peak, outcome.peak_memory_mb)
        except PdfError as error:
            problem = error.message
        ua1, rules, compliant = asked.result()
    # A file that qpdf rejects may still have pages to be shown.
    pages = pages or int(alike.detail.get("pages", 0))
    found = (played, sound, alike, ua1)
    return Verification(
        sha256=digest(version),
        size=version.stat().st_size,
        pages=pages,
        verdict=verdict(found),
        ua1_compliant=compliant,
        failed_rules=rules,
        checks=found,
        structure=looked,
        structure_problem=problem,
        seconds=round(time.monotonic() - began, 3),
        peak_memory_mb=peak,
    )


def check_ua1(
    version: Path, vera: Vera, pages: int, seconds: float
) -> tuple[Check, tuple[FailedRule, ...], bool | None]:
    """(the oracle's answer, the rules that fail, whether it is compliant or None where nobody can say).

    veraPDF gets at most `seconds`, and fewer for few pages: 20 ordinary ones take it less than one.
    """
    try:
        result = vera.check(version, pages, min(seconds, UA1_SECONDS + UA1_SECONDS_A_PAGE * pages))
    except VeraFailed as error:
        return undecided(checks.UA1, str(error), "veraPDF"), (), None
    if result.compliant:
        return Check(checks.UA1, Result.PASS, "It is PDF/UA-1.", result.tool), (), True
    reason = f"It is not PDF/UA-1: {len(result.failed)} rules fail."
    detail = {"rules": [rule.name for rule in result.failed]}
    return Check(checks.UA1, Result.FAIL, reason, result.tool, detail), result.failed, False


def verify_files(base: Path, ops: Path, version: Path, *, sandbox: Sandbox) -> dict[str, Any]:
    """What the command line says of a version: ok is the policy ``compliant``."""
    with Vera() as vera:
        found = verify(base, ops, version, sandbox=sandbox, vera=vera)
    wanting = found.shortcomings()
    looked = found.structure
    findings: tuple[Finding, ...] = looked.findings if looked is not None else ()
    return {
        "ok": not wanting,
        "code": None if not wanting else found.verdict.upper() if found.verdict != "passed" else "NOT_COMPLIANT",
        "message": " ".join(wanting)[:2000] or None,
        "pages": found.pages,
        "sha256": found.sha256,
        "verdict": found.verdict,
        "ua1_compliant": found.ua1_compliant,
        "checks": {check.name: asdict(check) for check in found.checks},
        "failed_rules": {rule.name: rule.count for rule in found.failed_rules},
        "structure": [asdict(finding) for finding in findings],
        "figures_waiting": looked.figures_waiting if looked is not None else None,
        "seconds": found.seconds,
        "peak_memory_mb": found.peak_memory_mb,
    }
