"""What the library says of a plan, against `rigid`, `statics` and NumPy's decompositions: a list of disagreements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from balance import compare_balance
from linear import compare_linear
from plans import Plan, build, random_plan
from rigid import Rigid
from runs import compare_runs
from scaled import compare_units
from statics import determinate

import dalembert as da
from dalembert import control

CLEAR = 1e-6  # singular values above this part of the largest count
ZERO = 1e-10  # and those below do not; rounding and conditioning decide between
CLOSE = 1e-7  # accelerations, in the mass metric, relative to what they are made of
ROBUST = [
    {"formulation": "auto"},
    {"formulation": "nullspace"},
    {"formulation": "nullspace", "metric": "euclidean"},
    {"formulation": "nullspace", "metric": "innovations"},
    *({"formulation": "admissible", "variant": k} for k in range(2)),
    *({"formulation": "projection", "variant": k} for k in range(3)),
    {"formulation": "partition"},
]


@dataclass
class Outcome:
    """Of one mechanism."""

    wrong: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    checked: int = 0

    def check(self, holds: bool, sentence: str) -> None:
        self.checked += 1
        if not holds:
            self.wrong.append(sentence)


class Truth:
    """The equations of a plan at a state, dimensionless: rows in sizes and radians, velocities by their reach."""

    def __init__(self, plan: Plan, q: np.ndarray, v: np.ndarray, t: float = 0.0):
        self.rigid = Rigid(plan)
        self.M, self.h = self.rigid.dynamics(q, v)
        self.phi, self.A, self.b, self.gamma = self.rigid.constraints(q, v, t)
        self.reach = self.rigid.reach
        self.speed = float(np.abs(v / self.reach).max(initial=0.0))
        self.U, self.sigma, self.Vt = np.linalg.svd(self.A * self.reach)
        largest = max(float(self.sigma.max(initial=0.0)), 1e-300)
        relative = self.sigma / largest
        self.rank = int((relative > CLEAR).sum())
        self.sure = not ((relative > ZERO) & (relative <= CLEAR)).any()
        self.K = self.reach[:, None] * self.Vt[self.rank :].T
        self.condition = 1.0 / float(relative[self.rank - 1]) if self.rank else 1.0

    def shortest(self, right: np.ndarray) -> np.ndarray:
        """v with A v nearest to `right`."""
        part = self.U[:, : self.rank].T @ right / self.sigma[: self.rank]
        return np.asarray(self.reach * (self.Vt[: self.rank].T @ part))

    def acceleration(self, tau: np.ndarray) -> tuple[np.ndarray, float]:
        """v̇, and by how much the constraints contradict each other, relative."""
        c = self.shortest(-self.gamma)
        left = np.abs(self.A @ c + self.gamma).max(initial=0.0)
        terms = (np.abs(self.A) @ np.abs(c) + np.abs(self.gamma)).max(initial=0.0)
        terms = max(terms, self.speed**2, 1e-5 * self.rigid.plan.pace**-2)
        f = tau - self.h
        if self.K.shape[1]:
            c = c + self.K @ np.linalg.solve(self.K.T @ self.M @ self.K, self.K.T @ (f - self.M @ c))
        return c, left / max(terms, 1e-300)


def compare(seed: int, small: bool = False, only: str | None = None) -> Outcome:
    """All comparisons of one seed; of small mechanisms, linear models and control only for every tenth.

    only: "runs", "units" (copies in other units) or "linear" (matrices of linear models), and nothing else.
    """
    plan, out = random_plan(seed, small), Outcome()
    if only == "units":
        compare_units(out, plan)
        return out
    system = build(plan)
    rigid = Rigid(plan)
    out.check(system.v_names == rigid.velocity_names, "names of velocities")
    start = system.state(plan.q, plan.v)
    try:
        x = system.project(start)
    except da.AssemblyError as error:
        _refused(out, plan, start, str(error))
        return out
    truth = Truth(plan, x.q, x.v)
    if only == "linear":
        if truth.sure:
            compare_linear(out, plan, system, x, truth, lambda q, v, t: Truth(plan, q, v, t))
        return out
    if only == "runs":
        if not truth.sure or truth.condition > 1e4 or truth.acceleration(np.zeros(system.nv))[1] > 1e-10:
            out.skipped.append("no run: rounding decides, or no motion leads on")
        else:
            compare_runs(out, plan, system, x, lambda q, v, t: Truth(plan, q, v, t))
        return out
    pace = 1.0 / plan.pace
    out.check(np.abs(truth.phi).max(initial=0.0) < 1e-9, f"projected state misses Φ by {np.abs(truth.phi).max():.1e}")
    speed = max(float(np.abs(x.v / truth.reach).max(initial=0.0)), pace)
    missed = np.abs(truth.A @ x.v + truth.b).max(initial=0.0)
    out.check(missed < 1e-7 * speed, f"projected state misses its velocity by {missed / speed:.1e}")
    D = np.sqrt(np.diag(truth.M))
    M = system.mass_matrix(x)
    out.check(np.abs((M - truth.M) / np.outer(D, D)).max(initial=0.0) < 1e-10, "mass matrix")
    if not truth.sure:
        out.skipped.append("rounding decides the rank")
        return out
    report = system.report(x)
    out.check(report.rank == truth.rank, f"report has rank {report.rank}, not {truth.rank}")
    out.check(report.mobility == system.nv - truth.rank, f"mobility {report.mobility}")
    out.check(report.closed, "the report calls closed loops open")
    if truth.condition < 1e4:
        _accelerations(out, plan, system, x, truth)
        _rows(out, plan, system, x, report)
        _joints(out, plan, system, x)
        compare_balance(out, plan, system, x, truth.condition)
        if not small or seed % 10 == 0:
            _forces(out, plan, system, x, truth)
            _linear(out, plan, system, x, truth)
    else:
        out.skipped.append("nearly singular")
    return out


def _refused(out: Outcome, plan: Plan, start: da.State, message: str) -> None:
    """An assembly that was refused must have no velocity, or no motion."""
    truth = Truth(plan, start.q, start.v)
    v = truth.shortest(-truth.b)
    left = np.abs(truth.A @ v + truth.b).max(initial=0.0)
    size = np.abs(truth.b).max(initial=0.0)
    if left > 1e-7 * max(size, 1e-10 / plan.pace):
        out.check("no velocity satisfies" in message, f"contradicting velocities are called: {message}")
        return
    rigid = Truth(plan, start.q, v)
    _, contradiction = rigid.acceleration(np.zeros(len(v)))
    if contradiction > 1e-6:
        out.check("no motion" in message, f"contradicting accelerations are called: {message}")
        return
    out.check(not truth.sure, f"refused without reason: {message}")


def _accelerations(out: Outcome, plan: Plan, system: da.System, x: da.State, truth: Truth) -> None:
    vdot, contradiction = truth.acceleration(plan.tau)
    if 1e-10 < contradiction < 1e-6:
        out.skipped.append("rounding decides whether the constraints agree")
        return
    R = np.linalg.cholesky(truth.M).T
    f = plan.tau - truth.h
    size = np.linalg.norm(R @ vdot) + np.linalg.norm(np.linalg.solve(R.T, f))
    own = CLOSE * max(1.0, truth.condition / 1e2) * size
    weights = {"formulation": "nullspace", "metric": np.diag(truth.M)}
    full = len(system.rows.of) == truth.rank
    euclidean = max(own, 1e-16 * _conditions_of_inertia(system.constraint_matrix(x), truth) * size)
    inertia = max(own, 1e-16 * float(np.linalg.cond(truth.M)) * size)  # multipliers see all of it
    for options in [*ROBUST, weights, {"formulation": "lagrange"}, {"formulation": "augmented"}]:
        name = " ".join(str(y) if isinstance(y, (str, int)) else "weights" for y in options.values())
        a = system.acceleration(x, plan.tau, **options)
        if name in ("lagrange", "augmented") and not full:
            out.check(a.status.name == "DEPENDENT", f"{name} calls dependent rows {a.status.name}")
            continue
        if contradiction >= 1e-6:
            out.check(not a.success, f"{name} succeeds where the constraints contradict each other")
            continue
        if not a.success:
            out.check(False, f"{name}: {a.status.name}, residual {a.residual:.1e}")
            continue
        close = euclidean if name == "nullspace euclidean" else own
        off = np.linalg.norm(R @ (a.vdot - vdot))
        out.check(off < close, f"{name}: v̇ off by {off / size:.1e}, condition {truth.condition:.0e}")
        off = np.linalg.norm(np.linalg.solve(R.T, a.force - (truth.M @ vdot - f)))
        out.check(off < close, f"{name}: Aᵀλ off by {off / size:.1e}")
        A = system.constraint_matrix(x)
        off = np.linalg.norm(np.linalg.solve(R.T, A.T @ a.multipliers - a.force))
        close = inertia if name == "nullspace euclidean" else own
        out.check(off < close, f"{name}: λ does not give Aᵀλ, by {off / size:.1e}")
        if name not in ("auto", "lagrange", "augmented"):
            out.check(a.rank == truth.rank, f"{name}: rank {a.rank}, not {truth.rank}")


def _conditions_of_inertia(A: np.ndarray, truth: Truth) -> float:
    """Condition of KᵀMK, K orthonormal in metres and radians: what a solution in that metric loses to rounding."""
    K = np.linalg.svd(A)[2][truth.rank :].T
    return float(np.linalg.cond(K.T @ truth.M @ K)) if K.shape[1] else 1.0


def _rows(out: Outcome, plan: Plan, system: da.System, x: da.State, report: da.Report) -> None:
    """Determinate multipliers are those outside of null(Aᵀ), with rows in sizes and radians."""
    A = system.constraint_matrix(x) * Rigid(plan).reach / np.where(system.rows.angular, 1.0, plan.size)[:, None]
    if not len(A):
        return
    U, sigma, _ = np.linalg.svd(A)
    null = U[:, int((sigma > 1e-8 * max(sigma[0], 1e-300)).sum()) :]
    parts = np.abs(null).max(axis=1, initial=0.0)
    if ((parts > 1e-11) & (parts < 1e-5)).any():
        out.skipped.append("rounding decides which multipliers are determinate")
        return
    expected = dict(zip(system.row_names, (parts < 1e-7).tolist()))
    wrong = [name for name, known in report.determinate.items() if known != expected[name]]
    out.check(not wrong, f"report: determinacy of {wrong}")
    found = system.constraint_forces(x, plan.tau).determinate_rows
    wrong = [name for name, known in found.items() if known != expected.get(name, False)]
    out.check(not wrong, f"constraint_forces: determinacy of {wrong}")


def _joints(out: Outcome, plan: Plan, system: da.System, x: da.State) -> None:
    expected = determinate(Rigid(plan), x.q, True)
    if expected is None:
        out.skipped.append("rounding decides which reactions are determinate")
        return
    found = system.constraint_forces(x, plan.tau).determinate
    for name, known in found.items():
        good = np.array_equal(known, expected[name])
        out.check(
            good, f"reaction in {name}: determinate {known.astype(int)}, statics says {expected[name].astype(int)}"
        )


def _forces(out: Outcome, plan: Plan, system: da.System, x: da.State, truth: Truth) -> None:
    """Inverse dynamics with some velocities actuated: reach by NumPy, and forces that give the motion."""
    rng = np.random.default_rng([plan.seed, 5])
    c, contradiction = truth.acceleration(plan.tau)
    if contradiction > 1e-10:
        return
    wanted = c + truth.K @ rng.normal(size=truth.K.shape[1]) / plan.pace**2
    K = truth.K / np.sqrt(np.maximum(np.einsum("ij,ij->j", truth.K, truth.M @ truth.K), 1e-300))
    for chosen in ([*range(system.nv)], sorted(rng.choice(system.nv, max(1, system.nv // 2), replace=False).tolist())):
        names = [system.v_names[k] for k in chosen]
        R = np.linalg.cholesky(truth.M).T
        Q = np.linalg.qr(R @ K)[0]
        B = np.eye(system.nv)[:, chosen] / truth.reach[chosen]
        free = np.linalg.solve(R.T, B)
        sigma = np.linalg.svd(Q.T @ free, compute_uv=False) / np.linalg.norm(free, 2)
        if ((sigma > 1e-11) & (sigma < 1e-6)).any():
            continue
        scales = {name: float(1.0 / truth.reach[k]) for name, k in zip(names, chosen)}
        r = control.actuator_forces(system, x, wanted, actuated=names, metric=scales)
        reach = int((sigma > 1e-8).sum())
        out.check(r.reach == reach, f"reach {r.reach} of {names}, not {reach}")
        if reach == K.shape[1]:
            out.check(r.success, f"inverse dynamics of {names}: {r.message}")
            tau = np.zeros(system.nv)
            tau[chosen] = r.u
            off = np.linalg.norm(Q.T @ np.linalg.solve(R.T, truth.M @ wanted + truth.h - tau))
            size = np.linalg.norm(np.linalg.solve(R.T, truth.M @ wanted + truth.h)) + np.linalg.norm(free) * max(
                np.abs(r.u * truth.reach[chosen]).max(), 0.0
            )
            out.check(off <= 1e-7 * size, f"forces of {names} miss the motion by {off / max(size, 1e-300):.1e}")


def _linear(out: Outcome, plan: Plan, system: da.System, x: da.State, truth: Truth) -> None:
    """A linear model's own choice of coordinates is accepted again, and its accelerations are those of `truth`."""
    vdot, contradiction = truth.acceleration(np.zeros(system.nv))
    if contradiction > 1e-10 or not truth.K.shape[1]:
        return
    try:
        model = da.linearize(system, x)
    except da.DalembertError as error:
        out.check(system.report(x).singular, f"linearize: {error}")
        return
    R = np.linalg.cholesky(truth.M).T
    size = np.linalg.norm(R @ vdot) + np.linalg.norm(np.linalg.solve(R.T, truth.h))
    off = np.linalg.norm(R @ (model.operating.vdot - vdot)) / max(size, 1e-300)
    out.check(off < CLOSE * max(1.0, truth.condition / 1e2), f"linearize: v̇ off by {off:.1e}")
    out.check(len(model.velocities) == truth.K.shape[1], f"linearize: {len(model.velocities)} freedoms")
    try:
        again: Any = da.linearize(system, x, independent=list(model.velocities))
        out.check(again.velocities == model.velocities, "linearize: another choice")
    except da.DalembertError as error:
        out.check(False, f"linearize refuses its own choice: {error}")
