"""Good model files, small, so that a million changed ones can be read: every element that a reader knows is in one.

Each is {name: text}; the first name is the file to read, the others belong to it.
"""

from __future__ import annotations

from pathlib import Path

import dalembert as da

MASS = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial>'
URDF = {
    "loops": f"""<robot name="r"><link name="a">{MASS}</link><link name="b">{MASS}</link>
<joint name="A" type="floating"><parent link="world"/><child link="a"/></joint><link name="world"/>
<joint name="B" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1 0 0" rpy="0 0.1 0"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<loop name="C" type="continuous"><predecessor link="a">
<origin xyz="0.00499583472197 1 0.0998334166468" rpy="0 0.1 0"/></predecessor>
<successor link="b"><origin xyz="-1 1 0"/></successor><axis xyz="0 0 1"/></loop></robot>""",
    "ties": f"""<robot name="r"><link name="g"/><link name="a">{MASS}</link><link name="b">{MASS}
<visual><geometry><box size="1 1 1"/></geometry><material name="m"><color rgba="1 0 0 1"/></material></visual></link>
<joint name="A" type="continuous"><parent link="g"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="B" type="prismatic"><parent link="g"/><child link="b"/><axis xyz="1 0 0"/><limit lower="0" upper="1"
effort="1" velocity="1"/><mimic joint="A" multiplier="0.5" offset="0.1"/></joint>
<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="A"/>
<actuator name="m"><mechanicalReduction>10</mechanicalReduction></actuator></transmission></robot>""",
    "coupled": f"""<robot name="r"><link name="g"/><link name="a">{MASS}</link><link name="b">{MASS}</link>
<joint name="A" type="continuous"><parent link="g"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="B" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<coupling name="K"><predecessor link="g"/><successor link="a"/><ratio value="2"/></coupling></robot>""",
    "drake": f"""<robot name="r" xmlns:drake="d"><link name="a">{MASS}</link><link name="b">{MASS}</link><frame name="f"
link="a" xyz="0 0 1" rpy="0 0 0"/><drake:joint name="B" type="ball"><parent link="a"/><child link="b"/></drake:joint>
<drake:ball_constraint><drake:ball_constraint_body_A name="a"/><drake:ball_constraint_body_B name="b"/>
<drake:ball_constraint_p_AP value="0 0 0"/><drake:ball_constraint_p_BQ value="0 0 0"/></drake:ball_constraint>
</robot>""",
}
SOLID = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>"
SDF = {
    "loop": f"""<sdf version="1.8"><model name="m"><link name="a">{SOLID}</link><link name="b"><pose>1 0 0 0 0 0</pose>
{SOLID}</link><frame name="f" attached_to="a"><pose relative_to="b">0 0 0 0 0 0.1</pose></frame>
<joint name="A" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower>
<upper>1</upper></limit><dynamics><damping>0.1</damping><spring_stiffness>2</spring_stiffness></dynamics></axis></joint>
<joint name="B" type="revolute"><parent>a</parent><child>b</child><axis><xyz expressed_in="__model__">0 0 1</xyz></axis>
</joint><joint name="C" type="ball"><parent>world</parent><child>b</child></joint></model></sdf>""",
    "nested": f"""<sdf version="1.11"><world name="w"><gravity>0 0 -9</gravity><model name="m"><pose>0 0 1 0 0 0</pose>
<model name="n" placement_frame="a"><link name="a">{SOLID}</link></model><link name="b">{SOLID}</link>
<joint name="A" type="universal"><parent>b</parent><child>n::a</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0
</xyz></axis2></joint><joint name="S" type="screw"><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>
<screw_thread_pitch>0.1</screw_thread_pitch></joint></model></world></sdf>""",
    "ties": f"""<sdf version="1.11"><model name="m"><link name="a">{SOLID}</link><link name="b">{SOLID}<visual name="v">
<geometry><sphere><radius>1</radius></sphere></geometry></visual></link>
<joint name="A" type="continuous"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="B" type="prismatic"><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz><mimic joint="A">
<multiplier>2</multiplier><offset>0</offset><reference>0</reference></mimic></axis></joint></model></sdf>""",
    "include": """<sdf version="1.7"><model name="m"><include><uri>part.sdf</uri><pose>0 0 1 0 0 0</pose></include>
</model></sdf>""",
}
ADM = """title
UNITS/FORCE=NEWTON, MASS=GRAM, LENGTH=MILLIMETER, TIME=SECOND
PART/1, GROUND
MARKER/1, PART=1, QP=0, 0, 5, REULER=90D, 90D, -90D
PART/2, MASS=2, CM=21, IP=1, 2, 2.5, QG=1, 2, 3
MARKER/21, PART=2
, QP=10, 0, 0
MARKER/22, PART=2, ZP=0, 1, 0, XP=1, 0, 0
PART/3, MASS=1, CM=31
MARKER/31, PART=3
JOINT/1, REVOLUTE, I=22, J=1
JOINT/2, CYLINDRICAL, I=31, J=21 ! a comment
MOTION/1, JOINT=1, FUNCTION=30D*SIN(2*TIME)**2/(1+TIME)
GCON/1, I=1, FUNCTION=DM(31, 1)-20
SPRINGDAMPER/1, TRANSLATION, I=31, J=1, K=3, C=0.1, LENGTH=10
SFORCE/1, TRANSLATIONAL, ACTIONONLY, I=31, J=1, FUNCTION=-4*TIME
ACCGRAV/KGRAV=-9810
REQUEST/1, D, I=21, J=1
END
"""
GEOM = '<geom type="sphere" size="0.1"/>'
MJCF = {
    "loop": f"""<mujoco><compiler angle="radian"/><default><joint damping="0.1"/><default class="c"><geom density="10"/>
</default></default><worldbody><body name="a"><joint name="A" axis="0 1 0" range="-1 1"/>{GEOM}<body name="b"
pos="1 0 0" childclass="c"><joint name="B" axis="0 1 0" stiffness="1"/>{GEOM}<site name="s"/></body></body></worldbody>
<equality><connect body1="b" anchor="0 0 0"/><joint joint1="A" joint2="B" polycoef="0 1 0 0 0"/></equality>
<actuator><position joint="A" kp="2"/></actuator><keyframe><key qpos="0 0"/></keyframe></mujoco>""",
    "tendon": f"""<mujoco><worldbody><site name="t"/><replicate count="2" offset="1 0 0"><body pos="0 0 1"><freejoint/>
{GEOM}</body></replicate><body name="c"><joint name="C" type="slide"/>{GEOM}<site name="s" pos="0 0 1"/></body>
</worldbody><tendon><spatial name="T" stiffness="3"><site site="t"/><site site="s"/></spatial><fixed><joint joint="C"
coef="2"/></fixed></tendon><actuator><motor tendon="T" gear="2"/></actuator></mujoco>""",
    "weld": f"""<mujoco><option gravity="0 0 -1"/><worldbody><frame euler="0 0 90"><body name="a"><joint type="ball"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></frame><body name="b"><freejoint/>{GEOM}</body></worldbody>
<equality><weld body1="a" body2="b"/></equality></mujoco>""",
}
LUA = """l = 0.5
rod = { mass = 1, com = {l/2, 0, 0}, inertia = {{0, 0, 0}, {0, l^2/12, 0}, {0, 0, l^2/12}} }
return { gravity = {0, 0, -9.81}, frames = {
{ name = "a", parent = "ROOT", joint = {{0, 1, 0, 0, 0, 0}}, body = rod },
{ name = "b", parent = "a", joint_frame = { r = {l, 0, 0} }, joint = {{0, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 0, 0}},
body = rod } },
local_frames = { { name = "tip", body = "b", r = {l, 0, 0}, E = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} } },
constraint_sets = { s = { { constraint_type = "loop", name = "k", predecessor_body = "ROOT",
predecessor_transform = { r = {2 * l, 0, 0} }, successor_local_frame = "tip",
axis_sets = {{0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 1}} },
{ constraint_type = "contact", body = "a", point = {0, 0, 0}, normal = {0, 0, 1} } } } }"""
SUFFIXES = {"urdf": ".urdf", "sdf": ".sdf", "mjcf": ".xml", "yaml": ".yaml", "json": ".json"}
ZOO = ("heavy_top", "cart_pole", "slider_crank", "rolling_disc")


