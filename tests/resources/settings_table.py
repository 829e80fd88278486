"""The table of settings in the README: ``python -m tests.resources.settings_table`` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from resources.settings import Settings

README = Path(__file__).parents[2] / "README.md"
_PLACE = re.compile(r"(<!-- settings: .*? -->\n).*?(<!-- /settings -->)", re.DOTALL)


def table() -> str:
    """A row a field of the settings: its variable, default and meaning."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`" if field.default != "" else "(empty)"
        lines.append(f"| `{name.upper()}` | {default} | {field.description} |")
    return "\n".join(lines) + "\n"


def written(text: str) -> str:
    """The README with the table as it must be."""
    return _PLACE.sub(lambda found: found[1] + table() + found[2], text)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
