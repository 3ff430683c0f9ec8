"""Finding the manifold, staying on it, and saying what it is like."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.branch.rows import Factored, times
from dalembert.rank import rank_policy
from random_loops import parallelogram, random_closed


def four_bar(lengths=(0.2, 0.6, 0.4, 0.55)) -> da.System:
    crank, coupler, rocker, ground = lengths
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    bodies = {
        name: m.add_body(name, mass=1.0, com=(l / 2, 0, 0), inertia=da.rod_inertia(1.0, l))
        for name, l in (("crank", crank), ("coupler", coupler), ("rocker", rocker))
    }
    m.add_joint("A", da.Revolute("z"), m.ground, bodies["crank"])
    m.add_joint("B", da.Revolute("z"), bodies["crank"].at(crank, 0, 0), bodies["coupler"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(ground, 0, 0), bodies["rocker"])
    m.close_loop("C", da.Revolute("z"), bodies["coupler"].at(coupler, 0, 0), bodies["rocker"].at(rocker, 0, 0))
    return m.compile(backend="casadi")


def freudenstein(a, b, c, d, crank):
    """Rocker angles of a four-bar (crank a, coupler b, rocker c, ground d) from the law of cosines."""
    P = np.array([a * np.cos(crank) - d, a * np.sin(crank)])
    l = np.linalg.norm(P)
    base, open_ = np.arctan2(P[1], P[0]), np.arccos((c**2 + l**2 - b**2) / (2 * c * l))
    return sorted((np.array([base - open_, base + open_]) + np.pi) % (2 * np.pi) - np.pi)


@pytest.mark.parametrize("crank", [-2.5, -0.7, 0.1, 0.6, 1.9, 3.0])
def test_both_branches_of_a_four_bar_are_found_where_the_law_of_cosines_has_them(crank):
    found = four_bar().assemble({"A": crank}, branches=2)
    angles = sorted((x["D"] + np.pi) % (2 * np.pi) - np.pi for x in found)
    np.testing.assert_allclose(angles, freudenstein(0.2, 0.6, 0.4, 0.55, crank), atol=1e-10)
    assert all(x["A"] == crank for x in found)


def test_velocities_follow_the_held_one():
    system = four_bar()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    h = 1e-6
    ahead, behind = (system.assemble({"A": 0.6 + s * h}, guess=x) for s in (1, -1))
    np.testing.assert_allclose(x.v, 2.0 * (ahead.q - behind.q) / (2 * h), atol=1e-8)
    assert x.evidence.residual < 1e-11
    assert x.evidence.speed_residual < 1e-12
    assert x.evidence.rank == 2


def test_a_mechanism_that_cannot_close_names_the_loop_and_the_gap():
    """Lengths 0.2 + 0.1 + 0.1 cannot bridge 0.55: the gap is 0.15 m."""
    with pytest.raises(da.AssemblyError, match=r"'C' is open by 0\.15\d* m") as caught:
        four_bar((0.2, 0.1, 0.1, 0.55)).assemble()
    assert "row 'C.x'" in str(caught.value)


def test_held_coordinates_that_contradict_the_loop_are_named():
    with pytest.raises(da.AssemblyError, match=r"with A = 0\.6, D = 0\.0 held"):
        four_bar().assemble({"A": 0.6, "D": 0.0})


def test_velocities_that_contradict_the_loop_are_named():
    with pytest.raises(da.AssemblyError, match="no velocity satisfies"):
        four_bar().assemble({"A": 0.6}, v={"A": 1.0, "D": 5.0})


def test_a_mirror_branch_is_not_taken_for_a_closure():
    """A welded end turned by half a turn also makes every cosine vanish; it must not count as closed."""
    m = da.Mechanism("weld", gravity=(0, 0, 0))
    b = m.add_body("b", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("ball", da.Spherical(), m.ground, b)
    m.close_loop("weld", da.Fixed(), m.ground, b)
    x = m.compile(backend="casadi").assemble(guess={"ball": da.rotation("x", 3.0)})
    np.testing.assert_allclose(np.abs(x["ball"]), [1, 0, 0, 0], atol=1e-9)


@pytest.mark.parametrize("rods", [1, 3, 6])
def test_a_guess_that_makes_a_rod_zero_long_is_left_for_other_starts(rods):
    """The direction of such a rod, and its row, are not defined; those of other starts are."""
    m = da.Mechanism("platform on rods")
    body = m.add_body("body", 1.0, inertia=(1, 1, 1))
    m.add_joint("free", da.Free(), m.ground, body)
    for k in range(rods):
        at = np.cos(k), np.sin(k), 0.0
        m.add_rod(f"rod {k}", m.ground.at(*at), body.at(*at), length=1.0)
    system = m.compile(backend="casadi")
    x = system.assemble()
    assert np.abs(system.residuals(x)).max() < 1e-11
    assert x.evidence.attempts > 1
    with pytest.raises(da.AssemblyError, match="not defined at this configuration"):
        system.assemble({"free": system.state()["free"]})


@pytest.mark.parametrize("seed", range(6))
def test_projection_reaches_the_manifold_by_the_shortest_way(seed):
    """From a state nearby: Φ = 0 and A v + b = 0 after, the change of velocity orthogonal to what is allowed."""
    system, x = random_closed(seed)
    rng = np.random.default_rng(seed)
    off = system.state(system.plus(x, 1e-3 * rng.normal(size=system.nv)), x.v + 0.1 * rng.normal(size=system.nv))
    y = system.project(off)
    assert np.abs(system.residuals(y)).max() < 1e-11
    assert np.abs(system.speed_residuals(y)).max() < 1e-9
    A, M = system.constraint_matrix(y), system.mass_matrix(y)
    K = np.linalg.svd(A)[2][y.evidence.rank :].T
    np.testing.assert_allclose(K.T @ M @ (y.v - off.v), 0, atol=1e-9 * np.abs(M).max())


def test_a_flat_parallelogram_is_singular_and_says_so():
    r = (system := parallelogram()).report(system.state())
    assert (r.mobility, r.generic_mobility, r.rank, r.generic_rank) == (2, 1, 1, 2)
    assert r.singular
    assert "a singular configuration" in str(r)
    leaning = system.report(system.assemble({"A": 0.3}))
    assert not leaning.singular
    assert leaning.to_singularity[0] == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_a_stretched_four_bar_is_isolated(scale):
    """0.5 + 0.6 + 0.7 = 1.8: two velocities to first order, and no motion."""
    system = da.zoo.four_bar(ground=1.8 * scale, crank=0.5 * scale, coupler=0.6 * scale, rocker=0.7 * scale).compile()
    r = system.report(system.state({"A": 0.0, "B": 0.0, "D": np.pi}))
    assert (r.mobility, r.generic_mobility, r.isolated, r.singular, r.closed) == (2, 0, True, True, True)
    assert "no motion leads away" in str(r)
    with pytest.raises(da.ArgumentError, match="isolated configuration"):
        da.linearize(system, system.state({"A": 0.0, "B": 0.0, "D": np.pi}))
    beside = system.report(system.state({"A": 0.1}))
    assert not beside.isolated
    assert not beside.closed


def locomotive(wheels):
    """Equal cranks on one coupling rod: mobility 1 everywhere, redundant from the third on."""
    m = da.Mechanism("locomotive", gravity=(0, -9.81, 0))
    driven = []
    for k in range(wheels):
        driven.append(m.add_body(f"w{k}", mass=1.0, inertia=np.full(3, 0.1)))
        m.add_joint(f"w{k}", da.Revolute("z"), m.ground.at(k * 1.0, 0, 0), driven[-1])
    rod = m.add_body("rod", mass=2.0, com=(1, 0, 0), inertia=da.rod_inertia(2.0, 2.0))
    m.add_joint("rod", da.Revolute("z"), driven[0].at(0.3), rod)
    for k in range(1, wheels):
        m.close_loop(f"pin{k}", da.Revolute("z"), rod.at(k * 1.0), driven[k].at(0.3))
    return m.compile()


@pytest.mark.parametrize("wheels", [2, 3, 4])
def test_an_overconstrained_locomotive_has_one_freedom_beside_its_dead_centre(wheels):
    system = locomotive(wheels)
    for angle, here in ((0.0, 2), (np.pi, 2), (0.7, 1), (0.01, 1)):
        q = {f"w{k}": angle for k in range(wheels)} | {"rod": -angle}
        r = system.report(system.state(q))
        assert (r.mobility, r.generic_mobility, r.isolated) == (here, 1, False)
    if wheels > 2:  # the pins of others keep the cranks in step: one direction only
        with pytest.raises(da.AssemblyError, match=r"go along \(w0: 1, w1: 1"):
            system.assemble({"w0": 0.0}, v={"w0": 1.0, "w1": -1.0}, guess={})


def test_a_flat_sheet_of_miura_ori_has_one_freedom_beside_it():
    """3 x 3 plates on hinges: four velocities in the flat sheet, one in every folded one."""
    m, n = da.Mechanism("Miura-ori"), 3

    def corner(i, j):
        return np.array([i + 0.4 * (j % 2), 1.0 * j, 0.0])

    plates = {}
    for i, j in np.ndindex(n, n):
        com = sum(corner(i + a, j + b) for a in (0, 1) for b in (0, 1)) / 4
        plates[i, j] = m.ground if i == j == 0 else m.add_body(f"p{i}{j}", mass=1.0, com=com, inertia=(0.1, 0.1, 0.2))
    for i, j in np.ndindex(n, n):
        for (di, dj), begin, cut in (((1, 0), (i + 1, j), j > 0), ((0, 1), (i, j + 1), False)):
            if (i + di, j + dj) not in plates:
                continue
            p = corner(*begin)
            d = corner(i + 1, j + 1) - p
            d /= np.linalg.norm(d)
            R = np.column_stack([(0, 0, 1), np.cross(d, (0, 0, 1)), d])
            hinge = (plates[k].at(*p, rotation=R) for k in ((i, j), (i + di, j + dj)))
            (m.close_loop if cut else m.add_joint)(f"h{i}{j}{di}", da.Revolute("z"), *hinge)
    system = m.compile()
    r = system.report(system.state())
    assert (r.mobility, r.generic_mobility) == (4, 1)


def test_the_print_of_a_large_report_stays_short():
    """Hundreds of rows: the first of a kind and how many there are; all of them are in the fields."""
    system = da.zoo.ladder(30).compile()
    r = system.report(system.state(*da.zoo.ladder_start(30)))
    assert r.rows > 50
    assert len(str(r)) < 3000
    many = locomotive(20)
    r = many.report(many.state())
    assert len(r.redundant) > 15
    assert len(str(r)) < 3000
    assert f"({len(r.redundant)} rows in all" in str(r)


def test_a_singular_value_that_never_changes_is_no_distance():
    """A particle on a circle: σ is 1 all the way round, and its gradient exactly zero at some places."""
    system = da.zoo.particle_on_circle().compile()
    r = system.report(system.state(*da.zoo.CATALOG["particle_on_circle"].start()))
    assert r.to_singularity is None
    assert "stationary" in str(r)


def test_permanent_redundancy_is_named_with_its_dependency():
    """A second ball joint at the closure repeats its rows: C2.x = C.x cos 30° + … in its turned axes."""
    m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(1.2, 0, 0), b)
    m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
    m.close_loop("C2", da.Spherical(), a.at(1, 0, 0, rotation=da.rotation("z", np.pi / 6)), b.at(1, 0, 0))
    system = m.compile(backend="casadi")
    r = system.report(system.assemble(guess={"A": 0.9, "B": 2.0}))
    assert not r.singular
    assert r.mobility == 0
    assert set(r.trivial) == {"C.z", "C.rx", "C.ry", "C2.z"}
    assert r.redundant["C2.x"] == pytest.approx({"C.x": np.cos(np.pi / 6), "C.y": np.sin(np.pi / 6)}, rel=1e-9)
    assert r.redundant["C2.y"] == pytest.approx({"C.x": -np.sin(np.pi / 6), "C.y": np.cos(np.pi / 6)}, rel=1e-9)
    assert not any(r.determinate.values())
    assert "C2.x = 0.866 C.x + 0.5 C.y" in str(r)
    assert "<table>" in r._repr_html_()


def test_a_row_that_can_never_hold_is_refused():
    m = da.Mechanism("skew", gravity=(0, -9.81, 0))
    a = m.add_body("a", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0.1), m.ground.at(0, 1, 0))
    with pytest.raises(da.DescriptionError, match=r"loop 'C' can never hold: its row 'z' is -0\.1 m"):
        m.compile(backend="casadi").rows  # noqa: B018


def test_the_angle_of_a_cut_joint_is_that_of_the_bodies():
    system = four_bar()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    q, v = system.evaluate("cut_joint", x, frame="C")
    assert q[0] == pytest.approx(x["D"] - x["A"] - x["B"], abs=1e-12)
    assert v[0] == pytest.approx(x.rate("D") - x.rate("A") - x.rate("B"), abs=1e-12)


def test_quarter_turns_leave_no_rounding_behind():
    """A planar loop in a plane turned by 90° (cos 90° is 6e-17 in floating point) still loses its trivial rows."""
    turn = Rotation.from_euler("xz", [90, 90], degrees=True)
    m = da.Mechanism("triangle", gravity=(0, 0, -9.81))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground.at(0, 0, 0, rotation=turn), a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(*turn.apply([1, 0, 0]), rotation=turn), b)
    m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
    assert m.compile(backend="casadi").rows.trivial == ("C.z", "C.rx", "C.ry")


@pytest.mark.parametrize("seed", range(12))
def test_no_angle_is_wound_up_on_the_way_from_a_bad_guess(seed):
    """Newton's steps are long where rows nearly depend on each other; without a bound angles end several turns away."""
    system, _ = random_closed(seed, bodies=5, loops=1)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        guess = system.state(system.plus(system.state(), 1.5 * rng.normal(size=system.nv)))
        x = system.assemble(guess=guess)
        assert np.abs(system.residuals(x)).max() < 1e-9
        angular = np.concatenate([a.joint.angular for a in system.layout.joints.values()]).astype(bool)
        assert np.abs(system.minus(x, guess)[angular]).max() < 2 * np.pi


