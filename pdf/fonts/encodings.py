"""Character codes, glyph names and Unicode (ISO 32000-1 annex D, the Adobe Glyph List).

Nothing here depends on a document. The tables are built at first use: most documents need none of them.
"""

from __future__ import annotations

import functools
import re
import unicodedata

#: Names that fonts use and the Adobe Glyph List lacks: TeX's mathematics, old PostScript variants.
_MORE_NAMES = {
    "registerserif": "\u00ae", "copyrightserif": "\u00a9", "trademarkserif": "\u2122", "registersans": "\u00ae",
    "copyrightsans": "\u00a9", "trademarksans": "\u2122", "radicalex": "\u203e", "arrowhorizex": "\u23af",
    "integralex": "\u23ae", "integraltp": "\u2320", "integralbt": "\u2321", "intercal": "\u22ba",
    "nbspace": "\u00a0", "sfthyphen": "\u00ad", "dotlessj": "\u0237", "Dbar": "\u0110", "ffsl": "ff",
    "negationslash": "\u0338", "mapsto": "\u21a6", "mapsfrom": "\u21a4", "visiblespace": "\u2423",
    "suppress": "\u0337", "asteriskmath": "\u2217", "periodcentered": "\u00b7", "diamondmath": "\u22c4",
    "openbullet": "\u25e6", "latticetop": "\u22a4", "perpendicular": "\u22a5", "floorleft": "\u230a",
    "floorright": "\u230b", "ceilingleft": "\u2308", "ceilingright": "\u2309", "angbracketleft": "\u27e8",
    "angbracketright": "\u27e9", "backslash": "\\", "bardbl": "\u2016", "wreathproduct": "\u2240",
    "coproduct": "\u2210", "unionsq": "\u2294", "intersectionsq": "\u2293", "subsetsqequal": "\u2291",
    "supersetsqequal": "\u2292", "equivasymptotic": "\u224d", "reflexsubset": "\u2286", "reflexsuperset": "\u2287",
    "lessmuch": "\u226a", "greatermuch": "\u226b", "precedes": "\u227a", "follows": "\u227b", "similarequal": "\u2243",
    "lscript": "\u2113", "flat": "\u266d", "natural": "\u266e", "sharp": "\u266f", "slurbelow": "\u2323",
    "slurabove": "\u2322", "triangleright": "\u25b7", "triangleleft": "\u25c1", "star": "\u22c6",
    "epsilon1": "\u03f5", "rho1": "\u03f1", "sigma1": "\u03c2", "theta1": "\u03d1", "phi1": "\u03d5",
    "omega1": "\u03d6", "pi1": "\u03d6", "partialdiff": "\u2202", "weierstrass": "\u2118", "vector": "\u20d7",
    "tie": "\u0361", "psi": "\u03c8", "harpoonleftup": "\u21bc", "harpoonleftdown": "\u21bd",
    "harpoonrightup": "\u21c0", "harpoonrightdown": "\u21c1", "arrowhookleft": "\u21aa", "arrowhookright": "\u21a9",
    "arrownortheast": "\u2197", "arrowsoutheast": "\u2198", "arrownorthwest": "\u2196", "arrowsouthwest": "\u2199",
    "arrowbothv": "\u2195", "arrowdblbothv": "\u21d5", "prime": "\u2032", "nabla": "\u2207", "owner": "\u220b",
    "element": "\u2208", "universal": "\u2200", "existential": "\u2203", "logicalnot": "\u00ac",
    "turnstileleft": "\u22a2", "turnstileright": "\u22a3", "circleplus": "\u2295", "circleminus": "\u2296",
    "circlemultiply": "\u2297", "circledivide": "\u2298", "circledot": "\u2299", "circlecopyrt": "\u00a9",
    "equal": "=", "integral": "\u222b", "contintegraltext": "\u222e", "contintegraldisplay": "\u222e",
    "summationtext": "\u2211", "summationdisplay": "\u2211", "producttext": "\u220f", "productdisplay": "\u220f",
    "integraltext": "\u222b", "integraldisplay": "\u222b", "uniontext": "\u22c3", "uniondisplay": "\u22c3",
    "intersectiontext": "\u22c2", "intersectiondisplay": "\u22c2", "coproducttext": "\u2210",
    "coproductdisplay": "\u2210", "unionmultitext": "\u2a04", "unionmultidisplay": "\u2a04",
    "unionsqtext": "\u2a06", "unionsqdisplay": "\u2a06", "logicalandtext": "\u22c0", "logicalanddisplay": "\u22c0",
    "logicalortext": "\u22c1", "logicalordisplay": "\u22c1", "circleplustext": "\u2a01",
    "circleplusdisplay": "\u2a01", "circlemultiplytext": "\u2a02", "circlemultiplydisplay": "\u2a02",
    "circledottext": "\u2a00", "circledotdisplay": "\u2a00", "hatwide": "\u0302", "hatwider": "\u0302",
    "hatwidest": "\u0302", "tildewide": "\u0303", "tildewider": "\u0303", "tildewidest": "\u0303",
    "bracketlefttp": "\u23a1", "bracketleftex": "\u23a2", "bracketleftbt": "\u23a3", "bracketrighttp": "\u23a4",
    "bracketrightex": "\u23a5", "bracketrightbt": "\u23a6", "parenlefttp": "\u239b", "parenleftex": "\u239c",
    "parenleftbt": "\u239d", "parenrighttp": "\u239e", "parenrightex": "\u239f", "parenrightbt": "\u23a0",
    "bracelefttp": "\u23a7", "braceleftmid": "\u23a8", "braceleftbt": "\u23a9", "braceex": "\u23aa",
    "bracerighttp": "\u23ab", "bracerightmid": "\u23ac", "bracerightbt": "\u23ad", "arrowvertex": "\u23d0",
    "radicalbt": "\u23b7", "radicalvertex": "\u20d3", "radicaltp": "\u250c", "vextendsingle": "\u2223",
    "vextenddouble": "\u2225", "rangedash": "\u2013", "punctdash": "\u2014", "longst": "\u017f",
    "hyphenchar": "-", "cwm": "\u200b", "zeroinferior": "\u2080", "perthousandzero": "\u2080",
    "f_f": "ff", "f_f_i": "ffi", "f_f_l": "ffl", "f_i": "fi", "f_l": "fl", "f_j": "fj", "t_t": "tt", "T_h": "Th",
    "mu1": "\u00b5", "onehalf": "\u00bd", "threequartersemdash": "\u2014", "apple": "\uf8ff",
    "square4": "\u25a1", "square5": "\u25a1", "square6": "\u25a1", "square": "\u25a1", "squaresolid": "\u25a0",
    "trianglesolid": "\u25b2", "checkmark": "\u2713", "maltesecross": "\u2720", "yen": "\u00a5",
    "lessorequalslant": "\u2a7d", "greaterorequalslant": "\u2a7e", "defines": "\u225c", "epsiloninv": "\u03f6",
    "kappa1": "\u03f0", "digamma": "\u03dd", "beth": "\u2136", "gimel": "\u2137", "daleth": "\u2138",
    "planckover2pi": "\u210f", "planckover2pi1": "\u210f", "Finv": "\u2132", "therefore": "\u2234",
    "because": "\u2235", "proportional": "\u221d", "squareimage": "\u228f", "squareoriginal": "\u2290",
}  # fmt: skip

