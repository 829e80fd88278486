"""Type 1 font programs, read for their encoding, glyph names and widths (Adobe Type 1 Font Format)."""

from __future__ import annotations

import functools
import re

import numpy as np

from pdf.fonts.cff import BadFont

_DUP = re.compile(rb"dup\s+(\d+#)?([0-9A-Fa-f]+)\s*/([^\s/\[\](){}<>]+)\s+put")
_CHARSTRING = re.compile(rb"/([^\s/\[\](){}<>]+)\s+(\d+)\s+(?:RD|-\||[^\s]{1,4})[ ]")
_MATRIX = re.compile(rb"/FontMatrix\s*\[\s*([-+.0-9eE]+)")
_LEN_IV = re.compile(rb"/lenIV\s+(-?\d+)")
_C1, _C2 = 52845, 22719


class Type1:
    """A Type 1 font program. Raises BadFont where it does not follow the format."""

    def __init__(self, data: bytes) -> None:
        if data[:1] == b"\x80":
            data = _unwrapped(data)
        start = data.find(b"eexec")
        if start < 0:
            raise BadFont("no eexec part")
        self.clear = data[:start]
        at = start + 5
        while at < len(data) and data[at] in b" \t\r\n":
            at += 1
        self._coded = data[at:]
        matrix = _MATRIX.search(self.clear)
        self.scale = float(matrix[1]) * 1000 if matrix else 1.0

    @functools.cached_property
    def encoding(self) -> dict[int, str]:
        """The built-in encoding: code → glyph name."""
        from pdf.fonts.encodings import standard

        at = self.clear.find(b"/Encoding")
        if at < 0 or self.clear[at + 9 : at + 40].lstrip().startswith(b"StandardEncoding"):
            return standard()
        table = {}
        for radix, code, name in _DUP.findall(self.clear, at):
            try:
                number = int(code, int(radix[:-1]) if radix else 10)
            except ValueError:
                continue
            if 0 <= number <= 255 and name != b".notdef":
                table[number] = name.decode("latin-1")
        return table

    @functools.cached_property
    def _private(self) -> bytes:
        coded = self._coded
        if coded[:4].isalnum() and all(c in b"0123456789abcdefABCDEF \t\r\n" for c in coded[:8]):
            digits = re.match(rb"[0-9A-Fa-f\s]*", coded)
            text = re.sub(rb"\s", b"", digits[0] if digits else b"")
            coded = bytes.fromhex(text[: len(text) // 2 * 2].decode())
        return decrypted(coded, 55665)[4:]

    @functools.cached_property
    def _strings(self) -> dict[str, tuple[int, int]]:
        """Glyph name → where its encrypted charstring lies in the private part."""
        data = self._private
        at = data.find(b"/CharStrings")
        if at < 0:
            raise BadFont("no CharStrings")
        table: dict[str, tuple[int, int]] = {}
        search = _CHARSTRING.search
        at = data.find(b"begin", at)
        while at >= 0 and (found := search(data, at)) is not None:
            length = int(found[2])
            table.setdefault(found[1].decode("latin-1"), (found.end(), length))
            at = found.end() + length
        return table

    @property
    def names(self) -> frozenset[str]:
        """The names of the glyphs there are."""
        return frozenset(self._strings)

    def charstring(self, name: str, most: int = 1 << 16) -> bytes:
        """The decrypted charstring of a glyph (its first `most` bytes); nothing when there is no such glyph."""
        place = self._strings.get(name)
        if place is None:
            return b""
        skip = _LEN_IV.search(self._private)
        lead = int(skip[1]) if skip else 4
        raw = self._private[place[0] : place[0] + min(place[1], most + max(lead, 0))]
        return raw if lead < 0 else _decrypted_short(raw, 4330)[lead:]

    def width(self, name: str) -> float | None:
        """The advance of a glyph in 1/1000 em; None when there is no such glyph, or it does not say."""
        plain = self.charstring(name, 64)
        value = _sidebearing_width(plain) if plain else None
        return None if value is None else value * self.scale


def _sidebearing_width(data: bytes) -> float | None:
    stack: list[float] = []
    at = 0
    while at < len(data):
        byte = data[at]
        at += 1
        if byte >= 32:
            if byte < 247:
                stack.append(byte - 139)
            elif byte < 255:
                if at >= len(data):
                    return None
                sign, base = (1, 247) if byte < 251 else (-1, 251)
                stack.append(sign * ((byte - base) * 256 + data[at] + 108))
                at += 1
            else:
                stack.append(int.from_bytes(data[at : at + 4], signed=True))
                at += 4
        elif byte == 13:  # hsbw
            return stack[1] if len(stack) >= 2 else None
        elif byte == 12:
            what = data[at] if at < len(data) else 0
            at += 1
            if what == 7:  # sbw
                return stack[2] if len(stack) >= 4 else None
            if what == 12 and len(stack) >= 2 and stack[-1]:  # div
                divisor = stack.pop()
                stack[-1] = stack[-1] / divisor
            else:
                return None
        else:
            return None
    return None


def decrypted(data: bytes, key: int) -> bytes:
    """Type 1 decryption (chapter 7 of the format) of the whole private part at once.

    The key before byte i is c1^i (key + sum over j < i of (c_j + c2/c1) c1^(-j)) modulo 2^16, a running sum.
    """
    cipher = np.frombuffer(data, np.uint8).astype(np.uint32)
    count = len(cipher)
    if count == 0:
        return b""
    inverse = pow(_C1, -1, 1 << 16)
    up, down = _powers(_C1, count + 1), _powers(inverse, count + 1)
    terms = (cipher + np.uint32(_C2 * inverse & 0xFFFF)) * down[:count] & np.uint32(0xFFFF)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)))[:count]
    keys = ((sums + np.uint64(key)) & np.uint64(0xFFFF)).astype(np.uint32) * up[:count] & np.uint32(0xFFFF)
    return bytes((cipher ^ (keys >> np.uint32(8))).astype(np.uint8))


def _powers(base: int, count: int) -> np.ndarray:
    """base^0 … base^(count-1) modulo 2^16."""
    out = np.ones(count, np.uint32)
    filled, step = 1, base
    while filled < count:
        take = min(filled, count - filled)
        out[filled : filled + take] = out[:take] * np.uint32(step) & np.uint32(0xFFFF)
        filled += take
        step = step * step & 0xFFFF
    return out


def _decrypted_short(data: bytes, key: int) -> bytes:
    out = bytearray()
    for byte in data:
        out.append(byte ^ key >> 8)
        key = (byte + key) * _C1 + _C2 & 0xFFFF
    return bytes(out)


def _unwrapped(data: bytes) -> bytes:
    """The segments of a PFB file joined."""
    out, at = b"", 0
    while at + 6 <= len(data) and data[at] == 0x80 and data[at + 1] in (1, 2):
        length = int.from_bytes(data[at + 2 : at + 6], "little")
        out += data[at + 6 : at + 6 + length]
        at += 6 + length
    return out
