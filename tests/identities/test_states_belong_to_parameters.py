"""Whatever is asked with a state of other parameters is what a system with these parameters answers."""

import inspect
import pickle
import re
import tempfile
from copy import copy, deepcopy

import numpy as np
import pytest

import dalembert as da
from dalembert import analysis, charts, control, view
from dalembert.errors import ArgumentError
from parameterized import four_bar

P = {"l1": 0.62, "l2": 1.41, "span": 1.37, "m2": 4.5, "d": 0.7}
U = {"torque": 1.7}


@pytest.fixture(scope="module")
def pair():
    """A system, and one whose defaults are other parameters."""
    system = four_bar()
    return system, system.with_parameters(P)


def assembled(system, **given):
    return system.assemble({"A": 0.7}, v={"A": 1.3}, guess={"D": 1.2}, **given)


def stepped(environment):
    """What is observed after three steps."""
    environment.reset(seed=1)
    return [environment.step(np.array([0.3]))[0] for _ in range(3)][-1]


def fitted(system, state):
    """What a fit of gravity finds, and what its system and its states are."""
    data = {"t": [0.05, 0.1, 0.2], "A": [0.76, 0.83, 0.95]}
    for parameters in ({"g": 9.0}, ["g", "d"]):
        found = da.fit(system, data, parameters, state, max_evaluations=3)
    return [*found.estimate, *found.system.arguments.parameter_vector(None), found.system.energy(found.state(-1))]


def exported(system, state):
    """Numbers of the start and the parameters in C."""
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(f.read_text(encoding="utf-8") for f in system.export_c(folder, state, name="bars"))
    return [float(x) for x in re.findall(r"-?\d+\.\d+(?:e[+-]\d+)?", text)]


WEIGHT = {"a": (0.0, 0.0, 0.0, 0.0, -3.0, 0.0)}
ACCELERATION = np.array([0.3, -0.2, 0.5])

