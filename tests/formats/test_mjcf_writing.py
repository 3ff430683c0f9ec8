"""MJCF that is written: round trips, and what it cannot say."""

import numpy as np
import pytest

import dalembert as da
from corpus import corpus
from random_mechanisms import random_state, random_tree

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mjcf_texts import DATA, NAMES, close  # noqa: E402
from mujoco_peer import Peer  # noqa: E402


def round_trip(m, tmp_path, seed=0):
    """Relative differences of M and of all forces, between a mechanism and its file, and whether rows span the same."""
    from dalembert.formats.mjcf.writer import write

    path = tmp_path / "written.xml"
    notes = write(m, path)
    one, two = m.compile("casadi"), da.read_mjcf(path).compile("casadi")
    p = Peer(mujoco.MjModel.from_xml_path(str(path)), two, seed=seed)
    for _ in range(2):
        q, v = p.random()
        theirs, ours = p.mass()
        close(ours, theirs, 1e-12)
        if set(one.q_names) != set(two.q_names):
            continue
        i, j = ([b.index(n) for n in a] for a, b in ((one.q_names, two.q_names), (one.v_names, two.v_names)))
        a, b = one.state(q[i], v[j]), two.state(q, v)
        close(two.mass_matrix(b)[np.ix_(j, j)], one.mass_matrix(a), 1e-12)
        close(two.bias(b)[j], one.bias(a), 1e-12)
        if not notes:
            close(two.applied_forces(b)[j], one.applied_forces(a), 1e-12)
        A, B = one.constraint_matrix(a), two.constraint_matrix(b)[:, j]
        if len(A) == len(B) and len(A):
            assert np.linalg.matrix_rank(np.vstack([A, B]), 1e-9) == np.linalg.matrix_rank(A, 1e-9)
            gaps = [np.sort(np.abs(s.residuals(x))) for s, x in ((one, a), (two, b))]
            close(*gaps, 1e-12, least=1.0)
    return notes


ZOO = ["bennett", "cart_pole", "chain", "five_bar", "four_bar", "heavy_top", "ladder", "loader", "particle_on_circle",
       "planar_3rrr", "sarrus", "slider_crank", "ssrms", "stewart", "two_arms"]  # fmt: skip


@pytest.mark.parametrize("name", ZOO)
def test_mechanisms_come_back_from_mjcf(name, tmp_path):
    round_trip(getattr(da.zoo, name)(), tmp_path)


def test_coordinates_of_turned_ball_and_free_joints_come_back(tmp_path):
    """Shifted and turned frames on the side of the child; a body without mass between two joints; springs, a cable."""
    m = da.Mechanism("turned", gravity=(1.0, -2.0, -9.0))
    hull, arm, hand, rod = (
        m.add_body(n, mass=1.0 + k, com=(0.1, 0.2 * k, 0), inertia=(0.2, 0.3, 0.4 + 0.02 * k))
        for k, n in enumerate(["hull", "arm", "hand", "rod"])
    )
    between = m.add_body("between")
    turned = [da.rotation(axis, 0.3 + k) for k, axis in enumerate("xyz")]
    m.add_joint("float", da.Free(), m.ground, hull.at(0.1, 0.2, 0.3, rotation=turned[0]), damping=0.4)
    m.add_joint("ball", da.Spherical(), hull.at(0.5, 0, 0.1, rotation=turned[1]), arm.at(0, 0.2, 0, rotation=turned[2]))
    m.add_joint("first", da.Revolute((1, 2, 3)), arm.at(0.3, 0, 0), between.at(0, 0.1, 0, rotation=turned[0]))
    m.add_joint(
        "second", da.Prismatic("-y"), between.at(0.2, 0, 0), hand.at(0, 0, 0.1), stiffness=3.0, rest=0.2, armature=0.5
    )
    m.add_joint("rod", da.Revolute("x"), m.ground.at(0, 1, 0, rotation=turned[2]), rod.at(0.1, 0.1, 0), damping=2.0)
    m.add_spring("spring", hand.at(0.1, 0, 0), rod.at(0, 0.3, 0), stiffness=20.0, damping=1.0, rest_length=0.3)
    m.add_cable("cable", [m.ground.at(0, 0, 2), arm, rod], stiffness=5.0, rest_length=0.5)
    m.add_rod("strut", hull.at(0, 0, 0.2), rod.at(0.2, 0, 0), length=1.5)
    m.add_coupling("gear", {"first": 2.0, "second": -1.0, "rod": 0.5}, offset=0.3)
    assert round_trip(m, tmp_path) == []


