"""Small files of our own for what otherwise only files of other projects hold: each says what it is read as."""

import numpy as np
import pytest

import dalembert as da
from urdf_texts import BODY, joint, link, robot, texts

SOLID = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def sdf_joint(name, kind, parent, child, inside=""):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


@pytest.fixture
def lua(tmp_path):
    def read(text, **options):
        (tmp_path / "model.lua").write_text(text)
        return da.read(tmp_path / "model.lua", **options)

    return read


LUA = """return {{ frames = {{
  {{ name = "arm", parent = "ROOT", joint = {{ {{0, 0, 1, 0, 0, 0}} }},
     body = {{ mass = 2, com = {{0.5, 0, 0}}, inertia = {{ {{1, 0, 0}}, {{0, 1, 0}}, {{0, 0, 1}} }} }} }},
  {{ name = "hand", parent = "arm", joint = {{ {{0, 0, 0, 0, 2, 0}} }}, joint_frame = {{ r = {{1, 0, 0}} }},
     body = {{ mass = 1, com = {{0, 0, 0}}, inertia = {{ {{1, 0, 0}}, {{0, 1, 0}}, {{0, 0, 1}} }} }} }},
  {{ name = "tag", parent = "hand", joint = {{}}, body = {{ mass = 0, com = {{1, 2, 3}} }} }},
  }}, constraint_sets = {{ first = {{ {first} }}, second = {{ {second} }} }} }}"""
CONTACT = '{ constraint_type = "contact", name = "foot.tip", body = "hand", point = {0.5, 0, 0}, %s }'
LOOP = '{ constraint_type = "loop", predecessor_local_frame = "ROOT", successor_local_frame = "hand", %s }'


def test_contacts_of_rbdl_hold_a_point_along_their_normals(lua):
    """The point is 1.5 m out in the neutral position; both normals in its plane leave no motion."""
    m = lua(LUA.format(first=CONTACT % "normal_sets = {{2, 0, 0}, {0, 1, 0}}", second=CONTACT % "normal = {1, 0, 0}"))
    assert list(m.constraints) == ["foot_tip_1", "foot_tip_2"]
    assert repr(m.joints["hand"].joint) == "Prismatic('y')"
    assert float(m.bodies["hand"].mass) == 1.0
    assert any("constraint set 'second'" in n.element and n.text == "is not taken" for n in m.notes)
    assert any("a constraint both ways" in n.text for n in m.notes)
    system = m.compile("casadi")
    x = system.state()
    np.testing.assert_allclose(system.residuals(x), 0, atol=1e-15)
    np.testing.assert_allclose(system.residuals(system.state({"hand": 0.2})), [0, 0.2], atol=1e-15)
    assert system.report(x).generic_mobility == 0
    named = CONTACT.replace('body = "hand", point = {0.5, 0, 0}', 'point_name = "hand"') % "normal = {0, 0, 3}"
    assert list(lua(LUA.format(first="", second=named), constraints="second").constraints) == ["foot_tip"]


def test_loops_of_rbdl_between_local_frames(lua):
    axes = "axis_sets = {{0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 1}}, stabilization_coefficient = 0.1"
    m = lua(LUA.format(first=LOOP % axes, second=""))
    (loop,) = m.constraints.values()
    assert (loop.a.body.name, loop.b.body.name, loop.joint.kind) == ("ground", "hand", "spherical")
    assert any("settings of RBDL's solver" in n.text for n in m.notes)


