"""Aghili's control laws (43)-(60), written in NumPy as they are printed, beside the controllers of the library.

The mechanisms are random and closed, with redundant rows and a motor at every joint; with passive joints some motors
are not used. The paper subtracts the constraint force, 𝓕 = −Aᵀλ with the λ of the library.

Misprints mended: §2.1.1 A_W = A W^(−1/2), as in §7.2; (49), (52) the term is μ C_c q̇ = μ M C q̇.
"""

from functools import cache

import numpy as np
import pytest
from numpy.linalg import inv, matrix_rank, norm, pinv
from scipy.linalg import null_space, qr, sqrtm

from dalembert import control
from dalembert.analysis.subspaces import characteristic_length
from random_loops import random_closed

CASES = [(seed, moved) for seed in (1, 4, 7, 13, 20) for moved in (False, True)]  # with enough angles and slides for θ
SMALL = 1e-9  # singular values up to this part of the largest are zero
T = 0.3  # s


class Case:
    """A mechanism at a state, with a reference of its independent coordinates θ, and the matrices of the paper."""

    def __init__(self, seed, moved):
        self.seed = [seed, int(moved)]
        rng = self.draws(43)
        self.system, x = random_closed(seed, motors=True)
        if moved:  # along the manifold from where the loops were closed
            x = self.system.project(self.system.state(self.system.plus(x, 0.1 * x.v), rng.normal(size=self.system.nv)))
        self.x, self.n, self.v = x, self.system.nv, x.v
        self.M, _, self.A, self.gamma = self.system.evaluate("constrained", x)  # γ = Ȧ q̇
        self.h = self.system.bias(x)
        self.names, S = self.independent()
        self.k = len(self.names)
        free = null_space(self.A, rcond=SMALL)
        self.Lam = free @ inv(S @ free)  # (38) with θ̇ = S q̇
        self.Lam_dot = pinv(np.vstack([self.A, S])) @ np.concatenate([-self.gamma, np.zeros(self.k)])  # Λ̇ θ̇: (16), (39)
        self.theta = np.array([x[name] for name in self.names])
        self.reference = [self.theta + 0.1 * rng.normal(size=self.k), *rng.normal(size=(2, self.k))]
        self.GP, self.GD = (np.diag(rng.uniform(1, 30, self.k)) for _ in range(2))
        e, de = self.reference[0] - self.theta, self.reference[1] - S @ self.v
        self.u_p = self.Lam_dot + self.Lam @ (self.reference[2] + self.GD @ de + self.GP @ e)  # (44)

    def draws(self, number):
        """Random numbers of one purpose, the same in whatever order tests run."""
        return np.random.default_rng([*self.seed, number])

    def independent(self):
        """Names of as many angles and slides as there are freedoms, and the matrix that selects their rates."""
        names = list(self.system.layout.scalar_rates)
        rows = np.eye(self.n)[[self.system.v_names.index(self.system.layout.scalar_rates[n]) for n in names]]
        free = null_space(self.A, rcond=SMALL)
        first = np.sort(qr((rows @ free).T, pivoting=True)[2][: free.shape[1]])
        assert matrix_rank(rows[first] @ free, 1e-3) == free.shape[1] < self.n
        return [names[i] for i in first], rows[first]

    def law(self, **options):
        """`motion_control`, or with forces `hybrid_control`, of θ."""
        make = control.hybrid_control if "forces" in options else control.motion_control
        task, gains = control.coordinates(*self.names), (self.GP, self.GD)
        return make(self.system, task, lambda t: tuple(self.reference), gains=gains, **options)


