"""`optimized_pdf`: the base of a source revision, version 0. Optimized, its fonts made whole, then never changed."""

import shutil
from typing import Any

from dagster import AssetExecutionContext, MaterializeResult, asset

from assets.partitions import documents
from assets.platform import Platform
from assets.stage import BASE_MADE, Stage, stage
from assets.values import OptimizedPdf, UploadedPdf
from pdf.base import make_base
from pdf.errors import Code, PdfError
from resources.values import ObjectRef

#: Names the code that makes bases; only for people, since a stored base is never made anew.
MAKER = "base/1"
#: Free disk that the work directory must have: this many times the source, and so much at least.
ROOM, LEAST_BYTES = 3, 100 << 20


@asset(
    partitions_def=documents,
    group_name="remediation",
    owners=["team:documents"],
    kinds={"s3", "pdf"},
    description="The base: smaller where an inventory proves that nothing is lost, fonts embedded and their Unicode "
    "completed. Every op and every version refers to exactly these bytes.",
)
def optimized_pdf(
    context: AssetExecutionContext, platform: Platform, uploaded_pdf: UploadedPdf
) -> MaterializeResult[OptimizedPdf]:
    """A base that is stored already is taken as it is: what has not changed is not done again."""
    with stage(context, platform, "optimize", "OPTIMIZING") as at:
        at.phase.page_count = uploaded_pdf.inspection.pages
        value, facts = base_of(at, uploaded_pdf)
        at.store.work.reach(at.claim, BASE_MADE, value.pages)
    saved = uploaded_pdf.source.size - value.base.size
    metadata: dict[str, Any] = {
        "size_before_bytes": uploaded_pdf.source.size,
        "size_after_bytes": value.base.size,
        "saved_bytes": saved,
        "saved_share": round(saved / max(uploaded_pdf.source.size, 1), 4),
        "base_sha256": value.base.sha256,
        "pixel_changes_reason": value.pixel_changes_reason or "(none)",
        **facts,
        **at.phase_metadata(),
    }
    return MaterializeResult(value=value, metadata=metadata)


def base_of(at: Stage, uploaded: UploadedPdf) -> tuple[OptimizedPdf, dict[str, Any]]:
    """The base of the revision, made now or found."""
    store = at.store
    document = store.documents.get(at.document)
    if document.base is not None and document.base_revision == uploaded.revision:
        return _value(at, uploaded, document.base, document.pages, document.pixel_changes_reason), {"reused": True}
    with at.platform.folder() as folder:
        enough = max(ROOM * uploaded.source.size, LEAST_BYTES)
        if shutil.disk_usage(folder).free < enough:
            raise PdfError(Code.DISK_FULL, f"The worker has less than {enough >> 20} MB of disk free.", retryable=True)
        source, target = folder / "source.pdf", folder / "base.pdf"
        store.objects.fetch(uploaded.source, source)
        outcome = at.platform.sandbox.call(make_base, source, target, thorough=True)
        at.phase.ran(outcome.cpu_seconds, outcome.peak_memory_mb)
        made = outcome.value
        ref = store.objects.put_file(target, f"docs/{at.document}/base.pdf")
    store.work.check(at.claim)
    found = store.documents.set_base(
        at.document, uploaded.revision, ref, made.pages, made.pixel_changes_reason, at.claim.lane
    )
    assert found.base is not None
    value = _value(at, uploaded, found.base, made.pages, made.pixel_changes_reason)
    facts = {
        "reused": False,
        "chosen": made.optimization.chosen,
        "candidates": [f"{c.name}: {c.size_bytes} bytes, {c.reason}" for c in made.optimization.candidates],
        "text_changes_reason": made.text_changes_reason or "(none)",
        "font_failures": [str(failure) for failure in made.fonts.failures][:50],
    }
    return value, facts


def _value(at: Stage, uploaded: UploadedPdf, base: ObjectRef, pages: int, reason: str | None) -> OptimizedPdf:
    return OptimizedPdf(
        document=at.document,
        revision=uploaded.revision,
        generation=at.claim.generation,
        base=base,
        source_sha256=uploaded.source.sha256,
        pages=pages,
        inspection=uploaded.inspection,
        pixel_changes_reason=reason,
        maker=MAKER,
    )
