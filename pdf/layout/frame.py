"""The frame a page is read in: its painted texts as spans along the direction most of them run, its drawings, rules.

A page set sideways (without /Rotate saying so) and vertical Chinese or Japanese are turned, one written from right to
left is mirrored, so that the rest of the layout only knows lines from left to right and from top to bottom.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from pdf.layout.figures import Drawing
from pdf.layout.grid import Rule
from pdf.layout.lines import Span, cjk, rtl
from pdf.layout.links import Links, covers, meets
from pdf.layout.model import Box, Style
from pdf.page import Font, Item, PageItems

#: A filled rectangle thinner than this (points) is a drawn line.
THIN = 2.6
#: A gap inside one painted text wider than this (em) parts it: a tab between a label and its text, or between cells.
TAB = 1.1
#: A page with more paths than this is not searched for the parts of each path; with more segments, not of large ones.
MANY_PATHS = 3000
MANY_SEGMENTS = 12_000


#: Names of bold fonts that do not say so in words (the weight PDFium guesses from the stems cannot be trusted).
BOLD = re.compile(r"^(?:cmbx|cmb\d|sfbx|ecbx|eurb)|[-,. ]bd\b|[-,.]b$|medi(?:ital)?$|[-,](?:bd|sb)(?:it|cn)?$", re.I)


@dataclass
class Frame:
    """A page, its main direction made horizontal. `turn` is that direction (0, 90, 180 or 270, counter-clockwise)."""

    items: PageItems
    turn: int
    width: float
    height: float
    #: the page is written from right to left: x is measured from its right edge
    mirror: bool = False
    spans: list[Span] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    #: filled rectangles that may underlie cells or boxes: (box, colour)
    fills: list[tuple[Box, int]] = field(default_factory=list)
    blank: set[int] = field(default_factory=set)
    uri: dict[int, bool] = field(default_factory=dict)

    @property
    def widgets(self) -> list[Box]:
        """The boxes of the form fields that can be seen."""
        return [self.to(w.box) for w in self.items.widgets if not w.hidden]

    def to(self, box: Box) -> Box:
        """A box as the reader sees the page, in this frame."""
        x0, y0, x1, y1 = box
        w, h = self.items.width, self.items.height
        if self.mirror:
            return (w - x1, y0, w - x0, y1)
        if self.turn == 90:
            return (y0, w - x1, y1, w - x0)
        if self.turn == 180:
            return (w - x1, h - y1, w - x0, h - y0)
        if self.turn == 270:
            return (h - y1, x0, h - y0, x1)
        return box

    def back(self, box: Box) -> Box:
        """A box of this frame as the reader sees the page."""
        x0, y0, x1, y1 = box
        w, h = self.items.width, self.items.height
        if self.mirror:
            return (w - x1, y0, w - x0, y1)
        if self.turn == 90:
            return (w - y1, x0, w - y0, x1)
        if self.turn == 180:
            return (w - x1, h - y1, w - x0, h - y0)
        if self.turn == 270:
            return (y0, h - x1, y1, h - x0)
        return box

    def point(self, x: float, y: float) -> tuple[float, float]:
        box = self.to((x, y, x, y))
        return box[0], box[1]

    def across(self, span: tuple[float, float]) -> list[tuple[float, float, float]]:
        """Horizontal rules (y, x0, x1) that lie in a column."""
        return [(r.at, r.start, r.end) for r in self.rules if r.across and r.end > span[0] and r.start < span[1]]

    def bands(self, span: tuple[float, float]) -> list[tuple[float, float, float]]:
        """The horizontal rules of a column with the edges of shaded rows: what tells a table's rows apart."""
        out = self.across(span)
        shades = [b for b, colour in self.fills if colour != 0xFFFFFF and 6 < b[3] - b[1] < 0.3 * self.height]
        rows: dict[tuple[int, int], list[Box]] = {}
        for box in shades:
            rows.setdefault((round(box[1] / 2), round(box[3] / 2)), []).append(box)
        wide = 0.5 * (span[1] - span[0])
        for group in rows.values():
            x0, x1 = min(b[0] for b in group), max(b[2] for b in group)
            if x1 - x0 > wide and x0 < span[1] and x1 > span[0]:
                out.extend(((group[0][1], x0, x1), (group[0][3], x0, x1)))
        return sorted(set(out))


