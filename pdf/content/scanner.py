"""Where a content stream paints: a scanner over the bytes that finds every painting operator and its place.

Nothing is rewritten: marks are put in by slicing the original bytes at the offsets found here (`pdf.tagging.marks`).
One regular expression, possessive throughout, runs from one operator of interest to the next; what it cannot take
(inline images, strings nested deeper than it knows) is stepped over by hand. ISO 32000-1 7.8.2, 8.2, 8.9.7, 14.6.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

_DELIMITED = rb"\x00\t\n\x0c\r ()<>\[\]{}/%"
_REGULAR = rb"[^" + _DELIMITED + rb"]"
_WANTED = rb"(?:T[Jj]|['\"]|f\*?|F|[Bb]\*?|[Ssnq]|Q|Do|sh|BI|BT|ET|BMC|BDC|EMC|MP|DP"


def _pattern(more: bytes) -> re.Pattern[bytes]:
    wanted = _WANTED + more + rb")(?!" + _REGULAR + rb")"
    skipped = (
        rb"[\x00\t\n\x0c\r \[\]{}]++"
        rb"|[-+.0-9]" + _REGULAR + rb"*+"
        rb"|\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.)*\))*\))*\)"
        rb"|/" + _REGULAR + rb"*+"
        rb"|<<|>>|<[^<>]*+>"
        rb"|%[^\r\n]*+"
        rb"|(?!" + wanted + rb")" + _REGULAR + rb"++"
    )
    return re.compile(rb"(?:" + skipped + rb")*(" + wanted + rb")?", re.DOTALL)


_OPERATORS = _pattern(b"")
_OPERATORS_AND_FONTS = _pattern(b"|Tf")


class Operator(NamedTuple):
    """One operator of interest: its operands (and operators of no interest) lie in [start, at), itself in [at, end)."""

    name: bytes
    start: int
    at: int
    end: int


def operators(data: bytes, fonts: bool = False) -> Iterator[Operator]:
    """The operators of interest in order: text showing, path painting, `Do`, `sh`, `BI` (through its `EI`), `q Q BT ET`
    and marked content; with `fonts` also `Tf`. Garbage is stepped over, as viewers do; never raises."""
    match = (_OPERATORS_AND_FONTS if fonts else _OPERATORS).match
    start = at = 0
    length = len(data)
    while at < length:
        found = match(data, at)
        assert found is not None  # every part of the pattern is optional
        name = found[1]
        end = found.end()
        if name is None:
            if end >= length:
                return
            at = _past_oddity(data, end)
        elif name == b"BI":
            at = inline_image_end(data, end)
            yield Operator(name, start, end - 2, at)
            start = at
        else:
            yield Operator(name, start, found.start(1), end)
            start = at = end


def _past_oddity(data: bytes, at: int) -> int:
    """Past what the pattern does not take: a string nested deeper than it knows, or a delimiter without its partner."""
    if data[at] != 0x28:
        return at + 1
    depth = 0
    for found in _PARENTHESIS.finditer(data, at):
        what = found[0]
        depth += (what == b"(") - (what == b")")
        if depth == 0:
            return found.end()
    return len(data)  # not closed: viewers take the rest as the string


_PARENTHESIS = re.compile(rb"\\.|[()]", re.DOTALL)
_SPACE = b"\x00\t\n\x0c\r "
_IMAGE_DATA = re.compile(rb"(?<!" + _REGULAR + rb")ID(?!" + _REGULAR + rb")")
_IMAGE_KEY = re.compile(
    rb"/(W|Width|H|Height|BPC|BitsPerComponent|CS|ColorSpace|IM|ImageMask|F|Filter)(?!" + _REGULAR + rb")"
)
_IMAGE_END = re.compile(
    rb"[\x00\t\n\x0c\r ]EI(?!" + _REGULAR + rb")|EI(?=[\x00\t\n\x0c\r ]+(?:Q|EMC|q|BT)(?!" + _REGULAR + rb"))"
)
_COMPONENTS = {b"/G": 1, b"/DeviceGray": 1, b"/RGB": 3, b"/DeviceRGB": 3, b"/CMYK": 4, b"/DeviceCMYK": 4}


def inline_image_end(data: bytes, at: int) -> int:
    """The end of the inline image whose `BI` ends at `at`: after its `EI`, or the end of the data if it has none.

    The data may contain anything, ` EI ` too. Unfiltered data has a known length, a deflated one tells its own end;
    else the first `EI` counts that stands alone and is followed by what looks like content.
    """
    begin = _IMAGE_DATA.search(data, at)
    if begin is None:
        return len(data)
    values = _image_values(data[at : begin.start()])
    body = begin.end() + 1
    known = _image_length(values, data, body)
    if known is not None:
        found = _IMAGE_END.search(data, max(body, known - 1), known + 16)
        if found is not None:
            return found.end()
    for found in _IMAGE_END.finditer(data, max(begin.end(), body - 1)):
        if _looks_like_content(data[found.end() : found.end() + 24]):
            return found.end()
    return len(data)


def inline_image(data: bytes, op: Operator) -> tuple[bytes, bytes]:
    """Of a `BI`: its dictionary as it is written, and its data."""
    begin = _IMAGE_DATA.search(data, op.at + 2, op.end)
    if begin is None:
        return b"", b""
    head = data[op.at + 2 : begin.start()]
    body = begin.end() + 1
    known = _image_length(_image_values(head), data, body)
    end = known if known is not None and known <= op.end - 2 else op.end - 2
    return head, data[body:end]


def ends_early(data: bytes, op: Operator) -> bool:
    """Whether the data of a `BI` holds what another reader could take for its end."""
    begin = _IMAGE_DATA.search(data, op.at + 2, op.end)
    found = _IMAGE_END.search(data, begin.end(), op.end) if begin is not None else None
    return found is not None and found.end() < op.end


def _image_values(head: bytes) -> dict[bytes, bytes]:
    values: dict[bytes, bytes] = {}
    marks = list(_IMAGE_KEY.finditer(head))
    for found in marks:
        rest = head[found.end() :].strip(_SPACE)
        value = re.match(rb"/?" + _REGULAR + rb"+|\[[^\]]*\]", rest)
        if value is not None:
            values.setdefault(
                {
                    b"Width": b"W",
                    b"Height": b"H",
                    b"BitsPerComponent": b"BPC",
                    b"ColorSpace": b"CS",
                    b"ImageMask": b"IM",
                    b"Filter": b"F",
                }.get(found[1], found[1]),
                value[0],
            )
    return values


def _image_length(values: dict[bytes, bytes], data: bytes, body: int) -> int | None:
    """Where the data ends, if that can be told: a raster without filter, or a deflate stream."""
    chosen = values.get(b"F", b"[]").strip(b"[] \t\r\n")
    if not chosen:
        try:
            width, height = int(values[b"W"]), int(values[b"H"])
            mask = values.get(b"IM") == b"true"
            bits = 1 if mask else int(values.get(b"BPC", b"8"))
            colours = 1 if mask else _COMPONENTS[values.get(b"CS", b"/G")]
        except (KeyError, ValueError):
            return None
        end = body + (width * bits * colours + 7) // 8 * height
        return end if body <= end <= len(data) else None
    if chosen.startswith((b"/Fl", b"/FlateDecode")) and b"/" not in chosen[1:]:
        inflate = zlib.decompressobj()
        try:
            inflate.decompress(data[body:], 64 << 20)
        except zlib.error:
            return None
        return len(data) - len(inflate.unused_data) if inflate.eof else None
    return None


def _looks_like_content(rest: bytes) -> bool:
    return all(c in b"\t\n\x0c\r\x00" or 32 <= c < 127 for c in rest)


# What the operands of an operator say. All take the bytes between the operator before and this one.

_NAME_LAST = re.compile(rb"/(" + _REGULAR + rb"*)[\x00\t\n\x0c\r ]*\Z")
_FONT_LAST = re.compile(rb"/(" + _REGULAR + rb"*)[\x00\t\n\x0c\r ]*([-+.0-9]+)[\x00\t\n\x0c\r ]*\Z")
_EMPTY_STRING = re.compile(rb"(?<!\\)\(\)\Z|<[\x00\t\n\x0c\r ]*>\Z")
_EMPTY_ARRAY = re.compile(rb"\[(?:[\x00\t\n\x0c\r \-+.0-9]|\(\)|<[\x00\t\n\x0c\r ]*>)*\]\Z")
_CONSTRUCTION = re.compile(rb"(?<!" + _REGULAR + rb")(?:[lcvy]|re)(?!" + _REGULAR + rb")")
_TAG = re.compile(
    rb"/(" + _REGULAR + rb"*)[\x00\t\n\x0c\r ]*(?:/(" + _REGULAR + rb"*)|(<<.*>>))[\x00\t\n\x0c\r ]*\Z", re.DOTALL
)
_HEX = re.compile(rb"#([0-9A-Fa-f]{2})")


def name_operand(data: bytes, op: Operator) -> str | None:
    """The last name before the operator, without its slash and decoded (`Do`, `sh`)."""
    found = _NAME_LAST.search(data, op.start, op.at)
    return decode_name(found[1]) if found else None


def name_start(data: bytes, op: Operator) -> int:
    """Where the name begins that `name_operand` gives, with its slash."""
    found = _NAME_LAST.search(data, op.start, op.at)
    return found.start() if found else op.at


def decode_name(raw: bytes) -> str:
    """A name's text: `#xx` undone; where that is no UTF-8, each byte is a character of Latin-1."""
    if b"#" in raw:
        raw = _HEX.sub(lambda m: bytes([int(m[1], 16)]), raw)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def font_operand(data: bytes, op: Operator) -> tuple[str, float] | None:
    """Name and size given to `Tf`."""
    found = _FONT_LAST.search(data, op.start, op.at)
    try:
        return (decode_name(found[1]), float(found[2])) if found else None
    except ValueError:
        return None


