"""Collision shapes of URDF, SDF and MJCF: kept as data, nothing by themselves, contacts by `add_contacts`."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import dalembert as da
from dalembert.formats.model import read_text, text_of

BODY = '<inertial><mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04"/></inertial>'
URDF = f"""<robot name="bot" xmlns:drake="d">
<link name="base">{BODY}<visual><geometry><mesh filename="base.stl"/></geometry></visual>
  <collision name="hull"><origin xyz="0 0 0.1"/><geometry><box size="0.4 0.3 0.2"/></geometry>
    <drake:proximity_properties><drake:mu_dynamic value="0.7"/></drake:proximity_properties></collision></link>
<link name="arm">{BODY}<contact><lateral_friction value="0.4"/></contact>
  <collision><geometry><capsule radius="0.05" length="0.3"/></geometry></collision>
  <collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.06"/></geometry></collision></link>
<link name="pad">{BODY}<collision><geometry><cylinder radius="0.05" length="0.1"/></geometry></collision></link>
<link name="tip">{BODY}<collision><geometry><mesh filename="tip.stl"/></geometry></collision></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="weld" type="fixed"><origin xyz="0 0 0.5"/><parent link="arm"/><child link="pad"/></joint>
<joint name="wrist" type="continuous"><origin xyz="0 0 0.7"/><parent link="arm"/><child link="tip"/></joint>
<gazebo reference="pad"><mu1>0.25</mu1></gazebo>
</robot>"""


def test_collisions_of_urdf_are_kept_with_their_friction_and_change_nothing_until_asked():
    m = da.read_urdf(URDF, base="free")
    assert not m.contacts
    assert sum("contacts are not modelled until m.add_contacts makes them" in n.text for n in m.notes) == 5
    found = {b: [(c.shape.kind, c.friction) for c in body.colliders] for b, body in m.bodies.items() if body.colliders}
    assert found == {
        "base": [("box", 0.7)],
        "arm": [("capsule", 0.4), ("sphere", 0.4), ("cylinder", 0.25)],
        "tip": [("mesh", None)],
    }
    assert [s.kind for s in m.bodies["base"].shapes] == ["mesh"]  # what it looks like stays as it was
    np.testing.assert_allclose(m.bodies["arm"].colliders[2].shape.pose.p, [0, 0, 0.5])
    notes = m.add_contacts()
    assert len(m.contacts) == 8 + 2 + 1 + 10
    assert [str(n) for n in notes] == [
        "bot: 'tip' on the floor: no contact of mesh: which of its points touch is not known"
    ]
    friction = {c.frame.body.name: set() for c in m.contacts.values()}
    for c in m.contacts.values():
        friction[c.frame.body.name].add(c.friction)
    assert friction == {"base": {0.7}, "arm": {0.4, 0.25}}
    corner = min(float(c.frame.T.p[2]) for n, c in m.contacts.items() if n.startswith("base"))
    assert corner == pytest.approx(0.0, abs=1e-15)
    other = read_text(text_of(m))
    assert text_of(other) == text_of(m)
    assert len(other.bodies["arm"].colliders) == 3


def test_a_collision_that_is_no_shape_is_noted_and_the_file_is_read():
    text = URDF.replace('<sphere radius="0.06"/>', '<sphere radius="-1"/>').replace("0.25</mu1>", "much</mu1>")
    text = text.replace('name="arm">', 'name="arm"><visual><geometry><sphere radius="1"/></geometry></visual>')
    m = da.read_urdf(text)
    assert any("is not kept as a shape that may touch" in n.text for n in m.notes)
    assert [c.friction for c in m.bodies["arm"].colliders] == [0.4, None]


SDF = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.81</gravity>
<model name="floor"><static>true</static><link name="l"><collision name="plane"><geometry><plane>
  <normal>0 0 1</normal><size>9 9</size></plane></geometry>
  <surface><friction><ode><mu>0.9</mu></ode></friction></surface></collision></link></model>
<model name="pair"><self_collide>{own}</self_collide>
  <link name="a"><pose>0 0 1 0 0 0</pose><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry>
    <surface><friction><ode><mu>0.3</mu></ode></friction><bounce><restitution_coefficient>0.5</restitution_coefficient></bounce>
    </surface></collision></link>
  <link name="b"><pose>1 0 1 0 0 0</pose><collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <surface><contact><collide_bitmask>2</collide_bitmask></contact></surface></collision></link></model>
<model name="alone"><link name="c"><pose>0 1 1 0 0 0</pose><collision name="c"><pose>0 0 0.1 0 0 0</pose>
  <geometry><sphere><radius>0.1</radius></sphere></geometry>
  <surface><contact><collide_bitmask>1</collide_bitmask></contact></surface></collision></link></model>
</world></sdf>"""


