"""Optimization: smaller, with nothing lost, and every decision recorded."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, String
from PIL import Image

from pdf import inventory, lossless
from pdf import optimize as module
from pdf.errors import Code, PdfError
from pdf.optimize import optimize
from pdf.tools import ghostscript, qpdf
from pdf.tools.runner import run
from tests.pdf.fonts import made
from tests.pdf.test_inventory import rich


def pictures(path: Path) -> Path:
    """A wasteful file: a photograph, a two-level drawing and a copy of each, deflated badly."""
    made.document(path, {}, b"q 99 0 0 99 0 0 cm /A Do /B Do /C Do /D Do Q")
    photo = Image.linear_gradient("L").resize((300, 300)).rotate(30).convert("RGB")
    drawing = Image.radial_gradient("L").resize((600, 600)).point(lambda v: 255 * (v % 40 > 20)).convert("1")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:

        def image(data: bytes, width: int, bits: int, space: Name) -> pikepdf.Object:
            return pdf.make_stream(
                data,
                Subtype=Name.Image,
                Width=width,
                Height=width,
                BitsPerComponent=bits,
                ColorSpace=space,
            )

        pdf.pages[0].obj.Resources.XObject = Dictionary(
            A=image(photo.tobytes(), 300, 8, Name.DeviceRGB),
            B=image(photo.tobytes(), 300, 8, Name.DeviceRGB),
            C=image(drawing.tobytes(), 600, 1, Name.DeviceGray),
            D=image(drawing.tobytes(), 600, 1, Name.DeviceGray),
        )
        pdf.save(path)
    return path


def rendered(path: Path) -> bytes:
    import pypdfium2 as pdfium

    with pdfium.PdfDocument(path) as document:
        return bytes(document[0].render(scale=2).to_numpy().tobytes())


def test_pictures_are_encoded_anew_without_loss(tmp_path: Path) -> None:
    source = pictures(tmp_path / "a.pdf")
    outcome = optimize(source, tmp_path / "b.pdf")
    assert outcome.chosen == "lossless"
    assert outcome.size_after < 0.6 * outcome.size_before
    assert outcome.size_after == (tmp_path / "b.pdf").stat().st_size
    reason = next(c.reason for c in outcome.candidates if c.name == "lossless")
    assert "2 pictures encoded anew" in reason
    assert "2 duplicates joined" in reason
    assert rendered(tmp_path / "b.pdf") == rendered(source)
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        images = pdf.pages[0].obj.Resources.XObject
        assert images.A.objgen == images.B.objgen
        assert images.C.Filter == Name.CCITTFaxDecode


def test_nothing_a_reader_relies_on_is_lost(tmp_path: Path) -> None:
    source = rich(tmp_path / "a.pdf")
    optimize(source, tmp_path / "b.pdf")
    assert inventory.lost(inventory.take(source), inventory.take(tmp_path / "b.pdf")) == []
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert pdf.is_linearized


def test_a_signed_file_keeps_its_bytes(tmp_path: Path) -> None:
    source = pictures(tmp_path / "a.pdf")
    with pikepdf.open(source, allow_overwriting_input=True) as pdf:
        value = Dictionary(Type=Name.Sig, Contents=b"x", ByteRange=[0, 1, 2, 3])
        field = pdf.make_indirect(Dictionary(FT=Name.Sig, T=String("s"), V=value))
        pdf.Root.AcroForm = Dictionary(Fields=Array([field]), SigFlags=3)
        pdf.save(source)
    outcome = optimize(source, tmp_path / "b.pdf")
    assert outcome.chosen == "untouched"
    assert (tmp_path / "b.pdf").read_bytes() == source.read_bytes()


def test_a_candidate_that_loses_something_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pictures(tmp_path / "a.pdf")
    squeeze = lossless.squeeze

    def careless(pdf: pikepdf.Pdf, *, fonts: bool):
        pdf.pages[0].obj.Rotate = 90
        return squeeze(pdf, fonts=fonts)

    monkeypatch.setattr(module, "squeeze", careless)
    outcome = optimize(source, tmp_path / "b.pdf")
    assert outcome.chosen == "linearized"
    refused = next(c for c in outcome.candidates if c.name == "lossless")
    assert not refused.accepted
    assert "rotation" in refused.reason


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    source = pictures(tmp_path / "a.pdf")
    assert optimize(source, tmp_path / "b.pdf").sha256 == optimize(source, tmp_path / "c.pdf").sha256


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("10.00.0", "known to damage text"),
        ("10.02.0", "known to damage text"),
        ("9.27", "too old"),
        ("no idea", "does not tell"),
        ("10.02.1", ""),
        ("10.05.1", ""),
        ("9.56.1", ""),
    ],
)
def test_which_ghostscript_is_used(said: str, words: str) -> None:
    refusal = ghostscript.judged("/usr/bin/gs", said).refusal
    assert (words in refusal) if words else refusal == ""


def test_a_missing_ghostscript_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ghostscript, "find", lambda: None)
    outcome = optimize(pictures(tmp_path / "a.pdf"), tmp_path / "b.pdf")
    reason = next(c.reason for c in outcome.candidates if c.name == "ghostscript")
    assert "not installed" in reason


def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program in Ghostscript's place: a shell script that gets the output in $out and the input in $in."""
    program = tmp_path / "gs"
    program.write_text(
        '#!/bin/sh\nfor a in "$@"; do in="$a"; case "$a" in -sOutputFile=*) out="${a#*=}";; esac; done\n' + script
    )
    program.chmod(0o755)
    found = ghostscript.Ghostscript(str(program), "10.05.1", "")
    monkeypatch.setattr(ghostscript, "find", lambda: found)


