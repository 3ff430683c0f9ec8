"""The linear model of a constrained mechanism in coordinates y, traced as one piece of straight-line code.

C_q and C_v are the rows of the chosen positions and velocities (Spencer's R_q), A_h the holonomic rows of A.

    [C_q; A_h] K_q = [1; 0],   [C_v; A] K_v = [1; 0]                                                (4.11)
    [C_v; A] D = −∂_q [C_v v; A v + b] K_q                                          Spencer's K̇, where v ≠ 0
    δq = K_q δy_q,   δv = D δy_q + K_v δy_v,   δv̇ = K_v δÿ + E,   [C_v; A] E = −∂e₂                    (1)

The derivative of the equations as a whole, [M −Aᵀ; A 0] [δv̇; δλ] = −[∂e₁; ∂e₂], times K_vᵀ has no δλ left:

    Kᵀ M K δÿ = −Kᵀ ∂e₁ + Zᵀ ∂e₂,   [C_v; A]ᵀ Z = M K                                               (2)
    Â = [[C_q (D − B K_q), C_q K_v], [∂ÿ/∂δ K_q + ∂ÿ/∂v D, ∂ÿ/∂v K_v]]                                (3)

which is Spencer's Â₂₁, Â₂₂ (4.2, appendix B), with inputs, time, quaternions (B, `Joint.transport`) and Pfaffian rows.
Where kinematic inputs lead, (2) is replaced: δv̇ by (1) of `system.prescribed`, and δÿ is what it makes of
the coordinates.
Velocities of the tree that are coordinates themselves drop out of (1): only the dependent ones are found (`frame`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.charts.leaders import Coordinate
from dalembert.linearization.frame import CoordinateFrame, columns
from dalembert.recursions.elimination import RowFactor
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import where_less, zeros
from dalembert.system.derivatives import EquationDerivatives
from dalembert.system.local_slopes import all_zero
from dalembert.system.trace import Trace

MIRRORED = 1e300  # larger than any square of a residual that counts as closed

NAMES = ("A", "B", "time", "rate", "Kq", "Kv", "Dv", "Kt", "Dt", "vdot", "multipliers", "margin")


def linear(s: Trace, positions: list[Coordinate], velocities: list[Coordinate]) -> tuple[Any, ...]:
    """Everything `NAMES` lists, at a traced state."""
    functions = [c for c in positions if c.index is None]  # positions hold the velocities' coordinates, too
    e = EquationDerivatives(s, [c.row for c in functions if c.row is not None])
    m, speeds, rates, d = len(s.rows.of), e.speeds, e.accelerations, e.dynamics

    def of(coordinates: list[Coordinate], X: np.ndarray) -> np.ndarray:
        """The rows of X that belong to those coordinates that are functions."""
        return X[[m + functions.index(c) for c in coordinates if c.index is None]]

    def all_rows(X: np.ndarray) -> np.ndarray:
        """Rows of the velocities' functions, then those of the constraints."""
        return np.concatenate([of(velocities, X), X[:m]])

    C, weights = np.concatenate([s.rows.A, e.coordinate_rows]), e.factor.tree.inverse
    v = CoordinateFrame(velocities, Sparse.of(of(velocities, C)), s.rows.sparse, weights)
    holonomic = [k for k, row in enumerate(s.rows.rows) if row.holonomic]
    same = len(holonomic) == m and positions == velocities
    q = v if same else CoordinateFrame(positions, Sparse.of(of(positions, C)), s.rows.only(holonomic).sparse, weights)
    Kq, Kv = q.K, v.K
    Dv = columns(v.dependent, -(all_rows(speeds.q) @ Kq), e.nv)  # (1)
    Kt = columns(q.dependent, -np.concatenate([of(positions, e.local.b), e.local.b[:m][holonomic]]), e.nv)
    Dt = columns(v.dependent, -(all_rows(speeds.q) @ Kt + all_rows(speeds.t)), e.nv)

    def along(x_q: np.ndarray, x_v: np.ndarray, x_u: np.ndarray, x_t: np.ndarray) -> np.ndarray:
        """Derivatives by y_q, y_v, u and t side by side, from those by q, v, u and t."""
        return np.hstack([x_q @ Kq + x_v @ Dv, x_v @ Kv, x_u, x_t + x_q @ Kt + x_v @ Dt])

    if s.led:
        by = along(*(e.solved(getattr(d, x), getattr(rates, x)[:m], x)[0] for x in "qvut"))
        solved = _chosen(
            velocities, by, of(velocities, C) @ by + of(velocities, along(*(getattr(rates, x) for x in "qvut")))
        )
    else:
        MK = e.M @ Kv
        Z = columns(v.dual, MK, len(v.rows))
        n = [-(Kv.T @ getattr(d, x)) + (Z.T @ all_rows(getattr(rates, x)) if len(Z) else 0.0) for x in "qvut"]
        solved = _reduced(e, v, MK, along(*n))  # (2)
    upper, upper_t = _positions(e, positions, velocities, of, (C, Kq, Kv, Dv, Kt, Dt))
    n, u = Kq.shape[1] + Kv.shape[1], d.u.shape[1]
    A = np.concatenate([upper, solved[:, :n]])  # (3)
    B = np.concatenate([zeros(len(positions), u), solved[:, n : n + u]])
    time = np.concatenate([upper_t, solved[:, n + u :]]).reshape(-1)
    rate = [s.v[c.index] if c.index is not None else of([c], e.local.speed)[0, 0] for c in positions]
    rate += [e.vdot[c.index] if c.index is not None else of([c], e.local.acceleration)[0, 0] for c in velocities]
    margin = np.array([*e.factor.margin, v.small.margin, q.small.margin], dtype=object)
    values = np.array(rate, dtype=object)
    return A, B, time, values, Kq, Kv, Dv, Kt.reshape(-1), Dt.reshape(-1), e.vdot, e.lam, margin


