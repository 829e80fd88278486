"""The browser of this machine, for pictures and for the tests of what a person sees."""

from __future__ import annotations

import shutil


def chromium() -> str | None:
    """The path of the system's Chromium; None where there is none."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
