"""Design on sensitivities: synthesis of a path and of a function, identification of masses and dampings, regressors."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, least_squares, minimize

import dalembert as da
from parameterized import FOUR_BAR, four_bar
from random_mechanisms import random_state, random_tree

TRUE = {"l1": 0.40, "l2": 1.10, "l3": 0.90, "px": 0.65, "py": 0.35}
ANGLES = np.linspace(0.2, 2 * np.pi, 7, endpoint=False)


def coupler_mechanism():
    """A four-bar without masses to speak of, with its dimensions as parameters and a point on its coupler."""
    m = da.Mechanism("coupler curve")
    l1, l2, l3, px, py = (m.add_parameter(n, v) for n, v in {**TRUE, "l1": 0.45, "l2": 1.0}.items())
    a, b, c = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in "abc")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(l1, 0, 0), b)
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.2, 0, 0), c)
    m.close_loop("C", da.Revolute("z"), b.at(l2, 0, 0), c.at(l3, 0, 0))
    m.add_frame("P", b.at(px, py, 0))
    return m.compile()


def turned(system, p):
    """The states of one turn of the crank, each assembled from the one before."""
    states, guess = [], {"A": ANGLES[0], "B": 0.4, "D": 1.4}
    for angle in ANGLES:
        states.append(system.assemble({"A": angle}, guess=guess, p=p))
        guess = states[-1]
    return states


def test_a_path_gives_back_the_dimensions_that_made_it():
    system, wrt = coupler_mechanism(), list(TRUE)

    def path(p):
        return da.sensitivities(
            system, turned(system, p), of=["position:P@x", "position:P@y"], wrt=wrt, held=["A"], p=p
        )

    r = da.Residuals(path, wrt, path(TRUE).value)
    fit = least_squares(r, [0.44, 1.18, 0.97, 0.55, 0.45], jac=r.jacobian, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(fit.x, list(TRUE.values()), atol=1e-9)
    J = r.jacobian(fit.x)
    by_differences = np.column_stack([(r(fit.x + 1e-6 * e) - r(fit.x - 1e-6 * e)) / 2e-6 for e in np.eye(len(wrt))])
    np.testing.assert_allclose(J, by_differences, atol=1e-8)


def test_lengths_that_do_not_assemble_are_infinitely_bad():
    system, wrt = coupler_mechanism(), list(TRUE)

    def path(p):
        return da.sensitivities(
            system, turned(system, p), of=["position:P@x", "position:P@y"], wrt=wrt, held=["A"], p=p
        )

    r = da.Residuals(path, wrt, path(TRUE).value)
    with pytest.raises(da.ArgumentError, match="cannot be assembled at the first"):
        r([0.4, 0.2, 0.2, 0.6, 0.3])
    r(list(TRUE.values()))
    assert np.isinf(r([0.4, 0.2, 0.2, 0.6, 0.3])).all()
    with pytest.raises(da.ArgumentError, match="no Jacobian"):
        r.jacobian([0.4, 0.2, 0.2, 0.6, 0.3])


def test_a_function_with_a_bound_on_the_transmission_angle():
    """The rocker shall follow a given function of the crank, and keep 50° away from a dead point."""
    system, wrt = coupler_mechanism(), ["l1", "l2", "l3"]

    def rocker(p):
        return da.sensitivities(system, turned(system, p), of=["D"], wrt=wrt, held=["A"], p=p)

    def transmission(p):
        sine = ("sine", lambda s: ca.sin(s["D"] - s["A"] - s["B"]))
        return da.sensitivities(system, turned(system, p), of=[sine], wrt=wrt, held=["A"], p=p)

    wanted = {"l1": 0.45, "l2": 1.0, "l3": 0.85}
    f, g = da.Residuals(rocker, wrt, rocker(wanted).value), da.Residuals(transmission, wrt)
    assembles = [(0.2, 0.5), (0.9, 1.4), (0.8, 1.2)]  # all lengths in these bounds do

    limit = np.sin(np.radians(50))
    x = minimize(
        lambda x: (0.5 * (f(x) ** 2).sum(), f.jacobian(x).T @ f(x)), [0.35, 1.1, 1.0], jac=True, method="SLSQP",
        constraints=NonlinearConstraint(g, limit, np.inf, jac=g.jacobian), bounds=assembles, options={"ftol": 1e-12},
    ).x  # fmt: skip
    assert g(list(wanted.values())).min() < limit - 0.01  # the lengths that would fit best come too near
    assert g(x).min() == pytest.approx(limit, abs=1e-8)  # the bound is reached, and costs little
    assert 1e-4 < (f(x) ** 2).sum() < 5e-3
    F, G, y = f.to_casadi(x), g.to_casadi(x), ca.MX.sym("y", 3)  # the same by IPOPT
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}
    options = {"ipopt.hessian_approximation": "limited-memory", "ipopt.tol": 1e-9, **quiet}
    solve = ca.nlpsol("solve", "ipopt", {"x": y, "f": 0.5 * ca.sumsqr(F(y)), "g": G(y)}, options)
    lower, upper = zip(*assembles)
    other = solve(x0=[0.35, 1.1, 1.0], lbg=limit, lbx=lower, ubx=upper)["x"].full().ravel()
    np.testing.assert_allclose(other, x, atol=1e-6)
    slopes = ca.Function("slopes", [y], [ca.jacobian(F(y), y)])
    np.testing.assert_array_equal(slopes(x).full(), f.jacobian(x))


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_recorded_run_tells_masses_and_damping(noise):
    system, wrt, times = four_bar(), ["m2", "d"], np.linspace(0.05, 1.0, 20)
    truth = {"m2": 2.6, "d": 0.35}
    x = system.assemble({"A": 0.9}, {"A": 2.0}, guess={"B": -0.3, "D": 1.5})

    def model(p):
        run = da.simulate(system, x, 1.0, p=p)
        return da.sensitivities(run, of=["A", "D"], wrt=wrt, at=times)

    seen = model(truth).value + noise * np.random.default_rng(4).normal(size=(len(times), 2))
    r = da.Residuals(model, wrt, seen)
    fit = least_squares(r, [3.0, 0.2], jac=r.jacobian, x_scale=[1.0, 0.1], xtol=1e-13, ftol=1e-13, gtol=1e-13)
    spread = noise * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))  # standard deviations
    assert (np.abs(fit.x - list(truth.values())) <= 4 * spread + 1e-7).all()


# --- regressors -----------------------------------------------------------------------------------------------------


def test_a_regressor_times_its_parameters_is_inverse_dynamics():
    m = random_tree(5, 5)
    system = m.compile(backend="casadi")
    rng = np.random.default_rng(2)
    states = [random_state(system, k) for k in range(4)]
    a = rng.normal(size=(4, system.nv))
    found = da.regressor(system, (np.array([x.q for x in states]), np.array([x.v for x in states]), a))
    armature = np.concatenate([[0.0], *(j.armature.astype(float) for j in system.layout.joints.values())])[1:]
    tau = np.array([system.inverse_dynamics(x, b) for x, b in zip(states, a)])
    np.testing.assert_allclose(found.matrix @ found.values, (tau - armature * a).ravel(), atol=1e-10)
    np.testing.assert_allclose(found.right, -(armature * a).ravel(), atol=1e-12)


def test_base_parameters_of_a_planar_arm():
    """Of two links in a vertical plane six combinations count, those of any textbook."""
    m = da.Mechanism("arm", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=2.0, com=(0.3, 0.1, 0), inertia=da.rod_inertia(2.0, 0.7)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.7, 0, 0), b)
    system = m.compile(backend="casadi")
    rng = np.random.default_rng(0)
    base = da.regressor(system, tuple(rng.normal(size=(3, 30, 2)))).base
    assert len(base.names) == 6
    value = dict(zip(base.regressor.names, base.regressor.values))
    textbook = {
        "a: Jzz": value["a: Jzz"] + 0.49 * value["b: m"], "a: mx": value["a: mx"] + 0.7 * value["b: m"],
        "a: my": value["a: my"], "b: Jzz": value["b: Jzz"], "b: mx": value["b: mx"], "b: my": value["b: my"],
    }  # fmt: skip
    picked = np.zeros((6, len(base.regressor.names)))
    for k, name in enumerate(textbook):
        picked[k, base.regressor.names.index(name)] = 1.0
    picked[0, base.regressor.names.index("b: m")], picked[1, base.regressor.names.index("b: m")] = 0.49, 0.7
    T = np.linalg.lstsq(base.combinations.T, picked.T, rcond=None)[0].T  # textbook = T · ours
    np.testing.assert_allclose(T @ base.combinations, picked, atol=1e-9)
    np.testing.assert_allclose(T @ base.values, list(textbook.values()), rtol=1e-9)
    assert "b: m" in str(base)


def test_a_closed_mechanism_is_identified_from_its_motor():
    """The equations of a driven four-bar, free of loop forces, give the base parameters, and these another motion."""
    system = four_bar()
    x = system.assemble({"A": 0.9}, {"A": 2.0}, guess={"B": -0.3, "D": 1.5})
    law = da.expression(lambda t, s: {"torque": 25.0 + 12.0 * ca.sin(5.0 * t) + 5 * ca.cos(11.0 * t)})
    run = da.simulate(system, x, 4.0, u=law)
    known = da.regressor(system, run, wrt=["d"], bodies=["a", "b", "c"])
    base = known.base
    np.testing.assert_allclose(known.matrix @ known.values, known.right, atol=1e-8)
    assert len(base.names) < 12
    assert known.matrix.shape[0] == len(run.t)  # one equation a state: one degree of freedom
    found = base.identified()
    np.testing.assert_allclose(found, base.values, atol=1e-5 * np.abs(base.values).max())
    other = da.simulate(system, system.assemble({"A": 2.0}, {"A": -1.0}, guess=x), 1.0, u={"torque": -7.0})
    check = da.regressor(system, other, wrt=["d"], bodies=["a", "b", "c"])
    np.testing.assert_allclose(check.matrix[:, base.leading] @ found, check.right, atol=1e-4)
    assert FOUR_BAR["d"] == pytest.approx(known.values[-1])
