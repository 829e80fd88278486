"""The base: optimized, its fonts made whole, the same bytes every time."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pikepdf
import pytest
from pydantic import TypeAdapter

from pdf.base import Base, make_base
from pdf.errors import Code, PdfError
from tests.corpus.plain import letter
from tests.corpus.samples import damaged
from tests.pdf.test_optimize import pictures


@pytest.mark.parametrize("thorough", [False, True])
def test_a_base_is_what_it_says(tmp_path: Path, thorough: bool) -> None:
    letter(tmp_path / "a.pdf")
    base = make_base(tmp_path / "a.pdf", tmp_path / "b.pdf", thorough=thorough)
    data = (tmp_path / "b.pdf").read_bytes()
    assert (base.sha256, base.size, base.pages) == (hashlib.sha256(data).hexdigest(), len(data), 2)
    assert base.fonts.fonts == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pdf", "b.pdf"]
    if base.fonts.changes:
        assert base.pixel_changes_reason is not None


def test_another_process_gives_the_same_bytes(tmp_path: Path) -> None:
    letter(tmp_path / "a.pdf")
    base = make_base(tmp_path / "a.pdf", tmp_path / "b.pdf")
    code = (
        "import sys,pathlib; from pdf.base import make_base; print(make_base(*map(pathlib.Path, sys.argv[1:])).sha256)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.pdf"), str(tmp_path / "c.pdf")],
        env={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == base.sha256


def test_thorough_is_smaller_for_wasteful_files(tmp_path: Path) -> None:
    source = pictures(tmp_path / "a.pdf")
    quick = make_base(source, tmp_path / "b.pdf")
    thorough = make_base(source, tmp_path / "c.pdf", thorough=True)
    assert thorough.optimization.chosen == "lossless"
    assert thorough.size < 0.8 * quick.size
    assert quick.pixel_changes_reason is None


def test_a_base_travels_as_json(tmp_path: Path) -> None:
    letter(tmp_path / "a.pdf")
    base = make_base(tmp_path / "a.pdf", tmp_path / "b.pdf")
    adapter = TypeAdapter(Base)
    assert adapter.validate_json(adapter.dump_json(base)) == base


def test_what_cannot_be_opened_leaves_nothing(tmp_path: Path) -> None:
    damaged(tmp_path / "a.pdf")
    with pytest.raises(PdfError) as caught:
        make_base(tmp_path / "a.pdf", tmp_path / "b.pdf")
    assert caught.value.code is Code.SOURCE_DAMAGED
    assert [p.name for p in tmp_path.iterdir()] == ["a.pdf"]


def test_the_base_opens_and_has_object_streams(tmp_path: Path) -> None:
    letter(tmp_path / "a.pdf")
    make_base(tmp_path / "a.pdf", tmp_path / "b.pdf")
    with pikepdf.open(tmp_path / "b.pdf") as pdf:
        assert any(thing.get("/Type") == "/XRef" for thing in pdf.objects if isinstance(thing, pikepdf.Stream)) or (
            b"/ObjStm" in (tmp_path / "b.pdf").read_bytes()
        )
