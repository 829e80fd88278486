"""Inline images that another reader could see end too early are images of their own afterwards, and look the same."""

from __future__ import annotations

import zlib
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from pdf.base import make_base
from pdf.content.inline import mend_inline_images
from tests.pdf.tagging.pages import line, make

#: Eight by four grey pixels with three things in them that look like the end.
PIXELS = b"ab EI Q q\nEI cd\n EI \nBDC /x BMCz"
assert len(PIXELS) == 32


def page(dictionary: bytes, data: bytes) -> bytes:
    return b"q 100 0 0 100 9 9 cm BI " + dictionary + b" ID " + data + b" EI Q\n" + line(250, "words")


def mended(path: Path, *contents: bytes) -> tuple[int, list[dict[str, object]], list[bytes]]:
    """How many were taken out; the images as their entries, and the pages' content."""
    make(path, contents)
    with pikepdf.open(path) as pdf:
        count = mend_inline_images(pdf)
        pictures = [x for x in pdf.objects if isinstance(x, pikepdf.Stream) and x.get("/Subtype") == Name.Image]
        entries = [{"data": bytes(x.read_bytes()), **dict(x.items())} for x in pictures]
        return count, entries, [p.obj.Contents.read_bytes() for p in pdf.pages]


def test_data_that_looks_like_its_end_is_taken_out(tmp_path: Path) -> None:
    content = page(b"/W 8 /H 4 /CS /G /BPC 8 /I true /D [1 0]", PIXELS)
    count, (image,), (after,) = mended(tmp_path / "a.pdf", content)
    assert count == 1
    assert image["data"] == PIXELS
    assert (image["/Width"], image["/Height"], image["/BitsPerComponent"]) == (8, 4, 8)
    assert (image["/ColorSpace"], image["/Interpolate"], list(image["/Decode"])) == (Name.DeviceGray, True, [1, 0])  # type: ignore[call-overload]
    assert after == b"q 100 0 0 100 9 9 cm /Inline1 Do Q\n" + line(250, "words")


def test_the_same_file_gives_the_same_names_and_taken_ones_are_left(tmp_path: Path) -> None:
    content = page(b"/W 8 /H 4 /CS /G /BPC 8", PIXELS)
    first = make_base(make(tmp_path / "a.pdf", [content, content], {"Inline1": b"0 0 1 1 re f"}), tmp_path / "b.pdf")
    again = make_base(tmp_path / "a.pdf", tmp_path / "c.pdf")
    assert first.sha256 == again.sha256
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert {"/Inline1", "/Inline1x", "/Inline2"} <= set(pdf.pages[0].obj.Resources.XObject.keys())


def test_filters_and_colour_spaces_of_the_page_are_kept(tmp_path: Path) -> None:
    trap = zlib.compress(b" EI Q " * 5 + b"xy", 0)  # stored, so that the ends stand in it as they are
    plain = zlib.compress(bytes(range(32)), 0)
    dictionary = b"/W 8 /H 4 /BPC 8 /F /Fl /CS "
    make(tmp_path / "a.pdf", [page(dictionary + b"/Own", trap), page(dictionary + b"/G", plain)])
    with pikepdf.open(tmp_path / "a.pdf") as pdf:
        own = Array([Name.CalGray, Dictionary(WhitePoint=[1, 1, 1])])
        pdf.pages[0].obj.Resources.ColorSpace = Dictionary(Own=own)
        assert mend_inline_images(pdf) == 1
        image = pdf.pages[0].obj.Resources.XObject.Inline1
        assert image.Filter == Name.FlateDecode
        assert image.ColorSpace[0] == Name.CalGray
        assert image.read_bytes() == b" EI Q " * 5 + b"xy"


@pytest.mark.parametrize(
    "content",
    [
        page(b"/W 8 /H 4 /CS /G /BPC 8", b"x" * 32),
        page(b"/W 8 /H [", PIXELS),
        page(b"/CS /G", PIXELS),
        b"(BI ID EI EI) Tj",
        b"BI EI EI",
    ],
)
def test_what_ends_where_all_say_or_says_nothing_stays(tmp_path: Path, content: bytes) -> None:
    count, images, (after,) = mended(tmp_path / "a.pdf", content)
    assert (count, images, after) == (0, [], content)
