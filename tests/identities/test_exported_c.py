"""C that was exported computes what the library computes, bit for bit where both take the same operations."""

import ctypes
import subprocess

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from dalembert.compiler import Kernel
from dalembert.rank import rank_policy
from exported_c import WARNINGS, Exported, compiler, contents, fused_flags

OK, SINGULAR, UNREACHED, NOT_CLOSED = 0, 1, 2, 3


def built(name, tmp_path, flags=("-O0",), **options):
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    state = system.state(*entry.start())
    return system, state, Exported(contents(system, state, **options), tmp_path, flags)


@pytest.mark.parametrize("name", zoo.CATALOG)
def test_kernels_and_runs_have_the_bits_of_the_library(name, tmp_path):
    """Every kernel at random arguments, and twenty steps of rk4, of every mechanism of the zoo."""
    system, state, c = built(name, tmp_path, (*fused_flags()[1:], "-O0"))
    rng = np.random.default_rng(3)
    for k in c.c.kernels:
        kernel = Kernel(k.function)
        for _ in range(3):
            given = [rng.uniform(-2, 2, n) for n in kernel.n_in]
            found = kernel(*given)
            wanted = np.concatenate([np.ravel(x) for x in (found if isinstance(found, tuple) else (found,))])
            np.testing.assert_array_equal(c.kernel(k.name, *given), wanted, err_msg=k.name)
    h, u = 1e-3, np.zeros(max(1, len(system.u_names)))
    run = da.simulate(system, state, 20 * h, method="rk4", step=h, u=u[: len(system.u_names)])
    c.put(state)
    assert {c.call("step_rk4", c.x, u, c.p, h) for _ in range(20)} == {OK}
    size = max(1.0, np.abs(run.v[-1]).max())
    np.testing.assert_allclose(c.q, run.q[-1], rtol=0, atol=1e-14 * max(1.0, np.abs(run.q[-1]).max()))
    np.testing.assert_allclose(c.v, run.v[-1], rtol=0, atol=1e-14 * size)
    assert c.x[0] == pytest.approx(run.t[-1], rel=1e-14)


