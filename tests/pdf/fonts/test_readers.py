"""The small readers: content streams, CMaps, names, CFF, TrueType, Type 1."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pytest
from pikepdf import Dictionary, Name

from pdf.fonts import cff, cffwrite, cmaps, encodings, faces, guess, truetype, type1
from pdf.fonts.usage import used_fonts
from tests.pdf.fonts import made

SERIF, _ = faces.faces_for(faces.Style("serif", bold=False, italic=False))
URW = next((face for face in SERIF if face.package == "fonts-urw-base35"), None)
LIBERATION = next((face for face in SERIF if face.package == "fonts-liberation"), None)
PFB = Path("/usr/share/fonts/X11/Type1/NimbusRoman-Regular.pfb")


def shown(tmp_path: Path, content: bytes, *names: str) -> dict[str, tuple[set[bytes], set[bytes]]]:
    fonts = {name: made.standard(f"Helvetica-{name}") for name in names or ("F1", "F2")}
    path = made.document(tmp_path / "a.pdf", fonts, content)
    with pikepdf.open(path) as pdf:
        return {use.name.removeprefix("Helvetica-"): (use.seen, use.unseen) for use in used_fonts(pdf)}


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"/F1 9 Tf (plain) Tj", b"plain"),
        (b"/F1 9 Tf (a\\)b\\101\\\nc) Tj", b"a)bAc"),
        (b"/F1 9 Tf (a(b)c) Tj", b"a(b)c"),
        (b"/F1 9 Tf <41 42 4> Tj", b"AB@"),
        (b"/F1 9 Tf [(on) -20 (e \\050) <41>] TJ", b"one (A"),
        (b"/F1 9 Tf % (comment) Tj\n(x) '", b"x"),
        (b"/P <</MCID 0/ActualText (no)>> BDC /F1 9 Tf (yes) Tj EMC", b"yes"),
        (b"/F1 9 Tf q /F2 9 Tf Q (after) Tj", b"after"),
        (b"/F1 9 Tf BI /W 1 /H 1 /BPC 8 /CS /G ID (EI Tj) EI (x) Tj", b"x"),
    ],
)
def test_shown_strings(tmp_path: Path, content: bytes, seen: bytes) -> None:
    found = shown(tmp_path, content)
    assert found["F1"] == ({seen}, set())


def test_text_that_is_not_seen_is_told_apart(tmp_path: Path) -> None:
    found = shown(tmp_path, b"/F1 9 Tf 3 Tr (hidden) Tj 0 Tr (seen) Tj q 3 Tr Q (again) Tj")
    assert found["F1"] == ({b"seen", b"again"}, {b"hidden"})


def test_fonts_in_forms_and_appearances_are_found(tmp_path: Path) -> None:
    path = made.document(tmp_path / "a.pdf", {}, b"/X Do")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        page = pdf.pages[0].obj

        def form(text: bytes, base: str) -> pikepdf.Object:
            fonts = Dictionary(F=made.standard(base)(pdf))
            return pdf.make_stream(
                b"/F 9 Tf (" + text + b") Tj", Subtype=Name.Form, BBox=[0, 0, 9, 9], Resources=Dictionary(Font=fonts)
            )

        page.Resources.XObject = Dictionary(X=form(b"form", "One"))
        widget = Dictionary(Subtype=Name.Widget, Rect=[0, 0, 9, 9], AP=Dictionary(N=Dictionary(On=form(b"on", "Two"))))
        page.Annots = pikepdf.Array([pdf.make_indirect(widget)])
        found = {use.name: use.seen for use in used_fonts(pdf)}
    assert found == {"One": {b"form"}, "Two": {b"on"}}


def test_a_form_that_paints_itself_ends(tmp_path: Path) -> None:
    path = made.document(tmp_path / "a.pdf", {"F1": made.standard("Helvetica")}, b"/X Do")
    with pikepdf.open(path) as pdf:
        resources = pdf.pages[0].obj.Resources
        form = pdf.make_stream(b"/F1 9 Tf (x) Tj /X Do /X Do", Subtype=Name.Form, BBox=[0, 0, 9, 9])
        resources.XObject = Dictionary(X=form)
        assert [use.seen for use in used_fonts(pdf)] == [{b"x"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("A", "A"),
        ("uni00E9", "\u00e9"),
        ("u1F600", "\U0001f600"),
        ("f_f_i", "ffi"),
        ("a.sc", "a"),
        ("summationdisplay", "\u2211"),
        ("bracketleftBigg", "["),
        ("asmall", "a"),
        (".notdef", None),
        ("G21", None),
        ("uni0000", None),
    ],
)
def test_text_of_glyph_names(name: str, text: str | None) -> None:
    assert encodings.text_of_name(name) == text


def test_encodings_agree_with_their_code_pages() -> None:
    for code in range(161, 256):
        if code not in (173,):
            assert encodings.text_of_name(encodings.win_ansi()[code]) in (bytes([code]).decode("cp1252"), "\u03bc")
    assert len(encodings.symbol()) == 189
    assert len(encodings.dingbats()) == 202
    assert encodings.dingbat_texts()["a191"] == "\u27be"


def test_a_map_is_read_as_it_was_written() -> None:
    texts = {(1, 2): "a", (0x1234, 2): "\U0001d54f", (7, 2): "ffi"}
    assert cmaps.parse(cmaps.to_unicode(texts)).texts == texts


def test_ranges_lists_and_names_in_a_map() -> None:
    data = b"""1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfrange <10><12><0041>
        <20> <21> [<0061> <00620063>] endbfrange 1 beginbfchar <30> /eacute endbfchar"""
    texts = {code: text for (code, _), text in cmaps.parse(data).texts.items()}
    assert texts == {0x10: "A", 0x11: "B", 0x12: "C", 0x20: "a", 0x21: "bc", 0x30: "\u00e9"}


def test_codes_of_mixed_length_are_split() -> None:
    cmap = cmaps.predefined("90ms-RKSJ-H")
    assert cmap is not None
    assert cmap.split("aあ".encode("cp932")) == [(0x61, 1), (0x82A0, 2)]
    assert cmap.cids_of({(0x61, 1), (0x82A0, 2)}) == {(0x61, 1): 296, (0x82A0, 2): 843}
    assert cmaps.collection_texts("Adobe", "Japan1")[843] == "あ"


@pytest.mark.skipif(URW is None, reason="fonts-urw-base35 is not installed")
def test_glyphs_are_copied_with_their_subroutines() -> None:
    assert URW is not None
    source = faces.load(URW).cff
    assert source is not None
    made_cff = cff.Cff(
        cffwrite.copied(source, "T", {name: (source.by_name[name], None) for name in ("A", "at", "Aogonek", "fi")})
    )
    from fontTools.cffLib import CFFFontSet
    from fontTools.pens.recordingPen import RecordingPen

    def outline(data: bytes, name: str) -> list[object]:
        import io

        fonts = CFFFontSet()
        fonts.decompile(io.BytesIO(data), None)
        pen = RecordingPen()
        fonts[0].CharStrings[name].draw(pen)
        return list(pen.value)

    for name in ("A", "at", "Aogonek", "fi"):
        assert outline(made_cff.data, name) == outline(source.data, name)
        assert made_cff.width(made_cff.by_name[name]) == source.width(source.by_name[name])


@pytest.mark.skipif(URW is None, reason="fonts-urw-base35 is not installed")
def test_a_copied_glyph_takes_another_width() -> None:
    assert URW is not None
    source = faces.load(URW).cff
    assert source is not None
    names = list(source.by_name)[1:200]
    made_cff = cff.Cff(cffwrite.copied(source, "T", {name: (source.by_name[name], 777.0) for name in names}))
    assert {made_cff.width(made_cff.by_name[name]) for name in names} == {777.0}


@pytest.mark.parametrize("cut", [0, 3, 10, 200, 2000])
def test_broken_programs_are_refused(cut: int) -> None:
    data = faces.load(URW).cff.data[:cut] if URW is not None else b"\x01\0\4"[:cut]  # type: ignore[union-attr]
    with pytest.raises(cff.BadFont):
        cff.Cff(data)
    with pytest.raises(cff.BadFont):
        truetype.Sfnt(b"\0\1\0\0" + data)


@pytest.mark.skipif(LIBERATION is None, reason="fonts-liberation is not installed")
def test_truetype_tables_are_read_and_replaced() -> None:
    assert LIBERATION is not None
    font = truetype.Sfnt(Path(LIBERATION.path).read_bytes())
    gid = font.unicode[ord("A")]
    assert font.width(gid) == pytest.approx(722, abs=1)
    assert font.characters[gid] == ord("A")
    assert font.glyph_names[gid] == "A"
    changed = truetype.Sfnt(font.replaced({b"cmap": truetype.symbol_cmap({33: gid, 34: 5, 35: 6})}))
    assert changed.cmap(3, 0) == {0xF021: gid, 0xF022: 5, 0xF023: 6}
    assert changed.cmap(1, 0) == {33: gid, 34: 5, 35: 6}
    assert changed.table(b"glyf") == font.table(b"glyf")


@pytest.mark.skipif(not PFB.exists(), reason="no Type 1 font is installed")
def test_type1_programs_are_decrypted() -> None:
    font = type1.Type1(PFB.read_bytes())
    assert font.encoding[65] == "A"
    assert font.width("A") == 722
    assert font.width("no such glyph") is None
    assert {"A", "space", "eacute"} <= font.names


def test_decryption_at_once_is_decryption_step_by_step() -> None:
    data = bytes(range(256)) * 5
    assert type1.decrypted(data, 55665) == type1._decrypted_short(data, 55665)


def test_what_reads_as_text() -> None:
    assert guess.reads_as_text([b"From the second week of March the roof of the west wing will be repaired."])
    assert not guess.reads_as_text([b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ"])
    assert not guess.reads_as_text([b"xqzw kjvbx wqzkx jxvwq zzkqx vvwjx qqxzk wjkvq"])


def test_codes_that_are_characters_have_gaps() -> None:
    assert guess.are_characters(set(b"(2024) price: 17.50%"))
    assert not guess.are_characters(set(range(33, 60)))
