"""One text-showing operator cut into several that paint the same at the same place (ISO 32000-1 9.4.3).

The text position moves on by itself from one to the next, so only the strings are cut, between two character codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pikepdf

from pdf.content import scanner
from pdf.content.painting import Stream
from pdf.content.scanner import Operator

_TOKEN = re.compile(
    rb"\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.)*\))*\))*\)|<[^<>]*+>|[-+.0-9]+|\[|\]", re.DOTALL
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(\r\n|\r|\n)|(.))", re.DOTALL)
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_CODESPACE = re.compile(rb"begincodespacerange(.*?)endcodespacerange", re.DOTALL)
_HEX = re.compile(rb"<([0-9A-Fa-f\s]*)>")
#: Predefined CMaps whose codes all have two bytes (ISO 32000-1 table 118).
_TWO_BYTES = re.compile(r"Identity-[HV]|Uni\w+-UCS2-[HV]|UniJIS-UCS2-HW-[HV]|[HV]")


class Splitter:
    """Cuts the text operators of one stream, painted with `resources`."""

    def __init__(self, stream: Stream, resources: pikepdf.Object) -> None:
        self.stream = stream
        fonts = resources.get("/Font")
        self._fonts = fonts if isinstance(fonts, pikepdf.Dictionary) else pikepdf.Dictionary()
        self._widths: dict[str, int | None] = {}
        self._used: dict[int, str] | None = None

    def cut(self, op: Operator, parts: Sequence[tuple[int, int]]) -> tuple[bytes, list[bytes]] | None:
        """(what comes before, one piece of content for each range of codes); None where the codes cannot be counted."""
        width = self._width(op)
        if width is None:
            return None
        data = self.stream.data[op.start : op.at]
        found = list(_TOKEN.finditer(data))
        at, before, elements = _operands(op.name, found)
        if elements is None:
            return None
        pieces: list[list[bytes]] = [[] for _ in parts]
        position = current = 0
        for element in elements:
            if not element.startswith((b"(", b"<")):
                pieces[current].append(element)  # a move of the position goes with what was painted last
                continue
            text = string(element)
            if len(text) % width:
                return None
            codes = [text[i : i + width] for i in range(0, len(text), width)]
            for code in codes:
                while current + 1 < len(parts) and position >= parts[current][1]:
                    current += 1
                if pieces[current] and pieces[current][-1].startswith(b"\0"):
                    pieces[current][-1] += code
                else:
                    pieces[current].append(b"\0" + code)
                position += 1
        if position <= parts[-1][0]:
            return None
        written = [b" ".join([b"["] + [_hex(e) for e in piece] + [b"] TJ"]) for piece in pieces]
        return data[:at] + before, written

    def _width(self, op: Operator) -> int | None:
        if self._used is None:
            self._used = _fonts_used(self.stream.data)
        name = self._used.get(op.at, "")
        if name not in self._widths:
            self._widths[name] = code_width(self._fonts.get("/" + name)) if name else None
        return self._widths[name]


def _operands(name: bytes, found: list[re.Match[bytes]]) -> tuple[int, bytes, list[bytes] | None]:
    """(where the operands begin, what does the rest of the operator's work, strings and numbers to be shown)."""
    if not found:
        return 0, b"", None
    if name == b"TJ":
        opens = next((i for i in range(len(found) - 1, -1, -1) if found[i][0] == b"["), None)
        if opens is None or found[-1][0] != b"]":
            return 0, b"", None
        return found[opens].start(), b"", [m[0] for m in found[opens + 1 : -1]]
    last = found[-1]
    if not last[0].startswith((b"(", b"<")):
        return 0, b"", None
    if name == b'"':
        if len(found) < 3:
            return 0, b"", None
        word, char = found[-3], found[-2]
        return word.start(), word[0] + b" Tw " + char[0] + b" Tc T* ", [last[0]]
    return last.start(), b"T* " if name == b"'" else b"", [last[0]]


def _hex(element: bytes) -> bytes:
    return b"<" + element[1:].hex().encode() + b">" if element.startswith(b"\0") else element


def string(token: bytes) -> bytes:
    """The bytes of a literal or hexadecimal string (ISO 32000-1 7.3.4)."""
    if token.startswith(b"<"):
        digits = bytes(c for c in token[1:-1] if c in b"0123456789abcdefABCDEF")
        return bytes.fromhex((digits + b"0" if len(digits) % 2 else digits).decode())
    return _ESCAPE.sub(_escaped, token[1:-1].replace(b"\r\n", b"\n") if b"\r" in token else token[1:-1])


def _escaped(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes([int(found[1], 8) & 0xFF])
    if found[2]:
        return b""
    return _PLAIN.get(found[3], found[3])


def code_width(font: object) -> int | None:
    """Bytes in a character code of a font; None where codes have several lengths, or it cannot be told."""
    if not isinstance(font, pikepdf.Dictionary):
        return None
    if font.get("/Subtype") != pikepdf.Name.Type0:
        return 1
    encoding = font.get("/Encoding")
    if isinstance(encoding, pikepdf.Name):
        return 2 if _TWO_BYTES.fullmatch(str(encoding)[1:]) else None
    if isinstance(encoding, pikepdf.Stream):
        try:
            cmap = encoding.read_bytes()
        except pikepdf.PdfError:
            return None
        ends = {len(b"".join(h.split())) // 2 for block in _CODESPACE.findall(cmap) for h in _HEX.findall(block)}
        return ends.pop() if len(ends) == 1 else None
    return None


def _fonts_used(data: bytes) -> dict[int, str]:
    """Offset of each text-showing operator → name of the font it paints with."""
    out: dict[int, str] = {}
    font = ""
    stack: list[str] = []
    for op in scanner.operators(data, fonts=True):
        if op.name == b"Tf":
            chosen = scanner.font_operand(data, op)
            font = chosen[0] if chosen else ""
        elif op.name == b"q":
            stack.append(font)
        elif op.name == b"Q":
            font = stack.pop() if stack else font
        elif op.name in (b"Tj", b"TJ", b"'", b'"'):
            out[op.at] = font
    return out
