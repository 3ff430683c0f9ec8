"""A compiled function: called with arrays from Python, or through its address from compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..errors import ArgumentError
from .batch import run_batch
from .build import CHUNK, SIGNATURE, compile_sx
from .python_call import config, install

if TYPE_CHECKING:
    import casadi as ca

    from .build import MachineCode

BACKENDS = ("native", "casadi")


@dataclass(frozen=True)
class Interface:
    """Names and lengths of a function's inputs, shapes and lengths of its outputs."""

    name: str
    names_in: tuple[str, ...]
    n_in: tuple[int, ...]
    shapes_out: tuple[tuple[int, ...], ...]
    sizes_out: tuple[int, ...]

    def __post_init__(self) -> None:
        """Tuples of what a file gives as lists."""
        for field in ("names_in", "n_in", "sizes_out"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        object.__setattr__(self, "shapes_out", tuple(map(tuple, self.shapes_out)))

    @staticmethod
    def of(function: ca.Function, shapes: Sequence[tuple[int, ...]] | None) -> Interface:
        """That of a CasADi function; shapes of its outputs where CasADi's two dimensions do not tell them."""
        inputs, outputs = range(function.n_in()), range(function.n_out())
        return Interface(
            function.name(),
            tuple(function.name_in()),
            tuple(function.numel_in(i) for i in inputs),
            tuple(shapes or (_shape(*function.size_out(i)) for i in outputs)),
            tuple(function.numel_out(i) for i in outputs),
        )


class Kernel:
    """Machine code of a `casadi.Function` whose inputs are dense vectors.

    Parameters
    ----------
    function : casadi.Function
        An SX function. With ``backend="casadi"`` any function of dense vectors.
    lanes : int
        States computed at once: 1, 2, 4, 8 or 16. With more than one, states come through `batch`.
    backend : {"native", "casadi"}
        "native" compiles; "casadi" has CasADi's virtual machine compute the same numbers, slowly.
    shapes : sequence of tuples of int, optional
        Shapes of the outputs where CasADi's two dimensions do not tell them: a vector of one, a row.
    chunk : int
        Operations in one LLVM function. The result does not depend on it.

    Attributes
    ----------
    name : str
    n_in : tuple of int
        Lengths of the inputs.
    slices : dict of slices
        Place of each input in x, by name (one lane).
    shapes_out : tuple of tuple of int
        Shapes of the outputs: as given, else ``()`` for a 1×1 output, ``(n,)`` for a column, ``(m, n)`` otherwise.
    x_size, y_size, work_size : int
        Doubles in x, y and w for one state times lanes; see `address`.
    address : int
        Of ``void kernel(const double* x, double* y, double* w)``: x all inputs one after the other, y all outputs one
        after the other, each dense and row by row, w a workspace. None may overlap another. With L lanes
        element i of lane j is at ``i*L + j``. Valid as long as the kernel lives.
    instructions : int
        Operations of the simplified program (CasADi's own count for that backend).

    Notes
    -----
    Called with contiguous float64 arrays a kernel adds about 0.15 µs to its own time. In a loop of Python
    ``call = kernel.__call__`` halves this, and ``call(..., out=result)`` leaves 0.06 µs. Threads may share a kernel:
    a call holds Python's lock from beginning to end, `batch` releases it and has a workspace of its own.

    Examples
    --------
    >>> import casadi as ca
    >>> q = ca.SX.sym("q", 2)
    >>> kernel = Kernel(ca.Function("f", [q], [ca.sin(q), q @ q.T]))
    >>> kernel([0.0, 1.0])
    (array([0.       , 0.84147098]), array([[0., 0.],
           [0., 1.]]))
    """

    __slots__ = (
        "__weakref__",
        "_call",
        "_chunk",
        "_code",
        "_config",
        "_function",
        "address",
        "backend",
        "instructions",
        "interface",
        "lanes",
        "n_in",
        "name",
        "names_in",
        "shapes_out",
        "sizes_out",
        "slices",
        "work_size",
        "x_size",
        "y_size",
    )

    def __init__(
        self,
        function: ca.Function,
        lanes: int = 1,
        backend: str = "native",
        *,
        shapes: Sequence[tuple[int, ...]] | None = None,
        chunk: int = CHUNK,
    ) -> None:
        if not hasattr(function, "numel_in"):
            raise ArgumentError(f"function is {checks.shown(function)}; needed: a casadi.Function.")
        checks.choice(backend, BACKENDS, "backend")
        if checks.whole(lanes, "lanes") not in (1, 2, 4, 8, 16):
            raise ArgumentError(
                f"kernel '{function.name()}' is asked for {lanes!r} lanes; it can have 1, 2, 4, 8 or 16"
            )
        chunk = checks.whole(chunk, "chunk", least=1, most=10**9)
        if backend == "native":
            code: Any = compile_sx(function, lanes, chunk)
        else:
            from .casadi_vm import virtual_machine

            code = virtual_machine(function, lanes)
        self._set_up(Interface.of(function, shapes), code, lanes, backend, chunk, function)

    def _set_up(self, interface: Interface, code: Any, lanes: int, backend: str, chunk: int, function: Any) -> None:
        self.interface, self._code, self._function, self._chunk = interface, code, function, chunk
        self.name, self.lanes, self.backend = interface.name, lanes, backend
        self.names_in, self.n_in = interface.names_in, interface.n_in
        self.shapes_out, self.sizes_out = interface.shapes_out, interface.sizes_out
        ends = np.cumsum(self.n_in).tolist()
        self.slices = {name: slice(end - n, end) for name, n, end in zip(self.names_in, self.n_in, ends)}
        self.x_size, self.y_size = sum(self.n_in) * lanes, sum(self.sizes_out) * lanes
        self.address, self.work_size = code.address, code.work_size
        self.instructions = code.instructions
        self._call = SIGNATURE(self.address)
        self._config = config(self) if backend == "native" and lanes == 1 and _compiled_call() else None

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}[{n}]" for name, n in zip(self.names_in, self.n_in))
        shapes = ", ".join(map(str, self.shapes_out))
        lanes = f", {self.lanes} lanes" if self.lanes > 1 else ""
        return f"<Kernel {self.name}({inputs}) → {shapes}: {self.instructions} operations, {self.backend}{lanes}>"

    @property
    def function(self) -> ca.Function:
        """The CasADi function that it was compiled from; traced now if the machine code came from the disk."""
        if not hasattr(self._function, "numel_in"):
            self._function = self._function()
        return self._function

    @property
    def code_name(self) -> str:
        """The name of its machine code in the cache."""
        return self._code.name

    def __reduce__(self) -> tuple:
        options = {"lanes": self.lanes, "backend": self.backend, "shapes": self.shapes_out, "chunk": self._chunk}
        return _unpickle, (self.function.serialize(), options)

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Outputs for one state.

        Parameters
        ----------
        *inputs : array_like
            One for each input of the function, of its length; a number will do for length 1.
        out : array or sequence of arrays, optional
            Float64 arrays of the outputs' shapes to write into; returned in place of new ones.

        Returns
        -------
        array, numpy.float64 or tuple of these
            A new array for each output, a `numpy.float64` for a 1×1 output; a tuple if there are several.
        """
        return self._call_checked(*inputs, out=out)

    def batch(self, *inputs: Any, out: Any = None) -> Any:
        """Outputs for N states, `lanes` at a time.

        Parameters
        ----------
        *inputs : array_like
            One for each input of the function, of shape (N, n), or (n,) to serve all states. For n = 1 also (N,)
            or a number.
        out : array or sequence of arrays, optional
            Float64 arrays of shape (N, …) to write into; returned in place of new ones.

        Returns
        -------
        array or tuple of arrays
            Of shape (N, …) for each output; a tuple if there are several.
        """
        self._count(inputs)
        return run_batch(self, inputs, out)

    def _call_checked(self, *inputs: Any, out: Any = None) -> Any:
        """`__call__` for arguments of any kind: what the compiled entry leaves to Python."""
        if self.lanes != 1:
            raise ArgumentError(
                f"kernel '{self.name}' has {self.lanes} lanes; call its method batch with arrays of states"
            )
        self._count(inputs)
        buffer = np.empty(self.x_size + self.y_size + self.work_size)  # this call's own: threads may share a kernel
        start = 0
        for i, (given, n) in enumerate(zip(inputs, self.n_in)):
            buffer[start : start + n] = self._vector(i, given)
            start += n
        outs = None if out is None else self._outs(out, ())
        x = buffer.ctypes.data
        self._call(x, x + 8 * self.x_size, x + 8 * (self.x_size + self.y_size))
        y = buffer[self.x_size :]
        results, start = [], 0
        for i, (shape, n) in enumerate(zip(self.shapes_out, self.sizes_out)):
            values = y[start : start + n].reshape(shape)
            start += n
            if outs is not None:
                outs[i][...] = values
            else:
                results.append(values.copy() if shape else values[()])
        if outs is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    # checks

    def _count(self, inputs: tuple) -> None:
        if len(inputs) != len(self.n_in):
            needed = ", ".join(f"'{name}' of length {n}" for name, n in zip(self.names_in, self.n_in))
            raise ArgumentError(f"kernel '{self.name}' got {len(inputs)} inputs; it needs {len(self.n_in)}: {needed}")

    def _input(self, i: int) -> str:
        return f"input {i} ('{self.names_in[i]}') of kernel '{self.name}'"

    def _vector(self, i: int, given: Any) -> np.ndarray:
        values = self._numbers(i, given)
        n = self.n_in[i]
        if values.shape != (n,) and not (n == 1 and values.ndim == 0):
            raise ArgumentError(f"{self._input(i)} has shape {values.shape}; it must be a vector of length {n}")
        return values

    def _numbers(self, i: int, given: Any) -> np.ndarray:
        try:
            values = np.asarray(given)
        except Exception as error:  # ragged lists, CasADi's symbols, objects that cannot be arrays
            raise ArgumentError(f"{self._input(i)} is {checks.shown(given)}: {error}") from None
        if values.dtype.kind not in "fiub":
            raise ArgumentError(
                f"{self._input(i)} is {type(given).__name__} of {values.dtype}; it must hold real numbers"
            )
        return values

    def _outs(self, out: Any, leading: tuple[int, ...]) -> Sequence[np.ndarray]:
        outs = (out,) if len(self.shapes_out) == 1 else out
        if not isinstance(outs, (tuple, list)) or len(outs) != len(self.shapes_out):
            raise ArgumentError(f"out of kernel '{self.name}' must be a sequence of {len(self.shapes_out)} arrays")
        for i, (array, shape) in enumerate(zip(outs, self.shapes_out)):
            needed = f"it must be a writable float64 array of shape {leading + shape}"
            if not isinstance(array, np.ndarray):
                raise ArgumentError(f"out[{i}] of kernel '{self.name}' is a {type(array).__name__}; {needed}")
            if array.shape != leading + shape or array.dtype != np.float64 or not array.flags.writeable:
                raise ArgumentError(
                    f"out[{i}] of kernel '{self.name}' is {'' if array.flags.writeable else 'read-only '}"
                    f"{array.dtype} of shape {array.shape}; {needed}"
                )
        return outs


def restored(interface: Interface, code: MachineCode, lanes: int, function: Callable[[], ca.Function]) -> Kernel:
    """A kernel of machine code that was compiled before; `function` makes what it was compiled from, if asked."""
    kernel = object.__new__(Kernel)
    kernel._set_up(interface, code, lanes, "native", CHUNK, function)
    return kernel


@cache
def _compiled_call() -> bool:
    """Whether `Kernel.__call__` is compiled; tried once."""
    return install(Kernel, object.__new__(Kernel))


def _shape(rows: int, cols: int) -> tuple[int, ...]:
    return (rows, cols) if cols != 1 else (rows,) if rows != 1 else ()


def _unpickle(serialized: str, options: dict[str, Any]) -> Kernel:
    import casadi as ca

    return Kernel(ca.Function.deserialize(serialized), **options)
