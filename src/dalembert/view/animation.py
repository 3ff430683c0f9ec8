"""A run as one HTML file with its own player, for any browser, without network or library; or as a GIF."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.sweep import Sweep
from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import RunLike
from dalembert.view import moving_picture
from dalembert.view.door import names, system_of, writing
from dalembert.view.drawn import Scene, scene
from dalembert.view.poses import clock, positions_at

RATE = 50  # pictures for each second of watching
MOST = 3000  # pictures in a file
LEVELS = 65535  # steps of a coordinate over the scene's size


def animate(
    run: RunLike | Sweep,
    path: str | os.PathLike[str],
    *,
    traces: Iterable[str | Body | Frame] = (),
    speed: float | None = None,
) -> Path:
    """Write an animation of a run to an HTML file, or to a GIF if the path ends so, and return its path.

    The HTML file needs no other file and no network. A GIF has fewer pictures and no time bar; it needs Matplotlib.

    run: what da.simulate or da.load returns, or a sweep of kinematics; a sweep without times is shown at 25 positions a
    second. traces: frames (or names of frames or bodies) whose paths are drawn. speed: seconds of the run for one of
    watching; by default 1, or what shows a run shorter than 1 s or longer than two minutes in good time. The player
    has a time bar with singular passages marked on it; dragging turns a spatial mechanism and moves a planar one.

    >>> import dalembert as da, tempfile
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> run = da.simulate(system, system.assemble({"A": 0.6}, v={"A": 2.0}), 2.0)
    >>> path = animate(run, tempfile.mkdtemp() + "/four-bar.html", traces=["coupler point"])
    >>> path.stat().st_size < 100_000
    True
    """
    system = system_of(run, sweeps=True)
    checks.path(path, "path")
    if speed is not None:
        speed = checks.number(speed, "speed", least=1e-12, most=1e12)
    t = clock(run)
    span = float(t[-1] - t[0])
    pace = speed or _good_speed(span)
    gif = os.fspath(path).lower().endswith(".gif")
    rate, most = (moving_picture.RATE, moving_picture.MOST) if gif else (RATE, MOST)
    count = 1 + min(most, max(1, int(np.ceil(rate * span / pace)))) if span > 0 else 1
    times = np.linspace(t[0], t[-1], count)
    s = scene(system, positions_at(run, times), _frames(traces), run.p)
    if gif:
        moving_picture.write_gif(s, path, span / pace)
        return Path(path)
    page = files("dalembert.view").joinpath("player.html").read_text(encoding="utf-8")
    facts = described(s, times, run, pace)
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    with writing(path):
        filled = page.replace("__TITLE__", escape(system.name)).replace("__RUN__", text)
        Path(path).write_text(filled, encoding="utf-8")
    return Path(path)


def _frames(traces: Any) -> list[Any]:
    """The traced frames as a list; a single frame or name is a list of one."""
    return [traces] if isinstance(traces, (Body, Frame)) else names(traces, "traces")


def described(s: Scene, times: np.ndarray, run: RunLike | Sweep, speed: float) -> dict[str, Any]:
    """The data of the player: points as 16-bit numbers, lines and marks by the index of their points."""
    low, high = s.box
    step = float((high - low).max() or 1.0) / LEVELS
    axes = 2 if s.sight.planar else 3
    points = np.round((s.points[..., :axes] - low[:axes]) / step).astype("<u2")
    bodies = list(s.colors)
    return {
        "name": run.system.name,
        "planar": s.sight.planar,
        "start": float(times[0]),
        "end": float(times[-1]),
        "count": len(times),
        "speed": speed,
        "low": low[:axes].tolist(),
        "step": step,
        "axes": axes,
        "points": base64.b64encode(points.tobytes()).decode(),
        "size": s.points.shape[1],
        "ground": s.sight.R.tolist(),
        "floor": [np.round([a, b], 6).tolist() for a, b in s.floor],
        "bodies": bodies,
        "colors": list(s.colors.values()),
        "lines": [
            {
                "kind": line.kind,
                "at": list(line.points),
                "closed": line.closed,
                "body": bodies.index(line.body) if line.body else -1,
            }
            for line in s.skeleton.lines
        ],
        "marks": [
            {
                "kind": m.kind,
                "at": m.point,
                "name": m.name,
                "body": bodies.index(b) if (b := s.skeleton.bodies[m.point]) in bodies else -1,
            }
            for m in s.skeleton.marks
        ],
        "traces": s.skeleton.traces,
        "passages": [[p.start, p.end, p.rank] for p in getattr(run, "passages", ())],
        "message": run.message,
    }


def _good_speed(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that watching takes between one second and two minutes."""
    if span <= 0 or 1.0 <= span <= 120.0:
        return 1.0
    least = span / (10.0 if span < 1.0 else 60.0)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(power * k for k in (1, 2, 5, 10) if power * k >= least * (1 - 1e-9)))
