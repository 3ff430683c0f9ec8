"""Mechanisms of any size: derivatives by sweeps give what closed forms in straight-line code give.

Rows of the Jacobian come from reverse sweeps, linear models from forward sweeps along one motion after another.
"""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.linearization import plan
from dalembert.system import equation_rows
from random_loops import random_closed
from random_mechanisms import random_state, random_tree


def agree(found, expected, tolerance=1e-11):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def branched():
    """A floating tree with inputs, a force that depends on time, and a coordinate that an input leads."""
    m = random_tree(4, 6, floating=True)
    pull = m.add_input("pull", 3)
    m.add_wrench("push", m.bodies["body5"], force=pull, axes="world")
    m.add_wrench("swing", m.bodies["body3"], moment=lambda s: ca.vertcat(ca.sin(s.t), 0, 0), axes="body")
    system = m.compile(backend="casadi")
    return system, random_state(system, 4).replace(t=0.3), {}


def of_the_zoo(name, independent=None, seed=3):
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    rng = np.random.default_rng(seed)
    return system, system.project(x.replace(v=x.v + 0.5 * rng.normal(size=system.nv))), {"independent": independent}


def driven():
    m = zoo.five_bar()
    m.add_driver("drive", "A", lambda t: -0.1 + 0.3 * ca.sin(2 * t))
    system = m.compile(backend="casadi")
    return system, system.assemble(t=0.4, guess=zoo.five_bar_start()[0]), {}


def led():
    m = zoo.five_bar()
    m.add_kinematic_input("lead", "A")
    system = m.compile(backend="casadi")
    return system, system.project(system.state(*zoo.five_bar_start()).replace(v=[0.3, 0.2, 0.1, -0.4])), {}


def lifted():
    """A coordinate that is a function of the positions beside one of a joint."""
    system, x, _ = of_the_zoo("loader")
    return system, x, {"independent": ["B", ("height", lambda s: s.position("lip")[2])]}


