"""Contact problems with friction cones for tests: random ones, their native solution and an enumeration of modes."""

from itertools import product

import numpy as np

from dalembert.integrators.cone_problem import ConeProblem
from dalembert.native import library


def problem(G, q, elements, start=None, tolerance=1e-12, sweeps=8):
    """A `ConeProblem`; elements: (has a normal, tangential rows, μ, F)."""
    k = len(q)
    c = ConeProblem.sized(
        room=k, places=len(elements), rows=k, elements=len(elements), tolerance=tolerance, enough=tolerance,
        sweeps=sweeps, rounds=20,
    )  # fmt: skip
    c.G[:], c.q[:] = G, q
    if start is not None:
        c.z[:] = start
    at = 0
    for e, (normal, across, mu, bound) in enumerate(elements):
        c.first[e], c.normal[e], c.across[e], c.mu[e], c.bound[e] = at, normal, across, mu, bound
        at += normal + across
    return c


def solved(*given, **options):
    """The problem after the native solver."""
    c = problem(*given, **options)
    library.call("solve_cone", c)
    return c


def random_elements(rng, most=8, friction=1.0):
    """Contacts in space and in a plane, stops, and joints with dry friction."""
    kinds = [
        lambda: (1, 0, 0.0, 0.0),
        lambda: (0, 1, 0.0, float(rng.uniform(0, 1))),
        lambda: (1, 1, float(rng.uniform(0, friction)), 0.0),
        lambda: (1, 2, float(rng.uniform(0, friction)), 0.0),
    ]
    return [kinds[int(rng.integers(4))]() for _ in range(int(rng.integers(1, most + 1)))]


def random_rows(rng, elements, nv):
    """(k, nv) whitened rows of very different lengths."""
    k = sum(normal + across for normal, across, _, _ in elements)
    return rng.normal(size=(k, nv)) * 10 ** rng.uniform(-1, 1, size=(k, 1))


def residual(G, q, elements, z):
    """Largest violation of Signorini's and Coulomb's laws, said without projections; w for rows of unit length."""
    size = np.sqrt(np.diag(G))
    w, worst, at = G @ z + q, 0.0, 0
    scale = max(np.abs(q / size).max(), np.abs(z * size).max()) or 1.0
    for normal, across, mu, bound in elements:
        room = bound
        if normal:
            n, wn, s = z[at], w[at], size[at]
            worst = max(worst, -n * s, -wn / s, min(abs(n * s), abs(wn / s)))
            room += mu * max(n, 0.0)
            at += 1
        if across:
            s = size[at : at + across].max()
            t, slip = z[at : at + across] * s, w[at : at + across] / s
            worst = max(worst, float(np.linalg.norm(t)) - room * s)
            speed = float(np.linalg.norm(slip))
            along = float(np.linalg.norm(speed * t + room * s * slip)) / scale  # all of the friction against the slip
            worst = max(worst, along)
            at += across
    return worst / scale


def enumerated(G, q, elements):
    """All solutions of a problem with at most one tangential row an element, by trying every mode."""
    modes = []
    for normal, across, _, _ in elements:
        ways = ["stick", -1.0, 1.0] if across else ["none"]
        modes.append([("open", "none")] * normal + [("closed" if normal else "joint", way) for way in ways])
    return [z for mode in product(*modes) if (z := _in_mode(G, q, elements, mode)) is not None]


def _in_mode(G, q, elements, mode):
    k, at = len(q), 0
    M, right = np.eye(k), np.zeros(k)
    for (normal, across, mu, bound), (state, way) in zip(elements, mode):
        n = at
        if normal and state == "closed":
            M[at], right[at] = G[at], -q[at]
        at += normal
        if across and state != "open":
            if way == "stick":
                M[at], right[at] = G[at], -q[at]
            else:
                right[at] = way * bound
                if normal:
                    M[at, n] = -way * mu
        at += across
    if abs(np.linalg.det(M)) < 1e-12:
        return None
    z = np.linalg.solve(M, right)
    return z if residual(G, q, elements, z) < 1e-9 else None
