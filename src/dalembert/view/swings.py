"""A mode of a linear model as something that can be watched: a few swings of the mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.protocols import Parameters

FRAMES, SWINGS, LIMIT = 48, 3, 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Swing:
    """Some swings of a mode, as a run: positions q (N, nq) at times t (N,); velocities are not known."""

    system: Any
    p: Parameters
    t: np.ndarray
    q: np.ndarray
    message: str
    passages: tuple[Any, ...] = ()


def swing(mode: Any, amplitude: float | None = None) -> Swing:
    """Swings of a mode: of its period, or of two seconds if it does not oscillate. amplitude: rad or m."""
    system = mode.model.operating.system
    if amplitude is None:
        amplitude = LIMIT * (1.0 if _turns(mode) else system.layout.length)
    amplitude = checks.number(amplitude, "amplitude")
    once = np.array([x.q for x in mode.states(amplitude, FRAMES)])
    q = np.concatenate([once] * SWINGS + [once[:1]])
    period = 2 * np.pi / abs(mode.eigenvalue.imag) if mode.eigenvalue.imag else 2.0
    t = np.linspace(0.0, SWINGS * period, len(q))
    return Swing(system, mode.model.operating.p, t, q, str(mode).strip())


def _turns(mode: Any) -> bool:
    """Whether what moves most is an angle."""
    system = mode.model.operating.system
    most = max(mode.joints, key=lambda name: abs(mode.joints[name]))
    for name, a in system.layout.joints.items():
        here = system.v_names[system.layout.v_slice(name)]
        if most in here:
            return bool(a.joint.angular[here.index(most)])
    return True
