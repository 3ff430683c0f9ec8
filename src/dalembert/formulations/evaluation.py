"""The native part of `precise`."""

from __future__ import annotations

from dalembert.formulations.precise import ADD, CONST, COS, DIV, FABS, FMA, FMS, FNMA, INPUT, MUL, NEG, SIN, SQRT, SUB
from dalembert.linalg.double_double import add, divide, multiply, root, sine_cosine
from dalembert.native.jit import native


@native
def evaluate_precisely(program, x, low, n, out, first):
    """out[first:] ← the outputs at the inputs x, to the first n of which `low` is to be added."""
    run_program(program, x, low, n)
    for k in range(program.outputs):
        out[first + k] = program.high[program.result[k]]


@native
def run_program(program, x, low, n):
    """Values of the program ← those at the inputs x, to the first n of which `low` is to be added."""
    operation, high, rest = program.operation, program.high, program.low
    for k in range(program.size):
        op, i, j, m = operation[k], program.a[k], program.b[k], program.c[k]
        if op == INPUT:
            high[k], rest[k] = x[i], 0.0
            if i < n:
                high[k], rest[k] = add(x[i], low[i], 0.0, 0.0)
        elif op == NEG:
            high[k], rest[k] = -high[i], -rest[i]
        elif op == ADD:
            high[k], rest[k] = add(high[i], rest[i], high[j], rest[j])
        elif op == SUB:
            high[k], rest[k] = add(high[i], rest[i], -high[j], -rest[j])
        elif op == MUL:
            high[k], rest[k] = multiply(high[i], rest[i], high[j], rest[j])
        elif op == DIV:
            high[k], rest[k] = divide(high[i], rest[i], high[j], rest[j])
        elif op in (SIN, COS):
            s, e, c, d = sine_cosine(high[i], rest[i])
            if op == COS:
                s, e, c, d = c, d, s, e
            high[j], rest[j] = c, d
            high[k], rest[k] = s, e
        elif op == SQRT:
            high[k], rest[k] = root(high[i], rest[i])
        elif op == FABS:
            sign = -1.0 if high[i] < 0.0 else 1.0
            high[k], rest[k] = sign * high[i], sign * rest[i]
        elif op in (FMA, FMS, FNMA):  # a b + c, a b − c, c − a b
            p, e = multiply(high[i], rest[i], high[j], rest[j])
            if op == FNMA:
                p, e = -p, -e
            sign = -1.0 if op == FMS else 1.0
            high[k], rest[k] = add(p, e, sign * high[m], sign * rest[m])
        elif op != CONST:
            high[k] = float("nan")
