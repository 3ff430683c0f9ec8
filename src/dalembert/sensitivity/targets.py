"""With respect to what: declared parameters, inputs, and the values that are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.system.system import System
from dalembert.system.trace import Trace


@dataclass(frozen=True)
class Targets:
    """The names of `wrt`, and what each is: the place of a parameter or input, or a held coordinate."""

    names: tuple[str, ...]
    p: tuple[tuple[int, int], ...]  # (column, place in p)
    u: tuple[tuple[int, int], ...]  # (column, place in u)
    held: tuple[tuple[int, str, bool], ...]  # (column, name of a velocity, whether its rate is meant)

    @staticmethod
    def of(system: System, wrt: Any) -> Targets:
        """From names: "l1", "g[1]" (all of "g" where it has several), "input:push", "held:A", "held:rate:A"."""
        if isinstance(wrt, str) or not isinstance(wrt, Sequence):
            raise ArgumentError(f"wrt is {checks.shown(wrt)}; needed: a list of names of parameters.")
        names: list[str] = []
        for name in wrt:
            if not isinstance(name, str):
                raise unknown("parameter", name, system.p_names, "wrt")
            count = len(system.parameters.get(name, ()))
            names += [f"{name}[{k}]" for k in range(count)] if count > 1 else [name]
        p, u, held = [], [], []
        for k, name in enumerate(names):
            if name in system.p_names:
                p.append((k, system.p_names.index(name)))
            elif name.startswith("input:"):
                if name[6:] not in system.u_names:
                    raise unknown("input", name[6:], system.u_names, "wrt")
                u.append((k, system.u_names.index(name[6:])))
            elif name.startswith("held:"):
                rate = name.startswith("held:rate:")
                held.append((k, name[10 if rate else 5 :], rate))
            else:
                raise unknown("parameter", name, system.p_names, "wrt")
        if not names:
            raise ArgumentError("wrt names no parameter; needed: at least one.")
        if len(set(names)) < len(names):
            raise ArgumentError(f"wrt names a parameter twice: {', '.join(names)}.")
        return Targets(tuple(names), tuple(p), tuple(u), tuple(held))

    @property
    def traced(self) -> list[int]:
        """Columns that enter the equations."""
        return [k for k, _ in (*self.p, *self.u)]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for targets that are traced alike."""
        return tuple(i for _, i in self.p), tuple(i for _, i in self.u)

    def symbols(self, s: Trace) -> ca.SX:
        """The parameters and inputs of a trace, in the order of `traced`."""
        return ca.vertcat(*(s.sx["p"][i] for _, i in self.p), *(s.sx["u"][i] for _, i in self.u))

    def spread(self, columns: np.ndarray) -> np.ndarray:
        """(…, m) from the columns of `traced`, the others zero."""
        out = np.zeros((*columns.shape[:-1], len(self.names)))
        out[..., self.traced] = columns
        return out
