"""The point from which levels are solved: one that keeps the inequalities, or misses them by as little as can be.

Of G x ≥ h the first rows are hard and x keeps them. With the others, i, it becomes

    x of the hard rows that makes f(x) = ½ Σ max(0, h_i − G_i x)² least                                            (1)

f is convex, its slope is continuous, and where the set of broken rows does not change it is the least-squares problem
of these rows: Newton's method with exact line search, along the hard rows that are active as `levels` does it.
"""

from __future__ import annotations

from dalembert.control.native.levels import ROUNDS, TOUCHING, clear, descend, first_broken, hold, release
from dalembert.linalg import dot
from dalembert.native.jit import native


@native
def feasible(s, hard):
    """Bring x to (1), the first `hard` rows being hard; h of rows that cannot be kept is lowered to what is."""
    n, count, G, h, x, step = s.n, s.count, s.G, s.h, s.x, s.step
    s.count, s.whole = hard, 0.0
    clear(s)
    for rounds in range(ROUNDS * (count + n) + 1):
        if not gather(s, hard, count):
            break
        descend(s)
        most, first = first_broken(s)
        part, straight = least_along(s, hard, count, most)
        for j in range(n):
            x[j] += part * step[j]
        if first >= 0 and part >= most:
            hold(s, first)
        elif straight and not release(s, rounds > 2 * (count + n)):
            break
    s.count = count
    for i in range(hard, count):
        h[i] = min(h[i], dot(G, i, x, 0, 0, n))


@native
def gather(s, hard, count):
    """The broken rows as a level, by how much every soft row is broken into `miss`. Returns whether there are any."""
    n, G, h, x, A, b, miss = s.n, s.G, s.h, s.x, s.A, s.b, s.miss
    rows = 0
    for i in range(hard, count):
        miss[i], terms = h[i], abs(h[i])
        for j in range(n):
            miss[i] -= G[i, j] * x[j]
            terms += abs(G[i, j] * x[j])
        if miss[i] > TOUCHING * terms:
            b[rows] = h[i]
            for j in range(n):
                A[rows, j] = G[i, j]
            rows += 1
    s.rows = rows
    return rows > 0


@native
def least_along(s, hard, count, most):
    """The part of the step, `most` at most, at which f is least; and whether no row is broken or mended on the way."""
    n, G, step, miss, mend, when = s.n, s.G, s.step, s.miss, s.mend, s.when
    for i in range(hard, count):  # miss − part × mend is zero at the part `when`
        mend[i] = dot(G, i, step, 0, 0, n)
        when[i] = miss[i] / mend[i] if mend[i] != 0.0 else 0.0
    part, straight = 0.0, True
    for _ in range(2 * (count - hard) + 1):
        slope, curvature, ahead = 0.0, 0.0, most
        for i in range(hard, count):
            if mend[i] != 0.0:
                if (mend[i] > 0.0) == (when[i] > part):
                    slope -= (miss[i] - part * mend[i]) * mend[i]
                    curvature += mend[i] * mend[i]
                if when[i] > part:
                    ahead = min(ahead, when[i])
        if slope >= 0.0:
            break
        least = part - slope / curvature
        if least <= ahead:
            return least, straight
        part, straight = ahead, False
        if part >= most:
            break
    return part, straight