#: {name: what it answers for (system, state)}; every method of System that has `state` and `p` must be here
METHODS = {
    "acceleration": lambda s, x: s.acceleration(x).vdot,
    "applied_forces": lambda s, x: s.applied_forces(x),
    "bias": lambda s, x: s.bias(x),
    "center_of_mass": lambda s, x: s.center_of_mass(x),
    "chart": lambda s, x: s.chart(x, ["A"]).state([0.8]).q,
    "constraint_forces": lambda s, x: s.constraint_forces(x).loops["C"],
    "constraint_gamma": lambda s, x: s.constraint_gamma(x),
    "constraint_matrix": lambda s, x: s.constraint_matrix(x),
    "coriolis_vector": lambda s, x: s.coriolis_vector(x),
    "energy": lambda s, x: s.energy(x),
    "evaluate": lambda s, x: s.evaluate("potential_energy", x),
    "export_c": exported,
    "forward_dynamics": lambda s, x: s.forward_dynamics(x, wrenches=WEIGHT),
    "frame_acceleration": lambda s, x: s.frame_acceleration(x, "point", ACCELERATION),
    "frame_derivatives": lambda s, x: s.frame_derivatives(x, "point").d("A", "B"),
    "gravity_vector": lambda s, x: s.gravity_vector(x),
    "input_matrix": lambda s, x: s.input_matrix(x),
    "inverse_dynamics": lambda s, x: s.inverse_dynamics(x, ACCELERATION, wrenches=WEIGHT),
    "inverse_dynamics_derivatives": lambda s, x: np.hstack(s.inverse_dynamics_derivatives(x, ACCELERATION)),
    "jacobian": lambda s, x: s.jacobian(x, "point"),
    "jacobian_derivatives": lambda s, x: s.jacobian_derivatives(x, "point")[0],
    "jacobian_rate": lambda s, x: s.jacobian_rate(x, "point"),
    "kinetic_energy": lambda s, x: s.kinetic_energy(x),
    "lagrangian": lambda s, x: s.lagrangian(x).L_dq,
    "mass_matrix": lambda s, x: s.mass_matrix(x),
    "momentum": lambda s, x: s.momentum(x, about="center"),
    "pose": lambda s, x: s.pose(x, "point"),
    "potential_energy": lambda s, x: s.potential_energy(x),
    "project": lambda s, x: s.project(x).q,
    "report": lambda s, x: np.array([s.report(x).mobility, s.report(x).residual]),
    "residuals": lambda s, x: s.residuals(x),
    "speed_residuals": lambda s, x: s.speed_residuals(x),
    "subspaces": lambda s, x: s.subspaces(x).P,
    "sweep": lambda s, x: s.sweep({"A": [0.7, 0.9]}, x, speed=1.0).driving_force("A"),
    "twist": lambda s, x: s.twist(x, "point"),
    "walk": lambda s, x: s.walk(x, to={"A": 0.9}).q,
}
OTHERS = {
    "assemble": lambda s, x: s.assemble({"A": 0.8}, guess=x).q,
    "diagonal": lambda s, x: s.diagonal.log_determinant(x),
    "diagonal.acceleration": lambda s, x: s.diagonal.acceleration(x),
    "diagonal.pack": lambda s, x: s.diagonal.pack(x),
    "chart of its own": lambda s, x: charts.tangent(s, x).K(x),
    "frames of the state": lambda s, x: x.position("b") + s.pose(x, "b")[:3, 3],
    "curvature": lambda s, x: analysis.curvature(s.without("C"), x, samples=0).largest,
    "operators": lambda s, x: analysis.operators(s.without("C"), x).mass_matrix.matrix,
    "simulate": lambda s, x: da.simulate(s, x, 0.2, rtol=1e-10).state(-1).q,
    "simulate with contacts": lambda s, x: da.simulate(s, x, 0.2, stops="rigid", rtol=1e-10).state(-1).q,
    "run.state": lambda s, x: s.energy(da.simulate(s, x, 0.2).state(-1)),
    "run(t)": lambda s, x: s.energy(da.simulate(s, x, 0.2)(0.1)),
    "sweep.state": lambda s, x: s.energy(s.sweep({"A": [0.7, 0.9]}, x).state(-1)),
    "linearize": lambda s, x: da.linearize(s, x, independent=["A"]).A,
    "linearize_full": lambda s, x: da.linearize_full(s, x).vdot_q,
    "linearize_stabilized": lambda s, x: da.linearize_stabilized(s, x).A,
    "linearize_many": lambda s, x: da.linearize_many(s, [x, x], independent=["A"]).A,
    "linearize_along": lambda s, x: da.linearize_along(s, [x], independent=["A"]).A,
    "linearize_along a run": lambda s, x: da.linearize_along(s, da.simulate(s, x, 0.1), independent=["A"]).A[0],
    "second_derivatives": lambda s, x: da.second_derivatives(s, x),
    "step_map": lambda s, x: da.step_map(s, x, 0.01, method="rk4", independent=["A"]).A,
    "discrete_step": lambda s, x: da.discrete_step(s, x, 0.01).after.q,
    "state of a discrete step": lambda s, x: s.energy(da.discrete_step(s, x, 0.01).after),
    "equilibrium": lambda s, x: da.equilibrium(s, x, solve_for="u").u,
    "state of an equilibrium": lambda s, x: s.acceleration(da.equilibrium(s, x, solve_for="u").state).vdot,
    "static_forces": lambda s, x: da.static_forces(s, x, {"point": (0, -5.0, 0)}).u,
    "stiffness": lambda s, x: da.stiffness(s, x, "point", held=["A"]).compliance,
    "sensitivities": lambda s, x: da.sensitivities(s, x, of=["acceleration:A"], wrt=["l1"], held=["A"]).jacobian,
    "inverse_dynamics_many": lambda s, x: da.inverse_dynamics_many(s, [x], ACCELERATION),
    "inverse_dynamics_many of a run": lambda s, x: da.inverse_dynamics_many(s, da.simulate(s, x, 0.1), ACCELERATION)[0],
    "study": lambda s, x: (
        da.study(s, {"l1": [P["l1"]]}, {"end": lambda runs: runs.q_end[:, 0]}, method="grid", states=x, t=0.1).values
    ),
    "fit": lambda s, x: fitted(s, x),
    "ensemble": lambda s, x: da.ensemble(s, x, 0.1, n=2, workers=1).q_end,
    "ensemble of several": lambda s, x: da.ensemble(s, [x, x], 0.1, workers=1).q_end,
    "ensemble of a function": lambda s, x: da.ensemble(s, lambda k, values: x, 0.1, n=2, workers=1).q_end,
    "ensemble by name": lambda s, x: da.ensemble(s, {"A": [0.7, 0.8]}, 0.1, guess=x, workers=1).q_end,
    "ensemble.state": lambda s, x: s.energy(da.ensemble(s, x, 0.1, n=2, workers=1).state(1)),
    "assemble_many": lambda s, x: da.assemble_many(s, {"A": [0.7, 0.8]}, guess=x).q,
    "states": lambda s, x: [s.energy(y) for y in da.assemble_many(s, {"A": [0.7, 0.8]}, guess=x)],
    "workspace": lambda s, x: da.workspace(s, {"A": [0.7, 0.8]}, x).q,
    "workspace.state": lambda s, x: s.energy(da.workspace(s, {"A": [0.7, 0.8]}, x).state(1)),
    "environment": lambda s, x: stepped(
        da.environment(s, x, period=0.01, actions={"torque": (-1.0, 1.0)}, reward=lambda t, s, u: s["A"])
    ),
    "control.actuator_forces": lambda s, x: control.actuator_forces(s, x, {"A": 1.0}).u,
    "actuator_forces_along": lambda s, x: control.actuator_forces_along(s, da.simulate(s, x, 0.1)).u[0],
    "actuator_forces_along a sweep": lambda s, x: (
        control.actuator_forces_along(s, s.sweep({"A": [0.7, 0.9]}, x, speed=1.0), [0.0, 0.2]).u
    ),
    "straight_motion": lambda s, x: control.straight_motion(s, x, {"A": 1.0}, 0.5, 4).u,
    "state of a plan": lambda s, x: s.energy(control.straight_motion(s, x, {"A": 1.0}, 0.5, 4).state(2)),
    "optimal_motion": lambda s, x: s.energy(
        control.optimal_motion(s, x, 0.1, lambda s, u: u["torque"] ** 2, lambda s: s["A"] ** 2, steps=3).state(2)
    ),
}