def direction(item: Item) -> float:
    """The direction a text runs in, degrees in [0, 360), near multiples of a right angle made exact."""
    x0, y0, x1, y1 = item.box
    angle = item.angle % 360
    near = round(angle / 90) * 90 % 360
    if abs((angle - near + 180) % 360 - 180) < 2.5:
        angle = float(near)
    if angle == 0 and len(item.text) >= 2 and y1 - y0 > 1.7 * item.size and x1 - x0 < 1.3 * item.size:
        letters = [c for c in item.text if not c.isspace()]
        if sum(map(cjk, letters)) > 0.5 * len(letters):
            return 270.0  # vertical writing: lines run downwards, the first one at the right
    return angle


def frame_of(items: PageItems) -> Frame:
    """Read a page's items into its frame."""
    texts: list[tuple[Item, float]] = []
    blank: set[int] = set()
    counts: dict[float, int] = {}
    for item in items.items:
        if item.kind != "text":
            continue
        visible = len(item.text) - item.text.count(" ")
        if not visible or not item.text.strip():
            blank.add(item.index)
            continue
        angle = direction(item)
        counts[angle] = counts.get(angle, 0) + visible
        texts.append((item, angle))
    upright = {a: n for a, n in counts.items() if a % 90 == 0}
    turn = int(max(upright, key=lambda a: (upright[a], -a))) if upright else 0
    if turn and upright.get(0.0, 0) > 0.4 * sum(upright.values()):
        turn = 0
    width, height = (items.width, items.height) if turn % 180 == 0 else (items.height, items.width)
    right = sum(len(item.text) for item, _ in texts if rtl(item.text))
    mirror = turn == 0 and right > 0.5 * sum(len(item.text) for item, _ in texts)
    frame = Frame(items, turn, width, height, mirror, blank=blank)
    styles: dict[tuple[int, float, int], Style] = {}
    links = Links([(a.index, [frame.to(b) for b in a.boxes]) for a in items.links if not a.hidden])
    frame.uri = {a.index: bool(a.uri) for a in items.links}
    for item, angle in texts:
        read_text(frame, item, (angle - turn) % 360, styles, links)
    for span in frame.spans if mirror else ():
        span.mirror = True
    read_drawings(frame)
    return frame


def style_for(item: Item, fonts: list[Font], size: float, known: dict[tuple[int, float, int], Style]) -> Style:
    rounded = round(size * 2) / 2
    key = (item.font, rounded, item.colour)
    style = known.get(key)
    if style is None:
        font = fonts[item.font] if 0 <= item.font < len(fonts) else None
        colour = f"#{item.colour:06x}"
        if font is None:
            style = Style(rounded, colour=colour)
        else:
            family = font.name.split(",")[0].split("-")[0]
            style = Style(rounded, font.bold or bool(BOLD.search(font.name)), font.italic, font.mono, family, colour)
        known[key] = style
    return style


