"""The processor at hand, object code for it, and functions loaded from object code: everything llvmlite does.

Measured on a 2.8 GHz x86-64 core with AVX2, on derivatives of a 12-joint inverse dynamics (33,000 CasADi
instructions, 20,300 operations): functions of 500, 1000, 2000, 4000 operations took 62, 72, 75, 83 µs an
operation to compile and 5.61, 5.38, 5.41, 5.42 µs to run, hence chunks of 1000. Two threads compile twice as
fast as one. Code generation at levels 1, 2, 3 took 60, 74, 75 µs an operation and gave code equally fast, hence
level 1. LLVM's passes on IR (O2, O3, with or without vectorization of straight-line code) doubled the compile time
for at most 5 % of run time, so kernels get none.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding import ffi

from ..errors import CompileError
from ..forks import held_over_forks
from .operations import LIBM


@dataclass(frozen=True, slots=True)
class Host:
    """The processor that code is made for."""

    triple: str
    cpu: str
    features: str
    llvm: str

    @property
    def fused(self) -> bool:
        """Whether a product and a sum can be one instruction with one rounding."""
        return "+fma" in self.features.split(",") or self.triple.startswith(("aarch64", "arm64", "powerpc64"))

    @property
    def width(self) -> int:
        """Doubles in a vector: a register's, or two registers' where there are 32 of them."""
        features = self.features.split(",")
        if "+avx512f" in features:
            return 8
        return 4 if "+avx" in features or not self.triple.startswith(("x86_64", "i")) else 2

    def machine(self) -> Any:
        """A code generator; it must not be shared between threads."""
        target = llvm.Target.from_triple(self.triple)
        # The small code model reads constants relative to the instruction; the JIT's default, the large one,
        # needs two more instructions for each.
        return target.create_target_machine(cpu=self.cpu, features=self.features, opt=1, reloc="pic", codemodel="small")


@cache
def host() -> Host:
    """This processor, LLVM made ready for it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    version = ".".join(map(str, llvm.llvm_version_info))
    features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features, f"{llvmlite.__version__}/{version}")


def compile_modules(
    texts: Sequence[str | bytes], done: Callable[[int], None] = lambda _: None, passes: int = 0
) -> list[bytes]:
    """Object code of modules (IR text or bitcode), by as many threads as there are processors; done(i) after the i-th.

    The result does not depend on the number of threads. `passes` is LLVM's level of passes on IR.
    """
    host()
    count = itertools.count(1)

    def work(text: str | bytes) -> bytes:
        code = _object(text, passes)
        done(next(count))
        return code

    threads = min(len(texts), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    if threads < 2:
        return [work(text) for text in texts]
    from concurrent.futures import ThreadPoolExecutor  # with `logging` it takes longer than to load code that is kept

    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(work, texts))
    finally:  # an interrupt does not wait for what is still to do
        pool.shutdown(wait=False, cancel_futures=True)


def _object(text: str | bytes, passes: int) -> bytes:
    """Object code of one module, in an LLVM context of its own."""
    machine = host().machine()
    try:
        read = llvm.parse_assembly if isinstance(text, str) else llvm.parse_bitcode
        module = read(text, llvm.create_context())
    except RuntimeError as error:
        raise CompileError(f"LLVM {host().llvm} does not read our IR, which is a fault of dalembert: {error}") from None
    if passes:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=passes))
        builder.getModulePassManager().run(module, builder)
    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return machine.emit_object(module)
    # llvmlite holds one lock for the library during each call. Code generation needs none: module, context
    # and machine belong to this thread. Going round the lock is what lets threads run side by side.
    with ffi.OutputString() as message:
        buffer = emit(machine, module, 1, message)
        if not buffer:
            raise CompileError(f"LLVM {host().llvm} made no code: {message}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


class Library:
    """Object code in executable memory, there as long as this object lives."""

    def __init__(self, objects: Sequence[bytes], *symbols: str, imports: dict[str, int] | None = None) -> None:
        builder = llvm.JITLibraryBuilder()
        for name, address in (imports or {}).items():
            builder.import_symbol(name, address)
        for code in objects:
            builder.add_object_img(code)
        for symbol in symbols:
            builder.export_symbol(symbol)
        if sys.platform == "win32":
            runtime = ctypes.CDLL("ucrtbase")
            for name in (*LIBM, *(n for n in LIBRARY if hasattr(runtime, n))):
                builder.import_symbol(name, ctypes.cast(getattr(runtime, name), ctypes.c_void_p).value)
        else:
            builder.add_current_process()
        try:
            with _lock:
                self._tracker = builder.link(_linker(), f"dalembert-{next(_names)}")
        except RuntimeError as error:
            raise CompileError(
                f'LLVM {host().llvm} cannot load code here ({error}); backend="casadi" runs it'
            ) from None
        self.addresses = {symbol: int(self._tracker[symbol]) for symbol in symbols}


LIBRARY = ("sqrt", "frexp", "ldexp", "memcpy", "memmove", "memset")  # what loops need besides
_of_llvmlite = getattr(getattr(ffi.lib, "_lock", None), "_lock", None)  # around each call of the library
if _of_llvmlite is not None:
    held_over_forks(_of_llvmlite)
_lock = held_over_forks(threading.Lock())
_names = itertools.count()


@cache
def _linker() -> Any:
    # JITLink places the sections of an object side by side, as the small code model needs.
    jit = llvm.create_lljit_compiler(host().machine(), use_jit_link=True)
    jit._owned = True  # as if by another: never disposed, since libraries may outlive it at exit
    return jit
