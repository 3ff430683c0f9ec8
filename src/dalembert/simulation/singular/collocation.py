"""A motion across a singular position, by collocation with nodes before and behind it.

With p the polynomial through the rates ẋ of states beside the position,

    x(c_i Δt) = x(0) + Δt ∫₀^c_i p(c) dc,   p(c_i) = ẋ(x(c_i Δt)),                                         (1)

each state brought back to the manifold, until the one behind settles. From a state before the position the nodes c are
−½, 0, 1, 1½; from one in it, whose v, or from rest v̇, is on the tangent cone, they are 1, 1½, 2 (with 0 for q).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.ruler import Ruler
from dalembert.system.state import State
from dalembert.system.system import System

ROUNDS = 6  # of (1)
AROUND, BEHIND = (-0.5, 0.0, 1.0, 1.5), (0.0, 1.0, 1.5, 2.0)  # c of (1)

Course = Callable[[float], State]  # states by the time since its start, s


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion as its velocity and acceleration at a state x tell, and the jerk, where it is slow."""

    system: System
    x: State
    v: np.ndarray  # (nv,)
    vdot: np.ndarray  # (nv,)
    jerk: np.ndarray | None = None  # (nv,) by which the acceleration grows

    def __call__(self, s: float) -> State:
        """The state a time later."""
        way, v = s * self.v + 0.5 * s**2 * self.vdot, self.v + s * self.vdot
        if self.jerk is not None:
            way, v = way + s**3 / 6.0 * self.jerk, v + 0.5 * s**2 * self.jerk
        return self.x.replace(q=self.system.plus(self.x, way), v=v, t=self.x.t + s)


class Settled(NamedTuple):
    """A motion that (1) has found."""

    after: State  # at c = 1
    course: Course
    works: np.ndarray  # done until then
    error: float  # of the velocity there, relative: about


@dataclass(frozen=True, eq=False)
class Collocation:
    """What (1) asks of a run."""

    system: System
    p: np.ndarray
    rates: Callable[[float, np.ndarray], np.ndarray]  # ẋ at t and x = (q, v, works), where σ > hit
    land: Callable[[State, float], State | None]  # the nearest state on the manifold; None where σ is less than given
    ruler: Ruler

    @property
    def works(self) -> np.ndarray:
        """Of a motion that has not begun."""
        return np.zeros(len(self.system.work_names))

    def acceleration(self, x: State) -> np.ndarray:
        """(nv,) at a regular state."""
        nq = self.system.nq
        return self.rates(x.t, np.concatenate([x.q, x.v, self.works]))[nq : nq + self.system.nv]

    def settled(self, motion: Motion, there: State, least: float, before: bool) -> Settled:
        """From a motion and the state behind the position that it leads to, where σ is at least `least`.

        before: whether the motion begins at a regular state, so that its rates count.
        """
        x, nq, n, time = motion.x, self.system.nq, self.system.nq + self.system.nv, there.t - motion.x.t
        nodes, rest = AROUND if before else BEHIND, motion.jerk is not None and not motion.v.any()
        start = np.concatenate([x.q, motion.v, self.works])
        rates = {0.0: self.rates(x.t, start)}
        if rest:  # nothing but v̇ changes in the position, and that is known
            rates[0.0] = np.concatenate([np.zeros(nq), motion.vdot, self.works])

        def moved(c: float) -> np.ndarray:
            out = start + time * _integral(nodes if before or rest else nodes[1:], rates, c)
            if not before and not rest:
                out[:nq] = start[:nq] + time * _integral(nodes, rates, c)[:nq]
            return out

        def course(s: float) -> State:
            if len(rates) < len(nodes):
                return motion(s)
            out = moved(s / time)
            return x.replace(q=out[:nq], v=out[nq:n], t=x.t + s)

        states = {c: self.land(motion(c * time), 0.0) for c in nodes if c not in (0.0, 1.0)} | {1.0: there}
        first, works, error = np.inf, self.works, np.inf
        for k in range(ROUNDS):
            if any(state is None for state in states.values()):
                break
            found = {c: self.rates(s.t, np.concatenate([s.q, s.v, works])) for c, s in states.items() if s is not None}
            if not all(np.isfinite(rate).all() for rate in found.values()):
                break
            rates |= found
            states = {c: self.land(course(c * time), least if c == 1.0 else 0.0) for c in states}
            again = states[1.0]
            if again is None:
                break
            change, works = self._change(there, again), moved(1.0)[n:]
            there, first = again, change if k == 0 else first
            error = max(change, first**2.5, self._change(course(time), again) ** 2)  # else it is on another branch
            if change <= self.ruler.settled or change > self.ruler.turning:
                break
        return Settled(there, course, works, error)

    def _change(self, there: State, again: State) -> float:
        """Change of a velocity, relative, in the mass metric."""
        free = np.setdiff1d(np.arange(self.system.nv), list(self.system.description.prescribed.values()))
        M = self.system.mass_matrix(again, p=self.p)[np.ix_(free, free)]
        change, speed = (again.v - there.v)[free], again.v[free]
        return float(np.sqrt(change @ M @ change / max(speed @ M @ speed, 1e-300)))


def _integral(nodes: tuple[float, ...], rates: Mapping[float, np.ndarray], end: float) -> np.ndarray:
    """The integral from 0 to `end` of the polynomial through rates at nodes: Σ w_i rates_i, exact for powers of c."""
    powers = np.arange(len(nodes))
    weights = np.linalg.solve(np.array(nodes) ** powers[:, None], end ** (powers + 1.0) / (powers + 1.0))
    return np.einsum("i,ij->j", weights, np.stack([rates[c] for c in nodes]))
