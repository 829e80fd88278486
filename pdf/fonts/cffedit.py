"""A CFF font written again with single glyphs changed: other advances, glyphs added. All else is copied."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pdf.fonts.cff import Cff, Private, read_index, standard_strings
from pdf.fonts.cffwrite import dict_entry, with_width, write_index, write_number

_CHARSET, _ENCODING, _CHARSTRINGS, _PRIVATE, _FD_ARRAY, _FD_SELECT = 15, 16, 17, 18, 12 << 8 | 36, 12 << 8 | 37
_CID_COUNT = 12 << 8 | 34
_ENDCHAR = b"\x0e"


@dataclass(frozen=True)
class Added:
    """A glyph to add: its name or CID, its advance in 1/1000 em, the glyph whose outline it gets (None: blank)."""

    key: str | int
    width: float
    outline: int | None = None


def edited(source: Cff, widths: dict[int, float], added: list[Added]) -> bytes:
    """The font with these advances (glyph index → 1/1000 em) and these glyphs added at its end. Raises BadFont."""
    count = len(source.charstrings)
    strings = [
        with_width(source, gid, widths[gid]) if gid in widths else source.charstrings[gid] for gid in range(count)
    ]
    for glyph in added:
        if glyph.outline is None:
            private = source.private_of(0)
            strings.append(write_number(glyph.width / source.scale - private.nominal_width) + _ENDCHAR)
        else:
            strings.append(with_width(source, glyph.outline, glyph.width))
    charset, names = _charset(source, added)
    return _assembled(source, strings, charset, names, [glyph.outline or 0 for glyph in added])


def _charset(source: Cff, added: list[Added]) -> tuple[bytes, list[bytes]]:
    """The charset (format 0) and the strings to append."""
    known = {name: sid for sid, name in enumerate(standard_strings())}
    base = len(standard_strings())
    more = [source.strings[i] for i in range(len(source.strings))]
    sids = list(source.charset[1:])
    for glyph in added:
        if isinstance(glyph.key, int):
            sids.append(glyph.key)
        elif glyph.key in known:
            sids.append(known[glyph.key])
        else:
            more.append(glyph.key.encode("latin-1", "replace"))
            sids.append(base + len(more) - 1)
    return b"\0" + struct.pack(f">{len(sids)}H", *sids), more


def _assembled(source: Cff, strings: list[bytes], charset: bytes, names: list[bytes], outlines: list[int]) -> bytes:
    data = source.data
    header = data[: data[2]]
    names_index = _copy_index(data, data[2])
    gsubrs = write_index([source.gsubrs[i] for i in range(len(source.gsubrs))])
    middle = write_index(names) + gsubrs
    top = dict(source.top)
    encoding = b""
    if not source.is_cid and int((top.get(_ENCODING) or [0])[0]) > 1:
        encoding = _encoding_bytes(source, int(top[_ENCODING][0]))
    body = write_index(strings)
    if source.is_cid and source._select is not None:
        highest = max(struct.unpack(f">{len(charset) // 2}H", charset[1:]), default=0)
        top[_CID_COUNT] = [max(int((top.get(_CID_COUNT) or [8720])[0]), highest + 1)]
        chosen = source._select + bytes(source._select[o] if o < len(source._select) else 0 for o in outlines)
        select = b"\0" + chosen
    else:
        select = b""

    def build(at: int) -> tuple[bytes, bytes]:
        """(top DICT INDEX, everything after the global subroutines), for a body that begins at `at`."""
        out = b""
        places: dict[int, int] = {}
        for key, part in ((_CHARSET, charset), (_ENCODING, encoding), (_CHARSTRINGS, body), (_FD_SELECT, select)):
            if part:
                places[key] = at + len(out)
                out += part
        private_place: tuple[int, int] | None = None
        if source.is_cid:
            fonts = []
            for number, private in enumerate(source.privates):
                raw, subrs = _private_bytes(private)
                entry = source.font_dicts[number] | {}
                entry.pop(_PRIVATE, None)
                fonts.append(
                    b"".join(dict_entry(key, value) for key, value in entry.items())
                    + _fixed(len(raw))
                    + _fixed(at + len(out))
                    + bytes([_PRIVATE])
                )
                out += raw + subrs
            places[_FD_ARRAY] = at + len(out)
            out += write_index(fonts)
        elif _PRIVATE in source.top:
            raw, subrs = _private_bytes(source.privates[0])
            private_place = len(raw), at + len(out)
            out += raw + subrs
        entries = b""
        for key, value in top.items():
            if key in places:
                continue
            if key == _PRIVATE:
                continue
            entries += dict_entry(key, value)
        for key, place in places.items():
            entries += _fixed(place) + (bytes([12, key & 255]) if key > 255 else bytes([key]))
        if private_place is not None:
            entries += _fixed(private_place[0]) + _fixed(private_place[1]) + bytes([_PRIVATE])
        return write_index([entries]), out

    for key in (_CHARSET, _CHARSTRINGS, _FD_SELECT, _FD_ARRAY):
        top.pop(key, None)
    if encoding:
        top.pop(_ENCODING, None)
    size = len(build(0)[0])
    at = len(header) + len(names_index) + size + len(middle)
    top_index, tail = build(at)
    return header + names_index + top_index + middle + tail


def _fixed(value: int) -> bytes:
    return b"\x1d" + struct.pack(">i", value)


def _private_bytes(private: Private) -> tuple[bytes, bytes]:
    raw = b"".join(dict_entry(key, value) for key, value in private.raw.items() if key != 19)
    if private.subrs is None:
        return raw, b""
    raw += _fixed(len(raw) + 6) + bytes([19])
    return raw, write_index([private.subrs[i] for i in range(len(private.subrs))])


def _copy_index(data: bytes, at: int) -> bytes:
    return data[at : read_index(data, at).end]


def _encoding_bytes(source: Cff, at: int) -> bytes:
    data = source.data
    kind, count = data[at], data[at + 1]
    end = at + 2 + count * (1 if kind & 127 == 0 else 2)
    if kind & 128:
        end += 1 + 3 * data[end]
    return data[at:end]
