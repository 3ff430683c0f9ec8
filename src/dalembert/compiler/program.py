"""A straight-line program: what a `casadi.Function` computes, as a list of distinct operations.

    casadi.Function ──► value numbering ──► shared reciprocals ──► fused products ──► Program

Inputs are one packed vector x (the function's inputs one after the other), outputs one packed vector y
(its outputs one after the other, each dense and row by row).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ..errors import CompileError
from .fusion import fuse, share_reciprocals, without_dead_code
from .numbering import Numbering
from .operations import casadi_operations


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """`op[k]` applied to `args[k]` gives value k; operands come before their users.

    For "input" the argument is an index into x, for "const" the value. The fused operations are
    fma(a, b, c) = a b + c, fms = a b − c, fnma = c − a b, with one rounding where the
    processor has the instruction.
    """

    name: str
    op: list[str]
    args: list[tuple]
    outputs: list[int]  # y[i] is the value of number outputs[i]
    x_size: int

    def is_zero(self, k: int) -> bool:
        """Whether value k is the constant 0: outputs of this value are cleared together."""
        return self.op[k] == "const" and self.args[k][0] == 0.0

    @property
    def positions(self) -> dict[int, list[int]]:
        """The places of each value in y; those of the constant 0 left out."""
        out: dict[int, list[int]] = {}
        for i, k in enumerate(self.outputs):
            if not self.is_zero(k):
                out.setdefault(k, []).append(i)
        return out

    def __len__(self) -> int:
        """Number of operations that compute (inputs and constants apart)."""
        return sum(op not in ("input", "const") for op in self.op)


def program_from_casadi(function: ca.Function) -> Program:
    """The program of an SX function, simplified; raises `CompileError` where a construct has no native form."""
    check(function)
    numbers, outputs = _trace(function)
    op, args, outputs = without_dead_code(numbers.op, numbers.args, outputs)
    op, args, outputs = share_reciprocals(op, args, outputs)
    op, args, outputs = fuse(op, args, outputs)
    return Program(function.name(), op, args, outputs, sum(function.numel_in(i) for i in range(function.n_in())))


def check(function: ca.Function) -> None:
    """Refuse what is not a closed SX function of dense vectors."""
    name = function.name()
    if not function.is_a("SXFunction"):
        raise CompileError(
            f"function '{name}' is a {function.class_name()}; native code is made of SX functions only. "
            f"Pass {name}.expand() if it is an MX function"
        )
    free = [str(s) for s in function.free_sx()] if function.has_free() else []
    if free:
        raise CompileError(f"function '{name}' uses {', '.join(free)}, which is none of its inputs; add it to them")
    for i in range(function.n_in()):
        sparsity = function.sparsity_in(i)
        if not sparsity.is_dense() or sparsity.size2() > 1:
            raise CompileError(
                f"input {i} ('{function.name_in(i)}') of function '{name}' is {sparsity.dim()}; inputs must be dense "
                "column vectors. Give the nonzeros as a vector"
            )


def _trace(function: ca.Function) -> tuple[Numbering, list[int]]:
    """Replay the instructions of CasADi's virtual machine; `work` holds what its registers hold."""
    names, casadi_names = casadi_operations()
    n = Numbering()
    start_in = _starts([function.numel_in(i) for i in range(function.n_in())])
    start_out = _starts([function.numel_out(i) for i in range(function.n_out())])
    position = [_row_major(function.sparsity_out(i)) for i in range(function.n_out())]
    outputs = [n.constant(0.0)] * start_out[-1]
    work = [0] * max(function.sz_w(), 1)
    op_of, in_of, out_of = function.instruction_id, function.instruction_input, function.instruction_output
    for k in range(function.n_instructions()):
        number = op_of(k)
        op = names.get(number)
        if op == "input":
            i, nz = in_of(k)
            work[out_of(k)[0]] = n.add("input", start_in[i] + nz)
        elif op == "output":
            i, nz = out_of(k)
            outputs[start_out[i] + position[i][nz]] = work[in_of(k)[0]]
        elif op == "const":
            work[out_of(k)[0]] = n.constant(function.instruction_constant(k))
        elif op is None or op == "parameter":
            raise CompileError(
                f"function '{function.name()}' uses CasADi operation {casadi_names.get(number, number)}, which has no "
                'native code; backend="casadi" runs it'
            )
        else:
            work[out_of(k)[0]] = n.add(op, *[work[i] for i in in_of(k)])
    return n, outputs


def _starts(sizes: list[int]) -> list[int]:
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    return starts


def _row_major(sparsity: ca.Sparsity) -> list[int]:
    """Position of each nonzero in the dense matrix read row by row."""
    rows, cols = sparsity.get_triplet()
    return [i * sparsity.size2() + j for i, j in zip(rows, cols)]
