"""Font programs lose what nobody shows, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, String

from pdf.fonts.subset import subset_fonts
from pdf.fonts.truetype import Sfnt
from tests.pdf.fonts import made
from tests.pdf.fonts.test_programs import liberation, needs_liberation, pixels, truetype_font
from tests.pdf.fonts.test_repair import text_of

pytestmark = needs_liberation


def shown(path: Path, font: made.Maker, text: bytes) -> Path:
    return made.document(path, {"F1": font}, b"BT /F1 40 Tf 9 9 Td " + text + b" Tj ET")


def composite(*characters: str, encoding: str = "Identity-H", told: bool = True) -> tuple[made.Maker, bytes]:
    """A whole program in a Type 0 font, and the string that shows the characters."""
    program = Sfnt(liberation())
    gids = [program.unicode[ord(c)] for c in characters]
    pairs = [(f"{gid:04X}", f"{ord(c):04X}") for gid, c in zip(gids, characters, strict=True)]
    widths = Array([x for gid in gids for x in (gid, Array([round(program.width(gid) or 0)]))])
    font = made.composite(
        "Whole",
        encoding,
        "Identity",
        widths=widths,
        unicode=made.unicode_map(*pairs) if told else None,
        program=program.data,
    )
    return font, b"<" + "".join(code for code, _ in pairs).encode() + b">"


def subset(source: Path, target: Path) -> list[int]:
    with pikepdf.open(source) as pdf:
        saved = subset_fonts(pdf)
        pdf.save(target)
    return saved


def program_of(path: Path) -> Sfnt:
    with pikepdf.open(path) as pdf:
        font = made.only_font(pdf)
        holder = font.DescendantFonts[0] if "/DescendantFonts" in font else font
        return Sfnt(holder.FontDescriptor.FontFile2.read_bytes())


def test_a_composite_font_keeps_the_glyphs_it_shows_and_their_parts(tmp_path: Path) -> None:
    source = shown(tmp_path / "a.pdf", *composite("A", "é"))  # é is made of e and an accent
    (saved,) = subset(source, tmp_path / "b.pdf")
    assert pixels(tmp_path / "b.pdf") == pixels(source)
    assert text_of(tmp_path / "b.pdf") == text_of(source)
    before, after = program_of(source), program_of(tmp_path / "b.pdf")
    assert saved == len(before.data) - len(after.data) > 0.8 * len(before.data)
    assert set(after.tables) <= {b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp", b"cvt ", b"fpgm", b"prep"} | {
        b"gasp"
    }
    drawn = {gid for gid in range(after.glyph_count) if after.draws(gid)}
    assert {before.unicode[ord("A")], before.unicode[ord("é")], before.unicode[ord("e")]} < drawn
    assert len(drawn) < 8
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        font = made.only_font(pdf)
        name = str(font.BaseFont)
        assert name[7:] == "+Whole"
        assert {str(font.DescendantFonts[0].BaseFont), str(font.DescendantFonts[0].FontDescriptor.FontName)} == {name}


def test_where_the_file_does_not_give_the_text_the_tables_that_tell_it_stay(tmp_path: Path) -> None:
    source = shown(tmp_path / "a.pdf", *composite("A", told=False))
    assert subset(source, tmp_path / "b.pdf")
    assert program_of(tmp_path / "b.pdf").unicode == program_of(source).unicode


def test_a_simple_font_keeps_what_any_viewer_may_show(tmp_path: Path) -> None:
    source = shown(tmp_path / "a.pdf", truetype_font(liberation(), 32, Encoding=Name.WinAnsiEncoding), b"(ABa\251)")
    assert subset(source, tmp_path / "b.pdf")
    assert pixels(tmp_path / "b.pdf") == pixels(source)
    assert text_of(tmp_path / "b.pdf") == text_of(source)
    before, after = program_of(source), program_of(tmp_path / "b.pdf")
    assert after.table(b"cmap") == before.table(b"cmap")
    assert after.draws(before.unicode[ord("©")])  # as WinAnsi has it
    assert after.draws(before.unicode[ord("B")]) and not after.draws(before.unicode[ord("C")])


def vertical(tmp_path: Path) -> Path:
    return shown(tmp_path / "a.pdf", *composite("A", encoding="Identity-V"))


def of_a_form(tmp_path: Path) -> Path:
    source = shown(tmp_path / "a.pdf", *composite("A"))
    with pikepdf.open(source, allow_overwriting_input=True) as pdf:
        font = made.only_font(pdf)
        pdf.Root.AcroForm = Dictionary(Fields=Array([]), DR=Dictionary(Font=Dictionary(F1=font)), DA=String("/F1 9 Tf"))
        pdf.save(source)
    return source


def shared_with_an_unused_font(tmp_path: Path) -> Path:
    source = shown(tmp_path / "a.pdf", *composite("A"))
    with pikepdf.open(source, allow_overwriting_input=True) as pdf:
        descriptor = made.only_font(pdf).DescendantFonts[0].FontDescriptor
        pdf.Root.Kept = pdf.make_indirect(
            Dictionary(Type=Name.Font, Subtype=Name.TrueType, BaseFont=Name.Whole, FontDescriptor=descriptor)
        )
        pdf.save(source)
    return source


def broken(tmp_path: Path) -> Path:
    """A program whose glyphs cannot be told apart."""
    cut = Sfnt(liberation()).table(b"loca")[:200]
    font = made.composite(
        "Whole",
        "Identity-H",
        "Identity",
        unicode=made.unicode_map(("0024", "0041")),
        program=liberation(loca=cut),
    )
    return shown(tmp_path / "a.pdf", font, b"<0024>")


@pytest.mark.parametrize("make", [vertical, of_a_form, shared_with_an_unused_font, broken])
def test_what_may_be_needed_otherwise_is_left_alone(tmp_path: Path, make) -> None:
    source = make(tmp_path)
    before = program_of(source).data
    assert subset(source, tmp_path / "b.pdf") == []
    assert program_of(tmp_path / "b.pdf").data == before


def test_a_program_two_fonts_share_keeps_the_glyphs_of_both(tmp_path: Path) -> None:
    source = shown(tmp_path / "a.pdf", *composite("A"))
    program = Sfnt(liberation())
    gid = program.unicode[ord("B")]
    with pikepdf.open(source, allow_overwriting_input=True) as pdf:
        first = made.only_font(pdf)
        second = pdf.make_indirect(Dictionary(dict(first.items())))
        second.DescendantFonts = Array([pdf.make_indirect(Dictionary(dict(first.DescendantFonts[0].items())))])
        second.ToUnicode = pdf.make_stream(made.unicode_map((f"{gid:04X}", "0042")))
        pdf.pages[0].obj.Resources.Font.F2 = second
        pdf.pages[0].contents_add(f"BT /F2 40 Tf 9 99 Td <{gid:04X}> Tj ET".encode())
        pdf.save(source)
    assert len(subset(source, tmp_path / "b.pdf")) == 1
    assert pixels(tmp_path / "b.pdf") == pixels(source)
    after = program_of(tmp_path / "b.pdf")
    assert after.draws(gid) and after.draws(program.unicode[ord("A")]) and not after.draws(program.unicode[ord("C")])
