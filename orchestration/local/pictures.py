"""Pictures of what a person sees, for the README: ``make pictures`` while ``make run`` keeps the UI up.

Taken with the system's Chromium, of the run that is up now: lineage, a document's checks, a report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from orchestration.local.browser import chromium
from orchestration.local.places import Places
from orchestration.local.services import LOCATION
from orchestration.local.supervise import Record

#: The UI draws after its data has come; nothing tells when it has finished.
SETTLE_MS = 9000


class ViewportSize(TypedDict):
    """In CSS pixels."""

    width: int
    height: int


SIZE: ViewportSize = {"width": 1600, "height": 1000}
WIDE: ViewportSize = {"width": 2500, "height": 680}


class NothingToSee(RuntimeError):
    """There is no browser, or nothing runs; the argument says which, in a sentence."""


def take(places: Places, folder: Path) -> Iterator[Path]:
    """Take the pictures into ``folder``; yields each. Raises ``NothingToSee``."""
    browser_path = chromium()
    if browser_path is None:
        raise NothingToSee("there is no Chromium here (Debian: apt-get install chromium)")
    ui = Record(places.record).facts().get("ui")
    if ui is None or not Record(places.record).alive():
        raise NothingToSee("nothing runs: start it with make run, and leave it up")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NothingToSee("Playwright is not installed: make test sets it up") from error
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "lineage": f"{ui}/locations/__repository__@{LOCATION}/asset-groups/remediation/lineage",
        "checks": f"{ui}/assets/verification_report?view=checks",
        "metadata": f"{ui}/assets/verification_report?view=overview",
    }
    report = next(iter(sorted(places.results.glob("*/report.html"))), None)
    if report is not None:
        pages["report"] = report.resolve().as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        for name, url in pages.items():
            # The lineage is wide: at the usual width its boxes show no more than names.
            page.set_viewport_size(WIDE if name == "lineage" else SIZE)
            page.goto(url)
            page.wait_for_timeout(SETTLE_MS)
            path = folder / f"{name}.png"
            page.screenshot(path=path)
            yield path
        browser.close()
