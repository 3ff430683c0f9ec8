"""Charts of the constraint manifold (Spencer 2.3-2.4): independent coordinates y with q = Ψ(y), from R(q, y) = 0.

    R(q, y) = 0,  Φ(q, t) = 0             give q by Newton's method from the last one                 (2.23), 2.3.1
    K = DΨ = [D₁R; A]⁻¹ [−D₂R; 0]         gives v = K ẏ, and with drivers A v + b = 0                 (2.29), (2.44)
    [D₁R; A] K̇ = −[Ḋ₂R; 0] − [Ḋ₁R; Ȧ] K                                                             (2.40)
    ÿ = −D₂R⁻¹ (D₁R v̇ + Ḋ₁R v + Ḋ₂R ẏ)                                                              (2.45)
    conditions: |D₂R| ≠ 0 and |[D₁R; A]| ≠ 0                                                          (2.27), (2.28)

`named` takes coordinates of joints as y, `tangent` the admissible directions at a state, `custom` any R(q, y) written
in CasADi. R is traced once; its derivatives serve NumPy (`state`, `coordinates`, `K`) and the kernels of a simulation.
A chart is good as long as the rows of [D₁R; A] are far from dependent (Remark 1 after 2.37).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.manifold import Tangent
from dalembert.analysis.manifold import tangent as tangent_at
from dalembert.compiler import Kernel
from dalembert.errors import ArgumentError, AssemblyError, DalembertError, unknown
from dalembert.mechanism.constraints import Loop
from dalembert.mechanism.values import described
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.rank import independent, rank_policy
from dalembert.recursions.elimination import eliminate, mass_factor
from dalembert.spatial import Transform
from dalembert.symbols import array, to_sx, zeros
from dalembert.system.functions import Trace
from dalembert.system.state import State
from dalembert.system.stepping import DRIVE, STATE, at_unit, given, moved, ode, rates
from dalembert.system.system import RowChoice, System

MORE = ("y", "ydot", "directions", "reference")
ITERATIONS = 50  # of Newton's method
CLOSED = 1e-8  # of y and of the mechanism's length: the gap that ends a chart


@dataclass(frozen=True)
class Chart:
    """Independent coordinates y with R(q, y) = 0, written in CasADi, for `simulate(coordinates=...)`.

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
    start: ArrayLike

    def __post_init__(self) -> None:
        checks.function(self.R, "R")
        checks.vector(np.atleast_1d(checks.array(self.start, None, "start")), None, "start")


