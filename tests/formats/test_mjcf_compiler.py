"""MJCF: what MuJoCo's compiler does to masses and actuators before the model is there, and what a keyframe drives."""

import numpy as np
import pytest

import dalembert as da

mujoco = pytest.importorskip("mujoco", reason="MJCF files are read through MuJoCo's compiler, which is not installed")

from mjcf_texts import BOX, text_file  # noqa: E402

ARM = """<body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="1"/>{}</body>"""
BASE = '<body name="base">{}<geom size=".1" mass="3"/>' + ARM.format("") + "</body>"
MESH = f'<asset><mesh name="box" vertex="{BOX}"/></asset>'
FIELD = '<asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset>'


def mass_in_mujoco(path, name="arm"):
    model = mujoco.MjModel.from_xml_path(str(path))
    return float(model.body_mass[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)])


@pytest.mark.parametrize("fused", ["true", "false"])
@pytest.mark.parametrize(
    ("inside", "more"),
    [
        ("", ""),
        ('<site name="s"/>', '<sensor><force site="s"/></sensor>'),
        ('<site name="s"/>', '<sensor><accelerometer site="s"/></sensor>'),
        ("", '<sensor><framepos objtype="xbody" objname="base"/></sensor>'),
        ("", '<sensor><framepos objtype="body" objname="arm" reftype="body" refname="base"/></sensor>'),
        ("", '<contact><exclude body1="base" body2="arm"/></contact>'),
        ("", '<equality><connect body1="arm" body2="base" anchor="0 0 0"/></equality>'),
        ('<camera target="base" mode="targetbody"/>', ""),
        ('<light name="lamp"/><camera name="eye"/>', ""),
        ('<body name="foot"><geom size=".1" mass="7"/></body>', ""),
        ('<geom type="mesh" mesh="box"/>', MESH),
        ('<geom type="sdf" mesh="box"/>', MESH),
    ],
)
def test_the_total_mass_is_shared_as_in_mujoco(inside, more, fused, tmp_path):
    """Whatever becomes part of the world when static bodies are fused does not count, what something names does."""
    head = f'<compiler settotalmass="10" fusestatic="{fused}"/>{more}'
    path = text_file(tmp_path, BASE.format(inside), head=head)
    assert float(da.read(path).bodies["arm"].mass) == pytest.approx(mass_in_mujoco(path), rel=1e-12)


def test_a_total_mass_counts_in_the_damping_of_actuators(tmp_path):
    """kv of a damping ratio follows from the inertia, which fusing changes."""
    drive = '<actuator><position name="m" joint="j" kp="10" dampratio="1"/></actuator>'
    head = f'<compiler settotalmass="10" fusestatic="true"/>{drive}'
    path = text_file(tmp_path, BASE.format(""), head=head)
    system = da.read(path).compile("casadi")
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qvel[:] = 1.3
    mujoco.mj_forward(model, data)
    x = system.state({"j": 0.0}, {"j": 1.3})
    assert system.applied_forces(x) == pytest.approx(data.qfrc_actuator, rel=1e-12)


def test_names_in_attached_models_keep_their_bodies(tmp_path):
    (tmp_path / "part.xml").write_text(
        f'<mujoco model="part"><worldbody>{BASE.format("")}</worldbody>'
        '<sensor><framepos objtype="body" objname="base"/></sensor></mujoco>'
    )
    head = '<compiler settotalmass="10" fusestatic="true"/><asset><model name="part" file="part.xml"/></asset>'
    path = text_file(tmp_path, '<frame><attach model="part" body="base" prefix="left_"/></frame>', head=head)
    assert float(da.read(path).bodies["left_arm"].mass) == pytest.approx(mass_in_mujoco(path, "left_arm"), rel=1e-12)


@pytest.mark.parametrize("kind", ["sdf", "mesh"])
def test_a_distance_field_of_a_mesh_weighs_what_the_mesh_does(kind, tmp_path):
    path = text_file(tmp_path, ARM.format(f'<geom type="{kind}" mesh="box" pos="1 2 3"/>'), head=MESH)
    model = mujoco.MjModel.from_xml_path(str(path))
    arm = da.read(path).bodies["arm"]
    assert float(arm.mass) == pytest.approx(model.body_mass[1], rel=1e-12)
    assert arm.com.astype(float) == pytest.approx(model.body_ipos[1], rel=1e-12)
    moments = np.linalg.eigvalsh(arm.inertia.astype(float))
    assert moments == pytest.approx(np.sort(model.body_inertia[1]), rel=1e-9)


