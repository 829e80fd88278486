"""What role each piece of text has in a tagged PDF, and how far two taggings of the same pages agree.

A sample and its twin paint the same text in the same order, so the two are compared one by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pikepdf
import pypdfium2
import pypdfium2.raw as pdfium_c

# Standard structure types (ISO 32000-1, 14.8.4) as what a listener notices; the others inherit.
NOTICED = {
    **{f"H{level}": f"heading {level}" for level in range(1, 7)},
    **dict.fromkeys(("Lbl", "LBody", "LI", "L"), "list"),
    **dict.fromkeys(("TD", "TR", "Table", "THead", "TBody"), "table"),
    **dict.fromkeys(("TOC", "TOCI"), "contents"),
    "TH": "header cell",
    "Caption": "caption",
    "Note": "note",
    "Formula": "formula",
    "Figure": "figure",
}
Role = str


def text_roles(path: Path) -> list[tuple[int, str, Role]]:
    """Every text piece in painting order: page (from 0), text without spaces, role (``artifact`` if no content)."""
    with pikepdf.open(path) as pdf:
        roles = dict(_marked_content(pdf))
    with pypdfium2.PdfDocument(path) as document:
        return [(page, text, _role(page, mcid, roles)) for page, text, mcid in _pieces(document)]


def agreement(twin: Path, tagged: Path) -> dict[Role, tuple[int, int]]:
    """For each role of ``twin``: (characters ``tagged`` gives the same role, characters in all).

    Compared by the character, since a tagger may cut a piece in two (a list label from its text).
    """
    truth, given = (
        [(page, char, role) for page, text, role in text_roles(path) for char in text] for path in (twin, tagged)
    )
    assert [piece[:2] for piece in truth] == [piece[:2] for piece in given], "the two do not paint the same text"
    counts: dict[Role, tuple[int, int]] = {}
    for (_, _, wanted), (_, _, got) in zip(truth, given, strict=True):
        same, total = counts.get(wanted, (0, 0))
        counts[wanted] = (same + (wanted == got), total + 1)
    return counts


def _role(page: int, mcid: int | None, roles: dict[tuple[int, int], Role]) -> Role:
    return "artifact" if mcid is None else roles.get((page, mcid), "not in the tree")


def _marked_content(pdf: pikepdf.Pdf) -> Iterator[tuple[tuple[int, int], Role]]:
    """((page, MCID), role) for each marked-content sequence that the structure tree reaches (ISO 32000-1, 14.7.4)."""
    numbers = {page.obj.objgen: index for index, page in enumerate(pdf.pages)}

    def walk(node: pikepdf.Object, page: int | None, role: Role) -> Iterator[tuple[tuple[int, int], Role]]:
        if isinstance(node, pikepdf.Array):
            for kid in node:
                yield from walk(kid, page, role)
        elif not isinstance(node, pikepdf.Dictionary):
            assert page is not None
            yield (page, int(node)), role
        else:
            if "/Pg" in node:
                page = numbers[node.Pg.objgen]
            if "/MCID" in node:
                assert page is not None
                yield (page, int(node.MCID)), role
            elif "/K" in node:
                yield from walk(node.K, page, _below(role, str(node.get("/S", ""))[1:]))

    yield from walk(pdf.Root.StructTreeRoot, None, "text")


def _below(role: Role, structure_type: str) -> Role:
    """The role inside an element: a list in a table stays a table, a caption of a figure is a caption."""
    if role in ("table", "header cell", "contents", "note") and structure_type not in ("TH", "TD", "Note", "Caption"):
        return role
    if structure_type == "TD":
        return "table"
    return NOTICED.get(structure_type, role)


def _pieces(document: pypdfium2.PdfDocument) -> Iterator[tuple[int, str, int | None]]:
    """(page, text, MCID or None) of each text object, forms entered, in painting order."""
    for number, page in enumerate(document):
        textpage = page.get_textpage()
        for piece in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_TEXT], max_depth=8):
            size = pdfium_c.FPDFTextObj_GetText(piece.raw, textpage.raw, None, 0)
            buffer = (ctypes.c_ushort * (size // 2))()
            pdfium_c.FPDFTextObj_GetText(piece.raw, textpage.raw, buffer, size)
            text = "".join(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").split())
            if text:
                yield number, text, _mcid(piece.raw)


def _mcid(piece: pdfium_c.FPDF_PAGEOBJECT) -> int | None:
    value = ctypes.c_int()
    for index in range(pdfium_c.FPDFPageObj_CountMarks(piece)):
        mark = pdfium_c.FPDFPageObj_GetMark(piece, index)
        if pdfium_c.FPDFPageObjMark_GetParamIntValue(mark, b"MCID", value):
            return value.value
    return None
