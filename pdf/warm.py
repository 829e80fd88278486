"""Importing this does once what each document would else begin with: for processes that are forked from.

Fonts and the model of languages are read, and a small page goes the whole way, which imports and compiles the rest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pikepdf

from pdf import language
from pdf.fonts import encodings, faces
from pdf.tag import tag

#: A title, a paragraph, two items of a list, a rule: something for every step.
_CONTENT = b"""BT /F 18 Tf 72 720 Td (A title of one line) Tj /F 11 Tf 0 -40 Td
(A paragraph that is long enough to be read as running text, with an end.) Tj
0 -30 Td (\x95 an item) Tj 0 -14 Td (\x95 another item) Tj ET
72 600 m 300 600 l S 72 500 100 60 re f"""


def _faces() -> None:
    encodings.glyph_list()
    encodings.text_of_name("a")
    encodings.name_of_text("a")
    encodings.win_ansi()
    encodings.mac_roman()
    encodings.standard()
    encodings.dingbat_texts()
    for family in ("sans", "serif", "mono"):
        found, _ = faces.faces_for(faces.Style(family, bold=False, italic=False))
        if found:
            faces.load(found[0]).prepare()


def _page() -> None:
    with tempfile.TemporaryDirectory() as folder, pikepdf.new() as pdf:
        source = Path(folder, "page.pdf")
        page = pdf.add_blank_page(page_size=(595, 842))
        font = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type1,
            BaseFont=pikepdf.Name.Helvetica,
            Encoding=pikepdf.Name.WinAnsiEncoding,
        )
        page.obj.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=pdf.make_indirect(font)))
        page.obj.Contents = pdf.make_stream(_CONTENT)
        pdf.save(source)
        tag(source, Path(folder, "out"))


_faces()
language.model()
_page()
