"""From symbolic functions to machine code.

    casadi.Function ──► program ──► schedule ──► LLVM IR ──► object code (cached on disk) ──► Kernel

`Kernel` is the one name most of the library needs; compiled loops call a kernel with `call_kernel`.
"""

from .kernel import Kernel

__all__ = ["Kernel"]
