"""Names both ways, and printing."""

import numpy as np
import pytest

import dalembert as da


@pytest.fixture
def system():
    m = da.Mechanism("crane", gravity=(0, 0, -9.81))
    L = m.add_parameter("L", 2.0)
    m.add_parameter("wind", [1.0, 2.0])
    base = m.add_body("base", mass=10.0, inertia=(1, 1, 1))
    boom = m.add_body("boom", mass=2.0, com=(L / 2, 0, 0), inertia=da.rod_inertia(2.0, L))
    load = m.add_body("load", mass=3.0, com=(0, 0, -1), inertia=da.point_inertia())
    m.add_joint("float", da.Free(), m.ground, base)
    m.add_joint("swing", da.Universal("z", "y"), base, boom)
    m.add_joint("rope", da.Revolute("y"), boom.at(L, 0, 0), load)
    m.add_motor("slew", "swing")
    m.add_frame("hook", load.at(0, 0, -1))
    return m.compile(backend="casadi")


def test_coordinates_are_named_both_ways(system):
    assert system.q_names[:7] == ["float.qw", "float.qx", "float.qy", "float.qz", "float.x", "float.y", "float.z"]
    assert system.v_names[5:] == ["float.vz", "swing.first", "swing.second", "rope"]
    assert system.u_names == ["slew[0]", "slew[1]"]
    assert system.p_names == ["L", "wind[0]", "wind[1]"]
    x = system.state({"rope": 0.2, "swing.second": -0.1, "float.z": 3.0}, v={"swing": [1, 2]}, t=4.0)
    assert x["rope"] == 0.2
    assert x["float.z"] == 3.0
    np.testing.assert_array_equal(x["swing"], [0, -0.1])
    np.testing.assert_array_equal(x.rate("swing"), [1, 2])
    y = x.replace({"rope": 0.5}, v={"swing.first": 0.0})
    assert (y["rope"], y["float.z"], y.rate("swing.second"), y.t) == (0.5, 3.0, 2.0, 4.0)


def test_states_are_frozen_and_quaternions_normalized(system):
    x = system.state({"float": [1.0, 1.0, 0, 0, 0, 0, 0]})
    assert np.linalg.norm(x["float"][:4]) == pytest.approx(1, abs=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        x.q[0] = 3.0


def test_free_joints_take_matrices(system):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = da.rotation("z", 0.3), (1, 2, 3)
    np.testing.assert_allclose(system.pose({"float": T}, "base"), T, atol=1e-15)


def test_frames_are_found_by_object_body_and_name(system):
    body = system.layout.bodies["load"]
    np.testing.assert_array_equal(system.pose({}, body), system.pose({}, "load"))
    np.testing.assert_array_equal(system.pose({}, body.at(0, 0, -1)), system.pose({}, "hook"))
    np.testing.assert_allclose(system.pose({}, "hook")[:3, 3], [2, 0, -1])
    np.testing.assert_allclose(system.pose({}, "hook", p={"L": 5.0})[:3, 3], [5, 0, -1])
    np.testing.assert_allclose(system.with_parameters(L=5.0).pose({}, "hook")[:3, 3], [5, 0, -1])


def test_printing_shows_tree_coordinates_inputs_and_parameters(system):
    text = str(system)
    for part in ("float: Free() → base (10 kg)", "   └─ swing: Universal('z', 'y') → boom (2 kg)", "slew[2]", "L = 2"):
        assert part in text
    html = system._repr_html_()
    assert "<pre>" in html
    assert "float.qw" in html


def test_additions_after_compiling_do_not_change_the_system():
    m = da.Mechanism()
    body = m.add_body("a", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, body)
    system = m.compile(backend="casadi")
    m.add_joint("y", da.Prismatic("y"), body, m.add_body("b", mass=1.0))
    m.add_joint_force("push", "x", 3.0)
    assert system.nv == 1
    np.testing.assert_array_equal(system.forward_dynamics([0.0]), [0.0])


def test_traced_functions_are_casadi_functions_with_named_arguments(system):
    f = system.function("forward_dynamics")
    assert f.name_in() == ["q", "v", "tau", "u", "p"]
    assert system.function("mass_matrix").name_in() == ["q", "p"]


def test_a_state_prints_its_units():
    m = da.Mechanism()
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("a", mass=1.0, com=(1, 0, 0)))
    m.add_joint("B", da.Prismatic("x"), "a", m.add_body("b", mass=1.0))
    m.add_joint("C", da.Free(), m.ground, m.add_body("c", mass=1.0, inertia=(1, 1, 1)))
    lines = repr(m.compile("casadi").state({"A": 0.5}, {"B": 2.0}, 0.25)).splitlines()
    assert lines[0] == "State(t = 0.25 s"
    assert [line.strip() for line in lines[1:3]] == ["A: q = [0.5] rad, v = [0.] rad/s", "B: q = [0.] m, v = [2.] m/s"]
    assert lines[3].strip().startswith("C: q = [1. 0. 0. 0. 0. 0. 0.], v = ")
