"""Pictures are encoded anew to the same pixels, or left as they are."""

from __future__ import annotations

import io
import random
import zlib

import deflate
import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import Image

from pdf import deflate as module
from pdf.deflate import Deflater
from pdf.errors import Code, PdfError
from pdf.pictures import encode_anew


def photograph(mode: str) -> Image.Image:
    noise = Image.frombytes("RGB", (200, 200), random.Random(1).randbytes(200 * 200 * 3))
    shape = Image.radial_gradient("L").resize((200, 200)).convert("RGB")
    return Image.blend(noise, shape, 0.8).convert(mode)


def jpeg(mode: str, **options: object) -> bytes:
    out = io.BytesIO()
    photograph(mode).save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def picture(pdf: pikepdf.Pdf, data: bytes, name: Name = Name.DCTDecode, space: Name = Name.DeviceRGB) -> pikepdf.Object:
    image = pdf.make_stream(b"", Subtype=Name.Image, Width=200, Height=200, BitsPerComponent=8, ColorSpace=space)
    image.write(data, filter=name)
    return image


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_a_jpeg_file_is_coded_better_to_the_same_pixels(mode: str) -> None:
    data = jpeg(mode)
    with pikepdf.new() as pdf:
        image = picture(pdf, data)
        image.DecodeParms = Dictionary(ColorTransform=1)
        saved = encode_anew(image, Deflater())
        after = image.read_raw_bytes()
        assert saved == len(data) - len(after) > 0
        assert (image.Filter, image.DecodeParms) == (Name.DCTDecode, Dictionary(ColorTransform=1))
    old, new = Image.open(io.BytesIO(data)), Image.open(io.BytesIO(after))
    assert (new.mode, new.tobytes()) == (old.mode, old.tobytes())


def test_what_no_better_coding_is_found_for_stays() -> None:
    best = jpeg("RGB", progressive=True, optimize=True)
    with pikepdf.new() as pdf:
        image = picture(pdf, best)
        first = encode_anew(image, Deflater())
        again = image.read_raw_bytes()
        assert encode_anew(image, Deflater()) == 0
        assert image.read_raw_bytes() == again
        assert first >= 0


@pytest.mark.parametrize("data", [jpeg("RGB")[:4000], b"no JPEG" * 1000, b"\xff\xd8\xff" + bytes(5000)])
def test_a_broken_jpeg_file_stays(data: bytes) -> None:
    with pikepdf.new() as pdf:
        image = picture(pdf, data)
        assert encode_anew(image, Deflater()) == 0
        assert image.read_raw_bytes() == data


def test_a_chain_of_filters_with_jpeg_in_it_stays() -> None:
    with pikepdf.new() as pdf:
        image = picture(pdf, jpeg("RGB").hex().encode() + b">")
        image.Filter = Array([Name.ASCIIHexDecode, Name.DCTDecode])
        assert encode_anew(image, Deflater()) == 0


@pytest.mark.parametrize(("mode", "space"), [("L", Name.DeviceGray), ("RGB", Name.DeviceRGB)])
def test_rows_are_predicted_where_that_is_smaller(mode: str, space: Name) -> None:
    smooth = photograph(mode).resize((50, 50)).resize((200, 200), Image.Resampling.BICUBIC)
    with pikepdf.new() as pdf:
        image = picture(pdf, zlib.compress(smooth.tobytes(), 1), Name.FlateDecode, space)
        assert encode_anew(image, Deflater()) > 0
        assert int(image.DecodeParms.Predictor) == 15
        assert image.read_bytes() == smooth.tobytes()


def test_a_picture_that_has_less_data_than_it_says_stays() -> None:
    with pikepdf.new() as pdf:
        image = picture(pdf, zlib.compress(bytes(random.Random(1).randbytes(9000)), 1), Name.FlateDecode)
        assert encode_anew(image, Deflater()) == 0


def test_deflating_is_checked_and_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    compress = deflate.zlib_compress

    def watched(data: bytes, level: int) -> bytes:
        levels.append(level)
        return bytes(compress(data, level))

    monkeypatch.setattr(deflate, "zlib_compress", watched)
    monkeypatch.setattr(module, "BEST_BYTES", 150)
    deflater = Deflater()
    for _ in range(3):
        deflater(bytes(100))
    assert levels == [12, 10, 10]
    monkeypatch.setattr(deflate, "zlib_compress", lambda data, level: compress(data + b"x", level))
    with pytest.raises(PdfError) as caught:
        deflater(b"abc")
    assert caught.value.code is Code.FEATURE_LOST
