"""Kinematic inputs in optimal motions: Riccati's equation, and a crane with its discrete equations by hand."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control

h, N, g = 0.08, 25, 9.81
LOAD, ROPE = 3.0, 1.2  # kg, m


def test_of_a_led_cart_the_gains_are_those_of_riccati():
    """The input is an acceleration held for a step: x + h v + ½ h² u, v + h u, whatever the mass."""
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=7.0))
    m.add_kinematic_input("lead", "x")
    motion = control.optimal_motion(
        m.compile(backend="casadi"), {"x": 1.0}, h * N, lambda s, u: 3 * s["x"] ** 2 + 0.2 * u["lead"] ** 2,
        lambda s: 4 * s["x"] ** 2 + s.rate("x") ** 2, steps=N)  # fmt: skip
    A, B = np.array([[1, h], [0, 1]]), np.array([[h * h / 2], [h]])
    Q, R, S = h * np.diag([3.0, 0.0]), h * np.array([[0.2]]), np.diag([4.0, 1.0])
    for k in reversed(range(N)):
        K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        np.testing.assert_allclose(motion.gains[k], -K, atol=1e-9)
        S = Q + A.T @ S @ (A - B @ K)
    assert motion.cost == pytest.approx(S[0, 0], rel=1e-12)


def keep(x, angle, u):
    return angle**2 + 0.02 * u**2


def rest(x, angle, speed, rate):
    return 200 * ((x - 1.0) ** 2 + speed**2 + angle**2 + rate**2)


def by_hand() -> tuple[float, np.ndarray]:
    """Cost and inputs (N,) from IPOPT, on D₂ L_d + D₁ L_d = 0 of the load alone: the trolley's place is given.

    L_d = h (½ m |ċ|² − m g z) at the midpoint, c = (x + l sin θ, −l cos θ).
    """
    x0, x1, th0, th1 = (ca.SX.sym(n) for n in ("x0", "x1", "th0", "th1"))
    th, w, v = (th0 + th1) / 2, (th1 - th0) / h, (x1 - x0) / h
    L = h * LOAD * (0.5 * (v**2 + 2 * v * w * ROPE * ca.cos(th) + (ROPE * w) ** 2) + g * ROPE * ca.cos(th))
    D = ca.Function("D", [x0, x1, th0, th1], [ca.gradient(L, th0), ca.gradient(L, th1)])
    u, angles = ca.SX.sym("u", N), ca.SX.sym("angles", N)
    x, v, angle, p, total, gaps = ca.SX(0), ca.SX(0), ca.SX(0.3), ca.SX(0), ca.SX(0), []
    for k in range(N):
        total += h * keep(x, angle, u[k])
        ahead = x + h * v + 0.5 * h**2 * u[k]
        first, last = D(x, ahead, angle, angles[k])
        gaps.append(p + first)
        x, v, angle, p = ahead, v + h * u[k], angles[k], last
    rate = (p / LOAD - ROPE * ca.cos(angle) * v) / ROPE**2  # p = ∂T/∂θ̇
    total += rest(x, angle, v, rate)
    nlp = {"x": ca.vertcat(u, angles), "f": total, "g": ca.vertcat(*gaps)}
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-12}
    answer = ca.nlpsol("crane", "ipopt", nlp, quiet)(x0=0.0, lbg=0.0, ubg=0.0)
    return float(answer["f"]), np.array(answer["x"])[:N, 0]


@pytest.mark.parametrize("method", ["newton", "ilqr"])
def test_a_crane_comes_to_rest_as_in_its_equations_by_hand(method):
    """A trolley that is led carries a swinging load over 1 m, and both stop."""
    m = da.Mechanism("crane", gravity=(0, 0, -g))
    trolley = m.add_body("trolley", mass=2.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, trolley)
    m.add_joint("rope", da.Revolute("-y"), trolley, m.add_body("load", mass=LOAD, com=(0, 0, -ROPE)))
    m.add_kinematic_input("lead", "x")
    cost = lambda s, u: keep(s["x"], s["rope"], u["lead"])  # noqa: E731
    end = lambda s: rest(s["x"], s["rope"], s.rate("x"), s.rate("rope"))  # noqa: E731
    options = {"steps": N, "method": method, "tolerance": 1e-13}
    motion = control.optimal_motion(m.compile(backend="casadi"), {"rope": 0.3}, h * N, cost, end, **options)
    least, u = by_hand()
    assert motion.success
    assert motion.cost == pytest.approx(least, rel=1e-9)
    np.testing.assert_allclose(motion.u[:, 0], u, atol=1e-4 * np.abs(u).max())
    assert abs(motion.state(-1)["x"] - 1.0) < 0.02
    np.testing.assert_allclose(motion.simulate().q, motion.q, atol=1e-9)
