"""Free fonts on this machine that may stand in for one that a file does not embed.

The 14 standard fonts and their common aliases have substitutes with the same metrics; for others the nearest family is
taken by name and descriptor flags. What is not installed is named with the Debian package that has it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdf.fonts.cff import Cff
from pdf.fonts.truetype import Sfnt

_ROOTS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"))


@dataclass(frozen=True)
class Face:
    """A font file: `number` in a collection; `family` as a person knows it; `package` in Debian."""

    path: str
    number: int
    family: str
    package: str


@dataclass(frozen=True)
class Style:
    """What a font is to look like. `family`: sans | serif | mono | symbol | dingbats | one of the named families."""

    family: str
    bold: bool
    italic: bool


_URW = "opentype/urw-base35"
#: family → (directory, regular, bold, italic, bold italic, Debian package)
_FAMILIES: dict[str, tuple[str, ...]] = {
    "sans": (_URW, "NimbusSans-Regular.otf", "NimbusSans-Bold.otf", "NimbusSans-Italic.otf",
             "NimbusSans-BoldItalic.otf", "fonts-urw-base35"),
    "serif": (_URW, "NimbusRoman-Regular.otf", "NimbusRoman-Bold.otf", "NimbusRoman-Italic.otf",
              "NimbusRoman-BoldItalic.otf", "fonts-urw-base35"),
    "mono": (_URW, "NimbusMonoPS-Regular.otf", "NimbusMonoPS-Bold.otf", "NimbusMonoPS-Italic.otf",
             "NimbusMonoPS-BoldItalic.otf", "fonts-urw-base35"),
    "narrow": (_URW, "NimbusSansNarrow-Regular.otf", "NimbusSansNarrow-Bold.otf", "NimbusSansNarrow-Oblique.otf",
               "NimbusSansNarrow-BoldOblique.otf", "fonts-urw-base35"),
    "schoolbook": (_URW, "C059-Roman.otf", "C059-Bold.otf", "C059-Italic.otf", "C059-BdIta.otf", "fonts-urw-base35"),
    "palatino": (_URW, "P052-Roman.otf", "P052-Bold.otf", "P052-Italic.otf", "P052-BoldItalic.otf",
                 "fonts-urw-base35"),
    "bookman": (_URW, "URWBookman-Light.otf", "URWBookman-Demi.otf", "URWBookman-LightItalic.otf",
                "URWBookman-DemiItalic.otf", "fonts-urw-base35"),
    "gothic": (_URW, "URWGothic-Book.otf", "URWGothic-Demi.otf", "URWGothic-BookOblique.otf",
               "URWGothic-DemiOblique.otf", "fonts-urw-base35"),
    "chancery": (_URW, *["Z003-MediumItalic.otf"] * 4, "fonts-urw-base35"),
    "symbol": (_URW, *["StandardSymbolsPS.otf"] * 4, "fonts-urw-base35"),
    "dingbats": (_URW, *["D050000L.otf"] * 4, "fonts-urw-base35"),
    "liberation-sans": ("truetype/liberation", "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf",
                        "LiberationSans-Italic.ttf", "LiberationSans-BoldItalic.ttf", "fonts-liberation"),
    "liberation-serif": ("truetype/liberation", "LiberationSerif-Regular.ttf", "LiberationSerif-Bold.ttf",
                         "LiberationSerif-Italic.ttf", "LiberationSerif-BoldItalic.ttf", "fonts-liberation"),
    "liberation-mono": ("truetype/liberation", "LiberationMono-Regular.ttf", "LiberationMono-Bold.ttf",
                        "LiberationMono-Italic.ttf", "LiberationMono-BoldItalic.ttf", "fonts-liberation"),
    "dejavu-sans": ("truetype/dejavu", "DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf",
                    "DejaVuSans-BoldOblique.ttf", "fonts-dejavu-core"),
    "dejavu-serif": ("truetype/dejavu", "DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf", "DejaVuSerif-Italic.ttf",
                     "DejaVuSerif-BoldItalic.ttf", "fonts-dejavu-core"),
    "dejavu-mono": ("truetype/dejavu", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf", "DejaVuSansMono-Oblique.ttf",
                    "DejaVuSansMono-BoldOblique.ttf", "fonts-dejavu-core"),
    "cjk-sans": ("opentype/noto", "NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc", "NotoSansCJK-Regular.ttc",
                 "NotoSansCJK-Bold.ttc", "fonts-noto-cjk"),
    "cjk-serif": ("opentype/noto", "NotoSerifCJK-Regular.ttc", "NotoSerifCJK-Bold.ttc", "NotoSerifCJK-Regular.ttc",
                  "NotoSerifCJK-Bold.ttc", "fonts-noto-cjk"),
}  # fmt: skip

#: Other homes of the same fonts: metric-compatible families may replace each other.
_ALIKE = {
    "sans": ("liberation-sans",),
    "serif": ("liberation-serif",),
    "mono": ("liberation-mono",),
    "narrow": ("sans", "liberation-sans"),
    "schoolbook": ("serif", "liberation-serif"),
    "palatino": ("serif", "liberation-serif"),
    "bookman": ("serif", "liberation-serif"),
    "gothic": ("sans", "liberation-sans"),
    "chancery": ("serif", "liberation-serif"),
    "liberation-sans": ("sans",),
    "liberation-serif": ("serif",),
    "liberation-mono": ("mono",),
}

#: Where a character is looked for that the chosen family lacks.
_FALLBACK = {
    "serif": ("liberation-serif", "dejavu-serif", "dejavu-sans", "symbol", "dingbats", "cjk-serif"),
    "mono": ("liberation-mono", "dejavu-mono", "dejavu-sans", "symbol", "dingbats", "cjk-sans"),
    "sans": ("liberation-sans", "dejavu-sans", "symbol", "dingbats", "cjk-sans"),
}
_SERIFS = frozenset(
    ("serif", "schoolbook", "palatino", "bookman", "chancery", "liberation-serif", "dejavu-serif", "cjk-serif")
)
_MONOS = frozenset(("mono", "liberation-mono", "dejavu-mono"))

#: (pattern over the name in lower case, without spaces and punctuation) → family
_NAMES: tuple[tuple[str, str], ...] = (
    (r"zapfdingbats|itczapfdingbats|dingbats", "dingbats"),
    (r"^symbol", "symbol"),
    (r"couriernew|courier|nimbusmono|letter(gothic)|freemono", "mono"),
    (r"consolas|lucidaconsole|lucidasanstypewriter|andalemono|menlo|monaco|ocr|terminal|dejavusansmono", "mono"),
    (r"liberationmono", "liberation-mono"),
    (r"arialnarrow|helveticanarrow|helveticacondensed|helveticaneue.*cond|arial.*cond", "narrow"),
    (r"liberationsans", "liberation-sans"),
    (r"liberationserif", "liberation-serif"),
    (r"dejavusans|verdana|bitstreamvera", "dejavu-sans"),
    (r"dejavuserif", "dejavu-serif"),
    (r"newcenturyschlbk|centuryschoolbook|century(?!gothic)", "schoolbook"),
    (r"palatino|bookantiqua|palladio", "palatino"),
    (r"bookman", "bookman"),
    (r"avantgarde|centurygothic|futura", "gothic"),
    (r"zapfchancery|chancery|corsiva", "chancery"),
    (r"times|timesnewroman|nimbusrom|georgia|garamond|cambria|minion|caslon|baskerville|roman|serif(?!a)|bodoni"
     r"|goudy|utopia|charter|sabon|bembo|cmr\d|cmbx|cmti", "serif"),
    (r"arial|helvetica|calibri|tahoma|trebuchet|segoe|univers|frutiger|myriad|opensans|roboto|lato|sans|gillsans"
     r"|verdana|geneva|swiss|franklin|ubuntu", "sans"),
)  # fmt: skip

_CJK_SERIF = re.compile(r"ming|song|sung|mincho|batang|myungjo|myeongjo|serif|kai|fang|gungsuh")
_CJK_NUMBERS = {"Japan1": 0, "Korea1": 1, "KR": 1, "GB1": 2, "CNS1": 3}

_FIXED, _SERIF, _ITALIC, _FORCE_BOLD = 1, 2, 64, 1 << 18


def style_of(name: str, flags: int, stem: float, angle: float, weight: float) -> Style:
    """The style that a font's name and descriptor ask for (ISO 32000-1 9.8)."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    bold = bool(re.search(r"bold|black|heavy|demi|semibd|bd(?:it|mt|$)", plain)) or bool(flags & _FORCE_BOLD)
    bold = bold or weight >= 600 or stem >= 130
    italic = bool(re.search(r"ital|obli|kursiv|slant|(?<=bd|rg|lt)it$", plain)) or bool(flags & _ITALIC) or angle != 0
    for pattern, family in _NAMES:
        if re.search(pattern, plain):
            return Style(family, bold, italic)
    family = "mono" if flags & _FIXED else "serif" if flags & _SERIF else "sans"
    return Style(family, bold, italic)


