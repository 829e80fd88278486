"""Writing Compact Font Format: the pieces of a font file, and a new font with glyphs copied from another.

(Adobe Technical Notes 5176, 5177.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from pdf.fonts.cff import BadFont, Cff, Operand, Private, bias, read_number, standard_strings


def write_index(items: list[bytes]) -> bytes:
    if not items:
        return b"\0\0"
    total = sum(map(len, items)) + 1
    size = 1 if total < 1 << 8 else 2 if total < 1 << 16 else 3 if total < 1 << 24 else 4
    out = bytearray(struct.pack(">HB", len(items), size))
    at = 1
    for length in [0, *map(len, items)]:
        at += length
        out += at.to_bytes(size)
    return bytes(out) + b"".join(items)


def write_number(value: float) -> bytes:
    """A number as a charstring has it."""
    whole = round(value)
    if abs(value - whole) > 1e-6:
        return b"\xff" + struct.pack(">i", round(value * 65536))
    if -107 <= whole <= 107:
        return bytes([whole + 139])
    if 108 <= whole <= 1131:
        return bytes([(whole - 108) // 256 + 247, (whole - 108) % 256])
    if -1131 <= whole <= -108:
        return bytes([(-whole - 108) // 256 + 251, (-whole - 108) % 256])
    return b"\x1c" + struct.pack(">h", max(min(whole, 32767), -32768))


def _dict_number(value: Operand) -> bytes:
    if isinstance(value, float) and value != int(value):
        text = repr(round(value, 8)).lower().replace("e-", "c").replace("e", "b").replace(".", "a").replace("-", "e")
        text += "f" if len(text) % 2 else "ff"
        return b"\x1e" + bytes.fromhex(text)
    whole = int(value)
    return write_number(whole) if -1131 <= whole <= 1131 else b"\x1d" + struct.pack(">i", whole)


def dict_entry(key: int, operands: Iterable[Operand]) -> bytes:
    name = bytes([12, key & 255]) if key > 255 else bytes([key])
    return b"".join(map(_dict_number, operands)) + name


def copied(source: Cff, font_name: str, glyphs: dict[str, tuple[int, float | None]]) -> bytes:
    """A new name-keyed CFF with glyphs of a name-keyed one: name → (glyph index, new advance or None to keep it).

    Charstrings are copied with the subroutines they call. Raises BadFont when a charstring cannot be taken as it is.
    """
    order = sorted(glyphs)
    private = source.privates[0]
    local, shared = source.called([0, *(glyphs[name][0] for name in order)])
    strings = [source.charstrings[0]]
    for name in order:
        gid, width = glyphs[name]
        strings.append(source.charstrings[gid] if width is None else with_width(source, gid, width))
    standard = {name: sid for sid, name in enumerate(standard_strings())}
    more = [name for name in order if name not in standard]
    sids = {name: len(standard) + number for number, name in enumerate(more)}
    charset = b"\0" + b"".join(struct.pack(">H", standard.get(name, sids.get(name, 0))) for name in order)
    box = source.top.get(5) or [0, 0, 0, 0]
    raw = {key: value for key, value in private.raw.items() if key != 19}
    private_bytes = b"".join(dict_entry(key, value) for key, value in raw.items())
    subrs = b""
    if local and private.subrs is not None:
        subrs = write_index([private.subrs[i] if i in local else b"\x0b" for i in range(len(private.subrs))])
        private_bytes += b"\x1d" + struct.pack(">i", len(private_bytes) + 6) + bytes([19])
    gsubrs = [source.gsubrs[i] if i in shared else b"\x0b" for i in range(len(source.gsubrs))] if shared else []
    head = b"\x01\x00\x04\x04" + write_index([font_name.encode("latin-1", "replace")])
    tail = write_index([name.encode("latin-1", "replace") for name in more]) + write_index(gsubrs)
    body = write_index(strings)

    def top(at: int) -> bytes:
        fixed = dict_entry(5, box)
        for key, value in ((15, at), (17, at + len(charset))):
            fixed += b"\x1d" + struct.pack(">i", value) + bytes([key])
        place = at + len(charset) + len(body)
        fixed += b"\x1d" + struct.pack(">i", len(private_bytes)) + b"\x1d" + struct.pack(">i", place) + bytes([18])
        return write_index([fixed])

    at = len(head) + len(top(0)) + len(tail)
    return head + top(at) + tail + charset + body + private_bytes + subrs


def with_width(source: Cff, gid: int, width: float) -> bytes:
    """The charstring of a glyph with another advance (in 1/1000 em)."""
    private = source.private_of(gid)
    string = source.charstrings[gid]
    for _ in range(10):
        own, plain = source.first_operands(string, private)
        if own is None or plain:
            break
        string = _first_call_inlined(source, string, private)
    value = write_number(width / source.scale - private.nominal_width)
    if own is None:
        return value + string
    _, end = read_number(string, 0)
    return value + string[end:]


def _first_call_inlined(source: Cff, string: bytes, private: Private) -> bytes:
    """A charstring that begins with a subroutine call, with the subroutine's text in its place."""
    number, at = read_number(string, 0)
    subrs = private.subrs if string[at] == 10 else source.gsubrs if string[at] == 29 else None
    if subrs is None:
        raise BadFont("the width is out of reach")
    body = subrs[int(number) + bias(subrs)]
    return body.removesuffix(b"\x0b") + string[at + 1 :]
