"""The oracles and the verdict: a genuine save passes, one changed byte fails, a missing oracle is never a pass."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from pdf.errors import Code, PdfError
from pdf.sandbox import Limits, Outcome, Sandbox, client
from pdf.sandbox.client import clean_environment
from pdf.sandbox.confine import without_network
from pdf.tag import tag
from pdf.tools import verapdf
from pdf.tools.verapdf import Vera, VeraFailed, read_report
from pdf.verify import checks, pixels, report, structure
from pdf.verify.checks import ORACLES, Check, Result, undecided, verdict
from pdf.verify.verify import VERIFICATION, verify
from tests.corpus.samples import compiled
from tests.pdf.sandbox.test_sandbox import gone


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with article.pdf, article.base.pdf and article.ops.jsonl."""
    folder = tmp_path_factory.mktemp("tagged")
    source = folder / "in" / "article.pdf"
    source.parent.mkdir()
    compiled("article", source, tagged=False)
    tag(source, folder)
    return folder


@pytest.fixture(scope="module")
def rooms() -> Iterator[tuple[Sandbox, Vera]]:
    with Sandbox(Limits(wall_seconds=120)) as sandbox, Vera() as vera:
        yield sandbox, vera


def files(folder: Path) -> tuple[Path, Path, Path]:
    return folder / "article.base.pdf", folder / "article.ops.jsonl", folder / "article.pdf"


def test_a_genuine_save_passes_everything(tagged: Path, rooms: tuple[Sandbox, Vera], tmp_path: Path) -> None:
    sandbox, vera = rooms
    base, log, version = files(tagged)
    found = verify(base, log, version, sandbox=sandbox, vera=vera)
    assert (found.verdict, found.ua1_compliant, found.shortcomings()) == ("passed", True, [])
    assert [check.name for check in found.checks] == list(ORACLES)
    assert all(check.tool for check in found.checks)
    facts = tmp_path / "verify.json"
    facts.write_bytes(VERIFICATION.dump_json(found))
    assert VERIFICATION.validate_json(facts.read_bytes()) == found
    page = tmp_path / "report.html"
    report.render(facts, base, version, "<Title>", page)
    text = page.read_text()
    assert "passed" in text and "&lt;Title&gt;" in text and "http" not in text.split("</style>")[1]


def test_one_changed_byte_fails_replay(tagged: Path, tmp_path: Path) -> None:
    base, log, version = files(tagged)
    data = bytearray(version.read_bytes())
    data[-2] ^= 1
    other = tmp_path / "other.pdf"
    other.write_bytes(data)
    assert checks.check_replay(base, log, other).result == Result.FAIL
    assert checks.check_replay(base, log, version, "0" * 64).result == Result.FAIL


def test_a_dropped_op_fails_replay(tagged: Path, tmp_path: Path) -> None:
    base, log, version = files(tagged)
    rows = log.read_text().splitlines(keepends=True)
    for name, kept in (("last", rows[:-1]), ("middle", [rows[0], *rows[2:]])):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(kept))
        assert checks.check_replay(base, path, version).result == Result.FAIL


