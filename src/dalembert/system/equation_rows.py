"""Derivatives of the equations of motion of mechanisms of any size: rows of the Jacobian by reverse sweeps.

    e₁ = M v̇ + h − Q − Aᵀλ,   e₂ = A v̇ + γ,   e₃ = A v + b                                                  (1)

where e₁ = v̇ − u for coordinates that kinematic inputs u lead. With x = (δ, v, u, p, t), z = (v̇, λ) and any weights w,

    g(w) = ∂(wᵀe)/∂(x, z)         one reverse sweep through the recursions                                   (2)
    g′(w)                         the derivative of g along a direction of (x, z), one forward sweep more    (3)

take three and six times the operations of e itself, however many derivatives there are: the code grows as N, and the
Jacobian, whose rows are (2) for unit weights, takes time as N². Rows of A are never formed: a constraint is a formula
of the links that it touches (`mechanism.local`), Aᵀλ a wrench on each. Derivatives by q are along tangent vectors, and
g′ is the change of these as q ⊕ δ moves. (e₁, e₂) = 0 determines z, in which it is linear, so that

    z = −e_z⁻¹ e(x, 0),   Z = −e_z⁻¹ e_x,   Z′ = −e_z⁻¹ (e_x′ + e_z′ Z)   along (d, Z d)                       (4)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.blas import one_thread
from dalembert.lazy import cached_property
from dalembert.mechanism.constraints import Constraint
from dalembert.mechanism.local import LocalState
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.sparse import Sparse
from dalembert.recursions.tree import ROOT
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.derivatives import ACCELERATION_DERIVATIVES
from dalembert.system.jacobian_rows import JacobianRows
from dalembert.system.local_slopes import chosen_rows

if TYPE_CHECKING:
    from dalembert.protocols import Inputs, Parameters
    from dalembert.system.rows import RowChoice
    from dalembert.system.state import State
    from dalembert.system.system import System
    from dalembert.system.trace import Trace

LARGE = 24  # velocities: with more, straight-line code of all derivatives takes about ten seconds to compile


def is_large(system: System) -> bool:
    """Whether the derivatives of a system are made of rows, not as straight-line code."""
    return system.nv > LARGE


def arguments(system: System, x: State, u: Inputs, p: Parameters) -> dict[str, np.ndarray]:
    """q, v, u, p and t of a state by name, as kernels take them."""
    return {
        "q": x.q,
        "v": x.v,
        "u": system.arguments.input_vector(u),
        "p": system.arguments.parameter_vector(p),
        "t": np.array([x.t]),
    }


class EquationRows(JacobianRows):
    """The equations of a system on some of its rows, and of coordinates that are functions of its state."""

    name, by = "equation", ("q", "v", "u", "p", "t", "a", "lam")
    arguments = ("q", "v", "a", "lam", "u", "p", "t")

    def __init__(self, system: System, rows: RowChoice = None, coordinates: Sequence[tuple[Any, Constraint]] = ()):
        """`coordinates`: a key of its own, and the row that does not act, of each function of the state."""
        self.extra = [row for _, row in coordinates]
        self.m = len(system.rows.of) if rows is None else len(rows)
        n, c = system.nv, len(self.extra)
        sizes = {"q": n, "v": n, "u": len(system.u_names), "p": len(system.p_names), "t": 1, "a": n, "lam": self.m}
        ends = np.cumsum([n, self.m, c, self.m, c]).tolist()
        names = ("forces", "rates", "coordinate_rates", "speeds", "coordinate_speeds")
        self.places = {name: slice(a, b) for name, a, b in zip(names, [0, *ends], ends)}
        super().__init__(system, rows, sizes, ends[-1], tuple(key for key, _ in coordinates))

    @property
    def unknowns(self) -> slice:
        """The columns of z."""
        return slice(self.columns["a"].start, self.width)

    @cached_property
    def timed(self) -> bool:
        """Whether anything in the equations depends on the time."""
        return "t" in self.kernel.names_in

    @property
    def implicit(self) -> slice:
        """The rows e₁ and e₂ that determine z."""
        return slice(0, self.places["rates"].stop)

    def solved(self, known: Mapping[str, Any]) -> SolvedRows:
        """v̇ and λ at q, v, u, p and t given by name, and the Jacobian there."""
        n = self.implicit.stop
        J, e = self.jacobian({**known, "a": np.zeros(self.system.nv), "lam": np.zeros(self.m)}, np.eye(n, self.count))
        e_z = J[:, self.unknowns]
        scale = self._scale(e_z)
        z = divided(e_z, -e, scale)
        known = {**known, "a": z[: self.system.nv], "lam": z[self.system.nv :]}
        J, e = self.jacobian(known)
        return SolvedRows(self, known, self._margin(e_z), J, e, scale)

    def _scale(self, e_z: np.ndarray) -> np.ndarray:
        """(nv + m,) powers of two that make D e_z D of size one: inertias of links differ by 1e7 and more."""
        n = self.system.nv
        inertias = np.abs(np.diag(e_z)[:n])
        of_v = np.sqrt(np.where(inertias > 0.0, inertias, 1.0))
        of_lam = np.linalg.norm(e_z[n:, :n] / of_v, axis=1)
        sizes = np.concatenate([of_v, np.where(of_lam > 0.0, of_lam, 1.0)])
        with np.errstate(invalid="ignore"):
            return np.exp2(-np.round(np.log2(sizes)))

    def _margin(self, e_z: np.ndarray) -> np.ndarray:
        """(2,) as `Elimination.margin`: of rows of A in the mass metric, least squared sine and squared length."""
        n, led = self.system.nv, list(self.system.description.prescribed.values())
        A, M = e_z[n:, :n].copy(), e_z[:n, :n].copy()
        if not len(A):
            return np.ones(2)
        A[:, led], M[:, led], M[led, led] = 0.0, 0.0, 1.0
        try:
            with one_thread():
                white = np.linalg.solve(np.linalg.cholesky(M), A.T)
                lengths = np.linalg.norm(white, axis=0)
                sines = np.diag(np.linalg.qr(white / lengths, mode="r"))
                return np.array([np.abs(sines).min() ** 2, lengths.min() ** 2])
        except np.linalg.LinAlgError:
            return np.zeros(2)

    # --- traced -------------------------------------------------------------------------------------------------

    def _residuals(self, s: Trace) -> ca.SX:
        """(1)."""
        s.sx["lam"], lam = symbols("lam", self.m)
        here = LocalState(s.d.layout, s.t[0])
        rows = chosen_rows(s.d.constraints, here, s.rows.all_named[: self.m])
        rows += [row for c in self.extra for row in c.rows(here)]
        n, links = s.tree.nv, range(len(s.tree))
        motions, rates = symbols("rate", here.w.numel())
        e2, e3 = zeros(len(rows)), zeros(len(rows))
        for k, row in enumerate(rows):
            e2[k], e3[k] = row.times(rates) + row.gamma, row.times(here.at.v) + row.b
        exerted = Sparse([row.A for row in rows[: self.m]], here.w.numel()).transposed_times(lam)
        f = ca.Function(
            "local", [here.z, here.w, motions, s.sx["lam"], s.sx["u"], s.sx["p"], s.sx["t"]],
            [to_sx(x) for x in (exerted, e2, e3)], {"allow_free": True},
        )  # fmt: skip
        z, w, rate, V_rate = [s.q], [s.v], [s.a], {ROOT: zeros(6)}
        for i in links:
            T, link = s.at.pose(i), s.tree.links[i]
            V_rate[i] = s.at.X(i) @ V_rate[link.parent] + s.at.S(i) @ s.a[link.v] + s.at.c(i)
            z, w, rate = [*z, T.R.ravel(), T.p], [*w, s.at.V(i)], [*rate, V_rate[i]]
        given = [*(to_sx(np.concatenate(x)) for x in (z, w, rate)), *(s.sx[x] for x in ("lam", "u", "p", "t"))]
        forces, *others = f.call(given, True, False)
        exerted = array(ca.densify(forces)).reshape(-1)
        wrenches = {i: s.load.wrenches.get(i, 0.0) + exerted[n + 6 * i : n + 6 * (i + 1)] for i in links}
        e1 = newton_euler(s.at, s.a, s.d.gravity, wrenches) - s.load.tau - exerted[:n]
        e1[s.led.places] = s.a[s.led.places] - s.led.accelerations
        return ca.vertcat(to_sx(e1), *others)

    def _sloped(self, s: Trace) -> tuple[ca.SX, ca.SX, ca.SX]:
        """(2)."""
        e = self._residuals(s)
        s.sx["weights"] = w = ca.SX.sym("weights", e.numel())
        weighted = ca.dot(w, e)
        return *self._along_tangents(s, ca.gradient(weighted, self._symbols(s))), weighted


@dataclass(frozen=True, eq=False)
class SolvedRows:
    """The equations at one state, solved for z = (v̇, λ), with the first derivatives of z; (4)."""

    of: EquationRows
    known: Mapping[str, Any]
    margin: np.ndarray  # (2,) of the elimination
    J: np.ndarray  # (rows, columns) the Jacobian of all rows
    e: np.ndarray  # (rows,) what they are; 0 where they determine z
    scale: np.ndarray  # (nv + m,) D of D e_z D, by which z is solved for

    @cached_property
    def Z(self) -> np.ndarray:
        """(nv + m, x) the derivatives of v̇ and λ."""
        J = self.J[self.of.implicit]
        return self.divided(-J[:, : self.of.unknowns.start])

    def divided(self, right: np.ndarray) -> np.ndarray:
        """e_z⁻¹ right; NaN where e_z is singular."""
        return divided(self.J[self.of.implicit, self.of.unknowns], right, self.scale)

    def divided_transposed(self, right: np.ndarray) -> np.ndarray:
        """e_z⁻ᵀ right."""
        return divided(self.J[self.of.implicit, self.of.unknowns].T, right, self.scale)

    @property
    def slopes(self) -> dict[str, np.ndarray]:
        """v̇ and λ with their derivatives, by the names `ACCELERATION_DERIVATIVES`."""
        of, n = self.of, self.of.system.nv
        out = {"vdot": self.known["a"], "multipliers": self.known["lam"], "margin": self.margin}
        for x in ("q", "v", "u", "t"):
            out[f"vdot_{x}"], out[f"multipliers_{x}"] = np.split(self.Z[:, of.columns[x]], [n])
        for x in ("q", "t"):
            out[f"speed_{x}"] = self.J[of.places["speeds"], of.columns[x]]
        return {name: out[name] for name in ACCELERATION_DERIVATIVES}


def divided(left: np.ndarray, right: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """left⁻¹ right by D (D left D)⁻¹ D; NaN where there is none."""
    D = scale if right.ndim == 1 else scale[:, None]
    try:
        with one_thread():
            return D * np.linalg.solve(left * scale[:, None] * scale, D * right)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)
