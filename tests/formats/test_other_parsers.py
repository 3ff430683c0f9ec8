"""Every file that is written is taken by the parsers of its format: Drake's of URDF and SDF (libsdformat), urdfdom
(through Pinocchio), and MuJoCo's compiler."""

import numpy as np
import pytest
from drake_peer import drake

import dalembert as da
from random_mechanisms import random_frame, random_joint, random_tree

JOINTS = (da.Revolute, da.Prismatic, da.Spherical, da.Universal, da.Cylindrical, da.Screw, da.Planar, da.Free, da.Fixed)
CUTS = (*JOINTS[:7], da.Fixed)


def drakes(path):
    """Drake's parser of both formats."""
    drake().parse(path)


def urdfdom(path):
    pinocchio = pytest.importorskip("pinocchio", reason="urdfdom is tried through Pinocchio, which is not installed")
    pinocchio.buildModelFromUrdf(str(path))


def mujoco(path):
    compiler = pytest.importorskip("mujoco", reason="MJCF is tried with MuJoCo, which is not installed")
    compiler.MjModel.from_xml_path(str(path))


PARSERS = [(".urdf", urdfdom), (".urdf", drakes), (".sdf", drakes), (".xml", mujoco)]
NAMES = [f"{parser.__name__} {suffix}" for suffix, parser in PARSERS]


def anything(seed):
    """Joints and loops of all kinds anywhere, dampers, springs, rotors, motors, frames, a rod."""
    rng = np.random.default_rng([seed, 3])
    m = random_tree(seed, 5, JOINTS if seed % 2 else JOINTS[:7], floating=seed % 3 == 0, rotors=seed % 4 == 0)
    bodies = list(m.bodies.values())
    for name, joint, given in (
        ("slider", random_joint(rng, da.Planar), {"damping": (0.1, 0.2, 0.3)}),
        ("rotor", da.Revolute("x"), {"armature": 0.2}),
        ("sprung", da.Revolute("x"), {"stiffness": 0.2, "rest": 0.3}),
        ("nut", da.Screw("z", pitch=0.1), {"limits": (-1, 2), "friction": 0.1}),
    ):
        m.add_joint(name, joint, m.ground.at(1, 2, 3), m.add_body(name, 1.0, (0.1, 0, 0), (1, 1, 1)), **given)
    for k, (a, b) in enumerate(((bodies[2], m.ground), (bodies[3], bodies[1]))):
        joint = random_joint(rng, CUTS[rng.integers(len(CUTS))])
        m.close_loop(f"loop{k}", joint, random_frame(rng, a), random_frame(rng, b))
    m.add_rod("rod", random_frame(rng, bodies[1]), m.ground.at(1, 2, 3), length=3.0)
    m.add_spring("spring", random_frame(rng, bodies[1]), bodies[4], stiffness=3.0, damping=0.2, rest_length=seed % 2)
    m.add_spring("inside", bodies[1].at(0.1, 0, 0), bodies[1].at(0, 0.3, 0), stiffness=3.0, rest_length=0.1)
    for name, a in m.joints.items():
        if a.joint.nv:
            m.add_motor(f"u {name}", name)
    m.add_frame("tool", random_frame(rng, bodies[2]))
    m.add_frame("spot", m.ground.at(1, 1, 1))
    return m


@pytest.mark.parametrize(("suffix", "parser"), PARSERS, ids=NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_are_taken_by_other_parsers(seed, suffix, parser, tmp_path):
    m = anything(seed)
    if suffix == ".sdf":  # which draws loops closed; these are not
        m.constraints.clear()
    m.save(tmp_path / f"m{suffix}")
    parser(tmp_path / f"m{suffix}")
    da.read(tmp_path / f"m{suffix}")


@pytest.mark.parametrize(("suffix", "parser"), PARSERS, ids=NAMES)
@pytest.mark.parametrize("name", da.zoo.CATALOG)
def test_the_zoo_is_taken_by_other_parsers(name, suffix, parser, tmp_path):
    """Loops that end on the ground, planar joints on it, rolling, ropes, contacts."""
    m = getattr(da.zoo, name)()
    m.save(tmp_path / f"{name}{suffix}")
    parser(tmp_path / f"{name}{suffix}")


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z", (0, 1, 1e-6), (1, 1, 1), (1, -2, 0.5)])
def test_a_planar_joint_of_urdf_has_the_axes_of_drake(axis, tmp_path):
    """x and y are what the shortest turn of z onto the normal makes of them, however little it is tilted."""
    from dalembert.spatial import axis_vector

    xyz = " ".join(str(x) for x in axis_vector(axis, "axis"))
    solid = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    path = tmp_path / "planar.urdf"
    path.write_text(
        f'<robot name="r"><link name="world"/><link name="a">{solid}</link><joint name="u" type="planar">'
        f'<parent link="world"/><child link="a"/><origin xyz="1 2 3" rpy="0.3 0.2 0.1"/><axis xyz="{xyz}"/></joint>'
        "</robot>"
    )
    m = da.read(path)
    m.save(tmp_path / "again.urdf")
    a, b = m.compile("casadi"), da.read(tmp_path / "again.urdf").compile("casadi")
    q = {"u.x": 0.4, "u.y": -0.7, "u.angle": 0.9}
    np.testing.assert_allclose(b.pose(q, "a"), a.pose(q, "a"), atol=1e-14)
    pose = drake().parse(path, "a", list(q.values()))
    np.testing.assert_allclose(a.pose(q, "a"), pose, atol=1e-14)


def test_a_planar_joint_of_a_mechanism_keeps_its_own_axes_in_urdf(tmp_path):
    """Those of the library's x and y normals are turned against Drake's."""
    for axis in ("x", "y", "z", (1, 2, 3)):
        m = da.Mechanism("planar")
        body = m.add_body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
        place = m.ground.at(1, 2, 3, rotation=da.rotation("x", 0.4))
        m.add_joint("u", da.Planar(axis), place, body.at(0, 0, 0.3), damping=(0.3, 0.4, 0.5))
        m.save(tmp_path / "m.urdf")
        a, b = m.compile("casadi"), da.read(tmp_path / "m.urdf").compile("casadi")
        q = {"u.x": 0.4, "u.y": -0.7, "u.angle": 0.9}
        np.testing.assert_allclose(b.pose(q, "b"), a.pose(q, "b"), atol=1e-14)
        v = {"u.x": 1.0, "u.y": 2.0, "u.angle": 3.0}
        np.testing.assert_allclose(b.applied_forces(b.state(q, v)), a.applied_forces(a.state(q, v)), atol=1e-14)
