"""Headings and their levels: by size, weight and numbering against the text around them, over the whole document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pdf.layout import captions, labels
from pdf.layout.model import Block, Style
from pdf.tagging.compose_flow import Entry

#: No heading is longer than this many characters.
LONGEST = 220
#: Evidence needed (see `weigh`).
ENOUGH = 2.0
#: Characters of text around a page that say what its body is set in.
AROUND = 1500


@dataclass(frozen=True)
class Look:
    """How a heading looks: headings that look alike have one level. `size` in steps of half a point."""

    size: float
    bold: bool
    italic: bool
    #: numbered, and set further in than the headings without a number that look the same
    stepped: bool = False


def headings(entries: Sequence[Entry], body: Style) -> dict[int, int]:
    """Key of each heading's entry → its level, 1 to 6; the first is 1 and none is skipped going down."""
    local = bodies(entries, body)
    weights = {e.key: weigh(entries, i, local.get(e.page, body)) for i, e in enumerate(entries)}
    found = [e for e in entries if weights[e.key] >= ENOUGH]
    found = without_items(found, entries)
    found = consistent(found, entries)
    found = without_runs(found, local, body)
    found, cover = front(found, entries)
    return levels(found, any(e.block.role == "TOCI" for e in entries), cover)


def look(block: Block) -> Look:
    style = block.style or Style(10.0)
    return Look(style.size, style.bold, style.italic)


def bodies(entries: Sequence[Entry], body: Style) -> dict[int, Style]:
    """Page → the style most running text is set in there, where the pages around say so clearly."""
    pages: dict[int, dict[tuple[float, bool], int]] = {}
    for entry in entries:
        block = entry.block
        if block.role == "P" and block.style is not None and block.lines >= 2:
            counts = pages.setdefault(entry.page, {})
            key = (block.style.size, block.style.bold)
            counts[key] = counts.get(key, 0) + len(block.text)
    out: dict[int, Style] = {}
    for page in {e.page for e in entries}:
        total: dict[tuple[float, bool], int] = {}
        for near in range(page - 2, page + 3):
            for key, count in pages.get(near, {}).items():
                total[key] = total.get(key, 0) + (count * 2 if near == page else count)
        if sum(total.values()) >= AROUND:
            size, bold = max(total, key=lambda k: (total[k], k))
            out[page] = Style(size, bold, body.italic, colour=body.colour)
    return out


def caps(text: str) -> bool:
    """Whether a text is set in capitals (scripts without them never are)."""
    letters = [c for c in text if c.isalpha()]
    return len(letters) >= 3 and sum(c.isupper() for c in letters) > 0.9 * len(letters)


def numbering(block: Block) -> int:
    """The depth of a heading's number: 1 for "2 Results", 3 for "2.1.4", 0 without."""
    label = labels.find(block.text)
    if label is None:
        first = block.text.split(" ", 1)
        return 1 if len(first) == 2 and first[0].isdigit() and len(first[0]) <= 2 and first[1][:1].isupper() else 0
    if label.kind == "deep":
        return len([p for p in label.text.split(".") if p])
    return 1 if label.kind == "decimal" and label.form == "#." else 0


def weigh(entries: Sequence[Entry], i: int, body: Style) -> float:
    """How much speaks for a block being a heading; `ENOUGH` makes it one."""
    block = entries[i].block
    style = block.style
    if block.role != "P" or style is None or "turn" in block.attrs or len(block.text) > LONGEST:
        return 0.0
    text = block.text.strip()
    letters = sum(map(str.isalpha, text))
    if letters < 2 or letters < 0.4 * len(text.replace(" ", "")):
        return 0.0
    label = labels.find(block.label) if block.label else None
    if (label is not None and label.kind in ("bullet", "dash")) or captions.kind(text):
        return 0.0
    after = next((e.block for e in entries[i + 1 : i + 2]), None)
    if after is None:
        return 0.0
    ratio = style.size / body.size
    weight = 0.0
    weight += 3.0 if ratio >= 1.15 else 2.0 if ratio >= 1.045 else 0.0 if ratio > 0.93 else -1.5
    if style.bold and not body.bold:
        weight += 2.0
    if style.italic and not body.italic and not style.bold:
        weight += 0.7
    if caps(text):
        weight += 1.0
    depth = numbering(block)
    if depth >= 2:
        weight += 1.2
    elif label is not None:
        upper = label.kind in ("Roman", "upper") and (caps(text) or "centred" in block.attrs or style.italic)
        weight += 1.0 if upper else 0.2 if style.bold or ratio > 1.045 else -1.5
    if "centred" in block.attrs and block.lines <= 2:
        weight += 0.6
    if style.colour != body.colour and not grey(style.colour) and not linked(block):
        weight += 1.8 if block.lines == 1 else 0.6
    size = style.size
    if block.above > 0.5 * size or block.above < 0:
        weight += 0.4
    elif block.above < 0.15 * size:
        weight -= 0.4
    weight += (0.0, 0.5, 0.0, -0.8, -2.0)[min(block.lines, 4)]
    if len(text) > 120:
        weight -= 1.0
    last = text[-1:]
    if last in ",;":
        weight -= 2.0
    elif last == "." and not depth:
        weight -= 1.2 if block.lines > 1 else 0.8
    elif last == ":":
        weight -= 0.8
    if not (text[0].isupper() or text[0].isdigit() or not text[0].isalpha()) and text[0].lower() != text[0].upper():
        weight -= 0.4 if style.bold and not body.bold else 1.0
    if after.role in ("P", "Table", "Figure", "Note"):
        weight += 0.2
    if int(block.attrs.get("cells", 1)) > 2:
        weight -= 1.0
    return weight


