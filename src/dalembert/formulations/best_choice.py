"""The native part of `choice`."""

from __future__ import annotations

from math import sqrt

from dalembert.formulations.choice import Choice
from dalembert.linalg import cholesky, solve_upper_transposed
from dalembert.native.jit import entry, native
from dalembert.outcome import OK
from dalembert.rank import EVEN

RESOLVED = 1e-10  # of the largest squared distance: what is left of others is known no better


@entry(Choice)
def best(c):
    """c.chosen ← the coordinates that `rank.independent` takes, and c.found ← whether they are so for sure."""
    c.found = 0
    if _orthonormal(c) and _implied(c) and _choose(c):
        c.found = 1


@native
def _orthonormal(c):
    """c.rows ← K orthonormal in the mass metric. Returns whether it could be made so."""
    n, k, K, M, G, rows = c.n, c.k, c.K, c.M, c.upper, c.rows
    for a in range(k):
        for b in range(k):
            G[a, b] = 0.0
    for i in range(n):
        for b in range(k):
            total = 0.0
            for j in range(n):
                total += M[i, j] * K[j, b]
            for a in range(b + 1):
                G[a, b] += K[i, a] * total
    status, _, _ = cholesky(G, G)
    for i in range(n):
        for a in range(k):
            rows[i, a] = K[i, a]
        solve_upper_transposed(G, rows[i])
    return status == OK


@native
def _implied(c):
    """Whether all rows of A vanish on these motions: those that are left out follow from the others."""
    for r in range(c.m):
        total = 0.0
        for a in range(c.k):
            along = 0.0
            for i in range(c.n):
                along += c.A[r, i] * c.rows[i, a]
            total += along * along
        if not sqrt(total) <= c.vanish * c.sizes[r]:
            return False
    return True


@native
def _choose(c):
    """Gram and Schmidt's method with pivoting, as `rank.independent`. Returns whether each step was clear."""
    n, k, rows, taken, square = c.n, c.k, c.rows, c.taken, c.square
    largest = 0.0
    for i in range(n):
        scale, total = sqrt(c.M[i, i]), 0.0
        for a in range(k):
            rows[i, a] *= scale
            total += rows[i, a] ** 2
        taken[i], square[i] = 0, total
        largest = max(largest, total)
    doubt = RESOLVED * largest
    for step in range(k):
        pick = c.chosen[step]
        if step >= c.fixed:
            farthest = 0.0
            for i in range(n):
                if taken[i] == 0:
                    farthest = max(farthest, square[i])
            pick, least = -1, (1.0 - EVEN) * farthest
            for i in range(n):
                if taken[i] == 0:
                    if abs(square[i] - least) <= doubt:
                        return False
                    if pick < 0 and square[i] > least:
                        pick = i
            if pick < 0:
                return False
        if not square[pick] > doubt:
            return False
        taken[pick] = 1 if step < c.fixed else 2
        for i in range(n):
            if taken[i] == 0:
                share, total = 0.0, 0.0
                for a in range(k):
                    share += rows[i, a] * rows[pick, a]
                share /= square[pick]
                for a in range(k):
                    rows[i, a] -= share * rows[pick, a]
                    total += rows[i, a] ** 2
                square[i] = total
    at = c.fixed
    for i in range(n):
        if taken[i] == 2:
            c.chosen[at] = i
            at += 1
    return True
