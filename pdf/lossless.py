"""A smaller file with the same content to the last bit: nothing is decoded to anything else than it was.

Duplicate objects are joined, pictures and other streams are deflated anew where that gains, two-level pictures take
CCITT Group 4, and objects go into object streams. Decoded, every stream is what it was; that is checked picture by
picture.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from dataclasses import dataclass

import pikepdf
from pikepdf import Dictionary, Name
from PIL import Image

from pdf.errors import Code, PdfError
from pdf.inspect import is_true
from pdf.streams import Undecodable, read

#: Pictures smaller than this (encoded bytes) are left as they are.
_WORTHWHILE = 2_000
#: Decoded pictures larger than this are left: memory is bounded.
_LARGEST = 128 << 20
_LOSSLESS = frozenset(("/FlateDecode", "/LZWDecode", "/RunLengthDecode", "/ASCII85Decode", "/ASCIIHexDecode"))
#: A new encoding must be at least this much smaller.
_GAIN = 0.97


@dataclass(frozen=True)
class Gains:
    """What was done: pictures encoded anew, duplicate streams joined, and the bytes that each saved."""

    pictures: int
    picture_bytes: int
    duplicates: int
    duplicate_bytes: int


def squeeze(pdf: pikepdf.Pdf) -> Gains:
    """Make an open document smaller in place, without loss."""
    twins, duplicate_bytes = _join(pdf)
    pictures = picture_bytes = 0
    for thing in pdf.objects:
        if not isinstance(thing, pikepdf.Stream) or thing.objgen in twins:
            continue
        if thing.get("/Subtype") == Name.Image:
            saved = _picture(thing)
            if saved:
                pictures += 1
                picture_bytes += saved
        else:
            _deflate_again(thing)
    return Gains(pictures, picture_bytes, len(twins), duplicate_bytes)


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


def _deflate_again(stream: pikepdf.Object) -> None:
    """Deflate a plain deflated stream at the highest level, if that is smaller. (qpdf would do it to all, and make
    those larger that use predictors.)"""
    if stream.get("/Filter") != Name.FlateDecode or "/DecodeParms" in stream or stream.get("/Type") == Name.ObjStm:
        return
    try:
        before = stream.read_raw_bytes()
        data = read(stream)
    except (Undecodable, pikepdf.PdfError, ValueError, RuntimeError):
        return
    after = zlib.compress(data, 9)
    if len(after) < len(before):
        stream.write(after, filter=Name.FlateDecode)


def _picture(image: pikepdf.Object) -> int:
    """Encode a picture anew if that is smaller; the bytes saved, 0 when it stays."""
    chosen = image.get("/Filter")
    names = list(chosen) if isinstance(chosen, pikepdf.Array) else [chosen] if chosen is not None else []
    if any(str(name) not in _LOSSLESS for name in names):
        return 0
    try:
        width, height = int(image.Width), int(image.Height)
        bits = 1 if is_true(image.get("/ImageMask")) else int(image.get("/BitsPerComponent", 8))
        size = int(image.get("/Length", 0))
    except (AttributeError, TypeError, ValueError):
        return 0
    colours = _components(image)
    row = (width * bits * colours + 7) // 8
    if colours == 0 or size < _WORTHWHILE or width < 1 or height < 1 or row * height > _LARGEST:
        return 0
    try:
        data = read(image)
    except Undecodable:
        return 0
    if len(data) < row * height:
        return 0
    data = data[: row * height]
    before = image.read_raw_bytes()
    best: tuple[bytes, Name, Dictionary | None] = (before, Name.FlateDecode, None)
    for made in (_deflated(data, width, height, bits, colours), _group4(data, width, height, bits, colours)):
        if made is not None and len(made[0]) < len(best[0]):
            best = made
    if len(best[0]) > _GAIN * len(before):
        return 0
    image.write(best[0], filter=best[1], decode_parms=best[2])
    if best[1] == Name.FlateDecode and read(image)[: len(data)] != data:
        raise PdfError(Code.FEATURE_LOST, "A picture came out different when it was encoded anew.")
    return len(before) - len(best[0])


def _components(image: pikepdf.Object) -> int:
    """Colour components of a picture; 0 where they cannot be told."""
    if is_true(image.get("/ImageMask")):
        return 1
    space = image.get("/ColorSpace")
    if isinstance(space, pikepdf.Array) and len(space) > 1:
        kind = space[0]
        if kind == Name.ICCBased and isinstance(space[1], pikepdf.Stream):
            count = space[1].get("/N")
            return count if isinstance(count, int) and count in (1, 3, 4) else 0
        if kind in (Name.Indexed, Name.CalGray, Name.Separation):
            return 1
        return 3 if kind in (Name.CalRGB, Name.Lab) else 0
    return {"/DeviceGray": 1, "/DeviceRGB": 3, "/DeviceCMYK": 4}.get(str(space), 0)


def _deflated(data: bytes, width: int, height: int, bits: int, colours: int) -> tuple[bytes, Name, Dictionary | None]:
    """Deflated at the highest level, plain or with the PNG predictors, whichever is smaller (ISO 32000-1 7.4.4.4)."""
    plain = zlib.compress(data, 9)
    if bits == 8 and colours in (1, 3):
        image = Image.frombytes("L" if colours == 1 else "RGB", (width, height), data)
        out = io.BytesIO()
        image.save(out, "PNG", compress_level=9)
        predicted = _png_data(out.getvalue())
        if len(predicted) < len(plain):
            parms = Dictionary(Predictor=15, Colors=colours, BitsPerComponent=8, Columns=width)
            return predicted, Name.FlateDecode, parms
    return plain, Name.FlateDecode, None


def _png_data(png: bytes) -> bytes:
    """The zlib stream of a PNG file: its IDAT chunks."""
    at, out = 8, b""
    while at + 8 <= len(png):
        length = int.from_bytes(png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            out += png[at + 8 : at + 8 + length]
        at += 12 + length
    return out


def _group4(
    data: bytes, width: int, height: int, bits: int, colours: int
) -> tuple[bytes, Name, Dictionary | None] | None:
    """CCITT Group 4 for two-level pictures; None where it does not serve."""
    if bits != 1 or colours != 1:
        return None
    image = Image.frombytes("1", (width, height), data)
    out = io.BytesIO()
    try:
        image.save(out, "TIFF", compression="group4", strip_size=1 << 30)
    except (OSError, ValueError):
        return None
    with Image.open(out) as made:
        tags = made.tag_v2  # type: ignore[attr-defined]
        places, sizes, photometric = tags[273], tags[279], tags[262]
        same = made.tobytes() == image.tobytes()
    if len(places) != 1 or not same:
        return None
    strip = out.getvalue()[places[0] : places[0] + sizes[0]]
    parms = Dictionary(K=-1, Columns=width, Rows=height, BlackIs1=photometric == 1)
    return strip, Name.CCITTFaxDecode, parms
