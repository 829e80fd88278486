"""Replay: content marked where it stands, one tree, the same bytes anywhere; what cannot be is refused with a code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pikepdf
import pypdfium2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdf.errors import Code, PdfError
from pdf.tagging import ops
from pdf.tagging.ops import (
    Add,
    Artifact,
    Attributes,
    Document,
    Merge,
    Move,
    Node,
    Op,
    Place,
    Ref,
    Remove,
    Reset,
    SetAttributes,
    SetRole,
    SetText,
    Split,
)
from pdf.tagging.replay import Replay, digest, replay
from pdf.verify.pixels import check_pixels
from pdf.verify.structure import check
from tests.pdf.tagging.pages import line, make

ROOT = Path(__file__).parents[3]
P: Final = "P"


def played(base: Path, log: Sequence[Op], target: Path | None = None) -> tuple[Path, Replay]:
    """Replay ops over a base."""
    target = target or base.with_name("version.pdf")
    path = base.with_name("ops.jsonl")
    ops.dump(ops.records(list(log), digest(base)), path)
    return target, replay(base, path, target)


def text(path: Path, page: int = 0) -> str:
    with pypdfium2.PdfDocument(path) as document:
        return str(document[page].get_textpage().get_text_range())


def content(path: Path, page: int = 0) -> bytes:
    with pikepdf.open(path) as pdf:
        found = pdf.pages[page].obj.Contents
        return b"".join(p.read_bytes() for p in found) if isinstance(found, pikepdf.Array) else found.read_bytes()


def tree(path: Path) -> list[tuple[int, str]]:
    """Depth and role of every element, in reading order."""
    out: list[tuple[int, str]] = []

    def walk(node: pikepdf.Object, depth: int) -> None:
        for kid in node if isinstance(node, pikepdf.Array) else [node]:
            if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
                out.append((depth, str(kid.S)[1:]))
                if "/K" in kid:
                    walk(kid.K, depth + 1)

    with pikepdf.open(path) as pdf:
        walk(pdf.Root.StructTreeRoot.K, 0)
    return out


def paragraphs(count: int, page: int = 0) -> Add:
    return Add(tuple(Node(f"n{page}.{i}", P, (Ref(page, (i, i + 1)),)) for i in range(count)))


HEAD = Document(title="A title", lang="en")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return make(tmp_path / "base.pdf", [b"".join(line(250 - 20 * i, f"line {i}") for i in range(5))])


def test_content_becomes_a_tree_and_looks_as_before(base: Path) -> None:
    version, made = played(base, [HEAD, paragraphs(5)])
    assert tree(version) == [(0, "Document"), *[(1, P)] * 5]
    assert (made.pages, made.nodes, made.ops) == (1, 6, 2)
    assert text(version) == text(base)
    assert check_pixels(base, version).result == "pass"
    assert not check(base, version).errors


def test_what_nobody_places_is_an_artifact(base: Path) -> None:
    version, _ = played(base, [HEAD, paragraphs(3)])
    assert content(version).count(b"/Artifact") == 1
    assert content(version).count(b"/MCID") == 3
    report = check(base, version)
    assert report.in_artifacts == 2 * len("line0")


def test_the_same_log_gives_the_same_bytes_in_any_process(base: Path, tmp_path: Path) -> None:
    _, made = played(base, [HEAD, paragraphs(5)])
    code = (
        "import sys; from pathlib import Path\nfrom pdf.tagging.replay import replay; replay(*map(Path, sys.argv[1:]))"
    )
    for seed, zone in (("1", "UTC"), ("4711", "Pacific/Kiritimati")):
        other = tmp_path / f"other{seed}.pdf"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT)}
        arguments = [str(base), str(base.with_name("ops.jsonl")), str(other)]
        subprocess.run([sys.executable, "-c", code, *arguments], env=environment, check=True)
        assert digest(other) == made.sha256


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"q BT /F1 12 Tf 20 200 Td (a) Tj (b) Tj ET Q q BT /F1 12 Tf 20 100 Td (c) Tj ET Q", id="q"),
        pytest.param(b"BT /F1 12 Tf 20 200 Td (a) Tj\nq (b) Tj ET Q BT (c) Tj ET", id="badly-nested"),
        pytest.param(b"Q Q BT /F1 12 Tf 20 200 Td (a) Tj 0 -20 Td (b) Tj 0 -20 Td (c) Tj ET", id="closed-too-often"),
        pytest.param(b"q q BT /F1 12 Tf 20 200 Td (a) Tj 0 -20 Td (b) Tj 0 -20 Td (c) Tj", id="never-closed"),
        pytest.param(
            b"BT /F1 12 Tf 20 200 Td (a) Tj ET BI /W 2 /H 2 /BPC 8 /CS /G ID \x00 EI EI "
            b"BT /F1 12 Tf 20 90 Td (c) Tj ET",
            id="inline-image",
        ),
        pytest.param(
            b"/P <</MCID 4>> BDC BT /F1 12 Tf 20 200 Td (a) Tj ET EMC /OC /x BDC BT /F1 12 Tf 20 90 Td (b) Tj ET EMC "
            b"BT /F1 12 Tf 20 50 Td (c) Tj ET",
            id="old-marks",
        ),
        pytest.param(b"/Span BMC BT /F1 12 Tf 20 200 Td (a) Tj (b) Tj (c) Tj ET", id="mark-never-closed"),
        pytest.param(b"BT /F1 12 Tf 20 200 Td (a) Tj ET EMC EMC 10 10 50 50 re f BT 9 9 Td (c) Tj ET", id="stray-EMC"),
    ],
)
def test_marks_are_balanced_and_change_nothing(tmp_path: Path, stream: bytes) -> None:
    base = make(tmp_path / "base.pdf", [stream])
    version, _ = played(base, [HEAD, Add((Node("a", P, (Ref(0, (0, 1)),)), Node("b", P, (Ref(0, (1, 3)),))))])
    assert text(version) == text(base)
    assert check_pixels(base, version).result == "pass"
    marked = content(version)
    assert len(re.findall(rb"\bB[DM]C\b", marked)) == len(re.findall(rb"\bEMC\b", marked))
    assert not check(base, version).errors


@pytest.mark.parametrize(
    "stream",
    [
        b"BT /F1 12 Tf 20 200 Td () Tj (a) Tj () Tj ET BT 20 100 Td [()] TJ (b) Tj ET",
        b"BT /F1 12 Tf 20 200 Td () Tj\nq (a) Tj ET Q BT () Tj (b) Tj ET",
    ],
    ids=["nested", "badly-nested"],
)
def test_an_empty_text_stands_in_a_mark_too(tmp_path: Path, stream: bytes) -> None:
    base = make(tmp_path / "base.pdf", [stream])
    version, _ = played(base, [HEAD, Add((Node("a", P, (Ref(0, (0, 1)),)), Node("b", P, (Ref(0, (1, 2)),))))])
    assert text(version) == text(base)
    depth, outside = 0, 0
    with pikepdf.open(version) as pdf:
        for operands, operator in pikepdf.parse_content_stream(pdf.pages[0]):
            depth += {"BDC": 1, "BMC": 1, "EMC": -1}.get(str(operator), 0)
            outside += str(operator) in ("Tj", "TJ") and depth == 0
            assert depth >= 0 and operands is not None
    assert outside == 0


def test_a_token_cut_between_streams_stays_whole(tmp_path: Path) -> None:
    base = make(tmp_path / "base.pdf", [[b"BT /F1 12 Tf 20 200 Td (one) Tj", b" 0 -20 Td (two) Tj", b" ET"]])
    version, _ = played(base, [HEAD, paragraphs(2)])
    assert text(version) == text(base)
    assert not check(base, version).errors


def test_one_operator_is_split_between_two_elements(tmp_path: Path) -> None:
    base = make(tmp_path / "base.pdf", [b"BT /F1 12 Tf 20 200 Td [(1.) -300 (First \\(item\\))] TJ 0 -20 Td (x) ' ET"])
    label, body = Ref(0, (0, 1), (0, 2)), Ref(0, (0, 1), (2, 99))
    item = Node("i", "LI", (Node("l", "Lbl", (label,)), Node("b", "LBody", (body, Ref(0, (1, 2))))))
    version, _ = played(base, [HEAD, Add((Node("list", "L", (item,)),))])
    assert text(version) == text(base)
    assert check_pixels(base, version).result == "pass"
    report = check(base, version)
    assert not report.errors
    assert (report.in_tree, report.in_artifacts) == (len("1.First(item)x"), 0)


def test_a_form_painted_twice_holds_the_content_of_one_place_each(tmp_path: Path) -> None:
    form = line(100, "in a form") + line(80, "second")
    base = make(tmp_path / "base.pdf", [b"/X Do\n" + line(250, "one"), b"/X Do\n"], {"X": form})
    log: list[Op] = [
        HEAD,
        Add((Node("a", P, (Ref(0, (0, 1)),)), Node("b", P, (Ref(0, (1, 2)),)), Node("c", P, (Ref(0, (2, 3)),)))),
        Add((Node("d", P, (Ref(1, (1, 2)),)),)),
    ]
    version, _ = played(base, log)
    assert [text(version, n) for n in (0, 1)] == [text(base, n) for n in (0, 1)]
    report = check(base, version)
    assert not report.errors
    assert report.in_artifacts == len("inaform")


def test_a_form_of_one_element_is_marked_around(tmp_path: Path) -> None:
    base = make(tmp_path / "base.pdf", [b"/X Do"], {"X": line(100, "a") + line(80, "b")})
    version, _ = played(base, [HEAD, Add((Node("a", "Figure", (Ref(0, (0, 2)),), alt="Two letters"),))])
    assert content(version).count(b"BDC") == 1
    with pikepdf.open(version) as pdf:
        assert "/StructParents" not in pdf.pages[0].obj.Resources.XObject.X
    assert not check(base, version).errors


REFUSED: list[tuple[str, list[Op]]] = [
    ("there is no node", [SetRole(node="nobody", role="H1")]),
    ("there is a node", [Add((Node("n0.0", P),))]),
    ("is held already", [Add((Node("again", P, (Ref(0, (0, 1)),)),))]),
    ("has 5 items", [Add((Node("far", P, (Ref(0, (4, 9)),)),))]),
    ("there is no page", [Add((Node("far", P, (Ref(7, (0, 1)),)),))]),
    ("below itself", [Move(node="n0.0", parent="n0.0")]),
    ("cannot stand in", [Add((Node("cell", "TD"),))]),
    ("cannot stand in", [SetRole(node="n0.0", role="LI")]),
    ("content cannot stand right in", [SetRole(node="n0.0", role="Table")]),
    ("stays as it is", [Remove(node="root")]),
    ("cannot be split", [Split(node="n0.0", at=1, id="x")]),
    ("has no annotation", [Place(node="n0.0", content=(Ref(0, a=0),))]),
    ("there is no place", [Add((Node("late", P),), at=99)]),
]


@pytest.mark.parametrize(("why", "wrong"), REFUSED, ids=[f"{n}-{why}" for n, (why, _) in enumerate(REFUSED)])
def test_what_makes_no_tree_is_refused(base: Path, why: str, wrong: list[Op]) -> None:
    with pytest.raises(PdfError, match=re.escape(why)) as error:
        played(base, [HEAD, paragraphs(5), *wrong])
    assert error.value.code == Code.OP_REFUSED
    assert not base.with_name("version.pdf").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda row: row["op"].update(type="explode"), Code.UNKNOWN_OP),
        (lambda row: row.update(v=2), Code.UNKNOWN_OP),
        (lambda row: row["op"].update(more=1), Code.OP_REFUSED),
        (lambda row: row.update(seq=7), Code.SEQ_GAP),
        (lambda row: row.update(baseHash="0" * 64), Code.WRONG_BASE),
    ],
)
def test_a_log_that_is_not_this_bases_has_its_own_code(base: Path, change, code: Code) -> None:
    rows = ops.records([HEAD, paragraphs(5)], digest(base))
    change(rows[1])
    path = base.with_name("ops.jsonl")
    ops.dump(rows, path)
    with pytest.raises(PdfError) as error:
        replay(base, path, base.with_name("version.pdf"))
    assert error.value.code == code


def test_a_persons_ops_come_after_the_engines(base: Path) -> None:
    log: list[Op] = [
        HEAD,
        paragraphs(5),
        SetRole(node="n0.0", role="H1"),
        SetText(node="n0.0", title="line 0"),
        Merge(node="n0.2", into="n0.1"),
        Artifact(content=(Ref(0, (3, 4)),)),
        Move(node="n0.4", parent="root", at=1),
        Remove(node="n0.3"),
    ]
    version, _ = played(base, log)
    assert tree(version) == [(0, "Document"), (1, "H1"), (1, P), (1, P)]
    report = check(base, version)
    assert not report.errors
    assert report.in_artifacts == len("line3")


def test_reset_undoes_all_before_it(base: Path) -> None:
    version, made = played(base, [HEAD, paragraphs(5), Reset(reason="again"), Add((Node("x", P, (Ref(0, (0, 5)),)),))])
    assert tree(version) == [(0, "Document"), (1, P)]
    assert made.nodes == 2


def test_attributes_texts_and_ids_are_written(base: Path) -> None:
    rows = (
        Node("r1", "TR", (Node("h", "TH", (Ref(0, (0, 1)),), attrs=Attributes(scope="Column", colSpan=2)),)),
        Node("r2", "TR", (Node("d", "TD", (Ref(0, (1, 2)),), lang="de"), Node("e", "TD", (Ref(0, (2, 3)),)))),
    )
    note = Node("note", "Note", (Ref(0, (3, 4)),), actual="read me")
    version, _ = played(base, [HEAD, Add((Node("t", "Table", rows), note))])
    with pikepdf.open(version) as pdf:
        table, noted = pdf.Root.StructTreeRoot.K[0].K
        head = table.K[0].K
        assert (str(head.A.Scope), int(head.A.ColSpan), str(head.A.O)) == ("/Column", 2, "/Table")
        assert str(table.K[1].K[0].Lang) == "de"
        assert (str(noted.ID), str(noted.ActualText)) == ("note", "read me")
        assert pdf.Root.Lang == "en"
        with pdf.open_metadata() as metadata:
            assert (metadata["dc:title"], metadata["pdfuaid:part"]) == ("A title", "1")


def test_a_prefix_then_the_rest_is_one_state(base: Path, tmp_path: Path) -> None:
    whole: list[Op] = [
        HEAD,
        paragraphs(3),
        SetRole(node="n0.0", role="H1"),
        Place(node="n0.1", content=(Ref(0, (3, 4)),)),
    ]
    _, made = played(base, whole)
    rows = ops.records(whole, digest(base))
    log = tmp_path / "parts.jsonl"
    ops.dump(rows[:2], log)
    with log.open("a") as out:
        out.write((tmp_path / "ops.jsonl").read_text().split("\n", 2)[2])
    assert replay(base, log, tmp_path / "parts.pdf").sha256 == made.sha256


ids = st.sampled_from(["root", "n0.0", "n0.1", "n0.2", "n0.3", "n0.4", "x", "y", "gone"])
places = st.one_of(st.none(), st.integers(0, 4))
roles = st.sampled_from(["P", "H1", "L", "LI", "Table", "TR", "TD", "Sect", "Figure", "Note", "TOC"])
refs = st.builds(
    lambda a, b, c: Ref(0, (a, a + b), c if b == 1 else None),
    st.integers(0, 6),
    st.integers(1, 3),
    st.one_of(st.none(), st.tuples(st.integers(0, 3), st.integers(4, 9))),
)
random_op: st.SearchStrategy[Op] = st.one_of(
    st.builds(SetRole, node=ids, role=roles),
    st.builds(SetText, node=ids, alt=st.text(max_size=5)),
    st.builds(SetAttributes, node=ids, attrs=st.builds(Attributes, colSpan=st.integers(1, 3))),
    st.builds(Move, node=ids, parent=ids, at=places),
    st.builds(Merge, node=ids, into=ids),
    st.builds(Split, node=ids, at=st.integers(0, 3), id=st.sampled_from(["x", "y"])),
    st.builds(Remove, node=ids),
    st.builds(Place, node=ids, content=st.tuples(refs), at=places),
    st.builds(Artifact, content=st.tuples(refs)),
    st.builds(Add, nodes=st.tuples(st.builds(Node, st.sampled_from(["x", "y"]), roles, st.tuples(refs))), parent=ids,
              at=places, take=st.booleans()),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(random_op, max_size=8))
def test_a_random_log_makes_a_whole_tree_or_is_refused(base: Path, log: list[Op]) -> None:
    try:
        version, _ = played(base, [HEAD, paragraphs(5), *log])
    except PdfError as error:
        assert error.code == Code.OP_REFUSED
        return
    assert text(version) == text(base)
    found = {finding.rule for finding in check(base, version).errors}
    assert not found & {"parent-tree", "content-not-reached", "text-changed"}


def test_a_field_says_what_it_is_where_its_name_stands(tmp_path: Path) -> None:
    """Of a group of buttons the field is their parent: ISO 14289-1 7.18.4 looks for its description there."""
    base = make(tmp_path / "base.pdf", [line(200, "yes")])
    with pikepdf.open(base, allow_overwriting_input=True) as pdf:
        group = pdf.make_indirect(pikepdf.Dictionary(FT=pikepdf.Name.Btn, T="choice", Kids=pikepdf.Array()))
        box = pikepdf.Array([20, 20, 40, 40])
        kinds = {"/Type": pikepdf.Name.Annot, "/Subtype": pikepdf.Name.Widget, "/Rect": box, "/Parent": group}
        widget = pdf.make_indirect(pikepdf.Dictionary(kinds))
        group.Kids.append(widget)
        pdf.pages[0].obj.Annots = pikepdf.Array([widget])
        pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array([group]))
        pdf.save(base)
    version, _ = played(base, [HEAD, Add((Node("f", "Form", (Ref(0, a=0),), alt="Your choice"),))])
    with pikepdf.open(version) as pdf:
        assert str(pdf.Root.AcroForm.Fields[0].TU) == "Your choice"


def test_metadata_of_before_the_standard_is_made_anew(tmp_path: Path) -> None:
    base = make(tmp_path / "base.pdf", [line(200, "text")])
    with pikepdf.open(base, allow_overwriting_input=True) as pdf:
        old = b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description about=''/></rdf:RDF>"
        pdf.Root.Metadata = pdf.make_stream(old, Type=pikepdf.Name.Metadata, Subtype=pikepdf.Name.XML)
        pdf.save(base)
    version, _ = played(base, [HEAD, Add((Node("p", P, (Ref(0, (0, 1)),)),))])
    with pikepdf.open(version) as pdf, pdf.open_metadata() as metadata:
        assert (metadata["dc:title"], metadata["pdfuaid:part"]) == ("A title", "1")
        assert b" about=" not in pdf.Root.Metadata.read_bytes()
