"""URDF that is written: round trips, and what it cannot say."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from corpus import corpus
from dalembert.errors import ModelFileError
from dalembert.formats.graph import pose
from dalembert.formats.urdf import write
from dalembert.formats.urdf.text import rpy
from dalembert.spatial import Transform


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
    bodies, floating = [m.ground], []
    for k, j in enumerate(joints):
        parent = bodies[int(rng.integers(len(bodies)))]
        body = m.add_body(f"b{k}", mass=rng.uniform(1, 2), com=rng.normal(size=3) / 5, inertia=(0.9, 1.0, 1.1))
        more = {"damping": rng.uniform(0, 1)} if j.nv else {}
        if j.nv == 1:
            more |= {"stiffness": rng.uniform(1, 2), "rest": 0.1, "armature": rng.uniform(0, 1), "limits": (-1, 2)}
        m.add_joint(f"j{k}", j, place(parent), place(body), **more)
        bodies.append(body)
        if k == 0 or parent in floating:
            floating.append(body)
    closing = [da.Revolute(axis), da.Spherical(), da.Fixed(), da.Universal(axis, second), da.Screw("x", pitch=0.2)]
    closing += [da.Prismatic(axis), da.Planar("y"), da.Cylindrical("z")]
    for k, j in enumerate(closing):  # across the free joint: at random places other loops could never close
        a = floating[int(rng.integers(len(floating)))]
        b = rng.choice([k for k, body in enumerate(bodies) if body not in floating])
        m.close_loop(f"loop{k}", j, place(a), place(bodies[b]))
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
    with pytest.raises(ModelFileError, match=r"has 'top.loops.yaml' beside it, which is no file of loops"):
        m.save(tmp_path / "top.urdf")
    assert (tmp_path / "top.loops.yaml").read_text() == text


def test_the_model_of_the_same_name_does_not_open_the_loops(tmp_path):
    """A URDF names its file of loops, which no model file has the name of."""
    m = da.zoo.stewart()
    m.save(tmp_path / "m.urdf")
    m.save(tmp_path / "m.yaml")
    assert {p.name for p in tmp_path.iterdir()} == {"m.urdf", "m.loops.yaml", "m.yaml"}
    same_equations(m, da.read(tmp_path / "m.urdf"), seed=1)
    same_equations(m, da.read(tmp_path / "m.yaml"), seed=1)


LOOPS = 'closed_loop: [["C_A", "C_B"]]\ntype: ["3d"]\n'


@pytest.mark.parametrize("name", ["robot.yaml", "robot.yml", "robot.loops.yaml"])
def test_a_model_does_not_replace_the_loops_of_a_urdf(name, tmp_path):
    """Also where somebody else wrote both, as Gepetto's robots are."""
    (tmp_path / "robot.urdf").write_text('<robot name="r"><link name="C_A"/></robot>')
    (tmp_path / name).write_text(LOOPS)
    with pytest.raises(ModelFileError, match=rf"{name}: holds the loops of 'robot.urdf' beside it"):
        da.zoo.stewart().save(tmp_path / name)
    assert (tmp_path / name).read_text() == LOOPS
    (tmp_path / "robot.urdf").unlink()
    da.zoo.stewart().save(tmp_path / name)  # it is nobody's now


def test_loops_that_are_gone_are_missed(tmp_path):
    m = da.zoo.heavy_top()
    m.save(tmp_path / "top.urdf")
    text = (tmp_path / "top.urdf").read_text()
    with pytest.raises(ModelFileError, match=r"<dalembert:loops> names .*'top.loops.yaml', which a text has not"):
        da.read_urdf(text)
    with_path = da.read_urdf(text, loops=tmp_path / "top.loops.yaml")
    assert [a.joint.kind for a in with_path.joints.values()] == ["spherical"]
    for name in ("top.urdf", "top.loops.yaml"):  # both renamed
        (tmp_path / name).rename(tmp_path / name.replace("top", "new"))
    assert [a.joint.kind for a in da.read(tmp_path / "new.urdf").joints.values()] == ["spherical"]
    (tmp_path / "new.loops.yaml").unlink()
    with pytest.raises(ModelFileError, match=r"new.urdf:\d+: <dalembert:loops> .* is not there. Put it beside"):
        da.read(tmp_path / "new.urdf")
    (tmp_path / "top.loops.yaml").write_text("mine: 1\n")
    with pytest.raises(ModelFileError, match=r"names the file of loops 'top.loops.yaml', which holds none"):
        da.read(tmp_path / "new.urdf")