def faces_for(style: Style) -> tuple[list[Face], str]:
    """The installed faces for a style, the best first, then those that only fill in single characters; and the
    Debian package of the family itself, whether installed or not."""
    families = [style.family, *_ALIKE.get(style.family, ())]
    kind = "serif" if style.family in _SERIFS else "mono" if style.family in _MONOS else "sans"
    for family in _FALLBACK[kind]:
        if family not in families:
            families.append(family)
    faces = [face for family in families if (face := _face(family, style.bold, style.italic, 0)) is not None]
    return faces, _FAMILIES[style.family][5]


def cjk_faces(name: str, ordering: str, bold: bool) -> tuple[list[Face], str]:
    """The installed faces for a CJK font of one of Adobe's collections."""
    family = "cjk-serif" if _CJK_SERIF.search(name.lower()) else "cjk-sans"
    number = _CJK_NUMBERS.get(ordering, 0)
    listed = (_face(family, bold, False, number), _face("cjk-sans", bold, False, number))
    faces = list(dict.fromkeys(face for face in listed if face is not None))
    for other in ("dejavu-sans", "symbol"):
        face = _face(other, bold, False, 0)
        if face is not None:
            faces.append(face)
    return faces if any(f.package == "fonts-noto-cjk" for f in faces) else [], "fonts-noto-cjk"


