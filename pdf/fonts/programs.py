"""Embedded font programs against what the file shows with them (ISO 14289-1 7.21.4.1, 7.21.5, 7.21.6, 7.21.8).

A subset may lack a glyph that is shown (most often the space, which nobody sees missing), have other widths than the
file lays its text out with, or be shown through .notdef. The program is then written again with blank glyphs added and
advances set; the file's own widths, and so what its pages look like, stay.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import pikepdf
from pikepdf import Array, Dictionary, Name

from pdf.fonts import encodings
from pdf.fonts.cff import BadFont, Cff
from pdf.fonts.cffedit import Added, edited
from pdf.fonts.composite import CompositeFont
from pdf.fonts.session import Session
from pdf.fonts.simple import SimpleFont
from pdf.fonts.truetype import Sfnt, subtable_bytes, symbol_cmap, unicode_cmap, with_glyphs
from pdf.fonts.type1 import Type1

#: Widths may differ by one thousandth of an em (7.21.5).
_TOLERANCE = 1.0


@dataclass
class Issues:
    """What is wrong with an embedded program: glyphs with another advance (glyph index or name → the file's), codes
    without a glyph."""

    widths: dict[int, float] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)


def repair_simple_program(font: SimpleFont, session: Session) -> None:
    """Mend the embedded program of a simple font."""
    program = font.program
    if program is None:
        session.failed(font.name, "7.21.4.1", "the embedded font program cannot be read")
        return
    try:
        if isinstance(program, Cff):
            _simple_cff(font, program, session)
        elif isinstance(program, Sfnt):
            _simple_truetype(font, program, session)
        else:
            _simple_type1(font, program, session)
    except (BadFont, IndexError, KeyError, ValueError, struct.error) as error:
        session.failed(font.name, "7.21.4.1", f"the embedded font program is broken: {error}")


def _replace(font: SimpleFont | CompositeFont, data: bytes, session: Session) -> None:
    """Put another program in, in a descriptor of the font's own (another font may share the old one)."""
    assert font.file is not None and font.descriptor is not None
    key, old = font.file
    entries: dict[str, pikepdf.Object | int] = {name[1:]: old[name] for name in ("/Subtype",) if name in old}
    if key == "/FontFile2":
        entries["Length1"] = len(data)
    descriptor = Dictionary(dict(font.descriptor.items()))
    descriptor[key] = session.stream(data, **entries)
    holder = font.own_descendant(session) if isinstance(font, CompositeFont) else font.font
    assert holder is not None
    holder["/FontDescriptor"] = session.pdf.make_indirect(descriptor)


def _simple_cff(font: SimpleFont, program: Cff, session: Session) -> None:
    issues = Issues()
    if program.is_cid:
        return
    taken: dict[int, float] = {}  # glyph index → the width it is right for
    split: list[tuple[int, int]] = []  # codes that share a glyph, but not its width
    for code in sorted(font.seen):
        name = font.names.get(code)
        gid = program.by_name.get(name) if name else None
        if gid is None or name == ".notdef":
            issues.missing.append(code)
            continue
        wanted = font.width(code)
        own = program.width(gid)
        wanted = own if wanted is None else wanted
        if gid in taken and _differs(taken[gid], wanted):
            split.append((code, gid))
            continue
        taken[gid] = wanted
        if _differs(own, wanted):
            issues.widths[gid] = wanted
    if not issues.widths and not issues.missing and not split:
        return
    added: dict[str, Added] = {}
    renamed: dict[int, str] = {}
    for code in issues.missing:
        name = font.names.get(code)
        if name and name != ".notdef":
            text = encodings.text_of_name(name) or font.mapped.get(code)
            shape = _alike(program, name, text)
        else:
            name, shape = _fresh_name(font, code, program, added), 0
            renamed[code] = name
        if name not in added:
            added[name] = Added(name, font.width(code) or 0.0, shape)
    for code, gid in split:
        name = f"{font.names[code]}.w{code}"
        added[name] = Added(name, font.width(code) or 0.0, gid)
    _replace(font, edited(program, issues.widths, list(added.values())), session)
    if split:
        _keep_texts(font, [code for code, _ in split], session)
        renamed |= {code: f"{font.names[code]}.w{code}" for code, _ in split}
    if renamed:
        _rename(font, renamed)
    _record(font.name, issues, len(added), bool(renamed), session)


def _keep_texts(font: SimpleFont, codes: list[int], session: Session) -> None:
    """Write down what codes mean whose glyphs get names that say nothing."""
    found = {code: font.mapped.get(code) or font.text(code) for code in codes}
    kept = {(code, 1): text for code, text in font.mapped.items() if code < 256 and encodings.allowed(text)}
    session.set_unicode(font.font, kept | {(code, 1): text for code, text in found.items() if text})


def _alike(program: Cff, name: str, text: str | None) -> int | None:
    """The glyph that viewers show for one that is missing: none for a space, else .notdef."""
    if name in ("space", "nbspace", "uni00A0") or (text is not None and text.isspace()):
        return None
    return 0 if "hyphen" not in name else program.by_name.get("hyphen", 0)


def _fresh_name(font: SimpleFont, code: int, program: Cff, added: dict[str, Added]) -> str:
    text = font.mapped.get(code)
    name = "space" if text is None or text.isspace() else f"c{code:03d}"
    while name in program.by_name or name in added:
        name += "x"
    return name


def _rename(font: SimpleFont, renamed: dict[int, str]) -> None:
    """Give codes these glyph names in an encoding of the font's own."""
    names = dict(font.encoding.differences) | renamed
    listed: list[object] = []
    before = -2
    for code in sorted(names):
        if code != before + 1:
            listed.append(code)
        listed.append(Name("/" + names[code]))
        before = code
    entry = Dictionary(Type=Name.Encoding, Differences=Array(listed))
    if font.encoding.base:
        entry.BaseEncoding = Name("/" + font.encoding.base)
    font.font.Encoding = entry


def _simple_type1(font: SimpleFont, program: Type1, session: Session) -> None:
    issues = Issues()
    renamed: dict[int, str] = {}
    widths: dict[str, float] = {}
    blanks: dict[str, float] = {}
    for code in sorted(font.seen):
        name = font.names.get(code)
        if not name or name == ".notdef":
            renamed[code] = name = "space"
        if name not in program.names:
            issues.missing.append(code)
            blanks[name] = font.width(code) or 0.0
            continue
        own = program.width(name)
        if own is not None and _differs(own, font.width(code)):
            widths[name] = font.width(code) or 0.0
    if not (renamed or widths or blanks):
        return
    shown = [name for name in blanks if not _is_space(name)]
    if shown:
        session.failed(font.name, "7.21.4.1", f"the embedded program lacks {', '.join(shown[:6])}")
        blanks = {name: width for name, width in blanks.items() if name not in shown}
    if blanks or widths:
        _replace_type1(font, program.rewritten(widths, blanks), session)
    if renamed:
        _rename(font, renamed)
    issues.widths = dict.fromkeys(range(len(widths)), 0.0)
    _record(font.name, issues, len(blanks), bool(renamed), session)


def _is_space(name: str) -> bool:
    text = encodings.text_of_name(name)
    return text is not None and (text.isspace() or text in ("\u00ad", "\u200b"))


def _replace_type1(font: SimpleFont, parts: tuple[bytes, bytes, bytes], session: Session) -> None:
    assert font.descriptor is not None
    descriptor = Dictionary(dict(font.descriptor.items()))
    lengths = {f"Length{n}": len(part) for n, part in enumerate(parts, 1)}
    descriptor.FontFile = session.stream(b"".join(parts), **lengths)
    font.font.FontDescriptor = session.pdf.make_indirect(descriptor)


def _simple_truetype(font: SimpleFont, program: Sfnt, session: Session) -> None:
    """Widths, missing glyphs, and the rules for encodings and cmaps (7.21.6)."""
    issues = Issues()
    glyphs = dict(font.glyph_ids)
    for code in sorted(font.seen):
        gid = glyphs.get(code, 0)
        if not gid:
            issues.missing.append(code)
        elif _differs(program.width(gid), font.width(code)):
            issues.widths[gid] = font.width(code) or 0.0
    symbolic = bool(font.flags & 4)
    rules = _breaks_rules(font, program, symbolic)
    if not (issues.widths or issues.missing or rules):
        return
    added = [(font.width(code) or 0.0, _missing_shape(font, code)) for code in issues.missing]
    for place, code in enumerate(issues.missing):
        glyphs[code] = program.glyph_count + place
    tables = with_glyphs(program, issues.widths, added) if issues.widths or added else {}
    texts = {code: encodings.text_of_name(font.names.get(code, "")) for code in issues.missing}
    keeps = not rules and not symbolic and all(text and len(text) == 1 for text in texts.values())
    if keeps and program.cmap(3, 1) is not None:
        characters = dict(program.cmap(3, 1) or {}) | {ord(t or " "): glyphs[code] for code, t in texts.items()}
        others = [(p, e, subtable_bytes(program, at)) for p, e, at in program.cmaps]
        if issues.missing:
            tables[b"cmap"] = unicode_cmap(characters, [o for o in others if o[2]])
    elif issues.missing or rules:
        _become_symbolic(font, glyphs, session)
        tables[b"cmap"] = symbol_cmap({code: gid for code, gid in glyphs.items() if gid})
    _replace(font, program.replaced(tables), session)
    boxed = program.draws(0) and any(shape is None for _, shape in added)
    _record(font.name, issues, len(added), False, session, visible=boxed)
    if rules:
        session.changed(font.name, "encoding", f"{rules}: its codes now lead to its glyphs by a symbolic cmap")


def _missing_shape(font: SimpleFont, code: int) -> int | None:
    name = font.names.get(code)
    text = font.mapped.get(code) or (encodings.text_of_name(name) if name else None)
    return None if text is None or text.isspace() or code < 32 or text == "\u00ad" else 0


def _breaks_rules(font: SimpleFont, program: Sfnt, symbolic: bool) -> str:
    """Which rule of 7.21.6 the font breaks; empty for none."""
    encoding = font.encoding
    subtables = [(p, e) for p, e, _ in program.cmaps]
    if symbolic:
        if encoding.entry != "none":
            return "symbolic with an encoding"
        if len(subtables) != 1 and (3, 0) not in subtables:
            return "symbolic without a symbolic cmap"
        return ""
    if encoding.base not in ("WinAnsiEncoding", "MacRomanEncoding"):
        return "not symbolic, and without a standard encoding"
    if len(subtables) < (2 if (3, 0) in subtables else 1):
        return "not symbolic, and without a cmap for characters"
    if encoding.differences and not (
        (3, 1) in subtables and all(n in encodings.standard_names() for n in encoding.differences.values())
    ):
        return "not symbolic, and with names that are not standard"
    return ""


def _become_symbolic(font: SimpleFont, glyphs: dict[int, int], session: Session) -> None:
    """Make the font symbolic, without an encoding; what its codes mean is written down in ToUnicode."""
    texts: dict[tuple[int, int], str] = {}
    for code in sorted(font.codes):
        text = font.mapped.get(code) or font.text(code)
        if not text and code in glyphs and _missing_shape(font, code) is None:
            text = " "
        if text and encodings.allowed(text):
            texts[(code, 1)] = text
    if "/Encoding" in font.font:
        del font.font["/Encoding"]
    if texts and any(font.mapped.get(code) != text for (code, _), text in texts.items()):
        session.set_unicode(font.font, texts)
    if font.descriptor is not None:
        font.descriptor["/Flags"] = (font.flags | 4) & ~32


def repair_composite_program(font: CompositeFont, session: Session) -> None:
    """Mend the embedded program of a composite font."""
    program = font.program
    if program is None or isinstance(program, Type1):
        session.failed(font.name, "7.21.4.1", "the embedded font program cannot be read")
        return
    try:
        _composite(font, program, session)
    except (BadFont, IndexError, KeyError, ValueError, struct.error) as error:
        session.failed(font.name, "7.21.4.1", f"the embedded font program is broken: {error}")


def _composite(font: CompositeFont, program: Cff | Sfnt, session: Session) -> None:
    issues = Issues()
    missing: dict[int, int] = {}  # CID → a code it is shown by
    notdef: list[tuple[int, int]] = []
    for code in sorted(font.codes):
        cid = font.cids[code]
        gid = font.gid(cid)
        if cid == 0 or gid == 0:
            notdef.append(code)
        elif gid is None:
            missing[cid] = code[0]
        elif code in font.seen and _differs(program.width(gid), font.width(cid)):
            issues.widths[gid] = font.width(cid)
    if not (issues.widths or missing or notdef):
        return
    if notdef and font.encoding_name not in ("Identity-H", "Identity-V"):
        session.failed(font.name, "7.21.8", f"{len(notdef)} codes are shown as .notdef")
        notdef = []
    font.own_descendant(session)
    free = _free_cids(font, len(notdef))
    moved = dict(zip(notdef, free, strict=True))
    wanted = [(cid, font.width(cid), _composite_shape(font, code)) for cid, code in missing.items()]
    wanted += [(new, font.width(font.cids[code]), _composite_shape(font, code[0])) for code, new in moved.items()]
    if isinstance(program, Cff):
        if not program.is_cid and wanted:
            session.failed(font.name, "7.21.8", "glyphs are missing in a font that has no CIDs of its own")
            wanted, moved, missing = [], {}, {}
        data = edited(program, issues.widths, [Added(cid, width, shape) for cid, width, shape in wanted])
    else:
        tables = with_glyphs(program, issues.widths, [(width, shape) for _, width, shape in wanted])
        data = program.replaced(tables)
        if wanted:
            _extend_gid_map(font, program, [cid for cid, _, _ in wanted], session)
    _replace(font, data, session)
    if moved:
        _move(font, moved, session)
    issues.missing = list(missing)
    _record(font.name, issues, len(wanted), bool(moved), session)


def _composite_shape(font: CompositeFont, code: int) -> int | None:
    text = font.mapped.get(code)
    return None if text is None or text.isspace() else 0


def _free_cids(font: CompositeFont, count: int) -> list[int]:
    used = set(font.widths) | set(font.cids.values())
    program = font.program
    if isinstance(program, Cff):
        used |= set(program.by_cid)
    top = max(max(used, default=0), program.glyph_count if isinstance(program, Sfnt) else 0)
    if top + count <= 0xFFFE:
        return list(range(top + 1, top + 1 + count))
    return [cid for cid in range(1, 0xFFFF) if cid not in used][:count]


def _extend_gid_map(font: CompositeFont, program: Sfnt, cids: list[int], session: Session) -> None:
    assert font.descendant is not None
    table = bytearray(font.gid_map or b"")
    if font.gid_map is None:
        table = bytearray(b"".join(gid.to_bytes(2) for gid in range(program.glyph_count)))
    for place, cid in enumerate(cids):
        if len(table) < 2 * cid + 2:
            table += b"\0" * (2 * cid + 2 - len(table))
        table[2 * cid : 2 * cid + 2] = (program.glyph_count + place).to_bytes(2)
    font.descendant.CIDToGIDMap = session.stream(bytes(table))


def _move(font: CompositeFont, moved: dict[tuple[int, int], int], session: Session) -> None:
    """Lead codes that were shown as .notdef to CIDs of their own, by an embedded CMap; their widths go with them."""
    descendant = font.descendant
    assert descendant is not None
    vertical = int((font.encoding_name or "").endswith("V"))
    info = descendant.get("/CIDSystemInfo")
    registry, ordering, supplement = "Adobe", "Identity", 0
    if isinstance(info, pikepdf.Dictionary):
        registry, ordering = str(info.get("/Registry", "Adobe")), str(info.get("/Ordering", "Identity"))
        supplement = int(info.get("/Supplement", 0))
    chars = "\n".join(f"<{code:04X}> {cid}" for (code, _), cid in sorted(moved.items()))
    ranges, first = [], 0
    for code, _ in [*sorted(moved), (0x10000, 2)]:
        while first < code:
            last = min(code - 1, first | 0xFF)
            ranges.append(f"<{first:04X}> <{last:04X}> {first}")
            first = last + 1
        first = code + 1
    blocks = [ranges[i : i + 100] for i in range(0, len(ranges), 100)]
    name = f"{ordering}-Moved-{'V' if vertical else 'H'}".replace(" ", "")
    body = "\n".join(f"{len(b)} begincidrange\n" + "\n".join(b) + "\nendcidrange" for b in blocks)
    data = f"""%!PS-Adobe-3.0 Resource-CMap
/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo 3 dict dup begin
/Registry ({registry}) def
/Ordering ({ordering}) def
/Supplement {supplement} def
end def
/CMapName /{name} def
/CMapType 1 def
/WMode {vertical} def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
{len(moved)} begincidchar
{chars}
endcidchar
{body}
endcmap
CMapName currentdict /CMap defineresource pop
end
end
"""
    stream = session.stream(data.encode("ascii", "replace"))
    stream.Type, stream.CMapName, stream.WMode = Name.CMap, Name("/" + name), vertical
    stream.CIDSystemInfo = Dictionary(
        Registry=pikepdf.String(registry), Ordering=pikepdf.String(ordering), Supplement=supplement
    )
    font.font.Encoding = stream
    widths = descendant.get("/W")
    listed = list(widths) if isinstance(widths, pikepdf.Array) else []
    items: list[object] = [*listed]
    for moved_code, cid in sorted(moved.items()):
        items += [cid, Array([_number(font.width(font.cids[moved_code]))])]
    descendant.W = Array(items)
    if any(code[0] not in font.mapped for code in moved):
        texts = {(code, 2): text for code, text in font.mapped.items() if encodings.allowed(text)}
        session.set_unicode(font.font, texts | {code: " " for code in moved if code[0] not in font.mapped})


def _number(value: float) -> object:
    from decimal import Decimal

    return int(value) if value == int(value) else Decimal(str(round(value, 3)))


def _differs(own: float | None, wanted: float | None) -> bool:
    return own is not None and wanted is not None and abs(own - wanted) > _TOLERANCE


def _record(name: str, issues: Issues, added: int, moved: bool, session: Session, *, visible: bool = False) -> None:
    if issues.widths:
        session.changed(name, "widths", f"{len(issues.widths)} glyphs got the advance that the file lays them out with")
    if added and not moved:
        how = "; spaces that showed as boxes are blank now" if visible else ", as they look"
        session.changed(
            name, "program", f"{added} glyphs that are shown were added to its program{how}", visible=visible
        )
    if moved:
        session.changed(name, "notdef", f"{added} codes shown as .notdef got glyphs of their own that look the same")
