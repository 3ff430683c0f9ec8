"""Classics of contact with closed forms, and random machines of stops, contacts, ropes and dry friction."""

import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize("masses", [(1.0, 1.0), (3.0, 0.2), (0.05, 8.0)])
@pytest.mark.parametrize("e", [0.3, 0.7])
def test_two_bodies_pressed_together_stop_bouncing_when_the_series_ends(masses, e):
    """Forces ±F on two free bodies, apart by d: bounces end at √(2d/a) (1 + e)/(1 − e), a = F (1/m₁ + 1/m₂).

    Afterwards they move as one, with the momentum they had.
    """
    force, apart, drift = 4.0, 0.3, 0.25
    m = da.Mechanism("pair", gravity=(0, 0, 0))
    for name, mass in zip("ab", masses):
        m.add_joint(name, da.Prismatic("z"), m.ground, m.add_body(name, mass=mass))
        m.add_motor(f"push {name}", name)
    m.add_contact("touch", "b", on=m.bodies["a"], restitution=e)
    system = m.compile()
    end = np.sqrt(2 * apart / (force * sum(1 / w for w in masses))) * (1 + e) / (1 - e)
    x = system.state({"b": apart}, v={"a": drift, "b": drift})
    run = da.simulate(system, x, 1.5 * end, u={"push a": force, "push b": -force})
    assert run.success
    rest = [s.t for s in run.switches if s.kind == "rests"]
    assert rest == [pytest.approx(end, rel=3e-5)]  # the last bounces are too low to follow
    assert run.v[-1] == pytest.approx([drift, drift], abs=1e-9)
    assert run["b"][-1] - run["a"][-1] == pytest.approx(0.0, abs=1e-9)
    assert run.multiplier("touch.gap")[-1] == pytest.approx(force, rel=1e-9)
    assert abs(run.energy_error).max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_a_table_on_four_legs_stands_and_tips_beyond_them(seed):
    """Four legs for three equations: forces that push and balance the weight, whatever its place above the legs."""
    rng = np.random.default_rng(seed)
    a, b, mass = *rng.uniform(0.3, 1.0, 2), rng.uniform(1.0, 40.0)
    x, y = rng.uniform(-0.45, 0.45, 2) * (a, b)
    legs = [(i * a, j * b) for i in (-1, 1) for j in (-1, 1)]

    def table(at):
        m = da.Mechanism("table", gravity=(0, 0, -9.81))
        top = m.add_body("top", mass=mass, com=(*at, 0.3), inertia=np.full(3, 0.1 * mass))
        m.add_joint("top", da.Free(), m.ground, top)
        for k, leg in enumerate(legs):
            m.add_contact(f"leg{k}", top.at(*leg, 0.0), friction=0.5)
        return m.compile()

    run = da.simulate(table((x, y)), {}, 0.3)
    found = np.array([run.multiplier(f"leg{k}.gap")[-1] for k in range(4)])
    assert run.success
    assert found.min() >= 0.0
    np.testing.assert_allclose(
        found @ np.column_stack([np.ones(4), legs]), mass * 9.81 * np.array([1, x, y]), rtol=1e-8
    )
    assert np.abs(run.v[-1]).max() < 1e-10
    tipped = da.simulate(table((1.1 * a, 0.0)), {}, 0.1)
    assert tipped.position("top")[-1, 2] != 0.0
    assert np.abs(tipped.v[-1]).max() > 1e-2


def machine(rng):
    """A chain of two or three links in the x-z plane with stops, a rope, dry joints and rough tips above a floor."""
    m = da.Mechanism("machine", gravity=(0, 0, -9.81))
    at, links = m.ground.at(0, 0, rng.uniform(0.6, 1.2)), int(rng.integers(2, 4))
    for k in range(links):
        length, mass = rng.uniform(0.3, 0.6), rng.uniform(0.2, 2.0)
        body = m.add_body(f"l{k}", mass=mass, com=(0, 0, -length / 2), inertia=da.rod_inertia(mass, length, "z"))
        stops = da.Stops(restitution=rng.uniform(0.0, 0.8))
        m.add_joint(f"j{k}", da.Revolute("y"), at, body, friction=rng.choice([0.0, 0.3]),
                    **({"limits": (-1.2, 1.2), "stops": stops} if k else {}))  # fmt: skip
        at = body.at(0, 0, -length)
    m.add_contact("tip", at, friction=rng.uniform(0.1, 0.8), restitution=rng.uniform(0.0, 0.8))
    m.add_rope("rope", [m.ground.at(0, 0, 1.5), at], length=rng.uniform(1.3, 2.0), restitution=rng.uniform(0.0, 0.5))
    return m.compile(), at, links


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 6, 8, 9])
def test_random_machines_make_no_energy_and_nothing_sinks_in(seed):
    """Energy falls, but for the tolerance; gaps stay open, and forces act one way, where something touches."""
    rng = np.random.default_rng([seed, 16])
    system, tip, links = machine(rng)
    for _ in range(400):
        x = system.state(rng.uniform(-1.0, 1.0, links), v=rng.normal(size=links))
        away = x.position(tip) - [0, 0, 1.5]
        if x.position(tip)[2] > 0.02 and np.linalg.norm(away) < 1.25:
            break
    else:
        pytest.fail("no start above the floor within the rope: take another seed")
    run = da.simulate(system, x, 2.0, max_steps=40000)
    assert run.status.name == "DONE", run.message
    assert np.diff(run.energy).max() < 1e-7
    assert np.abs(run.energy_error).max() < 1e-6
    assert all(s.lost > -1e-10 for s in run.switches)
    assert run.position(tip)[:, 2].min() > -1e-7
    assert min(run[f"j{k}"].min() for k in range(1, links)) > -1.2 - 1e-7
    gap, slack = run.multiplier("tip.gap"), run.multiplier("rope")
    assert gap.min() > -1e-7
    assert np.all(np.asarray(slack) > -1e-7)
    assert np.all(gap[run.position(tip)[:, 2] > 1e-6] == 0.0)  # complementarity


