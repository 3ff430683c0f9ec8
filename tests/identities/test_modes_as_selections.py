"""A mode is a selection of rows from one program: the same equations and guards as those traced for the mode alone."""

import itertools

import numpy as np
import pytest

import dalembert as da
from dalembert.analysis.mobility import independent_rows
from dalembert.formulations.mode_rows import mode_field, mode_guards
from dalembert.native.bound import Bound
from dalembert.simulation.hybrid.guards import guard_values
from dalembert.simulation.hybrid.mode_data import ModeData
from dalembert.simulation.hybrid.phase_parts import KernelsOfPhase

ARGUMENTS = ("q", "v", "u", "p", "t")


def box(friction=0.4):
    """It tumbles, slides on one to four corners, and rests."""
    m = da.Mechanism("box", gravity=(0, 0, -9.81))
    b = m.add_body("box", mass=1.0, inertia=da.box_inertia(1.0, (0.2, 0.3, 0.1)))
    m.add_joint("f", da.Free(), m.ground, b)
    for k, signs in enumerate(itertools.product((-0.5, 0.5), repeat=3)):
        m.add_contact(f"c{k}", b.at(*(np.array(signs) * (0.2, 0.3, 0.1))), friction=friction, restitution=0.2)
    system = m.compile()
    return system, system.state(np.r_[1, 0, 0, 0, 0, 0, 0.06], np.r_[0, 0, 2.0, 1.0, 0.5, 0]), 0.5


def linkage():
    """Friction in three joints of a loop, one with Stribeck's curve, a stop, a damper and an input."""
    m = da.Mechanism("linkage", gravity=(0, -9.81, 0))
    a, b, d = (
        m.add_body(n, mass=1.0, com=(x / 2, 0, 0), inertia=da.rod_inertia(1.0, x))
        for n, x in zip("abd", (0.2, 0.6, 0.4))
    )
    stribeck = da.Friction(0.1, static=0.2, stribeck=0.3)
    m.add_joint("A", da.Revolute("z"), m.ground, a, friction=stribeck, limits=(0.6, 2.63), stops=da.Stops())
    m.add_joint("B", da.Revolute("z"), a.at(0.2, 0, 0), b, friction=0.1, damping=0.01)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55, 0, 0), d, friction=0.1)
    m.close_loop("C", da.Revolute("z"), b.at(0.6, 0, 0), d.at(0.4, 0, 0))
    m.add_motor("push", "A")
    system = m.compile()
    return system, system.assemble({"A": 1.2}, v={"A": 6.0}), 1.5


def roped():
    """A stone on a moving hook, with a rope that becomes taut, parameters and a force that depends on the time."""
    m = da.Mechanism("roped", gravity=(0, 0, -9.81))
    mass = m.add_parameter("mass", 2.0)
    hook = m.add_body("hook", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, hook, friction=1.0)
    stone = m.add_body("stone", mass=mass, inertia=da.sphere_inertia(2.0, 0.1))
    m.add_joint("f", da.Free(), m.ground, stone)
    m.add_rope("rope", [hook, stone], length=1.0, restitution=0.3)
    m.add_contact("floor", stone, on=m.ground.at(0, 0, -1.05), radius=0.1, friction=0.5)
    m.add_joint_force("wind", "x", lambda s: 3.0 * np.pi * s.t)
    system = m.compile()
    return system, system.state(np.r_[0, 1, 0, 0, 0, 0.3, 0, -0.5], np.r_[0, 0, 0, 0, 1.0, 0, 0]), 1.0


@pytest.mark.parametrize("make", [box, linkage, roped])
def test_equations_and_guards_are_those_traced_for_the_mode_alone(make):
    system, state, end = make()
    run = da.simulate(system, state, end)
    assert run.success, run.summary()
    seen = set()
    for phase in run.phases:
        mode = phase.system.mode
        if mode in seen or len(seen) > 6 or len(phase.t) < 3:
            continue
        seen.add(mode)
        agree(phase)
    assert len(seen) > 1


def agree(phase):
    """Both routes at states of a phase."""
    system, p = phase.system, phase.p
    rows = independent_rows(system, phase.state(1), p) if system.rows.of else None
    data = ModeData(system, p, system.numbers_in(p))
    field, guards = (f(data.rows(rows)) for f in (mode_field, mode_guards))
    ode = Bound.of(system.kernel("ode", rows=rows), {"p": p})
    traced = Bound.of(
        system.kernels.custom(("phase_events",), ARGUMENTS, lambda s: guard_values(system, s), rows=rows), {"p": p}
    )
    n = system.nq + system.nv + len(system.work_names)
    for k in range(1, len(phase.t) - 1):
        x, t = np.r_[phase.q[k], phase.v[k]], float(phase.t[k])
        for f in (field, guards, ode, traced):
            if "u" in f.slices:
                f["u"][:] = phase.u[k]
        ours, theirs = field.at(t, x)[:n], ode.at(t, x)[:n]
        assert np.abs(ours - theirs).max() <= 1e-9 * (1.0 + np.abs(theirs).max()), (system.mode, ours, theirs)
        ours, theirs = guards.at(t, x)[: len(system.watched)], traced.at(t, x)[: len(system.watched)]
        assert np.abs(ours - theirs).max(initial=0.0) <= 1e-8 * (1.0 + np.abs(theirs).max(initial=0.0)), system.watched


def test_nothing_is_traced_when_the_mode_changes(monkeypatch):
    def refused(self, *args, **more):
        raise AssertionError(f"{args} is traced for {self.system.mode}")

    system, state, end = box(0.0)
    state = system.state(np.r_[0.9, 0.3, 0.2, 0.1, 0, 0, 0.3] / np.r_[[0.95**0.5] * 4, 1, 1, 1], state.v)
    monkeypatch.setattr(KernelsOfPhase, "_traced", refused)
    monkeypatch.setattr(KernelsOfPhase, "custom", refused)
    run = da.simulate(system, state, end)
    assert run.success, run.summary()
    assert len({phase.system.mode for phase in run.phases}) > 3
