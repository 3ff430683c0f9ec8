"""What a newcomer meets: boxes that show what was reached, one clock, units that stay, a start page."""

import math

import pytest

from dalembert import view, zoo
from dalembert.zoo import CATALOG
from studio_page import Page, drop

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


def test_a_file_that_was_opened_is_offered_again(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    slider = zoo.slider_crank()
    slider.save(tmp_path / "m.json")
    with view.studio(open=False) as studio:
        page = Page(browser, studio.url, (1280, 800), "document.querySelector('#templates .thumbnail .bar')")
        assert page.page.locator("#recent-section").is_hidden()
        drop(page, "slider.json", (tmp_path / "m.json").read_text())
        page.until(READY)
        page.page.click("#home")
        page.page.click("#recent button:has-text('slider')")
        page.until(f"document.getElementById('start').hidden && {READY}")
        assert studio.system.name == slider.name
        assert not page.trouble, page.trouble
        page.context.close()


def test_the_tour_goes_from_part_to_part_by_keys_and_ends(browser):
    with view.studio(open=False) as studio:
        page = Page(browser, studio.url, (390, 844), "document.querySelector('#begin button')")
        page.page.click("#begin button:has-text('Tour')")
        page.until("!document.querySelector('.tour').hidden")
        seen = []
        while page.page.locator(".tour").is_visible():
            seen.append(page("document.querySelector('.lit').id || document.querySelector('.lit').textContent"))
            box = page(
                "(r => [r.left, r.top, r.right, r.bottom])(document.querySelector('.tour').getBoundingClientRect())"
            )
            assert min(box[:2]) >= 0
            assert box[2] <= 390
            assert box[3] <= 844
            page.page.keyboard.press("Enter")
        assert seen == ["stage", "left", "report", "simulate", "plots", "Forces", "python", "home"]
        assert page("document.querySelectorAll('.lit').length") == 0
        page.context.close()
        assert not page.trouble, page.trouble


def test_curves_have_the_colours_of_bodies_and_the_units_that_were_chosen_and_are_seen_closer(opened):
    _, page = opened(duration=1.0)
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")
    bodies = page("studio.state.model.scene.bodies.map(b => b.color)")
    assert page("studio.plots.series().map(s => s.color)") == bodies[1:]
    assert page("studio.plots.series()[0].factor") == pytest.approx(180 / math.pi)
    page.page.click("#degrees")
    assert page("studio.plots.series()[0].factor") == 1
    page.page.focus("#plot")
    page.page.keyboard.press("+")
    low, high = page("studio.plots.span")
    assert high - low == pytest.approx(0.7)
    page.page.keyboard.press("0")
    assert page("studio.plots.span") == pytest.approx([0, 1])


def test_the_branch_that_was_left_stays_as_a_ghost_until_something_moves(opened):
    studio, page = opened()
    before = page("[...studio.state.poses]")
    page.page.click("#branch")
    page.until("studio.state.last.source === 'branch'")
    count = len(studio.system.layout.bodies)
    assert page("studio.stage.scene.bodies.length") == 2 * count
    assert page("[...studio.stage.poses]")[7 * count :] == pytest.approx(before)
    page.page.click("#reset")
    page.until("studio.state.last.source === 'reset'")
    assert page("studio.stage.scene.bodies.length") == count


def test_forces_have_their_sizes_beside_them(opened):
    _, page = opened()
    page.page.click("[data-show=forces]")
    page.until("studio.stage.arrows.children.some(x => x.userData.text)")
    said = page("studio.stage.arrows.children.map(x => x.userData.text).filter(Boolean)")
    sizes = [math.hypot(*a["force"]) for a in page("studio.state.arrows")]
    largest = max(sizes)
    assert any(math.isclose(float(text.split()[0]), largest, rel_tol=0.01) for text in said)
    assert all(text.endswith(" N") for text in said)
