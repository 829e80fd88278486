"""What a person sees: Dagster's lineage page with its checks, and the verification report of a document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from orchestration.local.browser import chromium
from orchestration.local.services import LOCATION
from orchestration.local.views import DocumentView
from tests.e2e.platform import Running
from tests.e2e.test_pipeline import STAGES
from tests.orchestration.postgres import skip_loudly


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        skip_loudly("no chromium here (apt-get install chromium): the pages were not looked at")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1600, "height": 1000})
    opened.set_default_timeout(60_000)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def seen(platform: Running, samples: Path) -> DocumentView:
    """A published document."""
    (view,) = platform.settled(platform.put("seen.pdf", samples / "letter.pdf"))
    assert view.status == "published"
    return view


def test_the_lineage_shows_the_six_assets_and_the_checks(platform: Running, page: Page, seen: DocumentView) -> None:
    platform.supervisor.wait_ready("webserver")
    # Wide enough for every name to be drawn whole.
    page.set_viewport_size({"width": 2500, "height": 800})
    page.goto(f"{platform.ui}/locations/__repository__@{LOCATION}/asset-groups/remediation/lineage")
    for stage in STAGES:
        expect(page.get_by_text(stage, exact=True).first).to_be_visible(timeout=60_000)
    page.goto(f"{platform.ui}/assets/verification_report?view=checks")
    for check in ("replay", "qpdf", "pixel_diff", "pdf_ua1", "structure"):
        expect(page.get_by_text(check, exact=True).first).to_be_visible(timeout=60_000)


def test_the_report_opens_and_tells_the_verdict(
    platform: Running, page: Page, seen: DocumentView, tmp_path: Path
) -> None:
    assert seen.report_key is not None
    key = str(Path(seen.report_key).with_name("report.html"))
    platform.look.s3.download_file(platform.look.bucket, key, str(tmp_path / "report.html"))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator("body")).to_contain_text("passed")
    expect(page.locator("body")).to_contain_text("PDF/UA-1")
    assert not errors
    assert not [url for url in requests if url.startswith("http")], "the report asks nobody for anything"
