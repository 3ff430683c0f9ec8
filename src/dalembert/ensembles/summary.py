"""Summary of outputs whose paths would not fit into memory: extremes of each run, and counts for quantiles and moments.

The counts at a time are those of bins of width 2^k with edges at multiples of it; k is the least for which BINS of them
hold all values so far. When k grows, bins are joined in pairs, so the counts depend on the values alone, not on the
order in which they came, and a quantile is known to a bin: 1/2048 of the range of the values, or better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BINS = 4096


class Extremes(NamedTuple):
    """Least and greatest values of each run over the times of t_eval, and when, s; NaN where nothing is known."""

    least: np.ndarray  # (n,)
    t_least: np.ndarray
    greatest: np.ndarray
    t_greatest: np.ndarray


def extremes(t: np.ndarray, values: np.ndarray) -> Extremes:
    """Summary of values (n, T) at times t (T,)."""
    known = np.isfinite(values)
    some = known.any(axis=1)
    out = []
    for pick, far in ((np.argmin, np.inf), (np.argmax, -np.inf)):
        k = pick(np.where(known, values, far), axis=1)
        out += [np.where(some, values[np.arange(len(values)), k], np.nan), np.where(some, t[k], np.nan)]
    return Extremes(*out)


class Summary:
    """One output of n runs at times t (T,): extremes of each run, and counts at each time."""

    def __init__(self, n: int, t: np.ndarray) -> None:
        self.t, self.extremes = t, Extremes(*(np.full(n, np.nan) for _ in range(4)))
        self.bins = [Bins() for _ in t]

    def add(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Runs `rows` have these values (len(rows), T)."""
        for whole, part in zip(self.extremes, extremes(self.t, values)):
            whole[rows] = part
        for bins, column in zip(self.bins, values.T):
            bins.add(column[np.isfinite(column)])

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        """(len(levels), T) quantiles over the runs, at each time."""
        return np.array([bins.quantiles(levels) for bins in self.bins]).T

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """(T,) means and (T,) standard deviations, to a bin."""
        mean, spread = np.array([bins.moments() for bins in self.bins]).reshape(-1, 2).T
        return mean, spread


class Bins:
    """Counts of the values at one time."""

    def __init__(self) -> None:
        self.low, self.high, self.power, self.first = np.inf, -np.inf, 0, 0
        self.counts = np.zeros(0, dtype=np.uint32)

    def add(self, x: np.ndarray) -> None:
        """Count these finite values."""
        if not len(x):
            return
        empty = not len(self.counts)
        self.low, self.high = min(self.low, float(x.min())), max(self.high, float(x.max()))
        power = self._power()
        first = int(np.floor(np.ldexp(self.low, -power)))
        counts = np.bincount(np.floor(np.ldexp(x, -power)).astype(np.int64) - first, minlength=BINS)
        if not empty:
            used = np.flatnonzero(self.counts)
            places = ((self.first + used) >> (power - self.power)) - first
            counts += np.bincount(places, self.counts[used], minlength=BINS).astype(np.int64)
        self.power, self.first, self.counts = power, first, counts.astype(np.uint32)

    def _power(self) -> int:
        """The least k for which BINS bins of width 2^k hold all values, and their numbers are exact."""
        size = max(abs(self.low), abs(self.high))
        power = int(np.frexp(size)[1]) - 52
        spread = self.high - self.low
        if spread > 0.0:
            power = max(power, int(np.ceil(np.log2(spread / BINS))) - 1)
        while np.floor(np.ldexp(self.high, -power)) - np.floor(np.ldexp(self.low, -power)) >= BINS:
            power += 1
        return power

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        """(len(levels),), as `numpy.quantile` has them, the values of a bin spread evenly over it."""
        if not len(self.counts):
            return np.full(len(levels), np.nan)
        after = np.cumsum(self.counts, dtype=np.int64)
        place = (after[-1] - 1) * levels
        below, above = (self._ranked(after, f(place).astype(np.int64)) for f in (np.floor, np.ceil))
        return np.asarray(below + (place - np.floor(place)) * (above - below))

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation (by n − 1), with the values of a bin in its middle; NaN of none, and of one."""
        n = int(self.counts.sum())
        if not n:
            return np.nan, np.nan
        used = np.flatnonzero(self.counts)
        x = np.clip(np.ldexp(self.first + used + 0.5, self.power), self.low, self.high)
        mean = float(self.counts[used] @ x) / n
        return mean, float(np.sqrt(self.counts[used] @ (x - mean) ** 2 / (n - 1))) if n > 1 else np.nan

    def _ranked(self, after: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """The values of these ranks, from 0."""
        k = np.searchsorted(after, rank, side="right")
        inside = (rank - (after[k] - self.counts[k]) + 0.5) / self.counts[k]
        return np.clip(np.ldexp(self.first + k + inside, self.power), self.low, self.high)
