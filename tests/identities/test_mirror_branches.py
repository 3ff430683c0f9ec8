"""Φ = 0 on a mirror branch is not closed: assembly, projection, report, runs, linear models, statics and ways agree."""

import numpy as np
import pytest

import dalembert as da
from dalembert.analysis import curvature

LEAD = 0.01  # m per radian


def nut(scale=1.0, pitch=LEAD):
    m = da.Mechanism("nut", gravity=(0, 0, -9.81))
    body = m.add_body("nut", mass=1.0, inertia=np.full(3, 0.01 * scale**2))
    m.add_joint("c", da.Cylindrical("z"), m.ground, body)
    m.close_loop("s", da.Screw("z", pitch=pitch * scale), m.ground, body)
    m.add_motor("M", "c")
    return m.compile()


def arm_on_a_pin():
    """A body on a ball joint whose pin along z turns in the ground."""
    m = da.Mechanism("pin", gravity=(0, 0, -9.81))
    body = m.add_body("arm", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3))
    m.add_joint("ball", da.Spherical(), m.ground, body)
    m.close_loop("pin", da.Revolute("z"), m.ground, body)
    m.add_motor("M", "ball")
    return m.compile()


def mirrored(case):
    """A system, a closed state of it, and one on the mirror branch with residuals of rounding size."""
    if case == "pin":
        system = arm_on_a_pin()
        return system, system.assemble(guess={"ball": da.rotation("z", 0.4)}), {"ball": da.rotation("x", np.pi)}
    system = nut(case)
    return system, system.assemble({"c.angle": 0.4}), {"c.angle": 0.0, "c.slide": np.pi * LEAD * case}


@pytest.mark.parametrize("case", ["pin", 1.0, 1e-4, 1e4])
def test_a_state_on_the_mirror_branch_is_closed_for_nobody(case):
    system, good, q = mirrored(case)
    bad = system.state(q)
    assert np.abs(system.residuals(bad)).max() < (1e-15 if case == "pin" else 1e-15 * case)
    assert system.report(good).closed
    report = system.report(bad)
    assert not report.closed
    assert "reversed" in str(report) or "half a turn off its thread" in str(report)
    for question in (
        lambda x: system.project(x),
        lambda x: da.simulate(system, x, 0.01),
        lambda x: da.simulate(system, x, 0.01, stabilization=None, method="rk4", step=0.001),
        lambda x: da.linearize(system, x, u=None),
        lambda x: da.static_forces(system, x),
        lambda x: curvature(system, x) if case == "pin" else system.walk(x, to={"c.angle": 0.1}),
    ):
        question(good)
        with pytest.raises(da.DalembertError, match=r"mirror branch|does not close|do not hold"):
            question(bad)
    runs = da.ensemble(system, [good, bad], 0.01)
    assert runs.success.tolist() == [True, False]
    assert "mirror branch" in str(runs.messages[1])


@pytest.mark.parametrize("pitch", [LEAD, -LEAD])
@pytest.mark.parametrize("seed", range(8))
def test_a_nut_is_assembled_on_its_thread_from_anywhere(seed, pitch):
    """z = h (θ + 2π k) with either coordinate held and any guess of the other."""
    system, rng = nut(pitch=pitch), np.random.default_rng(seed)
    angle, slide = rng.uniform(-9, 9), rng.uniform(-0.1, 0.1)
    for held, guess in (({"c.angle": angle}, {"c.slide": slide}), ({"c.slide": slide}, {"c.angle": angle})):
        x = system.assemble(held, guess=guess)
        turns = (x["c.slide"] / pitch - x["c.angle"]) / (2 * np.pi)
        assert turns == pytest.approx(round(turns), abs=1e-9)


def test_variants_of_a_nut_are_assembled_on_the_thread():
    """Many at once: none ends half a turn off, wherever the slide is held."""
    system = nut()
    slide = np.linspace(-0.2, 0.2, 41)
    states = da.assemble_many(system, {"c.slide": slide})
    turns = (slide / LEAD - states.q[:, system.q_names.index("c.angle")]) / (2 * np.pi)
    assert np.abs(turns - turns.round()).max() < 1e-9


def test_a_pin_that_points_the_wrong_way_whatever_the_mechanism_does_is_refused():
    m = da.Mechanism("four-bar")
    lengths = {"a": 0.2, "b": 0.6, "c": 0.4}
    a, b, c = (m.add_body(n, mass=1.0, com=(L / 2, 0, 0), inertia=da.rod_inertia(1.0, L)) for n, L in lengths.items())
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.2), b)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55), c)
    m.close_loop("C", da.Revolute("z"), b.at(0.6), c.at(0.4, rotation=da.rotation("x", np.pi)))
    with pytest.raises(da.DescriptionError, match="'C' can only hold with its axis reversed"):
        m.compile(backend="casadi").rows  # noqa: B018


def test_a_screw_without_pitch_closes_no_loop():
    with pytest.raises(da.DescriptionError, match=r"pitch 0, .* da\.Revolute"):
        nut(pitch=0.0)
