"""LLVM IR of a handler of XLA's foreign function interface: many states through one native function, in threads.

XLA calls `XLA_FFI_Error* handler(XLA_FFI_CallFrame*)` (jaxlib's include/xla/ffi/api/c_api.h has the structs). Each
input and output is a buffer of doubles of shape (N, n); the states go through `batch` in chunks. Chunks are handed out
by a counter, to the thread that was called and to tasks in XLA's own pool of threads. A task that starts when all are
taken does nothing, and nobody waits for one that has not started, so that a busy pool cannot stop the call.
"""

from __future__ import annotations

from .batch_ir import HEADER, batch_ir

DATA = 24  # offset of the address of the numbers in an XLA_FFI_Buffer
#: words of the plan at the imported symbol `plan`; then the sizes of the inputs and of the outputs
PLAN = ("kernel", "lanes", "n_in", "n_out", "x_size", "y_size", "shared", "room", "grain")
#: words of a job, before those of `batch`
JOB = ("next", "done", "users", "blocks", "grain", "chunks", "room", "words")


def xla_handler_ir(major: int, minor: int) -> str:
    """The module: `handler`, which needs the symbols plan, dalembert_malloc, dalembert_free and dalembert_yield.

    major, minor: the version of the interface that it is made for.
    """
    plan = "".join(
        f"  %at.{x} = getelementptr i64, ptr @plan, i64 {i}\n  %{x} = load i64, ptr %at.{x}\n"
        for i, x in enumerate(PLAN)
    )
    job = "".join(f"  %job.{x} = getelementptr i64, ptr %job, i64 {i}\n" for i, x in enumerate(JOB))
    words = "".join(
        f"  %to.{x} = getelementptr i64, ptr %words, i64 {i}\n" for i, x in enumerate(HEADER) if x != "buffer"
    )
    text = _IR.replace("$plan$", plan).replace("$job$", job).replace("$words$", words)
    for name, words_of in (("sizes", PLAN), ("header", HEADER), ("jobs", JOB)):
        text = text.replace(f"${name}$", str(len(words_of)))
    for name in ("first", "last", "buffer"):
        text = text.replace(f"${name}$", str(HEADER.index(name)))
    return batch_ir(DATA) + text.replace("$major$", str(major)).replace("$minor$", str(minor))


