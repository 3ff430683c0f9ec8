"""Second derivatives of accelerations and multipliers against automatic differentiation and differences."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.analysis.mobility import independent_rows
from random_loops import random_closed


def by_casadi(system, x, u, rows):
    """∂²(v̇, λ) by forward sweeps through a dense solution of [M −Aᵀ; A 0], M by composite bodies."""
    f = system.function("constrained", rows=rows)
    plus = system.function("plus")
    n, m = system.nv, len(system.rows.of) if rows is None else len(rows)
    sizes = {"q": n, "v": n, "u": len(u), "p": len(system.p_names)}
    first, second = ({k: ca.MX.sym(f"{k}{i}", s) for k, s in sizes.items()} for i in (1, 2))
    here = {"q": x.q, "v": x.v, "u": u, "p": system.arguments.parameter_vector(None), "t": np.array([x.t])}
    moved = {
        "q": plus(plus(here["q"], second["q"]), first["q"]),
        **{k: here[k] + second[k] + first[k] for k in "vup"},
        "t": here["t"],
    }
    M, force, A, gamma = f(*(moved[name] for name in f.name_in()))
    A, gamma = (ca.reshape(A, m, n), gamma) if m else (ca.MX(0, n), ca.MX(0, 1))
    K = ca.blockcat([[M, -A.T], [A, ca.MX(m, m)]])
    z = ca.solve(ca.densify(K), ca.densify(ca.vertcat(force, -gamma)), "lapacklu")
    one, two = (ca.vertcat(*d.values()) for d in (first, second))
    J = ca.jacobian(z, one)
    H = ca.jacobian(ca.vec(J), two)
    g = ca.Function("H", [one, two], [H])
    size = sum(sizes.values())
    out = np.array(g(np.zeros(size), np.zeros(size)))
    return out.reshape(size, n + m, size).transpose(1, 0, 2)


def agree(found, expected, tolerance):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def parametric():
    """A pendulum on a ball joint whose tip stays on a plane; length and mass are parameters, a motor drives it."""
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    L, mass = m.add_parameter("L", 0.5), m.add_parameter("mass", 1.3)
    a = m.add_body("a", mass=mass, com=(0.1, 0.2, -0.3), inertia=(0.3, 0.4, 0.5))
    b = m.add_body("b", mass=1.0, com=(0.1, 0.2, -0.3), inertia=(0.3, 0.4, 0.5))
    m.add_joint("ball", da.Spherical(), m.ground, a)
    m.add_joint("hinge", da.Revolute("x"), a.at(0, 0.1, -L), b, damping=0.2)
    m.add_motor("motor", "hinge")
    m.add_point_in_plane("floor", b.at(0, 0, -0.5), m.ground.at(0, 0, -0.9), (0, 0, 1))
    system = m.compile(backend="casadi")
    return system, system.assemble(v={"ball.wx": 0.4, "ball.wz": -0.8})


MODELS = {
    "parameters": parametric,
    **{f"random {seed}": lambda seed=seed: random_closed(seed, bodies=3 + seed % 2, loops=1) for seed in (0, 1, 3, 4)},
}


@pytest.mark.parametrize("name", MODELS)
def test_second_derivatives_are_those_of_automatic_differentiation(name):
    system, x = MODELS[name]()
    u = np.random.default_rng(5).normal(size=len(system.u_names))
    rows = independent_rows(system, x, None) if system.rows.of else None
    expected = by_casadi(system, x, u, rows)
    n = system.nv
    options = {"u": u, "inputs": True, "parameters": True}
    for of, part in (("vdot", expected[:n]), ("multipliers", expected[n:])):
        H = da.second_derivatives(system, x, of=of, **options)
        agree(H, part, 1e-9)
        rng = np.random.default_rng(7)
        d, w = rng.normal(size=H.shape[2]), rng.normal(size=len(H))
        agree(da.second_derivatives(system, x, of=of, direction=d, **options), H @ d, 1e-12)
        agree(da.second_derivatives(system, x, of=of, weights=w, **options), np.tensordot(w, H, 1), 1e-12)


@pytest.mark.parametrize("name", ["ssrms", "stewart", "hand"])
def test_the_machines_of_the_papers_have_second_derivatives(name):
    """Along a direction: differences of `linearize_full`, extrapolated."""
    system = getattr(zoo, name)().compile(backend="casadi")
    x = system.project(system.state(*getattr(zoo, f"{name}_start")()))
    rng = np.random.default_rng(2)
    x = system.project(x.replace(v=0.3 * rng.normal(size=system.nv)))
    u, n = rng.normal(size=len(system.u_names)), system.nv
    d = rng.normal(size=2 * n)

    def slopes(s):
        moved = x.replace(q=system.plus(x, s * d[:n]), v=x.v + s * d[n:])
        found = system.evaluate("acceleration_derivatives", moved, rows=rows, u=u)
        return np.vstack([np.hstack(found[2:4]), np.hstack(found[6:8])])

    rows = independent_rows(system, x, None)
    h = 1e-4
    a, b, c, e = (slopes(k * h) for k in (2, 1, -1, -2))
    expected = (8 * (b - c) - (a - e)) / (12 * h)
    found = [da.second_derivatives(system, x, u=u, of=of, direction=d) for of in ("vdot", "multipliers")]
    for part, other in zip(found, (expected[:n], expected[n:])):
        agree(part, other, 2e-6)
