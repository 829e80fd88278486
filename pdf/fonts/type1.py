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
        try:
            self.scale = float(matrix[1]) * 1000 if matrix else 1.0
        except ValueError as error:
            raise BadFont("its matrix is none") from error
        if not 1e-3 < abs(self.scale) < 1e3:
            raise BadFont("its matrix leaves nothing of its glyphs")

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
        plain = self.charstring(name, 20)
        value = _sidebearing_width(plain) if plain else None
        return None if value is None else value * self.scale

    def rewritten(self, widths: dict[str, float], blanks: dict[str, float]) -> tuple[bytes, bytes, bytes]:
        """The program in its three parts (clear, encrypted, zeros) with other advances, and blank glyphs added.

        `widths` and `blanks` are glyph name → advance in 1/1000 em. Raises BadFont."""
        data = self._private
        skip = _LEN_IV.search(data)
        lead = int(skip[1]) if skip else 4
        edits: list[tuple[int, int, bytes]] = []
        for name, width in widths.items():
            at, length = self._strings[name]
            raw = data[at : at + length]
            plain = raw if lead < 0 else _decrypted_short(raw, 4330)[lead:]
            end = plain.find(b"\x0d", 0, 16)
            stack = _leading_numbers(plain[:end]) if end > 0 else []
            if len(stack) != 2:
                raise BadFont("a glyph whose advance cannot be set")
            changed = _number(stack[0]) + _number(round(width / self.scale)) + plain[end:]
            body = changed if lead < 0 else encrypted(bytes(lead) + changed, 4330)
            head = data.rfind(b"/", 0, at)
            edits.append((head, at + length, _entry(data[head:at], len(body)) + body))
        at = data.find(b"/CharStrings")
        begin = data.find(b"begin", at)
        first = data.find(b"/", begin)
        model = min(self._strings.values())
        opening = data[data.rfind(b"/", 0, model[0]) : model[0]]
        closing = data[model[0] + model[1] : data.find(b"/", model[0] + model[1])]
        put = b""
        for name, width in blanks.items():
            plain = _number(0) + _number(round(width / self.scale)) + b"\x0d\x0e"
            body = plain if lead < 0 else encrypted(bytes(lead) + plain, 4330)
            put += b"/" + name.encode("latin-1") + b" " + _entry(opening, len(body)).split(b" ", 1)[1] + body + closing
        edits.append((first, first, put))
        count = re.compile(rb"/CharStrings\s+(\d+)").search(data, at)
        if count is None:
            raise BadFont("no count of CharStrings")
        number = str(int(count[1]) + len(blanks)).encode()
        edits.append((count.start(1), count.end(1), number))
        for start, end, new in sorted(edits, reverse=True):
            data = data[:start] + new + data[end:]
        clear = self.clear + b"eexec\n"
        return clear, encrypted(b"\0\0\0\0" + data, 55665), (b"0" * 64 + b"\n") * 8 + b"cleartomark\n"


def _entry(opening: bytes, length: int) -> bytes:
    """`/name 123 RD ` with another length."""
    return re.sub(rb"\s\d+\s", b" %d " % length, opening, count=1)


def _leading_numbers(data: bytes) -> list[int]:
    stack, at = [], 0
    while at < len(data):
        byte = data[at]
        if byte < 32 or byte == 255:
            return []
        if byte < 247:
            stack.append(byte - 139)
            at += 1
        else:
            sign, base = (1, 247) if byte < 251 else (-1, 251)
            stack.append(sign * ((byte - base) * 256 + data[at + 1] + 108))
            at += 2
    return stack


def _number(value: int) -> bytes:
    if -107 <= value <= 107:
        return bytes([value + 139])
    if 108 <= value <= 1131:
        return bytes([247 + (value - 108) // 256, (value - 108) % 256])
    if -1131 <= value <= -108:
        return bytes([251 + (-value - 108) // 256, (-value - 108) % 256])
    return b"\xff" + value.to_bytes(4, signed=True)


def encrypted(data: bytes, key: int) -> bytes:
    """Type 1 encryption (chapter 7 of the format)."""
    out = bytearray()
    for byte in data:
        cipher = byte ^ key >> 8
        key = (cipher + key) * _C1 + _C2 & 0xFFFF
        out.append(cipher)
    return bytes(out)


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
