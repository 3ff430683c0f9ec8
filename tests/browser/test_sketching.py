"""Linkages drawn from nothing by mouse and by touch in a real browser, and compared with closed forms."""

import math
import runpy

import numpy as np
import pytest

import dalembert as da
from dalembert import view
from studio_page import Page

SHOWN = """JSON.stringify([studio.draw.told.sketch, studio.draw.pending, studio.draw.sight.scale, studio.draw.sight.x,
  studio.draw.sight.y, document.getElementById('paper').getBoundingClientRect()])"""
SIZES = {"phone": (390, 844), "laptop": (1280, 800), "wall": (2560, 1440)}


class Paper(Page):
    """A page that draws: pens are taken and places, in m, are pressed."""

    def __init__(self, browser, studio, size=SIZES["laptop"], touch=False):
        self.studio, self.touch = studio, touch
        super().__init__(browser, studio.url, size, "window.studio && document.querySelector('#begin button')", touch)

    def begin(self):
        self.page.click("#begin button")
        self.until("studio.draw.told && studio.draw.open")
        return self

    def at(self, place):
        box = self.page.locator("#paper").bounding_box()
        x, y = self("p => studio.draw.sight.px(p)", list(place))
        return box["x"] + x, box["y"] + y

    def press(self, *places):
        for place in places:
            if self.touch:
                self.page.touchscreen.tap(*self.at(place))
            else:
                self.page.mouse.click(*self.at(place))
            self.calm()
        return self

    def calm(self):
        """Wait until the stroke has been to the session and back: sketch, view and layout stay as they are."""
        before, now = None, ""
        while before != now:
            self("new Promise(done => setTimeout(done, 150))")
            assert self.studio.session.lanes["hand"].idle(20)
            before, now = now, self(SHOWN)

    def pen(self, name, *places, end=False):
        self.page.click(f'[data-pen="{name}"]')
        self.press(*places)
        if end:
            self.page.keyboard.press("Enter")
        self("new Promise(done => setTimeout(done, 50))")
        return self

    def drag(self, start, end):
        self.page.mouse.move(*self.at(start))
        self.page.mouse.down()
        a, b = self.at(start), self.at(end)
        for k in range(1, 9):
            self.page.mouse.move(*(p + (q - p) * k / 8 for p, q in zip(a, b)))
        self.page.mouse.up()
        self.settle()

    def settle(self):
        """Wait until what was drawn is told and compiled."""
        self("new Promise(done => setTimeout(done, 100))")
        assert self.studio.session.idle(120)
        self("new Promise(done => setTimeout(done, 100))")


@pytest.fixture
def paper(browser):
    made = []

    def open_(**how):
        studio = view.studio(open=False)
        made.append((studio, Paper(browser, studio, **how)))
        return made[-1][1]

    yield open_
    for studio, page in made:
        page.context.close()
        studio.close()
        assert not page.trouble, page.trouble


A, D, B, C, P = (0.0, 0.0), (0.6, 0.0), (0.1, 0.2), (0.6, 0.4), (0.4, 0.5)
E, F = (0.85, 0.0), (0.7, 0.45)  # of a second loop on the coupler


def draw_four_bar(page):
    page.pen("ground", A, D).pen("bar", A, B).pen("plate", B, C, P, end=True).pen("bar", C, D).pen("motor", A)
    return page.pen("trace", P)


def circles(a, ra, b, rb, side):
    """Where two circles meet, to the left of a → b for side > 0."""
    way = b - a
    L = np.linalg.norm(way)
    x = (L**2 + ra**2 - rb**2) / (2 * L)
    return a + (x * way + side * math.sqrt(ra**2 - x**2) * np.array([-way[1], way[0]])) / L


def side_of(a, b, c):
    return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def placed(a, b, c, from_a, from_b):
    """The corner over (from_a, from_b) of the triangle that is a, b, c as drawn."""
    return circles(from_a, math.dist(a, c), from_b, math.dist(b, c), side_of(a, b, c))


def four_bar(turn):
    """Places of B, C and P when the crank has turned: two circles meet."""
    c, s = math.cos(turn), math.sin(turn)
    at_b = np.array([c * B[0] - s * B[1], s * B[0] + c * B[1]])
    at_c = circles(at_b, math.dist(B, C), np.array(D), math.dist(C, D), side_of(B, D, C))
    return at_b, at_c, placed(B, C, P, at_b, at_c)


def compare(studio, names, closed_form, turns):
    """Sweeps of the sketch's mechanism and of its script: pins are where the closed form has them."""
    space = {}
    exec(studio.session.script.text, space)
    for system in (studio.system, space["system"]):
        m = system.layout.mechanism
        sweep = system.sweep({"A": turns}, system.state())
        assert sweep.success, sweep.message
        for k, turn in enumerate(turns):
            for name, at in zip(names, closed_form(turn)):
                assert np.allclose(system.pose(sweep.state(k), m.pin(name))[:2, 3], at, atol=1e-9)


