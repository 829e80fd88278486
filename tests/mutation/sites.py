"""Where the store's code states conditions: each ``Write(…, condition=…)`` and each ``_change(…)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Site:
    """A condition in the source: lines [first, last] of a file; `text` is what is written there."""

    path: str
    first: int
    last: int
    function: str
    text: str

    @property
    def name(self) -> str:
        """How it is named on the command line."""
        return f"{self.path}:{self.first}"


def sites() -> list[Site]:
    """All conditions, in the order of files and lines."""
    out: list[Site] = []
    for path in sorted((ROOT / "resources").glob("*.py")):
        out.extend(_of(path))
    return out


def _of(path: Path) -> Iterator[Site]:
    name = path.relative_to(ROOT).as_posix()
    for owner in ast.walk(ast.parse(path.read_text())):
        if not isinstance(owner, ast.FunctionDef) or owner.name == "_change":
            continue
        for node in ast.walk(owner):
            found = _condition(node)
            if found is not None and isinstance(node, ast.Call):
                assert node.end_lineno is not None
                yield Site(name, node.lineno, node.end_lineno, owner.name, ast.unparse(found))


def _condition(node: ast.AST) -> ast.expr | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "Write":
        return next((k.value for k in node.keywords if k.arg == "condition"), None)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "_change":
        return node.args[3]
    return None