def families(folder: Path) -> dict[str, list[dict[str, bytes]]]:
    """Of each format the good files, each with those that belong to it, as bytes by name."""
    out: dict[str, list[dict[str, bytes]]] = {
        "urdf": [{"model.urdf": text.encode()} for text in URDF.values()],
        "sdf": [{"model.sdf": text.encode()} for text in SDF.values()],
        "mjcf": [{"model.xml": text.encode()} for text in MJCF.values()],
        "lua": [{"model.lua": LUA.encode()}],
        "adm": [{"model.adm": ADM.encode()}],
        "yaml": [],
        "json": [],
    }
    out["sdf"][-1]["part.sdf"] = b'<sdf version="1.7"><model name="p"><link name="a"/></model></sdf>'
    out["mjcf"].append({"model.xml": b'<mujoco><include file="part.xml"/></mujoco>', "part.xml": MJCF["loop"].encode()})
    for name in (*ZOO, "four_bar"):
        for format, suffix in SUFFIXES.items():
            if name == "four_bar" and suffix not in (".urdf", ".json"):
                continue
            place = folder / f"{name}{suffix}"
            place.mkdir()
            getattr(da.zoo, name)().save(place / f"model{suffix}")
            files = sorted(place.iterdir(), key=lambda p: p.name != f"model{suffix}")
            out[format].append({p.name: p.read_bytes() for p in files})
    return out
