"""Compact Font Format, read and written no further than repairs need (Adobe Technical Notes 5176, 5177).

fontTools reads all of a font; here a font is a handful of byte ranges: enough to list glyphs, read their widths, and
copy single glyphs with their subroutines into a new font, in well under a millisecond.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from pdf.fonts import names

Operand = float | int


class BadFont(Exception):
    """The font program does not follow its format."""


@dataclass
class Index:
    """An INDEX: where each of its items lies in the data."""

    data: bytes
    offsets: tuple[int, ...]
    end: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> bytes:
        return self.data[self.offsets[number] : self.offsets[number + 1]]


@dataclass
class Private:
    """The parts of a Private DICT that matter here."""

    default_width: float = 0.0
    nominal_width: float = 0.0
    subrs: Index | None = None
    raw: dict[int, list[Operand]] = field(default_factory=dict)


_EMPTY = Index(b"", (0,), 0)


class Cff:
    """A CFF font program. Raises BadFont where it does not follow the format."""

    def __init__(self, data: bytes) -> None:
        try:
            self._read(data)
        except (IndexError, struct.error, KeyError, ValueError) as error:
            raise BadFont(str(error)) from error

    def _read(self, data: bytes) -> None:
        self.data = data
        if len(data) < 4 or data[0] != 1:
            raise BadFont("no CFF version 1")
        tops = read_index(data, read_index(data, data[2]).end)
        self.strings = read_index(data, tops.end)
        self.gsubrs = read_index(data, self.strings.end)
        self.top = _dict(tops[0])
        self.is_cid = (12 << 8 | 30) in self.top
        self.charstrings = read_index(data, int(self.top[17][0]))
        self.privates: list[Private] = []
        self.font_dicts: list[dict[int, list[Operand]]] = []
        self._select: bytes | None = None
        if self.is_cid:
            array = read_index(data, int(self.top[12 << 8 | 36][0]))
            self.font_dicts = [_dict(array[i]) for i in range(len(array))]
            self.privates = [self._private(entry) for entry in self.font_dicts]
            self._select = self._fd_select(int(self.top[12 << 8 | 37][0]))
        else:
            self.privates = [self._private(self.top)]
        matrix = self.top.get(12 << 8 | 7)
        self.scale = float(matrix[0]) * 1000 if matrix and len(matrix) == 6 else 1.0

    def _private(self, owner: dict[int, list[Operand]]) -> Private:
        if 18 not in owner or len(owner[18]) < 2:
            return Private()
        size, at = int(owner[18][0]), int(owner[18][1])
        raw = _dict(self.data[at : at + size])
        subrs = read_index(self.data, at + int(raw[19][0])) if raw.get(19) else None
        return Private(float((raw.get(20) or [0])[0]), float((raw.get(21) or [0])[0]), subrs, raw)

    def _fd_select(self, at: int) -> bytes:
        count = len(self.charstrings)
        if self.data[at] == 0:
            return self.data[at + 1 : at + 1 + count]
        ranges = struct.unpack_from(">H", self.data, at + 1)[0]
        out = bytearray()
        for i in range(ranges):
            first, fd, following = struct.unpack_from(">HBH", self.data, at + 3 + 3 * i)
            out += bytes([fd]) * (following - first)
        return bytes(out)

    @functools.cached_property
    def charset(self) -> list[int]:
        """SID or CID of each glyph."""
        count = len(self.charstrings)
        at = int((self.top.get(15) or [0])[0])
        if at <= 2 and not self.is_cid:
            return _predefined_charset(at, count)
        if at <= 2:
            return list(range(count))
        data, out = self.data, [0]
        kind = data[at]
        at += 1
        if kind == 0:
            out += struct.unpack_from(f">{count - 1}H", data, at)
            return out
        size = 1 if kind == 1 else 2
        while len(out) < count:
            first = struct.unpack_from(">H", data, at)[0]
            left = int.from_bytes(data[at + 2 : at + 2 + size])
            if at + 2 + size > len(data):
                raise BadFont("charset ends early")
            out += range(first, first + left + 1)
            at += 2 + size
        return out[:count]

    @functools.cached_property
    def names(self) -> list[str]:
        """Glyph names; of a CID-keyed font none."""
        if self.is_cid:
            return []
        standard = standard_strings()
        more = [self.strings[i].decode("latin-1") for i in range(len(self.strings))]
        known = [*standard, *more]
        return [known[sid] if sid < len(known) else f"glyph{gid}" for gid, sid in enumerate(self.charset)]

    @functools.cached_property
    def by_name(self) -> dict[str, int]:
        table: dict[str, int] = {}
        for gid, name in enumerate(self.names):
            table.setdefault(name, gid)
        return table

    @functools.cached_property
    def by_cid(self) -> dict[int, int]:
        """CID → glyph index. A font that is not CID-keyed has its glyph indices for CIDs (ISO 32000-1 9.7.4.2)."""
        if not self.is_cid:
            return {i: i for i in range(len(self.charstrings))}
        return {cid: gid for gid, cid in reversed(list(enumerate(self.charset)))}

    @functools.cached_property
    def encoding(self) -> dict[int, str]:
        """The built-in encoding: code → glyph name."""
        from pdf.fonts.encodings import standard

        at = int((self.top.get(16) or [0])[0])
        if at == 0:
            return standard()
        if at == 1:
            return {}
        listed, data = self.names, self.data
        kind, count = data[at], data[at + 1]
        table: dict[int, str] = {}
        gid, place = 1, at + 2
        for i in range(count):
            if kind & 127 == 0:
                first, left = data[place + i], 0
            else:
                first, left = data[place + 2 * i], data[place + 2 * i + 1]
            for code in range(first, first + left + 1):
                if gid < len(listed):
                    table[code] = listed[gid]
                gid += 1
        if kind & 128:
            at = place + count * (1 if kind & 127 == 0 else 2)
            standard_names = standard_strings()
            for i in range(data[at]):
                code, sid = struct.unpack_from(">BH", data, at + 1 + 3 * i)
                limit = len(standard_names)
                table[code] = standard_names[sid] if sid < limit else self.strings[sid - limit].decode("latin-1")
        return table

    def private_of(self, gid: int) -> Private:
        number = self._select[gid] if self._select is not None and gid < len(self._select) else 0
        return self.privates[number] if number < len(self.privates) else Private()

    def width(self, gid: int) -> float:
        """The advance of a glyph in 1/1000 em."""
        private = self.private_of(gid)
        own, _ = self.first_operands(self.charstrings[gid], private)
        return (private.default_width if own is None else private.nominal_width + own) * self.scale

    def first_operands(self, string: bytes, private: Private) -> tuple[float | None, bool]:
        """(the width operand of a charstring or None, whether it stands in the charstring itself at its start)."""
        stack: list[float] = []
        pending: list[tuple[bytes, int]] = [(string, 0)]
        plain = True
        for _ in range(2000):
            if not pending:
                return None, plain
            data, at = pending.pop()
            if at >= len(data):
                continue
            byte = data[at]
            if byte >= 32 or byte == 28:
                value, at = read_number(data, at)
                if not stack:
                    plain = not pending
                stack.append(value)
                pending.append((data, at))
                continue
            at += 1
            if byte in (10, 29):
                subrs = private.subrs if byte == 10 else self.gsubrs
                number = int(stack.pop()) + bias(subrs) if stack and subrs is not None else -1
                pending.append((data, at))
                if subrs is not None and 0 <= number < len(subrs) and len(pending) < 12:
                    pending.append((subrs[number], 0))
                continue
            if byte == 11:
                continue
            count = len(stack)
            if byte in (1, 3, 18, 19, 20, 23):
                has = count % 2 == 1
            elif byte == 21:
                has = count > 2
            elif byte in (4, 22):
                has = count > 1
            elif byte == 14:
                has = count in (1, 5)
            else:
                has = False
            return (stack[0] if has else None), plain
        raise BadFont("a charstring without end")

    def called(self, gids: Iterable[int]) -> tuple[set[int], set[int]]:
        """The local and global subroutines that glyphs of a name-keyed font call."""
        local: set[int] = set()
        shared: set[int] = set()
        for gid in gids:
            self._trace(self.charstrings[gid], local, shared, [0, 0, 0], 0)
        return local, shared

    def _trace(self, data: bytes, local: set[int], shared: set[int], state: list[int], depth: int) -> None:
        """Run over a charstring for its calls. `state`: operands on the stack, the last of them, hints so far (they
        say how long the masks are)."""
        count, last, hints = state
        at, length = 0, len(data)
        while at < length:
            byte = data[at]
            at += 1
            if byte >= 32:
                count += 1
                if byte < 247:
                    last = byte - 139
                elif byte < 251:
                    last = (byte - 247) * 256 + data[at] + 108
                    at += 1
                elif byte < 255:
                    last = (251 - byte) * 256 - data[at] - 108
                    at += 1
                else:
                    at += 4
            elif byte == 28:
                count += 1
                last = int.from_bytes(data[at : at + 2], signed=True)
                at += 2
            elif byte == 10 or byte == 29:
                subrs, seen = (self.privates[0].subrs, local) if byte == 10 else (self.gsubrs, shared)
                number = last + (bias(subrs) if subrs is not None else 0)
                if subrs is None or count < 1 or depth > 10 or not 0 <= number < len(subrs):
                    raise BadFont("a call to no subroutine")
                seen.add(number)
                state[:] = count - 1, 0, hints
                self._trace(subrs[number], local, shared, state, depth + 1)
                count, last, hints = state
            elif byte == 11:
                break
            else:
                if byte in (1, 3, 18, 23):
                    hints += count // 2
                elif byte in (19, 20):
                    hints += count // 2
                    at += (hints + 7) // 8
                elif byte == 12:
                    at += 1
                count = 0
        state[:] = count, last, hints


def read_number(data: bytes, at: int) -> tuple[float, int]:
    byte = data[at]
    if byte == 28:
        return struct.unpack_from(">h", data, at + 1)[0], at + 3
    if byte < 247:
        return byte - 139, at + 1
    if byte < 251:
        return (byte - 247) * 256 + data[at + 1] + 108, at + 2
    if byte < 255:
        return -(byte - 251) * 256 - data[at + 1] - 108, at + 2
    return struct.unpack_from(">i", data, at + 1)[0] / 65536, at + 5


def bias(subrs: Index) -> int:
    count = len(subrs)
    return 107 if count < 1240 else 1131 if count < 33900 else 32768


def read_index(data: bytes, at: int) -> Index:
    count = struct.unpack_from(">H", data, at)[0]
    if count == 0:
        return Index(data, (0,), at + 2)
    size = data[at + 2]
    if not 1 <= size <= 4:
        raise BadFont("an INDEX with a wrong offset size")
    start = at + 3
    base = start + (count + 1) * size - 1
    table = data[start : start + (count + 1) * size]
    if len(table) < (count + 1) * size:
        raise BadFont("an INDEX that ends early")
    if size == 1:
        raw: tuple[int, ...] = tuple(table)
    elif size == 2:
        raw = struct.unpack(f">{count + 1}H", table)
    elif size == 4:
        raw = struct.unpack(f">{count + 1}I", table)
    else:
        raw = tuple(int.from_bytes(table[i : i + 3]) for i in range(0, len(table), 3))
    offsets = tuple(base + offset for offset in raw)
    if offsets[-1] > len(data) or offsets[-1] < offsets[0]:
        raise BadFont("an INDEX that points outside")
    return Index(data, offsets, offsets[-1])


_NIBBLES = "0123456789.EE -"


def _dict(data: bytes) -> dict[int, list[Operand]]:
    out: dict[int, list[Operand]] = {}
    operands: list[Operand] = []
    at = 0
    while at < len(data):
        byte = data[at]
        at += 1
        if byte <= 21:
            key = byte
            if byte == 12:
                key = 12 << 8 | data[at]
                at += 1
            out[key] = operands
            operands = []
        elif byte == 28:
            operands.append(struct.unpack_from(">h", data, at)[0])
            at += 2
        elif byte == 29:
            operands.append(struct.unpack_from(">i", data, at)[0])
            at += 4
        elif byte == 30:
            text = ""
            done = False
            while not done:
                pair = data[at]
                at += 1
                for nibble in (pair >> 4, pair & 15):
                    if nibble == 15:
                        done = True
                        break
                    text += "E-" if nibble == 12 else _NIBBLES[nibble]
            operands.append(float(text.replace(" ", "") or 0))
        elif byte >= 32:
            value, at = read_number(data, at - 1)
            operands.append(value)
    return out


def _predefined_charset(kind: int, count: int) -> list[int]:
    if kind == 0:
        return list(range(min(count, 229)))
    numbers = {name: sid for sid, name in enumerate(standard_strings())}
    if kind != 1:
        raise BadFont("the ExpertSubset charset, which nobody was seen to use")
    return [numbers[name] for name in names.EXPERT.split()][:count]


@functools.cache
def standard_strings() -> tuple[str, ...]:
    """The 391 standard strings."""
    return tuple(names.CFF_STRINGS.split())
