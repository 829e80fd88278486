"""`assembled_document`: analyses become ops in the document's log, and the log's replay over the base a version.

The engine is the log's first author. Ops it has appended already are recognized, so a run that died half-way is taken
up where it was; ops of a person are never undone by a new analysis.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import AssetExecutionContext, MaterializeResult, asset

from assets.chunks import staged
from assets.partitions import documents
from assets.platform import Platform
from assets.stage import BASE_MADE, Stage, stage
from assets.values import AssembledDocument, ChunkManifest, OptimizedPdf
from pdf.chunks import compose_pages
from pdf.tagging.ops import ENGINE, Reset, op_json
from pdf.tagging.replay import Replay, replay
from resources.costs import seconds_of
from resources.documents import Document
from resources.errors import Code, StoreError

Record = Mapping[str, Any]


@asset(
    partitions_def=documents,
    group_name="remediation",
    owners=["team:tagging"],
    kinds={"s3", "dynamodb", "pdf"},
    description="The document's op log with the engine's ops, and the version that its replay over the base gives: "
    "one structure tree for the whole document, the same bytes on any machine.",
)
def assembled_document(
    context: AssetExecutionContext, platform: Platform, optimized_pdf: OptimizedPdf, tagging_chunks: ChunkManifest
) -> MaterializeResult[AssembledDocument]:
    """Compose, append, replay, store, commit."""
    with stage(context, platform, "assemble", "ASSEMBLING") as at:
        at.phase.page_count, at.phase.chunk_count = optimized_pdf.pages, len(tagging_chunks.chunks)
        value, facts = assemble(at, optimized_pdf, tagging_chunks)
        at.store.work.reach(at.claim, BASE_MADE + len(tagging_chunks.chunks) + 1, optimized_pdf.pages)
    metadata: dict[str, Any] = {
        "version": value.version,
        "ops": value.up_to_seq,
        "pages": value.pages,
        "size_bytes": value.stored.size,
        "sha256": value.stored.sha256,
        "figures_waiting": value.figures_waiting,
        **facts,
        **at.phase_metadata(),
    }
    return MaterializeResult(value=value, metadata=metadata)


def assemble(at: Stage, optimized: OptimizedPdf, manifest: ChunkManifest) -> tuple[AssembledDocument, dict[str, Any]]:
    """The version of the log as it is after the engine's ops."""
    store = at.store
    if manifest.base_sha256 != optimized.base.sha256 or manifest.pages != optimized.pages:
        raise StoreError(Code.NOT_READY, f"The chunks of document {at.document} are of another base.")
    store.staging.require(at.claim, [staged(chunk) for chunk in manifest.chunks])
    document = store.documents.get(at.document)
    if document.base != optimized.base:
        raise StoreError(Code.SUPERSEDED, f"Document {at.document} has another base by now.")
    session = f"engine-{at.document}"
    base = at.platform.file(optimized.base)
    with at.platform.folder() as folder:
        engine = compose(at, folder, base, optimized, manifest, document.log_start + 1)
        store.documents.acquire_lease(at.document, ENGINE, session)
        try:
            up_to = append(at, document, engine, session)
            log = folder / "ops.jsonl"
            write_log(store.log.read(at.document, document.log_start + 1, up_to), log)
            version_path = folder / "version.pdf"
            outcome = at.platform.sandbox.call(replay, base, log, version_path, document.log_start + 1)
            at.phase.ran(outcome.cpu_seconds, outcome.peak_memory_mb)
            made: Replay = outcome.value
            store.work.check(at.claim)
            store.documents.acquire_lease(at.document, ENGINE, session)
            version = store.versions.create(at.document, up_to, made.sha256, made.size, session, made.waiting)
            if version.stored is None:
                store.objects.put_file(version_path, store.versions.key(at.document, version.number), once=True)
                version = store.versions.commit(at.document, version.number)
            assert version.committed_at is not None
            store.costs.storage(at.document, f"v{version.number}", seconds_of(version.committed_at))
        finally:
            store.documents.release_lease(at.document, ENGINE, session)
    assert version.stored is not None
    value = AssembledDocument(
        document=at.document,
        revision=optimized.revision,
        generation=at.claim.generation,
        version=version.number,
        stored=version.stored,
        up_to_seq=up_to,
        pages=made.pages,
        figures_waiting=made.waiting,
    )
    return value, {"elements": made.nodes, "bookmarks": made.bookmarks}


def compose(
    at: Stage, folder: Path, base: Path, optimized: OptimizedPdf, manifest: ChunkManifest, start_seq: int
) -> list[Record]:
    """The engine's records for the document, from the stored analyses."""
    paths = []
    for chunk in manifest.chunks:
        path = folder / f"{chunk.index}.json"
        at.store.objects.fetch(chunk.stored, path)
        path.write_bytes(path.read_bytes().partition(b"\n")[2])
        paths.append(path)
    log = folder / "engine.jsonl"
    outcome = at.platform.sandbox.call(
        compose_pages, base, paths, optimized.inspection, optimized.base.sha256, log, start_seq
    )
    at.phase.ran(outcome.cpu_seconds, outcome.peak_memory_mb)
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def append(at: Stage, document: Document, engine: Sequence[Record], session: str) -> int:
    """Append what is missing of the engine's ops; returns the log's head."""
    log, start = at.store.log, document.log_start
    head = at.store.documents.get(at.document).head_seq
    present = list(log.read(at.document, start + 1, head)) if head > start else []
    matching = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(present, engine, strict=False)))
    if matching == len(engine):
        return head  # all of it is there, perhaps with a person's ops after it
    if matching == len(present):
        rest = engine[matching:]
        return log.append_all(at.document, head, rest, session, ENGINE).head_seq
    if any(record["author"] != ENGINE for record in present):
        return head  # a person has worked on what an earlier engine made: that stands
    return log.append_all(at.document, head, anew(engine, head), session, ENGINE).head_seq


def anew(engine: Sequence[Record], head: int) -> list[Record]:
    """The engine's ops after another engine's: those are undone first."""
    reset = dict(engine[0]) | {
        "op": op_json(Reset(reason="Analyzed again by a newer engine.")),
        "opId": f"reset-{head}",
    }
    return [{**record, "seq": seq} for seq, record in enumerate([reset, *engine], head + 1)]


def write_log(records: Iterable[Record], path: Path) -> None:
    """Records as JSON Lines."""
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n")