@pytest.mark.parametrize("own", [True, False])
def test_collisions_of_sdf_bring_planes_surfaces_and_who_touches_whom(own):
    m = da.read_sdf(SDF.format(own=str(own).lower()))
    assert not m.contacts
    assert m.add_contacts(between="all") == []
    found = {frozenset(n.split(" on ")): (c.friction, c.restitution) for n, c in m.contacts.items()}
    names = {b.rpartition("::")[2]: b for b in m.bodies}
    floors = {frozenset([names[k], "floor"]): law for k, law in zip("abc", [(0.3, 0.0), (0.9, 0.0), (0.9, 0.0)])}
    pairs = {frozenset((names["a"], names["c"])): (0.3, 0.0)}  # the bits of b and c have none in common
    if own:
        pairs[frozenset((names["a"], names["b"]))] = (0.3, 0.0)
    assert found == {**floors, **pairs}


MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -0.5" friction="0.8"/>
<body name="a"><freejoint/><geom name="ga" size="0.3" friction="0.4"/></body>
<body name="b"><freejoint/><geom name="gb" size="0.3" contype="2" conaffinity="2" friction="1.2"/>
  <body name="b2" pos="0 0 0.1"><joint type="hinge" axis="0 1 0"/>
    <geom name="gb2" size="0.3" contype="3" conaffinity="2"/></body></body>
<body name="c"><freejoint/><geom name="gc" size="0.3" contype="0" conaffinity="0"/>
  <geom name="gc2" size="0.2" condim="1"/></body>
<body name="d"><freejoint/><geom name="gd" type="capsule" size="0.1 0.2" contype="6" conaffinity="1"/></body>
<body name="e"><freejoint/><geom name="ge" size="0.25"/></body>
</worldbody><contact><exclude body1="a" body2="e"/><exclude body1="world" body2="d"/><pair geom1="gc" geom2="ga"/>
</contact></mujoco>"""


def test_geoms_touch_as_mujoco_lets_them(tmp_path):
    """All of them at one place: the pairs of bodies that MuJoCo finds contacts of, and with them the same friction."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    path.write_text(MJCF)
    m = da.read_mjcf(path)
    assert not m.contacts
    m.add_contacts(between="all")
    model = mujoco.MjModel.from_xml_string(MJCF.replace('pos="0 0 -0.5"', 'pos="0 0 0"'))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(2)
    for k in range(model.njnt):
        if model.jnt_type[k] == 0:
            data.qpos[model.jnt_qposadr[k] : model.jnt_qposadr[k] + 3] = 0.05 * rng.normal(size=3)
    mujoco.mj_forward(model, data)
    expected = {}
    for x in data.contact:
        bodies = frozenset(model.body(model.geom_bodyid[g]).name for g in (x.geom1, x.geom2))
        expected.setdefault(bodies, set()).add(round(float(x.friction[0]) if x.dim > 1 else 0.0, 12))
    found = {}
    for c in m.contacts.values():
        bodies = frozenset("world" if f.body.name == "ground" else f.body.name for f in c.frames)
        found.setdefault(bodies, set()).add(round(c.friction, 12))
    assert set(found) == set(expected)
    assert {frozenset(p) for p in combinations("abcde", 2)} - set(found)  # some do not
    for pair in ({"a", "c"}, {"c", "world"}):  # a <pair> has a law of its own; condim 1 counts as no friction
        found.pop(frozenset(pair)), expected.pop(frozenset(pair))
    assert found == expected


def test_meshes_that_could_touch_are_said(tmp_path):
    (tmp_path / "m.xml").write_text("""<mujoco><asset><mesh name="hull" file="hull.stl"/></asset><worldbody>
<geom type="plane" size="1 1 1"/><body name="a"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom type="mesh" mesh="hull"/><geom type="mesh" mesh="hull" contype="0" conaffinity="0"/></body>
</worldbody></mujoco>""")
    m = da.read_mjcf(tmp_path / "m.xml")
    assert [c.shape.kind for c in m.bodies["a"].colliders] == ["mesh"]
    (note,) = m.add_contacts()
    assert "no contact of mesh" in note.text
    assert not m.contacts
