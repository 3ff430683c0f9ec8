"""RBDL's Lua models: tables are read and nothing is run; frames, joints, constraint sets, and what is refused."""

import numpy as np
import pytest

import dalembert as da
from corpus import corpus
from dalembert.formats.rbdl.lua import loads

BODY = "body = { mass = 2, com = {0.5, 0, 0}, inertia = { {0.1, 0, 0}, {0, 0.2, 0}, {0, 0, 0.2} } }"


@pytest.fixture
def lua(tmp_path):
    def read(frames, more="", **options):
        path = tmp_path / "model.lua"
        path.write_text(f"return {{ frames = {{ {frames} }}, {more} }}")
        return da.read(path, **options)

    return read


def frame(name, joint, parent="ROOT", more=""):
    return f'{{ name = "{name}", parent = "{parent}", joint = {joint}, {BODY}, {more} }},'


FREE = '{"JointTypeFloatingBase"}'


def test_values_are_those_of_lua():
    """Signs bind less than powers, powers to the right; lists begin at 1; later names see earlier ones."""
    table = loads(
        """-- a comment
        local a = 3 --[[ a long
        one ]]
        t = { x = a, ["y z"] = {1; 2, 3}, [5] = "q", 7, 8 }
        t.more = { -2^2, 2^3^2, (1 + 2) * 4 / 6 - 1, math.pi, math.sqrt(a * a), t["y z"][2], -t[1], true }
        return t""",
        "text",
    )
    assert table["x"] == 3.0
    assert table.items_in_order() == [7.0, 8.0]
    assert table["more"].items_in_order() == [-4.0, 512.0, 1.0, np.pi, 3.0, 2.0, -7.0, True]


def test_the_pendulum_of_loops_moves_as_the_double_pendulum():
    """Five axes of a loop between a free body and the first one are a revolute joint: accelerations of the tree."""
    m = da.read(corpus("rbdl/examples/constrainedDoublePendulum/model/constrainedDoublePendulum.lua"))
    assert {name: repr(c.joint) for name, c in m.constraints.items()} == {"PinJoint": "Revolute('x')"}
    system = m.compile("casadi")
    x = system.assemble({"K1": 0.4, "K2_4": 1.1}, v={"K1": 0.7, "K2_4": -0.5})
    tree = da.Mechanism("double pendulum")
    a, b = (tree.add_body(n, mass=1.0, com=(0, 0.5, 0), inertia=(1 / 12, 1 / 12, 1 / 12)) for n in "ab")
    tree.add_joint("A", da.Revolute("x"), tree.ground, a)
    tree.add_joint("B", da.Revolute("x"), a.at(0, 1, 0), b)
    other = tree.compile("casadi")
    v = other.forward_dynamics(other.state({"A": 0.4, "B": 0.7}, {"A": 0.7, "B": -1.2}))
    found = system.acceleration(x).vdot
    at = {name: k for k, name in enumerate(system.v_names)}
    np.testing.assert_allclose([found[at["K1"]], found[at["K2_4"]]], [v[0], v[0] + v[1]], rtol=1e-10)


@pytest.mark.parametrize("chosen", [None, "individual_constraints", "constraints_in_sets"])
def test_both_ways_of_writing_a_set_are_the_same_constraints(chosen):
    """The base held at a point, two chains tied in x and y: 5 rows, 2 motions left."""
    path = corpus("rbdl/addons/luamodel/sampleconstrainedmodel.lua")
    system = da.read(path, constraints=chosen).compile("casadi")
    x = system.assemble({"l11": 0.3})
    assert np.abs(system.residuals(x)).max() < 1e-10
    assert (system.acceleration(x).rank, system.nv) == (5, 7)
    assert list(da.read(path, constraints="").constraints) == []


@pytest.mark.parametrize("size", ["1", "1e-200"])
@pytest.mark.parametrize(
    ("axes", "kind"),
    [
        ("T1 T2 T3", "spherical"),
        ("T1 T2 T3 R1 R2 R3", "fixed"),
        ("T1 T2 T3 R1 R3", "revolute"),
        ("T1 T3 R1 R2 R3", "prismatic"),
        ("T2 T3 R2 R3", "cylindrical"),
        ("T2 R1 R3", "planar"),
        ("T1", "point in plane"),
        ("T1 T3", "point in plane"),
    ],
)
def test_axes_of_a_loop_make_the_joint_that_forbids_them(axes, kind, size, lua):
    """Rows forbid just these motions of the successor, in the axes of the predecessor's frame: by velocities."""
    row = lambda w: ",".join(size if w == f"{part}{k}" else "0" for part in "RT" for k in "123")  # noqa: E731
    rows = [f"{{{row(w)}}}" for w in axes.split()]
    loop = (
        'constraint_sets = { s = { { constraint_type = "loop", name = "l", predecessor_body = "ROOT", '
        "predecessor_transform = { r = {0.1, 0.2, 0.3}, E = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}} }, "
        f'successor_body = "a", successor_transform = {{ E = {{{{0, 0, 1}}, {{1, 0, 0}}, {{0, 1, 0}}}} }}, '
        f"axis_sets = {{ {', '.join(rows)} }} }} }} }}"
    )
    m = lua(frame("a", FREE), loop)
    assert {getattr(c, "joint", c).kind for c in m.constraints.values()} == {kind}
    system = m.compile("casadi")
    x = system.state({"a": [1, 0, 0, 0, 0.1, 0.2, 0.3]})
    A = system.constraint_matrix(x)
    E = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])  # columns: the axes of the predecessor's frame
    wanted = np.array([np.concatenate([E[:, int(w[1]) - 1] * (w[0] == part) for part in "RT"]) for w in axes.split()])
    ranks = [np.linalg.matrix_rank(X) for X in (A, wanted, np.vstack([A, wanted]))]
    assert ranks == [len(rows)] * 3