@pytest.mark.parametrize(
    ("geom", "more", "field"),
    [
        (
            '<geom type="sdf" mesh="ring"/>',
            '<asset><mesh name="ring"><plugin instance="x"/></mesh></asset>',
            "signed distance field of a plugin",
        ),
        ('<geom type="hfield" hfield="h"/>', FIELD, "height field"),
    ],
)
def test_a_mass_that_a_field_gives_is_refused_and_not_lost(geom, more, field, tmp_path):
    path = text_file(tmp_path, ARM.format(geom), head=more)
    with pytest.raises(da.ModelFileError, match=rf"<geom> gives body 'arm' its inertia by a {field}.*<inertial>"):
        da.read(path)
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    m = da.read(text_file(tmp_path, ARM.format(geom + inertial), head=more))
    assert float(m.bodies["arm"].mass) == 1.0
    assert any("are not kept" in n.text for n in m.notes)
    assert da.read(text_file(tmp_path, ARM.format(geom.replace("/>", ' mass="0"/>')), head=more)).bodies["arm"].mass


def driven(tmp_path, actuators, keyframe="", option=""):
    """MuJoCo's forces of the actuators in the keyframe, ours with the inputs of the state, and the mechanism."""
    head = f"{option}<actuator>{actuators}</actuator>{keyframe}"
    path = text_file(tmp_path, ARM.format('<site name="s"/>'), head=head)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    forces = []
    for how in ("laws", "forces"):
        m = da.read_mjcf(path, actuators=how)
        system = m.compile("casadi")
        forces.append(system.applied_forces(system.named_state("h"), u=dict(m.states["h"].u)))
    return data.qfrc_actuator, *forces, m


@pytest.mark.parametrize(
    ("actuators", "values"),
    [
        ('<motor joint="j" gear="3"/>', 'ctrl="0.3"'),
        ('<motor joint="j" ctrlrange="-1 1"/>', 'ctrl="7"'),
        ('<motor joint="j" ctrlrange="-1 1"/><position joint="j" kp="4" kv="2"/>', 'ctrl="0.4 0.5" qvel="0.7"'),
        ('<intvelocity joint="j" kp="3" actrange="-1 1"/>', 'act="0.7" ctrl="0.3"'),
        ('<general joint="j" dyntype="filter" dynprm="0.5" gainprm="2"/><motor joint="j"/>', 'act="0.7" ctrl="0.3 2"'),
    ],
)
def test_a_keyframe_drives_with_its_activations_and_clamped_controls(actuators, values, tmp_path):
    theirs, laws, forces, _ = driven(tmp_path, actuators, f'<keyframe><key name="h" qpos="0.1" {values}/></keyframe>')
    assert laws == pytest.approx(theirs, rel=1e-12)
    assert forces == pytest.approx(theirs, rel=1e-12)


def test_a_keyframe_of_a_muscle_drives_with_its_force(tmp_path):
    muscle = '<muscle joint="j" lengthrange="-1 1" force="50" ctrlrange="0 1"/>'
    theirs, ours, same, _ = driven(
        tmp_path, muscle, '<keyframe><key name="h" qpos="0.2" act="0.6" ctrl="0.1"/></keyframe>'
    )
    assert abs(theirs[0]) > 1.0
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert same == pytest.approx(theirs, rel=1e-12)


def test_actuators_of_a_group_that_is_switched_off_do_not_act(tmp_path):
    """Their rotors and dampers stay."""
    two = '<motor name="off" joint="j" group="2" armature="3" damping="5"/><motor name="on" joint="j" gear="2"/>'
    key = '<keyframe><key name="h" ctrl="1 1"/></keyframe>'
    theirs, ours, _, m = driven(tmp_path, two, key, '<option actuatorgroupdisable="2"/>')
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert list(m.inputs) == ["on"]
    assert float(m.joints["j"].armature[0]) == 3.0
    assert any("group 2 is switched off" in n.text for n in m.notes)
    assert not any("solver" in n.text for n in m.notes)


def test_a_delay_is_noted(tmp_path):
    key = '<keyframe><key name="h"/></keyframe>'
    *_, m = driven(tmp_path, '<motor joint="j" delay="0.02" nsample="20"/>', key)
    assert any("delay of 0.02 s is not modelled" in n.text for n in m.notes)


def test_an_actuator_behind_one_of_several_controls_keeps_its_gear(tmp_path):
    """An orientation of a ball joint has three controls and three gears."""
    ball = '<body name="ball"><joint name="b" type="ball"/><geom size=".1" mass="1"/></body>'
    two = '<orientation joint="b" kp="1"/><motor name="m" joint="j" gear="5" ctrlrange="-1 1"/>'
    head = f'<actuator>{two}</actuator><keyframe><key name="h" ctrl="0 0 0 0.5"/></keyframe>'
    try:
        path = text_file(tmp_path, ball + ARM.format(""), head=head)
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        pytest.skip("this version of MuJoCo has no <orientation>")
    m = da.read(path)
    assert m.states["h"].u == {"m": (0.5,)}
    system = m.compile("casadi")
    assert system.applied_forces(system.state(), u={"m": 1.0})[-1] == 5.0
    assert any("ctrlrange" in n.text for n in m.notes)
