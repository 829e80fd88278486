"""Importing this loads what font repair would else load for each document: for processes that are forked from."""

from __future__ import annotations

from pdf.fonts import encodings, faces

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
