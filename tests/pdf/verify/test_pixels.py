"""Pixels: form fields are looked at too, and memory does not follow the size of a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import pikepdf
import pytest
from numpy.typing import NDArray
from pikepdf import Array, Dictionary, Name, String

from pdf.sandbox import Limits, Sandbox
from pdf.verify import pixels
from pdf.verify.checks import Result
from tests.pdf.tagging.pages import line, make


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as found:
        yield found


def poster(path: Path, width: float, height: float, mark: bytes = b"") -> Path:
    """A page of this size in points with a little on it, the mark at its far end."""
    make(path, [line(250, "words") + b"9 9 40 40 re f " + mark])
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.pages[0].mediabox = Array([0, 0, width, height])
        pdf.save(path)
    return path


def test_a_page_of_14400_points_takes_no_gigabytes(sandbox: Sandbox, tmp_path: Path) -> None:
    """30,000 × 3,000 pixels are 360 MB a file; the whole square page is ten times that and measured by the bench."""
    one = poster(tmp_path / "a.pdf", 14_400, 1_440)
    two = poster(tmp_path / "b.pdf", 14_400, 1_440, b"13000 0 1400 1440 re f")
    small = Limits(memory_mb=256)
    same = sandbox.call(pixels.check_pixels, one, one, None, limits=small)
    assert same.value.result is Result.PASS
    differs = sandbox.call(pixels.check_pixels, one, two, None, limits=small)
    assert differs.value.result is Result.FAIL
    assert max(same.peak_memory_mb, differs.peak_memory_mb) < 350


def test_a_page_that_differs_is_given_up_when_it_cannot_pass_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = poster(tmp_path / "a.pdf", 3_000, 3_000)
    two = poster(tmp_path / "b.pdf", 3_000, 3_000, b"0 0 3000 3000 re f")
    looked: list[int] = []
    differences = pixels.differences

    def counted(a: NDArray[numpy.uint8], b: NDArray[numpy.uint8]) -> int:
        looked.append(1)
        return differences(a, b)

    monkeypatch.setattr(pixels, "differences", counted)
    assert pixels.check_pixels(one, two).result is Result.FAIL
    assert len(looked) == 1 < len(list(pixels.tiles(6_250, 6_250)))


def form(path: Path, shade: bytes) -> Path:
    """A page with a text field whose appearance is a box of this shade."""
    make(path, [line(250, "Name:")])
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        look = pdf.make_stream(shade + b" g 0 0 100 40 re f", Type=Name.XObject, Subtype=Name.Form)
        look.BBox = Array([0, 0, 100, 40])
        field = pdf.make_indirect(
            Dictionary(
                Type=Name.Annot,
                Subtype=Name.Widget,
                FT=Name.Tx,
                T=String("name"),
                Rect=[20, 20, 120, 60],
                F=4,
                AP=Dictionary(N=look),
            )
        )
        pdf.pages[0].obj.Annots = Array([field])
        pdf.Root.AcroForm = Dictionary(Fields=Array([field]))
        pdf.save(path)
    return path


def test_form_fields_are_drawn(tmp_path: Path) -> None:
    black, grey, bare = form(tmp_path / "a.pdf", b"0"), form(tmp_path / "b.pdf", b".5"), tmp_path / "c.pdf"
    with pikepdf.open(black) as pdf:
        del pdf.Root.AcroForm, pdf.pages[0].obj.Annots
        pdf.save(bare)
    assert pixels.check_pixels(black, black).result is Result.PASS
    assert pixels.check_pixels(black, grey).result is Result.FAIL
    assert pixels.check_pixels(black, bare).result is Result.FAIL
