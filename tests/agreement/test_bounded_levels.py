"""Bounded control updates of many motors: their conditions of optimality level by level, and a weighted program."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog, nnls

import dalembert as da
from dalembert import control
from dalembert.control import Verdict


@cache
def driven(seed):
    """Two arms of five motors each, axes at random, that hold on to each other in a ball, and a state.

    The second has the ball twice: six rows of rank three.
    """
    rng = np.random.default_rng([seed, 5])
    m = da.Mechanism(f"arms {seed}", gravity=(0.0, 0.0, -9.81))
    hands = []
    for side in "lr":
        at = m.ground.at(*rng.normal(size=3) * 0.5)
        for k in range(5):
            mass = rng.uniform(0.3, 3.0)
            body = m.add_body(f"{side}{k}", mass=mass, com=(0, 0, 0.15), inertia=(0.02, 0.02, 0.01))
            m.add_joint(f"{side}{k}", da.Revolute(rng.normal(size=3)), at, body)
            m.add_motor(f"u {side}{k}", f"{side}{k}")
            at = body.at(0.0, 0.0, 0.3)
        hands.append(body)
    tree = m.compile(backend="casadi")
    x = tree.state(rng.uniform(-1, 1, 10), rng.normal(size=10))
    there = x.position(hands[0].at(0.0, 0.0, 0.3))
    T = tree.pose(x, hands[1])
    ends = hands[0].at(0.0, 0.0, 0.3), hands[1].at(*(T[:3, :3].T @ (there - T[:3, 3])))
    for name in ("ball", "again")[: 1 + seed % 2]:
        m.close_loop(name, da.Spherical(), *ends)
    system = m.compile(backend="casadi")
    return system, system.project(system.state(x.q, x.v))


class Update:
    """A law with bounded motors and accelerations of random arms, v̇ = c + K (y₀ + N u)."""

    def __init__(self, seed, limit, fastest):
        system, x = driven(seed % 5)
        rng = np.random.default_rng([seed, 3])
        n, names = len(system.u_names), tuple(system.v_names)
        M, A = system.mass_matrix(x), system.constraint_matrix(x)
        root = np.linalg.cholesky(M).T
        K = self.K = np.linalg.solve(root, null_space(A @ np.linalg.inv(root), rcond=1e-9))
        self.N, self.y0 = K.T @ system.input_matrix(x), K.T @ (system.applied_forces(x) - system.bias(x))
        self.c = system.acceleration(x).vdot - K @ self.y0
        scalar = [k for k, name in enumerate(names) if name in system.q_names and np.linalg.norm(K[k]) > 0.1]
        moved = rng.permutation(scalar)[:3]
        task = control.coordinates(*(names[k] for k in moved))
        goal = [x[names[k]] + 0.05 * rng.normal() for k in moved]
        wanted = np.array([100.0 * (g - x[names[k]]) - 20.0 * x.v[k] for k, g in zip(moved, goal)])
        self.T = K[moved]
        self.b = wanted - self.c[moved]
        self.along = np.linalg.pinv(self.T, rcond=1e-9) @ self.b
        options = {"gains": (100.0, 20.0), "weights": dict.fromkeys(task.names, 1.0)}
        plain = control.motion_control(system, task, goal, **options).explain(0.0, x)
        assert np.allclose(plain.vdot, self.c + K @ self.along, atol=1e-7 * np.abs(plain.vdot).max())
        self.scale = np.abs(plain.u).max()
        self.limit, self.fastest = limit * self.scale, fastest * np.abs(plain.vdot).max()
        law = control.motion_control(system, task, goal, limits=self.limit, accelerations=self.fastest, **options)
        self.found, self.u = law.explain(0.0, x), law(0.0, x)
        rest, V = self.c + K @ self.y0, K @ self.N
        rows = np.flatnonzero(np.linalg.norm(V, axis=1) > 1e-9 * np.linalg.norm(V))
        lengths = np.linalg.norm(V[rows], axis=1)
        G, g = V[rows] / lengths[:, None], rest[rows] / lengths
        self.hard = np.vstack([np.eye(n), -np.eye(n)]), np.full(2 * n, -self.limit)
        self.soft = np.vstack([G, -G]), np.concatenate([-g, g]) - np.tile(self.fastest / lengths, 2)


def force_left(gradient, kept, rows, right, u, near):
    """‖gradient − Σ ν_k kept_k − Σ μ_i rows_i‖, μ ≥ 0, over the rows that u touches."""
    touched = rows[rows @ u - right <= near]
    along = null_space(kept) if len(kept) else np.eye(len(u))
    return nnls(along.T @ touched.T, along.T @ gradient)[1] if touched.size else np.linalg.norm(along.T @ gradient)


SIZES = ((0.5, 0.5), (0.3, 2.0), (0.9, 0.05), (0.15, 0.3), (0.6, 0.2))


@pytest.mark.parametrize("seed", range(30))
def test_bounded_updates_are_optimal_in_every_level(seed):
    """Bounds missed least, then the task, the motion, the forces: the slope of each is a push of bounds it touches."""
    a = Update(seed, *SIZES[seed % len(SIZES)])
    u, (H, hh), (G, h), near = a.u, a.hard, a.soft, 1e-7 * a.scale
    none = np.zeros((0, len(u)))
    assert (H @ u - hh).min() >= -near
    miss = np.maximum(0.0, h - G @ u)
    if linprog(np.zeros(len(u)), -G, -h, bounds=[(-a.limit, a.limit)] * len(u)).success:
        assert miss.max() <= near
    else:
        assert a.found.status == Verdict.CONTRADICTED
        assert force_left(-G.T @ miss, none, H, hh, u, near) <= 1e-7 * np.abs(miss).sum()
    G, h = np.vstack([H, G]), np.concatenate([hh, np.minimum(h, G @ u)])
    y, D = a.y0 + a.N @ u, a.T @ a.N
    slope = D.T @ (a.T @ y - a.b)
    assert force_left(slope, none, G, h, u, near) <= 1e-7 * np.linalg.norm(D) * np.linalg.norm(a.b)
    slope = a.N.T @ (y - a.along)
    assert force_left(slope, D, G, h, u, near) <= 1e-7 * np.linalg.norm(a.N) * np.linalg.norm(a.along)
    assert force_left(u, a.N, G, h, u, near) <= 1e-7 * np.linalg.norm(u)


def test_every_verdict_is_among_the_cases():
    found = [Update(seed, *SIZES[seed % len(SIZES)]).found.status for seed in range(30)]
    assert {found.count(v) >= 3 for v in (Verdict.LIMITED, Verdict.CONTRADICTED)} == {True}, found


def test_a_weighted_program_tends_to_the_answer_as_its_weight_grows():
    """min w² ‖task‖² + w ‖motion‖² + ‖u‖² by DAQP: the difference falls like 1/w."""
    a = Update(0, 0.5, 0.5)
    assert a.found.status == Verdict.LIMITED
    D, n, (G, h) = a.T @ a.N, len(a.u), a.soft
    off = []
    for weight in (1e3, 1e4, 1e5):
        w, s = weight / np.linalg.norm(a.N) ** 2, weight**2 / np.linalg.norm(D) ** 2
        H = ca.DM(s * D.T @ D + w * a.N.T @ a.N + np.eye(n))
        g = s * D.T @ (a.T @ a.y0 - a.b) + w * a.N.T @ (a.y0 - a.along)
        solver = ca.conic("qp", "daqp", {"h": H.sparsity(), "a": ca.DM(G).sparsity()}, {"error_on_fail": False})
        x = solver(h=H, g=g, a=G, lba=h, uba=np.inf, lbx=-a.limit, ubx=a.limit)["x"]
        off.append(np.abs(np.array(x).ravel() - a.u).max() / a.scale)
    assert off[0] > 5 * off[1] > 25 * off[2]
    assert off[2] < 2e-4
