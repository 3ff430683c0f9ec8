"""Motion planning: point-to-point motions of closed chains of least effort or least time, by collocation and IPOPT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import array, choice, flag, function, keywords, mapping, number, shown, whole
from dalembert.control.allocator import Allocator
from dalembert.control.collocation import Bounded, NonlinearProgram, stage, transcribe
from dalembert.control.native.workspace import GIVEN
from dalembert.control.optimal import OptimalMotion
from dalembert.control.plan import MotionPlan
from dalembert.control.plant import Plant
from dalembert.control.references import LimitsGiven, checked_path
from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.hints import explained
from dalembert.mechanism.constraints.expression import Expression
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.statics.limits import Bounds
from dalembert.system.state import State
from dalembert.system.system import System

MOST = 100_000  # intervals: more is a slip of the pen


@explained
def plan_motion(
    system: System,
    start: StateGiven,
    goal: Mapping[str, Any],
    duration: float | tuple[float, float],
    *,
    minimize: str = "effort",
    intervals: int = 30,
    limits: LimitsGiven = None,
    positions: LimitsGiven = None,
    speeds: LimitsGiven = None,
    bounds: Sequence[tuple[Expression, float, float]] = (),
    cost: Callable[[Any, Any], Any] | None = None,
    scales: Mapping[str, float] | None = None,
    stop: bool = True,
    guess: MotionPlan | OptimalMotion | None = None,
    p: Parameters = None,
    max_iterations: int = 500,
    tolerance: float = 1e-8,
) -> MotionPlan:
    """The motion from a state to a goal that needs the least effort or time.

    system, start: the mechanism and the state it starts from. goal: coordinates by name at the end; the rest follows
    from the loops, and is free where they leave it free. The motion ends at rest unless stop=False. duration: s, or
    (least, most) to be chosen. intervals: of the collocation. minimize: "effort", ∫Σ(u/scale)² dt, or "time" (with a
    trace of effort, 1e-4, against chatter). cost: f(state, inputs), an expression per second that is added to what is
    minimized, with inputs by name as in `optimal_motion`; with minimize="cost" it is all of it. scales:
    {input: scale}; default 1. limits: of inputs; positions and speeds: of coordinates and velocities; one number, or by
    name a bound or (lower, upper). bounds: (function, lower, upper), the function an expression of the state as in
    `Task`, kept at all nodes. guess: a MotionPlan or an OptimalMotion of the same mechanism to start from; default:
    `straight_motion`. p: parameters. max_iterations, tolerance: of IPOPT.

    Trouble is in the plan's status and message. `plan.simulate()` shows what the inputs do.

    >>> from dalembert import control, zoo
    >>> system = zoo.slider_crank().compile()
    >>> start = system.state(*zoo.slider_crank_start(0.3))
    >>> plan = control.plan_motion(system, start, {"A": 1.5}, 0.5, limits={"gas": 0.0}, intervals=12)
    >>> plan.success, bool(abs(plan.simulate().state(-1)["A"] - 1.5) < 2e-3)
    (True, True)
    """
    check_system(system)
    choice(minimize, ("effort", "time", "cost"), "minimize")
    if cost is not None:
        function(cost, "cost")
    elif minimize == "cost":
        raise ArgumentError('minimize="cost" needs cost=, a function of state and inputs.')
    stop = flag(stop, "stop")
    if not system.u_names:
        raise ArgumentError(
            f"'{system.name}' has no inputs to plan with; add one with mechanism.add_motor(name, joint)."
        )
    intervals = whole(intervals, "intervals", least=1, most=MOST)
    max_iterations = whole(max_iterations, "max_iterations", least=1, most=2**31 - 1)
    tolerance = number(tolerance, "tolerance", above=0.0)
    x, _, p = system.arguments.resolve(start, None, p)
    given = array(duration, None, "the duration")
    span = np.broadcast_to(given, (2,)) if given.shape in ((), (1,), (2,)) else np.zeros(2)
    if not 0 < span[0] <= span[1]:
        raise ArgumentError(f"the duration is {shown(duration)}; needed: seconds, or (least, most).")
    path = checked_path(bounds)
    if not (
        guess is None or (isinstance(guess, (MotionPlan, OptimalMotion)) and guess.system.layout.same(system.layout))
    ):
        raise ArgumentError(f"guess is {shown(guess)}; needed: a MotionPlan or an OptimalMotion of '{system.name}'.")
    scale = _scale(system, scales)
    names, values = _coordinates(system, goal)
    numbers = system.arguments.parameter_vector(p)
    if isinstance(guess, OptimalMotion):
        guess = _as_plan(guess, scale, p)
    straight = guess or straight_motion(
        system, x, goal, float(span.mean()), intervals, limits=limits, scales=scales, p=p
    )
    s = stage(system, x, numbers, [f for f, _, _ in path], cost)
    ends = _bounds(system, x, intervals, span, names, values, limits, positions, speeds, path, stop)
    size = max(straight.effort, 1e-12)
    unit = 1.0 / straight.duration if minimize == "time" else 1.0 / size
    weights = {"effort": (unit, 0.0, unit), "time": (1e-4 / size, unit, unit), "cost": (0.0, 0.0, unit)}[minimize]
    problem = transcribe(system, s, intervals, x.t, scale, weights, ends)
    first = _first(problem, straight)
    return _solve(system, problem, first, scale, (minimize, unit), x.t, p, max_iterations, tolerance)


def straight_motion(
    system: System,
    start: StateGiven,
    goal: Mapping[str, Any],
    duration: float,
    intervals: int = 30,
    *,
    limits: LimitsGiven = None,
    scales: Mapping[str, float] | None = None,
    p: Parameters = None,
) -> MotionPlan:
    """The plain motion to compare with: goal coordinates in straight lines with quintic timing, the smallest inputs.

    The loops are closed at every knot; the inputs are those of `actuator_forces`. duration: s. intervals: between
    knots. system, start, goal, limits, scales, p: as in `plan_motion`.
    """
    check_system(system)
    intervals = whole(intervals, "intervals", least=1, most=MOST)
    duration = number(duration, "the duration", above=0.0)
    x, _, p = system.arguments.resolve(start, None, p)
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
        u.append(allocator.plant.inputs(workspace.u))
    effort = _effort(times, np.array(u), scale)
    return MotionPlan(
        x.t + times, np.array(q), np.array(v), a, np.array(u), effort, effort, 0.0, 0.0, 0, "Solve_Succeeded", system, p
    )


def _as_plan(motion: OptimalMotion, scale: np.ndarray, p: Parameters) -> MotionPlan:
    """The motion with inputs at its times, where they are the means of those before and after."""
    u = np.vstack([motion.u[:1], 0.5 * (motion.u[1:] + motion.u[:-1]), motion.u[-1:]])
    a, effort = np.gradient(motion.v, motion.t, axis=0), _effort(motion.t, u, scale)
    return MotionPlan(
        motion.t, motion.q, motion.v, a, u, effort, effort, 0.0, 0.0, 0, "Solve_Succeeded", motion.system, p
    )


def _on_the_way(system: System, q: dict[str, Any], v: dict[str, Any], guess: State, t: float, p: Parameters) -> State:
    """The state with these coordinates and rates; where rolling or skates forbid the rates, the nearest they allow."""
    try:
        return system.assemble(q, v, guess=guess, t=t, p=p)
    except AssemblyError:
        return system.project(system.assemble(q, guess=guess, t=t, p=p).replace(v=v), p=p)


def _scale(system: System, scales: Mapping[str, float] | None) -> np.ndarray:
    """(nu,) the unit of each input."""
    each = mapping({} if scales is None else scales, "scales")
    keywords(each, system.u_names, "scales")
    given = {name: number(x, f"the scale of input '{name}'", above=0.0) for name, x in each.items()}
    return np.array([given.get(name, 1.0) for name in system.u_names])


def _effort(t: np.ndarray, u: np.ndarray, scale: np.ndarray) -> float:
    """∫Σ(u/scale)² dt of inputs that are linear between knots."""
    w = u / scale
    middle = (w[:-1] + w[1:]) / 2
    each = (w[:-1] ** 2).sum(axis=1) + 4 * (middle**2).sum(axis=1) + (w[1:] ** 2).sum(axis=1)
    return float(np.diff(t) / 6 @ each)


def _coordinates(system: System, goal: Mapping[str, Any]) -> tuple[list[str], np.ndarray]:
    names: list[str] = []
    values: list[float] = []
    for name, value in mapping(goal, "the goal").items():
        if isinstance(name, str) and name in system.q_names:
            names, values = [*names, name], [*values, number(value, f"the goal of '{name}'")]
        elif isinstance(name, str) and name in system.layout.joints:
            joint = system.layout.joints[name].joint
            names += system.q_names[system.layout.q_slice(name)]
            values += list(joint.position_from(value))
        else:
            raise unknown("coordinate or joint", name, [*system.layout.joints, *system.q_names], "the goal")
    if not names:
        raise ArgumentError("the goal names no coordinate; needed: at least one.")
    return names, np.array(values)


def _bounds(
    system: System,
    x: State,
    N: int,
    span: np.ndarray,
    names: list[str],
    values: np.ndarray,
    limits: LimitsGiven,
    positions: LimitsGiven,
    speeds: LimitsGiven,
    path: Sequence[tuple[Expression, float, float]],
    stop: bool,
) -> Bounded:
    u = Bounds.of(system.u_names, limits, "input")
    q = Bounds.of(system.q_names, positions, "coordinate")
    v = Bounds.of(system.v_names, speeds, "velocity")

    def columns(b: Bounds, count: int) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(b.lower[:, None], count), np.tile(b.upper[:, None], count)

    bounds = {"u": columns(u, N + 1), "q": columns(q, N + 1), "v": columns(v, N + 1), "T": (span[:1], span[1:])}
    low, high = bounds["q"]
    low[:, 0] = high[:, 0] = x.q
    for name, value in zip(names, values):
        k = system.q_names.index(name)
        low[k, -1] = high[k, -1] = value
    low, high = bounds["v"]
    low[:, 0] = high[:, 0] = x.v
    if stop:
        low[:, -1] = high[:, -1] = 0.0
    ends = np.array([[low, high] for _, low, high in path]).reshape(-1, 2).T
    return Bounded(bounds, (ends[0], ends[1]), len(names) == system.nq, stop)


def _first(problem: NonlinearProgram, plan: MotionPlan) -> dict[str, np.ndarray]:
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


def _solve(
    system: System,
    problem: NonlinearProgram,
    first: dict[str, np.ndarray],
    scale: np.ndarray,
    minimize: tuple[str, float],
    t0: float,
    p: Parameters,
    max_iterations: int,
    tolerance: float,
) -> MotionPlan:
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
        float(times[-1] - times[0]) if minimize[0] == "time" else float(answer["f"]) / minimize[1], effort, residual,
        float(np.abs(y["nu"]).max(initial=0.0)), int(stats["iter_count"]), str(stats["return_status"]), system, p,
    )  # fmt: skip
