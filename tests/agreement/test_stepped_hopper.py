"""A leg with a closed loop lands: time stepping against the run event by event, as its steps shrink."""

import numpy as np

import dalembert as da


def test_a_hopper_on_a_five_bar_leg_lands_as_it_does_event_by_event():
    """It falls by 5 cm on its foot, which sticks, and two servos that are not alike catch it: of the first order."""
    m = da.Mechanism("hopper", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=2.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, body)
    ends = []
    for side in "ab":
        upper = m.add_body(f"upper {side}", mass=0.1, com=(0, 0, -0.05), inertia=da.rod_inertia(0.1, 0.1, "z"))
        lower = m.add_body(f"lower {side}", mass=0.1, com=(0, 0, -0.1), inertia=da.rod_inertia(0.1, 0.2, "z"))
        m.add_joint(f"hip {side}", da.Revolute("-y"), body, upper, armature=1e-3)
        m.add_joint(f"knee {side}", da.Revolute("-y"), upper.at(0, 0, -0.1), lower)
        m.add_servo(side, f"hip {side}", stiffness=40.0, damping=1.0)
        ends.append(lower.at(0, 0, -0.2))
    m.close_loop("ankle", da.Revolute("-y"), *ends)
    m.add_contact("foot", ends[0], radius=0.02, friction=0.7)
    system = m.compile()
    start = system.assemble({"z": 0.29, "hip a": 1.2, "hip b": -1.08}, guess={"knee a": -1.6, "knee b": 1.6})
    u = {"a": 1.14, "b": -1.10}
    exact = da.simulate(system, start, 0.35, u=u)
    assert [s.kind for s in exact.switches] == ["hit", "rests"]
    runs = [da.simulate(system, start, 0.35, u=u, method="moreau", step=1e-3 / n) for n in (1, 4, 16)]
    errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in runs]
    assert errors[2] < 1e-5
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.3 * errors[1]
    assert max(np.abs(run.residuals).max() for run in runs) < 1e-13
