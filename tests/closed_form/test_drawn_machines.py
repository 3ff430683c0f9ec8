"""The machines of `examples/drawn`, described by points and parts, against geometry, virtual work and other solvers."""

import runpy
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

import dalembert as da
from dalembert.zoo.planar import meet, unit

FOLDER = Path(__file__).parents[2] / "examples" / "drawn"


def example(name):
    """The names of a script, and what its main answers."""
    names = runpy.run_path(str(FOLDER / f"{name}.py"))
    return names, names["main"]()


def slope(f, x, h=1e-5):
    """f' by central differences of order four."""
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


def test_a_leg_walks_where_its_triangles_say_and_its_motor_gives_the_power():
    _, found = example("walking_leg")
    turn = found["turn"]
    A, B = np.array([0.65, 0.30]), np.array([0.60, -0.27])
    for k in (0, 10, 30, 55, 80):
        M = 0.27 * unit(turn["O"][k])
        C = meet(M, 0.60, B, 0.38, 1)
        D = meet(M, 1.18, C, 0.60, 1)
        E = meet(D, 0.50, A, 0.55, -1)
        np.testing.assert_allclose(turn.position("foot")[k, :2], meet(D, 0.95, E, 1.36, 1), atol=1e-9)
    system = found["system"]
    energy = np.array([system.energy(turn.state(k)) for k in range(96)])  # a period of 1 s
    power = np.fft.irfft(2j * np.pi * np.arange(49) * np.fft.rfft(energy), 96)
    np.testing.assert_allclose(2 * np.pi * found["torque"][:96], power, atol=1e-5 * np.abs(power).max())
    assert found["step"][0.93] != found["step"][0.97]


def test_an_axle_stands_level_on_its_weight_and_a_bar_changes_what_rolls_alone():
    _, found = example("axle")
    rest = found["rest"]
    loads = [200e3 * (0.3 - rest.position(f"{side} wheel")[2]) for side in ("left", "right")]
    assert loads[0] == pytest.approx(loads[1], rel=1e-9)
    assert sum(loads) == pytest.approx(9.81 * (400 + 2 + 2 * (4 + 2 + 30)), rel=1e-9)
    left, right = (rest.rotation(f"{side} wheel") for side in ("left", "right"))
    S = np.diag([1.0, -1.0, 1.0])
    np.testing.assert_allclose(right, S @ left @ S, atol=1e-9)
    loose, stiff = (sorted(found["frequencies"][bar]) for bar in (0.0, 20e3))
    same = [f for f in loose if min(abs(f - g) for g in stiff) < 1e-8 * f]
    assert len(same) == 2  # heave and hop of both wheels; roll and tramp are stiffer
    assert max(stiff) > max(loose)


def test_six_cranks_follow_a_circle_by_closed_inverse_kinematics():
    """p·e cos θ + p·z sin θ = (p² + a² − L²)/2a of each foot; torques at rest by virtual work of a lift."""
    names, found = example("six_rus")
    foot, along, _elbow, ball = names["drawing"]()
    a, L, home = names["ARM"], names["ROD"], found["path"][0]
    assert found["mobility"] == 6
    for k in (0, 13, 29):
        moved = ball + found["path"][k][:3, 3] - home[:3, 3] - foot
        for i, p in enumerate(moved):
            x, z, c = p @ along[i], p[2], (p @ p + a * a - L * L) / (2 * a)
            roots = np.arctan2(z, x) + np.array([1, -1]) * np.arccos(c / np.hypot(x, z))
            assert np.abs(np.exp(1j * roots) - np.exp(1j * found["sweep"][f"M{i}"][k])).min() < 1e-9

    def potential(q):
        elbow = foot[0] + a * (np.cos(q) * along[0] + np.sin(q) * np.array([0, 0, 1]))
        z = elbow[2] + np.sqrt(L**2 - ((ball[0] - elbow)[:2] ** 2).sum())
        plate = 1400.0 * np.pi * names["PLATE"] ** 2 * 0.02
        return 9.81 * (plate * z + 6 * (0.2 * elbow[2] / 2 + 0.1 * (elbow[2] + z) / 2))

    np.testing.assert_allclose(found["held"].u, slope(potential, 0.0) / 6, rtol=1e-6)


def test_a_pole_on_a_five_bar_is_held_by_virtual_work_and_balanced():
    _, found = example("balanced_pole")
    x, system = found["up"].state, found["system"]
    for side, u in zip("AD", found["up"].u):
        held = {"A": 0.0, "D": 0.0, "hinge pole": 0.0}
        V = lambda q, side=side: system.potential_energy(system.assemble({**held, side: q}, guess=x))  # noqa: E731, B023
        assert slope(V, 0.0) == pytest.approx(u, rel=1e-6)
    lean = [found["lean"](found["run"].state(k)) for k in (0, -1)]
    assert abs(lean[1]) < 1e-3 < 0.02 < abs(lean[0])
    assert found["model"].eigenvalues.real.max() > 1.0


