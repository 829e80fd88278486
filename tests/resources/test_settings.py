"""Settings: read in one place, wrong ones refused, all of them in the README."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from resources.settings import load_settings
from tests.resources.settings_table import README, written


def test_the_readme_lists_every_setting() -> None:
    text = README.read_text(encoding="utf-8")
    assert written(text) == text, "python -m tests.resources.settings_table writes it anew"


@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_PAGES", "0"), ("MAX_PAGES", "many"), ("PUBLISH_POLICY", "whatever"), ("CEILING_WARN_FRACTION", "7")],
)
def test_a_wrong_value_fails_loudly(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError, match=name.lower()):
        load_settings()


def test_names_of_parts_derive_from_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACK_NAME", "mine")
    found = load_settings()
    assert (found.bucket, found.work_table, found.key_alias) == ("mine-documents", "mine-work", "alias/mine")
    monkeypatch.setenv("BUCKET_NAME", "other")
    assert load_settings().bucket == "other"
