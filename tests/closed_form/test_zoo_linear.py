"""Published linearizations, by central differences of the accelerations."""

import numpy as np
import pytest

from dalembert import zoo
from dalembert.zoo import exact


def partials(system, x, u=None, h=1e-5):
    """∂v̇/∂q and ∂v̇/∂v, (nv, nv) each, all velocities and tangent directions varied as if they were free."""
    u = np.zeros(len(system.u_names)) if u is None else np.asarray(u, dtype=float)

    def slope(move):
        a, b, c, d = (system.acceleration(move(k * h), u=u).vdot for k in (2, 1, -1, -2))
        return (8 * (b - c) - (a - d)) / (12 * h)

    q = [slope(lambda s, e=e: x.replace(q=system.plus(x, s * e))) for e in np.eye(system.nv)]
    v = [slope(lambda s, e=e: x.replace(v=x.v + s * e)) for e in np.eye(system.nv)]
    return np.column_stack(q), np.column_stack(v)


def by_input(system, x):
    """∂v̇/∂u, exact: v̇ is linear in u."""
    zero = system.acceleration(x).vdot
    return np.column_stack([system.acceleration(x, u=u).vdot - zero for u in np.eye(len(system.u_names))])


def eigenvalues(system, x):
    Aq, Av = partials(system, x)
    n = system.nv
    return np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [Aq, Av]]))


# --- constrained double pendulum, Johnson and Murphey section IV ----------------------------------------------------

EXACT = {
    2.0: ([[-1.7396999216, 6.2146569651], [5.6580326381, -8.9173478019]], [-15.835680518, 2.3094010768]),
    0.0: ([[-1.1623496524, 7.6580326381], [5.6580326381, -10.649398609]], [-18.145081595, 2.3094010768]),
}


@pytest.mark.parametrize("u", EXACT)
def test_constrained_double_pendulum_where_it_closes(u):
    system = zoo.constrained_double_pendulum().compile(backend="casadi")
    x = system.state(*zoo.constrained_double_pendulum_start())
    Aq, Av = partials(system, x, [u])
    np.testing.assert_allclose(Aq, EXACT[u][0], atol=5e-9)
    np.testing.assert_allclose(Av, [[-0.57735026919, -1.443375673], [-1.1547005384, 0.57735026919]], atol=2e-9)
    np.testing.assert_allclose(by_input(system, x), [[0.5], [-1.0]], atol=1e-12)


def test_constrained_double_pendulum_accelerations_and_multiplier():
    """The known multiplier is of the squared distance and on the other side: λ of the distance is −2d = −2 times it."""
    system = zoo.constrained_double_pendulum().compile(backend="casadi")
    a = system.acceleration(system.state(*zoo.constrained_double_pendulum_start()), u=[2.0])
    np.testing.assert_allclose(a.vdot, [2.154700538, -3.154700538], atol=1e-8)
    assert a.multipliers[0] == pytest.approx(-2 * 6.2026908368, abs=1e-9)


@pytest.mark.parametrize("u", EXACT)
def test_constrained_double_pendulum_along_its_one_degree_of_freedom(u):
    """q̈₁ as a function of q₁, q̇₁ and u on the constraint."""
    system = zoo.constrained_double_pendulum().compile(backend="casadi")
    x0 = system.state(*zoo.constrained_double_pendulum_start())

    def acceleration(q1, v1, u):
        q = np.array([q1, x0.q[1] - 2.0 * (q1 - x0.q[0])])
        for _ in range(20):
            q[1] -= system.residuals(q)[0] / system.constraint_matrix(q)[0, 1]
        A = system.constraint_matrix(q)[0]
        return system.acceleration(system.state(q, [v1, -A[0] / A[1] * v1]), u=[u]).vdot[0]

    q1, h = x0.q[0], 1e-4
    dq = (acceleration(q1 + h, 1.0, u) - acceleration(q1 - h, 1.0, u)) / (2 * h)
    dv = (acceleration(q1, 1.0 + h, u) - acceleration(q1, 1.0 - h, u)) / (2 * h)
    np.testing.assert_allclose([dq, dv], EXACT[u][1], atol=1e-5)


def test_printed_linearization_of_the_constrained_double_pendulum():
    """Every printed digit, at u = 0, at the corner of the rounding box of the printed state that gives them."""
    system = zoo.constrained_double_pendulum().compile(backend="casadi")
    x = system.state([0.52465, 1.04715], [1.0, -2.00116])
    Aq, Av = partials(system, x, [0.0])
    np.testing.assert_allclose(Aq, [[-1.133, 7.690], [5.620, -10.698]], atol=5e-4)
    np.testing.assert_allclose(Av, [[-0.580, -1.447], [-1.155, 0.577]], atol=5e-4)
    np.testing.assert_allclose(by_input(system, x), [[0.500], [-1.000]], atol=5e-4)
    stated = system.state([0.5246, 1.0472], [1.0, -2.00116])
    Aq, _ = partials(system, stated, [2.0])  # at the stated torque it is something else; A v is 5e-7, not 0
    np.testing.assert_allclose(Aq, [[-1.7122469098, 6.2429058825], [5.6223532208, -8.9620954062]], atol=3e-6)


