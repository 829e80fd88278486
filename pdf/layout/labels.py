"""What stands before a list item, a numbered heading or a note: bullets, numbers, letters, Roman numerals."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Signs that are bullets wherever a line begins with one; U+F0xx are the symbol fonts' own codes.
BULLETS = (
    "•●○◦▪▫■□◆◇❖➢➤►▶▸▹‣⁃∙·✓✔✗✘☐☑☒★☆➔→⇒❏❑❒⚫⬤◾◼♦\u25fe\u2219"
    "\uf0b7\uf0a7\uf0d8\uf0fc\uf076\uf0a8\uf06f\uf0e0\uf02d\uf0be"
)
#: Signs that are bullets only when a space or a tab follows.
DASHES = "-–—−*+o§¡Øø¨"

#: Of these, signs that also stand in drawings and formulas: a space must follow.
LOOSE = "○◦□◆◇·∙→⇒☆★✓✔✗✘"
_BULLET = re.compile(
    rf"^([{re.escape(''.join(c for c in BULLETS if c not in LOOSE and c < chr(0xE000)))}]"
    rf"|[{re.escape(LOOSE)}\ue000-\uf8ff](?=\s|$))"
)
_DASH = re.compile(rf"^([{re.escape(DASHES)}])(?=\s+\S\S|\s+\d|$)")
_NUMBER = re.compile(
    r"^(?:(?P<deep>(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})+\.?)(?=\s|$)"
    r"|(?P<dec>\(?\d{1,3}[.)]|\d{1,3}\.\)|\d{1,2} \.(?= )|\[\d{1,3}\])(?=\s|$|[^\W\d])"
    r"|(?P<rom>\(?[ivxl]{1,6}[.)]|\(?[IVXL]{1,6}[.)])(?=\s|$)"
    r"|(?P<low>\(?[a-z][.)])(?=\s|$)"
    r"|(?P<up>\(?[A-Z][.)])(?=\s|$))"
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}


@dataclass(frozen=True)
class Label:
    """A label's text, its kind (bullet, dash, decimal, lower, upper, roman, Roman, deep), its value (0 for bullets)."""

    text: str
    kind: str
    value: int = 0
    #: what surrounds the number, so that "1." and "(1)" are two series
    form: str = ""


def find(text: str) -> Label | None:
    """The label a text begins with, or None. "i." is Roman only if the series says so (see `value_as`)."""
    if not text:
        return None
    found = _BULLET.match(text)
    if found:
        return Label(found[1], "bullet", 0, found[1])
    found = _DASH.match(text)
    if found:
        return Label(found[1], "dash", 0, found[1])
    found = _NUMBER.match(text)
    if not found:
        return None
    label = found[0]
    kind = found.lastgroup
    core = label.strip("()[].")
    form = label.replace(core, "#")
    if kind == "deep":
        parts = core.split(".")
        last = parts[-1]
        return Label(label, "deep", int(last) if last.isdigit() else 0, ".".join(parts[:-1]) + ".#")
    if kind == "dec":
        return Label(label, "decimal", int(core), form)
    if kind == "rom":
        if len(core) == 1 and core.lower() in "l":
            return Label(label, "lower" if core.islower() else "upper", ord(core.lower()) - 96, form)
        return Label(label, "roman" if core.islower() else "Roman", roman(core.lower()), form)
    return Label(label, "lower" if core.islower() else "upper", ord(core.lower()) - 96, form)


def roman(text: str) -> int:
    """The value of a Roman numeral in small letters."""
    total = 0
    for i, char in enumerate(text):
        value = _ROMAN.get(char, 0)
        total += -value if i + 1 < len(text) and _ROMAN.get(text[i + 1], 0) > value else value
    return total


def letter(label: Label) -> int:
    """The value of a label read as a letter: "i." is also the ninth letter."""
    core = label.text.strip("()[].").lower()
    return ord(core) - 96 if len(core) == 1 and "a" <= core <= "z" else 0


def follows(before: Label, after: Label) -> bool:
    """Whether `after` is the next label of the series of `before`."""
    if before.kind in ("bullet", "dash"):
        return after.kind == before.kind and after.form == before.form
    if before.form != after.form:
        return False
    if before.kind == after.kind and after.value == before.value + 1:
        return True
    upper = before.text.isupper() == after.text.isupper()
    return upper and letter(before) > 0 and letter(after) == letter(before) + 1


NUMBERING = {
    "decimal": "Decimal",
    "deep": "Decimal",
    "lower": "LowerAlpha",
    "upper": "UpperAlpha",
    "roman": "LowerRoman",
    "Roman": "UpperRoman",
    "dash": "Disc",
}


def numbering(label: Label) -> str:
    """The ListNumbering attribute (ISO 32000-1 14.8.5.5) that says what the labels are."""
    if label.kind == "bullet":
        return {"○": "Circle", "◦": "Circle", "■": "Square", "▪": "Square", "□": "Square"}.get(label.text, "Disc")
    return NUMBERING.get(label.kind, "None")
