"""URDF: what is read, what is noted, every way of closing loops; against Pinocchio, MuJoCo and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from corpus import corpus, corpus_files, expected
from dalembert.errors import ArgumentError, ModelFileError
from dalembert.formats.graph import pose
from dalembert.formats.urdf import write
from dalembert.formats.urdf.text import rpy
from dalembert.spatial import Transform

BODY = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25"/></inertial>'


def link(name, inside=BODY):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="continuous", inside='<axis xyz="0 0 1"/>', xyz="0 0 0", tag="joint"):
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
    return f'<{tag} name="{name}" type="{kind}">{ends}{inside}</{tag}>'


def robot(*parts):
    return '<robot name="r">\n' + "\n".join(parts) + "\n</robot>"


def texts(m):
    return [n.text for n in m.notes]


def peer_velocities(system, joints, nv):
    """(nv,) our place of each of Pinocchio's velocities; its free joints have the linear part first."""
    place = np.full(nv, -1)
    for j in joints:
        s = system.layout.v_slice(j["name"].replace(".", "_"))
        order = [3, 4, 5, 0, 1, 2] if j["nv"] == 6 else range(j["nv"])
        for ours, k in enumerate(order):
            place[j["idx_v"] + k] = s.start + ours
    return place


def peer_position(system, joints, q):
    """Pinocchio's coordinates as ours: quaternions are x y z w there, angles of continuous joints cosine and sine."""
    out, k = np.array(system.state().q), 0
    for j in joints:
        x, k = q[k : k + j["nq"]], k + j["nq"]
        s = system.layout.q_slice(j["name"].replace(".", "_"))
        if j["nq"] == 2 and j["nv"] == 1:
            x = [np.arctan2(x[1], x[0])]
        elif j["nq"] == 4:
            x = [x[3], *x[:3]]
        elif j["nq"] == 7:
            x = [x[6], *x[3:6], *x[:3]]
        out[s] = x
    return out


def symmetric(rows, n):
    M = np.zeros((n, n))
    M[np.tril_indices(n)] = rows
    return M + np.tril(M, -1).T


# --- the collection ---------------------------------------------------------------------------------------------------

LARGE = "grbda_urdf_plus/variable_four_bar_urdf/four_bar_branch_6_10.urdf"  # 186 velocities: minutes with its loops
REFUSED = {
    "drake/multibody/parsing/test/urdf_parser_test/joint_parsing_test.urdf": "166: <drake:joint> 'curvilinear_periodic'"
    " has type 'curvilinear' .*not modelled.*; needed: one of revolute",
}


@pytest.mark.parametrize("name", corpus_files(".urdf"))
def test_files_of_the_collection_are_what_other_programs_say(name):
    """Velocities, masses, M, gravity; of loops the rank, the mobility, the closed position and the acceleration."""
    if name in REFUSED:
        with pytest.raises(ModelFileError, match=REFUSED[name]):
            da.read_urdf(corpus(name))
        return
    m = da.read_urdf(corpus(name))
    peer = expected("pinocchio").get(name, {})
    if "nv" not in peer or not m.joints:  # Pinocchio refuses it, or no link of it has mass
        assert m.joints or all(body.mass == 0.0 for body in m.bodies.values())
        return
    system = m.compile("casadi")
    assert system.nv == peer["nv"]
    assert {j["name"].replace(".", "_") for j in peer["joints"]} == set(m.joints)
    assert sum(b.mass for b in m.bodies.values()) == pytest.approx(peer["mass_moving"], rel=1e-12)
    at = peer_velocities(system, peer["joints"], system.nv)
    start = system.state(peer_position(system, peer["joints"], peer["q_neutral"]))
    M = system.mass_matrix(start)[np.ix_(at, at)]
    if peer["M_lower_rows"] is not None:
        np.testing.assert_allclose(M, symmetric(peer["M_lower_rows"], system.nv), rtol=0, atol=1e-12 * np.abs(M).max())
    weight = np.sqrt(np.diag(M) * np.diag(M).max()).max() * 9.81  # a torque of the size of this mechanism
    np.testing.assert_allclose(system.gravity_vector(start)[at], peer["gravity_torque"], rtol=0, atol=1e-12 * weight)
    mujoco = expected("mujoco_urdf").get(name, {})
    if "eig_M" in mujoco and "disney_robot" not in name:  # it knows no YAML file, and takes ball joints as revolute
        values = np.linalg.eigvalsh(M)
        np.testing.assert_allclose(values, mujoco["eig_M"], rtol=1e-8, atol=1e-12 * values.max())
    closed = peer.get("closed")
    if closed is None or closed["residual"] > 1e-9 or name == LARGE:  # the kangaroos do not close anywhere
        return
    x = system.state(peer_position(system, peer["joints"], closed["q"]))
    assert np.abs(system.residuals(x)).max() < 1e-12
    found = system.acceleration(x)
    assert (found.rank, system.nv - found.rank) == (closed["rank"], closed["mobility"])
    theirs = np.array(closed["acceleration_at_rest"])
    scale = max(1.0, np.abs(theirs).max())
    if "robot_delta" in name:  # theirs is off by 7e-7
        theirs = exact_acceleration(system, x, found.rank)[at]
    np.testing.assert_allclose(found.vdot[at], theirs, rtol=0, atol=1e-9 * scale)


def exact_acceleration(system, x, rank):
    """v̇ of M v̇ + h = Aᵀλ, A v̇ = 0 with independent rows of A, in 60 digits."""
    mp = pytest.importorskip("mpmath")
    from scipy.linalg import qr

    M, h, A = system.mass_matrix(x), system.bias(x), system.constraint_matrix(x)
    A = A[qr(A.T, pivoting=True)[2][:rank]]
    with mp.workdps(60):
        K = mp.matrix(np.block([[M, A.T], [A, np.zeros((rank, rank))]]).tolist())
        v = mp.lu_solve(K, mp.matrix([*(-h), *np.zeros(rank)]))
        return np.array([float(v[i]) for i in range(system.nv)])


def test_pinocchios_acceleration_of_the_delta_robot_is_off():
    """In 60 digits, with M and A to the last bit: ours is right to 1e-10, the stored one to 1e-6 only."""
    peer = expected("pinocchio")["gepetto_parallel/robot_delta/robot.urdf"]
    system = da.read_urdf(corpus("gepetto_parallel/robot_delta/robot.urdf")).compile("casadi")
    x = system.state(peer_position(system, peer["joints"], peer["closed"]["q"]))
    exact = exact_acceleration(system, x, 9)
    at = peer_velocities(system, peer["joints"], system.nv)
    assert np.abs(system.acceleration(x).vdot - exact).max() < 1e-10
    assert np.abs(np.array(peer["closed"]["acceleration_at_rest"]) - exact[at]).max() > 1e-7


