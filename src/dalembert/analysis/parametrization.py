"""Local parametrizations of the manifold (Spencer 2.3): q = Ψ(y) with R(q, y) = 0 and Φ(q) = 0.

    Ψ by Newton's method on φ(q, y) = (R(q, y); Φ(q)) from the last point                          (2.23), 2.3.1
    K = DΨ = [D₁R; A]⁻¹ [−D₂R; 0]                                                                 (2.29), (2.44)
    K̇ẏ = −[D₁R; A]⁻¹ [Ṙ-terms; γ]                                                                (2.45)
    conditions: |D₂R| ≠ 0 and |[D₁R; A]| ≠ 0                                                      (2.27), (2.28)

`partition` leads with named coordinates, `tangent` with the admissible directions at a reference, `general` with any
R(q, y) written in CasADi. The condition number of [D₁R; A] tells when another chart is due (Remark 1 after 2.37).
Redundant rows are welcome: the inverse is that of least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.errors import ArgumentError, AssemblyError, unknown

SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class Parametrization:
    """A chart around a reference state; y has as many entries as the mechanism has degrees of freedom there."""

    system: Any
    reference: Any  # a state on the manifold
    p: Any
    names: tuple[str, ...]  # of y
    R: Callable[[np.ndarray, np.ndarray], np.ndarray]  # R(q, y), (dof,)
    D1: Callable[[np.ndarray, np.ndarray], np.ndarray]  # ∂R/∂δ, (dof, nv)
    D2: Callable[[np.ndarray, np.ndarray], np.ndarray]  # ∂R/∂y, (dof, dof)
    start: np.ndarray  # y of the reference

    def condition(self, state: Any, y: np.ndarray | None = None) -> float:
        """Of [D₁R; A] with rows of unit length in the mass metric: grows without bound where the chart ends."""
        sigma = np.linalg.svd(self._stacked(state, self.start if y is None else y), compute_uv=False)
        return float(sigma[0] / sigma[-1]) if sigma[-1] > 0 else np.inf

    def state(self, y: Any, rate: Any = None, guess: Any = None, tolerance: float = 1e-12) -> Any:
        """Ψ(y), with the velocity K ẏ where ẏ is given; Newton's method from `guess` (default: the reference)."""
        y = np.asarray(y, dtype=float)
        x = self.reference if guess is None else guess
        rows = self.system.rows.holonomic
        for _ in range(50):
            phi, A, _ = self.system._value("constraints", x, p=self.p)
            residual = np.concatenate([self.R(x.q, y), phi[rows]])
            step = np.linalg.lstsq(np.vstack([self.D1(x.q, y), A[rows]]), -residual, rcond=SINGULAR)[0]
            x = x.replace(q=self.system.plus(x, step))
            if np.abs(step).max(initial=0.0) <= tolerance:
                break
        residual = np.concatenate([self.R(x.q, y), self.system.residuals(x, p=self.p)[rows]])
        gap = float(np.abs(residual).max(initial=0.0))
        if gap > 1e-8:
            raise AssemblyError(
                f"no configuration of '{self.system.name}' has {', '.join(self.names)} = {y.tolist()} near the "
                f"reference (gap {gap:.3g}); the chart ends before. Its condition at the reference is "
                f"{self.condition(self.reference):.3g}: take a new reference nearer, or other coordinates."
            )
        v = np.zeros(self.system.nv) if rate is None else self.K(x, y) @ np.asarray(rate, dtype=float)
        return x.replace(v=v)

    def K(self, state: Any, y: np.ndarray | None = None) -> np.ndarray:
        """(nv, dof) DΨ at a state (2.44)."""
        y = self.start if y is None else y
        D1, A = self.D1(state.q, y), self.system.constraint_matrix(state, p=self.p)
        right = np.vstack([-self.D2(state.q, y), np.zeros((len(A), D1.shape[0]))])
        return np.linalg.lstsq(np.vstack([D1, A]), right, rcond=SINGULAR)[0]

    def _stacked(self, state: Any, y: np.ndarray) -> np.ndarray:
        t = tangent(self.system, state, self.p, np.ones(len(self.system.rows.of), dtype=bool))
        rows = np.vstack([self.D1(state.q, y), t.A])
        white = np.linalg.solve(t.R.T, rows.T).T
        return white / np.maximum(np.linalg.norm(white, axis=1, keepdims=True), 1e-300)


