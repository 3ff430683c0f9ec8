"""What is built on linear models agrees with differences, and with nonlinear motion."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from manifold_differences import displaced
from oracle import close, differentiated, evaluated


def central(f, h):
    a, b, c, d = (f(k * h) for k in (2, 1, -1, -2))
    return (8 * (b - c) - (a - d)) / (12 * h)


def test_parameters_move_the_whole_mechanism():
    """ẋ at held coordinates with a length, a mass, a stiffness, a centre of mass changed and the loop closed again."""
    m = da.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    length, mass, k, c = (m.add_parameter(*x) for x in (("length", 0.45), ("mass", 1.3), ("k", 80.0), ("c", 0.2)))
    crank = m.add_body("crank", mass=1.0, com=(0.075, 0, 0), inertia=da.rod_inertia(1.0, 0.15))
    rod = m.add_body("rod", mass=mass, com=(c, 0, 0), inertia=(0, 0.02, 0.02))
    slider = m.add_body("slider", mass=0.8)
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.15, 0, 0), rod)
    m.add_joint("guide", da.Prismatic("x"), m.ground, slider, stiffness=k)
    m.close_loop("C", da.Revolute("z"), rod.at(length, 0, 0), slider)
    m.add_motor("torque", "A")
    system = m.compile(backend="casadi")
    start = {"A": 0.6, "B": -0.8, "guide": 0.55}
    x = system.assemble({"A": 0.6}, v={"A": 3.0}, guess=start)
    model = da.linearize(system, x, u=[1.0], independent=["A"])
    found = da.parameter_slopes(model)
    nominal = {"length": 0.45, "mass": 1.3, "k": 80.0, "c": 0.2}
    for j, name in enumerate(system.p_names):

        def rate(s, name=name):
            p = {name: nominal[name] * (1 + s)}
            y = system.assemble({"A": 0.6}, v={"A": 3.0}, guess=x, p=p)
            return np.array([y.rate("A"), system.acceleration(y, u=[1.0], p=p).vdot[0]])

        close(found[:, j] * nominal[name], central(rate, 1e-3), 1e-8)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_the_step_of_an_integrator(method):
    """Against differences of the step `simulate` takes; its derivative holds up to what one step drifts."""
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(0.7, speed=6.0))
    h, drift = 0.005, [0.0]
    model = da.step_map(system, x, h, method=method, u=[0.4], independent=["A"])
    exact = da.linearize(system, x, u=[0.4], independent=["A"]).discretize(h)
    options = {"method": method, "step": h} | ({} if method == "rk4" else {"rtol": 1.0, "atol": 1.0})

    def step(y, u):
        run = da.simulate(system, displaced(model, y, 0.0), h, u=[u], **options)
        assert run.steps == 1
        drift[0] = max(drift[0], run.drift, run.speed_drift)
        return model.operating.deviation(run.state())

    A = np.column_stack([central(lambda s, e=e: step(s * e, 0.4), 1e-3) for e in np.eye(2)])
    B = central(lambda s: step(np.zeros(2), 0.4 + s), 1e-2)
    assert drift[0] < 1e-6
    close(model.A, A, 1e-9 + 20 * drift[0])
    close(model.B[:, 0], B, 1e-9 + 20 * drift[0])
    assert np.abs(model.A - exact.A).max() > 1e3 * np.abs(model.A - A).max()  # the step is its own


@pytest.mark.parametrize("method", ["rk4", "sdirk4", "variational"])
def test_steps_with_quaternions_and_kinematic_inputs(method):
    """A ball joint on a led trolley, a rod to the ground; small rotations are those at the step's two ends."""
    m = da.Mechanism("crane", gravity=(0, 0, -9.81))
    trolley = m.add_body("trolley", mass=2.0)
    load = m.add_body("load", mass=1.0, com=(0.1, 0, -0.8), inertia=(0.1, 0.2, 0.1))
    m.add_joint("x", da.Prismatic("x"), m.ground, trolley)
    m.add_joint("ball", da.Spherical(), trolley, load)
    m.add_rod("rod", load.at(0.2, 0.1, -1.0), m.ground.at(1, 1, -1), length=1.2)
    m.add_kinematic_input("lead", "x")
    system = m.compile()
    x = system.project(system.state({"ball": da.rotation("y", 0.2)}, {"x": 0.3, "ball.wz": 2.0, "ball.wx": 1.0}))
    h, drift = 0.004, [0.0]
    free = ["x", "ball.wx", "ball.wz"]
    model = da.step_map(system, x, h, method=method, u=[1.5], independent=free)
    options = {"method": method, "step": h} | ({"rtol": 1e-7, "atol": 1e-7} if method == "sdirk4" else {})
    index = [system.v_names.index(name) for name in free]

    def step(y, u):
        run = da.simulate(system, displaced(model, y, 0.0), h, u=[u], **options)
        assert run.steps == 1
        drift[0] = max(drift[0], run.drift, run.speed_drift)
        return run.state()

    after = step(np.zeros(6), 1.5)

    def moved(y, u):
        end = step(y, u)
        return np.concatenate([system.minus(end, after)[index], end.v[index]])

    A = np.column_stack([central(lambda s, e=e: moved(s * e, 1.5), 1e-3) for e in np.eye(6)])
    B = central(lambda s: moved(np.zeros(6), 1.5 + s), 1e-2)
    assert drift[0] < 1e-5
    near = 1e-8 + (20 * drift[0] if method != "variational" else 0.0)
    close(model.A, A, near)
    close(model.B[:, 0], B, near)
    assert np.abs(model.A - np.eye(6)).max() > 1e2 * near


