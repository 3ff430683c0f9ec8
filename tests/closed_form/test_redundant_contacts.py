"""More contacts than are independent: they share their load as equal springs would."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

SIZE = 0.2, 0.2, 0.3
CORNERS = [(i * SIZE[0] / 2, j * SIZE[1] / 2) for i in (1, -1) for j in (1, -1)]


@pytest.fixture(scope="module")
def system():
    m = da.Mechanism("box", gravity=(0, 0, -9.81))
    box = m.add_body("box", mass=1.0, inertia=da.box_inertia(1.0, SIZE))
    m.add_joint("free", da.Free(), m.ground, box)
    for k, at in enumerate(CORNERS):
        m.add_contact(f"c{k}", box.at(*at, -SIZE[2] / 2), friction=0.6)
    return m.compile()


def normals(p, drag):
    """Forces n = a + b·p ≥ 0 of springs under a flat face, in balance with the weight and friction −drag n."""
    on = np.ones(len(p), dtype=bool)
    while True:
        B = np.column_stack([np.ones(len(p)), p]) * on[:, None]
        arms = np.array([np.ones(len(p)), p[:, 1] - SIZE[2] / 2 * drag[:, 1], SIZE[2] / 2 * drag[:, 0] - p[:, 0]])
        n = B @ np.linalg.solve(arms @ B, [9.81, 0.0, 0.0])
        if n.min() >= 0.0:
            return n
        on[np.argmin(n)] = False


def pushed(t, y):
    """ẏ of x, y, angle and their rates, of a box that slides flat on its corners."""
    c, s = np.cos(y[2]), np.sin(y[2])
    p = np.array(CORNERS) @ np.array([[c, s], [-s, c]])
    slip = y[3:5] + y[5] * np.column_stack([-p[:, 1], p[:, 0]])
    drag = 0.6 * slip / np.linalg.norm(slip, axis=1, keepdims=True)
    f = -drag * normals(p, drag)[:, None]
    moment = np.sum(p[:, 0] * f[:, 1] - p[:, 1] * f[:, 0])
    return [*y[3:], *f.sum(axis=0), moment * 12 / (SIZE[0] ** 2 + SIZE[1] ** 2)]


def test_a_box_that_slides_flat_bears_on_its_corners_as_on_equal_springs(system):
    """Corners are unloaded and loaded on the way; all stop together."""
    start = [0.0, 0.0, 0.0, 1.0, 0.2, 3.0]
    run = da.simulate(system, system.state(np.r_[1, 0, 0, 0, 0, 0, SIZE[2] / 2], np.r_[0, 0, 3.0, 1.0, 0.2, 0]), 0.4)
    assert run.success
    stopped = next(s.t for s in run.switches if s.kind == "sticks")
    there = solve_ivp(pushed, (0.0, stopped - 1e-5), start, rtol=1e-11, atol=1e-13, method="DOP853").y[:3, -1]
    here = run(stopped - 1e-5)
    angle = 2.0 * np.arctan2(here["free.qz"], here["free.qw"])
    np.testing.assert_allclose([here["free.x"], here["free.y"], angle], there, rtol=0, atol=1e-8)
    assert {"unloaded", "slides"} <= {s.kind for s in run.switches}
    assert min(run.multiplier(f"c{k}.gap").min() for k in range(4)) >= 0.0
    some = run.resampled(np.linspace(0.0, stopped - 1e-5, 50))
    forces = np.stack([some.multiplier(f"c{k}.gap") for k in range(4)], axis=1)
    np.testing.assert_allclose(forces.sum(axis=1), 9.81, rtol=1e-9)
    np.testing.assert_allclose(forces[0], normals(np.array(CORNERS), 0.6 * _directions(start)), rtol=1e-9)
    assert np.abs(run.v[-1]).max() < 1e-12


@pytest.mark.parametrize(
    ("turn", "vx", "vy"),
    [(-7.118, 0.028, -0.055), (-1.734, -0.892, 0.841), (1.363, 1.935, -0.27), (7.746, 2.253, -1.916),
     (-0.989, 0.243, 1.801), (3.139, -0.2, 0.024)],
)  # fmt: skip
def test_the_last_nanoseconds_of_a_slide_keep_the_laws(system, turn, vx, vy):
    """Corners are unloaded and loaded ever faster before all stop; in the end forces turn within 1e-10 s."""
    start = [0.0, 0.0, 0.0, vx, vy, turn]
    run = da.simulate(system, system.state(np.r_[1, 0, 0, 0, 0, 0, SIZE[2] / 2], np.r_[0, 0, turn, vx, vy, 0]), 0.7)
    assert run.success, run.message
    assert run.contact_residuals.max() < 1e-2  # at a record whose time is known to 1e-6 of what is left of the slide
    assert np.sum(run.contact_residuals > 1e-6) <= 2
    assert np.abs(run.v[-1]).max() < 1e-12
    stopped = next(s.t for s in run.switches if s.kind == "sticks")
    there = solve_ivp(pushed, (0.0, stopped - 1e-5), start, rtol=1e-11, atol=1e-13, method="DOP853").y[:3, -1]
    here = run(stopped - 1e-5)
    angle = 2.0 * np.arctan2(here["free.qz"], here["free.qw"])
    np.testing.assert_allclose([here["free.x"], here["free.y"], angle], there, rtol=0, atol=1e-8)


def _directions(y):
    slip = np.array(y[3:5]) + y[5] * np.array([(-b, a) for a, b in CORNERS])
    return slip / np.linalg.norm(slip, axis=1, keepdims=True)


def test_a_table_at_rest_stands_on_its_legs_as_on_equal_springs():
    """The forces are linear in the place of a leg, whatever the masses and the number of legs."""
    rng = np.random.default_rng(7)
    legs, at = rng.uniform(-1.0, 1.0, (5, 2)), rng.uniform(-0.1, 0.1, 2)
    legs = np.vstack([legs, -legs[:3]])
    m = da.Mechanism("table", gravity=(0, 0, -9.81))
    top = m.add_body("top", mass=3.0, com=(*at, 0.2), inertia=(0.2, 0.5, 0.6))
    m.add_joint("top", da.Free(), m.ground, top)
    for k, leg in enumerate(legs):
        m.add_contact(f"leg{k}", top.at(*leg, 0.0), friction=0.5)
    run = da.simulate(m.compile(), {}, 0.1)
    B = np.column_stack([np.ones(len(legs)), legs])
    expected = B @ np.linalg.solve(B.T @ B, 3.0 * 9.81 * np.r_[1.0, at])
    assert expected.min() > 0.0
    assert run.success
    np.testing.assert_allclose([run.multiplier(f"leg{k}.gap")[-1] for k in range(len(legs))], expected, rtol=1e-9)
