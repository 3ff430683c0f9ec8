"""How a sketch moves, before it is a mechanism: natural coordinates, the places (x, y) of its pins.

    bars        (‖x_i − x_j‖² − L²) / 2L = 0                                                                    (1)
    plates      x_k − x_0 − a (x_1 − x_0) − b ⟂(x_1 − x_0) = 0,  ⟂(x, y) = (−y, x)                              (2)
    sliders     n · (x_k − y) = 0 in the ground,  (x_1 − x_0) × (x_k − x_0) / L − c = 0 along a bar              (3)

García de Jalón and Bayo, Kinematic and Dynamic Simulation of Multibody Systems, ch. 2. The rank of the rows gives the
mobility at once, while it is drawn; with one freedom the curve of positions is followed through all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.studio.sketch import Member, Sketch, edges

RANK = 1e-8  # of the largest singular value of rows without units: drawn by hand, nothing else is exact
CLOSED = 1e-12  # of the sketch's size: rows hold
FINEST, COARSEST = 1e-4, 1 / 60  # of the sketch's size: steps along the curve
CORRECTED = 0.2  # of a step: what closing may add to it
STRAIGHT = 0.9  # cosine: how far the way may turn in one step
PATIENCE = 60  # steps that bring a sketch to other lengths
PICTURES = 900  # positions of a curve
AWAY = 20.0  # of the sketch's size: where a slider's way is followed to


@dataclass(frozen=True, eq=False)
class CouplerCurve:
    """Positions of the pins through a motion with one freedom."""

    pins: tuple[str, ...]
    places: np.ndarray  # (positions, pins, 2) m
    closed: bool  # whether it ends where it begins
    driver: str  # the pin about which the driving bar turns, or that slides; "" for none
    dead: np.ndarray  # (dead points, pins, 2): where the driver turns back


class SketchRows:
    """The rows of a sketch over its pins.

    lengths: {{pin, pin}: m} in place of those that are drawn.
    """

    def __init__(self, sketch: Sketch, lengths: Mapping[frozenset[str], float] | None = None):
        self.sketch = sketch
        joined = [m for m in sketch.members.values() if m.kind in ("bar", "slider")]
        self.pins = tuple(n for n in sketch.pins if any(n in m.pins for m in joined))
        self.at = {n: k for k, n in enumerate(self.pins)}
        self.drawn = np.array([sketch.pins[n] for n in self.pins]).reshape(-1, 2)
        self.size = float(np.ptp(self.drawn, axis=0).max()) if self.pins else 1.0
        self.free = np.repeat(np.array([n not in sketch.ground for n in self.pins], dtype=bool), 2)
        self._lengths = dict(lengths or {})
        self._build(joined)

    def _build(self, joined: list[Member]) -> None:
        n, bars, lines, right, rails = 2 * len(self.pins), [], [], [], []
        for m in joined:
            k = [self.at[p] for p in m.pins]
            if m.kind == "bar":
                bars.append((k[0], k[1], self._length(m.pins[0], m.pins[1])))
                for pin, i in zip(m.pins[2:], k[2:]):
                    a, b = self._local(m.pins[0], m.pins[1], pin)
                    for axis, s in ((0, -b), (1, b)):
                        row = np.zeros(n)
                        row[2 * i + axis] = 1.0
                        row[2 * k[0] + axis], row[2 * k[1] + axis] = a - 1.0, -a
                        row[2 * k[0] + 1 - axis], row[2 * k[1] + 1 - axis] = s, -s
                        lines.append(row)
                        right.append(0.0)
            elif len(k) == 1:
                c, s = math.cos(m.values["angle"]), math.sin(m.values["angle"])
                row = np.zeros(n)
                row[2 * k[0] : 2 * k[0] + 2] = -s, c
                lines.append(row)
                right.append(float(row @ self.drawn.ravel()))
            else:
                (px, py), (ax, ay), (bx, by) = (self.drawn[i] for i in k)
                L = math.hypot(bx - ax, by - ay)
                rails.append((*k, L, ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / L))
        self._i, self._j = (np.array([b[c] for b in bars], dtype=int) for c in (0, 1))
        self._L = np.array([b[2] for b in bars])
        self._lines, self._right = np.array(lines).reshape(len(lines), n), np.array(right)
        self._rails = rails
        self.rows = len(bars) + len(lines) + len(rails)

    def _length(self, a: str, b: str) -> float:
        return self._lengths.get(frozenset((a, b)), math.dist(self.sketch.pins[a], self.sketch.pins[b]))

    def _local(self, first: str, second: str, pin: str) -> tuple[float, float]:
        """(a, b) of (2): as drawn, or by the three lengths where one of them is another."""
        o, x, p = (np.array(self.sketch.pins[n]) for n in (first, second, pin))
        way = x - o
        a, b = (p - o) @ way / (way @ way), (way[0] * (p - o)[1] - way[1] * (p - o)[0]) / (way @ way)
        if not any(frozenset(pair) in self._lengths for pair in ((first, second), (first, pin), (second, pin))):
            return float(a), float(b)
        L, r, s = self._length(first, second), self._length(first, pin), self._length(second, pin)
        a = (L * L + r * r - s * s) / (2 * L * L)
        square = (r / L) ** 2 - a * a
        if square < -1e-12:
            raise ArgumentError(
                f"a plate with the sides {first}{second} = {L:g} m, {first}{pin} = {r:g} m and {second}{pin} = {s:g} m "
                "has no such triangle; needed: each side shorter than the two others together."
            )
        return float(a), math.copysign(math.sqrt(max(square, 0.0)), b)

    def residual(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (1), (2), (3), in m, and their derivatives by the free coordinates, for places X (pins, 2)."""
        d = X[self._i] - X[self._j]
        n = len(self._L)
        J = np.zeros((self.rows, X.size))
        r = np.arange(n)
        for axis in (0, 1):
            J[r, 2 * self._i + axis] = d[:, axis] / self._L
            J[r, 2 * self._j + axis] = -d[:, axis] / self._L
        J[n : n + len(self._lines)] = self._lines
        phi = [((d * d).sum(axis=1) - self._L**2) / (2 * self._L), self._lines @ X.ravel() - self._right]
        for k, (p, a, b, L, c) in enumerate(self._rails, start=n + len(self._lines)):
            u, w = X[b] - X[a], X[p] - X[a]
            phi.append(np.array([(u[0] * w[1] - u[1] * w[0]) / L - c]))
            to_p, to_b = np.array([-u[1], u[0]]) / L, np.array([w[1], -w[0]]) / L
            for i, g in ((p, to_p), (b, to_b), (a, -to_p - to_b)):
                J[k, 2 * i : 2 * i + 2] += g
        return np.concatenate(phi), J[:, self.free]

    def closed(self, X: np.ndarray, steps: int = 12) -> np.ndarray | None:
        """The places near X at which all rows hold, by Gauss and Newton; None where it does not come there."""
        X, last = X.copy(), np.inf
        flat = X.reshape(-1)
        for _ in range(steps):
            phi, J = self.residual(X)
            gap = float(np.abs(phi).max(initial=0.0))
            if gap <= CLOSED * self.size:
                return X
            if not gap < 2.0 * last:
                return None
            flat[self.free] -= np.linalg.lstsq(J, phi, rcond=RANK)[0]
            last = gap
        return X if last <= 100 * CLOSED * self.size else None

    def mobility(self) -> tuple[int, int]:
        """(mobility, redundant rows) as it is drawn."""
        rank = self._rank(self.residual(self.drawn)[1])
        return int(self.free.sum()) - rank, self.rows - rank

    @staticmethod
    def _rank(J: np.ndarray) -> int:
        sigma = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(0)
        return int((sigma > RANK * sigma.max(initial=0.0)).sum())

    # --- one freedom --------------------------------------------------------------------------------------------

    def curve(self) -> CouplerCurve | None:
        """All positions that are reached from the drawn one; None unless the mobility is 1."""
        if self.mobility()[0] != 1:
            return None
        way = self._way(self.drawn, None)
        forward, closed = self._follow(way)
        places = forward if closed else [*self._follow(-way)[0][:0:-1], *forward]
        found = np.array(places)
        driver = self._driver()
        return CouplerCurve(self.pins, found, closed, driver[0], self._turns(found, driver[1:]))

    @property
    def driver(self) -> str:
        """The pin about which the driving bar turns, or that slides; "" for none."""
        return self._driver()[0]

    def _way(self, X: np.ndarray, last: np.ndarray | None) -> np.ndarray:
        """The unit tangent of the curve at X, in the direction of the last one."""
        V = np.linalg.svd(self.residual(X)[1])[2]
        return V[-1] if last is None or V[-1] @ last >= 0 else -V[-1]

    def _follow(self, way: np.ndarray) -> tuple[list[np.ndarray], bool]:
        """Positions one way, and whether they came back to the first."""
        out, h = [self.drawn], COARSEST * self.size
        while len(out) < PICTURES and h >= FINEST * self.size:
            guess = out[-1].copy()
            guess.reshape(-1)[self.free] += h * way
            new = self.closed(guess, 6)
            if new is None or np.linalg.norm(new - guess) > CORRECTED * h:
                h /= 2
                continue
            turned = self._way(new, way)
            if turned @ way < STRAIGHT:
                h /= 2
                continue
            home = (self.drawn - out[-1]).reshape(-1)[self.free]
            if len(out) > 3 and np.linalg.norm(home) < 1.01 * h and home @ way > 0.9 * np.linalg.norm(home):
                return [*out, self.drawn], True
            if np.abs(new - self.drawn).max() > AWAY * self.size:
                break
            out.append(new)
            way, h = turned, min(1.5 * h, COARSEST * self.size)
        return out, False

    def _driver(self) -> tuple[str, int, int, float]:
        """(name, pin it turns about or −1, pin that moves, direction it slides in) of what drives the sketch."""
        s = self.sketch
        motors = [m.pins[0] for m in s.members.values() if m.kind == "motor"]
        bars = [pair if pair[0] in s.ground else pair[::-1] for m in s.members.values() for pair in edges(m)]
        turning = [(a, b) for a, b in bars if a in s.ground and b not in s.ground]
        for a, b in sorted(turning, key=lambda pair: pair[0] not in motors):
            return a, self.at[a], self.at[b], 0.0
        sliders = [m for m in s.members.values() if m.kind == "slider" and len(m.pins) == 1]
        return next(((m.pins[0], -1, self.at[m.pins[0]], m.values["angle"]) for m in sliders), ("", -1, -1, 0.0))

    def _rate(self, X: np.ndarray, way: np.ndarray, driver: tuple[int, int, float]) -> float:
        """How fast the driver moves along the curve, rad or m per step."""
        centre, k, angle = driver
        full = np.zeros(2 * len(self.pins))
        full[self.free] = way
        v = full[2 * k : 2 * k + 2]
        if centre < 0:
            return float(v @ (math.cos(angle), math.sin(angle)))
        arm = X[k] - X[centre]
        return float((arm[0] * v[1] - arm[1] * v[0]) / (arm @ arm))

    def _turns(self, places: np.ndarray, driver: tuple[int, int, float]) -> np.ndarray:
        return np.array(list(self._dead(places, driver))).reshape(-1, len(self.pins), 2)

    def _dead(self, places: np.ndarray, driver: tuple[int, int, float]) -> Iterator[np.ndarray]:
        """Positions at which the driver turns back."""
        if driver[1] < 0:
            return
        way, before = None, 0.0
        for k, X in enumerate(places):
            way = (places[1] - X).reshape(-1)[self.free] if k == 0 else way
            way = self._way(X, way)
            rate = self._rate(X, way, driver)
            if before * rate < 0 and (found := self._turning(places[k - 1], X, way, driver)) is not None:
                yield found
            before = rate or before

    def _turning(
        self, one: np.ndarray, other: np.ndarray, way: np.ndarray, driver: tuple[int, int, float]
    ) -> np.ndarray | None:
        """The position between two at which the rate of the driver is zero, by bisection."""
        low, high, X = 0.0, 1.0, None
        first = self._rate(one, self._way(one, way), driver)
        for _ in range(40):
            middle = 0.5 * (low + high)
            X = self.closed(one + middle * (other - one))
            if X is None:
                return None
            if self._rate(X, self._way(X, way), driver) * first > 0:
                low = middle
            else:
                high = middle
        return X