@pytest.mark.parametrize("name", [*METHODS, *OTHERS])
def test_a_state_is_asked_about_with_its_own_parameters(pair, name):
    system, other = pair
    ask = (METHODS | OTHERS)[name]
    wanted = np.asarray(ask(other, assembled(other)), dtype=float)
    found = np.asarray(ask(system, assembled(system, p=P)), dtype=float)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    moved = np.asarray(ask(system, assembled(other)), dtype=float)  # made by the system that has them
    np.testing.assert_allclose(moved, wanted, rtol=1e-9, atol=1e-9)


def test_every_question_about_a_state_is_in_the_table():
    asked = {
        name
        for name, f in inspect.getmembers(da.System, inspect.isfunction)
        if not name.startswith("_") and {"state", "p"} <= set(inspect.signature(f).parameters)
    }
    assert asked - {"export_fmu"} == set(METHODS)
    functions = {
        name
        for name in dir(da)
        if inspect.isfunction(f := getattr(da, name)) and {"state", "states"} & set(inspect.signature(f).parameters)
    }
    assert functions - {"environments"} <= set(OTHERS)


def test_pictures_of_a_state_close_its_loops(pair, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    system, other = pair
    x = assembled(system, p=P)
    drawn = []
    for s, y, p in ((system, x, None), (other, assembled(other), None), (system, x.q, P)):
        view.snapshot(s, y, tmp_path / "a.png", p=p)
        drawn.append((tmp_path / "a.png").read_bytes())
    assert drawn[0] == drawn[1] == drawn[2]
    assert x._repr_html_() == assembled(other)._repr_html_()


def test_states_keep_parameters_and_inputs_when_they_are_copied(pair):
    system, _ = pair
    x = system.assemble({"A": 0.7}, guess=system.state({"D": 1.2}, u=U), p=P)
    for y in (
        copy(x),
        deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        x.replace(t=2.0),
        x.replace(v={"A": 0.0}),
        system.project(x),
    ):
        np.testing.assert_array_equal(y.p, system.arguments.parameter_vector(P))
        np.testing.assert_array_equal(y.u, [1.7])
        assert system.energy(y.replace(v=x.v)) == system.energy(x)
    again, y = pickle.loads(pickle.dumps((system, x)))
    np.testing.assert_allclose(again.acceleration(y).vdot, system.acceleration(x).vdot, rtol=1e-12)


def test_parameters_that_open_the_loops_of_a_state_are_refused(pair):
    system, _ = pair
    x = assembled(system, p=P)
    for ask in (
        system.energy,
        system.acceleration,
        system.constraint_forces,
        lambda x, p: da.linearize(system, x, p=p),
    ):
        with pytest.raises(ArgumentError, match=r"made with l1 = 0.62, and is asked with l1 = 0.5, where its loops"):
            ask(x, p={"l1": 0.5})
    with pytest.raises(ArgumentError, match="where its loops are open"):
        system.energy(assembled(system), p=P)  # assembled with the declared parameters
    same = system.energy(x)
    assert system.energy(x, p=P) == same == system.energy(x, p={"l1": 0.62}) == system.energy(x, p=x.p)
    assert abs(system.residuals(x, p={"l1": 0.5})).max() > 0.01  # the question about gaps itself
    assert system.project(x, p={"l1": 0.6}).p[0] == 0.6
    kept = x.replace(p={"l1": 0.5})
    assert system.energy(kept) == system.energy(x.q, p=P | {"l1": 0.5}) + system.kinetic_energy(kept)


def test_parameters_that_are_given_count_and_the_rest_is_the_states(pair):
    system, _ = pair
    x = assembled(system, p=P)
    np.testing.assert_allclose(
        system.applied_forces(x, p={"d": 9.0}),
        system.with_parameters(P | {"d": 9.0}).applied_forces(system.state(x.q, x.v)),
        rtol=1e-14,
    )
    run = da.simulate(system, x, 0.1, p={"d": 9.0})
    assert run.state().p.tolist() == system.arguments.parameter_vector(P | {"d": 9.0}).tolist()


def test_a_system_with_other_defaults_speaks_for_what_a_state_was_not_given(pair):
    system, other = pair
    heavy = system.with_parameters(m2=30.0)
    x = assembled(system)
    assert heavy.mass_matrix(x)[0, 0] > 5 * system.mass_matrix(x)[0, 0]  # the nominal start of a study of masses
    x = assembled(system, p={"m2": 7.0})
    with pytest.raises(ArgumentError, match="made with m2 = 7, and the system asked has m2 = 30; say which"):
        heavy.mass_matrix(x)
    np.testing.assert_array_equal(heavy.mass_matrix(x, p={"m2": 7.0}), system.mass_matrix(x))
    run = da.simulate(other, assembled(other), 0.1, p={"m2": 7.0})
    assert other.energy(run.state(0)) == pytest.approx(run.energy[0], rel=1e-14)
    with pytest.raises(ArgumentError, match="where its loops are open"):
        other.energy(assembled(system))


def test_positions_as_arrays_have_the_parameters_of_the_call(pair):
    system, other = pair
    x = assembled(system, p=P)
    assert system.potential_energy(x.q, p=P) == other.potential_energy(x.q) == system.potential_energy(x)
    assert system.potential_energy(x.q) == system.potential_energy(x.replace(p=system.parameters))


def test_inputs_of_a_state_act_unless_others_are_given(pair):
    system, _ = pair
    x = assembled(system)
    driven = x.replace(u=U)
    with_u = system.acceleration(x, u=U).vdot
    np.testing.assert_array_equal(system.acceleration(driven).vdot, with_u)
    np.testing.assert_array_equal(system.acceleration(driven, u=[0.0]).vdot, system.acceleration(x).vdot)
    np.testing.assert_array_equal(da.linearize(system, driven).operating.u, [1.7])
    run = da.simulate(system, driven, 0.3)
    assert (run.u == 1.7).all()
    assert run.state(3).u == run(0.1).u == 1.7
    whole = da.simulate(system, driven, 0.6, rtol=1e-11, atol=1e-12)
    part = da.simulate(system, da.simulate(system, driven, 0.3, rtol=1e-11, atol=1e-12).state(), 0.3, rtol=1e-11)
    np.testing.assert_allclose(part.state().q, whole.state().q, atol=1e-8)
    assert (da.simulate(system, driven, 0.1, u=lambda t, s: [0.5]).u == 0.5).all()
    rest = da.equilibrium(system, x, solve_for="u").state
    assert abs(da.simulate(system, rest, 0.5).state()["A"] - rest["A"]) < 1e-6


def test_states_of_many_belong_to_the_parameters_of_their_rows(pair):
    system, _ = pair
    lengths = np.array([0.5, 0.55, 0.6])
    states = da.assemble_many(system, {"A": 0.7}, v={"A": 1.0}, p={"l1": lengths}, guess={"D": 1.2})
    each = [system.with_parameters(l1=x) for x in lengths]
    tau = da.inverse_dynamics_many(system, states, ACCELERATION)
    models = da.linearize_many(system, states, independent=["A"])
    runs = da.ensemble(system, states, 0.1, workers=1)
    for k, (one, x) in enumerate(zip(each, states)):
        y = one.state(x.q, x.v)
        np.testing.assert_allclose(tau[k], one.inverse_dynamics(y, ACCELERATION), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(models.A[k], da.linearize(one, y, independent=["A"]).A, rtol=1e-9)
        np.testing.assert_allclose(runs.q_end[k], da.simulate(one, y, 0.1).state().q, atol=1e-9)
    assert len(list(reversed(states))) == 3
    with pytest.raises(ArgumentError, match="different parameters"):
        da.linearize_along(system, states, independent=["A"])


def test_a_sweep_of_a_parameter_has_states_of_each_value(pair):
    system, _ = pair
    swept = system.sweep({"l1": [0.5, 0.55, 0.6]}, assembled(system), held={"A": 0.7})
    for k, value in enumerate((0.5, 0.55, 0.6)):
        assert swept.state(k).p[0] == value
        assert abs(system.residuals(swept.state(k))).max() < 1e-10
    assert system.walk(assembled(system), to={"l1": 0.6}).p[0] == 0.6
