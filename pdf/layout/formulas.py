"""Formulas: display lines of mathematical signs and letters, told by their characters and fonts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdf.layout.lines import Span

#: Fonts that set nothing but mathematics.
_FONTS = re.compile(
    r"^(?:CM(?:MI|SY|EX|BSY|MIB)|MS[AB]M|MTMI|MTSY|MTEX|RMTMI|EU[FS]M|LMMath|txsy|pxsy)|Math|Symbol", re.I
)
_RELATIONS = frozenset("=<>≤≥≈≠∝≡∼≃⇒→∈⊂∀∃:")
_WORD = re.compile(r"[^\W\d_]{4,}")
_NUMBER = re.compile(r"\(\d{1,3}(?:\.\d{1,3})?[a-z]?\)\s*$")


def mathematical(char: str) -> bool:
    """Whether a character is a mathematical sign or letter."""
    code = ord(char)
    return (
        0x2200 <= code <= 0x22FF
        or 0x1D400 <= code <= 0x1D7FF
        or 0x2A00 <= code <= 0x2AFF
        or 0x27C0 <= code <= 0x27EF
        or 0x0391 <= code <= 0x03C9
        or char in "=+−±×÷<>√^|·∂′″"
    )


def only_mathematics(span: Span) -> bool:
    """Whether a text is set in a font that has nothing but mathematics."""
    return _FONTS.search(span.style.family) is not None


def in_formula(spans: Sequence[Span], text: str) -> bool:
    """Whether a row holds mathematics and no words: a part of a formula."""
    if len(text) > 120 or any(w.isascii() for w in _WORD.findall(text)):
        return False
    return any(map(only_mathematics, spans)) or any(not c.isascii() and mathematical(c) for c in text)


def is_formula(spans: Sequence[Span], lines: int) -> bool:
    """Whether a block is a display formula: signs and letters, a relation between them, hardly a word."""
    if lines > 5 or not spans:
        return False
    text = _NUMBER.sub("", " ".join(s.text for s in spans))
    visible = [c for c in text if not c.isspace()]
    if not 3 <= len(visible) <= 300 or not any(c in _RELATIONS for c in visible):
        return False
    if sum(1 for w in _WORD.findall(text) if w.isascii()) > 1:
        return False
    total = math = 0
    for span in spans:
        mine = [c for c in span.text if not c.isspace()]
        total += len(mine)
        math += len(mine) if only_mathematics(span) else sum(map(mathematical, mine))
    return math >= 0.4 * total
