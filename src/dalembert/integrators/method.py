"""The contract of an integration method.

A method is a NamedTuple, seen by native code as the record that `records.layout` makes of it, with at least

    order      of convergence
    exponent   1 / (order of its error estimate + 1); 0 for a fixed step
    stages     rows it needs in the array of stages

and a function with the arguments of `attempt` that makes one step, decorated with `step_of`: it reads ẋ at the start
from stages[0] and writes the state after the step into stages[−2]; stages[−1] is the loop's. It returns an outcome of
`called` and the estimated error over the tolerances (0 for a fixed step). The loop (`loop.advance`) is compiled once
for each method type. Methods are registered in `methods`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import from_dtype
from numba.extending import overload

from dalembert.integrators.native import OPTIONS
from dalembert.integrators.records import layout


def attempt(method: Any, parts: Any, t: Any, h: Any, x: Any, stages: Any, numbers: Any, counts: Any) -> Any:
    """One step of a method; see the head of this file."""
    raise NotImplementedError


def step_of(kind: Any) -> Callable[[Any], Any]:
    """Makes a function the step of a class of methods."""

    def register(step: Any) -> Any:
        @overload(attempt, jit_options=cast(Any, OPTIONS))
        def choose(method, parts, t, h, x, stages, numbers, counts):
            return step if method == from_dtype(layout(kind)) else None

        return step

    return register
