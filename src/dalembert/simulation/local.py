"""Local state-space form (Spencer 2.3-2.4): only independent coordinates y are integrated, the others follow from them.

    R(q, y) = 0,  Φ(q, t) = 0             give q by Newton's method from the last one                 (2.23), 2.3.1
    D₁R v + D₂R ẏ = 0,  A v + b = 0       give v                                                      (2.44)
    ÿ = −D₂R⁻¹ (D₁R v̇ + Ḋ₁R v + Ḋ₂R ẏ)                                                              (2.45)

A chart is good as long as the rows of [D₁R; A] are far from dependent (Remark 1 after 2.37); the run takes another one
before that ends. One-step methods lose no order by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.errors import ArgumentError, unknown
from dalembert.recursions.elimination import eliminate, mass_factor
from dalembert.symbols import array, to_sx, zeros
from dalembert.system.functions import Trace
from dalembert.system.stepping import DRIVE, STATE, at_unit, given, moved, ode, rates

MORE = ("y", "ydot", "directions", "reference")


@dataclass(frozen=True)
class Chart:
    """Independent coordinates y with R(q, y) = 0, written in CasADi.

    R: function of the coordinate vector q and of y, as many rows as y. start: y at the start of the run.

    >>> import dalembert as da, casadi as ca
    >>> m = da.Mechanism("bead", gravity=(0, -9.81, 0))
    >>> slide = m.add_body("slide", mass=0.0)
    >>> bead = m.add_body("bead", mass=1.0)
    >>> m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    >>> m.add_joint("y", da.Prismatic("y"), slide, bead)
    >>> m.add_rod("wire", m.ground, bead, length=1.0)
    >>> system = m.compile()
    >>> polar = da.Chart(lambda q, y: ca.sin(y) * q[0] - ca.cos(y) * q[1], [0.1])
    >>> run = da.simulate(system, system.assemble(guess={"x": 1.0, "y": 0.1}), 0.5, coordinates=polar)
    >>> run.success
    True
    """

    R: Callable[[ca.SX, ca.SX], Any]
    start: Any


@dataclass(frozen=True, eq=False)
class Local:
    """A chart as a run uses it."""

    key: Any  # equal for charts with equal equations
    names: tuple[str, ...]
    R: Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Any]  # of q, y, directions (dof, nv), reference q
    start: np.ndarray  # y where it begins
    directions: np.ndarray
    reference: np.ndarray

    @property
    def dof(self) -> int:
        """Of y."""
        return len(self.start)

    def ode_kernel(self, system: Any, keep: Any) -> Any:
        """The right-hand side with ẏ and ÿ."""
        return system.built(("ode", self.key), (*STATE, *MORE, *DRIVE), lambda s: self._with_symbols(s, ode), keep)

    def recover_kernel(self, system: Any, keep: Any) -> Any:
        """q and v from y and ẏ: one Newton step."""
        return system.built(
            ("recover", self.key), (*STATE, *MORE, "p", "t"), lambda s: self._with_symbols(s, _recover), keep
        )

    def rate(self, system: Any, state: Any) -> np.ndarray:
        """ẏ = −D₂R⁻¹ D₁R v at a state where the chart begins, (dof,)."""

        def slopes(_: Local, s: Trace) -> Any:
            return self.equations(s)[1:3]

        kernel = system.built(("slope", self.key), ("q", "v", *MORE), lambda s: self._with_symbols(s, slopes))
        known = {"q": state.q, "v": state.v, "y": self.start, "ydot": np.zeros(self.dof)}
        known |= {"directions": self.directions, "reference": self.reference}
        D1, D2 = kernel(*(known[name] for name in kernel.names_in))
        return -np.linalg.solve(D2, D1 @ state.v)

    def _with_symbols(self, s: Trace, value: Any) -> Any:
        for name, n in zip(MORE, (self.dof, self.dof, self.dof * s.tree.nv, s.tree.nq)):
            given(s, name, n)
        return value(s, self) if value is ode else value(self, s)

    def equations(self, s: Trace) -> tuple[np.ndarray, ...]:
        """R, D₁R, D₂R and the terms Ḋ₁R v + Ḋ₂R ẏ."""
        q, y = s.sx["q"], s.sx["y"]
        C = ca.reshape(s.sx["directions"], s.tree.nv, self.dof).T
        R = ca.SX(ca.vertcat(*[self.R(q, y, C, s.sx["reference"])]))
        delta = ca.SX.sym("delta", s.tree.nv)
        shifted = to_sx(s.per_joint(lambda j, k, v: j.plus(s.q[k], array(delta)[v])))
        D1 = ca.substitute(ca.jacobian(ca.substitute(R, q, shifted), delta), delta, ca.SX.zeros(s.tree.nv))
        D2 = ca.jacobian(R, y)
        turning = D1 @ s.sx["v"] + D2 @ s.sx["ydot"]
        bias = ca.jtimes(turning, ca.vertcat(q, y), ca.vertcat(to_sx(rates(s)), s.sx["ydot"]))
        n, nv = self.dof, s.tree.nv
        shapes = (n,), (n, nv), (n, n), (n,)
        return tuple(array(ca.densify(e)).reshape(shape) for e, shape in zip((R, D1, D2, bias), shapes))

    def rates(self, s: Trace, moving: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """ẏ and ÿ."""
        _, D1, D2, bias = self.equations(s)
        right = -(D1 @ vdot + bias)
        acceleration = array(ca.solve(to_sx(D2), to_sx(right))) if self.key[0] == "own" else -right
        return np.concatenate([array(s.sx["ydot"]).reshape(-1), acceleration.reshape(-1)])


def _recover(chart: Local, s: Trace) -> tuple[Any, ...]:
    tree, still, holonomic = mass_factor(s.at), zeros(s.tree.nv), s.rows.only_holonomic()
    R, D1, D2, _ = chart.equations(s)
    gap = np.concatenate([R, holonomic.phi])
    delta, _, health = eliminate(tree, still, np.vstack([D1, holonomic.A]), gap)
    v, _, _ = eliminate(
        tree, still, np.vstack([D1, s.rows.A]), np.concatenate([D2 @ array(s.sx["ydot"]).reshape(-1), s.rows.b])
    )
    return at_unit(s, moved(s, delta), v, gap, health)


def leading(system: Any, state: Any, p: Any, names: Any = None, check: bool = True) -> Local:
    """Named coordinates lead (Spencer 2.33); without names those that keep [R; A] best conditioned."""
    dof, K = _admissible(system, state, p)
    known = [n for n in system.q_names if n in system.v_names]
    if names is None:
        names = _best(system, K, known, dof)
    for name in names:
        if name not in known:
            raise unknown("coordinate", name, known, "coordinates")
    if check and len(names) != dof:
        raise ArgumentError(
            f"coordinates names {len(names)} ({', '.join(names)}); '{system.name}' has {dof} degrees of freedom here."
        )
    iq = [system.q_names.index(n) for n in names]
    if check and dof and np.linalg.svd(K[[system.v_names.index(n) for n in names]], compute_uv=False)[-1] < 1e-9:
        raise ArgumentError(
            f"{', '.join(names)} are not independent here: the constraints tie them together, or leave another motion "
            f"free (2.28). The best choice here is {', '.join(_best(system, K, known, dof))}."
        )
    empty = np.zeros(len(names) * system.nv), np.zeros(system.nq)
    return Local(("partition", *iq), tuple(names), lambda q, y, C, ref: q[iq] - y, state.q[iq].copy(), *empty)


def tangential(system: Any, state: Any, p: Any) -> Local:
    """Admissible directions at a state lead: R = Kᵀ M (q ⊖ q̄) − y with Kᵀ M K = 1 (Spencer 3.1)."""
    t = tangent(system, state, p, np.ones(len(system.rows.of), dtype=bool))
    rows = t.V[:, t.rank :].T @ t.R
    minus, dof = system.function("minus"), len(rows)
    return Local(
        ("tangent", dof),
        tuple(f"y{k}" for k in range(dof)),
        lambda q, y, C, ref: C @ minus(q, ref) - y,
        np.zeros(dof),
        rows.ravel(),
        state.q.copy(),
    )


def own(system: Any, state: Any, chart: Chart) -> Local:
    """The user's R(q, y)."""
    start = np.atleast_1d(np.asarray(chart.start, dtype=float))
    q, y = ca.SX.sym("q", system.nq), ca.SX.sym("y", len(start))
    R = ca.SX(ca.vertcat(*[chart.R(q, y)]))
    if R.numel() != len(start):
        raise ArgumentError(f"R has {R.numel()} rows for {len(start)} coordinates y; needed: as many rows as y.")
    f = ca.Function("R", [q, y], [R, ca.jacobian(R, y)])
    for _ in range(50):  # y of the start, by Newton's method
        value, slope = (np.array(x) for x in f(state.q, start))
        if not np.linalg.cond(slope) < 1e12:
            raise ArgumentError("∂R/∂y is singular at the start (2.27): two of the y say the same.")
        step = np.linalg.solve(slope, value.ravel())
        start = start - step
        if np.abs(step).max(initial=0.0) < 1e-14 * (1 + np.abs(start).max(initial=0.0)):
            break
    names = tuple(f"y{k}" for k in range(len(start)))
    empty = np.zeros(len(start) * system.nv), np.zeros(system.nq)
    return Local(("own", chart.R), names, lambda q, y, C, ref: chart.R(q, y), start, *empty)


