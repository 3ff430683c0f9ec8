"""LLVM bitcode of native functions, from Numba: python -m dalembert.native.numba_bitcode FOLDER NAME ...

The one place that knows Numba's insides. It runs in a process of its own, because it turns Numba into a translator to
LLVM's language that makes no machine code: left to itself Numba optimizes a function again in each of its callers and
compiles it each time. Here a function is translated once, an entry and all it calls are linked once, and LLVM's passes
run once: twelve entries took 31 s of CPU time that way and 81 s the other.

The passes know no processor but the architecture's oldest, and do not vectorize loops: what is wide is written wide
(`native.simd`). Passes tuned to the host, with vectorization, gave code that was no faster (1.00 to 1.08 of the time:
RK4 and DOP853 of a four-bar, five formulations of a five-bar, a Stewart platform), and a third larger. Instructions are
chosen where the code runs.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from dalembert.native.jit import OPTIONS
from dalembert.native.library import ENTRIES, SYMBOL
from dalembert.native.numba_struct import struct_at
from dalembert.sources import PACKAGE, packages

SIGNATURE = (types.int64, types.int64, types.int64)
LEVEL = 2  # of LLVM's passes
_PICKLE = re.compile(r'(@\.const\.pickledata\S* = [^"\n]*\[\d+ x i8\]) c"[^"\n]*"')


class _Draft(JITCodeLibrary):
    """One function as Numba translated it, with the libraries it calls; neither linked nor optimized."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def collect(self, found: dict[_Draft, None]) -> dict[_Draft, None]:
        """This library and all that it needs."""
        if self not in found:
            found[self] = None
            for library in self._linking_libraries:
                library.collect(found)
        return found


class _Translator(JITCPUCodegen):
    """Numba's code generator without the generation."""

    _library_class = _Draft

    def set_env(self, name: str, environment: Any) -> None:
        """Environments belong to the interpreter; no native function reads its own."""


def translate_only() -> None:
    """Make Numba translate and no more, in this process, for good."""
    context = cpu_target.target_context
    context._internal_codegen = _Translator("dalembert")
    context.create_cpython_wrapper = lambda *args, **options: None


def make(function: Any, symbol: str) -> bytes:
    """Bitcode of `void symbol(x, y, w)` for a function marked with `jit.entry`, after `translate_only`.

    Numba's functions write a value and an exception through their first two arguments; neither is used. Two of its
    helpers are the C library's.
    """
    compiled = njit(**OPTIONS)(_from_addresses(function))
    compiled.compile(SIGNATURE)
    overload = compiled.overloads[SIGNATURE]
    module = llvm.parse_assembly("")
    for library in overload.library.collect({}):
        module.link_in(library._final_module.clone())
    text = re.sub(r"= common ", "= internal ", str(module))
    text = _PICKLE.sub(r"\1 zeroinitializer", text)  # messages of exceptions, with paths of this machine
    text = text.replace("@numba_frexp", "@frexp").replace("@numba_ldexp", "@ldexp")
    text += (
        f"\ndefine void @{symbol}(i64 %x, i64 %y, i64 %w) {{\n"
        "  %value = alloca ptr\n  %exception = alloca ptr\n"
        f"  %status = call i32 @{overload.fndesc.llvm_func_name}"
        "(ptr %value, ptr %exception, i64 %x, i64 %y, i64 %w)\n  ret void\n}\n"
    )
    return _optimized(llvm.parse_assembly(text, llvm.create_context()), symbol).as_bitcode()


def _optimized(module: Any, symbol: str) -> Any:
    """The module after LLVM's passes, without what the symbol does not need."""
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(cpu="", opt=LEVEL, reloc="pic")
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    passes.add_strip_symbols_pass()
    passes.run(module, builder)
    return module


def _from_addresses(function: Any) -> Any:
    """f(x, y, w) of three addresses, for a function (struct) or (x, y, struct)."""
    point = struct_at(function.struct)
    plain = not isinstance(function, Dispatcher)
    inner = njit(**OPTIONS)(function) if plain else function
    if len(inspect.signature(function if plain else function.py_func).parameters) == 1:

        def with_struct(x: Any, y: Any, w: Any) -> None:
            inner(point(w))

        return with_struct

    def with_all(x: Any, y: Any, w: Any) -> None:
        inner(x, y, point(w))

    return with_all


def load(module: str) -> Any:
    """Import a module without the __init__ of the packages it is in, which may import far more than it needs."""
    for package in packages(module):
        if package not in sys.modules:
            bare = sys.modules[package] = ModuleType(package)
            bare.__path__ = [str(PACKAGE.joinpath(*package.split(".")[1:]))]
    return import_module(module)


def main(folder: str, *names: str) -> None:
    """Write NAME.bc into the folder for each name, which is printed when it is there."""
    warnings.simplefilter("ignore")
    translate_only()
    for name in names:
        module, function = ENTRIES[name]
        code = make(getattr(load(module), function), SYMBOL)
        Path(folder, f"{name}.bc").write_bytes(code)
        print(name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
