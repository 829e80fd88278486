"""The embedded programs of composite fonts against what is shown with them (ISO 14289-1 7.21.4.1, 7.21.5, 7.21.8).

As `pdf.fonts.programs` for simple fonts. A code shown as .notdef is led to a CID of its own by an embedded CMap.
"""

from __future__ import annotations

import struct

import pikepdf
from pikepdf import Array, Dictionary, Name

from pdf.fonts import encodings
from pdf.fonts.cff import BadFont, Cff
from pdf.fonts.cffedit import Added, edited
from pdf.fonts.composite import CompositeFont
from pdf.fonts.issues import Issues, differs, record, replace
from pdf.fonts.session import Session
from pdf.fonts.truetype import Sfnt, with_glyphs
from pdf.fonts.type1 import Type1


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
        elif code in font.seen and differs(program.width(gid), font.width(cid)):
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
    replace(font, data, session)
    if moved:
        _move(font, moved, session)
    issues.missing = list(missing)
    record(font.name, issues, len(wanted), bool(moved), session)


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
