"""Histories by name: names, empty and short runs, callbacks, parameters, tables."""

import pickle
import sys

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


@pytest.fixture(scope="module")
def four_bar() -> da.Run:
    system = zoo.four_bar().compile()
    return da.simulate(system, system.assemble({"A": 0.6}, v={"A": 2.0}), 0.5, u={"torque": 0.4})


def parametric() -> da.Mechanism:
    """A pendulum whose length and tip are parameters."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L = m.add_parameter("L", 2.0)
    m.add_parameter("unused", [1.0, 2.0])
    rod = m.add_body("rod", mass=1.0, com=(0.0, -L, 0.0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", da.Revolute("z"), m.ground, rod)
    m.add_frame("tip", rod.at(0, -L, 0))
    m.add_motor("motor", "A")
    return m


@pytest.mark.parametrize(
    ("call", "wrong", "near"),
    [
        ("position", "couple", "coupler"),
        ("acceleration", "couplr", "coupler"),
        ("twist", "ground ", "ground"),
        ("multiplier", "C.xx", "C.x"),
        ("reactions", "Cc", "C"),
        ("power", "torqe", "torque"),
    ],
)
def test_a_mistyped_name_gets_the_nearest(four_bar, call, wrong, near):
    with pytest.raises(da.UnknownName, match=rf"'{wrong}'.*Did you mean '{near}'"):
        getattr(four_bar, call)(wrong)
    with pytest.raises(da.DalembertError):
        getattr(four_bar, call)(3)


def test_axes_are_checked(four_bar):
    for place in (four_bar, four_bar.state()):
        with pytest.raises(da.ArgumentError, match="axes"):
            place.twist("coupler", axes="wrold")


def test_a_frame_of_another_mechanism_is_refused(four_bar):
    with pytest.raises(da.ArgumentError, match="another mechanism"):
        four_bar.position(zoo.four_bar().bodies["coupler"])


def test_frames_are_named_in_three_ways(four_bar):
    body = four_bar.system.layout.bodies["coupler"]
    expected = four_bar.pose("coupler")
    np.testing.assert_array_equal(four_bar.pose(body), expected)
    np.testing.assert_array_equal(four_bar.pose(body.at(0, 0, 0)), expected)


def test_a_name_of_several_kinds_is_refused_until_the_kind_is_said():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0), damping=0.5)
    m.add_motor("x", "x")
    system = m.compile("casadi")
    run = da.simulate(system, system.state(v={"x": 1.0}), 0.1, u={"x": 3.0})
    with pytest.raises(da.ArgumentError, match=r"'x' names a force and a joint; say kind=\"force\" or kind=\"joint\""):
        run.power("x")
    assert run.power("x", kind="force")[0] == 3.0
    assert run.power("x", kind="input")[0] == 3.0
    assert run.power("x", kind="joint")[0] == -0.5
    with pytest.raises(da.UnknownName, match="no constraint 'x'"):
        run.power("x", kind="constraint")
    with pytest.raises(da.ArgumentError, match="kind"):
        run.power("x", kind="motor")


def test_a_motor_may_have_the_name_of_its_joint_where_that_has_no_power():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    m.add_motor("x", "x")
    system = m.compile("casadi")
    run = da.simulate(system, system.state(v={"x": 1.0}), 0.1, u={"x": 3.0})
    np.testing.assert_array_equal(run.power("x"), 3.0 * run.rate("x"))
    np.testing.assert_array_equal(run.power("x", kind="joint"), 0.0 * run.t)


@pytest.mark.parametrize("backend", ["native", "casadi"])
@pytest.mark.parametrize("records", [0, 1])
def test_empty_runs_and_single_records_have_histories(records, backend):
    system = zoo.four_bar().compile(backend=backend)
    start = system.assemble({"A": 0.6}, v={"A": 2.0})
    stop = da.Event(da.expression(lambda t, s: t - 0.01), terminal=True)
    run = da.simulate(system, start, 0.1, t_eval=[0.005, 0.05][1 - records :], events=[stop])
    n = len(run.t)
    assert n == records
    assert run.position("coupler").shape == run.velocity("coupler").shape == run.acceleration("coupler").shape == (n, 3)
    assert run.pose("coupler").shape == (n, 4, 4)
    assert run.rotation("coupler").shape == (n, 3, 3)
    assert run.twist("coupler").shape == run.reactions("C").shape == run.reactions("A").shape == (n, 6)
    assert run.multiplier("C").shape == run.multipliers.shape == (n, 2)
    assert run.multiplier("C.x").shape == run.power("torque").shape == run.power("C").shape == (n,)
    assert run.energy_error.shape == run.dissipated.shape == (n,)
    assert run.to_pandas().shape == (n, 13)
    assert dict(run.to_xarray().sizes)["t"] == n
    assert run.success
    assert "four-bar" in repr(run)


def test_what_does_not_move_has_histories():
    m = da.Mechanism("post", gravity=(0, 0, -10.0))
    body = m.add_body("post", mass=2.0, com=(0.5, 0, 0))
    m.add_joint("foot", da.Fixed(), m.ground, body)
    run = da.simulate(m.compile(), {}, 1.0)
    n = len(run.t)
    np.testing.assert_array_equal(run.position(body.at(1, 2, 3)), np.tile([1.0, 2.0, 3.0], (n, 1)))
    np.testing.assert_array_equal(run.acceleration("post"), np.zeros((n, 3)))
    np.testing.assert_allclose(run.reactions("foot"), np.tile([0, -10.0, 0, 0, 0, 20.0], (n, 1)))
    np.testing.assert_array_equal(run.energy, np.zeros(n))
    assert run.success
    assert run.to_pandas().shape[0] == n


def test_asking_again_compiles_nothing(four_bar):
    body = four_bar.system.layout.bodies["coupler"]
    four_bar.position(body.at(0.1, 0, 0))
    four_bar.power("torque")
    known = len(four_bar.system.kernels.compiled)
    four_bar.position(body.at(0.1, 0, 0))
    four_bar.power("torque")
    assert len(four_bar.system.kernels.compiled) == known


# --- states answer as expressions do --------------------------------------------------------------------------------

EVENTS = {
    "position": lambda t, s: s.position("tip")[0] - 0.3,
    "velocity": lambda t, s: s.velocity("tip")[1],
    "rotation": lambda t, s: s.rotation("tip")[0, 1] + 0.1,
    "pose": lambda t, s: s.pose("tip")[1, 3] + 1.4,
    "twist": lambda t, s: s.twist("tip")[3] - 0.5,
    "world twist": lambda t, s: s.twist("tip", axes="world")[4] - 0.2,
    "length": lambda t, s: ca.norm_2(s.position("tip") - np.array([0.5, 0.0, 0.0])) - 1.6,
}


@pytest.mark.parametrize("what", EVENTS)
def test_events_find_the_same_in_python_and_as_expressions(what):
    """The same lambda, on a frame that depends on a parameter which the run changes."""
    g, system = EVENTS[what], parametric().compile()
    runs = [da.simulate(system, {"A": 0.9}, 2.0, p={"L": 1.5}, events=e) for e in (g, da.expression(g))]
    python, traced = (run.t_events["event0"] for run in runs)
    assert runs[0].error is None
    assert len(python) >= 1
    np.testing.assert_allclose(python, traced, atol=1e-12)


def test_controllers_answer_the_same_in_python_and_as_expressions():
    law = lambda t, s: {"motor": -2.0 * s.position("tip")[0] - 0.3 * s.twist("tip", axes="world")[2]}  # noqa: E731
    system = parametric().compile()
    runs = [da.simulate(system, {"A": 0.9}, 1.0, p={"L": 1.5}, u=u, period=0.02) for u in (law, da.expression(law))]
    assert all(run.success for run in runs)
    np.testing.assert_allclose(runs[0].state().q, runs[1].state().q, atol=1e-10)


def test_states_of_a_run_place_frames_by_its_parameters():
    system = parametric().compile()
    run = da.simulate(system, {"A": 0.9}, 0.5, p={"L": 1.5})
    last = run.state()
    for x in (last, pickle.loads(pickle.dumps(last)), last.replace(t=3.0), run(float(run.t[-1]))):
        np.testing.assert_allclose(x.position("tip"), run.position("tip")[-1], atol=1e-14)
        np.testing.assert_allclose(x.velocity("tip"), run.velocity("tip")[-1], atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(run.position("tip"), axis=1), 1.5, atol=1e-14)
    for other, length in ((system, 2.0), (system.with_parameters(L=1.2), 1.2)):
        np.testing.assert_allclose(np.linalg.norm(other.state().position("tip")), length, atol=1e-14)


# --- tables ---------------------------------------------------------------------------------------------------------


def table_run() -> da.Run:
    m = da.Mechanism("table", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("float", da.Free(), m.ground, body)
    m.add_joint("turn", da.Revolute("z"), body, m.add_body("wheel", mass=0.1, inertia=(0.1, 0.1, 0.1)), damping=0.1)
    m.add_motor("drive", "turn")
    m.add_input("signal")
    m.add_point_in_plane("floor", body, m.ground)
    system = m.compile("casadi")
    return da.simulate(system, system.state(v={"turn": 1.0}), 0.2, u={"drive": 0.5})


def test_a_data_frame_has_every_column_with_its_unit():
    run = table_run()
    table = run.to_pandas()
    assert table.index.name == "t"
    np.testing.assert_array_equal(table.index, run.t)
    np.testing.assert_array_equal(table["q.turn"], run["turn"])
    np.testing.assert_array_equal(table["v.float.wx"], run.rate("float.wx"))
    np.testing.assert_array_equal(table["u.drive"], run.u[:, 0])
    np.testing.assert_array_equal(table["work.inputs"], run.work["inputs"])
    np.testing.assert_array_equal(table["work.forces"], run.work["forces"])
    np.testing.assert_array_equal(table["kinetic_energy"], run.kinetic_energy)
    row = run.system.row_names[0]
    np.testing.assert_array_equal(table[f"lambda.{row}"], run.multiplier("floor"))
    units = table.attrs["units"]
    assert set(units) == {"t", *table.columns}
    assert [units[f"q.{n}"] for n in run.system.q_names] == ["1"] * 4 + ["m"] * 3 + ["rad"]
    assert [units[f"v.{n}"] for n in run.system.v_names] == ["rad/s"] * 3 + ["m/s"] * 3 + ["rad/s"]
    assert (units["u.drive"], units["u.signal"], units[f"lambda.{row}"], units["t"]) == ("N m", "", "N", "s")


def test_a_dataset_has_names_along_its_dimensions():
    run = table_run()
    data = run.to_xarray()
    np.testing.assert_array_equal(data.q.sel(coordinate="turn"), run["turn"])
    np.testing.assert_array_equal(data.v.sel(speed="float.vz"), run.rate("float.vz"))
    np.testing.assert_array_equal(data.u.sel(input="drive"), run.u[:, 0])
    np.testing.assert_array_equal(data.work.sel(source="forces"), run.work["forces"])
    np.testing.assert_array_equal(data.multipliers[:, 0], run.multiplier("floor"))
    np.testing.assert_array_equal(data.potential_energy, run.potential_energy)
    assert str(data.coordinate_units.sel(coordinate="turn").item()) == "rad"
    assert str(data.row_units[0].item()) == "N"
    assert data.t.attrs["units"] == "s"
    assert data.kinetic_energy.attrs["units"] == data.work.attrs["units"] == "J"


@pytest.mark.parametrize("library", ["pandas", "xarray"])
def test_a_missing_library_names_its_extra(four_bar, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(da.MissingExtra, match=rf'pip install "dalembert\[{library}\]"'):
        getattr(four_bar, f"to_{library}")()


def test_inputs_of_drives_have_units_and_their_names_mean_their_forces():
    m = da.Mechanism("hoist", gravity=(0, -9.81, 0))
    boom = m.add_body("boom", mass=2.0, com=(1.0, 0, 0), inertia=da.rod_inertia(2.0, 2.0))
    pivot = m.add_joint("pivot", da.Revolute("z"), m.ground, boom)
    m.add_actuator("ram", m.ground.at(0.5, -0.8), boom.at(1.2))
    m.add_servo("servo", pivot, stiffness=10.0, damping=1.0, rate=True)
    m.add_motor("motor", pivot)
    m.add_input("free")
    system = m.compile()
    run = da.simulate(system, {"pivot": 0.3}, 0.2, u={"ram": 5.0, "servo": [0.4, 0.1]})
    units = run.to_pandas().attrs["units"]
    assert [units[f"u.{name}"] for name in system.u_names] == ["N", "rad", "rad/s", "N m", ""]
    np.testing.assert_allclose(run.power("ram"), 5.0 * run.length_rate("ram"), atol=1e-12)
    v = run.rate("pivot")
    np.testing.assert_allclose(run.power("servo"), v * (10 * (0.4 - run["pivot"]) + 0.1 - v), atol=1e-12)
