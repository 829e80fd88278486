"""Embedded font programs that do not hold what the file shows with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pikepdf
import pypdfium2 as pdfium
import pytest
from pikepdf import Array, Dictionary, Name

from pdf.fonts import faces, repair
from pdf.fonts.build import Glyph, cid_keyed
from pdf.fonts.cff import Cff
from pdf.fonts.cffedit import Added, edited
from pdf.fonts.truetype import Sfnt, symbol_cmap, unicode_cmap
from pdf.fonts.type1 import Type1
from tests.pdf.fonts import made
from tests.pdf.fonts.test_repair import SANS, dark, encoded, kinds, needs_fonts, program_of, text_of

SERIF, _ = faces.faces_for(faces.Style("liberation-serif", bold=False, italic=False))
LIBERATION = next((face for face in SERIF if face.package == "fonts-liberation"), None)
needs_liberation = pytest.mark.skipif(LIBERATION is None, reason="fonts-liberation is not installed")
PFB = Path("/usr/share/fonts/X11/Type1/NimbusRoman-Regular.pfb")


#: Documents stay open as long as the objects that tests look at.
_OPEN: list[pikepdf.Pdf] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


def pixels(path: Path) -> bytes:
    with pdfium.PdfDocument(path) as document:
        return bytes(document[0].render(scale=2).to_numpy().tobytes())


def check(tmp_path: Path, font: made.Maker, shown: bytes, kind: str, *, looks: bool = True) -> pikepdf.Object:
    """Repair a file that shows `shown` with a font; it must read as before, and look so. The repaired font."""
    content = b"BT /F1 40 Tf 9 9 Td " + shown + b" Tj ET"
    source = made.document(tmp_path / "a.pdf", {"F1": font}, content)
    target = tmp_path / "b.pdf"
    outcome = repair(source, target)
    assert kind in kinds(outcome)
    assert not outcome.failures
    assert (outcome.pixel_changes_reason is None) == looks
    assert (pixels(target) == pixels(source)) == looks
    assert text_of(target) == text_of(source)
    assert not repair(target, tmp_path / "c.pdf").changes
    _OPEN.append(pikepdf.open(target))
    return made.only_font(_OPEN[-1])


@needs_fonts
def test_a_space_that_is_not_there_is_added(tmp_path: Path) -> None:
    program = program_of(A="A")
    font = made.embedded("ABCDEF+M", program, "FontFile3", kind="Type1C", Encoding=Name.WinAnsiEncoding)
    after = Cff(check(tmp_path, font, b"(A A)", "program").FontDescriptor.FontFile3.read_bytes())
    assert after.width(after.by_name["space"]) == 500


@needs_fonts
def test_advances_follow_the_file(tmp_path: Path) -> None:
    widths = Array([600] * 256)
    font = made.embedded(
        "ABCDEF+M", program_of(A="A"), "FontFile3", kind="Type1C", Encoding=Name.WinAnsiEncoding, Widths=widths
    )
    after = Cff(check(tmp_path, font, b"(AA)", "widths").FontDescriptor.FontFile3.read_bytes())
    assert after.width(after.by_name["A"]) == 600


@needs_fonts
def test_two_codes_of_one_glyph_may_have_two_widths(tmp_path: Path) -> None:
    widths = [500] * 256
    widths[66] = 0
    font = made.embedded(
        "ABCDEF+M", program_of(hyphen="-"), "FontFile3", kind="Type1C", Encoding=encoded("hyphen", "hyphen"),
        Widths=Array(widths),
    )  # fmt: skip
    after = Cff(check(tmp_path, font, b"(AB)", "notdef").FontDescriptor.FontFile3.read_bytes())
    assert sorted(after.width(gid) for gid in range(1, len(after.charstrings))) == [0, 500]


@needs_fonts
def test_codes_without_a_name_get_a_glyph(tmp_path: Path) -> None:
    font = made.embedded("ABCDEF+M", program_of(A="A"), "FontFile3", kind="Type1C", Encoding=encoded("A", ".notdef"))

    def with_map(pdf: pikepdf.Pdf) -> pikepdf.Object:
        result = font(pdf)
        result.ToUnicode = pdf.make_stream(made.unicode_map(("41", "0041"), ("42", "0020")))
        return result

    check(tmp_path, with_map, b"(AB)", "notdef")


@needs_fonts
def test_cid_0_no_longer_stands_for_a_space(tmp_path: Path) -> None:
    loaded = faces.load(SANS[0])
    program, _ = cid_keyed("ABCDEF+M", {0: Glyph(None, 0, 250.0), 7: Glyph(SANS[0], loaded.glyph(None, "g") or 0, 600)})

    def font(pdf: pikepdf.Pdf) -> pikepdf.Object:
        texts = made.unicode_map(("0000", "0020"), ("0007", "0067"))
        widths = Array([0, Array([250]), 7, Array([600])])
        result = made.composite(
            "ABCDEF+M", "Identity-H", "Identity", widths=widths, unicode=texts, kind="CIDFontType0"
        )(pdf)
        stream = pdf.make_stream(program, Subtype=Name.CIDFontType0C)
        result.DescendantFonts[0].FontDescriptor.FontFile3 = stream
        return result

    after = check(tmp_path, font, b"<000700000007>", "notdef")
    assert isinstance(after.Encoding, pikepdf.Stream)
    assert b"<0000> 8" in after.Encoding.read_bytes()


def truetype_font(program: bytes, flags: int, **entries: Any) -> made.Maker:
    data = Sfnt(program)
    widths = [500] * 256
    for code in (65, 66, 97):
        widths[code] = round(data.width(data.unicode.get(code, 0)) or 500) if data.unicode else 500
    return made.embedded(
        "ABCDEF+M", program, "FontFile2", subtype="TrueType", Flags=flags, Widths=Array(widths), **entries
    )


def liberation(**changes: bytes) -> bytes:
    assert LIBERATION is not None
    font = Sfnt(Path(LIBERATION.path).read_bytes())
    return font.replaced({name.encode().ljust(4): data for name, data in changes.items()})


@needs_liberation
def test_a_symbolic_font_loses_its_encoding_and_keeps_its_glyphs(tmp_path: Path) -> None:
    font = truetype_font(liberation(), 4, Encoding=Name.WinAnsiEncoding)
    after = check(tmp_path, font, b"(ABa)", "encoding")
    assert "/Encoding" not in after
    program = Sfnt(after.FontDescriptor.FontFile2.read_bytes())
    assert set(program.cmap(3, 0) or {}) == {0xF041, 0xF042, 0xF061}


@needs_liberation
def test_a_font_without_standard_encoding_becomes_symbolic(tmp_path: Path) -> None:
    font = truetype_font(liberation(), 32, Encoding=Dictionary(Differences=Array([65, Name.alpha, Name.beta])))
    after = check(tmp_path, font, b"(AB)", "encoding")
    assert int(after.FontDescriptor.Flags) == 4


@needs_liberation
def test_a_missing_truetype_space_is_added_and_its_box_goes(tmp_path: Path) -> None:
    assert LIBERATION is not None
    whole = Sfnt(Path(LIBERATION.path).read_bytes())
    only = {65: whole.unicode[65]}
    font = truetype_font(liberation(cmap=unicode_cmap(only, [])), 32, Encoding=Name.WinAnsiEncoding)
    after = check(tmp_path, font, b"(A A)", "program", looks=False)
    program = Sfnt(after.FontDescriptor.FontFile2.read_bytes())
    assert program.glyph_count == whole.glyph_count + 1
    assert program.unicode == {65: whole.unicode[65], 32: whole.glyph_count}
    assert program.width(whole.glyph_count) == pytest.approx(500, abs=0.5)


@needs_liberation
def test_a_missing_map_from_cids_is_written_down(tmp_path: Path) -> None:
    gid = Sfnt(liberation()).unicode[65]
    width = round(Sfnt(liberation()).width(gid) or 0)
    font = made.composite(
        "ABCDEF+M",
        "Identity-H",
        "Identity",
        widths=Array([gid, Array([width])]),
        unicode=made.unicode_map((f"{gid:04X}", "0041")),
        program=liberation(),
    )
    after = check(tmp_path, font, f"<{gid:04X}>".encode(), "cid-map")
    assert after.DescendantFonts[0].CIDToGIDMap == Name.Identity


@pytest.mark.skipif(not PFB.exists(), reason="no Type 1 font is installed")
def test_type1_programs_are_written_again(tmp_path: Path) -> None:
    source = Type1(PFB.read_bytes())
    parts = source.rewritten({"A": 600.0}, {"blank1": 123.0})
    after = Type1(b"".join(parts))
    assert (after.width("A"), after.width("blank1"), after.width("B")) == (600, 123, source.width("B"))
    assert after.charstring("B") == source.charstring("B")
    assert after.names == source.names | {"blank1"}
    font = made.embedded("ABCDEF+M", b"".join(parts), "FontFile", Encoding=Name.WinAnsiEncoding, FirstChar=0)
    path = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT /F1 90 Tf 9 9 Td (AB) Tj ET")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        stream = made.only_font(pdf).FontDescriptor.FontFile
        for number, part in enumerate(parts, 1):
            stream[f"/Length{number}"] = len(part)
        pdf.save(path)
    assert dark(path) > 0.02


@needs_fonts
def test_editing_keeps_every_other_glyph() -> None:
    source = faces.load(SANS[0]).cff
    assert source is not None
    after = Cff(edited(source, {5: 321.0}, [Added("put.in", 250.0), Added("copy", 300.0, 7)]))
    count = len(source.charstrings)
    assert after.names == [*source.names, "put.in", "copy"]
    assert [after.width(gid) for gid in (5, count, count + 1)] == [321, 250, 300]
    assert all(after.charstrings[gid] == source.charstrings[gid] for gid in range(count) if gid != 5)


def test_a_broken_program_is_reported_and_stays(tmp_path: Path) -> None:
    font = made.embedded("ABCDEF+M", b"\x01\0\4\1 broken", "FontFile3", kind="Type1C", Encoding=Name.WinAnsiEncoding)
    source = made.document(tmp_path / "a.pdf", {"F1": font}, b"BT /F1 9 Tf (A) Tj ET")
    outcome = repair(source, tmp_path / "b.pdf")
    assert [f.clause for f in outcome.failures] == ["7.21.4.1"]


def test_a_symbolic_cmap_leads_codes_to_glyphs() -> None:
    assert LIBERATION is None or Sfnt(liberation(cmap=symbol_cmap({1: 3, 255: 4}))).cmap(1, 0) == {1: 3, 255: 4}
