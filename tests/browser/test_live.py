"""A page that is alive, in a real browser: opened from disk, moved, dropped, dragged, by pointer and by keyboard."""

import numpy as np
import pytest

import dalembert as da
from browser_waiting import until
from dalembert import zoo

SOURCE = "system = da.zoo.four_bar().compile()"


@pytest.fixture(scope="module")
def four_bar(tmp_path_factory):
    """A four-bar, its start, and its page."""
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(0.6))
    path = tmp_path_factory.mktemp("live") / "four bar é.html"
    return system, x, da.view.export_html(system, path, x, traces=["coupler"], title="<four> & bar", source=SOURCE)


@pytest.fixture
def opened(tab, four_bar):
    """The page in a tab without a network."""
    tab.context.set_offline(True)
    tab.goto(four_bar[2].as_uri())
    until(tab, "!!window.live && live.drawn > 0")
    return tab


def test_the_page_is_small_and_says_its_name(opened, four_bar):
    assert four_bar[2].stat().st_size < 1_000_000
    assert opened.title() == "<four> & bar"
    assert opened.inner_text("h1") == "<four> & bar"
    assert "src=" not in four_bar[2].read_text(encoding="utf-8").split('id="packed"')[0]


def test_the_browser_gives_the_librarys_numbers(opened, four_bar):
    """Singular values to 1e-12; half a second with the lengths of the native steps: states to 1e-12."""
    system, x, _ = four_bar
    report = system.report(x)
    found = opened.evaluate("live.machine.singular()")
    assert abs(found["least"] - report.singular_values[-1]) < 1e-12
    run = da.simulate(system, x, 0.5)
    rows = opened.evaluate(
        "t => { const m = live.machine; m.begin(); const out = []; for (let k = 1; k < t.length; k++) {"
        "m.run.set('step.h', t[k] - t[k - 1]); m.step(t[k]); out.push(Array.from(m.last.row)) } return out }",
        run.t.tolist(),
    )
    states = np.hstack([run.q, run.v])[1:]
    assert np.abs(np.array(rows)[:, : states.shape[1]] - states).max() < 1e-12


def test_drop_pause_and_reset(opened, four_bar):
    """Dropped it falls with its energy kept and its loops closed; reset brings it back to the bit."""
    opened.click("#drop")
    until(opened, "live.machine.t > 0.1")
    opened.click("#play")
    t, gap, error, speed = opened.evaluate(
        "(m => [m.t, m.residual(), m.energyError(), Math.max(...m.v.map(Math.abs))])(live.machine)"
    )
    assert gap < 1e-12
    assert abs(error) < 1e-8
    assert speed > 0.1
    system, x, _ = four_bar
    fallen = da.simulate(system, system.state(x.q), t)
    np.testing.assert_allclose(opened.evaluate("Array.from(live.machine.q)"), fallen.q[-1], atol=1e-8)
    opened.wait_for_timeout(100)
    assert opened.evaluate("live.machine.t") == t
    assert opened.inner_text("#play") == "Play"
    opened.keyboard.press("r")
    assert opened.evaluate("Array.from(live.machine.q)") == x.q.tolist()


def test_a_slider_moves_the_mechanism_by_keyboard(opened, four_bar):
    """Arrow keys turn the crank; all coordinates follow, loops closed, and the numbers are said."""
    opened.focus("#coordinates input")
    before = opened.evaluate("Array.from(live.machine.q)")
    for _ in range(8):
        opened.keyboard.press("ArrowRight")
    after = opened.evaluate("Array.from(live.machine.q)")
    assert after[0] > before[0]
    assert max(abs(a - b) for a, b in zip(after[1:], before[1:])) > 1e-4
    assert opened.evaluate("live.machine.residual()") < 1e-10
    assert opened.inner_text("#coordinates output") == f"{np.degrees(after[0]):.1f}°"


def test_a_dead_point_is_said(opened):
    """Led by its rocker, a four-bar stops where crank and coupler are in line; the page says so."""
    opened.evaluate(
        "() => { const c = live.data.coordinates.find(c => c.name === 'D'); live.leaders = [c]; live.lead(c, 3.0) }"
    )
    assert "dead point" in opened.inner_text("#say")
    assert opened.evaluate("live.machine.residual()") < 1e-10


