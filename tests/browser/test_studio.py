"""The studio in a real browser: open, drag, play, scrub, parameters, files, reloads, lost connections."""

import time

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from studio_page import drop

pytest.importorskip("websockets", reason="websockets is not installed (extra `studio`)")


def parametric():
    """A four-bar with the length of its crank as a parameter."""
    m = da.Mechanism("four-bar with a parameter", gravity=(0, -9.81, 0))
    a = m.add_parameter("crank length", 0.2)
    crank = m.add_body("crank", mass=1.0, com=(0.1, 0, 0), inertia=da.rod_inertia(1.0, 0.2))
    coupler = m.add_body("coupler", mass=1.5, com=(0.3, 0, 0), inertia=da.rod_inertia(1.5, 0.6))
    rocker = m.add_body("rocker", mass=1.2, com=(0.2, 0, 0), inertia=da.rod_inertia(1.2, 0.4))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(a, 0, 0), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55, 0, 0), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(0.6, 0, 0), rocker.at(0.4, 0, 0))
    m.add_motor("torque", "A")
    return m.compile()


#: how far the ends of coupler and rocker are apart, from the poses that the page draws; lengths of the mechanism
GAP = """() => {
  const p = studio.state.poses, turn = (i, x) => {
    const [w, a, b, c] = p.slice(i + 3, i + 7);
    const way = [1 - 2 * (b * b + c * c), 2 * (a * b + w * c), 2 * (a * c - w * b)];
    return way.map((v, k) => p[i + k] + x * v);
  };
  const one = turn(14, 0.6), two = turn(21, 0.4);
  return Math.hypot(...one.map((v, k) => v - two[k])) / studio.state.model.length;
}"""


def test_a_body_is_dragged_and_the_loop_stays_closed(opened):
    """Every pose that is drawn while the coupler is dragged about closes the loop to 1e-6."""
    studio, page = opened(state=dict(zip("ABD", _start())))
    T = studio.system.pose(studio.state, "coupler")
    hit = page("p => studio.stage.project(p)", (T[:3, :3] @ [0.3, 0, 0] + T[:3, 3]).tolist())
    mouse, before = page.page.mouse, np.array(page("Array.from(studio.state.q)"))
    page(
        "() => { window.gaps = []; window.residuals = []; const f = studio.link.on.pose; studio.link.on.pose ="
        f" (h, a, r) => {{ f(h, a, r); gaps.push(({GAP})()); residuals.push(h.residual); }}; }}"
    )
    mouse.move(hit["x"], hit["y"])
    mouse.down()
    for k in range(40):
        mouse.move(hit["x"] + 60 * np.sin(k / 6), hit["y"] - 40 * (1 - np.cos(k / 6)))
        page.page.wait_for_timeout(10)
    mouse.up()
    page.until("!studio.slides.busy")
    gaps, residuals = page("gaps"), page("residuals")
    assert len(gaps) > 10
    assert max(gaps) < 1e-6
    assert max(residuals) < 1e-9
    assert np.abs(np.array(page("Array.from(studio.state.q)")) - before).max() > 0.02
    np.testing.assert_allclose(page("Array.from(studio.state.q)"), studio.state.q, atol=1e-12)


def _start():
    q, _ = zoo.four_bar_start(0.6)
    return [q[n] for n in "ABD"]


def test_a_run_is_played_paused_and_scrubbed(opened):
    studio, page = opened(parametric(), {"A": 0.6, "B": -0.1, "D": 1.4})
    page.page.fill("#duration", "1.5")
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")
    run = studio.run
    assert run.t[-1] == pytest.approx(1.5)
    page.page.keyboard.press("Space") if page("document.activeElement === document.body") else page.page.click("#play")
    page.until("studio.timeline.playing && studio.timeline.t > 0.1")
    page.page.click("#play")
    assert not page("studio.timeline.playing")
    page.page.focus("#scrub")
    page.page.keyboard.press("Home")
    for _ in range(3):
        page.page.keyboard.press("PageUp")
    t = page.until("studio.timeline.t")
    page.until(f"Math.abs((studio.state.last?.t ?? -1) - {t}) < 1e-6")
    np.testing.assert_allclose(page("Array.from(studio.state.q)"), run(t).q, atol=1e-6)
    assert page("document.querySelectorAll('#groups [role=tab]').length") == 5


def test_a_parameter_is_changed_and_the_run_is_made_again(opened):
    studio, page = opened(parametric(), {"A": 0.6, "B": -0.1, "D": 1.4}, duration=0.5)
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")
    first = page("studio.state.runs.A.number")
    field = page.page.locator("#parameters .slider[data-name='crank length'] input[type=number]")
    field.fill("0.25")
    field.press("Enter")
    page.until(f"studio.state.runs.A?.number > {first}")
    assert studio.run.p[0] == 0.25
    assert np.abs(studio.run.residuals).max() < 1e-8
    page.page.fill("#parameters .slider input[type=number]", "9")  # no loop closes with it
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".toast:has-text('do not close')")
    assert studio.session.bench.p[0] == 0.25


