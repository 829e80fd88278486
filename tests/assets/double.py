"""A double of an analyzer with a provider. It describes nothing: what it writes says that it is a double."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pdf.layout.analyzer import Refined, SlowDown, Usage
from pdf.layout.model import PageAnalysis


class Double:
    """Marks each page's first block, counts what it is asked, and asks for a rest when it is told to."""

    name, version, provider = "double", "1", "double-quota"

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.busy_at: set[int] = set()

    def page(self, base: Path, layout: PageAnalysis) -> Refined:
        assert base.is_file()
        if layout.number in self.busy_at:
            self.busy_at.discard(layout.number)
            raise SlowDown(120)
        self.asked.append(layout.number)
        first, *rest = layout.blocks
        marked = replace(first, attrs={**first.attrs, "double": 1})
        return Refined(replace(layout, blocks=(marked, *rest)), Usage(0.25, {"pages": 1}))