_IR = """
@plan = external global i64
declare ptr @dalembert_malloc(i64)
declare void @dalembert_free(ptr)
declare i32 @dalembert_yield()

; let go of a job; the last user frees it
define internal void @leave(ptr %job) nounwind {
  %users = getelementptr i64, ptr %job, i64 2
  %before = atomicrmw sub ptr %users, i64 1 acq_rel
  %last = icmp eq i64 %before, 1
  br i1 %last, label %free, label %done
free:
  call void @dalembert_free(ptr %job)
  br label %done
done:
  ret void
}

; chunks of a job, until all are taken
define internal void @work(ptr %job) nounwind {
start:
$job$
  %blocks = load i64, ptr %job.blocks
  %grain = load i64, ptr %job.grain
  %chunks = load i64, ptr %job.chunks
  %room = load i64, ptr %job.room
  %count = load i64, ptr %job.words
  %one = atomicrmw add ptr %job.next, i64 1 monotonic
  %any = icmp ult i64 %one, %chunks
  br i1 %any, label %begin, label %out
begin:
  %given = getelementptr i64, ptr %job, i64 $jobs$
  %words.bytes = shl i64 %count, 3
  %room.bytes = shl i64 %room, 3
  %bytes = add i64 %words.bytes, %room.bytes
  %own = call ptr @dalembert_malloc(i64 %bytes)
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %given, i64 %words.bytes, i1 false)
  %buffer = getelementptr i64, ptr %own, i64 %count
  %buffer.int = ptrtoint ptr %buffer to i64
  %at.buffer = getelementptr i64, ptr %own, i64 $buffer$
  store i64 %buffer.int, ptr %at.buffer
  %at.first = getelementptr i64, ptr %own, i64 $first$
  %at.last = getelementptr i64, ptr %own, i64 $last$
  br label %chunk
chunk:
  %c = phi i64 [ %one, %begin ], [ %c.next, %chunk ]
  %first = mul i64 %c, %grain
  %end = add i64 %first, %grain
  %last = call i64 @llvm.umin.i64(i64 %end, i64 %blocks)
  store i64 %first, ptr %at.first
  store i64 %last, ptr %at.last
  call void @batch(ptr %own)
  %was = atomicrmw add ptr %job.done, i64 1 release
  %c.next = atomicrmw add ptr %job.next, i64 1 monotonic
  %more = icmp ult i64 %c.next, %chunks
  br i1 %more, label %chunk, label %finish
finish:
  call void @dalembert_free(ptr %own)
  br label %out
out:
  ret void
}

define internal void @task(ptr %job) nounwind {
  call void @work(ptr %job)
  call void @leave(ptr %job)
  ret void
}

; an error of XLA's is let go of; returns whether there was one
define internal i1 @failed(ptr %api, ptr %error) nounwind {
  %none = icmp eq ptr %error, null
  br i1 %none, label %fine, label %destroy
destroy:
  %args = alloca [3 x i64]
  store i64 24, ptr %args
  %args.1 = getelementptr i64, ptr %args, i64 1
  store i64 0, ptr %args.1
  %args.2 = getelementptr i64, ptr %args, i64 2
  store ptr %error, ptr %args.2
  %at = getelementptr i8, ptr %api, i64 64
  %function = load ptr, ptr %at
  call void %function(ptr %args)
  br label %fine
fine:
  %some = xor i1 %none, true
  ret i1 %some
}

; threads in XLA's pool; 1 where there is none
define internal i64 @threads(ptr %api, ptr %ctx) nounwind {
  %count = alloca i64
  store i64 1, ptr %count
  %args = alloca [4 x i64]
  store i64 32, ptr %args
  %args.1 = getelementptr i64, ptr %args, i64 1
  store i64 0, ptr %args.1
  %args.2 = getelementptr i64, ptr %args, i64 2
  store ptr %ctx, ptr %args.2
  %args.3 = getelementptr i64, ptr %args, i64 3
  store ptr %count, ptr %args.3
  %at = getelementptr i8, ptr %api, i64 144
  %function = load ptr, ptr %at
  %error = call ptr %function(ptr %args)
  %bad = call i1 @failed(ptr %api, ptr %error)
  %found = load i64, ptr %count
  %n = select i1 %bad, i64 1, i64 %found
  ret i64 %n
}

define internal i1 @schedule(ptr %api, ptr %ctx, ptr %job) nounwind {
  %args = alloca [5 x i64]
  store i64 40, ptr %args
  %args.1 = getelementptr i64, ptr %args, i64 1
  store i64 0, ptr %args.1
  %args.2 = getelementptr i64, ptr %args, i64 2
  store ptr %ctx, ptr %args.2
  %args.3 = getelementptr i64, ptr %args, i64 3
  store ptr @task, ptr %args.3
  %args.4 = getelementptr i64, ptr %args, i64 4
  store ptr %job, ptr %args.4
  %at = getelementptr i8, ptr %api, i64 136
  %function = load ptr, ptr %at
  %error = call ptr %function(ptr %args)
  %bad = call i1 @failed(ptr %api, ptr %error)
  ret i1 %bad
}

define ptr @handler(ptr %frame) nounwind {
start:
  %at.extension = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %at.extension
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %execute, label %extended
extended:
  %at.type = getelementptr i8, ptr %extension, i64 8
  %type = load i32, ptr %at.type
  %asked = icmp eq i32 %type, 1
  br i1 %asked, label %metadata, label %execute
metadata:
  %at.metadata = getelementptr i8, ptr %extension, i64 24
  %facts = load ptr, ptr %at.metadata
  %at.major = getelementptr i8, ptr %facts, i64 24
  store i32 $major$, ptr %at.major
  %at.minor = getelementptr i8, ptr %facts, i64 28
  store i32 $minor$, ptr %at.minor
  ret ptr null

execute:
$plan$
  %in.sizes = getelementptr i64, ptr @plan, i64 $sizes$
  %out.sizes = getelementptr i64, ptr %in.sizes, i64 %n_in
  %at.api = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %at.api
  %at.ctx = getelementptr i8, ptr %frame, i64 24
  %ctx = load ptr, ptr %at.ctx
  %at.args = getelementptr i8, ptr %frame, i64 72
  %args = load ptr, ptr %at.args
  %at.rets = getelementptr i8, ptr %frame, i64 112
  %rets = load ptr, ptr %at.rets
  %ret = load ptr, ptr %rets
  %at.dims = getelementptr i8, ptr %ret, i64 40
  %dims = load ptr, ptr %at.dims
  %count = load i64, ptr %dims
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %out, label %prepare
prepare:
  %count.up = add i64 %count, %lanes
  %count.most = sub i64 %count.up, 1
  %blocks = udiv i64 %count.most, %lanes
  %blocks.up = add i64 %blocks, %grain
  %blocks.most = sub i64 %blocks.up, 1
  %chunks = udiv i64 %blocks.most, %grain
  %ins3 = mul i64 %n_in, 3
  %outs2 = shl i64 %n_out, 1
  %lists = add i64 %ins3, %outs2
  %word.count = add i64 %lists, $header$
  %all.words = add i64 %word.count, $jobs$
  %bytes = shl i64 %all.words, 3
  %job = call ptr @dalembert_malloc(i64 %bytes)
$job$
  store i64 0, ptr %job.next
  store i64 0, ptr %job.done
  store i64 %blocks, ptr %job.blocks
  store i64 %grain, ptr %job.grain
  store i64 %chunks, ptr %job.chunks
  store i64 %room, ptr %job.room
  store i64 %word.count, ptr %job.words
  %words = getelementptr i64, ptr %job, i64 $jobs$
$words$
  store i64 %kernel, ptr %to.kernel
  store i64 %lanes, ptr %to.lanes
  store i64 %count, ptr %to.count
  store i64 %n_in, ptr %to.n_in
  store i64 %n_out, ptr %to.n_out
  store i64 %x_size, ptr %to.x_size
  store i64 %y_size, ptr %to.y_size
  store i64 %shared, ptr %to.shared
  %lists.at = getelementptr i64, ptr %words, i64 $header$
  %in.bytes = shl i64 %n_in, 3
  %out.bytes = shl i64 %n_out, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %lists.at, ptr %args, i64 %in.bytes, i1 false)
  %to.sizes = getelementptr i64, ptr %lists.at, i64 %n_in
  call void @llvm.memcpy.p0.p0.i64(ptr %to.sizes, ptr %in.sizes, i64 %in.bytes, i1 false)
  %to.strides = getelementptr i64, ptr %to.sizes, i64 %n_in
  call void @llvm.memcpy.p0.p0.i64(ptr %to.strides, ptr %in.sizes, i64 %in.bytes, i1 false)
  %to.outs = getelementptr i64, ptr %to.strides, i64 %n_in
  call void @llvm.memcpy.p0.p0.i64(ptr %to.outs, ptr %rets, i64 %out.bytes, i1 false)
  %to.out.sizes = getelementptr i64, ptr %to.outs, i64 %n_out
  call void @llvm.memcpy.p0.p0.i64(ptr %to.out.sizes, ptr %out.sizes, i64 %out.bytes, i1 false)
  %single = icmp ule i64 %chunks, 1
  br i1 %single, label %alone, label %ask
ask:
  %pool = call i64 @threads(ptr %api, ptr %ctx)
  %most = call i64 @llvm.umin.i64(i64 %pool, i64 %chunks)
  br label %alone
alone:
  %workers = phi i64 [ 1, %prepare ], [ %most, %ask ]
  store i64 %workers, ptr %job.users
  br label %helper
helper:
  %k = phi i64 [ 1, %alone ], [ %k.next, %next ]
  %more = icmp ult i64 %k, %workers
  br i1 %more, label %call.helper, label %mine
call.helper:
  %refused = call i1 @schedule(ptr %api, ptr %ctx, ptr %job)
  br i1 %refused, label %dismiss, label %next
dismiss:
  call void @leave(ptr %job)
  br label %next
next:
  %k.next = add i64 %k, 1
  br label %helper
mine:
  call void @work(ptr %job)
  br label %wait
wait:
  %finished = load atomic i64, ptr %job.done acquire, align 8
  %ready = icmp uge i64 %finished, %chunks
  br i1 %ready, label %end, label %pause
pause:
  %ignored = call i32 @dalembert_yield()
  br label %wait
end:
  call void @leave(ptr %job)
  br label %out
out:
  ret ptr null
}
"""
