"""The variational step and its derivatives, against its equations written anew in many digits and differences."""

from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from oracle import close
from random_loops import random_closed
from random_mechanisms import random_state, random_tree

ALONG = mp.mpf(10) ** -20  # with eighty digits a difference of differences over it is exact to rounding


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(80):
        yield


# --- a top on a carriage, on a driven rail, held by a rod: all of it once more, from its energies alone ---------------

C, MASS, INERTIA, G, K, DAMPING = (0.1, 0.2, 0.4), 1.3, (0.5, 0.6, 0.2), 9.81, 30.0, 0.7
EYE, ANCHOR, LENGTH = (0.3, 0.1, 0.5), (1.0, -0.4, 1.1), 1.2


@lru_cache
def top() -> tuple[da.System, da.State]:
    m = da.Mechanism("top", gravity=(0, 0, -G))
    mass = m.add_parameter("mass", MASS)
    stiffness = m.add_parameter("k", K)
    rail, carriage = m.add_body("rail", mass=0.3), m.add_body("carriage", mass=0.8)
    body = m.add_body("top", mass=mass, com=C, inertia=INERTIA)
    m.add_joint("y", da.Prismatic("y"), m.ground, rail)
    m.add_joint("x", da.Prismatic("x"), rail, carriage, stiffness=stiffness, damping=DAMPING)
    m.add_joint("ball", da.Spherical(), carriage, body)
    m.add_motor("push", "x")
    m.add_driver("drive", "y", lambda t: 0.2 * t + 0.3 * t * t)
    m.add_rod("rod", body.at(*EYE), m.ground.at(*ANCHOR), length=LENGTH)
    system = m.compile(backend="casadi")
    x = system.state({"x": 0.2, "ball": da.rotation("y", 0.5)}, {"x": 0.5, "ball.wx": 1.0, "ball.wz": 3.0}, 0.4)
    return system, system.project(x)


def product(a, b):
    w, x, y, z = a
    return np.array([
        w * b[0] - x * b[1] - y * b[2] - z * b[3], w * b[1] + x * b[0] + y * b[3] - z * b[2],
        w * b[2] - x * b[3] + y * b[0] + z * b[1], w * b[3] + x * b[2] - y * b[1] + z * b[0],
    ])  # fmt: skip


def plus(q, d):
    angle = mp.sqrt(sum(x * x for x in d[2:]))
    k = mp.sin(angle / 2) / angle if angle else mp.mpf(1) / 2
    return np.concatenate([q[:2] + d[:2], product(q[2:], np.array([mp.cos(angle / 2), *(k * d[2:])]))])


def minus(q1, q0):
    r = product(q0[2:] * np.array([1, -1, -1, -1]), q1[2:])
    s = mp.sqrt(sum(x * x for x in r[1:]))
    k = 2 * mp.atan2(s, r[0]) / s if s else mp.mpf(2)
    return np.concatenate([q1[:2] - q0[:2], k * r[1:]])


def turned(q, c):
    p = np.array([mp.mpf(0), *map(mp.mpf, c)])
    return product(product(q[2:], p), q[2:] * np.array([1, -1, -1, -1]))[1:]


def kinetic(q, v, p):
    w, c = v[2:], np.array(C)
    velocity = np.array([v[1], v[0], 0]) + turned(q, np.cross(w, c))
    spin = sum(i * x * x for i, x in zip(INERTIA, w))
    return (p[0] * (velocity @ velocity) + spin + mp.mpf(0.3) * v[0] ** 2 + mp.mpf(0.8) * (v[0] ** 2 + v[1] ** 2)) / 2


def potential(q, p):
    return p[0] * mp.mpf(G) * turned(q, C)[2] + p[1] * q[1] ** 2 / 2


def closure(q, t):
    eye = np.array([q[1], q[0], 0]) + turned(q, EYE) - np.array(ANCHOR)
    return np.array([q[0] - (mp.mpf(0.2) * t + mp.mpf(0.3) * t * t), mp.sqrt(eye @ eye) - mp.mpf(LENGTH)])


def slope(f, n):
    columns = [(f(ALONG * e) - f(-ALONG * e)) / (2 * ALONG) for e in np.eye(n).astype(int).astype(object)]
    return np.array(columns).T


def momentum(q, v, p):
    return slope(lambda e: kinetic(q, v + e, p), 5)


