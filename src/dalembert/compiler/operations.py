"""The operations of a straight-line program, and CasADi's names for them.

Every operation is known by a short name. Arithmetic is emitted as LLVM instructions, `LIBM` through calls.
Truth values are 0.0 and 1.0 and anything but zero, NaN included, is true: these are CasADi's rules.
"""

from __future__ import annotations

COMMUTATIVE = frozenset({"add", "mul", "eq", "ne", "and", "or", "fmin", "fmax", "hypot"})
COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
"""Comparison → LLVM predicate; NaN compares false, and not equal to everything."""

LIBM = {
    "exp": 1, "log": 1, "log1p": 1, "expm1": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1,
    "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1, "erf": 1, "sin": 1, "cos": 1,
    "pow": 2, "atan2": 2, "hypot": 2, "fmod": 2, "remainder": 2,
}  # fmt: skip
"""Functions of the C library a program may call → number of arguments; sine and cosine if the argument is large."""

_FROM_CASADI = {
    "ASSIGN": "assign", "ADD": "add", "SUB": "sub", "MUL": "mul", "DIV": "div", "NEG": "neg", "EXP": "exp",
    "LOG": "log", "POW": "pow", "CONSTPOW": "pow", "SQRT": "sqrt", "SQ": "sq", "TWICE": "twice", "SIN": "sin",
    "COS": "cos", "TAN": "tan", "ASIN": "asin", "ACOS": "acos", "ATAN": "atan", "LT": "lt", "LE": "le", "EQ": "eq",
    "NE": "ne", "NOT": "not", "AND": "and", "OR": "or", "FLOOR": "floor", "CEIL": "ceil", "FMOD": "fmod",
    "FABS": "fabs", "SIGN": "sign", "COPYSIGN": "copysign", "IF_ELSE_ZERO": "if_else_zero", "ERF": "erf",
    "FMIN": "fmin", "FMAX": "fmax", "INV": "inv", "SINH": "sinh", "COSH": "cosh", "TANH": "tanh", "ASINH": "asinh",
    "ACOSH": "acosh", "ATANH": "atanh", "ATAN2": "atan2", "CONST": "const", "INPUT": "input", "OUTPUT": "output",
    "PARAMETER": "parameter", "LOG1P": "log1p", "EXPM1": "expm1", "HYPOT": "hypot", "REMAINDER": "remainder",
}  # fmt: skip


def casadi_operations() -> tuple[dict[int, str], dict[int, str]]:
    """Operation number → our name, and operation number → CasADi's name, for the installed CasADi.

    Read from the module, since the numbers differ between versions.
    """
    import casadi

    numbers = {k[3:]: v for k, v in vars(casadi).items() if k.startswith("OP_") and isinstance(v, int)}
    return {v: _FROM_CASADI[k] for k, v in numbers.items() if k in _FROM_CASADI}, {v: k for k, v in numbers.items()}
