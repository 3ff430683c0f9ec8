"""The same motion by every formulation, stabilization, coordinates and method that may stand together."""

from functools import cache
from itertools import product

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.formulations import FORMULATIONS
from random_loops import random_closed

SEEDS = 1, 2, 3, 5  # 3 floats; all have redundant rows
T = 2.0
STABILIZATIONS = {
    "none": "none",
    "baumgarte": "baumgarte",
    "projection": "projection",
    "energy": "energy",
    "frozen": da.Projection(directions="frozen"),
    "frozen, four corrections, Euclidean": da.Projection(directions="frozen", corrections=4, metric="euclidean"),
    "every fifth": da.Projection(every=5),
    "Euclidean": da.Projection(metric="euclidean"),
    "positions only": da.Projection(velocities=False),
}


@cache
def problem(seed):
    """A random closed mechanism, calm enough to be predicted for two seconds, and its motion."""
    system, x = random_closed(seed, bodies=5, loops=1)
    x = system.project(x.replace(v=0.3 * x.v))
    return system, x, da.simulate(system, x, T, rtol=1e-12, atol=1e-13)


def assert_agrees(run, exact, tolerance=1e-6):
    assert run.success, run.message
    scale = 1.0 + np.abs(exact.v).max()
    np.testing.assert_allclose(run.q[-1], exact.q[-1], rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(run.v[-1], exact.v[-1], rtol=0, atol=10 * tolerance * scale)


def energy_scale(run):
    return 1.0 + np.ptp(run.kinetic_energy)


def on_two_mechanisms(names):
    """Each name with the floating mechanism and, by turns, one of the others."""
    return [(name, seed) for k, name in enumerate(names) for seed in (3, (1, 2, 5)[k % 3])]


@pytest.mark.parametrize(("name", "seed"), on_two_mechanisms(STABILIZATIONS))
def test_stabilizations_agree_and_keep_what_they_promise(seed, name):
    """Projection: rounding. Every fifth, or velocities left: what a few steps leave. None, Baumgarte: the tolerance."""
    system, x, exact = problem(seed)
    run = da.simulate(system, x, T, stabilization=STABILIZATIONS[name])
    assert_agrees(run, exact)
    assert np.abs(run.energy_error).max() < 1e-6 * energy_scale(run)
    if name == "energy":
        assert np.abs(run.energy_error).max() < 1e-11 * energy_scale(run)
    if name in ("projection", "energy", "frozen, four corrections, Euclidean", "Euclidean", "positions only"):
        assert run.residuals.max() < 1e-12
    assert run.residuals.max() < 1e-6
    if name in ("projection", "energy", "Euclidean", "every fifth"):
        assert run.speed_residuals[run.residuals < 1e-12].max() < 1e-11
    if name not in ("none", "baumgarte", "every fifth"):
        for joint in (j for j, a in system.layout.joints.items() if isinstance(a.joint, (da.Spherical, da.Free))):
            np.testing.assert_allclose(np.linalg.norm(run[joint][:, :4], axis=1), 1.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("formulation", "seed"), on_two_mechanisms(FORMULATIONS))
def test_formulations_agree_on_redundant_mechanisms(seed, formulation):
    """Runs leave rows out that depend on others for good, so that "lagrange" and "augmented" can take part too."""
    system, x, exact = problem(seed)
    run = da.simulate(system, x, T, formulation=formulation, rtol=1e-8, atol=1e-9)
    assert_agrees(run, exact, 1e-5)
    assert run.steps < exact.steps
    assert run.residuals.max() < 1e-12


METHODS = {
    "dop853": {},
    "dopri5": {},
    "rk4": {"step": 0.002},
    "sdirk4": {"rtol": 1e-7, "atol": 1e-8},
}


@pytest.mark.parametrize("formulation", ["auto", *FORMULATIONS])
def test_every_formulation_stands_with_every_stabilization_and_method(formulation):
    """On a loop of quaternion and other joints without redundant rows, so that all formulations may take part."""
    system, x = random_closed(2, bodies=4, loops=1, redundant=False)
    x = system.project(x.replace(v=0.3 * x.v))
    exact = da.simulate(system, x, 0.4, rtol=1e-12, atol=1e-13)
    for stabilization in STABILIZATIONS.values():
        for method, options in METHODS.items():
            run = da.simulate(
                system, x, 0.4, formulation=formulation, stabilization=stabilization, method=method, **options
            )
            assert_agrees(run, exact)
            assert run.residuals.max() < 1e-6


@pytest.mark.parametrize("turn", range(3))
def test_five_seconds_by_every_formulation_stabilization_and_method(turn):
    """Too long to predict to many digits, so the invariants are looked at: closure and energy.

    Three mechanisms share the combinations: each pair of choices meets every mechanism.
    """
    system, x = random_closed((2, 5, 7)[turn], bodies=4, loops=1, redundant=False, backend="native")
    x = system.project(x.replace(v=0.3 * x.v))
    choices = product(enumerate(("auto", *FORMULATIONS)), enumerate(STABILIZATIONS), enumerate(METHODS))
    for (i, formulation), (j, name), (k, method) in choices:
        if (i + j + k) % 3 != turn:
            continue
        options = {"stabilization": STABILIZATIONS[name], "method": method, **METHODS[method]}
        run = da.simulate(system, x, 5.0, formulation=formulation, **options)
        where = formulation, name, method
        assert run.success, where
        assert run.t[-1] == 5.0
        assert run.residuals.max() < (1e-5 if name in ("none", "baumgarte") else 1e-8), where
        assert np.abs(run.energy_error).max() < 1e-5 * energy_scale(run), where
        if name in ("projection", "energy", "Euclidean"):
            assert run.residuals.max() < 1e-12, where


@pytest.mark.parametrize(
    ("seed", "method", "coordinates"),
    [
        *((seed, "dop853", "tangent") for seed in SEEDS),
        (1, "dop853", "partition"),
        (1, "sdirk4", "partition"),
        (1, "sdirk4", "tangent"),
    ],
)
def test_few_coordinates_give_the_motion_of_all(seed, method, coordinates):
    """Quaternions cannot lead: "partition" is for the first mechanism only, which has none."""
    system, x, exact = problem(seed)
    options = {"rtol": 1e-6, "atol": 1e-7} if method == "sdirk4" else {}
    run = da.simulate(system, x, T, coordinates=coordinates, method=method, **options)
    assert_agrees(run, exact, 1e-4 if method == "sdirk4" else 1e-6)
    assert run.residuals.max() < 1e-12
    assert run.speed_residuals.max() < 1e-11


def test_the_users_own_coordinates_give_the_same_motion():
    """The four-bar's coupler point height and others: y = sin of the crank's half angle is as good as the crank."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    exact = da.simulate(system, x, T, rtol=1e-12, atol=1e-13)
    own = da.Chart(lambda q, y: y - 2.0 * q[0] - 0.3 * ca.sin(q[0]), [1.0])
    for coordinates in (own, "A", ["A"], "partition", "tangent"):
        assert_agrees(da.simulate(system, x, T, coordinates=coordinates), exact, 1e-7)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_formulations_and_singular_positions(formulation):
    """Spencer's example 2 up to its second singular position: next to it all give way to steps that reveal the rank."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    exact = da.simulate(system, x, 1.95, t_eval=[0.0, 1.0, 1.95], rtol=1e-11, atol=1e-12)
    run = da.simulate(system, x, 1.95, formulation=formulation, rtol=1e-9, atol=1e-10)
    assert run.success, run.message
    np.testing.assert_allclose(run.q[-1], exact.q[-1], rtol=0, atol=1e-4)
    assert len(run.passages) == 2
    for passage, t in zip(run.passages, (0.6508151444, 1.8537909737)):
        assert passage.start <= t <= passage.end
        assert passage.nearest == pytest.approx(t, abs=1e-6)
        assert passage.distance < 1e-7
        assert passage.met


def test_baumgarte_holds_a_drift_that_no_stabilization_lets_grow():
    """Coarse steps for a long time: feedback bounds the drift at the level of one of its time constants."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    options = {"method": "rk4", "step": 0.01}
    none, held = (da.simulate(system, x, 20.0, stabilization=s, **options).residuals for s in ("none", "baumgarte"))
    assert none[-1] > 20 * held.max()
    assert held[1000:].max() < 2 * held[:1000].max()
    named = da.simulate(system, x, 2.0, stabilization="baumgarte", formulation="lagrange", **options).residuals
    np.testing.assert_allclose(named, held[:201], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_tree_has_no_singular_positions_in_any_formulation(name):
    system = zoo.chain(2).compile()
    x = system.state({"J1": 0.3}, v={"J2": 1.0})
    run, plain = (da.simulate(system, x, 0.5, formulation=formulation) for formulation in (name, "auto"))
    assert run.success
    np.testing.assert_allclose(run.q[-1], plain.q[-1], atol=1e-9)


def test_a_tangent_chart_without_any_motion():
    """A skate across the one way that positions have left: one coordinate, no velocity."""
    m = da.Mechanism("stuck")
    sledge = m.add_body("sledge", mass=1.0)
    m.add_joint("slide", da.Prismatic("x"), m.ground, sledge)
    m.add_skate("blade", sledge.at(), sideways="x")
    system = m.compile()
    run = da.simulate(system, {"slide": 0.5}, 0.1, coordinates="tangent")
    assert run.success
    assert run.y.shape[1] == 1
    assert run.y_rate.shape[1] == 0
    assert run["slide"][-1] == 0.5
