"""MJCF files against MuJoCo itself: mass matrices, forces, equalities, states, and what is refused."""

import copy
import os
import pickle
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from corpus import corpus, corpus_files, expected

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mujoco_peer import Peer  # noqa: E402

DATA = Path(__file__).parent / "data" / "mjcf"
NAMES = ["joints", "tendons", "actuators", "equalities"]
REFUSED = {
    "menagerie/robotiq_2f85/2f85.xml": "2f85.xml:141: <geom> gives body 'left_silicone_pad' its inertia by the "
    "mesh file 'assets/silicone_pad.stl', which is not read: ",
    "menagerie/stanford_tidybot/tidybot.xml": "tidybot.xml:251: <geom> gives body 'left_silicone_pad' its inertia by",
    "menagerie/hello_robot_stretch_3/stretch.xml": "stretch.xml:230: <geom> gives body 'base_link' its inertia by the",
    "pinocchio/unittest/models/test_mjcf.xml": "test_mjcf.xml:34: <connect> is refused by MuJoCo's compiler: Schema",
}


def peer(path, system, **options):
    """MuJoCo's model of a file; of its text without meshes where it has meshes that are not there."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        model = mujoco.MjModel.from_xml_path(str(path).replace(".xml", ".nomesh.xml"))
    return Peer(model, system, **options)


def text_file(tmp_path, body, name="model.xml", head=""):
    path = tmp_path / name
    path.write_text(f"<mujoco>{head}\n<worldbody>{body}\n</worldbody></mujoco>")
    return path


def close(ours, theirs, tolerance, least=1e-9):
    assert np.abs(ours - theirs).max(initial=0.0) <= tolerance * max(np.abs(theirs).max(initial=0.0), least)


# --- agreement with MuJoCo --------------------------------------------------------------------------------------------


def assert_same(p, u):
    """M, and all forces with these controls."""
    p.drive(u)
    theirs, ours = p.mass()
    close(ours, theirs, 1e-13)
    theirs, ours = p.total(u if len(u) else None)
    close(ours, theirs, 1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_and_all_forces_of_the_features_are_mujocos(name):
    """M, and bias − passive − actuator forces at random states, velocities and controls."""
    path = DATA / f"{name}.xml"
    system = da.read_mjcf(path).compile("casadi")
    p = peer(path, system, seed=4)
    for _ in range(4):
        p.random()
        assert_same(p, p.rng.normal(size=p.model.nu))


@pytest.mark.parametrize("name", corpus_files(".xml"))
def test_every_file_is_read_as_mujoco_reads_it_or_refused_with_a_sentence(name):
    """M, and all forces at a random state, velocity and control."""
    path = corpus(name)
    if name in REFUSED:
        with pytest.raises(da.ModelFileError) as error:
            da.read_mjcf(path)
        assert str(error.value).startswith(REFUSED[name])
        return
    m = da.read_mjcf(path)
    if not m.joints:
        return
    system = m.compile("casadi")
    p = peer(path, system, seed=7)
    p.random()
    assert_same(p, 0.3 * p.rng.normal(size=p.model.nu))


@pytest.mark.parametrize("name", corpus_files(".xml"))
def test_stored_numbers_of_mujoco_come_out(name):
    """M, bias and passive forces at the reference position; closed: gaps, rank, mobility, rows, acceleration."""
    e = expected("mujoco").get(name, {"error": "none"})
    if "error" in e:
        return
    path = corpus(name)
    if name in REFUSED:
        path = path.with_name(path.name.replace(".xml", ".nomesh.xml"))
        if not path.is_file():
            return
    m = da.read_mjcf(path, actuators="none")
    system = m.compile("casadi")
    p = peer(path, system)
    assert sum(a.joint.nv for a in m.joints.values()) >= e["nv"]
    p.at(np.array(e["qpos0"]), np.zeros(e["nv"]))
    ours = p.mass()[1]
    if e.get("M_lower_rows"):
        lower = np.array([x for k in range(e["nv"]) for x in ours[k, : k + 1]])
        close(lower, np.array(e["M_lower_rows"]), 1e-12)
    lift = p.data.qfrc_gravcomp * p.model.jnt_actgravcomp[p.model.dof_jntid]  # not among the passive forces there
    close(p.total()[1], np.array(e["qfrc_bias"]) - np.array(e["qfrc_passive"]) - lift, 1e-10)
    closed = e.get("closed")
    if closed is None:
        return
    q, v = p.at(np.array(closed["qpos"]), np.zeros(e["nv"]))
    x = system.state(q, v)
    assert np.abs(system.residuals(x)).max(initial=0.0) < 1e-12 + 2 * closed["residual"]
    report = system.report(x)
    extra = system.nv - e["nv"]  # sliders that carry the inertia of tendons, each tied by a row
    assert (report.rank - extra, report.mobility) == (closed["rank"], closed["mobility"])
    rows, A = p.equality()[0], system.constraint_matrix(x) @ p.T
    together = np.linalg.matrix_rank(np.vstack([rows, A]), 1e-7 * np.linalg.norm(rows))
    assert together == closed["rank"]  # the same motions are forbidden
    acceleration = np.linalg.lstsq(p.T, system.acceleration(x).vdot - p.rate, rcond=None)[0]
    close(acceleration, np.array(closed["acceleration_at_rest_rigid"]), 1e-11, least=1.0)


def test_gaps_of_equalities_are_mujocos():
    """Off the manifold: the length of a gap between points, and the gap of coordinates and tendons."""
    path = DATA / "equalities.xml"
    m = da.read_mjcf(path)
    system = m.compile("casadi")
    p = peer(path, system, seed=2, spread=0.1)
    for _ in range(3):
        q, v = p.random()
        _, gaps, of = p.equality()
        names, ours = [n.split(".")[0] for n in system.row_names], system.residuals(system.state(q, v))
        for name in m.constraints:
            k = mujoco.mj_name2id(p.model, mujoco.mjtObj.mjOBJ_EQUALITY, name)
            n = 3 if name in ("ball", "glue", "soft") else 1
            mine = np.array([x for x, row in zip(ours, names) if row == name])[:n]
            assert np.linalg.norm(mine) == pytest.approx(np.linalg.norm(gaps[of == k][:n]), abs=1e-14)


def test_constraints_hold_along_the_motion_that_rows_allow():
    """Φ of a curved tie (a cam, tendons) at q ⊕ h v, v in the null space of A, is of second order with rate γ."""
    system = da.read_mjcf(DATA / "equalities.xml").compile("casadi")
    q = system.state().q
    rng = np.random.default_rng(5)
    v = rng.normal(size=system.nv)
    h = 1e-4
    x = [system.plus(q, k * h * v) for k in (-1, 0, 1)]
    phi = [system.residuals(system.state(y, v)) for y in x]
    at = system.state(q, v)
    A, gamma = system.constraint_matrix(at), system.constraint_gamma(at)
    assert (phi[2] - phi[0]) / (2 * h) == pytest.approx(A @ v, abs=1e-6)
    assert (phi[2] - 2 * phi[1] + phi[0]) / h**2 == pytest.approx(gamma, abs=1e-5)


def test_inertia_of_a_tendon_couples_trees_though_mujoco_leaves_that_out(tmp_path):
    """½ a L̇² of a tendon between two trees: here it is all there; MuJoCo's M has no entries between trees."""
    body = "".join(
        f'<body pos="{k} 0 0"><joint name="j{k}" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body>' for k in (0, 1)
    )
    path = tmp_path / "two.xml"
    path.write_text(
        f'<mujoco><worldbody>{body}</worldbody><tendon><fixed name="t" armature="0.7"><joint joint="j0" coef="2"/>'
        '<joint joint="j1" coef="-3"/></fixed></tendon></mujoco>'
    )
    system = da.read_mjcf(path).compile("casadi")
    v = np.array([0.4, 1.3])
    speed = 2 * v[0] - 3 * v[1]
    M = system.mass_matrix(system.state())
    energy = 0.5 * np.array([*v, speed]) @ M @ np.array([*v, speed])
    p = peer(path, system)
    p.at(np.zeros(2), v)
    theirs = p.mass()[0]
    inertia = np.diag(theirs) - 0.7 * np.array([4.0, 9.0])
    assert energy == pytest.approx(0.5 * inertia @ v**2 + 0.35 * speed**2, rel=1e-12)
    assert theirs[0, 1] == 0.0  # 0.7 · 2 · (−3) is missing
    assert p.mass()[1][0, 1] == pytest.approx(-4.2)