@pytest.mark.parametrize(("crank", "rocker"), [(0.6, 0.0), (-1.0, 0.3), (2.0, -0.2)])
def test_the_gap_of_a_loop_is_measured_with_the_held_coordinates_where_they_are_held(crank, rocker):
    """Crank and rocker held: the coupler, 0.6 m, misses the distance of its two pins."""
    pins = [0.2 * np.exp(1j * crank), 0.55 + 0.4 * np.exp(1j * rocker)]
    gap = abs(abs(pins[1] - pins[0]) - 0.6)
    with pytest.raises(da.AssemblyError, match=f"held: .* 'C' is open by {gap:.4g} m"):
        four_bar().assemble({"A": crank, "D": rocker})


def test_an_unreachable_point_is_not_called_a_mirror_branch():
    """Two links of 1 m on ball joints cannot bridge 3 m: the gap is 1 m, wherever the axis points."""
    m = da.Mechanism("arm", gravity=(0, 0, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.2)) for n in "ab")
    m.add_joint("A", da.Spherical(), m.ground, a)
    m.add_joint("B", da.Spherical(), a.at(1), b)
    m.close_loop("C", da.Revolute("z"), m.ground.at(3, 0, 0), b.at(1))
    with pytest.raises(da.AssemblyError, match=r"'C' is open by 1 m"):
        m.compile(backend="casadi").assemble(guess={"A": da.rotation("x", 3.0)})


