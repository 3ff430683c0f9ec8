"""Arrows of joint forces along sweeps, and warnings of runs about limits that their stops keep."""

import numpy as np
import pytest

import dalembert as da
from dalembert import view, zoo
from dalembert.view.arrows import joint_arrows
from dalembert.view.poses import clock
from dalembert.view.scene import scene


@pytest.mark.parametrize("speed", [None, 10.0])
def test_a_sweep_is_drawn_with_the_forces_in_its_joints(speed, tmp_path):
    """At the positions of the sweep the arrows are as long as the reactions; at rest it has no times, but forces."""
    system = zoo.slider_crank().compile()
    sweep = system.sweep({"A": np.linspace(0.2, 3.0, 8)}, speed=speed)
    times = clock(sweep)
    found = joint_arrows(scene(system, sweep.q, (), sweep.p), sweep, times)
    for k, arrow in enumerate(found.arrows):
        wrench = sweep.reactions(arrow.name)
        own = wrench[:, 3:] if arrow.kind == "force" else wrench[:, :3]
        lengths = np.linalg.norm(found.vectors[:, k], axis=1)
        np.testing.assert_allclose(lengths, np.linalg.norm(own, axis=1), rtol=1e-9, atol=1e-12)
    assert {arrow.name for arrow in found.arrows} >= {"A", "B", "guide"}
    assert view.animate(sweep, tmp_path / "sweep.html", forces=True).stat().st_size > 10_000


def test_limits_that_stops_of_the_run_keep_are_not_said_to_stop_nothing():
    m = da.Mechanism("flap", gravity=(0, 0, -9.81))
    flap = m.add_body("flap", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("hinge", da.Revolute("y"), m.ground, flap, limits=(-1.0, 0.5))
    system = m.compile()
    soft = da.simulate(system, {"hinge": 0.0}, 0.6, stops=da.Stops(stiffness=300.0, damping=5.0))
    rigid = da.simulate(system, {"hinge": 0.0}, 0.6, stops="rigid")
    free = da.simulate(system, {"hinge": 0.0}, 0.6)
    assert soft["hinge"].max() > 0.5 + 1e-6  # a compliant stop gives way a little
    assert not soft.warnings
    assert not rigid.warnings
    assert any("stop nothing" in text for text in free.warnings)
