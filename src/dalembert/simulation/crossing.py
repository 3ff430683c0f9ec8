"""From a singular position to the nearest regular one on the branch that the motion selects.

Below σ ≈ 1e-7 doubles do not tell the branches apart, and the acceleration along weak rows is 0/0. So the motion is
carried over by v Δt + ½ v̇ Δt², a way of about that length, with v (from rest: v̇) on the tangent cone; then it is
brought back to the manifold, where σ is large enough again. The error is of the order of Δt times a length of 1e-7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.analysis.tangent_cone import TangentCone
from dalembert.system.state import State
from dalembert.system.system import System

FAR = 8.0  # times the σ that counts as met: where ordinary steps go on
REST = 1e-6  # of the speed that the acceleration gives on the way: a slower start is one from rest
STAY = 1e-2  # of the time that is left: a step in a position that nothing moves the mechanism out of


class Crossing(NamedTuple):
    """The state after a singular position."""

    state: State
    determined: bool  # whether the motion selects one branch


def cross(
    system: System, state: State, p: np.ndarray, u: Any, usual: int, hit: float, left: float
) -> Crossing | str:
    """The state after the singular position at, or just before, `state`; a sentence where no motion leads on.

    usual: the rank elsewhere; hit: σ of a position that is met; left: s until the end of the run.
    """
    sigma = tangent(system, state, p).sigma
    rank = int((sigma[:usual] > 4.0 * hit * max(1.0, sigma[0])).sum())
    if rank == usual:
        return "the acceleration could not be found, and the position is not singular"
    cone = TangentCone.of(system, state, p, rank, usual)
    a = _acceleration(system, state, p, u, cone, rank)
    y, along = cone.local(state.v), cone.local(cone.c + a)
    distance = FAR * hit + float(sigma[usual - 1])
    fast = _opening(cone, y)
    time = distance / fast if fast > 0.0 else np.inf
    resting = np.linalg.norm(y) <= REST * np.linalg.norm(along) * np.sqrt(distance / max(_opening(cone, along), 1e-300))
    if resting:
        if np.linalg.norm(along) <= 1e-12 * max(np.linalg.norm(a), 1e-300) or not along.any():
            return Crossing(state.replace(v=cone.c, t=state.t + STAY * left), False)
        along, determined = _from_rest(cone, along)
        if along is None:
            return "no acceleration leads out of this position: the mechanism is at rest where it cannot move"
        a = cone.K @ along
        time = np.sqrt(2.0 * distance / max(_opening(cone, along), 1e-300))
        v = cone.c
    else:
        on = cone.nearest(y)
        if on is None:
            return "no motion leads through this position with the velocity at hand"
        y, determined = on, cone.selects(on)
        v = cone.c + cone.K @ y
        time = distance / max(_opening(cone, y), 1e-300)
    for _ in range(8):
        if time > left:
            time = left
        moved = state.replace(q=system.plus(state, time * v + 0.5 * time**2 * a), v=v + time * a, t=state.t + time)
        landed = _landed(system, moved, p, usual, hit)
        if landed is not None:
            return Crossing(landed, determined)
        if time == left:
            return Crossing(moved, determined)
        time *= 1.6
    return "no motion leads through this position with the velocity at hand"


def _opening(cone: TangentCone, y: np.ndarray) -> float:
    return cone.opening(y)


def _from_rest(cone: TangentCone, along: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """The acceleration on the cone that is nearest to the one without weak rows; whether no other is as near."""
    found = sorted(cone.others(along), key=lambda y: float(np.linalg.norm(y - along)))
    found = [y for y in found if np.linalg.norm(y) > 1e-6 * np.linalg.norm(along)]
    if not found:
        return None, False
    gaps = [float(np.linalg.norm(y - along)) for y in found]
    unique = len(found) == 1 or gaps[1] > gaps[0] + 1e-6 * float(np.linalg.norm(along))
    return found[0], unique and cone.selects(found[0])


def _acceleration(system: System, state: State, p: np.ndarray, u: Any, cone: TangentCone, rank: int) -> np.ndarray:
    """v̇ without the weak rows (1 of `formulations.nullspace`)."""
    M, f, _, gamma = system.evaluate("constrained", state, u=u, p=p)
    t = cone.tangent
    c = np.linalg.solve(t.R, t.V[:, :rank] @ ((t.U[:, :rank].T @ (-gamma / t.scale)) / t.sigma[:rank]))
    return c + cone.K @ (cone.K.T @ (f - M @ c))


def _landed(system: System, x: State, p: np.ndarray, usual: int, hit: float) -> State | None:
    """The state on the manifold next to x; None where that is singular too, or not next to it."""
    start, limit = x, 0.5 * hit
    for _ in range(8):
        t = tangent(system, x, p)
        if t.sigma[usual - 1] < 2.0 * hit:
            return None
        phi, _, b = system.evaluate("constraints", x, p=p)
        delta = _shortest(t, -phi, usual)
        x = x.replace(q=system.plus(x, delta))
        if np.linalg.norm(t.R @ delta) <= 1e-3 * limit * np.linalg.norm(t.R):
            break
    t = tangent(system, x, p)
    _, A, b = system.evaluate("constraints", x, p=p)
    moved = system.minus(x.q, start.q)
    if np.abs(moved).max() > 0.5 * FAR * hit * max(1.0, np.abs(system.minus(x.q, start.q)).max()):
        pass
    return x.replace(v=x.v + _shortest(t, -(A @ x.v + b), usual))


def _shortest(t: Any, right: np.ndarray, rank: int) -> np.ndarray:
    return np.linalg.solve(t.R, t.V[:, :rank] @ ((t.U[:, :rank].T @ (right / t.scale)) / t.sigma[:rank]))
