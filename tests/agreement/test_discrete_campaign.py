"""Derivatives of variational steps of random machines against the discrete equations written from energies.

The machines have a massless rail that is led, quaternions, a parameter for a mass and one for a stiffness, a motor, a
loop, and a row that says again what the loop says. Along x(s) = x + s w the equations hold to s² with
z(s) = z + s Z w + s² Z′ w / 2: both derivatives by s vanish, by automatic differentiation.
"""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.spatial import Transform
from random_mechanisms import random_joint, random_state

KINDS = (da.Revolute, da.Spherical, da.Universal, da.Cylindrical, da.Prismatic, da.Planar)
STEP = 0.01


def machine(seed: int) -> tuple[da.System, da.State]:
    rng = np.random.default_rng([seed, 41])
    m = da.Mechanism(f"machine {seed}", gravity=rng.normal(size=3) * 5.0)
    mass, stiffness = m.add_parameter("mass", 1.3), m.add_parameter("stiffness", 40.0)
    kinds = [da.Spherical, KINDS[seed % len(KINDS)], KINDS[rng.integers(len(KINDS))]]
    kinds = [kinds[i] for i in rng.permutation(3)]
    slides = kinds[0] not in (da.Revolute, da.Spherical, da.Universal)  # as the rail does: two for one mass
    before = rail = m.add_body("rail", mass=0.4 if slides else 0.0)
    m.add_joint("rail", da.Prismatic("x"), m.ground, rail)
    m.add_kinematic_input("lead", "rail")
    for k, kind in enumerate(kinds):
        own = mass if k == 1 else rng.uniform(0.5, 2.0)
        body = m.add_body(f"b{k}", mass=own, com=rng.normal(size=3) * 0.2, inertia=tuple(rng.uniform(0.3, 0.4, size=3)))
        m.add_joint(f"j{k}", random_joint(rng, kind), before.at(*rng.normal(size=3) * 0.4), body)
        before = body
    m.add_spring("spring", body.at(*rng.normal(size=3)), m.ground.at(*rng.normal(size=3)), stiffness=stiffness,
                 rest_length=0.5, damping=0.3)  # fmt: skip
    m.add_motor("motor", "j0" if len(m.joints["j0"].joint.velocity_names) == 1 else "rail")
    tree = m.compile(backend="casadi")
    x = random_state(tree, seed)
    eye = body.at(*rng.normal(size=3) * 0.3)
    T = tree.pose(x, eye)
    there = m.ground.at(*T[:3, 3], rotation=Transform(T[:3, :3], T[:3, 3]).R)
    m.close_loop("loop", da.Spherical(), eye, there)
    m.add_point_in_plane("again", there, eye, rng.normal(size=3))
    system = m.compile(backend="casadi")
    return system, system.project(system.state(x.q, x.v, 0.3))


class Equations:
    """R(x, z) of a step from the kinetic energy, the forces and the constraints of a system, by their names."""

    def __init__(self, system: da.System, rows):
        self.system, self.rows = system, rows

    def f(self, name, **given):
        f = self.system.function(name, **({"rows": self.rows} if name == "constraints" else {}))
        return f(*(given[k] for k in f.name_in()))

    def residual(self, q0, v0, u, p, delta, lam, v1, mu, t):
        n, h, led = self.system.nv, STEP, list(self.system.description.prescribed.values())
        e, zero = ca.SX.sym("e", n), ca.SX.zeros(n)

        def plus(q, d):
            return self.f("plus", q=q, dq=d)

        def minus(a, b):
            return self.f("minus", q1=a, q=b)

        def slope(value):
            return ca.substitute(ca.gradient(value, e), e, zero)

        def momentum(q, v):
            return slope(self.f("kinetic_energy", q=q, v=v + e, p=p))

        q1, middle = plus(q0, delta), plus(q0, delta / 2)
        at = {"q": middle, "v": delta / h, "u": u, "p": p, "t": t + h / 2}
        Q = self.f("applied_forces", **at) - self.f("gravity_vector", **at)

        def action(q, d):
            mean = plus(q, d / 2)
            return h * (self.f("kinetic_energy", q=mean, v=d / h, p=p) + ca.dot(Q, minus(mean, middle)))

        moved = plus(q0, e)
        first = slope(action(moved, minus(q1, moved)))
        last = slope(action(q0, minus(plus(q1, e), q0)))
        (_, A0, _), (phi, A1, b1) = (self.f("constraints", q=q, p=p, t=s) for q, s in ((q0, t), (q1, t + h)))
        start = momentum(q0, v0) + first + A0.T @ lam
        end = momentum(q1, v1) - last - A1.T @ mu
        start[led] = delta[led] - h * v0[led] - h * h / 2 * u[: len(led)]
        end[led] = v1[led] - v0[led] - h * u[: len(led)]
        return ca.vertcat(start, phi, end, A1 @ v1 + b1)


@pytest.mark.parametrize("seed", range(6))
def test_steps_of_random_machines_have_the_derivatives_of_their_equations(seed):
    system, x = machine(seed)
    rng = np.random.default_rng([seed, 43])
    assert system.u_names[0] == "lead"
    u, p = rng.normal(size=len(system.u_names)), system.arguments.parameter_vector(None)
    step = da.discrete_step(system, x, STEP, u=u)
    names = list(system.row_names)
    assert len(step.rows) < len(names)  # a row is said twice
    equations = Equations(system, tuple(names.index(row) for row in step.rows))
    nz = step.slopes.rows.implicit.stop
    Z = step.slopes.first[0, :nz]
    w = rng.normal(size=Z.shape[1])
    once, twice = Z @ w, step.slopes.second(w[None])[0, :nz] @ w
    n, m, s = system.nv, len(step.rows), ca.SX.sym("s")
    z = np.concatenate([step.delta, step.multipliers, step.after.v, step.end_multipliers])
    wq, wv, wu, wp = np.split(w, np.cumsum([n, n, len(u)]))
    delta, lam, v1, mu = ca.vertsplit(z + s * once + s * s * twice / 2, [0, n, n + m, 2 * n + m, 2 * n + 2 * m])
    q0 = system.function("plus")(x.q, s * wq)
    R = equations.residual(q0, x.v + s * wv, u + s * wu, p + s * wp, delta, lam, v1, mu, x.t)
    first = ca.jacobian(R, s)
    found = ca.Function("R", [s], [R, first, ca.jacobian(first, s)])(0.0)
    frozen = equations.residual(q0, x.v + s * wv, u + s * wu, p + s * wp, *np.split(z, [n, n + m, 2 * n + m]), x.t)
    direct = ca.jacobian(frozen, s)  # z held: the size of what must cancel
    held = ca.Function("d", [s], [frozen, direct, ca.jacobian(direct, s)])(0.0)
    for value, term, near in zip(found, held, (1e-11, 1e-9, 1e-8)):
        assert np.abs(np.array(value)).max() < near * max(1.0, np.abs(np.array(term)).max())