def choose(system: Any, state: Any, p: Any, wanted: Any) -> Local:
    """The chart a user asks for: names, "partition", "tangent", or a `Chart`."""
    if not system.rows.holonomic.all():
        names = ", ".join(dict.fromkeys(c for c, h in zip(system.rows.of, system.rows.holonomic) if not h))
        raise ArgumentError(
            f"{names} are nonholonomic: positions then have more freedom than velocities, and no set of independent "
            "coordinates carries both. Leave coordinates=None."
        )
    if isinstance(wanted, Chart):
        return own(system, state, wanted)
    if wanted == "tangent":
        return tangential(system, state, p)
    if isinstance(wanted, str) and wanted != "partition":
        wanted = [wanted]
    return leading(system, state, p, None if wanted == "partition" else list(wanted))


def _admissible(system: Any, state: Any, p: Any) -> tuple[int, np.ndarray]:
    K = tangent(system, state, p, np.ones(len(system.rows.of), dtype=bool)).admissible
    return K.shape[1], K


def _best(system: Any, K: np.ndarray, known: list[str], dof: int) -> list[str]:
    """The coordinates along which the admissible motions (rows of K) span best: pivoted QR."""
    from scipy.linalg import qr

    index = [system.v_names.index(n) for n in known]
    pivots = qr(K[index].T, pivoting=True, mode="r")[1][:dof] if dof else []
    return [known[k] for k in sorted(pivots)]
