"""TrueType programs without what nobody shows: outlines of other glyphs, and tables that are for other uses than a PDF.

A PDF needs of a TrueType program `glyf`, `head`, `hhea`, `hmtx`, `loca`, `maxp`, the instructions, and a simple font's
`cmap` and `post` (ISO 32000-1 9.9); layout tables, bitmaps and names are read by nobody. Glyphs keep their numbers, so
that nothing else changes. Left alone: what a form may still be filled in with, vertical writing (viewers look into
`GSUB` for it), and a program that any font shares which is not understood.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import pikepdf

from pdf.fonts import encodings
from pdf.fonts.cff import BadFont
from pdf.fonts.composite import CompositeFont
from pdf.fonts.session import subset_tag
from pdf.fonts.simple import SimpleFont
from pdf.fonts.truetype import Sfnt
from pdf.fonts.usage import FontUse, used_fonts

_OUTLINES = (b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp", b"cvt ", b"fpgm", b"prep", b"gasp")
#: What a simple font's codes, and texts that the file itself does not give, are looked up in.
_LOOKED_UP = (b"cmap", b"post", b"OS/2")
#: A program must become at least this much smaller (bytes before they are deflated).
_GAIN = 0.95
#: Flags of a composite glyph's components (ISO/IEC 14496-22 `glyf`).
_WORDS, _SCALE, _MORE, _XY_SCALE, _TWO_BY_TWO = 0x0001, 0x0008, 0x0020, 0x0040, 0x0080
_SYMBOL_PAGES = (0, 0xF000, 0xF100, 0xF200)


def subset_fonts(pdf: pikepdf.Pdf) -> list[int]:
    """Subset the programs of an open document in place; the bytes that each of them lost."""
    out = []
    for stream, fonts in _programs(pdf).values():
        try:
            saved = _subset(stream, fonts)
        except (BadFont, struct.error, IndexError, KeyError, ValueError, TypeError, AttributeError, pikepdf.PdfError):
            continue  # a program that does not follow its format stays as it is
        if saved:
            out.append(saved)
    return out


def _programs(pdf: pikepdf.Pdf) -> dict[tuple[int, int], tuple[pikepdf.Object, list[SimpleFont | CompositeFont]]]:
    """Programs of which every font that refers to them is known, with those fonts."""
    owners = _owners(pdf)
    kept = _form_fonts(pdf)
    out: dict[tuple[int, int], tuple[pikepdf.Object, list[SimpleFont | CompositeFont]]] = {}
    for use in used_fonts(pdf):
        font = _font(use)
        if font is not None and font.file is not None and font.file[0] == "/FontFile2":
            out.setdefault(font.file[1].objgen, (font.file[1], []))[1].append(font)
    return {
        key: (stream, fonts)
        for key, (stream, fonts) in out.items()
        # A font dictionary that is no object of its own is never among the owners.
        if owners.get(key) == {_holder(font).objgen for font in fonts} and not owners[key] & kept
    }


def _font(use: FontUse) -> SimpleFont | CompositeFont | None:
    kind = use.font.get("/Subtype")
    if kind == pikepdf.Name.Type0:
        return CompositeFont(use)
    return SimpleFont(use) if kind == pikepdf.Name.TrueType else None


def _holder(font: SimpleFont | CompositeFont) -> pikepdf.Object:
    """The dictionary that refers to the font's descriptor."""
    if isinstance(font, CompositeFont):
        assert font.descendant is not None
        return font.descendant
    return font.font


def _owners(pdf: pikepdf.Pdf) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """Program → the font dictionaries whose descriptors refer to it."""
    out: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for thing in pdf.objects:
        descriptor = thing.get("/FontDescriptor") if isinstance(thing, pikepdf.Dictionary) else None
        if isinstance(descriptor, pikepdf.Dictionary):
            for key in ("/FontFile", "/FontFile2", "/FontFile3"):
                stream = descriptor.get(key)
                if isinstance(stream, pikepdf.Stream):
                    out.setdefault(stream.objgen, set()).add(thing.objgen)
    return out


def _form_fonts(pdf: pikepdf.Pdf) -> set[tuple[int, int]]:
    """Fonts, and their descendants, with which fields may be filled in."""
    form = pdf.Root.get("/AcroForm")
    resources = form.get("/DR") if isinstance(form, pikepdf.Dictionary) else None
    fonts = resources.get("/Font") if isinstance(resources, pikepdf.Dictionary) else None
    out: set[tuple[int, int]] = set()
    for font in fonts.values() if isinstance(fonts, pikepdf.Dictionary) else ():
        if isinstance(font, pikepdf.Dictionary):
            out.add(font.objgen)
            below = font.get("/DescendantFonts")
            out |= {kid.objgen for kid in below} if isinstance(below, pikepdf.Array) else set()
    return out


