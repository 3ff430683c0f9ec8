"""`da.optimize`: dimensions that made a path come back; limits hold."""

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, minimize
from test_design import TRUE, coupler_mechanism, turned

import dalembert as da

ANGLES = np.linspace(0.0, 5.8, 12)
GUESS = {"A": 0.0, "B": 0.4, "D": 1.4}
FIRST = {"l1": 0.44, "l2": 1.18, "l3": 0.97, "px": 0.55, "py": 0.45}


def wanted(system, p):
    path = [system.assemble({"A": ANGLES[0]}, guess=GUESS, p=p)]
    for angle in ANGLES[1:]:
        path.append(system.assemble({"A": angle}, guess=path[-1], p=p))
    return np.array([x.position("P") for x in path])


def start(system):
    return system.with_parameters(dict(zip(TRUE, FIRST.values())))


def test_a_path_gives_back_the_dimensions_that_made_it():
    system = coupler_mechanism()
    points = wanted(system, TRUE)
    found = da.optimize(start(system), list(TRUE), {"A": ANGLES}, {"position:P": points}, guess=GUESS)
    assert found.success
    np.testing.assert_allclose(found.estimate, list(TRUE.values()), atol=1e-8)
    assert found.error < 1e-9
    assert len(found.states) == len(ANGLES)
    np.testing.assert_allclose([x.position("P") for x in found.states], points, atol=1e-8)


def test_a_limit_on_the_transmission_angle_holds_and_the_optimum_is_that_of_another_method():
    """IPOPT here, sequential quadratic programming beside it."""
    system = start(coupler_mechanism())
    points, least = wanted(system, TRUE)[:, :2], np.sin(np.radians(55.0))
    target = {"position:P@x": points[:, 0], "position:P@y": points[:, 1]}
    sine = lambda s: ca.sin(s["D"] - s["A"] - s["B"])  # noqa: E731
    names = ["l1", "l2", "l3"]
    free = da.optimize(system, names, {"A": ANGLES}, target, limits={"sine": (sine, -1.0, None)}, guess=GUESS)
    assert free.limited["sine"].min() < least - 1e-3
    found = da.optimize(system, names, {"A": ANGLES}, target, limits={"sine": (sine, least, None)}, guess=GUESS)
    assert found.success
    assert found.limited["sine"].min() == pytest.approx(least, abs=1e-6)

    def states(x):
        p, path = dict(zip(names, x)), []
        for angle in ANGLES:
            path.append(system.assemble({"A": angle}, guess=path[-1] if path else GUESS, p=p))
        return p, path

    def miss(x):
        _, path = states(x)
        return 0.5 * ((np.array([y.position("P") for y in path])[:, :2] - points) ** 2).sum()

    def angle(x):
        return np.array([np.sin(y["D"] - y["A"] - y["B"]) for y in states(x)[1]])

    other = minimize(
        miss, found.estimate * 1.001, method="SLSQP", constraints=NonlinearConstraint(angle, least, np.inf),
        options={"ftol": 1e-12, "eps": 1e-7},
    )  # fmt: skip
    assert miss(found.estimate) <= other.fun * (1.0 + 1e-3)


def test_random_starts_find_what_the_first_one_misses():
    system = coupler_mechanism().with_parameters(l1=0.15, l2=2.0, l3=1.9, px=-0.4, py=-0.5)
    points = wanted(coupler_mechanism(), TRUE)
    bounds = {n: (0.5 * x, 1.6 * x) for n, x in TRUE.items()}
    found = da.optimize(system, bounds, {"A": ANGLES}, {"position:P": points}, guess=GUESS, attempts=4, seed=1)
    np.testing.assert_allclose(found.estimate, list(TRUE.values()), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": {"l9": (0, 1)}}, "l9"),
        ({"parameters": {"l1": (1, 0)}}, "in this order"),
        ({"along": {}}, "needed: {coordinate"),
        ({"target": {}}, "target is empty"),
        ({"target": {"D": [1.0]}}, r"has shape \(1,\)"),
        ({"limits": {"D": (0, 1)}}, "needed: \\(quantity, least, greatest\\)"),
        ({"attempts": 3}, "between their bounds"),
        ({"along": {"A": np.linspace(0.0, 1.0, 3)}, "system": {"l2": 0.1, "l3": 0.1}}, "cannot be led"),
    ],
)
def test_what_cannot_be_designed_is_refused_with_the_reason(change, message):
    system = coupler_mechanism().with_parameters(change.pop("system", {}))
    given = {"parameters": ["l1"], "along": {"A": np.linspace(0.0, 1.0, 3)}, "target": {"D": [1.4, 1.5, 1.6]}, **change}
    with pytest.raises(da.DalembertError, match=message):
        da.optimize(system, **given, guess=GUESS)


def test_states_of_the_design_are_those_of_the_branch_that_was_meant():
    system = coupler_mechanism()
    found = da.optimize(start(system), list(TRUE), {"A": ANGLES}, {"position:P": wanted(system, TRUE)}, guess=GUESS)
    for ours, theirs in zip(found.states[:1], turned(system, found.values)[:1]):
        assert abs(ours["D"] - theirs["D"]) < 1.0
