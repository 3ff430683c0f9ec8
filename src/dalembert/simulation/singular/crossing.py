"""Across a singular position, from a state in it or just before it to a regular one on the branch the motion selects.

Next to the position doubles do not tell the branches apart, and the acceleration along weak rows is 0/0. Yet the motion
along a branch is smooth there. So it is carried over by v Δt + ½ v̇ Δt², brought back to the manifold behind, and then
found again by `collocation`. From a state before the position this begins with its own v̇ (`_straight_on`). In the
position the tangent cone tells v; from rest, or where the motion is slow, v̇ (`_out_of_it`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.manifold import tangent_of_motion
from dalembert.analysis.tangent_cone import TangentCone, exists
from dalembert.blas import one_thread
from dalembert.ruler import Ruler
from dalembert.simulation.results.failure_reasons import cause, drives_against
from dalembert.simulation.singular.collocation import Collocation, Course, Motion
from dalembert.system.state import State
from dalembert.system.system import System


class Crossing(NamedTuple):
    """A singular position, and the state after it."""

    position: State
    after: State
    works: np.ndarray  # done on the way
    error: float  # of the velocity after, relative: about
    determined: bool | None  # whether the motion selects one branch; None: as that of any motion that meets it
    along: np.ndarray | None = None  # (nv,) a velocity along that branch, where the motion itself is slow


class Beside(NamedTuple):
    """What the constraints are at a state beside a singular position."""

    sigma: float
    rank: int  # in the position
    cone: TangentCone


def beside(system: System, x: State, p: np.ndarray, usual: int, hit: float, u: Any, together: float) -> Beside:
    """Of a state x; usual: rank of the constraints elsewhere, hit: σ of a position that is met, u: inputs.

    together: times the smallest singular value, up to which others vanish in the same position.
    """
    here = tangent_of_motion(system, x, p)
    sigma = here.sigma[:usual]
    rank = int((sigma > max(together * sigma[-1], Ruler.within * together / Ruler.together * hit)).sum())
    return Beside(float(sigma[-1]), rank, TangentCone.of(system, x, p, rank, usual, here, u))


@dataclass(frozen=True, eq=False)
class Crosser:
    """Crosses the singular positions of a run; `cross` returns a sentence where no motion continues."""

    collocation: Collocation
    u: Any  # inputs
    usual: int  # rank of the constraints elsewhere
    hit: float  # σ of a position that is met
    left: float  # s until the end of the run
    room: float  # s that a motion may take across: beyond the end, which is then inside the step
    stay: float  # s of a step in a position that nothing moves the mechanism out of
    begins: bool = True  # whether the run begins here; else one that rests here came along a branch
    inputs: Callable[[State], np.ndarray] | None = None  # (nu,) at a state, where a law gives them at all times
    arrival: np.ndarray | None = None  # (nv,) the velocity beside the position with which it came, if known
    followed: float = 0.0  # σ down to which steps follow a motion that misses the position; 0: to `hit`

    @property
    def system(self) -> System:
        """The system that moves."""
        return self.collocation.system

    @property
    def p(self) -> np.ndarray:
        """Its parameters."""
        return self.collocation.p

    @property
    def ruler(self) -> Ruler:
        """Where decisions fall."""
        return self.collocation.ruler

    @one_thread()
    def cross(self, x: State) -> Crossing | str | float | None:
        """From a state at, or just before, a singular position to one after it.

        Where it may still be missed, or is better crossed from nearer: how long (s) the next step may be, at most. None
        where motions beside one that meets the position turn around it, and steps follow this one.
        """
        return self._cross(x, self.ruler.together)

    def _cross(self, x: State, together: float) -> Crossing | str | float | None:
        here = beside(self.system, x, self.p, self.usual, self.hit, self.u, together)
        sigma, _, cone = here
        if drives_against(self.system, x, self.p, cone):
            return cause(self.system, x, self.p, self.usual, self.u)
        y = cone.local(x.v)
        if self.followed and sigma > self.hit and self._ahead(x, here, y) > self.followed:
            return None
        came = 0.0 if self.arrival is None else _norm(cone.local(self.arrival))
        rests = _norm(y) <= self.ruler.exact * came
        if sigma > (self.ruler.known if rests else self.hit):
            return self._straight_on(x, here, y)
        again = together == self.ruler.together
        found = self._out_of_it(x, here, y, rests, again)
        return self._cross(x, together**2) if found is None else found  # more vanish than σ tells

    # --- from before the position -----------------------------------------------------------------------------------

    def _ahead(self, x: State, here: Beside, y: np.ndarray) -> float:
        """The least σ ahead of a motion that goes on as it does."""
        motion = Motion(self.system, x, x.v, self.collocation.acceleration(x))
        return self._least(motion, here.sigma / _positive(here.cone.opening(y)))[1]

    def _straight_on(self, x: State, here: Beside, y: np.ndarray) -> Crossing | str | float:
        """Across a position straight ahead, if there is one; else, or where it is still far away, as `cross`."""
        ruler, now, cone = self.ruler, here.sigma, here.cone
        vdot, opening = self.collocation.acceleration(x), cone.opening(y)
        if not opening * self.room > now:
            return np.inf
        motion, along, speed = Motion(self.system, x, x.v, vdot), cone.local(cone.c + vdot), _norm(y)
        slowing = float(along @ y) / speed  # the velocity changes its length by so much a second, and turns by the rest
        growth = opening * slowing / speed
        until, time = _across(opening, growth, now, self._target(now))
        until, least = self._least(motion, until)
        turned = time * _norm(along - slowing * y / speed)
        if turned > ruler.turning * speed or least > max(self.hit, ruler.passed * now):
            return np.inf
        found = self._carried(motion, until, time, self._target(now), None)
        if isinstance(found, str):
            return found if until <= self.left else np.inf
        if found.error > ruler.coarse and now > ruler.far:
            return _first(opening, growth, (1.0 - 0.9 * ruler.nearer) * now)
        if (ruler.rounding / now**2) ** 2 > ruler.claimed:  # by how much, squared, x may be off its branch
            on = cone.nearest(y)
            if on is None or (_norm(on - y) / speed) ** 2 > ruler.allowed:  # and is, as v tells
                return found._replace(determined=False)
        if exists(self.system, found.position, self.p, here.rank, self.usual, self.u):
            turns = _norm(cone.local(found.position.v)) < ruler.slowed * speed
            return found._replace(determined=branch_of(cone, x.v) is not None) if turns else found
        return np.inf if now > ruler.known else found._replace(determined=False)

    # --- from in the position ---------------------------------------------------------------------------------------

    def _out_of_it(
        self, x: State, here: Beside, y: np.ndarray, rests: bool, again: bool
    ) -> Crossing | str | float | None:
        """On along the branch that velocity or acceleration selects; None, if `again`, where the velocity is on none.

        `rests`: whether the motion has come to rest there.
        """
        ruler, cone, target = self.ruler, here.cone, self._target(here.sigma)
        vdot = self._acceleration(x, here)
        along = cone.local(cone.c + vdot)
        if not along.any() and not y.any():
            return self._stayed(x, cone, vdot, False)
        gained = _norm(along) * (2.0 * target / _positive(cone.opening(along))) ** 0.5  # on the way
        slow = rests or _norm(y) <= gained
        came = branch_of(cone, self.arrival) if slow else None
        if came is not None:
            return self._slowly(x, here, vdot, came, self._exists(x, here))
        if here.sigma > self.hit:
            return np.inf
        if _norm(y) <= ruler.aside * gained:
            return self._from_rest(x, here, vdot)
        on = cone.nearest_as_long(y)
        aside = np.inf if on is None else _norm(on - y) / _norm(y)
        if again and aside > ruler.turning and here.sigma > ruler.finest:
            return None
        if on is None or (here.sigma <= ruler.finest and aside > ruler.aside):
            return self._blocked(cone)
        determined = aside < ruler.aside and cone.selects(on) and self._exists(x, here)
        if slow and cone.selects(on):
            return self._slowly(x, here, vdot, on, determined)
        motion, opening = Motion(self.system, x, cone.c + cone.K @ on, vdot), _positive(cone.opening(on))
        found = self._carried(motion, 0.0, target / opening, target, determined)
        if isinstance(found, str) or not determined:
            return found
        own, off = Motion(self.system, x, x.v, vdot), here.sigma / opening  # s, before x or after it
        until, _ = self._least(lambda s: own(s - off), off)
        return found._replace(position=own(until - off))

    def _slowly(self, x: State, here: Beside, vdot: np.ndarray, on: np.ndarray, determined: bool) -> Crossing | str:
        """Along the branch of a velocity `on`: what leads off it is taken from v and v̇.

        There W Ȧ v̇ = 0 but for squares of velocities, by the derivative of (1) of `tangent_cone`.
        """
        cone, exact, target = here.cone, self.ruler.exact, self._target(here.sigma)
        off = np.linalg.pinv(cone.slope(on)) @ cone.slope(on)
        y, along = cone.local(x.v), cone.local(cone.c + vdot)
        v, vdot = x.v - cone.K @ (off @ y), vdot - cone.K @ (off @ along)
        y, along = y - off @ y, along - off @ along
        speed, size = cone.opening(y), cone.opening(along)
        if speed * speed <= exact * size * target:
            speed, v = 0.0, cone.c
        jerk = np.zeros(len(v))
        if speed > 0.0 or size * self.stay**2 > exact:
            time = _first(speed, size if float(y @ along) >= 0.0 else -size, target)
        else:  # forces that grow from where they balance
            time = self.ruler.patient * self.stay
            while time < self.left:
                later = cone.local(cone.c + self._acceleration(x.replace(t=x.t + time), here, later=True))
                jerk = cone.K @ (later - off @ later) / time
                if cone.opening(cone.local(cone.c + jerk)) * time**3 > 6.0 * target:
                    break
                time *= 1.2
            else:
                return self._stayed(x, cone, vdot, determined)
        found = self._carried(Motion(self.system, x, v, vdot, jerk), 0.0, time, target, determined)
        return found if isinstance(found, str) else found._replace(along=cone.c + cone.K @ on)

    def _from_rest(self, x: State, here: Beside, vdot: np.ndarray) -> Crossing | str:
        """Along the acceleration on the cone that is nearest to the one without weak rows.

        Where the cone has none, no motion leads out: the mechanism stays.
        """
        cone, target = here.cone, self._target(here.sigma)
        along = cone.local(cone.c + vdot)
        if cone.kind == "isolated":  # as where a stop holds the mechanism
            return self._stayed(x, cone, vdot, True)
        same = self.ruler.distinct * _norm(along)  # roots of equations that are solved to 1e-9
        found = sorted((_norm(y - along), k, y) for k, y in enumerate(cone.others(along)) if _norm(y) > same)
        if not found:
            return self._stayed(x, cone, vdot, False)
        (gap, _, nearest), *others = found
        determined = self.begins and (not others or others[0][0] > gap + same) and cone.selects(nearest)
        time = (2.0 * target / _positive(cone.opening(nearest))) ** 0.5
        return self._carried(Motion(self.system, x, cone.c, cone.K @ nearest), 0.0, time, target, determined)

    def _stayed(self, x: State, cone: TangentCone, vdot: np.ndarray, determined: bool) -> Crossing | str:
        """The position itself, a while later: no motion leads out of it, or nothing sets the mechanism in motion.

        Drivers may carry it along, by cone.c and what vdot (nv,) has besides accelerations that no motion has.
        """
        position, time = x.replace(v=cone.c), min(self.stay, self.left)
        driven = vdot - cone.K @ cone.local(cone.c + vdot)
        after: State | None = position.replace(t=x.t + time)
        if cone.c.any() or _norm(driven) > self.ruler.exact * _norm(vdot):
            after = self.collocation.land(Motion(self.system, x, cone.c, driven)(time), 0.0)
        if after is None:
            return "no motion was found from this singular position on"
        return Crossing(position, after, self.collocation.works, 0.0, determined)

    def _blocked(self, cone: TangentCone) -> str:
        """A sentence on a position that no motion leads through, with the constraints that are dependent there."""
        weights = np.abs(cone.W * cone.tangent.scale).max(axis=0)
        names = dict.fromkeys(of for of, w in zip(self.system.rows.of, weights) if w > 0.1 * weights.max())
        where = " and ".join(f"'{name}'" for name in names)
        return f"no motion has the velocity at hand in this singular position of {where}"

    def _exists(self, x: State, here: Beside) -> bool:
        return exists(self.system, x, self.p, here.rank, self.usual, self.u)

    def _acceleration(self, x: State, here: Beside, later: bool = False) -> np.ndarray:
        """v̇ without the weak rows, as by the null-space formulation; later: with the inputs at the time of x."""
        u = self.inputs(x) if later and self.inputs is not None else self.u
        M, f, _, gamma = self.system.evaluate("constrained", x, u=u, p=self.p)
        c, K = here.cone.tangent.first(here.rank, -gamma), here.cone.K
        led = list(self.system.description.prescribed.values())
        c[led] = f[led] / M[led, led]
        return c + K @ (K.T @ (f - M @ c))

    # --- across -----------------------------------------------------------------------------------------------------

    def _target(self, sigma: float) -> float:
        """σ behind the position where the motion is taken up again."""
        return max(self.ruler.far, self.ruler.farther * self.hit, sigma)

    def _least(self, course: Course, guess: float) -> tuple[float, float]:
        """When σ is least on a course, s from its start on, and σ there: by parabolas through σ²."""

        def square(s: float) -> float:
            return float(tangent_of_motion(self.system, course(s), self.p).sigma[self.usual - 1]) ** 2

        time = guess
        for d in (0.1 * guess, 0.1 * guess, 1e-2 * guess, 1e-3 * guess):
            left, here, right = square(time - d), square(time), square(time + d)
            bend = left - 2.0 * here + right
            if not bend > 0.0:
                break
            time = min(max(time + 0.5 * d * (left - right) / bend, 0.0), 2.0 * guess)
        return time, square(time) ** 0.5

    def _carried(
        self, motion: Motion, until: float, time: float, target: float, determined: bool | None
    ) -> Crossing | str:
        """The state a time later, or as much more later as σ needs to come to `target`, nearly.

        until: s to the position, from a state before it. Slow motions do not get the energy of x: works are not as
        exact as their small speeds.
        """
        least, at = self.ruler.reached * target, self.collocation
        for _ in range(12):
            time = min(time, self.room)
            there = at.land(motion(time), least)
            if there is not None:
                after, course, works, error = at.settled(motion, there, least, bool(until))
                position = course(self._least(course, until)[0]) if until else motion.x
                determined = False if error > self.ruler.claimed else determined
                after = self._with_energy(motion.x, after, works) if motion.jerk is None else after
                return Crossing(position, after, works, error, determined)
            if time == self.room:
                position = motion(until) if until else motion.x
                return Crossing(position, motion(time), at.works, np.inf, determined)
            time *= 1.3
        return "no motion was found behind this singular position"

    def _with_energy(self, x: State, after: State, works: np.ndarray) -> State:
        """The state after, as fast as the energy of x allows: a motion that misses by little has begun to turn aside.

        Not where drivers or kinematic inputs give velocities, which cannot be scaled.
        """
        system, p = self.system, self.p
        if "drivers" in system.work_names or system.description.prescribed:
            return after
        missing = system.energy(x, p=p) + works.sum() - system.energy(after, p=p)
        kinetic = system.kinetic_energy(after, p=p)
        if not kinetic > 0.0 or not abs(missing) < self.ruler.balanced * kinetic:
            return after
        return after.replace(v=after.v * (1.0 + missing / kinetic) ** 0.5)


def branch_of(cone: TangentCone, arrival: np.ndarray | None) -> np.ndarray | None:
    """(n,) the direction on the cone of a motion that came with a velocity (nv,); None where it selects no branch."""
    y = np.zeros(0) if arrival is None else cone.local(arrival)
    if not y.any():
        return None
    on = cone.nearest(y)
    return on if on is not None and _norm(on - y) <= Ruler.turning * _norm(y) and cone.selects(on) else None


def _first(speed: float, growth: float, way: float) -> float:
    """The first time t > 0 at which |speed t + ½ growth t²| is a way; speed ≥ 0."""
    if growth < 0.0 and speed * speed < -2.0 * growth * way:  # it turns before, and goes so far the other way
        return (speed + (speed * speed - 2.0 * growth * way) ** 0.5) / -growth
    return 2.0 * way / (speed + max(speed * speed + 2.0 * growth * way, 0.0) ** 0.5)


def _across(speed: float, growth: float, now: float, target: float) -> tuple[float, float]:
    """When σ is least, and when it is `target` behind that, for σ = |now − speed t − ½ growth t²|.

    A motion that turns behind the position, or before it, comes back to where it was.
    """
    if growth >= 0.0 or speed * speed >= -2.0 * growth * (now + target):
        return _first(speed, growth, now), _first(speed, growth, now + target)
    until = _first(speed, growth, now) if speed * speed >= -2.0 * growth * now else speed / -growth
    back = max(target - now, 0.0)
    return until, (speed + (speed * speed - 2.0 * growth * back) ** 0.5) / -growth


def _norm(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))


def _positive(x: float) -> float:
    return max(x, 1e-300)
