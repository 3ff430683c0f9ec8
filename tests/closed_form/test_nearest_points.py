"""Where shapes are nearest: against SciPy's distance of convex sets; parallel, flat and overlapping ones."""

from __future__ import annotations

import itertools
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from dalembert.mechanism.contacts.nearest import LOWEST, PAIRS, Core, Side

SIZES = {
    Core.POINT: (),
    Core.SEGMENT: (0.8,),
    Core.BOX: (0.6, 0.9, 0.3),
    Core.CYLINDER: (0.4, 0.7),
    Core.DISC: (0.4,),
    Core.ELLIPSOID: (0.3, 0.5, 0.2),
}


def within(core: Core) -> list:
    """Functions of a point in the axes of a core that are ≥ 0 within it, and = 0 where it is flat."""
    s = SIZES[core]
    if core is Core.POINT:
        return [("eq", lambda x: x)]
    if core is Core.SEGMENT:
        return [("eq", lambda x: x[:2]), ("ineq", lambda x: [s[0] / 2 - x[2], s[0] / 2 + x[2]])]
    if core is Core.BOX:
        return [("ineq", lambda x: [*(np.array(s) / 2 - x), *(np.array(s) / 2 + x)])]
    if core is Core.ELLIPSOID:
        return [("ineq", lambda x: 1 - sum((x / s) ** 2))]
    round_ = ("ineq", lambda x: s[0] ** 2 - x[0] ** 2 - x[1] ** 2)
    if core is Core.DISC:
        return [round_, ("eq", lambda x: x[2])]
    return [round_, ("ineq", lambda x: [s[1] / 2 - x[2], s[1] / 2 + x[2]])]


@cache
def nearest(a: Core, b: Core) -> ca.Function:
    """(o, R of both) → distance, n, the points, and the slopes of the distance by both places."""
    o, p, R, S = ca.SX.sym("o", 3), ca.SX.sym("p", 3), ca.SX.sym("R", 3, 3), ca.SX.sym("S", 3, 3)
    x = PAIRS[a, b](Side(o, R, SIZES[a]), Side(p, S, SIZES[b]))
    places = ca.vertcat(o, ca.vec(R), p, ca.vec(S))
    first = ca.gradient(x.distance, places)
    return ca.Function("nearest", [o, R, p, S], [x.distance, x.n, x.a, x.b, first, ca.jacobian(first, places)])


def numbers(f, *given):
    return [np.array(x).squeeze() for x in f(*given)]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " ".join(core.name.lower() for core in pair))
