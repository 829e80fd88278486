"""Composite fonts (Type 0): codes to CIDs to glyphs to Unicode (ISO 32000-1 9.7)."""

from __future__ import annotations

import functools

import pikepdf
from pikepdf import Array, Dictionary, Name

from pdf.fonts import encodings, faces
from pdf.fonts.cff import Cff
from pdf.fonts.cmaps import CMap, Code, collection_of, collection_texts, parse, predefined, resolved, resource
from pdf.fonts.embed import embed_cid, style_of
from pdf.fonts.session import Session
from pdf.fonts.simple import Program, number, plain_name, read_program
from pdf.fonts.truetype import Sfnt
from pdf.fonts.usage import FontUse
from pdf.streams import decoded

#: The predefined CMaps that a file may name without embedding them (ISO 32000-1 table 118).
PREDEFINED = frozenset(
    [
        "Identity-H",
        "Identity-V",
        "GB-EUC-H",
        "GB-EUC-V",
        "GBpc-EUC-H",
        "GBpc-EUC-V",
        "GBK-EUC-H",
        "GBK-EUC-V",
        "GBKp-EUC-H",
        "GBKp-EUC-V",
        "GBK2K-H",
        "GBK2K-V",
        "UniGB-UCS2-H",
        "UniGB-UCS2-V",
        "UniGB-UTF16-H",
        "UniGB-UTF16-V",
        "B5pc-H",
        "B5pc-V",
        "HKscs-B5-H",
        "HKscs-B5-V",
        "ETen-B5-H",
        "ETen-B5-V",
        "ETenms-B5-H",
        "ETenms-B5-V",
        "CNS-EUC-H",
        "CNS-EUC-V",
        "UniCNS-UCS2-H",
        "UniCNS-UCS2-V",
        "UniCNS-UTF16-H",
        "UniCNS-UTF16-V",
        "83pv-RKSJ-H",
        "90ms-RKSJ-H",
        "90ms-RKSJ-V",
        "90msp-RKSJ-H",
        "90msp-RKSJ-V",
        "90pv-RKSJ-H",
        "Add-RKSJ-H",
        "Add-RKSJ-V",
        "EUC-H",
        "EUC-V",
        "Ext-RKSJ-H",
        "Ext-RKSJ-V",
        "H",
        "V",
        "UniJIS-UCS2-H",
        "UniJIS-UCS2-V",
        "UniJIS-UCS2-HW-H",
        "UniJIS-UCS2-HW-V",
        "UniJIS-UTF16-H",
        "UniJIS-UTF16-V",
        "KSC-EUC-H",
        "KSC-EUC-V",
        "KSCms-UHC-H",
        "KSCms-UHC-V",
        "KSCms-UHC-HW-H",
        "KSCms-UHC-HW-V",
        "KSCpc-EUC-H",
        "UniKS-UCS2-H",
        "UniKS-UCS2-V",
        "UniKS-UTF16-H",
        "UniKS-UTF16-V",
    ]
)


