"""MJCF: names, frames, states, options, notes, meshes and includes."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mjcf_texts import DATA, peer, text_file  # noqa: E402
from mujoco_peer import Peer  # noqa: E402


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


HELD_UP = """<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="1"/></body></worldbody>
<actuator><position name="m" joint="j" kp="50"/></actuator>
<keyframe><key name="home" qpos=".8" ctrl=".8"/></keyframe></mujoco>"""


def test_a_run_from_a_keyframe_starts_with_its_controls(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(HELD_UP)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, 1500)
    system = da.read(path).compile()
    home = system.named_state("home")
    assert home.u.tolist() == [0.8]
    assert da.simulate(system, home, 3.0).state()["j"] == pytest.approx(data.qpos[0], abs=1e-6)
    assert system.acceleration(home).vdot == pytest.approx(system.acceleration(home.q, u={"m": 0.8}).vdot)
    free = da.simulate(system, home, 3.0, u={"m": 0.0})
    assert abs(free.state()["j"] - data.qpos[0]) > 0.1
