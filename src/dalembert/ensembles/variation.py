"""What differs from run to run: numbers, one value a run, or distributions, drawn for all runs at once.

A value is a number (the same in all runs), an array with one entry a run, or a distribution of `scipy.stats` (anything
with a method `ppf`). Distributions are drawn together, by their quantiles at points of the unit cube: independent
ones, a Latin hypercube, or a Sobol sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown

MOST = 10**8  # runs
SAMPLINGS = ("random", "latin", "sobol")

Values = dict[str, np.ndarray]


class Variation:
    """The values of every run, by group ("p", "u", …) and name, each of shape (n,) or (n, k)."""

    def __init__(self, groups: Mapping[str, Mapping[str, Any]], n: Any, runs: int | None, sampling: str, seed: int):
        """n: how many runs, or None where an array tells it; runs: how many states are given, one a run, or None."""
        given = {(group, name): value for group, values in groups.items() for name, value in values.items()}
        drawn = [key for key, value in given.items() if hasattr(value, "ppf")]
        fixed = {key: _numbers(value, *key) for key, value in given.items() if key not in drawn}
        self.n = _count(fixed, n, runs)
        points = _points(self.n, len(drawn), sampling, seed)
        values = {key: _quantiles(given[key], column, *key) for key, column in zip(drawn, points.T)}
        for key, value in fixed.items():
            values[key] = np.broadcast_to(value, (self.n,)) if value.ndim == 0 else value
        self.groups: dict[str, Values] = {
            group: {name: values[group, name] for name in names} for group, names in groups.items()
        }
        self.varied: Values = {
            name: values[group, name] for (group, name), v in given.items() if np.ndim(v) or (group, name) in drawn
        }

    def matrix(self, group: str, names: Sequence[str], base: np.ndarray) -> np.ndarray:
        """(n, k) values in the order of `names`; a name may stand for several numbers name[0], name[1], …"""
        out = np.tile(base, (self.n, 1))
        for name, values in self.groups[group].items():
            places = [k for k, known in enumerate(names) if known == name or known.startswith(f"{name}[")]
            if not places:
                raise unknown(WORDS[group], name, names)
            width = values.shape[1] if values.ndim == 2 else 1
            if width != len(places):
                raise ArgumentError(
                    f"{WORDS[group]} '{name}' has {width} number(s) a run; needed: {len(places)}, as an array of shape "
                    f"({self.n}, {len(places)})."
                )
            out[:, places] = values.reshape(self.n, -1)
        return out


WORDS = {"p": "parameter", "u": "input", "states": "coordinate", "v": "velocity"}


def _numbers(value: Any, group: str, name: str) -> np.ndarray:
    what = f"{WORDS[group]} '{name}'"
    x = checks.array(np.asarray(value) if hasattr(value, "to_numpy") else value, None, what)
    if x.ndim > 2:
        raise ArgumentError(f"{what} has shape {x.shape}; needed: one number, or one for each run.")
    return x


def _count(fixed: Mapping[tuple[str, str], np.ndarray], n: Any, runs: int | None) -> int:
    """How many runs there are; all that tell it must agree."""
    told = {f"{WORDS[group]} '{name}'": len(x) for (group, name), x in fixed.items() if x.ndim}
    if runs is not None:
        told["states"] = runs
    if n is not None:
        told["n"] = checks.whole(n, "n", least=1, most=MOST)
    if not told:
        raise ArgumentError("nothing tells how many runs are wanted. Give n=, or an array with one value for each run.")
    (first, count), *others = told.items()
    for name, other in others:
        if other != count:
            raise ArgumentError(f"{name} is for {other} runs and {first} for {count}; needed: the same number.")
    if count < 1:
        raise ArgumentError(f"{first} is empty; needed: one value for each run.")
    return count


def _points(n: int, dimensions: int, sampling: str, seed: int) -> np.ndarray:
    """(n, dimensions) points of the unit cube."""
    if not dimensions:
        return np.zeros((n, 0))
    if sampling == "random":
        return np.random.default_rng(seed).uniform(size=(n, dimensions))
    from scipy.stats import qmc

    if sampling == "latin":
        return qmc.LatinHypercube(dimensions, seed=seed).random(n)
    bits = max(1, int(np.ceil(np.log2(n))))
    return qmc.Sobol(dimensions, seed=seed).random_base2(bits)[:n]


def _quantiles(distribution: Any, points: np.ndarray, group: str, name: str) -> np.ndarray:
    what = f"the distribution of {WORDS[group]} '{name}'"
    try:
        values = distribution.ppf(points)
    except Exception as error:
        raise ArgumentError(f"{what} has no quantiles: {error}") from error
    x = checks.reals(values, what)
    if x.shape != points.shape or not np.isfinite(x).all():
        raise ArgumentError(f"{what} gives values that are not finite numbers; needed: one distribution of one number.")
    return x
