"""`tagging_chunks`: the pages of a base as blocks with roles, a few pages a chunk, fanned out over the run's workers.

Each chunk is a checkpoint in the bucket: one that is there, for this base and this engine, is not analyzed again.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dagster import (
    DynamicOut,
    DynamicOutput,
    OpExecutionContext,
    Out,
    Output,
    graph_asset,
    op,
)

from assets.partitions import documents
from assets.platform import Platform
from assets.refined import refine
from assets.stage import BASE_MADE, Stage, stage
from assets.values import Chunk, ChunkManifest, ChunkTask, OptimizedPdf
from pdf.chunks import analyze_pages, ranges
from pdf.layout.analyzer import engine
from resources.errors import Code, StoreError
from resources.objects import Objects
from resources.staging import Staged
from resources.values import ObjectRef


@op(
    out=DynamicOut(ChunkTask),
    tags={"kind": "plan"},
    description="Cut the document into ranges of pages (CHUNK_PAGES, from CHUNK_MIN_PAGES pages on).",
)
def plan(context: OpExecutionContext, platform: Platform, base: OptimizedPdf) -> Iterator[DynamicOutput[ChunkTask]]:
    """One task a chunk. Planning is pure, so it takes no claim."""
    settings = platform.settings
    cut = ranges(base.pages, settings.chunk_pages, settings.chunk_min_pages)
    for index, (first, last) in enumerate(cut):
        task = ChunkTask(
            base.document, base.revision, base.generation, base.base, index, len(cut), base.pages, first, last
        )
        yield DynamicOutput(task, mapping_key=str(index))


@op(out=Out(Chunk), description="Analyze a chunk's pages, or find them analyzed already, and store the analysis.")
def analyze(context: OpExecutionContext, platform: Platform, task: ChunkTask) -> Output[Chunk]:
    """The chunk, and whether it was there."""
    with stage(context, platform, "chunk", "TAGGING") as at:
        at.phase.page_count = task.last - task.first
        at.phase.chunk_count, at.phase.chunk_index = task.count, task.index
        at.store.guards.before_band(at.claim, task.pages)
        chunk = chunk_of(at, task)
        landed = at.store.staging.put(at.claim, staged(chunk))
        at.store.work.reach(at.claim, BASE_MADE + landed, task.pages)
    return Output(chunk, metadata={"pages": task.last - task.first, "reused": chunk.reused, **at.phase_metadata()})


@op(out=Out(ChunkManifest), description="All chunks of the document, in order and complete, made its own at once.")
def collect(
    context: OpExecutionContext, platform: Platform, base: OptimizedPdf, chunks: list[Chunk]
) -> Output[ChunkManifest]:
    """The manifest that assembly goes by: nothing partial passes for whole."""
    with stage(context, platform, "collect", "TAGGING") as at:
        manifest = manifest_of(base, chunks, engine(platform.analyzer))
        staging, there = at.store.staging, {one.index for one in at.store.staging.of(at.claim)}
        for chunk in chunks:  # only where this run is another's re-execution, whose claim had staged them
            if chunk.index not in there:
                staging.put(at.claim, staged(chunk))
        staging.commit(at.claim, len(chunks), base.pages)
    metadata: dict[str, Any] = {
        "pages": base.pages,
        "chunks": len(chunks),
        "reused_chunks": sum(chunk.reused for chunk in chunks),
        "analysis_bytes": sum(chunk.stored.size for chunk in chunks),
        "engine": manifest.engine,
    }
    return Output(manifest, metadata=metadata)


@graph_asset(
    partitions_def=documents,
    group_name="remediation",
    owners=["team:tagging"],
    kinds={"s3", "python"},
    description="What is on each page, in reading order: headings, paragraphs, lists, tables, figures, artifacts. "
    "Analyzed in chunks of a few pages side by side; a chunk that is stored is not done again.",
)
def tagging_chunks(optimized_pdf: OptimizedPdf) -> ChunkManifest:
    """Plan, map, collect."""
    manifest: ChunkManifest = collect(optimized_pdf, plan(optimized_pdf).map(analyze).collect())
    return manifest


def staged(chunk: Chunk) -> Staged:
    """A chunk as the store gathers it."""
    facts = {"base_sha256": chunk.base_sha256, "engine": chunk.engine}
    return Staged(chunk.index, chunk.first, chunk.last, chunk.stored, facts)


def key_of(task: ChunkTask) -> str:
    """Where a chunk's checkpoint lies."""
    return f"chunks/{task.document}/r{task.revision}/{task.index}.json"


def chunk_of(at: Stage, task: ChunkTask) -> Chunk:
    """The checkpoint of a chunk, made where it is not there."""
    objects = at.store.objects
    key = key_of(task)
    analyzer = at.platform.analyzer
    name = engine(analyzer)
    wanted = {"base_sha256": task.base.sha256, "engine": name, "first": task.first, "last": task.last}
    found = checkpoint(objects, key, wanted)
    if found is not None:
        return Chunk(task.index, task.first, task.last, found, task.base.sha256, name, True)
    base = at.platform.file(task.base)
    with at.platform.folder() as folder:
        target = folder / "chunk.json"
        outcome = at.platform.sandbox.call(analyze_pages, base, task.first, task.last, target)
        at.phase.ran(outcome.cpu_seconds, outcome.peak_memory_mb)
        if analyzer is not None:
            refine(at, task, base, target, analyzer)
        head = json.dumps(wanted, sort_keys=True).encode()
        ref = objects.put_bytes(head + b"\n" + target.read_bytes(), key, content_type="application/json")
    return Chunk(task.index, task.first, task.last, ref, task.base.sha256, name, False)


def checkpoint(objects: Objects, key: str, wanted: dict[str, Any]) -> ObjectRef | None:
    """The checkpoint at a key, if it is what is wanted: its first line says of which base, engine and pages it is."""
    ref = objects.head(key)
    if ref is None:
        return None
    data = objects.read(key, ref.version_id)
    return ref if json.loads(data.partition(b"\n")[0]) == wanted else None


def manifest_of(base: OptimizedPdf, chunks: Sequence[Chunk], name: str) -> ChunkManifest:
    """Chunks in order, all made by one engine. Raises NOT_READY for a gap, an overlap, or a chunk of another base."""
    ordered = sorted(chunks, key=lambda chunk: chunk.index)
    page = 0
    for index, chunk in enumerate(ordered):
        if chunk.index != index or chunk.first != page or chunk.base_sha256 != base.base.sha256 or chunk.engine != name:
            raise StoreError(Code.NOT_READY, f"Chunk {index} of document {base.document} is not what it must be.")
        page = chunk.last
    if page != base.pages:
        raise StoreError(Code.NOT_READY, f"The chunks of document {base.document} end at page {page} of {base.pages}.")
    return ChunkManifest(
        base.document, base.revision, base.generation, base.base.sha256, base.pages, name, tuple(ordered)
    )