class CompositeFont:
    """A Type 0 font as the document uses it."""

    def __init__(self, use: FontUse) -> None:
        self.use = use
        self.font = use.font
        self.name = plain_name(use.name)
        descendants = self.font.get("/DescendantFonts")
        first = descendants[0] if isinstance(descendants, pikepdf.Array) and len(descendants) else None
        self.descendant = first if isinstance(first, pikepdf.Dictionary) else None
        descriptor = self.descendant.get("/FontDescriptor") if self.descendant is not None else None
        self.descriptor = descriptor if isinstance(descriptor, pikepdf.Dictionary) else None
        self._owns = False
        entry = self.font.get("/Encoding")
        self.encoding_name = str(entry)[1:] if isinstance(entry, pikepdf.Name) else None

    @functools.cached_property
    def cmap(self) -> CMap | None:
        """The CMap of the font; None when it is not known."""
        entry = self.font.get("/Encoding")
        if isinstance(entry, pikepdf.Name):
            return predefined(str(entry)[1:])
        if isinstance(entry, pikepdf.Stream):
            cmap = parse(decoded(entry))
            used = entry.get("/UseCMap")
            if isinstance(used, pikepdf.Name):
                cmap.uses = cmap.uses or str(used)[1:]
            return resolved(cmap)
        return None

    def own_descendant(self, session: Session) -> pikepdf.Object | None:
        """The descendant font to change: a copy that no other font shares."""
        if self.descendant is not None and not self._owns:
            copy = session.pdf.make_indirect(Dictionary(dict(self.descendant.items())))
            self.font.DescendantFonts = Array([copy])
            self.descendant = self.font.DescendantFonts[0]
            self._owns = True
        return self.descendant

    def codes_of(self, strings: set[bytes]) -> set[Code]:
        if self.cmap is None:
            return set()
        if all(space[0] == 2 for space in self.cmap.spaces) or not self.cmap.spaces:
            joined = b"".join(s if len(s) % 2 == 0 else s[:-1] for s in strings)
            return {(joined[i] << 8 | joined[i + 1], 2) for i in range(0, len(joined), 2)}
        out: set[Code] = set()
        for text in strings:
            out.update(self.cmap.split(text))
        return out

    @functools.cached_property
    def seen(self) -> set[Code]:
        return self.codes_of(self.use.seen)

    @functools.cached_property
    def codes(self) -> set[Code]:
        return self.seen | self.codes_of(self.use.unseen)

    @functools.cached_property
    def cids(self) -> dict[Code, int]:
        """The CID of each code used; codes without one have CID 0 (ISO 32000-1 9.7.6.3)."""
        if self.cmap is None:
            return {}
        found = self.cmap.cids_of(self.codes)
        return {code: found.get(code, 0) for code in self.codes}

    @functools.cached_property
    def mapped(self) -> dict[int, str]:
        """Code → text as the ToUnicode CMap has it, whatever length its codes are written in."""
        stream = self.font.get("/ToUnicode")
        if not isinstance(stream, pikepdf.Stream):
            return {}
        return {code: text for (code, _), text in parse(decoded(stream)).texts.items()}

    @property
    def ordering(self) -> tuple[str, str]:
        """Registry and ordering of the character collection."""
        info = self.descendant.get("/CIDSystemInfo") if self.descendant is not None else None
        if not isinstance(info, pikepdf.Dictionary):
            return "", ""
        return str(info.get("/Registry", "")), str(info.get("/Ordering", ""))

    @functools.cached_property
    def file(self) -> tuple[str, pikepdf.Object] | None:
        if self.descriptor is not None:
            for key in ("/FontFile2", "/FontFile3", "/FontFile"):
                stream = self.descriptor.get(key)
                if isinstance(stream, pikepdf.Stream):
                    return key, stream
        return None

    @functools.cached_property
    def program(self) -> Program | None:
        return read_program(decoded(self.file[1])) if self.file is not None else None

    @functools.cached_property
    def gid_map(self) -> bytes | None:
        """The CIDToGIDMap where it is a stream."""
        entry = self.descendant.get("/CIDToGIDMap") if self.descendant is not None else None
        return decoded(entry) if isinstance(entry, pikepdf.Stream) else None

    def gid(self, cid: int) -> int | None:
        """The glyph of a CID in the embedded program; None when it has none."""
        program = self.program
        if (
            isinstance(program, Cff)
            and self.descendant is not None
            and self.descendant.get("/Subtype") == Name.CIDFontType0
        ):
            return program.by_cid.get(cid)
        table = self.gid_map
        if table is not None:
            gid = int.from_bytes(table[2 * cid : 2 * cid + 2]) if 2 * cid + 2 <= len(table) else 0
        else:
            gid = cid
        count = (
            program.glyph_count
            if isinstance(program, Sfnt)
            else len(program.charstrings)
            if isinstance(program, Cff)
            else 0
        )
        return gid if gid < count else None

    @functools.cached_property
    def widths(self) -> dict[int, float]:
        """CID → advance in 1/1000 em, from /W (ISO 32000-1 9.7.4.3)."""
        out: dict[int, float] = {}
        listed = self.descendant.get("/W") if self.descendant is not None else None
        items = list(listed) if isinstance(listed, pikepdf.Array) else []
        at = 0
        while at + 1 < len(items):
            first = int(number(items[at]))
            second = items[at + 1]
            if isinstance(second, pikepdf.Array):
                for offset, value in enumerate(second):
                    out[first + offset] = number(value)
                at += 2
            elif at + 2 < len(items):
                last, same = min(int(number(second)), first + 0xFFFF), number(items[at + 2])
                out.update(dict.fromkeys(range(first, last + 1), same))
                at += 3
            else:
                break
        return out

    def width(self, cid: int) -> float:
        default = number(self.descendant.get("/DW"), 1000.0) if self.descendant is not None else 1000.0
        return self.widths.get(cid, default)

    def text(self, code: Code) -> str | None:
        """The Unicode text of a code from the font's own data, ToUnicode left aside."""
        cid = self.cids.get(code, 0)
        registry, ordering = self.ordering
        name = self.encoding_name or ""
        if ordering not in ("Japan1", "GB1", "CNS1", "Korea1", "KR"):
            collection = collection_of(name) if name and not name.startswith("Identity") else None
            if collection is not None:
                registry, ordering = collection[:2]
        if cid and (found := collection_texts(registry, ordering).get(cid)):
            return found if encodings.allowed(found) else None
        if ((name.startswith("Uni") and "-UCS2-" in name) or "-UTF16-" in name) and code[1] in (2, 4):
            text = code[0].to_bytes(code[1]).decode("utf-16-be", "replace")
            if encodings.allowed(text) and "\ufffd" not in text:
                return text
        program = self.program
        gid = self.gid(cid) if program is not None else None
        if not gid:
            return None
        if isinstance(program, Sfnt):
            point = program.characters.get(gid)
            if point is not None and not 0xE000 <= point <= 0xF8FF and encodings.allowed(chr(point)):
                return chr(point)
            return encodings.text_of_name(program.glyph_names.get(gid, ""))
        if isinstance(program, Cff) and not program.is_cid and gid < len(program.names):
            return encodings.text_of_name(program.names[gid])
        return None


