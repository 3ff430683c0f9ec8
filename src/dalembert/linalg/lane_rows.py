"""Operations on arrays [number, lane]: row j of W lanes stands at j · W, and WIDTH neighbouring lanes are one vector.

Each lane has its own result, so nothing is summed across a vector and no lane reads another's numbers. W is a multiple
of WIDTH.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

from dalembert.native.simd import weighted

WIDTH = 8  # two registers of AVX2, one of AVX-512
intrinsic: Any = extending.intrinsic

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, WIDTH)
_FUSE = ("contract",)


class _Lanes:
    """Writes instructions on WIDTH lanes at a time into a function."""

    def __init__(self, context: Any, builder: Any, signature: Any, values: Any) -> None:
        self.context, self.builder = context, builder
        self.kinds, self.values = signature.args, values

    def number(self, k: int) -> Any:
        """Argument k, a number."""
        return self.values[k]

    def array(self, k: int) -> tuple[Any, Any]:
        """Argument k, an array: where it begins, and how many numbers a row of it has."""
        made = self.context.make_array(self.kinds[k])(self.context, self.builder, self.values[k])
        shape = cgutils.unpack_tuple(self.builder, made.shape)
        return made.data, shape[-1]

    def row(self, k: int, row: Any) -> Any:
        """Where a row of argument k begins."""
        data, columns = self.array(k)
        return self.builder.gep(data, [self.builder.mul(row, columns)])

    @contextmanager
    def each(self, first: Any, end: Any, step: Any) -> Any:
        """for index in range(first, end, step)"""
        with cgutils.for_range_slice(self.builder, first, end, step, intp=_INT, inc=True) as (index, _):
            yield index

    def strips(self, W: Any) -> Any:
        """for the first lane of each vector"""
        return self.each(_INT(0), W, _INT(WIDTH))

    def load(self, data: Any, at: Any) -> Any:
        found = self.builder.load(self._place(data, at))
        found.align = 8
        return found

    def store(self, value: Any, data: Any, at: Any) -> None:
        self.builder.store(value, self._place(data, at)).align = 8

    def _place(self, data: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [at]), _VECTOR.as_pointer())

    def spread(self, number: Any) -> Any:
        """The same number in all lanes."""
        one = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
        return self.builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))

    def constant(self, number: float) -> Any:
        return ir.Constant(_VECTOR, [number] * WIDTH)

    def variable(self, value: float) -> Any:
        """Numbers that change; each begins with the value."""
        return self.held(self.constant(value))

    def held(self, values: Any) -> Any:
        """Numbers that change, and what they begin with."""
        place = cgutils.alloca_once(self.builder, _VECTOR)
        self.builder.store(values, place)
        return place

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FUSE)

    def subtract(self, a: Any, b: Any) -> Any:
        return self.builder.fsub(a, b, flags=_FUSE)

    def multiply(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FUSE)

    def divide(self, a: Any, b: Any) -> Any:
        return self.builder.fdiv(a, b)

    def size(self, a: Any) -> Any:
        """|a|"""
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        fabs = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.fabs.v{WIDTH}f64")
        return self.builder.call(fabs, [a])

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", b, a), b, a)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", b, a), b, a)

    def bits(self, lanes: Any, first: Any) -> Any:
        """Truth values of the lanes of a vector, from `first` on, as bits of an integer."""
        some = self.builder.zext(self.builder.bitcast(lanes, ir.IntType(WIDTH)), _INT)
        return self.builder.shl(some, first)

    def weighted(self, weights: Any, count: Any, stages: tuple[Any, Any], size: Any) -> Any:
        """for at, Σ_k w_k stages[k, at] of every WIDTH numbers up to size"""
        widths = 4 * WIDTH, WIDTH
        for at, _, total in weighted(self.builder, weights, count, *stages, size, widths, WIDTH, one_by_one=False):
            yield at, total


def _function(emit: Any, arguments: Any, returns: Any = types.void) -> Any:
    """The two things that an intrinsic returns."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        found = emit(_Lanes(context, builder, signature, values))
        return context.get_dummy_value() if found is None else found

    return returns(*arguments), generate


@intrinsic
def combine(typing: Any, x: Any, dt: Any, weights: Any, count: Any, stages: Any, out: Any, size: Any, W: Any) -> Any:
    """out ← x + dt Σ_k w_k stages[k], numbers 0 … size of all lanes; dt (W,), W a power of two."""

    def emit(f: _Lanes) -> None:
        (x, _), (dt, _), (weights, _), (out, _) = (f.array(k) for k in (0, 1, 2, 5))
        last = f.builder.sub(f.number(7), _INT(1))
        for at, total in f.weighted(weights, f.number(3), f.array(4), f.number(6)):
            h = f.load(dt, f.builder.and_(at, last))
            f.store(f.add(f.load(x, at), f.multiply(h, total)), out, at)

    return _function(emit, (x, dt, weights, count, stages, out, size, W))


