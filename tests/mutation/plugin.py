"""A pytest plugin that makes one condition of the store hold always: that of the site ``MUTATE`` names."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from resources import table
from tests.mutation.sites import ROOT, Site, sites

#: True of every item, and of none.
ALWAYS = "attribute_exists(pk) OR attribute_not_exists(pk)"


def pytest_configure(config: pytest.Config) -> None:
    """Take the condition away, for this process."""
    name = os.environ["MUTATE"]
    (site,) = (one for one in sites() if one.name == name)
    _blank(site)


def _blank(site: Site) -> None:
    made = table.Write.__init__
    path = str(ROOT / site.path)

    def init(self: table.Write, *args: Any, **fields: Any) -> None:
        made(self, *args, **fields)
        if self.condition is None:
            return
        frame = sys._getframe(1)
        if frame.f_code.co_name == "_change" and Path(frame.f_code.co_filename).name == "rows.py":
            assert frame.f_back is not None
            frame = frame.f_back
        if frame.f_code.co_filename == path and site.first <= frame.f_lineno <= site.last:
            object.__setattr__(self, "condition", f"({self.condition}) OR {ALWAYS}")

    table.Write.__init__ = init  # type: ignore[method-assign]
