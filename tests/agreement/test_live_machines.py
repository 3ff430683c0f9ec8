"""WebAssembly against machine code: the same kernels, the same steps, the same singular values."""

import numpy as np
import pytest

import dalembert as da
from live_in_node import STEPS, ask, zoo_page


@pytest.mark.parametrize("name", ["four_bar", "rolling_disc"])
def test_kernels_give_the_numbers_of_the_machine_code(name):
    """Poses, twists, energies and equations at random states: loops open, rows of any kind."""
    system, x, data = zoo_page(name)
    rng = np.random.default_rng(3)
    states = [system.state(x.q + 0.3 * rng.normal(size=system.nq), rng.normal(size=system.nv)) for _ in range(6)]
    found = ask(
        data,
        "return given.q.map((q, k) => Object.fromEntries(['poses', 'twists', 'energies', 'equations']"
        ".map(name => [name, Array.from(machine.bounds[name].call({ q, v: given.v[k] }))])))",
        q=[state.q.tolist() for state in states],
        v=[state.v.tolist() for state in states],
    )
    for here, state in zip(found, states):
        expected = {"energies": [system.kinetic_energy(state), system.potential_energy(state)]}
        bodies = list(system.layout.bodies)
        poses = [system.pose(state, n) for n in bodies]
        expected["poses"] = np.concatenate([np.r_[T[:3, :3].ravel(), T[:3, 3]] for T in poses])
        expected["twists"] = np.concatenate([system.twist(state, n, axes="world") for n in bodies])
        out = system.kernels.at(system.kernel("equations"), state, None, None, {})
        expected["equations"] = np.concatenate([np.ravel(part) for part in out])
        for what, numbers in expected.items():
            scale = np.abs(numbers).max(initial=1e-300)
            np.testing.assert_allclose(here[what], numbers, rtol=1e-12, atol=1e-12 * scale, err_msg=what)


@pytest.mark.parametrize("name", ["four_bar", "rolling_disc", "heavy_top"])
def test_the_same_steps_lead_to_the_same_states(name):
    """Two seconds with the lengths of the native steps: integrator, projection and right-hand side agree to 1e-12."""
    system, x, data = zoo_page(name)
    run = da.simulate(system, x, 2.0)
    found = ask(data, "const t = given.t" + STEPS, t=run.t.tolist())
    assert found["ended"] is None
    assert found["times"][-1] == run.t[-1]
    assert found["residual"] < 1e-12
    rows = np.array(found["rows"])
    states = np.hstack([run.q, run.v])[1:]
    assert np.abs(rows[:, : states.shape[1]] - states).max() < 1e-12 * (1 + np.abs(states).max())


def test_steps_of_its_own_choice_are_as_accurate():
    """Left to itself the step of a page differs by rounding of the error estimate; the states by the tolerances."""
    system, x, data = zoo_page("four_bar")
    times = np.linspace(0.0, 2.0, 41)
    run = da.simulate(system, x, 2.0, t_eval=times)
    found = ask(
        data,
        "machine.begin(); return given.t.map(t => { machine.to(t); return [...machine.q, ...machine.v, "
        "machine.residual(), machine.energyError()] })",
        t=times.tolist(),
    )
    found = np.array(found)
    n = system.nq + system.nv
    np.testing.assert_allclose(found[:, :n], np.hstack([run.q, run.v]), atol=1e-8)
    assert np.abs(found[:, n]).max() < 1e-12
    assert np.abs(found[:, n + 1]).max() < 1e-8


def test_a_motion_through_singular_positions_is_the_librarys():
    """Two seconds of a five-bar that passes two of them."""
    system, x, data = zoo_page("five_bar")
    run = da.simulate(system, x, 2.0)
    assert len(run.passages) == 2
    found = ask(
        data,
        "machine.begin(); machine.to(2); return { q: machine.q, passages: machine.passages, ended: machine.ended, "
        "error: machine.energyError() }",
    )
    assert found["ended"] is None
    np.testing.assert_allclose(found["q"], run.q[-1], atol=1e-4)
    np.testing.assert_allclose([m["t"] for m in found["passages"]], [m.nearest for m in run.passages], atol=1e-5)
    assert abs(found["error"]) < 1e-7


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "rolling_disc"])
def test_the_singular_distance_is_the_reports(name):
    system, x, data = zoo_page(name)
    report = system.report(x)
    found = ask(data, "return machine.singular()")
    assert found["rank"] == report.rank == found["full"]
    assert abs(found["least"] - report.singular_values[report.rank - 1]) < 1e-12 * found["largest"]
    assert abs(found["least"] / found["largest"] - report.distance) < 1e-12


def test_work_of_inputs_is_kept():
    """A torque changes the energy by what it does."""
    _, _, data = zoo_page("four_bar")
    found = ask(
        data,
        "machine.setInputs([0.7]); machine.begin(); machine.to(0.37); "
        "return [machine.energies(), machine.energy, machine.energyError()]",
    )
    (kinetic, potential), first, error = found
    assert abs(kinetic + potential - first) > 0.1
    assert abs(error) < 1e-7


def test_mechanisms_whose_structure_changes_are_refused_in_a_sentence(tmp_path):
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", radius=0.1)
    with pytest.raises(da.DalembertError, match=r"which a live page does not follow.*animate"):
        da.view.export_html(m.compile(), tmp_path / "ball.html", {"z": 1.0})
    assert not list(tmp_path.iterdir())
