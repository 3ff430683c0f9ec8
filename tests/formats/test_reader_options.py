"""Options of the readers: limits as stops, ranges of actuators; and springs and armatures that come back from MJCF."""

import numpy as np
import pytest

import dalembert as da

mujoco = pytest.importorskip("mujoco")

URDF = """<robot name="arm"><link name="base"/>
<link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/>
</inertial></link>
<joint name="pivot" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="0.7" effort="5" velocity="2"/></joint></robot>"""
SDF = """<sdf version="1.9"><model name="arm"><link name="rod">
<inertial><pose>0.5 0 0 0 0 0</pose><mass>1</mass></inertial></link>
<joint name="pivot" type="revolute"><parent>world</parent><child>rod</child>
<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>0.7</upper></limit></axis></joint></model></sdf>"""
MJCF = """<mujoco><compiler angle="radian"/><worldbody><body name="rod">
<joint name="pivot" axis="0 1 0" range="-1 0.7"/>
<inertial pos="0.5 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody></mujoco>"""
FILES = {"arm.urdf": URDF, "arm.sdf": SDF, "arm.xml": MJCF}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("stops", ["rigid", da.Stops(restitution=0.5)])
def test_limits_of_a_file_stop_the_motion_on_request(tmp_path, name, stops):
    """A rod that falls comes to 0.7 rad: without stops it goes on, with them it does not."""
    path = tmp_path / name
    path.write_text(FILES[name])
    free, held = da.read(path), da.read(path, stops=stops)
    assert not da.simulate(free.compile(), {"pivot": 0.0}, 1.0)["pivot"].max() < 0.8
    run = da.simulate(held.compile(), {"pivot": 0.0}, 1.0)
    assert run.success, run.message
    assert run["pivot"].max() == pytest.approx(0.7, abs=1e-8)
    assert held.joints["pivot"].stops == (stops if stops != "rigid" else da.Stops())
    assert not any("do not stop" in note.text for note in held.notes)


def test_limits_without_room_are_noted():
    m = da.read_urdf(URDF.replace('lower="-1"', 'lower="0.7"'), stops="rigid")
    assert m.joints["pivot"].stops is None
    assert m.notes[-1].text == "its limits leave it no room: it has no stops"
    with pytest.raises(da.ArgumentError, match="stops"):
        da.read_urdf(URDF, stops="soft")


ACTUATED = """<mujoco><worldbody>
<body name="a"><joint name="ja" axis="0 1 0"/><inertial pos="0 0 -0.5" mass="2" diaginertia="0.2 0.2 0.1"/>
<body name="b" pos="0 0 -1"><joint name="jb" axis="0 1 0"/>
<inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.1"/>
</body></body></worldbody><tendon><fixed name="t"><joint joint="ja" coef="1"/><joint joint="jb" coef="-2"/></fixed>
</tendon>
<actuator><motor name="plain" joint="ja" gear="3"/><motor name="m" joint="ja" gear="2" ctrlrange="-0.5 1"/>
<position name="p" joint="jb" kp="20" kv="1" ctrlrange="-1 1" forcerange="-4 6"/>
<motor name="pull" tendon="t" forcerange="-1 0"/>
<general name="slow" joint="ja" dyntype="filter" dynprm="0.1" gainprm="5" actlimited="true" actrange="-0.2 0.3"/>
</actuator></mujoco>"""


def _mujoco_forces(text, q, v, u):
    """Generalized actuator forces by MuJoCo; `slow` has its input as activation."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[: len(u)] = q, v, u
    if model.na:
        data.act[:] = np.clip(u[-1], *model.actuator_actrange[-1]) if model.actuator_actlimited[-1] else u[-1]
    mujoco.mj_forward(model, data)
    return data.qfrc_actuator.copy()


@pytest.mark.parametrize("seed", range(6))
def test_ranges_of_actuators_are_kept_on_request(tmp_path, seed):
    """Forces of inputs far beyond their ranges are MuJoCo's, and without the option they are not."""
    (path := tmp_path / "actuated.xml").write_text(ACTUATED)
    m = da.read(path, ranges=True)
    assert not [note for note in m.notes if "are not kept" in note.text]
    system, rng = m.compile(), np.random.default_rng(seed)
    q, v, u = rng.normal(size=2), rng.normal(size=2), 2.0 * rng.normal(size=5)
    x = system.state({"ja": q[0], "jb": q[1]}, {"ja": v[0], "jb": v[1]})
    names = ["plain", "m", "p", "pull", "slow"]

    def forces(system):
        known = dict(zip(names, u))
        return system.mass_matrix(x) @ (system.acceleration(x, u=known).vdot - system.acceleration(x, u=no).vdot)

    no = dict.fromkeys(names, 0.0)
    expected = _mujoco_forces(ACTUATED, q, v, u) - _mujoco_forces(ACTUATED, q, v, 0 * u)
    np.testing.assert_allclose(forces(system), expected, atol=1e-9 * (1 + np.abs(expected).max()))
    wide = forces(da.read(path).compile())
    assert not np.allclose(wide, expected, atol=1e-6)
    assert m.save(tmp_path / "again.xml") == []
    again = da.read(tmp_path / "again.xml", ranges=True).compile()
    np.testing.assert_allclose(forces(again), expected, atol=1e-9 * (1 + np.abs(expected).max()))


SPRUNG = """<mujoco><worldbody>
<body name="f" pos="0.1 0.2 0.3" quat="0.9 0.1 0.2 0.3">
<joint name="fj" type="free" stiffness="7 0.5 0.2" damping="0.3"/>
<inertial pos="0.1 0 0" mass="2" diaginertia="0.2 0.2 0.1"/><site name="sf" pos="0.1 0 0"/>
<body name="c" pos="0 0.1 0"><joint name="jc" axis="1 0 0"/>
<inertial pos="0 0 0.3" mass="1" diaginertia="0.1 0.1 0.1"/></body></body>
<body name="a"><joint name="ja" axis="0 1 0"/><inertial pos="0 0 -0.5" mass="2" diaginertia="0.2 0.2 0.1"/>
<site name="sa" pos="0 0 -1"/>
<body name="b" pos="0 0 -1"><joint name="jb" axis="0 1 0"/>
<inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.1"/>
</body></body></worldbody><tendon>
<fixed name="t" armature="0.7" stiffness="3" springlength="0.2"><joint joint="ja" coef="1"/>
<joint joint="jb" coef="-2"/></fixed>
<spatial name="sp" armature="0.4"><site site="sf"/><site site="sa"/></spatial></tendon>
<equality><tendon tendon1="sp" polycoef="0.05 0 0 0 0"/></equality></mujoco>"""


def _accelerations(model, q, v):
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    return data.qacc.copy()


def test_springs_of_free_joints_and_armatures_of_tendons_are_written(tmp_path):
    """MuJoCo gives the same accelerations, equality and tendon lengths at the reference position included."""
    (path := tmp_path / "sprung.xml").write_text(SPRUNG)
    m = da.read(path)
    assert m.save(tmp_path / "again.xml") == []
    models = [mujoco.MjModel.from_xml_path(str(p)) for p in (path, tmp_path / "again.xml")]
    assert models[0].nv == models[1].nv
    rng = np.random.default_rng(7)
    for _ in range(5):
        q, v = 0.5 * rng.normal(size=models[0].nq), rng.normal(size=models[0].nv)
        q[3:7] /= np.linalg.norm(q[3:7])
        one, two = (_accelerations(model, q, v) for model in models)
        np.testing.assert_allclose(two, one, atol=1e-9 * np.abs(one).max())
