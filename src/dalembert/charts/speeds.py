"""Independent velocities of a user's own, w = C(q) v: names of velocities, or a matrix (quasi-velocities)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError, unknown
from dalembert.mechanism.values import described
from dalembert.symbols import to_sx
from dalembert.system.system import System


class Speeds(NamedTuple):
    """C(q), (k, nv), as object arrays, with a name for each row."""

    key: Any
    C: Callable[[ca.SX], np.ndarray]
    names: tuple[str, ...]


def leading(system: System, velocities: Any) -> Speeds | None:
    """The independent velocities a user asks for; None for ẏ."""
    if velocities is None:
        return None
    if isinstance(velocities, (list, tuple)):
        for name in velocities:
            if not isinstance(name, str) or name not in system.v_names:
                raise unknown("velocity", name, system.v_names, "velocities")
        C = np.eye(system.nv)[[system.v_names.index(n) for n in velocities]].astype(object)
        return Speeds(tuple(velocities), lambda q: C, tuple(f"{n} rate" for n in velocities))
    given = checks.function(velocities, "velocities")

    def matrix(q: ca.SX) -> np.ndarray:
        try:
            value = given(q)
        except DalembertError:
            raise
        except Exception as error:
            raise ArgumentError(
                f"velocities(q) could not be evaluated on expressions: {type(error).__name__}: {error}"
            ) from error
        found = described(value, "the value of velocities(q)")
        found = found[None] if found.ndim == 1 else found
        if found.ndim != 2 or found.shape[1] != system.nv:
            raise ArgumentError(
                f"velocities(q) has shape {found.shape}; needed: a matrix of {system.nv} columns, w = C(q) v."
            )
        return found

    q = ca.SX.sym("q", system.nq)
    rows = matrix(q)
    if ca.Function("C", [q], [to_sx(rows.reshape(-1))], {"allow_free": True}).has_free():
        raise ArgumentError("velocities(q) contains other symbols than q; needed: an expression of q alone.")
    return Speeds(given, matrix, tuple(f"w{k}" for k in range(len(rows))))
