"""The stage in a real browser: bodies are where their poses say, and picking, dragging and pictures agree with them."""

import base64
import io

import numpy as np
import pytest

from dalembert import zoo
from dalembert.view import web
from dalembert.view.scene import motion, scene

MAIN = """
import { createStage } from "dalembert/stage.js";
export function main({ scene, poses }) {
  window.stage = createStage(document.getElementById("view"), scene, { theme: "light" });
  stage.setPoses(poses);
  stage.camera.fit();
  stage.render();
}
"""


SHOT = """async () => new Promise(async done => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",")[1]);
  reader.readAsDataURL(await stage.screenshot());
})"""


@pytest.fixture
def opened(tab, tmp_path):
    """Show a mechanism of the zoo, and return the tab, the system, its state and its scene."""

    def show(name, **how):
        entry = zoo.CATALOG[name]
        system = entry.build().compile(backend="casadi")
        x = system.state(*entry.start())
        s = scene(system, x.q, **how)
        data = {"scene": s.to_dict(), "poses": motion(system, x.q)[0].ravel().tolist()}
        body = web.packed(data, "dalembert/main.js", {"dalembert/main.js": MAIN})
        (tmp_path / "page.html").write_text(
            f"<!doctype html><body style='margin:0'><div id='view' style='height:100vh'></div>{body}</body>"
        )
        tab.goto((tmp_path / "page.html").as_uri())
        tab.wait_for_function("window.stage")
        return tab, system, x, s

    return show


@pytest.mark.parametrize("name", ["four_bar", "stewart"])
def test_bodies_are_picked_where_their_poses_say(opened, name):
    """A point of a body, projected to the screen, is picked as that body, and both forms of the point agree."""
    tab, system, x, s = opened(name)
    body = s.bodies[2]
    solid = next(solid for solid in body.solids if not solid.joint)
    T = system.pose(x, body.name)
    centre = T[:3, :3] @ solid.T.p + T[:3, 3]
    at = tab.evaluate("p => stage.project(p)", centre.tolist())
    assert 0 < at["x"] < 600
    assert 0 < at["y"] < 400
    hit = tab.evaluate("({x, y}) => stage.pick(x, y)", at)
    assert hit["body"] == body.name
    world = T[:3, :3] @ hit["pointInBody"] + T[:3, 3]
    np.testing.assert_allclose(world, hit["point"], atol=1e-5 * s.length)
    assert np.linalg.norm(hit["point"] - centre) < 4 * s.thickness
    assert tab.evaluate("stage.pick(3, 3)") is None


def test_a_drag_moves_in_the_plane_of_the_mechanism(opened):
    tab, system, x, _ = opened("four_bar")
    tab.evaluate("""() => { window.seen = []; stage.onDrag({
      start: hit => { seen.push(["start", hit.body]); return true; },
      move: m => seen.push(["move", m.body, m.target]), end: m => seen.push(["end", m.body]) }); }""")
    pin = system.pose(x, "coupler")[:3, 3]
    middle = pin + 0.3 * system.pose(x, "coupler")[:3, 0]
    a = tab.evaluate("p => stage.project(p)", middle.tolist())
    wanted = middle + np.array([0.05, 0.03, 0])
    b = tab.evaluate("p => stage.project(p)", wanted.tolist())
    before = tab.evaluate("stage.camera.get()")
    tab.mouse.move(a["x"], a["y"])
    tab.mouse.down()
    tab.mouse.move(b["x"], b["y"], steps=3)
    tab.mouse.up()
    seen = tab.evaluate("seen")
    assert [e[0] for e in seen] == ["start", "move", "move", "move", "end"]
    assert {e[1] for e in seen} == {"coupler"}
    np.testing.assert_allclose(seen[-2][2][:2], wanted[:2], atol=3e-3)  # a pixel
    assert tab.evaluate("stage.camera.get()") == before  # the picture stayed


def test_a_picture_of_the_stage_shows_the_machine(opened):
    image = pytest.importorskip("PIL.Image")
    tab, *_ = opened("stewart")
    for theme, dark in (("light", False), ("dark", True)):
        tab.evaluate("t => stage.setTheme(t)", theme)
        raw = base64.b64decode(tab.evaluate(SHOT))
        pixels = np.asarray(image.open(io.BytesIO(raw)).convert("RGB"), dtype=float)
        assert (pixels[2, -2].mean() < 60) == dark  # the background
        colours = np.ptp(pixels, axis=2) > 60
        assert 0.02 < colours.mean() < 0.5
        rows, _ = np.nonzero(colours)
        assert np.ptp(rows) > 0.6 * len(pixels)  # no speck
