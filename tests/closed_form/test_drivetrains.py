"""Gears, planetary sets, differentials, belts, clutches: textbook ratios, torques and losses."""

import numpy as np
import pytest

import dalembert as da


def shafts(*names: str, inertia: float = 1.0, slides: tuple[str, ...] = ()) -> da.Mechanism:
    """Shafts about z on the ground, each with the moment of inertia 1 kg m²; slides have 1 kg."""
    m = da.Mechanism("shafts", gravity=(0, 0, 0))
    for k, name in enumerate(names):
        body = m.add_body(f"{name} body", mass=1.0, inertia=(inertia, inertia, inertia))
        joint = da.Prismatic("x") if name in slides else da.Revolute("z")
        m.add_joint(name, joint, m.ground.at(0, float(k), 0), body)
    return m


@pytest.mark.parametrize("inside", [False, True])
def test_a_gear_pair_turns_and_reduces_as_its_teeth_say(inside):
    """ω_a/ω_b = ∓z_b/z_a; with torque T on a and J on both, ω̇_a = T/(J + J/i²)."""
    m = shafts("a", "b")
    drive = m.add_motor("drive", "a")
    m.add_gear("mesh", "a", "b", teeth=(17, 51), inside=inside)
    system = m.compile()
    i = 3.0 if inside else -3.0
    x = system.assemble({"a": 0.3}, v={"a": 1.5})
    assert x.rate("b") == pytest.approx(1.5 / i, rel=1e-12)
    vdot = system.acceleration(x, u={"drive": 2.0}).vdot
    assert vdot == pytest.approx([2.0 / (1 + 1 / 9), 2.0 / (1 + 1 / 9) / i], rel=1e-12)
    assert drive.numel() == 1


def planetary(whole: bool) -> da.Mechanism:
    """Sun, ring and carrier, 20 and 60 teeth; whole: with two planets of 20 that sit on the carrier."""
    m = shafts("sun", "ring", "carrier")
    if not whole:
        m.add_planetary("set", "sun", "ring", "carrier", teeth=(20, 60))
        return m
    for k in range(2):
        planet = m.add_body(f"planet {k}", mass=0.2, inertia=(1e-4, 1e-4, 2e-4))
        m.add_joint(f"planet {k}", da.Revolute("z"), m.bodies["carrier body"].at((-1) ** k * 0.04, 0, 0), planet)
        m.add_gear(f"sun {k}", "sun", f"planet {k}", teeth=(20, 20), carrier="carrier")
        m.add_gear(f"ring {k}", f"planet {k}", "ring", teeth=(20, 60), inside=True, carrier="carrier")
    return m


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("held", "driving", "driven", "ratio"),
    [
        ("ring", "sun", "carrier", 1 + 60 / 20),  # Willis: (ω_s − ω_c)/(ω_r − ω_c) = −z_r/z_s
        ("carrier", "sun", "ring", -60 / 20),
        ("sun", "ring", "carrier", 1 + 20 / 60),
    ],
)
def test_a_planetary_set_turns_by_willis_with_and_without_its_planets(whole, held, driving, driven, ratio):
    m = planetary(whole)
    m.add_driver("held", held, 0.0)
    system = m.compile()
    x = system.assemble({driving: 0.2}, v={driving: 2.0})
    assert x.rate(driving) == pytest.approx(ratio * x.rate(driven), rel=1e-12)
    if whole:  # the planets turn as their teeth roll on the sun
        assert x.rate("planet 0") == pytest.approx(-(x.rate("sun") - x.rate("carrier")), rel=1e-12, abs=1e-12)


def test_torques_of_a_planetary_set_are_in_the_ratio_of_its_teeth():
    """T_s : T_r : T_c = z_s : z_r : −(z_s + z_r), by the multiplier of the set."""
    m = planetary(False)
    for n in ("sun", "ring", "carrier"):
        m.add_motor(f"on {n}", n)
    system = m.compile()
    x = system.assemble()
    load = {"on sun": 3.0, "on ring": 9.0, "on carrier": -12.0}
    assert system.acceleration(x, u=load).vdot == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_differential_shares_its_torque_and_lets_the_wheels_differ():
    m = shafts("case", "left", "right")
    m.add_motor("engine", "case")
    m.add_differential("diff", "case", "left", "right")
    system = m.compile()
    x = system.assemble(v={"left": 1.0, "right": 4.0})
    assert x.rate("case") == pytest.approx(2.5, rel=1e-12)
    a = system.acceleration(x, u={"engine": 6.0}).vdot
    assert a == pytest.approx([2.0, 2.0, 2.0], rel=1e-12)  # 6 N m on 3 kg m²: equal wheels take half each


