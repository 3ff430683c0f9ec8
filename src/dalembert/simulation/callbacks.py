"""Functions of (t, state) that a native loop calls by address: CasADi expressions, Numba functions, Python functions.

All three have the same signature f(t, state). An expression (wrapped in `expression`) sees CasADi symbols and becomes
machine code. A function compiled by Numba sees a state with arrays `q` and `v` and stays in the native loop. A plain
Python function sees a `State`; what it raises ends the run with everything computed so far.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.integrators.called import Called
from dalembert.mechanism.traced import on_expressions
from dalembert.symbols import array
from dalembert.system.functions import Trace

ARGUMENTS = ("q", "v", "p", "t")
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class expression:
    """Marks f(t, state) as written in CasADi: it is traced once and runs as machine code.

    The state is as in force laws: `s["A"]`, `s.rate("A")`, `s.position(frame)`, …

    >>> import dalembert as da
    >>> m = da.Mechanism("cart")
    >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    >>> push = m.add_motor("push", "x")
    >>> pd = da.expression(lambda t, s: {"push": -2.0 * s["x"] - 4.0 * s.rate("x")})
    >>> run = da.simulate(m.compile(), {"x": 1.0}, 8.0, u=pd)        # critically damped: (1 + t) exp(−t)
    >>> bool(abs(run.state()["x"] / (9 * 2.718281828459045**-8) - 1) < 1e-6)
    True
    """

    f: Callable[[Any, Any], Any]


class NativeState(NamedTuple):
    """What a Numba function sees of a state."""

    q: np.ndarray
    v: np.ndarray


class Callback:
    """A function, or several, as something a native loop can call; holds what the function raised."""

    def __init__(self, system: Any, p: Any, size: int):
        self.system, self.size, self.error, self.interrupted = system, size, "", False
        self._alive: list[Any] = []  # what must outlive the run: ctypes and Numba objects
        n = system.nq + system.nv
        self.given, self.place = np.zeros(n + 1), n
        self.out, self.work, self.address = np.zeros(max(1, size)), np.zeros(4), 0
        self._p = p

    def called(self) -> Called:
        """For the loop."""
        return Called(self.address, self.given, self.place, self.out, self.work, self.size, 0.0, 0.0)

    def trace(self, key: tuple[Any, ...], value: Callable[[Trace], Any]) -> None:
        """Machine code from what `value` makes of a trace."""
        kernel = self.system.built(key, ARGUMENTS, value)
        self.given, at, self.place = np.zeros(max(1, kernel.x_size)), 0, -1
        for argument, size in zip(kernel.names_in, kernel.n_in):
            if argument == "p":
                self.given[at : at + size] = self.system._p(self._p)
            elif argument == "t":
                self.place = at
            at += size
        self.out, self.work = np.zeros(max(1, kernel.y_size)), np.zeros(max(1, kernel.work_size))
        self.address = kernel.address
        self._alive.append(kernel)

    def native(self, law: Any) -> None:
        """A controller of `dalembert.control` that has machine code of its own."""
        made = law.native()
        self.work, self.address = made.work, made.address
        self._alive.append((law, made))

    def compile(self, f: Any) -> None:
        """A Numba function, reached through a C function around it."""
        from numba import carray, cfunc, types

        nq, nv, size = self.system.nq, self.system.nv, self.size
        pointer = types.CPointer(types.float64)

        def wrapper(x, y, w):
            state = carray(x, nq + nv + 1)
            answer = f(state[nq + nv], NativeState(state[:nq], state[nq : nq + nv]))
            out = carray(y, size)
            for i in range(size):
                out[i] = answer[i]

        compiled = cfunc(types.void(pointer, pointer, pointer))(wrapper)
        self._alive.append(compiled)
        self.address = int(compiled.address or 0)

    def python(self, f: Callable[[float, Any], np.ndarray]) -> None:
        """A Python function of (t, state) that returns (size,) numbers."""
        nq, n, size = self.system.nq, self.system.nq + self.system.nv, self.size

        def wrapper(x: int, y: int, w: int) -> None:
            out = np.ctypeslib.as_array(ctypes.cast(y, ctypes.POINTER(ctypes.c_double)), (size,))
            try:
                if self.interrupted:
                    raise KeyboardInterrupt
                given = np.ctypeslib.as_array(ctypes.cast(x, ctypes.POINTER(ctypes.c_double)), (n + 1,))
                t = float(given[n])
                out[:] = f(t, self.system.state(given[:nq], given[nq:n], t))
            except KeyboardInterrupt:
                self.interrupted, out[:] = True, np.nan
            except Exception as error:
                self.error, out[:] = f"{type(error).__name__}: {error}", np.nan

        callback = _SIGNATURE(wrapper)
        self._alive.append(callback)
        self.address = ctypes.cast(callback, ctypes.c_void_p).value or 0


def controller(system: Any, u: Any, p: Any) -> Callback:
    """u(t, state) of any kind, giving the inputs."""
    back = Callback(system, p, len(system.u_names))
    if not system.u_names:
        raise ArgumentError(f"'{system.name}' has no inputs to control; add some with add_motor or add_input.")
    if isinstance(u, expression):
        back.trace(("control", u.f), lambda s: _inputs(system, s, u.f))
    elif is_numba(u):
        back.compile(u)
    elif getattr(u, "is_native", False) and (u.system.nq, u.system.u_names) == (system.nq, system.u_names):
        back.native(u)
    else:
        back.python(lambda t, state: system._u(u(t, state), finite=False))
    return back


def is_numba(f: Any) -> bool:
    """Whether f was compiled by numba.njit."""
    return hasattr(f, "py_func") and hasattr(f, "signatures")


def _inputs(system: Any, s: Trace, f: Callable[[Any, Any], Any]) -> np.ndarray:
    value = on_expressions(lambda state: f(state.t, state), s.state, "the controller")
    if isinstance(value, Mapping):
        parts = {name: ca.SX.zeros(n) for name, n in system._inputs.items()}
        for name, x in value.items():
            if name not in parts:
                raise unknown("input", name, parts, "the controller")
            parts[name] = ca.SX(ca.vertcat(x))
        value = ca.vertcat(*parts.values())
    x = array(ca.SX(ca.vertcat(*value) if isinstance(value, (list, tuple)) else value)).ravel()
    if len(x) != len(system.u_names):
        raise ArgumentError(f"the controller gives {len(x)} inputs; needed: {', '.join(system.u_names)}.")
    return x


def scalar_of(s: Trace, f: Callable[[Any, Any], Any], what: str) -> Any:
    """One number from an expression of (t, state)."""
    value = ca.SX(on_expressions(lambda state: f(state.t, state), s.state, what))
    if value.numel() != 1:
        raise ArgumentError(f"{what} gives {value.numel()} numbers; needed: one.")
    return array(value)[0]
