"""Loops that start on the wrong side: angles beyond a right one are led to the branch that is meant, at once."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.branch.reversed_axes import ReversedAxes
from dalembert.spatial import quaternion_exp, quaternion_matrix, rotation

JOINTS = {"fixed": da.Fixed(), "revolute": da.Revolute("y"), "prismatic": da.Prismatic((1.0, 2.0, 0.5))}


def closed_body(kind, rng):
    """A free body that a joint ties to the ground besides, at frames turned at random."""
    m = da.Mechanism("box")
    body = m.add_body("box", mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.2, 0.3, 0.4))
    m.add_joint("base", da.Free(), m.ground, body)
    a, b = (quaternion_matrix(quaternion_exp(rng.uniform(-2, 2, 3))).astype(float) for _ in "ab")
    m.close_loop("tie", JOINTS[kind], m.ground.at(0.3, 0, 0, rotation=a), body.at(0, 0.2, 0, rotation=b))
    return m.compile(), a, b


def placed(R, p):
    return np.block([[R, np.reshape(p, (3, 1))], [0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("seed", range(2))
def test_a_body_anywhere_is_brought_to_its_place_from_the_first_start(kind, seed):
    """Six orientations at random, and half a turn away about x, y and z exactly."""
    rng = np.random.default_rng(seed)
    system, a, b = closed_body(kind, rng)
    turns = [quaternion_matrix(quaternion_exp(rng.uniform(-3, 3, 3))).astype(float) for _ in range(6)]
    turns += [rotation(axis, np.pi).astype(float) for axis in "xyz"]
    for R in turns:
        start = system.state({"base": placed(a @ R @ b.T, rng.uniform(-1, 1, 3))})
        found = system.assemble(guess=start)
        assert np.abs(system.residuals(found)).max() < 1e-9
        assert system.evaluate("branch", found).min() > 0.999
        assert found.evidence.attempts == 1


@pytest.mark.parametrize("kind", JOINTS)
def test_rows_change_along_the_shortest_turn_as_is_said(kind):
    """By finite differences: turned a little along the way that closes, rows change by that part of what is wanted."""
    rng = np.random.default_rng(5)
    checked = 0
    system, a, b = closed_body(kind, rng)
    for _ in range(20):
        C = np.asarray(JOINTS[kind].orientation, dtype=float)
        R = quaternion_matrix(quaternion_exp(rng.uniform(-3, 3, 3))).astype(float)  # in the joint's own axes
        p = rng.uniform(-1, 1, 3)

        def at(R, p=p, C=C):
            return system.state({"base": placed(a @ C @ R @ C.T @ b.T, p)})

        rows = system.rows.angular & system.rows.holonomic
        if min(system.evaluate("branch", at(R))) >= 0.0:
            continue
        checked += 1
        x = at(R)
        away, change = ReversedAxes(system)(system.evaluate("constraints", x)[0], system.evaluate("branch", x))
        away, change = away[rows], change[rows]
        full = float(np.linalg.norm(away))
        if kind == "revolute":
            z = R[:, 2]
            axis = np.cross([0, 0, 1], z) / np.linalg.norm(np.cross([0, 0, 1], z))
            turn = -np.arccos(z[2]) * axis
        else:
            turn = -Rotation.from_matrix(R).as_rotvec()
        assert full == pytest.approx(np.linalg.norm(turn), rel=1e-9)
        h = 1e-6
        near = [quaternion_matrix(quaternion_exp(s * h * turn)).astype(float) @ R for s in (1, -1)]
        slope = (system.residuals(at(near[0])) - system.residuals(at(near[1])))[rows] / (2 * h)
        np.testing.assert_allclose(change, slope, rtol=0, atol=1e-8)
    assert checked > 5
