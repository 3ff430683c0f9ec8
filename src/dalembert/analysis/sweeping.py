"""Sweeps and walks: where a course begins, and what of it is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.course import Course
from dalembert.analysis.limits import OutsideLimits
from dalembert.analysis.sweep import Sweep, led_rates, with_motion
from dalembert.analysis.sweep_ends import go_through, note_limits
from dalembert.analysis.trail import Trail, follow
from dalembert.branch.mirrors import openness
from dalembert.branch.policy import POLICY
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.protocols import Inputs, Parameters, StateGiven, StateLike, SystemLike


def sweep(
    system: SystemLike,
    path: Any,
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
    path, frames = ({} if x is None else checks.mapping(x, n) for x, n in ((path, "path"), (frames, "frames")))
    held = {} if held is None else checks.mapping(held, "held")
    guess = state is None or isinstance(state, Mapping)
    rest, u, p = system.resolve({} if state is None or guess else state, u, p)
    u = None if u is None else system.input_vector(u)
    checks.choice(limits, ("mark", "stop", "ignore"), "limits")
    through = checks.flag(through, "through")
    course = Course(system, path, frames, held, rest, p)
    rates, bends = led_rates(course, speed, "speed"), led_rates(course, acceleration, "acceleration")
    try:
        begin = _beginning(system, course, state if guess else rest, p)
    except AssemblyError as error:
        trail = Trail(*_nothing(system), why=str(error).rstrip("."))
    else:
        trail = follow(course, begin, progress)
        if through:
            course, trail, signs = go_through(course, trail, begin)
            rates, bends = _along_legs(course, rates, signs), _along_legs(course, bends, signs)
        if limits != "ignore":
            note_limits(trail, course, begin, limits == "stop")
    return with_motion(trail, course, rates, bends, u)


def _along_legs(course: Course, given: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The one speed (or acceleration) of a sweep through dead points, backward where it goes back."""
    if len(given) and (given != given[0]).any():
        raise ArgumentError("a sweep through dead points has one speed and one acceleration; give numbers, not lists.")
    out = np.tile(given[:1], (course.count, 1))
    out[: len(signs)] *= signs[:, None]
    return out


def walk(system: SystemLike, state: StateGiven, to: Any, *, frames: Any, held: Any, p: Parameters) -> StateLike:
    """See `System.walk`."""
    x, _, p = system.resolve(state, None, p)
    to, frames = ({} if v is None else checks.mapping(v, n) for v, n in ((to, "to"), (frames, "frames")))
    held = {} if held is None else checks.mapping(held, "held")
    goal = Course(system, {n: [v] for n, v in to.items()}, {n: [v] for n, v in frames.items()}, held, x, p)
    if not goal.parameters and openness(system, x, p) > POLICY.open:
        raise ArgumentError("the state to walk from does not close the loops; assemble or project it first.")
    trail = _walked(goal, x)
    if len(trail.x) < 2:
        raise AssemblyError(f"'{system.name}' cannot be led to {goal.told(float(goal.wanted[0]))}: {trail.why}.")
    return goal.state(trail.q[-1], float(goal.wanted[0])).replace(v=np.zeros(system.nv))


def _nothing(system: SystemLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nv)), np.zeros((0, system.nv))


def _beginning(system: SystemLike, course: Course, state: StateGiven | None, p: Parameters) -> StateLike:
    """A position at the first values: reached from a closed state along its branch, or assembled."""
    start = float(course.wanted[0])
    x = None if state is None or isinstance(state, Mapping) else system.as_state(state)
    if x is not None and openness(system, x, p) <= POLICY.open:
        away = course.equations(x.q, start)[0]
        if np.abs(away / course.units).max(initial=0.0) <= 1e-9:
            return x
        trail = _walked(course, x)
        if len(trail.x) < 2:
            raise AssemblyError(f"its first state cannot be led to {course.told(start)}: {trail.why}.")
        return course.state(trail.q[-1], start)
    h, values, t = course.at(start)
    names = [*course.coordinates, *course.fixed]
    goals = {track[0].frame: _wish(track[0]) for track in course.tracks}
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


def _walked(course: Course, x: StateLike) -> Trail:
    """From a state to the beginning of a course: everything that is led goes straight."""
    way = object.__new__(Course)
    vars(way).update(vars(course))
    way.count = 2
    now = {**dict(zip(course.system.q_names, x.q)), **dict(zip(course.system.p_names, course.p)), "t": course.t}
    first = {name: float(values[0]) for name, values in course.columns.items()} | course.fixed
    way.columns = {name: np.array([now[name], value]) for name, value in first.items()}
    way.coordinates, way.fixed = [*course.coordinates, *course.fixed], {}
    way.tracks = [[track[0].where_it_is(x.q, course.p), track[0]] for track in course.tracks]
    way.single = next(iter(way.columns)) if len(way.columns) == 1 and not way.tracks else None
    way.wanted = way.columns[way.single] if way.single else np.arange(2.0)
    way.legs, way.leg_ends = [(float(way.wanted[0]), float(way.wanted[1]))], [0, 1]
    return follow(way, x)
