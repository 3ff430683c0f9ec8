"""Derivatives of runs against complex steps through equations written by hand, a closed form, and published numbers."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from parameterized import FOUR_BAR, four_bar

STEP = 1e-30


def four_bar_rates(p):
    """θ̈ of the four-bar of `parameterized` in the absolute angles of its bars; complex numbers may go through."""
    L, m = (p["l1"], p["l2"], p["l3"]), (1.0, p["m2"], 2.4)
    J = [mass * x * x / 12 for mass, x in zip(m, L)]

    def f(t, y):
        th, w = y[:3], y[3:]
        c, s = np.cos(th), np.sin(th)
        # centre of the coupler: l1 e1 + l2/2 e2; of the others: half their length
        M = np.zeros((3, 3), dtype=complex)
        M[0, 0] = m[0] * L[0] ** 2 / 4 + J[0] + m[1] * L[0] ** 2
        M[1, 1] = m[1] * L[1] ** 2 / 4 + J[1]
        M[2, 2] = m[2] * L[2] ** 2 / 4 + J[2]
        k = m[1] * L[0] * L[1] / 2
        M[0, 1] = M[1, 0] = k * np.cos(th[0] - th[1])
        turn = k * np.sin(th[0] - th[1])
        force = -p["g"] * np.array([(m[0] / 2 + m[1]) * L[0] * c[0], m[1] * L[1] / 2 * c[1], m[2] * L[2] / 2 * c[2]])
        force = force + np.array([-turn * w[1] ** 2 - p["d"] * w[0], turn * w[0] ** 2, 0.0])
        A = np.array([[-L[0] * s[0], -L[1] * s[1], L[2] * s[2]], [L[0] * c[0], L[1] * c[1], -L[2] * c[2]]])
        gamma = np.array([[-L[0] * c[0], -L[1] * c[1], L[2] * c[2]], [-L[0] * s[0], -L[1] * s[1], L[2] * s[2]]]) @ w**2
        K = np.block([[M, -A.T], [A, np.zeros((2, 2))]])
        return np.concatenate([w, np.linalg.solve(K, np.concatenate([force, -gamma]))[:3]])

    return f


def four_bar_start(p, angle, speed):
    """Absolute angles and rates by Newton's method in complex arithmetic."""
    th = np.array([angle, 0.6, 1.5], dtype=complex)
    L = np.array([p["l1"], p["l2"], -p["l3"]])
    for _ in range(30):
        gap = np.array([L @ np.cos(th) - p["span"], L @ np.sin(th)])
        A = np.array([-L * np.sin(th), L * np.cos(th)])
        th[1:] -= np.linalg.solve(A[:, 1:], gap)
    A = np.array([-L * np.sin(th), L * np.cos(th)])
    return np.concatenate([th, [speed], np.linalg.solve(A[:, 1:], -A[:, 0] * speed)])


def test_a_four_bar_against_complex_steps():
    system, T = four_bar(), 1.2
    x = system.assemble({"A": 0.9}, {"A": 2.0}, guess={"B": -0.3, "D": 1.5})
    run = da.simulate(system, x, T, rtol=1e-12, atol=1e-13)
    of = {"A": "A", "rate": "rate:A", "work": da.Integral(lambda s: s.rate("A") ** 2)}
    s = da.sensitivities(run, of=of, wrt=list(FOUR_BAR), held=["A"])
    for k, name in enumerate(FOUR_BAR):
        p = {n: complex(v) for n, v in FOUR_BAR.items()}
        p[name] += STEP * 1j
        f = four_bar_rates(p)
        start = np.concatenate([four_bar_start(p, 0.9, 2.0), [0.0]])
        y = solve_ivp(
            lambda t, y, f=f: np.concatenate([f(t, y[:6]), y[3:4] ** 2]), (0, T), start, "DOP853",
            rtol=1e-12, atol=1e-13,
        ).y[:, -1]  # fmt: skip
        np.testing.assert_allclose(s.value, y[[0, 3, 6]].real, rtol=1e-9, err_msg=name)
        expected = y[[0, 3, 6]].imag / STEP
        np.testing.assert_allclose(s.jacobian[:, k], expected, rtol=1e-8, atol=1e-9, err_msg=name)


