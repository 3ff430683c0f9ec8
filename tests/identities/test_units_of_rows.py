"""Constraints of the user's own in any unit: m², m³, 1/m or none describe the same mechanism, at every size."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.rank import rank_policy

POWERS = {"m": 1, "m2": 2, "m3": 3, "per m": -1, "none": 0}
SIZES = [1e-3, 1.0, 1e2, 8e4, 1e5]


def distance(power, frame, centre, length):
    """A point at a given distance from another, as a row in a power of metres, or as a logarithm."""

    def row(s):
        d = s.position(frame) - centre
        square = ca.sumsqr(ca.vertcat(*(d[i] for i in range(3))))
        return ca.log(square / length**2) if power == 0 else square ** (power / 2) - length**power

    return row


def chain(L, power, *, loop=False):
    """Four links in space, two points of which keep their distances; loop: a rod from one of them too."""
    m, last = da.Mechanism("chain", gravity=(0, 0, -9.81 * L)), None
    for k in range(5):
        body = m.add_body(
            f"b{k}", mass=1.0 + k, com=(0.5 * L, 0, 0), inertia=np.array([0.1 + 0.05 * k, 0.2, 0.25]) * L**2
        )
        m.add_joint(f"J{k}", da.Revolute("xyz"[k % 3]), m.ground if last is None else last.at(L, 0, 0.1 * L), body)
        last = body
    m.add_frame("tip", last.at(L, 0, 0))
    m.add_frame("mid", m.bodies["b1"].at(L, 0, 0))
    m.add_frame("knee", m.bodies["b3"].at(0, 0.3 * L, 0))
    q, free = np.random.default_rng(30).uniform(-0.6, 0.6, 5), m.compile()
    centre, x = np.array([0.3, 0.2, 0.1]) * L, free.state(q)
    tip, mid, knee = (x.position(name) for name in ("tip", "mid", "knee"))
    rows = {
        "a": distance(power, "tip", centre, np.linalg.norm(tip - centre)),
        "b": distance(power, "mid", -centre, np.linalg.norm(mid + centre)),
    }
    m.add_constraint("own", holonomic=rows)
    if loop:
        at = m.ground.at(0.5 * L, 0, -L)
        m.add_rod(
            "rod", at, m.bodies["b3"].at(0, 0.3 * L, 0), length=np.linalg.norm(knee - np.array([0.5, 0, -1.0]) * L)
        )
    return m.compile(), q


@pytest.fixture(scope="module")
def usual():
    """The end of a motion of a mechanism of 1 m with rows in metres, and its rank, without and with a loop."""
    found = {}
    for loop in (False, True):
        system, q = chain(1.0, 1, loop=loop)
        x = system.project(system.state(q, np.full(5, 0.3)))
        found[loop] = da.simulate(system, x, 0.6, rtol=1e-10, atol=1e-11).q[-1], system.report(x).rank
    return found


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("L", SIZES)
@pytest.mark.parametrize("power", POWERS.values(), ids=POWERS)
def test_a_row_may_be_in_any_unit(usual, power, L, loop):
    """Motion, rank, assembly, linear model and length are those of the same mechanism in metres."""
    system, q = chain(L, power, loop=loop)
    assert rank_policy(system).length == pytest.approx(L, rel=2.0)
    x = system.project(system.state(q, np.full(5, 0.3)))
    end, rank = usual[loop]
    report = system.report(x)
    assert (report.rank, report.closed) == (rank, True)
    assert all(report.determinate.values())
    for rtol in (1e-6, 1e-9):
        run = da.simulate(system, x, 0.6, rtol=rtol, atol=0.1 * rtol)
        assert run.success, run.message
        np.testing.assert_allclose(run.q[-1], end, atol=300 * rtol)
    again = system.assemble(guess=system.state(q + 0.01))
    assert np.abs(again.q - q).max() < 0.1
    assert da.linearize(system, x).A.shape == (2 * (5 - rank), 2 * (5 - rank))


@pytest.mark.parametrize("L", SIZES)
@pytest.mark.parametrize("power", POWERS.values(), ids=POWERS)
def test_a_start_off_a_row_is_refused_in_any_unit(power, L):
    """A hundredth of a radian off the manifold is not rounding, whatever the row is measured in."""
    system, q = chain(L, power)
    x = system.project(system.state(q))
    with pytest.raises(da.ArgumentError, match="does not satisfy the constraints"):
        da.simulate(system, system.state(x.q + 0.01), 0.1)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("L", [1e-3, 1.0, 1e6])
def test_a_rack_times_a_number_is_the_same_rack(factor, L):
    """rack = r · pinion as c · rack − c r · pinion: the mechanism's length is its own, not c r."""
    m = da.Mechanism("rack", gravity=(-9.81 * L, 0, 0))
    rack = m.add_body("rack", mass=1.0)
    pinion = m.add_body("pinion", mass=1.0, inertia=(1.0 * L**2, 1.0 * L**2, 1.0 * L**2))
    m.add_joint("slide", da.Prismatic("x"), m.ground, rack)
    m.add_joint("turn", da.Revolute("z"), m.ground.at(0, 0.5 * L, 0), pinion)
    m.add_coupling("teeth", {"slide": factor, "turn": -0.5 * L * factor})
    system = m.compile()
    policy = rank_policy(system)
    assert policy.length == pytest.approx(0.5 * L)
    np.testing.assert_allclose(policy.units / (factor * L), np.sqrt(0.5), rtol=1e-9)
    x = system.assemble({"turn": 0.3})
    assert x["slide"] == pytest.approx(0.15 * L)
    run = da.simulate(system, x, 1.0)
    assert run.success
    assert run["slide"][-1] == pytest.approx(0.15 * L - 0.5 * 9.81 * L / 5.0)