def test_gepettos_linkage_is_open_as_drawn_and_assembles():
    m = da.read_urdf(corpus("gepetto_parallel/5bar_linkage_iso3d/robot.urdf"))
    assert any("open at the neutral position, by 0.00" in t for t in texts(m))
    assert list(m.inputs) == ["mot2", "mot1"]
    system = m.compile()
    assert np.abs(system.residuals(system.state())).max() > 1e-3
    assert np.abs(system.residuals(system.assemble())).max() < 1e-10


def test_drakes_strandbeest_has_its_36_loops():
    m = da.read_urdf(corpus("drake/examples/multibody/strandbeest/StrandbeestConstraints.expanded.urdf"))
    peer = expected("drake")["drake/examples/multibody/strandbeest/StrandbeestConstraints.expanded.urdf"]
    assert sum(a.joint.nv for a in m.joints.values()) == peer["nv"]
    assert len(m.constraints) == 36
    assert any("names: it is free" in t for t in texts(m))


def test_drakes_joints_are_read_but_for_the_curves():
    text = corpus("drake/multibody/parsing/test/urdf_parser_test/joint_parsing_test.urdf").read_text()
    start, end = text.index('<drake:joint name="curvilinear_periodic"'), text.index("<!-- Normal transmission")
    text = text[:start] + text[end:]
    for n in (13, 14):
        k = text.index(f'<link name="link{n}">')
        text = text[:k] + text[text.index("</link>", k) + 7 :]
    m = da.read_urdf(text)
    kinds = [a.joint.kind for a in m.joints.values()]
    assert kinds == [
        *("revolute", "prismatic", "spherical", "revolute", "universal", "planar", "revolute", "screw"),
        *("revolute",) * 3,
    ]
    assert m.joints["screw_joint"].joint.pitch == pytest.approx(0.04 / (2 * np.pi))
    assert m.joints["planar_joint"].damping.tolist() == [0.1, 0.1, 0.1]
    assert list(m.inputs) == ["revolute_actuator", "revolute_actuator_no_limits"]
    assert any("may exert no effort" in t for t in texts(m))
    first = m.constraints["revolute_joint_with_mimic_forward_reference_mimic"]
    assert first.recipe[1][1] == {"revolute_joint_with_mimic_forward_reference": 1.0, "revolute_joint_to_mimic": -1.23}
    assert first.recipe[1][2] == 4.56


# --- links and joints -------------------------------------------------------------------------------------------------


def test_inertia_with_turned_axes_is_that_of_the_turned_body():
    rpy = (0.3, -0.7, 1.1)
    text = robot(
        link("base", ""),
        link(
            "arm",
            f'<inertial><origin xyz="0.1 0.2 0.3" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/><mass value="2"/>'
            '<inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="-0.03" izz="0.25"/></inertial>',
        ),
        joint("j", "base", "arm", inside='<axis xyz="0 2 0"/>', xyz="1 2 3"),
    )
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler("xyz", rpy).as_matrix()  # fixed axes
    J = np.array([[0.1, 0.01, 0.02], [0.01, 0.2, -0.03], [0.02, -0.03, 0.25]])
    system = da.read_urdf(text).compile("casadi")
    Jy = (R @ J @ R.T)[1, 1] + 2 * (0.1**2 + 0.3**2)
    assert system.mass_matrix({"j": 0.4})[0, 0] == pytest.approx(Jy, rel=1e-12)
    np.testing.assert_allclose(system.pose({"j": 0.0}, "arm")[:3, 3], [1, 2, 3])


def test_every_joint_type_moves_as_it_says():
    axis = '<axis xyz="1 0 0"/>'
    pitch = axis + '<drake:screw_thread_pitch value="0.5"/>'
    kinds = {
        "revolute": ("revolute", axis + '<limit lower="-1" upper="2" effort="1" velocity="1"/>'),
        "continuous": ("revolute", axis),
        "prismatic": ("prismatic", axis + '<limit lower="-1" upper="2" effort="1" velocity="1"/>'),
        "planar": ("planar", axis),
        "floating": ("free", ""),
        "ball": ("spherical", ""),
        "spherical": ("spherical", ""),
        "universal": ("universal", ""),
        "screw": ("screw", pitch),
        "cylindrical": ("cylindrical", axis),
    }
    for kind, (ours, inside) in kinds.items():
        m = da.read_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b", kind, inside)))
        assert m.joints["j"].joint.kind == ours
        if kind in ("revolute", "prismatic"):
            assert m.joints["j"].limits.tolist() == [[-1, 2]]
    system = m.compile("casadi")
    assert system.pose({"j.angle": 0.0, "j.z": 0.3} if "j.z" in system.q_names else system.state(), "b").shape == (4, 4)
    system = da.read_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b", "screw", pitch))).compile("casadi")
    np.testing.assert_allclose(system.pose({"j": 2 * np.pi}, "b")[:3, 3], [0.5, 0, 0], atol=1e-12)


def test_dampers_springs_and_rotors_act_at_their_joints():
    text = robot(
        link("a", ""),
        link("b"),
        joint(
            "j",
            "a",
            "b",
            inside='<axis xyz="0 0 1"/><dynamics damping="0.5" friction="0.2" armature="0.01" spring_stiffness="3" '
            'spring_reference="0.1"/>',
        ),
        '<transmission name="t"><joint name="j"/><actuator name="drive"><drake:rotor_inertia value="1e-4"/>'
        '<drake:gear_ratio value="10"/><mechanicalReduction>10</mechanicalReduction></actuator></transmission>',
    )
    m = da.read_urdf(text)
    system = m.compile("casadi")
    assert system.mass_matrix({"j": 0.0})[0, 0] == pytest.approx(0.25 + 0.01 + 1e-4 * 100)
    force = system.applied_forces(system.state({"j": 0.3}, {"j": 2.0}), u={"drive": 7.0})
    assert force[0] == pytest.approx(7.0 - 0.5 * 2.0 - 3 * 0.2)
    assert any("Coulomb friction" in t for t in texts(m))
    assert any("after the reduction" in t for t in texts(m))


