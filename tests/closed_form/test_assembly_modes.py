"""All assembly modes of a mechanism, against closed forms, polynomials and symmetries."""

import itertools

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def platform_3rpr(base, corners, length=1.0):
    """A planar 3-RPR platform: legs from `base` (3, 2) to `corners` (3, 2) of the platform, coordinates P1, P2, P3."""
    m = da.Mechanism("3-RPR", gravity=(0, 0, 0))
    plate = m.add_body("plate", mass=1.0, inertia=(1.0, 1.0, 1.0))
    ends = []
    for k, a in enumerate(base, 1):
        tube, rod = (m.add_body(f"{n}{k}", mass=1.0, inertia=(0.1, 0.1, 0.1)) for n in ("tube", "rod"))
        m.add_joint(f"R{k}", da.Revolute("z"), m.ground.at(*(length * a), 0), tube)
        m.add_joint(f"P{k}", da.Prismatic("x"), tube, rod)
        ends.append(rod)
    m.add_joint("C1", da.Revolute("z"), ends[0], plate)
    for k in (1, 2):
        m.close_loop(f"C{k + 1}", da.Revolute("z"), plate.at(*(length * (corners[k] - corners[0])), 0), ends[k])
    return m.compile()


def angles_of_sextic(base, corners, rho):
    """The real angles of the plate: |x + R b_i − a_i|² = ρ_i², x eliminated, as a polynomial of degree six in e^{iφ}.

    Differences of the three equations are linear in x, so x = X(φ) / D(φ), and F = X·X − ρ₁² D² is a trigonometric
    polynomial; its coefficients come from a discrete Fourier transform, its roots on the unit circle are the angles.
    """
    a, b = base - base[0], corners - corners[0]
    n = 32

    def F(phi):
        R = np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])
        u = np.array([R @ b[i] - a[i] for i in (1, 2)])
        right = np.array([(rho[i] ** 2 - rho[0] ** 2 - u[i - 1] @ u[i - 1]) / 2 for i in (1, 2)])
        X = np.array([right[0] * u[1, 1] - right[1] * u[0, 1], u[0, 0] * right[1] - u[1, 0] * right[0]])
        return X @ X - rho[0] ** 2 * np.linalg.det(u) ** 2

    c = np.fft.fft([F(2 * np.pi * k / n) for k in range(n)]) / n
    order = np.concatenate([c[3::-1], c[:-4:-1]])  # z⁶ … z⁰ after multiplication with z³
    assert np.abs(c[4:-3]).max() < 1e-9 * np.abs(c).max()  # a sextic
    z = np.roots(order)
    return np.sort(np.angle(z[np.abs(np.abs(z) - 1) < 1e-6]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_a_planar_platform_has_as_many_modes_as_its_sextic_has_real_roots(seed, length):
    if length != 1.0 and seed > 1:
        pytest.skip("two in other units")
    rng = np.random.default_rng(seed)
    base = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]]) + rng.uniform(-0.2, 0.2, (3, 2))
    corners = np.array([[0.0, 0.0], [0.6, 0.0], [0.3, 0.4]]) + rng.uniform(-0.15, 0.15, (3, 2))
    at, turn = rng.uniform(0.2, 0.6, 2), rng.uniform(-3, 3)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    rho = np.array([np.linalg.norm(at + R @ (b - corners[0]) - a) for a, b in zip(base, corners)])
    exact = angles_of_sextic(base, corners, rho)
    system = platform_3rpr(base, corners, length)
    modes = system.assemble({f"P{k}": length * r for k, r in enumerate(rho, 1)}, branches="all")
    found = np.sort([np.angle(np.exp(1j * (x["R1"] + x["C1"]))) for x in modes])
    assert len(modes) == len(exact)
    assert modes.complete
    np.testing.assert_allclose(found, exact, atol=1e-7)


