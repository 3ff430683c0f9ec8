"""Joint axes that are parameters: the same mechanism as with numbers in their place, wherever they point."""

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanism.joints.numeric import axes_at_defaults

#: across the plane in which the way to turn z to the axis changes, against z and beside it
AXES = [(0.3, -0.2, -2), (-1, 1, 0), (-1, 1, -1e-9), (0, 0, -1), (1e-9, 0, -1)]
JOINTS = {
    "revolute": da.Revolute,
    "prismatic": da.Prismatic,
    "cylindrical": da.Cylindrical,
    "screw": lambda axis: da.Screw(axis, pitch=0.1),
}


def mechanism(joint, axis, close=None):
    """A floating body and another on a joint; close: the pose of the second, where a joint holds it to the ground."""
    m = da.Mechanism(gravity=(0.3, -0.2, -9.81))
    n = m.add_parameter("n", (1.0, 0.5, 0.2)) if axis is None else np.array(axis, dtype=float)
    a = m.add_body("a", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5))
    m.add_joint("A", da.Free(), m.ground, a)
    b = m.add_body("b", mass=2.0, com=(-0.1, 0.2, 0), inertia=(0.3, 0.2, 0.25))
    m.add_joint("B", joint(n), a.at(0.5, 0, 0, rotation=da.rotation("x", 0.3)), b.at(0, 0.2, 0))
    if close is not None:
        m.close_loop("C", joint(n), m.ground.at(*close[:3, 3], rotation=close[:3, :3]), b)
    return m.compile("casadi")


def at(system, seed=0):
    rng = np.random.default_rng(seed)
    q, v = system.state().q + rng.normal(size=system.nq), rng.normal(size=system.nv)
    return system.state(q / np.where(np.arange(system.nq) < 4, np.linalg.norm(q[:4]), 1.0), v)


@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_moves_about_its_axis_of_parameters_as_about_one_of_numbers(kind):
    joint = JOINTS[kind]
    for axis in AXES:
        p, x = {"n": axis}, at(mechanism(joint, axis))
        close = mechanism(joint, axis).pose(x, "b")
        general, fixed = mechanism(joint, None, close), mechanism(joint, axis, close)
        y = general.state(x.q, x.v)
        np.testing.assert_allclose(general.pose(y, "b", p=p), fixed.pose(x, "b"), atol=1e-13)
        np.testing.assert_allclose(general.mass_matrix(y, p=p), fixed.mass_matrix(x), atol=1e-12)
        np.testing.assert_allclose(general.bias(y, p=p), fixed.bias(x), atol=1e-11)
        A, B = general.constraint_matrix(y, p=p), fixed.constraint_matrix(x)
        projectors = [np.linalg.pinv(C) @ C for C in (A, B)]  # own axes across the joint's may differ
        np.testing.assert_allclose(*projectors, atol=1e-9)
        np.testing.assert_allclose(general.residuals(y, p=p), 0, atol=1e-12)


def test_the_axes_of_a_universal_joint_may_be_parameters():
    m = da.Mechanism()
    n = m.add_parameter("n", (1.0, 0.5, 0.0))
    m.add_joint("U", da.Universal(n, (-n[1], n[0], 0)), m.ground, m.add_body("b", mass=1.0, com=(1, 2, 3)))
    general = m.compile("casadi")
    for axis in ((3.0, 4.0, 0.0), (0.0, -1.0, 0.0)):
        m = da.Mechanism()
        joint = da.Universal(axis, (-axis[1], axis[0], 0))
        m.add_joint("U", joint, m.ground, m.add_body("b", mass=1.0, com=(1, 2, 3)))
        fixed, q = m.compile("casadi"), {"U": (0.3, -0.7)}
        np.testing.assert_allclose(general.pose(q, "b", p={"n": axis}), fixed.pose(q, "b"), atol=1e-14)
        np.testing.assert_allclose(general.mass_matrix(q, p={"n": axis}), fixed.mass_matrix(q), atol=1e-13)


def test_axes_that_are_none_at_the_default_parameters_are_refused():
    m = da.Mechanism()
    n, other = m.add_parameter("n", (0.0, 0.0, 0.0)), da.Mechanism().add_parameter("k", 1.0)
    body = m.add_body("b", mass=1.0)
    with pytest.raises(da.DescriptionError, match=r"the axis of joint 'A' is \[0.0, 0.0, 0.0\]"):
        m.add_joint("A", da.Revolute(n), m.ground, body)
    with pytest.raises(da.DescriptionError, match="which is no parameter"):
        m.add_joint("A", da.Revolute((other, 0, 1)), m.ground, body)
    with pytest.raises(da.DescriptionError, match="needed: three numbers or expressions"):
        da.Revolute((other, 1))
    k = m.add_parameter("k", 1.0)
    with pytest.raises(da.DescriptionError, match="meet at 45°"):
        m.add_joint("A", da.Universal((k, 0, 0), (k, k, 0)), m.ground, body)
    with pytest.raises(da.DescriptionError, match="is \\(0, 0, 0\\) at the default parameters"):
        m.add_point_on_line("l", body, m.ground, axis=n)


def test_formats_and_pictures_without_parameters_take_the_default_axes(tmp_path):
    m = da.Mechanism("wing")
    n = m.add_parameter("n", (0.0, 3.0, 4.0))
    m.add_joint("A", da.Revolute(n), m.ground, m.add_body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1)))
    np.testing.assert_allclose(axes_at_defaults(m).joints["A"].joint.axis, [0, 0.6, 0.8])
    x, truth = {"A": 0.7}, m.compile("casadi")
    for suffix in ("urdf", "sdf"):
        m.save(tmp_path / f"wing.{suffix}")
        again = da.read(tmp_path / f"wing.{suffix}").compile("casadi")
        np.testing.assert_allclose(again.mass_matrix(x), truth.mass_matrix(x), atol=1e-12)
        np.testing.assert_allclose(again.bias(x), truth.bias(x), atol=1e-12)


def test_arrays_of_numbers_and_parameters_are_taken():
    """NumPy's arithmetic on points leaves arrays of floats and expressions."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    point = np.array([0.0, -1.0, 0.0]).astype(object)
    point[1] = -m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(point - np.zeros(3)) / 1.0))
    a = m.compile().acceleration({"A": 0.3}, p={"length": 2.0}).vdot
    np.testing.assert_allclose(a, -9.81 / 2.0 * np.sin(0.3), rtol=1e-14)
