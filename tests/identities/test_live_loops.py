"""A page moves mechanisms by hand: loops stay closed, branches are kept, dead points stop."""

import numpy as np
import pytest

import dalembert as da
from live_in_node import ask, page, zoo_page

LEAD = """
const by = Object.fromEntries(data.coordinates.map(c => [c.name, c]))
const wanted = {}
for (const [name, value] of Object.entries(given.wanted)) wanted[by[name].v] = [by[name].q, value]
const found = machine.bring(machine.q, wanted, v => data.coordinates.find(c => c.v === v).unit)
return { ...found, residual: machine.residual(found.q) }
"""


@pytest.mark.parametrize("angle", [-2.4, 0.61, 3.5])
def test_a_slider_follows_the_branch(angle):
    """The crank of a four-bar anywhere: closed to rounding, and where the library's sweep leads too."""
    system, x, data = zoo_page("four_bar")
    found = ask(data, LEAD, wanted={"A": angle})
    assert found["reached"]
    assert found["residual"] < 1e-12
    swept = system.sweep({"A": np.linspace(x["A"], angle, 60)}, x)
    np.testing.assert_allclose(found["q"], swept.q[-1], atol=1e-10)


def test_a_slider_stops_in_a_dead_point():
    """The rocker of a crank-rocker turns no farther than where crank and coupler are in line."""
    system, _, data = zoo_page("four_bar")
    found = ask(data, LEAD, wanted={"D": 3.0})
    assert not found["reached"]
    assert found["residual"] < 1e-10
    state = system.state(found["q"])
    joint = [system.pose(state, name)[:3, 3] for name in ("crank", "coupler")]
    far = system.pose(state, "rocker")[:3, :3] @ [0.4, 0, 0] + system.pose(state, "rocker")[:3, 3]
    crank, coupler = joint[1] - joint[0], far - joint[1]
    sine = np.linalg.norm(np.cross(crank, coupler)) / np.linalg.norm(crank) / np.linalg.norm(coupler)
    assert sine < 0.05


def test_two_sliders_hold_each_other():
    """One leading coordinate of a five-bar moves, the other stays."""
    system, x, data = zoo_page("five_bar")
    lead = [c["name"] for c in data["coordinates"] if c["leads"]]
    assert len(lead) == 2
    wanted = {lead[0]: x[lead[0]] + 0.2, lead[1]: x[lead[1]]}
    found = ask(data, LEAD, wanted=wanted)
    assert found["reached"]
    state = system.state(found["q"])
    assert found["residual"] < 1e-12
    for name, value in wanted.items():
        assert abs(state[name] - value) < 1e-9


@pytest.mark.parametrize("name", ["four_bar", "rolling_disc"])
def test_leading_coordinates_are_as_many_as_positions_are_free(name):
    """Of the disc, which rolls: nonholonomic constraints leave its place free."""
    system, x, data = zoo_page(name)
    rows = int(system.rows.holonomic.sum())
    A = system.constraint_matrix(x)[system.rows.holonomic] if rows else np.zeros((0, system.nv))
    plain = sum(c["leads"] for c in data["coordinates"])
    assert plain == min(system.nv - np.linalg.matrix_rank(A), len(data["coordinates"]))


def test_a_body_is_pulled_where_it_can_go():
    """A point of the coupler is drawn to where it is at another crank angle: it arrives, loops closed on the way."""
    system, x, data = zoo_page("four_bar")
    other = system.sweep({"A": np.linspace(x["A"], x["A"] + 0.5, 20)}, x)
    point = np.array([0.2, 0.1, 0.0])
    T = system.pose(system.state(other.q[-1]), "coupler")
    body = [b["name"] for b in data["scene"]["bodies"]].index("coupler")
    found = ask(
        data,
        "let q = machine.q; const gaps = []; for (let k = 0; k < 30; k++) { q = machine.pull(q, given.which, "
        "given.point, given.target); gaps.push(machine.residual(q)) }; return { q, gaps }",
        which=body,
        point=point.tolist(),
        target=(T[:3, :3] @ point + T[:3, 3]).tolist(),
    )
    assert max(found["gaps"]) < 1e-10
    np.testing.assert_allclose(found["q"], other.q[-1], atol=1e-5)


def test_a_parameter_moves_everything():
    """A pendulum whose length is a parameter: period, energy and pose are those of the library with that length."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L = m.add_parameter("L", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
    system = m.compile()
    x = system.state({"A": 0.4})
    data = page(system, x)
    assert [p["name"] for p in data["parameters"]] == ["L"]
    found = ask(
        data,
        "machine.setParameters([2.5]); machine.begin(); const first = machine.energies(); machine.to(1.3); "
        "return { q: machine.q, first, last: machine.energies() }",
    )
    run = da.simulate(system, x, 1.3, p={"L": 2.5})
    np.testing.assert_allclose(found["q"], run.q[-1], atol=1e-9)
    assert abs(found["first"][1] - system.potential_energy(x, p={"L": 2.5})) < 1e-12


def test_modes_swing_with_the_loops_closed():
    """Shapes of the page are those of the linear model, at an equilibrium that is stable for a hanging mechanism."""
    system, x, _ = zoo_page("four_bar")
    data = page(system, x, modes=True)
    modes = data["modes"]["list"]
    assert len(modes) == 1
    rest = system.state(data["modes"]["q"])
    assert np.abs(system.acceleration(rest).vdot).max() < 1e-6
    model = da.linearize(system, rest)
    assert abs(modes[0]["imag"] - np.abs(model.eigenvalues.imag).max()) < 1e-6
    gaps = ask(
        data,
        "const m = data.modes.list[0]; return [0, 1, 2, 3].map(k => machine.residual(machine.moved("
        "Float64Array.from(data.modes.q), Float64Array.from(m.re, x => 0.2 * Math.cos(k) * x))))",
    )
    assert max(gaps) < 1e-10