# --- Furuta, cart and links, chains, tops ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inertia", "A2", "B", "emf"),
    [
        (
            0.095 * 0.085**2 / 12,
            [149.275096865093, 261.609107366662],
            [49.72753455, 49.1493074],
            [-2.0885564, -2.0642709],
        ),
        (None, [55.1525247267048, 168.580983741511], [18.37278378, 18.15914676], [-0.77165692, -0.76268416]),
    ],
    ids=["as published", "physical"],
)
def test_qube_servo_rotary_pendulum(inertia, A2, B, emf):
    system = zoo.furuta(arm_inertia=inertia).compile(backend="casadi")
    x = system.state(*zoo.furuta_start())
    Aq, Av = partials(system, x)
    np.testing.assert_allclose(Aq, np.column_stack([[0, 0], A2]), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(Av, np.column_stack([emf, [0, 0]]), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(by_input(system, x)[:, 0], B, rtol=1e-9)


def test_michigan_inverted_pendulum():
    system = zoo.cart_pole().compile(backend="casadi")
    x = system.state(*zoo.cart_pole_start())
    Aq, Av = partials(system, x)
    np.testing.assert_allclose(Aq, [[0, 2.6727272727], [0, 31.1818181818]], atol=1e-8)
    np.testing.assert_allclose(Av, [[-0.1818181818, 0], [-0.4545454545, 0]], atol=1e-9)
    np.testing.assert_allclose(by_input(system, x)[:, 0], [1.8181818182, 4.5454545455], atol=1e-9)
    known = [-5.6040941256, -0.1428316357, 0.0, 5.5651075794]
    np.testing.assert_allclose(np.sort(eigenvalues(system, x).real), known, atol=1e-6)


LINKS = {1: [4.4294469181], 2: [3.5268373336, 6.8133265313], 3: [3.0299201395, 5.6943871934, 8.7243073329]}


@pytest.mark.parametrize("links", LINKS)
def test_cart_with_links_upright_and_hanging(links):
    """Unit point masses on unit links on a unit cart: real pairs upright, the same as frequencies hanging."""
    unit = {"cart_mass": 1.0, "mass": 1.0, "com": 1.0, "length": 1.0, "inertia": 0.0, "damping": 0.0, "gravity": 9.81}
    system = zoo.cart_pole(links, **unit).compile(backend="casadi")
    for hanging in (False, True):
        squares, _ = partials(system, system.state(*zoo.cart_pole_start(hanging=hanging)))
        size = np.sqrt(np.sort(np.abs(np.linalg.eigvals(squares)))[1:])
        np.testing.assert_allclose(size, LINKS[links], rtol=1e-7)


ROOTS = {
    2: [0.585786437626905, 3.414213562373095],
    3: [0.4157745567834791, 2.294280360279042, 6.289945082937479],
    5: [0.26356031971814, 1.41340305910652, 3.59642577104072, 7.08581000585884, 12.6408008442758],
}


@pytest.mark.parametrize("links", ROOTS)
def test_hanging_chain_has_the_roots_of_laguerre_polynomials(links):
    np.testing.assert_allclose(exact.chain_frequencies(links, gravity=1.0) ** 2, ROOTS[links], rtol=1e-12)
    system = zoo.chain(links, length=0.4, gravity=9.81).compile(backend="casadi")
    squares, _ = partials(system, system.state())
    frequencies = np.sqrt(np.sort(-np.linalg.eigvals(squares).real))
    np.testing.assert_allclose(frequencies, exact.chain_frequencies(links, length=0.4), rtol=1e-7)


@pytest.mark.parametrize(
    ("spin", "known"), [(8.0, [8.6991123177j, 1.4274699608j]), (3.0, [2.968590582 + 1.8987341772j])]
)
def test_sleeping_top(spin, known):
    """Published as seen from the ground; in the body, which turns, every frequency is less by the spin."""
    tip = {"I1": 0.0003 + 0.01 * 0.04**2, "I3": 0.0004, "mgl": 0.01 * 9.81 * 0.04}
    roots = exact.sleeping_top(spin=spin, **tip)
    assert 2 * np.sqrt(tip["I1"] * tip["mgl"]) / tip["I3"] == pytest.approx(5.5677284417, rel=1e-10)
    for value in known:
        assert np.abs(roots - value).min() < 1e-8
    system = zoo.heavy_top(mass=0.01, height=0.04, transverse=0.0003, axial=0.0004).compile(backend="casadi")
    x = system.state(*zoo.heavy_top_start(0.0, spin))
    Aq, Av = partials(system, x)
    turn = np.cross(np.eye(3), [0, 0, spin]).T  # δ̇ = δω − ω × δ
    found = np.linalg.eigvals(np.block([[turn, np.eye(3)], [Aq, Av]]))
    for value in roots - 1j * spin:
        assert np.abs(found - value).min() < 1e-6