def test_a_rack_moves_by_the_radius_of_its_pinion_and_a_worm_by_threads_over_teeth():
    m = shafts("pinion", "rack", "worm", "wheel", slides=("rack",))
    m.add_rack("rack and pinion", "pinion", "rack", radius=0.05, offset=0.01)
    m.add_gear("worm gear", "worm", "wheel", ratio=40 / 2)
    x = m.compile().assemble({"pinion": 0.4, "worm": 1.0}, v={"pinion": 2.0, "worm": 100.0})
    assert x["rack"] == pytest.approx(0.05 * 0.4 + 0.01, rel=1e-9)
    assert (x.rate("rack"), x.rate("wheel")) == pytest.approx((0.1, 5.0), rel=1e-12)


@pytest.mark.parametrize("drives", ["a", "b"])
def test_a_gear_with_losses_passes_its_efficiency_to_the_side_that_is_driven(drives):
    """Steady: a motor on one shaft against a damper on the other, which gets η T i, or η T/i."""
    eta, i, T = 0.8, 4.0, 5.0
    m = shafts("a", "b")
    other = "b" if drives == "a" else "a"
    m.add_motor("motor", drives)
    m.add_joint_force("load", other, lambda s: -2.0 * s.rate(other))
    m.add_gear("mesh", "a", "b", ratio=i, stiffness=2e3, damping=20.0, efficiency=eta)
    system = m.compile()
    run = da.simulate(system, system.state(), 400.0, u={"motor": T}, method="sdirk4", rtol=1e-8, atol=1e-9)
    assert run.success
    expected = eta * T * (i if drives == "a" else 1 / i) / 2.0
    assert run.rate(other)[-1] == pytest.approx(expected, rel=1e-5)


def test_what_a_gear_loses_is_the_lost_part_of_the_power_that_goes_through():
    """Q·v + V̇ = −d ė² share − (1 − η)|T v_a| tanh(|v_a|/creep) at ė = 0, whichever way, and never a gain."""
    eta = 0.9
    m = shafts("a", "b")
    m.add_gear("mesh", "a", "b", ratio=2.0, stiffness=100.0, efficiency=eta, creep=0.5)
    system = m.compile()
    for q, v in ((0.3, 1.0), (0.3, -1.0), (-0.2, 2.0), (-0.2, -0.1)):
        x = system.state({"a": q}, {"a": 2 * v, "b": v})
        through = 100.0 * q * 2 * v
        lost = system.applied_forces(x) @ x.v
        assert lost == pytest.approx(-(1 - eta) * abs(through) * np.tanh(abs(2 * v) / 0.5), rel=1e-12)


@pytest.mark.parametrize("crossed", [False, True])
def test_a_flat_belt_slips_at_the_ratio_of_euler_and_eytelwein(crossed):
    """T₁/T₂ = e^{μβ} of the smaller wrap, T₁ + T₂ = 2 F₀, on the wheel that is turned against one that is held."""
    ra, rb, distance, mu, F0 = 0.1, 0.25, 0.8, 0.35, 200.0
    m = shafts("a", "b")
    flat = {"friction": mu, "pretension": F0, "distance": distance, "crossed": crossed}
    m.add_belt("belt", "a", "b", radii=(ra, rb), **flat, creep=0.01)
    system = m.compile()
    Q = system.applied_forces(system.state(v={"a": 100.0}))
    T = -Q[0] / ra
    sides = np.arcsin(((rb + ra) if crossed else (rb - ra)) / distance)
    beta = np.pi + 2 * sides if crossed else np.pi - 2 * sides
    tight, slack = F0 + T / 2, F0 - T / 2
    assert tight / slack == pytest.approx(np.exp(mu * beta), rel=1e-12)
    assert Q[1] == pytest.approx(T * rb * (-1 if crossed else 1), rel=1e-12)


def test_a_chain_turns_wheels_by_their_radii_and_an_elastic_one_swings():
    """Rigid: ω_b = r_a/r_b ω_a; elastic: (r_a² + r_b²) k / J is the square of the frequency of equal wheels."""
    m = shafts("a", "b")
    m.add_belt("chain", "a", "b", radii=(0.1, 0.3))
    assert m.compile().assemble(v={"a": 3.0}).rate("b") == pytest.approx(1.0, rel=1e-12)
    m = shafts("a", "b")
    m.add_belt("belt", "a", "b", radii=(0.1, 0.3), stiffness=400.0)
    poles = da.linearize(m.compile(), m.compile().state()).eigenvalues
    assert max(poles.imag) == pytest.approx(np.sqrt(0.1 * 400.0), rel=1e-9)