CASES = {
    "floating tree": branched,
    "quaternions and redundant loops": lambda: (*random_closed(1), {}),
    "cut joint": lambda: of_the_zoo("loader", ["B", "L"]),
    "function of the positions": lifted,
    "rolling": lambda: of_the_zoo("rolling_disc"),
    "skate": lambda: of_the_zoo("chaplygin_sleigh"),
    "driven": driven,
    "led": led,
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_by_sweeps_are_the_closed_forms(case, monkeypatch):
    system, x, options = CASES[case]()
    u = np.random.default_rng(1).normal(size=len(system.u_names))
    states = [x, system.project(x.replace(v=0.5 * x.v, t=x.t + 0.01))]

    def answers():
        fresh = system.with_parameters({})  # nothing remembered
        outputs = [f"acceleration:{fresh.v_names[0]}", "energy"]
        model = da.linearize(fresh, x, u=u, outputs=outputs, **options)
        line = da.linearize_along(fresh, states, u=u, **options)
        full = da.linearize_full(fresh, x, u=u)
        named = ("vdot", "multipliers", "vdot_q", "vdot_v", "vdot_u", "vdot_t", "multipliers_q", "multipliers_v",
                 "multipliers_u", "multipliers_t", "H", "Df")  # fmt: skip
        op = model.operating
        return {
            **{f"full {k}": getattr(full, k) for k in named},
            **{f"model {k}": getattr(model, k) for k in ("A", "B", "C", "D", "time", "rate", "output", "output_time")},
            **{f"operating {k}": getattr(op, k) for k in ("Kq", "Kv", "Dv", "vdot", "multipliers")},
            **{f"line {k}": getattr(line, k) for k in ("A", "B", "rate")},
        }

    expected = answers()
    monkeypatch.setattr(equation_rows, "LARGE", 0)
    monkeypatch.setattr(plan, "LARGE", 0)
    found = answers()
    for name, value in expected.items():
        agree(found[name], value)


@pytest.mark.parametrize("shape", ["loops on a base", "ladder"])
def test_large_linear_models_are_those_of_all_coordinates_along_the_motions(shape, monkeypatch):
    """Â₂₁ = v̇_q K_q + v̇_v D, Â₂₂ = v̇_v K_v at the chosen coordinates: forward sweeps in lanes, and reverse ones."""
    monkeypatch.setattr(equation_rows, "LARGE", 0)
    monkeypatch.setattr(plan, "LARGE", 0)
    if shape == "ladder":
        system = zoo.ladder(6).compile()
        x = system.state(*zoo.ladder_start(6, speed=-2.0))
    else:
        system, x = loops_on_a_base(3)
    model, full = da.linearize(system, x), da.linearize_full(system, x)
    op = model.operating
    n, chosen = op.Kq.shape[1], [c.index for c in op.speeds]
    agree(full.H @ np.block([[op.Kq, np.zeros_like(op.Kv)], [op.Dv, op.Kv]]), np.zeros((len(full.H), 2 * n)))
    agree(model.A[n:, :n], (full.vdot_q @ op.Kq + full.vdot_v @ op.Dv)[chosen])
    agree(model.A[n:, n:], (full.vdot_v @ op.Kv)[chosen])
    agree(model.rate[n:], full.vdot[chosen])


def loops_on_a_base(loops):
    """Four-bars of different masses around a free body, each in a plane of its own, in motion."""
    m = da.Mechanism("loops", gravity=(0, 0, -9.81))
    base = m.add_body("base", mass=10.0, inertia=(1.0, 1.2, 1.4))
    m.add_joint("float", da.Free(), m.ground, base)
    for k in range(loops):
        turn = 2 * np.pi * k / loops
        at = base.at(np.cos(turn), np.sin(turn), 0.1, rotation=da.rotation("z", turn) @ da.rotation("x", 0.3))
        bars = [
            m.add_body(f"{n} {k}", mass=size + 0.1 * k, com=(size / 2, 0, 0), inertia=da.rod_inertia(size, size))
            for n, size in {"crank": 0.2, "coupler": 0.6, "rocker": 0.4}.items()
        ]
        m.add_joint(f"A{k}", da.Revolute("z"), at, bars[0])
        m.add_joint(f"B{k}", da.Revolute("z"), bars[0].at(0.2), bars[1])
        m.add_joint(f"D{k}", da.Revolute("z"), at.at(0.55), bars[2])
        m.close_loop(f"C{k}", da.Revolute("z"), bars[1].at(0.6), bars[2].at(0.4))
    guess = {f"B{k}": -0.3 for k in range(loops)} | {f"D{k}": 1.2 for k in range(loops)}
    rates = {f"A{k}": 3.0 + 0.1 * k for k in range(loops)} | {"float.wx": 0.5, "float.wz": 1.0}
    system = m.compile()
    return system, system.assemble({f"A{k}": 0.6 + 0.02 * k for k in range(loops)}, rates, guess=guess)


def pendulum_on_a_ball():
    """Two bodies on a quaternion joint, the outer one driven by an input and damped, its tip held in a plane."""
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    a, b = (m.add_body(n, mass=1.0, com=(0.1, 0.2, -0.3), inertia=(0.3, 0.4, 0.5)) for n in "ab")
    m.add_joint("ball", da.Spherical(), m.ground, a)
    m.add_joint("hinge", da.Revolute("x"), a.at(0, 0.1, -0.5), b, damping=0.2)
    m.add_motor("motor", "hinge")
    m.add_point_in_plane("floor", b.at(0, 0, -0.5), m.ground.at(0, 0, -0.9), (0, 0, 1))
    return m.compile()


def test_implicit_steps_of_large_systems_use_the_same_exact_jacobian(monkeypatch):
    system = pendulum_on_a_ball()
    x = system.assemble(v={"ball.wx": 0.4, "ball.wz": -0.8})
    runs = []
    for size in (24, 0):
        monkeypatch.setattr(equation_rows, "LARGE", size)
        runs.append(da.simulate(system.with_parameters({}), x, 0.5, u=[0.3], method="sdirk4"))
    assert runs[0].success
    assert runs[1].success
    assert len(runs[0].t) == len(runs[1].t)
    agree(runs[1].q[-1], runs[0].q[-1], 1e-12)


def test_the_mass_matrix_by_columns_is_that_of_composite_bodies(monkeypatch):
    from dalembert.system import dynamics

    system, x, _ = branched()
    expected = system.mass_matrix(x)
    monkeypatch.setattr(dynamics, "LONG_MASS", 0)
    agree(system.mass_matrix(x), expected, 1e-14)
