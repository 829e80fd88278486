"""What every stage of a document does around its own work: claim, measure, and end with a code when it must.

A stage holds the document's claim while it works. Its outcome is written through the claim's fence, so a run that was
cancelled, superseded or cut off changes nothing. Transient errors are tried again inside the run; anything else settles
the document's work row, its job and its outcome, and fails the step with its code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dagster import AssetExecutionContext, Failure, OpExecutionContext, RetryRequested

from assets import ceilings
from assets.ceilings import Phase, PhaseRecord
from assets.platform import Platform
from assets.retry import Problem, problem_of, retries_left, retry_or_fail
from pdf.errors import Code as PdfCode
from resources.errors import Code, StoreError
from resources.ledger import CEILINGS, COST, cost
from resources.store import Store
from resources.work import DONE, FAILED, LONG, REMEDIATE, Claim, Row

Context = AssetExecutionContext | OpExecutionContext
KIND_TAG, GENERATION_TAG, VERSION_TAG = "work", "generation", "version"
#: How far a document's work has got (`Work.reach`): its base is there; then a step a chunk, assembly, the verdict.
BASE_MADE = 1
#: What a file itself is the reason for: the document is refused, not failed.
REFUSALS = frozenset(
    (
        PdfCode.NOT_A_PDF,
        PdfCode.SOURCE_DAMAGED,
        PdfCode.ENCRYPTED,
        PdfCode.NO_PAGES,
        PdfCode.PORTFOLIO,
        PdfCode.DYNAMIC_XFA,
        PdfCode.NEEDS_OCR,
        PdfCode.SIGNED,
        PdfCode.TOO_LARGE,
        PdfCode.DOCUMENT_TOO_LARGE,
    )
)
#: The stage that a job lists files under which are no PDFs.
UNSUPPORTED = "unsupported"
#: A document of so many pages, or bytes, may have reason to be slow.
SLOW_PAGES, SLOW_BYTES = 9, 10 << 20
#: Codes that say that this run has lost the right to settle anything.
LOST = frozenset(
    (
        "CLAIM_LOST",
        "SUPERSEDED",
        "CANCELLED",
        "CLAIM_HELD",
        "OWNER_BUSY",
        "OWNER_REVOKED",
        "ATTEMPTS_EXHAUSTED",
        "ATTEMPT_CAP",
    )
)


@dataclass(frozen=True)
class Stage:
    """A stage at work: the document's claim, what it measures, and the rooms it uses."""

    name: str
    document: str
    claim: Claim
    phase: Phase
    platform: Platform

    @property
    def store(self) -> Store:
        """The store."""
        return self.platform.store

    def phase_metadata(self) -> dict[str, float]:
        """What the phase took up to now, as metadata that plots over time."""
        return self._record().metadata()

    def _record(self) -> PhaseRecord:
        limit = self.platform.settings.sandbox_memory_mb
        claim = self.claim
        return self.phase.record(
            job_id=claim.job_id, document=self.document, run_id=claim.run_id, memory_limit_mb=limit, ok=True
        )


def work_kind(context: Context) -> str:
    """The unit of work that this run is for."""
    return str(context.run.tags.get(KIND_TAG, REMEDIATE))


def claimed(context: Context, platform: Platform) -> Claim:
    """The run's claim on its document. Every step of a run gets the same one."""
    tag = context.run.tags.get(GENERATION_TAG)
    generation = int(tag) if tag else None
    kind, analyzer = work_kind(context), platform.analyzer
    also = platform.store.cooldowns.open(analyzer.provider) if analyzer is not None and kind == REMEDIATE else None
    return platform.store.work.claim(context.partition_key, kind, context.run_id, generation, also)


@contextmanager
def stage(context: Context, platform: Platform, name: str, status: str | None = None) -> Iterator[Stage]:
    """Do a stage's work inside this. `status` is what the job's record moves on to."""
    document = context.partition_key
    phase = Phase(name)
    claim: Claim | None = None
    ok = False
    try:
        claim = claimed(context, platform)
        platform.use_lane(claim.lane)
        if status is not None:
            platform.store.jobs.advance(claim.job_id, claim.job_started, status)
        with platform.store.work.hold(claim):
            yield Stage(name, document, claim, phase, platform)
        ok = True
    except (RetryRequested, Failure):
        raise
    except Exception as error:  # noqa: BLE001 it is told, with its code, and ends the step
        problem = problem_of(error)
        if (
            not retries_left(problem, context.retry_number)
            and claim is not None
            and not slow_goes_long(platform.store, claim, problem, phase.page_count)
        ):
            settle_failure(platform.store, claim, name, problem)
        retry_or_fail(error, retry_number=context.retry_number, stage=name, document=document)
    finally:
        if claim is not None:
            publish_phase(context, platform, phase, claim, ok=ok)