def test_a_clutch_brings_two_shafts_to_their_common_speed_and_loses_half_the_energy():
    """Two equal shafts: ω/2 each, and ¼ J ω² lost; until then the torque is the clutch's capacity."""
    m = shafts("a", "b")
    m.add_clutch("clutch", "a", "b", capacity=2.0, creep=1e-3)
    system = m.compile()
    run = da.simulate(system, system.state(v={"a": 10.0}), 4.0, method="sdirk4")
    assert run.success
    assert (run.rate("a")[-1], run.rate("b")[-1]) == pytest.approx((5.0, 5.0), abs=1e-6)
    assert run.energy[-1] == pytest.approx(25.0, rel=1e-5)
    early = np.searchsorted(run.t, 1.0)
    assert run.rate("a")[early] == pytest.approx(10.0 - 2.0 * run.t[early], rel=1e-9)


def geared_up(capacity, **options) -> da.Mechanism:
    """A motor on one shaft, a clutch to another."""
    m = shafts("a", "b")
    m.add_motor("motor", "a")
    T = m.add_parameter("T", capacity) if options.pop("parameter", False) else capacity
    m.add_clutch("clutch", "a", "b", capacity=T, **options)
    return m


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("parameter", [False, True])
def test_a_clutch_locks_when_the_speeds_meet_and_holds_until_its_capacity(parameter, scale):
    """10 − 2 T t + k t²/2 = 0, per moment of inertia; then exactly together, until the shaft takes k t/2 = T."""
    T, k = 2.0, 0.1
    m = geared_up(T * scale, parameter=parameter)
    for name in "ab":
        m.replace(f"{name} body", inertia=(scale, scale, scale))
    system = m.compile()
    u = da.expression(lambda t, s: {"motor": scale * k * t})
    run = da.simulate(system, system.state(v={"a": 10.0}), 60.0, u=u, rtol=1e-9, atol=1e-11)
    locks = (2 * T - np.sqrt(4 * T**2 - 2 * k * 10.0)) / k
    assert [s.what for s in run.switches] == ["clutch sticks", "clutch slides"]
    assert [s.t for s in run.switches] == pytest.approx([locks, 2 * T / k], rel=1e-9)
    together = (run.t > locks + 1e-9) & (run.t < 2 * T / k - 1e-9)
    assert together.sum() > 3
    assert np.abs(run.rate("a") - run.rate("b"))[together].max() < 1e-12
    assert np.abs(run.power("clutch")[together]).max() == 0.0
    assert run.power("clutch")[0] == pytest.approx(-T * scale * 10.0, rel=1e-12)
    needed = run.multiplier("friction of clutch")[together] * (T * scale if parameter else 1.0)
    assert needed == pytest.approx(-scale * k * run.t[together] / 2, rel=1e-9)
    assert np.abs(run.energy_error).max() < 1e-7 * run.energy.max()
    if parameter:
        other = da.simulate(system, system.state(v={"a": 10.0}), 3.0, u=u, p={"T": 2 * T * scale})
        assert other.switches[0].t == pytest.approx((4 * T - np.sqrt(16 * T**2 - 2 * k * 10.0)) / k, rel=1e-9)


def test_a_clutch_grips_with_more_than_it_slips_with():
    m = geared_up(2.0, static=3.0)
    system = m.compile()
    run = da.simulate(system, system.state(), 100.0, u=da.expression(lambda t, s: {"motor": 0.1 * t}))
    assert [s.what for s in run.switches] == ["clutch slides"]
    assert run.switches[0].t == pytest.approx(60.0, rel=1e-9)
    assert run.rate("b")[-1] == pytest.approx(0.05 * 60.0**2 / 2 + 2.0 * 40.0, rel=1e-9)


def test_a_brake_holds_a_load_on_a_drum_exactly():
    """A load on a rack: the brake holds m g r for ever, and lets it go where g r m is more."""
    for mass, held in ((0.3, True), (0.5, False)):
        m = da.Mechanism("hoist", gravity=(0, 0, -10.0))
        m.add_joint("drum", da.Revolute("y"), m.ground, m.add_body("drum body", mass=1.0, inertia=(1e-2, 1e-2, 1e-2)))
        m.add_joint("load", da.Prismatic("z"), m.ground, m.add_body("load body", mass=mass))
        m.add_rack("rope", "drum", "load", radius=0.1)
        m.add_brake("brake", "drum", capacity=0.4)
        run = da.simulate(m.compile(), {}, 100.0 if held else 1.0)
        if held:
            assert np.abs(run["load"]).max() < 1e-12  # rounding, over 100 s
        else:
            assert run["load"][-1] == pytest.approx(-0.5 * 0.1 / (0.01 + 0.5 * 0.01) * 0.1, rel=1e-9)


