"""What a newcomer meets: boxes that show what was reached, one clock, units that stay, a start page."""

import math

import pytest

from dalembert import view
from dalembert.zoo import CATALOG
from studio_page import Page

READY = "window.studio?.state.poses && !studio.state.fresh"


def test_a_box_shows_the_value_that_was_reached(opened):
    """The rocker of the four-bar turns back at a dead point: its box then has that angle, in degrees."""
    studio, page = opened()
    name = studio.system.q_names[-1]
    field = page.page.locator(f'#coordinates .slider[data-name="{name}"] input[type="number"]')
    field.fill("500")
    field.press("Enter")
    page.until("!document.getElementById('note').hidden")
    assert studio.session.idle(60)
    page("new Promise(done => setTimeout(done, 300))")
    reached = math.degrees(studio.state[name])
    assert abs(reached) < 499
    assert float(field.input_value()) == pytest.approx(reached, abs=0.1)


def test_clock_and_pose_agree_when_the_page_is_loaded_again(opened):
    studio, page = opened()
    page.page.fill("#duration", "1")
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")
    page("studio.timeline.pause(); studio.timeline.set(0.4, true)")
    assert studio.session.idle(60)
    page.until("Math.abs(studio.state.last.t - 0.4) < 1e-9")
    page.page.reload()
    page.until(f"{READY} && studio.state.runs.A")
    assert studio.state.t == pytest.approx(0.4)
    assert page("studio.timeline.t") == pytest.approx(0.4)
    assert page.page.inner_text("#clock").startswith("0.40 ")
    assert page("studio.plots.t") == pytest.approx(0.4)


def test_units_are_chosen_and_stay_for_another_studio_on_another_port(opened, browser):
    studio, page = opened()
    field = page.page.locator('#coordinates input[type="number"]').first
    name = page("document.querySelector('#coordinates .slider').dataset.name")
    assert float(field.input_value()) == pytest.approx(math.degrees(studio.state[name]), abs=0.1)
    page.page.click("#degrees")
    field = page.page.locator('#coordinates input[type="number"]').first
    assert float(field.input_value()) == pytest.approx(studio.state[name], abs=1e-3)
    with view.studio(open=False) as other:
        tab = page.context.new_page()
        tab.goto(other.url)
        tab.wait_for_function("window.studio")
        assert tab.get_attribute("#degrees", "aria-pressed") == "false"


def test_a_map_offers_two_axes_at_most_as_many_as_freedoms(opened):
    _, page = opened()
    page.page.click("#tab-map")
    chosen = page("[...document.querySelectorAll('#map select')].map(s => s.value)")
    assert chosen[0] != chosen[1]
    assert chosen[1] == "(none)"  # one freedom


def test_the_start_page_opens_a_machine_that_is_held(browser):
    with view.studio(open=False) as studio:
        page = Page(browser, studio.url, (1280, 800), "document.querySelector('#zoo button')")
        assert page("document.querySelectorAll('#zoo button > img').length") == len(CATALOG)
        page.page.locator("#zoo button", has_text="slider crank").last.click()
        page.until(READY)
        assert page.page.locator("#start").is_hidden()
        assert studio.system.name == page.page.inner_text("#title")
        page.context.close()
        assert not page.trouble, page.trouble
