"""Replay: a base and a log of ops give one tagged PDF, the same bytes on any machine, in any process.

pikepdf alone, no clock, no randomness. An op nobody knows, another base, a gap in the log or a result that differs
from the one recorded is an error with a code of its own, never a guess.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pikepdf

from pdf.errors import Code, PdfError
from pdf.tagging import metadata, ops, structure
from pdf.tagging.alt import is_placeholder
from pdf.tagging.imported import import_tree
from pdf.tagging.pages import Assigned, Marker, Pages, Slot
from pdf.tagging.structure import Writer
from pdf.tagging.tree import Artifact, Element, Tree, check


@dataclass(frozen=True)
class Replay:
    """What came out. `nodes` counts elements, `waiting` those whose alternative text a person still owes."""

    sha256: str
    size: int
    pages: int
    ops: int
    nodes: int
    waiting: int
    bookmarks: int


def replay(base: Path, log: Path, target: Path, first_seq: int = 1) -> Replay:
    """Write the tagged PDF that `log` (JSON Lines) makes of `base`. Its ops count from `first_seq` on without a gap.

    Raises PdfError: UNKNOWN_OP, OP_REFUSED, WRONG_BASE (a record was made for other bytes), SEQ_GAP, SOURCE_DAMAGED.
    """
    with _open(base) as pdf:
        pages = Pages(pdf)
        tree = Tree(len(pages.list), pages.sizes)
        if "/StructTreeRoot" in pdf.Root:
            import_tree(pdf, pages, tree)
        count = apply(tree, log, digest(base), first_seq)
        check(tree)
        nodes, bookmarks = _write(pdf, pages, tree)
        # Fixed settings: they are part of what makes the bytes the same.
        pdf.save(
            target,
            deterministic_id=True,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            compress_streams=True,
            recompress_flate=False,
            linearize=True,
            fix_metadata_version=False,
        )
    waiting = sum(element.waiting or is_placeholder(element.alt) for element in tree.byid.values())
    return Replay(digest(target), target.stat().st_size, len(pages.list), count, nodes, waiting, bookmarks)


def apply(tree: Tree, log: Path, base_sha256: str, first_seq: int = 1) -> int:
    """Apply a log to a tree; returns how many ops it has. Raises PdfError as `replay` does."""
    seq = first_seq - 1
    for seq, record in enumerate(ops.load(log), first_seq):
        if record.seq != seq:
            raise PdfError(Code.SEQ_GAP, f"Op {seq} is missing: the log goes on with {record.seq}.")
        if record.baseHash != base_sha256:
            raise PdfError(Code.WRONG_BASE, f"Op {seq} was made for another base ({record.baseHash[:12]}…).")
        tree.apply(record.op, f"op {seq}, ")
    return seq - first_seq + 1


def digest(path: Path) -> str:
    """SHA-256 of a file, as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open(base: Path) -> pikepdf.Pdf:
    try:
        return pikepdf.open(base)
    except pikepdf.PasswordError as error:
        raise PdfError(Code.ENCRYPTED, "The base needs a password.") from error
    except pikepdf.PdfError as error:
        raise PdfError(Code.SOURCE_DAMAGED, f"The base cannot be read: {error}") from error


def _write(pdf: pikepdf.Pdf, pages: Pages, tree: Tree) -> tuple[int, int]:
    """Mark all pages and write the tree; returns (elements, bookmarks)."""
    for number, (role, ref) in enumerate(structure.unplaced(tree, pages.list)):
        node = ops.Node(f"annotation.{number}", role, (ref,))  # type: ignore[arg-type]
        tree.apply(ops.Add((node,)))
    made = structure.plan(tree)
    artifacts: list[dict[int, list[tuple[int, int, Artifact]]]] = [{} for _ in pages.list]
    for (page, item), holdings in tree.held.items():
        for first, last, owner in holdings:
            if isinstance(owner, Artifact):
                artifacts[page].setdefault(item, []).append((first, last, owner))
    marker = Marker(pages)
    for number in range(len(pages.list)):
        assigned: Assigned = made.pages[number]
        if artifacts[number]:
            assigned = _joined(made.pages[number], artifacts[number])
        marker.mark(number, assigned)
    writer = Writer(pdf, tree, made, marker)
    nodes = writer.write()
    metadata.complete(pdf, tree.title or "", tree.lang or "")
    return nodes, metadata.outlines(pdf, _headings(tree))


def _joined(
    read: dict[int, list[tuple[int, int, Slot]]], unread: dict[int, list[tuple[int, int, Artifact]]]
) -> Assigned:
    out: dict[int, Sequence[tuple[int, int, Slot | Artifact]]] = dict(read)
    for item, parts in unread.items():
        out[item] = sorted([*out.get(item, ()), *parts], key=lambda part: part[0])
    return out


def _headings(tree: Tree) -> list[tuple[Element, int]]:
    """Headings in reading order, each with the page its content begins on."""
    out: list[tuple[Element, int]] = []
    stack = [tree.root]
    while stack:
        element = stack.pop()
        if element.role in ("H", "H1", "H2", "H3", "H4", "H5", "H6"):
            page = _first_page(element)
            if page >= 0:
                out.append((element, page))
        stack.extend(reversed(list(element.elements())))
    return out


def _first_page(element: Element) -> int:
    for kid in element.kids:
        page = _first_page(kid) if isinstance(kid, Element) else kid.p
        if page >= 0:
            return page
    return -1
