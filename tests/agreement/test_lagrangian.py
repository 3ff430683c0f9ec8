"""The Lagrangian and poses of frames with their derivatives agree with automatic differentiation of other formulas.

That of `Points` shares nothing with the recursions: bodies are points of mass, their poses are products of homogeneous
matrices, and small motions are T (1 + δ̂), which is exact where each δ is differentiated once.
"""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from oracle import close
from random_loops import random_closed
from random_mechanisms import random_state, random_tree

GRAVITY = np.array([0.4, -0.7, -9.6])
HINGE = np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])
SCREWS = {  # columns (ω; v) of each joint, in the child's axes
    "base": np.eye(6),
    "ball": np.eye(6)[:, :3],
    "hinge": np.concatenate([HINGE, np.zeros(3)])[:, None],
    "slide": np.array([[0, 0, 0, 0, 1.0, 0]]).T,
}
MOUNT = {"base": (0, 0, 0), "ball": (0.3, -0.1, 0.2), "hinge": (0.1, 0.4, 0.0), "slide": (-0.2, 0.1, 0.3)}
PARENT = {"base": None, "ball": "base", "hinge": "ball", "slide": "base"}
STIFFNESS, REST = 40.0, 0.3


def points_of(name):
    """(6, 3) points and (6,) masses of a body."""
    rng = np.random.default_rng([17, *map(ord, name)])
    return rng.normal(size=(6, 3)) * 0.3, rng.uniform(0.1, 0.8, 6)


def machine(closed: bool) -> tuple[da.System, da.State]:
    """A free body that carries a ball joint with a hinge, and a slide; a spring; closed by a point of the slide."""
    m = da.Mechanism("points", gravity=GRAVITY)
    kinds = {"base": da.Free(), "ball": da.Spherical(), "hinge": da.Revolute(HINGE), "slide": da.Prismatic("y")}
    bodies = {}
    for name, joint in kinds.items():
        r, w = points_of(name)
        com = w @ r / w.sum()
        inertia = sum(k * (x @ x * np.eye(3) - np.outer(x, x)) for k, x in zip(w, r - com))
        bodies[name] = m.add_body(name, mass=w.sum(), com=com, inertia=inertia)
        parent = m.ground if PARENT[name] is None else bodies[PARENT[name]]
        m.add_joint(name, joint, parent.at(*MOUNT[name]), bodies[name])
    m.add_spring("spring", m.ground, bodies["hinge"], stiffness=STIFFNESS, rest_length=REST)
    m.add_frame("tip", bodies["hinge"].at(0.2, 0.3, -0.1))
    system = m.compile()
    x = random_state(system, 5)
    if closed:
        gap = np.linalg.inv(system.pose(x, bodies["slide"])) @ np.append(system.pose(x, "tip")[:3, 3], 1.0)
        m.close_loop("loop", da.Spherical(), bodies["slide"].at(*gap[:3]), m.frames["tip"])
        system = m.compile()
        x = system.project(system.state(x.q, x.v))
        assert np.abs(system.residuals(x)).max() < 1e-10
    return system, x


def hat(V):
    w, v = V[:3], V[3:]
    return ca.vertcat(ca.horzcat(ca.skew(w), v), ca.SX.zeros(1, 4))


