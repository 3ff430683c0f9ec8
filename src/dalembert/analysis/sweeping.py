"""Sweeps and walks: where a path begins, and what of it is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.limits import OutsideLimits
from dalembert.analysis.solution_curve import SolutionCurve, follow
from dalembert.analysis.sweep import Sweep, led_rates, with_motion
from dalembert.analysis.sweep_ends import go_through, note_limits
from dalembert.branch.mirrors import openness
from dalembert.branch.path import PrescribedPath
from dalembert.branch.policy import POLICY
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.protocols import Inputs, Parameters, StateGiven, StateLike, SystemLike


def sweep(
    system: SystemLike,
    values: Any,
    state: StateGiven | None,
    *,
    frames: Any,
    held: Any,
    speed: Any,
    acceleration: Any,
    u: Inputs,
    p: Parameters,
    progress: Callable[[float], Any] | None,
    limits: str,
    through: bool,
) -> Sweep:
    """See `System.sweep`."""
    values, frames = ({} if x is None else checks.mapping(x, n) for x, n in ((values, "along"), (frames, "frames")))
    held = {} if held is None else checks.mapping(held, "held")
    guess = state is None or isinstance(state, Mapping)
    rest, u, p = system.arguments.resolve({} if state is None or guess else state, u, p)
    u = None if u is None else system.arguments.input_vector(u)
    checks.choice(limits, ("mark", "stop", "ignore"), "limits")
    through = checks.flag(through, "through")
    path = PrescribedPath(system, values, frames, held, rest, p)
    rates, bends = led_rates(path, speed, "speed"), led_rates(path, acceleration, "acceleration")
    try:
        begin = _beginning(system, path, state if guess else rest, p)
    except AssemblyError as error:
        curve = SolutionCurve(*_nothing(system), why=str(error).rstrip("."))
    else:
        curve = follow(path, begin, progress)
        if through:
            path, curve, signs = go_through(path, curve, begin)
            rates, bends = _along_legs(path, rates, signs), _along_legs(path, bends, signs)
        if limits != "ignore":
            note_limits(curve, path, begin, limits == "stop")
    return with_motion(curve, path, rates, bends, u)


def _along_legs(path: PrescribedPath, given: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The one speed (or acceleration) of a sweep through dead points, backward where it goes back."""
    if len(given) and (given != given[0]).any():
        raise ArgumentError("a sweep through dead points has one speed and one acceleration; give numbers, not lists.")
    out = np.tile(given[:1], (path.count, 1))
    out[: len(signs)] *= signs[:, None]
    return out


def walk(system: SystemLike, state: StateGiven, to: Any, *, frames: Any, held: Any, p: Parameters) -> StateLike:
    """See `System.walk`."""
    x, _, p = system.arguments.resolve(state, None, p)
    to, frames = ({} if v is None else checks.mapping(v, n) for v, n in ((to, "to"), (frames, "frames")))
    held = {} if held is None else checks.mapping(held, "held")
    goal = PrescribedPath(system, {n: [v] for n, v in to.items()}, {n: [v] for n, v in frames.items()}, held, x, p)
    if not goal.parameters and openness(system, x, p) > POLICY.open:
        raise ArgumentError("the state to walk from does not close the loops; assemble or project it first.")
    curve = _walked(goal, x)
    if len(curve.x) < 2:
        raise AssemblyError(f"'{system.name}' cannot be led to {goal.told(float(goal.wanted[0]))}: {curve.why}.")
    return goal.state(curve.q[-1], float(goal.wanted[0])).replace(v=np.zeros(system.nv))


def _nothing(system: SystemLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nv)), np.zeros((0, system.nv))


def _beginning(system: SystemLike, path: PrescribedPath, state: StateGiven | None, p: Parameters) -> StateLike:
    """A position at the first values: reached from a closed state along its branch, or assembled."""
    start = float(path.wanted[0])
    x = None if state is None or isinstance(state, Mapping) else system.arguments.as_state(state)
    if x is not None and openness(system, x, p) <= POLICY.open:
        away = path.equations(x.q, start)[0]
        if np.abs(away / path.units).max(initial=0.0) <= 1e-9:
            return x
        curve = _walked(path, x)
        if len(curve.x) < 2:
            raise AssemblyError(f"its first state cannot be led to {path.told(start)}: {curve.why}.")
        return path.state(curve.q[-1], start)
    h, values, t = path.at(start)
    names = [*path.coordinates, *path.fixed]
    goals = {track[0].frame: _wish(track[0]) for track in path.tracks}
    given = values if len(values) else None
    assemble = partial(system.assemble, guess=state, t=t, p=given, frames=goals or None)
    try:
        return assemble(dict(zip(names, h.tolist())))
    except OutsideLimits:  # the sweep tells of limits
        return assemble(dict(zip(names, h.tolist())), limits=False)


def _wish(goal: Any) -> dict[str, Any]:
    position = None if goal.position is None else [x if np.isfinite(x) else None for x in goal.position.tolist()]
    wish = {"position": position, "rotation": goal.rotation, "xyz"[goal.axis]: goal.direction}
    return {name: value for name, value in wish.items() if value is not None}


def _walked(path: PrescribedPath, x: StateLike) -> SolutionCurve:
    """From a state to the beginning of a path: everything that is led goes straight."""
    way = object.__new__(PrescribedPath)
    vars(way).update(vars(path))
    way.count = 2
    now = {**dict(zip(path.system.q_names, x.q)), **dict(zip(path.system.p_names, path.p)), "t": path.t}
    first = {name: float(values[0]) for name, values in path.columns.items()} | path.fixed
    way.columns = {name: np.array([now[name], value]) for name, value in first.items()}
    way.coordinates, way.fixed = [*path.coordinates, *path.fixed], {}
    way.tracks = [[track[0].where_it_is(x.q, path.p), track[0]] for track in path.tracks]
    way.single = next(iter(way.columns)) if len(way.columns) == 1 and not way.tracks else None
    way.wanted = way.columns[way.single] if way.single else np.arange(2.0)
    way.legs, way.leg_ends = [(float(way.wanted[0]), float(way.wanted[1]))], [0, 1]
    return follow(way, x)
