"""What a page of the studio saves, opened again by others; and a gamepad."""

import base64
import json
import time

import numpy as np
import pytest

import dalembert as da
from browser_waiting import until
from dalembert import zoo

pytest.importorskip("websockets", reason="websockets is not installed (extra `studio`)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (Matplotlib brings it)")


def saved(page, what, folder):
    """The file that the menu gives."""
    with page.page.expect_download(timeout=120000) as found:
        page.page.click("#save")
        page.page.click(f"[data-save={what}]")
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


#: a video played to its end: its size, and the largest difference between its first and its last picture
PLAYED = """async data => {
  const video = document.createElement("video"), canvas = document.createElement("canvas");
  Object.assign(video, { muted: true, src: `data:video/webm;base64,${data}` });
  const wait = name => new Promise((good, bad) => {
    video[name] = good;
    video.onerror = () => bad(video.error.message);
  });
  const seen = () => {
    const g = canvas.getContext("2d");
    g.drawImage(video, 0, 0);
    return g.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  await wait("onloadeddata");
  Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight });
  const first = seen(), ended = wait("onended");
  await video.play();
  await ended;
  const last = seen();
  return [canvas.width, canvas.height, first.reduce((most, x, k) => Math.max(most, Math.abs(x - last[k])), 0)];
}"""


def test_everything_that_is_saved_opens_again(opened, browser, tab, tmp_path):
    """PNG and GIF decode, the video plays, both pages open from disk without a network, model and state are read."""
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(0.6))
    studio, page = opened(system, x, duration=0.8)
    page.page.click("#simulate")
    page.until("studio.state.runs.A?.more")

    with Image.open(saved(page, "picture", tmp_path)) as picture:
        assert np.asarray(picture.convert("L"), dtype=float).std() > 5  # not blank
    with Image.open(saved(page, "gif", tmp_path)) as gif:
        assert gif.n_frames > 5
        first = np.asarray(gif.convert("L"), dtype=float)
        gif.seek(gif.n_frames - 1)
        assert np.abs(np.asarray(gif.convert("L"), dtype=float) - first).max() > 50  # it moved
    film = saved(page, "video", tmp_path).read_bytes()
    assert film[:4] == b"\x1aE\xdf\xa3"
    blank = browser.new_page()
    width, height, moved = blank.evaluate(PLAYED, base64.b64encode(film).decode())
    blank.close()
    assert min(width, height) > 100
    assert moved > 50

    for what in ("model", "yaml"):
        model = da.read(saved(page, what, tmp_path)).compile()
        assert (model.name, model.q_names) == (system.name, system.q_names)
    assert "<svg" in saved(page, "svg", tmp_path).read_text()
    assert saved(page, "glb", tmp_path).read_bytes()[:4] == b"glTF"
    state = json.loads(saved(page, "state", tmp_path).read_text())
    np.testing.assert_allclose(state["q"], studio.state.q, atol=1e-15)

    player, live = saved(page, "html", tmp_path), saved(page, "live", tmp_path)
    tab.context.set_offline(True)
    tab.goto(player.as_uri())
    until(tab, "!!(window.player && player.stage)")
    for t in (0.0, 0.31, 0.8):
        tab.evaluate("t => player.go(t)", t)
        assert _gap(np.array(tab.evaluate("[...player.stage.poses]"))) < 1e-4  # m, between two pictures
    tab.goto(live.as_uri())
    until(tab, "!!window.live && live.drawn > 0")
    assert tab.evaluate("live.machine.residual()") < 1e-12
    tab.focus("#coordinates input")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("live.machine.residual()") < 1e-10
    np.testing.assert_allclose(tab.evaluate("live.data.map.start.q"), studio.state.q, atol=1e-12)


def _gap(poses):
    """How far the ends of coupler and rocker are apart, m."""
    from scipy.spatial.transform import Rotation

    ends = []
    for pose, x in zip(poses.reshape(-1, 7)[2:], (0.6, 0.4)):
        ends.append(pose[:3] + Rotation.from_quat(pose[[4, 5, 6, 3]]).apply([x, 0, 0]))
    return float(np.linalg.norm(ends[0] - ends[1]))


def test_a_gamepad_steers_and_esc_stops(opened):
    """Half of a stick is half of the input, a stick let go is none; Esc ends what is live, from within a field too."""
    entry = zoo.CATALOG["cart_pole"]
    system = entry.build().compile()
    studio, page = opened(system, system.state(*entry.start()))
    name = system.u_names[0]
    page("() => { window.pad = { axes: [0, 0, 0, 0] }; navigator.getGamepads = () => [null, window.pad]; }")

    def steered(stick, wanted):
        page("x => { pad.axes[0] = x; }", stick)
        end = time.monotonic() + 30
        while abs(studio.session.bench.u[name] - wanted) > 1e-9:
            assert time.monotonic() < end, studio.session.bench.u
            page.page.wait_for_timeout(20)

    page.page.click("#live")
    page.until("studio.state.live && studio.state.last.t > 0.03")
    most = page("n => [...document.querySelectorAll('#inputs .slider')].find(e => e.dataset.name === n) && 10", name)
    steered(0.5, 0.5 * most)
    steered(-0.25, -0.25 * most)
    steered(0.05, 0.0)  # sticks do not come back to zero quite
    page.page.focus("#duration")
    page.page.keyboard.press("Escape")
    page.until("!studio.state.live")


def test_esc_stops_a_search_and_says_so(opened, monkeypatch):
    """The page answers all the while; after Esc it is free of endless work, and a note names what was stopped."""

    def endless(*given, **more):
        while True:
            sum(range(100))

    monkeypatch.setattr("dalembert.studio.hand.equilibrium", endless)
    studio, page = opened()
    page.page.keyboard.press("e")
    page.until("!document.getElementById('stop').hidden")
    field = page.page.locator("#coordinates .slider[data-name=A] input[type=number]")
    field.fill("45")
    field.press("Enter")
    page.until("Math.abs(studio.state.q[0] - Math.PI / 4) < 1e-6")
    page.page.keyboard.press("Escape")
    assert studio.session.lanes["study"].idle()
    page.page.wait_for_selector(".toast:has-text('stopped: looking for an equilibrium')")
    page.until("document.getElementById('stop').hidden")