def publish_phase(context: Context, platform: Platform, phase: Phase, claim: Claim, *, ok: bool) -> None:
    """The phase's ceiling record: stdout, ledger, warning. Booked once a step and attempt."""
    store = platform.store
    record = phase.record(
        job_id=claim.job_id,
        document=claim.document,
        run_id=context.run_id,
        memory_limit_mb=platform.settings.sandbox_memory_mb,
        ok=ok,
    )
    now = store.clock()
    index = "" if phase.chunk_index is None else f":{phase.chunk_index}"
    fact = f"{context.run_id}:{phase.name}{index}:{context.retry_number}"
    dollars = record.seconds / 3600 * platform.settings.hourly_rate_usd
    ceilings.publish(
        record,
        epoch_ms=int(now * 1000),
        warn_fraction=platform.settings.ceiling_warn_fraction,
        book=lambda fields: store.ledger.record(CEILINGS, fact, now, fields),
        warn=context.log.warning,
    )
    if phase.name == "verify":
        return  # booked where its verdict is first read: it opens what nobody trusts, and holds no ledger
    spent = cost(
        phase.name,
        claim.document,
        claim.owner,
        job_id=claim.job_id,
        pages=record.page_count,
        seconds=round(record.seconds, 3),
        cpu_seconds=round(record.cpu_seconds, 3),
        usd=round(dollars, 8),
    )
    also = store.work.spend(claim, dollars) if dollars else None
    store.ledger.record(COST, fact, now, spent, also)


def slow_goes_long(store: Store, claim: Claim, problem: Problem, pages: int) -> bool:
    """Whether a document that ran out of the fast lane's time was given to the long lane, once.

    Not a small one: a file of a few pages that needs minutes is not long but hostile, and its time-out is its code.
    """
    settings, source = store.settings, claim.source
    small = pages < SLOW_PAGES and (source is None or source.size < SLOW_BYTES)
    if problem.code != PdfCode.TOOL_TIMEOUT or small or claim.lane == LONG or not settings.long_lane_enabled:
        return False
    try:
        store.work.reroute(claim, LONG, pages)
    except StoreError as error:
        if error.code != Code.ALREADY_REROUTED:
            raise
        return False
    return True


def settle_failure(store: Store, claim: Claim, stage_name: str, problem: Problem) -> None:
    """The document's attempt has failed: through the fence, then for people. A lost claim settles nothing."""
    if problem.code in LOST:
        return
    refused = problem.code in REFUSALS
    # What nobody foresaw while verifying is tried again: the third time it is a verdict (`assets.verified`).
    again = problem.retryable or (stage_name == "verify" and problem.code == "UNEXPECTED")
    try:
        row = store.work.fail(claim, problem.code, problem.message, retryable=again and not refused)
    except StoreError as error:
        if str(error.code) not in LOST:
            raise
        return
    if row.state == FAILED:
        tell_failure(store, claim, stage_name, problem.code, problem.message)


def tell_failure(store: Store, claim: Claim, stage_name: str, code: str, message: str) -> None:
    """Write a final failure where people look: the document and the job; a guard's, to an operator too. Repeated, it
    changes nothing."""
    store.guards.alert(claim.document, claim.kind, code, message)
    if claim.kind != REMEDIATE:
        return
    outcome = "refused" if code in REFUSALS else "failed"
    owner = claim.owner
    title = title_of(claim.source.key) if claim.source is not None else claim.document
    size = claim.source.size if claim.source is not None else 0
    try:
        store.documents.open_source(claim.document, owner, title, claim.revision, size)
        store.documents.set_outcome(claim.document, claim.revision, outcome, code, message)
    except StoreError as error:
        if str(error.code) not in (*LOST, "NOT_READY"):
            raise
    store.jobs.settle_file(
        claim.job_id, claim.job_started, claim.document, ok=False, stage=stage_name, code=code, reason=message
    )


def tell_settled(store: Store, row: Row) -> None:
    """Write what a settled row says where people look: its document and its job, which lists what is no PDF as
    unsupported. Repeated, it changes nothing."""
    if row.state == FAILED:
        code, reason = row.code or "UNEXPECTED", row.reason or "No reason was recorded."
        tell_failure(store, row.claim(), UNSUPPORTED if code == PdfCode.NOT_A_PDF else "run", code, reason)
        if code in (Code.STALLED, Code.REDELIVERY_LOOP):
            store.costs.refund(row)
    elif row.state == DONE and row.kind == REMEDIATE:
        store.jobs.settle_file(row.job_id, row.job_started, row.document, ok=True)


def title_of(key: str) -> str:
    """A title until the PDF says better: the file's name."""
    name = key.rsplit("/", 1)[-1]
    return name[:-4] if name.lower().endswith(".pdf") else name