def is_metric_compatible(style: Style, name: str) -> bool:
    """Whether the substitute has the metrics of the font that is asked for."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return bool(
        re.match(r"(helvetica|arial|times|timesnewroman|courier|couriernew|symbol|zapfdingbats|liberation)", plain)
    ) and style.family not in ("gothic",)


@functools.cache
def _face(family: str, bold: bool, italic: bool, number: int) -> Face | None:
    directory, *files, package = _FAMILIES[family]
    name = files[(1 if bold else 0) + (2 if italic else 0)]
    for root in _ROOTS:
        path = root / directory / name
        if path.exists():
            return Face(str(path), number, name.rsplit(".", 1)[0], package)
    found = _by_name().get(name)
    return Face(found, number, name.rsplit(".", 1)[0], package) if found else None


@functools.cache
def _by_name() -> dict[str, str]:
    """Font files anywhere below the font directories, for systems that lay them out in another way."""
    table: dict[str, str] = {}
    for root in _ROOTS:
        if root.is_dir():
            for path in sorted(root.rglob("*")):
                if path.suffix in (".otf", ".ttf", ".ttc"):
                    table.setdefault(path.name, str(path))
    return table


class Loaded:
    """An opened face: its glyphs by name and by character. Outlines by fontTools only where they must be redrawn."""

    def __init__(self, face: Face) -> None:
        self.face = face
        self.sfnt = Sfnt(Path(face.path).read_bytes(), face.number)
        self.units = self.sfnt.units
        cff = self.sfnt.table(b"CFF ") if face.package != "fonts-noto-cjk" else b""
        #: for copying charstrings as they are; None where outlines are TrueType's or the font is CID-keyed
        self.cff = Cff(cff) if cff else None

    @functools.cached_property
    def drawn(self) -> Any:
        """fontTools' set of glyphs that can be drawn."""
        from fontTools.ttLib import TTFont

        return TTFont(self.face.path, fontNumber=self.face.number, lazy=True)

    @functools.cached_property
    def outlines(self) -> Any:
        return self.drawn.getGlyphSet()

    @functools.cached_property
    def order(self) -> list[str]:
        return list(self.drawn.getGlyphOrder())

    def prepare(self) -> None:
        """Read now what lookups need."""
        if self.cff is not None:
            self.cff.by_name.get("a")
        self.sfnt.unicode.get(97)

    def advance(self, gid: int) -> float:
        """The advance of a glyph in 1/1000 em."""
        return self.sfnt.width(gid) or 0.0

    def glyph(self, name: str | None, text: str | None) -> int | None:
        """The glyph for a glyph name (where the face's names are Adobe's), else for a character."""
        if name and self.cff is not None and name != ".notdef":
            found = self.cff.by_name.get(name)
            if found is not None:
                return found
        if text and len(text) == 1:
            characters = self.sfnt.unicode
            return characters.get(ord(text)) or characters.get(_NEAR.get(ord(text), -1))
        return None


#: Characters that look the same and may stand for each other when a face has only one of them.
_NEAR = {
    0x00A0: 0x20, 0x00AD: 0x2D, 0x2010: 0x2D, 0x2011: 0x2D, 0x2126: 0x3A9, 0x3A9: 0x2126, 0x2206: 0x394,
    0x394: 0x2206, 0xB5: 0x3BC, 0x3BC: 0xB5, 0x2215: 0x2F, 0x2219: 0xB7, 0x22C5: 0xB7, 0x2002: 0x20, 0x2003: 0x20,
    0x2009: 0x20, 0x200A: 0x20, 0x202F: 0x20, 0x3000: 0x20, 0x02C9: 0xAF, 0x2212: 0x2D, 0x2217: 0x2A, 0x2223: 0x7C,
}  # fmt: skip


@functools.lru_cache(maxsize=16)
def load(face: Face) -> Loaded:
    """Open a face; opened faces are kept, since the fonts of a document tend to ask for the same."""
    return Loaded(face)