def test_without_a_fused_product_only_rounding_changes(tmp_path):
    system, state, c = built("delta", tmp_path)
    rng = np.random.default_rng(5)
    for _ in range(20):
        x = system.project(
            system.state(system.plus(state, 0.05 * rng.normal(size=system.nv)), rng.normal(size=system.nv))
        )
        u = rng.normal(size=3)
        c.put(x)
        qdot, vdot = c.array(size=system.nq), c.array(size=system.nv)
        assert c.call("derivative", c.x, u, c.p, qdot, vdot) == OK
        wanted = system.acceleration(x, u=u).vdot
        np.testing.assert_allclose(vdot, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
        np.testing.assert_allclose(qdot, system.rates(x), rtol=0, atol=1e-14 * np.abs(x.v).max())


@pytest.mark.parametrize("name", ["four_bar", "ladder", "bennett", "sarrus", "stewart", "rolling_disc", "marionette"])
def test_accelerations_and_the_shortest_multipliers_are_those_of_the_null_space(name, tmp_path):
    """Redundant, nonholonomic and quaternion mechanisms, away from the start."""
    system, state, c = built(name, tmp_path)
    rng = np.random.default_rng(7)
    policy = rank_policy(system)
    for _ in range(5):
        x = system.project(
            system.state(system.plus(state, 0.02 * rng.normal(size=system.nv)), rng.normal(size=system.nv))
        )
        u = rng.normal(size=max(1, len(system.u_names)))
        c.put(x)
        vdot, lam = c.array(size=system.nv), c.array(size=len(system.rows.of))
        assert c.call("acceleration", c.x, u, c.p, vdot, lam) == OK
        wanted = system.acceleration(x, u=u[: len(system.u_names)], formulation="nullspace")
        np.testing.assert_allclose(vdot, wanted.vdot, rtol=0, atol=1e-10 * np.abs(wanted.vdot).max())
        np.testing.assert_allclose(lam, wanted.multipliers, rtol=0, atol=1e-9 * np.abs(wanted.multipliers).max())
        A, M = system.constraint_matrix(x).copy(), system.mass_matrix(x).copy()
        for d in system.description.prescribed.values():  # moves as it is told
            A[:, d], own = 0.0, M[d, d]
            M[d], M[:, d], M[d, d] = 0.0, 0.0, own
        white = A / policy.sizes[:, None] @ np.linalg.inv(np.linalg.cholesky(M).T)
        sigma = np.linalg.svd(white, compute_uv=False)[wanted.rank - 1]
        margin = c.array(0.0)
        assert c.call("margin", c.x, c.p, margin) == OK
        assert margin[0] == pytest.approx(sigma, rel=0.02)


def test_a_state_beside_the_manifold_is_projected_as_the_library_projects_it(tmp_path):
    system, state, c = built("delta", tmp_path)
    rng = np.random.default_rng(11)
    x = system.state(system.plus(state, 0.02 * rng.normal(size=system.nv)), rng.normal(size=system.nv))
    c.put(x)
    assert c.call("project", c.x, c.p) == OK
    phi, speed = c.array(size=len(system.rows.of)), c.array(size=len(system.rows.of))
    assert c.call("residuals", c.x, c.p, phi, speed) == OK
    assert np.abs(phi).max() < 1e-13
    assert np.abs(speed).max() < 1e-12
    wanted = system.project(x)
    np.testing.assert_allclose(c.q, wanted.q, atol=1e-9)
    np.testing.assert_allclose(c.v, wanted.v, atol=1e-8)
    c.q[-1] = np.nan
    before = c.x.copy()
    assert c.call("project", c.x, c.p) != OK
    np.testing.assert_array_equal(c.x, before)


@pytest.mark.parametrize(("name", "span"), [("parallel_four_bar", 3.0), ("delta", 0.6), ("slider_crank", 3.0)])
def test_steps_lead_over_singular_positions(name, span, tmp_path):
    """Links in line, platforms at a dead point: the motion goes straight on, as the library's does."""
    system, state, c = built(name, tmp_path, ("-O1",))
    u, h, m = np.zeros(max(1, len(system.u_names))), c.array(1e-3), len(system.rows.of)
    run = da.simulate(system, state, span, u=u[: len(system.u_names)], rtol=1e-11, atol=1e-11)
    kinetic, potential, phi, speed = c.array(0.0), c.array(0.0), c.array(size=m), c.array(size=m)
    c.put(state)
    c.call("energy", c.x, c.p, kinetic, potential)
    before, size, least = kinetic[0] + potential[0], abs(kinetic[0]) + abs(potential[0]), 1.0
    for k in range(1, 21):
        assert c.call("advance", c.x, u, c.p, h, span * k / 20, 1e-11, 1e-11, 10_000) == OK
        least = min(least, c.margin)
        c.call("residuals", c.x, c.p, phi, speed)
        assert np.abs(phi).max() < 1e-12
    c.call("energy", c.x, c.p, kinetic, potential)
    if name != "slider_crank":
        assert least < 0.05
    assert abs(kinetic[0] + potential[0] - before) < 1e-7 * size
    np.testing.assert_allclose(c.q, run.q[-1], rtol=0, atol=1e-6 * max(1.0, np.abs(run.q[-1]).max()))
    np.testing.assert_allclose(c.v, run.v[-1], rtol=0, atol=1e-6 * max(1.0, np.abs(run.v[-1]).max()))


def test_fixed_steps_say_where_they_met_a_singular_position(tmp_path):
    """Equal links in line, moved by hand to where the rank falls: status SINGULAR, and the numbers are finite."""
    system, _, c = built("parallel_four_bar", tmp_path)
    x = system.assemble(dict.fromkeys(system.q_names[:1], 0.0), guess=dict.fromkeys(system.q_names, 0.0))
    c.put(x)
    margin, u = c.array(1.0), c.array(size=max(1, len(system.u_names)))
    vdot, lam = c.array(size=system.nv), c.array(size=len(system.rows.of))
    wanted = system.acceleration(x, formulation="nullspace")
    status = c.call("margin", c.x, c.p, margin)
    assert (status == SINGULAR) == (wanted.rank < len(system.rows.of)) == (margin[0] == 0.0)
    assert c.call("acceleration", c.x, u, c.p, vdot, lam) == status
    np.testing.assert_allclose(vdot, wanted.vdot, atol=1e-9 * max(1.0, np.abs(wanted.vdot).max()))
    if status == SINGULAR:
        assert c.call("step_rk4", c.x, u, c.p, 1e-3) == SINGULAR
        assert np.isfinite(c.x).all()
        assert c.x[0] == 1e-3


@pytest.mark.parametrize("name", ["five_bar", "heavy_top", "car"])
def test_adaptive_steps_agree_with_dop853(name, tmp_path):
    system, state, c = built(name, tmp_path, ("-O1",))
    u = np.zeros(max(1, len(system.u_names)))
    run = da.simulate(system, state, 0.5, rtol=1e-11, atol=1e-11, u=u[: len(system.u_names)])
    c.put(state)
    assert c.call("advance", c.x, u, c.p, c.array(1e-3), 0.5, 1e-11, 1e-11, 100_000) == OK
    assert c.x[0] == 0.5
    np.testing.assert_allclose(c.q, run.q[-1], rtol=0, atol=1e-8 * max(1.0, np.abs(run.q[-1]).max()))
    np.testing.assert_allclose(c.v, run.v[-1], rtol=0, atol=1e-7 * max(1.0, np.abs(run.v[-1]).max()))


@pytest.mark.parametrize("name", ["five_bar", "two_arms", "planar_3rrr", "cart_pole"])
def test_inverse_dynamics_gives_the_smallest_inputs(name, tmp_path):
    system, state, c = built(name, tmp_path)
    rng = np.random.default_rng(13)
    for _ in range(4):
        x = system.project(
            system.state(system.plus(state, 0.05 * rng.normal(size=system.nv)), rng.normal(size=system.nv))
        )
        wanted = rng.normal(size=system.nv)
        found = control.actuator_forces(system, x, wanted)
        c.put(x)
        u, lam = c.array(size=len(system.u_names)), c.array(size=max(1, len(system.rows.of)))
        status = c.call("inverse_dynamics", c.x, wanted, c.p, None, None, u, lam)
        assert (status == OK) == (found.reach == found.mobility)
        np.testing.assert_allclose(u, found.u, rtol=0, atol=1e-9 * max(1.0, np.abs(found.u).max()))
        if system.rows.of and status == OK:
            scale = max(1.0, np.abs(found.multipliers).max())
            np.testing.assert_allclose(lam, found.multipliers, rtol=0, atol=1e-9 * scale)


def test_bounds_of_inputs_are_kept_and_the_others_make_up(tmp_path):
    """Two arms with six motors and three freedoms: one motor at its bound, the same motion."""
    system, state, c = built("two_arms", tmp_path)
    wanted, n = np.zeros(system.nv), len(system.u_names)
    c.put(state)
    free, u, lam = c.array(size=n), c.array(size=n), c.array(size=len(system.rows.of))
    assert c.call("inverse_dynamics", c.x, wanted, c.p, None, None, free, lam) == OK
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    k = int(np.argmax(np.abs(free)))
    high[k], low[k] = 0.5 * abs(free[k]), -0.5 * abs(free[k])
    assert c.call("inverse_dynamics", c.x, wanted, c.p, low, high, u, lam) == OK
    assert abs(u[k]) <= high[k] * (1 + 1e-12)
    np.testing.assert_allclose(system.acceleration(state, u=u).vdot, system.acceleration(state, u=free).vdot, atol=1e-8)
    tight = np.zeros(n)
    status = c.call("inverse_dynamics", c.x, wanted, c.p, tight, tight, u, lam)
    assert status == (UNREACHED if np.abs(free).max() > 1e-6 else OK)
    assert not u.any()


def test_computed_torque_and_regulators_set_the_inputs_of_their_laws(tmp_path):
    system = zoo.five_bar().compile()
    state = system.state(*zoo.five_bar_start(0.5))
    law = control.computed_torque(system, {"A": 0.3, "B": 0.2}, coordinates=["A", "B"], rate=7.0)
    model = da.equilibrium(system, state, solve_for="u").model
    keep = da.lqr(model, limits={system.u_names[0]: (-3.0, 3.0)})
    c = Exported(contents(system, state, controllers={"follow": law, "keep": keep}), tmp_path, ("-O1",))
    rng = np.random.default_rng(17)
    for _ in range(5):
        x = system.project(
            system.state(system.plus(state, 0.05 * rng.normal(size=system.nv)), rng.normal(size=system.nv))
        )
        c.put(x)
        u = c.array(size=2)
        assert c.call("follow", c.x, c.array(0.3, 0.2), c.array(0.0, 0.0), c.array(0.0, 0.0), c.p, u) == OK
        np.testing.assert_allclose(u, law(0.0, x), rtol=1e-9, atol=1e-9)
        c.call("keep", c.x, u)
        np.testing.assert_allclose(u, keep(0.0, x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "active"), [("five_bar", ["A", "B"]), ("four_bar", ["A"]), ("stewart", None)])
def test_passive_joints_follow_from_active_ones(name, active, tmp_path):
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    state = system.state(*entry.start())
    active = active or list(control.controllers.driven_coordinates(system))
    c = Exported(contents(system, state, active=active), tmp_path, ("-O0",))
    places = [system.q_names.index(n) for n in active]
    speeds = [system.v_names.index(n) for n in active]
    rng = np.random.default_rng(19)
    moved = system.assemble({n: state.q[k] + 0.02 * rng.normal() for n, k in zip(active, places)}, guess=state)
    rates = rng.normal(size=len(active))
    wanted = system.assemble(dict(zip(active, moved.q[places])), v=dict(zip(active, rates)), guess=moved)
    q, v = state.q.copy(), np.zeros(system.nv)
    assert c.call("passive", moved.q[places].copy(), q, c.p, 0.0) == OK
    assert 0.0 < c.margin <= 1.0
    np.testing.assert_allclose(q, moved.q, atol=1e-9)
    assert c.call("passive_velocity", q, rates, v, c.p, 0.0) == OK
    np.testing.assert_allclose(v, wanted.v, atol=1e-8)
    assert v[speeds].tolist() == rates.tolist()
    far = moved.q[places] + 50.0
    before = q.copy()
    if system.q_names[0] and name == "stewart":
        assert c.call("passive", far.copy(), q, c.p, 0.0) == NOT_CLOSED
        np.testing.assert_array_equal(q, before)


def test_outputs_frames_and_the_linear_model_are_those_of_the_library(tmp_path):
    system = zoo.five_bar().compile()
    state = system.state(*zoo.five_bar_start(0.5))
    body = next(iter(system.layout.bodies))
    wanted = ["A", "rate:B", "energy", f"position:{body}@y", ("twice", lambda s: 2 * s["A"])]
    c = Exported(contents(system, state, frames=[body], outputs=wanted, independent=["A", "B"]), tmp_path, ("-O1",))
    rng = np.random.default_rng(23)
    x = system.project(system.state(state.q, rng.normal(size=system.nv)))
    u = rng.normal(size=2)
    c.put(x)
    y, pose, twist = c.array(size=5), c.array(size=12), c.array(size=6)
    c.call("outputs", c.x, u, c.p, y)
    at = system.position(x, body)[1] if hasattr(system, "position") else system.pose(x, body)[1, 3]
    k = [system.v_names.index("A"), system.v_names.index("B")]
    np.testing.assert_allclose(y, [x["A"], x.v[k[1]], system.energy(x), at, 2 * x["A"]], atol=1e-13)
    c.call("poses", c.x, c.p, pose)
    c.call("twists", c.x, c.p, twist)
    T = system.pose(x, body)
    np.testing.assert_allclose(pose, np.concatenate([T[:3, :3].ravel(), T[:3, 3]]), atol=1e-14)
    np.testing.assert_allclose(twist, system.twist(x, body, axes="world"), atol=1e-13)
    model = da.linearize(system, x, u=u, independent=["A", "B"])
    A, B, rates = c.array(size=16), c.array(size=8), c.array(size=4)
    assert c.call("linearize", c.x, u, c.p, A, B, rates) == OK
    np.testing.assert_allclose(A.reshape(4, 4), model.A, atol=1e-11 * np.abs(model.A).max())
    np.testing.assert_allclose(B.reshape(4, 2), model.B, atol=1e-11 * np.abs(model.B).max())
    np.testing.assert_allclose(rates, model.rate, atol=1e-11 * np.abs(model.rate).max())


def driven():
    """A crank driven by a function of time with a mass that is a parameter, and a spring."""
    m = da.Mechanism("driven crank", gravity=(0, -9.81, 0))
    mass = m.add_parameter("mass", 1.3)
    crank = m.add_body("crank", mass=mass, com=(0.1, 0, 0), inertia=da.rod_inertia(1.0, 0.2))
    arm = m.add_body("arm", mass=0.7, com=(0.15, 0, 0), inertia=da.rod_inertia(0.7, 0.3))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.2, 0, 0), arm, damping=0.05)
    m.add_driver("turn", "A", lambda t: 0.4 + 0.3 * t * t)
    return m.compile()


