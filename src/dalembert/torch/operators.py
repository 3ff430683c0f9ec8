"""A `DifferentiableFunction` as operators of PyTorch, each with its gradient and its batching.

    value(x, c) = f                    gradient by x: adjoint; forward: tangent
    adjoint(x, c, y, w) = wᵀf′         gradient by x: second, by w: tangent
    tangent(x, c, y, δx) = f′ δx       gradient by x: second, by δx: adjoint
    second(x, c, y, w, δx) = wᵀf″ δx   no gradient

A function is an argument by its number: operators take tensors and numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op, register_autograd, register_fake, register_vmap

from dalembert.errors import ArgumentError
from dalembert.export.differentiable.function import DifferentiableFunction

_functions: list[
    DifferentiableFunction
] = []  # for the life of the process: graphs that were compiled know their numbers
_numbers: dict[DifferentiableFunction, int] = {}


def evaluate(f: DifferentiableFunction, x: Tensor, c: Tensor) -> Tensor:
    """f(x; c) for tensors (…, nx) and (…, nc)."""
    if f not in _numbers:
        _functions.append(f)
        _numbers[f] = len(_functions) - 1
    return value(x, c, _numbers[f])


def _run(number: int, tensors: Sequence[Tensor], *, tangents: bool = False, adjoint: bool = False) -> list[Tensor]:
    """Run a program on tensors (…, n) of equal leading axes."""
    batch = tensors[0].shape[:-1]
    count = int(batch.numel())
    program = _functions[number].program(count, tangents=tangents, adjoint=adjoint)
    given = [t.contiguous() for t in tensors]
    out = [t.new_empty((*batch, n)) for t, n in zip([tensors[0]] * 2, program.sizes_out)]
    if count:
        addresses = [t.data_ptr() for t in given], [t.data_ptr() for t in out]
        program.run(*addresses, count, torch.get_num_threads())
    return out


def _output(number: int, *y: Tensor) -> tuple[Tensor, ...]:
    return y if _functions[number].needs_output else ()


@custom_op("dalembert::value", mutates_args=(), device_types="cpu")
def _value(x: Tensor, c: Tensor, f: int) -> Tensor:
    return _run(f, (x, c))[0]


@custom_op("dalembert::tangent", mutates_args=(), device_types="cpu")
def _tangent(x: Tensor, c: Tensor, y: Tensor, dx: Tensor, f: int) -> Tensor:
    return _run(f, (x, dx, c), tangents=True)[1]


@custom_op("dalembert::adjoint", mutates_args=(), device_types="cpu")
def _adjoint(x: Tensor, c: Tensor, y: Tensor, w: Tensor, f: int) -> Tensor:
    return _run(f, (x, c, *_output(f, y), w), adjoint=True)[0]


@custom_op("dalembert::second", mutates_args=(), device_types="cpu")
def _second(x: Tensor, c: Tensor, y: Tensor, w: Tensor, dx: Tensor, f: int) -> Tensor:
    dy = _run(f, (x, dx, c), tangents=True)[1] if _functions[f].needs_output else y
    return _run(f, (x, dx, c, *_output(f, y, dy), w, torch.zeros_like(w)), tangents=True, adjoint=True)[1]


# --- rules ------------------------------------------------------------------------------------------------------------


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, ctx.number = inputs
    ctx.save_for_backward(*tensors, output)
    ctx.save_for_forward(*tensors, output)


def _value_back(ctx: Any, g: Tensor) -> tuple[Any, ...]:
    x, c, y = ctx.saved_tensors
    return adjoint(x, c, y, g, ctx.number), None, None


def _adjoint_back(ctx: Any, g: Tensor) -> tuple[Any, ...]:
    x, c, y, w, _ = ctx.saved_tensors
    return second(x, c, y, w, g, ctx.number), None, None, tangent(x, c, y, g, ctx.number), None


def _tangent_back(ctx: Any, g: Tensor) -> tuple[Any, ...]:
    x, c, y, dx, _ = ctx.saved_tensors
    return second(x, c, y, g, dx, ctx.number), None, None, adjoint(x, c, y, g, ctx.number), None


def _value_along(ctx: Any, dx: Tensor | None, *_: Any) -> Tensor:
    x, c, y = ctx.saved_tensors
    return torch.zeros_like(y) if dx is None else tangent(x, c, y, dx, ctx.number)


def _adjoint_along(ctx: Any, dx: Tensor | None, dc: Any, dy: Any, dw: Tensor | None, _: Any) -> Tensor:
    x, c, y, w, out = ctx.saved_tensors
    along = torch.zeros_like(out) if dw is None else adjoint(x, c, y, dw, ctx.number)
    return along if dx is None else along + second(x, c, y, w, dx, ctx.number)


def _tangent_along(ctx: Any, dx: Tensor | None, dc: Any, dy: Any, ddx: Tensor | None, _: Any) -> Tensor:
    x, c, y, _, out = ctx.saved_tensors
    if dx is not None:
        raise ArgumentError(
            f"second derivatives of '{_functions[ctx.number].name}' forward over forward have no kernel; use "
            "torch.func.hessian, or torch.func.jacfwd of torch.func.grad."
        )
    return torch.zeros_like(out) if ddx is None else tangent(x, c, y, ddx, ctx.number)


def _no_more(ctx: Any, *_: Any) -> Any:
    raise ArgumentError(
        f"third derivatives of '{_functions[ctx.number].name}' have no kernel; second ones are the last."
    )


def _differentiable(
    op: Any, size: Callable[[DifferentiableFunction], int], back: Any, along: Any
) -> Callable[..., Tensor]:
    """An operator with its gradient, its derivative forward and its batching, also under the transforms of torch.func.

    PyTorch asks a registered operator for the first, and an autograd.Function for all of them.
    """

    def fake(x: Tensor, *rest: Any) -> Tensor:
        return x.new_empty((*x.shape[:-1], size(_functions[rest[-1]])))

    class OperatorRules(torch.autograd.Function):
        forward = staticmethod(lambda *given: op(*given))
        setup_context = staticmethod(_save)
        backward = staticmethod(back)
        jvp = staticmethod(along)

        @staticmethod
        def vmap(info: Any, dims: tuple[int | None, ...], *given: Any) -> tuple[Tensor, int]:
            """Mapped axes first; tensors that are not mapped are the same for all."""
            *tensors, number = given
            n = info.batch_size
            moved = [t.expand(n, *t.shape) if k is None else t.movedim(k, 0) for t, k in zip(tensors, dims)]
            return OperatorRules.apply(*moved, number), 0

    register_fake(op)(fake)
    register_autograd(op, back, setup_context=_save_for_gradient)
    register_vmap(op, OperatorRules.vmap)
    return OperatorRules.apply


def _save_for_gradient(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, ctx.number = inputs
    ctx.save_for_backward(*tensors, output)


value = _differentiable(_value, lambda f: f.ny, _value_back, _value_along)
tangent = _differentiable(_tangent, lambda f: f.ny, _tangent_back, _tangent_along)
adjoint = _differentiable(_adjoint, lambda f: f.nx, _adjoint_back, _adjoint_along)
second = _differentiable(_second, lambda f: f.nx, _no_more, _no_more)
