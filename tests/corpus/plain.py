"""A letter written operator by operator, in fonts that are not embedded: what many office systems still send."""

from __future__ import annotations

from pathlib import Path

import pikepdf
from pikepdf import Dictionary, Name

TITLE = "Notice of the spring repairs"
PARAGRAPHS = (
    ("Dear readers,",),
    (
        "From the second week of March the roof of the west wing will be",
        "repaired. The reading room stays open, but the drying room and the",
        "lecture room will be closed for about three weeks.",
    ),
    (
        "The lift runs as usual. Please use the entrance beside the bridge, since",
        "the scaffold stands in front of the main door.",
    ),
    ("With kind regards,",),
    ("The canal library",),
)
ITEMS = ("Monday: the scaffold is set up.", "Tuesday: the tiles are taken off.", "Friday: the new beams arrive.")


def letter(target: Path) -> None:
    """Write the letter: two pages, Helvetica-Bold and Times-Roman of the standard 14, no font program in the file."""
    with pikepdf.new() as pdf:
        fonts = Dictionary(
            F1=_font(pdf, Name("/Helvetica-Bold")), F2=_font(pdf, Name("/Times-Roman")), F3=_font(pdf, Name("/Symbol"))
        )
        for number, lines in enumerate((_first(), _second())):
            page = pdf.add_blank_page(page_size=(595, 842))
            lines.append(f"BT /F2 9 Tf 290 40 Td ({number + 1}) Tj ET")
            page.obj.Resources = Dictionary(Font=fonts)
            page.obj.Contents = pdf.make_stream("\n".join(lines).encode("latin-1"))
        pdf.save(target, deterministic_id=True)


def _font(pdf: pikepdf.Pdf, base: Name) -> pikepdf.Object:
    font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=base)
    if base != Name("/Symbol"):
        font.Encoding = Name.WinAnsiEncoding
    return pdf.make_indirect(font)


def _first() -> list[str]:
    lines, y = [f"BT /F1 20 Tf 72 760 Td ({TITLE}) Tj ET"], 715
    for paragraph in PARAGRAPHS:
        for line in paragraph:
            lines.append(f"BT /F2 12 Tf 72 {y} Td ({line}) Tj ET")
            y -= 15
        y -= 12
    return lines


def _second() -> list[str]:
    lines, y = ["BT /F1 14 Tf 72 760 Td (The first week) Tj ET"], 730
    for item in ITEMS:
        lines.append(f"BT /F3 12 Tf 72 {y} Td (\\267) Tj ET BT /F2 12 Tf 90 {y} Td ({item}) Tj ET")
        y -= 18
    return lines
