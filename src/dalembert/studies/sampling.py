"""Variants of parameters: random, low-discrepancy and gridded samples, one at a time, Saltelli's matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.system.system import System

DRAWN = ("random", "latin", "sobol", "halton")  # ways to fill the unit cube
METHODS = (*DRAWN, "grid", "tolerance", "sensitivity")


def named(system: System, given: Any) -> dict[str, Any]:
    """Parameters of a system, by name."""
    out = dict(checks.mapping(given, "parameters"))
    for name in out:
        if name not in system.p_names:
            raise unknown("parameter", name, system.p_names)
    if not out:
        raise ArgumentError("parameters is empty; needed: {parameter: what it may be}.")
    return out


def drawn(given: Mapping[str, Any], method: str, n: int, seed: int) -> np.ndarray:
    """(n, m) samples of distributions, or of the ranges (least, greatest)."""
    return from_unit(given, unit(method, n, len(given), seed))


def unit(method: str, n: int, m: int, seed: int) -> np.ndarray:
    """(n, m) points of the unit cube."""
    from scipy.stats import qmc

    if method == "random":
        return np.random.default_rng(seed).uniform(size=(n, m))
    engine = {"latin": qmc.LatinHypercube, "sobol": qmc.Sobol, "halton": qmc.Halton}[method](m, seed=seed)
    if method != "sobol":
        return np.asarray(engine.random(n))
    return np.asarray(engine.random_base2(int(np.ceil(np.log2(max(n, 1)))))[:n])  # balanced where n is a power of two


def from_unit(given: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    """Points (n, m) of the unit cube as values of the parameters, each by its own distribution."""
    columns = []
    for k, (name, how) in enumerate(given.items()):
        if hasattr(how, "ppf"):
            columns.append(np.asarray(how.ppf(x[:, k]), dtype=float))
            if not np.isfinite(columns[-1]).all():
                raise ArgumentError(f"the distribution of '{name}' gives a non-finite value; needed: numbers.")
            continue
        low, high = _range(name, how)
        columns.append(low + (high - low) * x[:, k])
    return np.column_stack(columns)


def gridded(given: Mapping[str, Any]) -> np.ndarray:
    """(n, m) all combinations of the values of each parameter; the last one runs fastest."""
    values = [checks.vector(x, None, f"parameters['{name}']") for name, x in given.items()]
    if any(not len(x) for x in values):
        raise ArgumentError("a parameter has no values; needed: a list of one or more, for each.")
    return np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(values))


def one_at_a_time(given: Mapping[str, Any], nominal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(2 m + 1, m) the nominal values, then each parameter up and down by its tolerance; and the tolerances (m,)."""
    t = np.array([checks.number(x, f"parameters['{name}']", above=0.0) for name, x in given.items()])
    away = np.diag(t)
    return nominal + np.vstack([np.zeros((1, len(t))), *(np.stack([d, -d]) for d in away)]), t


def saltelli(given: Mapping[str, Any], n: int, seed: int) -> np.ndarray:
    """(n (m + 2), m) matrices A, B, and A with its k-th column from B for each k (Saltelli 2010), of Sobol's points."""
    m = len(given)
    both = unit("sobol", n, 2 * m, seed)
    A, B = from_unit(given, both[:, :m]), from_unit(given, both[:, m:])
    mixed = [np.where(np.arange(m) == k, B, A) for k in range(m)]
    return np.vstack([A, B, *mixed])


def sobol_indices(y: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """(m,) first-order and total indices from values at the rows of `saltelli`; rows with a NaN do not count.

    Saltelli's estimator of the first order, Jansen's of the total.
    """
    parts = y.reshape(m + 2, -1)
    parts = parts[:, np.isfinite(parts).all(axis=0)]
    A, B, mixed = parts[0], parts[1], parts[2:]
    variance = float(np.var(np.concatenate([A, B])))
    if not variance > 0.0:
        return np.full(m, np.nan), np.full(m, np.nan)
    first = (B * (mixed - A)).mean(axis=1) / variance
    return first, 0.5 * ((A - mixed) ** 2).mean(axis=1) / variance


def _range(name: str, given: Any) -> tuple[float, float]:
    """(least, greatest) of a parameter."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise ArgumentError(
            f"parameters['{name}'] is {checks.shown(given)}; needed: (least, greatest), or a distribution of "
            "scipy.stats."
        )
    low, high = (checks.number(x, f"parameters['{name}']") for x in given)
    if not low < high:
        raise ArgumentError(f"parameters['{name}'] is ({low:g}, {high:g}); needed: (least, greatest), in this order.")
    return low, high
