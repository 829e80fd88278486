"""PDFs with fonts of all kinds, made operator by operator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pikepdf
from pikepdf import Array, Dictionary, Name

Maker = Callable[[pikepdf.Pdf], pikepdf.Object]


def document(target: Path, fonts: dict[str, Maker], content: bytes) -> Path:
    """A file of one page with these fonts and this content stream."""
    with pikepdf.new() as pdf:
        page = pdf.add_blank_page(page_size=(300, 300))
        page.obj.Resources = Dictionary(Font=Dictionary({f"/{name}": make(pdf) for name, make in fonts.items()}))
        page.obj.Contents = pdf.make_stream(content)
        pdf.save(target, deterministic_id=True)
    return target


def standard(base: str, **entries: object) -> Maker:
    """A font of the standard 14, not embedded."""
    return lambda pdf: pdf.make_indirect(
        Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name("/" + base), **entries)  # type: ignore[arg-type]
    )


def truetype(base: str, widths: dict[int, int], **entries: object) -> Maker:
    """A TrueType font that is not embedded, with widths and a descriptor."""

    def make(pdf: pikepdf.Pdf) -> pikepdf.Object:
        first, last = min(widths), max(widths)
        descriptor = Dictionary(
            Type=Name.FontDescriptor,
            FontName=Name("/" + base),
            Flags=32,
            FontBBox=[0, -200, 1000, 900],
            ItalicAngle=0,
            Ascent=900,
            Descent=-200,
            CapHeight=700,
            StemV=80,
        )
        return pdf.make_indirect(
            Dictionary(
                Type=Name.Font,
                Subtype=Name.TrueType,
                BaseFont=Name("/" + base),
                FirstChar=first,
                LastChar=last,
                Widths=Array([widths.get(code, 0) for code in range(first, last + 1)]),
                FontDescriptor=pdf.make_indirect(descriptor),
                **entries,  # type: ignore[arg-type]
            )
        )

    return make


def embedded(
    base: str, program: bytes, key: str, *, subtype: str = "Type1", kind: str = "", **entries: object
) -> Maker:
    """A simple font with this font program; widths 500 for all codes unless given."""

    def make(pdf: pikepdf.Pdf) -> pikepdf.Object:
        stream = pdf.make_stream(program)
        if kind:
            stream.Subtype = Name("/" + kind)
        else:
            stream.Length1 = len(program)
        descriptor = Dictionary(
            Type=Name.FontDescriptor,
            FontName=Name("/" + base),
            Flags=entries.pop("Flags", 4),
            FontBBox=[0, -200, 1000, 900],
            ItalicAngle=0,
            Ascent=900,
            Descent=-200,
            CapHeight=700,
            StemV=80,
        )
        descriptor["/" + key] = stream
        for name in ("CharSet", "CIDSet"):
            if name in entries:
                value = entries.pop(name)
                descriptor["/" + name] = pdf.make_stream(value) if isinstance(value, bytes) else value
        held = {"FirstChar": 0, "LastChar": 255, "Widths": Array([500] * 256)} | entries
        return pdf.make_indirect(
            Dictionary(
                Type=Name.Font,
                Subtype=Name("/" + subtype),
                BaseFont=Name("/" + base),
                FontDescriptor=pdf.make_indirect(descriptor),
                **held,  # type: ignore[arg-type]
            )
        )

    return make


def composite(
    base: str,
    encoding: str | bytes,
    ordering: str,
    *,
    widths: Array | None = None,
    unicode: bytes | None = None,
    kind: str = "CIDFontType2",
    program: bytes | None = None,
) -> Maker:
    """A Type 0 font; without `program` it is not embedded."""

    def make(pdf: pikepdf.Pdf) -> pikepdf.Object:
        descriptor = Dictionary(
            Type=Name.FontDescriptor,
            FontName=Name("/" + base),
            Flags=4,
            FontBBox=[0, -200, 1000, 900],
            ItalicAngle=0,
            Ascent=900,
            Descent=-200,
            CapHeight=700,
            StemV=80,
        )
        if program is not None:
            descriptor.FontFile2 = pdf.make_stream(program, Length1=len(program))
        descendant = Dictionary(
            Type=Name.Font,
            Subtype=Name("/" + kind),
            BaseFont=Name("/" + base),
            CIDSystemInfo=Dictionary(Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String(ordering), Supplement=0),
            FontDescriptor=pdf.make_indirect(descriptor),
            DW=1000,
        )
        if widths is not None:
            descendant.W = widths
        font = Dictionary(
            Type=Name.Font,
            Subtype=Name.Type0,
            BaseFont=Name("/" + base),
            DescendantFonts=Array([pdf.make_indirect(descendant)]),
        )
        if isinstance(encoding, bytes):
            stream = pdf.make_stream(encoding)
            stream.Type, stream.CMapName = Name.CMap, Name.Own
            stream.CIDSystemInfo = Dictionary(
                Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String(ordering), Supplement=0
            )
            font.Encoding = stream
        else:
            font.Encoding = Name("/" + encoding)
        if unicode is not None:
            font.ToUnicode = pdf.make_stream(unicode)
        return pdf.make_indirect(font)

    return make


def type3(names: dict[int, str]) -> Maker:
    """A Type 3 font whose glyphs are boxes."""

    def make(pdf: pikepdf.Pdf) -> pikepdf.Object:
        box = pdf.make_stream(b"600 0 0 0 500 700 d1 0 0 500 700 re f")
        differences: list[object] = []
        for code, name in sorted(names.items()):
            differences += [code, Name("/" + name)]
        first, last = min(names), max(names)
        return pdf.make_indirect(
            Dictionary(
                Type=Name.Font,
                Subtype=Name.Type3,
                FontBBox=[0, 0, 500, 700],
                FontMatrix=[0.001, 0, 0, 0.001, 0, 0],
                CharProcs=Dictionary({"/" + name: box for name in names.values()}),
                Encoding=Dictionary(Type=Name.Encoding, Differences=Array(differences)),
                FirstChar=first,
                LastChar=last,
                Widths=Array([600] * (last - first + 1)),
            )
        )

    return make


def unicode_map(*pairs: tuple[str, str]) -> bytes:
    """A ToUnicode CMap with these pairs of hexadecimal numbers."""
    size = len(pairs[0][0])
    lines = "\n".join(f"<{code}> <{text}>" for code, text in pairs)
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /T def /CMapType 2 def\n"
        f"1 begincodespacerange <{'0' * size}> <{'F' * size}> endcodespacerange\n"
        f"{len(pairs)} beginbfchar\n{lines}\nendbfchar endcmap end end"
    ).encode()


def only_font(pdf: pikepdf.Pdf, name: str = "F1") -> pikepdf.Object:
    """A font of the first page."""
    return pdf.pages[0].obj.Resources.Font["/" + name]
