"""Derivatives with respect to parameters: against differences, and forward against adjoint."""

import numpy as np
import pytest

import dalembert as da
from parameterized import FOUR_BAR, differences, four_bar, random_parameterized, started

OF = ["A", "B", "rate:D", "acceleration:B", "position:point@x", "velocity:point@y", "multiplier:C.x", "reaction:B@fy",
      "energy"]  # fmt: skip


@pytest.fixture(scope="module")
def bars():
    return four_bar()


WRT = [*FOUR_BAR, "input:torque", "held:A", "held:rate:A"]


def test_assembled_states_forces_and_outputs(bars):
    x = bars.assemble({"A": 0.9}, {"A": 2.0})
    s = da.sensitivities(bars, x, of=OF, wrt=WRT, held=["A"], u={"torque": 1.5})

    def moved(h, name):
        given = {"held:A": 0.9, "held:rate:A": 2.0, "input:torque": 1.5} | FOUR_BAR
        given[name] += h
        p = {n: given[n] for n in FOUR_BAR}
        y = bars.assemble({"A": given["held:A"]}, {"A": given["held:rate:A"]}, p=p)
        u = {"torque": given["input:torque"]}
        return da.sensitivities(bars, y, of=OF, wrt=WRT, held=["A"], u=u, p=p).value

    for k, name in enumerate(WRT):
        d = differences(lambda h, name=name: moved(h, name), 1e-2)
        np.testing.assert_allclose(s.jacobian[:, k], d, rtol=1e-8, atol=1e-8 * np.abs(d).max(), err_msg=name)
    assert s.d("rate:D", "l3") == s.gradient("rate:D")[s.wrt.index("l3")]
    assert s["A"] == pytest.approx(0.9)


def test_several_states_at_once(bars):
    angles = [0.3, 0.9, 1.4]
    states = [bars.assemble({"A": a}) for a in angles]
    s = da.sensitivities(bars, states, of=["position:point"], wrt=["l1", "span"], held=["A"])
    assert s.jacobian.shape == (3, 3, 2)
    one = da.sensitivities(bars, states[1], of=["position:point"], wrt=["l1", "span"], held=["A"])
    np.testing.assert_allclose(s.jacobian[1], one.jacobian, rtol=1e-13)
    assert "the last of 3" in str(s)


def test_an_equilibrium_follows_its_parameters(bars):
    def rest(p):
        e = da.equilibrium(bars, {"A": -1.4, "D": -1.6}, p=p)
        return e, np.array([e.state["A"], e.state["B"], e.state["D"]])

    e, _ = rest({})
    of = ["A", "B", "D"]
    names = ["l2", "span", "m2", "d"]
    s = da.sensitivities(bars, e.state, of=of, wrt=names, held="equilibrium")
    for k, name in enumerate(names):
        d = differences(lambda h, name=name: rest({name: FOUR_BAR[name] + h})[1], 2e-2)
        np.testing.assert_allclose(s.jacobian[:, k], d, atol=2e-9, err_msg=name)


def test_eigenvalues_and_modes(bars):
    names = ["l1", "m2", "d"]
    of = ["eigenvalue:0", "frequency:0", "damping:0", "mode:0"]

    def model(p):
        return da.linearize(bars, da.equilibrium(bars, {"A": -1.4, "D": -1.6}, p=p).state, p=p, independent=["A"])

    def numbers(p):
        mode = model(p).modes[0]
        return np.array([mode.eigenvalue, mode.frequency, mode.damping, *mode.shape.values()])

    s = da.sensitivities(model({}), of=of, wrt=names, held="equilibrium")
    assert s.of == ("eigenvalue:0", "frequency:0", "damping:0", "mode:0@A", "mode:0@A rate")
    np.testing.assert_allclose(s.value, numbers({}), rtol=1e-10)
    for k, name in enumerate(names):
        d = differences(lambda h, name=name: numbers({name: FOUR_BAR[name] + h}), 2e-2)
        np.testing.assert_allclose(s.jacobian[:, k], d, atol=2e-8, err_msg=name)
    assert abs(s["eigenvalue:0"].imag) > 1.0
    held = da.sensitivities(model({}), of=["eigenvalue:0"], wrt=["l1"])  # by default the model's own coordinates stay
    assert abs(held.d("eigenvalue:0", "l1") - s.d("eigenvalue:0", "l1")) > 1e-3


@pytest.mark.parametrize(("seed", "driven"), [(0, False), (5, True)])
def test_forward_is_adjoint_on_random_closed_mechanisms(seed, driven):
    """With quaternions, redundant rows and drivers; and both are what differences of runs say."""
    system, x = random_parameterized(seed, driven=driven)
    wrt = [n for n in system.p_names if n in ("reach", "place", "k", "c", "m", "w")]
    assert system.nq > system.nv
    held = _independent(system, x)
    of = {"energy": "energy", "work": da.Integral("kinetic_energy"), "v": f"rate:{system.v_names[0]}",
          "a": f"acceleration:{system.v_names[0]}", "z": "position:probe@z"}  # fmt: skip
    run = da.simulate(system, x, 0.4, rtol=1e-12, atol=1e-13)
    forward, adjoint = (da.sensitivities(run, of=of, wrt=wrt, held=held, method=way) for way in ("forward", "adjoint"))
    size = np.abs(forward.jacobian).max(axis=1, keepdims=True)
    np.testing.assert_allclose(adjoint.jacobian / size, forward.jacobian / size, atol=1e-10)
    np.testing.assert_allclose(adjoint.value, forward.value, rtol=1e-12)
    assert forward.closure < 1e-9

    def ended(h):
        p = {"reach": 0.1 + h, "place": -h, "k": 30.0 + 50.0 * h}
        again = da.simulate(system, started(system, x, held, p), 0.4, rtol=1e-12, atol=1e-13, p=p)
        return da.sensitivities(again, of=of, wrt=wrt, held=held, method="forward").value

    along = forward.jacobian @ np.array([{"reach": 1.0, "place": -1.0, "k": 50.0}.get(n, 0.0) for n in wrt])
    d = differences(ended, 4e-3)
    np.testing.assert_allclose(along / np.abs(d), d / np.abs(d), atol=1e-8)


def _independent(system, x):
    from dalembert.sensitivity.following import _independent

    return [system.v_names[k] for k in _independent(system, x, None)]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "dopri5", "rtol": 1e-10}, {"method": "rk4", "step": 2e-3}, {"method": "sdirk4", "rtol": 1e-10},
        {"method": "variational", "step": 1e-3}, {"coordinates": ["A"]}, {"formulation": "nullspace"},
        {"stabilization": "baumgarte"},
    ],
    ids=str,
)  # fmt: skip
def test_any_way_to_simulate_has_the_derivatives_of_the_motion(bars, options):
    x = bars.assemble({"A": 0.9}, {"A": 2.0}, guess={"B": -0.3, "D": 1.5})
    of, wrt = ["A", "rate:A"], ["l1", "m2", "d"]
    best = da.sensitivities(da.simulate(bars, x, 0.5, rtol=1e-12), of=of, wrt=wrt, held=["A"])
    found = da.sensitivities(da.simulate(bars, x, 0.5, **options), of=of, wrt=wrt, held=["A"])
    accuracy = 1e-4 if options.get("method") == "variational" else 1e-6  # that of the run
    np.testing.assert_allclose(found.jacobian, best.jacobian, atol=accuracy * np.abs(best.jacobian).max())
