"""A real browser: Debian's Chromium through Playwright. Without either, these tests are skipped and say why."""

from __future__ import annotations

import os
import shutil

import pytest

from dalembert import view, zoo
from studio_page import Page

#: WebGL in software, so that pictures need no graphics card
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def chromium() -> str | None:
    """The path of a Chromium or Chrome, of the variable CHROMIUM or found by name."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("CHROMIUM") or next((p for n in names if (p := shutil.which(n))), None)


@pytest.fixture(scope="session")
def browser():
    """A browser of Playwright's, one for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (extra `test`)")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium or Chrome found; install one (apt install chromium) or name it in CHROMIUM")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser):
    """A new tab of 600 × 400 pixels; it fails the test if the page raises, logs an error or asks for the network.

    `tab.allowed` holds beginnings of addresses it may ask for beside files, data and blobs.
    """
    context = browser.new_context(viewport={"width": 600, "height": 400})
    page = context.new_page()
    page.allowed = []
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda m: trouble.append(m.text) if m.type == "error" else None)
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    yield page
    outside = [url for url in asked if not url.startswith(("file:", "data:", "blob:", *page.allowed))]
    context.close()
    assert not trouble, trouble
    assert not outside, outside


@pytest.fixture
def opened(browser):
    """Opens a studio and its pages: opened(system, state, pages=1, …) → (studio, page, …)."""
    made = []

    def open_(system=None, state=None, pages=1, size=(1000, 620), touch=False, **how):
        studio = view.studio(system or zoo.four_bar().compile(), state=state, open=False, **how)
        found = [Page(browser, studio.url, size, touch=touch) for _ in range(pages)]
        made.append((studio, found))
        return studio, *found

    yield open_
    for studio, pages in made:
        for p in pages:
            p.context.close()
        studio.close()
        for p in pages:
            assert not p.trouble, p.trouble
