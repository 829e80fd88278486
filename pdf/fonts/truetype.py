"""TrueType and OpenType files, read and changed table by table (ISO/IEC 14496-22).

Only what repairs need: which glyph a code or character has, how wide it is, whether it is there; and writing the file
again with a table replaced.
"""

from __future__ import annotations

import functools
import struct

from pdf.fonts import names
from pdf.fonts.cff import BadFont

#: (platform, encoding) of subtables whose codes are Unicode values, the best first.
_UNICODE = ((3, 10), (0, 6), (0, 4), (3, 1), (0, 3), (0, 2), (0, 1), (0, 0))


class Sfnt:
    """A TrueType or OpenType font, `number` of a collection. Raises BadFont where it does not follow the format."""

    def __init__(self, data: bytes, number: int = 0) -> None:
        self.data = data
        try:
            start = 0
            if data[:4] == b"ttcf":
                start = struct.unpack_from(">I", data, 12 + 4 * number)[0]
            self.kind, count = struct.unpack_from(">4sH", data, start)
            if self.kind not in (b"\0\1\0\0", b"true", b"OTTO", b"typ1") or count > 200:
                raise BadFont("no TrueType font")
            self.tables: dict[bytes, tuple[int, int]] = {}
            for i in range(count):
                tag, _, offset, length = struct.unpack_from(">4sIII", data, start + 12 + 16 * i)
                if offset <= len(data):
                    self.tables.setdefault(tag, (offset, length))
            self.units: int = struct.unpack_from(">H", data, self._at(b"head") + 18)[0] or 1000
            self.long_loca: bool = struct.unpack_from(">h", data, self._at(b"head") + 50)[0] != 0
            self.glyph_count: int = struct.unpack_from(">H", data, self._at(b"maxp") + 4)[0]
        except (struct.error, IndexError, KeyError) as error:
            raise BadFont(str(error)) from error

    def _at(self, tag: bytes) -> int:
        return self.tables[tag][0]

    def table(self, tag: bytes) -> bytes:
        """The bytes of a table; nothing when it is missing."""
        found = self.tables.get(tag)
        return self.data[found[0] : found[0] + found[1]] if found else b""

    @functools.cached_property
    def _metrics(self) -> tuple[int, bytes]:
        hhea, hmtx = self.table(b"hhea"), self.table(b"hmtx")
        if len(hhea) < 36:
            return 0, b""
        return min(struct.unpack_from(">H", hhea, 34)[0], len(hmtx) // 4), hmtx

    def width(self, gid: int) -> float | None:
        """The advance of a glyph in 1/1000 em; None when the font does not say."""
        count, hmtx = self._metrics
        if count == 0:
            return None
        return float(struct.unpack_from(">H", hmtx, 4 * min(gid, count - 1))[0]) * 1000 / self.units

    @functools.cached_property
    def loca(self) -> tuple[int, ...]:
        """Offsets of the glyphs in `glyf`."""
        raw = self.table(b"loca")
        size = 4 if self.long_loca else 2
        count = min(self.glyph_count + 1, len(raw) // size)
        if self.long_loca:
            return struct.unpack_from(f">{count}I", raw)
        return tuple(2 * v for v in struct.unpack_from(f">{count}H", raw))

    def draws(self, gid: int) -> bool:
        """Whether a glyph has an outline."""
        return gid + 1 < len(self.loca) and self.loca[gid + 1] > self.loca[gid]

    @functools.cached_property
    def cmaps(self) -> list[tuple[int, int, int]]:
        """(platform, encoding, offset in the file) of each cmap subtable."""
        table = self.tables.get(b"cmap")
        if table is None:
            return []
        try:
            count = struct.unpack_from(">H", self.data, table[0] + 2)[0]
            listed = [struct.unpack_from(">HHI", self.data, table[0] + 4 + 8 * i) for i in range(min(count, 64))]
        except struct.error:
            return []
        return [(p, e, table[0] + o) for p, e, o in listed]

    def cmap(self, platform: int, encoding: int) -> dict[int, int] | None:
        """One cmap subtable as code → glyph index (without those that map to glyph 0); None when there is none."""
        for p, e, at in self.cmaps:
            if (p, e) == (platform, encoding):
                return self._subtable(at)
        return None

    @functools.cached_property
    def unicode(self) -> dict[int, int]:
        """Character → glyph index, from the best Unicode subtable."""
        for key in _UNICODE:
            found = self.cmap(*key)
            if found:
                return found
        return {}

    @functools.cached_property
    def characters(self) -> dict[int, int]:
        """Glyph index → character, the lowest that is no private or compatibility one where there are several."""
        table: dict[int, int] = {}
        for code, gid in sorted(self.unicode.items()):
            if gid not in table or (0xE000 <= table[gid] <= 0xF8FF and not 0xE000 <= code <= 0xF8FF):
                table[gid] = code
        return table

    @functools.lru_cache(maxsize=8)  # noqa: B019
    def _subtable(self, at: int) -> dict[int, int]:
        data = self.data
        try:
            kind = struct.unpack_from(">H", data, at)[0]
            if kind == 0:
                return {code: gid for code, gid in enumerate(data[at + 6 : at + 262]) if gid}
            if kind == 4:
                return self._format4(at)
            if kind == 6:
                first, count = struct.unpack_from(">HH", data, at + 6)
                gids = struct.unpack_from(f">{count}H", data, at + 10)
                return {first + i: gid for i, gid in enumerate(gids) if gid}
            if kind == 12:
                return self._format12(at)
        except struct.error:
            return {}
        return {}

    def _format4(self, at: int) -> dict[int, int]:
        data = self.data
        count = struct.unpack_from(">H", data, at + 6)[0] // 2
        ends = struct.unpack_from(f">{count}H", data, at + 14)
        starts = struct.unpack_from(f">{count}H", data, at + 16 + 2 * count)
        deltas = struct.unpack_from(f">{count}H", data, at + 16 + 4 * count)
        place = at + 16 + 6 * count
        offsets = struct.unpack_from(f">{count}H", data, place)
        out: dict[int, int] = {}
        for i in range(count):
            start, end, delta, offset = starts[i], ends[i], deltas[i], offsets[i]
            if start > end or start == 0xFFFF:
                continue
            if offset == 0:
                for code in range(start, end + 1):
                    if gid := (code + delta) & 0xFFFF:
                        out[code] = gid
                continue
            base = place + 2 * i + offset
            length = min(end - start + 1, max((len(data) - base) // 2, 0))
            for n, gid in enumerate(struct.unpack_from(f">{length}H", data, base)):
                if gid and (gid := (gid + delta) & 0xFFFF):
                    out[start + n] = gid
        return out

    def _format12(self, at: int) -> dict[int, int]:
        groups = struct.unpack_from(">I", self.data, at + 12)[0]
        out: dict[int, int] = {}
        for i in range(min(groups, 100_000)):
            start, end, gid = struct.unpack_from(">III", self.data, at + 16 + 12 * i)
            if start > end or end > 0x10FFFF or len(out) > 200_000:
                continue
            for n in range(end - start + 1):
                if gid + n:
                    out[start + n] = gid + n
        return out

    @functools.cached_property
    def glyph_names(self) -> dict[int, str]:
        """Glyph index → name, from `post`; empty when it has none."""
        post = self.table(b"post")
        if len(post) < 34:
            return {}
        kind = struct.unpack_from(">I", post)[0]
        standard = _mac_names()
        if kind == 0x00010000:
            return dict(enumerate(standard))
        if kind != 0x00020000:
            return {}
        count = struct.unpack_from(">H", post, 32)[0]
        if len(post) < 34 + 2 * count:
            return {}
        numbers = struct.unpack_from(f">{count}H", post, 34)
        more: list[str] = []
        at = 34 + 2 * count
        while at < len(post):
            length = post[at]
            more.append(post[at + 1 : at + 1 + length].decode("latin-1"))
            at += 1 + length
        out = {}
        for gid, number in enumerate(numbers):
            if number < 258:
                out[gid] = standard[number]
            elif number - 258 < len(more):
                out[gid] = more[number - 258]
        return out

    def replaced(self, changes: dict[bytes, bytes]) -> bytes:
        """The font file with these tables in place of its own (or added), with fresh check sums."""
        tables = {tag: self.table(tag) for tag in self.tables} | changes
        if b"head" in tables:
            head = bytearray(tables[b"head"])
            head[8:12] = b"\0\0\0\0"
            tables[b"head"] = bytes(head)
        count = len(tables)
        power = max(count.bit_length() - 1, 0)
        span = (1 << power) * 16
        header = struct.pack(">4sHHHH", self.kind, count, span, power, count * 16 - span)
        at = 12 + 16 * count
        directory, body = b"", b""
        for tag in sorted(tables):
            data = tables[tag]
            padded = data + b"\0" * (-len(data) % 4)
            directory += struct.pack(">4sIII", tag, _checksum(padded), at + len(body), len(data))
            body += padded
        return header + directory + body


def symbol_cmap(glyphs: dict[int, int]) -> bytes:
    """A `cmap` with the (3, 0) subtable for a symbolic font: codes 0–255 at U+F000, and a (1, 0) one that agrees."""
    codes = sorted(code for code in glyphs if 0 <= code <= 255)
    symbol = _format4({0xF000 + code: glyphs[code] for code in codes})
    first, last = (codes[0], codes[-1]) if codes else (0, 0)
    listed = [glyphs.get(code, 0) for code in range(first, last + 1)]
    mac = struct.pack(">HHHHH", 6, 10 + 2 * len(listed), 0, first, len(listed))
    mac += b"".join(struct.pack(">H", gid) for gid in listed)
    head = struct.pack(">HH", 0, 2)
    head += struct.pack(">HHI", 1, 0, 20) + struct.pack(">HHI", 3, 0, 20 + len(mac))
    return head + mac + symbol


def _checksum(data: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f">{len(data) // 4}I", data)
    return sum(words) & 0xFFFFFFFF


@functools.cache
def _mac_names() -> tuple[str, ...]:
    return tuple(names.MAC_GLYPHS.split())


def unicode_cmap(glyphs: dict[int, int], others: list[tuple[int, int, bytes]]) -> bytes:
    """A `cmap` with a (3, 1) subtable of these characters of the basic plane, and other subtables as they are."""
    listed = sorted([*[o for o in others if o[:2] != (3, 1)], (3, 1, _format4(glyphs))], key=lambda o: o[:2])
    at = 4 + 8 * len(listed)
    head, body = struct.pack(">HH", 0, len(listed)), b""
    for platform, encoding, data in listed:
        head += struct.pack(">HHI", platform, encoding, at + len(body))
        body += data
    return head + body


def subtable_bytes(font: Sfnt, at: int) -> bytes:
    """A cmap subtable as it stands; empty for a format that is not known."""
    kind = struct.unpack_from(">H", font.data, at)[0]
    if kind in (0, 2, 4, 6):
        return font.data[at : at + struct.unpack_from(">H", font.data, at + 2)[0]]
    if kind in (8, 10, 12, 13):
        return font.data[at : at + struct.unpack_from(">I", font.data, at + 4)[0]]
    return b""


def _format4(glyphs: dict[int, int]) -> bytes:
    codes = sorted(code for code in glyphs if 0 <= code < 0xFFFF)
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][-1] + 1 and glyphs[code] - code == glyphs[runs[-1][0]] - runs[-1][0]:
            runs[-1].append(code)
        else:
            runs.append([code])
    segments = [(run[0], run[-1], (glyphs[run[0]] - run[0]) & 0xFFFF) for run in runs]
    segments.append((0xFFFF, 0xFFFF, 1))
    count = len(segments)
    power = count.bit_length() - 1
    body = struct.pack(">HHHH", count * 2, 2 << power, power, count * 2 - (2 << power))
    body += b"".join(struct.pack(">H", s[1]) for s in segments) + b"\0\0"
    body += b"".join(struct.pack(">H", s[0]) for s in segments)
    body += b"".join(struct.pack(">H", s[2]) for s in segments) + b"\0\0" * count
    return struct.pack(">HHH", 4, 6 + len(body), 0) + body


def with_glyphs(font: Sfnt, widths: dict[int, float], added: list[tuple[float, int | None]]) -> dict[bytes, bytes]:
    """The tables that change when glyphs get other advances (glyph index → 1/1000 em) and glyphs are added at the end:
    (advance, glyph whose outline they get, None: blank). Raises BadFont."""
    count, total = font.glyph_count, font.glyph_count + len(added)
    hhea = bytearray(font.table(b"hhea"))
    if len(hhea) < 36:
        raise BadFont("no horizontal metrics")
    held, hmtx = font._metrics
    advances: list[int] = []
    bearings: list[int] = []
    for gid in range(count):
        if held:
            advances.append(struct.unpack_from(">H", hmtx, 4 * min(gid, held - 1))[0])
        else:
            advances.append(0)
        place = 4 * gid + 2 if gid < held else 4 * held + 2 * (gid - held)
        bearings.append(struct.unpack_from(">h", hmtx, place)[0] if place + 2 <= len(hmtx) else 0)
    for gid, width in widths.items():
        if gid >= count:
            raise BadFont(f"glyph {gid} is beyond the last, {count - 1}")
        advances[gid] = _units(width, font.units)
    for width, outline in added:
        advances.append(_units(width, font.units))
        bearings.append(bearings[outline] if outline is not None and outline < count else 0)
    struct.pack_into(">H", hhea, 34, total)
    tables = {
        b"hhea": bytes(hhea),
        b"hmtx": b"".join(struct.pack(">Hh", a, b) for a, b in zip(advances, bearings, strict=True)),
    }
    if added:
        tables |= _outlines(font, added, total)
    return tables


def _units(width: float, units: int) -> int:
    return max(0, min(round(width * units / 1000), 0xFFFF))


def _outlines(font: Sfnt, added: list[tuple[float, int | None]], total: int) -> dict[bytes, bytes]:
    glyf, loca = font.table(b"glyf"), list(font.loca)
    if len(loca) != font.glyph_count + 1:
        raise BadFont("the glyphs cannot be told apart")
    end = loca[-1]
    glyf = glyf[:end]
    for _, outline in added:
        if outline is not None:
            copy = glyf[loca[outline] : loca[outline + 1]]
            glyf += copy + b"\0" * (-len(copy) % 4)
        loca.append(len(glyf))
    long = font.long_loca or loca[-1] > 0x1FFFE or any(v % 2 for v in loca)
    head = bytearray(font.table(b"head"))
    struct.pack_into(">h", head, 50, int(long))
    maxp = bytearray(font.table(b"maxp"))
    struct.pack_into(">H", maxp, 4, total)
    packed = struct.pack(f">{len(loca)}I", *loca) if long else struct.pack(f">{len(loca)}H", *[v // 2 for v in loca])
    tables = {b"glyf": glyf, b"loca": packed, b"head": bytes(head), b"maxp": bytes(maxp)}
    post = font.table(b"post")
    if len(post) >= 32 and struct.unpack_from(">I", post)[0] == 0x00020000:
        names = font.glyph_names
        if names:
            tables[b"post"] = post[:32] + _post_names(names, total)
    return tables


def _post_names(glyph_names: dict[int, str], total: int) -> bytes:
    numbers, strings = [], b""
    for gid in range(total):
        name = glyph_names.get(gid, f"glyph{gid}").encode("latin-1", "replace")[:255]
        numbers.append(258 + gid)
        strings += bytes([len(name)]) + name
    return struct.pack(f">H{total}H", total, *numbers) + strings
