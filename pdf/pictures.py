"""Pictures encoded anew where that is smaller, to the same pixels: deflate with the PNG predictors, CCITT Group 4 for
two levels, the entropy coding of JPEG files. Whatever is made is decoded again and compared before it is taken.
"""

from __future__ import annotations

import io
import zlib

import mozjpeg_lossless_optimization as mozjpeg
import pikepdf
from pikepdf import Dictionary, Name
from PIL import Image

from pdf.deflate import Deflater
from pdf.errors import Code, PdfError
from pdf.inspect import is_true
from pdf.streams import Undecodable, read

#: Pictures smaller than this (encoded bytes) are left as they are.
_WORTHWHILE = 2_000
#: Decoded pictures, and JPEG files, larger than this are left: memory and time are bounded.
_LARGEST, _LARGEST_JPEG = 128 << 20, 16 << 20
#: Pixels of a JPEG picture that are decoded to compare it.
_JPEG_PIXELS = 40_000_000
_LOSSLESS = frozenset(("/FlateDecode", "/LZWDecode", "/RunLengthDecode", "/ASCII85Decode", "/ASCIIHexDecode"))
#: A new encoding must be at least this much smaller.
_GAIN = 0.97


def encode_anew(image: pikepdf.Object, deflater: Deflater) -> int:
    """Encode a picture anew if that is smaller; the bytes saved, 0 when it stays."""
    chosen = image.get("/Filter")
    names = list(chosen) if isinstance(chosen, pikepdf.Array) else [chosen] if chosen is not None else []
    try:
        if int(image.get("/Length", 0)) < _WORTHWHILE:
            return 0
        if names == [Name.DCTDecode]:
            return _jpeg(image)
        if all(str(name) in _LOSSLESS for name in names):
            return _samples(image, deflater)
    except (AttributeError, TypeError, ValueError, Undecodable, pikepdf.PdfError):
        return 0  # a picture that is not as it says stays as it is
    return 0


def _jpeg(image: pikepdf.Object) -> int:
    """The same coefficients with better Huffman tables, progressive (ISO/IEC 10918-1 annex G; PDF 1.3 and later).

    Markers are left out: ISO 32000-1 7.4.8 has readers take colour from the dictionary, not from the JPEG file.
    """
    before = image.read_raw_bytes()
    if len(before) > _LARGEST_JPEG:
        return 0
    try:
        with Image.open(io.BytesIO(before), formats=["JPEG"]) as old:
            if old.width * old.height > _JPEG_PIXELS:
                return 0
            after = bytes(mozjpeg.optimize(before, copy=mozjpeg.COPY_MARKERS.NONE))
            if len(after) > _GAIN * len(before):
                return 0
            with Image.open(io.BytesIO(after), formats=["JPEG"]) as new:
                if (old.mode, old.size, _adobe(old)) != (new.mode, new.size, _adobe(new)):
                    return 0
                if old.tobytes() != new.tobytes():
                    return 0
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0
    parms = image.get("/DecodeParms")
    image.write(after, filter=Name.DCTDecode, decode_parms=parms if isinstance(parms, Dictionary) else None)
    return len(before) - len(after)


def _adobe(image: Image.Image) -> object:
    """What the Adobe marker says of the colour transform, which decides how a reader takes the samples."""
    return image.info.get("adobe_transform")


def _samples(image: pikepdf.Object, deflater: Deflater) -> int:
    width, height = int(image.Width), int(image.Height)
    bits = 1 if is_true(image.get("/ImageMask")) else int(image.get("/BitsPerComponent", 8))
    colours = _components(image)
    row = (width * bits * colours + 7) // 8
    if colours == 0 or width < 1 or height < 1 or row * height > _LARGEST:
        return 0
    data = read(image)
    if len(data) < row * height:
        return 0
    data = data[: row * height]
    before = image.read_raw_bytes()
    best: tuple[bytes, Name, Dictionary | None] = (before, Name.FlateDecode, None)
    for made in (
        _deflated(data, width, height, bits, colours, deflater),
        _group4(data, width, height, bits, colours),
    ):
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


def _deflated(
    data: bytes, width: int, height: int, bits: int, colours: int, deflater: Deflater
) -> tuple[bytes, Name, Dictionary | None]:
    """Deflated, plain or by the PNG predictors, whichever is smaller when deflated quickly (7.4.4.4)."""
    if bits == 8 and colours in (1, 3):
        image = Image.frombytes("L" if colours == 1 else "RGB", (width, height), data)
        out = io.BytesIO()
        image.save(out, "PNG", compress_level=1)
        predicted = _png_data(out.getvalue())
        if len(predicted) < len(zlib.compress(data, 1)):
            parms = Dictionary(Predictor=15, Colors=colours, BitsPerComponent=8, Columns=width)
            return deflater(zlib.decompress(predicted)), Name.FlateDecode, parms
    return deflater(data), Name.FlateDecode, None


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
