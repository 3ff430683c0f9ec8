"""Equations of motion as a linear function of inertial parameters, with loops: what identification needs.

    e₁ = Y(q, v, v̇) π + Y_d d + e₀(q, v, v̇, u) − Aᵀλ = 0,   Kᵀ Aᵀ = 0
    Kᵀ [Y Y_d] [π; d] = −Kᵀ e₀                                                       no multipliers are left        (1)

π of each body are its mass, first moments and moments of inertia about the origin of its frame; d are declared
parameters in which the forces are affine, such as dampings. Not all of them can be told apart: the columns of (1), over
a motion, have a rank, and a QR factorization with pivoting finds as many combinations that can (base parameters).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, check_system
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.tree import ROOT, Tree
from dalembert.sensitivity.equations import checked
from dalembert.sensitivity.targets import Targets
from dalembert.simulation.results.run import Run
from dalembert.spatial import RigidInertia
from dalembert.symbols import array, symbols, to_sx
from dalembert.system.system import System
from dalembert.system.trace import Trace

KINDS = ("m", "mx", "my", "mz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
TOLERANCE = 1e-8  # of the largest column: less is dependent


@dataclass(frozen=True, eq=False)
class Regressor:
    """matrix · parameters = right, over a motion, free of the forces of loops."""

    matrix: np.ndarray  # (N·dof, c)
    right: np.ndarray  # (N·dof,)
    names: tuple[str, ...]  # (c,) "link: m", "link: mx" (kg m), "link: Jxx" (kg m²), …, and declared ones
    values: np.ndarray  # (c,) of the system as it is described

    @property
    def base(self) -> BaseParameters:
        """The combinations of parameters that this motion tells apart."""
        return self._base

    @cached_property
    def _base(self) -> BaseParameters:
        from scipy.linalg import qr, solve_triangular

        sizes = np.linalg.norm(self.matrix, axis=0)
        scaled = self.matrix / np.where(sizes > 0, sizes, 1.0)
        R, order = qr(scaled, mode="r", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int((diagonal > TOLERANCE * max(float(diagonal.max(initial=0.0)), 1e-300)).sum())
        C = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        full = np.zeros((rank, len(self.names)))
        full[np.arange(rank), order[:rank]] = 1.0
        full[:, order[rank:]] = C / sizes[order[:rank], None] * sizes[order[rank:]]
        full[np.abs(full) < 1e-9 * np.abs(full).max(initial=0.0)] = 0.0
        return BaseParameters(self, tuple(order[:rank].tolist()), full)


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations of parameters that a motion tells apart; each leads with one of them."""

    regressor: Regressor
    leading: tuple[int, ...]  # (rank,) columns of the regression
    combinations: np.ndarray  # (rank, c): base = combinations · parameters

    @property
    def names(self) -> tuple[str, ...]:
        """(rank,) of the parameters that lead."""
        return tuple(self.regressor.names[k] for k in self.leading)

    @property
    def values(self) -> np.ndarray:
        """(rank,) of the system as it is described."""
        return self.combinations @ self.regressor.values

    def identified(self) -> np.ndarray:
        """(rank,) what the motion says they are: least squares of its equations."""
        return np.linalg.lstsq(self.regressor.matrix[:, self.leading], self.regressor.right, rcond=None)[0]

    def __str__(self) -> str:
        """A line for each combination."""
        lines = []
        for row, lead in zip(self.combinations, self.leading):
            rest = [f"{x:+.4g} {n}" for k, (n, x) in enumerate(zip(self.regressor.names, row)) if x and k != lead]
            lines.append(" ".join([self.regressor.names[lead], *rest]))
        return "\n".join(lines)


def regressor(
    system: System,
    motion: Any,
    *,
    u: Any = None,
    p: Parameters = None,
    bodies: Sequence[str] | None = None,
    wrt: Sequence[str] = (),
) -> Regressor:
    """The equations of a recorded motion as linear equations for inertial parameters, loops included.

    system: the mechanism; its geometry is taken as known. motion: a `Run`, or (q, v, a): arrays (N, nq), (N, nv) and
    (N, nv) of positions, velocities and accelerations that close the loops. u: inputs (N, nu) of arrays, or (nu,)
    constant; p: parameters. Of a run they are its own. bodies: names of those whose parameters are wanted, by default
    all that move; the others' are known. wrt: declared parameters in which the forces are affine, by name: dampings,
    stiffnesses.

    `regression.base` has the combinations that the motion tells apart, and what it says they are. Known forces must
    act, such as inputs: of a motion under weight alone all masses could be twice as large.

    >>> import dalembert as da
    >>> m = da.Mechanism("cart")
    >>> d = m.add_parameter("d", 0.5)
    >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0), damping=d)
    >>> push = m.add_motor("push", "x")
    >>> system = m.compile()
    >>> run = da.simulate(system, {}, 2.0, u={"push": 4.0})
    >>> base = da.regressor(system, run, wrt=["d"]).base
    >>> dict(zip(base.names, base.identified().round(9).tolist())) == {"cart: m": 2.0, "d": 0.5}
    True
    """
    check_system(system)
    q, v, a, u, t, p = _motion(system, motion, u, p)
    chosen = _bodies(system, bodies)
    if isinstance(wrt, str) or not isinstance(wrt, Sequence):
        raise ArgumentError(f"wrt is {checks.shown(wrt)}; needed: a list of names of parameters.")
    targets = Targets.of(system, wrt) if wrt else None
    if not chosen and targets is None:
        raise ArgumentError("bodies and wrt name nothing; needed: a body or a parameter.")
    if targets is not None and (targets.u or targets.held):
        raise ArgumentError("wrt of a regressor names declared parameters only.")
    first = system.state(q[0], v[0], float(t[0]))
    rows = independent_rows(system, first, p) if system.rows.of else None
    key = ("regressor", tuple(chosen), None if targets is None else targets.key)
    lanes = 8 if system.backend == "native" and len(q) > 8 else 1
    kernel = system.kernels.custom(
        key, ("q", "v", "a", "u", "p", "t"), lambda s: _traced(s, system, chosen, targets), rows,
        ("matrix", "rest", "rows"), lanes,
    )  # fmt: skip
    known = {"q": q, "v": v, "a": a, "u": u, "p": p, "t": t.reshape(-1, 1)}
    Y, rest, A = kernel.batch(*(known[name] for name in kernel.names_in))
    N, nv = len(q), system.nv
    own = () if targets is None else targets.names
    names = (*(f"{body}: {kind}" for body in chosen for kind in KINDS), *own)
    Y, A = Y.reshape(N, nv, len(names)), A.reshape(N, A.shape[1], nv)
    K = np.linalg.svd(A)[2][:, A.shape[1] :] if A.shape[1] else np.broadcast_to(np.eye(nv), (N, nv, nv))
    values = np.concatenate([_values(system, chosen, p), p[[i for _, i in targets.p]] if targets else np.zeros(0)])
    matrix, right = (K @ Y).reshape(-1, len(names)), -(K @ rest[..., None]).ravel()
    return Regressor(matrix, right, names, values)


