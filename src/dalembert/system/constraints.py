"""What can be asked of a mechanism with constraints: residuals, accelerations, forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.formulations import EUCLIDEAN, FORMULATIONS, MASS, WEIGHT, make_problem
from dalembert.native.library import call
from dalembert.outcome import Outcome
from dalembert.rank import rank_policy
from dalembert.system.reactions import Reactions, reactions

if TYPE_CHECKING:
    from dalembert.system.rows import Rows

METRICS = ("euclidean", "mass", "innovations")
HEALTHY = 1e-8  # squared sine of the angle between rows above which elimination needs no pivoting


@dataclass(frozen=True, slots=True, eq=False)
class Acceleration:
    """v̇ and λ with M v̇ + h = τ + Q + Aᵀλ and A v̇ + γ = 0."""

    vdot: np.ndarray  # (nv,)
    multipliers: np.ndarray  # (m,) the shortest where A is rank deficient; rows that are switched off have 0
    force: np.ndarray  # (nv,) Aᵀλ
    rank: int
    condition: float  # σ_max / σ_min over what is retained, in the formulation's metric ("auto": an estimate)
    residual: float  # ‖A v̇ + γ‖∞ after the solve
    status: Outcome

    @property
    def message(self) -> str:
        """The status as a sentence."""
        return self.status.sentence

    @property
    def success(self) -> bool:
        """Whether v̇ and λ can be used."""
        return int(self.status) == 0


class ConstraintQuestions:
    """The part of `System` that knows constraints."""

    nv: int
    _value: Callable[..., Any]
    _velocities: Callable[..., np.ndarray]
    layout: Any
    _kept: tuple[int, ...] | None = None  # rows that carry redundant ones, as last chosen
    _as_state: Callable[[Any], Any]
    state: Callable[..., Any]
    plus: Callable[..., np.ndarray]
    mass_matrix: Callable[..., np.ndarray]

    if TYPE_CHECKING:

        @property
        def rows(self) -> Rows: ...

    @property
    def row_names(self) -> list[str]:
        """constraint.row of each row, in the order of Φ, A and λ."""
        return self.rows.names

    @property
    def constraint_floor(self) -> float:
        """Singular values of A (mass metric) below this are rounding, with the default parameters: see `rank`."""
        return rank_policy(self).floor

    @property
    def constraint_size(self) -> float:
        """The usual length of a row of A in the mass metric, with the default parameters: see `rank`."""
        return rank_policy(self).size

    def residuals(self, state: Any, *, p: Any = None) -> np.ndarray:
        """Φ(q, t), (m,), m or rad; 0 for Pfaffian rows."""
        return self._value("constraints", state, p=p)[0]

    def constraint_matrix(self, state: Any, *, p: Any = None) -> np.ndarray:
        """A(q, t), (m, nv)."""
        return self._value("constraints", state, p=p)[1]

    def speed_residuals(self, state: Any, *, p: Any = None) -> np.ndarray:
        """A v + b, (m,)."""
        x = self._as_state(state)
        _, A, b = self._value("constraints", x, p=p)
        return A @ x.v + b

    def constraint_gamma(self, state: Any, *, p: Any = None) -> np.ndarray:
        """γ = Ȧ v + ḃ, (m,)."""
        return self._value("gamma", state, p=p)

    def cut_joint(self, state: Any, loop: str, *, p: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of the joint that closes a loop: Spencer's virtual coordinates. Angles in (−π, π]."""
        return self._value("cut_joint", state, target=loop, p=p)

    def acceleration(
        self,
        state: Any,
        tau: Any = None,
        *,
        u: Any = None,
        p: Any = None,
        formulation: str = "auto",
        metric: Any = "mass",
        variant: int = 0,
        tolerance: float = 1e-10,
        floor: float = 1e-13,
        safety: float = 100.0,
        damping: tuple[float, float] | None = None,
        independent: Iterable[str] = (),
        active: Mapping[str, bool] | None = None,
    ) -> Acceleration:
        """Accelerations and constraint forces, redundant and singular constraints included.

        formulation: "auto" takes compiled sparse elimination where the constraints are safely independent (the angle of
        every row to the others above 1e-4 rad in the mass metric) or carried by rows that are, and else "nullspace";
        "nullspace", "admissible", "projection", "partition", "lagrange" or "augmented" by name. variant: which of its
        paper's variants. metric: "mass", "euclidean", or weights (nv,) or (nv, nv); "innovations" is "mass" by Jain &
        Rodriguez' factor in O(N) a row instead of a Cholesky factor. tolerance: singular values below
        tolerance × the largest count as zero, and those below floor × the rows' usual size; safety: how near to that
        the SVD decides instead of QR. damping = (threshold, largest) softens the solution where the smallest singular
        value is below threshold. independent: names of the leading velocities for "partition". active:
        {constraint: False} switches constraints off.
        Trouble is in the result's status and message, not raised.

        >>> import dalembert as da
        >>> m = da.Mechanism("bead on a wire", gravity=(0, 0, -9.81))
        >>> bead = m.add_body("bead", mass=2.0, inertia=(1, 1, 1))
        >>> m.add_joint("float", da.Free(), m.ground, bead)
        >>> m.add_point_in_plane("table", bead, m.ground)
        >>> a = m.compile().acceleration({})
        >>> float(a.multipliers[0]), a.rank                             # the table carries the weight
        (19.62, 1)
        """
        plain = isinstance(metric, str) and metric == "mass" and not damping and not active
        if formulation == "auto" and plain:
            quick = self._eliminated(state, tau, u, p)
            if quick is not None:
                return quick
        if formulation == "auto":
            formulation = "nullspace"
        if formulation not in FORMULATIONS:
            raise unknown("formulation", formulation, ["auto", *FORMULATIONS])
        variants = FORMULATIONS[formulation]
        if not 0 <= variant < variants:
            has = "one variant, 0" if variants == 1 else f"variants 0 to {variants - 1}"
            raise ArgumentError(f"formulation '{formulation}' has {has}; found {variant}.")
        _check_options(formulation, metric, damping, independent)
        white = isinstance(metric, str) and metric == "innovations"
        given = np.zeros(self.nv) if tau is None else self._velocities(tau, "tau")
        if white:  # in the coordinates ν, where the mass matrix is 1
            M = np.eye(self.nv)
            f, A, gamma = self._value("diagonal_constrained", state, tau=given, u=u, p=p)
        else:
            M, f, A, gamma = self._value("constrained", state, u=u, p=p)
            f = f + given
        on = self.active_rows(active)
        threshold, damp = damping or (0.0, 0.0)
        problem = make_problem(
            self.nv,
            int(on.sum()),
            tolerance=tolerance,
            safety=safety,
            threshold=threshold,
            damp=damp,
            variant=variant,
            M=M,
            f=f,
            A=A[on],
            gamma=gamma[on],
        )
        problem.metric = kind = self._metric(metric, problem.weight)
        for name in independent:
            problem.independent[self._velocity_index(name)] = 1
        floor *= self.constraint_size
        if kind != MASS:  # the same floor in other units: masses against weights
            W = np.eye(self.nv) if kind == EUCLIDEAN else problem.weight.T @ problem.weight
            floor *= float(np.sqrt(np.trace(M) / np.trace(W)))
        problem.floor = floor
        call(formulation, problem)
        outcome = Outcome(problem.status)
        if outcome != Outcome.OK:  # what stands in the workspace is no answer
            problem.vdot[:], problem.force[:], problem.multipliers[:] = np.nan, np.nan, np.nan
        multipliers = np.zeros(len(on))
        multipliers[on] = problem.multipliers
        vdot, force = problem.vdot, problem.force
        if white:
            vdot = self._value("joint_rates", state, dq=problem.vdot, p=p)
            force = self._value("joint_forces", state, tau=problem.force, p=p)
        largest, smallest = problem.largest, problem.smallest
        return Acceleration(
            vdot,
            multipliers,
            force,
            problem.rank,
            float(largest / smallest) if smallest > 0 else (np.inf if problem.rank else 1.0),
            float(np.abs(problem.A @ problem.vdot + problem.gamma).max(initial=0.0)),
            outcome,
        )

    def _eliminated(self, state: Any, tau: Any, u: Any, p: Any) -> Acceleration | None:
        """The acceleration by sparse elimination, or None where the constraints are not safely independent."""
        x = self._as_state(state)
        given = np.zeros(self.nv) if tau is None else self._velocities(tau, "tau")
        vdot, multipliers, health, force, rest = self._value("answer", x, tau=given, u=u, p=p)
        if not self._healthy(health, vdot):
            return self._carried_by_some(x, given, u, p)
        residual = float(np.abs(rest).max()) if len(rest) else 0.0
        rank = len(multipliers)
        return Acceleration(vdot, multipliers, force, rank, self._estimate(health, rank), residual, Outcome.OK)

    def _carried_by_some(self, x: Any, tau: np.ndarray, u: Any, p: Any) -> Acceleration | None:
        """The same where rows are redundant for good: elimination on rows that carry the others, λ the shortest.

        None at singular positions, and off the manifold where the rows left aside would not hold.
        """
        from dalembert.analysis.mobility import independent_rows

        A = self.constraint_matrix(x, p=p)
        gamma = self.constraint_gamma(x, p=p)
        if not (np.isfinite(A).all() and np.abs(self.residuals(x, p=p)).max(initial=0.0) < 1e-6):
            return None
        for keep in (self._kept, None):
            keep = keep or independent_rows(self, x, p)
            if keep is None:
                return None
            vdot, _, health, force, _ = self._value("answer", x, target=keep, tau=tau, u=u, p=p)
            if self._healthy(health, vdot):
                self._kept = keep
                break
        else:
            return None
        residual = float(np.abs(A @ vdot + gamma).max())
        if residual > 1e-8 * (1.0 + np.abs(gamma).max()):
            return None
        shortest = np.linalg.lstsq(A.T, force, rcond=1e-10)[0]
        return Acceleration(vdot, shortest, force, len(keep), self._estimate(health, len(keep)), residual, Outcome.OK)

    def _healthy(self, health: np.ndarray, vdot: np.ndarray) -> bool:
        """Whether the elimination can be trusted: rows neither nearly dependent nor nearly zero."""
        least = (1e4 * self.constraint_floor) ** 2
        return bool(health[0] > HEALTHY and health[1] > least and isfinite(vdot.sum()))

    def _estimate(self, health: np.ndarray, rank: int) -> float:
        """Of the condition number, from the angles between rows and the shortest of them."""
        return float(max(health[0] ** -0.5, self.constraint_size * health[1] ** -0.5)) if rank else 1.0

    def constraint_forces(
        self, state: Any, tau: Any = None, *, u: Any = None, p: Any = None, **options: Any
    ) -> Reactions:
        """Forces in every joint, tree joints included, with the acceleration that goes with them; options as above.

        >>> import dalembert as da
        >>> m = da.Mechanism("post", gravity=(0, 0, -10.0))
        >>> m.add_joint("foot", da.Fixed(), m.ground, m.add_body("post", mass=2.0, com=(0.5, 0, 0)))
        >>> [float(x) for x in m.compile().constraint_forces({}).joints["foot"]]     # moment, then force
        [0.0, -10.0, 0.0, 0.0, 0.0, 20.0]
        """
        a = self.acceleration(state, tau, u=u, p=p, **options)
        return reactions(self, self._as_state(state), a, u, p, self.active_rows(options.get("active")))

    def subspaces(
        self,
        state: Any,
        *,
        metric: Any = "mass",
        p: Any = None,
        active: Mapping[str, bool] | None = None,
        tolerance: float = 1e-9,
    ) -> Any:
        """Admissible and constrained motion at a state: projectors, bases, inertias (`analysis.Subspaces`)."""
        from dalembert.analysis.subspaces import subspaces

        W = None
        if not _of_mass(metric):
            factor = np.eye(self.nv)
            self._metric(metric, factor)
            W = factor.T @ factor
        return subspaces(self, self._as_state(state), p, self.active_rows(active), W, tolerance)

    def report(self, state: Any = None, *, p: Any = None, active: Mapping[str, bool] | None = None) -> Any:
        """Mobility, redundancy, determinate forces and distance to singularity at a state (default: assembled)."""
        from dalembert.analysis.mobility import report

        x = self.assemble(p=p, active=active) if state is None else self._as_state(state)
        return report(self, x, p, self.active_rows(active))

    def assemble(
        self,
        q: Mapping[str, Any] | None = None,
        v: Mapping[str, Any] | None = None,
        *,
        guess: Any = None,
        t: float = 0.0,
        p: Any = None,
        active: Mapping[str, bool] | None = None,
        tolerance: float = 1e-11,
        branches: int = 1,
        seed: int = 0,
    ) -> Any:
        """A state on the manifold: the named coordinates and velocities are held, the rest follows from the guess.

        guess: positions by name, an array q, or a state; default neutral. Velocities that are not held come out as
        small as the constraints allow (in the mass metric). The state's `evidence` has residuals, iterations and rank.
        With branches > 1, a list of up to that many different assemblies, found from seeded random starts. Raises
        AssemblyError, naming the loop with the largest gap, where nothing closes.

        >>> import dalembert as da
        >>> m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
        >>> a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod(1.0, 1.0)) for n in "ab")
        >>> m.add_joint("A", da.Revolute("z"), m.ground, a)
        >>> m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0, 0), b)
        >>> m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
        >>> x = m.compile().assemble(guess={"A": 0.9, "B": 2.0})
        >>> round(x["A"] / 3.141592653589793, 9), round(x["B"] / 3.141592653589793, 9)
        (0.333333333, 0.666666667)
        """
        from dalembert.analysis.assembly import assemble

        found = assemble(self, q or {}, v or {}, guess, t, p, active, tolerance, branches, seed)
        return found[0] if branches == 1 else found

    def project(
        self, state: Any, *, p: Any = None, active: Mapping[str, bool] | None = None, tolerance: float = 1e-11
    ) -> Any:
        """The state on the manifold nearest a given one, in the mass metric: position first, then velocity."""
        from dalembert.analysis.assembly import project

        return project(self, self._as_state(state), p, active, tolerance)

    def active_rows(self, active: Mapping[str, bool] | None) -> np.ndarray:
        """(m,) bool: which rows count when the named constraints are switched on or off."""
        on = np.ones(len(self.rows.of), dtype=bool)
        for name, value in (active or {}).items():
            if name not in self.rows.of:
                raise unknown("constraint", name, dict.fromkeys(self.rows.of))
            on[[c == name for c in self.rows.of]] = bool(value)
        return on

    def _metric(self, metric: Any, factor: np.ndarray) -> int:
        """The contract's number of a metric; a weight's upper Cholesky factor goes into `factor`."""
        if isinstance(metric, str):
            if metric not in METRICS:
                raise unknown("metric", metric, METRICS)
            return EUCLIDEAN if metric == "euclidean" else MASS
        W = np.asarray(metric, dtype=float)
        W = np.diag(W) if W.ndim == 1 else W
        if W.shape != factor.shape or not np.allclose(W, W.T):
            raise ArgumentError(f"the metric has shape {W.shape}; needed: {factor.shape}, symmetric, or its diagonal.")
        try:
            factor[:] = np.linalg.cholesky(W).T
        except np.linalg.LinAlgError:
            raise ArgumentError("the metric is not positive definite; needed: positive weights.") from None
        return WEIGHT

    def _velocity_index(self, name: str) -> int:
        names = self.v_names  # type: ignore[attr-defined]
        if name not in names:
            raise unknown("velocity", name, names)
        return names.index(name)


def _of_mass(metric: Any) -> bool:
    return isinstance(metric, str) and metric in ("mass", "innovations")


def _check_options(formulation: str, metric: Any, damping: Any, independent: Iterable[str]) -> None:
    """Refuse options that a formulation would ignore."""
    if damping and formulation not in ("nullspace", "admissible"):
        raise ArgumentError(f"formulation '{formulation}' knows no damping; 'nullspace' and 'admissible' do.")
    if formulation in ("admissible", "lagrange", "augmented") and not _of_mass(metric):
        raise ArgumentError(
            f"formulation '{formulation}' takes no other metric than that of the mass; 'nullspace', 'projection' and "
            "'partition' do."
        )
    if formulation == "partition" and isinstance(metric, str) and metric == "innovations":
        raise ArgumentError("formulation 'partition' chooses among velocities, not total rates; use metric='mass'.")
    if list(independent) and formulation != "partition":
        raise ArgumentError(
            f"independent= names leading coordinates for 'partition'; found formulation '{formulation}'."
        )