def read_text(
    frame: Frame,
    item: Item,
    turn: float,
    styles: dict[tuple[int, float, int], Style],
    links: Links,
) -> None:
    """The spans of one painted text: one, or several where a wide gap or the end of a link parts it."""
    box = frame.to(item.box)
    size = item.size
    high = box[3] - box[1] if turn == 0 else 0.0
    if turn == 0 and (size <= 0.5 or (high > 2.2 * size and len(item.text) < 400)):
        size = max(high, 1.0)
    style = style_for(item, frame.items.fonts, size, styles)
    if turn:
        frame.spans.append(turned(frame, item, turn, size, style))
        return
    x, base = frame.point(*item.origin)
    if frame.turn == 270 and direction(item) == 270 and item.angle == 0:
        base = box[1] + 0.12 * size  # vertical writing hangs from the middle of its column
    if not box[1] - size <= base <= box[3] + size:
        base = box[1]
    text = item.text.replace("\x02", "\u00ad")  # PDFium's sign for a hyphen at the end of a line
    if box[1] > base + 0.2 * size and high < 0.62 * size and text.strip().isalnum() and len(text) <= 3:
        base, size = box[1], 0.65 * size  # a raised mark that the font draws small on the line's own baseline
    y0, y1 = base - 0.21 * size, base + 0.74 * size
    x0, x1 = box[0], box[2]
    if x1 - x0 < 0.01:
        x0, x1 = min(x, x0), max(x, x1) + 0.4 * size * len(text)
    parts = cuts(frame, item, size) if frame.turn == 0 and not frame.mirror else []
    over = links.over((x0, y0, x1, y1))
    if over:
        parts = linked(frame, item, parts, over, y0, y1)
        if not parts:
            parts = [(0, len(text), x0, x1, over[0][0] if covers((x0, y0, x1, y1), over[0][1]) else -1)]
    if not parts:
        lead = len(text) - len(text.lstrip())
        trail = len(text) - len(text.rstrip())
        space = min(0.6 * size if style.mono else 0.26 * size, (x1 - x0) / max(len(text), 1))
        frame.spans.append(
            Span(
                item.index,
                text,
                (x0 + lead * space, y0, x1 - max(trail - 1, 0) * space, y1),
                base,
                size,
                style,
                item.index,
            )
        )
        return
    whole = len(parts) == 1
    for c0, c1, a, b, link in parts:
        span = Span(item.index, text[c0:c1], (a, y0, b, y1), base, size, style, item.index)
        if not whole:
            span.c0, span.c1 = c0, c1
        span.link = link
        frame.spans.append(span)


def turned(frame: Frame, item: Item, turn: float, size: float, style: Style) -> Span:
    """A text that runs in another direction than the page: a span in a frame of its own, along its own line."""
    angle = math.radians(turn)
    x, y = frame.point(*item.origin)
    along, up = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    box = frame.to(item.box)
    wide, high = box[2] - box[0], box[3] - box[1]
    length = high if turn in (90, 270) else wide if turn == 180 else max(math.hypot(wide, high) - size, size)
    span = Span(item.index, item.text, box, box[1], size, style, item.index)
    span.turn, span.own = turn, (along, up, length)
    return span


def cuts(frame: Frame, item: Item, size: float) -> list[tuple[int, int, float, float, int]]:
    """Where wide gaps part a text: [(first, last, x0, x1, -1)], empty where there is none."""
    text = item.text
    if " " not in text.strip():
        return []
    x0, _, x1, _ = item.box
    if x1 - x0 < 2.2 * size:
        return []
    if text.isascii() and "  " not in text.strip() and x1 - x0 < 0.36 * size * len(text):
        return []  # too tight for a gap
    found = frame.items.gaps(item, TAB * size)
    if not found:
        return []
    out: list[tuple[int, int, float, float, int]] = []
    at, left = 0, x0
    for index, end, start in found:
        out.append((at, index, left, end, -1))
        at, left = index, start
    out.append((at, len(text), left, x1, -1))
    return [p for p in out if text[p[0] : p[1]].strip()] if len(out) > 1 else []


