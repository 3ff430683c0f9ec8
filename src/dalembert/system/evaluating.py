"""The functions of a system: traced, compiled, and evaluated at a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import Loop
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.recursions.pairs import Pairs
from dalembert.spatial import Transform
from dalembert.symbols import all_numbers
from dalembert.system import functions, kept
from dalembert.system.belonging import inputs_at, parameters_at
from dalembert.system.equation_rows import EquationRows, arguments, is_large
from dalembert.system.functions import FRAME_FUNCTIONS, LOOP_FUNCTIONS, OUTPUTS, trace, trace_together
from dalembert.system.given import Given
from dalembert.system.led import led_velocities
from dalembert.system.rows import RowChoice, RowNames
from dalembert.system.state import State, frozen
from dalembert.system.stepping import STEPPING, work_names
from dalembert.system.trace import LARGE, Description, Trace, forget_trace, recent_trace
from dalembert.system.tree_slopes import is_tree, tree_slopes

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

FUNCTIONS = {**functions.FUNCTIONS, **STEPPING}
#: functions of large mechanisms that are compiled together, for what they share; the right-hand side comes first
TOGETHER = (
    ("ode", "filter", "correct"),
    ("mass_diagonal", "plus", "row_sizes", "whitened_rows", "residuals", "kinetic_energy", "potential_energy"),
)


class Evaluating(Given):
    """The part of `System` that has functions and kernels."""

    is_described = True  # by its mechanism and the names of its constraints: what is traced may be kept on disk
    selected_from: Any = None  # (system with more rows, those of them that are its own), where it is a selection
    backend: str
    description: Description
    _forces: tuple[Any, ...]  # those of the mechanism itself
    _functions: dict[Any, tuple[ca.Function, tuple[tuple[int, ...], ...]]]
    _kernels: dict[Any, Kernel]

    def function(self, name: str, *, frame: Any = None, axes: str = "body", rows: RowChoice = None) -> ca.Function:
        """The traced equations of a name (see docs/evaluating.md) as a `casadi.Function`, for optimizing with CasADi.

        Its arguments are those of (q, v, a or tau, u, p, t) that are not empty, in this order, by these names.
        frame: a frame, body or name, for functions of a frame; axes: its own ("body") or the ground's ("world"). rows:
        indices of the constraint rows to use, where not all.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("A", da.Revolute("x"), m.ground, m.add_body("b", mass=1.0, com=(0, 1, 0)))
        >>> m.compile().function("inverse_dynamics")
        Function(inverse_dynamics:(q,v,a)->(inverse_dynamics) SXFunction)
        """
        return self._traced(name, frame, axes, rows)[0]

    def kernel(
        self, name: str, *, frame: Any = None, axes: str = "body", rows: RowChoice = None, lanes: int = 1
    ) -> Kernel:
        """The compiled form of `function`: called with arrays, in batches, or from Numba by its address.

        frame, axes: as in `function`; for "cut_joint" and "loop_wrench" frame is the name of a loop. rows: indices of
        the constraint rows to use, where not all. lanes: states computed at once, 1, 2, 4, 8 or 16.
        """
        checks.whole(lanes, "lanes", least=1)
        key = (*self._key(name, frame, axes, rows), lanes)
        found = self._kernels.get(key)
        if found is None:
            made = self._compiled_together(name, rows, key) if lanes == 1 and self.nv > LARGE else None
            if made is None:
                made = kept.kernel(
                    self._digest, key, lanes, self.backend, lambda: self._traced(name, frame, axes, rows)
                )
            found = self._kernels.setdefault(key, made)  # the first of two threads: addresses in use stay valid
        return found

    def _compiled_together(self, name: str, rows: RowChoice, key: tuple[Any, ...]) -> Kernel | None:
        """A kernel of a large mechanism, compiled with those that a run needs besides; None where it stands alone."""
        family = next((names for names in TOGETHER if name in names), None)
        if family is None or self.backend != "native" or kept.has(self._digest, key):
            return None
        keys = {n: (*self._key(n, None, "body", rows), 1) for n in family}
        wanted = {n: FUNCTIONS[n] for n in family}
        made = kept.kernels(
            self._digest,
            keys,
            lambda: trace_together(self.description, wanted, rows),
            lambda n: self._traced(n, None, "body", rows)[0],
        )
        for n, kernel in made.items():
            self._kernels.setdefault(keys[n], kernel)
        if {names[0] for names in TOGETHER} <= {k[0] for k in self._kernels}:
            forget_trace(self.description)
        return made[name]

    def kept_arrays(self, name: str, p: np.ndarray, make: Callable[[], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
        """Arrays that the description and parameters p alone tell, by a name, kept on disk; `make` makes them."""
        digest = None if self.changed is not None or self.selected_from is not None else self._digest
        return kept.arrays(digest, ("arrays", name, p.tobytes().hex()), make)

    def custom_kernel(
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
        `lanes` as in `kernel`.
        """
        place = (key, rows, lanes)
        found = self._kernels.get(place)
        if found is None:
            whole = (*place, tuple(arguments), None if named is None else tuple(named))
            traced = lambda: trace(self.description, key[0], arguments, value, rows, named)  # noqa: E731
            found = self._kernels.setdefault(place, kept.kernel(self._digest, whole, lanes, self.backend, traced))
        return found

    def evaluate(
        self,
        name: str,
        state: StateGiven,
        *,
        frame: Any = None,
        axes: str = "body",
        rows: RowChoice = None,
        u: Inputs = None,
        p: Parameters = None,
        **more: Any,
    ) -> Any:
        """The value of a function of `kernel` at a state; inputs u and parameters p matter only where it has them.

        frame, axes, rows: as in `kernel`. more: its other arguments by name (a, tau, dq, …).
        """
        if more:
            checks.name(name, "the name of a function")
            known = FUNCTIONS.get(name) or FRAME_FUNCTIONS.get(name) or LOOP_FUNCTIONS.get(name) or ((),)
            checks.keywords(more, known[0], f"arguments of function '{name}'")
        if name in ("acceleration_derivatives", "ode_jacobian") and is_large(self):
            x, u, p = self.resolve(state, u, p)
            if is_tree(self):
                found = tree_slopes(self, x, u, p)
            else:
                found = EquationRows(self, rows).solved(arguments(self, x, u, p)).slopes
            return tuple(found[output] for output in OUTPUTS[name])
        if isinstance(frame, Frame) and name in FRAME_FUNCTIONS and rows is None:
            at = self.layout.frame(frame)
            place = np.concatenate([at.T.R.ravel(), at.T.p])
            if all_numbers(place):
                return self.evaluate_kernel(
                    self._anywhere(name, at.body, axes), state, u, p, {**more, "place": place.astype(float)}
                )
        return self.evaluate_kernel(self.kernel(name, frame=frame, axes=axes, rows=rows), state, u, p, more)

    def _anywhere(self, name: str, body: Body, axes: str) -> Kernel:
        """The kernel of a function of a frame that may lie anywhere in a body: one for all `body.at(...)`."""
        checks.choice(axes, ("body", "world"), "axes")
        needed, of_frame = FRAME_FUNCTIONS[name]

        def value(s: Trace) -> Any:
            return of_frame(s, Frame(body, Transform(s.place[:9].reshape(3, 3), s.place[9:])), axes)

        return self.custom_kernel(
            (name, "anywhere", body.name, axes), (*needed, "place"), value, named=OUTPUTS.get(name)
        )

    def evaluate_kernel(
        self, kernel: Kernel, state: StateGiven, u: Inputs, p: Parameters, more: Mapping[str, Any], out: Any = None
    ) -> Any:
        """The value of a kernel at a state; into the arrays `out` where given. more: other arguments by name."""
        x = state if state.__class__ is State and state.layout is self.layout else self.as_state(state)
        if x.p is not x.u or x.defaults is not self.defaults:  # the same: both None
            x, u, p = self.resolve(x, u, p)
        given: list[Any] = []
        for argument in kernel.names_in:
            if argument == "q":
                given.append(x.q)
            elif argument == "v":
                given.append(x.v)
            elif argument == "u":
                given.append(u if u is not None and u is x.u else self.input_vector(u))
            elif argument == "p":
                given.append(self.defaults if p is None else p if p is x.p else self.parameter_vector(p))
            elif argument == "t":
                given.append(np.array([x.t]))
            else:
                given.append(more[argument])
        if u is not None and "u" not in kernel.names_in:
            self.input_vector(u)  # refuses unknown names
        if p is not None and "p" not in kernel.names_in:
            self.parameter_vector(p)
        return kernel(*given) if out is None else kernel(*given, out=out)

    def resolve(
        self, state: StateGiven, u: Inputs, p: Parameters, *, search: bool = False
    ) -> tuple[State, Inputs, Parameters]:
        """A state with the inputs and parameters that a call with u= and p= uses (see `belonging`).

        None are zero inputs, and the system's default parameters. search: the state is only where a search begins.
        """
        x = state if state.__class__ is State and state.layout is self.layout else self.as_state(state)
        if x.u is not None:
            u = x.u if u is None and x.layout is self.layout else inputs_at(self, x, u)
        own, made_by = x.p, x.defaults
        if own is None:
            if made_by is None or made_by is self.defaults:
                return x, u, p
        elif own is p or (own is self.defaults and p is None):
            return x, u, p
        vector = parameters_at(self, x, p, search)
        usual = bool((vector == self.defaults).all())
        if usual or vector is not own:
            x = self.belonging(x, None if usual else vector)
        return x, u, None if usual else vector

    def begin(self, state: StateGiven, p: Parameters) -> tuple[State, Parameters]:
        """A state to begin a search from, which may have been made with other parameters, and those of the search.

        The state gets them, and so do states that are made of it.
        """
        x, _, p = self.resolve(state, None, p, search=True)
        return self.belonging(x, p), p

    def belonging(self, x: State, p: Parameters, u: np.ndarray | None = None) -> State:
        """A state as one of parameters p, None for the default ones, and of inputs u, None for those it has."""
        inputs = x.u if u is None or not len(u) else frozen(np.array(u))
        if not self.p_names:
            return x if inputs is x.u else State(x.q, x.v, x.t, x.layout, x.evidence, None, inputs, x.defaults)
        vector = self.defaults if p is None or p is self.defaults else self.parameter_vector(p)
        if vector.flags.writeable:
            vector = frozen(vector.copy())
        if inputs is x.u and vector is x.p and x.defaults is self.defaults:
            return x
        return State(x.q, x.v, x.t, x.layout, x.evidence, vector, inputs, self.defaults)

    def rates(self, state: StateGiven) -> np.ndarray:
        """q̇ = N(q) v, (nq,)."""
        return self.evaluate("rates", state)

    def plus(self, q: Any, delta: Any) -> np.ndarray:
        """q ⊕ δ, (nq,): where the constant velocity δ = delta leads in unit time from the position q."""
        return self.evaluate("plus", q, dq=self.velocity_vector(delta, "delta"))

    def minus(self, q1: Any, q0: Any) -> np.ndarray:
        """δ with q0 ⊕ δ = q1, (nv,); q0 and q1 are states or positions."""
        return self.evaluate("minus", q0, q1=self.as_state(q1).q)

    @cached_property
    def _digest(self) -> str | None:
        """Digest of the equations, by which what is traced is kept on disk; None where it cannot be."""
        d, own = self.description, self.layout.mechanism.constraints
        usual = self.is_described and self.backend == "native" and d.forces is self._forces
        if not usual or d.sliding or d.loaded or any(own.get(c.name) is not c for c in d.constraints):
            return None
        found = self.layout.description_digest
        return None if found is None else " ".join([found, *(c.name for c in d.constraints)])

    @property
    def work_names(self) -> tuple[str, ...]:
        """Whose work a simulation keeps account of: "inputs", "forces" (without potential), "drivers"."""
        return self._facts[1]

    @cached_property
    def _facts(self) -> tuple[RowNames, tuple[str, ...]]:
        """The names of rows and works."""

        def traced() -> tuple[RowNames, tuple[str, ...]]:
            s = recent_trace(self.description)
            return s.rows.head, work_names(s)

        return kept.facts(self._digest, traced)

    @cached_property
    def _pairs(self) -> Pairs:
        return Pairs(self.layout.tree)

    @cached_property
    def led(self) -> dict[str, int]:
        """The place in v of the coordinate that each kinematic input leads, by the input's name."""
        return led_velocities(self.layout, self.description.forces)

    @property
    def rows(self) -> RowNames:
        """The rows of the constraints: names, kinds, and which were left out."""
        return self._facts[0]

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
        return name, frame_key(self.layout.frame(frame)), axes

    def _traced(
        self, name: str, frame: Any, axes: str, rows: RowChoice = None
    ) -> tuple[ca.Function, tuple[tuple[int, ...], ...]]:
        key = self._key(name, frame, axes, rows)
        if key not in self._functions:
            if name in FUNCTIONS:
                arguments, value = FUNCTIONS[name]
            elif name in LOOP_FUNCTIONS:
                arguments, of_loop = LOOP_FUNCTIONS[name]
                loop = self._loop(frame)
                value = lambda s: of_loop(s, loop)  # noqa: E731
            else:
                arguments, of_frame = FRAME_FUNCTIONS[name]
                at = self.layout.frame(frame)
                value = lambda s: of_frame(s, at, axes)  # noqa: E731
            self._functions[key] = trace(self.description, name, arguments, value, rows)
        return self._functions[key]

    def _loop(self, name: Any) -> Loop:
        loops = {c.name: c for c in self.description.constraints if isinstance(c, Loop)}
        if not isinstance(name, str) or name not in loops:
            raise unknown("loop", name, loops)
        return loops[name]

    def _frame_value(
        self, frame: Any, name: str, axes: str, state: StateGiven, p: Parameters = None, **more: Any
    ) -> np.ndarray:
        return self.evaluate(name, state, frame=frame, axes=axes, p=p, **more)


def frame_key(frame: Frame) -> Any:
    """Equal for equal frames of numbers, so that asking again for `body.at(...)` compiles nothing new."""
    parts = np.concatenate([frame.T.R.ravel(), frame.T.p])
    return (frame.body.name, *map(float, parts)) if all_numbers(parts) else frame
