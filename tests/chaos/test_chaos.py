"""A short chaos, one of many that `make chaos` can make: a few kills, cut lines, lost answers; nothing is amiss."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.run import chaos


def test_a_few_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    assert chaos(tmp_path, seed=7, kills=5, documents=3, seconds=120, say=said.append) == [], said
    assert any("kills" in text for text in said)
