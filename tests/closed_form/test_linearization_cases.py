"""Published linearizations, and the theorems of Spencer's chapter 4, by the exact linear models."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.zoo import exact

# --- Johnson and Murphey, section IV --------------------------------------------------------------------------------

EXACT_Q = {
    2.0: [[-1.7396999216, 6.2146569651], [5.6580326381, -8.9173478019]],
    0.0: [[-1.1623496524, 7.6580326381], [5.6580326381, -10.649398609]],
}
EXACT_V = [[-0.57735026919, -1.443375673], [-1.1547005384, 0.57735026919]]
MINIMAL = {2.0: [-15.835680518, 2.3094010768], 0.0: [-18.145081595, 2.3094010768]}


@pytest.fixture(scope="module")
def pendulum():
    return zoo.constrained_double_pendulum().compile(backend="casadi")


@pytest.mark.parametrize("u", EXACT_Q)
def test_double_pendulum_in_full_coordinates(pendulum, u):
    full = da.linearize_full(pendulum, pendulum.state(*zoo.constrained_double_pendulum_start()), u=[u])
    np.testing.assert_allclose(full.vdot_q, EXACT_Q[u], atol=1e-9)
    np.testing.assert_allclose(full.vdot_v, EXACT_V, atol=1e-9)
    np.testing.assert_allclose(full.vdot_u, [[0.5], [-1.0]], atol=1e-12)


def test_double_pendulum_as_printed(pendulum):
    """Every printed digit: at u = 0, in a corner of the rounding box of the printed state, off the manifold."""
    x = pendulum.state([0.52465, 1.04715], [1.0, -2.00116])
    by_q, by_v, _ = pendulum.evaluate("ode_jacobian", x, u=[0.0])
    np.testing.assert_allclose(by_q, [[-1.133, 7.690], [5.620, -10.698]], atol=5e-4)
    np.testing.assert_allclose(by_v, [[-0.580, -1.447], [-1.155, 0.577]], atol=5e-4)


@pytest.mark.parametrize("u", MINIMAL)
def test_double_pendulum_in_its_one_coordinate(pendulum, u):
    x = pendulum.state(*zoo.constrained_double_pendulum_start())
    model = da.linearize(pendulum, x, u=[u], independent=["theta1"])
    np.testing.assert_allclose(model.A, [[0, 1], MINIMAL[u]], atol=1e-8)
    np.testing.assert_allclose(model.B, [[0], [0.5]], atol=1e-12)


# --- Spencer 4.1 and 4.5 --------------------------------------------------------------------------------------------

CHOICES = (["B", "G"], ["lift", "tilt"], ["B", "L"])


@pytest.fixture(scope="module")
def loader():
    return zoo.loader().compile(backend="casadi")


def values(A):
    return np.sort_complex(np.round(np.linalg.eigvals(A), 10))


def test_eigenvalues_at_an_equilibrium_do_not_depend_on_the_coordinates(loader):
    """Theorem 4.1.1: boom and bucket, the two cylinders, or a cut joint's angle."""
    rest = da.equilibrium(loader, zoo.loader_start(0.05, 0.02)[0], solve_for="u")
    found = [values(da.linearize(loader, rest.state, u=rest.u, independent=names).A) for names in CHOICES]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-7)


def test_away_from_equilibrium_they_do(loader):
    """4.5: at rest, no force in the cylinders."""
    x = loader.state(*zoo.loader_start())
    found = [values(da.linearize(loader, x, independent=names).A) for names in CHOICES[:2]]
    assert np.abs(found[0] - found[1]).max() > 0.1


@pytest.mark.parametrize("choice", [None, *CHOICES[:2]], ids=["orthogonal", "boom and bucket", "cylinders"])
def test_eigenvalues_of_the_underlying_ode_are_those_of_the_local_form_and_zero(loader, choice):
    """Theorem 4.1.2 with the orthogonal projector and with those of two charts."""
    rest = da.equilibrium(loader, zoo.loader_start()[0], solve_for="u")
    full = da.linearize_full(loader, rest.state, u=rest.u)
    local = da.linearize(loader, rest.state, u=rest.u, independent=choice)
    P = None
    if choice is not None:
        op = local.operating
        columns = np.block([[op.Kq, np.zeros_like(op.Kv)], [op.Dv, op.Kv]])
        index = [c.index for c in op.coordinates]
        P = columns @ np.eye(2 * loader.nv)[[*index, *(loader.nv + k for k in index)]]
    found = np.linalg.eigvals(full.underlying(P))
    expected = np.concatenate([local.eigenvalues, np.zeros(2 * loader.nv - 4)])
    for value in expected:
        assert np.abs(found - value).min() < 1e-5
    assert (np.abs(found) > 1e-3).sum() == 4


def test_an_inadmissible_projector_is_refused(loader):
    full = da.linearize_full(loader, loader.state(*zoo.loader_start()))
    with pytest.raises(da.ArgumentError, match="leads off the constraints"):
        full.underlying(np.eye(2 * loader.nv))
    with pytest.raises(da.ArgumentError, match="it keeps 0 of the 4 motions"):
        full.underlying(np.zeros((2 * loader.nv, 2 * loader.nv)))


