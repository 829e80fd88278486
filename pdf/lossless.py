"""A smaller file with the same content: pages paint the same pixels and say the same text, whatever was encoded anew.

Duplicate objects are joined, what nothing refers to is dropped, pictures and other streams are encoded anew where that
gains, font programs lose what nobody shows, and objects go into object streams.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pikepdf
from pikepdf import Name

from pdf.deflate import Deflater
from pdf.fonts.subset import subset_fonts
from pdf.pictures import encode_anew
from pdf.streams import Undecodable, read


@dataclass(frozen=True)
class Gains:
    """What was done: pictures encoded anew, duplicate streams joined, font programs subset, and the bytes that each
    saved (of fonts, before they are deflated)."""

    pictures: int
    picture_bytes: int
    duplicates: int
    duplicate_bytes: int
    fonts: int = 0
    font_bytes: int = 0


def squeeze(pdf: pikepdf.Pdf, *, fonts: bool = True) -> Gains:
    """Make an open document smaller in place, without loss. Without `fonts`, font programs stay as they are."""
    twins, duplicate_bytes = _join(pdf)
    smaller = subset_fonts(pdf) if fonts else []
    deflater = Deflater()
    pictures = picture_bytes = 0
    for thing in pdf.objects:
        if not isinstance(thing, pikepdf.Stream) or thing.objgen in twins:
            continue
        if thing.get("/Subtype") == Name.Image:
            saved = encode_anew(thing, deflater)
            if saved:
                pictures += 1
                picture_bytes += saved
        else:
            _deflate_again(thing, deflater)
    return Gains(pictures, picture_bytes, len(twins), duplicate_bytes, len(smaller), sum(smaller))


def _join(pdf: pikepdf.Pdf) -> tuple[set[tuple[int, int]], int]:
    """Join images and font programs that are equal, dictionary and data: references to the later go to the first.

    Returns the object numbers nobody refers to any more, and the bytes they had."""
    firsts: dict[bytes, pikepdf.Object] = {}
    twins: dict[tuple[int, int], pikepdf.Object] = {}
    saved = 0
    for thing in pdf.objects:
        if not isinstance(thing, pikepdf.Stream) or not _may_join(thing):
            continue
        try:
            raw = thing.read_raw_bytes()
        except (pikepdf.PdfError, ValueError, RuntimeError):
            continue
        entries = sorted((key, _written(value)) for key, value in thing.items())
        key = hashlib.sha256(raw + repr(entries).encode()).digest()
        if key in firsts:
            twins[thing.objgen] = firsts[key]
            saved += len(raw)
        else:
            firsts[key] = thing
    if twins:
        for thing in pdf.objects:
            _relink(thing, twins, 0)
    return set(twins), saved


def _written(value: object) -> bytes:
    """An entry as it stands in the file: equal only where it is the same value or the same reference."""
    if isinstance(value, pikepdf.Object):
        return repr(value.objgen).encode() if value.is_indirect else value.unparse()
    return repr(value).encode()


def _may_join(stream: pikepdf.Object) -> bool:
    """Pictures (but for those the structure or a layer names) and font programs: readers never tell them apart."""
    if stream.get("/Subtype") == Name.Image:
        return "/StructParent" not in stream and "/OC" not in stream
    return "/Length1" in stream or stream.get("/Subtype") in (Name.Type1C, Name.CIDFontType0C, Name.OpenType)


def _relink(thing: pikepdf.Object, twins: dict[tuple[int, int], pikepdf.Object], depth: int) -> None:
    if depth > 6:
        return
    if isinstance(thing, pikepdf.Dictionary | pikepdf.Stream):
        for key, value in list(thing.items()):
            if isinstance(value, pikepdf.Object):
                if value.is_indirect:
                    if value.objgen in twins:
                        thing[key] = twins[value.objgen]
                elif isinstance(value, pikepdf.Dictionary | pikepdf.Array):
                    _relink(value, twins, depth + 1)
    elif isinstance(thing, pikepdf.Array):
        for place, value in enumerate(list(thing)):
            if isinstance(value, pikepdf.Object):
                if value.is_indirect:
                    if value.objgen in twins:
                        thing[place] = twins[value.objgen]
                elif isinstance(value, pikepdf.Dictionary | pikepdf.Array):
                    _relink(value, twins, depth + 1)


def _deflate_again(stream: pikepdf.Object, deflater: Deflater) -> None:
    """Deflate a plain deflated or bare stream, if that is smaller. (qpdf would do it to all, and make those larger that
    use predictors.)"""
    if stream.get("/Filter") not in (Name.FlateDecode, None) or "/DecodeParms" in stream:
        return
    if stream.get("/Type") in (Name.ObjStm, Name.XRef, Name.Metadata):
        return
    try:
        before = stream.read_raw_bytes()
        data = read(stream)
    except (Undecodable, pikepdf.PdfError, ValueError, RuntimeError):
        return
    after = deflater(data)
    if len(after) < len(before):
        stream.write(after, filter=Name.FlateDecode)
