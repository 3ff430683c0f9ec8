"""Ten seconds of motion: problems and starts, levels of accuracy, and a judge that is none of the tools' own loops.

    P1       five-bar from rest
    P2       four-bar, crank at 90° and 2 rad/s
    P3       two 7-joint arms that hold a box
    P5 osc   ladder of N loops, hanging, cranks at 4 rad/s: never singular
    P5 A02   the same, cranks up, −1 rad/s: passes the flat singular position

Energies and closures of paths in joint angles are judged with Pinocchio's kinematics, whoever computed the path;
Exudyn, whose joints are all constraints, is judged in its own coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks import models
from benchmarks.description import WORLD, Model

DURATION = 10.0
LEVELS = {"L1": (0.1, 1e-3), "L2": (1e-3, 1e-6), "L3": (1e-6, 1e-9)}
SAMPLES = 300  # most states of a path that are judged


class Outcome(NamedTuple):
    """What a run is judged by."""

    energy: float  # J, largest change
    closure: float  # m (and rad, of rigid closures), largest gap
    angle: float  # rad, of the first link at the end

    def reaches(self, level: str) -> bool:
        """Whether it is as accurate as a level asks."""
        energy, closure = LEVELS[level]
        return self.energy <= energy and self.closure <= closure


@dataclass(frozen=True, eq=False)
class Motion:
    """A mechanism and its start, on the constraints."""

    model: Model
    q: np.ndarray
    v: np.ndarray
    angle: float | None = None  # of the first link at the end, where it was published
    energy: float | None = None  # J at the start, the same
    check: float = DURATION  # s: until when two tools can agree (P3 is chaotic)

    @property
    def name(self) -> str:
        """Of the problem."""
        return self.model.name

    @cached_property
    def system(self) -> da.System:
        """In dalembert."""
        return self.model.mechanism().compile()

    @cached_property
    def start(self) -> da.State:
        """In dalembert."""
        return self.system.state(self.q, self.v)

    @cached_property
    def pinocchio(self) -> pin.Model:
        """In Pinocchio."""
        return self.model.pinocchio()

    def judge(self, q: np.ndarray, v: np.ndarray) -> Outcome:
        """Of a path in joint angles, a state a row."""
        model, data = self.pinocchio, self.pinocchio.createData()
        rows = picked(len(q))
        energy, closure = np.empty(len(rows)), 0.0
        for k, i in enumerate(rows):
            energy[k] = pin.computeMechanicalEnergy(model, data, q[i], v[i])
            closure = max(closure, self._gap(data))
        change = np.abs(energy - energy[0]).max()
        return Outcome(float(change), closure, float(q[-1, 0])) if np.isfinite(change) else NOWHERE

    def _gap(self, data: pin.Data) -> float:
        worst = 0.0
        for c in self.model.closures:
            a, b = (pin.SE3.Identity() if i == WORLD else data.oMi[i + 1] for i in (c.a, c.b))
            a, b = a * pin.SE3(c.rotation_a, np.array(c.at_a)), b * pin.SE3(np.eye(3), np.array(c.at_b))
            turn = np.linalg.norm(pin.log3(a.rotation.T @ b.rotation)) if c.kind == "fixed" else 0.0
            worst = max(worst, float(np.linalg.norm(a.translation - b.translation)), float(turn))
        return worst


def picked(n: int) -> np.ndarray:
    """Which of n states of a path are judged: the first, the last, and others evenly between."""
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLES)).round().astype(int))


NOWHERE = Outcome(np.inf, np.inf, np.nan)  # a run that failed


def five_bar() -> Motion:
    """P1, from rest."""
    model = models.five_bar()
    return Motion(model, model.q, np.zeros(4), angle=-1.41885093, energy=-43.5276)


def four_bar() -> Motion:
    """P2."""
    model = models.four_bar()
    system = model.mechanism().compile()
    x = system.assemble({"j_crank": np.pi / 2}, guess={"j_coupler": -1.2, "j_rocker": 1.4}, v={"j_crank": 2.0})
    return Motion(model, x.q, x.v, angle=51.61620934, energy=43.2147)


def two_arms() -> Motion:
    """P3."""
    model = models.two_arms()
    system = model.mechanism().compile()
    x = system.project(system.state(*models.consistent_state(model, system)))
    return Motion(model, x.q, x.v, check=1.0)


def ladder(n: int, kind: str) -> Motion:
    """P5, "osc" or "A02"; couplers stay level, so each turns against its crank."""
    angle, speed = (-np.pi / 2, 4.0) if kind == "osc" else (np.pi / 2, -1.0)
    sign = np.where(np.arange(2 * n + 1) % 2 == 0, 1.0, -1.0)  # crank, coupler, crank, …
    model = replace(models.ladder(n), name=f"P5 {kind}, N = {n}")
    return Motion(model, angle * sign, speed * sign)


def problems(sizes: tuple[int, ...] = (1, 10, 40)) -> list[Motion]:
    """All of them."""
    ladders = [ladder(n, kind) for kind in ("osc", "A02") for n in sizes]
    return [five_bar(), four_bar(), two_arms(), *ladders]
