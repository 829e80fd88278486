"""Type 3 fonts: glyphs that are little drawings, known by name only (ISO 32000-1 9.6.5)."""

from __future__ import annotations

import pikepdf

from pdf.fonts import encodings
from pdf.fonts.cmaps import parse
from pdf.fonts.simple import plain_name, read_encoding
from pdf.fonts.usage import FontUse
from pdf.streams import decoded


class Type3Font:
    """A Type 3 font as the document uses it."""

    def __init__(self, use: FontUse) -> None:
        self.use = use
        self.font = use.font
        self.name = plain_name(use.name) if use.name != "(no name)" else f"Type 3 font {use.font.objgen[0]}"
        self.codes = set(b"".join(use.strings))
        encoding = read_encoding(use.font)
        base = encodings.named(encoding.base) if encoding.base else None
        self.names = (base or {}) | encoding.differences
        stream = use.font.get("/ToUnicode")
        self.mapped: dict[int, str] = {}
        if isinstance(stream, pikepdf.Stream):
            self.mapped = {code: text for (code, _), text in parse(decoded(stream)).texts.items()}

    def text(self, code: int) -> str | None:
        """The Unicode text of a code by its glyph's name; None when the name is no word for a character."""
        name = self.names.get(code)
        return encodings.text_of_name(name) if name else None
