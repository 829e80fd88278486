"""Reading streams of files nobody vouches for: bounded, and never with an exception.

qpdf decodes a stream in one go, so a few hundred kilobytes may become gigabytes; a big deflated stream is therefore
decoded here, with a bound.
"""

from __future__ import annotations

import zlib

import pikepdf

#: Decoded content of one stream; more is an attack or an accident.
MAX_BYTES = 256 << 20
#: Deflate grows data at most 1032-fold: a smaller stream cannot pass `MAX_BYTES` by much.
_SUSPECT = MAX_BYTES // 1032


class Undecodable(Exception):
    """A stream that does not give its data: broken, or too big."""


def read(stream: pikepdf.Object) -> bytes:
    """The decoded bytes of a stream. Raises Undecodable with the reason."""
    try:
        chosen = stream.get("/Filter")
        if chosen is not None and int(stream.get("/Length", 0)) > _SUSPECT:
            return _bounded(stream, chosen)
        data = bytes(stream.read_bytes())
    except (pikepdf.PdfError, pikepdf.DataDecodingError, ValueError, TypeError, RuntimeError) as error:
        raise Undecodable("it cannot be decoded") from error
    if len(data) > MAX_BYTES:
        raise Undecodable(_TOO_BIG)
    return data


def _bounded(stream: pikepdf.Object, chosen: pikepdf.Object) -> bytes:
    names = list(chosen) if isinstance(chosen, pikepdf.Array) else [chosen]
    if names != [pikepdf.Name.FlateDecode] or "/DecodeParms" in stream:
        data = bytes(stream.read_bytes())
        if len(data) > MAX_BYTES:
            raise Undecodable(_TOO_BIG)
        return data
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(stream.read_raw_bytes(), MAX_BYTES)
    except zlib.error:
        return bytes(stream.read_bytes())
    if inflate.unconsumed_tail:
        raise Undecodable(_TOO_BIG)
    return data


_TOO_BIG = f"it grows beyond {MAX_BYTES >> 20} MiB when it is decoded"


def decoded(stream: object) -> bytes:
    """The decoded bytes of a stream; nothing for what is no stream, cannot be decoded, or grows beyond the bound."""
    if not isinstance(stream, pikepdf.Stream):
        return b""
    try:
        return read(stream)
    except Undecodable:
        return b""


def content(page: pikepdf.Page) -> bytes:
    """The content of a page as one stream; parts are joined by a space (ISO 32000-1 table 30)."""
    contents = page.obj.get("/Contents")
    if isinstance(contents, pikepdf.Array):
        return b" ".join([decoded(part) for part in contents])
    return decoded(contents)