def test_settings_of_mujoco_that_have_no_meaning_are_noted(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")
    from mjcf_texts import BOX, text_file

    body = """<body name="hand" mocap="true" pos="0 0 2"><geom size=".1"/></body>
<body name="arm" gravcomp="1"><joint name="j" axis="0 1 0" actuatorfrcrange="-1 1" actuatorgravcomp="true"/>
<geom type="mesh" mesh="box"/><geom type="hfield" hfield="h" mass="0"/></body>
<geom type="mesh" mesh="box"/>"""
    head = f"""<asset><mesh name="box" vertex="{BOX}"/><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset>
<tendon><fixed name="t" range="-1 1" frictionloss="0.3"><joint joint="j" coef="2"/></fixed></tendon>"""
    m = da.read(text_file(tmp_path, body, head=head))
    said = " ".join(n.text for n in m.notes)
    for words in (
        "is moved by the user in MuJoCo (mocap)",
        "its mesh is written in the file and is not kept as a shape",
        "height fields and signed distance fields are not kept",
        "the limit of its actuators' force (actuatorfrcrange) is not kept",
        "gravity compensation acts on the bodies, not through the actuators",
        "dry friction (frictionloss 0.3) is not modelled",
        "its limits are not kept",
    ):
        assert words in said
    assert float(m.bodies["arm"].mass) == pytest.approx(12.0, rel=1e-6)


def test_meshes_are_written_by_the_names_of_their_files(tmp_path):
    m = da.Mechanism("shapes")
    body = m.add_body("b", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("j", da.Revolute("z"), m.ground, body)
    body.add_shape("mesh", (), file="part.stl", scale=(1, 2, 3))
    body.add_shape("ellipsoid", (1, 2, 3))
    assert any("'part.stl' is not beside the file" in n.text for n in m.save(tmp_path / "m.xml"))
    for suffix in (".urdf", ".sdf"):
        m.save(tmp_path / f"m{suffix}")
        mesh, round_ = da.read(tmp_path / f"m{suffix}").bodies["b"].shapes
        assert (mesh.file, mesh.scale, round_.kind, round_.size) == ("part.stl", (1, 2, 3), "ellipsoid", (1, 2, 3))


def test_axes_and_limits_of_sdf_that_are_unusual(read):
    limits = (
        "<axis><xyz>0 1 0</xyz><limit><lower>1</lower><upper>1</upper></limit></axis><axis2><xyz>1 0 0</xyz></axis2>"
    )
    m = read(
        f'<model name="m"><link name="a">{SOLID}</link><link name="b">{SOLID}</link><link name="c">{SOLID}</link>'
        f'<link name="d">{SOLID}<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry>'
        "<material><script><uri>x</uri></script></material></visual></link>"
        '<frame name="far" attached_to="a"><pose>1 0 0 0 0 0</pose></frame>'
        + sdf_joint("plain", "revolute", "world", "a")
        + sdf_joint("held", "prismatic", "far", "b", limits)
        + sdf_joint("ball", "ball", "b", "c", "<axis><xyz>1 0 0</xyz></axis>")
        + sdf_joint("last", "revolute", "c", "d", "<axis><xyz>1 0 0</xyz></axis>")
        + "<drake:weld_constraint><parent>a</parent><child>d</child></drake:weld_constraint>"
        + "<drake:weld_constraint><parent>b</parent><child>d</child></drake:weld_constraint></model>"
    )
    assert repr(m.joints["plain"].joint) == "Revolute('z')"
    assert list(m.constraints) == ["weld_constraint", "weld_constraint_2"]
    said = " ".join(texts(m))
    for words in (
        "has no <axis>; SDF means its z axis",
        "its limits meet, which holds it in a simulator",
        "its parent frame stands 1 m from it",
        "has no meaning for a joint of this type",
        "a ball joint has no axis",
        "has no colour of its own, and no script is read",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        (
            sdf_joint("j", "universal", "world", "a", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>-1 0 0</xyz></axis2>"),
            r"<joint> 'j' has two parallel axes.*For one axis use type 'revolute'",
        ),
        (
            '<drake:joint name="j" type="curvilinear"><drake:parent>world</drake:parent><drake:child>a</drake:child>'
            "</drake:joint>",
            r"<drake:joint> 'j' has the type 'curvilinear', which is not modelled",
        ),
    ],
)
def test_joints_of_sdf_that_are_refused(inside, words, read):
    with pytest.raises(da.ModelFileError, match=words):
        read(f'<model name="m"><link name="a">{SOLID}</link>{inside}</model>')


def test_what_sdf_says_of_massless_bodies_and_named_couplings(tmp_path):
    m = da.Mechanism("light")
    a, b = m.add_body("a"), m.add_body("b", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("x"), a, b)
    m.add_coupling("gear", {"A": 1.0, "B": 2.0})
    said = {n.element: n.text for n in m.save(tmp_path / "m.sdf")}
    assert "has no mass, which Gazebo refuses" in said["body 'a'"]
    assert said["coupling 'gear'"] == "has no name in SDF; it is read again as 'A mimic'"
    assert list(da.read(tmp_path / "m.sdf").constraints) == ["A mimic"]


def test_limits_and_motors_of_urdf_that_are_unusual():
    drive = '<transmission name="t{0}"><joint name="{0}"/><actuator name="m{0}"/></transmission>'
    m = da.read_urdf(
        robot(
            *(link(name) for name in "abcde"),
            joint("A", "a", "b", "revolute"),
            joint("B", "b", "c", "revolute", '<axis xyz="0 0 1"/><limit effort="0" velocity="1"/>'),
            joint("C", "c", "d", "fixed", '<dynamics damping="1"/>'),
            joint(
                "D", "c", "e", "prismatic", '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="1"/>'
            ),
            *(drive.format(name) for name in "ABCD"),
        )
    )
    assert list(m.inputs) == ["mA", "mD"]
    said = " ".join(texts(m))
    for words in (
        "has no <limit>; it is taken as unlimited",
        "has neither lower nor upper",
        "joint 'B' may exert no effort (limit 0)",
        "joint 'C' is fixed; it gets no motor",
    ):
        assert words in said


@pytest.mark.parametrize("same", [True, False])
def test_frames_at_the_ends_of_a_loop_are_used_where_they_are_the_same(same, tmp_path):
    """Frames called NAME_A and NAME_B: a pair at other places leaves them alone."""
    text = robot(link("base", ""), link("b", BODY), joint("J", "base", "b"))
    m = da.read_urdf(text)
    ends = m.bodies["b"].at(1, 0, 0), m.ground.at(1, 0, 0)
    for name, end in zip(("L_A", "L_B"), ends):
        m.add_frame(name, end if same else end.at(0, 0, 1))
    m.close_loop("L", da.Spherical(), *ends)
    m.save(tmp_path / "m.urdf")
    back = da.read(tmp_path / "m.urdf")
    assert list(back.constraints) == ["L"]
    assert len([n for n in back.frames if n.startswith("L_")]) == (2 if same else 4)
    one, two = m.compile("casadi"), back.compile("casadi")
    np.testing.assert_allclose(two.residuals({"J": 0.3}), one.residuals({"J": 0.3}), atol=1e-15)