# --- names, frames, states, options -----------------------------------------------------------------------------------


def test_names_survive_and_the_unnamed_get_stated_ones():
    m = da.read_mjcf(DATA / "joints.xml")
    assert list(m.joints) == ["slide", "turn", "yaw", "socket", "body6", "drifter", "tail_1", "duck"]
    assert list(m.bodies) == [
        "ground", "arm_slide", "arm_turn", "arm", "body5", "body6", "drifter", "tail", "duck",
    ]  # fmt: skip
    assert {"world", "post", "tool", "bit", "tip", "bit_2"} <= set(m.frames)
    assert any("is called 'tail_1' here" in str(n) for n in m.notes)
    assert any("is called 'bit_2' here" in str(n) for n in m.notes)


def test_poses_of_bodies_and_sites_are_mujocos():
    path = DATA / "joints.xml"
    m = da.read_mjcf(path)
    system = m.compile("casadi")
    p = peer(path, system, seed=3)
    q, _ = p.random()
    for kind, names, places in (
        ("body", ["post", "arm", "tool", "bit", "drifter", "tail"], (p.data.xpos, p.data.xmat)),
        ("site", ["tip"], (p.data.site_xpos, p.data.site_xmat)),
    ):
        for name in names:
            k = mujoco.mj_name2id(p.model, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), name)
            T = system.pose(q, name)
            assert T[:3, 3] == pytest.approx(places[0][k], abs=1e-13)
            assert T[:3, :3] == pytest.approx(places[1][k].reshape(3, 3), abs=1e-13)


