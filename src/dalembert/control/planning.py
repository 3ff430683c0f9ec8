"""Motion planning: point-to-point motions of closed chains of least effort or least time, by collocation and IPOPT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import array, keywords, mapping, number, whole
from dalembert.control.allocator import Allocator
from dalembert.control.collocation import Problem, stage, transcribe
from dalembert.control.limits import Bounds
from dalembert.control.native.workspace import GIVEN
from dalembert.control.plan import MotionPlan
from dalembert.control.plant import Plant
from dalembert.errors import ArgumentError, AssemblyError, unknown


def plan_motion(
    system: Any,
    start: Any,
    goal: Mapping[str, Any],
    duration: float | tuple[float, float],
    *,
    minimize: str = "effort",
    intervals: int = 30,
    limits: Any = None,
    positions: Mapping[str, Any] | None = None,
    speeds: Mapping[str, Any] | None = None,
    path: Sequence[tuple[Callable[[Any], Any], float, float]] = (),
    scales: Mapping[str, float] | None = None,
    stop: bool = True,
    guess: Any = None,
    p: Any = None,
    max_iterations: int = 500,
    tolerance: float = 1e-8,
) -> MotionPlan:
    """The motion from a state to a goal that needs the least effort or time.

    goal: coordinates by name at the end; the rest follows from the loops, and is free where they leave it free. The
    motion ends at rest unless stop=False. duration: s, or (least, most) to be chosen. minimize: "effort",
    ∫Σ(u/scale)² dt, or "time" (with a trace of effort, 1e-4, against chatter). limits: of inputs; positions and speeds:
    of coordinates and velocities; one number, or by name a bound or (lower, upper). path: (function, lower, upper), the
    function an expression of the state as in `Task`, kept at all nodes. guess: a MotionPlan to start from; default: the
    goal's coordinates moved in straight lines with quintic timing, the loops closed at every knot and the inputs by
    `inverse_dynamics`.

    Trouble is in the plan's status and message. `plan.simulate()` shows what the inputs do.

    >>> from dalembert import control, zoo
    >>> system = zoo.slider_crank().compile()
    >>> start = system.state(*zoo.slider_crank_start(0.3))
    >>> plan = control.plan_motion(system, start, {"A": 1.5}, 0.5, limits={"gas": 0.0}, intervals=12)
    >>> plan.success, bool(abs(plan.simulate().state(-1)["A"] - 1.5) < 2e-3)
    (True, True)
    """
    if minimize not in ("effort", "time"):
        raise unknown("cost", minimize, ["effort", "time"])
    if not system.u_names:
        raise ArgumentError(
            f"'{system.name}' has no inputs to plan with; add one with mechanism.add_motor(name, joint)."
        )
    intervals, max_iterations = whole(intervals, "intervals", least=1), whole(max_iterations, "max_iterations", least=1)
    tolerance = number(tolerance, "tolerance", above=0.0)
    x = system.as_state(start)
    span = np.broadcast_to(array(duration, None, "the duration"), (2,)) if np.size(duration) in (1, 2) else np.zeros(2)
    if not 0 < span[0] <= span[1]:
        raise ArgumentError(f"the duration is {duration}; needed: seconds, or (least, most).")
    scale = _scale(system, scales)
    names, values = _coordinates(system, goal)
    straight = guess or straight_motion(
        system, x, goal, float(span.mean()), intervals, limits=limits, scales=scales, p=p
    )
    numbers = system.parameter_vector(p)
    functions = [f for f, _, _ in path]
    s = stage(system, x, numbers, functions)
    bounds = _bounds(system, x, s, intervals, span, names, values, limits, positions, speeds, path, stop)
    size = max(straight.effort, 1e-12)
    weights = (1.0 / size, 0.0) if minimize == "effort" else (1e-4 / size, 1.0 / straight.duration)
    problem = transcribe(system, s, intervals, x.t, scale, weights, bounds)
    first = _first(problem, straight, s)
    return _solve(system, problem, first, scale, minimize, x.t, p, max_iterations, tolerance)


def straight_motion(
    system: Any,
    start: Any,
    goal: Mapping[str, Any],
    duration: float,
    intervals: int = 30,
    *,
    limits: Any = None,
    scales: Mapping[str, float] | None = None,
    p: Any = None,
) -> MotionPlan:
    """The plain motion to compare with: goal coordinates in straight lines with quintic timing, the smallest inputs."""
    intervals, duration = whole(intervals, "intervals", least=1), number(duration, "the duration", above=0.0)
    x = system.as_state(start)
    _coordinates(system, goal)
    end = system.assemble(dict(goal), guess=x, t=x.t + duration, p=p)
    delta, times, q, v = system.minus(end, x), np.linspace(0.0, duration, intervals + 1), [], []
    at = x
    for t in times:
        r = t / duration
        way, rate = 10 * r**3 - 15 * r**4 + 6 * r**5, (30 * r**2 - 60 * r**3 + 30 * r**4) / duration
        here = system.state(system.plus(x, way * delta), rate * delta)
        at = _on_the_way(system, {n: here[n] for n in goal}, {n: here.rate(n) for n in goal}, at, x.t + t, p)
        q.append(at.q)
        v.append(at.v)
    a = np.gradient(np.array(v), times, axis=0)
    scale = _scale(system, scales)
    allocator = Allocator(Plant(system, system.u_names, p=p), dict(zip(system.u_names, scale)), limits)
    workspace, u = allocator.template, []
    for k, t in enumerate(times):
        workspace.wanted_motion[:] = a[k]
        allocator.run(workspace, x.t + t, system.state(q[k], v[k], x.t + t), GIVEN)
        u.append(allocator.plant.inputs(allocator.limited(workspace)[0]))
    effort = _effort(times, np.array(u), scale)
    return MotionPlan(
        x.t + times, np.array(q), np.array(v), a, np.array(u), effort, effort, 0.0, 0.0, 0, "Solve_Succeeded", system, p
    )


def _on_the_way(system: Any, q: dict[str, Any], v: dict[str, Any], guess: Any, t: float, p: Any) -> Any:
    """The state with these coordinates and rates; where rolling or skates forbid the rates, the nearest they allow."""
    try:
        return system.assemble(q, v, guess=guess, t=t, p=p)
    except AssemblyError:
        return system.project(system.assemble(q, guess=guess, t=t, p=p).replace(v=v), p=p)


def _scale(system: Any, scales: Mapping[str, float] | None) -> np.ndarray:
    """(nu,) what counts as one unit of each input."""
    keywords(scales or {}, system.u_names, "scales")
    given = {name: number(x, f"the scale of input '{name}'", above=0.0) for name, x in (scales or {}).items()}
    return np.array([given.get(name, 1.0) for name in system.u_names])


def _effort(t: np.ndarray, u: np.ndarray, scale: np.ndarray) -> float:
    """∫Σ(u/scale)² dt of inputs that are linear between knots."""
    w = u / scale
    middle = (w[:-1] + w[1:]) / 2
    each = (w[:-1] ** 2).sum(axis=1) + 4 * (middle**2).sum(axis=1) + (w[1:] ** 2).sum(axis=1)
    return float(np.diff(t) / 6 @ each)


def _coordinates(system: Any, goal: Mapping[str, Any]) -> tuple[list[str], np.ndarray]:
    names: list[str] = []
    values: list[float] = []
    for name, value in mapping(goal, "the goal").items():
        if name in system.q_names:
            names, values = [*names, name], [*values, number(value, f"the goal of '{name}'")]
        elif name in system.layout.joints:
            joint = system.layout.joints[name].joint
            names += system.q_names[system.layout.q_slice(name)]
            values += list(joint.position_from(value))
        else:
            raise unknown("coordinate or joint", name, [*system.layout.joints, *system.q_names], "the goal")
    if not names:
        raise ArgumentError("the goal names no coordinate; needed: at least one.")
    return names, np.array(values)


def _bounds(system, x, s, N, span, names, values, limits, positions, speeds, path, stop) -> dict[str, Any]:
    """Bounds of the variables, and which equations they make superfluous."""
    u = Bounds.of(system.u_names, limits, "input")
    q = Bounds.of(system.q_names, positions, "coordinate")
    v = Bounds.of(system.v_names, speeds, "velocity")

    def columns(b: Bounds, count: int) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(b.lower[:, None], count), np.tile(b.upper[:, None], count)

    bounds = {"u": columns(u, N + 1), "q": columns(q, N + 1), "v": columns(v, N + 1), "T": (span[0], span[1])}
    for low, high in (bounds["q"],):
        low[:, 0] = high[:, 0] = x.q
        for name, value in zip(names, values):
            k = system.q_names.index(name)
            low[k, -1] = high[k, -1] = value
    for low, high in (bounds["v"],):
        low[:, 0] = high[:, 0] = x.v
        if stop:
            low[:, -1] = high[:, -1] = 0.0
    whole = len(names) == system.nq
    ends = np.array([[low, high] for _, low, high in path]).reshape(-1, 2).T
    return {"variables": bounds, "path": (ends[0], ends[1]), "end given": whole, "stop given": stop}


def _first(problem: Problem, plan: MotionPlan, s: Any) -> dict[str, np.ndarray]:
    """Where the solver starts: a plan, resampled to the program's knots."""
    N = problem.sizes["nu"][1]
    times = np.linspace(plan.t[0], plan.t[-1], N + 1)

    def at(rows: np.ndarray) -> np.ndarray:
        return np.array([np.interp(times, plan.t, row) for row in rows.T])

    a = at(plan.a)
    values = {name: np.zeros(shape) for name, shape in problem.sizes.items()}
    values |= {"T": np.array([[plan.duration]]), "q": at(plan.q), "v": at(plan.v), "a": a, "u": at(plan.u)}
    values["ac"] = (a[:, :-1] + a[:, 1:]) / 2
    return values


