"""A loop is the same wherever it is mounted: same rows, same void ones, same structure; and the motion is right."""

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from random_mechanisms import random_inertia

MOUNTS = ("ground", "turned", "free", "arm")


def place(m: da.Mechanism, mount: str, rng: np.random.Generator) -> da.Frame:
    """Where the loops are mounted, any way round: on the ground as it is or turned, a free body, the tip of an arm."""
    if mount == "ground":
        return m.ground.at()
    turned = Rotation.random(None, rng).as_matrix()
    if mount == "turned":
        return m.ground.at(*rng.normal(size=3), rotation=turned)
    base = m.add_body("base", mass=4.0, com=rng.normal(size=3) * 0.1, inertia=random_inertia(rng))
    if mount == "free":
        m.add_joint("float", da.Free(), m.ground, base)
        return base.at(*rng.normal(size=3), rotation=turned)
    upper = m.add_body("upper", mass=2.0, com=(0.2, 0, 0), inertia=random_inertia(rng))
    m.add_joint("shoulder", da.Universal("x", "y"), m.ground.at(0.3, 0, 0, rotation=turned), upper)
    m.add_joint("elbow", da.Revolute(rng.normal(size=3)), upper.at(0.4, 0, 0), base)
    return base.at(*rng.normal(size=3), rotation=turned)


@lru_cache
def machine(mount: str, seed: int = 0) -> tuple[da.System, da.State]:
    """A planar four-bar, a slider crank and a spatial four-bar with ball joints, all on one body."""
    rng = np.random.default_rng([seed, MOUNTS.index(mount)])
    m = da.Mechanism(f"loops on {mount}", gravity=(0.4, -0.7, -9.6))
    at = place(m, mount, rng)
    bars = {n: m.add_body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.02, 0.03, 0.04)) for n in "abcdefgh"}
    for name, parent, x in (("A", at, "a"), ("B", bars["a"].at(0.2), "b"), ("D", at.at(0.55), "c")):
        m.add_joint(name, da.Revolute("z"), parent, bars[x])
    m.close_loop("C", da.Revolute("z"), bars["b"].at(0.6), bars["c"].at(0.4))
    m.add_joint("E", da.Revolute("y"), at.at(0, 1), bars["d"])
    m.add_joint("F", da.Revolute("y"), bars["d"].at(0.2), bars["e"])
    m.add_joint("S", da.Prismatic("x"), at.at(0, 1), bars["f"])
    m.close_loop("G", da.Revolute("y"), bars["e"].at(0.5), bars["f"])
    m.add_joint("H", da.Universal("z", "x"), at.at(0, 2), bars["g"])
    m.add_joint("I", da.Spherical(), bars["g"].at(0, 0.3), bars["h"])
    m.close_loop("K", da.Spherical(), bars["h"].at(0.3, 0.1), at.at(0.35, 2.25, 0.1))
    system = m.compile(backend="casadi")
    guess = {"B": -0.3, "D": 1.2, "F": -0.5, "S": 0.6}
    speeds = {"A": 2.0, "E": -1.5, "I.wx": 1.0} | {n: float(rng.normal()) for n in system.v_names[: system.nv - 11]}
    held = {n: float(rng.normal()) for n in system.q_names if n[:5] in ("shoul", "elbow")}
    return system, system.assemble({"A": 0.6, "E": 0.4, **held}, v=speeds, guess=guess)


def structure(system: da.System) -> list[tuple[str, str]]:
    """The velocities that each row knows."""
    f = system.function("constraints")
    q = ca.SX.sym("q", system.nq)
    rows, columns = ca.sparsify(f(q)[1]).sparsity().get_triplet()
    return sorted((system.row_names[i], system.v_names[k]) for i, k in zip(rows, columns))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mount", MOUNTS[1:])
def test_rows_void_rows_and_structure_do_not_depend_on_the_mounting(mount, seed):
    there, on_ground = machine(mount, seed)[0], machine("ground")[0]
    assert there.row_names == on_ground.row_names
    assert there.rows.trivial == on_ground.rows.trivial
    assert {"C.z", "C.rx", "C.ry", "G.z", "G.rx", "G.ry"} == set(there.rows.trivial)
    assert structure(there) == structure(on_ground)


