"""Unicode values for every code shown (ISO 14289-1 7.21.7): what a font lacks, filled from what can be known of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdf.fonts import encodings, guess
from pdf.fonts.cmaps import Code
from pdf.fonts.composite import CompositeFont
from pdf.fonts.session import Session
from pdf.fonts.simple import SimpleFont
from pdf.fonts.type3 import Type3Font

AnyFont = SimpleFont | CompositeFont | Type3Font
#: The first character of the private use area that drawings get.
_PRIVATE = 0xE000


@dataclass
class Needs:
    """What one font lacks: `found` are the texts its own data gives, `lost` the codes it gives none for."""

    font: AnyFont
    found: dict[Code, str] = field(default_factory=dict)
    lost: list[Code] = field(default_factory=list)
    private: dict[Code, str] = field(default_factory=dict)
    how: set[str] = field(default_factory=set)


def needs_of(font: AnyFont) -> Needs:
    """The codes of a font for which readers have no valid Unicode value, with those its own data gives."""
    needs = Needs(font)
    codes: list[Code] = sorted(font.codes) if isinstance(font, CompositeFont) else [(c, 1) for c in sorted(font.codes)]
    mapped = font.mapped
    waiting = [code for code in codes if not _is_mapped(mapped.get(code[0]))]
    if not waiting:
        return needs
    known, dingbats = encodings.standard_names(), encodings.dingbat_texts()
    for code in waiting:
        if isinstance(font, CompositeFont):
            text = font.text(code)
            if text and code[0] not in mapped and _reader_knows(font):
                continue
        else:
            name = font.names.get(code[0], "")
            if code[0] not in mapped and name in known:
                continue
            text = font.text(code[0])
            if text is None and name in dingbats and "/ToUnicode" not in font.font:
                continue  # readers take it for the dingbat of that name, rightly or not
        if text:
            needs.found[code] = text
        else:
            needs.lost.append(code)
    return needs


def _is_mapped(text: str | None) -> bool:
    return text is not None and (text == "" or encodings.allowed(text))


def _reader_knows(font: CompositeFont) -> bool:
    """Whether a reader finds the text by the predefined CMap and collection alone (ISO 32000-1 9.10.2)."""
    name = font.encoding_name or ""
    return not name.startswith("Identity") and font.ordering[1] in ("Japan1", "GB1", "CNS1", "Korea1")


def complete(all_needs: list[Needs], fonts: list[AnyFont], session: Session) -> None:
    """Find what is lost elsewhere in the document, write the ToUnicode maps, and record what stays unknown."""
    lacking = [needs for needs in all_needs if needs.lost]
    if lacking:
        _from_siblings(lacking, fonts)
        _from_codes(lacking)
        _from_windows(lacking)
        _drawings(lacking)
    for needs in all_needs:
        _write(needs, session)


def _from_siblings(lacking: list[Needs], fonts: list[AnyFont]) -> None:
    """The text of the same outline in another font of the document."""
    wanted: dict[bytes, list[tuple[Needs, Code]]] = {}
    for needs in lacking:
        for code in needs.lost:
            drawn = _outline(needs.font, code)
            if drawn is not None:
                wanted.setdefault(drawn, []).append((needs, code))
    if not wanted:
        return
    for font in fonts:
        if isinstance(font, Type3Font):
            continue
        codes = sorted(font.codes) if isinstance(font, CompositeFont) else [(c, 1) for c in sorted(font.codes)]
        for code in codes:
            text = font.mapped.get(code[0]) or (
                font.text(code) if isinstance(font, CompositeFont) else font.text(code[0])
            )
            if not text or not encodings.allowed(text):
                continue
            for needs, other in wanted.get(_outline(font, code) or b"", ()):
                if other in needs.lost:
                    needs.lost.remove(other)
                    needs.found[other] = text
                    needs.how.add("by the same outline in another font of the document")


def _outline(font: AnyFont, code: Code) -> bytes | None:
    if isinstance(font, CompositeFont):
        return guess.outline(font.program, font.gid(font.cids.get(code, 0)), None)
    if isinstance(font, SimpleFont):
        name = font.names.get(code[0])
        gid = font.glyph_ids.get(code[0])
        if gid is None and name is not None:
            by_name = getattr(font.program, "by_name", None)
            gid = by_name.get(name) if by_name else None
        return guess.outline(font.program, gid, name)
    return None


def _from_codes(lacking: list[Needs]) -> None:
    """Codes that stand for themselves, where all fonts named that way together read as text."""
    groups: dict[tuple[str, type], list[Needs]] = {}
    for needs in lacking:
        if isinstance(needs.font, CompositeFont):
            continue
        if (prefix := _prefix(needs)) is not None:
            groups.setdefault((prefix, type(needs.font)), []).append(needs)
    for members in groups.values():
        strings = {s for needs in members for s in needs.font.use.strings}
        codes = {code for needs in members for code, _ in needs.lost}
        if not guess.reads_as_text(strings) and not guess.are_characters(codes):
            continue
        tex = guess.is_tex(codes)
        for needs in members:
            for code in list(needs.lost):
                text = guess.text_by_code(code[0], tex)
                if text is not None:
                    needs.lost.remove(code)
                    needs.found[code] = text
                    needs.how.add("by its character codes, which are those of text")


def _from_windows(lacking: list[Needs]) -> None:
    """Single codes of TrueType fonts whose other codes all are those of Windows."""
    for needs in lacking:
        font = needs.font
        if not isinstance(font, SimpleFont) or not font.is_truetype or len(font.mapped) < 8:
            continue
        same = sum(text == chr(code) for code, text in font.mapped.items() if code < 127)
        if same < len([code for code in font.mapped if code < 127]) or same < 8:
            continue
        for code in list(needs.lost):
            text = bytes([code[0]]).decode("cp1252", "ignore")
            if text and code[0] > 127:
                needs.lost.remove(code)
                needs.found[code] = text
                needs.how.add("by the Windows code page that its other codes follow")


def _drawings(lacking: list[Needs]) -> None:
    """Glyphs that are no characters get private values, as ISO 14289-1 7.2 allows for what Unicode lacks."""
    count = 0
    long = {prefix for needs in lacking if len(needs.lost) > 4 and (prefix := _prefix(needs)) is not None}
    for needs in lacking:
        font = needs.font
        size = needs.lost[0][1] if needs.lost else 1
        if not needs.lost:
            continue
        codes = {code for code, _ in needs.lost}
        if not guess.is_picture(codes, font.use.strings, size, _prefix(needs) in long):
            continue
        for code in needs.lost:
            needs.private[code] = chr(_PRIVATE + count % 0x1900)
            count += 1
        needs.lost = []


def _prefix(needs: Needs) -> str | None:
    """What stands before the number in the names of all lost glyphs, where their names are their codes."""
    if isinstance(needs.font, CompositeFont):
        return None
    names = needs.font.names
    found = {guess.prefix_of(names.get(code, ""), code) for code, _ in needs.lost}
    return found.pop() if len(found) == 1 else None


def _write(needs: Needs, session: Session) -> None:
    font = needs.font
    if needs.found or needs.private:
        size = 2 if isinstance(font, CompositeFont) else 1
        kept = {
            (code, size): text for code, text in font.mapped.items() if _is_mapped(text) and text and code < 256**size
        }
        session.set_unicode(font.font, kept | needs.found | needs.private)
    if needs.found:
        how = "; ".join(sorted(needs.how)) or "from the font's own data"
        session.changed(font.name, "unicode", f"{len(needs.found)} characters were given their Unicode values, {how}")
    if needs.private:
        session.changed(
            font.name,
            "private",
            f"{len(needs.private)} glyphs that are drawings, as far as their font tells, were given private values",
        )
    if needs.lost:
        listed = ", ".join(_shown(font, code) for code in needs.lost[:6])
        more = f" and {len(needs.lost) - 6} more" if len(needs.lost) > 6 else ""
        session.failed(font.name, "7.21.7", f"no Unicode value can be told for the codes {listed}{more}")


def _shown(font: AnyFont, code: Code) -> str:
    name = None if isinstance(font, CompositeFont) else font.names.get(code[0])
    return f"{code[0]} ({name})" if name else str(code[0])
