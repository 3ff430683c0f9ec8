"""What dragging in the studio costs: a step, messages, the way to the page and back, and the page itself.

python -m benchmarks.studio

Steps and poses are CPU time of one thread. The round trip and the page are measured by the clock, so they hold for an
idle computer only. The page is one of a Chromium that draws in software, if there is one, measured twice: with its
rasterizer, and with WebGL's calls to draw left out, which is what the page itself costs on any graphics.
"""

import json
import shutil
import time

import numpy as np

from dalembert import view, zoo
from dalembert.studio.bench import Bench
from dalembert.studio.dragging import Dragging, Pull

STEPS = 200


def measured(system, x, body: str) -> tuple[float, float, float]:
    """(median, 95 %) of the CPU time of a step, ms, and the largest residual: a point of a body goes round."""
    drag = Dragging(system)
    drag.warm(body)
    q = drag.begin(x.q)
    point = system.layout.bodies[body].com.astype(float)
    T = system.pose(system.state(q), body)
    first = T[:3, :3] @ point + T[:3, 3]
    times, gaps, size = [], [], min(drag.length, 2.0)
    for k in range(STEPS):
        a = 2 * np.pi * k / 100
        to = first + 0.1 * size * np.array([np.sin(a), 1 - np.cos(a), 0.3 * np.sin(2 * a)])
        began = time.thread_time()
        moved = drag.drag(q, [Pull(body, tuple(point), tuple(to))], seconds=10.0)
        times.append(time.thread_time() - began)
        gaps.append(np.abs(system.residuals(system.state(moved.q)) / drag.units).max(initial=0.0))
        q = moved.q
    return 1e3 * float(np.median(times)), 1e3 * float(np.quantile(times, 0.95)), float(max(gaps))


def round_trip(system, x, body: str) -> tuple[float, int, int]:
    """Through the web socket: median time, ms, from a drag that is sent to the poses that come back; bytes of both."""
    from websockets.sync.client import connect

    point = system.layout.bodies[body].com.astype(float)
    with view.studio(system, state=x, open=False) as studio:
        T = system.pose(studio.state, body)
        first = T[:3, :3] @ point + T[:3, 3]
        origin = studio.url.rpartition("/")[0].rpartition("/")[0]
        times, sizes = [], []
        with connect(studio.url.replace("http", "ws") + "socket", origin=origin, max_size=None) as socket:
            studio.session.idle()
            for k in range(STEPS):
                to = first + 0.1 * np.array([np.sin(k / 16), 1 - np.cos(k / 16), 0.0])
                command = {"do": "drag", "body": body, "point": point.tolist(), "to": to.tolist()}
                began = time.perf_counter()
                socket.send(json.dumps(command))
                while not _answers(answer := socket.recv()):
                    pass
                times.append(time.perf_counter() - began)
                sizes.append((len(json.dumps(command)), len(answer)))
    sent, back = np.median(sizes, axis=0).astype(int).tolist()
    return 1e3 * float(np.median(times)), sent, back


DRAGGED = """async ([x, y]) => {
  const { stage, link } = studio, on = link.on.pose, spent = [], wait = ms => new Promise(f => setTimeout(f, ms));
  link.on.pose = (...given) => { const t = performance.now(); on(...given); spent.push(performance.now() - t); };
  const how = { button: 0, buttons: 1, pointerId: 1, bubbles: true };
  const event = (name, dx, dy) =>
    stage.canvas.dispatchEvent(new PointerEvent(name, { clientX: x + dx, clientY: y + dy, ...how }));
  stage.canvas.setPointerCapture = () => {};
  event("pointerdown", 0, 0);
  const frames = studio.state.frames, began = performance.now();
  for (let k = 0; performance.now() - began < 4000; k++) {
    event("pointermove", 60 * Math.sin(k / 20), 40 * (1 - Math.cos(k / 20)));
    await wait(8);
  }
  const seconds = (performance.now() - began) / 1000, drawn = studio.state.frames - frames;
  event("pointerup", 0, 0);
  link.on.pose = on;
  const draw = [];
  for (let k = 0; k < 40; k++) { const t = performance.now(); stage.render(); draw.push(performance.now() - t); }
  const median = list => list.sort((a, b) => a - b)[list.length >> 1];
  return { poses: spent.length / seconds, frames: drawn / seconds, spent: median(spent), draw: median(draw) };
}"""


#: a page whose pictures cost no rasterizing: everything is prepared and sent, and nothing is drawn
BLANK = """for (const name of ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced", "clear"])
  WebGL2RenderingContext.prototype[name] = () => {};"""


def in_the_page(system, x, body: str, *, blank: bool) -> dict[str, float] | None:
    """Poses that arrive and pictures that are drawn in a second, while a body is dragged for four seconds.

    Also the medians of what the page does for a pose and what it does to draw, ms. blank: without rasterizing. None
    without Chromium or Playwright.
    """
    path = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if path is None:
        return None
    arguments = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with view.studio(system, state=x, open=False) as studio, sync_playwright() as p:
        tab = p.chromium.launch(executable_path=path, args=arguments).new_page(viewport={"width": 1366, "height": 768})
        if blank:
            tab.add_init_script(BLANK)
        tab.goto(f"{studio.url}?quality={'high' if blank else 'low'}")
        while not tab.evaluate("!!(window.studio?.state.poses && !studio.state.fresh)"):
            tab.wait_for_timeout(50)
        studio.session.idle()
        T = system.pose(studio.state, body)
        at = T[:3, :3] @ system.layout.bodies[body].com.astype(float) + T[:3, 3]
        hit = tab.evaluate("p => studio.stage.project(p)", at.tolist())
        return tab.evaluate(DRAGGED, [hit["x"], hit["y"]])


def _answers(message: str | bytes) -> bool:
    return isinstance(message, bytes) and b'"source":"drag"' in message[:60]


def main() -> None:
    """Print one line a mechanism."""
    rows = [(n, zoo.CATALOG[n].build(), zoo.CATALOG[n].start()) for n in ("four_bar", "five_bar", "delta", "stewart")]
    rows.append(("ladder of 100 bodies", zoo.ladder(50), zoo.ladder_start(50)))
    for name, mechanism, start in rows:
        system = mechanism.compile()
        x = system.state(*start)
        body = "platform" if "platform" in system.layout.bodies else list(system.layout.bodies)[-1]
        median, most, gap = measured(system, x, body)
        bench = Bench(system, x)
        bench.pose()
        began = time.thread_time()
        for _ in range(20):
            bench.pose()
        poses = 1e3 * (time.thread_time() - began) / 20
        bodies = len(system.layout.bodies) - 1
        there, sent, back = round_trip(system, x, body)
        print(
            f"{name:22s} {bodies:4d} bodies  step {median:5.2f} ms, 95 % {most:5.2f} ms  poses {poses:.2f} ms  "
            f"round trip {there:.1f} ms  {sent} bytes there, {back} back  gap {gap:.0e}",
            flush=True,
        )
        for blank in (False, True):
            page = in_the_page(system, x, body, blank=blank)
            if page is not None:
                print(
                    f"{'':22s} page {'without' if blank else 'with'} rasterizer: {page['poses']:.0f} poses and "
                    f"{page['frames']:.0f} pictures a second, {page['spent']:.2f} ms of script a pose, "
                    f"{page['draw']:.2f} ms to draw",
                    flush=True,
                )


if __name__ == "__main__":
    main()
