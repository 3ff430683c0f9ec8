"""A run as one HTML file with its own player, for any browser, without network or library; or as a GIF."""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np

from dalembert import checks
from dalembert.analysis.sweep import Sweep
from dalembert.errors import ArgumentError
from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import RunLike
from dalembert.view import moving_picture, web
from dalembert.view.arrows import joint_arrows
from dalembert.view.door import system_of, writing
from dalembert.view.poses import clock, positions_at
from dalembert.view.scene import Scene, motion, scene
from dalembert.view.swings import Swing, swing

RATE = 50  # pictures for each second of watching
MOST = 3000  # pictures in a file
LEVELS = 65535  # steps of a coordinate over the scene's size
TURNS = 32767  # steps of a quaternion's component
ARROW = 0.35  # length of the largest arrow, of the mechanism


def animate(
    run: RunLike | Sweep,
    path: str | os.PathLike[str],
    *,
    traces: Iterable[str | Body | Frame] = (),
    speed: float | None = None,
    forces: bool | Iterable[str] = False,
    follow: str | None = None,
    meshes: str | os.PathLike[str] | None = None,
) -> Path:
    """Write an animation of a run to an HTML file, or to a GIF if the path ends so, and return its path.

    The HTML file needs no other file and no network. A GIF has fewer pictures and no time bar; it needs Matplotlib.

    run: what da.simulate or da.read_run returns, a sweep of kinematics, or a mode of a linear model (`model.modes[0]`),
    which swings three times. A sweep without times is shown at 25 positions a second. traces: frames (or names of
    frames or bodies) whose paths are drawn. speed: seconds of the run for one of watching; by default 1, or what shows
    a run shorter than 1 s or longer than two minutes in good time. forces: True, or names of joints, for arrows of what
    the joints pass on to their second body: forces (red) and moments (violet), each to one scale. follow: the body that
    the picture stays with; by default the first, if the mechanism goes far. meshes: the folder of the model's mesh
    files, as in `scene`.

    The player has a time bar with singular passages and events marked on it; dragging turns a spatial mechanism and
    moves a planar one. Keys: space, arrows, F (fit), D (dark), N, M, C, A, G (names, masses, frames, forces, grid).

    >>> import dalembert as da, tempfile
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> run = da.simulate(system, system.assemble({"A": 0.6}, v={"A": 2.0}), 2.0)
    >>> path = animate(run, tempfile.mkdtemp() + "/four-bar.html", traces=["coupler point"])
    >>> path.stat().st_size < 300_000
    True
    """
    if hasattr(run, "eigenvalue") and hasattr(run, "states"):
        run = cast(RunLike, swing(run))
    system = system_of(run, sweeps=True)
    checks.path(path, "path")
    if speed is not None:
        speed = checks.number(speed, "speed", least=1e-12, most=1e12)
    if follow is not None:
        checks.choice(follow, [name for name in system.layout.bodies if name != "ground"], "follow")
    t = clock(run)
    span = float(t[-1] - t[0])
    pace = speed or _good_speed(span)
    gif = os.fspath(path).lower().endswith(".gif")
    rate, most = (moving_picture.RATE, moving_picture.MOST) if gif else (RATE, MOST)
    count = 1 + min(most, max(1, int(np.ceil(rate * span / pace)))) if span > 0 else 1
    times = np.linspace(t[0], t[-1], count)
    q = positions_at(run, times)
    s = scene(system, q, traces, run.p, meshes=meshes)
    poses = motion(system, q, run.p)
    if gif:
        moving_picture.write_gif(s, poses, path, span / pace)
        return Path(path)
    facts = described(s, poses, times, run, pace)
    facts["follow"] = follow or wanderer(s, poses)
    if forces is not False:
        facts["forces"] = _arrows(s, run, times, forces)
    packed = web.packed(facts, "dalembert/player.js", {"dalembert/player.js": web.source("player.js")})
    with writing(path):
        page = web.filled(web.source("player.html"), {"TITLE": escape(system.name), "PACKED": packed})
        Path(path).write_text(page, encoding="utf-8")
    return Path(path)


def described(s: Scene, poses: np.ndarray, times: np.ndarray, run: RunLike | Sweep, speed: float) -> dict[str, Any]:
    """The data of the player: the scene, and the motion as whole numbers."""
    size = float(np.ptp(poses[:, :, :3], axis=(0, 1)).max(initial=0.0)) + s.length
    steps = np.tile([size / LEVELS] * 3 + [1 / TURNS] * 4, len(s.bodies) - 1)
    met = getattr(run, "t_events", {})
    return {
        "scene": s.to_dict(),
        "start": float(times[0]),
        "end": float(times[-1]),
        "count": len(times),
        "speed": speed,
        "motion": encoded(poses[:, 1:].reshape(len(times), -1), steps),
        "passages": [[p.start, p.end, p.rank] for p in getattr(run, "passages", ())],
        "events": sorted(
            [
                *([name, float(t)] for name, at in met.items() for t in np.ravel(at)),
                *([x.what, float(x.t)] for x in getattr(run, "switches", ())),
            ],
            key=lambda e: e[1],
        ),
        "message": run.message,
    }


def encoded(values: np.ndarray, steps: np.ndarray) -> dict[str, Any]:
    """Columns of values (N, M) as multiples of their steps (M,): first value, first step, further changes of the step.

    Smooth columns become small numbers; a constant one is its first value.
    """
    whole = np.round(values / steps).astype(np.int64)
    columns = [
        [int(c[0])] if (c == c[0]).all() else [*c[:1].tolist(), int(c[1] - c[0]), *np.diff(c, 2).tolist()]
        for c in whole.T
    ]
    return {"columns": columns, "steps": [float(f"{x:.9g}") for x in steps]}


def _arrows(s: Scene, run: RunLike | Sweep, times: np.ndarray, forces: Any) -> dict[str, Any]:
    """Arrows of the player: where they begin, and their vectors (N, 3 a piece) as whole numbers."""
    if isinstance(run, Swing):
        raise ArgumentError("forces are shown for runs and sweeps; modes have none at their positions.")
    found = joint_arrows(s, run, times, None if forces is True else forces)
    scale = {kind: ARROW * s.length / top if top > 0 else 0.0 for kind, top in found.largest.items()}
    steps = np.repeat([max(found.largest[a.kind], 1e-300) / 4096 for a in found.arrows], 3)
    return {
        "arrows": [
            {"name": a.name, "kind": a.kind, "body": a.body, "position": a.position.tolist(), "scale": scale[a.kind]}
            for a in found.arrows
        ],
        **encoded(found.vectors.reshape(len(times), -1), steps),
    }


def loose(s: Scene) -> str | None:
    """The first body that moves, if nothing but floors belongs to the ground."""
    held = any(solid.origin != "floor" for solid in s.bodies[0].solids)
    return None if held or len(s.bodies) < 2 else s.bodies[1].name


def wanderer(s: Scene, poses: np.ndarray) -> str | None:
    """The body to follow, if the mechanism goes farther than three times its length."""
    name = loose(s)
    middle = poses[:, 1:, :3].mean(axis=1)
    return name if name and float(np.ptp(middle, axis=0).max()) > 3 * s.length else None


def _good_speed(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that watching takes between one second and two minutes."""
    if span <= 0 or 1.0 <= span <= 120.0:
        return 1.0
    least = span / (10.0 if span < 1.0 else 60.0)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(power * k for k in (1, 2, 5, 10) if power * k >= least * (1 - 1e-9)))
