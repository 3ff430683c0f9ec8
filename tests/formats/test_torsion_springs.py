"""Torsion springs are springs of joints in formats that know only those."""

import numpy as np
import pytest

import dalembert as da

NEEDS = {".xml": "mujoco", ".usda": "pxr"}


@pytest.mark.parametrize("suffix", [".sdf", ".xml", ".usda"])
def test_torsion_springs_come_back_as_springs_of_their_joints(suffix, tmp_path):
    """One alone, two beside the joint's own with other rests, one of a parameter: the same forces everywhere."""
    pytest.importorskip(NEEDS.get(suffix, "json"), reason=f"{suffix} needs an extra")
    m = da.Mechanism("arm", gravity=(0, 0, -9.81))
    upper, lower = (m.add_body(n, mass=1.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.05)) for n in ("upper", "lower"))
    m.add_joint("A", da.Revolute("y"), m.ground, upper)
    m.add_joint("B", da.Revolute("y"), upper.at(0, 0, -0.4), lower, stiffness=2.0, rest=0.3, damping=0.1)
    m.add_torsion_spring("one", "A", stiffness=m.add_parameter("k", 4.0), damping=0.25, rest=-0.5)
    m.add_torsion_spring("two", "B", stiffness=3.0, rest=-0.2)
    m.add_torsion_spring("three", "B", stiffness=0.0, damping=0.5)
    notes = m.save(tmp_path / f"arm{suffix}")
    assert not [n.text for n in notes if "one" in n.text or "two" in n.text]
    here, there = m.compile("casadi"), da.read(tmp_path / f"arm{suffix}").compile("casadi")
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v = (dict(zip("AB", rng.normal(size=2))) for _ in range(2))
        wanted, found = (s.forward_dynamics(s.state(q, v)) for s in (here, there))
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if suffix == ".usda" else 1e-12)
