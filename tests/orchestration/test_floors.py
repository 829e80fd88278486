"""The house's floors: a room imports only from floors below its own, never beside it, never upward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = (
    ("orchestration",),
    ("sensors",),
    ("jobs",),
    ("assets", "api"),
    ("pdf", "resources"),
    ("infra",),
)
LEVEL = {room: -number for number, floor in enumerate(FLOORS) for room in floor}
# Knobs are read in one place. The others build the environment of a child process out of their own.
READS_ENVIRONMENT = ("resources/settings.py", "pdf/sandbox/", "orchestration/local/environment.py")


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of every room, with its room."""
    for room in LEVEL:
        for path in sorted((ROOT / room).rglob("*.py")):
            if ".venv" not in path.parts:
                yield room, path


def imports(source: str, package: str) -> Iterator[tuple[str, int]]:
    """The absolute name of each module imported anywhere in a source, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                yield ".".join([*parts, node.module or ""]).strip("."), node.lineno
            elif node.module:
                yield node.module, node.lineno


def offences(room: str, source: str, package: str) -> list[str]:
    """Imports in a source of ``room`` that go upward or sideways."""
    found = []
    for name, line in imports(source, package):
        other = name.split(".")[0]
        if other == "tests":
            found.append(f"line {line}: imports {name}")
        elif other in LEVEL and other != room and LEVEL[other] >= LEVEL[room]:
            found.append(f"line {line}: {room} imports {name}")
    return found


def test_no_room_imports_upward_or_beside() -> None:
    found = []
    count = 0
    for room, path in modules():
        count += 1
        package = ".".join(path.relative_to(ROOT).with_suffix("").parts[:-1])
        found += [f"{path.relative_to(ROOT)} {offence}" for offence in offences(room, path.read_text(), package)]
    assert count > 20, "the rooms were not found"
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("pdf", "import resources.settings"),
        ("resources", "from pdf import inspect"),
        ("assets", "def f():\n    from api import app"),
        ("jobs", "from sensors.intake import intake"),
        ("infra", "import resources"),
        ("pdf", "from ..resources import objects"),
        ("jobs", "from tests.corpus import samples"),
    ],
)
def test_the_rule_sees_what_it_forbids(room: str, source: str) -> None:
    assert offences(room, source, f"{room}")


@pytest.mark.parametrize(
    ("room", "source"),
    [("assets", "from pdf.inspect import inspect\nimport resources.work"), ("pdf", "from . import errors")],
)
def test_the_rule_allows_what_lies_below(room: str, source: str) -> None:
    assert not offences(room, source, room)


def reads_environment(source: str) -> list[int]:
    """Lines that touch ``os.environ`` or ``os.getenv``."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "environb", "getenv")
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    ] + [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        and node.module == "os"
        and any(alias.name in ("environ", "getenv") for alias in node.names)
    ]


def test_only_the_settings_read_the_environment() -> None:
    found = [
        f"{path.relative_to(ROOT)} line {line}"
        for room, path in modules()
        for line in reads_environment(path.read_text())
        if room != "infra" and not str(path.relative_to(ROOT)).startswith(READS_ENVIRONMENT)
    ]
    assert not found, "\n".join(found)
    assert reads_environment("import os\nos.environ['A']") == [2]
    assert reads_environment("from os import getenv") == [1]


# Modules that are to be divided; the figure may only fall.
TO_DIVIDE = {"infra/kinds.py": 480}


def test_modules_are_short() -> None:
    long = {
        name: length
        for _, path in modules()
        if (length := len(path.read_text().splitlines()))
        > TO_DIVIDE.get(name := path.relative_to(ROOT).as_posix(), 470)
    }
    assert not long, f"about 400 lines are enough for one idea: {long}"