def test_fixed_bodies_kept_apart_change_nothing():
    path = DATA / "joints.xml"
    apart = da.read_mjcf(path, merge_fixed=False)
    assert {"post", "tool", "bit"} <= set(apart.bodies)
    a, b = apart.compile("casadi"), da.read_mjcf(path).compile("casadi")
    x = peer(path, b, seed=1).random()
    assert a.mass_matrix(x[0]) == pytest.approx(b.mass_matrix(x[0]), rel=1e-12, abs=1e-13)


def test_keyframes_are_states():
    path = DATA / "joints.xml"
    m = da.read_mjcf(path, keyframe="up")
    system = m.compile("casadi")
    model = mujoco.MjModel.from_xml_path(str(path))
    p = Peer(model, system)
    quats = [slice(3, 7), slice(11, 15), slice(19, 23)]
    q = model.key_qpos[0].copy()
    for s in quats:
        q[s] /= np.linalg.norm(q[s])
    q0, v0 = p.at(q, model.key_qvel[0])
    for name in ("up", "start"):
        x = system.named_state(name)
        assert x.q == pytest.approx(q0, abs=1e-14)
        assert x.v == pytest.approx(v0, abs=1e-14)
        assert x.t == 0.5
    start = da.read_mjcf(path).compile("casadi").named_state("start")
    assert start["turn"] == 0.7
    with pytest.raises(da.UnknownName, match=r"keyframe 'down'.*known: up"):
        da.read_mjcf(path, keyframe="down")


