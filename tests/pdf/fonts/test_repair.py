"""Fonts made whole: each test a file with one thing wrong."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
import pytest
from pikepdf import Array, Dictionary, Name

from pdf.fonts import faces, repair
from pdf.fonts.build import Glyph, name_keyed
from pdf.fonts.cff import Cff
from pdf.fonts.cmaps import parse
from tests.corpus.plain import letter
from tests.pdf.fonts import made

SANS, _ = faces.faces_for(faces.Style("sans", bold=False, italic=False))
needs_fonts = pytest.mark.skipif(
    not any(face.package == "fonts-urw-base35" for face in SANS), reason="fonts-urw-base35 is not installed"
)
needs_cjk = pytest.mark.skipif(not faces.cjk_faces("x", "GB1", False)[0], reason="fonts-noto-cjk is not installed")


def text_of(path: Path) -> str:
    with pdfium.PdfDocument(path) as document:
        return "".join(document[0].get_textpage().get_text_bounded().split())


def dark(path: Path) -> float:
    """The share of the first page that is not white."""
    with pdfium.PdfDocument(path) as document:
        return float((document[0].render(scale=2).to_numpy() < 128).mean())


def kinds(outcome) -> set[str]:
    return {change.kind for change in outcome.changes}


@needs_fonts
def test_standard_fonts_are_embedded_with_their_own_widths(tmp_path: Path) -> None:
    source, target = tmp_path / "letter.pdf", tmp_path / "out.pdf"
    letter(source)
    outcome = repair(source, target)
    assert [c.kind for c in outcome.changes] == ["embedded"] * 3
    assert not outcome.failures
    assert outcome.pixel_changes_reason is not None
    assert "Helvetica-Bold" in outcome.pixel_changes_reason
    assert text_of(target) == text_of(source)
    assert dark(target) == pytest.approx(dark(source), rel=0.1)
    with pikepdf.open(target) as pdf:
        font = made.only_font(pdf, "F2")
        program = Cff(font.FontDescriptor.FontFile3.read_bytes())
        code = ord("m")
        assert int(font.Widths[code - int(font.FirstChar)]) == 778  # Times-Roman's m, from Adobe's metrics
        assert program.width(program.by_name["m"]) == 778
        assert str(font.BaseFont)[7] == "+"


@needs_fonts
def test_only_glyphs_that_are_shown_are_put_in(tmp_path: Path) -> None:
    source = made.document(tmp_path / "a.pdf", {"F1": made.standard("Helvetica")}, b"BT /F1 12 Tf 9 9 Td (abba) Tj ET")
    repair(source, tmp_path / "b.pdf")
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        program = Cff(made.only_font(pdf).FontDescriptor.FontFile3.read_bytes())
        assert set(program.names) == {".notdef", "a", "b"}


@needs_fonts
def test_a_substitute_takes_the_widths_of_the_file(tmp_path: Path) -> None:
    widths = {97: 400, 98: 700}
    font = made.truetype("Verdana", widths, Encoding=Name.WinAnsiEncoding)
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT /F1 12 Tf 9 9 Td (ab) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert "fitted to the widths" in outcome.changes[0].detail
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        put_in = made.only_font(pdf)
        program = Cff(put_in.FontDescriptor.FontFile3.read_bytes())
        assert [round(program.width(program.by_name[n])) for n in "ab"] == [400, 700]
        assert [int(w) for w in put_in.Widths] == [400, 700]


def test_invisible_text_needs_no_font_program(tmp_path: Path) -> None:
    content = b"BT /F1 12 Tf 3 Tr 9 9 Td (under a scan) Tj ET"
    source = made.document(tmp_path / "a.pdf", {"F1": made.standard("Helvetica")}, content)
    outcome = repair(source, tmp_path / "b.pdf")
    assert outcome.fonts == 1
    assert not outcome.changes
    assert not outcome.failures


def test_a_font_nobody_uses_is_left_alone(tmp_path: Path) -> None:
    fonts = {"F1": made.standard("Helvetica"), "F2": made.standard("Courier")}
    source = made.document(tmp_path / "a.pdf", fonts, b"BT /F1 12 Tf ET BT /F2 9 Tf () Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert outcome.fonts == 0


def test_what_is_not_installed_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "_face", lambda *_: None)
    source = made.document(tmp_path / "a.pdf", {"F1": made.standard("Helvetica")}, b"BT /F1 9 Tf (a) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert [(f.clause, f.package) for f in outcome.failures] == [("7.21.4.1", "fonts-urw-base35")]
    assert outcome.pixel_changes_reason is None


@needs_fonts
def test_dingbats_get_unicode_values(tmp_path: Path) -> None:
    source = made.document(tmp_path / "a.pdf", {"F1": made.standard("ZapfDingbats")}, b"BT /F1 9 Tf (4l) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"embedded", "unicode"}
    assert outcome.text_changes_reason is not None
    assert text_of(tmp_path / "b.pdf") == "\u2714\u25cf"


@needs_fonts
def test_wingdings_are_bullets_and_no_letters(tmp_path: Path) -> None:
    font = made.truetype("Wingdings", {0xA7: 458, 0xFC: 891}, Encoding=Name.WinAnsiEncoding)
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT /F1 40 Tf 9 9 Td <A7FC> Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert "embedded" in kinds(outcome)
    assert not outcome.failures
    assert text_of(tmp_path / "b.pdf") == "\u25aa\u2713"


def program_of(**glyphs: str) -> bytes:
    """A CFF with glyphs of these names, each with the outline of a character."""
    loaded = faces.load(SANS[0])
    wanted = {name: Glyph(SANS[0], loaded.glyph(None, char) or 0, 500.0) for name, char in glyphs.items()}
    return name_keyed("ABCDEF+Made", wanted)[0]


def encoded(*names: str) -> Dictionary:
    return Dictionary(Type=Name.Encoding, Differences=Array([65, *[Name("/" + name) for name in names]]))


@needs_fonts
def test_names_outside_the_list_get_unicode_values(tmp_path: Path) -> None:
    program = program_of(summationdisplay="S", parenleftbigg="p", f_i="f")
    font = made.embedded(
        "ABCDEF+CMEX10",
        program,
        "FontFile3",
        kind="Type1C",
        Encoding=encoded("summationdisplay", "parenleftbigg", "f_i"),
        CharSet=pikepdf.String("/summationdisplay"),
    )
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT /F1 9 Tf 9 9 Td (ABC) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"unicode", "char-set"}
    assert outcome.pixel_changes_reason is None
    assert text_of(tmp_path / "b.pdf") == "\u2211(fi"


@needs_fonts
def test_forbidden_unicode_values_are_corrected(tmp_path: Path) -> None:
    font = made.embedded(
        "ABCDEF+Made",
        program_of(A="A", B="B"),
        "FontFile3",
        kind="Type1C",
        Encoding=Name.WinAnsiEncoding,
    )

    def with_map(pdf: pikepdf.Pdf) -> pikepdf.Object:
        made_font = font(pdf)
        made_font.ToUnicode = pdf.make_stream(made.unicode_map(("41", "0000"), ("42", "FEFF")))
        return made_font

    source = made.document(tmp_path / "a.pdf", {"F1": with_map}, b"BT /F1 9 Tf 9 9 Td (AB) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"unicode"}
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert parse(made.only_font(pdf).ToUnicode.read_bytes()).texts == {(65, 1): "A", (66, 1): "B"}


@needs_fonts
def test_the_same_outline_in_another_font_tells_the_text(tmp_path: Path) -> None:
    known = made.embedded(
        "ABCDEF+One", program_of(A="R", B="g"), "FontFile3", kind="Type1C", Encoding=Name.WinAnsiEncoding
    )
    unknown = made.embedded(
        "ABCDEF+Two", program_of(q9x="g", q8x="R"), "FontFile3", kind="Type1C", Encoding=encoded("q9x", "q8x")
    )

    def with_map(pdf: pikepdf.Pdf) -> pikepdf.Object:
        font = known(pdf)
        font.ToUnicode = pdf.make_stream(made.unicode_map(("41", "0052"), ("42", "0067")))
        return font

    content = b"BT /F1 9 Tf 9 9 Td (AB) Tj /F2 9 Tf (AB) Tj ET"
    source = made.document(tmp_path / "a.pdf", {"F1": with_map, "F2": unknown}, content)
    outcome = repair(source, tmp_path / "b.pdf")
    assert "same outline" in outcome.changes[0].detail
    assert text_of(tmp_path / "b.pdf") == "RggR"


def test_text_that_cannot_be_told_stays_a_failure(tmp_path: Path) -> None:
    names = {33 + n: f"G{33 + n:02X}" for n in range(14)}
    content = b"BT /F1 9 Tf 9 9 Td (!\"#$%&'*+,-./) Tj ET"
    source = made.document(tmp_path / "a.pdf", {"F1": made.type3(names)}, content)
    outcome = repair(source, tmp_path / "b.pdf")
    assert [f.clause for f in outcome.failures] == ["7.21.7"]
    assert not outcome.changes


def test_glyphs_named_by_their_codes_read_as_text(tmp_path: Path) -> None:
    text = b"The reading room stays open on the first of the month"
    names = {code: f"s{code}" for code in set(text)}
    source = made.document(tmp_path / "a.pdf", {"F1": made.type3(names)}, b"BT /F1 4 Tf 9 9 Td (" + text + b") Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"unicode"}
    assert text_of(tmp_path / "b.pdf") == text.decode().replace(" ", "")


def test_a_drawing_gets_a_private_value(tmp_path: Path) -> None:
    source = made.document(tmp_path / "a.pdf", {"F1": made.type3({1: "logo"})}, b"BT /F1 9 Tf 9 9 Td (\x01) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"private"}
    assert text_of(tmp_path / "b.pdf") == "\ue000"


@needs_fonts
def test_a_composite_font_is_embedded_by_its_unicode_values(tmp_path: Path) -> None:
    font = made.composite(
        "ArialMT",
        "Identity-H",
        "Identity",
        widths=Array([5, Array([600, 300])]),
        unicode=made.unicode_map(("0005", "0061"), ("0006", "0069")),
    )
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT /F1 90 Tf 9 9 Td <00050006> Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"embedded"}
    assert not outcome.failures
    assert text_of(tmp_path / "b.pdf") == "ai"
    assert dark(tmp_path / "b.pdf") > 0.01
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        descendant = made.only_font(pdf).DescendantFonts[0]
        program = Cff(descendant.FontDescriptor.FontFile3.read_bytes())
        assert descendant.Subtype == Name.CIDFontType0
        assert {cid: program.width(gid) for cid, gid in program.by_cid.items() if cid} == {5: 600, 6: 300}


@needs_cjk
def test_a_chinese_font_is_embedded_by_its_collection(tmp_path: Path) -> None:
    content = b"BT /F1 90 Tf 9 9 Td <" + "\u4e2d\u6587".encode("utf-16-be").hex().encode() + b"> Tj ET"
    source = made.document(tmp_path / "a.pdf", {"F1": made.composite("STSong", "UniGB-UCS2-H", "GB1")}, content)
    outcome = repair(source, tmp_path / "b.pdf")
    assert "embedded" in kinds(outcome)
    assert not outcome.failures
    assert text_of(tmp_path / "b.pdf") == "\u4e2d\u6587"
    assert dark(tmp_path / "b.pdf") > 0.02


def test_a_font_and_its_cmap_agree(tmp_path: Path) -> None:
    cmap = (
        b"/CMapName /Own def /WMode 1 def 1 begincodespacerange <0000> <FFFF> endcodespacerange "
        b"1 begincidrange <0000> <FFFF> 0 endcidrange"
    )
    font = made.composite("Own", cmap, "Identity", unicode=made.unicode_map(("0041", "0041")))
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT 3 Tr /F1 9 Tf 9 9 Td <0041> Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert kinds(outcome) == {"cmap"}
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert int(made.only_font(pdf).Encoding.WMode) == 1


def test_the_collection_follows_the_cmap(tmp_path: Path) -> None:
    font = made.composite("STSong", "UniGB-UCS2-H", "Japan1", unicode=made.unicode_map(("0041", "0041")))
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT 3 Tr /F1 9 Tf <0041> Tj ET")
    repair(source, tmp_path / "b.pdf")
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        info = made.only_font(pdf).DescendantFonts[0].CIDSystemInfo
        assert (str(info.Ordering), int(info.Supplement)) == ("GB1", 4)


@needs_fonts
def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    letter(tmp_path / "letter.pdf")
    repair(tmp_path / "letter.pdf", tmp_path / "one.pdf")
    repair(tmp_path / "letter.pdf", tmp_path / "two.pdf")
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


@needs_fonts
def test_a_repaired_file_needs_no_repair(tmp_path: Path) -> None:
    letter(tmp_path / "letter.pdf")
    repair(tmp_path / "letter.pdf", tmp_path / "one.pdf")
    outcome = repair(tmp_path / "one.pdf", tmp_path / "two.pdf")
    assert not outcome.changes
    assert not outcome.failures