@dataclass(frozen=True, eq=False)
class LocalChart:
    """A chart of one system around one configuration; made by `named`, `tangent`, `custom` or `choose`."""

    system: System
    p: Parameters  # of the system
    key: tuple[Any, ...]  # (kind, …), equal for charts with equal equations
    names: tuple[str, ...]  # (dof,) of y
    R: Callable[[Trace, ca.SX, ca.SX, ca.SX], Any]  # of a trace, y, directions (dof, nv), reference (nq,)
    start: np.ndarray  # (dof,) y of the reference
    directions: np.ndarray  # (dof · nv,) rows of a tangent chart; others do not use them
    reference: np.ndarray  # (nq,) where it was made
    time: float = 0.0  # s

    @property
    def kind(self) -> str:
        """ "named", "tangent" or "custom"."""
        return self.key[0]

    @property
    def dof(self) -> int:
        """Number of coordinates y."""
        return len(self.start)

    # --- numbers ------------------------------------------------------------------------------------------------

    def coordinates(self, state: StateGiven, guess: ArrayLike | None = None) -> np.ndarray:
        """Ψ⁻¹: y of a state, (dof,), by Newton's method on R(q, y) = 0 from `guess` (default: y of the reference)."""
        x, y = self.system.as_state(state), self.start if guess is None else self._y(guess, "guess")
        for _ in range(ITERATIONS):
            R, _, D2, *_ = self._numbers(x, y)
            slope = rank_policy().reveal(D2)
            if slope.rank < self.dof or not np.isfinite(R).all():
                raise ArgumentError("∂R/∂y is singular (2.27): R does not determine the coordinates y.")
            step = slope.solve(R)
            y = y - step
            size = np.abs(step).max(initial=0.0) / (1 + np.abs(y).max(initial=0.0))
            if size <= 1e-14:
                break
        if not size <= CLOSED:
            raise ArgumentError("Newton's method finds no y with R(q, y) = 0 for this state; give a nearer guess.")
        return y

    def rate(self, state: StateGiven) -> np.ndarray:
        """ẏ = −D₂R⁻¹ D₁R v of a state, (dof,)."""
        x = self.system.as_state(state)
        _, D1, D2, *_ = self._numbers(x, self.coordinates(x))
        return -np.linalg.solve(D2, D1 @ x.v)

    def state(
        self,
        y: ArrayLike,
        rate: ArrayLike | None = None,
        guess: StateGiven | None = None,
        tolerance: float = 1e-12,
    ) -> State:
        """Ψ(y), with the velocity K ẏ where ẏ = rate is given; Newton's method from `guess` (default: the reference).

        Ends when the distance to the solution, estimated from the contraction ρ of the steps as ρ/(1 − ρ) ‖δ‖, is
        below the tolerance (2.3.1). Raises AssemblyError where the chart has no such point.
        """
        y, policy = self._y(y, "y"), rank_policy(self.system, self.p)
        tolerance = checks.number(tolerance, "tolerance", above=0.0)
        x = self.system.state(self.reference, t=self.time) if guess is None else self.system.as_state(guess)
        holonomic, last = self.system.rows.holonomic, 0.0
        units = np.concatenate([np.ones(self.dof), policy.units[holonomic]])
        for _ in range(ITERATIONS):
            rows, gap = self._stacked(x, y, holonomic)
            step = rows.shortest(-gap)
            x = x.replace(q=self.system.plus(x, step))
            size = float(np.abs(step).max(initial=0.0))
            contraction = min(size / last, 0.999) if last > 0 else 0.999
            last = size
            if size <= tolerance or contraction / (1 - contraction) * size <= 0.1 * tolerance:
                break
        left = float(np.abs(self._stacked(x, y, holonomic)[1] / units).max(initial=0.0))
        if not left <= CLOSED:
            at = self.system.state(self.reference, t=self.time)
            raise AssemblyError(
                f"no configuration of '{self.system.name}' has {', '.join(self.names)} = {y.tolist()} near the "
                f"reference (gap {left:.3g}); the chart ends before. Its condition at the reference is "
                f"{self.condition(at):.3g}: take a new reference nearer, or other coordinates."
            )
        if rate is None:
            return x.replace(v=np.zeros(self.system.nv))
        D2, b = self._numbers(x, y)[2], self.system.evaluate("constraints", x, p=self.p)[2]
        wanted = np.concatenate([-D2 @ self._y(rate, "rate"), -b])
        return x.replace(v=self._stacked(x, y)[0].shortest(wanted))

    def K(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(nv, dof) DΨ at a state (2.44); y is that of the state by default."""
        x, y = self._at(state, y)
        D2 = self._numbers(x, y)[2]
        rows = self._stacked(x, y)[0]
        return rows.shortest(np.vstack([-D2, np.zeros((len(rows.A) - self.dof, self.dof))]))

    def K_rate(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(nv, dof) K̇ along the velocity of a state (2.40): v̇ = K ÿ + K̇ ẏ, and with drivers the rest of v's own."""
        x, y = self._at(state, y)
        turned = self._numbers(x, y, self.rate(x))
        (_, _, _, _, D1_rate, D2_rate, A_rate), K = turned, self.K(x, y)
        right = -np.vstack([D1_rate @ K + D2_rate, A_rate.reshape(-1, self.system.nv) @ K])
        return self._stacked(x, y)[0].shortest(right)

    def condition(self, state: StateGiven, y: ArrayLike | None = None) -> float:
        """Condition number of [D₁R; A], rows of unit length in the mass metric: infinite where the chart ends."""
        white = self._stacked(*self._at(state, y))[0].white
        length = np.linalg.norm(white, axis=1, keepdims=True)
        sigma = rank_policy().reveal(white / np.maximum(length, 1e-300)).sigma[: self.system.nv]
        return float(sigma[0] / sigma[-1]) if len(white) >= self.system.nv and sigma[-1] > 0 else np.inf

    def _at(self, state: StateGiven, y: ArrayLike | None) -> tuple[State, np.ndarray]:
        x = self.system.as_state(state)
        return x, self.coordinates(x) if y is None else self._y(y, "y")

    def _y(self, y: ArrayLike, what: str) -> np.ndarray:
        return checks.vector(np.atleast_1d(checks.array(y, None, what)), self.dof, what)

    def _numbers(self, x: State, y: np.ndarray, rate: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """R, D₁R, D₂R, the bias Ḋ₁R v + Ḋ₂R ẏ, Ḋ₁R, Ḋ₂R and Ȧ at a state and y."""
        kernel = self.system.custom_kernel(
            ("chart", self.key), ("q", "v", *MORE, "p", "t"), self._tracing(_derivatives)
        )
        more = {"y": y, "ydot": np.zeros(self.dof) if rate is None else rate}
        more |= {"directions": self.directions, "reference": self.reference}
        return self.system.evaluate_kernel(kernel, x, None, self.p, more)

    def _stacked(self, x: State, y: np.ndarray, rows: np.ndarray | slice = slice(None)) -> tuple[Tangent, np.ndarray]:
        """[D₁R; A] of some of the rows of A, factored, and the values of R and Φ, one under another."""
        policy = rank_policy(self.system, self.p)
        R, D1, *_ = self._numbers(x, y)
        phi, A, _ = self.system.evaluate("constraints", x, p=self.p)
        M = self.system.mass_matrix(x, p=self.p)
        lengths = np.sqrt(np.einsum("ij,ji->i", D1, np.linalg.solve(M, D1.T)))
        scale = np.concatenate([np.where(lengths > 0, lengths, 1.0), policy.sizes[rows]])
        return Tangent.of(np.vstack([D1, A[rows]]), M, policy, scale), np.concatenate([R, phi[rows]])

    # --- kernels of a simulation --------------------------------------------------------------------------------

    def ode_kernel(self, rows: RowChoice) -> Kernel:
        """The right-hand side by elimination with ẏ and ÿ, on some rows of the constraints (None: all)."""
        return self.system.custom_kernel(
            ("ode", self.key), (*STATE, *MORE, *DRIVE), self._tracing(lambda s, chart: ode(s, chart)), rows
        )

    def recover_kernel(self, rows: RowChoice) -> Kernel:
        """q and v from y and ẏ: one Newton step."""
        return self.system.custom_kernel(
            ("recover", self.key), (*STATE, *MORE, "p", "t"), self._tracing(_recover), rows
        )

    def equations(self, s: Trace) -> tuple[np.ndarray, ...]:
        """R, D₁R, D₂R and the bias Ḋ₁R v + Ḋ₂R ẏ of a trace: (dof,), (dof, nv), (dof, dof), (dof,)."""
        q, y = s.sx["q"], s.sx["y"]
        C = ca.reshape(s.sx["directions"], s.tree.nv, self.dof).T
        R = ca.SX(ca.vertcat(*[self.R(s, y, C, s.sx["reference"])]))
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
        """ẏ and ÿ of a trace, (2 dof,)."""
        _, D1, D2, bias = self.equations(s)
        right = -(D1 @ vdot + bias)
        acceleration = array(ca.solve(to_sx(D2), to_sx(right))) if self.kind == "custom" else -right
        return np.concatenate([array(s.sx["ydot"]).reshape(-1), acceleration.reshape(-1)])

    def _tracing(self, value: Callable[[Trace, LocalChart], Any]) -> Callable[[Trace], Any]:
        def traced(s: Trace) -> Any:
            for name, n in zip(MORE, (self.dof, self.dof, self.dof * s.tree.nv, s.tree.nq)):
                given(s, name, n)
            return value(s, self)

        return traced


def _derivatives(s: Trace, chart: LocalChart) -> tuple[Any, ...]:
    R, D1, D2, bias = chart.equations(s)
    x = ca.vertcat(s.sx["q"], s.sx["y"], s.sx["t"])
    along = ca.vertcat(to_sx(rates(s)), s.sx["ydot"], ca.SX(1))

    def changed(X: np.ndarray) -> np.ndarray:
        flat = ca.jtimes(ca.SX(to_sx(X.reshape(-1))), x, along)
        return array(ca.densify(flat)).reshape(X.shape)

    return R, D1, D2, bias, changed(D1), changed(D2), changed(s.rows.A)


def _recover(s: Trace, chart: LocalChart) -> tuple[Any, ...]:
    tree, still, holonomic = mass_factor(s.at), zeros(s.tree.nv), s.rows.only_holonomic()
    R, D1, D2, _ = chart.equations(s)
    gap = np.concatenate([R, holonomic.phi])
    delta, _, margin = eliminate(tree, still, np.vstack([D1, holonomic.A]), gap)
    v, _, _ = eliminate(
        tree, still, np.vstack([D1, s.rows.A]), np.concatenate([D2 @ array(s.sx["ydot"]).reshape(-1), s.rows.b])
    )
    return at_unit(s, moved(s, delta), v, gap, margin)


# --- making them ----------------------------------------------------------------------------------------------------


def named(
    system: System,
    state: StateGiven,
    names: Sequence[str] | None = None,
    p: Parameters = None,
    check: bool = True,
) -> LocalChart:
    """The chart whose y are coordinates of joints (2.33), of the tree or cut, around a state.

    names: of the coordinates; by default those along which the admissible motions span best. p: parameters, by name or
    as an array. check: refuse a wrong number of them and ones that are not independent at the state.

    >>> from dalembert import charts, zoo
    >>> system = zoo.five_bar().compile()
    >>> x = system.assemble({"A": 1.0, "B": 1.8}, guess=zoo.five_bar_start()[0])
    >>> chart = charts.named(system, x, ["A", "B"])
    >>> bool(abs(chart.coordinates(x) - [1.0, 1.8]).max() < 1e-12), chart.K(x).shape
    (True, (4, 2))
    """
    check_system(system)
    x, check = system.as_state(state), checks.flag(check, "check")
    known, cut = [n for n in system.q_names if n in system.v_names], cut_coordinates(system)
    if names is None:
        names = _best(system, x, p)
    if not isinstance(names, (list, tuple)):
        raise ArgumentError(f"names is {checks.shown(names)}; needed: a list of names of coordinates.")
    for name in names:
        if not isinstance(name, str) or (name not in known and name not in cut):
            raise unknown("coordinate", name, [*known, *cut], "coordinates")
    places = [cut.get(n) or system.q_names.index(n) for n in names]

    def R(s: Trace, y: ca.SX, C: ca.SX, reference: ca.SX) -> ca.SX:
        q = s.sx["q"]
        return ca.vertcat(*(q[k] - y[i] if isinstance(k, int) else _cut(s, k, y[i]) for i, k in enumerate(places)))

    made = _chart(system, x, p, ("named", *names), tuple(names), R, np.zeros(len(names)))
    return _checked(made, x) if check else _started(made, x)


def tangent(system: System, state: StateGiven, p: Parameters = None) -> LocalChart:
    """The chart whose y are motions along the admissible directions at a state (Spencer 3.1); it always exists.

    R = s Kᵀ M (q ⊖ q̄) − y with Kᵀ M K = 1, q̄ the state's configuration; s makes y the motion of the coordinate that
    moves most, in rad or m. p: parameters, by name or as an array.
    """
    check_system(system)
    x = system.as_state(state)
    t, minus = tangent_at(system, x, p), system.function("minus")
    most = np.abs(t.admissible).max(axis=0, initial=0.0)
    rows = most[:, None] * (t.V[:, t.rank :].T @ t.R)
    dof = len(rows)

    def R(s: Trace, y: ca.SX, C: ca.SX, reference: ca.SX) -> ca.SX:
        return C @ minus(s.sx["q"], reference) - y

    names = tuple(f"y{k}" for k in range(dof))
    return _chart(system, x, p, ("tangent", dof), names, R, np.zeros(dof), rows.ravel())


def custom(
    system: System,
    state: StateGiven,
    R: Callable[[ca.SX, ca.SX], Any],
    start: ArrayLike,
    p: Parameters = None,
    check: bool = True,
) -> LocalChart:
    """The chart of any R(q, y) = 0 around a state.

    R: function of the coordinate vector q and of y that gives a CasADi expression. start: y of the state, or a guess
    of it. p, check: as in `named`.
    """
    check_system(system)
    x, check = system.as_state(state), checks.flag(check, "check")
    start = np.atleast_1d(checks.array(start, None, "start"))
    checks.vector(start, None, "start")
    checks.function(R, "R")
    q, y = ca.SX.sym("q", system.nq), ca.SX.sym("y", len(start))
    rows = _expressions(R, q, y)
    if rows.numel() != len(start):
        raise ArgumentError(f"R has {rows.numel()} rows for {len(start)} coordinates y; needed: as many rows as y.")
    if ca.Function("R", [q, y], [rows], {"allow_free": True}).has_free():
        raise ArgumentError("R(q, y) contains other symbols than q and y; needed: an expression of these alone.")
    names = tuple(f"y{k}" for k in range(len(start)))
    made = _chart(system, x, p, ("custom", R), names, lambda s, y, C, reference: _expressions(R, s.sx["q"], y), start)
    return _checked(made, x) if check else _started(made, x)


def _expressions(R: Callable[[ca.SX, ca.SX], Any], q: ca.SX, y: ca.SX) -> ca.SX:
    """R(q, y) as a column; what goes wrong in a user's function becomes a sentence."""
    try:
        value = R(q, y)
    except DalembertError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"R(q, y) could not be evaluated on expressions: {type(error).__name__}: {error}"
        ) from error
    return to_sx(described(value, "the value of R(q, y)").reshape(-1))


def choose(system: System, state: StateGiven, p: Parameters, wanted: str | Sequence[str] | Chart) -> LocalChart:
    """The chart a user asks for by `coordinates=`: names, "partition", "tangent", or a `Chart`."""
    if not system.rows.holonomic.all():
        names = ", ".join(dict.fromkeys(c for c, h in zip(system.rows.of, system.rows.holonomic) if not h))
        raise ArgumentError(
            f"{names} are nonholonomic: positions then have more freedom than velocities, and no set of independent "
            "coordinates describes both. Leave coordinates=None."
        )
    if isinstance(wanted, Chart):
        return custom(system, state, wanted.R, wanted.start, p)
    if isinstance(wanted, str) and wanted == "tangent":
        return tangent(system, state, p)
    if isinstance(wanted, str):
        return named(system, state, None if wanted == "partition" else [wanted], p)
    return named(system, state, wanted, p)


def cut_coordinates(system: System) -> dict[str, tuple[Loop, int]]:
    """(loop, index) of the coordinates of joints that close loops, by name; joints with quaternions have none."""
    out = {}
    for c in system.description.constraints:
        if isinstance(c, Loop) and c.joint.nq == c.joint.nv:
            for k, suffix in enumerate(c.joint.coordinate_names):
                out[f"{c.name}.{suffix}" if suffix else c.name] = c, k
    return out


def _cut(s: Trace, place: tuple[Loop, int], y: ca.SX) -> ca.SX:
    """The coordinate of a cut joint minus y; of angles the difference within half a turn."""
    loop, k = place
    r = loop.relative(s.state)
    gap = to_sx([loop.joint.locate(Transform(r.R, r.p))[k]]) - y
    return ca.atan2(ca.sin(gap), ca.cos(gap)) if loop.joint.angular[k] else gap


def _chart(
    system: System,
    x: State,
    p: Parameters,
    key: tuple[Any, ...],
    names: tuple[str, ...],
    R: Callable[[Trace, ca.SX, ca.SX, ca.SX], Any],
    start: np.ndarray,
    directions: np.ndarray | None = None,
) -> LocalChart:
    directions = np.zeros(len(start) * system.nv) if directions is None else directions
    return LocalChart(system, p, key, names, R, start, directions, x.q.copy(), x.t)


def _started(chart: LocalChart, x: State) -> LocalChart:
    """The chart with y of the state for its start."""
    return _chart(chart.system, x, chart.p, chart.key, chart.names, chart.R, chart.coordinates(x), chart.directions)


def _checked(chart: LocalChart, x: State) -> LocalChart:
    """The chart with y of the state for its start; refuses one that breaks (2.27) or (2.28) there, naming which."""
    chart, system = _started(chart, x), chart.system
    at = tangent_at(system, x, chart.p)
    dof = system.nv - at.rank
    if chart.dof != dof:
        raise ArgumentError(
            f"{chart.dof} coordinates ({', '.join(chart.names)}) for '{system.name}', which has {dof} degrees of "
            f"freedom here; needed: {dof}."
        )
    if dof and chart._stacked(x, chart.start)[0].rank < system.nv:
        best = _best(system, x, chart.p)
        other = f"the best choice here is {', '.join(best)}, and a tangent chart always exists."
        if set(best) == set(chart.names):
            other = "coordinates of joints do not determine the motion here, a tangent chart does."
        raise ArgumentError(
            f"{', '.join(chart.names)} are not independent here (2.28): the constraints tie them together, or leave "
            f"another motion free; {other}"
        )
    return chart


def _best(system: System, x: State, p: Parameters) -> list[str]:
    """The coordinates, not those of quaternions, along which the admissible motions span best, in the mass metric."""
    t, M = tangent_at(system, x, p), system.mass_matrix(x, p=p)
    known = [n for n in system.q_names if n in system.v_names]
    K, index = t.admissible, [system.v_names.index(n) for n in known]
    return [known[k] for k in independent((K * np.sqrt(np.diag(M))[:, None])[index], K.shape[1])]
