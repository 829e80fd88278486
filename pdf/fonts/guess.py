"""Unicode values that no name and no table of a font tells, and where they can be known all the same.

Three sources, from the strongest: the same outline in another font of the document, whose text is known; glyphs named
by their character code (`/s65`), where what this gives reads as text; and glyphs that are no characters at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pdf.fonts.cff import BadFont, Cff
from pdf.fonts.simple import Program
from pdf.fonts.truetype import Sfnt
from pdf.fonts.type1 import Type1

#: Outlines shorter than this (bytes) are too alike: a dot is a period, a bullet, the dot of an i.
_TELLING = 16
#: So many bytes of an outline are compared.
_COMPARED = 240

_NUMBERED = re.compile(r"^([A-Za-z]{1,3}|uni|char|glyph|cid|index)0*(\d+)$")
_HEXED = re.compile(r"^([A-Za-z]{1,2})([0-9A-Fa-f]{2,4})$")

#: TeX's text encoding OT1 where it is not ASCII.
_TEX = {
    11: "ff", 12: "fi", 13: "fl", 14: "ffi", 15: "ffl", 16: "\u0131", 17: "\u0237", 18: "`", 19: "\u00b4",
    20: "\u02c7", 21: "\u02d8", 22: "\u00af", 23: "\u02da", 24: "\u00b8", 25: "\u00df", 26: "\u00e6", 27: "\u0153",
    28: "\u00f8", 29: "\u00c6", 30: "\u0152", 31: "\u00d8", 34: "\u201d", 39: "\u2019", 60: "\u00a1", 62: "\u00bf",
    92: "\u201c", 95: "\u02d9", 96: "\u2018", 123: "\u2013", 124: "\u2014", 125: "\u02dd", 126: "\u02dc",
    127: "\u00a8",
}  # fmt: skip


def outline(program: Program | None, gid: int | None, name: str | None) -> bytes | None:
    """The bytes that draw a glyph, if there are enough of them to tell it from others."""
    data = b""
    if isinstance(program, Sfnt) and gid:
        loca = program.loca
        if gid + 1 < len(loca):
            start = program.tables.get(b"glyf", (0, 0))[0]
            data = program.data[start + loca[gid] : start + loca[gid + 1]]
            if data[:2] >= b"\x80":  # made of other glyphs, whose numbers mean nothing elsewhere
                return None
            data = data.rstrip(b"\0")
    elif isinstance(program, Cff) and gid is not None and gid < len(program.charstrings):
        data = program.charstrings[gid]
    elif isinstance(program, Type1) and name:
        try:
            data = program.charstring(name, _COMPARED)
        except BadFont:
            return None
    return data if len(data) >= _TELLING else None


def prefix_of(name: str, code: int) -> str | None:
    """What stands before the number in the name of a glyph named by its own code; None for other names."""
    if (found := _NUMBERED.match(name)) is not None and int(found[2]) == code:
        return found[1]
    if (found := _HEXED.match(name)) is not None and int(found[2], 16) == code:
        return found[1] + "#"
    return None


def reads_as_text(strings: Iterable[bytes]) -> bool:
    """Whether strings of character codes, read as ASCII, look like text of a Latin script: mostly letters, with vowels
    and the frequent letters as frequent as they are in any language that is written so."""
    data = b" ".join(strings)
    letters = [c | 32 for c in data if 65 <= c <= 90 or 97 <= c <= 122]
    others = sum(c > 126 or (c < 32 and c not in (9, 10, 13, 11, 12, 14, 15)) for c in data)
    if len(letters) < 24 or others > 0.02 * len(data):
        return False
    if len(letters) < 0.55 * sum(c > 32 for c in data):
        return False
    vowels = sum(c in b"aeiouy" for c in letters) / len(letters)
    frequent = sum(c in b"etaoinsrhldcu" for c in letters) / len(letters)
    rare = sum(c in b"jqxzwkv" for c in letters) / len(letters)
    return 0.25 <= vowels <= 0.6 and frequent >= 0.68 and rare <= 0.12


def text_by_code(code: int, tex: bool) -> str | None:
    """The text of a code that stands for itself: ASCII, or TeX's encoding of it."""
    if tex and code in _TEX:
        return _TEX[code]
    return chr(code) if 32 <= code <= 126 else None


def is_tex(codes: Iterable[int]) -> bool:
    """Whether codes use the ligatures that OT1 has where ASCII has control characters."""
    return any(11 <= code <= 15 for code in codes)


def are_characters(codes: set[int]) -> bool:
    """Whether codes that glyphs are named by are ASCII: all printable, and picked from here and there. Codes that a
    program counted up from some start leave no gaps."""
    if len(codes) < 10 or min(codes) < 32 or max(codes) > 126:
        return False
    return len(codes) < 0.75 * (max(codes) - min(codes) + 1)


def is_picture(codes: set[int], strings: set[bytes], size: int, counted: bool) -> bool:
    """Whether the unknown glyphs of a font are drawings rather than text: very few, or few and each shown alone.
    `counted`: their names only count them, and those of other fonts on,
    as where text was taken apart."""
    if counted or len(codes) > 12:
        return False
    if len(codes) <= 4:
        return True
    return max((len(s) // size for s in strings if any(c in codes for c in _units(s, size))), default=0) <= 2


def _units(text: bytes, size: int) -> list[int]:
    return [int.from_bytes(text[i : i + size]) for i in range(0, len(text) - size + 1, size)]
