"""Across a singular position, from a state in it or just before it to a regular one on the branch the motion selects.

Next to the position doubles do not tell the branches apart, and the acceleration along weak rows is 0/0. So the motion
is carried over by v Δt + ½ v̇ Δt², a way of about 1e-5 in σ, and brought back to the manifold behind it; once more with
the acceleration found there, which makes the error in v of third order. A state in the position itself (σ ≤ hit) has
v, or from rest v̇, on the tangent cone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.manifold import Tangent, tangent_of_motion
from dalembert.analysis.tangent_cone import TangentCone, exists
from dalembert.simulation.causes import cause, drives_against
from dalembert.system.state import State
from dalembert.system.system import System

FAR = 1e-5  # σ behind the position where the motion is taken up again, at least
CLOSEST = 1e-6  # σ down to which a position that seems not to exist is approached: branches that avoid each other
TOGETHER = 10.0  # times the smallest singular value: others up to this vanish in the same position
REST = 1e-3  # of the speed that the acceleration gives on the way: a slower start is one from rest
SUNK = 1e-2  # of σ before a position: what is left of it there, at most
SETTLED = 0.1  # of a velocity: what a better acceleration may change it by behind a position
TURNING = 0.1  # of a velocity: what it may change by on the way across a position that is met
EXACT = 1e-12  # σ of a position that a state is in: which velocities motions have is told by the cone alone
ASIDE = 1e-3  # of a velocity: what it may differ by there from one that a motion has
BESIDE = 1e-2  # the same of a state whose distance is not resolved, if it is to tell how the motion goes on
STAY = 1e-2  # of the time that is left: a step in a position that nothing moves the mechanism out of
BLOCKED = "no motion leads through this position with the velocity at hand"


class Crossing(NamedTuple):
    """A singular position, and the state after it."""

    position: State
    after: State
    determined: bool | None  # whether the motion selects one branch; None: as that of any motion that meets it


@dataclass(frozen=True, eq=False)
class Crosser:
    """Crosses the singular positions of a run; `cross` returns a sentence where no motion continues."""

    system: System
    p: np.ndarray
    u: Any
    vdot: Callable[[State], np.ndarray]  # the acceleration where σ > hit
    power: Callable[[State], float]  # of inputs and forces without potential, W
    land: Callable[[State, float], State | None]  # the nearest state on the manifold; None where σ is less than given
    usual: int  # rank of the constraints elsewhere
    hit: float  # σ of a position that is met
    left: float  # s until the end of the run

    def cross(self, x: State) -> Crossing | str | None:
        """From a state at, or just before, a singular position to one after it; None where it may still be missed."""
        here = tangent_of_motion(self.system, x, self.p)
        sigma = here.sigma[: self.usual]
        now = float(sigma[-1])
        rank = int((sigma > max(TOGETHER * now, 4.0 * self.hit)).sum())
        cone = TangentCone.of(self.system, x, self.p, rank, self.usual, here, self.u)
        if drives_against(self.system, x, self.p, cone):
            return cause(self.system, x, self.p, self.usual, self.u)
        target = max(FAR, 30.0 * self.hit, now)
        if now > self.hit:
            return self._met_ahead(x, cone, now, rank, target)
        vdot = self._acceleration(x, cone, rank)
        along, y = cone.local(cone.c + vdot), cone.local(x.v)
        if not along.any() and not y.any():
            return Crossing(x, x.replace(v=cone.c, t=x.t + STAY * self.left), False)
        time = np.sqrt(2.0 * target / max(cone.opening(along), 1e-300))
        if np.linalg.norm(y) <= REST * time * np.linalg.norm(along):
            return self._from_rest(x, cone, along, target)
        on = cone.nearest_as_long(y)
        aside = np.inf if on is None else float(np.linalg.norm(on - y) / np.linalg.norm(y))
        if on is None or (now <= EXACT and aside > ASIDE):
            return BLOCKED
        time = target / max(cone.opening(on), 1e-300)
        determined = aside < BESIDE and cone.selects(on)
        determined = determined and exists(self.system, x, self.p, rank, self.usual, self.u)
        return self._carried(x, cone.c + cone.K @ on, vdot, 0.0, time, 0.25 * target, determined)

    def _met_ahead(self, x: State, cone: TangentCone, now: float, rank: int, target: float) -> Crossing | str | None:
        """Across a position straight ahead, if there is one; None where there is none, or it is still far away."""
        y, vdot = cone.local(x.v), self.vdot(x)
        opening = cone.opening(y)
        if not opening * self.left > now:
            return None
        until, least = self._least(x, vdot, now / opening)
        time = until + target / opening
        turned = time * float(np.linalg.norm(cone.local(cone.c + vdot)))
        if turned > TURNING * np.linalg.norm(y) or least > max(self.hit, SUNK * now):
            return None
        found = self._carried(x, x.v, vdot, until, time, 0.25 * target, None)
        if isinstance(found, str):
            return found
        if exists(self.system, found.position, self.p, rank, self.usual, self.u):
            return found
        return None if now > CLOSEST else found._replace(determined=False)

    def _least(self, x: State, vdot: np.ndarray, guess: float) -> tuple[float, float]:
        """When σ is least on the way straight on, s from now on, and σ there: by parabolas through σ²."""

        def square(s: float) -> float:
            ahead = self._moved(x, s, x.v, vdot, vdot)
            return float(tangent_of_motion(self.system, ahead, self.p).sigma[self.usual - 1]) ** 2

        time, d = guess, 0.1 * guess
        for _ in range(3):
            left, here, right = square(time - d), square(time), square(time + d)
            bend = left - 2.0 * here + right
            if not bend > 0.0:
                break
            time = min(max(time + 0.5 * d * (left - right) / bend, 0.0), 2.0 * guess)
        return time, square(time) ** 0.5

    def _from_rest(self, x: State, cone: TangentCone, along: np.ndarray, target: float) -> Crossing | str:
        """Out of the position, along the acceleration on the cone that is nearest to the one without weak rows."""
        size = float(np.linalg.norm(along))
        found = [y for y in cone.others(along) if np.linalg.norm(y) > 1e-6 * size]
        if not found:
            return "no acceleration leads out of this position"
        found.sort(key=lambda y: float(np.linalg.norm(y - along)))
        gaps = [float(np.linalg.norm(y - along)) for y in found]
        unique = len(found) == 1 or gaps[1] > gaps[0] + 1e-6 * size
        time = np.sqrt(2.0 * target / max(cone.opening(found[0]), 1e-300))
        determined = unique and cone.selects(found[0])
        return self._carried(x, cone.c, cone.K @ found[0], 0.0, time, 0.25 * target, determined)

    def _carried(
        self,
        x: State,
        v: np.ndarray,
        vdot: np.ndarray,
        until: float,
        time: float,
        least: float,
        determined: bool | None,
    ) -> Crossing | str:
        """The state a time later, or as much more later as σ needs to be at least `least`; `until`: to the position."""
        position = self._moved(x, until, v, vdot, vdot) if until else x
        for _ in range(12):
            time = min(time, self.left)
            there = self.land(self._moved(x, time, v, vdot, vdot), least)
            if there is not None:
                again = self.land(self._moved(x, time, v, vdot, self.vdot(there)), least)
                if again is None or not self._settled(there, again):
                    determined = False
                return Crossing(position, self._with_energy(x, again or there), determined)
            if time == self.left:
                return Crossing(position, self._moved(x, time, v, vdot, vdot), determined)
            time *= 1.3
        return BLOCKED

    def _settled(self, there: State, again: State) -> bool:
        """Whether the acceleration behind the position changes the motion there by little: a measure of its error."""
        free = np.setdiff1d(np.arange(self.system.nv), list(self.system.led.values()))
        M = self.system.mass_matrix(again, p=self.p)[np.ix_(free, free)]
        change, speed = (again.v - there.v)[free], again.v[free]
        return bool(change @ M @ change <= SETTLED**2 * (speed @ M @ speed))

    def _with_energy(self, x: State, after: State) -> State:
        """The state after, as fast as the energy of x allows: a motion that misses by little has begun to turn aside.

        Not where drivers or kinematic inputs give velocities, which cannot be scaled.
        """
        if "drivers" in self.system.work_names or self.system.led:
            return after
        work = 0.5 * (after.t - x.t) * (self.power(x) + self.power(after))
        missing = self.system.energy(x, p=self.p) + work - self.system.energy(after, p=self.p)
        kinetic = float(self.system.evaluate("kinetic_energy", after, p=self.p))
        if not kinetic > 0.0 or not abs(missing) < 0.1 * kinetic:
            return after
        return after.replace(v=after.v * (1.0 + missing / kinetic) ** 0.5)

    def _moved(self, x: State, time: float, v: np.ndarray, first: np.ndarray, last: np.ndarray) -> State:
        """The state a time later, with an acceleration that goes from `first` to `last`."""
        way = time * v + time**2 * (first / 3.0 + last / 6.0)
        return x.replace(q=self.system.plus(x, way), v=v + 0.5 * time * (first + last), t=x.t + time)

    def _acceleration(self, x: State, cone: TangentCone, rank: int) -> np.ndarray:
        """v̇ without the weak rows, as by the null-space formulation."""
        M, f, _, gamma = self.system.evaluate("constrained", x, u=self.u, p=self.p)
        c, led = _shortest(cone.tangent, -gamma, rank), list(self.system.led.values())
        c[led] = f[led] / M[led, led]
        return c + cone.K @ (cone.K.T @ (f - M @ c))


def _shortest(t: Tangent, right: np.ndarray, rank: int) -> np.ndarray:
    """The shortest v that brings the first `rank` combinations of rows of A v to `right`."""
    return np.linalg.solve(t.R, t.V[:, :rank] @ ((t.U[:, :rank].T @ (right / t.scale)) / t.sigma[:rank]))
