"""URDF: what is read of links and joints, what is noted, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, ModelFileError
from urdf_texts import BODY, joint, link, robot, texts


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
    assert m.joints["j"].friction == (da.Friction(0.2),)
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


def test_slips_of_exported_robots_are_noted():
    """As in iCub (moments of 1e-35), Talos (a fixed joint that mimics, motors of joints left out), xArm (a macro)."""
    rounding = (
        '<inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0" ixz="2e-35" iyy="0" izz="0"/></inertial>'
    )
    text = robot(
        link("a", ""),
        link("b", rounding),
        joint("j", "a", "b"),
        link("c", BODY),
        joint("k", "b", "c", "fixed", inside='<mimic joint="j"/>'),
        '<transmission name="t"><joint name="none"/><actuator name="m"/></transmission>',
        '<transmission name="s"><joint name="j"/><actuator name="n"><mechanicalReduction>reduction'
        "</mechanicalReduction></actuator></transmission>",
    )
    m = da.read_urdf(text)
    for why in ("rounding; the mass is", "'k' is fixed and has no", "'none' is not there; its", "after the reduction"):
        assert sum(why in t for t in texts(m)) == 1
        with pytest.raises(da.ModelFileError):
            da.read_urdf(text, strict=True)
    assert list(m.inputs) == ["n"]
    assert da.read_urdf(text, merge_fixed=False).bodies["b"].inertia.tolist() == np.zeros((3, 3)).tolist()


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
