"""Patterns do not rely on possessive groups: before Python 3.11.5 (Debian 12 has 3.11.2) ``re`` matches them wrongly.

A possessive quantifier after one character class is sound there; after a group it is not, and a content stream that
paints was read as one that paints nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pdf.content import scanner
from pdf.fonts import usage
from pdf.tagging import split

POSSESSIVE_GROUP = re.compile(rb"(?<!\\)\)[*+?]\+|\(\?>")


@pytest.mark.parametrize("module", [scanner, usage, split])
def test_no_pattern_has_a_possessive_group(module: object) -> None:
    patterns = [value for value in vars(module).values() if isinstance(value, re.Pattern)]
    assert patterns
    for pattern in patterns:
        source = pattern.pattern if isinstance(pattern.pattern, bytes) else pattern.pattern.encode()
        assert not POSSESSIVE_GROUP.search(source), source


def test_the_rule_sees_what_it_forbids() -> None:
    assert POSSESSIVE_GROUP.search(rb"(?:a|b)*+") and POSSESSIVE_GROUP.search(rb"(?>a)")
    assert not POSSESSIVE_GROUP.search(rb"[ab]*+\)*+")


def test_no_other_module_of_pdf_has_one() -> None:
    root = Path(scanner.__file__).parents[1]
    found = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"(?<!\\)\)[*+?]\+\W", path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_text_is_found_in_an_ordinary_stream() -> None:
    data = rb"BT /F1 20 Tf 72 760 Td (a \(b\) (c)) Tj [(x) -20 (y)] TJ ET 1 2 3 4 re f"
    assert [op.name for op in scanner.operators(data)] == [b"BT", b"Tj", b"TJ", b"ET", b"f"]