def _solve(system, problem, first, scale, minimize, t0, p, max_iterations, tolerance) -> MotionPlan:
    options: dict[str, Any] = {
        "print_time": False,
        "error_on_fail": False,
        "ipopt": {"print_level": 0, "sb": "yes", "max_iter": max_iterations, "tol": tolerance},
    }
    solver = ca.nlpsol("plan", "ipopt", problem.nlp, options)
    lower, upper = problem.flat(problem.lower), problem.flat(problem.upper)
    x0 = np.clip(problem.flat(first), lower, upper)
    answer = solver(x0=x0, lbx=lower, ubx=upper, lbg=problem.lbg, ubg=problem.ubg)
    stats, y = solver.stats(), problem.named(np.array(answer["x"]).ravel())
    g = np.array(answer["g"]).ravel()
    residual = float(np.maximum(g - problem.ubg, problem.lbg - g).max(initial=0.0))
    times = t0 + np.linspace(0.0, float(y["T"][0, 0]), y["q"].shape[1])
    effort = _effort(times, y["u"].T, scale)
    return MotionPlan(
        times, y["q"].T.copy(), y["v"].T.copy(), y["a"].T.copy(), y["u"].T.copy(),
        effort if minimize == "effort" else float(times[-1] - times[0]), effort, residual,
        float(np.abs(y["nu"]).max(initial=0.0)), int(stats["iter_count"]), str(stats["return_status"]), system, p,
    )  # fmt: skip
