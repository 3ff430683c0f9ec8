"""Broken uploads: changed model and state files are opened or refused in a sentence, and the studio goes on."""

import random

import numpy as np
import pytest

import dalembert as da
from campaign.file_changes import CHANGES
from studio_desk import Desk

URDF = b"""<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="5" velocity="3"/></joint>
</robot>
"""


def pendulum():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("L", 0.7)
    bob = m.add_body("bob", mass=1.0, com=(length, 0, 0), inertia=(0.0, 0.01, 0.01))
    m.add_joint("A", da.Revolute("z"), m.ground, bob)
    m.add_motor("torque", "A")
    return m


def goods(folder):
    """{name: bytes} of files that open."""
    m = pendulum()
    desk = Desk(m.compile(), m.compile().state({"A": 0.3}))
    desk.do("save", what="state")
    desk.session.close()
    m.save(folder / "p.yaml")
    m.save(folder / "p.json")
    return {
        "p.yaml": (folder / "p.yaml").read_bytes(),
        "p.json": (folder / "p.json").read_bytes(),
        "arm.urdf": URDF,
        "p.state.json": bytes(desk.last("file")[1]),
    }


def uploads(desk, name, good, seed, count):
    """Send so many changes of a file; the answers that are errors."""
    r = random.Random(f"{name} {seed}")
    for _ in range(count):
        changed = r.choice(CHANGES)(good, r)
        desk.do("load", data=changed, name=r.choice([name, name, name, name.upper(), f"../{name}", "model"]))
        x = desk.session.bench.x
        assert np.isfinite(x.q).all()
    return desk.errors()


@pytest.mark.parametrize("name", ["p.yaml", "p.json", "arm.urdf", "p.state.json"])
def test_changed_files_are_opened_or_refused_in_a_sentence(tmp_path, capsys, name):
    good = goods(tmp_path)[name]
    system = pendulum().compile()
    desk = Desk(system, system.state({"A": 0.3}))
    errors = uploads(desk, name, good, 3, 12)
    desk.told.clear()
    desk.do("load", data=good, name=name).do("simulate", time=0.05)
    assert not desk.errors()
    assert desk.last("run")[0]["success"]
    desk.session.close()
    assert errors
    assert not [t for t in errors if "unexpectedly" in t or "Traceback" in t]
    assert "Traceback" not in capsys.readouterr().err