_VARIANT = re.compile(
    r"\.(?:alt|sc|smcp|c2sc|oldstyle|osf|onum|lf|lnum|tnum|pnum|taboldstyle|fitted|swash|sup|inf|ss\d\d|init|medi|fina|isol|liga|dlig|case|\d+|[a-z]{1,4}\d*)$"
)
_UNI = re.compile(r"^(?:uni|UNI)((?:[0-9A-Fa-f]{4})+)$")
_U = re.compile(r"^[uU]\+?([0-9A-Fa-f]{4,6})$")
#: TeX's delimiters in their sizes: parenleftbigg, radicalBig …
_SIZED = re.compile(r"^([a-z]+?)(?:big|Big|bigg|Bigg)$")
_TRAILING = re.compile(r"^([A-Za-z]+?)(?:small|oldstyle|superior|inferior)$")
#: U+0000, U+FEFF and U+FFFE are no characters for ISO 14289-1 7.21.7; lone surrogates are none for anybody.
_FORBIDDEN = re.compile("[\x00\ufeff\ufffe\uffff\ud800-\udfff]")


def allowed(text: str | None) -> bool:
    """Whether a Unicode value may stand in a ToUnicode map (ISO 14289-1 7.21.7)."""
    return bool(text) and _FORBIDDEN.search(text or "") is None


