"""What differs from run to run: numbers, one value a run, or distributions, drawn for all runs at once.

A value is a number (the same in all runs), an array with one entry a run, or a distribution of `scipy.stats` (anything
with a method `ppf`). Distributions are drawn together, by their quantiles at points of the unit cube: independent
ones, a Latin hypercube, or a Sobol sequence. In place of values by name a function f(k, rng) may give those of run k;
rng is a generator that depends on the seed and on k alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown

MOST = 10**8  # runs
SAMPLINGS = ("random", "latin", "sobol")

Values = dict[str, np.ndarray]
Given = Mapping[str, Any] | Callable[[int, np.random.Generator], Mapping[str, Any]]


class Variation:
    """The values of every run, by group ("p", "u", …) and name, each of shape (n,) or (n, k)."""

    def __init__(self, groups: Mapping[str, Given], n: Any, runs: int | None, sampling: str, seed: int) -> None:
        """n: how many runs, or None where an array tells it; runs: how many states are given, one a run, or None."""
        self.refused: dict[int, str] = {}  # {run: why it has no values}
        given = {(g, name): value for g, of in groups.items() if not callable(of) for name, value in of.items()}
        drawn = sorted(key for key, value in given.items() if hasattr(value, "ppf"))  # in whatever order they are given
        fixed = {key: _numbers(value, *key) for key, value in given.items() if key not in drawn}
        self.n = _count(fixed, n, runs)
        points = _points(self.n, len(drawn), sampling, seed)
        values = {key: _quantiles(given[key], column, *key) for key, column in zip(drawn, points.T)}
        varied = {key for key, value in given.items() if np.ndim(value) or key in drawn}
        for key, value in fixed.items():
            values[key] = np.broadcast_to(value, (self.n,)) if value.ndim == 0 else value
        for group, f in groups.items():
            if callable(f):
                made = {(group, name): x for name, x in self._called(f, group, seed).items()}
                values |= made
                varied |= set(made)
        self.groups: dict[str, Values] = {
            group: {name: x for (of, name), x in values.items() if of == group} for group in groups
        }
        self.varied: Values = {_plain(key, varied): x for key, x in values.items() if key in varied}
        for (group, name), x in values.items():
            for k in np.flatnonzero(~np.isfinite(x.reshape(self.n, -1)).all(axis=1)):
                self.refused.setdefault(int(k), f"{WORDS[group]} '{name}' is {x[k]}; needed: finite numbers.")

    def _called(self, f: Callable[[int, np.random.Generator], Mapping[str, Any]], group: str, seed: int) -> Values:
        """Values that a function gives, run by run; NaN where it raises."""
        rows: list[dict[str, np.ndarray] | None] = []
        for k in range(self.n):
            try:
                made = f(k, np.random.default_rng([seed, k]))
                rows.append({str(name): _numbers(x, group, str(name)) for name, x in made.items()})
            except Exception as error:
                self.refused[k] = f"{group}({k}, rng) raised {type(error).__name__}: {error}"
                rows.append(None)
        first = next((row for row in rows if row is not None), None)
        if first is None:
            raise ArgumentError(f"no run has values; the first one: {self.refused[0]}")
        for k, row in enumerate(rows):
            if row is not None and {name: x.shape for name, x in row.items()} != {n: x.shape for n, x in first.items()}:
                raise ArgumentError(
                    f"{group}({k}, rng) gives {', '.join(row) or 'nothing'}, for another run {', '.join(first)}; "
                    "needed: the same names, with as many numbers, for every run."
                )
        return {
            name: np.array([np.full(x.shape, np.nan) if r is None else r[name] for r in rows])
            for name, x in first.items()
        }

    def matrix(self, group: str, names: Sequence[str], base: np.ndarray) -> np.ndarray:
        """(n, k) values in the order of `names`; a name may stand for several numbers, name[0] and on.

        base: what is not given, (k,) for all or (n, k).
        """
        out = np.array(np.broadcast_to(base, (self.n, len(names))))
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


def _plain(key: tuple[str, str], varied: set[tuple[str, str]]) -> str:
    """The name of what differs; where several things have it, with the prefix that `sensitivities` gives them."""
    group, name = key
    shared = sum(other == name for _, other in varied) > 1
    return PREFIXES[group] + name if shared else name


PREFIXES = {"p": "", "u": "input:", "states": "held:", "v": "held:rate:", "vary": "vary:"}
WORDS = {"p": "parameter", "u": "input", "states": "coordinate", "v": "velocity", "vary": "value"}


def _numbers(value: Any, group: str, name: str) -> np.ndarray:
    what = f"{WORDS[group]} '{name}'"
    x = np.array(
        checks.reals(np.asarray(value) if hasattr(value, "to_numpy") else value, what)
    )  # a caller's may change
    if not x.ndim:
        checks.number(float(x), what)
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