def test_parameters_and_drivers_are_those_of_the_mechanism(tmp_path):
    system = driven()
    state = system.assemble({"B": 0.2})
    c = Exported(contents(system, state), tmp_path, ("-O1",))
    assert c.p[0] == 1.3
    c.p[0] = 2.0
    run = da.simulate(system, state, 0.3, p={"mass": 2.0}, method="rk4", step=1e-3)
    c.put(state)
    assert {c.call("step_rk4", c.x, None, c.p, 1e-3) for _ in range(300)} == {OK}
    np.testing.assert_allclose(c.q, run.q[-1], atol=1e-11)
    np.testing.assert_allclose(c.v, run.v[-1], atol=1e-10)


def test_floats_follow_doubles_to_their_own_rounding(tmp_path):
    system, state, c = built("five_bar", tmp_path, ("-O1",), precision="float")
    u = c.array(size=2)
    run = da.simulate(system, state, 0.5, method="rk4", step=1e-3, u=np.zeros(2))
    assert {c.call("step_rk4", c.x, u, c.p, 1e-3) for _ in range(500)} == {OK}
    off = np.abs(c.q - run.q[-1]).max()
    assert 1e-9 < off < 1e-4


def test_bad_calls_return_a_status_and_leave_the_state(tmp_path):
    _, state, c = built("five_bar", tmp_path)
    u, h = c.array(size=2), c.array(1e-3)
    c.put(state)
    before = c.x.copy()
    assert c.call("step", c.x, u, c.p, h, state.t - 1.0, 1e-9, 1e-9) == 8
    assert c.call("step", c.x, u, c.p, h, 1.0, float("nan"), 1e-9) == 8
    assert c.call("step", c.x, u, c.p, c.array(-1.0), 1.0, 1e-9, 1e-9) == 8
    assert c.call("step_rk4", c.x, c.array(np.nan, 0.0), c.p, 1e-3) == 4
    assert c.call("advance", c.x, u, c.p, h, 1.0, 1e-9, 1e-9, 0) == 7
    np.testing.assert_array_equal(c.x, before)


