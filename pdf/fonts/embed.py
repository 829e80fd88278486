"""Putting a font in where the file only names one (ISO 14289-1 7.21.4.1)."""

from __future__ import annotations

import pikepdf
from pikepdf import Array, Dictionary, Name

from pdf.fonts import encodings, faces
from pdf.fonts.build import Glyph, cid_keyed, name_keyed
from pdf.fonts.session import Session, subset_tag
from pdf.fonts.simple import SimpleFont, number

_FIXED, _SERIF, _SYMBOLIC, _NONSYMBOLIC, _ITALIC, _FORCE_BOLD = 1, 2, 4, 32, 64, 1 << 18


def style_of(name: str, descriptor: pikepdf.Object | None) -> faces.Style:
    """The style a font asks for by its name and descriptor."""
    if descriptor is None:
        return faces.style_of(name, 0, 0.0, 0.0, 0.0)
    return faces.style_of(
        name,
        int(number(descriptor.get("/Flags"))),
        number(descriptor.get("/StemV")),
        number(descriptor.get("/ItalicAngle")),
        number(descriptor.get("/FontWeight")),
    )


def embed_simple(font: SimpleFont, session: Session) -> None:
    """Embed a substitute for a simple font: the glyphs of the codes shown, each with the advance the file gives it."""
    style = style_of(font.name, font.descriptor)
    available, package = faces.faces_for(style)
    if not available:
        session.failed(font.name, "7.21.4.1", "the font is not embedded and no substitute is installed", package)
        return
    glyphs: dict[str, Glyph] = {}
    names: dict[int, str] = {}
    widths: dict[int, float] = {}
    missing: list[int] = []
    for code in sorted(font.codes):
        name = font.names.get(code)
        text = font.mapped.get(code) or font.text(code)
        found = _glyph(available, name, text)
        if found is None and _is_blank(name, text, code):
            found = (None, 0)
        if found is None:
            missing.append(code)
            continue
        face, gid = found
        own = faces.load(face).advance(gid) if face is not None else 0.0
        width = font.width(code)
        width = own if width is None else width
        wanted = _glyph_name(name, text, code)
        held = glyphs.get(wanted)
        if held is not None and (held.source, held.face, held.width) != (gid, face, width):
            wanted = f"{wanted}.c{code}"
        glyphs[wanted] = Glyph(face, gid, width)
        names[code] = wanted
        widths[code] = width
    if missing:
        listed = ", ".join(f"{code}" for code in missing[:8])
        session.failed(font.name, "7.21.4.1", f"no installed font has the characters with the codes {listed}", package)
        if not glyphs:
            return
    _install_simple(font, session, style, available[0], glyphs, names, widths)


def _install_simple(
    font: SimpleFont,
    session: Session,
    style: faces.Style,
    face: faces.Face,
    glyphs: dict[str, Glyph],
    names: dict[int, str],
    widths: dict[int, float],
) -> None:
    used = sorted({g.face.family for g in glyphs.values() if g.face is not None}) or [face.family]
    tag = subset_tag(repr((face, sorted(glyphs.items(), key=lambda item: item[0]))).encode())
    ps_name = f"{tag}+{face.family}"
    program, box = name_keyed(ps_name, glyphs)
    target = font.font
    target.Subtype = Name.Type1
    target.BaseFont = Name("/" + ps_name)
    first, last = min(names), max(names)
    target.FirstChar, target.LastChar = first, last
    target.Widths = Array([_tidy(widths.get(code, 0.0)) for code in range(first, last + 1)])
    differences: list[object] = []
    before = -2
    for code in sorted(names):
        if code != before + 1:
            differences.append(code)
        differences.append(Name("/" + names[code]))
        before = code
    target.Encoding = Dictionary(Type=Name.Encoding, Differences=Array(differences))
    target.FontDescriptor = session.pdf.make_indirect(
        _descriptor(font.descriptor, ps_name, style, box, session.stream(program, Subtype=Name.Type1C))
    )
    exact = faces.is_metric_compatible(style, font.name)
    session.changed(
        font.name,
        "embedded",
        f"not embedded; {', '.join(used)} stands in for it"
        + ("" if exact else ", its glyphs fitted to the widths the file gives"),
        visible=bool(font.seen),
    )


