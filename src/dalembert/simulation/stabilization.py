"""How a run stays on the constraint manifold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError


@dataclass(frozen=True)
class Projection:
    """After a step the state is moved to the nearest one that satisfies the constraints.

    corrections: at most so many Newton steps for the positions. directions: "updated" at each of them (Aghili 37,
    Kövecses & Piedboeuf 36), or "frozen" at those of the step's start (35). every: positions are corrected after every
    k-th step only (Aghili 4.3). velocities: whether they are filtered after each step (33). metric: what "nearest"
    means, "mass", "euclidean", or weights (nv,). energy: positions, velocities and the energy balance are restored
    together (Spencer 3.1.3); work of inputs, dampers and drivers is part of the balance.
    """

    corrections: int = 2
    directions: str = "updated"
    every: int = 1
    velocities: bool = True
    metric: Any = "mass"
    energy: bool = False

    def __post_init__(self) -> None:
        checks.choice(self.directions, ("updated", "frozen"), "directions")
        checks.whole(self.corrections, "corrections", least=1, most=1000)
        checks.whole(self.every, "every", least=1, most=2**62)
        checks.flag(self.velocities, "velocities")
        checks.flag(self.energy, "energy")
        if isinstance(self.metric, str):
            checks.choice(self.metric, ("mass", "euclidean"), "metric")
        else:
            checks.vector(self.metric, None, "metric")
        plain = self.directions == "updated" and self.every == 1 and self.velocities and isinstance(self.metric, str)
        if self.energy and not (plain and self.metric == "mass"):
            raise ArgumentError(
                "energy=True restores positions, velocities and energy together after every step, in the mass metric; "
                "leave directions, every, velocities and metric as they are."
            )

    def weights(self, nv: int) -> np.ndarray | None:
        """(nv,), or None for the mass metric."""
        if isinstance(self.metric, str):
            return None if self.metric == "mass" else np.ones(nv)
        w = checks.vector(self.metric, None, "metric")
        if w.shape != (nv,) or not np.all(w > 0):
            raise ArgumentError(f"the metric has shape {w.shape}; needed: ({nv},) positive weights of the velocities.")
        return w


@dataclass(frozen=True)
class Baumgarte:
    """Errors are fed back into the accelerations: A v̇ + γ + 2α (A v + b) + β² Φ = 0 (Spencer 3.8). In 1/s.

    The drift decays and is never removed; near singular positions the feedback makes the motion stiff.
    """

    alpha: float = 10.0
    beta: float = 10.0

    def __post_init__(self) -> None:
        checks.number(self.alpha, "alpha", least=0.0)
        checks.number(self.beta, "beta", least=0.0)


NAMED: dict[str, Projection | Baumgarte | None] = {
    "projection": Projection(),
    "energy": Projection(energy=True),
    "baumgarte": Baumgarte(),
    "none": None,
}


def as_stabilization(given: Any) -> Projection | Baumgarte | None:
    """A choice by name, or the object itself."""
    if given is None or isinstance(given, (Projection, Baumgarte)):
        return given
    if isinstance(given, str) and given in NAMED:
        return NAMED[given]
    raise ArgumentError(
        f"stabilization is {given!r:.100}; needed: one of {', '.join(map(repr, NAMED))}, a Projection or a Baumgarte."
    )
