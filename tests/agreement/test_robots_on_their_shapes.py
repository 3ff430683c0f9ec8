"""Robots of model files on the floor by their collision shapes, beside MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

LEG = """<body name="{0} front" pos="0.15 {1} 0"><joint name="{0} front" axis="0 1 0" stiffness="60" damping="3"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.3" contype="0" conaffinity="0"/>
  <body name="{0} foot" pos="0 0 -0.25"><joint name="{0} ankle" axis="0 1 0"/>
    <geom type="capsule" fromto="0.05 0 0 -0.35 0 0" size="0.03" mass="0.4" friction="0.7"/></body></body>
<body name="{0} rear" pos="-0.15 {1} 0"><joint name="{0} rear" axis="0 1 0" stiffness="60" damping="3"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.3" contype="0" conaffinity="0"/></body>"""
ROCKER = f"""<mujoco model="rocker"><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="1 1 0.1" friction="0.7"/>
<body name="trunk" pos="0 0 0.45"><freejoint name="base"/><geom type="box" size="0.2 0.1 0.05" mass="4" friction="0.7"/>
{LEG.format("left", 0.15)}{LEG.format("right", -0.15)}</body></worldbody>
<equality><connect name="left loop" body1="left rear" body2="left foot" anchor="0 0 -0.25"/>
<connect name="right loop" body1="right rear" body2="right foot" anchor="0 0 -0.25"/></equality></mujoco>"""


@pytest.mark.dear
def test_a_robot_of_two_closed_linkages_that_is_dropped_rests_on_its_feet(tmp_path):
    """At the height of its drawing, exactly; MuJoCo's, with soft contacts, a little lower. Loops stay closed."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "rocker.xml").write_text(ROCKER)
    m = da.read(tmp_path / "rocker.xml")
    assert m.add_contacts() == []
    assert sorted(m.contacts) == sorted(
        [f"trunk corner {k + 1}" for k in range(8)]
        + [f"{side} foot end {k}" for side in ("left", "right") for k in (1, 2)]
    )
    system = m.compile()
    turn = np.array([0.98, 0.12, 0.16, 0.0]) / np.linalg.norm([0.98, 0.12, 0.16])
    x = system.assemble({"base": [*turn, 0, 0, 0.6]}, v={"base.vx": 0.8})
    run = da.simulate(system, x, 3.0, method="moreau", step=1e-3)
    assert run.success, run.message
    height = run.position("trunk")[-1, 2]
    assert height == pytest.approx(0.28, abs=1e-9)
    assert np.abs(run.v[-1]).max() < 1e-9
    assert max(np.abs(system.residuals(run.state(k))).max() for k in range(0, len(run.t), 50)) < 1e-12
    weight = 9.81 * (4 + 2 * (0.3 + 0.4 + 0.3))
    assert sum(run.multiplier(f"{name}.gap")[-1] for name in m.contacts) == pytest.approx(weight, rel=1e-9)
    model = mujoco.MjModel.from_xml_string(ROCKER)
    data = mujoco.MjData(model)
    data.qpos[:7], data.qvel[0] = [0, 0, 0.6, *turn], 0.8
    while data.time < 5.0:
        mujoco.mj_step(model, data)
    assert np.abs(data.qvel).max() < 1e-5
    assert data.qpos[2] == pytest.approx(height, abs=1.5e-3)