def test_ros2_control_gives_motors():
    driven = '<joint name="j"><command_interface name="effort"/></joint>'
    control = f'<ros2_control name="c" type="system">{driven}</ros2_control>'
    m = da.read_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b"), control))
    assert list(m.inputs) == ["j"]


def test_fixed_links_are_one_body_and_stay_as_frames():
    text = robot(
        link("a", ""), link("b"), link("c"), joint("j", "a", "b"), joint("f", "b", "c", "fixed", "", xyz="0 1 0")
    )
    m = da.read_urdf(text)
    assert (list(m.bodies), list(m.joints)) == (["ground", "b"], ["j"])
    assert set(m.frames) == {"a", "c"}
    system = m.compile("casadi")
    assert system.mass_matrix({"j": 0.0})[0, 0] == pytest.approx(0.25 * 2 + 1.0)
    np.testing.assert_allclose(system.pose({"j": 0.0}, "c")[:3, 3], [0, 1, 0])
    apart = da.read_urdf(text, merge_fixed=False)
    assert {"b", "c"} <= set(apart.bodies)
    assert apart.compile("casadi").mass_matrix({"j": 0.0})[0, 0] == pytest.approx(1.5)


def test_shapes_are_kept_with_their_colours_and_meshes_are_not_opened():
    visual = (
        '<visual name="v"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>'
        '<visual><geometry><mesh filename="package://x/../../../etc/passwd" scale="2 2 2"/></geometry></visual>'
        '<visual><geometry><sphere radius="0.5"/></geometry>'
        '<material name="own"><color rgba="0 1 0 0.5"/></material></visual>'
        '<visual><geometry><cylinder radius="0.1" length="2"/></geometry><material name="none"/></visual>'
        '<collision><geometry><sphere radius="9"/></geometry></collision>'
    )
    text = robot(
        '<material name="red"><color rgba="1 0 0 1"/></material>',
        link("a", ""),
        link("b", BODY + visual),
        joint("j", "a", "b"),
        link("c", BODY + '<collision><geometry><drake:capsule radius="1" length="2"/></geometry></collision>'),
        joint("k", "b", "c"),
    )
    m = da.read_urdf(text)
    box, mesh, ball, cylinder = m.bodies["b"].shapes
    assert (box.kind, box.size, box.colour, box.name) == ("box", (1, 2, 3), (1, 0, 0, 1), "v")
    assert box.pose.p.tolist() == [0, 0, 1]
    assert (mesh.file, mesh.scale) == ("package://x/../../../etc/passwd", (2, 2, 2))
    assert ball.colour == (0, 1, 0, 0.5)
    assert (cylinder.size, cylinder.colour) == ((0.1, 2), None)
    assert [s.kind for s in m.bodies["c"].shapes] == ["capsule"]
    assert sum("contacts are not modelled" in t for t in texts(m)) == 2
    assert any("no material of this name" in t for t in texts(m))


