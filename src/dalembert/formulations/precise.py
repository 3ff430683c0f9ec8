"""Φ to thirty digits: the traced program of the constraints, step by step in numbers of twice the precision.

Next to a singular position Φ = 0 fixes the position to within rounding / σ only. Positions of twice the precision are
known well enough there, and Φ is all that has to be computed of them so exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.native.struct import Doubles, Int, Ints, Struct

if TYPE_CHECKING:
    from dalembert.protocols import SystemLike

OPERATIONS = (
    "input", "const", "neg", "add", "sub", "mul", "div", "sin", "cos", "sqrt", "fma", "fms", "fnma", "fabs",
)  # fmt: skip
(INPUT, CONST, NEG, ADD, SUB, MUL, DIV, SIN, COS, SQRT, FMA, FMS, FNMA, FABS) = range(len(OPERATIONS))


_Traced = tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: of each system, by rows: names of inputs, operations, numbers of what they take, constants, numbers of the outputs
_programs: WeakKeyDictionary[Any, dict[tuple[int, ...] | None, _Traced | None]] = WeakKeyDictionary()


class Precise(Struct):
    """A program: operation k takes the values number a, b, c[k] and gives value k, as high and low part."""

    size = Int()
    outputs = Int()
    operation = Ints("size")  # index in OPERATIONS
    a = Ints("size")  # for an input, its place
    b = Ints("size")  # for a sine or cosine: the number of the value that is the other one, or its own
    c = Ints("size")
    high = Doubles("size")  # constants are there from the beginning
    low = Doubles("size")
    result = Ints("outputs")  # numbers of the values that are the outputs


def make_precise(system: SystemLike, rows: tuple[int, ...] | None, places: Mapping[str, slice]) -> Precise | None:
    """The program of Φ of some rows, whose inputs are at `places`; None where it has an operation that is not known."""
    found = _programs.setdefault(system, {})
    if rows not in found:
        found[rows] = _traced(system, rows)
    traced = found[rows]
    if traced is None:
        return None
    names, operation, numbers, high, result = traced
    place = np.concatenate([np.zeros(0, dtype=np.int64), *(np.r_[places[name]] for name in names)])
    given = operation == INPUT
    a = numbers[0].copy()
    a[given] = place[a[given]]
    return Precise(
        size=len(high),
        outputs=len(result),
        operation=operation,
        a=a,
        b=numbers[1],
        c=numbers[2],
        high=high.copy(),
        low=np.zeros(len(high)),
        result=result,
    )


def _traced(system: SystemLike, rows: tuple[int, ...] | None) -> _Traced | None:
    """The program of Φ; tracing takes longer than a short run, so it is kept as long as the system lives."""
    import casadi as ca  # not where bitcode is built, which needs the structure alone

    from dalembert.compiler.program import program_from_casadi

    function = system.function("residuals", rows=rows)
    given = [function.sx_in(i) for i in range(function.n_in())]
    program = program_from_casadi(ca.Function("phi", given, [ca.densify(function.call(given)[0])]))
    if not set(program.op) <= set(OPERATIONS):
        return None
    numbers = np.zeros((3, len(program.op)), dtype=np.int64)
    high = np.zeros(len(program.op))
    for k, (op, args) in enumerate(zip(program.op, program.args)):
        if op == "const":
            high[k] = args[0]
        else:
            numbers[: len(args), k] = args
    operation = np.array([OPERATIONS.index(op) for op in program.op], dtype=np.int64)
    _pair(operation, numbers)
    return tuple(function.name_in()), operation, numbers, high, np.array(program.outputs, dtype=np.int64)


def _pair(operation: np.ndarray, numbers: np.ndarray) -> None:
    """Have sine and cosine of one angle computed together, by the first of them: b is where the other one goes."""
    waiting: dict[tuple[int, int], int] = {}
    for k in np.flatnonzero(np.isin(operation, (SIN, COS))).tolist():
        angle, numbers[1, k] = int(numbers[0, k]), k
        other = waiting.pop((SIN + COS - int(operation[k]), angle), None)
        if other is None:
            waiting[int(operation[k]), angle] = k
        else:
            numbers[1, other], operation[k] = k, CONST
