"""Across a singular position, from a state in it or just before it to a regular one on the branch the motion selects.

Next to the position doubles do not tell the branches apart, and the acceleration along weak rows is 0/0. Yet the motion
along a branch is smooth there. So it is carried over by v Δt + ½ v̇ Δt², brought back to the manifold behind, and then
found again from the rates ẋ of states beside the position, by collocation: with p the polynomial through them,

    x(c_i Δt) = x(0) + Δt ∫₀^c_i p(c) dc,   p(c_i) = ẋ(x(c_i Δt)),                                         (1)

each state brought back to the manifold, until the one behind settles. From a state before the position the nodes c are
−½, 0, 1, 1½; from one in it, whose v, or from rest v̇, is on the tangent cone, they are 1, 1½, 2 (with 0 for q).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.analysis.manifold import Tangent, tangent_of_motion
from dalembert.analysis.tangent_cone import TangentCone, exists
from dalembert.blas import one_thread
from dalembert.simulation.results.failure_reasons import cause, drives_against
from dalembert.system.state import State
from dalembert.system.system import System

FAR = 1e-5  # σ behind the position where the motion is taken up again, at least
CLOSEST = 1e-6  # σ down to which a position that seems not to exist is approached: branches that avoid each other
NEARER = 0.3  # of σ: where a crossing that is not made yet is tried again
TOGETHER = 10.0  # times the smallest singular value: others up to this vanish in the same position
REST = 1e-3  # of the speed that the acceleration gives on the way: a slower start is one from rest
SUNK = 1e-2  # of σ before a position: what is left of it there, at most
SETTLED = 0.1  # of a velocity: what better rates may change it by behind a position
ROUNDS = 6  # of (1)
COARSE = 10.0  # times the tolerance: the error of a crossing that is better made from nearer
EQUAL = 1e-13  # of a velocity: a change that is rounding
SLOW = 1.0  # times the same: a slower motion changes its speed on the way
TURNING = 0.1  # of a velocity: what it may change by on the way across a position that is met
BESIDE_IT = 3e-6  # σ up to which one that has come to rest leaves along its branch as if it were in the position
EXACT = 1e-12  # σ of a position that a state is in: which velocities motions have is told by the cone alone
ASIDE = 1e-3  # of a velocity: what it may differ by there from one that a motion has
BESIDE = 1e-3  # the same of a state whose distance is not resolved, if it is to tell how the motion goes on
ROUNDED = 1e-15  # of a length: by so much those of a mechanism are rounded, which turns a motion at σ by ROUNDED / σ²
CLAIMED = 1e-6  # of a velocity, or a hundred times the tolerance: the error of one that the start determines
AROUND, BEHIND = (-0.5, 0.0, 1.0, 1.5), (0.0, 1.0, 1.5, 2.0)  # c of (1)


Course = Callable[[float], State]  # states by the time since its start, s


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


def beside(
    system: System, x: State, p: np.ndarray, usual: int, hit: float, u: Any, together: float = TOGETHER
) -> Beside:
    """Of a state x; usual: rank of the constraints elsewhere, hit: σ of a position that is met, u: inputs."""
    here = tangent_of_motion(system, x, p)
    sigma = here.sigma[:usual]
    rank = int((sigma > max(together * sigma[-1], 0.4 * together * hit)).sum())
    return Beside(float(sigma[-1]), rank, TangentCone.of(system, x, p, rank, usual, here, u))


@dataclass(frozen=True, eq=False)
class Crosser:
    """Crosses the singular positions of a run; `cross` returns a sentence where no motion continues."""

    system: System
    p: np.ndarray
    u: Any
    rates: Callable[[float, np.ndarray], np.ndarray]  # ẋ at t and x = (q, v, works), where σ > hit
    land: Callable[[State, float], State | None]  # the nearest state on the manifold; None where σ is less than given
    usual: int  # rank of the constraints elsewhere
    hit: float  # σ of a position that is met
    left: float  # s until the end of the run
    room: float  # s that a motion may take across: beyond the end, which is then inside the step
    stay: float  # s of a step in a position that nothing moves the mechanism out of
    rtol: float
    begins: bool = True  # whether the run begins here; else one that rests here came along a branch
    inputs: Callable[[State], np.ndarray] | None = None  # (nu,) at a state, where a law gives them at all times
    arrival: np.ndarray | None = None  # (nv,) the velocity beside the position with which it came, if known
    followed: float = 0.0  # σ down to which steps follow a motion that misses the position; 0: to `hit`

    @one_thread()
    def cross(self, x: State, together: float = TOGETHER) -> Crossing | str | float | None:
        """From a state at, or just before, a singular position to one after it.

        Where it may still be missed, or is better crossed from nearer: how long (s) the next step may be, at most. None
        where motions beside one that meets the position turn around it, and steps follow this one.
        """
        now, rank, cone = beside(self.system, x, self.p, self.usual, self.hit, self.u, together)
        if drives_against(self.system, x, self.p, cone):
            return cause(self.system, x, self.p, self.usual, self.u)
        if self.followed and now > self.hit and self._ahead(x, cone, now) > self.followed:
            return None
        target = max(FAR, 30.0 * self.hit, now)
        y = cone.local(x.v)
        rests = self._rests(cone, y)
        if now > (BESIDE_IT if rests else self.hit):
            return self._met_ahead(x, cone, now, rank, target)
        vdot = self._acceleration(x, cone, rank)
        along = cone.local(cone.c + vdot)
        if not along.any() and not y.any():
            return self._stayed(x, cone, vdot, False)
        time = np.sqrt(2.0 * target / max(cone.opening(along), 1e-300))
        slow = rests or float(np.linalg.norm(y)) <= SLOW * time * float(np.linalg.norm(along))
        came = branch_of(cone, self.arrival) if slow else None
        if came is not None:
            exact = exists(self.system, x, self.p, rank, self.usual, self.u)
            return self._along(x, cone, rank, vdot, came, target, exact)
        if now > self.hit:
            return np.inf
        if np.linalg.norm(y) <= REST * time * np.linalg.norm(along):
            return self._from_rest(x, cone, vdot, target)
        on = cone.nearest_as_long(y)
        aside = np.inf if on is None else float(np.linalg.norm(on - y) / np.linalg.norm(y))
        if aside > TURNING and now > EXACT and together == TOGETHER:  # more vanish than σ tells: beside, they differ
            return self.cross(x, TOGETHER**2)
        if on is None or (now <= EXACT and aside > ASIDE):
            return self._blocked(cone)
        if slow and cone.selects(on):
            exact = aside < BESIDE and exists(self.system, x, self.p, rank, self.usual, self.u)
            return self._along(x, cone, rank, vdot, on, target, exact)
        time = target / max(cone.opening(on), 1e-300)
        determined = aside < BESIDE and cone.selects(on)
        determined = determined and exists(self.system, x, self.p, rank, self.usual, self.u)
        v = cone.c + cone.K @ on
        found = self._carried(x, v, vdot, 0.0, time, 0.25 * target, determined)
        if isinstance(found, str) or not determined:
            return found
        off = now / max(cone.opening(on), 1e-300)  # s, before x or after it
        until, _ = self._least(lambda s: self._moved(x, s - off, x.v, vdot), off)
        return found._replace(position=self._moved(x, until - off, x.v, vdot))

    def _ahead(self, x: State, cone: TangentCone, now: float) -> float:
        """The least σ ahead of a motion that goes on as it does."""
        vdot = self._vdot(x)
        guess = now / max(cone.opening(cone.local(x.v)), 1e-300)
        return self._least(lambda s: self._moved(x, s, x.v, vdot), guess)[1]

    def _rests(self, cone: TangentCone, y: np.ndarray) -> bool:
        """Whether a motion with velocity y (n,) has come to rest here."""
        came = 0.0 if self.arrival is None else float(np.linalg.norm(cone.local(self.arrival)))
        return bool(np.linalg.norm(y) <= EQUAL * came)

    def _along(
        self, x: State, cone: TangentCone, rank: int, vdot: np.ndarray, on: np.ndarray, target: float, determined: bool
    ) -> Crossing | str:
        """Out of the position, slowly, along the branch of a velocity `on`: what leads off it is taken from v and v̇.

        There W Ȧ v̇ = 0 but for squares of velocities, by the derivative of (1) of `tangent_cone`.
        """
        off = np.linalg.pinv(cone.slope(on)) @ cone.slope(on)
        y, along = cone.local(x.v), cone.local(cone.c + vdot)
        v, vdot = x.v - cone.K @ (off @ y), vdot - cone.K @ (off @ along)
        y, along = y - off @ y, along - off @ along
        speed, size = cone.opening(y), cone.opening(along)
        if speed**2 <= EXACT * size * target:
            speed, v = 0.0, cone.c
        jerk = np.zeros(len(v))
        if speed > 0.0 or size * self.stay**2 > EXACT:
            time = _first(speed, size if float(y @ along) >= 0.0 else -size, target)
        else:  # forces that grow from where they balance
            time = 1e-3 * self.stay
            while time < self.left:
                later = self._acceleration(x.replace(t=x.t + time), cone, rank, later=True)
                jerk = cone.K @ (cone.local(cone.c + later) - off @ cone.local(cone.c + later)) / time
                if cone.opening(cone.local(cone.c + jerk)) * time**3 > 6.0 * target:
                    break
                time *= 1.2
            else:
                return self._stayed(x, cone, vdot, determined)
        found = self._carried(x, v, vdot, 0.0, time, 0.25 * target, determined, jerk)
        return found if isinstance(found, str) else found._replace(along=cone.c + cone.K @ on)

    def _met_ahead(self, x: State, cone: TangentCone, now: float, rank: int, target: float) -> Crossing | str | float:
        """Across a position straight ahead, if there is one; else, or where it is still far away, as `cross`."""
        y, vdot = cone.local(x.v), self._vdot(x)
        opening = cone.opening(y)
        if not opening * self.room > now:
            return np.inf
        along, speed = cone.local(cone.c + vdot), float(np.linalg.norm(y))
        slowing = float(along @ y) / speed  # the velocity changes its length by so much a second, and turns by the rest
        growth = opening * slowing / speed
        until, time = _across(opening, growth, now, target)
        until, least = self._least(lambda s: self._moved(x, s, x.v, vdot), until)
        turned = time * float(np.linalg.norm(along - slowing * y / speed))
        if turned > TURNING * speed or least > max(self.hit, SUNK * now):
            return np.inf
        found = self._carried(x, x.v, vdot, until, time, 0.25 * target, None)
        if isinstance(found, str):
            return found if until <= self.left else np.inf
        if found.error > COARSE * self.rtol and now > FAR:
            return _first(opening, growth, (1.0 - 0.9 * NEARER) * now)
        if (ROUNDED / now**2) ** 2 > max(1e2 * self.rtol, CLAIMED):  # by how much, squared, x may be off its branch
            on = cone.nearest(y)
            if on is None or (float(np.linalg.norm(on - y)) / speed) ** 2 > 1e2 * self.rtol:  # and is, as v tells
                return found._replace(determined=False)
        if exists(self.system, found.position, self.p, rank, self.usual, self.u):
            turns = np.linalg.norm(cone.local(found.position.v)) < 0.5 * speed
            return found._replace(determined=branch_of(cone, x.v) is not None) if turns else found
        return np.inf if now > CLOSEST else found._replace(determined=False)

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

    def _from_rest(self, x: State, cone: TangentCone, vdot: np.ndarray, target: float) -> Crossing | str:
        """Out of the position, along the acceleration on the cone that is nearest to the one without weak rows.

        Where the cone has none, no motion leads out: the mechanism stays.
        """
        along = cone.local(cone.c + vdot)
        if cone.kind == "isolated":  # as where a stop holds the mechanism
            return self._stayed(x, cone, vdot, True)
        size = float(np.linalg.norm(along))
        found = [y for y in cone.others(along) if np.linalg.norm(y) > 1e-6 * size]
        if not found:
            return self._stayed(x, cone, vdot, False)
        found.sort(key=lambda y: float(np.linalg.norm(y - along)))
        gaps = [float(np.linalg.norm(y - along)) for y in found]
        unique = len(found) == 1 or gaps[1] > gaps[0] + 1e-6 * size
        time = np.sqrt(2.0 * target / max(cone.opening(found[0]), 1e-300))
        determined = self.begins and unique and cone.selects(found[0])
        return self._carried(x, cone.c, cone.K @ found[0], 0.0, time, 0.25 * target, determined)

    def _stayed(self, x: State, cone: TangentCone, vdot: np.ndarray, determined: bool) -> Crossing | str:
        """The position itself, a while later: no motion leads out of it, or nothing sets the mechanism in motion.

        Drivers may carry it along, by cone.c and what vdot (nv,) has besides accelerations that no motion has.
        """
        position, time = x.replace(v=cone.c), min(self.stay, self.left)
        driven = vdot - cone.K @ cone.local(cone.c + vdot)
        after: State | None = position.replace(t=x.t + time)
        if cone.c.any() or np.linalg.norm(driven) > EXACT * np.linalg.norm(vdot):
            after = self.land(self._moved(x, time, cone.c, driven), 0.0)
        if after is None:
            return "no motion was found from this singular position on"
        return Crossing(position, after, np.zeros(self.works), 0.0, determined)

    def _carried(
        self,
        x: State,
        v: np.ndarray,
        vdot: np.ndarray,
        until: float,
        time: float,
        least: float,
        determined: bool | None,
        jerk: np.ndarray | None = None,
    ) -> Crossing | str:
        """The state a time later, or as much more later as σ needs to be at least `least`; `until`: to the position.

        jerk: (nv,) by which the acceleration grows, of slow motions. They do not get the energy of x: works are not as
        exact as their small speeds.
        """
        for _ in range(12):
            time = min(time, self.room)
            there = self.land(self._moved(x, time, v, vdot, jerk), least)
            if there is not None:
                after, course, works, error = self._refined(x, v, vdot, there, least, bool(until), jerk)
                position = course(self._least(course, until)[0]) if until else x
                if error > max(1e2 * self.rtol, CLAIMED):
                    determined = False
                after = self._with_energy(x, after, works) if jerk is None else after
                return Crossing(position, after, works, error, determined)
            if time == self.room:
                after, works = self._moved(x, time, v, vdot, jerk), np.zeros(self.works)
                return Crossing(self._moved(x, until, v, vdot) if until else x, after, works, np.inf, determined)
            time *= 1.3
        return "no motion was found behind this singular position"

    def _blocked(self, cone: TangentCone) -> str:
        """A sentence on a position that no motion leads through, with the constraints that are dependent there."""
        weights = np.abs(cone.W * cone.tangent.scale).max(axis=0)
        names = dict.fromkeys(of for of, w in zip(self.system.rows.of, weights) if w > 0.1 * weights.max())
        where = " and ".join(f"'{name}'" for name in names)
        return f"no motion has the velocity at hand in this singular position of {where}"

    def _refined(
        self,
        x: State,
        v: np.ndarray,
        vdot: np.ndarray,
        there: State,
        least: float,
        before: bool,
        jerk: np.ndarray | None,
    ) -> tuple[State, Course, np.ndarray, float]:
        """The state behind a position by (1), the course and the works on the way, and about the error of v, relative.

        before: whether x is regular, so that its rates count.
        """
        nq, n, time = len(x.q), len(x.q) + len(x.v), there.t - x.t
        nodes = AROUND if before else BEHIND
        start = np.concatenate([x.q, v, np.zeros(self.works)])
        rates, rest = {0.0: self.rates(x.t, start)}, jerk is not None and not v.any()
        if rest:  # nothing but v̇ changes in the position, and that is known
            rates[0.0] = np.concatenate([np.zeros(nq), vdot, np.zeros(self.works)])

        def moved(c: float) -> np.ndarray:
            out = start + time * _integral(nodes if before or rest else nodes[1:], rates, c)
            if not before and not rest:
                out[:nq] = start[:nq] + time * _integral(nodes, rates, c)[:nq]
            return out

        def course(s: float) -> State:
            if len(rates) < len(nodes):
                return self._moved(x, s, v, vdot, jerk)
            out = moved(s / time)
            return x.replace(q=out[:nq], v=out[nq:n], t=x.t + s)

        states = {c: self.land(self._moved(x, c * time, v, vdot, jerk), 0.0) for c in nodes if c not in (0.0, 1.0)}
        states[1.0] = there
        first, works, error = np.inf, np.zeros(self.works), np.inf
        for k in range(ROUNDS):
            if any(state is None for state in states.values()):
                break
            found = {c: self.rates(s.t, np.concatenate([s.q, s.v, works])) for c, s in states.items() if s is not None}
            if not all(np.isfinite(rate).all() for rate in found.values()):
                break
            rates |= found
            for c in states:
                states[c] = self.land(course(c * time), least if c == 1.0 else 0.0)
            again = states[1.0]
            if again is None:
                break
            change, works = self._change(there, again), moved(1.0)[n:]
            there, first = again, change if k == 0 else first
            error = max(change, first**2.5, self._change(course(time), again) ** 2)  # else it is on another branch
            if change <= max(EQUAL, 1e-3 * self.rtol) or change > SETTLED:
                break
        return there, course, works, error

    def _change(self, there: State, again: State) -> float:
        """Change of a velocity, relative, in the mass metric."""
        free = np.setdiff1d(np.arange(self.system.nv), list(self.system.description.prescribed.values()))
        M = self.system.mass_matrix(again, p=self.p)[np.ix_(free, free)]
        change, speed = (again.v - there.v)[free], again.v[free]
        return float(np.sqrt(change @ M @ change / max(speed @ M @ speed, 1e-300)))

    def _with_energy(self, x: State, after: State, works: np.ndarray) -> State:
        """The state after, as fast as the energy of x allows: a motion that misses by little has begun to turn aside.

        Not where drivers or kinematic inputs give velocities, which cannot be scaled.
        """
        if "drivers" in self.system.work_names or self.system.description.prescribed:
            return after
        missing = self.system.energy(x, p=self.p) + works.sum() - self.system.energy(after, p=self.p)
        kinetic = float(self.system.evaluate("kinetic_energy", after, p=self.p))
        if not kinetic > 0.0 or not abs(missing) < 0.1 * kinetic:
            return after
        return after.replace(v=after.v * (1.0 + missing / kinetic) ** 0.5)

    def _moved(self, x: State, time: float, v: np.ndarray, vdot: np.ndarray, jerk: np.ndarray | None = None) -> State:
        """The state a time later, with this velocity and acceleration at x, which grows by the jerk."""
        way, v = time * v + 0.5 * time**2 * vdot, v + time * vdot
        if jerk is not None:
            way, v = way + time**3 / 6.0 * jerk, v + 0.5 * time**2 * jerk
        return x.replace(q=self.system.plus(x, way), v=v, t=x.t + time)

    def _vdot(self, x: State) -> np.ndarray:
        """(nv,) the acceleration at a regular state."""
        nq = self.system.nq
        return self.rates(x.t, np.concatenate([x.q, x.v, np.zeros(self.works)]))[nq : nq + self.system.nv]

    @property
    def works(self) -> int:
        """Number of works."""
        return len(self.system.work_names)

    def _acceleration(self, x: State, cone: TangentCone, rank: int, later: bool = False) -> np.ndarray:
        """v̇ without the weak rows, as by the null-space formulation; later: with the inputs at the time of x."""
        u = self.inputs(x) if later and self.inputs is not None else self.u
        M, f, _, gamma = self.system.evaluate("constrained", x, u=u, p=self.p)
        c, led = _shortest(cone.tangent, -gamma, rank), list(self.system.description.prescribed.values())
        c[led] = f[led] / M[led, led]
        return c + cone.K @ (cone.K.T @ (f - M @ c))


def branch_of(cone: TangentCone, arrival: np.ndarray | None) -> np.ndarray | None:
    """(n,) the direction on the cone of a motion that came with a velocity (nv,); None where it selects no branch."""
    y = np.zeros(0) if arrival is None else cone.local(arrival)
    if not y.any():
        return None
    on = cone.nearest(y)
    if on is None or np.linalg.norm(on - y) > TURNING * np.linalg.norm(y) or not cone.selects(on):
        return None
    return on


def _first(speed: float, growth: float, way: float) -> float:
    """The first time t > 0 at which |speed t + ½ growth t²| is a way; speed ≥ 0."""
    if growth < 0.0 and speed**2 < -2.0 * growth * way:  # it turns before, and goes so far the other way
        return (speed + (speed**2 - 2.0 * growth * way) ** 0.5) / -growth
    return 2.0 * way / (speed + max(speed**2 + 2.0 * growth * way, 0.0) ** 0.5)


def _across(speed: float, growth: float, now: float, target: float) -> tuple[float, float]:
    """When σ is least, and when it is `target` behind that, for σ = |now − speed t − ½ growth t²|.

    A motion that turns behind the position, or before it, comes back to where it was.
    """
    if growth >= 0.0 or speed**2 >= -2.0 * growth * (now + target):
        return _first(speed, growth, now), _first(speed, growth, now + target)
    until = _first(speed, growth, now) if speed**2 >= -2.0 * growth * now else speed / -growth
    back = max(target - now, 0.0)
    return until, (speed + (speed**2 - 2.0 * growth * back) ** 0.5) / -growth


def _shortest(t: Tangent, right: np.ndarray, rank: int) -> np.ndarray:
    """The shortest v that brings the first `rank` combinations of rows of A v to `right`."""
    return np.linalg.solve(t.R, t.V[:, :rank] @ ((t.U[:, :rank].T @ (right / t.scale)) / t.sigma[:rank]))


def _integral(nodes: tuple[float, ...], rates: Mapping[float, np.ndarray], end: float) -> np.ndarray:
    """The integral from 0 to `end` of the polynomial through rates at nodes: Σ w_i rates_i, exact for powers of c."""
    powers = np.arange(len(nodes))
    weights = np.linalg.solve(np.array(nodes) ** powers[:, None], end ** (powers + 1.0) / (powers + 1.0))
    return np.einsum("i,ij->j", weights, np.stack([rates[c] for c in nodes]))