# --- known eigenvalues ----------------------------------------------------------------------------------------------


def test_michigan_inverted_pendulum():
    system = zoo.cart_pole().compile(backend="casadi")
    model = da.linearize(system, system.state(*zoo.cart_pole_start()), independent=["cart", "phi1"])
    np.testing.assert_allclose(model.A[2:, :2], [[0, 2.6727272727], [0, 31.1818181818]], atol=1e-9)
    np.testing.assert_allclose(model.A[2:, 2:], [[-0.1818181818, 0], [-0.4545454545, 0]], atol=1e-9)
    np.testing.assert_allclose(model.B[2:, 0], [1.8181818182, 4.5454545455], atol=1e-9)
    known = [-5.6040941256, -0.1428316357, 0, 5.5651075794]
    np.testing.assert_allclose(np.sort(model.eigenvalues.real), known, atol=1e-8)
    assert model.controllable


@pytest.mark.parametrize("links", [2, 5])
def test_hanging_chain_swings_at_the_roots_of_laguerre_polynomials(links):
    system = zoo.chain(links, length=0.4, gravity=9.81).compile(backend="casadi")
    model = da.linearize(system, system.state())
    found = np.sort([2 * np.pi * mode.frequency for mode in model.modes])
    np.testing.assert_allclose(found, exact.chain_frequencies(links, length=0.4), rtol=1e-9)
    np.testing.assert_allclose([mode.damping for mode in model.modes], 0.0, atol=1e-9)


def test_a_chain_of_sixty_links_swings_as_the_closed_form_says():
    """Beyond 40 velocities the model is made by dense algebra."""
    system = zoo.chain(60, length=0.1, gravity=9.81).compile(backend="casadi")
    model = da.linearize(system, system.state())
    found = np.sort(np.sqrt(np.linalg.eigvals(-model.A[60:, :60]).real))
    np.testing.assert_allclose(found[:10], exact.chain_frequencies(60, length=0.1)[:10], rtol=1e-7)


@pytest.mark.parametrize("spin", [8.0, 3.0])
def test_sleeping_top_is_a_steady_motion(spin):
    """A quaternion joint in motion; in the body, which turns, every frequency is less by the spin."""
    tip = {"I1": 0.0003 + 0.01 * 0.04**2, "I3": 0.0004, "mgl": 0.01 * 9.81 * 0.04}
    system = zoo.heavy_top(mass=0.01, height=0.04, transverse=0.0003, axial=0.0004).compile(backend="casadi")
    model = da.linearize(system, system.state(*zoo.heavy_top_start(0.0, spin)))
    for value in exact.sleeping_top(spin=spin, **tip) - 1j * spin:
        assert np.abs(model.eigenvalues - value).min() < 1e-8


def disc_on_gimbals(mass, radius):
    """The rolling disc with heading, lean and spin as joints: upright and rolling it is a steady motion."""
    m = da.Mechanism("disc", gravity=(0, 0, -9.81))
    place = m.ground
    for name, joint in (("x", da.Prismatic("x")), ("y", da.Prismatic("y")), ("z", da.Prismatic("z")),
                        ("heading", da.Revolute("z")), ("lean", da.Revolute("x"))):  # fmt: skip
        carrier = m.add_body(f"{name} carrier")
        m.add_joint(name, joint, place, carrier)
        place = carrier
    wheel = m.add_body("wheel", mass=mass, inertia=da.disc_inertia(mass, radius, axis="y"))
    m.add_joint("spin", da.Revolute("y"), place, wheel)
    m.add_rolling("contact", wheel, radius=radius, axis="y")
    return m.compile(backend="casadi")


@pytest.mark.parametrize("spin", [1.0, 2.0, 4.0])
def test_a_rolling_disc_wobbles_or_falls(spin):
    """Nonholonomic: five positions, three velocities. λ² of the lean from the closed form; the rest is neutral."""
    radius = 0.4
    system = disc_on_gimbals(2.0, radius)
    x = system.assemble({"z": radius, "lean": 0.0}, v={"spin": spin, "heading": 0.0, "lean": 0.0})
    model = da.linearize(system, x, independent=["heading", "lean", "spin"], positions=["x", "y"])
    assert len(model.positions) == 5
    assert set(model.cyclic) == {"x", "y", "heading", "spin"}
    small = model.without()
    assert set(small.state_names) == {"lean", "heading rate", "lean rate", "spin rate"}
    growth = exact.disc_growth(spin=spin, radius=radius)
    found = small.eigenvalues[np.argsort(-np.abs(small.eigenvalues))][:2]
    np.testing.assert_allclose(found**2, growth, rtol=1e-9)
    np.testing.assert_allclose(np.sort(np.abs(small.eigenvalues))[:2], 0.0, atol=1e-5)
