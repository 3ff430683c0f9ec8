"""Path synthesis: the lengths with which a pin of a sketch follows a path that was drawn.

The sketch is first moved, turned and scaled as a whole, so that its curve lies best on the path (in complex numbers

    z = Σ c̄ w / Σ c̄ c                                                                                        (1)

is the best turn and scale for points c of the curve and w of the path, about their centres). Then `da.optimize` finds
lengths and places on the ground for K points of the path, each with the driver's angle at which the curve is nearest
to it; angles and lengths are found in turn until nothing changes. In each trial the mechanism is led along its branch,
so that the branch is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.errors import ArgumentError, DalembertError
from dalembert.studies.optimize import optimize
from dalembert.studio.planar import SketchRows
from dalembert.studio.sketch import FARTHEST, Sketch
from dalembert.studio.sketch_linkage import Dimension, LinkagePlan, linkage, plan, problem
from dalembert.system.system import System

POINTS = 24  # K, points of the path that are met: more than twice the parameters of a six-bar
DENSE = 120  # positions of a motion; between them the curve is taken as straight
CLOSED = 0.15  # of a stroke's length: ends this near to each other are meant to meet
WINDOWS = (1.0, 0.8, 0.6, 0.45, 0.3, 0.2)  # parts of a curve that an open path may be
STARTS = 24  # along a curve, that are tried
EDGE = 0.03  # of a motion between two dead points: left out at each end, where the driver's angle leads badly
ROUNDS = 30  # of angles and lengths in turn
EVALUATIONS = 6  # in a round: the angles change anyway
OVER = 1.6  # of the way to the nearest angle that is gone: both converge linearly
CALM, CALM_FOR = 0.97, 6  # the search ends where so many rounds leave more of the miss than this
SHORTEST, LONGEST = 0.3, 2.5  # of a length when the curve lies on the path: how far it may change
FAR = 1.2  # of the size of sketch and path: how far a place may change
FOLLOWER = "follower"  # the frame of the pin that follows


@dataclass(frozen=True)
class PathFit:
    """A sketch whose pin follows a path."""

    sketch: Sketch
    rms: float  # m, of the distances of K points of the path from the curve
    most: float  # m, the largest of them


@dataclass(frozen=True, eq=False)
class FollowerMotion:
    """A motion of the follower: angles of the driver and places, in order."""

    angles: np.ndarray  # (N,) rad
    places: np.ndarray  # (N,) complex, m
    closed: bool  # whether it begins again where it ends

    def at(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles and places at shares (0 to 1, beyond 1 once more round) of the curve's length."""
        places, angles = self.places, self.angles
        if self.closed:
            turn = angles[-1] - angles[0]
            places, angles = np.concatenate([places, places[1:]]), np.concatenate([angles, angles[1:] + turn])
        way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(places)))])
        total = way[len(self.places) - 1]
        return np.interp(share * total, way, angles), np.interp(share * total, way, places)


def follow(
    sketch: Sketch, pin: str, stroke: Sequence[Sequence[float]], stop: Callable[[], bool] = lambda: False
) -> PathFit:
    """The sketch with lengths, and places on the ground, with which a pin follows a stroke (points x, y in m).

    A stroke whose ends are near to each other is a closed path. stop: asked before each round; true ends the search
    with what was found.
    """
    path, closed = resampled(stroke)
    driver = _driver(sketch, pin)
    system, _ = _system(sketch, pin)
    first = _motion(system, driver)
    angles, z, shift = _aligned(first, path, closed)
    sketch = _moved(sketch, z, shift)
    system, made = _system(sketch, pin)
    bounds = _bounds(sketch, made, path)
    motion = _motion(system, driver)
    now, best, misses = system, system, [_miss(path, motion.places)]
    for _ in range(ROUNDS):
        if stop() or (len(misses) > CALM_FOR and misses[-1] > CALM * misses[-1 - CALM_FOR]):
            break
        found = _fitted(now, driver, bounds, path, angles)
        if found is None:
            break
        now, motion = found, _motion(found, driver)
        miss = _miss(path, motion.places)
        angles = angles + OVER * (_nearest(motion, path, angles) - angles)
        best = now if miss < misses[-1] else best
        misses.append(min(miss, misses[-1]))
    system = best
    sketch = sketch.moved(_places(sketch, system, pin))
    far = _distances(path, _motion(system, driver).places)
    return PathFit(sketch, float(np.sqrt(np.mean(far**2))), float(far.max()))