def test_shapes_are_kept():
    m = da.read_mjcf(DATA / "joints.xml")
    kinds = sorted(s.kind for b in m.bodies.values() for s in b.shapes)
    assert kinds == ["box", "box", "capsule", "capsule", "cylinder", "ellipsoid", "plane", "sphere", "sphere"]
    post = m.ground.shapes[1]
    assert post.size == (0.2, 0.2, 0.6)
    assert post.pose.p == pytest.approx([0.1, 0.2, 0.3])


def test_base_can_be_fixed_or_freed(tmp_path):
    path = DATA / "joints.xml"
    fixed = da.read_mjcf(path, base="fixed")
    assert [a.joint.kind for a in fixed.joints.values()].count("free") == 0
    assert {"drifter", "duck"} <= set(fixed.frames)
    assert any("keyframes" in n.text for n in fixed.notes)
    free = da.read_mjcf(path, base="free")
    assert free.joints["post"].joint.kind == "free"


def test_actuators_can_be_plain_forces_or_none():
    path = DATA / "actuators.xml"
    m = da.read_mjcf(path, actuators="forces")
    system = m.compile("casadi")
    x = system.state()
    u = np.zeros(len(m.inputs))
    u[list(m.inputs).index("servo")] = 1.0
    still = da.read_mjcf(path, actuators="none")
    assert not still.inputs
    passive = still.compile("casadi").applied_forces(x.q)
    assert system.applied_forces(x, u=u) - passive == pytest.approx([0.5, *np.zeros(10)])


def test_a_mechanism_from_a_file_pickles_and_copies():
    for name in ("tendons", "actuators", "equalities"):
        m = da.read_mjcf(DATA / f"{name}.xml")
        other = pickle.loads(pickle.dumps(copy.deepcopy(m)))
        a, b = m.compile("casadi"), other.compile("casadi")
        x = a.state(v=np.ones(a.nv))
        u = np.ones(sum(s.numel() for s in m.inputs.values())) if m.inputs else None
        assert a.applied_forces(x, u=u) == pytest.approx(b.applied_forces(x, u=u), abs=0)
        assert a.residuals(x) == pytest.approx(b.residuals(x), abs=0)


# --- notes ------------------------------------------------------------------------------------------------------------


def test_what_has_no_meaning_here_is_noted_by_file_and_line(tmp_path):
    path = tmp_path / "noted.xml"
    (tmp_path / "more.xml").write_text(
        '<mujocoinclude>\n<sensor>\n<jointpos name="s" joint="j"/></sensor></mujocoinclude>'
    )
    path.write_text("""<mujoco>
<option timestep="0.01" viscosity="2"/>
<size memory="10M"/>
<visual><global/></visual>
<asset><texture name="t" type="2d" builtin="flat" width="9999999" height="9999999"/>
<material name="red" texture="t" rgba="1 0 0 1"/></asset>
<include file="more.xml"/>
<worldbody>
<light pos="0 0 3"/>
<body name="b" mocap="false"><joint name="j" frictionloss="1" range="-10 10"/>
<geom name="g" size="1" material="red"/><camera name="eye"/></body>
</worldbody>
<contact><exclude body1="world" body2="b"/></contact>
<custom><numeric name="n" size="99999999"/></custom>
<actuator><muscle name="m" joint="j"/><motor name="o" joint="j" ctrlrange="-1 1"/></actuator>
<equality><joint name="e" joint1="j" solref="0.1 1"/></equality>
</mujoco>""")
    m = da.read_mjcf(path)
    said = [str(n) for n in m.notes]
    for line in (
        "more.xml:3: <jointpos> 's': sensors are not modelled",
        "noted.xml:2: <option>: forces of the air or water around bodies are not modelled",
        "noted.xml:2: <option>: settings of MuJoCo's solver have no meaning here: timestep",
        "noted.xml:3: <size>: sizes of MuJoCo's memory have no meaning here",
        "noted.xml:4: <visual>: settings of pictures have no meaning here",
        "noted.xml:5: <texture> 't': textures are not kept",
        "noted.xml:9: <light>: lights are not kept",
        "noted.xml:10: <joint> 'j': dry friction (frictionloss 1) is not modelled",
        "noted.xml:10: <joint> 'j': its limits are kept as data and do not stop the motion",
        "noted.xml:11: <camera> 'eye': cameras are not kept",
        "noted.xml:11: <geom> 'g': contact is not modelled; 1 geoms could touch in MuJoCo",
        "noted.xml:13: <exclude>: contact is not modelled",
        "noted.xml:14: <numeric> 'n': custom data are not read",
        "noted.xml:15: <muscle> 'm': muscles, motors with currents and the like are not modelled",
        "noted.xml:15: <motor> 'o': its limits (ctrlrange) are not kept",
        "noted.xml:16: <joint> 'e': it holds exactly here; solref have no meaning",
    ):
        assert any(s.startswith(line) for s in said), (line, said)
    assert m.bodies["b"].shapes[0].colour == (1.0, 0.0, 0.0, 1.0)
    assert m.joints["j"].limits.tolist() == [pytest.approx(np.radians([-10, 10]).tolist())]
    with pytest.raises(da.ModelFileError, match="strict=True asks for none"):
        da.read_mjcf(path, strict=True)