@functools.cache
def glyph_list() -> dict[str, str]:
    """Glyph name → Unicode text: the Adobe Glyph List as fontTools carries it."""
    from fontTools.agl import AGL2UV, LEGACY_AGL2UV

    table = {name: _joined(value) for name, value in LEGACY_AGL2UV.items()}
    table.update({name: _joined(value) for name, value in AGL2UV.items()})
    return table


def _joined(value: int | tuple[int, ...]) -> str:
    return chr(value) if isinstance(value, int) else "".join(map(chr, value))


@functools.cache
def standard_names() -> frozenset[str]:
    """The glyph names for which readers need no ToUnicode map (the Adobe Glyph List)."""
    return frozenset(glyph_list())


@functools.cache
def text_of_name(name: str) -> str | None:
    """The Unicode text of a glyph name: the list, `uniXXXX`, `uXXXXX`, ligatures joined by `_`, variants after a dot
    (the algorithm of the Adobe Glyph List Specification, and names that TeX's fonts use)."""
    if name in (".notdef", ""):
        return None
    table = glyph_list()
    found = _MORE_NAMES.get(name) or table.get(name)
    if found:
        return found
    if (match := _UNI.match(name)) is not None:
        text = bytes.fromhex(match[1]).decode("utf-16-be", "replace")
        return text if allowed(text) and "\ufffd" not in text else None
    if (match := _U.match(name)) is not None:
        value = int(match[1], 16)
        return chr(value) if value < 0x110000 and allowed(chr(value)) else None
    if "_" in name and not name.startswith("_"):
        parts = [text_of_name(part) for part in name.split(".")[0].split("_") if part]
        if parts and all(parts):
            return "".join(part or "" for part in parts)
    if (match := _VARIANT.search(name)) is not None and match.start() > 0:
        return text_of_name(name[: match.start()])
    if (match := _SIZED.match(name)) is not None:
        return text_of_name(match[1])
    if (match := _TRAILING.match(name)) is not None and len(match[1]) >= 1:
        base = text_of_name(match[1]) or text_of_name(match[1].lower())
        if base:
            return base.lower() if name.endswith("small") else base
    return None


@functools.cache
def name_of_text(char: str) -> str | None:
    """The glyph name that the Adobe Glyph List for New Fonts gives a character."""
    from fontTools.agl import UV2AGL

    return UV2AGL.get(ord(char)) if len(char) == 1 else None


@functools.cache
def standard() -> dict[int, str]:
    """StandardEncoding: code → glyph name."""
    from fontTools.encodings.StandardEncoding import StandardEncoding

    return {code: name for code, name in enumerate(StandardEncoding) if name != ".notdef"}


_SUPERIORS = {"\u00b9": "onesuperior", "\u00b2": "twosuperior", "\u00b3": "threesuperior"}


@functools.cache
def win_ansi() -> dict[int, str]:
    """WinAnsiEncoding: code → glyph name. Codes above 0o40 that cp1252 lacks are bullets (ISO 32000-1 annex D.2)."""
    table: dict[int, str] = {}
    for code in range(32, 256):
        try:
            char = bytes([code]).decode("cp1252")
        except UnicodeDecodeError:
            char = "\u2022"
        table[code] = name_of_text(char) or _SUPERIORS.get(char, "bullet")
    table |= {127: "bullet", 160: "space", 173: "hyphen", 39: "quotesingle", 96: "grave", 181: "mu"}
    table[183] = "periodcentered"
    return table


@functools.cache
def mac_roman() -> dict[int, str]:
    """MacRomanEncoding: code → glyph name, with the mathematics of Apple's own encoding."""
    table = {}
    for code in range(32, 256):
        char = bytes([code]).decode("mac_roman")
        name = name_of_text(char)
        if name and code != 127:
            table[code] = name
    table |= {202: "space", 219: "currency", 222: "fi", 223: "fl", 181: "mu", 189: "Omega", 198: "Delta", 240: "apple"}
    return table