def resampled(stroke: Sequence[Sequence[float]]) -> tuple[np.ndarray, bool]:
    """K points (complex) of a stroke at even distances, and whether it is closed."""
    try:
        points = np.asarray(stroke, dtype=float)
    except (TypeError, ValueError):
        points = np.zeros((0, 2))
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3 or not np.isfinite(points).all():
        raise ArgumentError("the path has fewer than three points (x, y); needed: a line that was drawn.")
    if np.abs(points).max() > FARTHEST:
        raise ArgumentError(f"the path goes farther than {FARTHEST:g} m from the origin.")
    w = points[:, 0] + 1j * points[:, 1]
    way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(w)))])
    if not way[-1] > 1e-6:
        raise ArgumentError("the path has no length; needed: a line that was drawn.")
    closed = bool(abs(w[-1] - w[0]) < CLOSED * way[-1])
    if closed:
        w, way = np.append(w, w[0]), np.append(way, way[-1] + abs(w[0] - w[-1]))
    return np.interp(np.linspace(0.0, way[-1], POINTS, endpoint=not closed), way, w), closed


# --- the mechanism ------------------------------------------------------------------------------------------------


def _driver(sketch: Sketch, pin: str) -> str:
    """The pin about which the driving bar turns."""
    sketch.known(pin)
    if why := problem(sketch):
        raise ArgumentError(f"the sketch does not move yet: {why}")
    rows = SketchRows(sketch)
    if rows.mobility()[0] != 1:
        raise ArgumentError(f"the sketch has mobility {rows.mobility()[0]}; needed: 1, so that a pin has one path.")
    if pin in sketch.ground or pin not in rows.at:
        raise ArgumentError(f"pin '{pin}' does not move with a bar; needed: one that does, to follow the path.")
    driver = rows.driver
    if not driver or driver not in sketch.ground:
        raise ArgumentError("nothing turns about a pin on the ground; needed: a bar on the ground that drives.")
    return driver


def _system(sketch: Sketch, pin: str) -> tuple[System, LinkagePlan]:
    """The mechanism with parameters also for where it is on the ground, and its plan."""
    made = plan(sketch)
    pins, values = dict(made.pins), dict(made.parameters)
    for n, place in made.pins.items():
        if all(isinstance(x, float | int) for x in place):  # an absolute place
            names = [f"{axis} of {n}" for axis in "xy"]
            pins[n] = tuple(Dimension(name) for name in names)
            values |= zip(names, map(float, place))
        elif n in sketch.ground and isinstance(place[-1], float):  # by length and angle from another
            pins[n] = (*place[:-1], Dimension(f"angle of {n}"))
            values[f"angle of {n}"] = place[-1]
    made = replace(made, pins=pins, parameters=values)
    m = linkage(sketch, made)
    m.add_frame(FOLLOWER, m.pin(pin))
    return m.compile(), made


def _bounds(sketch: Sketch, made: LinkagePlan, path: np.ndarray) -> dict[str, tuple[float, float]]:
    places = np.array([complex(*at) for at in sketch.pins.values()])
    size = float(max(np.ptp(places.real), np.ptp(places.imag), np.ptp(path.real), np.ptp(path.imag)))
    out = {}
    for name, value in made.parameters.items():
        if name.startswith("angle of "):
            out[name] = (value - math.pi, value + math.pi)
        elif " of " in name or name.endswith(("_along", "_across")):
            out[name] = (value - FAR * size, value + FAR * size)
        else:
            out[name] = (SHORTEST * value, LONGEST * value)
    return out


def _motion(system: System, driver: str) -> FollowerMotion:
    """Where the follower goes while the driver turns once, or between its dead points."""
    name = _coordinate(system, driver)
    start, turn = system.state(), np.linspace(0.0, 2 * np.pi, DENSE + 1)
    there = system.sweep({name: turn}, start)
    places = there.position(FOLLOWER)[:, :2] @ (1, 1j)
    if there.success and abs(places[-1] - places[0]) < 1e-6 * max(np.abs(places - places[0]).max(), 1e-12):
        return FollowerMotion(turn, places, True)
    back = system.sweep({name: -turn}, start)
    before = back.position(FOLLOWER)[:, :2] @ (1, 1j)
    angles = np.concatenate([-turn[: len(before)][:0:-1], turn[: len(places)]])
    places = np.concatenate([before[:0:-1], places])
    edge = int(EDGE * len(angles)) if len(angles) > 20 else 0
    return FollowerMotion(angles[edge : len(angles) - edge], places[edge : len(angles) - edge], False)


def _coordinate(system: System, driver: str) -> str:
    """The coordinate with which the driving bar turns."""
    name = next((q for q in system.q_names if q == driver or q.startswith(f"{driver}.")), None)
    if name is None:
        raise ArgumentError(f"no bar turns about pin '{driver}' by a coordinate of its own; needed: a bar that drives.")
    return name