def slider_crank_of_idas():
    """SUNDIALS' example idasSlCrank: a crank of 0.5 m, a rod of 1 m, a spring and damper between their middles.

    Only the slider has mass, 1 kg; crank and rod have inertias of 1 and 2 kg m². A force of 1 N along x acts on the rod
    beyond the slider.
    """
    m = da.Mechanism("slider-crank of IDAS")
    k, c = m.add_parameter("k", 1.0), m.add_parameter("c", 1.0)
    crank = m.add_body("crank", mass=0.0, inertia=(0, 0, 1.0), physical=False)
    slider = m.add_body("slider", mass=1.0)
    rod = m.add_body("rod", mass=0.0, inertia=(0, 0, 2.0), physical=False)
    m.add_joint("q", da.Revolute("z"), m.ground, crank)
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.add_joint("p", da.Revolute("z"), slider, rod)
    m.close_loop("pin", da.Revolute("z"), crank.at(0.5, 0, 0), rod.at(-1.0, 0, 0))
    m.add_spring("spring", crank.at(0.25, 0, 0), rod.at(-0.5, 0, 0), stiffness=k, rest_length=1.0, damping=c)
    m.add_wrench("push", rod.at(1.0, 0, 0), force=(1.0, 0, 0))
    return m.compile()


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_the_slider_crank_of_sundials(method):
    """Its output, examples/idas/serial/idasSlCrank_FSA_dns.out, at a tolerance of 1e-6.

    It prints G = 3.33661580, dG/dp = 3.3346e-01, −3.6375e-01, and by central differences 3.3345e-01, −3.6375e-01.
    """
    system = slider_crank_of_idas()
    run = da.simulate(system, system.assemble({"q": np.pi / 2}, guess={"x": 0.8, "p": -0.5}), 10.0)
    s = da.sensitivities(run, of={"G": da.Integral("kinetic_energy")}, wrt=["k", "c"], method=method)
    assert s["G"] == pytest.approx(3.3366157997761721, rel=1e-5)
    assert s.d("G", "k") == pytest.approx(0.33345, abs=0.5e-5)
    assert s.d("G", "c") == pytest.approx(-0.36375, abs=0.5e-5)
    assert s.method == method


def oscillator():
    m = da.Mechanism("oscillator")
    k, d, mass = (m.add_parameter(n, v) for n, v in (("k", 30.0), ("d", 0.8), ("mass", 2.0)))
    m.add_parameter("level", 0.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass), stiffness=k, damping=d)
    m.add_motor("push", "x")
    return m.compile()


def oscillation(t, k, d, mass, x0):
    """x of the damped oscillator from rest at x0, for complex numbers too."""
    a = d / (2 * mass)
    w = np.sqrt(k / mass - a * a)
    return x0 * np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t))


def test_a_damped_oscillator_at_several_times():
    system, times = oscillator(), np.linspace(0.0, 3.0, 7)
    run = da.simulate(system, {"x": 0.4}, 3.0, rtol=1e-12, atol=1e-13)
    s = da.sensitivities(run, of=["x"], wrt=["k", "d", "mass", "held:x", "input:push"], at=times)
    given = {"k": 30.0, "d": 0.8, "mass": 2.0, "x0": 0.4}
    for name, symbol in (("k", "k"), ("d", "d"), ("mass", "mass"), ("held:x", "x0")):
        moved = {**given, symbol: given[symbol] + STEP * 1j}
        np.testing.assert_allclose(s.d("x", name), oscillation(times, **moved).imag / STEP, atol=1e-10)
    pushed = (1 - oscillation(times, 30.0, 0.8, 2.0, 1.0)) / 30.0  # a unit step of the force
    np.testing.assert_allclose(s.d("x", "input:push"), pushed, atol=1e-10)
    adjoint = da.sensitivities(run, of=["x"], wrt=s.wrt, method="adjoint")
    np.testing.assert_allclose(adjoint.jacobian, s.jacobian[-1], atol=1e-12)
    assert s.t is not None
    np.testing.assert_array_equal(s.t, times)