def test_the_distance_is_that_of_the_convex_sets(pair):
    """Also: both points belong to the cores, the line between them is along n, and ∂(distance)/∂o is n."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        places = [(rng.normal(size=3), Rotation.random(random_state=rng).as_matrix()) for _ in range(2)]
        rules = []
        for k, (core, (o, R)) in enumerate(zip(pair, places)):
            for kind, rule in within(core):
                local = lambda x, k=k, o=o, R=R, rule=rule: rule(R.T @ (x[3 * k : 3 * k + 3] - o))  # noqa: E731
                rules.append({"type": kind, "fun": local})
        start = np.concatenate([o for o, _ in places])
        found = minimize(
            lambda x: 0.5 * np.sum((x[:3] - x[3:]) ** 2), start, constraints=rules, options={"ftol": 1e-15}
        )
        (o, R), (p, S) = places
        distance, n, a, b, first, _ = numbers(nearest(*pair), o, R, p, S)
        if distance < 0.02:
            assert np.sqrt(2 * found.fun) < 0.03
            continue
        assert distance == pytest.approx(np.sqrt(2 * found.fun), rel=1e-5)
        np.testing.assert_allclose(a - b, distance * n, atol=1e-12)
        for x, core, (c, T) in zip((a, b), pair, places):
            for kind, rule in within(core):
                value = np.atleast_1d(rule(T.T @ (x - c)))
                assert (abs(value) < 1e-12).all() if kind == "eq" else (value > -1e-12).all()
        np.testing.assert_allclose(first[:3], n, atol=1e-9)
        np.testing.assert_allclose(first[12:15], -n, atol=1e-9)


@pytest.mark.parametrize("core", LOWEST)
def test_the_lowest_point_is_that_of_the_convex_set(core):
    rng = np.random.default_rng(5)
    for _ in range(6):
        R, n = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
        n /= np.linalg.norm(n)
        own = R.T @ n
        rules = [{"type": kind, "fun": rule} for kind, rule in within(core)]
        found = minimize(lambda x, n=own: n @ x, -0.1 * own, constraints=rules, options={"ftol": 1e-14})
        o = rng.normal(size=3)
        x = np.array(ca.DM(ca.evalf(LOWEST[core](Side(ca.SX(o), ca.SX(R), SIZES[core]), ca.SX(n))))).ravel()
        assert n @ (x - o) == pytest.approx(found.fun, abs=1e-7)


def test_parallel_segments_touch_in_the_middle_of_what_they_have_beside_each_other():
    """To rounding, in either sense, and with finite slopes and curvatures there."""
    R = Rotation.from_euler("xyz", (0.3, -0.2, 0.9)).as_matrix()
    for sense, shift in itertools.product((1.0, -1.0), (0.0, 0.3, -0.5)):
        S = R @ np.diag([1.0, sense, sense])
        p = R @ [0.2, 0.0, shift]
        distance, n, a, b, *slopes = numbers(nearest(Core.SEGMENT, Core.SEGMENT), np.zeros(3), R, p, S)
        np.testing.assert_allclose(R.T @ a, [0, 0, shift / 2], atol=1e-3)
        np.testing.assert_allclose(R.T @ b, [0.2, 0, shift / 2], atol=1e-3)
        assert distance == pytest.approx(0.2, rel=1e-7)
        np.testing.assert_allclose(R.T @ n, [-1, 0, 0], atol=1e-6)
        assert all(np.isfinite(x).all() for x in slopes)


def test_segments_in_one_line_touch_at_their_ends():
    distance, n, *_ = numbers(nearest(Core.SEGMENT, Core.SEGMENT), [0, 0, 1.0], np.eye(3), [0, 0, 0.0], np.eye(3))
    assert distance == pytest.approx(0.2, rel=1e-12)
    np.testing.assert_allclose(n, [0, 0, 1.0])


@pytest.mark.parametrize("core", [Core.BOX, Core.CYLINDER])
def test_within_a_box_or_a_cylinder_the_normal_leads_out_by_the_nearest_face(core):
    """A little inside a face and on it the distance goes on as outside, and all derivatives are finite."""
    height = SIZES[core][-1] / 2
    for z in (1e-3, 0.0, -1e-3):
        distance, n, _, b, first, second = numbers(
            nearest(Core.POINT, core), [0.0, 0.0, height + z], np.eye(3), np.zeros(3), np.eye(3)
        )
        assert distance == pytest.approx(z, abs=1e-15)
        np.testing.assert_allclose(n, [0, 0, 1.0])
        np.testing.assert_allclose(first[:3], n)
        np.testing.assert_allclose(b, [0, 0, height])
        assert np.isfinite(second).all()


def test_a_disc_that_is_flat_touches_at_its_centre_and_has_finite_slopes():
    o, R, n = ca.SX.sym("o", 3), ca.SX.sym("R", 3, 3), ca.SX.sym("n", 3)
    height = ca.dot(n, LOWEST[Core.DISC](Side(o, R, (0.4,)), n))
    f = ca.Function("f", [o, R, n], [height, ca.gradient(height, ca.vec(R)), ca.hessian(height, o)[0]])
    flat, slopes, _ = numbers(f, [0, 0, 0.2], np.eye(3), [0, 0, 1.0])
    assert flat == pytest.approx(0.2)
    assert np.isfinite(slopes).all()
    lean = 0.3
    tilted = Rotation.from_euler("x", lean).as_matrix()
    assert numbers(f, [0, 0, 0.2], tilted, [0, 0, 1.0])[0] == pytest.approx(0.2 - 0.4 * np.sin(lean), rel=1e-12)