@pytest.mark.parametrize(("size", "touch"), [("phone", True), ("laptop", False), ("wall", False)])
def test_a_four_bar_drawn_from_nothing_moves_as_the_closed_form(paper, size, touch):
    page = draw_four_bar(paper(size=SIZES[size], touch=touch).begin())
    page.settle()
    told = page.page.inner_text("#facts")
    assert told.startswith("Mobility 1 · 0 redundant"), told
    pins = page.studio.session.drawing.sketch.pins
    assert [pins[n] for n in "ABCDE"] == [A, D, B, C, P]
    compare(page.studio, "CDE", four_bar, np.linspace(0, 2 * np.pi, 25))
    assert page("document.querySelectorAll('#paper .curve').length") == 1
    assert page("document.documentElement.scrollWidth <= innerWidth")


def test_a_six_bar_drawn_saved_and_read_again_moves_as_the_closed_form(paper, tmp_path):
    """A Stephenson linkage: a dyad P F E on the coupler's point of a four-bar."""
    page = draw_four_bar(paper().begin())
    page.pen("ground", E).pen("bar", P, F).pen("bar", F, E)
    page.settle()
    assert page.page.inner_text("#facts").startswith("Mobility 1 · 0 redundant")

    def six_bar(turn):
        at_b, at_c, at_p = four_bar(turn)
        at_f = circles(at_p, math.dist(P, F), np.array(E), math.dist(E, F), side_of(P, E, F))
        return at_b, at_c, at_p, at_f

    turns = np.linspace(0, 0.6, 7)
    compare(page.studio, "CDEG", six_bar, turns)
    with page.page.expect_download() as download:
        page.page.click("#save")
        page.page.click('[data-save="yaml"]')
    download.value.save_as(tmp_path / "six.yaml")
    system = da.read(tmp_path / "six.yaml").compile()
    ours = page.studio.system.sweep({"A": turns}, page.studio.system.state())
    theirs = system.sweep({"A": turns}, system.state())
    assert np.allclose(ours.q, theirs.q, atol=1e-11)
    with page.page.expect_download() as download:
        page.page.click("#save")
        page.page.click('[data-save="python"]')
    download.value.save_as(tmp_path / "model.py")
    assert runpy.run_path(str(tmp_path / "model.py"))["system"].p_names == system.p_names
    page.page.click("#move-it")
    page.until("!studio.draw.open && studio.state.poses && !studio.state.fresh")


def test_points_are_dragged_lengths_typed_steps_undone_and_parts_copied(paper):
    page = draw_four_bar(paper().begin())
    drawing = page.studio.session.drawing
    page.pen("select").drag(P, (0.3, 0.6))
    assert drawing.sketch.pins["E"] == (0.3, 0.6)
    page.page.keyboard.press("Control+z")
    page.settle()
    assert drawing.sketch.pins["E"] == P
    field = page.page.locator('#dimensions input[data-edge="A C"]')
    field.fill("0.15")
    field.press("Enter")
    page.settle()
    assert math.dist(drawing.sketch.pins["A"], drawing.sketch.pins["C"]) == pytest.approx(0.15, abs=1e-12)
    assert math.dist(drawing.sketch.pins["C"], drawing.sketch.pins["D"]) == pytest.approx(math.dist(B, C), abs=1e-11)
    page.page.click("#millimetres")
    assert field.input_value() == "150"
    page.page.locator("#paper").focus()
    page.press(drawing.sketch.pins["E"], drawing.sketch.pins["D"])
    page.page.keyboard.press("Control+d")
    page.settle()
    assert len(drawing.sketch.pins) == 7
    page.page.keyboard.press("Delete")
    page.settle()
    assert set(drawing.sketch.pins) == {"A", "B", "C", "F", "G"}
    assert "mobility" in page.page.inner_text("#facts").lower()


def test_dead_points_of_a_driven_rocker_are_drawn(paper):
    page = paper().begin()
    page.pen("ground", A, D).pen("bar", A, B).pen("bar", B, C).pen("bar", C, D).pen("motor", D)
    page.settle()
    assert "2 dead points of B" in page.page.inner_text("#facts")
    assert page("document.querySelectorAll('#paper .dead').length") == 6


def test_lengths_follow_a_path_that_is_drawn_by_mouse_and_undo_takes_them_back(paper):
    """An ellipse is drawn for the coupler's pin of a template: its curve goes along it, and is drawn."""
    page = paper()
    page.page.click("#templates button:has-text('four-bar')")
    page.until("studio.draw.told && studio.draw.open")
    page.settle()
    drawing = page.studio.session.drawing
    before = drawing.sketch
    wanted = [(0.25 + 0.25 * math.cos(a), 0.55 + 0.12 * math.sin(a)) for a in np.linspace(0, 2 * math.pi, 25)]
    page.page.click('[data-pen="follow"]')
    page.page.mouse.move(*page.at(wanted[0]))
    page.page.mouse.down()
    for place in wanted[1:]:
        page.page.mouse.move(*page.at(place))
    page.page.mouse.up()
    page.settle()
    assert drawing.sketch != before
    assert set(drawing.sketch.members) == set(before.members)
    told = page("studio.draw.told")
    curve = np.array(next(c["places"] for c in told["curves"] if c["pin"] == "E")) @ (1, 1j)
    far = np.abs(np.array(told["wanted"]) @ (1, 1j) - curve[:, None]).min(axis=0)
    assert far.max() < 0.02  # of 0.5 m, places of the curve being a hundredth apart
    assert page("document.querySelectorAll('#paper .wanted').length") == 1
    page.page.keyboard.press("Control+z")
    page.settle()
    assert drawing.sketch == before