@functools.cache
def symbol() -> dict[int, str]:
    """The built-in encoding of Symbol."""
    return _table(_SYMBOL)


@functools.cache
def dingbats() -> dict[int, str]:
    """The built-in encoding of ZapfDingbats."""
    return _table(_DINGBATS)


@functools.cache
def wingdings() -> dict[int, str]:
    """Wingdings, as far as its glyphs are characters that other fonts have: code → glyph name (`uniXXXX`)."""
    pairs = (pair.split("=") for pair in _WINGDINGS.split())
    return {int(code, 16): f"uni{text}" for code, text in pairs}


def _table(text: str) -> dict[int, str]:
    table = {}
    code = 0
    for word in text.split():
        if word.isdigit():
            code = int(word)
        else:
            table[code] = word
            code += 1
    return table


def named(name: str) -> dict[int, str] | None:
    """A predefined encoding by its PDF name, with or without the slash."""
    makers = {
        "WinAnsiEncoding": win_ansi,
        "MacRomanEncoding": mac_roman,
        "StandardEncoding": standard,
    }
    maker = makers.get(name.lstrip("/"))
    return maker() if maker else None


@functools.cache
def dingbat_texts() -> dict[str, str]:
    """ZapfDingbats glyph name → Unicode text."""
    table = {}
    code = 0
    for word in _DINGBAT_TEXTS.split():
        name, _, value = word.partition("=")
        code = int(value, 16) if value else code + 1
        table[name] = chr(code)
    return table


def simplified(text: str) -> str:
    """Compatibility forms (ligatures, full width) as the characters they stand for."""
    return unicodedata.normalize("NFKC", text)


_WINGDINGS = """20=0020 22=2702 23=2701 28=260E 29=2706 2A=2709 36=231B 37=2328 3E=2707 3F=270D 41=270C 45=261C 46=261E
47=261D 48=261F 4A=263A 4C=2639 4E=2620 4F=2690 51=2708 52=263C 53=25CF 54=2744 56=271E 58=2720 59=2721 5A=262A 5B=262F
6C=25CF 6D=274D 6E=25A0 6F=25A1 70=25A1 71=2751 72=2752 73=2B27 74=29EB 75=25C6 76=2756 77=2B25 78=2327 79=2353 7A=2318
7D=275D 7E=275E 80=24EA 81=2460 82=2461 83=2462 84=2463 85=2464 86=2465 87=2466 88=2467 89=2468 8A=2469 8C=2776 8D=2777
8E=2778 8F=2779 90=277A 91=277B 92=277C 93=277D 94=277E 95=277F 9E=00B7 9F=2022 A0=25AA A1=25CB A4=25C9 A5=25CE A7=25AA
A8=25FB AA=2726 AB=2605 AC=2736 AD=2734 AE=2739 AF=2735 D5=232B D6=2326 D8=27A2 DC=27B2 DF=2190 E0=2192 E1=2191 E2=2193
E3=2196 E4=2197 E5=2199 E6=2198 E8=2794 EF=21E6 F0=21E8 F1=21E7 F2=21E9 F3=2B04 F4=21F3 FB=2717 FC=2713 FD=2612
FE=2611"""

_SYMBOL = """32 space exclam universal numbersign existential percent ampersand suchthat parenleft parenright
asteriskmath plus comma minus period slash zero one two three four five six seven eight nine colon semicolon less
equal greater question congruent Alpha Beta Chi Delta Epsilon Phi Gamma Eta Iota theta1 Kappa Lambda Mu Nu Omicron Pi
Theta Rho Sigma Tau Upsilon sigma1 Omega Xi Psi Zeta bracketleft therefore bracketright perpendicular underscore
radicalex alpha beta chi delta epsilon phi gamma eta iota phi1 kappa lambda mu nu omicron pi theta rho sigma tau
upsilon omega1 omega xi psi zeta braceleft bar braceright similar 160 Euro Upsilon1 minute lessequal fraction infinity
florin club diamond heart spade arrowboth arrowleft arrowup arrowright arrowdown degree plusminus second greaterequal
multiply proportional partialdiff bullet divide notequal equivalence approxequal ellipsis arrowvertex arrowhorizex
carriagereturn aleph Ifraktur Rfraktur weierstrass circlemultiply circleplus emptyset intersection union
propersuperset reflexsuperset notsubset propersubset reflexsubset element notelement angle gradient registerserif
copyrightserif trademarkserif product radical dotmath logicalnot logicaland logicalor arrowdblboth arrowdblleft
arrowdblup arrowdblright arrowdbldown lozenge angleleft registersans copyrightsans trademarksans summation parenlefttp
parenleftex parenleftbt bracketlefttp bracketleftex bracketleftbt bracelefttp braceleftmid braceleftbt braceex 241
angleright integral integraltp integralex integralbt parenrighttp parenrightex parenrightbt bracketrighttp
bracketrightex bracketrightbt bracerighttp bracerightmid bracerightbt"""

