"""Exported C, compiled and loaded: kernels and public functions called from tests."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dalembert.compiler.target import host
from dalembert.export.c import source_files, written
from dalembert.export.contents import make_contents

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror")
DEFAULTS = dict.fromkeys(("p", "name", "independent", "active", "controllers"))


def compiler():
    """The C compiler of this computer, or a skipped test."""
    found = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if found is None:
        pytest.skip("no C compiler (gcc, cc, clang) on the PATH")
    return found


def contents(system, state=None, **options):
    """What is exported of a system."""
    given = {**DEFAULTS, "precision": "double", "frames": (), "outputs": (), **options}
    order = ("p", "name", "precision", "frames", "outputs", "independent", "active", "controllers")
    return make_contents(system, state, *(given[k] for k in order))


def _wrapper(kernel, c):
    """A function f(x, y, w) around a static kernel: inputs and outputs one after the other."""
    f, at, given = kernel.function, 0, {}
    for i, name in enumerate(f.name_in()):
        given[name] = at
        at += f.numel_in(i)
    lines, inputs = [], []
    for name in kernel.inputs:
        if name == "p":
            count = len(c.system.p_names)
            members = re.findall(r"real (\w+);", "".join(f"real {m};" for m in _members(c)))
            lines += [f"    {c.prefix}_parameters p;"] + (["    p.none = 0;"] if not count else [])
            lines += [
                f"    p.{m} = {f'x[{given[name] + k}]' if name in given else '0'};" for k, m in enumerate(members)
            ]
            inputs.append("&p")
        elif name == "t":
            inputs.append(f"x[{given[name]}]" if name in given else "0")
        else:
            inputs.append(f"x + {given[name]}" if name in given else "NULL")
    at, outputs = 0, []
    for i, _ in enumerate(kernel.outputs):
        outputs.append(f"y + {at}" if f.numel_out(i) else "NULL")
        at += f.numel_out(i)
    call = f"    kernel_{kernel.name}({', '.join([*inputs, *outputs, 'w'])});"
    head = f"void probe_{kernel.name}(const real *x, real *y, real *w)"
    return "\n".join([head, "{", "    (void)x;", *lines, call, "}"])


def _members(c):
    from dalembert.export.names import identifiers

    return identifiers(c.system.p_names)


class Exported:
    """The library of an export: `kernel(name, x)`, and public functions with a state, parameters and a workspace."""

    def __init__(self, c, folder, flags=("-O1",)):
        self.c, self.prefix = c, c.prefix
        self.real = np.float32 if c.single else np.float64
        self.folder = Path(folder)
        written(self.folder, source_files(c))
        probe = [f'#include "{c.prefix}.c"', "unsigned long probe_size(void);"]
        probe += [f"void probe_{k.name}(const real *x, real *y, real *w);" for k in c.kernels]
        probe += [f"unsigned long probe_size(void)\n{{\n    return sizeof({c.prefix}_work);\n}}"]
        probe += [_wrapper(k, c) for k in c.kernels]
        (self.folder / "probe.c").write_text("\n".join(probe) + "\n")
        library = self.folder / "probe.so"
        command = [compiler(), *WARNINGS, *flags, "-shared", "-fPIC", "-o", library, self.folder / "probe.c", "-lm"]
        done = subprocess.run([str(x) for x in command], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
        self.library = ctypes.CDLL(str(library))
        self.library.probe_size.restype = ctypes.c_ulong
        self.work = np.zeros(self.library.probe_size(), dtype=np.uint8)
        self.x = np.zeros(1 + c.system.nq + c.system.nv, self.real)
        self.p = np.zeros(max(1, len(c.system.p_names)), self.real)
        self.call("defaults", self.p, work=False)
        self.call("start", self.x, work=False)

    def kernel(self, name, *inputs):
        """Outputs of a kernel, one after the other."""
        k = next(k for k in self.c.kernels if k.name == name)
        x = np.concatenate([np.ravel(a) for a in inputs] or [np.zeros(0)]).astype(self.real)
        y = np.full(sum(k.function.numel_out(i) for i in range(k.function.n_out())), 7.0, self.real)
        getattr(self.library, f"probe_{name}")(_at(x), _at(y), _at(self.work_space))
        return y

    @property
    def work_space(self):
        """Room for any kernel."""
        if not hasattr(self, "_space"):
            self._space = np.zeros(200_000, self.real)
        return self._space

    def call(self, name, *arguments, work=True):
        """The status of a public function; arrays by address, floats by value, None as NULL."""
        given = [_at(a) if isinstance(a, np.ndarray) else a for a in arguments]
        number = ctypes.c_float if self.c.single else ctypes.c_double
        given = [number(a) if isinstance(a, float) else a for a in given]
        return getattr(self.library, f"{self.prefix}_{name}")(*given, *([_at(self.work)] if work else []))

    def put(self, state):
        """Set the state."""
        n = self.c.system.nq
        self.x[0], self.x[1 : 1 + n], self.x[1 + n :] = state.t, state.q, state.v

    @property
    def q(self):
        """Positions."""
        return self.x[1 : 1 + self.c.system.nq]

    @property
    def v(self):
        """Velocities."""
        return self.x[1 + self.c.system.nq :]

    def array(self, *values, size=None):
        """Numbers in the precision of the export."""
        return np.zeros(size, self.real) if size is not None else np.array(values, self.real)

    @property
    def margin(self):
        """The margin that the last call left."""
        return float(self.work[: np.dtype(self.real).itemsize].view(self.real)[0])


def fused_flags():
    """Compiler flags under which the code has the bits of kernels."""
    return ("-O1", "-ffp-contract=off", *(("-mfma",) if host().fused and "x86" in host().triple else ()))


def _at(array):
    return ctypes.c_void_p(array.ctypes.data)