def repair_encoding(font: CompositeFont, session: Session) -> None:
    """The rules between a font and its CMap: 7.21.3.1 (same collection), 7.21.3.2 (CIDToGIDMap), 7.21.3.3 (embedded,
    one WMode)."""
    descendant = font.descendant
    if descendant is None:
        session.failed(font.name, "7.21.3.1", "the composite font has no descendant font")
        return
    if descendant.get("/Subtype") == Name.CIDFontType2 and font.file is not None and "/CIDToGIDMap" not in descendant:
        owned = font.own_descendant(session)
        assert owned is not None
        owned.CIDToGIDMap = Name.Identity
        session.changed(font.name, "cid-map", "the identity map from CIDs to glyphs was written down")
    entry = font.font.get("/Encoding")
    if isinstance(entry, pikepdf.Stream):
        _agree_on_wmode(font, entry, session)
        _agree_on_collection(font, _system_info(entry.get("/CIDSystemInfo")), session)
    elif font.encoding_name is not None and not font.encoding_name.startswith("Identity"):
        _agree_on_collection(font, collection_of(font.encoding_name), session)
        if font.encoding_name not in PREDEFINED:
            _embed_cmap(font, font.encoding_name, session)
    elif font.encoding_name is None:
        session.failed(font.name, "7.21.3.3", "the composite font has no encoding")


def _agree_on_wmode(font: CompositeFont, entry: pikepdf.Object, session: Session) -> None:
    inside = font.cmap.wmode if font.cmap is not None else 0
    if int(number(entry.get("/WMode"))) != inside:
        entry["/WMode"] = inside
        session.changed(font.name, "cmap", f"the writing mode {inside} of its CMap was written into the dictionary too")


def _system_info(info: object) -> tuple[str, str, int] | None:
    if not isinstance(info, pikepdf.Dictionary):
        return None
    return str(info.get("/Registry", "")), str(info.get("/Ordering", "")), int(number(info.get("/Supplement")))


