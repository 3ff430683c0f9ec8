"""Rest on stops: a configuration in which coordinates stay within bounds and lean on those they reach.

    g = Aᵀλ + Nᵀf,   f ≥ 0 at lower bounds, f ≤ 0 at upper ones, zero between                                  (1)

Newton's method on the balance of forces (`statics.balance`), downhill where the stiffness is negative. A coordinate
that would pass its bound is held there; one whose stop would have to pull is let go.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.errors import AssemblyError
from dalembert.protocols import Parameters
from dalembert.statics.balance import StaticBalance
from dalembert.statics.limits import Bounds
from dalembert.system.state import State
from dalembert.system.system import System

ROUNDS = 200
STRIDE = 0.4  # rad, or lengths of the mechanism: of a step
BALANCED = 1e-12  # of the forces at work: what is left of them
ROUNDING = 1e-15  # of coordinates: shorter steps have no effect
FLAT = 1e-9  # of the largest stiffness: rounding of a stiffness


def rest_on_stops(
    system: System, x: State, u: np.ndarray, p: Parameters, held: Mapping[str, float], bounds: Bounds
) -> tuple[State, dict[str, float], int]:
    """The state at rest near x within the bounds of coordinates, the forces of the stops by name, and the rounds."""
    fixed = [system.v_names.index(n) for n in held]
    place = {k: system.q_names.index(n) for k, n in enumerate(system.v_names) if n in system.q_names}
    inside = {k: float(np.clip(x.q[i], bounds.lower[k], bounds.upper[k])) for k, i in place.items()}
    at_stop = {k: bound for k, bound in inside.items() if bound != x.q[place[k]] and k not in fixed}
    let_go, load = 0, 0.0
    x = _placed(system, x, p, held, at_stop, place)
    for rounds in range(ROUNDS):
        at = StaticBalance(system, x, u, p, [*fixed, *at_stop])
        load = max(load, float(np.abs(at.load * at.reach).max(initial=0.0)))
        left = at.left
        step = _downhill(at, left)
        still = np.abs(step / at.reach).max(initial=0.0) <= ROUNDING * (1.0 + np.abs(x.q).max(initial=0.0))
        if still or np.abs(left).max(initial=0.0) <= BALANCED * max(load, 1e-300):
            forces = dict(zip(at_stop, at.forces[len(at.A) + len(fixed) :]))
            pulls = {k: (f if at_stop[k] == bounds.lower[k] else -f) * at.reach[k] for k, f in forces.items()}
            worst = min(pulls, key=lambda k: pulls[k], default=-1)
            if worst < 0 or pulls[worst] >= -1e-9 * load or let_go > 4 * system.nv:
                return x, {system.v_names[k]: float(f) for k, f in forces.items()}, rounds
            del at_stop[worst]
            let_go += 1
            continue
        step *= min(1.0, STRIDE / max(float(np.abs(step / at.reach).max(initial=0.0)), 1e-300))
        step, met = _within(step, x, place, bounds, at_stop)
        at_stop.update(met)
        x = _placed(system, x.replace(q=system.plus(x, step)), p, held, at_stop, place)
    worst = int(np.argmax(np.abs(at.free @ left / at.reach)))
    raise AssemblyError(
        f"'{system.name}' does not come to rest: after {ROUNDS} rounds it is still pulled along "
        f"'{system.v_names[worst]}'. Give a guess nearer to where it rests, or bounds."
    )


def reduced_stiffness(at: StaticBalance) -> np.ndarray:
    """(free, free) the change of the forces that are left with the motions that are free."""
    return at.free.T @ at.tangent(at.forces[: len(at.A)]) @ at.free


def softest(at: StaticBalance) -> tuple[float, np.ndarray]:
    """The least stiffness as a part of the largest, −1 … 1, and the motion that it resists least, (nv,) of unit size.

    1 and no motion where nothing can move.
    """
    K = reduced_stiffness(at)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    if not len(values):
        return 1.0, np.zeros(len(at.reach))
    motion = at.free @ vectors[:, 0]
    stiffest = max(float(np.abs(values).max()), 1e-300)
    return float(values[0]) / stiffest, motion / np.abs(motion / at.reach).max()


def _downhill(at: StaticBalance, left: np.ndarray) -> np.ndarray:
    """Newton's step with every stiffness taken as positive, (nv,)."""
    Z, K = at.free, reduced_stiffness(at)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    stiffest = float(np.abs(values).max(initial=0.0))
    if (values > FLAT * stiffest).all():
        return -Z @ np.linalg.solve(K, left)
    # where nothing is stiff the step is as long as it may be: STRIDE bounds it
    size = np.maximum(np.abs(values), FLAT * max(stiffest, float(np.abs(left).max())))
    return -Z @ (vectors @ ((vectors.T @ left) / size))


def _within(
    step: np.ndarray, x: State, place: Mapping[int, int], bounds: Bounds, at_stop: Mapping[int, float]
) -> tuple[np.ndarray, dict[int, float]]:
    """The part of a step up to the first bound that it meets, and that bound."""
    part, met = 1.0, dict[int, float]()
    for k, i in place.items():
        bound = bounds.upper[k] if step[k] > 0 else bounds.lower[k]
        if k in at_stop or not step[k] or not np.isfinite(bound):
            continue
        room = (bound - x.q[i]) / step[k]
        if room < part:
            part, met = max(room, 0.0), {k: float(bound)}
    return part * step, met


def _placed(
    system: System,
    x: State,
    p: Parameters,
    held: Mapping[str, float],
    at_stop: Mapping[int, float],
    place: Mapping[int, int],
) -> State:
    """The assembled state with what is held and what leans on a stop."""
    q = {**held, **{system.v_names[k]: value for k, value in at_stop.items() if k in place}}
    return system.assemble(q or None, guess=x.q, p=p, t=x.t)