def test_frames_of_drake_and_isaac_sim_are_frames():
    text = robot(
        link("a", ""),
        link("b"),
        joint("j", "a", "b"),
        '<frame name="tool" link="b" xyz="1 0 0" rpy="0 0 0"/>',
        '<fixed_frame name="eye"><parent link="b"/><origin xyz="0 2 0"/></fixed_frame>',
    )
    system = da.read_urdf(text).compile("casadi")
    np.testing.assert_allclose(system.pose({"j": np.pi / 2}, "tool")[:3, 3], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(system.pose({"j": 0}, "eye")[:3, 3], [0, 2, 0])


def test_coordinates_come_in_the_order_of_the_file():
    """Neither by depth nor by name, and whichever joints have motors; a joint waits for the one that carries it."""
    pairs = [("z", "root", "lz"), ("deep", "lz", "ld"), ("b", "root", "lb"), ("early", "la", "le"), ("a", "root", "la")]
    text = robot(
        link("root", ""),
        *(link(child) for _, _, child in pairs),
        *(joint(*pair) for pair in pairs),
        '<transmission name="t"><joint name="b"/><actuator name="m"/></transmission>',
    )
    assert da.read_urdf(text).compile("casadi").v_names == ["z", "deep", "b", "a", "early"]


def test_dots_in_names_of_joints_become_underscores():
    text = robot(
        link("a", ""),
        *(link(x) for x in "bcd"),
        joint("hip.x", "a", "b"),
        joint("hip_x", "b", "c"),
        joint("knee", "c", "d", inside='<axis xyz="0 0 1"/><mimic joint="hip.x" multiplier="2"/>'),
        '<transmission name="t"><joint name="hip_x"/><actuator name="m"/></transmission>',
    )
    m = da.read_urdf(text)
    assert list(m.joints) == ["hip_x", "hip_x_2", "knee"]
    assert m.constraints["knee_mimic"].recipe[1][1] == {"knee": 1.0, "hip_x": -2.0}
    assert m.forces["m"].joint.name == "hip_x_2"
    assert sum("has dots" in t for t in texts(m)) >= 1


@pytest.mark.parametrize(("base", "kind"), [(None, None), ("fixed", None), ("free", "free")])
def test_the_root_stands_as_asked(base, kind):
    m = da.read_urdf(robot(link("a"), link("b"), joint("j", "a", "b")), base=base)
    assert [a.joint.kind for a in m.joints.values()] == [*([kind] if kind else []), "revolute"]


def test_a_link_named_world_is_the_ground_and_what_hangs_on_nothing_is_free():
    m = da.read_urdf(robot(link("world", ""), link("a"), link("b"), joint("j", "world", "a"), link("c")))
    assert m.joints["j"].parent.body is m.ground
    assert any("c" in n.element and "it is free" in n.text for n in m.notes)
    assert [a.joint.kind for a in m.joints.values() if a.child.body.name in "bc"] == ["free", "free"]
    m = da.read_urdf(robot(link("a"), joint("j", "world", "a")))  # as Drake allows
    assert m.joints["j"].parent.body is m.ground


def test_massless_links_and_impossible_inertias_are_noted():
    odd = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3"/></inertial>'
    text = robot(
        link("a", ""), link("b", ""), link("c", odd), link("tip", ""), joint("j", "a", "b"), joint("k", "b", "c"),
        joint("t", "c", "tip"),
    )  # fmt: skip
    m = da.read_urdf(text)
    assert list(m.joints) == ["j", "k"]
    assert "tip" in m.frames
    assert any("no solid has this inertia" in t for t in texts(m))
    assert any("'tip' has no mass and carries none" in t for t in texts(m))
    point = link("d", '<inertial><mass value="1"/><origin xyz="1 0 0"/></inertial>')
    m = da.read_urdf(robot(link("a", ""), point, joint("j", "a", "d")))
    assert any("the mass is a point" in t for t in texts(m))
    assert m.compile("casadi").mass_matrix({"j": 0})[0, 0] == 1.0


def test_what_is_not_read_is_noted_by_line_and_strict_refuses_it():
    text = robot(
        link("a", ""),
        link("b"),
        joint("j", "a", "b", inside='<axis xyz="0 0 1" xzy="1"/><safety_controller k_velocity="1"/>'),
        '<sensor name="eye"/>',
        '<gazebo reference="b"><mu1>1</mu1></gazebo>',
        "<wings/>",
    )
    m = da.read_urdf(text)
    assert [str(n) for n in m.notes] == [
        "text:4: <axis>: attribute 'xzy' is not read",
        "text:4: <safety_controller>: controllers are not read",
        "text:5: <sensor> 'eye': sensors are not modelled",
        "text:6: <gazebo>: settings of Gazebo are not read",
        "text:7: <wings>: is not an element that is read here; it is left out",
    ]
    with pytest.raises(ModelFileError, match=r"5 element.*strict"):
        da.read_urdf(text, strict=True)
    da.read_urdf(robot(link("a", ""), link("b"), joint("j", "a", "b")), strict=True)


A, B = link("a", ""), link("b")
WRONG = {
    "needed: <robot>": "<sdf/>",
    "has no <link>": "<robot/>",
    "2: <link> has no attribute 'name'": "<robot>\n<link/></robot>",
    "second link of this name": robot(A, B, B),
    "second joint of this name, after line": robot(A, B, link("c"), joint("j", "a", "b"), joint("j", "a", "c")),
    "asks for link 'x', which is not there": robot(A, B, joint("j", "x", "b")),
    "has type 'hinge'; needed: one of revolute": robot(A, B, joint("j", "a", "b", "hinge")),
    "has no <child>": robot(A, '<joint name="j" type="fixed"><parent link="a"/></joint>'),
    "axis of length 0": robot(A, B, joint("j", "a", "b", inside='<axis xyz="0 0 0"/>')),
    "has lower 2 above upper 1": robot(
        A, B, joint("j", "a", "b", "revolute", '<limit lower="2" upper="1" effort="1" velocity="1"/>')
    ),
    "joins link 'a' to itself": robot(A, joint("j", "a", "a")),
    "one of 2 links without a parent": robot(A, B),
    "no link without a parent": robot(link("a"), B, joint("j", "a", "b"), joint("k", "b", "a")),
    "in a circle of parents": robot(A, B, link("c"), joint("j", "c", "b"), joint("k", "b", "c")),
    "has no <mass>": robot(link("a", "<inertial/>")),
    "has the value -1 .kg.": robot(link("a", '<inertial><mass value="-1"/></inertial>')),
    "principal moment": robot(
        A,
        link("b", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="-1"/></inertial>'),
        joint("j", "a", "b"),
    ),
    "'nan' .* not finite": robot(A, B, joint("j", "a", "b", xyz="nan 0 0")),
    "asks for joint 'x', which is not there": robot(
        A, B, joint("j", "a", "b", inside='<axis xyz="0 0 1"/><mimic joint="x"/>')
    ),
    "mimic itself": robot(A, B, joint("j", "a", "b", inside='<axis xyz="0 0 1"/><mimic joint="j"/>')),
    "which is spherical; needed: one coordinate": robot(
        A, B, link("c"), joint("s", "a", "b", "ball", ""), joint("j", "b", "c", inside='<mimic joint="s"/>')
    ),
    "the second <axis>": robot(A, B, joint("j", "a", "b", inside="<axis/><axis/>")),
    "a screw without": robot(A, B, joint("j", "a", "b", "screw", "")),
    "four numbers from 0 to 1": robot(
        link(
            "a",
            '<visual><geometry><sphere radius="1"/></geometry><material><color rgba="255 0 0 1"/></material></visual>',
        )
    ),
    "is no shape": robot(link("a", '<visual><geometry><sphere radius="-1"/></geometry></visual>')),
    "has the ground": robot(link("world", ""), B, joint("j", "b", "world")),
    "both rpy and quat": robot(
        A, B, joint("j", "a", "b", inside="").replace("/></joint", ' rpy="0 0 0" quat_xyzw="0 0 0 1"/></joint')
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_wrong_files_are_refused_by_sentence(words):
    with pytest.raises(ModelFileError, match=words):
        da.read_urdf(WRONG[words])


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="base"):
        da.read_urdf("<robot/>", base="floating")
    with pytest.raises(ArgumentError, match="strict"):
        da.read_urdf("<robot/>", strict=1)
    with pytest.raises(ModelFileError, match="No such file"):
        da.read_urdf("nowhere.urdf")


def test_many_links_are_read_in_linear_time():
    """5000 links, as a chain and as a star: nothing recurses and nothing is quadratic."""
    n = 5000
    small = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(link(f"l{i}", small) for i in range(n))
    chain = "".join(joint(f"j{i}", f"l{i - 1}", f"l{i}", "fixed", "") for i in range(1, n))
    star = "".join(joint(f"j{i}", "l0", f"l{i}", "fixed", "") for i in range(1, n))
    for joints in (chain, star):
        assert len(da.read_urdf(robot(links, joints)).frames) == n


# --- loops ------------------------------------------------------------------------------------------------------------

ROD = '<inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.09" izz="0.09"/></inertial>'
#: a parallelogram, 1.2 m by 1 m; its coupler is joined to the rocker in the way under test
TREE = (
    link("base", ""),
    *(link(n, ROD) for n in ("crank", "coupler", "rocker")),
    joint("A", "base", "crank"),
    joint("B", "crank", "coupler", xyz="1 0 0"),
    joint("D", "base", "rocker", xyz="1.2 0 0"),
)
FAR, END = 'xyz="1.2 0 0"', 'xyz="1 0 0"'  # where the coupler and the rocker meet
WAYS = {
    "URDF+": '<loop name="C" type="revolute"><predecessor link="coupler"><origin xyz="1.2 0 0"/></predecessor>'
    '<successor link="rocker"><origin xyz="1 0 0"/></successor><axis xyz="0 0 1"/></loop>',
    "Isaac Sim": '<loop_joint name="C" type="spherical">'
    f'<link1 link="coupler" {FAR}/><link1 link="rocker" {END}/></loop_joint>',
    "Isaac Sim, two names": '<loop_joint name="C" type="revolute">'
    f'<link1 link="coupler" {FAR}/><link2 link="rocker" {END}/><axis xyz="0 0 1"/></loop_joint>',
    "loop_joint with parent and child": '<loop_joint name="C" type="revolute">'
    f'<parent link="coupler"/><child link="rocker"/><parent_origin {FAR}/><child_origin {END}/>'
    '<axis xyz="0 0 1"/></loop_joint>',
    "urdfdom proposal": '<constraint name="C" type="revolute"><parent link="coupler"/><child link="rocker"/>'
    f'<parent_origin {FAR}/><child_origin {END} rpy="0 1.5707963267948966 0"/><parent_axis xyz="0 0 1"/>'
    '<child_axis xyz="-1 0 0"/></constraint>',
    "Drake": '<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>'
    '<drake:ball_constraint_p_AP value="1.2 0 0"/><drake:ball_constraint_body_B name="rocker"/>'
    '<drake:ball_constraint_p_BQ value="1 0 0"/></drake:ball_constraint>',
    "onshape-to-robot": "".join(
        link(f"closing_C_{k}", "") + joint(f"closing_C_{k}_frame", on, f"closing_C_{k}", "fixed", "", f"{x} 0 0")
        for k, on, x in ((1, "coupler", 1.2), (2, "rocker", 1))
    ),
    "onshape-to-robot, revolute": "".join(
        link(f"closing_C_revolute_{k}", "") + joint(f"f{k}", on, f"closing_C_revolute_{k}", "fixed", "", f"{x} 0 0")
        for k, on, x in ((1, "coupler", 1.2), (2, "rocker", 1))
    ),
}  # fmt: skip


def reference():
    m = da.Mechanism("r")
    bodies = {
        n: m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.09, 0.09)) for n in ("crank", "coupler", "rocker")
    }
    m.add_joint("A", da.Revolute("z"), m.ground, bodies["crank"])
    m.add_joint("B", da.Revolute("z"), bodies["crank"].at(1, 0, 0), bodies["coupler"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.2, 0, 0), bodies["rocker"])
    m.close_loop("C", da.Revolute("z"), bodies["coupler"].at(1.2, 0, 0), bodies["rocker"].at(1, 0, 0))
    m.gravity = (0, -9.81, 0)
    return m.compile("casadi")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_closing_a_loop_closes_the_same_linkage(way):
    m = da.read_urdf(robot(*TREE, WAYS[way]))
    m.gravity = (0, -9.81, 0)
    ours, theirs = m.compile("casadi"), reference()
    q = {"A": 0.7, "B": -0.7, "D": 0.7}
    assert np.abs(ours.residuals(q)).max() < 1e-12
    found, exact = ours.acceleration(q), theirs.acceleration(q)
    assert found.rank == exact.rank == 2
    np.testing.assert_allclose(found.vdot, exact.vdot, rtol=1e-10, atol=1e-10)


def test_a_joint_of_sdf_in_a_gazebo_element_closes_a_loop_as_drawn():
    sdf = (
        '<gazebo><joint name="C" type="revolute"><parent>coupler</parent><child>rocker</child><pose>1 0 0 0 0 0</pose>'
        "<axis><xyz>0 0 1</xyz></axis></joint></gazebo>"
    )
    m = da.read_urdf(robot(*TREE, sdf))
    assert m.constraints["C"].joint.kind == "revolute"
    assert not any("open" in t for t in texts(m))  # closed where it is drawn, stretched out
    np.testing.assert_allclose(m.constraints["C"].a.T.p.astype(float), [1.2, 0, 0])


def test_a_second_parent_closes_a_loop():
    pins = (joint(name, on, "pin", xyz=f"{x} 0 0") for name, on, x in (("P", "coupler", 1.2), ("C", "rocker", 1)))
    text = robot(*TREE, link("pin"), *pins)
    m = da.read_urdf(text)
    assert list(m.constraints) == ["C"]
    assert m.constraints["C"].joint.kind == "revolute"
    assert any("hangs on joint 'P'" in t for t in texts(m))
    system = m.compile("casadi")
    assert np.abs(system.residuals({"A": 0.7, "B": -0.7, "D": 0.7})).max() < 1e-12


def test_universal_constraints_have_one_axis_on_each_side():
    text = robot(
        link("base", ""),
        link("a", ROD),
        link("b", ROD),
        joint("s", "base", "a", "ball", ""),
        joint("t", "base", "b", "ball", "", xyz="2 0 0"),
        '<constraint name="C" type="universal"><parent link="a"/><child link="b"/><parent_origin xyz="1 0 0"/>'
        '<child_origin xyz="-1 0 0"/><parent_axis xyz="0 0 1"/><child_axis xyz="0 1 0"/></constraint>',
    )
    system = da.read_urdf(text).compile("casadi")
    assert len(system.row_names) == 4
    assert np.abs(system.residuals(system.state())).max() < 1e-12
    turned = system.state({"s": [np.cos(0.2), 0, 0, np.sin(0.2)], "t": [1, 0, 0, 0]})
    assert np.abs(system.residuals(turned)[:3]).max() > 0.1


def test_a_ball_without_its_second_point_is_closed_as_drawn():
    text = WAYS["Drake"].replace('<drake:ball_constraint_p_BQ value="1 0 0"/>', "").replace('"1.2 0 0"', '"0.7 0.1 0"')
    m = da.read_urdf(robot(*TREE, text))
    (loop,) = m.constraints.values()
    np.testing.assert_allclose(loop.b.T.p.astype(float), [1.0 + 0.7 - 1.2, 0.1, 0], atol=1e-15)


def test_distances_are_rods_or_springs():
    def distance(more=""):
        tag = "drake:distance_constraint"
        ends = f'<{tag}_body_A name="crank"/><{tag}_p_AP value="1 0 0"/>'
        ends += f'<{tag}_body_B name="rocker"/><{tag}_p_BQ value="1 0 0"/>'
        return f'<{tag} name="d">{ends}<{tag}_distance value="1.5"/>{more}</{tag}>'

    m = da.read_urdf(robot(*TREE, distance()))
    assert m.constraints["d"].kind == "rod"
    system = m.compile("casadi")
    assert system.residuals({"A": 0.3, "B": 0.0, "D": 0.3})[0] == pytest.approx(1.2 - 1.5)
    m = da.read_urdf(robot(*TREE, distance('<drake:distance_constraint_stiffness value="40"/>')))
    assert m.forces["d"].kind == "spring"
    assert m.compile("casadi").energy({"A": 0.3, "B": 0.0, "D": 0.3}) == pytest.approx(0.5 * 40 * 0.3**2)


def test_couplings_of_urdf_plus_sum_angles_from_the_common_ancestor():
    text = robot(
        link("base", ""),
        *(link(x) for x in "abcr"),
        joint("j1", "base", "a"),
        joint("j2", "a", "b"),
        joint("j3", "b", "c"),
        joint("r", "a", "r"),
        '<coupling name="gear"><predecessor link="c"/><successor link="r"/><ratio value="6"/></coupling>',
    )
    m = da.read_urdf(text)
    assert m.constraints["gear"].recipe[1][1] == {"j2": 6.0, "j3": 6.0, "r": -1.0}


def test_mimicking_joints_follow():
    text = robot(
        link("base", ""),
        link("a"),
        link("b"),
        joint("a", "base", "a"),
        joint("b", "a", "b", inside='<axis xyz="0 0 1"/><mimic joint="a" multiplier="-2" offset="0.5"/>'),
    )
    system = da.read_urdf(text).compile("casadi")
    assert system.residuals({"a": 0.1, "b": 0.3})[0] == pytest.approx(0.0, abs=1e-15)
    assert system.acceleration({"a": 0.1, "b": 0.3}).rank == 1


def test_a_closing_frame_without_its_other_half_is_noted():
    m = da.read_urdf(robot(*TREE, link("closing_x_1", ""), joint("f", "crank", "closing_x_1", "fixed", "")))
    assert not m.constraints
    assert any("there is no link 'closing_x_2'" in t for t in texts(m))


FRAMES = "".join(
    link(f"C_{s}", "") + joint(f"fC_{s}", on, f"C_{s}", "fixed", "", xyz=f"{x} 0 0")
    for s, on, x in (("A", "coupler", 1.2), ("B", "rocker", 1))
)


@pytest.fixture
def beside(tmp_path):
    def make(yaml, name="robot.yaml"):
        (tmp_path / "robot.urdf").write_text(robot(*TREE, FRAMES))
        (tmp_path / name).write_text(yaml)
        return tmp_path / "robot.urdf"

    return make


def test_a_file_beside_the_urdf_closes_loops_and_names_motors(beside, tmp_path):
    yaml = 'closed_loop: [["C_A", "C_B"]]\ntype: ["3d"]\nname_mot: [A]\n'
    m = da.read_urdf(beside(yaml))
    assert (list(m.constraints), list(m.inputs)) == (["C"], ["A"])
    system, q = m.compile("casadi"), {"A": 0.7, "B": -0.7, "D": 0.7}
    assert np.abs(system.residuals(q)).max() < 1e-12
    assert system.acceleration(q).rank == 2
    other = da.read_urdf(tmp_path / "robot.urdf", loops=tmp_path / "robot.yaml")
    assert list(other.constraints) == ["C"]
    assert not da.read_urdf(robot(*TREE, FRAMES)).constraints
    named = da.read_urdf(beside('closed_loop: [["fC_A", "C_B"]]\n'))  # a joint, and no type: axes too
    assert named.constraints["fC_A__C_B"].joint.kind == "fixed"


def test_a_file_beside_the_urdf_gives_joints_other_types(beside):
    m = da.read_urdf(beside("joint_name: [B, D, nothing]\njoint_type: [SPHERICAL, UJOINT_ZX, FIXED]\nextra: 1\n"))
    assert [a.joint.kind for a in m.joints.values()] == ["revolute", "spherical", "universal"]
    assert any("no joint 'nothing'" in t for t in texts(m))
    assert any(n.element == "<extra>" and n.file == "robot.yaml" and n.line == 3 for n in m.notes)


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("closed_loop: [[C_A, x]]", "robot.yaml:1: <closed_loop> asks for 'x', which is neither a link nor a joint"),
        ("closed_loop: [[C_A]]", "needed: two names"),
        ("closed_loop: 3", "needed: a list"),
        ("closed_loop: [[C_A, C_B]]\ntype: ['5d']", "robot.yaml:2: <type> has '5d'; needed: 3d or 6d"),
        ("closed_loop: [[C_A, C_B]]\ntype: ['3d', '3d']", "2 entries for 1"),
        ("joint_name: [A]\njoint_type: [HELICAL]", "has 'HELICAL'; needed: SPHERICAL, FIXED, UJOINT_XY"),
        ("joint_name: [A]\njoint_type: []", "0 entries for 1"),
        ("- closed_loop", "holds no table"),
        ("closed_loop: [[C_A, !!python/object:os.system C_B]]", "robot.yaml"),
        ("closed_loop: [[C_A, C_B]", "robot.yaml"),
    ],
)
def test_wrong_files_of_loops_are_refused(beside, yaml, words):
    with pytest.raises(ModelFileError, match=words):
        da.read_urdf(beside(yaml))