class Literal:
    """The paper's matrices in the coordinates W^(1/2) q̇ of §7.2; W = 1 for those of the sections before."""

    def __init__(self, case, W=None):
        W = np.eye(case.n) if W is None else np.diag(W) if np.ndim(W) == 1 else W
        one = np.eye(case.n)
        self.root = np.real(sqrtm(W))  # W^(1/2)
        down = inv(self.root)  # W^(−1/2)
        self.M = M = down @ case.M @ down  # §7.2
        self.A = A = case.A @ down  # §7.2
        self.h = down @ case.h  # f_W = W^(−1/2) f
        self.u_p = self.root @ case.u_p  # q̇_W = W^(1/2) q̇
        self.P = P = one - pinv(A, SMALL) @ A  # (15)
        self.Q0 = one - P  # I − P
        self.Cv = -pinv(A, SMALL) @ case.gamma  # C q̇, (16)
        M_c = M + P @ M - (P @ M).T  # (23), (24)
        self.mu = self.Q0 @ M @ inv(M_c)  # (32)
        self.parallel = P @ self.h + P @ M @ self.u_p  # f∥, (43)

    def constraint_force(self, f):
        P, Q0, h, mu = self.P, self.Q0, self.h, self.mu
        return Q0 @ (f - h) - mu @ (P @ (f - h)) - mu @ self.M @ self.Cv  # (32)

    def perpendicular(self, u_F, parallel):
        P, Q0, h, mu = self.P, self.Q0, self.h, self.mu
        return Q0 @ h + mu @ (parallel - P @ h + self.M @ self.Cv) + u_F  # f⊥, (49) mended

    def hybrid(self, u_F):
        one, mu = np.eye(len(self.h)), self.mu
        return self.h + mu @ self.M @ self.Cv + (one + mu) @ self.P @ self.M @ self.u_p + u_F  # (52) mended

    def passive(self, chosen):
        """B, Q, η and f^c with the forces `chosen`, (n,) bool."""
        one, P = np.eye(len(self.h)), self.P
        X = inv(self.root) @ one[:, chosen]
        B = X @ pinv(X)  # (53): the projector on the actuator space; diag(1, 0) itself where W is diagonal
        Q = one - B - P + B @ P  # (55)
        eta = -pinv(Q, SMALL) @ (one - B) @ self.parallel  # (57)
        H = -(one - P) @ pinv(Q, SMALL) @ (one - B)  # (59)
        f_perp = H @ self.parallel  # (58)
        np.testing.assert_allclose(f_perp, (one - P) @ eta, atol=1e-9 * size(eta))  # (54)
        return B, Q, eta, (one + H) @ self.parallel  # (60)


case = cache(Case)


def size(x):
    return 1 + np.abs(x).max()


def close(found, wanted, part=1e-8):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=part * size(wanted))


def weights(c, kind):
    """W of (47): as a diagonal, (48) with κ = 0.4 m, and full."""
    if kind == "one":
        return None
    if kind == "diagonal":
        return c.draws(47).uniform(0.2, 3.0, c.n)
    if kind == "length":
        return characteristic_length(c.system, 0.4)
    X = c.draws(48).normal(size=(c.n, c.n))
    return X @ X.T / c.n + 0.5 * np.eye(c.n)


def options(W):
    return {} if W is None else {"metric": W}


@pytest.mark.parametrize("kind", ["one", "diagonal", "length", "full"])
@pytest.mark.parametrize("at", CASES)
def test_motion_control_is_43_to_48(at, kind):
    c = case(*at)
    W = weights(c, kind)
    p = Literal(c, W)
    law = c.law(**options(W))
    f = p.root @ p.parallel  # (46): f⊥ = 0; f = W^(1/2) f_W
    close(law(T, c.x), f)
    found = law.explain(T, c.x)
    close(found.cost, norm(p.parallel))  # (47)
    close(found.vdot, c.u_p)
    a = c.system.acceleration(c.x, u=f).vdot
    close(p.P @ p.M @ p.root @ a, p.parallel - p.P @ p.h)  # (42)
    close(a, c.u_p)  # (45): the bracket is zero


def admissible_force(c, number=50):
    """λ_d that no redundant row makes ambiguous, and 𝓕_d = −Aᵀλ_d."""
    lam = c.A @ pinv(c.A, SMALL) @ c.draws(number).normal(size=len(c.A)) * 10
    return lam, -c.A.T @ lam


