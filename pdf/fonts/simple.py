"""Simple fonts (Type 1, TrueType): what each code means, and what of it is missing (ISO 32000-1 9.6)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pikepdf

from pdf.fonts import encodings
from pdf.fonts.cff import BadFont, Cff
from pdf.fonts.cmaps import CMap, parse
from pdf.fonts.truetype import Sfnt
from pdf.fonts.type1 import Type1
from pdf.fonts.usage import FontUse
from pdf.streams import decoded

Program = Type1 | Cff | Sfnt
_SYMBOLIC, _NONSYMBOLIC = 4, 32


def number(value: object, default: float = 0.0) -> float:
    """A number of the file, or the default for what is none."""
    if isinstance(value, bool) or value is None:
        return default
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default


def plain_name(base: str) -> str:
    """A font name without subset prefix."""
    return base[7:] if len(base) > 7 and base[6] == "+" and base[:6].isalpha() else base


@dataclass(frozen=True)
class Encoding:
    """An /Encoding entry: the base encoding named (None: the font's own) and the differences; `entry` is what kind of
    thing it is: name | dictionary | none."""

    entry: str
    base: str | None
    differences: dict[int, str]


def read_encoding(font: pikepdf.Object) -> Encoding:
    """The /Encoding of a simple font as it stands."""
    entry = font.get("/Encoding")
    if isinstance(entry, pikepdf.Name):
        return Encoding("name", str(entry)[1:], {})
    if not isinstance(entry, pikepdf.Dictionary):
        return Encoding("none", None, {})
    base = entry.get("/BaseEncoding")
    differences: dict[int, str] = {}
    listed = entry.get("/Differences")
    code = 0
    if isinstance(listed, pikepdf.Array):
        for item in listed:
            if isinstance(item, pikepdf.Name):
                differences[code] = str(item)[1:]
                code += 1
            elif isinstance(item, int):
                code = item
    return Encoding("dictionary", str(base)[1:] if isinstance(base, pikepdf.Name) else None, differences)


class SimpleFont:
    """A simple font as the document uses it."""

    def __init__(self, use: FontUse) -> None:
        self.use = use
        self.font = use.font
        self.name = plain_name(use.name)
        self.seen = set(b"".join(use.seen))
        self.codes = self.seen | set(b"".join(use.unseen))
        descriptor = self.font.get("/FontDescriptor")
        self.descriptor = descriptor if isinstance(descriptor, pikepdf.Dictionary) else None
        flags = self.descriptor.get("/Flags") if self.descriptor is not None else None
        self.flags = int(number(flags))
        self.is_truetype = self.font.get("/Subtype") == pikepdf.Name.TrueType
        self.encoding = read_encoding(self.font)

    @functools.cached_property
    def file(self) -> tuple[str, pikepdf.Object] | None:
        """The embedded program's key in the descriptor and its stream."""
        if self.descriptor is not None:
            for key in ("/FontFile", "/FontFile2", "/FontFile3"):
                stream = self.descriptor.get(key)
                if isinstance(stream, pikepdf.Stream):
                    return key, stream
        return None

    @functools.cached_property
    def program(self) -> Program | None:
        """The embedded program; None when there is none or it cannot be read."""
        if self.file is None:
            return None
        return read_program(decoded(self.file[1]))

    @functools.cached_property
    def names(self) -> dict[int, str]:
        """Code → glyph name, from the encoding, the program's own, or the one such a font has by convention."""
        base = encodings.named(self.encoding.base) if self.encoding.base else None
        if self.file is None and self.name.lower().startswith("wingdings"):
            base = None  # whatever the file says: no reader shows letters for it
        if base is None:
            base = self._own_encoding()
        return base | self.encoding.differences

    def _own_encoding(self) -> dict[int, str]:
        if self.file is not None:
            program = self.program
            if isinstance(program, Type1 | Cff):
                return program.encoding
            if isinstance(program, Sfnt):
                return {} if self.flags & _SYMBOLIC else encodings.standard()
        low = self.name.lower()
        if low.startswith("wingdings") and low[9:10] not in ("2", "3"):
            return encodings.wingdings()
        if low.startswith("symbol"):
            return encodings.symbol()
        if "dingbats" in low:
            return encodings.dingbats()
        return encodings.win_ansi() if self.is_truetype else encodings.standard()

    @functools.cached_property
    def unicode(self) -> CMap | None:
        """The ToUnicode CMap."""
        stream = self.font.get("/ToUnicode")
        return parse(decoded(stream)) if isinstance(stream, pikepdf.Stream) else None

    @functools.cached_property
    def mapped(self) -> dict[int, str]:
        """Code → text as the ToUnicode CMap has it, whatever length its codes are written in."""
        return {code: text for (code, _), text in self.unicode.texts.items()} if self.unicode else {}

    @functools.cached_property
    def glyph_ids(self) -> dict[int, int]:
        """For an embedded TrueType program: code → glyph, as viewers apply ISO 32000-1 9.6.6.4."""
        program = self.program
        if not isinstance(program, Sfnt):
            return {}
        out: dict[int, int] = {}
        named = self.encoding.entry != "none" and (self.encoding.base is not None or self.encoding.differences)
        microsoft, mac = program.cmap(3, 1), program.cmap(1, 0)
        symbol = program.cmap(3, 0)
        by_name = {name: gid for gid, name in reversed(program.glyph_names.items())} if named else {}
        mac_codes = {name: code for code, name in encodings.mac_roman().items()} if named else {}
        for code in self.codes:
            gid = 0
            if named and not (self.flags & _SYMBOLIC and symbol is not None and microsoft is None):
                name = self.names.get(code)
                text = encodings.text_of_name(name) if name else None
                if microsoft is not None and text and len(text) == 1:
                    gid = microsoft.get(ord(text), 0)
                if not gid and mac is not None and name in mac_codes:
                    gid = mac.get(mac_codes[name], 0)
                if not gid and name:
                    gid = by_name.get(name, 0)
            if not gid and symbol is not None:
                gid = next((g for high in (0xF000, 0, 0xF100, 0xF200) if (g := symbol.get(high + code))), 0)
            if not gid and mac is not None:
                gid = mac.get(code, 0)
            if not gid and not named and microsoft is not None:
                gid = microsoft.get(code, 0) or microsoft.get(0xF000 + code, 0)
            out[code] = gid
        return out

    def width(self, code: int) -> float | None:
        """The advance the file gives a code, in 1/1000 em; None when it gives none."""
        widths = self.font.get("/Widths")
        if not isinstance(widths, pikepdf.Array):
            return None
        place = code - int(number(self.font.get("/FirstChar")))
        if 0 <= place < len(widths):
            return number(widths[place])
        return number(self.descriptor.get("/MissingWidth")) if self.descriptor is not None else 0.0

    def text(self, code: int) -> str | None:
        """The Unicode text of a code from the font's own data, ToUnicode left aside; None when it does not tell."""
        name = self.names.get(code)
        if name:
            found = encodings.text_of_name(name)
            if found is None and ("dingbats" in self.name.lower() or self.name.lower().startswith("d050000")):
                found = encodings.dingbat_texts().get(name)
            if found and encodings.allowed(found):
                return found
        program = self.program if self.is_truetype or self.file is not None else None
        if isinstance(program, Sfnt):
            gid = self.glyph_ids.get(code, 0)
            if gid:
                point = program.characters.get(gid)
                if point is not None and not 0xE000 <= point <= 0xF8FF:
                    return chr(point) if encodings.allowed(chr(point)) else None
                return encodings.text_of_name(program.glyph_names.get(gid, ""))
        return None


def read_program(data: bytes) -> Program | None:
    """A font program of whatever kind; None when it is none that is known, or broken."""
    try:
        if data[:4] in (b"\0\1\0\0", b"true", b"ttcf", b"typ1"):
            return Sfnt(data)
        if data[:4] == b"OTTO":
            return Cff(Sfnt(data).table(b"CFF "))
        if data[:2] in (b"%!", b"\x80\x01"):
            return Type1(data)
        if data[:1] == b"\x01":
            return Cff(data)
    except BadFont:
        return None
    return None