def partition(system: Any, reference: Any, names: Sequence[str], p: Any = None) -> Parametrization:
    """Coordinates lead: R = q_names − y (Spencer 2.33 with unit vectors)."""
    index = []
    for name in names:
        if name not in system.q_names or name not in system.v_names:
            known = [n for n in system.q_names if n in system.v_names]
            raise unknown("coordinate", name, known, "the partition")
        index.append((system.q_names.index(name), system.v_names.index(name)))
    iq, iv = (np.array([pair[k] for pair in index], dtype=int) for k in (0, 1))
    rows, one = np.eye(system.nv)[iv], -np.eye(len(iq))
    chart = Parametrization(
        system, reference, p, tuple(names), lambda q, y: q[iq] - y, lambda q, y: rows, lambda q, y: one, reference.q[iq]
    )
    return _checked(chart)


def tangent_space(system: Any, reference: Any, p: Any = None) -> Parametrization:
    """Admissible directions at the reference lead: R = Kᵀ M (q ⊖ q̄) − y, with Kᵀ M K = 1 (Spencer 3.1)."""
    on = np.ones(len(system.rows.of), dtype=bool)
    t = tangent(system, reference, p, on)
    rows = t.V[:, t.rank :].T @ t.R
    derivative = _minus_derivative(system, reference.q)
    one = -np.eye(len(rows))
    chart = Parametrization(
        system,
        reference,
        p,
        tuple(f"y{k}" for k in range(len(rows))),
        lambda q, y: rows @ system.minus(q, reference) - y,
        lambda q, y: rows @ derivative(q),
        lambda q, y: one,
        np.zeros(len(rows)),
    )
    return _checked(chart)


def general(
    system: Any, reference: Any, R: Callable[[ca.SX, ca.SX], Any], start: Any, p: Any = None
) -> Parametrization:
    """Any R(q, y) = 0, a CasADi expression of the coordinate vector q and of y; `start` is y at the reference."""
    start = np.atleast_1d(np.asarray(start, dtype=float))
    q, y, delta = ca.SX.sym("q", system.nq), ca.SX.sym("y", len(start)), ca.SX.sym("delta", system.nv)
    value = ca.vertcat(*[R(q, y)])
    if value.numel() != len(start):
        raise ArgumentError(f"R has {value.numel()} rows for {len(start)} coordinates y; needed: as many rows as y.")
    moved = ca.substitute(value, q, system.function("plus")(q, delta))
    d1 = ca.substitute(ca.jacobian(moved, delta), delta, ca.SX.zeros(system.nv))
    f, f1, f2 = (ca.Function("R", [q, y], [ca.densify(e)]) for e in (value, d1, ca.jacobian(value, y)))
    chart = Parametrization(
        system,
        reference,
        p,
        tuple(f"y{k}" for k in range(len(start))),
        lambda q, y: np.array(f(q, y)).ravel(),
        lambda q, y: np.array(f1(q, y)),
        lambda q, y: np.array(f2(q, y)),
        start,
    )
    return _checked(chart)


def _minus_derivative(system: Any, q0: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """∂(q ⊕ δ ⊖ q̄)/∂δ at δ = 0: the identity but for quaternion joints."""
    if system.nq == system.nv:
        one = np.eye(system.nv)
        return lambda q: one
    q, delta = ca.SX.sym("q", system.nq), ca.SX.sym("delta", system.nv)
    value = system.function("minus")(system.function("plus")(q, delta), ca.DM(q0))
    d = ca.substitute(ca.jacobian(value, delta), delta, ca.SX.zeros(system.nv))
    f = ca.Function("d", [q], [ca.densify(d)])
    return lambda x: np.array(f(x))


def _checked(chart: Parametrization) -> Parametrization:
    """Refuse coordinates that break (2.27) or (2.28) at the reference, saying which and why."""
    x, y = chart.reference, chart.start
    dof = chart.system.nv - tangent(chart.system, x, chart.p, np.ones(len(chart.system.rows.of), dtype=bool)).rank
    if len(y) != dof:
        raise ArgumentError(
            f"{len(y)} coordinates ({', '.join(chart.names)}) for a mechanism with {dof} degrees of freedom here; "
            f"needed: {dof}."
        )
    if len(y) and np.linalg.svd(chart.D2(x.q, y), compute_uv=False)[-1] < SINGULAR:
        raise ArgumentError("∂R/∂y is singular (2.27): two of the y say the same.")
    if not chart.condition(x) < 1 / SINGULAR:
        raise ArgumentError(
            f"{', '.join(chart.names)} are not independent here (2.28): the constraints already tie them together, or "
            "leave another motion free. Choose others; analysis.tangent_space always works."
        )
    return chart