@pytest.mark.parametrize("kind", ["one", "diagonal"])
@pytest.mark.parametrize("at", CASES)
def test_force_and_hybrid_control_are_49_and_52(at, kind):
    """Without gains u_F = 𝓕_d (50). With all joints driven the weights do not matter."""
    c = case(*at)
    W = weights(c, kind)
    p, (lam, F) = Literal(c, W), admissible_force(c)
    forces = dict(zip(c.system.row_names, lam))
    F_W = inv(p.root) @ F
    close(p.hybrid(F_W), p.parallel + p.perpendicular(F_W, p.parallel))  # the two lines of (52)
    close(c.law(forces=forces, **options(W))(T, c.x), p.root @ p.hybrid(F_W), 1e-7)  # (52)
    alone = control.force_control(c.system, forces, **options(W))
    close(alone(T, c.x), p.root @ p.perpendicular(F_W, 0 * F_W), 1e-7)  # (49) with f∥ = 0


@pytest.mark.parametrize("at", CASES)
def test_force_feedback_is_50_and_51(at):
    """PI feedback from an integral that starts wrong: u solves the algebraic loop of (50), (52)."""
    GF, GI = 2.0, 9.0
    c = case(*at)
    p, (lam, F_d) = Literal(c), admissible_force(c)
    law = c.law(forces=dict(zip(c.system.row_names, lam)), force_gains=(GF, GI))
    start, start_F = admissible_force(c, 51)
    law.integral[:] = start  # ∫e_λ, so that ∫e_f = −Aᵀ∫e_λ
    f = law(T, c.x)
    F = p.constraint_force(f)
    a = c.system.acceleration(c.x, u=f)
    close(-F, a.force, 1e-7)
    e_f = F_d - F
    assert norm(e_f) > 1
    u_F = F_d + GF * e_f + GI * start_F  # (50)
    close(f, p.hybrid(u_F), 1e-7)  # (52)
    close((GF + 1) * e_f + GI * start_F, 0 * e_f, 1e-7 * size(F_d))  # the integral of (GF + 1) ė_f + GI e_f = 0
    values = np.linalg.svd(c.A, compute_uv=False)
    least = values[values > SMALL * values[0]].min()
    e_lam = lam - a.multipliers
    assert least * norm(c.A @ pinv(c.A, SMALL) @ e_lam) <= norm(e_f) * (1 + 1e-9)  # (51), on the range of A


@pytest.mark.parametrize("spare", [-1, 0, 1, 2])
@pytest.mark.parametrize("kind", ["one", "diagonal", "length", "full"])
@pytest.mark.parametrize("at", CASES)
def test_passive_joints_are_53_to_60(at, kind, spare):
    """With k + spare motors in use, chosen at random."""
    c = case(*at)
    W = weights(c, kind)
    p, one = Literal(c, W), np.eye(c.n)
    order = c.draws(53).permutation(c.n)
    moves = qr(null_space(c.A, rcond=SMALL)[order].T, pivoting=True)[2]  # the first k drive every motion
    chosen = np.zeros(c.n, dtype=bool)
    chosen[order[moves[: c.k + spare]]] = True
    B, Q, eta, f_W = p.passive(chosen)
    there, beyond = (one - B) @ (one - p.P), (one - B) @ p.P
    exists = matrix_rank(np.hstack([there, beyond]), 1e-8) == matrix_rank(there, 1e-8)  # (56)
    law = c.law(actuated=[n for n, on in zip(c.system.u_names, chosen) if on], **options(W))
    found = law.explain(T, c.x)
    assert exists == (found.reach == found.mobility) == (spare >= 0)
    if exists:
        close(B @ f_W, f_W)  # (53)
        close(Q @ eta, -(one - B) @ p.parallel)  # (55)
        f = p.root @ f_W
        assert np.abs(f[~chosen]).max() < 1e-8 * size(f)
        close(law(T, c.x), f, 1e-7)  # (60)
        close(c.system.acceleration(c.x, u=f).vdot, c.u_p, 1e-7)  # the motion is that of (43)
        assert norm(f_W) ** 2 <= (norm(p.parallel) ** 2 + norm(eta) ** 2) * (1 + 1e-9)  # (61)