def test_other_files_beside_the_urdf_are_left_alone(beside, tmp_path):
    assert not da.read_urdf(beside("controllers: {a: 1}")).constraints
    (tmp_path / "robot.yaml").unlink()
    outside = tmp_path.parent / "outside.yaml"
    outside.write_text("closed_loop: []")
    (tmp_path / "robot.yaml").symlink_to(outside)
    with pytest.raises(ModelFileError, match="symbolic link out"):
        da.read_urdf(tmp_path / "robot.urdf")


# --- xacro ------------------------------------------------------------------------------------------------------------

XACRO = """<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property name="L" value="2"/>
<link name="a"/><link name="b">{}</link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><origin xyz="${{L*3}} 0 0"/></joint></robot>"""


def test_xacro_runs_only_where_asked(tmp_path):
    path = tmp_path / "r.urdf.xacro"
    path.write_text(XACRO.format(BODY))
    with pytest.raises(ModelFileError, match=r"runs Python expressions.*xacro=True"):
        da.read_urdf(path)
    with pytest.raises(ModelFileError, match=r":1: is a file of xacro"):
        da.read_urdf(path.read_text())
    pytest.importorskip("xacro")
    m = da.read_urdf(path, xacro=True)
    assert m.joints["j"].parent.T.p.tolist() == [6, 0, 0]
    path.write_text(path.read_text().replace("L*3", "M*3"))
    with pytest.raises(ModelFileError, match=r"could not be expanded by xacro.*M"):
        da.read_urdf(path, xacro=True)


