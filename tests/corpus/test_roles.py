"""The engine's roles for our own samples agree with those their sources say they have.

Thresholds are what was measured, rounded down. Where they are below 1 the source marks things in another way than the
engine does, and the reason stands beside it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import typst

from pdf.tag import tag
from tests.corpus.roles import agreement
from tests.corpus.samples import SAMPLES, Sample, compiled, missing_fonts

#: sample → the least share of characters of each role that must agree; roles not named: 0.97
EXPECTED: dict[str, dict[str, float]] = {
    # the source's title is a plain text there; here it is heading 1 and the sections are one lower
    "article.pdf": {"heading 1": 0.0, "heading 2": 0.0, "table": 0.6, "list": 0.95},
    # names in a first column beside figures are headers here, cells there
    "slides.pdf": {"table": 0.25},
    "chinese.pdf": {"table": 0.8},
    "arabic.pdf": {"table": 0.55},
    # leaders of the contents are artifacts there
    "manual.pdf": {"artifact": 0.45},
    # and a list of terms is a list there
    "report.pdf": {"artifact": 0.1, "table": 0.45, "list": 0.7},
}
TAGGED = [s for s in SAMPLES if s.source is not None and s.name != "handout.pdf"]


@pytest.mark.parametrize("sample", TAGGED, ids=lambda s: s.name)
def test_roles(sample: Sample, tmp_path: Path) -> None:
    if missing_fonts(sample, typst.Fonts().families()):
        pytest.skip("its fonts are not installed")
    assert sample.source is not None
    source, twin = tmp_path / sample.name, tmp_path / "twin.pdf"
    sample.make(source)
    compiled(sample.source, twin, tagged=True)
    tag(source, tmp_path / "out")
    found = agreement(twin, tmp_path / "out" / sample.name)
    least = EXPECTED.get(sample.name, {})
    low = {r: round(same / total, 3) for r, (same, total) in found.items() if same / total < least.get(r, 0.97)}
    assert not low
    assert sum(same for same, _ in found.values()) >= 0.8 * sum(total for _, total in found.values())