def test_a_file_without_anything_strange_passes_strictly(tmp_path):
    path = text_file(
        tmp_path, '<body><joint axis="0 1 0"/><geom size="0.1" pos="0.5 0 0" contype="0" conaffinity="0"/></body>'
    )
    assert da.read_mjcf(path, strict=True).notes == []


# --- meshes, includes, attached models --------------------------------------------------------------------------------


def stl(corners, faces):
    """A binary STL."""
    rows = b""
    for face in faces:
        rows += np.zeros(3, "<f4").tobytes() + np.array([corners[k] for k in face], "<f4").tobytes() + b"\0\0"
    return b" " * 80 + np.uint32(len(faces)).tobytes() + rows


def test_meshes_are_opened_only_where_an_inertia_depends_on_them(tmp_path):
    """A tetrahedron with corners 0, e₁, e₂, e₃ has the volume 1/6 and its centre at (1, 1, 1)/4."""
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "tetra.stl").write_bytes(stl(np.vstack([np.zeros(3), np.eye(3)]), faces))
    assets = '<mesh file="tetra.stl"/><mesh name="gone" file="gone.stl" scale="2 2 2"/>'
    head = f'<compiler meshdir="m"/><asset>{assets}</asset>'
    body = """<body name="b"><joint axis="0 0 1"/><geom type="mesh" mesh="tetra" density="600"/>
        <geom name="look" type="mesh" mesh="gone" mass="0" pos="1 0 0"/></body>"""
    m = da.read_mjcf(text_file(tmp_path, body, head=head))
    assert float(m.bodies["b"].mass) == pytest.approx(100.0, rel=1e-6)
    assert m.bodies["b"].com.astype(float) == pytest.approx([0.25] * 3, rel=1e-6)
    shapes = {s.file: s for s in m.bodies["b"].shapes}
    assert set(shapes) == {"m/tetra.stl", "m/gone.stl"}
    assert shapes["m/gone.stl"].scale == (2.0, 2.0, 2.0)
    assert shapes["m/gone.stl"].pose.p == pytest.approx([1, 0, 0])
    assert shapes["m/tetra.stl"].pose.p == pytest.approx(np.zeros(3), abs=1e-6)
    missing = text_file(tmp_path, body.replace('mesh="tetra" d', 'mesh="gone" d'), head=head)
    with pytest.raises(
        da.ModelFileError, match=r"model.xml:2: <geom> gives body 'b' its inertia by the mesh file 'm/gone"
    ):
        da.read_mjcf(missing)
    static = text_file(tmp_path, '<body><geom type="mesh" mesh="gone"/></body>', head=head)
    assert da.read_mjcf(static).ground.shapes[0].file == "m/gone.stl"
    (tmp_path / "m" / "gone.stl").write_bytes(b" " * 80 + np.uint32(2**31).tobytes())
    with pytest.raises(da.ModelFileError, match="no binary STL"):
        da.read_mjcf(text_file(tmp_path, body.replace('mesh="tetra" d', 'mesh="gone" d'), head=head))