def test_drakes_strandbeest_expands_to_the_stored_text():
    pytest.importorskip("xacro")
    folder = "drake/examples/multibody/strandbeest"
    m = da.read_urdf(corpus(f"{folder}/model/StrandbeestConstraints.urdf.xacro"), xacro=True)
    stored = da.read_urdf(corpus(f"{folder}/StrandbeestConstraints.expanded.urdf"))
    assert (list(m.joints), list(m.bodies), len(m.constraints)) == (list(stored.joints), list(stored.bodies), 36)


# --- writing ----------------------------------------------------------------------------------------------------------


def trip(m, folder):
    """The mechanism that is read after it was written, and what was not said."""
    notes = write(m, folder / "model.urdf")
    back = da.read_urdf(folder / "model.urdf")
    back.gravity = m.gravity
    return back, notes


def same_equations(m, back, seed, springs=True):
    """M, h, A, Φ and forces at random states off the manifold, by names of coordinates and rows."""
    one, two = m.compile("casadi"), back.compile("casadi")
    assert sorted(one.v_names) == sorted(two.v_names)
    assert sorted(one.row_names) == sorted(two.row_names)
    at = [two.v_names.index(n) for n in one.v_names]
    rows = [two.row_names.index(r) for r in one.row_names]
    order = [two.q_names.index(n) for n in one.q_names]
    rng = np.random.default_rng(seed)
    for _ in range(3):
        x = one.state(one.plus(one.state().q, rng.normal(size=one.nv)), rng.normal(size=one.nv))
        q, v = np.zeros(len(x.q)), np.zeros(one.nv)
        q[order], v[at] = x.q, x.v
        y = two.state(q, v)
        pairs = [
            (one.mass_matrix(x), two.mass_matrix(y)[np.ix_(at, at)]),
            (one.bias(x), two.bias(y)[at]),
        ]
        if springs:
            pairs.append((one.applied_forces(x), two.applied_forces(y)[at]))
        if rows:
            pairs += [
                (one.constraint_matrix(x), two.constraint_matrix(y)[np.ix_(rows, at)]),
                (one.residuals(x), two.residuals(y)[rows]),
            ]
        for a, b in pairs:
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * max(np.abs(a).max(), 1e-3))