def test_a_damaged_file_fails_qpdf(tagged: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pdf"
    data = files(tagged)[2].read_bytes()
    cut.write_bytes(data[len(data) // 3 : len(data) // 2])
    assert checks.check_qpdf(cut).result == Result.FAIL
    assert checks.check_qpdf(files(tagged)[2]).result == Result.PASS


def drawn_over(version: Path, target: Path, box: str = "100 100 60 60") -> Path:
    with pikepdf.open(version) as pdf:
        page = pdf.pages[0]
        page.contents_add(b"/Artifact BMC 0 g " + box.encode() + b" re f EMC")
        pdf.save(target)
    return target


def test_a_page_that_looks_different_fails_unless_declared(tagged: Path, tmp_path: Path) -> None:
    base, _, version = files(tagged)
    other = drawn_over(version, tmp_path / "other.pdf")
    found = pixels.check_pixels(base, other)
    assert (found.result, found.detail["differing_pages"]) == (Result.FAIL, [1])
    assert pixels.check_pixels(base, other, "A font was replaced.").result == Result.WAIVED
    assert pixels.check_pixels(base, drawn_over(version, tmp_path / "dot.pdf", "100 100 1 1")).result == Result.PASS


def test_a_page_more_or_of_another_size_fails(tagged: Path, tmp_path: Path) -> None:
    base, _, version = files(tagged)
    with pikepdf.open(version) as pdf:
        pdf.add_blank_page()
        pdf.save(tmp_path / "more.pdf")
    assert pixels.check_pixels(base, tmp_path / "more.pdf").result == Result.FAIL
    with pikepdf.open(version) as pdf:
        pdf.pages[0].mediabox = pikepdf.Array([0, 0, 400, 400])
        pdf.save(tmp_path / "smaller.pdf")
    assert pixels.check_pixels(base, tmp_path / "smaller.pdf").result == Result.FAIL


def test_tiles_cover_every_page_once_and_stay_small() -> None:
    for width, height in ((1, 1), (1275, 1650), (30_001, 30_001), (5, 90_000)):
        found = list(pixels.tiles(width, height))
        assert sum(w * h for _, _, w, h in found) == width * height
        assert max(w * h for _, _, w, h in found) <= pixels.TILE_PIXELS


GOOD = [Check(name, Result.PASS, "", "t") for name in ORACLES]


@pytest.mark.parametrize("name", ORACLES)
def test_without_any_one_oracle_nothing_passes(name: str) -> None:
    assert verdict(GOOD) == "passed"
    assert verdict([c for c in GOOD if c.name != name]) == "could_not_verify"
    assert verdict([undecided(name, "x") if c.name == name else c for c in GOOD]) == "could_not_verify"


def test_a_failure_outweighs_what_could_not_be_verified() -> None:
    for name in (checks.REPLAY, checks.QPDF, checks.PIXELS):
        mixed = [Check(c.name, Result.FAIL if c.name == name else Result.COULD_NOT_VERIFY, "", "") for c in GOOD]
        assert verdict(mixed) == "failed"
    not_ua = [Check(c.name, Result.FAIL if c.name == checks.UA1 else Result.PASS, "", "") for c in GOOD]
    assert verdict(not_ua) == "passed"
    waived = [Check(c.name, Result.WAIVED if c.name == checks.PIXELS else Result.PASS, "", "") for c in GOOD]
    assert verdict(waived) == "passed"


@pytest.mark.parametrize("missing", [checks.check_replay, checks.check_qpdf, pixels.check_pixels, structure.check])
def test_a_tool_that_dies_could_not_verify(tagged: Path, rooms: tuple[Sandbox, Vera], missing) -> None:
    sandbox, vera = rooms

    class Dying(Sandbox):
        def call(self, function, /, *args, limits=None, **kwargs) -> Outcome[Any]:
            if function is missing:
                raise PdfError(Code.CHILD_KILLED, "It was killed.")
            return sandbox.call(function, *args, limits=limits, **kwargs)

    found = verify(*files(tagged), sandbox=Dying(), vera=vera)
    assert "It was killed." in " ".join(found.shortcomings())
    if missing is not structure.check:
        assert found.verdict == "could_not_verify"


def test_without_verapdf_nothing_passes(
    tagged: Path, rooms: tuple[Sandbox, Vera], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox, _ = rooms
    with Vera(command="/nonexistent/verapdf") as missing:
        found = verify(*files(tagged), sandbox=sandbox, vera=missing)
    assert (found.verdict, found.ua1_compliant) == ("could_not_verify", None)
    environment = clean_environment()
    monkeypatch.setattr(verapdf, "clean_environment", lambda: environment | {"PYTHONPATH": "/nonexistent"})
    with Vera() as broken, pytest.raises(VeraFailed):
        broken.check(files(tagged)[2], 2)


def test_verapdf_says_which_rules_fail_and_where(tagged: Path, rooms: tuple[Sandbox, Vera], tmp_path: Path) -> None:
    with pikepdf.open(files(tagged)[2]) as pdf:
        del pdf.Root["/Lang"]
        pdf.Root.ViewerPreferences.DisplayDocTitle = False
        pdf.save(tmp_path / "bad.pdf")
    found = rooms[1].check(tmp_path / "bad.pdf", 2)
    assert not found.compliant
    assert {rule.clause for rule in found.failed} >= {"7.1", "7.2"}
    assert all(rule.description and rule.count for rule in found.failed)


def test_verapdf_survives_what_is_no_pdf_and_a_hang(rooms: tuple[Sandbox, Vera], tagged: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.pdf"
    text.write_text("no PDF")
    with pytest.raises(VeraFailed):
        rooms[1].check(text, 1)
    with pytest.raises(VeraFailed, match="longer"):
        rooms[1].check(files(tagged)[2], 2, seconds=0.001)
    assert rooms[1].check(files(tagged)[2], 2).compliant


REPORT = """<report><buildInformation><releaseDetails id="core" version="1.30"/></buildInformation><jobs><job>
<validationReport profileName="{profile}" isCompliant="{ok}"><details>{rules}</details></validationReport></job></jobs>
</report>"""
RULE = """<rule clause="7.1" testNumber="8" status="failed" failedChecks="2"><description>No XMP</description>
<check><context>root/document[0]/pages[3]</context></check></rule>"""
UA1 = "PDF/UA-1 validation profile"


def test_the_report_of_the_command_is_read() -> None:
    good = read_report(REPORT.format(profile=UA1, ok="true", rules="").encode(), 0)
    assert (good.compliant, good.tool) == (True, "veraPDF 1.30 (command)")
    bad = read_report(REPORT.format(profile=UA1, ok="false", rules=RULE).encode(), 1)
    (rule,) = bad.failed
    assert (rule.name, rule.count, rule.pages, rule.description) == ("7.1-8", 2, (4,), "No XMP")


@pytest.mark.parametrize(
    ("xml", "code"),
    [
        (REPORT.format(profile=UA1, ok="true", rules=""), 1),
        (REPORT.format(profile=UA1, ok="false", rules=RULE), 0),
        (REPORT.format(profile=UA1, ok="true", rules=RULE), 0),
        (REPORT.format(profile="PDF/A-1B", ok="true", rules=""), 0),
        (REPORT.format(profile=UA1, ok="true", rules=""), 7),
        ("<report/>", 0),
        ("no XML", 0),
        ("", 0),
    ],
)
def test_a_command_that_contradicts_itself_is_no_answer(xml: str, code: int) -> None:
    with pytest.raises(VeraFailed):
        read_report(xml.encode(), code)


@pytest.mark.parametrize("module", ["pikepdf", "pypdfium2", "jpype", "opendataloader_pdf"])
def test_with_a_tool_taken_away_nothing_passes(
    tagged: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    """Not there at all, for every process that opens files: pikepdf is the engine of replay and qpdf."""
    (tmp_path / f"{module}.py").write_text(f"raise ModuleNotFoundError('{module} was taken away', name='{module}')")
    environment = clean_environment()
    without = environment | {"PYTHONPATH": f"{tmp_path}:{environment['PYTHONPATH']}"}
    monkeypatch.setattr(client, "clean_environment", lambda: without)
    monkeypatch.setattr(verapdf, "clean_environment", lambda: without)
    with Sandbox(Limits(wall_seconds=60)) as sandbox, Vera() as vera:
        found = verify(*files(tagged), sandbox=sandbox, vera=vera)
    assert found.verdict == "could_not_verify"
    assert found.shortcomings()


def test_verapdf_out_of_memory_is_no_answer_and_no_end(tagged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heaps = verapdf.HEAPS
    with Vera() as vera:
        monkeypatch.setattr(verapdf, "HEAPS", ((100_000, 6),))
        with pytest.raises(VeraFailed, match=r"memory|start"):
            vera.check(files(tagged)[2], 2)
        monkeypatch.setattr(verapdf, "HEAPS", heaps)
        assert vera.check(files(tagged)[2], 2).compliant


def test_java_writes_where_it_is_removed_and_leaves_nothing_when_it_dies(tagged: Path, tmp_path: Path) -> None:
    heavy = tmp_path / "heavy.pdf"
    with pikepdf.open(files(tagged)[2]) as pdf:
        pdf.pages[0].contents_add(b"/Artifact BMC " + b"0 0 1 1 re f\n" * 400_000 + b"EMC")
        pdf.save(heavy)
    others = set(Path(tempfile.gettempdir()).glob("tmp_pdf_file*"))
    work = tmp_path / "work"
    work.mkdir()
    with Vera(work=work) as vera:
        vera.check(files(tagged)[2], 2)
        assert len(list(work.iterdir())) == 1
        assert vera._process is not None
        killed = threading.Timer(0.5, vera._process.kill)
        killed.start()
        with contextlib.suppress(VeraFailed):
            vera.check(heavy, 2)
        killed.join()
        assert vera.check(files(tagged)[2], 2).compliant
        assert len(list(work.iterdir())) == 1
    assert list(work.iterdir()) == []
    assert set(Path(tempfile.gettempdir()).glob("tmp_pdf_file*")) == others


def test_a_file_that_qpdf_rejects_still_has_its_pages(tagged: Path, rooms: tuple[Sandbox, Vera]) -> None:
    sandbox, vera = rooms

    class Strict(Sandbox):
        def call(self, function, /, *args, limits=None, **kwargs) -> Outcome[Any]:
            found = sandbox.call(function, *args, limits=limits, **kwargs)
            if function is checks.check_qpdf:
                return replace(found, value=Check(checks.QPDF, Result.FAIL, "The file is damaged.", "qpdf"))
            return found

    found = verify(*files(tagged), sandbox=Strict(), vera=vera)
    assert (found.verdict, found.pages) == ("failed", 2)


def test_a_warm_verapdf_is_replaced_after_some_files(tagged: Path) -> None:
    seen = []
    with Vera(recycle_after=2) as vera:
        for _ in range(3):
            assert vera.check(files(tagged)[2], 2).compliant
            assert vera._process is not None
            seen.append(vera._process.pid)
        assert seen[0] == seen[1] != seen[2]
        assert not Path(f"/proc/{seen[0]}").exists()


def test_long_documents_get_a_larger_java(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def start(vera: Vera, heap: int, seconds: float) -> None:
        started.append(heap)
        raise VeraFailed("not here")

    monkeypatch.setattr(Vera, "_start", start)
    for pages in (1, 100, 101, 400, 401, 50_000):
        with Vera() as vera, pytest.raises(VeraFailed):
            vera.check(Path("x"), pages)
    assert started == [768, 768, 1536, 1536, 3072, 3072]


def command(path: Path, script: str) -> str:
    """A program in the place of a `verapdf` command."""
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return str(path)


def test_a_verapdf_command_is_the_other_engine(
    tagged: Path, rooms: tuple[Sandbox, Vera], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "plainly-fake")
    good = tmp_path / "good.xml"
    good.write_text(REPORT.format(profile=UA1, ok="true", rules=""))
    said = tmp_path / "said"
    script = f'echo "$@" > {said}\nenv >> {said}\ncat {good}\n'
    with Vera(command=command(tmp_path / "verapdf", script)) as vera:
        found = verify(*files(tagged), sandbox=rooms[0], vera=vera)
    assert (found.verdict, found.ua1_compliant) == ("passed", True)
    assert found.check(checks.UA1).tool == "veraPDF 1.30 (command)"
    assert f"--flavour ua1 --format xml {files(tagged)[2]}" in said.read_text()
    assert "plainly-fake" not in said.read_text()


def test_nothing_outlives_a_verapdf_command(tagged: Path, tmp_path: Path) -> None:
    """It is a script that starts Java: given up, both end."""
    marker = uuid.uuid4().hex
    hangs = f"{sys.executable} -c 'import time; time.sleep(600)' {marker}"
    leaves = f"sh -c 'sleep 600; : {marker}' &"
    for script, seconds in ((hangs, 3.0), (leaves, 20.0)):
        with Vera(command=command(tmp_path / "verapdf", script + "\n")) as vera, pytest.raises(VeraFailed):
            vera.check(files(tagged)[2], 2, seconds)
        assert gone(marker)


@pytest.mark.parametrize(("script", "seconds"), [("exit 9", 20), ("kill -9 $$", 20), ("sleep 60", 0.3), ("echo x", 20)])
def test_a_verapdf_command_that_fails_is_no_answer(tagged: Path, tmp_path: Path, script: str, seconds: float) -> None:
    with Vera(command=command(tmp_path / "verapdf", script)) as vera, pytest.raises(VeraFailed):
        vera.check(files(tagged)[2], 2, seconds)


def test_verapdf_is_confined(rooms: tuple[Sandbox, Vera], tagged: Path) -> None:
    rooms[1].check(files(tagged)[2], 2)
    process = rooms[1]._process
    assert process is not None
    at = Path(f"/proc/{process.pid}")
    child = os.fork()
    if child == 0:
        os._exit(0 if without_network() else 1)
    allowed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ((at / "ns/net").readlink() != Path("/proc/self/ns/net").readlink()) is allowed
    limits = (at / "limits").read_text()
    assert re.search(r"Max data size +2415919104 ", limits), "heap and what Java needs beside it"
    assert re.search(r"Max file size +67108864 ", limits)
    assert not re.search(rb"AWS_|DAGSTER_", (at / "environ").read_bytes())
