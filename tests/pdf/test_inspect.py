"""What a file is: every kind of file that cannot be worked on has its code, and a sound one its facts."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from pdf.errors import Code, PdfError
from pdf.inspect import inspect
from tests.corpus.plain import letter
from tests.corpus.samples import damaged, scan
from tests.pdf.fonts import made

TEXT = b"BT /F1 12 Tf 9 9 Td (text) Tj ET"


def sound(target: Path, content: bytes = TEXT) -> Path:
    return made.document(target, {"F1": made.standard("Helvetica")}, content)


def picture(pdf: pikepdf.Pdf, size: int = 40) -> pikepdf.Object:
    return pdf.make_stream(
        bytes(range(40)) * size,
        Subtype=Name.Image,
        Width=40,
        Height=size,
        BitsPerComponent=8,
        ColorSpace=Name.DeviceGray,
    )


def refused(path: Path) -> tuple[Code, str]:
    with pytest.raises(PdfError) as caught:
        inspect(path)
    assert not caught.value.retryable
    return caught.value.code, caught.value.message


def test_a_sound_file_has_its_facts(tmp_path: Path) -> None:
    letter(tmp_path / "a.pdf")
    found = inspect(tmp_path / "a.pdf")
    assert (found.pages, found.sizes[0]) == (2, (595.0, 842.0))
    assert found.text_pages == [1, 2]
    assert not (found.signed or found.tagged or found.forms or found.repaired or found.encrypted)
    assert found.size_bytes == (tmp_path / "a.pdf").stat().st_size
    assert len(found.sha256) == 64


def test_sizes_are_those_a_reader_sees(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        page = pdf.pages[0].obj
        page.MediaBox, page.CropBox = [0, 0, 300, 300], [10, 20, 110, 70]
        page.Rotate, page.UserUnit = 90, 2
        pdf.save(path)
    assert inspect(path).sizes == [(100.0, 200.0)]


def test_metadata_is_read(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.docinfo["/Title"] = "Old title"
        pdf.docinfo["/Producer"] = "A writer"
        with pdf.open_metadata() as metadata:
            metadata["dc:title"] = "The title"
        pdf.Root.Lang = pikepdf.String("de-CH")
        pdf.Root.StructTreeRoot = Dictionary(K=Array([]))
        pdf.Root.MarkInfo = Dictionary(Marked=True)
        pdf.save(path)
    found = inspect(path)
    assert (found.title, found.language, found.tagged, found.marked) == ("The title", "de-CH", True, True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"Dear reader", "no PDF"),
        (b"<!DOCTYPE html><p>404", "a web page"),
        (b"\x89PNG\r\n", "a picture"),
    ],
)
def test_what_is_no_pdf(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "a.pdf").write_bytes(data)
    code, message = refused(tmp_path / "a.pdf")
    assert code is Code.NOT_A_PDF
    assert words in message


def test_an_office_document_called_pdf(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pdf", "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    assert refused(tmp_path / "a.pdf")[0] is Code.NOT_A_PDF


def test_half_a_file_is_damaged(tmp_path: Path) -> None:
    damaged(tmp_path / "a.pdf")
    assert refused(tmp_path / "a.pdf")[0] is Code.SOURCE_DAMAGED


def test_a_lost_table_is_repaired_and_said(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"startxref")] + b"startxref\n99999\n%%EOF\n")
    found = inspect(path)
    assert found.repaired
    assert found.warnings


def test_content_that_does_not_decode_is_damage(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.pages[0].obj.Contents = pikepdf.Stream(pdf, b"not deflated at all", Filter=Name.FlateDecode)
        pdf.save(path, stream_decode_level=pikepdf.StreamDecodeLevel.none)
    code, message = refused(path)
    assert code is Code.SOURCE_DAMAGED
    assert "page 1" in message


@pytest.mark.parametrize(("user", "words"), [("secret", "only with its password"), ("", "opens without a password")])
def test_encrypted_files(tmp_path: Path, user: str, words: str) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.save(path, encryption=pikepdf.Encryption(user=user, owner="owner"))
    code, message = refused(path)
    assert code is Code.ENCRYPTED
    assert words in message


def test_no_pages(tmp_path: Path) -> None:
    with pikepdf.new() as pdf:
        pdf.save(tmp_path / "a.pdf")
    assert refused(tmp_path / "a.pdf")[0] is Code.NO_PAGES


def test_portfolio(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.Root.Collection = Dictionary(Type=Name.Collection)
        pdf.save(path)
    assert refused(path)[0] is Code.PORTFOLIO


@pytest.mark.parametrize("how", ["catalog", "config"])
def test_dynamic_xfa(tmp_path: Path, how: str) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        config = b"<config><acrobat><dynamicRender>required</dynamicRender></acrobat></config>"
        xfa = Array([pikepdf.String("config"), pdf.make_stream(config if how == "config" else b"<config/>")])
        pdf.Root.AcroForm = Dictionary(Fields=Array([]), XFA=xfa)
        if how == "catalog":
            pdf.Root.NeedsRendering = True
        pdf.save(path)
    assert refused(path)[0] is Code.DYNAMIC_XFA


def test_a_scan_needs_recognition(tmp_path: Path) -> None:
    scan(tmp_path / "a.pdf")
    code, message = refused(tmp_path / "a.pdf")
    assert code is Code.NEEDS_OCR
    assert "no page has text" in message


@pytest.mark.parametrize(("scans", "texts", "passes"), [(1, 1, True), (9, 1, False), (3, 2, True)])
def test_mixed_documents_go_by_the_share_of_scans(tmp_path: Path, scans: int, texts: int, passes: bool) -> None:
    path = tmp_path / "a.pdf"
    with pikepdf.new() as pdf:
        image = picture(pdf)
        font = made.standard("Helvetica")(pdf)
        for number in range(scans + texts):
            page = pdf.add_blank_page(page_size=(300, 300)).obj
            page.Resources = Dictionary(Font=Dictionary(F1=font), XObject=Dictionary(Im=image))
            page.Contents = pdf.make_stream(b"q 300 0 0 300 0 0 cm /Im Do Q" if number < scans else TEXT)
        pdf.save(path)
    if passes:
        assert inspect(path).scan_pages == list(range(1, scans + 1))
    else:
        assert refused(path)[0] is Code.NEEDS_OCR


def test_a_small_picture_makes_no_scan(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf", b"q 50 0 0 50 0 0 cm /Im Do Q 0 0 m 300 300 l S")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.pages[0].obj.Resources.XObject = Dictionary(Im=picture(pdf))
        pdf.save(path)
    found = inspect(path)
    assert (found.text_pages, found.scan_pages, found.blank_pages) == ([], [], [])


def test_signatures_and_fields(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        signature = Dictionary(FT=Name.Sig, T=pikepdf.String("s"), V=Dictionary(Type=Name.Sig, Contents=b"x"))
        text = Dictionary(FT=Name.Tx, T=pikepdf.String("t"))
        pdf.Root.AcroForm = Dictionary(Fields=Array([pdf.make_indirect(signature), pdf.make_indirect(text)]))
        pdf.save(path)
    found = inspect(path)
    assert (found.signed, found.forms, found.fields) == (True, True, 2)


def test_a_field_tree_with_a_loop_ends(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        field = pdf.make_indirect(Dictionary(T=pikepdf.String("loop")))
        field.Kids = Array([field])
        pdf.Root.AcroForm = Dictionary(Fields=Array([field]))
        pdf.save(path)
    assert inspect(path).fields == 1
