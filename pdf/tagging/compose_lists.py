"""Lists: labelled blocks to items, series by series, nested by indentation, over pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pdf.layout import labels
from pdf.layout.labels import Label
from pdf.tagging.compose_flow import Entry

#: Signs that also point at one paragraph, a remark in a form for example.
POINTERS = "►▶▸▹➔→⇒➢➤☐☑☒□❏❑❒"


@dataclass
class ListItem:
    """One item: the block with the label, further blocks of its body, lists inside it."""

    entry: Entry
    more: list[Entry] = field(default_factory=list)
    inner: list[List] = field(default_factory=list)


@dataclass
class List:
    """A list of one series of labels. `members` are the keys of all entries in it, those of inner lists too."""

    label: Label
    x: float
    items: list[ListItem] = field(default_factory=list)
    members: set[int] = field(default_factory=set)
    #: the id of its node, once it has one
    node: str = ""

    @property
    def last(self) -> Label:
        found = labels.find(self.items[-1].entry.block.label)
        return found if found is not None else self.label


def lists(entries: Sequence[Entry], levels: Mapping[int, int]) -> dict[int, List]:
    """Key of each entry that is in a list → the outermost list."""
    tops: list[List] = []
    stack: list[List] = []

    def close() -> None:
        if stack:
            tops.append(stack[0])
        stack.clear()

    for at, entry in enumerate(entries):
        block = entry.block
        label = labels.find(block.label) if block.label and block.role == "P" and entry.key not in levels else None
        if label is None:
            if stack and (belongs(entries, at, stack, levels) or between(entries, at, stack, levels)):
                target = holder(stack, block.left)
                target.items[-1].more.append(entry)
                stack[0].members.add(entry.key)
                continue
            close()
            continue
        x = block.left
        placed = False
        while stack:
            level = stack[-1]
            same_page = level.items[-1].entry.page == entry.page
            series = labels.follows(level.last, label)
            if series:
                level.items.append(ListItem(entry))
                level.x = x
                placed = True
                break
            if any(labels.follows(outer.last, label) for outer in stack[:-1]):
                stack.pop()
                continue
            deeper = x > level.x + 2.5 or not same_page
            if deeper and first(label):
                inner = List(label, x, [ListItem(entry)])
                level.items[-1].inner.append(inner)
                stack.append(inner)
                placed = True
                break
            if abs(level.x - x) <= 2.5 and label.kind == level.label.kind and label.form == level.label.form:
                level.items.append(ListItem(entry))  # a number was left out, or found twice
                placed = True
                break
            stack.pop()
        if placed:
            stack[0].members.add(entry.key)
            continue
        close()
        stack.append(List(label, x, [ListItem(entry)], {entry.key}))
    close()
    out: dict[int, List] = {}
    for i, top in enumerate(tops):
        if real(top) or (i and goes_on(tops[i - 1], top)) or (i + 1 < len(tops) and goes_on(top, tops[i + 1])):
            for key in top.members:
                out[key] = top
    return out


def goes_on(before: List, after: List) -> bool:
    """Whether a series is taken up again after something else: 1. (a picture) 2."""
    apart = after.items[0].entry.key - before.items[-1].entry.key
    return apart <= 12 and labels.follows(before.last, after.label) and abs(before.x - after.x) < 4


def between(entries: Sequence[Entry], at: int, stack: Sequence[List], levels: Mapping[int, int]) -> bool:
    """Whether a picture or an indented block stands between two items of a series, and so inside the first of them."""
    block = entries[at].block
    if block.role not in ("Figure", "P") or entries[at].key in levels or "turn" in block.attrs:
        return False
    if block.role == "P" and block.left < stack[-1].x + 2:
        return False
    for entry in entries[at + 1 : at + 4]:
        if entry.key in levels or entry.block.role not in ("Figure", "P"):
            return False
        label = labels.find(entry.block.label) if entry.block.label else None
        if label is not None:
            return label.kind not in ("bullet", "dash") and any(
                labels.follows(level.last, label) and abs(level.x - entry.block.left) < 4 for level in stack
            )
    return False


def first(label: Label) -> bool:
    """Whether a label can begin a series inside an item."""
    return label.kind in ("bullet", "dash") or label.value == 1 or labels.letter(label) == 1


def real(found: List) -> bool:
    """Whether a series is a list: bullets always, numbers, letters and pointing signs from two items on."""
    if found.label.kind == "bullet":
        return len(found.items) >= 2 or found.label.text not in POINTERS
    if found.label.kind == "deep":
        return len(found.items) >= 3
    return len(found.items) >= 2


def belongs(entries: Sequence[Entry], at: int, stack: Sequence[List], levels: Mapping[int, int]) -> bool:
    """Whether a block without a label is a further paragraph of the item before it: it hangs under the item's text."""
    entry = entries[at]
    block = entry.block
    if block.role != "P" or entry.key in levels or block.style is None:
        return False
    host = stack[-1].items[-1].entry.block
    size = block.style.size
    if host.style is None or abs(host.style.size - size) > 0.6:
        return False
    same_page = stack[-1].items[-1].entry.page == entry.page
    hangs = any(abs(block.left - level.items[-1].entry.block.body_x) < 0.6 * size for level in stack)
    hangs = hangs and block.left > stack[0].items[-1].entry.block.left + 0.5 * size
    if not same_page:
        return False
    return hangs and block.above < 2.2 * size


def holder(stack: Sequence[List], x: float) -> List:
    """The list under whose item a block at `x` hangs: the innermost that reaches as far."""
    best = stack[0]
    for level in stack:
        if level.items[-1].entry.block.body_x <= x + 3:
            best = level
    return best