def test_a_file_is_dropped_and_bad_ones_are_refused(opened, tmp_path):
    studio, page = opened()
    drop(page, "broken.yaml", "bodies: [")
    page.page.wait_for_selector(".toast.error")
    assert page("studio.state.model.name") == "four-bar"
    page("document.getElementById('toasts').replaceChildren()")
    drop(page, "big.json", "x" * (8 * 1024 * 1024 + 1))
    page.page.wait_for_selector(".toast.error:has-text('the most that is read')")
    zoo.slider_crank().save(tmp_path / "m.json")
    drop(page, "slider.json", (tmp_path / "m.json").read_text())
    page.until("studio.state.model.name === 'slider-crank'")
    page.until("studio.state.poses && !studio.state.fresh")
    assert studio.system.name == "slider-crank"


def test_two_tabs_a_reload_and_a_lost_connection(opened):
    _, one, two = opened(pages=2)
    one.page.locator("#coordinates .slider[data-name=A] input[type=number]").fill(str(np.degrees(0.8)))
    one.page.keyboard.press("Enter")
    two.until("Math.abs(studio.state.q[0] - 0.8) < 1e-6")
    one.page.reload()
    one.until("window.studio?.state.poses && Math.abs(studio.state.q[0] - 0.8) < 1e-6")
    two("studio.link.socket.close()")
    two.page.wait_for_selector("#lost:not([hidden])", state="attached")
    two.until("studio.link.open && document.getElementById('lost').hidden")
    one.page.locator("#coordinates .slider[data-name=A] input[type=number]").fill(str(np.degrees(0.7)))
    one.page.keyboard.press("Enter")
    two.until("Math.abs(studio.state.q[0] - 0.7) < 1e-6")


def test_everything_is_reached_by_keys_and_has_a_name(opened):
    """Tab goes through every control in the order of the page; each has a text or a label."""
    _, page = opened()
    nameless = page("""() => [...document.querySelectorAll("button, input, select, canvas[role], [role=tab]")]
      .filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length || e.title || e.hidden))
      .map(e => e.outerHTML)""")
    assert nameless == []
    seen = []
    for _ in range(60):
        page.page.keyboard.press("Tab")
        seen.append(page("document.activeElement.id || document.activeElement.tagName"))
    for name in ("open", "save", "python", "reset", "branch", "stage", "simulate", "live", "tab-report"):
        assert name in seen, name
    assert (
        seen.index("open")
        < seen.index("reset")
        < seen.index("stage")
        < seen.index("simulate")
        < seen.index("tab-report")
    )
    page.page.keyboard.press("Escape")
    page("document.activeElement.blur()")
    theme = page("document.documentElement.dataset.theme")
    page.page.keyboard.press("t")
    assert page("document.documentElement.dataset.theme") != theme
    for size in ((1366, 768), (1000, 620)):
        page.page.set_viewport_size({"width": size[0], "height": size[1]})
        root = "document.documentElement"
        assert page(f"{root}.scrollHeight <= innerHeight && {root}.scrollWidth <= innerWidth")
        wide = "n => { const e = document.getElementById(n); return e.scrollWidth > e.clientWidth; }"
        assert page(f"['left', 'centre', 'right', 'time', 'tools', 'plots'].filter({wide})") == []
    page.page.keyboard.press("p")
    page.page.wait_for_selector("#code[open] pre:has-text('import dalembert')")


def test_modes_swing_keys_steer_and_files_are_saved(opened, tmp_path):
    """A mode moves the bodies and leaves the state alone; a key is an input while live; files are saved."""
    entry = zoo.CATALOG["cart_pole"]
    system = entry.build().compile()
    studio, page = opened(system, system.state(*entry.start()), duration=0.3)
    q = studio.state.q.copy()
    page.page.click("#tab-linear")
    page.page.click("#linearize")
    page.page.wait_for_selector("#linear tr.pick")
    page.page.click("#linear tr.pick >> nth=0")
    page.until("studio.state.mode")
    first = page("Array.from(studio.state.poses)")
    page.until(f"studio.state.poses.some((x, k) => Math.abs(x - {first}[k]) > 1e-4)")
    np.testing.assert_array_equal(studio.state.q, q)
    page.page.click("#tab-report")
    page.page.click("#live")
    page.until("studio.state.live && studio.state.last.t > 0.03")
    page("document.activeElement.blur()")
    page.page.keyboard.down("ArrowRight")
    end = time.monotonic() + 20
    while not any(studio.session.bench.u.values()):
        assert time.monotonic() < end
        page.page.wait_for_timeout(20)
    page.page.keyboard.up("ArrowRight")
    page.page.click("#live")
    page.until("!studio.state.live")
    assert studio.state.t > 0.03
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")
    for what, start in (("picture", b"\x89PNG"), ("html", b"<!doctype html>"), ("state", b"{")):
        with page.page.expect_download(timeout=60000) as saved:
            page.page.click("#save")
            page.page.click(f"[data-save={what}]")
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        assert path.read_bytes().lower().startswith(start.lower())