@intrinsic
def estimate(typing: Any, weights: Any, count: Any, stages: Any, out: Any, size: Any) -> Any:
    """out ← Σ_k w_k stages[k], numbers 0 … size of all lanes."""

    def emit(f: _Lanes) -> None:
        for at, total in f.weighted(f.array(0)[0], f.number(1), f.array(2), f.number(4)):
            f.store(total, f.array(3)[0], at)

    return _function(emit, (weights, count, stages, out, size))


@intrinsic
def error_sums(
    typing: Any, x: Any, trial: Any, unit: Any, atol: Any, rtol: Any, errors: Any, others: Any, five: Any, three: Any,
    size: Any, W: Any,
) -> Any:  # fmt: skip
    """five, three (W,) ← Σ_j (error_j / tolerance_j)² of two estimates of the error."""

    def emit(f: _Lanes) -> None:
        b = f.builder
        (x, _), (trial, _), (unit, _) = (f.array(k) for k in (0, 1, 2))
        atol, rtol = (f.spread(f.number(k)) for k in (3, 4))
        size, W = f.number(9), f.number(10)
        with f.strips(W) as l:
            estimates = [(f.array(k)[0], f.array(k + 2)[0], f.variable(0.0)) for k in (5, 6)]
            with f.each(l, size, W) as at:
                most = f.larger(f.size(f.load(x, at)), f.size(f.load(trial, at)))
                tolerance = f.add(f.multiply(atol, f.load(unit, at)), f.multiply(rtol, most))
                weight = f.divide(f.constant(1.0), tolerance)
                for errors, _, total in estimates:
                    error = f.multiply(f.load(errors, at), weight)
                    b.store(f.add(f.multiply(error, error), b.load(total)), total)
            for _, out, total in estimates:
                f.store(b.load(total), out, l)

    return _function(emit, (x, trial, unit, atol, rtol, errors, others, five, three, size, W))


@intrinsic
def moved_sums(
    typing: Any, trial: Any, raw: Any, unit: Any, atol: Any, rtol: Any, noise: Any, out: Any, size: Any, W: Any
) -> Any:
    """out (W,) ← Σ_j ((trial_j - raw_j) / tolerance_j)², with the noise (W,) of the landing in the tolerance."""

    def emit(f: _Lanes) -> None:
        b = f.builder
        (trial, _), (raw, _), (unit, _), (noise, _), (out, _) = (f.array(k) for k in (0, 1, 2, 5, 6))
        atol, rtol = (f.spread(f.number(k)) for k in (3, 4))
        size, W = f.number(7), f.number(8)
        with f.strips(W) as l:
            total, here = f.variable(0.0), f.load(noise, l)
            with f.each(l, size, W) as at:
                new, one = f.load(trial, at), f.load(unit, at)
                tolerance = f.add(f.multiply(atol, one), f.multiply(rtol, f.size(new)))
                tolerance = f.add(tolerance, f.multiply(here, f.larger(one, f.size(new))))
                moved = f.divide(f.subtract(new, f.load(raw, at)), tolerance)
                b.store(f.add(f.multiply(moved, moved), b.load(total)), total)
            f.store(b.load(total), out, l)

    return _function(emit, (trial, raw, unit, atol, rtol, noise, out, size, W))


def _peaks(f: _Lanes, x: Any, unit: Any, out: Any, first: Any, end: Any, W: Any) -> None:
    """out ← max |x|, or max |x| / unit."""
    b = f.builder
    with f.strips(W) as l:
        most = f.variable(0.0)
        with f.each(b.add(first, l), end, W) as at:
            size = f.size(f.load(x, at))
            b.store(f.larger(b.load(most), size if unit is None else f.divide(size, f.load(unit, at))), most)
        f.store(b.load(most), out, l)


@intrinsic
def peaks(typing: Any, x: Any, unit: Any, out: Any, first: Any, end: Any, W: Any) -> Any:
    """out (W,) ← max_j |x_j| / unit_j over numbers first … end of all lanes."""

    def emit(f: _Lanes) -> None:
        _peaks(f, *(f.array(k)[0] for k in range(3)), *f.values[3:])

    return _function(emit, (x, unit, out, first, end, W))


@intrinsic
def largest(typing: Any, x: Any, out: Any, first: Any, end: Any, W: Any) -> Any:
    """out (W,) ← max_j |x_j| over numbers first … end of all lanes."""

    def emit(f: _Lanes) -> None:
        _peaks(f, f.array(0)[0], None, f.array(1)[0], *f.values[2:])

    return _function(emit, (x, out, first, end, W))


@intrinsic
def take(typing: Any, which: Any, x: Any, row: Any, out: Any, to: Any, size: Any, W: Any) -> Any:
    """out[to] ← x[row] in the lanes where which (W,) is not zero; rows of arrays of two dimensions, else not looked at.

    Numbers 0 … size of all lanes; of x from `row` on, of out from `to` on where these have one dimension.
    """

    def emit(f: _Lanes) -> None:
        b = f.builder
        which, _ = f.array(0)
        data = []
        for array, place in ((1, 2), (3, 4)):
            start, _ = f.array(array)
            flat = f.kinds[array].ndim == 1
            data.append(b.gep(start, [f.number(place)]) if flat else f.row(array, f.number(place)))
        x, out = data
        size, W = f.number(5), f.number(6)
        with f.strips(W) as l:
            chosen = b.fcmp_unordered("!=", f.load(which, l), f.constant(0.0))
            with f.each(l, size, W) as at:
                f.store(b.select(chosen, f.load(x, at), f.load(out, at)), out, at)

    return _function(emit, (which, x, row, out, to, size, W))


