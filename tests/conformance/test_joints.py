"""Every registered joint type answers its questions consistently. A new joint is tested by registering it."""

import casadi as ca
import numpy as np
import pytest

from dalembert.mechanism.joints import JOINT_TYPES, Revolute
from dalembert.spatial import Transform
from dalembert.symbols import array, symbols, to_sx
from random_mechanisms import random_joint

CASES = [(kind, seed) for kind in JOINT_TYPES for seed in range(3)]


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0].__name__}-{c[1]}")
def case(request):
    kind, seed = request.param
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, kind)
    q = joint.plus(array(joint.neutral()), array(rng.uniform(-2, 2, joint.nv))).astype(float)
    return joint, q, rng.normal(size=joint.nv), rng


def rate(joint, q, v, f):
    """d/dt f(q ⊕ t v) at t = 0, by AD of the traced joint."""
    t, tt = symbols("t", 1)
    value = to_sx(f(joint.plus(array(q), array(v) * tt[0])))
    out = np.array(ca.Function("rate", [t], [ca.jacobian(ca.vec(value), t)])(0))
    return out.reshape(value.shape, order="F")


def test_names_match_sizes(case):
    joint, q, v, _ = case
    assert len(joint.coordinate_names) == joint.nq == len(q)
    assert len(joint.velocity_names) == joint.nv == len(joint.angular) == len(v)
    assert joint.screws(array(q)).shape == (6, joint.nv)
    assert joint.transform(array(joint.neutral())).matrix().astype(float) == pytest.approx(np.eye(4), abs=1e-15)
    R = joint.orientation.astype(float)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)


def test_screws_are_the_body_fixed_derivative_of_the_transform(case):
    """T⁻¹ Ṫ = [S v] (Spencer A.2.7)."""
    joint, q, v, _ = case
    T = joint.transform(array(q)).matrix().astype(float)
    W = np.linalg.solve(T, rate(joint, q, v, lambda x: joint.transform(x).matrix()))
    twist = [W[2, 1], W[0, 2], W[1, 0], *W[:3, 3]]
    np.testing.assert_allclose(joint.screws(array(q)).astype(float) @ v, twist, atol=1e-13)


def test_screw_rates_are_the_derivative_of_the_screws(case):
    joint, q, v, _ = case
    if joint.nv:
        expected = rate(joint, q, v, joint.screws).reshape(6, joint.nv)
        np.testing.assert_allclose(joint.screws_rate(array(q), array(v)).astype(float), expected, atol=1e-13)
        np.testing.assert_allclose(joint.bias(array(q), array(v)).astype(float), expected @ v, atol=1e-13)


def test_rates_are_the_derivative_of_plus(case):
    joint, q, v, _ = case
    expected = rate(joint, q, v, lambda x: x).ravel() if joint.nq else np.zeros(0)
    np.testing.assert_allclose(joint.rates(array(q), array(v)).astype(float), expected, atol=1e-14)


def test_small_motions_are_carried_along_as_transport_says(case):
    """δ̇ = δv − B δ: N δ is the difference of two neighbours that move with v and v + δv."""
    joint, q, v, rng = case
    delta, change = rng.normal(size=joint.nv), rng.normal(size=joint.nv)

    def gap(t):
        """δ after the time t, to second order in t, for a small δ."""
        size = 1e-6
        near = joint.plus(array(q), array(size * delta))
        moved = joint.plus(near, array(t * (v + size * change)))
        return joint.minus(moved, joint.plus(array(q), array(t * v))).astype(float) / size

    found = (gap(1e-3) - gap(-1e-3)) / 2e-3
    B = joint.transport(array(v)).astype(float)
    np.testing.assert_allclose(found, change - B @ delta, atol=2e-5 * (1 + np.abs(found).max(initial=0.0)))


def test_minus_undoes_plus_and_plus_composes_along_a_line(case):
    joint, q, v, _ = case
    x, d = array(q), array(v / max(np.linalg.norm(v), 1.0))
    np.testing.assert_allclose(joint.minus(joint.plus(x, d), x).astype(float), d.astype(float), atol=1e-14)
    twice = joint.plus(joint.plus(x, 0.4 * d), 0.6 * d)
    np.testing.assert_allclose(twice.astype(float), joint.plus(x, d).astype(float), atol=1e-14)
    np.testing.assert_allclose(
        joint.normalized(joint.plus(x, d).astype(float)), joint.plus(x, d).astype(float), atol=1e-14
    )


def test_numbers_and_symbols_give_the_same(case):
    joint, q, _, _ = case
    sx, x = symbols("q", joint.nq)
    f = ca.Function("T", [sx], [to_sx(joint.transform(x).matrix())])
    np.testing.assert_allclose(np.array(f(q)), joint.transform(array(q)).matrix().astype(float), atol=1e-15)


def test_the_axis_the_user_names_is_the_axis_of_motion(case):
    """Turned to the user's frame, one-axis joints turn about or slide along `axis`."""
    joint, q, _, _ = case
    if hasattr(joint, "axis"):
        T = joint.transform(array(q))
        turn = Transform(joint.orientation, array(np.zeros(3)))
        U = (turn @ T @ turn.inverse()).matrix().astype(float)
        np.testing.assert_allclose(U[:3, :3] @ joint.axis, joint.axis, atol=1e-14)
        if joint.kind == "planar":
            assert U[:3, 3] @ joint.axis == pytest.approx(0, abs=1e-14)
        else:
            np.testing.assert_allclose(np.cross(U[:3, 3], joint.axis), 0, atol=1e-14)


@pytest.mark.parametrize("tilt", [0.0, 1e-200, 1e-12, 1e-9, 1e-6, 8e-4, 0.1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_axes_close_to_z_are_turned_by_a_rotation(tilt, sign):
    joint = Revolute((tilt, -0.5 * tilt, sign))
    C = joint.orientation.astype(float)
    np.testing.assert_allclose(C @ C.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(C[:, 2], joint.axis, rtol=1e-15, atol=1e-15)
    assert np.linalg.det(C) > 0