def _places(sketch: Sketch, system: System, pin: str) -> dict[str, tuple[float, float]]:
    """Where the pins are as the mechanism is drawn."""
    x, m = system.state(), system.layout.mechanism
    used = [n for n in sketch.pins if n in sketch.ground or any(n in k.pins for k in sketch.members.values())]
    return {n: tuple(system.pose(x, m.pin(n))[:2, 3].tolist()) for n in used}  # type: ignore[attr-defined]


# --- the search ---------------------------------------------------------------------------------------------------


def _aligned(motion: FollowerMotion, path: np.ndarray, closed: bool) -> tuple[np.ndarray, complex, complex]:
    """Angles for the points of a path, and the turn with scale and the shift that bring the curve onto it, (1)."""
    w = path - path.mean()
    best, least = None, np.inf
    for window in (1.0,) if closed else WINDOWS:
        count = len(path) if not (closed and motion.closed) else len(path) + 1
        shares = np.linspace(0.0, window, count)[: len(path)]
        room = 1.0 if motion.closed else 1.0 - window
        for start in np.linspace(0.0, room, STARTS, endpoint=not motion.closed) if room > 0 else (0.0,):
            angles, places = motion.at(start + shares)
            for way in (slice(None), slice(None, None, -1)):
                c = places[way] - places.mean()
                size = float((c.conj() * c).real.sum())
                if not size > 0.0:
                    continue
                z = complex((c.conj() * w).sum() / size)
                left = float((np.abs(z * c - w) ** 2).sum())
                if left < least and abs(z) > 1e-6:
                    best, least = (angles[way], z, complex(path.mean() - z * places.mean())), left
    if best is None:
        raise ArgumentError("the pin has no path that could lie on the one that was drawn.")
    return best


def _moved(sketch: Sketch, z: complex, shift: complex) -> Sketch:
    """The sketch moved, turned and scaled as a whole."""
    places = {n: z * complex(*at) + shift for n, at in sketch.pins.items()}
    out = sketch.moved({n: (p.real, p.imag) for n, p in places.items()})
    turn = math.atan2(z.imag, z.real)
    members = {
        n: replace(m, values={**m.values, "angle": m.values["angle"] + turn})
        if m.kind == "slider" and len(m.pins) == 1
        else m
        for n, m in out.members.items()
    }
    return replace(out, members=members)


def _fitted(
    system: System, driver: str, bounds: dict[str, tuple[float, float]], path: np.ndarray, angles: np.ndarray
) -> System | None:
    """The mechanism with lengths for these angles; None where not all of them can be reached."""
    name = _coordinate(system, driver)
    target = {f"position:{FOLLOWER}@x": path.real, f"position:{FOLLOWER}@y": path.imag}
    to = system.sweep({name: np.linspace(0.0, angles[0], 30)}, system.state())
    try:
        return optimize(
            system, bounds, {name: angles}, target, guess=to.state(len(to) - 1), max_evaluations=EVALUATIONS
        ).system
    except DalembertError:
        return None


def _nearest(motion: FollowerMotion, path: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """The angles at which the curve is nearest to each point, not far from those it had."""
    at, places = motion.angles, motion.places
    if motion.closed:  # three turns, about the one in which the angles are
        turn, middle = 2 * np.pi, round((angles.mean() - at.mean()) / (2 * np.pi))
        at = np.concatenate([at[:-1] + (middle + k) * turn for k in (-1, 0, 1)])
        places = np.tile(places[:-1], 3)
    far, share = _to_pieces(path, places)
    far[np.abs(angles[:, None] - 0.5 * (at[1:] + at[:-1])) > np.pi / 4] = np.inf
    k = far.argmin(axis=1)
    along = share[np.arange(len(path)), k]
    found = at[k] + along * (at[k + 1] - at[k])
    return np.where(np.isfinite(far.min(axis=1)), found, angles)


def _to_pieces(path: np.ndarray, curve: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K, N − 1) distances of points from the straight pieces of a curve, m, and where on each piece, 0 to 1."""
    a, d = curve[:-1], np.diff(curve)
    far = path[:, None] - a
    share = np.clip((far * d.conj()).real / np.maximum(np.abs(d) ** 2, 1e-300), 0.0, 1.0)
    return np.abs(far - share * d), share


def _distances(path: np.ndarray, curve: np.ndarray) -> np.ndarray:
    return np.asarray(_to_pieces(path, curve)[0].min(axis=1))


def _miss(path: np.ndarray, curve: np.ndarray) -> float:
    return float(np.sqrt(np.mean(_distances(path, curve) ** 2)))