@pytest.mark.parametrize("method", ["rk4", "dopri5", "dop853", "sdirk4", "variational"])
def test_steps_of_a_top_that_turns_far_in_one(method):
    """A quarter of a radian: quaternions of stages are not of length one, which the derivative of the step feels."""
    system = zoo.heavy_top().compile()
    x, h = system.state(*zoo.heavy_top_start()), 2e-3
    model = da.step_map(system, x, h, method=method)
    options = {"method": method, "step": h}
    if method not in ("rk4", "variational"):
        tolerance = 1e-3 if method == "sdirk4" else 1.0
        options |= {"rtol": tolerance, "atol": tolerance}

    def step(y):
        run = da.simulate(system, x.replace(q=system.plus(x, y[:3]), v=x.v + y[3:]), h, **options)
        assert run.steps == 1
        return run.state()

    after = step(np.zeros(6))

    def moved(y):
        end = step(y)
        return np.concatenate([system.minus(end, after), end.v - after.v])

    A = np.column_stack([central(lambda s, e=e: moved(s * e), 1e-3) for e in np.eye(6)])
    close(model.A, A, 1e-7 if method == "sdirk4" else 1e-9)


def test_implicit_stages_whose_accelerations_are_rough_are_solved_to_rounding():
    """Twenty bobs that swing fast: v̇ has errors of 1e-12, and no iteration of a stage comes below them."""
    system, h = zoo.chain(20).compile(), 1e-2
    rng = np.random.default_rng(1)
    x = system.state(0.3 * rng.normal(size=20), 3.0 * rng.normal(size=20))
    way = rng.normal(size=40)

    def step(s):
        start = x.replace(q=x.q + s * way[:20], v=x.v + s * way[20:])
        model = da.step_map(system, start, h, method="sdirk4", independent=list(system.v_names))
        return model, np.concatenate([start.q, start.v]) + model.rate

    model, end = step(0.0)
    exact = da.simulate(system, x, h, rtol=1e-10, atol=1e-10).state()
    assert np.abs(end - np.concatenate([exact.q, exact.v])).max() < 0.02 * np.abs(model.rate).max()  # h is coarse
    close(model.A @ way, central(lambda s: step(s)[1], 1e-4), 1e-6)