@pytest.mark.parametrize("pitch", [0.0, 0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1e-15 - np.pi / 2, np.pi])
def test_angles_of_rotations_give_them_back(pitch):
    """Also where the axes of roll and yaw are one."""
    rng = np.random.default_rng(5)
    for roll, yaw in rng.uniform(-3, 3, (20, 2)):
        R = pose((0, 0, 0), (roll, pitch, yaw)).R
        np.testing.assert_allclose(pose((0, 0, 0), rpy(R)).R, R, atol=1e-14)


WHOLE = "bennett bricard cart_pole cartesian_pendulum constrained_double_pendulum four_bar ladder loader stewart"
WHOLE += " heavy_top parallel_four_bar planar_3rrr sarrus slider_crank ssrms two_arms five_bar"


@pytest.mark.parametrize("name", WHOLE.split())
def test_round_trips_keep_the_equations(name, tmp_path):
    m = getattr(da.zoo, name)()
    back, _ = trip(m, tmp_path)
    same_equations(m, back, seed=len(name))


@pytest.mark.parametrize(
    "name",
    [
        "gepetto_parallel/5bar_linkage_iso6d",
        "gepetto_parallel/cassie_like",
        "gepetto_parallel/disney_robot",
        "gepetto_parallel/robot_delta",
        "grbda_urdf_plus/mini_cheetah.urdf",
        "grbda_urdf_plus/six_bar.urdf",
        "sdformat/test/sdf/joint_mimic_rack_pinion.urdf",
    ],
)
def test_files_survive_being_read_and_written(name, tmp_path):
    path = corpus(name)
    m = da.read_urdf(path / "robot.urdf" if path.is_dir() else path)
    back, _ = trip(m, tmp_path)
    assert {**m.frames, **m.bodies}.keys() <= {*back.frames, *back.bodies, "world"}
    assert list(back.inputs) == list(m.inputs)
    if "mini_cheetah" in name:  # couplings of several joints cannot be said
        for c in list(m.constraints):
            del m.constraints[c]
        for c in list(back.constraints):
            del back.constraints[c]
    same_equations(m, back, seed=7)


def random_mechanism(rng):
    """Every joint, places turned on both sides, springs, dampers, armatures, loops, a rod, a spring, a coupling."""
    from scipy.spatial.transform import Rotation

    def place(body):
        return body.at(rng.normal(size=3), rotation=Rotation.random(random_state=int(rng.integers(1 << 30))))

    axis = tuple(rng.normal(size=3))
    second = np.cross(axis, rng.normal(size=3))
    joints = [
        da.Free(), da.Revolute(axis), da.Prismatic("-y"), da.Screw(axis, pitch=0.3), da.Cylindrical(axis),
        da.Universal(axis, second), da.Universal("z", "x"), da.Planar(axis), da.Spherical(), da.Fixed(),
        da.Revolute("x"),
    ]  # fmt: skip
    m = da.Mechanism("random")
    bodies = [m.ground]
    for k, j in enumerate(joints):
        parent = bodies[int(rng.integers(len(bodies)))]
        body = m.add_body(f"b{k}", mass=rng.uniform(1, 2), com=rng.normal(size=3) / 5, inertia=(0.9, 1.0, 1.1))
        more = {"damping": rng.uniform(0, 1)} if j.nv else {}
        if j.nv == 1:
            more |= {"stiffness": rng.uniform(1, 2), "rest": 0.1, "armature": rng.uniform(0, 1), "limits": (-1, 2)}
        m.add_joint(f"j{k}", j, place(parent), place(body), **more)
        bodies.append(body)
    closing = [da.Revolute(axis), da.Spherical(), da.Fixed(), da.Universal(axis, second), da.Screw("x", pitch=0.2)]
    closing += [da.Prismatic(axis), da.Planar("y"), da.Cylindrical("z")]
    for k, j in enumerate(closing):
        a, b = rng.choice(len(bodies), 2, replace=False)
        m.close_loop(f"loop{k}", j, place(bodies[a]), place(bodies[b]))
    m.add_rod("rod", place(bodies[2]), place(bodies[5]), length=2.0)
    m.add_spring("spring", place(bodies[3]), place(bodies[6]), stiffness=3.0, damping=0.2, rest_length=0.5)
    m.add_coupling("gear", {"j1": 1.0, "j10": -3.0}, 0.2)
    m.add_motor("drive", "j1")
    m.add_frame("tool", place(bodies[4]))
    bodies[1].add_shape("box", (1, 2, 3), at=(0.1, 0.2, 0.3), colour=(1, 0, 0, 1))
    return m


