"""Derivatives by CasADi's automatic differentiation of the traced equations: the oracle of the derivative tests."""

from __future__ import annotations

import casadi as ca
import numpy as np

import dalembert as da


def differentiated(system: da.System, name: str, output: int, by: tuple[str, ...], keep=None):
    """A function of the same arguments: ∂(output)/∂x for x in `by`; "q" means δ at q ⊕ δ."""
    f = system.function(name, rows=keep)
    given = [ca.SX.sym(n, f.numel_in(i)) for i, n in enumerate(f.name_in())]
    delta = ca.SX.sym("delta", system.nv)
    moved = [system.function("plus")(x, delta) if n == "q" else x for n, x in zip(f.name_in(), given)]
    value = f.call(moved, True, False)[output]
    known = dict(zip(f.name_in(), given)) | {"q": delta}
    zero = ca.SX.zeros(system.nv)
    slopes = [ca.substitute(ca.jacobian(value, known[n]), delta, zero) for n in by]
    return ca.Function("oracle", given, slopes, f.name_in(), [f"by_{n}" for n in by])


def evaluated(f: ca.Function, system: da.System, x: da.State, **more):
    """Its outputs at a state, as arrays."""
    known = {
        "q": x.q,
        "v": x.v,
        "p": system.arguments.parameter_vector(None),
        "u": system.arguments.input_vector(None),
        "t": x.t,
    } | more
    out = f.call([ca.DM(known[n]) for n in f.name_in()])
    return [np.array(y) for y in out]


def close(found, expected, tolerance=1e-9):
    """Within a tolerance relative to the largest expected number."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, np.reshape(expected, np.shape(found)), rtol=0, atol=tolerance * scale)