_DINGBATS = """32 space a1 a2 a202 a3 a4 a5 a119 a118 a117 a11 a12 a13 a14 a15 a16 a105 a17 a18 a19 a20 a21 a22 a23 a24
a25 a26 a27 a28 a6 a7 a8 a9 a10 a29 a30 a31 a32 a33 a34 a35 a36 a37 a38 a39 a40 a41 a42 a43 a44 a45 a46 a47 a48 a49 a50
a51 a52 a53 a54 a55 a56 a57 a58 a59 a60 a61 a62 a63 a64 a65 a66 a67 a68 a69 a70 a71 a72 a73 a74 a203 a75 a204 a76 a77
a78 a79 a81 a82 a83 a84 a97 a98 a99 a100 128 a89 a90 a93 a94 a91 a92 a205 a85 a206 a86 a87 a88 a95 a96 161 a101 a102
a103 a104 a106 a107 a108 a112 a111 a110 a109 a120 a121 a122 a123 a124 a125 a126 a127 a128 a129 a130 a131 a132 a133 a134
a135 a136 a137 a138 a139 a140 a141 a142 a143 a144 a145 a146 a147 a148 a149 a150 a151 a152 a153 a154 a155 a156 a157 a158
a159 a160 a161 a163 a164 a196 a165 a192 a166 a167 a168 a169 a170 a171 a172 a173 a162 a174 a175 a176 a177 a178 a179 a193
a180 a199 a181 a200 a182 241 a201 a183 a184 a197 a185 a194 a198 a186 a195 a187 a188 a189 a190 a191"""

_DINGBAT_TEXTS = """space=20 a1=2701 a2 a202 a3 a4=260e a5=2706 a119 a118 a117 a11=261b a12=261e a13=270c a14 a15 a16
a105=2710 a17 a18 a19 a20 a21 a22 a23 a24 a25 a26 a27 a28 a6 a7 a8 a9 a10 a29 a30 a31 a32 a33 a34 a35=2605 a36=2729 a37
a38 a39 a40 a41 a42 a43 a44 a45 a46 a47 a48 a49 a50 a51 a52 a53 a54 a55 a56 a57 a58 a59 a60 a61 a62 a63 a64 a65 a66 a67
a68 a69 a70 a71=25cf a72=274d a73=25a0 a74=274f a203 a75 a204 a76=25b2 a77=25bc a78=25c6 a79=2756 a81=25d7 a82=2758 a83
a84 a97=275b a98 a99 a100 a89=2768 a90 a93 a94 a91 a92 a205 a85 a206 a86 a87 a88 a95 a96 a101=2761 a102 a103 a104 a106
a107 a108 a112=2663 a111=2666 a110=2665 a109=2660 a120=2460 a121 a122 a123 a124 a125 a126 a127 a128 a129 a130=2776 a131
a132 a133 a134 a135 a136 a137 a138 a139 a140=2780 a141 a142 a143 a144 a145 a146 a147 a148 a149 a150=278a a151 a152 a153
a154 a155 a156 a157 a158 a159 a160=2794 a161=2192 a163=2194 a164 a196=2798 a165 a192 a166 a167 a168 a169 a170 a171 a172
a173 a162 a174 a175 a176 a177 a178 a179 a193 a180 a199 a181 a200 a182 a201=27b1 a183 a184 a197 a185 a194 a198 a186 a195
a187 a188 a189 a190 a191"""
