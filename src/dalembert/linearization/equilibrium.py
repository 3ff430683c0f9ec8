"""Equilibria and steady motions of constrained mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.linearization.linearize import linearize
from dalembert.linearization.model import LinearModel
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.system.state import State
from dalembert.system.system import System

ROUNDS = 60
SHARP = 1e-10  # accuracy of Newton steps: light parts accelerate a billion times more than heavy ones


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state in which nothing accelerates, with the inputs that hold it."""

    state: State
    u: np.ndarray  # (inputs,)
    residual: float  # largest |v̇| that is left, rad/s² or m/s²
    iterations: int  # of Newton's method
    multipliers: np.ndarray  # (rows used,)
    model: LinearModel  # the linear model there

    def __repr__(self) -> str:
        return f"<equilibrium of '{self.model.operating.system.name}': |v̇| ≤ {self.residual:.1e}, {self.state!r}>"


def equilibrium(
    system: System,
    guess: StateGiven | None = None,
    *,
    solve_for: str = "q",
    holding: Mapping[str, float] | None = None,
    speeds: Mapping[str, float] | None = None,
    u: Inputs = None,
    p: Parameters = None,
    tolerance: float = 1e-9,
) -> Equilibrium:
    """A configuration in which a mechanism rests or moves with constant speeds, and the inputs that keep it there.

    guess: positions to start from, by name, as an array or a state. holding: coordinates with given values. p:
    parameters, by name or as an array. tolerance: largest acceleration that counts as rest, in rad/s² or m/s² and
    relative to the entries of the linear model where these are larger.
    solve_for="q": a configuration that rests under the inputs u, from the guess by Newton's method with the exact
    linear model; coordinates in `holding` stay. solve_for="u": the inputs of least size that hold the configuration of
    the guess (with `holding` in it), from u if they enter nonlinearly. speeds: named velocities of a steady motion; the
    others come out as small as the constraints allow.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.loader().compile()
    >>> rest = da.equilibrium(system, zoo.loader_start()[0], solve_for="u")
    >>> [round(float(x)) for x in rest.u], rest.residual < 1e-9       # N, in the lift and the tilt cylinder
    ([102229, 47666], True)
    """
    check_system(system)
    checks.choice(solve_for, ("q", "u"), "solve_for")
    tolerance = checks.number(tolerance, "tolerance", above=0.0)
    held, moving = (_by_name(system, x, what) for x, what in ((holding, "holding"), (speeds, "speeds")))
    start = system.as_state({} if guess is None else guess)
    x = system.assemble(held or None, moving or None, guess=start.q, p=p, t=start.t)
    given = system.input_vector(u)
    if solve_for == "u":
        return _inputs(system, x, given, p, tolerance)
    return _configuration(system, x, given, p, held, moving, tolerance)


def _by_name(system: System, given: Mapping[str, float] | None, what: str) -> dict[str, float]:
    """Numbers by the names of velocities."""
    out: dict[str, float] = {}
    for name, value in ({} if given is None else checks.mapping(given, what)).items():
        if not isinstance(name, str) or name not in system.v_names:
            raise unknown("coordinate", name, system.v_names, what)
        out[name] = checks.number(value, f"{what}['{name}']")
    return out


def _inputs(system: System, x: State, u: np.ndarray, p: Parameters, tolerance: float) -> Equilibrium:
    if not len(u):
        raise ArgumentError(f"'{system.name}' has no inputs to solve for; add motors, or take solve_for='q'.")
    model, rounds, step = linearize(system, x, u=u, p=p), 0, np.full(len(u), np.inf)
    while rounds < ROUNDS and not np.abs(step).max() <= 1e-10 * max(1.0, np.abs(u).max()):
        n = len(model.positions)
        step = _least(model.B[n:], -model.rate[n:])
        u = u + step
        model, rounds = linearize(system, x, u=u, p=p), rounds + 1
    return _checked(model, u, rounds, tolerance, "the inputs cannot hold it there: what is left pulls along")


def _configuration(
    system: System,
    x: State,
    u: np.ndarray,
    p: Parameters,
    held: Mapping[str, float],
    speeds: Mapping[str, float],
    tolerance: float,
) -> Equilibrium:
    model, rounds, moved = linearize(system, x, u=u, p=p), 0, np.inf
    while rounds < ROUNDS and moved > 1e-14 and np.abs(model.operating.vdot).max(initial=0.0) > 1e-3 * tolerance:
        n = len(model.positions)
        rate, slope, move = model.rate[n:], model.A[n:, :n], model.operating.Kq
        # small motions that leave what is held: a basis of y with C_held Kq y = 0
        rows = move[[system.v_names.index(name) for name in held]] if held else np.zeros((0, n))
        free = rank_policy().reveal(rows).null if held else np.eye(n)
        y = free @ _least(slope @ free, -rate)
        model = _improved(system, model, x, u, p, move @ y, held, speeds)
        moved = float(np.abs(model.operating.state.q - x.q).max(initial=0.0))
        x, rounds = model.operating.state, rounds + 1
    return _checked(model, u, rounds, tolerance, "no equilibrium was found near the guess: what is left accelerates")


def _improved(
    system: System,
    old: LinearModel,
    x: State,
    u: np.ndarray,
    p: Parameters,
    step: np.ndarray,
    held: Mapping[str, float],
    speeds: Mapping[str, float],
) -> LinearModel:
    """The model after a step, shortened until the accelerations fall (or hardly any of it is left)."""
    before = np.linalg.norm(old.rate[len(old.positions) :])
    size = min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
    while True:
        try:
            y = system.assemble(held or None, speeds or None, guess=system.plus(x, size * step), p=p, t=x.t)
            new = linearize(system, y, u=u, p=p)
            if np.linalg.norm(new.rate[len(new.positions) :]) < before or size < 1e-4:
                return new
        except (AssemblyError, ArgumentError):
            if size < 1e-4:
                raise
        size /= 2


def _least(X: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest y that brings X y nearest to `right`."""
    return rank_policy(accuracy=SHARP).reveal(X).solve(right)


def _checked(model: LinearModel, u: np.ndarray, iterations: int, tolerance: float, why: str) -> Equilibrium:
    op = model.operating
    left = float(np.abs(op.vdot).max(initial=0.0))
    if not left <= tolerance * max(1.0, np.abs(model.A).max(initial=0.0)):
        worst = op.system.v_names[int(np.argmax(np.abs(op.vdot)))]
        raise AssemblyError(f"'{op.system.name}' does not rest: {why} '{worst}', by {left:.3g} rad/s² or m/s².")
    return Equilibrium(op.state, u, left, iterations, op.multipliers, model)