def test_the_time_of_an_event_moves():
    """A quarter swing without damping takes π/2 √(m/k); speed and way at that time have their derivatives too."""
    system = oscillator().with_parameters(d=0.0)
    level = system.description.parameters["level"]
    down = da.Event(da.expression(lambda t, s: s["x"] - level), terminal=True)
    run = da.simulate(system, {"x": 0.4}, 3.0, rtol=1e-12, atol=1e-13, events={"down": down})
    of = {"T": "time", "x": "x", "v": "rate:x", "way": da.Integral("rate:x")}
    for method in ("forward", "adjoint"):
        s = da.sensitivities(run, of=of, wrt=["k", "mass", "held:x", "level"], method=method)
        T, w = np.pi / 2 * np.sqrt(2.0 / 30.0), np.sqrt(15.0)
        np.testing.assert_allclose(s.value, [T, 0.0, -0.4 * w, -0.4], atol=1e-9)
        speed = 0.4 * w
        expected = [[-T / 60, T / 4, 0, -1 / speed], [0, 0, 0, 1], [-speed / 60, speed / 4, -w, 0], [0, 0, -1, 1]]
        np.testing.assert_allclose(s.jacobian, expected, atol=1e-9)


def test_feedback_is_part_of_the_motion():
    """A controller −k₂ x is a spring beside the spring: derivatives with respect to gains and masses are its own."""
    m = da.Mechanism("steered")
    gain, mass = m.add_parameter("gain", 20.0), m.add_parameter("mass", 2.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass), stiffness=10.0)
    m.add_motor("push", "x")
    system = m.compile()
    law = da.expression(lambda t, s: {"push": -gain * s["x"] - 0.8 * s.rate("x")})
    run = da.simulate(system, {"x": 0.4}, 2.0, u=law, rtol=1e-12, atol=1e-13)
    of = {"x": "x", "a": "acceleration:x"}
    for method in ("forward", "adjoint"):
        s = da.sensitivities(run, of=of, wrt=["gain", "mass"], method=method)
        by_k, by_m = (
            oscillation(2.0, **{"k": 30.0, "d": 0.8, "mass": 2.0, "x0": 0.4, n: v + STEP * 1j}).imag / STEP
            for n, v in (("k", 30.0), ("mass", 2.0))
        )
        np.testing.assert_allclose(s.gradient("x"), [by_k, by_m], atol=1e-10)

    def acceleration(g, mass):
        y = system.state({"x": 0.4})
        p = {"gain": g, "mass": mass}
        again = da.simulate(system, y, 2.0, u=law, rtol=1e-12, atol=1e-13, p=p)
        return da.sensitivities(again, of=of, wrt=["gain", "mass"], method="forward")["a"]

    d = (acceleration(20.0 + 1e-3, 2.0) - acceleration(20.0 - 1e-3, 2.0)) / 2e-3
    assert s.d("a", "gain") == pytest.approx(d, abs=1e-7)


def test_stiff_motion():
    """A stiff damper, run by the implicit method: steps are long against its time constant."""
    m = da.Mechanism("stiff", gravity=(0, -9.81, 0))
    d, k = m.add_parameter("d", 1e5), m.add_parameter("k", 50.0)
    m.add_joint("y", da.Prismatic("y"), m.ground, m.add_body("cart", mass=1.0), damping=d, stiffness=k)
    run = da.simulate(m.compile(), {"y": 1.0}, 20.0, method="sdirk4", rtol=1e-8)
    s = da.sensitivities(run, of=["y"], wrt=["d", "k"])
    assert len(run.t) < 3000
    y = -9.81 / 50.0  # the slow part: y = y∞ + (1 − y∞) exp(−k t/d)
    decay = np.exp(-50.0 * 20 / 1e5)
    assert s.d("y", "d") == pytest.approx((1 - y) * decay * 50.0 * 20 / 1e10, rel=1e-5)
    assert s.d("y", "k") == pytest.approx(9.81 / 2500 * (1 - decay) - (1 - y) * decay * 20 / 1e5, rel=1e-5)


