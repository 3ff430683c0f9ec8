"""Answers of plans, maps, ensembles and sweeps of variants against those of single runs, sweeps and states."""

import json

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from parameterized import four_bar as varied


def test_variants_answer_as_their_own_sweeps_do():
    """Frames, forces of the drive, reactions and energies of variants of different lengths, each led alone too."""
    system, lengths = varied(), [0.2, 0.22, 0.25]
    path = {"A": np.linspace(0.5, 1.2, 5)}
    many = da.sweep_many(system, path, p={"l1": lengths}, speed=2.0, acceleration=0.5, guess={"D": 1.2})
    for k, length in enumerate(lengths):
        alone = system.sweep(path, guess := many.state(k, 0), speed=2.0, acceleration=0.5, p={"l1": length})
        body = list(system.layout.mechanism.bodies)[-1]
        assert guess.q.shape == (system.nq,)
        for a, b in (
            (many.position(body)[k], alone.position(body)),
            (many.acceleration(body)[k], alone.acceleration(body)),
            (many.energy[k], alone.energy),
            (many.driving_force("A")[k], alone.driving_force("A")),
            (many.power("A")[k], alone.power("A")),
            *((many.reactions(j)[k], alone.reactions(j)) for j in ("A", "B", "D")),
        ):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8 * max(1.0, np.abs(b).max()))


def test_forces_of_variants_with_a_freedom_left_are_refused():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    many = da.sweep_many(system, {"A": np.linspace(x["A"], x["A"] + 0.1, 3)}, n=2, guess=x)
    assert np.isfinite(many.position(list(system.layout.bodies)[-1])).all()
    with pytest.raises(da.ArgumentError, match="freedom"):
        many.driving_force("A")


def test_an_ensemble_answers_as_its_runs_do():
    system = varied()
    t = np.linspace(0.0, 0.3, 5)
    guess = system.assemble({"A": 0.6}, guess={"D": 1.2})
    runs = da.ensemble(system, {"A": [0.6, 0.7]}, 0.3, p={"l1": [0.2, 0.22]}, guess=guess, t_eval=t, workers=1)
    body = list(system.layout.mechanism.bodies)[-1]
    for k in range(2):
        run = runs.run(k).resampled(t)
        np.testing.assert_allclose(runs.position(body)[k], run.position(body), atol=1e-8)
        np.testing.assert_allclose(runs.energy[k], run.energy, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(runs.reactions("A")[k], run.reactions("A"), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(runs.state(k, 2).q, run.q[2], atol=1e-8)


def test_an_ensemble_with_a_controller_says_that_its_forces_are_not_kept():
    system = zoo.cart_pole().compile()
    up = system.state(*zoo.cart_pole_start())
    runs = da.ensemble(system, [up, up], 0.05, u=da.lqr(da.linearize(system, up)), workers=1)
    assert runs.energy.shape == (2,)
    with pytest.raises(da.ArgumentError, match="controller"):
        runs.reactions("cart")


def test_static_forces_of_many_states_are_those_of_each():
    """Positions of a sweep × two loads: inputs and reactions of the loader, one position at a time."""
    system = zoo.loader().compile()
    x = system.state(*zoo.loader_start())
    places = [x, system.state(*zoo.loader_start(0.05))]
    loads = [{}, {"bucket": (0, 0, -1e4)}]
    many = da.static_forces(system, places, loads)
    assert many["lift"].shape == (2, 2)
    joint = next(iter(system.layout.joints))
    for k, place in enumerate(places):
        one = da.static_forces(system, place, loads)
        np.testing.assert_array_equal(many.u[k], one.u)
        np.testing.assert_array_equal(many.reactions(joint)[k], one.reactions(joint))
        np.testing.assert_allclose(many.position("bucket")[k], one.position("bucket"))
    assert len(many.to_pandas()) == 4


def test_static_forces_along_a_sweep_are_its_driving_force():
    """A pendulum held in slow motion: the motor's torque is m g l cos A, and the sweep's driving force at rest."""
    m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=2.0, com=(0.5, 0, 0)))
    m.add_motor("drive", "A")
    system, angles = m.compile(), np.linspace(-1.0, 1.0, 5)
    slow = system.sweep({"A": angles})
    held = da.static_forces(system, slow)
    np.testing.assert_allclose(held["drive"][:, 0], 2.0 * 10.0 * 0.5 * np.cos(angles), rtol=1e-12)
    np.testing.assert_allclose(held["drive"][:, 0], slow.driving_force("A"), rtol=1e-12)