class Points:
    """The machine at q, moved by small motions one after the other."""

    def __init__(self, system: da.System, x: da.State, order: int = 1):
        self.system, self.x, self.order = system, x, order

    def poses(self, *motions):
        x, out, k = self.x, {}, 0
        for name, S in SCREWS.items():
            q = x.q[self.system.layout.tree.links[len(out)].q]
            T = np.eye(4)
            if name in ("base", "ball"):
                T[:3, :3] = Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix()
                T[:3, 3] = q[4:] if name == "base" else 0.0
            elif name == "hinge":
                T[:3, :3] = Rotation.from_rotvec(HINGE * q[0]).as_matrix()
            else:
                T[1, 3] = q[0]
            mount = np.eye(4)
            mount[:3, 3] = MOUNT[name]
            pose = ca.SX(mount @ T) if PARENT[name] is None else ca.mtimes(out[PARENT[name]], ca.DM(mount @ T))
            for d in motions:
                H = hat(ca.mtimes(ca.DM(S), d[k : k + S.shape[1]]))
                pose = ca.mtimes(pose, ca.SX.eye(4) + H + (ca.mtimes(H, H) / 2 if self.order == 2 else 0))
            out[name], k = pose, k + S.shape[1]
        return out

    def lagrangian(self, v, *motions):
        rate = ca.SX.sym("rate", self.system.nv)
        poses, L = self.poses(*motions, rate), 0
        zero = ca.SX.zeros(rate.shape)
        for name, T in poses.items():
            for r, w in zip(*points_of(name)):
                at = ca.mtimes(T, ca.DM([*r, 1.0]))[:3]
                speed = ca.substitute(ca.jtimes(at, rate, v), rate, zero)
                L += w * (ca.dot(speed, speed) / 2 + ca.dot(ca.DM(GRAVITY), ca.substitute(at, rate, zero)))
        at = ca.substitute(poses["hinge"][:3, 3], rate, zero)
        return L - STIFFNESS / 2 * (ca.norm_2(at) - REST) ** 2


def numbers(value, *given):
    f = ca.Function("f", [x for x, _ in given], [value])
    return np.array(f(*(x for _, x in given)))


@pytest.fixture(scope="module", params=[False, True], ids=["open", "closed"])
def case(request):
    return machine(request.param)


def test_the_lagrangian_of_points_of_mass(case):
    """L and its derivatives, quaternions along their velocities, on the tree and on its closed form."""
    system, x = case
    n, found = system.nv, system.lagrangian(x)
    d, e, v = (ca.SX.sym(name, n) for name in "dev")
    at = ((d, np.zeros(n)), (e, np.zeros(n)), (v, x.v))
    L = Points(system, x).lagrangian(v, d, e)
    by_q, by_v = ca.gradient(L, e), ca.gradient(L, v)
    close(found.L, numbers(L, *at), 1e-13)
    close(found.L_dq, numbers(by_q, *at), 1e-12)
    close(found.L_ddq, numbers(by_v, *at), 1e-12)
    close(found.L_dqdq, numbers(ca.jacobian(by_q, d), *at), 1e-12)
    close(found.L_ddqdq, numbers(ca.jacobian(by_v, d), *at), 1e-12)
    close(found.L_ddqddq, numbers(ca.jacobian(by_v, v), *at), 1e-12)
    assert np.abs(found.L_dqdq - found.L_dqdq.T).max() > 1e-2  # turns do not commute


def test_the_symmetric_part_is_the_hessian_of_small_motions(case):
    system, x = case
    n, found = system.nv, system.lagrangian(x).L_dqdq
    d, v = ca.SX.sym("d", n), ca.SX.sym("v", n)
    L = Points(system, x, order=2).lagrangian(v, d)
    close((found + found.T) / 2, numbers(ca.hessian(L, d)[0], (d, np.zeros(n)), (v, x.v)), 1e-12)


def test_frames_by_the_names_of_coordinates(case):
    system, x = case
    n, found = system.nv, system.frame_derivatives(x, "tip")
    d, e = ca.SX.sym("d", n), ca.SX.sym("e", n)
    tip = np.eye(4)
    tip[:3, 3] = (0.2, 0.3, -0.1)
    pose = ca.mtimes(Points(system, x).poses(d, e)["hinge"], ca.DM(tip))
    at = ((d, np.zeros(n)), (e, np.zeros(n)))
    close(found.g, numbers(pose, *at), 1e-13)
    for k, first in enumerate(system.v_names):
        by_k = ca.reshape(ca.jacobian(ca.vec(pose), e)[:, k], 4, 4)
        close(found.d(first), numbers(by_k, *at), 1e-13)
        for j, second in enumerate(system.v_names):
            close(found.d(first, second), numbers(ca.reshape(ca.jacobian(ca.vec(by_k), d)[:, j], 4, 4), *at), 1e-13)


