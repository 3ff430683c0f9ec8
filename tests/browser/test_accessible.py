"""Every control has a name, for screen readers and for keys: own checks, and axe where it is installed."""

import os
from pathlib import Path

import pytest

from dalembert import view
from studio_page import Page

AXE = Path(os.environ.get("AXE", "build/node_modules/axe-core/axe.min.js"))
READY = "window.studio && document.querySelector('#begin button')"
NAMELESS = """() => [...document.querySelectorAll("button, input, select, a, [role=application], [role=tab]")]
  .filter(x => !(x.getAttribute("aria-label") || x.labels?.length || x.textContent.trim() || x.title))
  .map(x => x.outerHTML)"""
TWICE = """() => { const ids = [...document.querySelectorAll("[id]")].map(x => x.id);
  return ids.filter((id, k) => ids.indexOf(id) !== k); }"""


def shown(page, what):
    """A studio page with one of its faces shown."""
    if what != "start":
        page.page.click("#templates button:has-text('four-bar')")
        page.until("studio.draw.told && studio.state.poses && !studio.state.fresh")
    if what == "mechanism":
        page.page.click("#move-it")


@pytest.fixture(params=["start", "sketch", "mechanism"])
def face(request, browser):
    with view.studio(open=False) as studio:
        page = Page(browser, studio.url, (1280, 800), READY)
        shown(page, request.param)
        yield page
        page.context.close()
        assert not page.trouble, page.trouble


def test_every_control_has_a_name_and_every_id_is_used_once(face):
    assert face(NAMELESS) == []
    assert face(TWICE) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(face, theme):
    if not AXE.is_file():
        pytest.skip(
            "axe-core is not installed; `npm install --no-save --prefix build axe-core`, or name axe.min.js in AXE"
        )
    if face("document.documentElement.dataset.theme") != theme:
        face.page.click("#theme")
    face(AXE.read_text(encoding="utf-8") + "; true")
    found = face("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 160))])")
    assert found == []
