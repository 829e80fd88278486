"""The samples are what the README says they are, on every machine and every day."""

import json

import pikepdf
import pypdfium2
import pytest
import typst

from tests.corpus.samples import SAMPLES, missing_fonts, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("samples")
    write(target)
    return target


def made(folder):
    return [s for s in SAMPLES if (folder / s.name).exists()]


def words(path):
    with pypdfium2.PdfDocument(path) as document:
        return ["".join(page.get_textpage().get_text_bounded().split()) for page in document]


def test_every_sample_is_made_unless_a_font_is_missing(folder):
    families = set(typst.Fonts().families())
    lacking = {s.name for s in SAMPLES if missing_fonts(s, families)}
    assert {s.name for s in made(folder)} == {s.name for s in SAMPLES} - lacking
    assert set(json.loads((folder / "expected.json").read_text())) == {s.name for s in made(folder)}


def test_a_twin_has_the_same_pages_and_text_as_its_sample_and_only_the_twin_is_tagged(folder):
    twins = [s for s in made(folder) if s.source and s.name != "handout.pdf"]
    assert twins
    for sample in twins:
        assert words(folder / sample.name) == words(folder / "twins" / sample.name)
        with pikepdf.open(folder / sample.name) as plain, pikepdf.open(folder / "twins" / sample.name) as twin:
            assert "/StructTreeRoot" not in plain.Root
            assert "/StructTreeRoot" in twin.Root


def test_lengths_put_the_manual_alone_in_the_long_lane(folder):
    for sample in made(folder):
        if sample.status == "published":
            with pikepdf.open(folder / sample.name) as pdf:
                assert (len(pdf.pages) > 32) == (sample.lane == "long"), sample.name


def test_the_letter_embeds_no_font_and_the_scan_has_no_text(folder):
    with pikepdf.open(folder / "letter.pdf") as pdf:
        assert all("/FontDescriptor" not in font for font in pdf.pages[0].obj.Resources.Font.values())
    assert words(folder / "scan.pdf") == ["", ""]


def test_the_form_has_its_fields_over_its_boxes(folder):
    with pikepdf.open(folder / "form.pdf") as pdf:
        assert [str(field.TU) for field in pdf.Root.AcroForm.Fields][:2] == ["Family name", "Given name"]
        assert len(pdf.pages[0].obj.Annots) == 8


def test_a_second_call_keeps_what_is_there(folder):
    before = {p.name: p.read_bytes() for p in folder.glob("*.pdf")}
    write(folder)
    assert {p.name: p.read_bytes() for p in folder.glob("*.pdf")} == before


def test_typeset_samples_are_the_same_bytes_in_every_build(folder, tmp_path):
    write(tmp_path)
    for sample in made(folder):
        if sample.source:
            assert (tmp_path / sample.name).read_bytes() == (folder / sample.name).read_bytes(), sample.name
