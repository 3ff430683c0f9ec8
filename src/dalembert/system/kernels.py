"""The functions of a system: traced, compiled, and evaluated at a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.recursions.pairs import Pairs
from dalembert.spatial import Transform
from dalembert.symbols import all_numbers
from dalembert.system import functions, trace_cache
from dalembert.system.equation_rows import EquationRows, arguments, is_large
from dalembert.system.functions import FRAME_FUNCTIONS, LOOP_FUNCTIONS, OUTPUTS, trace, trace_together
from dalembert.system.rows import RowChoice, RowNames
from dalembert.system.state import State
from dalembert.system.stepping import STEPPING, work_names
from dalembert.system.trace import LARGE, Trace, forget_trace, recent_trace
from dalembert.system.tree_slopes import is_tree, tree_slopes

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.system.system import System

NONE: Mapping[str, Any] = MappingProxyType({})
FUNCTIONS = {**functions.FUNCTIONS, **STEPPING}
#: functions of large mechanisms that are compiled together, for what they share; the right-hand side comes first
TOGETHER = (
    ("ode", "filter", "correct"),
    ("mass_diagonal", "plus", "row_sizes", "whitened_rows", "residuals", "kinetic_energy", "potential_energy"),
)


class Kernels:
    """The functions of a system, by name or made of its tracing, and their machine code."""

    described = True  # by the mechanism and the names of its constraints: what is traced may be kept on disk
    selected_from: Any = None  # (system with more rows, those of them that are its own), where it is a selection

    def __init__(self, system: System, of_mechanism: tuple[Any, ...] | None = None):
        """`of_mechanism`: the forces of the mechanism itself, where the system has others."""
        self.system = system
        self.forces = system.description.forces if of_mechanism is None else of_mechanism
        self.traced: dict[Any, tuple[ca.Function, tuple[tuple[int, ...], ...]]] = {}
        self.compiled: dict[Any, Kernel] = {}

    def of(self, system: System) -> Self:
        """The same of another system with these equations: what one compiles the other has."""
        other = copy(self)
        other.system = system
        return other

    def function(self, name: str, frame: Any, axes: str, rows: RowChoice) -> ca.Function:
        """As `System.function`."""
        return self._traced(name, frame, axes, rows)[0]

    def kernel(
        self, name: str, frame: Any = None, axes: str = "body", rows: RowChoice = None, lanes: int = 1
    ) -> Kernel:
        """As `System.kernel`."""
        if frame is None and name.__class__ is str and lanes.__class__ is int:
            found = self.compiled.get((name, rows, "", lanes))
            if found is not None:
                return found
        checks.whole(lanes, "lanes", least=1)
        key = (*self._key(name, frame, axes, rows), lanes)
        found = self.compiled.get(key)
        if found is None:
            system = self.system
            made = self._together(name, rows, key) if lanes == 1 and system.nv > LARGE else None
            if made is None:
                made = trace_cache.kernel(
                    self.digest, key, lanes, system.backend, lambda: self._traced(name, frame, axes, rows)
                )
            found = self.compiled.setdefault(key, made)  # the first of two threads: addresses in use stay valid
        return found

    def _together(self, name: str, rows: RowChoice, key: tuple[Any, ...]) -> Kernel | None:
        """A kernel of a large mechanism, compiled with those that a run needs besides; None where it stands alone."""
        family = next((names for names in TOGETHER if name in names), None)
        if family is None or self.system.backend != "native" or trace_cache.has(self.digest, key):
            return None
        keys = {n: (*self._key(n, None, "body", rows), 1) for n in family}
        wanted, description = {n: FUNCTIONS[n] for n in family}, self.system.description
        made = trace_cache.kernels(
            self.digest,
            keys,
            lambda: trace_together(description, wanted, rows),
            lambda n: self._traced(n, None, "body", rows)[0],
        )
        for n, kernel in made.items():
            self.compiled.setdefault(keys[n], kernel)
        if {names[0] for names in TOGETHER} <= {k[0] for k in self.compiled}:
            forget_trace(description)
        return made[name]

    def kept_arrays(self, name: str, p: np.ndarray, make: Callable[[], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
        """Arrays that the description and parameters p alone tell, by a name, kept on disk; `make` makes them."""
        digest = None if self.system.arguments.changed is not None or self.selected_from is not None else self.digest
        return trace_cache.arrays(digest, ("arrays", name, p.tobytes().hex()), make)

    def custom(
        self,
        key: tuple[Any, ...],
        arguments: Sequence[str],
        value: Any,
        rows: RowChoice = None,
        named: Any = None,
        lanes: int = 1,
    ) -> Kernel:
        """A kernel of what `value` makes of a `Trace`: for packages that need more than `FUNCTIONS`.

        It is kept under its key and the rows it uses; equal keys must mean equal functions. key[0] is its name,
        `arguments` and `named` are the names of its inputs and outputs, `rows` the rows of the constraints it uses,
        `lanes` as in `System.kernel`.
        """
        place = (key, rows, lanes)
        found = self.compiled.get(place)
        if found is None:
            system = self.system
            whole = (*place, tuple(arguments), None if named is None else tuple(named))
            traced = lambda: trace(system.description, key[0], arguments, value, rows, named)  # noqa: E731
            found = self.compiled.setdefault(
                place, trace_cache.kernel(self.digest, whole, lanes, system.backend, traced)
            )
        return found

    def evaluate(
        self,
        name: str,
        state: StateGiven,
        frame: Any = None,
        axes: str = "body",
        rows: RowChoice = None,
        u: Inputs = None,
        p: Parameters = None,
        more: Mapping[str, Any] = NONE,
    ) -> Any:
        """As `System.evaluate`; more: its other arguments by name."""
        if more:
            checks.name(name, "the name of a function")
            known = FUNCTIONS.get(name) or FRAME_FUNCTIONS.get(name) or LOOP_FUNCTIONS.get(name) or ((),)
            checks.keywords(more, known[0], f"arguments of function '{name}'")
        if name in ("acceleration_derivatives", "ode_jacobian") and is_large(self.system):
            x, u, p = self.system.arguments.resolve(state, u, p)
            if is_tree(self.system):
                found = tree_slopes(self.system, x, u, p)
            else:
                found = EquationRows(self.system, rows).solved(arguments(self.system, x, u, p)).slopes
            return tuple(found[output] for output in OUTPUTS[name])
        if isinstance(frame, Frame) and name in FRAME_FUNCTIONS and rows is None:
            at = self.system.layout.frame(frame)
            place = np.concatenate([at.T.R.ravel(), at.T.p])
            if all_numbers(place):
                return self.at(self._anywhere(name, at.body, axes), state, u, p, {**more, "place": place.astype(float)})
        return self.at(self.kernel(name, frame, axes, rows), state, u, p, more)

    def _anywhere(self, name: str, body: Body, axes: str) -> Kernel:
        """The kernel of a function of a frame that may lie anywhere in a body: one for all `body.at(...)`."""
        checks.choice(axes, ("body", "world"), "axes")
        needed, of_frame = FRAME_FUNCTIONS[name]

        def value(s: Trace) -> Any:
            return of_frame(s, Frame(body, Transform(s.place[:9].reshape(3, 3), s.place[9:])), axes)

        return self.custom((name, "anywhere", body.name, axes), (*needed, "place"), value, named=OUTPUTS.get(name))

    def at(
        self, kernel: Kernel, state: StateGiven, u: Inputs, p: Parameters, more: Mapping[str, Any], out: Any = None
    ) -> Any:
        """The value of a kernel at a state; into the arrays `out` where given. more: other arguments by name."""
        own = self.system.arguments
        x = state if state.__class__ is State and state.layout is own.layout else own.as_state(state)
        if x.p is not x.u or x._defaults is not own.defaults:  # the same: both None
            x, u, p = own.resolve(x, u, p)
        given: list[Any] = []
        for argument in kernel.names_in:
            if argument == "q":
                given.append(x.q)
            elif argument == "v":
                given.append(x.v)
            elif argument == "u":
                given.append(u if u is not None and u is x.u else own.input_vector(u))
            elif argument == "p":
                given.append(own.defaults if p is None else p if p is x.p else own.parameter_vector(p))
            elif argument == "t":
                given.append(np.array([x.t]))
            else:
                given.append(more[argument])
        if u is not None and "u" not in kernel.names_in:
            own.input_vector(u)  # refuses unknown names
        if p is not None and "p" not in kernel.names_in:
            own.parameter_vector(p)
        return kernel(*given) if out is None else kernel(*given, out=out)

    @cached_property
    def digest(self) -> str | None:
        """Digest of the equations, by which what is traced is kept on disk; None where it cannot be."""
        system = self.system
        d, own = system.description, system.layout.mechanism.constraints
        usual = self.described and system.backend == "native" and d.forces is self.forces
        if not usual or d.sliding or d.loaded or any(own.get(c.name) is not c for c in d.constraints):
            return None
        found = system.layout.description_digest
        return None if found is None else " ".join([found, *(c.name for c in d.constraints)])

    @cached_property
    def facts(self) -> tuple[RowNames, tuple[str, ...]]:
        """The names of rows and works."""

        def traced() -> tuple[RowNames, tuple[str, ...]]:
            s = recent_trace(self.system.description)
            return s.rows.head, work_names(s)

        return trace_cache.facts(self.digest, traced)

    @cached_property
    def pairs(self) -> Pairs:
        """Products of columns over the tree."""
        return Pairs(self.system.layout.tree)

    def _key(self, name: str, frame: Any, axes: str, rows: RowChoice = None) -> tuple[str, Any, str]:
        checks.name(name, "the name of a function")
        if name in FUNCTIONS:
            return name, rows, ""
        if rows is not None:
            raise ArgumentError(f"function '{name}' does not depend on constraint rows; leave out rows=.")
        if name in LOOP_FUNCTIONS:
            return name, self._loop(frame).name, ""
        if name not in FRAME_FUNCTIONS:
            raise unknown("function", name, [*FUNCTIONS, *FRAME_FUNCTIONS, *LOOP_FUNCTIONS])
        checks.choice(axes, ("body", "world"), "axes")
        return name, frame_key(self.system.layout.frame(frame)), axes

    def _traced(
        self, name: str, frame: Any, axes: str, rows: RowChoice = None
    ) -> tuple[ca.Function, tuple[tuple[int, ...], ...]]:
        key = self._key(name, frame, axes, rows)
        if key not in self.traced:
            if name in FUNCTIONS:
                arguments, value = FUNCTIONS[name]
            elif name in LOOP_FUNCTIONS:
                arguments, of_loop = LOOP_FUNCTIONS[name]
                loop = self._loop(frame)
                value = lambda s: of_loop(s, loop)  # noqa: E731
            else:
                arguments, of_frame = FRAME_FUNCTIONS[name]
                at = self.system.layout.frame(frame)
                value = lambda s: of_frame(s, at, axes)  # noqa: E731
            self.traced[key] = trace(self.system.description, name, arguments, value, rows)
        return self.traced[key]

    def _loop(self, name: Any) -> LoopJoint:
        loops = {c.name: c for c in self.system.description.constraints if isinstance(c, LoopJoint)}
        if not isinstance(name, str) or name not in loops:
            raise unknown("loop", name, loops)
        return loops[name]


def frame_key(frame: Frame) -> Any:
    """Equal for equal frames of numbers, so that asking again for `body.at(...)` compiles nothing new."""
    parts = np.concatenate([frame.T.R.ravel(), frame.T.p])
    return (frame.body.name, *map(float, parts)) if all_numbers(parts) else frame