def test_an_equilibrium_carries_what_statics_say():
    system = zoo.loader().compile()
    x = system.state(*zoo.loader_start())
    rest, forces = da.equilibrium(system, x, solve_for="u"), da.static_forces(system, x)
    for joint in system.layout.joints:
        W = forces.reactions(joint)[0]
        np.testing.assert_allclose(rest.reactions(joint), W, atol=1e-6 * max(1.0, np.abs(W).max()))


def test_a_regulator_written_as_json_gives_the_same_inputs(tmp_path):
    system = zoo.cart_pole().compile()
    up = system.state(*zoo.cart_pole_start())
    law = da.lqr(da.linearize(system, up), {"cart": 1.0, "phi1": 10.0}, 0.1, limits={"push": (-50.0, np.inf)})
    law.save(tmp_path / "law.json")
    told = json.loads(
        (tmp_path / "law.json").read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON")
    )
    x = up.replace(q=up.q + 0.01, v=up.v + 0.02)
    now = {**{n: x.q[k] - told["q"][n] for k, n in enumerate(system.q_names)}}
    rates = {f"{n}": x.v[k] - told["v"][n] for k, n in enumerate(system.v_names)}
    names = list(law.model.positions), list(law.model.velocities)
    deviation = [*(now[n] for n in names[0]), *(rates[n] for n in names[1])]
    assert len(told["states"]) == len(deviation)
    np.testing.assert_allclose([told["u"]["push"]] - np.array(told["K"]) @ deviation, law(0.0, x), rtol=1e-12)
    assert told["limits"] == [[-50.0, None]]


def chain():
    m = da.Mechanism("chain", gravity=(0, -9.81, 0))
    last = m.ground
    for k in range(4):
        link = m.add_body(f"link {k}", mass=1.0, com=(0, -0.5, 0), inertia=(0.1, 0.1, 0.1))
        m.add_joint(f"j{k}", da.Revolute("z"), last if k == 0 else last.at(0, -1, 0), link, damping=0.3 + 0.1 * k)
        last = link
    m.add_motor("motor", "j0")
    return m.compile()


@pytest.mark.parametrize("step", [None, 0.05])
def test_a_reduced_model_errs_by_less_than_twice_its_lost_singular_values(step):
    """Glover's bound: |G(jω) − G_r(jω)| <= 2 Σ σ of what is left out, at all frequencies; none lost, none missing."""
    system = chain()
    model = da.linearize(system, system.state({}), outputs=["j3"])
    model = model if step is None else model.discretize(step)
    w = model.frequencies()
    G = model.frequency_response(w)
    np.testing.assert_allclose(model.reduce(8).frequency_response(w), G, rtol=1e-6, atol=1e-9 * np.abs(G).max())
    for states in (2, 4, 6):
        less = model.reduce(states)
        assert less.A.shape == (states, states)
        error = np.abs(less.frequency_response(w) - G).max()
        assert 0.0 < error <= 2.0 * less.reduction.left_out.sum() * (1 + 1e-9)
        assert error >= less.reduction.left_out[0] * (1 - 1e-6) * 0.1


def test_what_does_not_decay_stays_in_a_reduced_model():
    system = zoo.cart_pole().compile()
    up = system.state(*zoo.cart_pole_start())
    model = da.linearize(system, up, outputs=["phi1"])
    growing = model.eigenvalues[model.eigenvalues.real > -1e-9]
    less = model.reduce(len(growing))
    np.testing.assert_allclose(np.sort_complex(less.eigenvalues), np.sort_complex(growing), atol=1e-6)
    assert less.deviation(up.replace(q=up.q + 0.01)).shape == (len(growing),)
    with pytest.raises(da.ArgumentError, match="do not decay"):
        model.reduce(len(growing) - 1)
