"""The whole way of one file: inspected, made into a base, laid out, composed into ops, replayed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pdf.base import Base, make_base
from pdf.inspect import Inspection, inspect
from pdf.layout import PageAnalysis, analyze
from pdf.tagging import ops
from pdf.tagging.compose import compose
from pdf.tagging.existing import judge
from pdf.tagging.replay import Replay, replay


@dataclass(frozen=True)
class Composed:
    """The engine's ops for a document: how many, and whether the tree the file came with was kept."""

    ops: int
    kept: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Tagged:
    """Everything that became of a file."""

    inspection: Inspection
    base: Base
    composed: Composed
    replay: Replay


def tag(source: Path, out: Path) -> Tagged:
    """Tag `source`: writes ``<stem>.pdf``, ``<stem>.base.pdf`` and ``<stem>.ops.jsonl`` into the folder `out`.

    Raises PdfError with the code of the step that could not go on; then none of the three is left behind.
    """
    version, base, log = (out / f"{source.stem}{suffix}" for suffix in (".pdf", ".base.pdf", ".ops.jsonl"))
    out.mkdir(parents=True, exist_ok=True)
    try:
        inspection = inspect(source)
        made = make_base(source, base)
        composed = write_ops(base, analyze(base, 0, made.pages), inspection, made.sha256, log)
        replayed = replay(base, log, version)
    except BaseException:
        for path in (version, base, log):
            path.unlink(missing_ok=True)
        raise
    return Tagged(inspection, made, composed, replayed)


def write_ops(
    base: Path, analyses: list[PageAnalysis], inspection: Inspection, base_sha256: str, log: Path, start_seq: int = 1
) -> Composed:
    """Turn the analyses of all pages into the engine's op records, in `log` (JSON Lines)."""
    composed = compose(analyses, inspection)
    kept = False
    reasons: tuple[str, ...] = ()
    if inspection.tagged:
        declared = next(op for op in composed if isinstance(op, ops.Document))
        existing = judge(base, declared.title or "", declared.lang or "")
        kept, reasons = existing.kept, existing.reasons
        composed = list(existing.ops) if kept else [*existing.ops, *composed]
    ops.dump(ops.records(composed, base_sha256, start_seq), log)
    return Composed(len(composed), kept, reasons)