def test_examples_compile_without_a_warning_and_run(tmp_path):
    system = zoo.five_bar().compile()
    state = system.state(*zoo.five_bar_start(0.5))
    law = control.computed_torque(system, {"A": 0.3, "B": 0.2}, coordinates=["A", "B"])
    for precision in ("double", "float"):
        folder = tmp_path / precision
        files = system.export_c(folder, state, precision=precision, active=["A", "B"], controllers={"follow": law})
        assert [f.name for f in files] == ["five_bar.c", "five_bar.h", "main.c", "realtime.c", "CMakeLists.txt"]
        base = [compiler(), *WARNINGS, "-O1"]
        build = [*base, folder / "five_bar.c", folder / "main.c", "-lm", "-o", folder / "run"]
        subprocess.run([str(x) for x in build], check=True)
        subprocess.run([str(x) for x in [*base, "-c", folder / "realtime.c", "-o", folder / "r.o"]], check=True)
        out = subprocess.run([str(folder / "run")], check=True, capture_output=True, text=True).stdout.splitlines()
        assert len(out) == 102
        run = da.simulate(system, state, 1.0, method="rk4", step=1e-3, u=np.zeros(2))
        last = np.array(out[-1].split(","), dtype=float)
        np.testing.assert_allclose(last[1:5], run.q[-1], atol=1e-9 if precision == "double" else 1e-2)


def test_threads_have_workspaces_of_their_own(tmp_path):
    """Nothing is kept in the library: two workspaces, interleaved, give what one gives."""
    _, _, c = built("five_bar", tmp_path)
    u, other, at = c.array(size=2), np.zeros_like(c.work), c.x.copy()
    for _ in range(10):
        c.call("step_rk4", c.x, u, c.p, 1e-3)
        pointer = ctypes.c_void_p
        c.library.five_bar_step_rk4(
            pointer(at.ctypes.data), pointer(u.ctypes.data), pointer(c.p.ctypes.data), ctypes.c_double(1e-3),
            pointer(other.ctypes.data),
        )  # fmt: skip
    np.testing.assert_array_equal(at, c.x)