def test_steps_in_coordinates_that_are_functions():
    """The angle of the cut joint of a four-bar, by the model in the angle of its crank."""
    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(0.7, speed=6.0))
    crank, cut = (da.step_map(system, x, 0.005, method="variational", u=[0.4], independent=[i]) for i in ("A", "C"))
    end = da.discrete_step(system, x, 0.005, u=[0.4]).after

    def crank_by_cut(y):
        op = da.linearize(system, y, u=[0.4], independent=["C"]).operating
        return np.array([[op.Kq[0, 0], 0.0], [op.Dv[0, 0], op.Kv[0, 0]]])

    close(cut.A, np.linalg.solve(crank_by_cut(end), crank.A @ crank_by_cut(x)), 1e-10)
    close(cut.B, np.linalg.solve(crank_by_cut(end), crank.B), 1e-10)
    assert np.abs(cut.A - crank.A).max() > 1e-2


def test_second_derivatives_against_differences():
    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(0.7, speed=3.0))
    H = da.second_derivatives(system, x, u=[0.5])
    n = system.nv

    def jacobian(q, v):
        by_q, by_v, _ = system.evaluate("ode_jacobian", system.state(q, v), u=[0.5])
        return np.hstack([by_q, by_v])

    for k, e in enumerate(np.eye(2 * n)):
        slope = central(lambda s, e=e: jacobian(x.q + s * e[:n], x.v + s * e[n:]), 1e-3)
        close(H[:, :, k], slope, 1e-8)
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), atol=1e-9 * np.abs(H).max())


@pytest.mark.parametrize("led", [False, True])
def test_second_derivatives_of_multipliers_and_by_inputs(led):
    """∂²λ and ∂²v̇ by (δ, v, u) against differences of `linearize_full`; with a kinematic input on the crank too."""
    m = zoo.four_bar()
    if led:
        m.add_kinematic_input("lead", "A")
    system = m.compile(backend="casadi")
    x, n = system.state(*zoo.four_bar_start(0.7, speed=3.0)), system.nv
    u = np.array([0.5, 2.0][: 1 + led])

    def slopes(step, of):
        at = system.state(x.q + step[:n], x.v + step[n : 2 * n])
        kernel = system.kernel("acceleration_derivatives")
        names = system.function("acceleration_derivatives").name_out()
        found = dict(zip(names, system.kernels.at(kernel, at, u + step[2 * n :], None, {})))
        return np.hstack([found[f"{of}_{k}"].reshape(len(found[of]), -1) for k in "qvu"])

    for of in ("vdot", "multipliers"):
        H = da.second_derivatives(system, x, u=u, of=of, inputs=True)
        for k, e in enumerate(np.eye(2 * n + len(u))):
            close(H[:, :, k], central(lambda s, e=e, of=of: slopes(s * e, of), 1e-3), 1e-8)
        np.testing.assert_allclose(H, H.transpose(0, 2, 1), atol=1e-9 * np.abs(H).max())


def test_second_derivatives_where_rows_are_redundant():
    """A second loop in the place of the first changes nothing."""
    m = zoo.four_bar()
    loop = m.constraints["C"]
    m.close_loop("C2", da.Revolute("z"), loop.a, loop.b)
    start = zoo.four_bar_start(0.7, speed=3.0)
    one, two = zoo.four_bar().compile(backend="casadi"), m.compile(backend="casadi")
    expected = da.second_derivatives(one, one.state(*start), u=[0.5])
    close(da.second_derivatives(two, two.state(*start), u=[0.5]), expected, 1e-9)


def test_multipliers_of_the_zoo_differentiate():
    """∂λ/∂q and ∂λ/∂v against automatic differentiation; nonholonomic rows included."""
    for name in ("five_bar", "car"):
        entry = zoo.CATALOG[name]
        system = entry.build().compile(backend="casadi")
        x = system.state(*entry.start())
        rng = np.random.default_rng(1)
        x = system.project(x.replace(v=x.v + 0.3 * rng.normal(size=system.nv)))
        u = rng.normal(size=len(system.u_names))
        full = da.linearize_full(system, x, u=u)
        expected = differentiated(system, "accelerate", 1, ("q", "v", "u"))
        for mine, theirs in zip(
            (full.multipliers_q, full.multipliers_v, full.multipliers_u),
            evaluated(expected, system, x, u=u, tau=np.zeros(system.nv)),
        ):
            close(mine, theirs, 1e-11)