def _agree_on_collection(font: CompositeFont, wanted: tuple[str, str, int] | None, session: Session) -> None:
    """Make the CIDFont's CIDSystemInfo that of the CMap: viewers choose glyphs by CID and never read it."""
    if wanted is None or font.descendant is None:
        return
    has = _system_info(font.descendant.get("/CIDSystemInfo"))
    if has is not None and has[:2] == wanted[:2] and has[2] <= wanted[2]:
        return
    owned = font.own_descendant(session)
    assert owned is not None
    owned.CIDSystemInfo = Dictionary(
        Registry=pikepdf.String(wanted[0]), Ordering=pikepdf.String(wanted[1]), Supplement=wanted[2]
    )
    session.changed(font.name, "cmap", f"its character collection was set to that of its CMap, {wanted[1]}")


def _embed_cmap(font: CompositeFont, name: str, session: Session) -> None:
    data, collection = resource(name), collection_of(name)
    if data is None or collection is None or font.cmap is None:
        session.failed(font.name, "7.21.3.3", f"the CMap {name} is not embedded and not known")
        return
    stream = session.stream(data)
    stream.Type, stream.CMapName = Name.CMap, Name("/" + name)
    stream.CIDSystemInfo = Dictionary(
        Registry=pikepdf.String(collection[0]), Ordering=pikepdf.String(collection[1]), Supplement=collection[2]
    )
    stream.WMode = font.cmap.wmode
    if font.cmap.uses:
        stream.UseCMap = Name("/" + font.cmap.uses)
    font.font.Encoding = stream
    session.changed(font.name, "cmap", f"the CMap {name} was embedded")


def embed_composite(font: CompositeFont, session: Session) -> None:
    """Embed a substitute for a composite font that only names one."""
    descendant = font.descendant
    if descendant is None or font.cmap is None:
        session.failed(font.name, "7.21.4.1", "the font is not embedded, and its encoding is not known")
        return
    style = style_of(font.name, font.descriptor)
    ordering = font.ordering[1]
    collection = collection_of(font.encoding_name) if font.encoding_name else None
    if collection is not None and ordering not in ("Japan1", "GB1", "CNS1", "Korea1", "KR"):
        ordering = collection[1]
    if ordering in ("Japan1", "GB1", "CNS1", "Korea1", "KR"):
        available, package = faces.cjk_faces(font.name, ordering, style.bold)
    else:
        available, package = faces.faces_for(style)
    wanted: dict[int, tuple[str, float]] = {}
    lost: list[int] = []
    for code, cid in sorted(font.cids.items()):
        mapped = font.mapped.get(code[0])
        text = mapped if mapped and encodings.allowed(mapped) else font.text(code)
        if text is None:
            lost.append(code[0])
        else:
            wanted[cid] = (text, font.width(cid))
    if not available:
        session.failed(font.name, "7.21.4.1", "the font is not embedded and no substitute is installed", package)
        return
    made = embed_cid(font.name, font.descriptor, available, wanted, session)
    if made is None:
        session.failed(
            font.name, "7.21.4.1", "what the characters of the font are cannot be told, so none can be put in"
        )
        return
    ps_name, descriptor, missing = made
    owned = font.own_descendant(session)
    assert owned is not None
    if lost or missing:
        session.failed(
            font.name, "7.21.4.1", f"no glyph could be put in for {len(lost) + len(missing)} of its characters", package
        )
    owned.Subtype = Name.CIDFontType0
    owned.BaseFont = Name("/" + ps_name)
    owned.FontDescriptor = descriptor
    if "/CIDToGIDMap" in owned:
        del owned["/CIDToGIDMap"]
    if "/W" not in owned and "/DW" not in owned:
        owned.DW = 1000
    encoding = font.encoding_name or "Identity-H"
    font.font.BaseFont = Name(f"/{ps_name}-{encoding}")
    session.changed(
        font.name,
        "embedded",
        f"not embedded; {available[0].family} stands in for it, its glyphs fitted to the widths the file gives",
        visible=bool(font.use.seen),
    )