def test_joint_frames_turn_by_the_transpose_and_local_frames_do_not(lua):
    """RBDL's E carries vectors from the parent to the joint, but from a local frame to its body."""
    E = "E = {{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}}"  # of a joint frame turned by +90° about z
    m = lua(
        frame("a", "{{0, 0, 1, 0, 0, 0}}", more=f"joint_frame = {{ r = {{1, 0, 0}}, {E} }}"),
        f'local_frames = {{ {{ name = "tip", body = "a", r = {{1, 0, 0}}, {E} }} }}',
    )
    system = m.compile("casadi")
    pose = system.pose(system.state(), "tip")
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(pose[:3, 3], [1, 1, 0], atol=1e-15)
    np.testing.assert_allclose(pose[:3, :3], turn @ turn.T, atol=1e-15)


def test_joints_by_name_and_by_axes(lua):
    m = lua(
        frame("a", '{"JointTypeEulerZYX"}')
        + frame("b", '{"JointTypeSpherical"}', "a")
        + frame("c", "{{0, 0, 2, 0, 0, 0.5}}", "b")
        + frame("d", "{}", "c")
    )
    assert [(name, repr(a.joint)) for name, a in m.joints.items()][:4] == [
        *(("a_1", "Revolute('z')"), ("a_2", "Revolute('y')"), ("a_3", "Revolute('x')"), ("b", "Spherical()")),
    ]
    assert float(m.joints["c"].joint.pitch) == pytest.approx(0.25)
    assert list(m.frames) == ["d"]
    assert m.bodies["c"].mass == 4.0


WRONG = {
    "code": ("for i = 1, 3 do end", "model.lua:1: has 'for'.*nothing is executed"),
    "call": ("x = require('os')", "asks for 'require', which is not there"),
    "call alone": ("print('x')", "only assignments and a return are read"),
    "function": ("x = function() end", "has 'function'; needed: a value"),
    "nothing": ("x = 1", "returns nothing"),
    "number": ("return 1", "returns no table"),
    "deep": ("return " + "{" * 500, "nested more than 60 deep"),
    "signs": ("return " + "- " * 5000 + "1", "nested more than 60 deep"),
    "open": ("return { 1, 2", "needed: '}'"),
    "junk": ("return \x00", "which is not read"),
    "huge index": ("t = {} return t[math.huge]", "asks for 'inf'"),
    "power": ("return { (-1)^0.5 }", "no number"),
    "no frames": ("return {}", "has no frames"),
    "parent": ("return { frames = { { name = 'a', parent = 'b' } } }", "hangs on 'b'"),
    "twice": ("return { frames = { { name = 'a' }, { name = 'a' } } }", "two links 'a'"),
    "mass": ("return { frames = { { name = 'a', body = { mass = 'x' } } } }", "wrong 'mass'; needed: a number"),
    "infinite": ("return { gravity = {0, 0, 1e999}, frames = { } }", "wrong 'gravity'"),
    "axis": ("return { frames = { { name = 'a', joint = {{1, 2}} } } }", "axis of its joint; needed: 6 numbers"),
    "kind": ("return { frames = { { name = 'a', joint = {'Hinge'} } } }", "has the joint 'Hinge'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_by_sentence(name, tmp_path):
    text, said = WRONG[name]
    path = tmp_path / "model.lua"
    path.write_text(text)
    with pytest.raises(da.ModelFileError, match=said):
        da.read(path)


def test_rotations_that_no_joint_forbids_are_refused(lua):
    ends = 'constraint_type = "loop", predecessor_body = "ROOT", successor_body = "a"'
    loop = f"constraint_sets = {{ s = {{ {{ {ends}, %s }} }} }}"
    with pytest.raises(da.ModelFileError, match=r"forbids 0 translation\(s\) and 1 rotation\(s\) that no joint does"):
        lua(frame("a", FREE), loop % "axis = {1, 0, 0, 0, 0, 0}")
    with pytest.raises(da.UnknownName, match="asks for constraint set 'x'; known: s"):
        lua(frame("a", FREE), loop % "axis = {0, 0, 0, 1, 0, 0}", constraints="x")


def test_notes_name_what_has_no_meaning_and_lua_is_not_written(lua, tmp_path):
    m = lua(frame("a", FREE, more="visuals = {}, colour = 3"), "human_meta_data = { {} }")
    texts = [n.text for n in m.notes]
    assert texts[:1] == ["its visuals are not kept"] or "its visuals are not kept" in texts
    assert "'colour' is not read" in texts
    assert any("'human_meta_data' of the model has no meaning here" in t for t in texts)
    with pytest.raises(da.ModelFileError, match=r"'.lua', which belongs to no format that is written"):
        m.save(tmp_path / "x.lua")
