"""What veraPDF passes and a listener would suffer from is found by our own checks: a good file, damaged on purpose."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name

from pdf.tag import tag
from pdf.tools.verapdf import Vera
from pdf.verify.structure import ERROR, Finding, check
from tests.corpus.samples import compiled
from tests.pdf.fonts import made


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report, tagged by Typst to PDF/UA-1."""
    path = tmp_path_factory.mktemp("good") / "good.pdf"
    compiled("report", path, tagged=True)
    return path


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report, tagged by us: what figures paint is part of the tree."""
    folder = tmp_path_factory.mktemp("drawn")
    compiled("report", folder / "source.pdf", tagged=False)
    tag(folder / "source.pdf", folder / "out")
    return folder / "out" / "source.pdf"


@pytest.fixture(scope="module")
def vera() -> Iterator[Vera]:
    with Vera() as found:
        yield found


def elements(pdf: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    stack = [pdf.Root.StructTreeRoot]
    while stack:
        node = stack.pop()
        if "/S" in node:
            yield node
        kids = node.get("/K")
        for kid in kids if isinstance(kids, Array) else [kids]:
            if isinstance(kid, Dictionary) and "/S" in kid:
                stack.append(kid)


def kids_of(node: pikepdf.Object) -> list[pikepdf.Object]:
    kids = node.get("/K")
    return list(kids) if isinstance(kids, Array) else [] if kids is None else [kids]


def is_a(kid: pikepdf.Object, role: Name) -> bool:
    return isinstance(kid, Dictionary) and kid.get("/S") == role


def document(pdf: pikepdf.Pdf) -> pikepdf.Object:
    top = pdf.Root.StructTreeRoot.K
    return top[0] if isinstance(top, Array) else top


def rewrite_marks(pdf: pikepdf.Pdf, change: Callable[[bytes], bytes]) -> None:
    for page in pdf.pages:
        page.contents_coalesce()
        page.obj.Contents.write(change(page.obj.Contents.read_bytes()))


def all_artifacts(pdf: pikepdf.Pdf) -> None:
    """Everything is decoration; a token paragraph is left in the tree."""
    marks = re.compile(rb"/\w+\s*<<[^>]*/MCID \d+[^>]*>>\s*BDC")
    rewrite_marks(pdf, lambda data: marks.sub(b"/Artifact BMC", data))
    for page in pdf.pages:
        for key in ("/StructParents", "/Annots"):
            if key in page.obj:
                del page.obj[key]
    paragraph = pdf.make_indirect(Dictionary(S=Name.P, P=document(pdf), ActualText="text"))
    document(pdf).K = Array([paragraph])
    pdf.Root.StructTreeRoot.ParentTree = Dictionary(Nums=Array([]))


def one_giant_paragraph(pdf: pikepdf.Pdf) -> None:
    """All content below one P, in the order it was in."""
    giant = pdf.make_indirect(Dictionary(S=Name.P, P=document(pdf), K=Array([])))

    def walk(node: pikepdf.Object, page: pikepdf.Object | None) -> None:
        page = node.get("/Pg", page)
        for kid in kids_of(node):
            if isinstance(kid, int):
                giant.K.append(Dictionary(Type=Name.MCR, Pg=page, MCID=kid))
            elif "/MCID" in kid:
                kid.Pg = kid.get("/Pg", page)
                giant.K.append(kid)
            elif "/S" in kid:
                walk(kid, page)

    walk(document(pdf), None)
    document(pdf).K = Array([giant])
    numbers = pdf.Root.StructTreeRoot.ParentTree
    for entries in parent_arrays(numbers):
        for index in range(len(entries)):
            entries[index] = giant


def parent_arrays(node: pikepdf.Object) -> Iterator[pikepdf.Object]:
    for value in list(node.get("/Nums", []))[1::2]:
        if isinstance(value, Array):
            yield value
    for kid in node.get("/Kids", []):
        yield from parent_arrays(kid)


def headers_to_cells(pdf: pikepdf.Pdf) -> None:
    for element in elements(pdf):
        if element.S == Name.TH:
            element.S = Name.TD


def dropped_paragraphs(pdf: pikepdf.Pdf) -> None:
    """Every other paragraph taken out of the tree; its content stays marked."""
    for element in list(elements(pdf)):
        kept = [kid for n, kid in enumerate(kids_of(element)) if not (n % 2 and is_a(kid, Name.P))]
        if kept and len(kept) < len(kids_of(element)):
            element.K = Array(kept)


def scrambled_order(pdf: pikepdf.Pdf) -> None:
    order = random.Random(1)
    for element in elements(pdf):
        kids = kids_of(element)
        if len(kids) > 4 and element.S not in (Name.TR, Name.Table, Name.LI):
            order.shuffle(kids)
            element.K = Array(kids)


def figures_removed(pdf: pikepdf.Pdf) -> None:
    """Taken out of the tree, as if there was nothing to see; what they paint stays marked."""
    for element in list(elements(pdf)):
        kept = [kid for kid in kids_of(element) if not is_a(kid, Name.Figure)]
        if len(kept) < len(kids_of(element)):
            element.K = Array(kept)


def empty_alternatives(pdf: pikepdf.Pdf) -> None:
    for number, element in enumerate(elements(pdf)):
        if Name.Figure == element.S:
            element.Alt = f"image {number}"


def blank_pages(pdf: pikepdf.Pdf) -> None:
    for page in list(pdf.pages)[2:]:
        page.obj.Contents = pdf.make_stream(b"")


def swapped_text(pdf: pikepdf.Pdf) -> None:
    """Two pages' content exchanged, as when a text layer belongs to another page."""
    pages = list(pdf.pages)
    for key in ("/Contents", "/StructParents", "/Resources"):
        pages[3].obj[key], pages[4].obj[key] = pages[4].obj[key], pages[3].obj[key]
    for element in elements(pdf):  # the tree follows its content
        for kid in [element, *(k for k in kids_of(element) if isinstance(k, Dictionary))]:
            if kid.get("/Pg") is not None and "/Obj" not in kid:
                swapped = {pages[3].obj.objgen: pages[4].obj, pages[4].obj.objgen: pages[3].obj}
                kid.Pg = swapped.get(kid.Pg.objgen, kid.Pg)