def closure(s: Trace) -> tuple[Any, Any]:
    """The sums of the squares of Φ and of A v + b, of all rows; that of Φ is large on a mirror branch too."""
    speed = s.rows.A @ s.v + s.rows.b
    wrong = sum((where_less(sign, 0.0, lambda: MIRRORED, lambda: 0.0) for sign in s.rows.branch), 0.0)
    return (s.rows.phi * s.rows.phi).sum() + wrong, (speed * speed).sum()


def _chosen(velocities: list[Coordinate], by: np.ndarray, functions: np.ndarray) -> np.ndarray:
    """The rows of the chosen velocities: those of the tree from δv̇, the others, one after another, as they are."""
    others = iter(functions)
    return np.array([next(others) if c.index is None else by[c.index] for c in velocities], dtype=object)


def _reduced(e: EquationDerivatives, v: CoordinateFrame, MK: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(Kᵀ M K)⁻¹ right; the tree's own factor where every velocity is chosen."""
    if not v.rest:
        turned, _ = e.factor.columns(v.K @ right, zeros(e.factor.m, right.shape[1]))
        return v.K.T @ turned
    small = v.K.T @ MK
    n = len(small)
    factor = RowFactor.of(np.array([[small[min(i, j), max(i, j)] for j in range(n)] for i in range(n)], dtype=object))
    out = zeros(*right.shape)
    for k in range(right.shape[1]):
        out[:, k] = factor.solve(right[:, k])
    return out


def _positions(
    e: EquationDerivatives, positions: list[Coordinate], velocities: list[Coordinate], of: Any, maps: tuple[Any, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of Â for the rates of positions, and their time column."""
    C, Kq, Kv, Dv, Kt, Dt = maps
    X, t = zeros(len(positions), Kq.shape[1] + Kv.shape[1]), zeros(len(positions), 1)
    for k, c in enumerate(positions):
        if c in velocities:  # its rate is the state itself
            X[k, Kq.shape[1] + velocities.index(c)] = 1.0
        elif c.index is not None:
            X[k], t[k] = np.concatenate([Dv[c.index], Kv[c.index]]), Dt[c.index]
        else:
            row, by_q = of([c], C)[0], of([c], e.speeds.q)[0]
            X[k] = np.concatenate([row @ Dv + by_q @ Kq, row @ Kv])
            t[k] = row @ Dt + by_q @ Kt + of([c], e.speeds.t)[0]
        if c.index is not None and not all_zero(e.turn[c.index]):
            X[k, : Kq.shape[1]] = X[k, : Kq.shape[1]] - e.turn[c.index] @ Kq
            t[k] = t[k] - e.turn[c.index] @ Kt
    return X, t