def test_frames_of_a_body_share_their_kernels(case):
    """A frame anywhere in a body is the body's pose times a constant: asking for more compiles nothing."""
    system, x = case
    base = system.layout.mechanism.bodies["base"]
    system.frame_derivatives(x, base.at(0.1, 0.2, 0.3))
    before = len(system.kernels.compiled)
    found = system.frame_derivatives(x, base.at(0.4, -0.2, 0.3))
    assert len(system.kernels.compiled) == before
    assert not system.frame_derivatives(x, system.layout.mechanism.ground.at(1, 2, 3)).g_dqdq.any()
    turned = system.frame_derivatives(x, "base").d("base.wx", "base.wy")
    close(found.d("base.wx", "base.wy")[:3, 3], turned[:3] @ [0.4, -0.2, 0.3, 1.0], 1e-13)


def twice(f, system, x):
    """∂_k f and ∂_l ∂_k f of a traced function of (q, …), by AD of two small motions."""
    n = system.nv
    d, e, v = (ca.SX.sym(name, n) for name in "dev")
    plus = system.function("plus")
    given = {"q": plus(plus(ca.DM(x.q), d), e), "v": v, "p": ca.DM(system.arguments.parameter_vector(None))}
    value = ca.vec(f.call([given[name] for name in f.name_in()], True, False)[0])
    at = ((d, np.zeros(n)), (e, np.zeros(n)), (v, x.v))
    first = ca.jacobian(value, e)
    return numbers(first, *at), numbers(ca.jacobian(ca.vec(first), d), *at).reshape(value.numel(), n, n, order="F")


@pytest.mark.parametrize("seed", range(6))
def test_every_joint_type_in_trees_and_loops(seed):
    """Against AD of the traced energies and poses; massless bodies, armatures and redundant loops among them."""
    if seed % 2:
        system, x = random_closed(seed, bodies=5, loops=1)
    else:
        system = random_tree(seed, 5, floating=seed == 0).compile(backend="casadi")
        x = random_state(system, seed)
    found, frame = system.lagrangian(x), system.frame_derivatives(x, "probe")
    slopes = [twice(system.function(name), system, x) for name in ("kinetic_energy", "potential_energy")]
    close(found.L, system.kinetic_energy(x) - system.potential_energy(x), 1e-12)
    for mine, (T, V) in zip((found.L_dq, found.L_dqdq), zip(*slopes)):
        close(mine, T - V, 1e-11)
    close(found.L_ddq, system.mass_matrix(x) @ x.v, 1e-12)
    first, second = twice(system.function("pose", frame="probe"), system, x)
    close(frame.g_dq.transpose(1, 0, 2).reshape(16, -1), first, 1e-12)
    close(frame.g_dqdq.transpose(1, 0, 2, 3).reshape(16, system.nv, system.nv), second, 1e-12)


def test_lagrange_equations_hold():
    """d/dt L_ddq − L_dq = Q without constraints: M v̇ + L_ddqdq v − L_dq = τ of inverse dynamics, for q̇ = v."""
    m = da.Mechanism("arm")
    upper, fore = (m.add_body(n, mass=1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.2, 0.25)) for n in ("upper", "fore"))
    m.add_joint("a", da.Revolute("y"), m.ground, upper)
    m.add_joint("b", da.Revolute("x"), upper.at(0.4, 0, 0), fore)
    system = m.compile()
    x, a = system.state([0.3, 0.8], [1.0, -2.0]), np.array([0.5, 1.5])
    at = system.lagrangian(x)
    close(at.L_ddqddq @ a + at.L_ddqdq @ x.v - at.L_dq, system.inverse_dynamics(x, a), 1e-13)


def test_a_structure_without_motion_has_a_lagrangian_too():
    m = da.Mechanism("shelf", gravity=(0, 0, -10.0))
    m.add_joint("nail", da.Fixed(), m.ground, m.add_body("shelf", mass=2.0, com=(0, 0, 1.5)))
    found = m.compile().lagrangian([])
    assert found.L_dqdq.shape == (0, 0)
    assert found.names == ()
    assert m.compile().frame_derivatives([], "shelf").g_dqdq.shape == (4, 4, 0, 0)
