"""Stiffness and compliance of a frame of a mechanism that rests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import explained
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.statics.balance import StaticBalance
from dalembert.system.state import State
from dalembert.system.system import System

NAMES = ("rx", "ry", "rz", "x", "y", "z")
BALANCED = 1e-6  # of the load, or of the stiffness (N m/rad): what may be left in a position at rest
LOOSE = 1e-12  # of the largest stiffness: motions that nothing holds


@dataclass(frozen=True, eq=False)
class Stiffness:
    """How a frame yields to a small wrench (moment; force) at its origin: (turn; displacement) = compliance · wrench.

    `stiffness` is its inverse along the directions that yield; along `rigid` ones nothing moves. In units of rad, m, N
    and N m, and in the order of `names`: turns about x, y, z, then displacements.
    """

    system: System
    state: State
    compliance: np.ndarray  # (6, 6) rad/(N m), rad/N, m/(N m), m/N
    stiffness: np.ndarray  # (6, 6)
    rigid: np.ndarray  # (6, k) wrenches that move nothing, orthonormal in rad and lengths of the mechanism
    joint_compliance: np.ndarray  # (nv, nv) motions per force along the velocities
    axes: str  # "world" or "body": in whose axes
    names: tuple[str, ...] = NAMES

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """One number of the compliance: ["x", "y"] is the displacement along x for a unit force along y."""
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ArgumentError(f"a compliance is asked for by {checks.shown(pair)}; needed: two names, 'x' and 'ry'.")
        for name in pair:
            if name not in NAMES:
                raise unknown("direction", name, NAMES)
        return float(self.compliance[NAMES.index(pair[0]), NAMES.index(pair[1])])

    def __repr__(self) -> str:
        return f"<stiffness of a frame of '{self.system.name}': {self.rigid.shape[1]} of 6 directions are rigid>"


@explained
def stiffness(
    system: System,
    state: StateGiven,
    frame: Any,
    *,
    springs: Mapping[str, float] | None = None,
    held: Iterable[str] = (),
    axes: str = "world",
    u: Inputs = None,
    p: Parameters = None,
) -> Stiffness:
    """Cartesian stiffness and compliance of a frame of a mechanism at rest, loops, loads and preloads included.

    system: a compiled `System`. state: where it rests, held by what is sprung and held. frame: a frame
    (`body.at(...)`), a body, or the name of either. springs: stiffness (N m/rad or N/m) of coordinates by name, as that
    of a servo, beside the springs of the model; they hold what they must in this position. held: coordinates that do
    not move, by name. axes: the ground's ("world") or the frame's own ("body"). u: inputs, p: parameters.

    Raises ArgumentError where the state is not at rest, and where a motion is held by nothing.

    >>> import dalembert as da
    >>> m = da.Mechanism("arm")
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("arm", mass=1.0, com=(1, 0, 0)))
    >>> tip = m.add_frame("tip", m.bodies["arm"].at(2, 0, 0))
    >>> yields = da.stiffness(m.compile(), {}, "tip", springs={"A": 100.0})
    >>> yields["y", "y"], yields["x", "x"]                                     # m/N: lever² / k, and rigid along x
    (0.04, 0.0)
    """
    check_system(system)
    x, u, p = system.arguments.resolve(state, u, p)
    x = system.arguments.belonging(x.replace(v=np.zeros(system.nv)), p)
    axes = checks.choice(axes, ("world", "body"), "axes")
    given = {} if springs is None else checks.mapping(springs, "springs")
    k = {_place(system, n, "springs"): checks.number(c, f"springs['{n}']", least=0.0) for n, c in given.items()}
    if isinstance(held, str) or not isinstance(held, (list, tuple, set, frozenset)):
        raise ArgumentError(f"held is {checks.shown(held)}; needed: a list of coordinates.")
    fixed = [_place(system, n, "held") for n in held]
    inputs = system.arguments.input_vector(u)
    whole, at = StaticBalance(system, x, inputs, p, sorted({*fixed, *k})), StaticBalance(system, x, inputs, p, fixed)
    K = at.tangent(whole.forces[: len(whole.A)])  # what servos bear acts along coordinates and changes no stiffness
    _check_rest(whole, _usual(K, at.reach))
    for place, value in k.items():
        K[place, place] += value
    Z = at.free
    reduced = Z.T @ K @ Z
    if Z.shape[1]:
        sigma = np.linalg.svd(reduced)
        if sigma[1][-1] <= LOOSE * max(sigma[1][0], _usual(K, at.reach)):
            motion = Z @ sigma[2][-1]
            name = system.v_names[int(np.argmax(np.abs(motion / at.reach)))]
            raise ArgumentError(
                f"'{system.name}' is not held: it moves along '{name}' without a force. Give that coordinate a spring, "
                "springs={name: N m/rad}, or hold it."
            )
    yields = Z @ np.linalg.solve(reduced, Z.T) if Z.shape[1] else np.zeros((system.nv, system.nv))
    J = system.jacobian(x, frame, axes=axes, p=p)
    C = J @ yields @ J.T
    L = rank_policy(system, p).length
    scale = np.repeat([1.0, L], 3)  # displacements in lengths, wrenches in N m
    U, values, Vt = np.linalg.svd(C / scale / scale[:, None])
    counts = values > 1e-9 * max(values[0], 1e-300)
    back = Vt[counts].T / values[counts] @ U[:, counts].T
    rigid = U[:, ~counts] / scale[:, None]
    return Stiffness(system, x, C, back / scale / scale[:, None], rigid, yields, axes)


def _usual(K: np.ndarray, reach: np.ndarray) -> float:
    return float(np.abs(K * reach * reach[:, None]).max(initial=0.0))


def _place(system: System, name: Any, what: str) -> int:
    if not isinstance(name, str) or name not in system.v_names:
        raise unknown("coordinate", name, system.v_names, what)
    return system.v_names.index(name)


def _check_rest(at: StaticBalance, stiffness: float) -> None:
    """Refuse a position that is not at rest: what is left is no rounding of the load, nor moves it by 1e-6 rad."""
    load = max(np.abs(at.load * at.reach).max(initial=0.0), stiffness)
    left = at.left
    if np.abs(left).max(initial=0.0) > BALANCED * load:
        motion = at.free @ left
        name = at.system.v_names[int(np.argmax(np.abs(motion / at.reach)))]
        raise ArgumentError(
            f"'{at.system.name}' does not rest there: {np.abs(left).max():.3g} N m (or N times its length) pull along "
            f"'{name}'. Take the state of da.equilibrium, or give springs or locks to what holds it."
        )
