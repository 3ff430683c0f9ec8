"""URDF: every way of closing loops, couplings, files beside the robot, xacro."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from corpus import corpus
from dalembert.errors import ModelFileError
from urdf_texts import BODY, joint, link, robot, texts

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
        (
            "joint_name: [A]\njoint_type: [HELICAL]",
            "has 'HELICAL'; needed: SPHERICAL, CYLINDRICAL, SCREW, FIXED",
        ),
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
