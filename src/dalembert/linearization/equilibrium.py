"""Equilibria and steady motions of constrained mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.linearization.linearize import linearize
from dalembert.linearization.model import LinearModel
from dalembert.rank import rank_policy

ROUNDS = 60
SHARP = 1e-10  # accuracy of Newton steps: light parts accelerate a billion times more than heavy ones


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state in which nothing accelerates, with the inputs that hold it."""

    state: Any
    u: np.ndarray  # (inputs,)
    residual: float  # largest |v̇| that is left, rad/s² or m/s²
    iterations: int
    multipliers: np.ndarray  # of the rows used
    model: LinearModel  # the linear model there

    def __repr__(self) -> str:
        return f"<equilibrium of '{self.model.operating.system.name}': |v̇| ≤ {self.residual:.1e}, {self.state!r}>"


def equilibrium(
    system: Any,
    guess: Any = None,
    *,
    solve_for: str = "q",
    holding: Mapping[str, float] | None = None,
    speeds: Mapping[str, float] | None = None,
    u: Any = None,
    p: Any = None,
    tolerance: float = 1e-9,
) -> Equilibrium:
    """Where a mechanism rests, or moves with constant speeds.

    guess: positions to start from, by name, as an array or a state. holding: coordinates with given values.
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
    if solve_for not in ("q", "u"):
        raise ArgumentError(f"solve_for is {solve_for!r}; needed: 'q' (the configuration) or 'u' (the inputs).")
    held, moving = dict(holding or {}), dict(speeds or {})
    for name in (*held, *moving):
        if name not in system.v_names:
            raise unknown("coordinate", name, system.v_names)
    start = guess.q if hasattr(guess, "q") else guess
    x = system.assemble(held or None, moving or None, guess=start, p=p, t=getattr(guess, "t", 0.0))
    given = system.input_vector(u)
    if solve_for == "u":
        return _inputs(system, x, given, p, tolerance)
    return _configuration(system, x, given, p, held, moving, tolerance)


def _inputs(system: Any, x: Any, u: np.ndarray, p: Any, tolerance: float) -> Equilibrium:
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
    system: Any, x: Any, u: np.ndarray, p: Any, held: Mapping[str, float], speeds: Mapping[str, float], tolerance: float
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
    system: Any, old: LinearModel, x: Any, u: Any, p: Any, step: np.ndarray, held: Any, speeds: Any
) -> LinearModel:
    """The model after a step, shortened until the accelerations fall (or hardly any of it is left)."""
    before = np.linalg.norm(old.rate[len(old.positions) :])
    size = min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
    while True:
        try:
            values = {name: float(value) for name, value in held.items()}
            y = system.assemble(values or None, speeds or None, guess=system.plus(x, size * step), p=p, t=x.t)
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
