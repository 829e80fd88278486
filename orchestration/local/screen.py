"""The console's screen: live lines while documents are under way, a table at the end.

On a terminal the lines are redrawn in place; elsewhere (a pipe, a log) a line is printed when something changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TextIO

from orchestration.local.views import CHECKS, DocumentView

MARKS = {"pass": "pass", "fail": "FAIL", "waived": "waived", "could_not_verify": "?"}
TITLES = {"replay": "replay", "qpdf": "qpdf", "pixelDiff": "pixels", "ua1": "PDF/UA-1", "structure": "structure"}


def human_size(size: int | None) -> str:
    """A size in bytes for a person: ``812 B``, ``84 kB``, ``1.3 MB``."""
    if size is None:
        return ""
    if size < 1000:
        return f"{size} B"
    value = size / 1000
    for unit in ("kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def state(view: DocumentView) -> str:
    """Stage of a document under way, status of a settled one, with the code of a refusal."""
    if not view.settled:
        return view.stage
    return f"{view.status} {view.code}" if view.code else view.status


def line(view: DocumentView, width: int) -> str:
    """One document on one line: name, state, pages, lane, seconds; cut to ``width`` columns."""
    pages = f"{view.pages} p" if view.pages is not None else ""
    text = f"{view.name[:34]:<34} {state(view):<30} {pages:>6} {view.lane or '':<5} {view.seconds:6.1f} s"
    return text[:width]


class Screen:
    """Writes to ``out``; ``live`` says whether lines can be redrawn in place."""

    def __init__(self, out: TextIO, live: bool):
        self.out = out
        self.live = live
        self._drawn = 0
        self._shown: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Print a line above what is drawn."""
        self._erase()
        print(text, file=self.out, flush=True)

    def update(self, views: Sequence[DocumentView]) -> None:
        """Show the documents as they are now."""
        if not self.live:
            for view in views:
                if self._shown.get(view.document_id) != state(view):
                    self._shown[view.document_id] = state(view)
                    print(line(view, 200).rstrip(), file=self.out, flush=True)
            return
        size = shutil.get_terminal_size()
        self._erase()
        rows = max(3, size.lines - 2)
        shown = list(views) if len(views) <= rows else [view for view in views if not view.settled][: rows - 1]
        lines = [line(view, size.columns - 1) for view in shown]
        if len(shown) < len(views):
            settled = sum(view.settled for view in views)
            lines.append(f"… {settled} of {len(views)} documents settled")
        self.out.write("".join(f"{text}\n" for text in lines))
        self.out.flush()
        self._drawn = len(lines)

    def _erase(self) -> None:
        if self._drawn:
            self.out.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0

    def table(self, views: Sequence[DocumentView]) -> None:
        """The table at the end, and below it where each published file and each report is."""
        head = ["document", "pages", "lane", "size", *(TITLES[check] for check in CHECKS), "status", "s"]
        rows = [
            [
                view.name,
                "" if view.pages is None else str(view.pages),
                view.lane or "",
                f"{human_size(view.size_before)} → {human_size(view.size_after)}"
                if view.size_after is not None
                else human_size(view.size_before),
                *(MARKS.get(view.checks.get(check, ""), "") for check in CHECKS),
                state(view),
                f"{view.seconds:.0f}",
            ]
            for view in views
        ]
        widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
        numbers = {1, len(head) - 1}
        self._erase()
        for row in [head, ["─" * width for width in widths], *rows]:
            cells = [
                cell.rjust(width) if index in numbers else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            print("  ".join(cells).rstrip(), file=self.out)
        self.out.flush()
