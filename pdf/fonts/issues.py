"""What mending simple and composite font programs have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

import pikepdf
from pikepdf import Dictionary

from pdf.fonts.composite import CompositeFont
from pdf.fonts.session import Session
from pdf.fonts.simple import SimpleFont

#: Widths may differ by one thousandth of an em (7.21.5).
TOLERANCE = 1.0


@dataclass
class Issues:
    """What is wrong with an embedded program: glyphs with another advance (glyph index or name → the file's), codes
    without a glyph."""

    widths: dict[int, float] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)


def replace(font: SimpleFont | CompositeFont, data: bytes, session: Session) -> None:
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


def differs(own: float | None, wanted: float | None) -> bool:
    return own is not None and wanted is not None and abs(own - wanted) > TOLERANCE


def record(name: str, issues: Issues, added: int, moved: bool, session: Session, *, visible: bool = False) -> None:
    if issues.widths:
        session.changed(name, "widths", f"{len(issues.widths)} glyphs got the advance that the file lays them out with")
    if added and not moved:
        how = "; spaces that showed as boxes are blank now" if visible else ", as they look"
        session.changed(
            name, "program", f"{added} glyphs that are shown were added to its program{how}", visible=visible
        )
    if moved:
        session.changed(name, "notdef", f"{added} codes shown as .notdef got glyphs of their own that look the same")