def test_two_drivers_of_one_freedom_are_blamed_and_not_the_loop():
    def driven(**motions):
        m = four_bar().layout.mechanism.snapshot()
        for name, (coordinate, motion) in motions.items():
            m.add_driver(name, coordinate, motion)
        return m.compile(backend="casadi")

    one = driven(first=("A", lambda t: 0.6 + t), second=("A", lambda t: 0.9 + t))
    with pytest.raises(da.AssemblyError, match=r"driver 'first' and driver 'second' do not hold together") as caught:
        one.assemble()
    assert "'C'" not in str(caught.value)
    through = driven(first=("A", lambda t: 0.6 + t), second=("D", lambda t: 0.0 * t))
    with pytest.raises(da.AssemblyError, match=r"loop 'C'.*driver 'first'") as caught:
        through.assemble()
    assert "driver 'second'" in str(caught.value)
    rates = driven(first=("A", lambda t: 0.6 + t), second=("A", lambda t: 0.6 + 2 * t))
    with pytest.raises(da.AssemblyError, match=r"'first\.drive' and 'second\.drive' do not hold together"):
        rates.assemble()


def test_a_cut_joint_that_is_held_driven_or_motorized_is_named_as_such():
    system = four_bar()
    for kind in ("q", "v"):
        with pytest.raises(da.UnknownName, match="'C', but that joint closes a loop"):
            system.assemble(**{kind: {"C": 0.1}})
    m = system.layout.mechanism.snapshot()
    with pytest.raises(da.UnknownName, match="motor 'u' asks for joint 'C', but that joint closes a loop"):
        m.add_motor("u", "C")
    with pytest.raises(da.UnknownName, match="driver 'u' asks for coordinate 'C', but that joint closes a loop"):
        m.add_driver("u", "C", lambda t: t)