def test_six_modes_of_a_planar_platform_are_found():
    """A geometry whose sextic has six real roots, found by looking for one."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        base, corners, rho = rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (3, 2)), rng.uniform(0.8, 1.6, 3)
        exact = angles_of_sextic(base, corners, rho)
        if len(exact) == 6 and np.diff(exact).min() > 0.1:
            break
    modes = platform_3rpr(base, corners).assemble({f"P{k}": r for k, r in enumerate(rho, 1)}, branches="all")
    assert len(modes) == 6
    np.testing.assert_allclose(np.sort([np.angle(np.exp(1j * (x["R1"] + x["C1"]))) for x in modes]), exact, atol=1e-7)


def test_a_four_bar_has_two_modes_and_a_five_bar_with_both_cranks_held_two():
    four = zoo.four_bar().compile()
    modes = four.assemble({"A": 0.6}, branches="all")
    assert len(modes) == 2
    assert modes.complete
    assert modes.estimate == 2.0
    one = four.assemble({"A": 0.6})
    assert np.abs(modes[0].q - one.q).max() < 1e-10 or np.abs(modes[1].q - one.q).max() < 1e-10
    five = zoo.five_bar().compile()
    assert len(five.assemble({"A": 1.0, "B": 1.8}, branches="all")) == 2


def test_a_chain_of_dyads_has_two_modes_for_each():
    """Jansen's leg but for its foot: each pin is on two circles, so 2³ modes, which intersections of circles give."""
    lengths = {"crank": 0.15, "upper": 0.5, "lower": 0.619, "rocker": 0.415, "rod": 0.393, "link": 0.5, "last": 0.45}
    m = da.Mechanism("dyads")
    body = {n: m.add_body(n, mass=1.0, com=(x / 2, 0, 0), inertia=da.rod_inertia(1.0, x)) for n, x in lengths.items()}
    O, Z = np.array([0.38, 0.078]), np.zeros(2)
    m.add_joint("O", da.Revolute("z"), m.ground.at(*O, 0), body["crank"])
    m.add_joint("Z1", da.Revolute("z"), m.ground, body["rocker"])
    m.add_joint("Z2", da.Revolute("z"), m.ground, body["rod"])
    for n, start, end in (("upper", "crank", "rocker"), ("lower", "crank", "rod"), ("link", "rocker", None)):
        m.add_joint(f"{n}_in", da.Revolute("z"), body[start].at(lengths[start], 0, 0), body[n])
        if end:
            m.close_loop(f"{n}_out", da.Revolute("z"), body[n].at(lengths[n], 0, 0), body[end].at(lengths[end], 0, 0))
    m.add_joint("last_in", da.Revolute("z"), body["rod"].at(lengths["rod"], 0, 0), body["last"])
    m.close_loop("U", da.Revolute("z"), body["link"].at(lengths["link"], 0, 0), body["last"].at(lengths["last"], 0, 0))
    system, angle = m.compile(), 0.7
    modes = system.assemble({"O": angle}, branches="all")

    def meet(a, ra, b, rb, side):
        d = np.linalg.norm(b - a)
        s = (ra**2 - rb**2 + d**2) / (2 * d)
        h2 = ra**2 - s**2
        e = (b - a) / d
        return None if h2 < 0 else a + s * e + side * np.sqrt(h2) * np.array([-e[1], e[0]])

    X = O + lengths["crank"] * np.array([np.cos(angle), np.sin(angle)])
    exact = []
    for sides in itertools.product((1, -1), repeat=3):
        Y = meet(Z, lengths["rocker"], X, lengths["upper"], sides[0])
        W = meet(Z, lengths["rod"], X, lengths["lower"], sides[1])
        U = meet(Y, lengths["link"], W, lengths["last"], sides[2])
        if U is not None:
            exact.append([*Y, *W, *U])
    found = [
        np.concatenate([system.pose(x, body[n].at(lengths[n], 0, 0))[:2, 3] for n in ("rocker", "rod", "link")])
        for x in modes
    ]
    assert len(found) == len(exact) >= 6
    for pins in exact:
        assert min(np.abs(pins - f).max() for f in found) < 1e-9


def test_modes_of_a_platform_with_flat_base_and_plate_come_in_mirror_images():
    """Reflected in the plane of its base, a Gough platform of flat base and plate closes again: z → −z."""
    system = zoo.stewart().compile()
    x = system.assemble()
    legs = {f"P{k}": x[f"P{k}"] for k in range(1, 7)}
    modes = system.assemble(legs, guess=x, branches="all", attempts=512, limits=False)
    assert len(modes) >= 2
    places = np.array([system.pose(y, "platform")[:3, 3] for y in modes])
    for p, hits in zip(places, modes.hits):
        mirror = p * np.array([1.0, 1.0, -1.0])
        if hits >= 4:  # a mode that is met rarely may be missing in the mirror
            assert np.abs(places - mirror).max(axis=1).min() < 1e-6


def test_what_still_moves_has_no_list_of_modes():
    with pytest.raises(da.ArgumentError, match="still has 1 degree of freedom"):
        zoo.four_bar().compile().assemble(branches="all")


def test_modes_outside_the_limits_are_left_out_and_few_starts_admit_doubt():
    m = da.Mechanism("arm")
    a, b = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in "ab")
    m.add_joint("S", da.Revolute("z"), m.ground, a)
    m.add_joint("E", da.Revolute("z"), a.at(1, 0, 0), b, limits=(0.0, 3.0))
    m.add_frame("tool", b.at(0.7, 0, 0))
    system = m.compile()
    goal = {"tool": (1.0, 0.5, None)}
    assert len(system.assemble(frames=goal, branches="all")) == 1
    both = system.assemble(frames=goal, branches="all", limits=False)
    assert sorted(round(x["E"], 6) for x in both) == [round(s * np.arccos((1.25 - 1.49) / 1.4), 6) for s in (-1, 1)]
    few = zoo.four_bar().compile().assemble({"A": 0.6}, branches="all", attempts=1)
    assert few.starts == 64
    assert few.missed_share > 0.05
