"""AcroForm fields over a typeset page (ISO 32000-1, 12.7), for the sample form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, String

HEIGHT = 20.0  # points; the height of a box in sources/form.typ


def add_fields(target: Path, found: Sequence[dict[str, Any]]) -> None:
    """Lay one field over each box of ``found``.

    A box tells its name, kind (``text`` or ``check``), page (from 1), x, y (from the top) and width in points.
    """
    with pikepdf.open(target, allow_overwriting_input=True) as pdf:
        fields = Array()
        for index, spec in enumerate(found):
            page = pdf.pages[spec["page"] - 1]
            left, top = float(spec["x"]), float(page.mediabox[3]) - float(spec["y"])
            widget = _check(pdf) if spec["kind"] == "check" else _text(pdf, float(spec["width"]))
            widget.update(
                Dictionary(
                    Type=Name.Annot,
                    Subtype=Name.Widget,
                    T=String(f"field{index}"),
                    TU=String(spec["name"]),
                    F=4,
                    Rect=Array([left, top - HEIGHT, left + float(spec["width"]), top]),
                    P=page.obj,
                )
            )
            indirect = pdf.make_indirect(widget)
            fields.append(indirect)
            if "/Annots" not in page.obj:
                page.obj.Annots = Array()
            page.obj.Annots.append(indirect)
        pdf.Root.AcroForm = Dictionary(Fields=fields, DA=String("/F 11 Tf 0 g"), DR=Dictionary())
        pdf.save(target, deterministic_id=True)


def _text(pdf: pikepdf.Pdf, width: float) -> Dictionary:
    box = f"q 0.6 w 0 0 0 RG 0.3 0.3 {width - 0.6:g} {HEIGHT - 0.6:g} re S Q".encode()
    return Dictionary(
        FT=Name.Tx, V=String(""), DA=String("/F 11 Tf 0 g"), AP=Dictionary(N=_appearance(pdf, box, width))
    )


def _check(pdf: pikepdf.Pdf) -> Dictionary:
    box = f"q 0.6 w 0 0 0 RG 0.3 0.3 {HEIGHT - 0.6:g} {HEIGHT - 0.6:g} re S Q".encode()
    cross = box + b" q 1.2 w 4 4 m 16 16 l 4 16 m 16 4 l S Q"
    states = Dictionary(Off=_appearance(pdf, box, HEIGHT), Yes=_appearance(pdf, cross, HEIGHT))
    return Dictionary(FT=Name.Btn, V=Name.Off, AS=Name.Off, AP=Dictionary(N=states))


def _appearance(pdf: pikepdf.Pdf, content: bytes, width: float) -> pikepdf.Object:
    stream = pdf.make_stream(content)
    stream.Type, stream.Subtype = Name.XObject, Name.Form
    stream.BBox, stream.Resources = Array([0, 0, width, HEIGHT]), Dictionary()
    return stream
