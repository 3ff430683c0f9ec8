"""What users give to a system, as arrays and states: by name or in order, with the parameters and inputs that count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.values import vector_of
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.belonging import inputs_at, parameters_at
from dalembert.system.state import State, frozen, make_state
from dalembert.system.vectors import filled, listed

if TYPE_CHECKING:
    from dalembert.system.system import System


class Arguments:
    """The names, sizes and default values of a system's arguments."""

    def __init__(self, system: System):
        self.system, self.layout = system, system.layout
        self.defaults = frozen(vector_of(system.parameters))  # (np,) parameters in the order of p_names
        self.changed: np.ndarray | None = None  # (np,) bool: which of them `with_parameters` has set; None: none
        self.input_sizes = {name: u.numel() for name, u in system.description.inputs.items()}

    @classmethod
    def like(cls, known: Arguments, system: System) -> Self:
        """Those of another system with the same names and default values."""
        other = object.__new__(cls)
        vars(other).update(vars(known), system=system)
        return other

    # --- by name or as an array -------------------------------------------------------------------------------------

    def velocity_vector(self, x: Any, what: str) -> np.ndarray:
        """(nv,) from an array, or from a mapping by joint or velocity names (the rest zero)."""
        if isinstance(x, Mapping):
            return self.state(v=x).v
        return listed(x, self.system.v_names, what)

    def velocity_index(self, name: str) -> int:
        """Place of a velocity, by its name, in v."""
        names = self.system.v_names
        if name not in names:
            raise unknown("velocity", name, names)
        return names.index(name)

    def input_vector(self, u: Inputs, *, finite: bool = True) -> np.ndarray:
        """(nu,) inputs; finite=False lets NaN and infinities of a controller pass, which a run tells of itself."""
        if u is None:
            return np.zeros(len(self.system.u_names))
        if not isinstance(u, Mapping):
            return listed(u, self.system.u_names, "the array of inputs", finite)
        zero = {name: np.zeros(n) for name, n in self.input_sizes.items()}
        return vector_of(filled(u, zero, "input", finite))

    def parameter_vector(self, p: Parameters) -> np.ndarray:
        """(np,) in the order of p_names: parameters p given by name or as an array; None for the declared ones."""
        if p is None:
            return vector_of(self.system.parameters)
        if not isinstance(p, Mapping):
            return listed(p, self.system.p_names, "the array of parameters")
        return vector_of(filled(p, self.system.parameters, "parameter"))

    def active_rows(self, active: Mapping[str, bool] | None) -> np.ndarray:
        """(m,) bool: which rows count when the constraints named in `active` are switched on or off."""
        of = self.system.rows.of
        on = np.ones(len(of), dtype=bool)
        for name, value in ({} if active is None else checks.mapping(active, "active")).items():
            if not isinstance(name, str) or name not in of:
                raise unknown("constraint", name, dict.fromkeys(of))
            on[[c == name for c in of]] = checks.flag(value, f"active['{name}']")
        return on

    # --- states -------------------------------------------------------------------------------------------------------

    def state(self, q: Any = None, v: Any = None, t: float = 0.0, p: Parameters = None, u: Inputs = None) -> State:
        """As `System.state`."""
        return make_state(self.layout, q, v, t, p=p, u=u, defaults=self.defaults)

    def as_state(self, state: StateGiven) -> State:
        """A state of this system: a `State` as it is, else as `state(q)` makes it from positions."""
        if isinstance(state, State):
            if state.layout is not self.layout and not self.layout.same(state.layout):
                raise ArgumentError(
                    f"the state belongs to another system than '{self.system.name}'; make it with system.state(...)."
                )
            return state
        return self.state(state)

    def bare(self, state: StateGiven) -> State:
        """Positions, velocities and time of a state without its parameters and inputs: as a sensor gives them."""
        x = self.as_state(state)
        return x if x.p is None and x.u is None else State(x.q, x.v, x.t, x.layout)

    def resolve(
        self, state: StateGiven, u: Inputs, p: Parameters, *, search: bool = False
    ) -> tuple[State, Inputs, Parameters]:
        """A state with the inputs and parameters that a call with u= and p= uses (see `belonging`).

        None are zero inputs, and the system's default parameters. search: the state is only where a search begins.
        """
        x = state if state.__class__ is State and state.layout is self.layout else self.as_state(state)
        if x.u is not None:
            u = x.u if u is None and x.layout is self.layout else inputs_at(self.system, x, u)
        own, made_by = x.p, x._defaults
        if own is None:
            if made_by is None or made_by is self.defaults:
                return x, u, p
        elif own is p or (own is self.defaults and p is None):
            return x, u, p
        vector = parameters_at(self.system, x, p, search)
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
        if not self.system.p_names:
            return x if inputs is x.u else State(x.q, x.v, x.t, x.layout, x.evidence, None, inputs, x._defaults)
        vector = self.defaults if p is None or p is self.defaults else self.parameter_vector(p)
        if vector.flags.writeable:
            vector = frozen(vector.copy())
        if inputs is x.u and vector is x.p and x._defaults is self.defaults:
            return x
        return State(x.q, x.v, x.t, x.layout, x.evidence, vector, inputs, self.defaults)