def _subset(stream: pikepdf.Object, fonts: list[SimpleFont | CompositeFont]) -> int:
    """Replace a program by what its fonts need of it; the bytes it lost, 0 where it stays."""
    program = fonts[0].program
    if not isinstance(program, Sfnt) or not program.table(b"glyf"):
        return 0
    shown = {0}
    looked_up = False
    for font in fonts:
        if isinstance(font, SimpleFont):
            shown |= _simple_glyphs(font, program)
            looked_up = True
        else:
            if font.cmap is None or not font.codes or _is_vertical(font):
                return 0
            shown |= {gid for cid in font.cids.values() if (gid := font.gid(cid)) is not None}
            looked_up = looked_up or any(code not in font.mapped for code, _ in font.codes)
    kept = _with_parts(program, shown)
    tables = _kept_tables(program, kept)
    if looked_up:
        tables |= {tag: table for tag in _LOOKED_UP if (table := program.table(tag))}
    bare = Sfnt.__new__(Sfnt)
    bare.data, bare.kind, bare.tables = program.data, program.kind, {}
    data = bare.replaced(tables)
    if len(data) > _GAIN * len(program.data):
        return 0
    saved = len(program.data) - len(data)
    _check(Sfnt(data), program, kept)
    stream.write(data)
    stream.Length1 = len(data)
    if len(kept) < program.glyph_count:
        _name_subset(fonts, data)
    return saved


def _is_vertical(font: CompositeFont) -> bool:
    entry = font.font.get("/Encoding")
    told = entry.get("/WMode") if isinstance(entry, pikepdf.Stream) else None
    return bool(font.cmap is not None and font.cmap.wmode) or told == 1 or (font.encoding_name or "").endswith("V")


def _simple_glyphs(font: SimpleFont, program: Sfnt) -> set[int]:
    """Every glyph that any viewer may show for the codes of a simple font: more than ISO 32000-1 9.6.6.4 would."""
    named = [font.names, encodings.standard(), encodings.win_ansi(), encodings.mac_roman()]
    names = {name for code in font.codes for table in named if (name := table.get(code))}
    texts = {text for name in names if (text := encodings.text_of_name(name)) and len(text) == 1}
    characters = {ord(text) for text in texts}
    mac = {code for code, name in encodings.mac_roman().items() if name in names}
    codes = {page + code for page in _SYMBOL_PAGES for code in font.codes} | characters | mac
    out = set(font.glyph_ids.values())
    for platform, encoding, _ in program.cmaps:
        table = program.cmap(platform, encoding) or {}
        out |= {gid for code in codes if (gid := table.get(code))}
    return out | {gid for gid, name in program.glyph_names.items() if name in names}


def _with_parts(program: Sfnt, shown: Iterable[int]) -> set[int]:
    """The glyphs, and those that composite ones among them are made of. Raises BadFont."""
    glyf, loca = program.table(b"glyf"), program.loca
    if len(loca) != program.glyph_count + 1:
        raise BadFont("the glyphs cannot be told apart")
    out: set[int] = set()
    todo = [gid for gid in shown if gid < program.glyph_count]
    while todo:
        gid = todo.pop()
        if gid in out:
            continue
        out.add(gid)
        outline = glyf[loca[gid] : loca[gid + 1]]
        if len(outline) < 12 or struct.unpack_from(">h", outline)[0] >= 0:
            continue
        at, flags = 10, _MORE
        while flags & _MORE:
            flags, part = struct.unpack_from(">HH", outline, at)
            if part < program.glyph_count:
                todo.append(part)
            at += 8 if flags & _WORDS else 6
            at += 2 if flags & _SCALE else 4 if flags & _XY_SCALE else 8 if flags & _TWO_BY_TWO else 0
    return out


def _kept_tables(program: Sfnt, kept: set[int]) -> dict[bytes, bytes]:
    """The tables of the outlines, those of glyphs not kept empty, and their metrics naught (which deflates away)."""
    tables = {tag: table for tag in _OUTLINES if (table := program.table(tag))}
    glyf = bytearray()
    loca = [0]
    for gid in range(program.glyph_count):
        if gid in kept:
            outline = program.table(b"glyf")[program.loca[gid] : program.loca[gid + 1]]
            glyf += outline + b"\0" * (-len(outline) % (4 if program.long_loca else 2))
        loca.append(len(glyf))
    tables[b"glyf"] = bytes(glyf) or b"\0"
    size, unit = ("I", 1) if program.long_loca else ("H", 2)
    tables[b"loca"] = struct.pack(f">{len(loca)}{size}", *[offset // unit for offset in loca])
    metrics = bytearray(program.table(b"hmtx"))
    listed = struct.unpack_from(">H", program.table(b"hhea"), 34)[0]
    # The last advance goes for all glyphs after it; it stays.
    for gid in range(min(listed - 1, program.glyph_count)):
        if gid not in kept:
            metrics[4 * gid : 4 * gid + 4] = bytes(len(metrics[4 * gid : 4 * gid + 4]))
    tables[b"hmtx"] = bytes(metrics)
    return tables


def _check(made: Sfnt, program: Sfnt, kept: set[int]) -> None:
    """Every glyph kept has the outline and the advance it had. Raises BadFont."""
    old, new = program.table(b"glyf"), made.table(b"glyf")
    for gid in kept:
        before = old[program.loca[gid] : program.loca[gid + 1]]
        if new[made.loca[gid] : made.loca[gid] + len(before)] != before or made.width(gid) != program.width(gid):
            raise BadFont(f"glyph {gid} came out different")


def _name_subset(fonts: list[SimpleFont | CompositeFont], data: bytes) -> None:
    """Mark the name of the font as that of a subset (ISO 32000-1 9.6.4), where it is not."""
    tag = subset_tag(data)
    for font in fonts:
        holder = _holder(font)
        for thing, key in ((font.font, "/BaseFont"), (holder, "/BaseFont"), (holder.FontDescriptor, "/FontName")):
            name = str(thing.get(key, ""))[1:]
            if name and name[6:7] != "+":
                thing[key] = pikepdf.Name(f"/{tag}+{name}")