def test_a_body_is_dragged(opened):
    """The pointer takes the coupler along its path: the point that was pressed stays under it, loops closed."""
    place = "(q) => live.stage.project(live.machine._place(q, 2, [0.3, 0, 0]))"
    start = opened.evaluate(f"({place})(live.machine.q)")
    aim = opened.evaluate(f"({place})(live.machine.bring(live.machine.q, {{ 0: [0, live.machine.q[0] + 0.5] }}).q)")
    opened.mouse.move(start["x"], start["y"])
    opened.mouse.down()
    gaps = []
    for k in range(1, 7):
        opened.mouse.move(*(start[c] + (aim[c] - start[c]) * k / 6 for c in "xy"))
        gaps.append(opened.evaluate("live.machine.residual()"))
    opened.mouse.up()
    found = opened.evaluate(f"({place})(live.machine.q)")
    assert abs(aim["x"] - start["x"]) + abs(aim["y"] - start["y"]) > 20
    assert abs(found["x"] - aim["x"]) + abs(found["y"] - aim["y"]) < 3
    assert max(gaps) < 1e-10


def test_modes_swing_and_colours_change(opened):
    opened.click("#modes button")
    opened.wait_for_timeout(250)
    first = opened.evaluate("[live.mode, Array.from(live.machine.q), live.machine.residual()]")
    opened.wait_for_timeout(250)
    second = opened.evaluate("Array.from(live.machine.q)")
    assert first[0] == 0
    assert first[1] != second
    assert first[2] < 1e-10
    shade = opened.evaluate("document.documentElement.dataset.shade")
    opened.click("#theme")
    assert opened.evaluate("document.documentElement.dataset.shade") != shade


def test_what_cannot_be_written_is_said(tmp_path, four_bar):
    system, x, _ = four_bar
    with pytest.raises(da.ArgumentError, match="no folder"):
        da.view.export_html(system, tmp_path / "no" / "a.html", x)
    with pytest.raises(da.ArgumentError, match="theme"):
        da.view.export_html(system, tmp_path / "a.html", x, theme="blue")


def test_the_page_goes_on_in_python_and_reports_freedoms(opened, four_bar):
    """The snippet of the page makes the mechanism in the position that the page shows."""
    system, _, _ = four_bar
    opened.focus("#coordinates input")
    for _ in range(3):
        opened.keyboard.press("ArrowRight")
    opened.click("#python summary")
    until(opened, "document.getElementById('code').textContent.length > 0")
    code = opened.inner_text("#code").splitlines()
    space = {}
    exec("\n".join(line for line in code if not line.startswith(("print", "run ="))), space)
    np.testing.assert_allclose(space["x"].q, opened.evaluate("Array.from(live.machine.q)"), atol=1e-12)
    assert opened.inner_text("#freedoms") == str(system.report(space["x"]).mobility)
    opened.click("#copy")
    until(opened, "/Copied|Ctrl C/.test(document.getElementById('say').textContent)")


OUTLINES = """() => live.stage.scene.bodies.map(b => Math.max(0, ...b.shapes.map(s => {
  const o = s.joint ? [] : s.outline ?? []
  let most = 0
  for (let i = 0; i < o.length; i += 2)
    for (let j = 0; j < i; j += 2) most = Math.max(most, Math.hypot(o[i] - o[j], o[i + 1] - o[j + 1]))
  return most
})))"""


def test_bodies_are_as_long_as_their_parameters_say(tab, tmp_path):
    """Crank, rod and ground of a linkage are changed by their sliders' values: shapes span what is joined."""
    lengths = {"ground": 0.6, "crank": 0.2, "rod": 0.6, "rocker": 0.5}
    pins = {
        "A": (0, 0),
        "B": lambda p: (p["ground"], 0),
        "C": lambda p: ("A", p["crank"], 1.0),
        "D": lambda p: ("C", p["rod"], "B", p["rocker"], 1),
    }
    bodies = {"crank": "A C", "rod": "C D", "rocker": "D B"}
    system = da.Linkage("lengths", pins, ground="A B", bodies=bodies, parameters=lengths).compile()
    page = da.view.export_html(system, tmp_path / "lengths.html", modes=False)
    tab.goto(page.as_uri())
    until(tab, "!!window.live && live.drawn > 0")
    before = tab.evaluate(OUTLINES)
    more = {"ground": 0.7, "crank": 0.27, "rod": 0.75, "rocker": 0.5}
    tab.evaluate("values => values.forEach((x, k) => live.give('p', k, x))", [more[n] for n in system.p_names])
    wider = np.array(tab.evaluate(OUTLINES)) - before
    for name, change in zip(system.layout.bodies, wider):
        if name in bodies:
            assert change == pytest.approx(more[name] - lengths[name], abs=1e-4)  # arcs have corners
    assert tab.evaluate("live.machine.residual()") < 1e-10
