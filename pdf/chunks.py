"""Analysis and assembly as the platform runs them: a range of pages at a time, handed on as files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from pdf.inspect import Inspection
from pdf.layout import PageAnalysis, analyze
from pdf.tag import Composed, write_ops

_PAGES: TypeAdapter[list[PageAnalysis]] = TypeAdapter(list[PageAnalysis])


def ranges(pages: int, chunk_pages: int, chunk_min_pages: int) -> list[tuple[int, int]]:
    """How a document is cut: [first, last) from 0. Fewer than `chunk_min_pages` (or 0 or less: any) are one chunk."""
    if chunk_min_pages <= 0 or pages < chunk_min_pages:
        return [(0, pages)]
    return [(first, min(first + chunk_pages, pages)) for first in range(0, pages, chunk_pages)]


def analyze_pages(base: Path, first: int, last: int, target: Path) -> str:
    """Analyze pages [first, last) of `base` into `target` (JSON); returns its SHA-256."""
    data = _PAGES.dump_json(analyze(base, first, last), exclude_defaults=True)
    target.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def compose_pages(
    base: Path, chunks: Sequence[Path], inspection: Inspection, base_sha256: str, log: Path, start_seq: int
) -> Composed:
    """Turn stored analyses, in the order of their pages, into the engine's op records in `log` (JSON Lines)."""
    analyses = [page for chunk in chunks for page in _PAGES.validate_json(chunk.read_bytes())]
    return write_ops(base, analyses, inspection, base_sha256, log, start_seq)
