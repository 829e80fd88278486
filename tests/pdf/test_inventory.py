"""The inventory notices every kind of thing that may get lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, String

from pdf import inventory
from tests.pdf.fonts import made


def rich(path: Path) -> Path:
    """Two pages with one of everything."""
    made.document(path, {"F1": made.standard("Helvetica")}, b"BT /F1 12 Tf 9 9 Td (words) Tj ET")
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.add_blank_page(page_size=(300, 300))
        first, second = (page.obj for page in pdf.pages)
        link = Dictionary(
            Type=Name.Annot,
            Subtype=Name.Link,
            Rect=[0, 0, 50, 20],
            A=Dictionary(S=Name.URI, URI=String("https://x.test")),
        )
        inner = Dictionary(Type=Name.Annot, Subtype=Name.Link, Rect=[0, 50, 50, 70], Dest=Array([second, Name.Fit]))
        widget = Dictionary(
            Type=Name.Annot, Subtype=Name.Widget, Rect=[0, 90, 50, 99], FT=Name.Tx, T=String("name"), V=String("Ada")
        )
        first.Annots = Array([pdf.make_indirect(d) for d in (link, inner, widget)])
        pdf.Root.AcroForm = Dictionary(Fields=Array([first.Annots[2]]))
        pdf.Root.Lang = String("en")
        pdf.Root.Names = Dictionary(Dests=Dictionary(Names=Array([String("there"), Array([second, Name.Fit])])))
        pdf.Root.PageLabels = Dictionary(Nums=Array([0, Dictionary(S=Name.r)]))
        element = pdf.make_indirect(Dictionary(Type=Name.StructElem, S=Name.P))
        pdf.Root.StructTreeRoot = pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot, K=Array([element])))
        group = pdf.make_indirect(Dictionary(Type=Name.OCG, Name=String("Layer")))
        pdf.Root.OCProperties = Dictionary(OCGs=Array([group]), D=Dictionary())
        pdf.Root.Names.JavaScript = Dictionary(
            Names=Array([String("s"), Dictionary(S=Name.JavaScript, JS=String("this.calculate = 1"))])
        )
        pdf.docinfo["/Title"] = "The title"
        pdf.attachments["data.csv"] = pikepdf.AttachedFileSpec(pdf, b"1,2", filename="data.csv")
        with pdf.open_outline() as outline:
            outline.root.append(pikepdf.OutlineItem("Chapter", 1))
        pdf.save(path)
    return path


def test_a_copy_lacks_nothing(tmp_path: Path) -> None:
    source = rich(tmp_path / "a.pdf")
    with pikepdf.open(source) as pdf:
        pdf.save(tmp_path / "b.pdf", object_stream_mode=pikepdf.ObjectStreamMode.generate, linearize=True)
    assert inventory.lost(inventory.take(source), inventory.take(tmp_path / "b.pdf")) == []


def no_text(pdf: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.Contents = pdf.make_stream(b"")


def no_link(pdf: pikepdf.Pdf) -> None:
    del pdf.pages[0].obj.Annots[0]


def other_target(pdf: pikepdf.Pdf) -> None:
    pdf.pages[0].obj.Annots[1].Dest = Array([pdf.pages[0].obj, Name.Fit])


def no_element(pdf: pikepdf.Pdf) -> None:
    pdf.Root.StructTreeRoot.K = Array([])


def other_value(pdf: pikepdf.Pdf) -> None:
    pdf.Root.AcroForm.Fields[0].V = String("Bob")


def turned(pdf: pikepdf.Pdf) -> None:
    pdf.pages[1].obj.Rotate = 90


def cropped(pdf: pikepdf.Pdf) -> None:
    pdf.pages[1].obj.CropBox = [0, 0, 100, 100]


def without(*keys: str) -> Callable[[pikepdf.Pdf], None]:
    def damage(pdf: pikepdf.Pdf) -> None:
        for key in keys:
            del pdf.Root[key]

    return damage


def no_script(pdf: pikepdf.Pdf) -> None:
    del pdf.Root.Names["/JavaScript"]


def no_attachment(pdf: pikepdf.Pdf) -> None:
    del pdf.attachments["data.csv"]


def no_title(pdf: pikepdf.Pdf) -> None:
    del pdf.docinfo["/Title"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (no_text, "the text of page 1 differs"),
        (no_link, "1 Link annotations"),
        (other_target, "1 Link annotations"),
        (other_value, "form fields"),
        (turned, "the rotation of page 2"),
        (cropped, "the page boxes of page 2"),
        (no_element, "structure is lost"),
        (no_attachment, "attachments"),
        (no_script, "scripts are lost"),
        (no_title, "metadata"),
        (without("/Outlines"), "outline entries"),
        (without("/Lang"), "the language"),
        (without("/PageLabels"), "page labels"),
        (without("/OCProperties"), "layers"),
        (without("/StructTreeRoot"), "structure"),
        (without("/Names"), "named destinations"),
    ],
)
def test_what_is_lost_is_named(tmp_path: Path, damage: Callable[[pikepdf.Pdf], None], words: str) -> None:
    source = rich(tmp_path / "a.pdf")
    with pikepdf.open(source) as pdf:
        damage(pdf)
        pdf.save(tmp_path / "b.pdf")
    found = inventory.lost(inventory.take(source), inventory.take(tmp_path / "b.pdf"))
    assert any(words in sentence for sentence in found), found


def test_a_missing_page_is_named(tmp_path: Path) -> None:
    source = rich(tmp_path / "a.pdf")
    with pikepdf.open(source) as pdf:
        del pdf.pages[1]
        pdf.save(tmp_path / "b.pdf")
    found = inventory.lost(inventory.take(source), inventory.take(tmp_path / "b.pdf"))
    assert found == ["2 pages became 1"]
