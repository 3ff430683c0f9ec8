"""LLVM IR of the loop over many states: gather lanes, run the kernel, scatter lanes.

A state is a row of each input. With L lanes a kernel wants element i of L states side by side, so L rows are transposed
into x and y is transposed back, by blocks of 4×4 in vector registers. Where a side is no multiple of four
the last block overlaps the one before.
"""

from __future__ import annotations

_SHUFFLES = (
    ("t0", "r0", "r1", (0, 4, 2, 6)),
    ("t1", "r0", "r1", (1, 5, 3, 7)),
    ("t2", "r2", "r3", (0, 4, 2, 6)),
    ("t3", "r2", "r3", (1, 5, 3, 7)),
    ("c0", "t0", "t2", (0, 1, 4, 5)),
    ("c1", "t1", "t3", (0, 1, 4, 5)),
    ("c2", "t0", "t2", (2, 3, 6, 7)),
    ("c3", "t1", "t3", (2, 3, 6, 7)),
)


HEADER = ("kernel", "lanes", "first", "last", "count", "n_in", "n_out", "x_size", "y_size", "shared", "buffer")


def batch_ir(data: int) -> str:
    """The function `void batch(const int64* words)`.

    words are HEADER, then for each input object, size and stride, then for each output object and size: all objects
    first, then all sizes, then all strides.

    Blocks first … last − 1 of `lanes` states are computed, of `count` states in all; lanes of the last block that are
    left over are filled with the last state. Objects have at offset `data` the address of their numbers, as NumPy's
    arrays do. Sizes and strides are counted in doubles; rows of outputs are contiguous. x, y and w lie at the address
    `buffer`, each from a cache line on, because vectors that straddle two lines cost twice; where `shared` is not 0, it
    is the kernel's w.
    """
    lines = ["  %s = mul i64 %r, %ss", "  %a = add i64 %s, %c", "  %p0 = getelementptr double, ptr %src, i64 %a"]
    lines += [f"  %p{k + 1} = getelementptr double, ptr %p{k}, i64 %ss" for k in range(3)]
    lines += [f"  %r{k} = load <4 x double>, ptr %p{k}, align 8" for k in range(4)]
    for name, a, b, order in _SHUFFLES:
        mask = ", ".join(f"i32 {i}" for i in order)
        lines.append(f"  %{name} = shufflevector <4 x double> %{a}, <4 x double> %{b}, <4 x i32> <{mask}>")
    lines += ["  %d = mul i64 %c, %ds", "  %b = add i64 %d, %r", "  %q0 = getelementptr double, ptr %dst, i64 %b"]
    lines += [f"  %q{k + 1} = getelementptr double, ptr %q{k}, i64 %ds" for k in range(3)]
    lines += [f"  store <4 x double> %c{k}, ptr %q{k}, align 8" for k in range(4)]
    header = []
    for i, name in enumerate(HEADER[1:], 1):
        header.append(f"  %p.{name} = getelementptr i64, ptr %words, i64 {i}")
        if name != "buffer":  # its place is where the objects begin
            header.append(f"  %{name} = load i64, ptr %p.{name}")
    text = _IR.replace("$block$", "\n".join(lines)).replace("$header$", "\n".join(header))
    return text.replace("$data$", f"i64 {data}")


_IR = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

; dst[c*ds + r] = src[r*ss + c] for r < rows, c < cols
define internal void @transpose(ptr noalias %src, i64 %ss, i64 %rows, i64 %cols, ptr noalias %dst, i64 %ds) nounwind {
start:
  %one.row = icmp eq i64 %rows, 1
  %dense.dst = icmp eq i64 %ds, 1
  %copy.row = and i1 %one.row, %dense.dst
  br i1 %copy.row, label %copy, label %column
column:
  %one.col = icmp eq i64 %cols, 1
  %dense.src = icmp eq i64 %ss, 1
  %copy.col = and i1 %one.col, %dense.src
  br i1 %copy.col, label %copy, label %choose
copy:
  %count = phi i64 [ %cols, %start ], [ %rows, %column ]
  %bytes = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %dst, ptr %src, i64 %bytes, i1 false)
  ret void
choose:
  %enough.rows = icmp uge i64 %rows, 4
  %enough.cols = icmp uge i64 %cols, 4
  %blocks = and i1 %enough.rows, %enough.cols
  br i1 %blocks, label %by.blocks, label %by.elements

by.blocks:
  %last.r = sub i64 %rows, 4
  %last.c = sub i64 %cols, 4
  br label %block.row
block.row:
  %r0.n = phi i64 [ 0, %by.blocks ], [ %r0.next, %block.row.done ]
  %r0.more = icmp ult i64 %r0.n, %rows
  br i1 %r0.more, label %block.row.start, label %done
block.row.start:
  %r = call i64 @llvm.umin.i64(i64 %r0.n, i64 %last.r)
  br label %block.col
block.col:
  %c0.n = phi i64 [ 0, %block.row.start ], [ %c0.next, %block ]
  %c0.more = icmp ult i64 %c0.n, %cols
  br i1 %c0.more, label %block, label %block.row.done
block:
  %c = call i64 @llvm.umin.i64(i64 %c0.n, i64 %last.c)
$block$
  %c0.next = add i64 %c0.n, 4
  br label %block.col
block.row.done:
  %r0.next = add i64 %r0.n, 4
  br label %block.row

by.elements:
  br label %element.row