def test_time_enters_the_multipliers_of_a_driven_mechanism():
    m = zoo.four_bar()
    m.add_driver("drive", "A", lambda t: 0.6 + ca.sin(3 * t))
    system = m.compile(backend="casadi")
    x = system.assemble(t=0.2, guess=zoo.four_bar_start(0.9)[0])
    full = da.linearize_full(system, x)
    by_t = evaluated(differentiated(system, "accelerate", 1, ("t",)), system, x, tau=np.zeros(3), u=[0.0])[0]
    close(full.multipliers_t, by_t[:, 0], 1e-11)


def test_small_deviations_travel_along_a_motion_as_the_linear_model_says():
    """The transition matrix along half a second against two nonlinear runs."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    times = np.linspace(0, 0.5, 201)
    line = da.linearize_along(system, da.simulate(system, x, times[[0, -1]], t_eval=times), independent=["A", "B"])
    model = da.linearize(system, x, independent=["A", "B"])
    end = da.linearize(system, line.reference(0.5), independent=["A", "B"])

    def at_end(y):
        return end.operating.deviation(
            da.simulate(system, displaced(model, y, 0.0), 0.5, rtol=1e-12, atol=1e-13).state()
        )

    found = np.column_stack([central(lambda s, e=e: at_end(s * e), 1e-4) for e in np.eye(4)])
    close(line.transition(), found, 3e-5)


def test_a_tracker_brings_a_disturbed_mechanism_back_to_a_motion():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    times = np.linspace(0, 0.6, 61)  # the singular position comes at 0.65 s
    run = da.simulate(system, x, times[[0, -1]], t_eval=times)
    line = da.linearize_along(system, run, independent=["A", "B"])
    track = da.lqr_along(line, {"A": 1e4, "B": 1e4, "A rate": 10.0, "B rate": 10.0}, 0.01)
    model = da.linearize(system, x, independent=["A", "B"])
    off = displaced(model, np.array([0.05, -0.05, 0.0, 0.0]), 0.0)
    free = da.simulate(system, off, times[[0, -1]], t_eval=times)
    held = da.simulate(system, off, times[[0, -1]], t_eval=times, u=track, period=0.01)
    gap = [np.abs(line.deviation(0.6, r.state())[:2]).max() for r in (free, held)]
    assert gap[1] < 1e-3 < 0.05 < gap[0]


def test_equilibrium_of_a_hanging_five_bar_and_of_a_car_at_speed():
    system = zoo.five_bar().compile(backend="casadi")
    rest = da.equilibrium(system, zoo.five_bar_start()[0])
    assert np.abs(system.acceleration(rest.state).vdot).max() < 1e-9
    energy = system.potential_energy(rest.state)
    for e in np.eye(2):  # a critical point of the potential energy, on the manifold
        near = displaced(rest.model, np.concatenate([1e-3 * e, 0 * e]), 0.0)
        back = displaced(rest.model, np.concatenate([-1e-3 * e, 0 * e]), 0.0)
        assert abs(system.potential_energy(near) - system.potential_energy(back)) < 1e-6
        assert abs(system.potential_energy(near) - energy) < 1e-3
    car = zoo.car().compile(backend="casadi")
    steady = da.equilibrium(car, zoo.car_start()[0], q={"steer": 0.0}, v={"float.x": 5.0}, solve_for="u")
    assert steady.state.rate("float.x") == pytest.approx(5.0)
    assert steady.residual < 1e-9


def test_held_coordinates_stay_while_the_rest_finds_its_place():
    system = zoo.cart_pole().compile(backend="casadi")
    rest = da.equilibrium(system, {"cart": 0.4, "phi1": 2.8}, q={"cart": 0.4})
    assert rest.state["cart"] == 0.4
    assert abs(np.sin(rest.state["phi1"])) < 1e-9