def test_trouble_is_told():
    system = four_bar()
    x = system.assemble({"A": 0.9}, {"A": 2.0}, guess={"B": -0.3, "D": 1.5})
    run = da.simulate(system, x, 0.1)
    with pytest.raises(da.ArgumentError, match=r"loops .* change with l1.*held=\["):
        da.sensitivities(run, of=["A"], wrt=["l1"])
    assert np.isfinite(da.sensitivities(run, of=["A"], wrt=["g", "d"]).jacobian).all()  # loops stay: nothing to hold
    with pytest.raises(da.ArgumentError, match="t_eval"):
        da.sensitivities(da.simulate(system, x, 0.1, t_eval=[0.0, 0.1]), of=["A"], wrt=["g"])
    steered = da.simulate(system, x, 0.1, u=lambda t, s: [0.0])
    with pytest.raises(da.ArgumentError, match=r"no da\.expression"):
        da.sensitivities(steered, of=["A"], wrt=["g"])
    with pytest.raises(da.ArgumentError, match="its last time is fixed"):
        da.sensitivities(run, of=["time"], wrt=["g"])
    with pytest.raises(da.ArgumentError, match="independent coordinates are needed"):
        da.sensitivities(system, x, of=["A"], wrt=["l1"], held=["A", "B"])
    with pytest.raises(da.ArgumentError, match="no equilibrium"):
        da.sensitivities(system, x, of=["A"], wrt=["l1"], held="equilibrium")
    with pytest.raises(da.UnknownName, match="parameter 'l9'"):
        da.sensitivities(run, of=["A"], wrt=["l9"])
    five = da.zoo.five_bar()
    mass = five.add_parameter("load", 0.0)
    five.add_wrench("weight", five.bodies["link 2"], force=(0, -mass, 0))
    met = five.compile()
    through = da.simulate(met, met.state(*da.zoo.five_bar_start()), 2.0)
    with pytest.raises(da.ArgumentError, match="passes a singular position"):
        da.sensitivities(through, of=["A"], wrt=["load"])
    double = da.Mechanism("two alike")
    stiff = double.add_parameter("k", 3.0)
    for name in "xy":
        double.add_joint(name, da.Prismatic(name), double.ground, double.add_body(name, mass=1.0), stiffness=stiff)
    with pytest.raises(da.ArgumentError, match="repeated eigenvalue"):
        da.sensitivities(da.linearize(double.compile(), {}), of=["eigenvalue:0"], wrt=["k"])


def test_a_driven_mechanism_with_a_closed_form():
    """x = r sin(w t) of a driver: the force that drives it is −m r w² sin(w t)."""
    m = da.Mechanism("shaker")
    r, w, mass = (m.add_parameter(n, v) for n, v in (("r", 0.3), ("w", 4.0), ("mass", 2.0)))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("table", mass=mass))
    m.add_driver("drive", "x", lambda t: r * ca.sin(w * t))
    system = m.compile()
    run = da.simulate(system, system.assemble(), 0.7, rtol=1e-12, atol=1e-13)
    row = next(n for n in system.row_names if n.startswith("drive"))
    s = da.sensitivities(run, of=["x", "rate:x", f"multiplier:{row}"], wrt=["r", "w", "mass"])
    sin, cos = np.sin(2.8), np.cos(2.8)
    expected = [
        [sin, 0.3 * 0.7 * cos, 0.0],
        [4 * cos, 0.3 * cos - 0.3 * 4 * 0.7 * sin, 0.0],
        [-32 * sin, -0.6 * (8 * sin + 16 * 0.7 * cos), -0.3 * 16 * sin],
    ]
    np.testing.assert_allclose(s.jacobian, expected, atol=1e-9)


def test_a_ball_that_rolls():
    """Down a slope a ball accelerates by g sin α / (1 + J/(m r²)); its radius also lifts its centre."""
    m = da.Mechanism("ball", gravity=(3.0, 0, -9.0))
    r, J, mass = (m.add_parameter(n, v) for n, v in (("r", 0.2), ("J", 0.05), ("mass", 2.0)))
    ball = m.add_body("ball", mass=mass, inertia=(J, J, J))
    m.add_joint("free", da.Free(), m.ground, ball)
    m.add_rolling("rolling", ball, radius=r)
    system, T = m.compile(), 1.5
    run = da.simulate(system, system.assemble({"free.x": 0.0, "free.y": 0.0}), T, rtol=1e-12, atol=1e-13)
    held = ["free.vx", "free.vy", "free.wx", "free.wy", "free.wz"]
    of = ["position:ball@x", "position:ball@z", "velocity:ball@x"]
    for method in ("forward", "adjoint"):
        s = da.sensitivities(run, of=of, wrt=["r", "J", "mass"], held=held, method=method)
        ratio = 0.05 / (2.0 * 0.04)
        by_ratio = -3.0 / (1 + ratio) ** 2
        slopes = by_ratio * np.array([-2 * ratio / 0.2, ratio / 0.05, -ratio / 2.0])
        np.testing.assert_allclose(s.value, [1.5 * T**2 / (1 + ratio), 0.2, 3 * T / (1 + ratio)], rtol=1e-9)
        np.testing.assert_allclose(s.jacobian, [slopes * T**2 / 2, [1, 0, 0], slopes * T], atol=1e-8)
