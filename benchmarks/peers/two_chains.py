"""P1 and P2 as one derives them on paper: two chains of bars in absolute angles θ, meeting in a pin.

    M_ij = c_ij cos(θ_i − θ_j),   f_i = −Σ_j c_ij sin(θ_i − θ_j) θ̇_j² − w_i cos θ_i
    Φ = Σ ± L_i e(θ_i) − (d, 0),  A = Φ_θ,  γ = −Σ ± L_i e(θ_i) θ̇_i²

c and w are sums of masses and lengths. Two bars of the loop follow from the others by the intersection of two circles:
the others are the minimal coordinates. On P2 those two are coupler and rocker; on P1 the outer bars, the only pair that
never comes into one line (bars 1 and 2, and 2 and 3, do).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.description import WORLD
from benchmarks.motions import Motion


@dataclass(frozen=True)
class TwoChains:
    """The numbers of the mechanism and its start."""

    c: np.ndarray
    w: np.ndarray
    sl: np.ndarray  # ± L, plus on the left chain
    d: float
    parent: np.ndarray  # chain index, −1 for those on the ground
    lead: np.ndarray  # indices of the minimal coordinates
    dyad: np.ndarray  # indices of the other two, one on the left, one on the right
    side: float  # which of the two intersections of circles the dyad takes
    theta: np.ndarray
    omega: np.ndarray

    def joints(self, x: np.ndarray) -> np.ndarray:
        """Joint coordinates or velocities from absolute ones, a state a row."""
        out = x.copy()
        for k, i in enumerate(self.parent):
            if i >= 0:
                out[:, k] -= x[:, i]
        return out


def two_chains(motion: Motion) -> TwoChains:
    """From the description of P1 or P2."""
    links, (closure,) = motion.model.links, motion.model.closures
    n, g = len(links), -motion.model.gravity[1]
    parent = np.array([link.parent for link in links])
    L = np.empty(n)
    L[closure.a], L[closure.b] = closure.at_a[0], closure.at_b[0]
    for link in links:
        if link.parent != WORLD:
            L[link.parent] = link.at[0]
    c, w, sl = np.zeros((n, n)), np.zeros(n), L.copy()
    for k, link in enumerate(links):
        reach = {k: link.com[0]}  # how far along which bars the centre of mass is
        if parent[k] >= 0:
            reach[parent[k]] = L[parent[k]]
        for i, a in reach.items():
            w[i] += g * link.mass * a
            for j, b in reach.items():
                c[i, j] += link.mass * a * b
        c[k, k] += link.inertia[2, 2]
    sl[[closure.b, *([parent[closure.b]] if parent[closure.b] >= 0 else [])]] *= -1.0
    dyad = np.array([0, 3]) if n == 4 else np.array([1, 2])
    lead = np.array([k for k in range(n) if k not in dyad])
    theta, omega = motion.q.copy(), motion.v.copy()
    for k in range(n):
        if parent[k] >= 0:
            theta[k] += theta[parent[k]]
            omega[k] += omega[parent[k]]
    base = links[int(parent[closure.b]) if parent[closure.b] >= 0 else closure.b].at[0]
    side = np.sign(np.sin(theta[dyad[1]] - theta[dyad[0]]))
    return TwoChains(c, w, sl, base, parent, lead, dyad, side, theta, omega)
