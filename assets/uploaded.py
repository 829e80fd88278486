"""`uploaded_pdf`: the upload, pinned and inspected. Can it be made accessible at all, and in which lane?"""

from collections.abc import Iterator
from typing import Any

from dagster import AssetExecutionContext, Output, asset

from assets.partitions import documents
from assets.platform import Platform
from assets.stage import Stage, stage, title_of
from assets.values import UploadedPdf
from pdf.errors import Code, PdfError
from pdf.inspect import Inspection, inspect
from resources.rows import LONG
from resources.values import ObjectRef


@asset(
    partitions_def=documents,
    group_name="remediation",
    owners=["team:documents"],
    kinds={"s3", "pdf"},
    output_required=False,
    description="The uploaded PDF, pinned by VersionId and SHA-256, and what inspection found. Files that cannot be "
    "made accessible are refused here, each with its code; long ones are sent to the long lane.",
)
def uploaded_pdf(context: AssetExecutionContext, platform: Platform) -> Iterator[Output[UploadedPdf]]:
    """Yields nothing where the document goes to another lane: the run ends, and another takes it up there."""
    with stage(context, platform, "inspect", "IN_PROGRESS") as at:
        value = take(at)
    if value is None:
        context.log.info("The document is long: its work goes on in the long lane.")
        return
    found = value.inspection
    if found.repaired:
        context.log.warning("The file was damaged, and is repaired without loss: %s", "; ".join(found.warnings)[:500])
    metadata: dict[str, Any] = {
        "pages": found.pages,
        "size_bytes": value.source.size,
        "lane": value.lane,
        "revision": value.revision,
        "tagged": found.tagged,
        "form_fields": found.fields,
        "attachments": found.attachments,
        "javascript": "noted, never run" if found.javascript else "(none)",
        "repaired": "; ".join(found.warnings)[:500] if found.repaired else "(sound)",
        "title": found.title or "(none)",
        "language": found.language or "(none)",
        "producer": found.producer or "(none)",
        "source": f"s3://{at.store.objects.bucket}/{value.source.key}",
        **at.phase_metadata(),
    }
    yield Output(value, metadata=metadata)


def take(at: Stage) -> UploadedPdf | None:
    """Fetch, inspect, decide the lane; None where the work was rerouted."""
    source = at.claim.source
    assert source is not None
    settings, store = at.platform.settings, at.store
    store.documents.open_source(at.document, at.claim.owner, title_of(source.key), at.claim.revision, source.size)
    if source.size > settings.max_source_mb << 20:
        megabytes = source.size >> 20
        raise PdfError(Code.TOO_LARGE, f"The file has {megabytes} MB; the most is {settings.max_source_mb} MB.")
    with at.platform.folder() as folder:
        path = folder / "source.pdf"
        ref = store.objects.download(source.key, source.version_id, path)
        outcome = at.platform.sandbox.call(inspect, path)
    at.phase.ran(outcome.cpu_seconds, outcome.peak_memory_mb)
    at.phase.page_count = outcome.value.pages
    if outcome.value.signed and not settings.rewrite_signed:
        raise PdfError(Code.SIGNED, "The file is signed: tagging would break the signature, so nobody does it unasked.")
    if not lane_allows(at, outcome.value):
        return None
    pinned = ObjectRef(source.key, source.version_id, ref.sha256, ref.size)
    return UploadedPdf(at.document, at.claim.revision, at.claim.generation, at.claim.lane, pinned, outcome.value)


def lane_allows(at: Stage, found: Inspection) -> bool:
    """Whether this run may go on: False after rerouting. Raises PdfError DOCUMENT_TOO_LARGE."""
    settings = at.platform.settings
    most = settings.absolute_max_pages if settings.long_lane_enabled else settings.max_pages
    if found.pages > most:
        raise PdfError(Code.DOCUMENT_TOO_LARGE, f"The document has {found.pages} pages; the most is {most}.")
    source = at.claim.source
    heavy = source is not None and source.size > settings.fast_source_mb << 20 and settings.long_lane_enabled
    if (found.pages > settings.max_pages or heavy) and at.claim.lane != LONG:
        at.store.work.reroute(at.claim, LONG, found.pages)
        return False
    return True
