"""Captions: "Figure 3: …", "Table 2 …" beside the picture or the table they describe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pdf.layout.model import Block

_FIGURE = (
    r"fig(?:ure|\.|s\.)?|figuur|afbeelding|abb(?:ildung|\.)?|bild|figura|figuras|image|photo|foto|chart|graph|exhibit|scheme|plate|"
    r"illustration|obr(?:ázek|\.)|rysunek|рис(?:унок|\.)?|kuva|figur|diagram|map|box"
)
_TABLE = r"tab(?:le|elle|ela|la|leau|\.)?|tabel|tabell|tabulka|tabela|taulukko|табл(?:ица|\.)?"
_CAPTION = re.compile(
    rf"^(?:(?P<figure>{_FIGURE})|(?P<table>{_TABLE}))\s*(?:[A-Z]{{0,2}}[-.]?\d+(?:[.\-]\d+)*[a-z]?|[IVX]+)\s*(?:[.:)–—|\-]|\s|$)",
    re.I,
)
_OTHERS = re.compile(
    r"^(?:(?P<figure>[图圖図]|그림|شكل|صورة|الشكل|איור|תרשים|תמונה)|(?P<table>表|표|جدول|الجدول|טבלה|לוח))\s*\d+"
)


def kind(text: str) -> str:
    """figure | table | "": what a caption speaks of, by its first words."""
    found = _CAPTION.match(text) or _OTHERS.match(text)
    if not found:
        return ""
    return "figure" if found["figure"] else "table"


def captions(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with captions marked and moved beside what they describe (`attrs["of"]`: before | after).

    A sentence of the text that begins "Table 2 shows" is no caption: a caption stands right above or below its object
    and does not run on as prose.
    """
    out = list(blocks)
    objects = [i for i, b in enumerate(out) if b.role in ("Figure", "Table")]
    used: set[int] = set()
    for i, block in enumerate(out):
        if block.role != "P" or block.lines > 14:
            continue
        about = kind(block.text)
        if not about or prose(block.text):
            continue
        best, near = None, 60.0
        for j in objects:
            other = out[j]
            if j in used or (
                (other.role == "Table") != (about == "table") and not (about == "figure" and other.role == "Table")
            ):
                continue
            gap = max(block.box[1] - other.box[3], other.box[1] - block.box[3], 0.0)
            over = min(block.box[2], other.box[2]) - max(block.box[0], other.box[0])
            if gap < near and over > 0.3 * min(block.box[2] - block.box[0], other.box[2] - other.box[0]):
                best, near = j, gap
        if best is not None:
            used.add(best)
            out[i] = replace(block, role="Caption", attrs={**block.attrs, "of": best})
    return tie(out)


def tie(blocks: list[Block]) -> list[Block]:
    """Captions become the first or last child of their figure or table."""
    hold: dict[int, list[Block]] = {}
    for block in blocks:
        if block.role == "Caption":
            hold.setdefault(int(block.attrs["of"]), []).append(block)
    out: list[Block] = []
    for i, block in enumerate(blocks):
        if block.role == "Caption":
            continue
        for caption in hold.get(i, ()):
            attrs = {k: v for k, v in caption.attrs.items() if k != "of"}
            caption = replace(caption, attrs=attrs)
            first = caption.box[3] > block.box[3]
            block = replace(block, children=(caption, *block.children) if first else (*block.children, caption))
        out.append(block)
    return out


_VERBS = re.compile(
    r"^\S+\s+\S+\s+(?:shows?|presents?|lists?|gives?|is|are|was|were|summari[sz]es?|illustrates?|depicts?|provides?|contains?|"
    r"zeigt|toont|geeft|montre|présente|muestra|mostra)\b",
    re.I,
)


def prose(text: str) -> bool:
    return bool(_VERBS.match(text))