DAMAGES = [
    (all_artifacts, {"text-left-out"}),
    (one_giant_paragraph, {"one-element"}),
    (headers_to_cells, {"table-without-headers"}),
    (dropped_paragraphs, {"parent-tree", "content-not-reached"}),
    (scrambled_order, {"order"}),
    (empty_alternatives, {"alt-says-nothing"}),
    (blank_pages, {"text-changed"}),
    (swapped_text, {"text-changed"}),
]


def damaged(good: Path, target: Path, damage: Callable[[pikepdf.Pdf], None]) -> Path:
    with pikepdf.open(good) as pdf:
        damage(pdf)
        pdf.save(target)
    return target


def errors(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.rule for finding in findings if finding.severity == ERROR}


def test_a_good_file_has_no_findings(good: Path) -> None:
    report = check(good, good)
    assert report.findings == ()
    assert report.in_tree > 0.8 * report.text
    assert report.roles["Table"] >= 1


@pytest.mark.parametrize(("damage", "rules"), DAMAGES, ids=[d.__name__ for d, _ in DAMAGES])
def test_a_damage_that_verapdf_passes_is_found(
    good: Path, vera: Vera, tmp_path: Path, damage: Callable[[pikepdf.Pdf], None], rules: set[str]
) -> None:
    bad = damaged(good, tmp_path / "bad.pdf", damage)
    assert vera.check(bad, 12).compliant
    assert errors(check(good, bad).findings) & rules


def test_figures_that_were_taken_out_are_found(drawn: Path, vera: Vera, tmp_path: Path) -> None:
    assert not errors(check(drawn, drawn).findings)
    bad = damaged(drawn, tmp_path / "bad.pdf", figures_removed)
    assert vera.check(bad, 12).compliant
    assert "parent-tree" in errors(check(drawn, bad).findings)


def test_a_placeholder_waits_for_a_person_and_is_no_error(good: Path, tmp_path: Path) -> None:
    def placeholders(pdf: pikepdf.Pdf) -> None:
        for element in elements(pdf):
            if Name.Figure == element.S:
                element.Alt = "Figure without a description, page 3"

    report = check(good, damaged(good, tmp_path / "waiting.pdf", placeholders))
    assert report.figures_waiting > 0
    assert not errors(report.findings)


def test_a_file_without_a_tree_is_an_error(good: Path, tmp_path: Path) -> None:
    def bare(pdf: pikepdf.Pdf) -> None:
        del pdf.Root["/StructTreeRoot"]

    assert errors(check(good, damaged(good, tmp_path / "bare.pdf", bare)).findings) == {"no-tree"}


def test_copies_of_one_page_are_no_decoration(tmp_path: Path) -> None:
    """Each has the same at its edges, as running heads have; it is all there is to read."""
    source = made.document(
        tmp_path / "a.pdf", {"F1": made.standard("Helvetica")}, b"BT /F1 12 Tf 50 280 Td (Dear reader) Tj ET"
    )
    with pikepdf.open(source, allow_overwriting_input=True) as pdf:
        pdf.pages.extend([pdf.pages[0], pdf.pages[0]])
        pdf.save(source)
    tag(source, tmp_path / "out")
    report = check(tmp_path / "out" / "a.base.pdf", tmp_path / "out" / "a.pdf")
    assert not errors(report.findings)
    assert report.in_tree == report.text > 0


def test_what_a_form_paints_is_in_what_encloses_the_form(good: Path, tmp_path: Path) -> None:
    """Text of a form painted inside an artifact is decoration, not content that is not reached."""

    def letterhead(pdf: pikepdf.Pdf, mark: bytes) -> None:
        page = pdf.pages[0]
        form = pdf.make_stream(b"BT /Own 9 Tf 20 20 Td (Letterhead) Tj ET", Subtype=Name.Form, BBox=[0, 0, 300, 300])
        helvetica = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
        form.Resources = Dictionary(Font=Dictionary(Own=pdf.make_indirect(helvetica)))
        page.add_resource(form, Name.XObject, Name.Head)
        page.contents_add(mark + b" BMC /Head Do EMC")

    for mark, expected in ((b"/Artifact", set[str]()), (b"/Span", {"content-not-reached"})):
        bad = damaged(good, tmp_path / "form.pdf", functools.partial(letterhead, mark=mark))
        assert errors(check(bad, bad).findings) == expected