def residual(q0, v0, u, p, delta, lam, v1, mu, h, t):
    """(1) and (3) of the variational midpoint rule."""
    q1 = plus(q0, delta)

    def lagrangian(a, b):
        d = minus(b, a)
        middle = plus(a, d / 2)
        return h * (kinetic(middle, d / h, p) - potential(middle, p))

    force = np.array([0, h * (u[0] - mp.mpf(DAMPING) * delta[1] / h) / 2, 0, 0, 0])
    A0, A1 = (slope(lambda e, q=q, s=s: closure(plus(q, e), s), 5) for q, s in ((q0, t), (q1, t + h)))
    b1 = (closure(q1, t + h + ALONG) - closure(q1, t + h - ALONG)) / (2 * ALONG)
    start = momentum(q0, v0, p) + slope(lambda e: lagrangian(plus(q0, e), q1), 5) + force + A0.T @ lam
    end = momentum(q1, v1, p) - slope(lambda e: lagrangian(q0, plus(q1, e)), 5) - force - A1.T @ mu
    return np.concatenate([start, closure(q1, t + h), end, A1 @ v1 + b1])


def many(x):
    return np.array([mp.mpf(float(e)) for e in np.ravel(x)], dtype=object)


NAMES = ("q", "multipliers", "v", "end_multipliers")  # what a step finds


def precise_step():
    """A step of the top: its start, its length, itself, and q, v, u, p, q₁, λ, v₁, μ in eighty digits."""
    system, x = top()
    h = 0.005
    step = da.discrete_step(system, x, h, u=[3.0])
    found = step.after.q, step.multipliers, step.after.v, step.end_multipliers
    numbers = [many(e) for e in (x.q, x.v, step.u, step.p, *found)]
    for q in (numbers[0], numbers[4]):
        q[2:] = q[2:] / mp.sqrt(q[2:] @ q[2:])
    return x, h, step, numbers


def test_against_the_discrete_equations_in_eighty_digits():
    """They hold, and their derivative along (w, Z w) vanishes for every direction w of q, v, u and p."""
    x, h, step, (q0, v0, u, p, q1, lam, v1, mu) = precise_step()
    given = many([h, x.t])

    def equations(s, w):
        z = [many(step.derivative(name) @ w) for name in NAMES]
        e, dv, du, dp = (many(w[step.columns[name]]) for name in "qvup")
        start, end = plus(q0, s * e), plus(q1, s * z[0])
        R = residual(
            start, v0 + s * dv, u + s * du, p + s * dp, minus(end, start), lam + s * z[1], v1 + s * z[2],
            mu + s * z[3], *given,
        )  # fmt: skip
        return np.concatenate([R, momentum(end, v1 + s * z[2], p + s * dp)])

    now = equations(mp.mpf(0), np.zeros(step.derivative("q").shape[1]))
    assert max(map(abs, now[:14])) < 1e-12
    close(step.momentum, now[14:].astype(float), 1e-13)
    for k, w in enumerate(np.eye(step.derivative("q").shape[1])):
        change = ((equations(ALONG, w) - equations(-ALONG, w)) / (2 * ALONG)).astype(float)
        assert np.abs(change[:14]).max() < 1e-13 * np.abs(step.slopes.J).max()
        close(step.derivative("momentum")[:, k], change[14:], 1e-12)


def test_second_derivatives_against_the_discrete_equations_in_eighty_digits():
    """Along x(s) = x + s w the equations hold to s² with z(s) = z + s Z w + s² Z′ w / 2."""
    x, h, step, (q0, v0, u, p, q1, lam, v1, mu) = precise_step()
    given, n = many([h, x.t]), step.derivative("q").shape[1]
    rng = np.random.default_rng(3)
    for w in rng.normal(size=(4, n)):
        first = [many(step.derivative(name) @ w) for name in NAMES]
        second = [many(step.second(name, w) @ w) for name in NAMES]
        last = many(step.second("momentum", w) @ w)
        e, dv, du, dp = (many(w[step.columns[name]]) for name in "qvup")

        def equations(s, first=first, second=second, e=e, dv=dv, du=du, dp=dp):
            z = [s * a + s * s * b / 2 for a, b in zip(first, second)]
            start, end = plus(q0, s * e), plus(q1, z[0])
            R = residual(
                start, v0 + s * dv, u + s * du, p + s * dp, minus(end, start), lam + z[1], v1 + z[2], mu + z[3], *given
            )  # fmt: skip
            return np.concatenate([R, momentum(end, v1 + z[2], p + s * dp)])

        s = mp.mpf(10) ** -12  # differences inside `slope` leave forty digits
        bend = ((equations(s) - 2 * equations(mp.mpf(0)) + equations(-s)) / (s * s)).astype(float)
        size = np.abs(step.slopes.J).max() * max(1.0, *(float(abs(x)) for part in second for x in part))
        assert np.abs(bend[:14]).max() < 1e-12 * size
        close(last.astype(float), bend[14:], 1e-11)