def plain_pictures(tmp_path: Path) -> Path:
    return pictures(tmp_path / "a.pdf")


def test_ghostscript_must_prove_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blank = made.document(tmp_path / "blank.pdf", {}, b"")
    fake(tmp_path, monkeypatch, f'cp {blank} "$out"\n')
    outcome = optimize(plain_pictures(tmp_path), tmp_path / "b.pdf")
    refused = next(c for c in outcome.candidates if c.name == "ghostscript")
    assert (refused.accepted, "looks different" in refused.reason) == (False, True)
    assert outcome.chosen == "lossless"


def test_a_ghostscript_that_proves_itself_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = plain_pictures(tmp_path)
    optimize(source, tmp_path / "better.pdf")
    fake(tmp_path, monkeypatch, f'cp {tmp_path / "better.pdf"} "$out"\n')
    monkeypatch.setattr(module, "squeeze", lambda pdf, fonts: lossless.Gains(0, 0, 0, 0))
    assert optimize(source, tmp_path / "b.pdf").chosen == "ghostscript"


@pytest.mark.parametrize(("script", "words"), [("exit 1\n", "ended with 1"), ("kill -9 $$\n", "signal 9")])
def test_a_failing_ghostscript_only_loses_its_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    fake(tmp_path, monkeypatch, script)
    outcome = optimize(plain_pictures(tmp_path), tmp_path / "b.pdf")
    assert words in next(c.reason for c in outcome.candidates if c.name == "ghostscript")
    assert outcome.chosen == "lossless"


def test_a_slow_program_is_ended_with_its_children(tmp_path: Path) -> None:
    with pytest.raises(PdfError) as caught:
        run(["/bin/sh", "-c", "sleep 60 & sleep 60"], seconds=0.3, folder=tmp_path)
    assert caught.value.code is Code.TOOL_TIMEOUT


def test_a_program_sees_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert "secret" not in run(["/usr/bin/env"], seconds=10, folder=tmp_path).output


def test_qpdf_finds_what_is_broken(tmp_path: Path) -> None:
    good = rich(tmp_path / "a.pdf")
    assert qpdf.check(good).ok
    (tmp_path / "b.pdf").write_bytes(good.read_bytes()[:-700])
    assert not qpdf.check(tmp_path / "b.pdf").ok
