"""Calls that people make first: what they meant works, or the message says how it is written."""

import numpy as np
import pytest

import dalembert as da


def test_gravity_of_a_planar_linkage_may_be_two_numbers():
    pins, bars = {"A": (0, 0), "B": (0.3, 0)}, {"bar": "A B"}
    flat = da.Linkage("swing", pins, "A", bars, gravity=(0, -1.62))
    assert flat.gravity.tolist() == [0.0, -1.62, 0.0]
    fall = flat.compile().acceleration({}).vdot
    np.testing.assert_allclose(fall, -1.5 * 1.62 / 0.3, rtol=1e-12)  # 3 g / (2 l)
    flat.gravity = (3.0, 4.0)
    assert flat.gravity.tolist() == [3.0, 4.0, 0.0]
    assert flat.copy().gravity.tolist() == [3.0, 4.0, 0.0]
    for wrong in (9.81, (1.0,), (0, 0, 0, 9.81)):
        with pytest.raises(da.DescriptionError, match="gravity"):
            da.Linkage("swing", pins, "A", bars, gravity=wrong)
    with pytest.raises(da.DescriptionError, match="gravity"):
        da.Mechanism("in space", gravity=(0, -9.81))  # which axis is meant?


def test_options_that_are_passed_on_to_simulate_have_its_hints():
    system = da.zoo.cart_pole().compile()
    for word, hint in (("hold", "period="), ("x0", "state"), ("solver", "method=")):
        with pytest.raises(da.ArgumentError, match=rf"options of ensemble have no '{word}'; .*Here it is {hint}"):
            da.ensemble(system, system.state(), 1.0, n=2, **{word: 0.1})


def test_inputs_and_actuators_that_are_meant_to_drive_a_joint_lead_to_motors():
    m = da.zoo.four_bar()
    for joint in ("B", m.joints["B"]):
        with pytest.raises(da.DescriptionError, match=r"input 'drive' .* m\.add_motor\(name, joint\)"):
            m.add_input("drive", joint)
    with pytest.raises(TypeError, match=r"'b'.*two points apart.*m\.add_motor\(name, joint\)"):
        m.add_actuator("drive", "B")
    with pytest.raises(TypeError, match=r"'joint'.*m\.add_motor\(name, joint\)"):
        m.add_motor("drive")
    with pytest.raises(TypeError, match=r"'a' and 'b'.*m\.add_torsion_spring"):
        m.add_spring("s", stiffness=1.0)
    assert "drive" not in m.inputs
