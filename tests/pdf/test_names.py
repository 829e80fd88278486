"""Files of old programs: names in a code page, a trailer without /Size, what only qpdf can read."""

from __future__ import annotations

from pathlib import Path

import pikepdf
import pypdfium2
import pytest

from pdf.inspect import open_source
from pdf.names import mended_content
from pdf.optimize import optimize
from pdf.save import save
from pdf.tag import tag

#: 宋体 in GBK, as such a program writes it.
GBK = b"#CB#CE#CC#E5"


def written(
    path: Path, *, font: bytes = b"F1", base: bytes = b"Helvetica", form: bytes = b"X", said: bytes = b"M"
) -> Path:
    """A page that shows text with a font, in the page and in a form, with a replacement text; objects are found by
    looking through the file."""
    content = b"/Span /" + said + b" BDC BT /" + font + b" 12 Tf 9 9 Td (a /#CB b) Tj ET EMC /" + form + b" Do"
    inner = b"BT /" + font + b" 12 Tf 9 99 Td (in a form) Tj ET"
    resources = b"/Font<</" + font + b" 5 0 R>>"
    parts = [
        b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj",
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<<%s/XObject<</%s 6 0 R>>"
        b"/Properties<</%s<</ActualText(x)>>>>>>>>endobj" % (resources, form, said),
        b"4 0 obj<</Length %d>>stream\n%s\nendstream endobj" % (len(content), content),
        b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/%s>>endobj" % base,
        b"6 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 300 300]/Resources<<%s>>/Length %d>>stream\n%s\nendstream endobj"
        % (resources, len(inner), inner),
        b"trailer<</Root 1 0 R>>",
    ]
    path.write_bytes(b"%PDF-1.4\n" + b"\n".join(parts) + b"\n")
    return path


def text_of(path: Path) -> str:
    with pypdfium2.PdfDocument(path) as document:
        return str(document[0].get_textpage().get_text_range())


@pytest.mark.parametrize("place", ["font", "base", "form", "said"])
def test_names_in_a_code_page_are_read_and_written_as_utf8(tmp_path: Path, place: str) -> None:
    source = written(tmp_path / "a.pdf", **{place: GBK})
    with open_source(source) as pdf:
        resources = pdf.pages[0].obj.Resources
        names = [*resources.Font.keys(), str(resources.Font[next(iter(resources.Font.keys()))].BaseFont)]
        names += [*resources.XObject.keys(), *resources.Properties.keys()]
    assert "/ËÎÌå" in names
    made = tag(source, tmp_path / "out")
    assert made.replay.nodes > 1
    text = text_of(tmp_path / "out" / "a.pdf")
    assert "in a form" in text
    assert "x" in text and "#CB" not in text, "the replacement text is found by its name"
    with pikepdf.open(tmp_path / "out" / "a.pdf") as pdf:
        assert b"(a /#CB b)" in pdf.pages[0].obj.Contents.read_bytes(), "strings stay"


def test_names_that_differ_still_do_and_good_ones_stay() -> None:
    assert mended_content(b"/\xcb\xce Do /\xcb\xcf Do /#c3#a4 Do") == b"/#c3#8b#c3#8e Do /#c3#8b#c3#8f Do /#c3#a4 Do"


@pytest.mark.parametrize(
    "content",
    [
        b"(/\xcb (/\xce) \\) /\xcc) Tj",
        b"% /\xcb\n1 0 0 rg",
        b"BI /W 1 /H 1 /BPC 8 /CS /G ID /\xcb EI Q",
        b"/Plain Do /A#20B gs",
        b"",
    ],
)
def test_what_is_no_name_stays(content: bytes) -> None:
    assert mended_content(content) == content


def test_a_trailer_without_a_size_is_written_with_one(tmp_path: Path) -> None:
    with open_source(written(tmp_path / "a.pdf")) as pdf:
        assert "/Size" not in pdf.trailer
        save(pdf, tmp_path / "b.pdf")
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert len(pdf.pages) == 1
        assert not pdf.get_warnings()


def test_a_file_that_only_qpdf_can_read_is_compared_with_what_qpdf_reads(tmp_path: Path) -> None:
    source = written(tmp_path / "a.pdf")
    source.write_bytes(b"junk " * 500 + source.read_bytes())
    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(source)
    optimize(source, tmp_path / "b.pdf")
    assert "in a form" in text_of(tmp_path / "b.pdf")
