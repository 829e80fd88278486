"""Embedded font programs against what the file shows with them (ISO 14289-1 7.21.4.1, 7.21.5, 7.21.6, 7.21.8).

A subset may lack a glyph that is shown (most often the space, which nobody sees missing), have other widths than the
file lays its text out with, or be shown through .notdef. The program is then written again with blank glyphs added and
advances set; the file's own widths, and so what its pages look like, stay.
"""

from __future__ import annotations

import struct

from pikepdf import Array, Dictionary, Name

from pdf.fonts import encodings
from pdf.fonts.cff import BadFont, Cff
from pdf.fonts.cffedit import Added, edited
from pdf.fonts.issues import Issues, differs, record, replace
from pdf.fonts.session import Session
from pdf.fonts.simple import SimpleFont
from pdf.fonts.truetype import Sfnt, subtable_bytes, symbol_cmap, unicode_cmap, with_glyphs
from pdf.fonts.type1 import Type1


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
        if gid in taken and differs(taken[gid], wanted):
            split.append((code, gid))
            continue
        taken[gid] = wanted
        if differs(own, wanted):
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
    replace(font, edited(program, issues.widths, list(added.values())), session)
    if split:
        _keep_texts(font, [code for code, _ in split], session)
        renamed |= {code: f"{font.names[code]}.w{code}" for code, _ in split}
    if renamed:
        _rename(font, renamed)
    record(font.name, issues, len(added), bool(renamed), session)


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
        if own is not None and differs(own, font.width(code)):
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
    record(font.name, issues, len(blanks), bool(renamed), session)


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
        elif differs(program.width(gid), font.width(code)):
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
    replace(font, program.replaced(tables), session)
    boxed = program.draws(0) and any(shape is None for _, shape in added)
    record(font.name, issues, len(added), False, session, visible=boxed)
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
