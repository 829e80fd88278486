"""What an analyzer is: `layout` finds the blocks of a page; a model or an OCR engine goes over what it found.

An analyzer is known by its name and version, which are stored with what it made: a page analyzed by another version is
analyzed again, never mixed in silently.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pdf.layout.model import VERSION, PageAnalysis

#: What `layout` alone is called in stored analyses.
LAYOUT = f"layout/{VERSION}"


@dataclass(frozen=True)
class Usage:
    """What a page cost: dollars, and the provider's own units (tokens, pages) by name."""

    usd: float = 0.0
    units: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Refined:
    """A page after an analyzer went over it."""

    page: PageAnalysis
    usage: Usage = Usage()


class SlowDown(Exception):
    """The provider asks to be left alone for `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the provider asks for a rest of {seconds:.0f} s")
        self.seconds = seconds


class Analyzer(Protocol):
    """Goes over one page at a time: the layout's blocks may be changed, described, or replaced.

    `provider` names the quota it draws on (all that share it cool down together). The page it returns has the same
    number and places each item at most once. Raises `SlowDown`, or `pdf.errors.PdfError`.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def provider(self) -> str: ...

    def page(self, base: Path, layout: PageAnalysis) -> Refined: ...


def engine(analyzer: Analyzer | None) -> str:
    """What stored analyses say they were made by."""
    return LAYOUT if analyzer is None else f"{LAYOUT}+{analyzer.name}/{analyzer.version}"


def load(name: str) -> Analyzer | None:
    """The analyzer of a setting: None for ``layout``, else what ``module:attribute`` makes when it is called.

    Raises ValueError with a sentence for a name that leads nowhere.
    """
    if name == "layout":
        return None
    module, _, attribute = name.partition(":")
    try:
        made: Analyzer = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"ANALYZER is {name!r}, which is neither layout nor module:attribute: {error}") from error
    return made
