"""A tree with a planar, a quaternion and a screw joint on which forces are tried, and the gradient of its energy."""

import casadi as ca
import numpy as np

import dalembert as da


def crane(**extra) -> da.Mechanism:
    m = da.Mechanism("crane", gravity=(0, 0, -9.81))
    a = m.add_body("a", mass=1.0, com=(0.2, 0, 0), inertia=(0.2, 0.2, 0.2))
    b = m.add_body("b", mass=2.0, com=(0, 0.1, 0.3), inertia=(0.3, 0.4, 0.5))
    c = m.add_body("c", mass=0.5, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", da.Planar("y"), m.ground, a, **extra.get("A", {}))
    m.add_joint("B", da.Spherical(), a.at(0.5, 0, 0), b, **extra.get("B", {}))
    m.add_joint("C", da.Screw("z", pitch=0.1), b.at(0, 0.4, 0), c, **extra.get("C", {}))
    return m


def gradient(system, q, p=()):
    """∂U/∂δ at q, by AD."""
    d = ca.SX.sym("d", system.nv)
    U = system.function("potential_energy")(system.function("plus")(q, d), *p)
    return np.array(ca.Function("g", [d], [ca.gradient(U, d)])(np.zeros(system.nv))).ravel()
