"""What a drag step costs: CPU time of one call, loops closed, on mechanisms up to a hundred bodies.

python -m benchmarks.studio
"""

import json
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


def round_trip(system, x, body: str) -> float:
    """Median time, ms, from a drag that is sent to the poses that come back, through the web socket."""
    from websockets.sync.client import connect

    point = system.layout.bodies[body].com.astype(float)
    with view.studio(system, state=x, open=False) as studio:
        T = system.pose(studio.state, body)
        first = T[:3, :3] @ point + T[:3, 3]
        origin = studio.url.rpartition("/")[0].rpartition("/")[0]
        times = []
        with connect(studio.url.replace("http", "ws") + "socket", origin=origin, max_size=None) as socket:
            studio.session.idle()
            for k in range(STEPS):
                to = first + 0.1 * np.array([np.sin(k / 16), 1 - np.cos(k / 16), 0.0])
                command = {"do": "drag", "body": body, "point": point.tolist(), "to": to.tolist()}
                began = time.perf_counter()
                socket.send(json.dumps(command))
                while not _answers(socket.recv()):
                    pass
                times.append(time.perf_counter() - began)
    return 1e3 * float(np.median(times))


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
        there = round_trip(system, x, body)
        print(
            f"{name:22s} {bodies:4d} bodies  step {median:5.2f} ms, 95 % {most:5.2f} ms  poses {poses:.2f} ms  "
            f"round trip {there:.1f} ms  gap {gap:.0e}"
        )


if __name__ == "__main__":
    main()