def test_an_impact_in_a_singular_position_does_not_determine_the_motion():
    """A parallelogram whose stop is where its bars are in line: crank and rocker may leave it alike, or oppositely."""
    m = da.Mechanism("parallelogram", gravity=(1.5, -4.0, 0))
    bars = {n: m.add_body(n, mass=k, com=(0.4 * l, 0, 0), inertia=(0.1 * k,) * 3)
            for n, l, k in (("a", 0.8, 1.0), ("c", 1.1, 1.5), ("b", 0.8, 2.0))}  # fmt: skip
    m.add_joint("A", da.Revolute("z"), m.ground, bars["a"], limits=(0.0, 3.0), stops=da.Stops(restitution=0.7))
    m.add_joint("B", da.Revolute("z"), bars["a"].at(0.8), bars["c"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.1), bars["b"])
    m.close_loop("C", da.Revolute("z"), bars["c"].at(1.1), bars["b"].at(0.8))
    system = m.compile()
    x = system.state({"A": 0.4, "B": -0.4, "D": 0.4}, {"A": -2.0, "B": 2.0, "D": -2.0})
    run = da.simulate(system, x, 0.5)
    (hit,) = [s for s in run.switches if s.kind == "hit"]
    assert [p.determined for p in run.passages if p.start == hit.t] == [False]
    assert any("more than one way" in w for w in run.warnings)


@pytest.mark.parametrize("slender", [0.25, 0.35, 0.6])
@pytest.mark.parametrize("restitution", [0.0, 0.2])
def test_a_block_rocks_from_corner_to_corner_until_it_stands(slender, restitution):
    """Housner: at each hit the speed falls by r = 1 − 3/2 sin²α, so energy by r²; infinitely many hits in finite time.

    The hit corner does not bounce, whatever its restitution, if the other one has to leave the ground first: with e > 0
    hits lose less, and the block comes to rest all the same.
    """
    R, mass, tilt = 0.5, 3.0, 0.4 * slender
    a, b = R * np.sin(slender), R * np.cos(slender)
    m = da.Mechanism("block", gravity=(0, 0, -9.81))
    block = m.add_body("block", mass=mass, inertia=np.full(3, mass * R**2 / 3.0))
    x, z = m.add_body("x"), m.add_body("z")
    m.add_joint("x", da.Prismatic("x"), m.ground, x)
    m.add_joint("z", da.Prismatic("z"), x, z)
    m.add_joint("turn", da.Revolute("y"), z, block)
    for side, x in (("left", -a), ("right", a)):
        m.add_contact(side, block.at(x, 0, -b), friction=5.0, restitution=restitution)
    system = m.compile()
    run = da.simulate(system, {"z": a * np.sin(tilt) + b * np.cos(tilt), "turn": tilt}, 12.0)
    assert run.success, run.summary()
    assert any(s.kind == "unloaded" for s in run.switches)
    assert "stopped bearing" in run.summary()
    position = run.position("block")[-1]
    assert position[2] == pytest.approx(b, abs=1e-9)  # it stands, and has not sunk in
    assert np.abs(run.v[-1]).max() < 1e-9
    hits = [h for h in run.switches if h.kind == "hit" and h.lost > 1e-8]
    first = mass * 9.81 * R * (np.cos(slender - tilt) - np.cos(slender))  # J, before the first hit
    r = 1.0 - 1.5 * np.sin(slender) ** 2
    if restitution == 0.0:
        expected = first * (1 - r**2) * r ** (2.0 * np.arange(len(hits)))
        np.testing.assert_allclose([h.lost for h in hits], expected, rtol=1e-6)
    assert sum(h.lost for h in run.switches) == pytest.approx(first, rel=1e-6)
