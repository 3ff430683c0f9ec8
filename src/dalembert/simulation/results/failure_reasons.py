"""Why no motion leads on: the sentence behind the status of a run that ended early."""

from __future__ import annotations

import numpy as np

from dalembert.analysis.manifold import tangent_of_motion
from dalembert.analysis.tangent_cone import TangentCone
from dalembert.errors import AssemblyError
from dalembert.rank import rank_policy, reach
from dalembert.simulation.state_units import state_units
from dalembert.system.state import State
from dalembert.system.system import System

NEAR = 3e-2  # σ of a position that explains trouble
STEEP = {
    1e-7: 1e3,
    1e-2: 50.0,
}  # {rad, or of the mechanism's length: rad per rad}: rows that turn so fast on so long a way
AWAY = 1e3  # times the mean speed of a run: the last one of a motion that runs away
EPS = float(np.finfo(float).eps)
AGAINST = 1e-3  # of the drivers' speeds: a part of them that dependent rows leave no motion for


def cause(system: System, x: State, p: np.ndarray, usual: int, u: np.ndarray) -> str:
    """A sentence on what blocks the motion at a state with inputs u, or an empty string."""
    if not usual or not np.isfinite(x.q).all():
        return ""
    try:
        cone = TangentCone.of(system, x, p, usual - 1, usual, tangent_of_motion(system, x, p), u)
    except AssemblyError:
        return "a constraint is not defined here: a direction it needs has no length"
    if cone.tangent.sigma[usual - 1] > NEAR:
        return led_too_far(system, x, p) or _undefined(system, x, p)
    weights = np.abs(cone.W[0] * cone.tangent.scale)
    names = dict.fromkeys(of for of, w in zip(system.rows.of, weights) if w > 0.1 * weights.max())
    kinds = {c.name: c.kind for c in system.description.constraints}
    drivers = [name for name in names if kinds[name] == "driver"]
    others = [name for name in names if name not in drivers]
    if drives_against(system, x, p, cone):
        if drivers:
            return f"{_led(system, x, drivers[0])}, as far as {_listed(others)} can follow"
        if why := led_too_far(system, x, p):
            return why
    return f"this is next to a singular position, where {_listed(list(names))} depend on each other"


def led_too_far(system: System, x: State, p: np.ndarray) -> str:
    """The kinematic input whose coordinate moves where what is not led cannot follow; nothing, if they all can."""
    if not system.description.prescribed:
        return ""
    A = system.constraint_matrix(x, p=p) * reach(system, p) / rank_policy(system, p).units[:, None]
    places = list(system.description.prescribed.values())
    follows = A.copy()
    follows[:, places] = 0.0
    U, sigma, _ = np.linalg.svd(follows)
    if len(sigma) == len(U) and sigma[-1] > NEAR * sigma[0]:
        return ""
    missing = U[:, -1]
    worst = int(np.argmax(np.abs(missing @ A[:, places])))
    names = dict.fromkeys(of for of, w in zip(system.rows.of, np.abs(missing)) if w > 0.1 * np.abs(missing).max())
    name = system.v_names[places[worst]]
    leader = list(system.description.prescribed)[worst]
    return f"'{leader}' leads {name} to {x[name]:.6g}, as far as {_listed(list(names))} can follow"


def _undefined(system: System, x: State, p: np.ndarray) -> str:
    """The constraint whose rows turn so fast with some coordinate that they have no direction next to here."""
    units = reach(system, p)
    A = system.constraint_matrix(x, p=p) * units
    for way, steep in STEEP.items():
        turned = np.zeros(len(A))
        for step in way * np.diag(units):
            try:
                moved = system.constraint_matrix(x.replace(q=system.plus(x, step)), p=p) * units
            except AssemblyError:  # not defined there
                continue
            turned = np.fmax(turned, np.linalg.norm(moved - A, axis=1))
        turned /= np.maximum(np.linalg.norm(A, axis=1), 1e-300)
        worst = int(np.argmax(turned))
        if turned[worst] > steep * way:
            return f"constraint '{system.rows.of[worst]}' has no direction next to here, as of a disc that falls flat"
    return ""


def jump(system: System, v: np.ndarray, p: np.ndarray) -> int:
    """The record, of velocities (N, nv), after which they change most."""
    return int(np.argmax(np.nan_to_num(np.abs(np.diff(v, axis=0)) / reach(system, p)).max(axis=1)))


def runs_away(system: System, t: np.ndarray, v: np.ndarray, p: np.ndarray) -> str:
    """A sentence on the velocity that grows without bound, of times (N,) and velocities (N, nv); or an empty one."""
    known = np.isfinite(v).all(axis=1)
    t, speeds = t[known], np.abs(v[known]) / reach(system, p)
    if len(t) < 3 or not t[-1] > t[0]:
        return ""
    worst = int(np.argmax(speeds[-1]))
    mean = float(np.sum(np.diff(t) * speeds[:-1, worst]) / (t[-1] - t[0]))
    if not speeds[-1, worst] > AWAY * mean:
        return ""
    name, value = system.v_names[worst], v[known][-1, worst]
    return f"the motion runs away: the velocity of {name} has grown to {value:.3g} and goes on growing"


def rounded(system: System, x: State, p: np.ndarray, rate: float, asked: float) -> str:
    """A sentence on a time, or a coordinate, whose rounding is more than a tolerance allows; or an empty one.

    rate: of the motion, 1/s; 0: no equation has the time. asked: the tolerance, in rad or lengths.
    """
    clock, steps = float(np.spacing(abs(x.t))), np.spacing(np.abs(x.q))
    off = EPS * np.abs(x.q) / state_units(system, system.nq + system.nv, rank_policy(system, p).length)[: system.nq]
    worst = int(np.argmax(off)) if len(off) else 0
    if EPS * abs(x.t) * rate > asked:
        return (
            f"times near {x.t:.3g} s are rounded to {clock:.1g} s, in which the motion goes farther than "
            f"a tolerance of {asked:g} allows; count the time from nearer to the run"
        )
    if len(off) and off[worst] > asked:
        return (
            f"{system.q_names[worst]} is {x.q[worst]:.3g}, which is rounded to {steps[worst]:.1g}, more than "
            f"a tolerance of {asked:g} allows; take whole turns, or what it has in common with others, away from it"
        )
    return ""


def drives_against(system: System, x: State, p: np.ndarray, cone: TangentCone) -> bool:
    """Whether drivers, or kinematic inputs, ask for velocities that no motion has in a position: W (A c + b) ≠ 0."""
    _, A, b = system.evaluate("constraints", x, p=p)
    led = list(system.description.prescribed.values())
    asked = np.abs((b + A[:, led] @ x.v[led]) / cone.tangent.scale).max(initial=0.0)
    missing = np.abs(cone.W @ (A @ cone.c + b)).max(initial=0.0)
    return bool(missing > AGAINST * asked)


def _led(system: System, x: State, driver: str) -> str:
    """A sentence on the motion of a driver here."""
    described = next(c.describe() for c in system.description.constraints if c.name == driver)
    coordinate = described.removeprefix("driver of ")
    if coordinate in system.q_names:
        return f"driver '{driver}' leads {coordinate} to {x.q[system.q_names.index(coordinate)]:.6g}"
    return f"driver '{driver}' leads {coordinate} on"


def _listed(names: list[str]) -> str:
    return " and ".join(f"'{name}'" for name in names) if names else "the others"
