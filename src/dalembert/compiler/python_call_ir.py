"""LLVM IR of the compiled `Kernel.__call__`; `python_call` says what it does and why."""

from __future__ import annotations

API = (
    "ndarray", "float64", "new", "return", "incref", "decref", "tuple_new", "vectorcall", "checked", "out", "float",
    "tuple", "none",
)  # fmt: skip
"""Order of the addresses in `dalembert_api`."""

READABLE = 0x1 | 0x100  # NumPy's flags: C-contiguous, aligned
WRITABLE = READABLE | 0x400


def python_call_ir(offsets: dict[str, int]) -> str:
    """`offsets` of config, data, nd, dims, descr, flags, size, items, value inside their objects."""
    text = _IR
    for i, name in enumerate(API):
        text = text.replace(f"@{name}@", f"getelementptr ([{len(API)} x ptr], ptr @dalembert_api, i64 0, i64 {i})")
    for name, offset in offsets.items():
        text = text.replace(f"${name}$", f"i64 {offset}")
    return (
        text.replace("$readable$", str(READABLE)).replace("$writable$", str(WRITABLE)).replace("#api#", str(len(API)))
    )


# config: 0 kernel, 1 number of inputs, 2 number of outputs, 3 x, 4 y, 5 w, 6 sizes of inputs, 7 outputs
# (4 words each: doubles, dimensions, shape)
_IR = """
@dalembert_api = external global [#api# x ptr]
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Is obj a plain float64 array of the shape in spec, with all of the flags?
define internal i1 @fits(ptr %obj, ptr %spec, i32 %wanted) nounwind {
start:
  %pt = getelementptr i8, ptr %obj, i64 8
  %type = load ptr, ptr %pt
  %ndarray = load ptr, ptr @ndarray@
  %plain = icmp eq ptr %type, %ndarray
  br i1 %plain, label %array, label %no
array:
  %pd = getelementptr i8, ptr %obj, $descr$
  %descr = load ptr, ptr %pd
  %float64 = load ptr, ptr @float64@
  %same = icmp eq ptr %descr, %float64
  %pf = getelementptr i8, ptr %obj, $flags$
  %flags = load i32, ptr %pf
  %has = and i32 %flags, %wanted
  %all = icmp eq i32 %has, %wanted
  %pn = getelementptr i8, ptr %obj, $nd$
  %nd = load i32, ptr %pn
  %nd64 = zext i32 %nd to i64
  %ps = getelementptr i64, ptr %spec, i64 1
  %nd.wanted = load i64, ptr %ps
  %dimensional = icmp eq i64 %nd64, %nd.wanted
  %ok1 = and i1 %same, %all
  %ok2 = and i1 %ok1, %dimensional
  br i1 %ok2, label %shape, label %no
shape:
  %pdims = getelementptr i8, ptr %obj, $dims$
  %dims = load ptr, ptr %pdims
  br label %each
each:
  %i = phi i64 [ 0, %shape ], [ %next, %compare ]
  %more = icmp ult i64 %i, %nd64
  br i1 %more, label %compare, label %yes
compare:
  %pi = getelementptr i64, ptr %dims, i64 %i
  %found = load i64, ptr %pi
  %next = add i64 %i, 1
  %k = add i64 %i, 2
  %pw = getelementptr i64, ptr %spec, i64 %k
  %needed = load i64, ptr %pw
  %equal = icmp eq i64 %found, %needed
  br i1 %equal, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; A new array of the shape in spec.
define internal ptr @fresh(ptr %spec) nounwind {
  %float64 = load ptr, ptr @float64@
  %incref = load ptr, ptr @incref@
  call void %incref(ptr %float64)                ; the constructor takes this reference
  %ndarray = load ptr, ptr @ndarray@
  %ps = getelementptr i64, ptr %spec, i64 1
  %nd = load i64, ptr %ps
  %nd32 = trunc i64 %nd to i32
  %dims = getelementptr i64, ptr %spec, i64 2
  %new = load ptr, ptr @new@
  %obj = call ptr %new(ptr %ndarray, ptr %float64, i32 %nd32, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  ret ptr %obj
}

; An array as the user sees it: a NumPy scalar if it has no dimensions.
define internal ptr @finished(ptr %obj, ptr %spec) nounwind {
  %ps = getelementptr i64, ptr %spec, i64 1
  %nd = load i64, ptr %ps
  %scalar = icmp eq i64 %nd, 0
  br i1 %scalar, label %convert, label %keep
convert:
  %return = load ptr, ptr @return@
  %value = call ptr %return(ptr %obj)
  ret ptr %value
keep:
  ret ptr %obj
}

define internal ptr @data(ptr %obj) nounwind {
  %p = getelementptr i8, ptr %obj, $data$
  %data = load ptr, ptr %p
  ret ptr %data
}

; Copy every input to x; false if one is not what the fast path takes.
define internal i1 @pack(ptr %c, ptr %args, i64 %n) nounwind {
start:
  %px = getelementptr ptr, ptr %c, i64 3
  %x = load ptr, ptr %px
  %psizes = getelementptr ptr, ptr %c, i64 6
  %sizes = load ptr, ptr %psizes
  %ndarray = load ptr, ptr @ndarray@
  %float64 = load ptr, ptr @float64@
  %float = load ptr, ptr @float@
  br label %each
each:
  %i = phi i64 [ 0, %start ], [ %next, %step ]
  %at = phi ptr [ %x, %start ], [ %after, %step ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %look, label %yes
look:
  %pobj = getelementptr ptr, ptr %args, i64 %i
  %obj = load ptr, ptr %pobj
  %psize = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %psize
  %pt = getelementptr i8, ptr %obj, i64 8
  %type = load ptr, ptr %pt
  %plain = icmp eq ptr %type, %ndarray
  br i1 %plain, label %array, label %other
array:
  %pd = getelementptr i8, ptr %obj, $descr$
  %descr = load ptr, ptr %pd
  %same = icmp eq ptr %descr, %float64
  %pf = getelementptr i8, ptr %obj, $flags$
  %flags = load i32, ptr %pf
  %has = and i32 %flags, $readable$
  %all = icmp eq i32 %has, $readable$
  %pn = getelementptr i8, ptr %obj, $nd$
  %nd = load i32, ptr %pn
  %vector = icmp eq i32 %nd, 1
  %ok1 = and i1 %same, %all
  %ok2 = and i1 %ok1, %vector
  br i1 %ok2, label %length, label %no
length:
  %pdims = getelementptr i8, ptr %obj, $dims$
  %dims = load ptr, ptr %pdims
  %found = load i64, ptr %dims
  %fits = icmp eq i64 %found, %size
  br i1 %fits, label %copy, label %no
copy:
  %data = call ptr @data(ptr %obj)
  %bytes = shl i64 %size, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %data, i64 %bytes, i1 false)
  br label %step
other:
  %is.float = icmp eq ptr %type, %float
  %one = icmp eq i64 %size, 1
  %number = and i1 %is.float, %one
  br i1 %number, label %scalar, label %no
scalar:
  %pv = getelementptr i8, ptr %obj, $value$
  %value = load double, ptr %pv
  store double %value, ptr %at
  br label %step
step:
  %next = add i64 %i, 1
  %after = getelementptr double, ptr %at, i64 %size
  br label %each
yes:
  ret i1 true
no:
  ret i1 false
}

define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
start:
  %pconfig = getelementptr i8, ptr %self, $config$
  %config = load ptr, ptr %pconfig
  %none.yet = icmp eq ptr %config, null
  br i1 %none.yet, label %slow, label %typed
typed:                                            ; None for kernels that always take the checked path
  %none = load ptr, ptr @none@
  %is.none = icmp eq ptr %config, %none
  br i1 %is.none, label %slow, label %count
count:
  %c = call ptr @data(ptr %config)
  %pn = getelementptr i64, ptr %c, i64 1
  %n.in = load i64, ptr %pn
  %right = icmp eq i64 %nargs, %n.in
  br i1 %right, label %keywords, label %slow
keywords:
  %pm = getelementptr i64, ptr %c, i64 2
  %n.out = load i64, ptr %pm
  %pk = getelementptr ptr, ptr %c, i64 0
  %kernel = load ptr, ptr %pk
  %px = getelementptr ptr, ptr %c, i64 3
  %x = load ptr, ptr %px
  %py = getelementptr ptr, ptr %c, i64 4
  %y = load ptr, ptr %py
  %pw = getelementptr ptr, ptr %c, i64 5
  %w = load ptr, ptr %pw
  %pspecs = getelementptr ptr, ptr %c, i64 7
  %specs = load ptr, ptr %pspecs
  %single = icmp eq i64 %n.out, 1
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %new, label %named
named:
  %psize = getelementptr i8, ptr %names, $size$
  %n.names = load i64, ptr %psize
  %one.name = icmp eq i64 %n.names, 1
  br i1 %one.name, label %word, label %slow
word:
  %pword = getelementptr i8, ptr %names, $items$
  %name = load ptr, ptr %pword
  %out.name = load ptr, ptr @out@
  %is.out = icmp eq ptr %name, %out.name
  br i1 %is.out, label %given, label %slow
given:
  %pout = getelementptr ptr, ptr %args, i64 %nargs
  %out = load ptr, ptr %pout
  %nothing = icmp eq ptr %out, %none
  br i1 %nothing, label %new, label %into
into:
  br i1 %single, label %into.one, label %into.many

into.one:
  %fits = call i1 @fits(ptr %out, ptr %specs, i32 $writable$)
  br i1 %fits, label %into.pack, label %slow
into.pack:
  %packed1 = call i1 @pack(ptr %c, ptr %args, i64 %nargs)
  br i1 %packed1, label %into.run, label %slow
into.run:
  %target = call ptr @data(ptr %out)
  call void %kernel(ptr %x, ptr %target, ptr %w)
  br label %return.out

into.many:                                        ; a tuple of arrays
  %ptype = getelementptr i8, ptr %out, i64 8
  %out.type = load ptr, ptr %ptype
  %tuple.type = load ptr, ptr @tuple@
  %is.tuple = icmp eq ptr %out.type, %tuple.type
  br i1 %is.tuple, label %into.length, label %slow
into.length:
  %plength = getelementptr i8, ptr %out, $size$
  %length = load i64, ptr %plength
  %enough = icmp eq i64 %length, %n.out
  %items.out = getelementptr i8, ptr %out, $items$
  br i1 %enough, label %into.check, label %slow
into.check:
  %i1 = phi i64 [ 0, %into.length ], [ %i1.next, %into.each ]
  %more1 = icmp ult i64 %i1, %n.out
  br i1 %more1, label %into.each, label %into.many.pack
into.each:
  %i1.next = add i64 %i1, 1
  %i1.word = shl i64 %i1, 2
  %spec1 = getelementptr i64, ptr %specs, i64 %i1.word
  %pitem1 = getelementptr ptr, ptr %items.out, i64 %i1
  %item1 = load ptr, ptr %pitem1
  %fits1 = call i1 @fits(ptr %item1, ptr %spec1, i32 $writable$)
  br i1 %fits1, label %into.check, label %slow
into.many.pack:
  %packed2 = call i1 @pack(ptr %c, ptr %args, i64 %nargs)
  br i1 %packed2, label %into.many.run, label %slow
into.many.run:
  call void %kernel(ptr %x, ptr %y, ptr %w)
  br label %into.copy
into.copy:
  %i2 = phi i64 [ 0, %into.many.run ], [ %i2.next, %into.copy.one ]
  %from2 = phi ptr [ %y, %into.many.run ], [ %from2.next, %into.copy.one ]
  %more2 = icmp ult i64 %i2, %n.out
  br i1 %more2, label %into.copy.one, label %return.out
into.copy.one:
  %i2.next = add i64 %i2, 1
  %i2.word = shl i64 %i2, 2
  %spec2 = getelementptr i64, ptr %specs, i64 %i2.word
  %size2 = load i64, ptr %spec2
  %bytes2 = shl i64 %size2, 3
  %pitem2 = getelementptr ptr, ptr %items.out, i64 %i2
  %item2 = load ptr, ptr %pitem2
  %data2 = call ptr @data(ptr %item2)
  call void @llvm.memcpy.p0.p0.i64(ptr %data2, ptr %from2, i64 %bytes2, i1 false)
  %from2.next = getelementptr double, ptr %from2, i64 %size2
  br label %into.copy
return.out:
  %incref = load ptr, ptr @incref@
  call void %incref(ptr %out)
  ret ptr %out

new:
  br i1 %single, label %new.one, label %new.many

new.one:
  %packed3 = call i1 @pack(ptr %c, ptr %args, i64 %nargs)
  br i1 %packed3, label %new.array, label %slow
new.array:
  %array = call ptr @fresh(ptr %specs)
  %failed3 = icmp eq ptr %array, null
  br i1 %failed3, label %fail, label %new.run
new.run:
  %data3 = call ptr @data(ptr %array)
  call void %kernel(ptr %x, ptr %data3, ptr %w)
  %result3 = call ptr @finished(ptr %array, ptr %specs)
  ret ptr %result3

new.many:
  %tuple.new = load ptr, ptr @tuple_new@
  %tuple = call ptr %tuple.new(i64 %n.out)
  %failed4 = icmp eq ptr %tuple, null
  br i1 %failed4, label %fail, label %new.pack
new.pack:
  %packed4 = call i1 @pack(ptr %c, ptr %args, i64 %nargs)
  br i1 %packed4, label %new.many.run, label %drop.slow
new.many.run:
  call void %kernel(ptr %x, ptr %y, ptr %w)
  %items = getelementptr i8, ptr %tuple, $items$
  br label %new.each
new.each:
  %i4 = phi i64 [ 0, %new.many.run ], [ %i4.next, %new.item ]
  %from4 = phi ptr [ %y, %new.many.run ], [ %from4.next, %new.item ]
  %more4 = icmp ult i64 %i4, %n.out
  br i1 %more4, label %new.next, label %return.tuple
new.next:
  %i4.next = add i64 %i4, 1
  %i4.word = shl i64 %i4, 2
  %spec4 = getelementptr i64, ptr %specs, i64 %i4.word
  %array4 = call ptr @fresh(ptr %spec4)
  %failed5 = icmp eq ptr %array4, null
  br i1 %failed5, label %drop.fail, label %new.copy
new.copy:
  %size4 = load i64, ptr %spec4
  %bytes4 = shl i64 %size4, 3
  %data4 = call ptr @data(ptr %array4)
  call void @llvm.memcpy.p0.p0.i64(ptr %data4, ptr %from4, i64 %bytes4, i1 false)
  %from4.next = getelementptr double, ptr %from4, i64 %size4
  %result4 = call ptr @finished(ptr %array4, ptr %spec4)
  %failed6 = icmp eq ptr %result4, null
  br i1 %failed6, label %drop.fail, label %new.item
new.item:
  %pitem4 = getelementptr ptr, ptr %items, i64 %i4
  store ptr %result4, ptr %pitem4
  br label %new.each
return.tuple:
  ret ptr %tuple

drop.slow:
  %decref7 = load ptr, ptr @decref@
  call void %decref7(ptr %tuple)
  br label %slow
drop.fail:
  %decref8 = load ptr, ptr @decref@
  call void %decref8(ptr %tuple)
  ret ptr null
fail:
  ret ptr null

slow:                                             ; checked(self, *args, **named)
  %has.names = icmp ne ptr %names, null
  br i1 %has.names, label %slow.count, label %slow.call
slow.count:
  %pnames = getelementptr i8, ptr %names, $size$
  %extra = load i64, ptr %pnames
  br label %slow.call
slow.call:
  %more.args = phi i64 [ 0, %slow ], [ %extra, %slow.count ]
  %given.args = add i64 %nargs, %more.args
  %all.args = add i64 %given.args, 1
  %stack = alloca ptr, i64 %all.args
  store ptr %self, ptr %stack
  %rest = getelementptr ptr, ptr %stack, i64 1
  %rest.bytes = shl i64 %given.args, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %rest.bytes, i1 false)
  %checked = load ptr, ptr @checked@
  %vectorcall = load ptr, ptr @vectorcall@
  %positional = add i64 %nargs, 1
  %answer = call ptr %vectorcall(ptr %checked, ptr %stack, i64 %positional, ptr %names)
  ret ptr %answer
}
"""
