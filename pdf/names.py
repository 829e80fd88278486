"""Names that are no UTF-8 (ISO 32000-1 7.3.5 wants them so; old programs wrote what their machine's code page had).

pikepdf lists such names and cannot look them up. They are renamed, wherever they stand: each byte becomes the character
of that number (Latin-1), so that names which differ still do.
"""

from __future__ import annotations

import re

import pikepdf

from pdf.content.scanner import inline_image_end
from pdf.streams import Undecodable, read

_SUSPECT = re.compile(rb"#[89a-f][0-9a-f]")
_R = rb"[^\x00\t\n\x0c\r ()<>\[\]{}/%]"
#: What may stand in a content stream and hold a slash that begins no name; a name; the operator of an inline image.
_TOKEN = re.compile(
    rb"\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.|\((?:[^()\\]++|\\.)*\))*\))*\)"
    rb"|%[^\r\n]*+"
    rb"|/(" + _R + rb"*+)"
    rb"|(?<!" + _R + rb")(BI)(?!" + _R + rb")",
    re.DOTALL,
)  # fmt: skip
_OTHERS = frozenset(
    ("/Image", "/Metadata", "/XRef", "/ObjStm", "/EmbeddedFile", "/Type1C", "/CIDFontType0C", "/OpenType")
)
_OTHER_KEYS = frozenset(("/Length1", "/N", "/FunctionType"))
_HEX = re.compile(rb"#([0-9A-Fa-f]{2})")


def mend_names(pdf: pikepdf.Pdf) -> int:
    """Rename in an open document, objects and content; returns how many names were not UTF-8."""
    count = 0
    for thing in pdf.objects:
        if not isinstance(thing, pikepdf.Dictionary | pikepdf.Array | pikepdf.Stream):
            continue
        head = thing.stream_dict if isinstance(thing, pikepdf.Stream) else thing
        if _SUSPECT.search(head.unparse(resolved=True)):
            count += _mend(thing)
    if count:
        for page in pdf.pages:
            if isinstance(page.obj.get("/Contents"), pikepdf.Array):
                page.contents_coalesce()
        for thing in pdf.objects:
            if isinstance(thing, pikepdf.Stream) and _is_content(thing):
                _mend_content(thing)
    return count


def _other(raw: bytes) -> str | None:
    """Another text for a name of these bytes (without its slash), where they are no UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
    return None


def _mend(thing: pikepdf.Object) -> int:
    """Rename in an object and what lies in it directly."""
    count = 0
    if isinstance(thing, pikepdf.Array):
        for place, value in enumerate(list(thing)):
            new = _renamed(value)
            if new is not None:
                thing[place] = new
                count += 1
            elif _is_inside(value):
                count += _mend(value)
        return count
    for key, value in list(thing.items()):
        name = key
        other = _other(key[1:].encode("utf-8", "surrogateescape"))
        if other is not None:
            name = f"/{other}"
            del thing[key]
            count += 1
        new = _renamed(value)
        count += new is not None
        if new is not None or name != key:
            thing[name] = value if new is None else new
        if new is None and _is_inside(value):
            count += _mend(thing[name])
    return count


def _is_inside(value: object) -> bool:
    return isinstance(value, pikepdf.Dictionary | pikepdf.Array) and not value.is_indirect


def _renamed(value: object) -> pikepdf.Object | None:
    """Another name for one that is no UTF-8."""
    if not isinstance(value, pikepdf.Name):
        return None
    other = _other(bytes(value)[1:])
    return None if other is None else pikepdf.Name(f"/{other}")


def _is_content(stream: pikepdf.Object) -> bool:
    """Not what certainly is something else: pictures, fonts, colour profiles, functions, metadata, attachments."""
    kinds = (str(stream.get(key, "")) for key in ("/Type", "/Subtype"))
    return not _OTHERS.intersection(kinds) and not _OTHER_KEYS.intersection(stream.keys())


def _mend_content(stream: pikepdf.Object) -> None:
    try:
        data = read(stream)
    except Undecodable:
        return
    made = mended_content(data)
    if made != data:
        stream.write(made)


def mended_content(data: bytes) -> bytes:
    """A content stream with its names in UTF-8; strings, comments and the data of inline images stay."""
    out: list[bytes] = []
    at = done = 0
    while (found := _TOKEN.search(data, at)) is not None:
        at = found.end()
        if found[2]:
            end = inline_image_end(data, at)
            head = data.find(b"ID", at, end)
            out += [data[done:at], mended_content(data[at:head]) if head > 0 else b""]
            done = head if head > 0 else at
            at = max(end, at)
        elif found[1] and (b"#" in found[1] or not found[1].isascii()):
            other = _other(_HEX.sub(lambda m: bytes([int(m[1], 16)]), found[1]))
            if other is not None:
                out += [data[done : found.start()], bytes(pikepdf.Name(f"/{other}").unparse())]
                done = at
    return b"".join([*out, data[done:]])