def _motion(system: System, motion: Any, u: Any, p: Parameters) -> tuple[np.ndarray, ...]:
    """q, v, a, u, t and p as arrays."""
    if isinstance(motion, Run):
        if u is not None or p is not None:
            raise ArgumentError("u and p are given, but a run has its own; leave them out.")
        if not system.layout.same(motion.system.layout):
            raise ArgumentError(f"the run is of another mechanism than '{system.name}'.")
        return motion.q, motion.v, motion.vdot, motion.u, motion.t, motion.p
    if not isinstance(motion, (list, tuple)) or len(motion) != 3:
        raise ArgumentError(f"motion is {checks.shown(motion)}; needed: a Run, or (q, v, a).")
    q = checks.array(motion[0], (None, system.nq), "q of the motion")
    v, a = (checks.array(x, (len(q), system.nv), f"{n} of the motion") for x, n in zip(motion[1:], "va"))
    if not len(q):
        raise ArgumentError("the motion has no states.")
    given = u if u is None or isinstance(u, Mapping) else checks.array(u, None, "u")
    if isinstance(given, np.ndarray) and given.ndim == 2:
        inputs = checks.array(given, (len(q), len(system.u_names)), "u")
    else:
        inputs = np.tile(system.arguments.input_vector(given), (len(q), 1))
    return q, v, a, inputs, np.zeros(len(q)), system.arguments.parameter_vector(p)


def _bodies(system: System, given: Sequence[str] | None) -> list[str]:
    """Names of bodies that move."""
    moving = [name for name, (link, _) in system.layout._place.items() if link != ROOT]
    if given is None:
        return moving
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"bodies is {checks.shown(given)}; needed: a list of names.")
    for name in given:
        if not isinstance(name, str) or name not in moving:
            raise unknown("moving body", name, moving, "bodies")
    return list(given)


def _traced(s: Trace, system: System, chosen: list[str], targets: Targets | None) -> tuple[Any, ...]:
    """[Y Y_d], e₀ and A."""
    pi_sx, pi = symbols("pi", 10 * len(chosen))
    known = {i: RigidInertia.zero() for i in range(len(s.tree))}
    for name, (link, T) in system.layout._place.items():
        if link == ROOT:
            continue
        own = s.d.layout.bodies[name].spatial_inertia()
        if name in chosen:
            m, x, y, z, xx, xy, xz, yy, yz, zz = pi[10 * chosen.index(name) :][:10]
            own = RigidInertia(m, array([x, y, z]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object))
        known[link] = known[link] + own.seen_from(T)
    tree = Tree([replace(link, inertia=known[i]) for i, link in enumerate(s.tree.links)])
    e = to_sx(newton_euler(tree.moving(s.q, s.v), s.a, s.d.gravity, s.load.wrenches) - s.load.tau)
    unknowns = pi_sx if targets is None else ca.vertcat(pi_sx, targets.symbols(s))
    Y = ca.jacobian(e, unknowns)
    if targets is not None and ca.depends_on(Y, unknowns):
        raise ArgumentError(
            f"the equations are not affine in all of {', '.join(targets.names)}; take dampings and stiffnesses, and "
            "the masses as `bodies`."
        )
    checked(system, [Y])
    rest = ca.substitute(e, unknowns, ca.SX.zeros(unknowns.shape))
    n = s.tree.nv
    return array(ca.densify(Y)).reshape(n, unknowns.numel()), array(ca.densify(rest)).reshape(n), s.rows.A


def _values(system: System, chosen: list[str], p: np.ndarray) -> np.ndarray:
    """Inertial parameters as described, about the origins of the bodies' frames."""
    numbers: list[Any] = []
    for name in chosen:
        I = system.layout.bodies[name].spatial_inertia()
        numbers += [I.m, *I.h, *(I.J[i, j] for i in range(3) for j in range(i, 3))]
    symbols_ = ca.vertcat(*system.description.parameters.values())
    f = ca.Function("values", [symbols_], [to_sx(np.array(numbers, dtype=object))])
    return np.array(f(p)).ravel()
