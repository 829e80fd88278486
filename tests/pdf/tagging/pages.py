"""Small PDFs made by hand, whose content streams say exactly what a test is about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pikepdf
from pikepdf import Array, Dictionary, Name


def font() -> Dictionary:
    return Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica, Encoding=Name.WinAnsiEncoding)


def make(path: Path, contents: Sequence[bytes | Sequence[bytes]], forms: dict[str, bytes] | None = None) -> Path:
    """A PDF with a page for each content; each may be cut into several streams. `forms` are painted by their names."""
    pdf = pikepdf.new()
    resources = Dictionary(Font=Dictionary(F1=pdf.make_indirect(font())), XObject=Dictionary())
    for name, data in (forms or {}).items():
        form = pdf.make_stream(data)
        form.Type, form.Subtype, form.BBox = Name.XObject, Name.Form, Array([0, 0, 300, 300])
        form.Resources = Dictionary(Font=resources.Font)
        resources.XObject["/" + name] = form
    shared = pdf.make_indirect(resources)
    for content in contents:
        page = pdf.add_blank_page(page_size=(300, 300))
        parts = [content] if isinstance(content, bytes) else list(content)
        streams = [pdf.make_stream(part) for part in parts]
        page.obj.Contents = streams[0] if len(streams) == 1 else Array(streams)
        page.obj.Resources = shared
    pdf.save(path, deterministic_id=True)
    return path


def line(y: int, text: str) -> bytes:
    return f"BT /F1 12 Tf 20 {y} Td ({text}) Tj ET\n".encode()