@intrinsic
def not_finite(typing: Any, x: Any, size: Any, W: Any) -> Any:
    """Lanes, as bits, in which one of numbers 0 … size of x is not finite."""

    def emit(f: _Lanes) -> Any:
        b, (x, _), size, W = f.builder, f.array(0), f.number(1), f.number(2)
        found = cgutils.alloca_once_value(b, _INT(0))
        with f.strips(W) as l:
            total = f.variable(0.0)
            with f.each(l, size, W) as at:
                here = f.load(x, at)
                b.store(b.fadd(b.load(total), b.fsub(here, here)), total)
            bad = b.fcmp_unordered("!=", b.load(total), f.constant(0.0))
            b.store(b.or_(b.load(found), f.bits(bad, l)), found)
        return b.load(found)

    return _function(emit, (x, size, W), types.int64)


@intrinsic
def lower(typing: Any, x: Any, out: Any, W: Any) -> Any:
    """out (W,) ← min(out, x)."""

    def emit(f: _Lanes) -> None:
        (x, _), (out, _) = f.array(0), f.array(1)
        with f.strips(f.number(2)) as l:
            f.store(f.smaller(f.load(out, l), f.load(x, l)), out, l)

    return _function(emit, (x, out, W))


@intrinsic
def margins(
    typing: Any, out: Any, first: Any, min_angle: Any, min_length: Any, row_scale: Any, least: Any, product: Any, W: Any
) -> Any:
    """least (W,) ← the smaller of sine and relative length of the rows, out[first] and out[first + 1].

    product (W,) ← sine times relative length.
    Returns the lanes, as bits, whose elimination cannot be trusted.
    """

    def emit(f: _Lanes) -> Any:
        b = f.builder
        (out, _), (min_length, _), (row_scale, _), (least, _), (product, _) = (f.array(k) for k in (0, 3, 4, 5, 6))
        min_angle, W = f.spread(f.number(2)), f.number(7)
        angles = b.gep(out, [b.mul(f.number(1), W)])
        lengths = b.gep(angles, [W])
        found = cgutils.alloca_once_value(b, _INT(0))
        with f.strips(W) as l:
            angle, length = f.load(angles, l), f.load(lengths, l)
            relative = f.divide(length, f.larger(f.constant(1e-300), f.load(row_scale, l)))
            f.store(f.smaller(relative, angle), least, l)
            f.store(f.multiply(relative, angle), product, l)
            sound = b.and_(b.fcmp_ordered(">", angle, min_angle), b.fcmp_ordered(">", length, f.load(min_length, l)))
            b.store(b.or_(b.load(found), f.bits(b.not_(sound), l)), found)
        return b.load(found)

    return _function(emit, (out, first, min_angle, min_length, row_scale, least, product, W), types.int64)


@intrinsic
def least_margins(
    typing: Any, stages: Any, first: Any, end: Any, column: Any, min_angle: Any, min_length: Any, row_scale: Any,
    least: Any, product: Any, W: Any,
) -> Any:  # fmt: skip
    """`margins` of rows first … end of stages, numbers `column` and `column + 1` of each; least and product go down.

    Returns the lanes, as bits, one of whose eliminations cannot be trusted.
    """

    def emit(f: _Lanes) -> Any:
        b = f.builder
        (stages, columns), (min_length, _), (row_scale, _), (least, _), (product, _) = (
            f.array(k) for k in (0, 5, 6, 7, 8)
        )
        min_angle, W = f.spread(f.number(4)), f.number(9)
        start = b.mul(f.number(3), W)
        found = cgutils.alloca_once_value(b, _INT(0))
        with f.strips(W) as l:
            scale = f.larger(f.constant(1e-300), f.load(row_scale, l))
            shortest = f.load(min_length, l)
            lows = [(out, f.held(f.load(out, l))) for out in (least, product)]
            with f.each(f.number(1), f.number(2), _INT(1)) as k:
                angles = b.gep(stages, [b.add(b.add(b.mul(k, columns), start), l)])
                angle, length = f.load(angles, _INT(0)), f.load(angles, W)
                relative = f.divide(length, scale)
                for (_, low), value in zip(lows, (f.smaller(relative, angle), f.multiply(relative, angle))):
                    b.store(f.smaller(b.load(low), value), low)
                sound = b.and_(b.fcmp_ordered(">", angle, min_angle), b.fcmp_ordered(">", length, shortest))
                b.store(b.or_(b.load(found), f.bits(b.not_(sound), l)), found)
            for out, low in lows:
                f.store(b.load(low), out, l)
        return b.load(found)

    return _function(
        emit, (stages, first, end, column, min_angle, min_length, row_scale, least, product, W), types.int64
    )