def test_included_and_attached_models_are_part_of_the_whole(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "leg.xml").write_text(
        '<mujoco model="leg"><compiler angle="radian"/>\n<worldbody><body name="leg">\n'
        '<joint name="hip" axis="0 1 0" range="-1 1"/><geom size="0.1" pos="0 0 -0.5"/></body></worldbody></mujoco>'
    )
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><asset><model name="leg" file="sub/leg.xml"/></asset><worldbody><body name="torso"><freejoint/>'
        '<geom size="0.2"/>\n<frame pos="0 0.1 0"><attach model="leg" body="leg" prefix="l_"/></frame>'
        '<attach model="leg" body="leg" prefix="r_"/></body></worldbody></mujoco>'
    )
    m = da.read_mjcf(path)
    assert list(m.joints) == ["torso", "l_hip", "r_hip"]
    assert m.joints["l_hip"].limits.tolist() == [[-1.0, 1.0]]
    assert any(str(n).startswith("sub/leg.xml:3: <joint> 'hip': its limits") for n in m.notes)


# --- hostile files ----------------------------------------------------------------------------------------------------

HOSTILE = {
    "entities": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document type"),
    "not MJCF": ("<robot/>", "is not the root of an MJCF file"),
    "junk": ("\x00\x01\x02", "XML"),
    "nan": ('<mujoco><worldbody><body pos="nan 0 0"/></worldbody></mujoco>', "'nan' in its attribute 'pos'"),
    "huge number": ('<mujoco><worldbody><body pos="1e300 0 0"/></worldbody></mujoco>', "at most 1e"),
    "replicas": (
        '<mujoco><worldbody><replicate count="100000"><replicate count="100000"><body/></replicate></replicate>'
        "</worldbody></mujoco>",
        "replicas counted",
    ),
    "deep": ("<mujoco><worldbody>" + "<body>" * 300 + "</body>" * 300 + "</worldbody></mujoco>", "levels of elements"),
    "many": ("<mujoco><worldbody>" + "<body/>" * 3000 + "</worldbody></mujoco>", "at most 2000"),
    "memory": (
        '<mujoco><asset>\n<mesh name="b" builtin="supertorus" params="100000 0.5 1 1"/></asset></mujoco>',
        "model.xml:2: <mesh> 'b' has '100000' in its attribute 'params'; needed: finite numbers of at most 100",
    ),
    "outside": ('<mujoco><include file="../secret.xml"/></mujoco>', "leaves the folder"),
    "absolute": ('<mujoco><include file="/etc/passwd"/></mujoco>', "needed: a relative path"),
    "network": ('<mujoco><include file="http://x/y.xml"/></mujoco>', "an address"),
    "circle": ('<mujoco>\n<include file="model.xml"/></mujoco>', "includes itself"),
    "link": ('<mujoco><include file="link.xml"/></mujoco>', "a symbolic link out of the folder"),
    "attached outside": (
        '<mujoco><asset><model file="../x.xml"/></asset><worldbody/></mujoco>',
        "leaves the folder",
    ),
    "mesh outside": (
        '<mujoco><asset><mesh name="m" file="../m.stl"/></asset><worldbody><body><joint/><geom type="mesh" mesh="m"/>'
        "</body></worldbody></mujoco>",
        "leaves the folder",
    ),
    "same names": (
        '<mujoco><worldbody><body name="a"/>\n<body name="a"/></worldbody></mujoco>',
        r"model.xml:2: <body> 'a' is refused by MuJoCo's compiler: repeated name 'a' in body",
    ),
    "no mass": (
        '<mujoco><worldbody>\n<body name="a"><joint/></body></worldbody></mujoco>',
        "model.xml:2: <body> 'a' is refused.*mass and inertia of moving bodies",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_a_sentence(name, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    os.symlink(tmp_path / "secret.xml", folder / "link.xml")
    text, said = HOSTILE[name]
    path = folder / "model.xml"
    path.write_text(text)
    with pytest.raises(da.ModelFileError, match=said):
        da.read_mjcf(path)


def test_broken_files_give_only_clean_errors(tmp_path):
    """Seeded changes of words, numbers and elements; a longer campaign is this with more rounds."""
    rng = random.Random(20040601)
    texts = [p.read_text() for p in sorted(DATA.glob("*.xml"))]
    words = ["nan", "-1", "0", "1e29", "-1e29", "1e-308", "", "x", "1 2", "ball", "free", "mesh", "99999999"]
    path = tmp_path / "model.xml"
    outcomes = {"read": 0, "refused": 0}
    for _ in range(250):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            what = rng.choice([r'"[^"]*"', r"<[a-z]+[^<>]*/>", r' [a-z]+="[^"]*"', r"-?\d+\.?\d*"])
            found = list(re.finditer(what, text))
            a, b = rng.choice(found), rng.choice(found)
            new = f'"{rng.choice(words)}"' if what[0] == '"' else rng.choice(words) if what[0] == "-" else b.group()
            text = text[: a.start()] + new + text[a.end() :]
        path.write_text(text)
        said = "model.xml"
        try:
            da.read_mjcf(path)
            outcomes["read"] += 1
        except da.ModelFileError as error:
            outcomes["refused"] += 1
            said = str(error)
        assert said.startswith("model.xml")
    assert min(outcomes.values()) > 20


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(da.MissingExtra, match=r"reading MJCF files needs 'mujoco'.*dalembert\[mjcf\]"):
        da.read_mjcf(DATA / "joints.xml")


# --- writing ----------------------------------------------------------------------------------------------------------


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
    springs = {f"wrench 'drifter_{part}'" for part in ("spring", "turning_spring", "gravcomp", "armature")}
    assert lost == (springs if name == "joints" else set())


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
    assert all("mesh" in n.text for n in notes)


def test_what_mjcf_cannot_say_is_listed(tmp_path):
    from dalembert.formats.mjcf.writer import write

    m = da.Mechanism("odd")
    L = m.add_parameter("L", 0.5)
    body = m.add_body("rod", mass=1.0, com=(L / 2, 0, 0), inertia=da.rod(1.0, 0.5))
    m.add_joint("A", da.Screw("z", pitch=0.1), m.ground, body, limits=(-1.0, np.inf))
    m.add_joint_force("law", "A", lambda s: -(s["A"] ** 3))
    m.add_skate("skate", body)
    said = {n.element: n.text for n in write(m, tmp_path / "odd.xml")}
    assert set(said) == {"parameter 'L'", "joint 'A'", "joint force 'law'", "skate 'skate'"}
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "odd.xml")).nv == 2


def test_written_states_come_back(tmp_path):
    from dalembert.formats.mjcf.writer import write

    m = da.read_mjcf(DATA / "joints.xml")
    write(m, tmp_path / "written.xml")
    a, b = m.compile("casadi"), da.read_mjcf(tmp_path / "written.xml").compile("casadi")
    for name in ("up", "start"):
        assert b.named_state(name).q == pytest.approx(a.named_state(name).q, abs=1e-15)
        assert b.named_state(name).v == pytest.approx(a.named_state(name).v, abs=1e-14)
