"""Animations in a real browser: what is on the stage at a time is the run at that time; play, scrub, keys, looks."""

import numpy as np
import pytest

import dalembert as da
from browser_waiting import until
from dalembert import view, zoo
from dalembert.view.poses import positions_at
from dalembert.view.scene import motion


@pytest.fixture(scope="module")
def five_bar(tmp_path_factory):
    """A run through singular positions and its page."""
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 2.0)
    path = view.animate(run, tmp_path_factory.mktemp("page") / "run.html", traces=["link 3"], forces=True)
    return run, path


def at(tab):
    return np.array(tab.evaluate("[...player.stage.poses]")).reshape(-1, 7)


def opened(tab, path, hash_=""):
    tab.goto(path.as_uri() + hash_)
    until(tab, "!!(window.player && player.stage)")
    return tab


def test_the_stage_shows_the_run_at_its_time(tab, five_bar):
    run, path = five_bar
    opened(tab, path, "#t=0.456")
    for t in (0.456, 0.0, 1.3, 2.0):
        if t != 0.456:
            tab.evaluate("t => player.go(t)", t)
        expected = motion(run.system, positions_at(run, np.array([t])))[0]
        found = at(tab)
        np.testing.assert_allclose(found[:, :3], expected[:, :3], atol=2e-3)  # pictures are 20 ms apart
        turned = np.abs(np.sum(found[:, 3:] * expected[:, 3:], axis=1))
        np.testing.assert_allclose(turned, 1, atol=1e-4)
    assert tab.locator("#play").inner_text() == "Play"  # opened at a time, it rests


def test_play_scrub_and_keys(tab, five_bar):
    run, path = five_bar
    opened(tab, path)
    until(tab, "player.t > 0.05")
    tab.keyboard.press("Space")
    rest = tab.evaluate("player.t")
    tab.wait_for_timeout(150)
    assert tab.evaluate("player.t") == rest
    box = tab.locator("#bar").bounding_box()
    tab.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    assert tab.evaluate("player.t") == pytest.approx(1.5, abs=0.02)
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("player.t") == pytest.approx(1.52, abs=0.02)
    tab.keyboard.press("End")
    assert tab.evaluate("player.t") == pytest.approx(2.0)
    tab.keyboard.press("Home")
    assert tab.evaluate("player.t") == 0
    tab.select_option("#speed", index=6)
    assert tab.evaluate("player.speed") == pytest.approx(10 * tab.evaluate("player.run.speed"))
    assert tab.locator("#bar .passage").count() == len(run.passages) == 2


def test_what_is_shown_can_be_chosen(tab, five_bar):
    _, path = five_bar
    opened(tab, path, "#t=1.0")
    assert tab.evaluate("player.stage.arrows.children.length") > 3  # forces in the joints
    tab.keyboard.press("a")
    assert tab.evaluate("player.stage.arrows.children.length") == 0
    before = tab.evaluate("player.stage.extras.children.length")
    tab.keyboard.press("n")
    tab.keyboard.press("m")
    assert tab.evaluate("player.stage.extras.children.length") > before + 8
    tab.keyboard.press("d")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    for side in ("corner", "plane"):
        tab.select_option("#side", side)
        assert tab.evaluate("player.stage.camera.planar") == (side == "plane")


def test_the_picture_follows_a_machine_that_goes_far(tab, tmp_path):
    system = zoo.rolling_disc().compile()
    run = da.simulate(system, system.state(*zoo.rolling_disc_start()), 6.0)
    opened(tab, view.animate(run, tmp_path / "disc.html", follow="disc"), "#t=5.0")
    tab.wait_for_timeout(200)  # resized and fitted anew
    centre = at(tab)[1, :3].tolist()
    seen = tab.evaluate("p => player.stage.project(p)", centre)
    assert abs(seen["x"] - 300) < 75
    assert 60 < seen["y"] < 340


def test_what_turns_while_it_is_followed_stays_in_the_picture(tab, tmp_path):
    """A sleigh that goes far and turns: the corners of its box are on the canvas at every time."""
    system = zoo.chaplygin_sleigh().compile()
    run = da.simulate(system, system.state(*zoo.chaplygin_sleigh_start()), 3.0)
    tab.goto(view.animate(run, tmp_path / "sleigh.html").as_uri() + "#t=0")
    until(tab, "!!(window.player && player.stage)")
    outside = tab.evaluate("""() => {
      const { stage, run } = player, box = stage.canvas.getBoundingClientRect(), out = []
      for (let k = 0; k <= 12; k++) {
        player.go(run.start + (run.end - run.start) * k / 12)
        const { low, high } = stage.bounds()
        for (let i = 0; i < 4; i++) {
          const { x, y } = stage.project([i & 1 ? high[0] : low[0], i & 2 ? high[1] : low[1], low[2]])
          out.push(Math.max(box.left - x, x - box.right, box.top - y, y - box.bottom))
        }
      }
      return [Math.max(...out), run.follow]
    }""")
    assert outside[1] == "sleigh"
    assert outside[0] < 0


def test_arrows_are_the_reactions(tab, five_bar):
    """The arrow at the first pin, in N, against `constraint_forces` at that state."""
    run, path = five_bar
    opened(tab, path, "#t=1.0")
    names = tab.evaluate("player.run.forces.arrows.map(a => [a.name, a.kind])")
    k = names.index(["A", "force"])
    scale = tab.evaluate("k => player.run.forces.arrows[k].scale", k)
    x = run(1.0)
    wrench = run.system.constraint_forces(x).joints["A"]
    force = run.system.pose(x, "link 1")[:3, :3] @ wrench[3:]
    length = float(np.linalg.norm(force)) * scale / tab.evaluate("player.run.scene.length")
    found = tab.evaluate(
        """k => { const g = player.stage.arrows.children.filter(x => x.type === "Group")[k];
        g.children[0].geometry.computeBoundingBox(); return g.children[0].geometry.boundingBox.max.z; }""",
        k,
    )
    assert found == pytest.approx(length, rel=0.05)