def general(system: da.System, x: da.State) -> np.ndarray:
    """v̇ by the general route: all rows of all loops in the ground's axes, from Jacobians and accelerations of frames.

    The frames of a loop coincide but for its free turning: v̇_b = v̇_a, and n · (ω̇_b − ω̇_a) = −(ω_a × n) · (ω_b − ω_a)
    for two directions n of frame a across the axis.
    """
    A, gamma = [], []
    for c in system.description.constraints:
        J, rate, V, R = {}, {}, {}, system.pose(x, c.a)[:3, :3]
        for end, frame in (("a", c.a), ("b", c.b)):
            J[end] = system.jacobian(x, frame, axes="world")
            rate[end] = system.frame_acceleration(x, frame, np.zeros(system.nv), axes="world")
            V[end] = system.twist(x, frame, axes="world")
        A.append(J["b"][3:] - J["a"][3:])
        gamma.append(rate["b"][3:] - rate["a"][3:])
        if c.name != "K":
            axis = "xyz".index("z" if c.name == "C" else "y")
            N = np.delete(R, axis, axis=1).T
            turning = np.cross(V["a"][:3], N) @ (V["b"] - V["a"])[:3]
            A.append(N @ (J["b"] - J["a"])[:3])
            gamma.append(N @ (rate["b"] - rate["a"])[:3] + turning)
    A, gamma = np.vstack(A), np.concatenate(gamma)
    M, f = system.mass_matrix(x), -system.bias(x)
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(M, f)
    white = np.linalg.lstsq(np.linalg.solve(L, A.T).T, -gamma - A @ free, rcond=1e-10)[0]
    return free + np.linalg.solve(L.T, white)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mount", MOUNTS)
def test_accelerations_agree_with_rows_in_the_axes_of_the_ground(mount, seed):
    """13 rows in all, 7 of them independent, on every mounting."""
    system, x = machine(mount, seed)
    expected = general(system, x)
    for formulation in ("auto", "nullspace"):
        found = system.acceleration(x, formulation=formulation)
        assert found.rank == 7
        np.testing.assert_allclose(found.vdot, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("mount", MOUNTS)
def test_joint_forces_carry_the_bodies_wherever_the_loops_are_mounted(mount):
    """Newton's law for the planar coupler in the axes of the ground, with the wrench of the joint that closes it."""
    system, x = machine(mount, 1)
    found = system.constraint_forces(x)
    joint, loop = found.joints["B"], found.loops["C"]
    bodies = system.layout.mechanism.bodies
    at = {n: system.pose(x, bodies[n].at(0.1))[:3, :3] for n in "bc"}
    force = at["b"] @ joint[3:] - at["c"] @ loop[3:]
    accelerated = system.frame_acceleration(x, bodies["b"].at(0.1), found.acceleration.vdot, axes="world")[3:]
    np.testing.assert_allclose(force, accelerated - np.array([0.4, -0.7, -9.6]), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_of_rows_know_the_loops_own_velocities_only(seed):
    """∂(A v)/∂q of each row has the columns of A, and agrees with differences along them."""
    system, x = machine(MOUNTS[seed], 1)
    slopes = dict(
        zip(system.function("acceleration_derivatives").name_out(), system.evaluate("acceleration_derivatives", x))
    )
    h, expected = 1e-6, np.zeros((len(system.row_names), system.nv))
    for k, e in enumerate(np.eye(system.nv) * h):
        there = [system.constraint_matrix(system.state(system.plus(x, d), x.v)) @ x.v for d in (e, -e)]
        expected[:, k] = (there[0] - there[1]) / (2 * h)
    np.testing.assert_allclose(slopes["speed_q"], expected, atol=1e-7)
    void = np.abs(system.constraint_matrix(x)) == 0.0
    assert (slopes["speed_q"][:, : system.nv - 11] == 0.0).all()
    assert void[:, : system.nv - 11].all()