def _descriptor(
    old: pikepdf.Object | None, name: str, style: faces.Style, box: tuple[int, int, int, int], program: pikepdf.Object
) -> pikepdf.Object:
    family = style.family
    flags = 0
    if family in ("mono", "liberation-mono", "dejavu-mono"):
        flags |= _FIXED
    if family in ("serif", "schoolbook", "palatino", "bookman", "liberation-serif", "dejavu-serif"):
        flags |= _SERIF
    flags |= _SYMBOLIC if family in ("symbol", "dingbats") else _NONSYMBOLIC
    if style.italic:
        flags |= _ITALIC
    angle = number(old.get("/ItalicAngle")) if old is not None else (-12.0 if style.italic else 0.0)
    made = Dictionary(
        Type=Name.FontDescriptor,
        FontName=Name("/" + name),
        Flags=flags,
        FontBBox=Array(box),
        ItalicAngle=_tidy(angle),
        Ascent=_tidy(number(old.get("/Ascent"), box[3]) if old is not None else box[3]),
        Descent=_tidy(number(old.get("/Descent"), box[1]) if old is not None else box[1]),
        CapHeight=_tidy(number(old.get("/CapHeight"), 700) if old is not None else 700),
        StemV=_tidy(number(old.get("/StemV"), 80) if old is not None else (140 if style.bold else 80)),
        FontFile3=program,
    )
    if style.bold:
        made.FontWeight = 700
    return made


def _tidy(value: float) -> object:
    from decimal import Decimal

    return int(value) if value == int(value) else Decimal(str(round(value, 3)))


def _glyph(available: list[faces.Face], name: str | None, text: str | None) -> tuple[faces.Face | None, int] | None:
    for face in available:
        gid = faces.load(face).glyph(name, text)
        if gid is not None:
            return face, gid
    return None


def _is_blank(name: str | None, text: str | None, code: int) -> bool:
    """Whether nothing is to be seen of a code: spaces of all kinds, and codes that a readers shows as nothing."""
    if text is not None:
        return text.isspace() or text in ("\u200b", "\u200c", "\u200d", "\u2060", "\u00ad")
    return name is None and code < 32


def _glyph_name(name: str | None, text: str | None, code: int) -> str:
    if name and name != ".notdef" and name.isascii():
        return name
    if text and len(text) == 1:
        return encodings.name_of_text(text) or (f"uni{ord(text):04X}" if ord(text) < 0x10000 else f"u{ord(text):05X}")
    return f"c{code:03d}" if code > 31 else "space"


def embed_cid(
    name: str,
    descriptor: pikepdf.Object | None,
    available: list[faces.Face],
    wanted: dict[int, tuple[str, float]],
    session: Session,
) -> tuple[str, pikepdf.Object, list[int]] | None:
    """A CID-keyed substitute: `wanted` is CID → (text, advance in 1/1000 em).

    Returns the font name, its new descriptor, and the CIDs no installed font has; None when it has none of them."""
    glyphs: dict[int, Glyph] = {}
    missing: list[int] = []
    for cid, (text, width) in sorted(wanted.items()):
        found = _glyph(available, None, text)
        if found is None and _is_blank("", text, 32):
            found = (None, 0)
        if found is None:
            missing.append(cid)
        else:
            glyphs[cid] = Glyph(found[0], found[1], width)
    if not glyphs:
        return None
    style = style_of(name, descriptor)
    tag = subset_tag(repr((available[0], sorted(glyphs.items()))).encode())
    ps_name = f"{tag}+{available[0].family}"
    program, box = cid_keyed(ps_name, glyphs)
    made = _descriptor(descriptor, ps_name, style, box, session.stream(program, Subtype=Name.CIDFontType0C))
    return ps_name, session.pdf.make_indirect(made), missing
