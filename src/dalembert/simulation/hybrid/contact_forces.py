"""Forces or impulses of one-sided contacts and dry friction: one complementarity problem with circular cones for both.

Unknowns are a normal part n of each contact and tangential parts t of what may stick, with w the speeds or
accelerations that they leave. Signorini's and Coulomb's laws are projections:

    n = [n − w_n]₊,   t = the point nearest to t − w_t with ‖t‖ ≤ μ n + F                                        (1)

so that t is against the slip w_t where there is one (Alart & Curnier). (1) is solved by Newton's method. It starts from
a linear complementarity problem with a polygon in place of each circle (Stewart & Trinkle; Anitescu & Potra),

    w_n ≥ 0 ⊥ n ≥ 0,   D w_t + σ ≥ 0 ⊥ β ≥ 0,   μ n + F − Σβ ≥ 0 ⊥ σ ≥ 0                                        (2)

with directions D that are ± for one tangent, where this is exact, and some around the circle for two: eight, and more
where Newton's method fails.

Of redundant contacts rigid bodies leave the forces open. Those are taken that equal springs at all contacts would
have in the limit of great stiffness: the shortest ones, Σ cλ² least, with a compliance c of each row. (2) has small
compliances of that kind, and each step of (1) goes to the shortest of its solutions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.integrators.cone_problem import ConeProblem
from dalembert.native import library
from dalembert.simulation.hybrid.complementarity import SMALL, lemke

AROUND = (8, 16, 32, 64)  # directions of friction in a plane: where Newton's method starts
COMPLIANT = 1e-7  # of the lengths of rows: compliance in (2), far above the pivots that are rounding, far below 1
EXACT = 1e-12  # of the terms of (1): residual of a solution
BETTER = 1e-15  # of them: nothing is left to improve
STEPS, HALVES, SWEEPS = 40, 8, 20  # of Newton's method, of one of its steps, of projections
DEPENDENT = 1e-9  # of the largest singular value of unit rows: what depends on others


@dataclass(eq=False)
class ContactRows:
    """One contact, or one joint with dry friction, as the problem sees it."""

    name: str
    normal: np.ndarray | None  # (n,) whitened row, or None for a joint
    wanted: float = 0.0  # w_n without forces, and what restitution adds to it
    tangents: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (k, n) rows of what may stick
    rates: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (k,) w_t without forces
    before: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (k,) the motion that friction is against
    mu: float = 0.0
    bound: float = 0.0  # N or N m, of a joint
    drag: np.ndarray | None = None  # (n,) with friction of a contact that slides: force for each unit of n
    compliance: float = 0.0  # of its rows, beside those of others; 0: rigid, like a joint


@dataclass(frozen=True, eq=False)
class ContactForces:
    """The solution, by side: n, the tangential parts, and the slip they leave."""

    normal: dict[str, float]
    across: dict[str, np.ndarray]
    slips: dict[str, float]  # ‖w_t‖: the speed, or acceleration, of what slides
    total: np.ndarray  # (n,) whitened: Σ of all


def contact_forces(sides: list[ContactRows], dimension: int) -> ContactForces | None:
    """Solve the problem; None where no solution is found."""
    if not sides:
        return ContactForces({}, {}, {}, np.zeros(dimension))
    if len(sides) == 1 and not sides[0].tangents.size:
        return _alone(sides[0])
    problem = _Problem(sides)
    for around in AROUND:
        z = problem.start(around)
        known: list[Any] = [] if z is None else [problem.on_circles, np.copy]
        z = np.zeros(len(problem.q)) if z is None else z
        for nearer in (*known, problem.by_sweeps):
            solution, found = problem.refined(nearer(z))
            if found:
                return problem.solution(solution, dimension)
    return None


class _Problem:
    """The unknowns z = (n, t) of all sides, times the lengths of their rows: all numbers are of like size."""

    def __init__(self, sides: list[ContactRows]):
        self.sides = sides
        self.lengths = [(_length(s.normal), _length(s.tangents)) for s in sides]
        rows: list[np.ndarray] = []
        columns: list[np.ndarray] = []  # force of each unknown
        rest: list[float] = []
        weights: list[float] = []
        self.normals: list[int] = []  # places of n, −1 of a joint
        self.across: list[slice] = []  # places of t
        for s, (along, across) in zip(sides, self.lengths):
            self.normals.append(len(rows) if s.normal is not None else -1)
            if s.normal is not None:
                rows.append(s.normal / along)
                columns.append((s.normal if s.drag is None else s.drag) / along)
                rest.append(s.wanted / along)
                weights.append(s.compliance / along**2)
            self.across.append(slice(len(rows), len(rows) + len(s.tangents)))
            for row, rate in zip(s.tangents, s.rates):
                rows.append(row / across)
                columns.append(row / across)
                rest.append(float(rate) / across)
                weights.append(s.compliance / across**2)
        self.rows, self.columns, self.q = np.array(rows), np.array(columns), np.array(rest)
        self.W = self.rows @ self.columns.T
        self.weights = np.array(weights) / (max(weights) or 1.0)

    def start(self, around: int) -> np.ndarray | None:
        """A solution of (2), with polygons of so many corners."""
        directions = [_directions(s, around) for s in self.sides]
        frictional = [i for i, d in enumerate(directions) if len(d)]
        parts = []
        for i, d in enumerate(directions):
            if self.normals[i] >= 0:
                parts.append(np.eye(len(self.q))[[self.normals[i]]])
            if len(d):
                parts.append(d @ np.eye(len(self.q))[self.across[i]])
        E = np.concatenate(parts)  # (m, unknowns): w of (2) is E w, z = Eᵀ of its unknowns
        m, f = len(E), len(frictional)
        M, q = np.zeros((m + f, m + f)), np.zeros(m + f)
        soft = COMPLIANT * np.maximum(self.weights, 1e-3)
        M[:m, :m], q[:m] = E @ (self.W + np.diag(soft)) @ E.T, E @ self.q
        at = 0
        for i, d in enumerate(directions):
            s, (along, across) = self.sides[i], self.lengths[i]
            normal = at
            at += self.normals[i] >= 0
            if len(d):
                j = m + frictional.index(i)
                q[j] = s.bound * across
                M[at : at + len(d), j], M[j, at : at + len(d)] = 1.0, -1.0
                if self.normals[i] >= 0:
                    M[j, normal] = s.mu * across / along
                at += len(d)
        z = lemke(M, q)
        return None if z is None else E.T @ z[:m]

    def on_circles(self, z: np.ndarray) -> np.ndarray:
        """With the friction of the circle for what slides, in place of that of the polygon inside it."""
        w, z = self.q + self.W @ z, z.copy()
        for i, t in enumerate(self.across):
            size = float(np.linalg.norm(w[t]))
            if size > 1e-5 * np.abs(self.q).max():  # far above what compliance leaves
                z[t] = w[t] * (-self._radius(i, z) / size)
        return z

    def by_sweeps(self, z: np.ndarray) -> np.ndarray:
        """A solution of (1) by projections one after another (Gauss and Seidel) and Newton's method; see `cone`."""
        count = [(int(k >= 0), t.stop - t.start) for k, t in zip(self.normals, self.across)]
        cone = ConeProblem.sized(
            room=len(z), places=len(self.sides), rows=len(z), elements=len(self.sides), tolerance=EXACT,
            sweeps=SWEEPS, rounds=STEPS,
        )  # fmt: skip
        cone.G[:], cone.q[:], cone.z[:] = self.W, self.q, z
        for i, (s, (along, across), (normal, tangents)) in enumerate(zip(self.sides, self.lengths, count)):
            cone.first[i] = self.normals[i] if normal else self.across[i].start
            cone.normal[i], cone.across[i] = normal, tangents
            cone.mu[i], cone.bound[i] = s.mu * across / along, s.bound * across
        library.call("solve_cone", cone)
        return cone.z.copy()

    def _radius(self, i: int, z: np.ndarray) -> float:
        """The largest friction of a side, times the length of its rows."""
        s, k, (along, across) = self.sides[i], self.normals[i], self.lengths[i]
        return s.bound * across + (s.mu * across / along * max(float(z[k]), 0.0) if k >= 0 else 0.0)

    def refined(self, z: np.ndarray) -> tuple[np.ndarray, bool]:
        """A solution of (1) from nearby, and whether it is one."""
        F, J, holding = self._residual(z)
        size = float(np.abs(F).max())
        for _ in range(STEPS):
            scale = float(np.abs(self.q).max() + np.abs(z).max()) or 1.0
            if size <= BETTER * scale:
                break
            step = self._shortest(J, J @ z - F, holding) - z
            for _ in range(HALVES):
                trial = z + step
                F1, J1, holding1 = self._residual(trial)
                if np.abs(F1).max() < size or size <= EXACT * scale:
                    break
                step = 0.5 * step
            better = float(np.abs(F1).max()) < size
            if not better and size <= EXACT * scale:
                break
            z, F, J, holding, size = trial, F1, J1, holding1, float(np.abs(F1).max())
        return z, size <= EXACT * (float(np.abs(self.q).max() + np.abs(z).max()) or 1.0)

    def _residual(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Differences of the sides of (1), their derivative, and the rows that hold: those of n > 0 and of sticking."""
        w = self.q + self.W @ z
        F, J, holding = z.copy(), np.eye(len(z)), np.zeros(len(z), dtype=bool)
        for i, (s, k, t) in enumerate(zip(self.sides, self.normals, self.across)):
            if k >= 0 and z[k] - w[k] > 0.0:
                F[k], J[k], holding[k] = w[k], self.W[k], True
            if not s.tangents.size:
                continue
            radius, b = self._radius(i, z), z[t] - w[t]
            reach = float(np.linalg.norm(b))
            if reach <= radius:
                F[t], J[t], holding[t] = w[t], self.W[t], True
                continue
            d = b / reach
            F[t] = z[t] - radius * d
            across_d = (np.eye(len(d)) - np.outer(d, d)) * (radius / reach)
            J[t] -= across_d @ (np.eye(len(z))[t] - self.W[t])
            if k >= 0 and z[k] > 0.0:
                J[t, k] -= s.mu * self.lengths[i][1] / self.lengths[i][0] * d
        return F, J, holding

    def _shortest(self, J: np.ndarray, right: np.ndarray, holding: np.ndarray) -> np.ndarray:
        """The solution of J z = right whose forces in rows that hold are in no state of self-stress."""
        U, sigma, Vt = np.linalg.svd(J)
        r = int((sigma > DEPENDENT * sigma[0]).sum())
        z = Vt[:r].T @ (U[:, :r].T @ right / sigma[:r])
        if r < len(z):
            rows, free = self.rows[holding], Vt[r:].T
            left, values, _ = np.linalg.svd(rows)
            stresses = left[:, int((values > DEPENDENT * values.max(initial=1e-300)).sum()) :].T
            weighed = np.zeros((len(stresses), len(z)))
            weighed[:, holding] = stresses * self.weights[holding]
            z = z - free @ (np.linalg.pinv(weighed @ free, rcond=DEPENDENT) @ (weighed @ z))
        return z

    def solution(self, z: np.ndarray, dimension: int) -> ContactForces:
        """By side; what sticks has no slip, but for rounding."""
        w = np.where(self._residual(z)[2], 0.0, self.q + self.W @ z)
        normal: dict[str, float] = {}
        tangential: dict[str, np.ndarray] = {}
        slips: dict[str, float] = {}
        for s, k, t, (along, across) in zip(self.sides, self.normals, self.across, self.lengths):
            if k >= 0:
                normal[s.name] = max(float(z[k]), 0.0) / along
            if s.tangents.size:
                tangential[s.name], slips[s.name] = z[t] / across, float(np.linalg.norm(w[t])) * across
        return ContactForces(normal, tangential, slips, self.columns.T @ z)


def _alone(side: ContactRows) -> ContactForces | None:
    """One contact without friction, or one that slides: w_n = wanted + a n, in closed form."""
    assert side.normal is not None, "a joint has tangents"
    along = side.normal if side.drag is None else side.drag
    n, a = 0.0, float(side.normal @ along)
    if side.wanted < 0.0:
        if a <= SMALL * float(np.linalg.norm(side.normal) * np.linalg.norm(along)):
            return None
        n = -side.wanted / a
    return ContactForces({side.name: n}, {}, {}, along * n)


def _length(rows: np.ndarray | None) -> float:
    """The length of a row, or of the longest of some."""
    if rows is None or not rows.size:
        return 1.0
    return float(np.sqrt(np.square(np.atleast_2d(rows)).sum(axis=1).max())) or 1.0


def _directions(s: ContactRows, around: int) -> np.ndarray:
    """Unit vectors (d, k) along which friction may act, the first against the motion there is."""
    k = len(s.tangents)
    if k < 2:
        return np.array([[1.0], [-1.0]]) if k else np.zeros((0, 0))
    aim = s.before if np.any(s.before) else s.rates
    first = np.arctan2(-aim[1], -aim[0]) if np.any(aim) else 0.0
    angles = first + 2.0 * np.pi * np.arange(around) / around
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)
