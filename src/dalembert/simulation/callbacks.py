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

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.traced import on_expressions
from dalembert.native.bound import SIGNATURE, Bound
from dalembert.symbols import array
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace
from dalembert.system.vectors import place

ARGUMENTS = ("q", "v", "p", "t")


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
    """The state as a Numba function sees it."""

    q: np.ndarray
    v: np.ndarray


class Callback:
    """A function of (t, state), or several, bound for native loops; keeps what the function raised."""

    def __init__(self, system: System, p: np.ndarray, size: int):
        self.system, self.size, self.interrupted = system, size, False
        self.is_python = False  # whether it can be interrupted, or raise
        self.error: BaseException | None = None
        self.law: Any = None  # the controller of this run, where it has memory of its own
        self._p = p
        self.bound: Bound

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences of the controller about the run."""
        return tuple(getattr(self.law, "remarks", ()))

    def trace(self, key: tuple[Any, ...], value: Callable[[Trace], Any]) -> None:
        """Machine code from what `value` makes of a trace."""
        self.bound = Bound.of(self.system.kernels.custom(key, ARGUMENTS, value), {"p": self._p})

    def _at(self, function: int, owner: Any, nu: int = 0) -> None:
        """A native function of x = (q, v, t), and nu inputs behind it, valid as long as its owner."""
        n = self.system.nq + self.system.nv
        self.bound = Bound.around(function, np.zeros(n + 1 + nu), np.zeros(max(1, self.size)), np.zeros(1), n, owner)
        if nu:
            self.bound.slices = {"u": slice(n + 1, n + 1 + nu)}

    def compile(self, f: Any) -> None:
        """A Numba function, reached through a C function around it. One that raises leaves NaN."""
        from numba import carray, cfunc, types

        nq, nv, size = self.system.nq, self.system.nv, self.size
        pointer = types.CPointer(types.float64)

        def wrapper(x: Any, y: Any, w: Any) -> None:
            state, out = carray(x, nq + nv + 1), carray(y, size)
            for i in range(size):
                out[i] = np.nan
            answer = f(state[nq + nv], NativeState(state[:nq], state[nq : nq + nv]))
            for i in range(min(size, len(answer))):
                out[i] = answer[i]

        compiled = cfunc(types.void(pointer, pointer, pointer))(wrapper)
        self._at(int(compiled.address or 0), compiled)

    def python(self, f: Callable[..., np.ndarray], p: np.ndarray | None = None, nu: int = 0) -> None:
        """A Python function of (t, state) that returns (size,) numbers; p: parameters of its states, where others.

        nu: where above 0, it is a function of (t, state, u) with so many inputs.
        """
        self.is_python, known = True, self._p if p is None else p
        nq, n, size = self.system.nq, self.system.nq + self.system.nv, self.size

        def wrapper(x: int, y: int, w: int) -> None:
            out = np.ctypeslib.as_array(ctypes.cast(y, ctypes.POINTER(ctypes.c_double)), (size,))
            try:
                if self.interrupted:
                    raise KeyboardInterrupt
                given = np.ctypeslib.as_array(ctypes.cast(x, ctypes.POINTER(ctypes.c_double)), (n + 1 + nu,))
                t = float(given[n])
                more = (given[n + 1 :],) if nu else ()
                out[:] = f(t, passing_state(self.system, given[:nq], given[nq:n], t, known), *more)
            except KeyboardInterrupt:
                self.interrupted, out[:] = True, np.nan
            except BaseException as error:  # nothing may pass through native code; the run keeps it and ends
                self.error, out[:] = error, np.nan

        callback = SIGNATURE(wrapper)
        self._at(ctypes.cast(callback, ctypes.c_void_p).value or 0, callback, nu)


def passing_state(system: System, q: np.ndarray, v: np.ndarray, t: float, p: np.ndarray) -> State:
    """A state of a trial step as a callback sees it: its own copy, quaternions made unit however long they are."""
    layout, q, v = system.layout, q.copy(), v.copy()
    if system.nq != system.nv:
        for name, a in layout.joints.items():
            where = layout.q_slice(name)
            q[where] = a.joint.unit(q[where])
    q.flags.writeable = v.flags.writeable = False
    return State(q, v, t, layout, p=p)


def steers(u: Any) -> bool:
    """Whether u is a controller, not constant inputs."""
    return callable(u) or isinstance(u, expression) or is_numba(u)


@dataclass(frozen=True)
class Together:
    """A controller of inputs by name: each a function of (t, state) or numbers."""

    parts: tuple[tuple[str, Any], ...]

    def __call__(self, t: Any, state: Any) -> dict[str, Any]:
        """The inputs at a time t (s) and a state, by name."""
        return {name: x(t, state) if callable(x) else x for name, x in self.parts}


def steering(system: System, u: Any) -> Any:
    """The controller that u is, or that a mapping of input names to functions makes; None where u is constant.

    Where all functions are of CasADi, so is the controller; else it is a Python function.
    """
    if not isinstance(u, Mapping):
        return u if steers(u) else None
    laws = {name: x for name, x in u.items() if steers(x)}
    if not laws:
        return None
    for name, x in u.items():
        _, part = place(name, system.arguments.input_sizes, "input", "u")
        if is_numba(x):
            raise ArgumentError(
                f"u has a Numba function for input '{name}'; needed in a mapping: a Python function of (t, state), a "
                "da.expression or numbers. One Numba function may give all inputs at once, as u itself."
            )
        if any(hasattr(x, more) for more in ("fresh", "traced", "native_controller")):
            raise ArgumentError(
                f"u has a {type(x).__name__} for input '{name}'; it gives all inputs and is u itself, no part of it."
            )
        if name not in laws:
            checks.vector(np.atleast_1d(x), part.stop - part.start, f"u['{name}']")
    both = Together(tuple((name, _law(x) if name in laws else _plain(x)) for name, x in u.items()))
    return expression(both) if all(isinstance(x, expression) for x in laws.values()) else both


def _law(x: Any) -> Any:
    return x.f if isinstance(x, expression) else x


def _plain(x: Any) -> Any:
    """Numbers that can be compared and hashed."""
    return float(x) if np.ndim(x) == 0 else tuple(np.asarray(x, dtype=float).tolist())


def controller(system: System, u: Any, p: np.ndarray) -> Callback:
    """u(t, state) of any kind, giving the inputs."""
    back = Callback(system, p, len(system.u_names))
    if not system.u_names:
        raise ArgumentError(f"'{system.name}' has no inputs to control; add some with add_motor or add_input.")
    if isinstance(u, expression):
        back.bound = Bound.of(control_kernel(system, u), {"p": p})
    elif is_numba(u):
        back.compile(u)
    elif getattr(u, "is_native", False) and (u.system.nq, u.system.u_names) == (system.nq, system.u_names):
        back.bound = u.native_controller()
    else:
        law = u.fresh() if hasattr(u, "fresh") else u  # what a law remembers belongs to the run
        back.law = law
        back.python(lambda t, state: _given(system, law(t, state)))
    return back


def traceable(u: Any) -> Any:
    """A shipped law that is a formula of the state (`traced`), as an expression; any other controller as it is."""
    law = getattr(u, "traced", None)
    return u if law is None or isinstance(u, expression) else expression(law)


def control_kernel(system: System, u: expression, lanes: int = 1) -> Any:
    """The inputs that a controller written in CasADi gives, as machine code for so many states at once."""
    return system.kernels.custom(("control", u.f), ARGUMENTS, lambda s: traced_inputs(system, s, u.f), lanes=lanes)


def _given(system: System, u: Any) -> np.ndarray:
    """Inputs (nu,) that a Python controller returned."""
    if u is None:
        raise ArgumentError(f"the controller returned None; needed: inputs {', '.join(system.u_names)}.")
    return system.arguments.input_vector(u, finite=False)


def is_numba(f: Any) -> bool:
    """Whether f was compiled by numba.njit."""
    return hasattr(f, "py_func") and hasattr(f, "signatures")


def traced_inputs(system: System, s: Trace, f: Callable[[Any, Any], Any]) -> np.ndarray:
    """Inputs that a controller f(t, state) gives at a traced state, as expressions."""
    value = on_expressions(lambda state: f(state.t, state), s.state, "the controller")
    if isinstance(value, Mapping):
        parts = {name: ca.SX.zeros(n) for name, n in system.arguments.input_sizes.items()}
        for name, x in value.items():
            whole, part = place(name, system.arguments.input_sizes, "input", "the controller")
            given = ca.SX(ca.vertcat(*x) if isinstance(x, (list, tuple)) else x)
            n, needed = given.numel(), part.stop - part.start
            if n != needed:
                raise ArgumentError(f"the controller gives {n} number(s) for input '{name}'; needed: {needed}.")
            parts[whole][part] = ca.vec(given)
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
