"""Whether a motion that comes near the apex of a cone is followed around it: what numbers resolve, what rounding hides.

A motion that misses an apex by δ turns around it within δ, and is regular at any δ. It is followed where

    the miss is told from none         δ > `told`, ten times what a run is off by before it                     (1)
    lengths make no other mechanism    σ > `necks` σ₀                                                           (2)
    neighbours stay side by side       the cone is one in three dimensions (`TangentCone.parts_neighbours`)     (3)

Where neighbours part, what a run is off by grows about 1/δ times: at such misses its start does not determine it.
Lengths are rounded numbers, so that a position that is singular in theory is none by a gap g of the constraints. Next
to it W Φ = g + ½ zᵀ F z for the motions z = (y, |c| t) of `analysis.tangent_cone`. Where that is zero, its slope F z is
about σ₀ = √(2 |g| |F|) or more: the neck between the branches. g is known to 1e-30 from Φ in twice the precision,
where the slope of W Φ vanishes; of exact lengths it is zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.analysis.tangent_cone import TangentCone, on_strong_rows
from dalembert.protocols import Inputs, StateLike
from dalembert.rank import reach
from dalembert.ruler import Ruler
from dalembert.simulation.singular.crossing import beside
from dalembert.system.state import State
from dalembert.system.system import System

APPROACHES = 3  # to the apex, by Newton's method: from 1e-4 to 1e-8, 1e-16, and what rounding leaves


def resolution(
    system: System, x: State, p: np.ndarray, usual: int, u: Inputs, ruler: Ruler, phi: Callable[[StateLike], np.ndarray]
) -> float:
    """σ down to which a motion at a state x is followed by (1) to (3); 0 where nothing below `hit` can be.

    usual: rank of the constraints elsewhere; u: inputs; phi: holonomic Φ in twice the precision.
    """
    _, rank, cone = beside(system, x, p, usual, ruler.hit, u, ruler.together)
    if cone.kind != "cone" or cone.parts_neighbours:
        return 0.0
    y = cone.local(x.v)
    pace = float(np.abs(cone.K @ y / reach(system, p)).max(initial=0.0))
    told = max(ruler.finest, ruler.told * cone.opening(y) / max(pace, 1e-300))
    return told if ruler.necks * neck(system, x, p, (rank, usual), u, phi) <= told < ruler.hit else 0.0


def neck(
    system: System,
    x: StateLike,
    p: np.ndarray,
    ranks: tuple[int, int],
    u: Inputs,
    phi: Callable[[StateLike], np.ndarray],
) -> float:
    """σ₀ of (2) next to a state; ranks: in the position, and usual."""
    for _ in range(APPROACHES):
        x, t = on_strong_rows(system, x, p, ranks[0], u)
        cone = TangentCone.of(system, x, p, *ranks, t, u)
        _, A, b = system.evaluate("constraints", x, p=p)
        slope, ways, time = cone.W @ A @ cone.K, cone.K, 0.0
        if cone.driven:
            slope = np.column_stack([slope, cone.W @ (A @ cone.c + b) / cone.driven])
            ways = np.column_stack([ways, cone.c / cone.driven])
        forms = cone.forms_with_time
        z = np.linalg.lstsq(forms.reshape(-1, slope.shape[1]), -slope.ravel(), rcond=Ruler.flat)[0]
        if cone.driven:
            time = float(z[-1]) / cone.driven
        x = x.replace(q=system.plus(x, ways @ z), t=x.t + time)
    gap = np.abs(cone.W[:, system.rows.holonomic] @ phi(x)).max()
    return float((2.0 * gap * np.abs(forms).max()) ** 0.5)