@pytest.mark.parametrize("seed", range(4))
def test_round_trips_keep_random_mechanisms(seed, tmp_path):
    m = random_mechanism(np.random.default_rng(seed))
    back, notes = trip(m, tmp_path)
    same_equations(m, back, seed)
    one, two = m.compile("casadi"), back.compile("casadi")
    np.testing.assert_allclose(one.pose(one.state(), "tool"), two.pose(two.state(), "tool"), atol=1e-12)
    assert list(back.inputs) == ["drive"]
    assert back.joints["j1"].limits.tolist() == [[-1, 2]]
    place, box = one.pose(one.state(), "b0"), m.bodies["b0"].shapes[0]
    there = two.pose(two.state(), "b0")
    drawn = Transform(place[:3, :3], place[:3, 3]) @ box.pose
    again = Transform(there[:3, :3], there[:3, 3]) @ back.bodies["b0"].shapes[0].pose
    np.testing.assert_allclose(drawn.matrix().astype(float), again.matrix().astype(float), atol=1e-12)
    assert any("the frame of its joint" in n.text for n in notes)


def test_what_urdf_cannot_say_is_listed(tmp_path):
    m = da.zoo.rolling_disc()
    m.add_state("start")
    p = m.add_parameter("p", 2.0)
    m.add_wrench("push", "ground" if len(m.bodies) == 1 else list(m.bodies)[1], force=(p, 0, 0))
    notes = [str(n) for n in trip(m, tmp_path)[1]]
    for words in ("constraint 'ground contact'", "force 'push'", "state 'start'", "parameters: p are written"):
        assert any(words in n for n in notes), words


MINE = ("mine: 1\n", "dalembert: 1\nname: closed_loop\nbodies: {joint_type: {mass: 1}}\n", "note: closed_loop: x\n")


@pytest.mark.parametrize("text", MINE)
def test_writing_does_not_replace_what_is_no_file_of_loops(tmp_path, text):
    """A file of something else beside it stays; loops go to NAME.loops.yaml, which is read."""
    m = da.zoo.heavy_top()
    (tmp_path / "top.yaml").write_text(text)
    for _ in range(2):  # the second time over the first
        notes = m.save(tmp_path / "top.urdf")
        assert any("'top.loops.yaml'" in n.text for n in notes)
        assert (tmp_path / "top.yaml").read_text() == text
        assert [a.joint.kind for a in da.read(tmp_path / "top.urdf").joints.values()] == ["spherical"]
    da.zoo.chain().save(tmp_path / "top.urdf")  # no loops now: the older file of loops goes, the other one stays
    assert {p.name for p in tmp_path.iterdir()} == {"top.urdf", "top.yaml"}
    (tmp_path / "top.loops.yaml").write_text(text)
    with pytest.raises(ModelFileError, match=r"has 'top.yaml' and 'top.loops.yaml' beside it, neither"):
        m.save(tmp_path / "top.urdf")
    assert (tmp_path / "top.loops.yaml").read_text() == text


def test_an_older_file_of_loops_is_replaced_or_goes(tmp_path):
    write(da.zoo.heavy_top(), tmp_path / "other.urdf")
    assert (tmp_path / "other.yaml").exists()
    write(da.zoo.chain(), tmp_path / "other.urdf")
    assert not (tmp_path / "other.yaml").exists()


def test_the_name_world_is_kept_for_the_ground(tmp_path):
    """A body and a frame of that name get another; the frame that readers of MJCF give the ground is the ground."""
    m = da.Mechanism("w")
    body = m.add_body("world", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute("z"), m.ground.at(0, 0, 1), body)
    m.add_frame("world_", body.at(1, 0, 0))
    other, notes = trip(m, tmp_path)
    assert any("is called 'world__2' in URDF" in n.text for n in notes)
    assert set(other.bodies) == {"ground", "world__2"}
    same = da.Mechanism("w")
    same.add_joint("A", da.Revolute("z"), same.ground, same.add_body("b", mass=1.0, inertia=(1, 1, 1)))
    same.add_frame("world", same.ground)
    assert set(trip(same, tmp_path)[0].bodies) == {"ground", "b"}
    same.frames["world"] = same.bodies["b"].at(0, 1, 0)
    assert "world_" in trip(same, tmp_path)[0].frames


def test_pinocchio_reads_what_is_written(tmp_path):
    """The tree of a robot as urdfdom and Pinocchio read it: same M at random positions."""
    pin = pytest.importorskip("pinocchio")
    m = da.read_urdf(corpus("pinocchio/models/simple_humanoid.urdf"))
    write(m, tmp_path / "h.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "h.urdf"))
    system = m.compile("casadi")
    rng = np.random.default_rng(3)
    angles = dict(zip(system.q_names, rng.normal(size=system.nv)))
    names = list(model.names)[1:]
    q = pin.neutral(model)
    for name in names:
        j = model.joints[model.getJointId(name)]
        q[j.idx_q : j.idx_q + j.nq] = [angles[name]] if j.nq == 1 else [np.cos(angles[name]), np.sin(angles[name])]
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    at = [system.v_names.index(n) for n in names]
    np.testing.assert_allclose(system.mass_matrix(angles)[np.ix_(at, at)], M, atol=1e-12 * np.abs(M).max())


def test_mutated_files_are_read_or_refused_cleanly():
    """Attributes and tags of a good file exchanged, cut and doubled at random: only errors of this library."""
    import random
    import re

    rng = random.Random(19)
    good = robot(*TREE, *WAYS.values(), '<transmission name="t"><joint name="A"/><actuator name="m"/></transmission>')
    words = re.findall(r'"[^"]*"|<[a-zA-Z:_0-9]+', good)
    refused = 0
    for _ in range(400):
        text = good
        for _ in range(rng.randint(1, 3)):
            a, b = (
                rng.choice(words),
                rng.choice(
                    [*words, '"nan"', '"1e400"', '""', '"world"', '"-1"', '"1 2"', '"1e99"', '"1e-320"', '"a.b"']
                ),
            )
            places = [x.start() for x in re.finditer(re.escape(a), text)]
            if places and a[0] == b[0]:
                k = rng.choice(places)
                text = text[:k] + b + text[k + len(a) :]
        try:
            da.read_urdf(text)
        except ModelFileError:
            refused += 1
    assert 50 < refused < 400
