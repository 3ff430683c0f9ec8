"""The linear model once more, by central differences of the nonlinear equations on the manifold (Spencer 4.1)."""

from __future__ import annotations

import numpy as np

import dalembert as da


def _rows(model, x, coordinates):
    """C at a state, by differences of the coordinates' own values for those that are functions."""
    op, nv = model.operating, model.operating.system.nv
    out = np.zeros((len(coordinates), nv))
    for k, c in enumerate(coordinates):
        if c.index is not None:
            out[k, c.index] = 1.0
        else:
            for j, e in enumerate(np.eye(nv)):
                out[k, j] = op._functions(x.replace(v=e))[c.name][1] - op._functions(x.replace(v=0 * e))[c.name][1]
    return out


def displaced(model: da.LinearModel, y: np.ndarray, t: float) -> da.State:
    """The state of the mechanism whose named coordinates are y away from the model's, at another time."""
    op = model.operating
    system, n, h = op.system, len(op.coordinates), op.system.rows.holonomic
    x = op.state.replace(q=system.plus(op.state, op.Kq @ y[:n]), t=op.state.t + t)
    for _ in range(30):
        gap = np.concatenate([op.deviation(x)[:n] - y[:n], system.residuals(x, p=op.p)[h]])
        C, A = _rows(model, x, op.coordinates), system.constraint_matrix(x, p=op.p)
        step = np.linalg.lstsq(np.vstack([C, A[h]]), -gap, rcond=1e-10)[0]
        x = x.replace(q=system.plus(x, step))
        if np.abs(step).max() < 1e-13:
            break
    rest = x.replace(v=np.zeros(system.nv))
    C, A = _rows(model, x, op.speeds), system.constraint_matrix(x, p=op.p)
    right = np.concatenate([y[n:] - op.deviation(rest)[n:], -system.speed_residuals(rest, p=op.p)])
    return x.replace(v=np.linalg.lstsq(np.vstack([C, A]), right, rcond=1e-10)[0])


def rate(model: da.LinearModel, y: np.ndarray, u: np.ndarray, t: float) -> np.ndarray:
    """d/dt of the named coordinates and their rates, by a difference along the motion.

    Rotations of quaternion joints are those from the mechanism as it moves undisturbed.
    """
    op = model.operating
    system, x = op.system, displaced(model, y, t)
    vdot = system.acceleration(x, u=u, p=op.p).vdot
    turning = [c.index is not None and c.name not in system.q_names for c in op.coordinates]
    turning += [False] * len(op.speeds)
    h = 1e-3

    def at(s):
        moved = x.replace(q=system.plus(x, s * x.v + 0.5 * s * s * vdot), v=x.v + s * vdot, t=x.t + s)
        nominal = system.plus(op.state, s * op.state.v + 0.5 * s * s * op.vdot)
        out, carried = op.deviation(moved), system.minus(moved.q, nominal)
        for k, c in enumerate(op.coordinates):
            if turning[k]:
                out[k] = carried[c.index]
        return out

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def differences(model: da.LinearModel, h: float = 2e-3):
    """A, B and the time column."""
    n, m = len(model.operating.names), len(model.input_names)
    u = model.operating.u

    def slope(move):
        a, b, c, d = (move(k * h) for k in (2, 1, -1, -2))
        return (8 * (b - c) - (a - d)) / (12 * h)

    zero = np.zeros(n)
    A = [slope(lambda s, e=e: rate(model, s * e, u, 0.0)) for e in np.eye(n)]
    B = [rate(model, zero, u + e, 0.0) - rate(model, zero, u, 0.0) for e in np.eye(m)]
    time = slope(lambda s: rate(model, zero, u, s))
    return np.column_stack(A), np.reshape(B, (m, n)).T, time