def test_two_clutches_side_by_side_and_one_beside_a_gear_share_as_they_can():
    """What two hold together is their sum; a clutch beside a rigid gear has no slip and nothing to do."""
    m = shafts("a", "b")
    m.add_motor("motor", "a")
    m.add_clutch("one", "a", "b", capacity=1.0)
    m.add_clutch("other", "a", "b", capacity=2.0)
    system = m.compile()
    ramp = da.expression(lambda t, s: {"motor": t})
    run = da.simulate(system, system.state(), 10.0, u=ramp)
    assert run.switches[0].t == pytest.approx(6.0, rel=1e-9)  # where the shaft takes 3 N m
    assert run.rate("b")[-1] == pytest.approx(6.0**2 / 4 + 3.0 * 4.0, rel=1e-9)
    m = shafts("a", "b")
    m.add_motor("motor", "a")
    m.add_gear("gear", "a", "b", ratio=1.0)
    m.add_clutch("clutch", "a", "b", capacity=1.0)
    system = m.compile()
    run = da.simulate(system, system.state(), 10.0, u=ramp)
    assert run.success
    assert run.rate("b")[-1] == pytest.approx(10.0**2 / 4, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_flat_belt_sticks_until_euler_and_eytelwein_say(unit):
    """Shafts with J = unit², radii and distance in that unit: it slips where the ramp makes the belt take T_max."""
    ra, rb, distance, mu, F0 = 0.1 * unit, 0.25 * unit, 0.8 * unit, 0.35, 200.0
    m = shafts("a", "b", inertia=unit**2)
    m.add_motor("motor", "a")
    m.add_belt("belt", "a", "b", radii=(ra, rb), friction=mu, pretension=F0, distance=distance)
    system = m.compile()
    beta = np.pi - 2 * np.arcsin((rb - ra) / distance)
    T = 2 * F0 * (np.exp(mu * beta) - 1) / (np.exp(mu * beta) + 1)
    slips = T * (ra**2 + rb**2) / ra  # of equal shafts: J ω̇_a = M − r_a T, J ω̇_b = r_b T
    run = da.simulate(system, system.state(), 2.0, u=da.expression(lambda t, s: {"motor": slips * t}))
    assert [s.what for s in run.switches] == ["belt slides"]
    assert run.switches[0].t == pytest.approx(1.0, rel=1e-9)
    early = run.t < 1.0
    assert np.abs(ra * run.rate("a") - rb * run.rate("b"))[early].max() < 1e-12 * unit * np.abs(run.rate("a")).max()


def test_a_brake_stops_a_shaft_when_its_torque_says():
    m = shafts("a")
    m.add_brake("brake", "a", capacity=4.0, creep=1e-4)
    system = m.compile()
    run = da.simulate(system, system.state(v={"a": 8.0}), 3.0, method="sdirk4")
    assert run["a"][-1] == pytest.approx(8.0**2 / (2 * 4.0), rel=1e-4)  # ω²/2T
    assert abs(run.rate("a")[-1]) < 1e-8


def test_a_one_way_clutch_lets_a_wheel_run_ahead_and_is_driven_by_its_shaft():
    """A hub that coasts; a crank that falls behind is left, one that pushes takes it along."""
    m = shafts("crank", "hub")
    m.add_motor("legs", "crank")
    m.add_one_way_clutch("freewheel", "crank", "hub", damping=1e3)
    system = m.compile()
    coast = da.simulate(system, system.state(v={"hub": 5.0}), 1.0, u={"legs": -1.0})
    assert coast.rate("hub")[-1] == 5.0
    push = da.simulate(system, system.state(v={"hub": 1.0}), 4.0, u={"legs": 3.0}, method="sdirk4")
    assert push.success
    meet = 1.0 / 3.0  # s, when the crank has caught up; from there both have 3/2 rad/s²
    assert push.rate("hub")[-1] == pytest.approx(1.0 + 1.5 * (4.0 - meet), rel=1e-3)


def test_a_torsion_spring_with_play_swings_as_its_pieces_say():
    """Between two linear springs with play 2δ: half a period is π/ω plus 2δ/v."""
    k, play, v = 50.0, 0.1, 2.0
    m = shafts("a")
    m.add_torsion_spring("play", "a", stiffness=da.Curve([-1 - play, -play, play, 1 + play], [-k, 0, 0, k]))
    system = m.compile()
    period = 2 * (np.pi / np.sqrt(k) + 2 * play / v)
    run = da.simulate(system, system.state(v={"a": v}), period, rtol=1e-10, atol=1e-12)
    assert (run["a"][-1], run.rate("a")[-1]) == pytest.approx((0.0, v), abs=1e-8)
    assert np.abs(run.energy_error).max() < 1e-9
