"""`verification_report`: a version examined by four oracles and our structure checks; its verdict is recorded once.

The record in the store is what publication goes by. The asset checks show it on the lineage.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    Output,
    asset,
)

from assets.assembled import assembled_document, write_log
from assets.partitions import documents
from assets.platform import Platform
from assets.retry import problem_of
from assets.stage import VERSION_TAG, Stage, stage
from assets.values import VerifiedVersion
from pdf.verify.checks import ORACLES, Check, Result
from pdf.verify.report import render
from pdf.verify.verify import VERIFICATION, Verification, verify
from resources.errors import Code, StoreError
from resources.values import ObjectRef
from resources.versions import Version

#: Oracle → the asset check that shows it.
CHECKS = {"replay": "replay", "qpdf": "qpdf", "pixelDiff": "pixel_diff", "ua1": "pdf_ua1"}
STRUCTURE = "structure"
#: At this attempt an error that nobody foresaw becomes a verdict.
MOST_ATTEMPTS = 3
_DESCRIPTIONS = {
    "replay": "Base and op log give exactly the version's bytes.",
    "qpdf": "qpdf --check finds no error.",
    "pixel_diff": "Every page looks as before: 99.95 % of its pixels within 2 of 255 at 150 dpi.",
    "pdf_ua1": "veraPDF finds the version compliant with PDF/UA-1.",
    STRUCTURE: "All text is in the tree exactly once, in order, under roles that make sense.",
}


@asset(
    partitions_def=documents,
    group_name="remediation",
    owners=["team:verification"],
    kinds={"pdf", "dynamodb"},
    deps=[assembled_document],
    check_specs=[
        AssetCheckSpec(name, asset="verification_report", description=text) for name, text in _DESCRIPTIONS.items()
    ],
    description="The verdict about a version, with a report a person can read. A tool that is missing, hangs or dies "
    "is never a pass.",
)
def verification_report(
    context: AssetExecutionContext, platform: Platform
) -> Iterator[Output[VerifiedVersion] | AssetCheckResult]:
    """Verify the version that the run names, else the document's latest."""
    with stage(context, platform, "verify", "VERIFYING") as at:
        number = version_number(context, at)
        version, found = examined(at, number)
        at.phase.page_count = found.pages
        assert version.report is not None
        value = VerifiedVersion(
            document=at.document,
            revision=version.revision,
            generation=at.claim.generation,
            version=number,
            sha256=version.sha256,
            verdict=version.status,
            report_key=version.report.key,
        )
    looked = found.structure
    metadata: dict[str, Any] = {
        "verdict": found.verdict,
        "version": number,
        "pages": found.pages,
        "sha256": found.sha256,
        "pdf_ua1_compliant": str(found.ua1_compliant),
        "failed_rules": len(found.failed_rules),
        "structure_errors": len(looked.errors) if looked else -1,
        "figures_waiting": looked.figures_waiting if looked else -1,
        "report": f"s3://{at.store.objects.bucket}/{version.report.key.replace('verify.json', 'report.html')}",
        **at.phase_metadata(),
    }
    yield Output(value, metadata=metadata)
    yield from check_results(found)


def version_number(context: AssetExecutionContext, at: Stage) -> int:
    """The version that this run is about."""
    tag = context.run.tags.get(VERSION_TAG)
    number = int(tag) if tag else at.store.documents.get(at.document).latest_version
    if number < 1:
        raise StoreError(Code.NOT_FOUND, f"Document {at.document} has no version to verify.")
    return number


def examined(at: Stage, number: int) -> tuple[Version, Verification]:
    """A version with its settled verdict. One that was given already stands, unless nobody could decide it then."""
    versions = at.store.versions
    version = versions.get(at.document, number)
    if version.status == "could_not_verify":
        version = versions.reopen(at.document, number)
    version = versions.begin_verification(at.document, number)
    if version.report is not None and version.status != "verifying":
        return version, VERIFICATION.validate_json(at.store.objects.read(version.report.key, version.report.version_id))
    assert version.stored is not None
    with at.platform.folder() as folder:
        try:
            found, base, path = run_checks(at, folder, version)
            report = write_report(at, folder, version, found, base, path)
        except Exception as error:
            if version.attempts < MOST_ATTEMPTS or problem_of(error).code != "UNEXPECTED":
                raise
            found = undecided(version, error)
            report = write_facts(at, version, found)
    at.store.work.check(at.claim)
    return versions.settle(at.document, number, version.sha256, record(found), report), found


