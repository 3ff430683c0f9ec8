"""A `DifferentiableFunction` as primitives of JAX: its value, its tangent, its adjoint, and the derivatives of these.

    value(x, c) = f                       tangent: f′ δx
    tangent(x, c, y, δx) = f′ δx          transposed: adjoint;   tangent along x′: bilinear f″ δx x′
    adjoint(x, c, y, w) = wᵀf′            transposed: tangent;   tangent along x′: second
    second(x, c, y, w, x′) = wᵀf″ x′      transposed: itself, since second derivatives commute
    bilinear(x, c, y, δx, x′) = f″ δx x′  transposed: second. It has no kernel: forward over forward is refused

So grad, jvp, and second derivatives forward over reverse, reverse over forward and reverse over reverse have machine
code; third derivatives have none. All arrays have the same leading axes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from dalembert.errors import ArgumentError
from dalembert.export.differentiable.function import DifferentiableFunction
from dalembert.jax.handler import target


def evaluate(f: DifferentiableFunction, x: jax.Array, c: jax.Array) -> jax.Array:
    """f(x; c) for arrays (…, nx) and (…, nc)."""
    return _value.bind(x, c, f=f)


def _call(
    f: DifferentiableFunction, arrays: tuple[jax.Array, ...], *, tangents: bool, adjoint: bool
) -> list[jax.Array]:
    """Run a program on arrays (…, n) of equal leading axes."""
    batch = arrays[0].shape[:-1]
    count = prod(batch)
    program = f.program(count, tangents=tangents, adjoint=adjoint)
    results = [jax.ShapeDtypeStruct((count, n), jnp.float64) for n in program.sizes_out]
    rows = [a.reshape(count, a.shape[-1]) for a in arrays]
    found = jax.ffi.ffi_call(target(program), results)(*rows)
    return [y.reshape(*batch, y.shape[-1]) for y in found]


def _output(f: DifferentiableFunction, *y: jax.Array) -> tuple[jax.Array, ...]:
    return y if f.needs_output else ()


# --- what each computes -----------------------------------------------------------------------------------------------


def _value_of(x: jax.Array, c: jax.Array, *, f: DifferentiableFunction) -> jax.Array:
    return _call(f, (x, c), tangents=False, adjoint=False)[0]


def _tangent_of(x: jax.Array, c: jax.Array, y: jax.Array, dx: jax.Array, *, f: DifferentiableFunction) -> jax.Array:
    return _call(f, (x, dx, c), tangents=True, adjoint=False)[1]


def _adjoint_of(x: jax.Array, c: jax.Array, y: jax.Array, w: jax.Array, *, f: DifferentiableFunction) -> jax.Array:
    return _call(f, (x, c, *_output(f, y), w), tangents=False, adjoint=True)[0]


def _second_of(
    x: jax.Array, c: jax.Array, y: jax.Array, w: jax.Array, dx: jax.Array, *, f: DifferentiableFunction
) -> jax.Array:
    dy = _tangent_of(x, c, y, dx, f=f) if f.needs_output else y
    return _call(f, (x, dx, c, *_output(f, y, dy), w, jnp.zeros_like(w)), tangents=True, adjoint=True)[1]


def _bilinear_of(*arrays: jax.Array, f: DifferentiableFunction) -> jax.Array:
    raise ArgumentError(
        f"second derivatives of '{f.name}' forward over forward (jacfwd of jacfwd, jvp of jvp) have no kernel; use "
        "jax.hessian, or jax.jacfwd of jax.grad."
    )


# --- primitives -------------------------------------------------------------------------------------------------------


def _primitive(
    name: str, compute: Callable[..., jax.Array], size: Callable[[DifferentiableFunction], int]
) -> Primitive:
    """A primitive of arrays with equal leading axes, with its rules but for derivatives."""
    p = Primitive(f"dalembert_{name}")
    p.def_impl(jax.jit(compute, static_argnames="f"))
    p.def_abstract_eval(lambda x, *_, f: x.update(shape=(*x.shape[:-1], size(f))))
    mlir.register_lowering(p, mlir.lower_fun(compute, multiple_results=False))

    def batched(arrays: tuple[Any, ...], axes: tuple[Any, ...], *, f: DifferentiableFunction) -> tuple[Any, int]:
        n = next(a.shape[k] for a, k in zip(arrays, axes) if k is not None)
        moved = [
            jnp.broadcast_to(a, (n, *a.shape)) if k is None else jnp.moveaxis(a, k, 0) for a, k in zip(arrays, axes)
        ]
        return p.bind(*moved, f=f), 0

    batching.primitive_batchers[p] = batched
    return p


_value = _primitive("value", _value_of, lambda f: f.ny)
_tangent = _primitive("tangent", _tangent_of, lambda f: f.ny)
_adjoint = _primitive("adjoint", _adjoint_of, lambda f: f.nx)
_second = _primitive("second", _second_of, lambda f: f.nx)
_bilinear = _primitive("bilinear", _bilinear_of, lambda f: f.ny)


_Zero: Any = ad.Zero


def _is_zero(t: Any) -> bool:
    return type(t) is _Zero


def _value_jvp(primals: Any, tangents: Any, *, f: DifferentiableFunction) -> Any:
    x, c = primals
    y = _value.bind(x, c, f=f)
    dx = tangents[0]
    return y, _Zero.from_primal_value(y) if _is_zero(dx) else _tangent.bind(x, c, y, dx, f=f)


def _linear_jvp(linear: Primitive, second: Primitive) -> Callable[..., Any]:
    """The rule of tangent and of adjoint: linear in the last argument, y a function of x."""

    def rule(primals: Any, tangents: Any, *, f: DifferentiableFunction) -> Any:
        x, c, y, w = primals
        dx, _, _, dw = tangents
        out = linear.bind(x, c, y, w, f=f)
        parts = [] if _is_zero(dw) else [linear.bind(x, c, y, dw, f=f)]
        parts += [] if _is_zero(dx) else [second.bind(x, c, y, w, dx, f=f)]
        return out, sum(parts[1:], parts[0]) if parts else _Zero.from_primal_value(out)

    return rule


def _no_more(primals: Any, tangents: Any, *, f: DifferentiableFunction) -> Any:
    raise ArgumentError(f"third derivatives of '{f.name}' have no kernel; second ones are the last.")


def _transpose(by: Callable[[list[Any], Any, DifferentiableFunction], Any]) -> Callable[..., Any]:
    """The rule of what is linear in its last argument: `by` of the others and the weights of the result."""

    def rule(ct: Any, *arrays: Any, f: DifferentiableFunction) -> Any:
        *known, linear = arrays
        if not ad.is_undefined_primal(linear) or any(ad.is_undefined_primal(a) for a in known):
            raise NotImplementedError
        none = [None] * len(known)
        return [*none, _Zero(linear.aval) if _is_zero(ct) else by(known, ct, f)]

    return rule


ad.primitive_jvps[_value] = _value_jvp
ad.primitive_jvps[_tangent] = _linear_jvp(_tangent, _bilinear)
ad.primitive_jvps[_adjoint] = _linear_jvp(_adjoint, _second)
ad.primitive_jvps[_second] = ad.primitive_jvps[_bilinear] = _no_more
ad.primitive_transposes[_tangent] = _transpose(lambda k, ct, f: _adjoint.bind(*k, ct, f=f))
ad.primitive_transposes[_adjoint] = _transpose(lambda k, ct, f: _tangent.bind(*k, ct, f=f))
ad.primitive_transposes[_second] = _transpose(lambda k, ct, f: _second.bind(*k, ct, f=f))
ad.primitive_transposes[_bilinear] = _transpose(lambda k, ct, f: _second.bind(k[0], k[1], k[2], ct, k[3], f=f))