def test_asking_for_more_branches_than_there_are_ends():
    assert len(four_bar().assemble({"A": 0.6}, branches=50)) == 2


def test_trivial_rows_are_printed_once():
    system = four_bar()
    text = str(system.report(system.assemble({"A": 0.6})))
    assert text.count("C.rx") == 1
    assert "all determinate, except those of trivial rows" in text


def test_angles_come_out_within_half_a_turn_of_the_guess():
    """Newton's method winds up the links of a scissor lift; whole turns are taken out, except where a gear counts."""
    m = da.Mechanism("scissors", gravity=(0, -9.81, 0))
    below = None
    for k in range(3):
        a, b = (m.add_body(f"{n}{k}", mass=1.0, com=(1, 0, 0), inertia=da.rod_inertia(1.0, 2.0)) for n in "ab")
        if below is None:
            m.add_joint("A0", da.Revolute("z"), m.ground, a)
            shoe = m.add_body("shoe", mass=1.0)
            m.add_joint("slide", da.Prismatic("x"), m.ground, shoe)
            m.add_joint("B0", da.Revolute("z"), shoe, b)
        else:
            m.add_joint(f"A{k}", da.Revolute("z"), below[1].at(2.0), a)
            m.add_joint(f"B{k}", da.Revolute("z"), below[0].at(2.0), b)
        m.close_loop(f"mid{k}", da.Revolute("z"), a.at(1.0), b.at(1.0))
        below = a, b
    guess = {"B0": np.pi - 0.4, "slide": 2 * np.cos(0.4)}
    x = m.compile().assemble({"A0": 0.4}, guess=guess)
    far = [abs(x[n] - guess.get(n, 0.0)) for n in ("B0", "A1", "B1", "A2", "B2")]
    assert max(far) <= np.pi + 1e-9
    gear = da.Mechanism("gear")
    for name in ("pinion", "wheel"):
        gear.add_joint(name, da.Revolute("z"), gear.ground, gear.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)))
    gear.add_coupling("mesh", {"pinion": 1, "wheel": 3})
    assert gear.compile().assemble({"wheel": 5.0})["pinion"] == pytest.approx(-15.0)


def test_rows_that_depend_on_each_other_are_never_taken_for_regular():
    """Rank two in four rows: the inverse of their products may come out finite, and of no size. δ is that of pinv."""
    rng, n = np.random.default_rng(4), 4000
    J = rng.integers(-2, 3, (n, 4, 2)).astype(float) @ rng.normal(size=(n, 2, 5))
    c = times(J, rng.normal(size=(n, 5)))
    rows = Factored(J, np.broadcast_to(np.eye(5), (n, 5, 5)), np.ones((n, 4)), rank_policy(parallelogram(), None))
    assert not rows.regular.any()
    delta = rows.shortest(c)
    np.testing.assert_allclose(delta[::50], times(np.linalg.pinv(J[::50], rcond=1e-9), c[::50]), atol=1e-9)
    assert np.abs(times(J, delta) - c).max() < 1e-12
