"""Messages and endings of runs whose structure changes."""

import numpy as np
import pytest

import dalembert as da


def ball(**options):
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0), limits=(-5, 5))
    m.add_contact("floor", "ball", **options)
    return m


def test_bad_descriptions_are_refused_by_name():
    m = ball()
    for call, text in (
        (lambda: m.add_contact("floor", "ball"), "'floor'"),
        (lambda: m.add_contact("z", "ball"), "'z'"),
        (lambda: m.add_contact("self", "ball", on="ball"), "with itself"),
        (lambda: m.add_contact("bad", "ball", restitution=1.5), "the restitution of contact 'bad' is 1.5"),
        (lambda: m.add_contact("bad", "ball", friction=0.5, static_friction=0.4), "static friction of contact 'bad'"),
        (lambda: m.add_rope("r", ["ball"], length=1.0), "at least two"),
        (lambda: m.add_rope("r", ["ground", "ball"], length=0.0), "length of rope 'r' is 0"),
        (lambda: da.Friction(2.0, static=1.0), "below coulomb"),
        (lambda: da.Stops(restitution=0.5, stiffness=3.0), "no restitution"),
        (lambda: da.Stops(damping=1.0), "needs a stiffness"),
        (lambda: da.Switch(open="C"), "a time"),
        (lambda: da.Switch(at=1.0), "opens and closes nothing"),
    ):
        with pytest.raises(da.DalembertError, match=text):
            call()
    body = m.add_body("b", mass=1.0)
    with pytest.raises(da.DescriptionError, match="nothing to stop at"):
        m.add_joint("j", da.Prismatic("x"), m.ground, body, stops="rigid")
    with pytest.raises(da.DescriptionError, match=r"'rigid', a da\.Stops"):
        m.add_joint("j", da.Prismatic("x"), m.ground, body, limits=(0, 1), stops="soft")


def test_bad_runs_are_refused_before_they_begin():
    system = ball().compile()
    for options, text in (
        ({"state": {"z": -0.5}}, "beyond 'floor' by 0.5 m"),
        ({"coordinates": ["z"]}, "all coordinates"),
        ({"method": "variational", "step": 0.01}, "one structure"),
        ({"switches": da.Switch(open="flor", at=0.1)}, "no constraint 'flor'|constraint 'flor'"),
        ({"switches": 3}, "a da.Switch"),
        ({"stops": "hard"}, "'rigid'"),
    ):
        with pytest.raises(da.DalembertError, match=text):
            da.simulate(system, options.pop("state", {"z": 1.0}), 1.0, **options)
    run = da.simulate(system, {"z": 1.0}, 1.0)
    with pytest.raises(da.ArgumentError, match="structure of the run changes"):
        da.sensitivities(run, of=["z"], wrt=["held:z"], method="adjoint")


def test_a_switch_that_misses_ends_the_run_and_says_by_how_much():
    system = da.zoo.four_bar().compile()
    x = system.assemble({"A": 0.9}, v={"A": 2.0})
    switches = [da.Switch(open="C", at=0.1), da.Switch(close="C", at=0.4)]
    run = da.simulate(system, x, 0.5, switches=switches)
    assert run.status is da.Status.NOT_CLOSED
    assert not run.success
    assert "misses by" in run.message
    assert run.t[-1] == 0.4


def test_limits_are_enforced_by_a_keyword_of_the_run():
    """Rigid and compliant stops for joints without stops of their own; without the keyword a warning tells."""
    m = da.Mechanism("slide", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0), limits=(0, 1))
    system = m.compile()
    x = system.state({"x": 0.5}, v={"x": 1.0})
    assert any("beyond its limit" in w for w in da.simulate(system, x, 1.0).warnings)
    rigid = da.simulate(system, x, 1.0, stops="rigid")
    assert rigid["x"][-1] == pytest.approx(1.0, abs=1e-12)
    assert "x upper stop was hit at t = 0.5 s" in rigid.summary()
    soft = da.simulate(system, x, 1.0 + np.pi / 20, stops=da.Stops(stiffness=400.0))
    assert soft(0.5 + np.pi / 40)["x"] == pytest.approx(1.05, abs=1e-7)  # v / ω beyond
    assert soft.rate("x")[-1] == pytest.approx(-1.0, abs=1e-6)
    assert soft.success