def test_a_closed_linkage_comes_back_with_its_motions(tmp_path):
    """On the manifold the written equalities leave the same velocities as the loop of the four-bar."""
    from dalembert.formats.mjcf.writer import write

    m = da.zoo.four_bar()
    assert write(m, tmp_path / "four_bar.xml") == []
    one, two = m.compile("casadi"), da.read_mjcf(tmp_path / "four_bar.xml").compile("casadi")
    x = one.assemble()
    A, B = one.constraint_matrix(x), two.constraint_matrix(two.state(x.q))
    assert np.abs(two.residuals(two.state(x.q))).max() < 1e-12
    assert (
        np.linalg.matrix_rank(A, 1e-9)
        == np.linalg.matrix_rank(B, 1e-9)
        == np.linalg.matrix_rank(np.vstack([A, B]), 1e-9)
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_features_come_back_from_mjcf(name, tmp_path):
    notes = round_trip(da.read_mjcf(DATA / f"{name}.xml"), tmp_path, seed=3)
    lost = {n.element for n in notes}
    springs = {f"wrench 'drifter_{part}'" for part in ("gravcomp", "armature")}
    assert lost - {"colliders"} == (springs if name == "joints" else set())


@pytest.mark.parametrize(
    "name",
    [
        "menagerie/agility_cassie/cassie.xml",
        "menagerie/tetheria_aero_hand_open/right_hand.nomesh.xml",
        "dm_control/quadruped.xml",
        "mujoco/test/engine/testdata/weld.xml",
        "mujoco/model/slider_crank/slider_crank.xml",
        "mujoco/mjx/mujoco/mjx/test_data/pendula.xml",
    ],
)
def test_real_robots_come_back_from_mjcf(name, tmp_path):
    notes = round_trip(da.read_mjcf(corpus(name)), tmp_path)
    assert all("mesh" in n.text or n.element == "colliders" for n in notes)


def test_what_mjcf_cannot_say_is_listed(tmp_path):
    from dalembert.formats.mjcf.writer import write

    m = da.Mechanism("odd")
    L = m.add_parameter("L", 0.5)
    body = m.add_body("rod", mass=1.0, com=(L / 2, 0, 0), inertia=da.rod_inertia(1.0, 0.5))
    m.add_joint("A", da.Screw("z", pitch=0.1), m.ground, body, limits=(-1.0, np.inf))
    m.add_joint_force("law", "A", lambda s: -(s["A"] ** 3))
    m.add_skate("skate", body)
    said = {n.element: n.text for n in write(m, tmp_path / "odd.xml")}
    assert set(said) == {"parameter 'L'", "joint 'A'", "joint force 'law'", "skate 'skate'"}
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "odd.xml")).nv == 2


def test_shapes_without_extent_are_left_out_and_listed(tmp_path):
    """As the toes of a robot that are spheres of radius 0."""
    from dalembert.formats.mjcf.writer import write

    m = da.Mechanism("toe")
    toe = m.add_body("toe", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.add_joint("A", da.Revolute("z"), m.ground, toe)
    for kind, size in (("sphere", (0.0,)), ("box", (1.0, 0.0, 1.0)), ("sphere", (0.1,))):
        toe.add_shape(kind, size)
    notes = write(m, tmp_path / "toe.xml")
    assert [n.element for n in notes] == ["shape of body 'toe'"] * 2
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "toe.xml")).ngeom == 1


def test_written_states_come_back(tmp_path):
    from dalembert.formats.mjcf.writer import write

    m = da.read_mjcf(DATA / "joints.xml")
    write(m, tmp_path / "written.xml")
    a, b = m.compile("casadi"), da.read_mjcf(tmp_path / "written.xml").compile("casadi")
    for name in ("up", "start"):
        assert b.named_state(name).q == pytest.approx(a.named_state(name).q, abs=1e-15)
        assert b.named_state(name).v == pytest.approx(a.named_state(name).v, abs=1e-14)


def mujoco_at_keyframe(path, k=0):
    """MuJoCo's model of a file, and its data at keyframe k."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, k)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("seed", range(8))
def test_a_written_keyframe_is_the_motion_of_its_state(seed, tmp_path):
    """Places, velocities and the power of the motors; free joints start anywhere, also on bodies that move."""
    kinds = (da.Revolute, da.Spherical, da.Universal, da.Cylindrical, da.Screw, da.Planar, da.Free)
    m = random_tree(seed, 5, kinds, floating=seed % 3 == 0, rotors=False)
    for name in m.joints:
        m.add_motor(f"u {name}", name)
    system = m.compile("casadi")
    x, rng = random_state(system, seed), np.random.default_rng(seed)
    moving = [a for a in m.joints.values() if a.joint.nq]
    q, v = (
        {a.name: [values[names.index(c)] for c in getattr(a, which)] for a in moving}
        for values, names, which in ((x.q, system.q_names, "coordinates"), (x.v, system.v_names, "velocities"))
    )
    u = {name: rng.normal(size=symbol.numel()) for name, symbol in m.inputs.items()}
    m.add_state("home", q=q, v=v, u=u)
    m.save(tmp_path / "tree.xml")
    model, data = mujoco_at_keyframe(tmp_path / "tree.xml")
    twist = np.zeros(6)
    for body in m.bodies.values():
        b = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body.name)
        if b > 0:
            centre = body.at(*body.com.astype(float))
            T = system.pose(x, centre)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, b, twist, 0)
            close(data.xipos[b], T[:3, 3], 1e-12, least=1.0)
            close(twist.reshape(2, 3), system.twist(x, centre).reshape(2, 3) @ T[:3, :3].T, 1e-12, least=1.0)
    if all(a.joint.kind != "free" or a.parent.body is m.ground for a in moving):  # else MJCF has no reactions
        close(data.qfrc_actuator @ data.qvel, system.applied_forces(x, u=u) @ x.v, 1e-12, least=1.0)