# --- seeded mechanisms ------------------------------------------------------------------------------------------------


def displaced(system, x, w, s):
    """The state s w away, w an admissible change of (q, v), put back on the manifold: an error of s² in q and v."""
    n = system.nv
    return system.project(x.replace(q=system.plus(x, s * w[:n]), v=x.v + s * w[n : 2 * n]))


def central(f, h):
    a, b, c, d = (f(k * h) for k in (2, 1, -1, -2))
    return (8 * (b - c) - (a - d)) / (12 * h)


def admissible(system, x):
    """(2 nv, …) orthonormal changes of (q, v) that the constraints allow."""
    return da.linearize_full(system, x)._admissible


def form(system, momentum):
    """The symplectic form of (q, p) in axes that turn with the bodies."""
    n = system.nv
    K = np.zeros((n, n))
    for link in system.layout.tree.links:
        for i, e in enumerate(np.eye(link.joint.nv)):
            K[link.v.start + i, link.v] = momentum[link.v] @ link.joint.transport(e).astype(float)
    return np.block([[K, np.eye(n)], [-np.eye(n), np.zeros((n, n))]])


@pytest.mark.parametrize("seed", range(3))
def test_closed_mechanisms_against_differences_of_steps(seed):
    """Redundant rows and quaternions included; of q, v and the momentum, along the manifold."""
    system, x = random_closed(seed, bodies=3, loops=1)
    h = 0.01
    step = da.discrete_step(system, x, h)
    K = admissible(system, x)
    for w in (K @ np.random.default_rng(seed).normal(size=(K.shape[1], 2))).T:

        def moved(s, w=w):
            end = da.discrete_step(system, displaced(system, x, w, s), h)
            return np.concatenate([system.minus(end.after, step.after.q), end.after.v, end.momentum])

        found = np.concatenate([step.derivative(name)[:, : len(w)] @ w for name in ("q", "v", "momentum")])
        close(found, central(moved, 1e-3), 1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_symplectic(seed):
    """Dᵀ J₁ D = J₀ of trees; of closed mechanisms, along the manifold."""
    tree = random_tree(seed, 3, floating=seed % 2 == 0).compile(backend="casadi")
    step = da.discrete_step(tree, random_state(tree, seed), 0.02)
    D = step.canonical
    J0, J1 = (form(tree, p) for p in (step.momentum_before, step.momentum))
    close(D.T @ J1 @ D, J0, 1e-10)
    system, x = random_closed(seed, bodies=3, loops=1)
    step, n, K = da.discrete_step(system, x, 0.02), system.nv, admissible(system, x)
    ends = [(np.eye(n, 2 * n), "momentum_before"), (step.derivative("q")[:, : 2 * n], "momentum")]
    W0, W1 = (np.vstack([q, step.derivative(p)[:, : 2 * n]]) @ K for q, p in ends)
    close(W1.T @ form(system, step.momentum) @ W1, W0.T @ form(system, step.momentum_before) @ W0, 1e-10)


def test_kinematic_inputs_and_moving_bases():
    """A led trolley carries a ball joint; derivatives by the input, and symplecticity is not asked for."""
    m = da.Mechanism("crane", gravity=(0, 0, -9.81))
    trolley, load = (
        m.add_body("trolley", mass=2.0),
        m.add_body("load", mass=1.0, com=(0.1, 0, -0.8), inertia=(0.1, 0.2, 0.1)),
    )
    m.add_joint("x", da.Prismatic("x"), m.ground, trolley)
    m.add_joint("ball", da.Spherical(), trolley, load)
    m.add_kinematic_input("lead", "x")
    system = m.compile(backend="casadi")
    x = system.state({"ball": da.rotation("y", 0.4)}, {"x": 0.3, "ball.wz": 2.0})
    h = 0.02
    step = da.discrete_step(system, x, h, u=[1.5])
    close(step.after.q, da.simulate(system, x, h, u=[1.5], method="variational", step=h).q[-1], 1e-13)
    close(step.derivative("q", "u")[0], [h * h / 2], 1e-14)

    def moved(s):
        end = da.discrete_step(system, x, h, u=[1.5 + s])
        return np.concatenate([system.minus(end.after, step.after.q), end.after.v])

    close(np.concatenate([step.derivative(name, "u")[:, 0] for name in "qv"]), central(moved, 0.1), 1e-10)


@pytest.mark.parametrize("seed", [0, 1])
def test_second_derivatives_against_differences_of_first_ones(seed):
    """Along the manifold, by q, v, u and p together, quaternions included; multipliers as well."""
    system, x = top() if seed == 0 else random_closed(seed, bodies=3, loops=1)
    u, p, h = np.full(len(system.u_names), 2.0), system.arguments.parameter_vector(None), 0.02
    step = da.discrete_step(system, x, h, u=u)
    rng, K = np.random.default_rng(seed), admissible(system, x)
    w = np.concatenate([K @ rng.normal(size=K.shape[1]), rng.normal(size=len(u) + len(p))])
    n = 2 * system.nv
    of = ("q", "v", "momentum", "multipliers", "end_multipliers")

    def first(s):
        du, dp = np.split(s * w[n:], [len(u)])
        end = da.discrete_step(system, displaced(system, x, w, s), h, u=u + du, p=p + dp)
        assert end.rows == step.rows
        return np.concatenate([end.derivative(name) for name in of])

    found = np.concatenate([step.second(name, w) for name in of])
    close(found, central(first, 1e-3), 1e-7)
    close(step.hessian("v") @ w, step.second("v", w), 1e-11)
    weights = rng.normal(size=len(step.multipliers))
    close(step.second("multipliers", weights=weights), np.tensordot(weights, step.hessian("multipliers"), 1), 1e-11)


def test_large_mechanisms_have_the_derivatives_of_their_steps():
    """By rows, not by straight-line code: the Stewart platform, quaternions and 18 rows, against differences."""
    system = zoo.stewart().compile(backend="casadi")
    x = system.project(system.state(*zoo.stewart_start()))
    rng, h = np.random.default_rng(4), 0.01
    x = system.project(x.replace(v=0.5 * rng.normal(size=system.nv)))
    u = rng.normal(size=len(system.u_names))
    step, K = da.discrete_step(system, x, h, u=u), admissible(system, x)
    w = K @ rng.normal(size=K.shape[1])
    n = 2 * system.nv

    def moved(s):
        end = da.discrete_step(system, displaced(system, x, w, s), h, u=u)
        assert end.rows == step.rows
        return end, np.concatenate([system.minus(end.after, step.after.q), end.after.v, end.momentum])

    found = np.concatenate([step.derivative(name)[:, :n] @ w for name in ("q", "v", "momentum")])
    close(found, central(lambda s: moved(s)[1], 1e-3), 1e-8)
    along = np.concatenate([w, np.zeros(step.derivative("q").shape[1] - n)])
    close(step.second("v", along), central(lambda s: moved(s)[0].derivative("v"), 1e-3), 1e-7)
    small = zoo.four_bar().compile(backend="casadi")
    start = small.state(*zoo.four_bar_start(0.7, speed=6.0))
    lines = da.discrete_step(small, start, h).slopes
    rows, _ = lines.rows.jacobian({name: value[0] for name, value in lines.known.items()})
    close(rows, lines.J[0], 1e-14)


def test_unsolvable_steps_and_states_are_refused():
    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(0.7, speed=6.0))
    with pytest.raises(da.ArgumentError, match="Take a shorter step"):
        da.discrete_step(system, x, 5.0)
    with pytest.raises(da.ArgumentError, match="not on the constraints"):
        da.discrete_step(system, x.replace({"A": 0.9}), 0.01)
    with pytest.raises(da.ArgumentError, match="direction"):
        da.discrete_step(system, x, 0.01).second("q", [1.0])
    with pytest.raises(da.ArgumentError, match="direction or weights"):
        da.discrete_step(system, x, 0.01).second("q")
    with pytest.raises(da.ArgumentError, match="bind positions"):
        da.discrete_step(zoo.chaplygin_sleigh().compile(backend="casadi"), {}, 0.01)