def test_a_redundant_crank_changes_nothing_of_the_pendulum():
    _, found = example("three_cranks")
    assert (found["report"].mobility, found["report"].rows - found["report"].rank) == (1, 1)
    J, G = 3 * 0.25 / 3 + 2 * 0.25, 9.81 * (3 * 0.25 + 2 * 0.5)
    exact = solve_ivp(
        lambda t, y: [y[1], -G * np.cos(y[0]) / J], (0, 1.5), [0.15, 0.0], rtol=1e-12, atol=1e-13, method="DOP853"
    ).y[0, -1]
    for (formulation, tolerance), end in found["ends"].items():
        assert end + 0.15 == pytest.approx(exact, abs=200 * tolerance), formulation


def test_cylinders_of_an_excavator_hold_what_virtual_work_says():
    names, found = example("excavator")
    x = found["state"]
    system, cylinders = found["system"], ("boom cylinder", "stick cylinder", "bucket cylinder")
    q = np.array(x.q)

    def along(k, f):
        return slope(lambda h: f(system.state(q + h * np.eye(3)[k])), 0.0)

    V = [along(k, lambda s: system.potential_energy(s) + 9.81 * 800 * s.position("load")[2]) for k in range(3)]
    lengths = np.array([along(k, lambda s: np.array([s.length(n) for n in cylinders])) for k in range(3)])
    np.testing.assert_allclose(found["held"].u, np.linalg.solve(lengths, V), rtol=1e-8)
    assert found["drop"].success
    assert found["drop"]["boom"].max() < 0.6 + 1e-9
    assert found["drop"]["stick"].max() < 2.4 + 1e-9
    assert names["machine"]().joints["boom"].stops is not None


def test_muscles_of_a_cyclist_share_the_load_as_a_quadratic_program_does():
    """Least Σ (F/F_max)² with 0 ≤ F ≤ F_max, by SLSQP from moment arms that are differences of lengths."""
    names, found = example("cyclist")
    system, turn = found["system"], found["turn"]
    most = np.array(list(names["STRENGTH"].values()))
    for k in (3, 20, 31):
        x = turn.state(k)
        still = system.applied_forces(x)
        Q = np.array([system.applied_forces(x, u={n: 1.0}) - still for n in names["STRENGTH"]]).T
        A = system.constraint_matrix(x)
        N = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :].T
        need = N.T @ (system.mass_matrix(x) @ turn.vdot[k] + system.bias(x) - still)
        rows = N.T @ Q * most
        found_by = minimize(
            lambda z: z @ z, np.full(4, 0.1), jac=lambda z: 2 * z, bounds=[(0, 1)] * 4, method="SLSQP",
            constraints={"type": "eq", "fun": lambda z, r=rows, n=need: r @ z - n, "jac": lambda z, r=rows: r},
            options={"ftol": 1e-14})  # fmt: skip
        own = np.array([turn[n][k] for n in names["STRENGTH"]]) / most
        assert found_by.success
        np.testing.assert_allclose(own, found_by.x, atol=1e-6)


def test_a_geneva_wheel_turns_by_a_quarter_as_its_formula_says_and_a_valve_follows_its_cam():
    """tan ψ = −r sin φ/(1 − r cos φ) while the pin is in a slot."""
    names, found = example("geneva")
    run, r = found["run"], names["PIN"]
    assert run.success
    assert [s.what for s in run.switches] == ["event 0", "event 1"] * 2 or len(run.switches) >= 4
    q, _ = run(np.pi / 8 + np.linspace(0.01, 0.75, 9))
    phi, psi = q[:, run.system.q_names.index("drive")], q[:, run.system.q_names.index("wheel")]
    exact = -np.arctan2(r * np.sin(phi), 1 - r * np.cos(phi))
    off = (psi - exact + np.pi / 4) % (np.pi / 2) - np.pi / 4
    assert np.abs(off).max() < 1e-7
    start, end = run(np.array([0.0, np.pi]))[0][:, run.system.q_names.index("wheel")]
    assert abs(end - start) == pytest.approx(np.pi / 2, abs=1e-7)
    cam, table = found["cam"], names["cam"]()[1]
    lift = CubicSpline(table.times, table.values, bc_type="periodic")
    np.testing.assert_allclose(cam["lift"], lift(cam["cam"]), atol=1e-10)
    assert abs(cam.energy_error).max() < 1e-6