def grey(colour: str) -> bool:
    """Whether a colour is black, white or near to a grey."""
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5)) if len(colour) == 7 else (0, 0, 0)
    return max(r, g, b) - min(r, g, b) < 24


def linked(block: Block) -> bool:
    """Whether most of a block's text is a link: its colour says that, not that it is a heading."""
    return any(p.kind == "link" and len(p.text) > 0.5 * len(block.text) for p in block.pieces)


def without_items(found: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Without numbered blocks whose neighbours in the series are plain items: those are items that begin in bold."""
    chosen = {e.key for e in found}
    series: dict[tuple[str, str], list[tuple[Entry, int]]] = {}
    for entry in entries:
        label = labels.find(entry.block.label) if entry.block.label and entry.block.role == "P" else None
        if label is None or label.kind in ("bullet", "dash", "deep"):
            continue
        line = series.setdefault((label.kind, label.form), [])
        for before, value in reversed(line[-6:]):
            near = entry.key - before.key <= 12 and abs(before.block.left - entry.block.left) < 3
            near = near and abs(look(before.block).size - look(entry.block).size) < 0.6
            if near and value == label.value - 1 and (before.key in chosen) != (entry.key in chosen):
                chosen.discard(before.key)
                chosen.discard(entry.key)
                break
        line.append((entry, label.value))
    return [e for e in found if e.key in chosen]


def consistent(found: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
    """Without looks that most of the time are running text: a heading's look is kept for headings."""
    chosen = {e.key for e in found}
    yes: dict[tuple[Look, str], int] = {}
    no: dict[tuple[Look, str], int] = {}

    def manner(block: Block) -> tuple[Look, str]:
        return look(block), (block.style.colour if block.style else "") + ("caps" if caps(block.text) else "")

    for entry in entries:
        block = entry.block
        if block.style is None or block.role != "P" or (block.label and labels.find(block.label) is None):
            continue
        counts = yes if entry.key in chosen else no
        one = manner(block)
        counts[one] = counts.get(one, 0) + len(block.text)
    return [
        e
        for e in found
        if lettered(e.block)
        or no.get(manner(e.block), 0) <= 2.5 * yes.get(manner(e.block), 0)
        or numbering(e.block) >= 2
    ]


def lettered(block: Block) -> bool:
    """Whether a block begins with a section's letter or Roman number."""
    label = labels.find(block.label) if block.label else None
    return label is not None and label.kind in ("upper", "Roman")


def without_runs(found: Sequence[Entry], local: Mapping[int, Style], body: Style) -> list[Entry]:
    """Without long runs of one look with no text between them: those are addresses, tables, forms."""
    out: list[Entry] = []
    at = 0
    while at < len(found):
        stop = at + 1
        while (
            stop < len(found)
            and found[stop].key == found[stop - 1].key + 1
            and look(found[stop].block) == look(found[at].block)
        ):
            stop += 1
        run = found[at:stop]
        style = run[0].block.style
        large = style is not None and style.size > 1.3 * local.get(run[0].page, body).size
        if len(run) < 4 or large:
            out.extend(run)
        at = stop
    return out


def front(found: Sequence[Entry], entries: Sequence[Entry]) -> tuple[list[Entry], bool]:
    """The title: above the first running text only what is largest is a heading, unless its look comes back later.

    Returns the headings, and whether the document opens with a cover (a page without running text, before others).
    """
    if not entries or not found:
        return list(found), False
    first = entries[0].page
    size = look(max((e.block for e in entries), key=lambda b: len(b.text))).size
    start = next((e.key for e in entries if e.block.role == "P" and runs(e.block, size)), entries[-1].key)
    numbered = next((e.key for e in found if numbering(e.block)), start)
    start = min(start, numbered)
    begin = [e for e in found if e.key < start and e.page <= first + 1]
    cover = any(e.page > first for e in entries) and all(e.page != first for e in entries if e.key >= start)
    later: dict[Look, int] = {}
    for e in found:
        if e.key >= start:
            later[look(e.block)] = later.get(look(e.block), 0) + 1
    out: list[Entry] = []
    for page in (first, first + 1):
        mine = [e for e in begin if e.page == page]
        top = max((look(e.block).size for e in mine), default=0.0)
        best = next((e for e in mine if look(e.block).size >= top - 0.1), None)
        often = Counter(look(e.block) for e in mine)
        for e in mine:
            if e is best or (look(e.block) in later and often[look(e.block)] < 3 and not (cover and page == first)):
                out.append(e)
            elif often[look(e.block)] >= 3 and look(e.block).bold and apart(e, mine):
                out.append(e)  # names of what stands under each of them
            elif out and e.key == out[-1].key + 1 and look(e.block) == look(out[-1].block) and out[-1] is best:
                out.append(e)  # a title in two blocks
    chosen = {e.key for e in begin}
    return [*out, *(e for e in found if e.key not in chosen)], cover


def apart(entry: Entry, found: Sequence[Entry]) -> bool:
    """Whether something else stands between a heading and each other one of its look."""
    same = [e.key for e in found if look(e.block) == look(entry.block) and e is not entry]
    return all(abs(k - entry.key) > 1 for k in same)


def runs(block: Block, size: float) -> bool:
    """Whether a block is running text: several lines, or a whole sentence in the body's size."""
    if block.lines >= 3 and len(block.text) > 150:
        return True
    sentence = len(block.text) >= 25 and block.text.rstrip()[-1:] in ".。؟।" and "centred" not in block.attrs
    return sentence and abs(look(block).size - size) < 0.6 and (len(block.text) >= 60 or block.text[-1:] in "。؟।")


def levels(found: Sequence[Entry], absolute: bool, cover: bool) -> dict[int, int]:
    """The level of each heading: by its number where it has one, else by the rank of its look; none is skipped.

    `absolute`: the document has contents, so that its chapters are of level 1 beside the title; otherwise the title is
    above them. `cover`: its first heading is a title on a page of its own.
    """
    if not found:
        return {}
    stepped = steps_in(found)

    def own(entry: Entry) -> Look:
        return replace(look(entry.block), stepped=entry.key in stepped)

    looks: dict[Look, list[Entry]] = {}
    for entry in found:
        looks.setdefault(own(entry), []).append(entry)
    depths: dict[Look, tuple[int, int]] = {}
    for one, mine in looks.items():
        numbers = [d for d in (numbering(e.block) for e in mine) if d]
        if len(numbers) >= 2 and len(numbers) >= 0.4 * len(mine):
            depths[one] = (min(numbers), max(numbers))
    title = own(found[0])
    apart = absolute and cover and all(e.page == found[0].page for e in looks[title])
    rank, base, counted = ranks({k: v for k, v in looks.items() if not apart or k != title}, depths, absolute)
    if apart:
        rank[title] = 1
    out: dict[int, int] = {}
    above: list[int] = []
    for entry in found:
        one = own(entry)
        wanted = rank[one]
        depth = numbering(entry.block)
        if depth and counted and (one in counted or depth >= 2):
            wanted = max(1, base + depth)
        # a heading is one level below the last one that ranks above it
        while above and above[-1] >= wanted:
            above.pop()
        above.append(wanted)
        out[entry.key] = min(len(above), 6)
    return out


def steps_in(found: Sequence[Entry]) -> set[int]:
    """Keys of the headings that count from 1 and stand further in than those of the same look without a number."""
    plain: dict[Look, float] = {}
    counted: dict[Look, list[Entry]] = {}
    for entry in found:
        if numbering(entry.block) == 1:
            counted.setdefault(look(entry.block), []).append(entry)
        elif "centred" not in entry.block.attrs:
            plain.setdefault(look(entry.block), entry.block.left)
    out: set[int] = set()
    for one, mine in counted.items():
        edge = plain.get(one)
        if edge is not None and len(mine) >= 2 and all(e.block.left > edge + 0.8 * one.size for e in mine):
            out.update(e.key for e in mine)
    return out


def ranks(
    looks: Mapping[Look, Sequence[Entry]], depths: Mapping[Look, tuple[int, int]], absolute: bool
) -> tuple[dict[Look, int], int, set[Look]]:
    """The level of each look: larger before smaller, bold before light; numbered looks keep their depths' distance.

    Returns the levels, what is added to a number's depth, and the looks of the document's own numbering (a smaller look
    that counts from 1 again is another series).
    """
    groups: list[list[Look]] = []
    for one in sorted(looks, key=lambda k: (-k.size, not k.bold, k.italic, k.stepped)):
        same = groups and groups[-1][0].size - one.size < 0.6 and groups[-1][0].bold == one.bold
        same = same and groups[-1][0].stepped == one.stepped
        if same and groups[-1][0].italic == one.italic:
            groups[-1].append(one)
        else:
            groups.append([one])
    rank: dict[Look, int] = {}
    counted: set[Look] = set()
    level = base = deepest = 0
    for group in groups:
        known = [depths[k] for k in group if k in depths]
        least = min((low for low, _ in known), default=0)
        if known and least > deepest:
            if not counted:
                base = 0 if absolute and least == 1 and level <= 1 else max(level + 1 - least, 0)
            counted.update(k for k in group if k in depths)
            deepest = max(high for _, high in known)
            first, level = base + least, base + deepest
        else:
            level += 1
            first = level
        for one in group:
            rank[one] = max(1, min(first, 6))
    return rank, base, counted