def linked(
    frame: Frame,
    item: Item,
    parts: list[tuple[int, int, float, float, int]],
    over: list[tuple[int, list[Box]]],
    y0: float,
    y1: float,
) -> list[tuple[int, int, float, float, int]]:
    """Parts of a text cut where the links over it begin and end. Empty: the text is wholly one link's, or nobody's."""
    box = frame.to(item.box)
    if len(over) == 1 and not parts and covers((box[0], y0, box[2], y1), over[0][1]):
        return []
    chars = frame.items.chars(item)
    if not chars or frame.turn or frame.mirror:
        return parts
    holder: list[int] = []
    for char in chars:
        middle = (char.x0 + char.x1) / 2
        found = next(
            (
                i
                for i, quads in over
                if any(q[0] - 0.5 <= middle <= q[2] + 0.5 and meets((middle, y0, middle, y1), q) for q in quads)
            ),
            -1,
        )
        holder.extend([found] * len(char.text))
    if len(holder) != len(item.text):
        return parts
    edge = {p[0] for p in parts}
    out: list[tuple[int, int, float, float, int]] = []
    starts = [c.x0 for c in chars for _ in c.text]
    ends = [c.x1 for c in chars for _ in c.text]
    first = 0
    for i in range(1, len(holder) + 1):
        if i < len(holder) and i not in edge and (holder[i] == holder[first]):
            continue
        if item.text[first:i].strip():
            out.append((first, i, starts[first], max(ends[first:i]), holder[first]))
        elif out:
            last = out[-1]
            out[-1] = (last[0], i, last[2], last[3], last[4])
        first = i
    return out


def read_drawings(frame: Frame) -> None:
    """Paths, images and shadings: drawings, and the rules among them."""
    paths = [item.segments for item in frame.items.items if item.kind == "path"]
    # outlines of letters and maps have thousands of segments: there only small paths are looked into
    most = 5 if len(paths) > MANY_PATHS else 4000 if sum(paths) < MANY_SEGMENTS else 60
    for item in frame.items.items:
        kind = item.kind
        if kind in ("text", "form"):
            continue
        box = frame.to(item.box)
        if box[2] <= box[0] and box[3] <= box[1]:
            continue
        if kind != "path":
            frame.drawings.append(Drawing(item.index, kind, box))
            continue
        if not (item.filled or item.stroked):
            continue  # a clipping path paints nothing
        light = item.colour >= 0xF0F0F0 and (item.colour & 0xFF) >= 0xF0 and (item.colour >> 8 & 0xFF) >= 0xF0
        plain, pieces = lines_of(frame, item, box, most)
        frame.drawings.append(Drawing(item.index, "path", box, item.filled, plain, light, pieces))


def lines_of(frame: Frame, item: Item, box: Box, most: int) -> tuple[bool, int]:
    """Take the rules out of a path. Returns whether it is made of upright lines and rectangles only, and how many."""
    if item.segments <= 5:
        return one_shape(frame, item, box), 1
    if item.segments > most:
        return False, item.segments // 4
    parts = [frame.to(b) for b in frame.items.parts(item)]
    if len(parts) < 2:
        return False, max(1, item.segments // 4)
    per = item.segments / len(parts)
    if per > 5.2:
        return False, len(parts)
    plain = True
    for part in parts:
        plain &= one_shape(frame, item, part)
    return plain, len(parts)


def one_shape(frame: Frame, item: Item, box: Box) -> bool:
    """A line or a rectangle: its rules. Returns false for a slanted line or a shape."""
    x0, y0, x1, y1 = box
    w, h = x1 - x0, y1 - y0
    rules, index = frame.rules, item.index
    if h <= THIN and w > 2 * h:
        if w > 4:
            rules.append(Rule(True, (y0 + y1) / 2, x0, x1, (index,)))
        return True
    if w <= THIN and h > 2 * w:
        if h > 4:
            rules.append(Rule(False, (x0 + x1) / 2, y0, y1, (index,)))
        return True
    if w <= THIN or h <= THIN:
        return True
    if item.segments <= 3 and not item.filled and len(frame.items.parts(item)) == 1 and item.segments == 2:
        return False
    if item.stroked and item.segments >= 4:
        rules.extend(
            (
                Rule(True, y0, x0, x1, (index,)),
                Rule(True, y1, x0, x1, (index,)),
                Rule(False, x0, y0, y1, (index,)),
                Rule(False, x1, y0, y1, (index,)),
            )
        )
    if item.filled:
        frame.fills.append((box, item.colour))
    return item.segments >= 4 or len(frame.items.parts(item)) > 1
