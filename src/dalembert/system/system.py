"""A compiled mechanism: its equations, evaluated by name or by array."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.body import Frame
from dalembert.mechanism.checks import check_laws, check_masses
from dalembert.mechanism.constraints import Loop
from dalembert.mechanism.forces import JointSpringDamper
from dalembert.mechanism.joints import Fixed
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.layout import Layout
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.touching import compliant_stops
from dalembert.mechanism.values import is_exact_zero, vector_of
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.symbols import all_numbers
from dalembert.system import functions, kept
from dalembert.system.constraints import ConstraintQuestions
from dalembert.system.diagonal import Diagonal
from dalembert.system.equation_rows import EquationRows, arguments, is_large
from dalembert.system.functions import (
    FRAME_FUNCTIONS,
    LARGE,
    LOOP_FUNCTIONS,
    OUTPUTS,
    Description,
    forget_trace,
    recent_trace,
    trace,
    trace_together,
)
from dalembert.system.led import led_velocities
from dalembert.system.rows import RowNames
from dalembert.system.state import State, make_state
from dalembert.system.stepping import STEPPING, work_names
from dalembert.system.tree import TreeQuestions

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

FUNCTIONS = {**functions.FUNCTIONS, **STEPPING}
#: functions of large mechanisms that are compiled together, for what they share; the right-hand side comes first
TOGETHER = (("ode", "filter", "correct"), ("mass_diagonal", "plus", "row_sizes", "whitened_rows"))
KEPT = 32  # things that other packages keep with a system
RowChoice = tuple[int, ...] | None  # indices of constraint rows; None: all


class System(TreeQuestions, ConstraintQuestions):
    """The equations of motion of a mechanism; made by `Mechanism.compile`.

        M(q) v̇ + h(q, v) = τ + Q(q, v, u, p, t) + Aᵀλ,   Φ(q, t) = 0,   A(q, t) v + b(q, t) = 0

    h holds the Coriolis, centrifugal and gravity terms, Q what the described springs, dampers, motors and other forces
    exert, τ what is given besides, Aᵀλ what the constraints do. Nothing is compiled before it is first used. A system
    can be pickled: it travels as its mechanism and is traced again on arrival.

    Arguments that many methods share:

    - state: a `State`, a mapping of joint names to positions (at rest), or an array q (at rest)
    - frame: a frame (`body.at(...)`), a body, or the name of either; axes: "body" (the frame's own) or "world"
    - a, tau: accelerations and forces along the velocities, (nv,), arrays or mappings by name (the rest zero)
    - u: inputs, an array or a mapping by name (the rest zero)
    - p: parameters, an array or a mapping by name; the rest has the declared values
    - wrenches: {frame: (moment; force)} at the frame's origin in its own axes

    >>> import dalembert as da
    >>> m = da.Mechanism("cart", gravity=(0, 0, -9.81))
    >>> cart = m.add_body("cart", mass=2.0)
    >>> m.add_joint("rail", da.Prismatic("x"), m.ground, cart)
    >>> u = m.add_motor("push", "rail")
    >>> system = m.compile()
    >>> system.forward_dynamics({"rail": 0.3}, u={"push": 4.0})
    array([2.])
    """

    def __init__(self, mechanism: Mechanism, backend: str = "native"):
        checks.choice(backend, ("native", "casadi"), "backend")
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(f"mechanism is {checks.shown(mechanism)}; needed: a Mechanism.")
        layout = Layout(mechanism.snapshot())
        self._set_up(layout, backend)
        if not kept.known(self._digest):  # else it was checked when it was traced
            check_masses(layout, mechanism.parameters)
            check_laws(layout, mechanism)

    def _set_up(self, layout: Layout, backend: str) -> None:
        self.layout, self.backend = layout, backend
        mechanism = layout.mechanism
        self.name = mechanism.name
        self.nq, self.nv = self.layout.tree.nq, self.layout.tree.nv
        self.q_names, self.v_names = self.layout.q_names, self.layout.v_names
        self.u_names = _element_names(mechanism.inputs)
        self.p_names = _element_names(mechanism.parameters.symbols)
        self.parameters = {name: x.copy() for name, x in mechanism.parameters.values.items()}
        self.input_sizes = {name: u.numel() for name, u in mechanism.inputs.items()}
        springs = [
            JointSpringDamper(joint)
            for joint in self.layout.joints.values()
            if not all(is_exact_zero(x) for x in [*joint.stiffness, *joint.damping])
        ]
        self.description = Description(
            self.layout,
            Layout(mechanism, lump=False) if any(_fixed(a) for a in layout.joints.values()) else layout,
            mechanism.gravity,
            (*springs, *compliant_stops(self.layout.joints.values()), *mechanism.forces.values()),
            tuple(mechanism.constraints.values()),
            dict(mechanism.inputs),
            dict(mechanism.parameters.symbols),
        )
        self._forces = self.description.forces
        self._kept: dict[Any, Any] = {}
        self._functions: dict[Any, tuple[ca.Function, tuple[tuple[int, ...], ...]]] = {}
        self._kernels: dict[Any, Kernel] = {}

    # --- states -------------------------------------------------------------------------------------------------

    def state(self, q: Any = None, v: Any = None, t: float = 0.0) -> State:
        """A state from positions q and velocities v, arrays or by name, at the time t (s).

        What is not named is neutral and at rest. Quaternions are normalized.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
        >>> m.compile().state({"ball": da.rotation("z", 0.2)}, v={"ball.wz": 3.0}).rate("ball")
        array([0., 0., 3.])
        """
        return make_state(self.layout, q, v, t)

    def named_state(self, name: str) -> State:
        """The state that the mechanism knows by this name (`Mechanism.add_state`)."""
        states = self.layout.mechanism.states
        if not isinstance(name, str) or name not in states:
            raise unknown("state", name, states)
        found = states[name]
        return self.state(found.q, found.v, found.t)

    def with_parameters(self, values: Mapping[str, Any] | None = None, **named: Any) -> System:
        """A system with other default parameters, a mapping of values or named; nothing is compiled again."""
        given = {**({} if values is None else checks.mapping(values, "values")), **named}
        other = self._twin()
        other.parameters = self._filled(given, self.parameters, "parameter")
        return other

    def without(self, *constraints: str) -> System:
        """A system without some constraints (names): a loop that opens, a contact that ends.

        States pass from one to the other. To close a loop again, `project` a state of the open one that has come near.

        >>> from dalembert import zoo
        >>> system = zoo.four_bar().compile()
        >>> system.without("C").acceleration(system.state(*zoo.four_bar_start(0.6))).rank
        0
        """
        known = {c.name: c for c in self.description.constraints}
        for name in constraints:
            if not isinstance(name, str) or name not in known:
                raise unknown("constraint", name, known)
        other = self._bare()
        rest = tuple(c for name, c in known.items() if name not in constraints)
        other.description = replace(self.description, constraints=rest)
        return other

    def holding(self, *constraints: str) -> System:
        """A system in which some constraints (names) that had been removed hold again.

        >>> from dalembert import zoo
        >>> system = zoo.four_bar().compile()
        >>> len(system.without("C").rows.of), len(system.without("C").holding("C").rows.of) == len(system.rows.of)
        (0, True)
        """
        known = self.layout.mechanism.constraints
        for name in constraints:
            if not isinstance(name, str) or name not in known:
                raise unknown("constraint", name, known)
        whole = self.without()
        held = {*constraints, *(c.name for c in self.description.constraints)}
        whole.description = replace(self.description, constraints=tuple(c for n, c in known.items() if n in held))
        return whole

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """A value that another package keeps with the system under a hashable key; the oldest are dropped.

        make: the function that makes it when it is first asked for.
        """
        found = self._kept.get(key)
        if found is None:
            oldest, *others = (*self._kept, None)  # a copy: other threads may add to it
            if len(others) >= KEPT:
                self._kept.pop(oldest, None)
            found = self._kept[key] = make()
        return found

    def _twin(self) -> System:
        other = object.__new__(type(self))
        vars(other).update(vars(self), _kept={})
        return other

    def _bare(self) -> System:
        """A system with the same description and nothing traced yet."""
        other = self._twin()
        for name in [n for n in vars(other) if isinstance(getattr(type(self), n, None), cached_property)]:
            del vars(other)[name]
        other._functions, other._kernels = {}, {}
        return other

    def _removed(self) -> list[str]:
        """Constraints of the mechanism that were taken away."""
        kept = {c.name for c in self.description.constraints}
        return [name for name in self.layout.mechanism.constraints if name not in kept]

    def _described(self) -> Mechanism:
        """The mechanism this system is of."""
        m = self.layout.mechanism.snapshot()
        for name in self._removed():
            del m.constraints[name]
        m.parameters.values.update(self.parameters)
        return m

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.layout, self.backend, self.parameters, self._removed())

    # --- coordinates --------------------------------------------------------------------------------------------

    def rates(self, state: StateGiven) -> np.ndarray:
        """q̇ = N(q) v, (nq,)."""
        return self.evaluate("rates", state)

    def plus(self, q: Any, delta: Any) -> np.ndarray:
        """q ⊕ δ, (nq,): where the constant velocity δ = delta leads in unit time from the position q."""
        return self.evaluate("plus", q, dq=self.velocity_vector(delta, "delta"))

    def minus(self, q1: Any, q0: Any) -> np.ndarray:
        """δ with q0 ⊕ δ = q1, (nv,); q0 and q1 are states or positions."""
        return self.evaluate("minus", q0, q1=self.as_state(q1).q)

    # --- functions and kernels ----------------------------------------------------------------------------------

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

    @cached_property
    def _digest(self) -> str | None:
        """Digest of the equations, by which what is traced is kept on disk; None where it cannot be."""
        d, own = self.description, self.layout.mechanism.constraints
        usual = type(self) is System and self.backend == "native" and d.forces is self._forces
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
    def led(self) -> dict[str, int]:
        """The place in v of the coordinate that each kinematic input leads, by the input's name."""
        return led_velocities(self.layout, self.description.forces)

    @property
    def rows(self) -> RowNames:
        """The rows of the constraints: names, kinds, and which were left out."""
        return self._facts[0]

    @property
    def diagonal(self) -> Diagonal:
        """The diagonal equations of motion ν̇ + C(q, ν) = ε of Jain & Rodriguez, and the factor of M they rest on."""
        return Diagonal(self)

    def __str__(self) -> str:
        return str(self._described())

    def _repr_html_(self) -> str:
        """A picture of the neutral position, where loops are closed there, and the description, for notebooks."""
        from dalembert.view.notebook import picture_of_neutral

        return picture_of_neutral(self) + self._described()._repr_html_()

    def __repr__(self) -> str:
        sizes = f"nq = {self.nq}, nv = {self.nv}, {len(self.u_names)} inputs, {len(self.p_names)} parameters"
        return f"<system '{self.name}': {sizes}>"

    # --- helpers ------------------------------------------------------------------------------------------------

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
            found = EquationRows(self, rows).solved(arguments(self, self.as_state(state), u, p)).slopes
            return tuple(found[output] for output in OUTPUTS[name])
        return self.evaluate_kernel(self.kernel(name, frame=frame, axes=axes, rows=rows), state, u, p, more)

    def evaluate_kernel(
        self, kernel: Kernel, state: StateGiven, u: Inputs, p: Parameters, more: Mapping[str, Any], out: Any = None
    ) -> Any:
        """The value of a kernel at a state; into the arrays `out` where given. more: other arguments by name."""
        x = self.as_state(state)
        given = []
        for argument in kernel.names_in:
            if argument == "q":
                given.append(x.q)
            elif argument == "v":
                given.append(x.v)
            elif argument == "u":
                given.append(self.input_vector(u))
            elif argument == "p":
                given.append(self.parameter_vector(p))
            elif argument == "t":
                given.append(np.array([x.t]))
            else:
                given.append(more[argument])
        if u is not None and "u" not in kernel.names_in:
            self.input_vector(u)  # refuses unknown names
        if p is not None and "p" not in kernel.names_in:
            self.parameter_vector(p)
        return kernel(*given) if out is None else kernel(*given, out=out)

    def _frame_value(
        self, frame: Any, name: str, axes: str, state: StateGiven, p: Parameters = None, **more: Any
    ) -> np.ndarray:
        return self.evaluate(name, state, frame=frame, axes=axes, p=p, **more)

    def as_state(self, state: StateGiven) -> State:
        """A state of this system: a `State` as it is, else as `state(q)` makes it from positions."""
        if isinstance(state, State):
            if state.layout is not self.layout and not self.layout.same(state.layout):
                raise ArgumentError(
                    f"the state belongs to another system than '{self.name}'; make it with system.state(...)."
                )
            return state
        return self.state(state)

    def velocity_vector(self, x: Any, what: str) -> np.ndarray:
        """(nv,) from an array, or from a mapping by joint or velocity names (the rest zero)."""
        if isinstance(x, Mapping):
            return self.state(v=x).v
        return _listed(x, self.v_names, what)

    def input_vector(self, u: Inputs, *, finite: bool = True) -> np.ndarray:
        """(nu,) inputs; finite=False lets NaN and infinities of a controller pass, which a run tells of itself."""
        if u is None:
            return np.zeros(len(self.u_names))
        if not isinstance(u, Mapping):
            return _listed(u, self.u_names, "the array of inputs", finite)
        zero = {name: np.zeros(n) for name, n in self.input_sizes.items()}
        return vector_of(self._filled(u, zero, "input", finite))

    def parameter_vector(self, p: Parameters) -> np.ndarray:
        """(np,) in the order of p_names: parameters p given by name or as an array; None for the declared ones."""
        if p is None:
            return vector_of(self.parameters)
        if not isinstance(p, Mapping):
            return _listed(p, self.p_names, "the array of parameters")
        return vector_of(self._filled(p, self.parameters, "parameter"))

    def _filled(
        self, given: Mapping[Any, Any], start: Mapping[str, np.ndarray], kind: str, finite: bool = True
    ) -> dict[str, np.ndarray]:
        """The values of `start` with some replaced, whole ("g") or one of several ("g[1]")."""
        values = dict(start)
        for name, value in given.items():
            what = f"{kind} '{name}'"
            part = re.fullmatch(r"(.+)\[(\d{1,9})\]", str(name))
            if name in start:
                x = np.atleast_1d(checks.array(value, None, what) if finite else checks.reals(value, what))
                if x.shape != start[name].shape:
                    raise ArgumentError(f"{what} is given {x.size} number(s); needed: {start[name].size}.")
                values[name] = x.copy()
            elif part and part[1] in start and int(part[2]) < len(start[part[1]]):
                values[part[1]] = values[part[1]].copy()
                values[part[1]][int(part[2])] = checks.number(value, what)
            else:
                raise unknown(kind, name, start)
        return values


def _fixed(attachment: Attachment) -> bool:
    return isinstance(attachment.joint, Fixed)


def _restored(layout: Layout, backend: str, parameters: Mapping[str, np.ndarray], removed: Sequence[str]) -> System:
    """A system from what it is pickled as."""
    system = object.__new__(System)
    system._set_up(layout, backend)
    return system.without(*removed).with_parameters(parameters)


def _listed(x: Any, names: Sequence[str], what: str, finite: bool = True) -> np.ndarray:
    """(len(names),) numbers."""
    values = checks.array(x, None, what) if finite else checks.reals(x, what)
    if values.shape != (len(names),):
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise ArgumentError(f"{what} has shape {values.shape}; needed: ({len(names)},), that is {shown or 'none'}.")
    return values


def frame_key(frame: Frame) -> Any:
    """Equal for equal frames of numbers, so that asking again for `body.at(...)` compiles nothing new."""
    parts = np.concatenate([frame.T.R.ravel(), frame.T.p])
    return (frame.body.name, *parts) if all_numbers(parts) else frame


def _element_names(symbols: Mapping[str, ca.SX]) -> list[str]:
    return [name if x.numel() == 1 else f"{name}[{k}]" for name, x in symbols.items() for k in range(x.numel())]