def run_checks(at: Stage, folder: Path, version: Version) -> tuple[Verification, Path, Path]:
    """Fetch exactly the pinned bytes and the whole log, and ask the oracles."""
    assert version.stored is not None
    base = at.platform.file(version.base)
    path, log = folder / "version.pdf", folder / "ops.jsonl"
    # Not through `fetch`: bytes that are not the committed ones are the oracle's to judge.
    at.store.objects.download(version.stored.key, version.stored.version_id, path)
    first = version.log_start + 1
    write_log(at.store.log.read(at.document, first, version.up_to_seq) if version.up_to_seq >= first else (), log)
    found = verify(
        base,
        log,
        path,
        sandbox=at.platform.sandbox,
        vera=at.platform.vera,
        expected_sha256=version.sha256,
        first_seq=first,
        pixel_changes_reason=version.pixel_changes_reason,
    )
    at.phase.ran(0.0, found.peak_memory_mb)
    return found, base, path


def write_report(at: Stage, folder: Path, version: Version, found: Verification, base: Path, path: Path) -> ObjectRef:
    """Store the record, and beside it the page that a person reads."""
    facts, page = folder / "verify.json", folder / "report.html"
    facts.write_bytes(VERIFICATION.dump_json(found, indent=1))
    title = f"{at.store.documents.get(at.document).title}, version {version.number}"
    at.platform.sandbox.call(render, facts, base, path, title, page)
    key = f"{report_folder(version)}/report.html"
    at.store.objects.put_bytes(page.read_bytes(), key, content_type="text/html; charset=utf-8")
    return write_facts(at, version, found)


def write_facts(at: Stage, version: Version, found: Verification) -> ObjectRef:
    """Store the record alone."""
    data = VERIFICATION.dump_json(found, indent=1)
    return at.store.objects.put_bytes(data, f"{report_folder(version)}/verify.json", content_type="application/json")


def report_folder(version: Version) -> str:
    """Where a version's reports lie."""
    return f"docs/{version.document}/reports/{version.number}"


def undecided(version: Version, error: Exception) -> Verification:
    """The verdict where verifying itself fails again and again: each check says with what. Never a pass."""
    reason = f"Verifying failed {version.attempts} times: {type(error).__name__}: {error}"[:1000]
    return Verification(
        sha256=version.sha256,
        size=version.size,
        pages=0,
        verdict="could_not_verify",
        ua1_compliant=None,
        failed_rules=(),
        checks=tuple(Check(name, Result.COULD_NOT_VERIFY, reason, "") for name in ORACLES),
        structure=None,
        structure_problem=reason,
        seconds=0.0,
        peak_memory_mb=0.0,
    )


def record(found: Verification) -> Mapping[str, Any]:
    """The summary that publication and people go by; the whole is in the report."""
    looked = found.structure
    checks = {check.name: str(check.result) for check in found.checks}
    structure = "could_not_verify" if looked is None else "fail" if looked.errors else "pass"
    return {
        "verdict": found.verdict,
        "sha256": found.sha256,
        "ua1Compliant": found.ua1_compliant,
        "ua1FailedRules": [rule.name for rule in found.failed_rules],
        "checks": {**checks, STRUCTURE: structure},
        "shortcomings": [text[:300] for text in found.shortcomings()][:20],
        "tools": {check.name: check.tool for check in found.checks},
        "figuresWaiting": looked.figures_waiting if looked is not None else None,
        "pages": found.pages,
        "seconds": found.seconds,
    }


def check_results(found: Verification) -> Iterator[AssetCheckResult]:
    """The five asset checks of a verification."""
    for check in found.checks:
        passed = check.result in ("pass", "waived")
        # Not being PDF/UA-1 does not fail the integrity, so it is a warning; the policy decides over publication.
        severity = AssetCheckSeverity.WARN if check.name == "ua1" else AssetCheckSeverity.ERROR
        metadata: dict[str, Any] = {"result": str(check.result), "reason": check.reason, "tool": check.tool}
        if check.name == "ua1":
            metadata["failed_rules"] = {rule.name: rule.description for rule in found.failed_rules}
        yield AssetCheckResult(
            check_name=CHECKS[check.name], passed=passed, severity=severity, metadata=metadata, description=check.reason
        )
    looked = found.structure
    if looked is None:
        yield AssetCheckResult(
            check_name=STRUCTURE,
            passed=False,
            severity=AssetCheckSeverity.ERROR,
            description=found.structure_problem,
        )
        return
    yield AssetCheckResult(
        check_name=STRUCTURE,
        passed=not looked.errors,
        severity=AssetCheckSeverity.ERROR,
        metadata={
            "findings": [f"{f.severity}: {f.rule}: {f.message}" for f in looked.findings],
            "characters": looked.text,
            "characters_in_tree": looked.in_tree,
            "characters_in_artifacts": looked.in_artifacts,
            "figures_waiting": looked.figures_waiting,
            "roles": dict(looked.roles),
        },
        description="; ".join(f.message for f in looked.errors) or "Nothing stands in the way.",
    )