def with_length(sketch: Sketch, a: str, b: str, value: float) -> Sketch:
    """The sketch with another distance (m) of two pins; those of its other members stay as they are."""
    a, b = sketch.known(a), sketch.known(b)
    old = math.dist(sketch.pins[a], sketch.pins[b])
    if not value > 0.0 or old == 0.0:
        raise ArgumentError(f"the distance of '{a}' and '{b}' is to be {value:g} m; needed: a length above 0.")
    lengths = {frozenset(pair): math.dist(*(sketch.pins[n] for n in pair)) for pair in rigid_pairs(sketch)}
    fixed, rigid = a in sketch.ground and b in sketch.ground, frozenset((a, b)) in lengths
    if fixed or not rigid:
        (x, y), (u, w) = sketch.pins[a], sketch.pins[b]
        sketch = sketch.moved({b: (x + (u - x) * value / old, y + (w - y) * value / old)})
    if not (fixed or rigid):
        return sketch
    planar = SketchRows(sketch, lengths | ({frozenset((a, b)): value} if rigid else {}))
    found = planar.closed(planar.drawn, PATIENCE)
    if found is None:
        raise ArgumentError(
            f"the distance of '{a}' and '{b}' cannot be {value:g} m while the other lengths stay; needed: other "
            "lengths first, or one nearer to what it is."
        )
    return sketch.moved({n: found[k] for n, k in planar.at.items() if n not in sketch.ground})


def rigid_pairs(sketch: Sketch) -> list[tuple[str, str]]:
    """Pairs of pins whose distance bars and plates keep."""
    return [pair for m in sketch.members.values() for pair in edges(m)]