def test_a_tree_takes_no_loops_of_something_else(tmp_path):
    """A file of loops of somebody else beside it is neither removed nor read; one of ours goes with its mechanism."""
    (tmp_path / "other.yaml").write_text(LOOPS)
    write(da.zoo.heavy_top(), tmp_path / "other.urdf")
    assert (tmp_path / "other.loops.yaml").exists()
    write(da.zoo.chain(), tmp_path / "other.urdf")
    assert {p.name for p in tmp_path.iterdir()} == {"other.urdf", "other.yaml"}
    assert not da.read(tmp_path / "other.urdf").constraints


def test_bodies_keep_their_frames(tmp_path):
    """URDF puts a link where its joint is; a body may have its joint anywhere."""
    m = da.Mechanism("arm")
    plate = m.add_body("plate", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    turned = da.rotation("x", 0.7) @ da.rotation("z", -0.4)
    m.add_joint("J", da.Revolute("z"), m.ground.at(1, 0, 0), plate.at(0.3, 0.1, 0, rotation=turned))
    hand = m.add_body("hand", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("P", da.Planar("y"), plate.at(0, 1, 0), hand.at(0, 0, 0.2))
    m.close_loop("L", da.Spherical(), hand.at(0.1, 0.2, 0.3), m.ground.at(1, 1, 1))
    m.add_frame("tip", plate.at(0, 0, 2))
    plate.add_shape("box", (1, 2, 3), at=(0.5, 0, 0))
    back, notes = trip(m, tmp_path)
    assert any("the frame of its joint" in n.text for n in notes)
    one, two = m.compile("casadi"), back.compile("casadi")
    q = {"J": 0.5, "P.x": 0.3, "P.y": -0.2, "P.angle": 0.8}
    for name in ("plate", "hand", "tip"):
        np.testing.assert_allclose(two.pose(q, name), one.pose(q, name), atol=1e-14)
    for name in ("plate", "hand"):
        np.testing.assert_allclose(back.bodies[name].com.astype(float), m.bodies[name].com.astype(float), atol=1e-15)
        np.testing.assert_allclose(
            back.bodies[name].inertia.astype(float), m.bodies[name].inertia.astype(float), atol=1e-15
        )
    np.testing.assert_allclose(back.bodies["plate"].shapes[0].pose.p, (0.5, 0, 0), atol=1e-15)
    same_equations(m, back, seed=3)


@pytest.mark.parametrize(
    "joint", [da.Spherical(), da.Universal("x", "y"), da.Cylindrical("z"), da.Planar("x"), da.Free()]
)
def test_dampings_that_differ_come_back(joint, tmp_path):
    m = da.Mechanism("damped")
    body = m.add_body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    m.add_joint("j", joint, m.ground, body, damping=np.arange(1.0, joint.nv + 1))
    back, notes = trip(m, tmp_path)
    assert any("<dalembert:dynamics>" in n.text for n in notes)
    same_equations(m, back, seed=2)


def test_a_file_of_loops_of_an_impossible_name_is_missed(tmp_path):
    for name in ("x" * 5000, "../m.loops.yaml", "."):
        text = f'<robot name="r"><link name="a"/><dalembert:loops file="{name}"/></robot>'
        (tmp_path / "m.urdf").write_text(text)
        with pytest.raises(ModelFileError, match=r"m\.urdf"):
            da.read(tmp_path / "m.urdf")


def test_springs_that_urdf_cannot_say_are_listed(tmp_path):
    """One within a body, which moves nothing, and one without a length at rest: both were refused when read."""
    m = da.zoo.chain()
    body = list(m.bodies.values())[1]
    m.add_spring("inside", body.at(0.1, 0, 0), body.at(0, 0.3, 0), stiffness=3.0)
    m.add_spring("none", body.at(0.1, 0, 0), m.ground, stiffness=3.0)
    back, notes = trip(m, tmp_path)
    said = {n.element: n.text for n in notes}
    assert "two points of one body" in said["'inside'"]
    assert "no length at rest" in said["'none'"]
    assert not back.constraints


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
