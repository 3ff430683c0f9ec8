"""Dot product, axpy, copy, fill, rotation, exchange and weighted sums of rows as explicit four-lane loops.

Left to itself LLVM vectorizes such loops for long rows: four-fold unrolled, with tests for overlap, so that a row of
four to fourteen entries, the usual one here, falls through to a scalar loop. Written out as eight, four, two and one
entries at a time they take a half to two thirds of the time on short rows. The order of summation is fixed; NaN keeps
its meaning.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_FUSE = ("contract",)


def _row(context, builder, kind, value, row):
    """Pointer to the first entry of a row (of the vector itself if it has one dimension)."""
    array = context.make_array(kind)(context, builder, value)
    if kind.ndim == 1:
        return array.data
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    return builder.gep(array.data, [builder.mul(row, columns)])


def _lanes(width):
    return _DOUBLE if width == 1 else ir.VectorType(_DOUBLE, width)


def _zero(width):
    return ir.Constant(_lanes(width), 0.0 if width == 1 else [0.0] * width)


def _at(builder, pointer, index, width):
    return builder.bitcast(builder.gep(pointer, [index]), _lanes(width).as_pointer())


def _load(builder, pointer, index, width):
    loaded = builder.load(_at(builder, pointer, index, width))
    loaded.align = 8
    return loaded


def _strips(builder, index, end, width, body, once=False):
    """While index + width ≤ end: body(index), index += width. `once`: if instead of while."""
    test, work, done = (builder.append_basic_block(name) for name in ("test", "work", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    here = builder.load(index)
    after = builder.add(here, _INT(width), flags=("nsw",))
    builder.cbranch(builder.icmp_signed("<=", after, end), work, done)
    builder.position_at_end(work)
    body(here)
    # Nothing, but LLVM has to keep the loop: as a call of memset or memcpy it would cost more than a short row.
    builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], side_effect=True)
    builder.store(after, index)
    builder.branch(done if once else test)
    builder.position_at_end(done)


def _pick(builder, value, lanes):
    return builder.shuffle_vector(value, value, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _spread(builder, factor, width):
    if width == 1:
        return factor
    empty = ir.Constant(_lanes(width), ir.Undefined)
    return _pick(builder, builder.insert_element(empty, factor, ir.IntType(32)(0)), [0] * width)


def weighted(builder, weights, count, rows, columns, size, widths, most=4, one_by_one=True):
    """Write loops over places 0 … size of rows (count, columns); yields place, lanes and Σ_k w_k rows[k, place:].

    Each of the widths takes what the wider ones before it have left; `count` is at least 1. Rows of weight zero are not
    looked at. Sums stay in registers, several vectors at a time where a width is more than the `most` that one holds:
    the additions of one depend on each other. The last row is taken `one_by_one` where a traced function has just
    written its numbers like this: a vector of them would wait until all have reached the cache.
    """
    start, last = _INT(0), builder.sub(count, _INT(1))
    for width in widths:
        lanes, end = min(width, most), builder.and_(size, _INT(-width))
        with cgutils.for_range_slice(builder, start, end, _INT(width), intp=_INT, inc=True) as (at, _):
            totals = [cgutils.alloca_once(builder, _lanes(lanes)) for _ in range(width // lanes)]
            for total in totals:
                builder.store(_zero(lanes), total)

            def add(k, load, at=at, lanes=lanes, totals=totals):
                w = builder.load(builder.gep(weights, [k]))
                with builder.if_then(builder.fcmp_unordered("!=", w, _DOUBLE(0.0))):
                    row = builder.gep(rows, [builder.add(builder.mul(k, columns), at)])
                    for i, total in enumerate(totals):
                        here = load(builder, row, _INT(lanes * i), lanes)
                        product = builder.fmul(_spread(builder, w, lanes), here, flags=_FUSE)
                        builder.store(builder.fadd(product, builder.load(total), flags=_FUSE), total)

            with cgutils.for_range_slice(builder, _INT(0), last, _INT(1), intp=_INT, inc=True) as (k, _):
                add(k, _load)
            add(last, _gather if one_by_one else _load)
            for i, total in enumerate(totals):
                yield builder.add(at, _INT(lanes * i)), lanes, builder.load(total)
        start = end


def _gather(builder, pointer, index, width):
    """A vector loaded number by number; atomic, or LLVM would make one load of them."""
    if width == 1:
        return _load(builder, pointer, index, 1)
    vector = ir.Constant(_lanes(width), ir.Undefined)
    for k in range(width):
        one = builder.load_atomic(_at(builder, pointer, builder.add(index, _INT(k)), 1), "monotonic", 8)
        vector = builder.insert_element(vector, one, ir.IntType(32)(k))
    return vector


def _is_row(kind):
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.dtype == types.float64


def _dot(typing, x, i, y, j, lo, hi):
    """x[i, lo:hi] · y[j, lo:hi]; x and y have two dimensions, or one and then i or j is not looked at."""
    if not (_is_row(x) and _is_row(y)):
        return None

    def emit(context, builder, signature, arguments):
        px = _row(context, builder, x, arguments[0], arguments[1])
        py = _row(context, builder, y, arguments[2], arguments[3])
        index = cgutils.alloca_once_value(builder, arguments[4])
        end = arguments[5]
        sums = [cgutils.alloca_once(builder, _lanes(4)) for _ in range(2)]
        for s in sums:
            builder.store(_zero(4), s)

        def accumulate(here, width, s):
            product = builder.fmul(_load(builder, px, here, width), _load(builder, py, here, width), flags=_FUSE)
            builder.store(builder.fadd(product, builder.load(s), flags=_FUSE), s)

        def eight(here):
            accumulate(here, 4, sums[0])
            accumulate(builder.add(here, _INT(4)), 4, sums[1])

        _strips(builder, index, end, 8, eight)
        _strips(builder, index, end, 4, lambda here: accumulate(here, 4, sums[0]), once=True)
        total = builder.fadd(builder.load(sums[0]), builder.load(sums[1]))
        pair = cgutils.alloca_once(builder, _lanes(2))
        builder.store(builder.fadd(_pick(builder, total, [0, 1]), _pick(builder, total, [2, 3])), pair)
        _strips(builder, index, end, 2, lambda here: accumulate(here, 2, pair), once=True)
        both = builder.load(pair)
        single = cgutils.alloca_once(builder, _DOUBLE)
        parts = [builder.extract_element(both, ir.Constant(ir.IntType(32), k)) for k in range(2)]
        builder.store(builder.fadd(*parts), single)
        _strips(builder, index, end, 1, lambda here: accumulate(here, 1, single), once=True)
        return builder.load(single)

    integer = types.int64
    return types.float64(x, integer, y, integer, integer, integer), emit


def _update(alpha, x, y, add):
    """The intrinsic y[j, lo:hi] = alpha x[i, lo:hi] (+ y[j, lo:hi] if add)."""
    if not (_is_row(x) and _is_row(y)):
        return None

    def emit(context, builder, signature, arguments):
        factor = arguments[0]
        px = _row(context, builder, x, arguments[1], arguments[2])
        py = _row(context, builder, y, arguments[3], arguments[4])
        index = cgutils.alloca_once_value(builder, arguments[5])
        end = arguments[6]

        def update(here, width):
            new = builder.fmul(_spread(builder, factor, width), _load(builder, px, here, width), flags=_FUSE)
            if add:
                new = builder.fadd(new, _load(builder, py, here, width), flags=_FUSE)
            builder.store(new, _at(builder, py, here, width)).align = 8

        for width in (4, 2, 1):
            _strips(builder, index, end, width, lambda here, w=width: update(here, w), once=width < 4)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(types.float64, x, integer, y, integer, integer, integer), emit


def _fill(typing, alpha, x, i, lo, hi):
    """x[i, lo:hi] = alpha."""
    if not _is_row(x):
        return None

    def emit(context, builder, signature, arguments):
        px = _row(context, builder, x, arguments[1], arguments[2])
        index = cgutils.alloca_once_value(builder, arguments[3])

        def update(here, width):
            builder.store(_spread(builder, arguments[0], width), _at(builder, px, here, width)).align = 8

        for width in (4, 2, 1):
            _strips(builder, index, arguments[4], width, lambda here, w=width: update(here, w), once=width < 4)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(types.float64, x, integer, integer, integer), emit


def _pairs(x, y, change):
    """The intrinsic (x[i, lo:hi], y[j, lo:hi]) = change(builder, x[i, lo:hi], y[j, lo:hi], spread factors)."""
    if not (_is_row(x) and _is_row(y)):
        return None

    def emit(context, builder, signature, arguments):
        px = _row(context, builder, x, arguments[2], arguments[3])
        py = _row(context, builder, y, arguments[4], arguments[5])
        index = cgutils.alloca_once_value(builder, arguments[6])

        def update(here, width):
            old = _load(builder, px, here, width), _load(builder, py, here, width)
            factors = (_spread(builder, factor, width) for factor in arguments[:2])
            for pointer, new in zip((px, py), change(builder, *old, *factors)):
                builder.store(new, _at(builder, pointer, here, width)).align = 8

        for width in (4, 2, 1):
            _strips(builder, index, arguments[7], width, lambda here, w=width: update(here, w), once=width < 4)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(types.float64, types.float64, x, integer, y, integer, integer, integer), emit


def _rotate(typing, c, s, x, i, y, j, lo, hi):
    """(x_i, y_j) ← (c x_i + s y_j, c y_j - s x_i), over lo:hi."""

    def change(builder, a, b, c, s):
        first = builder.fadd(builder.fmul(c, a, flags=_FUSE), builder.fmul(s, b, flags=_FUSE), flags=_FUSE)
        second = builder.fsub(builder.fmul(c, b, flags=_FUSE), builder.fmul(s, a, flags=_FUSE), flags=_FUSE)
        return first, second

    return _pairs(x, y, change)


def _swap(typing, c, s, x, i, y, j, lo, hi):
    """x_i and y_j change places, over lo:hi. c and s are not looked at."""
    return _pairs(x, y, lambda builder, a, b, c, s: (b, a))


def _axpy(typing, alpha, x, i, y, j, lo, hi):
    """y[j, lo:hi] += alpha x[i, lo:hi]; dimensions as in `_dot`. The two ranges are the same or do not overlap."""
    return _update(alpha, x, y, True)


def _assign(typing, alpha, x, i, y, j, lo, hi):
    """y[j, lo:hi] = alpha x[i, lo:hi]; dimensions as in `_dot`. The two ranges are the same or do not overlap."""
    return _update(alpha, x, y, False)


def _sums(context, builder, kinds, arguments):
    """The loops of `weighted` for arguments (weights, count, rows, out, size), with where `out` begins."""
    weights, count, rows, out, size = arguments
    array = context.make_array(kinds[2])(context, builder, rows)
    columns = cgutils.unpack_tuple(builder, array.shape)[1]
    pw, to = (_row(context, builder, kind, value, None) for kind, value in ((kinds[0], weights), (kinds[3], out)))
    for at, lanes, total in weighted(builder, pw, count, array.data, columns, size, (8, 4, 2, 1)):
        yield at, lanes, total, _at(builder, to, at, lanes)


def _combine(typing, x, h, weights, count, rows, out, size):
    """out[:size] = x + h Σ_k weights[k] rows[k], k < count; x, weights and out have one dimension."""

    def emit(context, builder, signature, arguments):
        px = _row(context, builder, x, arguments[0], None)
        for at, lanes, total, place in _sums(context, builder, signature.args[2:], arguments[2:]):
            moved = builder.fmul(_spread(builder, arguments[1], lanes), total, flags=_FUSE)
            builder.store(builder.fadd(_load(builder, px, at, lanes), moved, flags=_FUSE), place).align = 8
        return context.get_dummy_value()

    return types.void(x, types.float64, weights, types.int64, rows, out, types.int64), emit


def _estimate(typing, weights, count, rows, out, size):
    """out[:size] = Σ_k weights[k] rows[k], k < count; weights and out have one dimension."""

    def emit(context, builder, signature, arguments):
        for _, _, total, place in _sums(context, builder, signature.args, arguments):
            builder.store(total, place).align = 8
        return context.get_dummy_value()

    return types.void(weights, types.int64, rows, out, types.int64), emit


dot: Any = intrinsic(_dot)
axpy: Any = intrinsic(_axpy)
assign: Any = intrinsic(_assign)
fill: Any = intrinsic(_fill)
rotate: Any = intrinsic(_rotate)
exchange: Any = intrinsic(_swap)
combine: Any = intrinsic(_combine)
estimate: Any = intrinsic(_estimate)
