"""Φ, A and A v + b to thirty digits: traced programs, step by step in numbers of twice the precision.

Next to a singular position Φ = 0 fixes the position to within rounding / σ only. Positions of twice the precision are
known well enough there. Of all that is computed of them only Φ and the rows A have to be so exact: M, f and γ are
smooth functions of the state, and their rounding stays rounding, but that of A turns the weak direction by rounding / σ
(`recombined`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.native.struct import Doubles, Int, Ints, Struct, StructPart

if TYPE_CHECKING:
    from dalembert.protocols import SystemLike

OPERATIONS = (
    "input", "const", "neg", "add", "sub", "mul", "div", "sin", "cos", "sqrt", "fma", "fms", "fnma", "fabs",
)  # fmt: skip
(INPUT, CONST, NEG, ADD, SUB, MUL, DIV, SIN, COS, SQRT, FMA, FMS, FNMA, FABS) = range(len(OPERATIONS))


_Traced = tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray, np.ndarray]
#: of each system, by what and rows: names of inputs, operations, numbers of what they take, constants, of the outputs
_programs: WeakKeyDictionary[Any, dict[tuple[str, tuple[int, ...] | None], _Traced | None]] = WeakKeyDictionary()


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


class PreciseRows(Struct):
    """A and A v + b of rows in twice the precision, and what `recombined` needs; `exact`: whether there are."""

    exact = Int()
    nq = Int()
    m = Int()
    n = Int()
    low = Doubles("nq")  # of the position
    program = StructPart(lambda: Precise)  # its outputs: A by rows, A v + b
    high = Doubles("m", "n")  # of rows that are recombined
    rest = Doubles("m", "n")
    side = Doubles("2", "m")  # high and low part of the right-hand side
    left = Doubles("m", "m")  # of the first factorization, as in `linalg.factorization`
    core = Doubles("m", "m")


def make_precise_rows(
    system: SystemLike,
    rows: tuple[int, ...] | None,
    places: Mapping[str, slice],
    low: np.ndarray,
    size: tuple[int, int],
) -> PreciseRows:
    """Rows (m, nv) in twice the precision, where all of their operations are known; low: (nq,) of the position."""
    program = make_precise(system, rows, places, "rows")
    if program is None:
        return no_precise_rows()
    m, n = size
    return PreciseRows.sized(exact=1, nq=len(low), m=m, n=n, low=low, program=program)


def no_precise_rows() -> PreciseRows:
    """Rows that are known in doubles alone."""
    return PreciseRows.sized(program=Precise())


def make_precise(
    system: SystemLike, rows: tuple[int, ...] | None, places: Mapping[str, slice], what: str = "phi"
) -> Precise | None:
    """The program of Φ, or A and A v + b ("rows"), of some rows, whose inputs are at `places`.

    None where it has an operation that is not known.
    """
    traced = _known(system, rows, what)
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


def are_rows_known(system: SystemLike, rows: tuple[int, ...] | None) -> bool:
    """Whether A and A v + b of these rows can be computed in twice the precision."""
    return _known(system, rows, "rows") is not None


def _known(system: SystemLike, rows: tuple[int, ...] | None, what: str) -> _Traced | None:
    """The program; tracing takes longer than a short run, so it is kept as long as the system lives."""
    found = _programs.setdefault(system, {})
    if (what, rows) not in found:
        found[what, rows] = _traced(system, rows, what)
    return found[what, rows]


def _traced(system: SystemLike, rows: tuple[int, ...] | None, what: str) -> _Traced | None:
    """The program, None where it has an operation that is not known."""
    import casadi as ca  # not where bitcode is built, which needs the structure alone

    from dalembert.compiler.program import program_from_casadi

    function = system.function("residuals" if what == "phi" else "equations", rows=rows)
    given = [function.sx_in(i) for i in range(function.n_in())]
    found = function.call(given)
    if what == "phi":
        outputs = [ca.densify(found[0])]
    else:  # of `system.stepping.equations`: … M, f, A, γ, …, Φ, A v + b, the drivers' power by λ
        outputs = [ca.vec(ca.densify(found[4]).T), ca.densify(found[-2])]
    program = program_from_casadi(ca.Function(what, given, outputs))
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
