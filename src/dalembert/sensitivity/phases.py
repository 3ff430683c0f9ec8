"""Derivatives of a run whose structure changes: those of its phases, joined by saltation matrices.

A phase ends at a time τ where g(t, x, θ) = 0, and the next begins at x⁺ = R(t, x⁻, θ). At τ held fixed

    δx⁺ = R_x δx⁻ + R_θ + (R_x ẋ⁻ + R_t − ẋ⁺) δτ,    δτ = −(g_x δx⁻ + g_θ) / (g_x ẋ⁻ + g_t)                (1)

(Aizerman & Gantmakher; Leine & Nijmeijer, "Dynamics and Bifurcations of Non-Smooth Mechanical Systems", 2004, ch. 7). A
switch at a given time has δτ = 0; where forces end at zero nothing jumps, and δτ does not matter. Of an impact

    v⁺ = v⁻ + Δ,   M Δ = AᵀΛ,   A Δ = −(1 + e)(A v⁻ + b)                                                     (2)

on the rows that bear impulses and those that hold, with e = 0 for these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import ArgumentError
from dalembert.rank import earliest_independent
from dalembert.recursions.elimination import Elimination, TreeFactor
from dalembert.sensitivity.equations import SensitivityEquations, checked, tangent_jacobian
from dalembert.sensitivity.guards import moving_end
from dalembert.sensitivity.quantities import Quantity, quantities, values
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.runs import RunDerivatives, check_run, times_of
from dalembert.sensitivity.targets import Targets
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.hybrid.switch import Switched
from dalembert.simulation.results.run import Run
from dalembert.simulation.status import Status
from dalembert.symbols import array, to_sx, zeros
from dalembert.system.functions import constrained
from dalembert.system.trace import Trace

IMPACT = ("after", "by_v", "by_q", "by_t", "by_theta")
SMOOTH = 1e-7  # of the rates on both sides: a jump of them that is none
ROUNDING = 1e-12  # of the largest rates of both phases: what forces leave that balance, where all is at rest
INDEPENDENT = 1e-8


def of_phases(run: Run, of: Any, wrt: Any, held: Any, at: Any, method: str) -> Sensitivities:
    """Derivatives of a run of phases, forward; see `sensitivities`."""
    if method == "adjoint":
        raise ArgumentError("the structure of the run changes; its derivatives are taken forward. Leave out method=.")
    if run.status not in (Status.DONE, Status.EVENT):
        raise ArgumentError(f"the run did not reach its end: {run.message}.")
    times = np.zeros(0) if at is None else times_of(run, at)
    phases = [p for p in run.phases if len(p.t) and (p.t[-1] > p.t[0] or p is run.phases[-1])]
    asked = quantities(phases[-1].system, of)
    if at is not None and any(y.integral for y in asked):
        raise ArgumentError("at several times there are no derivatives of integrals; leave out at=.")
    sums = [y for y in asked if y.integral]
    S, parts = None, []
    total, value = np.zeros((len(sums), len(Targets.of(phases[-1].system, wrt).names))), np.zeros(len(sums))
    for k, phase in enumerate(phases):
        check_run(phase)
        last = k == len(phases) - 1
        here = quantities(phase.system, of) if at is not None else asked if last else sums
        motion = RunDerivatives(phase, Targets.of(phase.system, wrt), here, held, S)
        inside = times[(times >= phase.t[0]) & ((times < phase.t[-1]) | last)]
        passed = motion.passed(inside)
        if len(inside):
            parts.append(motion.along(passed))
        total, value = total + passed.total, value + passed.sums
        if not last:
            change = Change(run, motion, phases[k + 1], wrt, passed.end)
            S = change.after
            total = total + change.of_integrals(sums)
    if at is not None:
        found, slopes = (np.concatenate([getattr(x, name) for x in parts]) for name in ("value", "jacobian"))
        return Sensitivities(parts[0].of, parts[0].wrt, found, slopes, times, "forward", parts[-1].closure)
    return motion.ended(passed._replace(total=total, sums=value))


class Change:
    """What the end of a phase, in a `motion`, does to the columns `before` (n, m); `after` begins the next phase."""

    def __init__(self, run: Run, motion: RunDerivatives, following: Run, wrt: Any, before: np.ndarray):
        self.motion, self.phase, self.following, self.wrt = motion, motion.run, following, wrt
        self.t = float(self.phase.t[-1])
        happened = [s for s in run.switches if s.t == self.t]
        self._refuse(happened)
        self.known = motion._known(self.phase.q[-1:], self.phase.v[-1:], self.phase.t[-1:])
        self.rates = self._rates(self.phase, -1)
        by_x, by_t, by_theta = self._jump(happened)
        moved = by_x @ self.rates + by_t - self._rates(following, 0)
        self.time = np.zeros(motion.m)  # δτ
        size = np.abs(by_x) @ np.abs(self.rates) + np.abs(self._rates(following, 0))
        largest = max(np.abs(x).max(initial=0.0) for phase in (self.phase, following) for x in (phase.v, phase.vdot))
        continuous = bool((np.abs(moved) <= SMOOTH * size.max() + ROUNDING * largest).all())
        if self.phase.status is Status.EVENT and not (continuous and not motion.sums):
            end_x, end_theta = moving_end(motion.eq, self.phase, self.known, self.rates)
            self.time = -(end_x @ before + end_theta)
        self.after = by_x @ before + by_theta + np.outer(moved, self.time)

    def of_integrals(self, sums: list[Quantity]) -> np.ndarray:
        """(k, m) what the shift of the time does to integrals."""
        if not sums:
            return np.zeros((0, self.motion.m))
        other = RunDerivatives(self.following, Targets.of(self.following.system, self.wrt), [], None, self.after)
        first = other._known(self.following.q[:1], self.following.v[:1], self.following.t[:1])
        jump = values(self.motion.eq, sums, self.known).value[0] - values(other.eq, sums, first).value[0]
        return np.outer(jump, self.time)

    def _refuse(self, happened: list[Switched]) -> None:
        """Changes without a derivative, or with none that is known here."""
        for s in happened:
            why = ""
            if s.note.startswith("restitution was lowered"):
                why = "its restitution was lowered so that no energy is made"
            elif s.note.startswith("moved by"):
                why = "it moved the mechanism to where its rows close; switch where they do, without reach"
            elif s.kind == "rests" and s.note:
                why = "infinitely many bounces end there"
            slips = {row for names in self._changeable.slip_rows.values() for row in names}
            if any(self._changeable.row_index[row] in slips and x != 0.0 for row, x in s.impulse.items()):
                why = "friction acts in the impact"
            if why:
                raise ArgumentError(
                    f"at t = {s.t:.6g} s {s.what}: {why}, and a derivative through that is not there. Ask for those of "
                    "a phase, run.phases[k]."
                )

    @property
    def _changeable(self) -> Any:
        system = self.phase.system
        assert isinstance(system, PhaseSystem)
        return system.changeable

    def _rates(self, phase: Run, k: int) -> np.ndarray:
        """(n,) v and v̇ at a record of a phase."""
        return np.concatenate([phase.v[k], phase.vdot[k]])

    # --- the state ----------------------------------------------------------------------------------------------

    def _jump(self, happened: list[Switched]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """R_x (n, n), R_t (n,) and R_θ (n, m)."""
        nv, n, m = self.motion.system.nv, self.motion.n, self.motion.m
        by_x, by_t, by_theta = np.eye(n), np.zeros(n), np.zeros((n, m))
        impulses = {row: x for s in happened for row, x in s.impulse.items()}
        if not impulses:
            return by_x, by_t, by_theta
        rows, e = self._bearing(impulses)
        every = self._changeable.everything
        eq = SensitivityEquations(every, rows, Targets.of(every, self.wrt))
        kernel = eq._kernel("impact", ("q", "v", "u", "p", "t"), lambda s: _impact(s, eq, e), IMPACT, e)
        known = {**self.known, "p": self.phase.p[: len(every.arguments.parameter_vector(None))]}
        after, v, q, t, theta = eq.at(kernel, known)
        if np.abs(after[0] - self.following.v[0]).max() > 1e-7 * np.abs(after).max():
            raise ArgumentError(
                f"at t = {self.t:.6g} s several impacts follow each other at one time; a derivative through them is "
                "not there. Ask for those of a phase, run.phases[k]."
            )
        by_x[nv:, :nv], by_x[nv:, nv:] = q.reshape(nv, nv), v.reshape(nv, nv)
        by_t[nv:] = t.reshape(nv)
        by_theta[nv:] = eq.targets.spread(theta.reshape(nv, -1))
        return by_x, by_t, by_theta

    def _bearing(self, impulses: Mapping[str, float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Independent rows of (2), and e of each."""
        c, phase = self._changeable, self.phase
        every, closing = c.everything, {}
        held = [x.system.mode.held for x in (phase, self.following) if isinstance(x.system, PhaseSystem)]
        steady = set.intersection(*map(set, held))
        order = [k for k, name in enumerate(every.rows.of) if name in steady]
        for row in impulses:
            k = c.row_index[row]
            if k in order:
                continue
            order.append(k)
            of = every.rows.of[k]
            closing[k] = c.contacts[of].restitution if of in c.contacts else self._restitution(of)
        state = every.state(phase.q[-1], phase.v[-1], self.t)
        p = phase.p[: len(every.arguments.parameter_vector(None))]
        A = every.constraint_matrix(state, p=p)
        speeds = A @ phase.v[-1] + every.evaluate("constraints", state, p=p)[2]
        white = np.linalg.solve(np.linalg.cholesky(every.mass_matrix(state, p=p)), A[order].T).T
        white /= np.maximum(np.linalg.norm(white, axis=1, keepdims=True), 1e-300)
        rank = int(np.linalg.matrix_rank(white, INDEPENDENT))
        kept = sorted(order[i] for i in earliest_independent(white, rank, INDEPENDENT))
        closes = (k for k in kept if every.rows.of[k] not in c.contacts or speeds[k] < 0.0)
        e = {k: closing.get(k, 0.0) for k in closes}
        return tuple(kept), tuple(e.get(k, 0.0) for k in kept)

    def _restitution(self, of: str) -> float:
        """That of the switch that closed a constraint, from the speeds before and after."""
        every, phase = self._changeable.everything, self.phase
        p = phase.p[: len(every.arguments.parameter_vector(None))]
        state = every.state(phase.q[-1], phase.v[-1], self.t)
        _, A, b = every.evaluate("constraints", state, p=p)
        rows = [k for k, name in enumerate(every.rows.of) if name == of]
        before, after = (A[rows] @ v + b[rows] for v in (phase.v[-1], self.following.v[0]))
        k = int(np.argmax(np.abs(before)))
        return float(max(-after[k] / before[k], 0.0)) if before[k] != 0.0 else 0.0


def _impact(s: Trace, eq: SensitivityEquations, e: tuple[float, ...]) -> tuple[Any, ...]:
    """v⁺ of (2): its derivatives by v, q, t and θ."""
    M, _, A, _ = constrained(s)
    speed = (A @ s.v if eq.m else zeros(0)) + s.rows.b
    jump, _ = Elimination(TreeFactor(M), A).solve(zeros(s.tree.nv), (1.0 + np.array(e)) * speed)
    after = to_sx(s.v + jump)
    theta = eq.targets.symbols(s)
    by_v, by_t, by_theta = (ca.jacobian(after, x) for x in (s.sx["v"], s.sx["t"], theta))
    by = by_v, tangent_jacobian(s, after), by_t, by_theta
    checked(eq.system, list(by))
    return array(after).reshape(-1), *(array(ca.densify(x)).reshape(x.shape) for x in by)
