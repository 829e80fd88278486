"""Composing: nothing twice, the same ops whatever the chunks, ops that the schema takes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pdf.layout import PageAnalysis, analyze
from pdf.page import PageReader
from pdf.tagging import alt, ops
from pdf.tagging.compose import compose
from tests.pdf.layout.paper import PROSE, Page, write


@st.composite
def documents(draw: st.DrawFn) -> list[Page]:
    """Pages with headings, prose, lists, tables, bars and links in any order and at odd places."""
    pages = []
    for _ in range(draw(st.integers(1, 4))):
        page, y = Page(rotate=draw(st.sampled_from([0, 0, 90])), unit=draw(st.sampled_from([1.0, 1.0, 1.5]))), 800.0
        for kind in draw(st.lists(st.sampled_from("hplntbx2"), max_size=7)):
            if kind == "h":
                page.text(
                    72,
                    y,
                    draw(st.sampled_from(["1 The year", "Loans", "2.1 Visits"])),
                    draw(st.sampled_from([13.0, 18.0])),
                    "b",
                )
            elif kind == "p":
                page.lines(72, y, PROSE)
            elif kind in "ln":
                for i in range(3):
                    page.text(
                        80 + draw(st.sampled_from([0, 14])),
                        y - 14 * i,
                        f"{'-' if kind == 'l' else f'{i + 1}.'} item {i}",
                    )
            elif kind == "t":
                for i in range(4):
                    for x in (72, 200, 300, 400):
                        page.text(x, y - 14 * i, f"{x + i}", 10)
            elif kind == "b":
                for i, height in enumerate((12, 40, 25)):
                    page.box(100 + 40 * i, y - 40, 120 + 40 * i, y - 40 + height)
            elif kind == "x":
                page.text(72, y, "See the library's own pages for more").link(
                    90, y - 3, 150, y + 9, "https://example.org"
                )
            else:
                page.lines(72, y, ["one narrow column of", "text beside another"] * 2, 9)
                page.lines(320, y - 3, ["the other column is", "set a little lower"] * 2, 9)
            y -= draw(st.sampled_from([60, 75, 90]))
        pages.append(page)
    return pages


def refs(made: list[ops.Op]) -> Iterator[ops.Ref]:
    def of(node: ops.Node) -> Iterator[ops.Ref]:
        for kid in node.kids:
            if isinstance(kid, ops.Ref):
                yield kid
            else:
                yield from of(kid)

    for op in made:
        if isinstance(op, ops.Add):
            for node in op.nodes:
                yield from of(node)
        elif isinstance(op, ops.Artifact):
            yield from op.content


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pages=documents(), seed=st.integers(0, 9))
def test_each_item_is_placed_at_most_once_and_chunks_do_not_matter(
    pages: list[Page], seed: int, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.pdf", *pages)
    whole = analyze(path, 0, len(pages))
    made = compose(whole)
    held: dict[tuple[int, int], list[tuple[int, int] | None]] = {}
    annots: set[tuple[int, int]] = set()
    for ref in refs(made):
        if ref.a is not None:
            assert (ref.p, ref.a) not in annots
            annots.add((ref.p, ref.a))
            continue
        assert ref.o is not None and ref.o[0] < ref.o[1]
        for item in range(*ref.o):
            others = held.setdefault((ref.p, item), [])
            for other in others:
                assert other is not None and ref.c is not None, f"page {ref.p} item {item} is placed twice"
                assert other[1] <= ref.c[0] or ref.c[1] <= other[0]
            others.append(ref.c)
    assert len(annots) == sum(len(p.annots) for p in pages)
    pieces = [a for n in range(len(pages)) for a in analyze(path, n, n + 1)]
    assert pieces == whole
    random.Random(seed).shuffle(pieces)
    assert compose(pieces) == made
    ops.records(made, "0" * 64)  # the schema takes every op


def test_all_text_of_a_plain_page_is_placed(tmp_path: Path) -> None:
    page = (
        Page()
        .text(72, 780, "The canal library", 20, "b")
        .lines(72, 740, PROSE)
        .text(72, 690, "1. One")
        .text(72, 676, "2. Two")
    )
    placed = {
        (r.p, i) for r in refs(compose(analyze(write(tmp_path / "a.pdf", page), 0, 1))) if r.o for i in range(*r.o)
    }
    assert placed == {(0, i) for i in range(6)}


def test_an_analysis_survives_json(tmp_path: Path) -> None:
    page = (
        Page()
        .text(72, 780, "The canal library", 20, "b")
        .lines(72, 740, PROSE)
        .text(72, 690, "1. One")
        .text(72, 676, "2. Two")
    )
    found = analyze(write(tmp_path / "a.pdf", page), 0, 1)
    adapter = TypeAdapter(list[PageAnalysis])
    assert adapter.validate_json(adapter.dump_json(found)) == found


def test_the_title_is_the_first_heading_and_the_language_that_of_the_text(tmp_path: Path) -> None:
    page = Page().text(72, 780, "The canal library", 20, "b").lines(72, 740, PROSE * 2)
    document = compose(analyze(write(tmp_path / "a.pdf", page), 0, 1))[0]
    assert document == ops.Document(title="The canal library", lang="en")


def test_a_list_goes_on_over_the_page_under_the_same_parent(tmp_path: Path) -> None:
    one = Page().lines(72, 780, PROSE * 2).text(80, 120, "1. Open the lock").text(80, 104, "2. Wait for the water")
    two = Page().text(80, 780, "3. Close the lock").lines(72, 740, PROSE)
    made = compose(analyze(write(tmp_path / "a.pdf", one, two), 0, 2))
    adds = [op for op in made if isinstance(op, ops.Add)]
    first = next(n for n in adds[0].nodes if n.role == "L")
    assert [(op.parent, op.nodes[0].role) for op in adds if op.parent != ops.ROOT] == [(first.id, "LI")]


def test_lists_inside_many_cells_keep_all_their_text(tmp_path: Path) -> None:
    pages = []
    for _ in range(6):
        page = Page().lines(72, 800, PROSE)
        for x in (72, 240, 410):
            page.line(x, 500, x, 740)
        for y in range(500, 741, 60):
            page.line(72, y, 410, y)
            if y < 740:
                page.text(80, y + 40, "Access")
                for i in range(3):
                    page.text(248, y + 44 - 14 * i, "\u2022 ramp").text(290, y + 44 - 14 * i, f"number {i} of {y}")
        pages.append(page)
    path = write(tmp_path / "a.pdf", *pages)
    found = analyze(path, 0, 6)
    placed = {(r.p, i) for r in refs(compose(found)) if r.o for i in range(*r.o)}
    with PageReader(path) as reader:
        painted = {(n, i.index) for n in range(6) for i in reader.read(n).items if i.kind == "text"}
    assert placed == painted
    assert compose(found) == compose(found)


def test_a_document_without_text_has_no_nodes(tmp_path: Path) -> None:
    assert [op.type for op in compose(analyze(write(tmp_path / "a.pdf", Page()), 0, 1))] == ["document"]


@pytest.mark.parametrize("words", ["", "two thousand " * 200])
def test_a_placeholder_says_that_it_is_one(words: str) -> None:
    text = alt.placeholder(4, words)
    assert alt.is_placeholder(text) and "page 5" in text and len(text) < 800
    assert alt.waiting([text, "A map of the canal", text]) == 2
