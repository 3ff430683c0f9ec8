"""Every kind of constraint is consistent: A = ∂Φ/∂δ, b = ∂Φ/∂t, γ = d/dt (A v + b). A new kind costs a line here."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.mechanism.joints import JOINT_TYPES
from random_mechanisms import random_frame, random_joint, random_state, random_tree


def _loop(kind):
    def add(m, rng, a, b):
        m.close_loop("c", random_joint(rng, kind), a, b)

    return add


def _user_rolling(m, rng, a, b):
    m.add_constraint(
        "c",
        holonomic={"sum": lambda s: s.position(a)[0] * s.position(b)[1] - ca.sin(s.t)},
        pfaffian={"pull": lambda s: ca.dot(s.position(a), s.velocity(b)) + s.t**2},
    )


def _touching(m, rng, a, b):
    """Contacts of all kinds that stick, as the constraints they are while they hold."""
    sides = [
        {"radius": 0.1},
        {"shape": ("disc", 0.3)},
        {"shape": ("ellipsoid", (0.1, 0.2, 0.3))},
        {"radius": 0.1, "on_radius": 0.2},
        {"radius": 0.1, "on_shape": ("capsule", (0.1, 0.6))},
        {"shape": ("capsule", (0.2, 0.5)), "on_radius": 0.1},
        {"shape": ("capsule", (0.1, 2.5)), "on_shape": ("capsule", (0.1, 3.5))},
        {"radius": 0.1, "on_shape": ("box", (0.5, 0.4, 0.3))},
        {"shape": ("cylinder", (0.3, 0.4)), "on_radius": 0.1},
    ]
    for k, side in enumerate(sides):
        m.add_contact(f"c{k}", a, on=b, friction=0.5, **side)
    for contact in [m.contacts.pop(f"c{k}") for k in range(len(sides))]:
        m._constrain(contact.closed(sticking=True))


CASES = {
    **{f"loop {kind.__name__}": _loop(kind) for kind in JOINT_TYPES if kind.closure},
    "rod": lambda m, rng, a, b: m.add_rod("c", a, b, length=0.7),
    "point on line": lambda m, rng, a, b: m.add_point_on_line("c", a, b, rng.normal(size=3)),
    "point in plane": lambda m, rng, a, b: m.add_point_in_plane("c", a, b, rng.normal(size=3)),
    "coupling": lambda m, rng, a, b: m.add_coupling("c", {"joint0": 1.5, "joint2": -2.0}, 0.3),
    "driver": lambda m, rng, a, b: m.add_driver("c", "joint2", lambda t: 0.3 * ca.sin(2 * t) + t**3),
    "point driver": lambda m, rng, a, b: m.add_point_driver("c", a, lambda t: (ca.cos(t), ca.exp(-t), t**2)),
    "rolling sphere": lambda m, rng, a, b: m.add_rolling("c", a, radius=0.3, on=b),
    "rolling disc": lambda m, rng, a, b: m.add_rolling("c", a, radius=0.3, on=b, axis="y"),
    "disc on disc": lambda m, rng, a, b: m.add_rolling_discs("c", a, 0.3, b, 0.2, axis="x"),
    "disc in disc": lambda m, rng, a, b: m.add_rolling_discs("c", a, 0.3, b, 0.2, inside=True),
    "skate": lambda m, rng, a, b: m.add_skate("c", a, sideways="x"),
    "pulley rope": lambda m, rng, a, b: m.add_pulley_rope(
        "c", [a, da.Pulley(b, 0.1, axis="y", turn=-1), m.ground.at(3)]
    ),
    "contacts": _touching,
    "user": _user_rolling,
}


@pytest.fixture(scope="module", params=[(c, s) for c in CASES for s in range(2)], ids=lambda c: f"{c[0]}-{c[1]}")
def case(request):
    """A random tree with quaternion joints, anywhere off the manifold, at some time."""
    name, seed = request.param
    rng = np.random.default_rng([seed, len(name)])
    kinds = (da.Revolute, da.Spherical, da.Prismatic, da.Free, da.Screw)
    m = random_tree(500 + seed, 6, (da.Revolute,))
    for k in range(3):
        body = m.add_body(f"extra{k}", mass=1.0, inertia=(1, 1, 1))
        m.add_joint(f"extra{k}", random_joint(rng, kinds[rng.integers(5)]), "body2", random_frame(rng, body))
    CASES[name](m, rng, random_frame(rng, m.bodies["extra0"]), random_frame(rng, m.bodies["body5"]))
    system = m.compile(backend="casadi")
    return system, random_state(system, seed).replace(t=0.6)


def _along(system, x, h):
    """The state after time h at constant velocity."""
    return system.state(system.plus(x, h * x.v), x.v, x.t + h)


def test_jacobian_is_the_derivative_of_the_residual(case):
    """By AD through q ⊕ δ, exactly, and by central differences, independently."""
    system, x = case
    holonomic = system.rows.holonomic
    A = system.constraint_matrix(x)[holonomic]
    d = ca.SX.sym("d", system.nv)
    f = system.function("constraints")
    args = [system.function("plus")(x.q, d), *([x.t] if "t" in f.name_in() else [])]
    J = np.array(ca.Function("J", [d], [ca.jacobian(f(*args)[0], d)])(np.zeros(system.nv)))[holonomic]
    np.testing.assert_allclose(A, J, atol=1e-12 * max(1, np.abs(A).max(initial=0.0)))
    h = 1e-6
    for k, e in enumerate(np.eye(system.nv)):
        plus, minus = (system.residuals(system.state(system.plus(x, s * h * e), t=x.t)) for s in (1, -1))
        np.testing.assert_allclose(((plus - minus) / (2 * h))[holonomic], A[:, k], atol=3e-8)


def test_drift_is_the_time_derivative_of_the_residual(case):
    system, x = case
    h = 1e-6
    plus, minus = (system.residuals(_along(system, x, s * h)) for s in (1, -1))
    rate = system.speed_residuals(x)
    np.testing.assert_allclose(((plus - minus) / (2 * h) - rate)[system.rows.holonomic], 0, atol=1e-7)


def test_gamma_is_the_time_derivative_of_the_velocity_constraint(case):
    system, x = case
    h = 1e-6
    plus, minus = (system.speed_residuals(_along(system, x, s * h)) for s in (1, -1))
    gamma = system.constraint_gamma(x)
    np.testing.assert_allclose((plus - minus) / (2 * h), gamma, atol=2e-7 * max(1, np.abs(gamma).max()))


def test_native_and_virtual_machine_agree(case):
    system, x = case
    from dalembert.compiler import Kernel

    f = system.function("constrained")
    args = [x.q, x.v, *([[x.t]] if "t" in f.name_in() else [])]
    for one, other in zip(Kernel(f)(*args), Kernel(f, backend="casadi")(*args)):
        np.testing.assert_allclose(one, other, atol=1e-12 * max(1, np.abs(other).max(initial=0)))
