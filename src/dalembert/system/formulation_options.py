"""Options of a formulation, as users give them and as a `Problem` holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.formulations import EUCLIDEAN, FORMULATIONS, MASS, WEIGHT
from dalembert.protocols import Parameters, SystemLike
from dalembert.rank import rank_policy

METRICS = ("euclidean", "mass", "innovations")


def of_mass(metric: Any) -> bool:
    """Whether a metric is that of the mass, by whatever factor."""
    return isinstance(metric, str) and metric in ("mass", "innovations")


def check_options(
    system: SystemLike,
    formulation: str,
    *,
    metric: Any = "mass",
    variant: Any = 0,
    tolerance: Any = 1e-10,
    floor: Any = 1e-13,
    safety: Any = 100.0,
    damping: Any = None,
    independent: Iterable[str] = (),
    scale: Any = None,
) -> dict[str, Any]:
    """The options by name, numbers as plain ones; refuses those out of range, or that the formulation would ignore."""
    variants = FORMULATIONS[formulation]
    if checks.whole(variant, "variant", least=0) >= variants:
        has = "one variant, 0" if variants == 1 else f"variants 0 to {variants - 1}"
        raise ArgumentError(f"formulation '{formulation}' has {has}; found {variant}.")
    out: dict[str, Any] = {
        "metric": metric,
        "variant": int(variant),
        "tolerance": checks.number(tolerance, "tolerance", least=0.0, below=1.0),
        "floor": checks.number(floor, "floor", least=0.0),
        "safety": checks.number(safety, "safety", least=1.0, finite=False),
        "damping": None,
    }
    if damping is not None:
        out["damping"] = tuple(checks.vector(damping, 2, "damping").tolist())
        if formulation not in ("nullspace", "admissible"):
            raise ArgumentError(f"formulation '{formulation}' knows no damping; 'nullspace' and 'admissible' do.")
    metric_factor(metric, system.nv)
    if formulation in ("admissible", "lagrange", "augmented") and not of_mass(metric):
        raise ArgumentError(
            f"formulation '{formulation}' takes no other metric than that of the mass; 'nullspace', 'projection' and "
            "'partition' do."
        )
    if formulation == "partition" and isinstance(metric, str) and metric == "innovations":
        raise ArgumentError("formulation 'partition' chooses among velocities, not total rates; use metric='mass'.")
    if isinstance(independent, str) or not isinstance(independent, Iterable):
        raise ArgumentError(f"independent is {checks.shown(independent)}; needed: a list of names of velocities.")
    names = list(independent)
    if names and formulation != "partition":
        raise ArgumentError(
            f"independent= names leading coordinates for 'partition'; found formulation '{formulation}'."
        )
    for name in names:
        if not isinstance(name, str) or name not in system.v_names:
            raise unknown("velocity", name, system.v_names)
    if scale is not None:
        scale = checks.number(scale, "scale", above=0.0)
        if (formulation, out["variant"]) != ("projection", 2):
            raise ArgumentError(
                f"scale is σ of the third variant of 'projection' (variant=2); found formulation '{formulation}', "
                f"variant {variant}."
            )
    return {**out, "independent": names, "scale": scale}


def formulation_options(
    system: SystemLike,
    formulation: str,
    p: Parameters,
    *,
    metric: Any = "mass",
    variant: int = 0,
    tolerance: float = 1e-10,
    floor: float = 1e-13,
    safety: float = 100.0,
    damping: tuple[float, float] | None = None,
    independent: Iterable[str] = (),
    rows: Sequence[int] | None = None,
    scale: float | None = None,
) -> dict[str, Any]:
    """Fields of a `Problem` of some rows (default: all) by name, from options that were checked.

    Rows are measured by their usual lengths in the mass metric; floor is in these.
    """
    n, sizes = system.nv, rank_policy(system, p).sizes
    threshold, damp = (0.0, 0.0) if damping is None else damping
    kind, factor = metric_factor(metric, n)
    if kind != MASS:
        M = system.mass_matrix(system.state(), p=p)  # the same floor in other units: masses against weights
        floor *= float(np.sqrt(np.trace(M) / np.trace(factor.T @ factor)))
    chosen = np.zeros(n, dtype=np.int64)
    chosen[[system.v_names.index(name) for name in independent]] = 1
    return {
        "metric": kind,
        "variant": variant,
        "tolerance": tolerance,
        "floor": floor,
        "sigma": 0.0 if scale is None else scale,
        "safety": safety,
        "threshold": float(threshold),
        "damp": float(damp),
        "weight": factor,
        "independent": chosen,
        "sizes": sizes.copy() if rows is None else sizes[list(rows)],
    }


def metric_factor(metric: Any, n: int) -> tuple[int, np.ndarray]:
    """Code of a metric in a `Problem`, and the upper Cholesky factor (n, n) of its weights, given whole or diagonal."""
    if isinstance(metric, str):
        checks.choice(metric, METRICS, "metric")
        return EUCLIDEAN if metric == "euclidean" else MASS, np.eye(n)
    W = checks.array(metric, None, "metric")
    W = np.diag(W) if W.ndim == 1 else W
    if W.shape != (n, n) or not np.allclose(W, W.T):
        raise ArgumentError(f"the metric has shape {W.shape}; needed: {(n, n)}, symmetric, or its diagonal.")
    try:
        return WEIGHT, np.ascontiguousarray(np.linalg.cholesky(W).T)
    except np.linalg.LinAlgError:
        raise ArgumentError("the metric is not positive definite; needed: positive weights.") from None