element.row:
  %er = phi i64 [ 0, %by.elements ], [ %er.next, %element.row.done ]
  %er.more = icmp ult i64 %er, %rows
  br i1 %er.more, label %element.row.start, label %done
element.row.start:
  %er.at = mul i64 %er, %ss
  br label %element.col
element.col:
  %ec = phi i64 [ 0, %element.row.start ], [ %ec.next, %element ]
  %ec.more = icmp ult i64 %ec, %cols
  br i1 %ec.more, label %element, label %element.row.done
element:
  %ea = add i64 %er.at, %ec
  %ep = getelementptr double, ptr %src, i64 %ea
  %value = load double, ptr %ep
  %eb = mul i64 %ec, %ds
  %ed = add i64 %eb, %er
  %eq = getelementptr double, ptr %dst, i64 %ed
  store double %value, ptr %eq
  %ec.next = add i64 %ec, 1
  br label %element.col
element.row.done:
  %er.next = add i64 %er, 1
  br label %element.row
done:
  ret void
}

define void @batch(ptr %words) nounwind {
start:
  %kernel = load ptr, ptr %words
$header$
  %raw = load i64, ptr %p.buffer
  %ins = getelementptr i64, ptr %p.buffer, i64 1
  %in.sizes = getelementptr i64, ptr %ins, i64 %n_in
  %in.strides = getelementptr i64, ptr %in.sizes, i64 %n_in
  %outs = getelementptr i64, ptr %in.strides, i64 %n_in
  %out.sizes = getelementptr i64, ptr %outs, i64 %n_out
  %raw.up = add i64 %raw, 63
  %raw.line = and i64 %raw.up, -64
  %x = inttoptr i64 %raw.line to ptr
  %x.up = add i64 %x_size, 7
  %x.lines = and i64 %x.up, -8
  %y = getelementptr double, ptr %x, i64 %x.lines
  %y.up = add i64 %y_size, 7
  %y.lines = and i64 %y.up, -8
  %w.own = getelementptr double, ptr %y, i64 %y.lines
  %w.shared = inttoptr i64 %shared to ptr
  %is.shared = icmp ne i64 %shared, 0
  %w = select i1 %is.shared, ptr %w.shared, ptr %w.own
  br label %block
block:
  %b = phi i64 [ %first, %start ], [ %b.next, %scattered ]
  %state = mul i64 %b, %lanes
  %left = sub i64 %count, %state
  %rows = call i64 @llvm.umin.i64(i64 %left, i64 %lanes)
  %spare = sub i64 %lanes, %rows
  %last.row = sub i64 %rows, 1
  %more = icmp ult i64 %b, %last
  br i1 %more, label %gather, label %done

gather:
  %i = phi i64 [ 0, %block ], [ %i.next, %gather.done ]
  %to = phi ptr [ %x, %block ], [ %to.next, %gather.done ]
  %i.more = icmp ult i64 %i, %n_in
  br i1 %i.more, label %gather.one, label %run
gather.one:
  %p.in = getelementptr ptr, ptr %ins, i64 %i
  %in.obj = load ptr, ptr %p.in
  %p.in.data = getelementptr i8, ptr %in.obj, $data$
  %in = load ptr, ptr %p.in.data
  %p.size = getelementptr i64, ptr %in.sizes, i64 %i
  %size = load i64, ptr %p.size
  %p.stride = getelementptr i64, ptr %in.strides, i64 %i
  %stride = load i64, ptr %p.stride
  %skip = mul i64 %state, %stride
  %from = getelementptr double, ptr %in, i64 %skip
  call void @transpose(ptr %from, i64 %stride, i64 %rows, i64 %size, ptr %to, i64 %lanes)
  %full = icmp eq i64 %spare, 0
  br i1 %full, label %gather.done, label %gather.rest
gather.rest:
  %last.skip = mul i64 %last.row, %stride
  %last.from = getelementptr double, ptr %from, i64 %last.skip
  %rest.to = getelementptr double, ptr %to, i64 %rows
  call void @transpose(ptr %last.from, i64 0, i64 %spare, i64 %size, ptr %rest.to, i64 %lanes)
  br label %gather.done
gather.done:
  %width = mul i64 %size, %lanes
  %to.next = getelementptr double, ptr %to, i64 %width
  %i.next = add i64 %i, 1
  br label %gather

run:
  call void %kernel(ptr %x, ptr %y, ptr %w)
  br label %scatter
scatter:
  %o = phi i64 [ 0, %run ], [ %o.next, %scatter.one ]
  %result = phi ptr [ %y, %run ], [ %result.next, %scatter.one ]
  %o.more = icmp ult i64 %o, %n_out
  br i1 %o.more, label %scatter.one, label %scattered
scatter.one:
  %p.out = getelementptr ptr, ptr %outs, i64 %o
  %out.obj = load ptr, ptr %p.out
  %p.out.data = getelementptr i8, ptr %out.obj, $data$
  %out = load ptr, ptr %p.out.data
  %p.osize = getelementptr i64, ptr %out.sizes, i64 %o
  %osize = load i64, ptr %p.osize
  %oskip = mul i64 %state, %osize
  %into = getelementptr double, ptr %out, i64 %oskip
  call void @transpose(ptr %result, i64 %lanes, i64 %osize, i64 %rows, ptr %into, i64 %osize)
  %owidth = mul i64 %osize, %lanes
  %result.next = getelementptr double, ptr %result, i64 %owidth
  %o.next = add i64 %o, 1
  br label %scatter
scattered:
  %b.next = add i64 %b, 1
  br label %block
done:
  ret void
}
"""