def shows_text(data: bytes, op: Operator) -> bool:
    """Whether a text-showing operator paints anything: its strings are not all empty."""
    end = op.at
    while end > op.start and data[end - 1] in _SPACE:
        end -= 1
    last = data[end - 1 : end]
    if last == b"]":
        return _EMPTY_ARRAY.search(data, op.start, end) is None
    if last == b")" or last == b">":
        return _EMPTY_STRING.search(data, max(op.start, end - 2 if last == b")" else op.start), end) is None
    return False


def has_path(data: bytes, op: Operator) -> bool:
    """Whether there is a path to paint: a segment or rectangle since the operator of interest before."""
    return _CONSTRUCTION.search(data, op.start, op.at) is not None


def tag_operands(data: bytes, op: Operator) -> tuple[int, bytes, bytes | None, bytes | None]:
    """Of `BMC BDC MP DP`: (where the operands begin, tag, name of the property list, inline property list)."""
    if op.name in (b"BMC", b"MP"):
        found = _NAME_LAST.search(data, op.start, op.at)
        return (found.start(), found[1], None, None) if found else (op.at, b"", None, None)
    found = _TAG.search(data, op.start, op.at)
    return (found.start(), found[1], found[2], found[3]) if found else (op.at, b"", None, None)


_MCID = re.compile(rb"/MCID[\x00\t\n\x0c\r ]+(\d{1,9})")


def mcid(properties: bytes) -> int:
    """The MCID of an inline property list, -1 for none."""
    found = _MCID.search(properties)
    return int(found[1]) if found else -1
