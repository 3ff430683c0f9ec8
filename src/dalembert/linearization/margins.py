"""Stability margins of a loop that is closed around a linear model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.linearization.model import LinearModel

DECADES = 6.0  # of frequency beyond the slowest and the fastest pole that are looked at
POINTS = 6000  # frequencies between which crossings are looked for


@dataclass(frozen=True)
class Margins:
    """By what the gain of a loop can be multiplied, and its phase lag, until it loses stability: 1 + G(jω) = 0.

    Where there is no such frequency a margin is infinite and its frequency NaN.
    """

    gain: float  # the nearest to 1, by its logarithm, of the factors at which |G| is 1 where G is negative
    phase: float  # rad, the nearest to 0 of the phases of −G where |G| is 1
    gain_frequency: float  # rad/s
    phase_frequency: float  # rad/s


def margins(model: LinearModel, input: int, output: int) -> Margins:
    """Of the loop from an output to an input with −1, by the roots of Im G and of |G| − 1 over frequency."""
    w = model.frequencies(DECADES, POINTS)

    def G(omega: float) -> complex:
        return complex(model.frequency_response([omega])[0, output, input])

    values = model.frequency_response(w)[:, output, input]
    real = [(x, G(x)) for x in _roots(w, values.imag, lambda x: G(x).imag)]
    factors = [(1.0 / abs(g), x) for x, g in real if g.real < 0.0]
    unit = _roots(w, np.log(np.maximum(np.abs(values), 1e-300)), lambda x: float(np.log(abs(G(x)))))
    phases = [(float(np.angle(-G(x))), x) for x in unit]
    gain = min(factors, key=lambda pair: abs(np.log(pair[0])), default=(np.inf, np.nan))
    phase = min(phases, key=lambda pair: abs(pair[0]), default=(np.inf, np.nan))
    return Margins(float(gain[0]), float(phase[0]), float(gain[1]), float(phase[1]))


def _roots(w: np.ndarray, values: np.ndarray, f: Callable[[float], float]) -> list[float]:
    """Frequencies at which a function of them changes its sign without a jump."""
    from scipy.optimize import brentq

    out = []
    for k in np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0).tolist():
        x = float(brentq(f, w[k], w[k + 1], xtol=1e-14 * w[k], rtol=1e-14))
        if abs(f(x)) <= 1e-6 * max(abs(values[k]), abs(values[k + 1])):  # not a pole between them
            out.append(x)
    return out
