"""Couplings of coordinates: gears, racks, threads, and any linear relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.mechanism.constraints.expression import Expressions, by_recipe
from dalembert.mechanism.traced import UserState


@by_recipe
def coupling(
    name: str, coefficients: Mapping[str, Any], offset: Any, angular: bool, wheels: Sequence[Any] = (),
    path: Sequence[Any] = (),
) -> Expressions:  # fmt: skip
    """Σ cᵢ qᵢ = offset: a gear of ratio n is {"out": 1, "in": -n}, a rack {"rack": 1, "pinion": -radius}.

    wheels, path: of `Expressions`, for pictures.
    """

    def phi(s: UserState) -> Any:
        return sum((c * s[q] for q, c in coefficients.items()), 0.0) - offset

    return Expressions(
        name, "coupling", holonomic=[("ratio", phi)], angular=angular, own=not angular,
        text=f"coupling of {', '.join(coefficients)}",
        wheels=wheels, path=path,
    )  # fmt: skip