def test_a_four_bar_rests_where_its_centre_of_mass_is_level():
    """V of three bars of 2 kg/m, their pins by the meeting of circles: V' = 0 at rest, and the sweep's pins."""
    _, found = example("four_bar")
    ground = np.array([0.55, 0.0])

    def pins(angle):
        B = 0.2 * unit(0.6 + angle)
        return B, meet(B, 0.6, ground, 0.4, 1)

    def potential(angle):
        B, C = pins(angle)
        return 2 * 9.81 * (0.2 * B[1] / 2 + 0.6 * (B[1] + C[1]) / 2 + 0.4 * C[1] / 2)

    assert slope(potential, found["rest"].state["A"]) == pytest.approx(0.0, abs=1e-8)
    turn = found["turn"]
    for k in (5, 40, 66):
        B, C = pins(turn["A"][k])
        angle = np.arctan2(*(C - B)[::-1]) - np.arctan2(*(pins(0.0)[1] - pins(0.0)[0])[::-1])
        assert np.exp(1j * (turn["A"][k] + turn["B"][k])) == pytest.approx(np.exp(1j * angle), abs=1e-9)
    assert abs(found["run"].energy_error).max() < 1e-6


def test_copies_of_an_environment_fall_as_single_runs_do():
    pytest.importorskip("gymnasium", reason="environments need Gymnasium (extra learning)")
    _, found = example("crank_cart")
    system = found["system"]
    for one in (0, 5):
        start = system.assemble({"A": 0.0, "cart pole": float(found["seen"][one][2])})
        run = da.simulate(system, start, 0.3)
        end = run.state()
        np.testing.assert_allclose(found["falls"][-1][one], [end["A"], end.rate("A"), end["cart pole"]], atol=2e-6)
        along = 0.2 * unit(np.pi / 2 + end["A"])
        assert end["x"] + np.sqrt(0.21) == pytest.approx(along[0] + np.sqrt(0.25 - along[1] ** 2), abs=1e-9)


def test_parameters_of_a_piston_are_found_within_their_errors():
    names, found = example("piston")
    fit = found["fit"]
    assert fit.success
    assert not fit.undetermined
    for n, value in zip(fit.names, fit.estimate):
        assert abs(value - names["TRUE"][n]) < 3.5 * fit.errors[n], n
        assert abs(fit.errors[n]) < 0.3 * names["TRUE"][n], n


def test_a_flexure_and_a_table_have_the_stiffness_of_their_formulas():
    """ω² = (4 K/r²)/(m + 2 m_arm/3); loads of four feet under a plate that stays flat."""
    names, found = example("flexure")
    r = names["GAMMA"] * names["LENGTH"]
    omega = np.sqrt(4 * names["K"] / r**2 / (0.1 + 2 * 0.002 / 3))
    assert found["frequency"] == pytest.approx(omega / (2 * np.pi), rel=1e-10)
    A = np.array([[1, *at] for at in names["FEET"].values()])
    k = np.array(list(names["STIFF"].values()))
    sinks = np.linalg.solve(A.T @ (k[:, None] * A), -20 * 9.81 * np.array([1, 0.1, 0.05]))
    np.testing.assert_allclose(list(found["loads"].values()), -k * (A @ sinks), rtol=1e-5)  # small angles


def test_a_slider_crank_obeys_its_lagrange_equation():
    """d/dt (J φ̇) − J'φ̇²/2 + V' = 0 with the energy of its triangle, differentiated by CasADi."""
    _, found = example("slider_crank")
    phi, w, R, L = ca.SX.sym("phi"), ca.SX.sym("w"), 0.1, 0.3
    lean = ca.asin(R * ca.sin(phi) / L)
    middle = ca.vertcat(R * ca.cos(phi) + L / 2 * ca.cos(lean), R * ca.sin(phi) / 2)
    x = R * ca.cos(phi) + L * ca.cos(lean)
    squares = 1.0 * R**2 / 3 + 0.8 * (ca.sumsqr(ca.jacobian(middle, phi)) + L**2 / 12 * ca.jacobian(lean, phi) ** 2)
    J = squares + 0.5 * ca.jacobian(x, phi) ** 2
    V = 9.81 * (1.0 * R / 2 * ca.sin(phi) + 0.8 * middle[1])
    f = ca.Function("f", [phi, w], [-(ca.jacobian(J, phi) * w**2 / 2 + ca.jacobian(V, phi)) / J])
    at = found["system"].v_names.index("A")
    assert found["vdot"][at] == pytest.approx(float(f(0.6, 2.0)), rel=1e-10)
