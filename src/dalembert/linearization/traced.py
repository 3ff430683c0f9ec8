"""The linear model of a constrained mechanism in coordinates y, traced as one piece of straight-line code.

C_q and C_v are the rows of the chosen positions and velocities (Spencer's R_q), A_h the holonomic rows of A.

    [C_q; A_h] K_q = [1; 0],   [C_v; A] K_v = [1; 0]                                  motions       (4.11)
    [C_v; A] D = −∂_q [C_v v; A v + b] K_q                                            Spencer's K̇ where v ≠ 0
    δq = K_q δy_q,   δv = D δy_q + K_v δy_v
    [M −Aᵀ; A 0] [δv̇; δλ] = −[∂e₁; ∂e₂]                                               the equations as a whole

The last is not solved for every column. With W, Λ the solution for the right-hand side [C_vᵀ; 0],

    C_v δv̇ = −Wᵀ ∂e₁ + Λᵀ ∂e₂ =: a_q δq + a_v δv + a_u δu + a_t δt                                  (1)
    Â = [[C_q (D − B K_q), C_q K_v], [a_q K_q + a_v D, a_v K_v]]                                     (2)

which is Spencer's Â₂₁, Â₂₂ (4.2, appendix B), with inputs, time, quaternions (B, `Joint.transport`) and Pfaffian rows.
K_v = W (C_v W)⁻¹, and (C_v W)⁻¹ is the mass matrix Kᵀ M K of the minimal model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.linearization.coordinates import Coordinate
from dalembert.recursions.elimination import Elimination, RowFactor
from dalembert.symbols import is_number, zeros
from dalembert.system.derivatives import EquationDerivatives
from dalembert.system.functions import Trace

NAMES = ("A", "B", "time", "rate", "Kq", "Kv", "Dv", "Kt", "Dt", "vdot", "multipliers", "health")


class Frame:
    """Motions in terms of chosen coordinates: K with [C; A] K = [1; 0], and other solutions of [C; A] x = [c; a]."""

    def __init__(self, factor: Elimination, C: np.ndarray):
        self.factor, self.C = factor, C
        n, nv = C.shape
        self.W, self.multipliers = factor.columns(C.T, zeros(len(factor.B), n))
        self.trivial = n == nv and _is_identity(C)
        small = RowFactor(C @ self.W) if n else None
        self.health: Any = 1.0 if small is None or self.trivial else small.health
        inverse = zeros(n, n)
        for k in range(n):
            inverse[:, k] = small.solve(np.eye(n)[k].astype(object))  # type: ignore[union-attr]
        self.K = C.T if self.trivial else self.W @ inverse

    def motion(self, c: np.ndarray, a: np.ndarray) -> np.ndarray:
        """x, (nv, …), with C x = c and A x = −a."""
        if _all_zero(a):
            return self.K @ c if c.size else zeros(self.K.shape[0], c.shape[1])
        E, _ = self.factor.columns(zeros(self.K.shape[0], a.shape[1]), a)
        return E + self.K @ (c - self.C @ E)


def linear(s: Trace, positions: list[Coordinate], velocities: list[Coordinate]) -> tuple[Any, ...]:
    """Everything `NAMES` lists, at a traced state."""
    functions = list({id(c): c for c in [*velocities, *positions] if c.index is None}.values())
    e = EquationDerivatives(s, [c.row for c in functions if c.row is not None])
    m, nv = len(s.rows.of), s.tree.nv
    place = {id(c): m + k for k, c in enumerate(functions)}

    def rows(coordinates: list[Coordinate]) -> np.ndarray:
        out = zeros(len(coordinates), nv)
        for k, c in enumerate(coordinates):
            out[k] = np.eye(nv)[c.index] if c.index is not None else e.coordinate_rows[place[id(c)] - m]
        return out

    def of(coordinates: list[Coordinate], X: np.ndarray) -> np.ndarray:
        """Rows of e₂ or e₃ that belong to coordinates; a velocity of the tree has no terms of its own."""
        out = zeros(len(coordinates), X.shape[1])
        for k, c in enumerate(coordinates):
            if c.index is None:
                out[k] = X[place[id(c)]]
        return out

    v = Frame(e.factor, rows(velocities))
    holonomic = [k for k, row in enumerate(s.rows.rows) if row.holonomic]
    same = len(holonomic) == m and positions == velocities
    q = v if same else Frame(Elimination(e.factor.M, s.rows.A[holonomic]), rows(positions))

    speeds, rates = e.speeds, e.accelerations
    Kq, Kv = q.K, v.K
    Dv = v.motion(-(of(velocities, speeds.q) @ Kq), speeds.q[:m] @ Kq)
    b = s.rows.b[holonomic].reshape(-1, 1)
    Kt = q.motion(-of(positions, e.local.b), b)
    Dt = v.motion(-(of(velocities, speeds.q) @ Kt + of(velocities, speeds.t)), speeds.q[:m] @ Kt + speeds.t[:m])

    def row(dynamics: np.ndarray, accelerations: np.ndarray) -> np.ndarray:
        """(1) for one kind of variable."""
        return -(v.W.T @ dynamics) + v.multipliers.T @ accelerations[:m] + of(velocities, accelerations)

    d = e.dynamics
    a_q, a_v, a_u, a_t = (row(getattr(d, x), getattr(rates, x)) for x in "qvut")
    lower = np.hstack([a_q @ Kq + a_v @ Dv, a_v @ Kv])
    upper, upper_t = _positions(s, positions, velocities, of, speeds, (q.C, Kq, Kv, Dv, Kt, Dt))
    A = np.concatenate([upper, lower])  # (2)
    B = np.concatenate([zeros(len(positions), a_u.shape[1]), a_u])
    time = np.concatenate([upper_t, a_t + a_q @ Kt + a_v @ Dt]).reshape(-1)
    rate = [s.v[c.index] if c.index is not None else e.local.speed[place[id(c)], 0] for c in positions]
    rate += [e.vdot[c.index] if c.index is not None else e.local.acceleration[place[id(c)], 0] for c in velocities]
    health = np.array([*e.factor.health, v.health, q.health], dtype=object)
    return A, B, time, np.array(rate, dtype=object), Kq, Kv, Dv, Kt.reshape(-1), Dt.reshape(-1), e.vdot, e.lam, health


def _positions(
    s: Trace, positions: list[Coordinate], velocities: list[Coordinate], of: Any, speeds: Any, maps: tuple[Any, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of Â that say how positions change, and their time column."""
    C, Kq, Kv, Dv, Kt, Dt = maps
    turn = zeros(s.tree.nv, s.tree.nv)
    for link in s.tree.links:
        turn[link.v, link.v] = link.joint.transport(s.v[link.v])
    X, t = zeros(len(positions), Kq.shape[1] + Kv.shape[1]), zeros(len(positions), 1)
    for k, c in enumerate(positions):
        if c in velocities:  # its rate is the state itself
            X[k, Kq.shape[1] + velocities.index(c)] = 1.0
        else:
            by_q = of([c], speeds.q)[0]
            X[k] = np.concatenate([C[k] @ Dv + by_q @ Kq, C[k] @ Kv])
            t[k] = C[k] @ Dt + by_q @ Kt + of([c], speeds.t)[0]
        if c.index is not None and not _all_zero(turn[c.index]):
            X[k, : Kq.shape[1]] = X[k, : Kq.shape[1]] - turn[c.index] @ Kq
            t[k] = t[k] - turn[c.index] @ Kt
    return X, t


def _all_zero(x: np.ndarray) -> bool:
    return all(is_number(e) and e == 0.0 for e in x.ravel())


def _is_identity(C: np.ndarray) -> bool:
    return all(is_number(x) and x == float(i == j) for (i, j), x in np.ndenumerate(C))
