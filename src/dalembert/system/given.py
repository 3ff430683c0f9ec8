"""What users give to a system, as arrays: states, velocities, inputs and parameters, by name or in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.values import vector_of
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.state import State, make_state
from dalembert.system.vectors import filled, listed


class Given:
    """The part of `System` that knows names and sizes."""

    name: str
    layout: TreeLayout
    nq: int
    nv: int
    q_names: list[str]
    v_names: list[str]
    u_names: list[str]
    p_names: list[str]
    parameters: dict[str, np.ndarray]  # values where none are given
    defaults: np.ndarray  # (np,) the same in the order of p_names
    changed: np.ndarray | None  # (np,) bool: which of them `with_parameters` has set; None: none
    input_sizes: dict[str, int]

    def state(self, q: Any = None, v: Any = None, t: float = 0.0, *, p: Parameters = None, u: Inputs = None) -> State:
        """A state from positions q and velocities v, arrays or by name, at the time t (s).

        What is not named is neutral and at rest. Quaternions are normalized. p, u: the parameters and inputs it belongs
        to, which the questions about it then take from it.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
        >>> m.compile().state({"ball": da.rotation("z", 0.2)}, v={"ball.wz": 3.0}).rate("ball")
        array([0., 0., 3.])
        """
        return make_state(self.layout, q, v, t, p=p, u=u, defaults=self.defaults)

    def as_state(self, state: StateGiven) -> State:
        """A state of this system: a `State` as it is, else as `state(q)` makes it from positions."""
        if isinstance(state, State):
            if state.layout is not self.layout and not self.layout.same(state.layout):
                raise ArgumentError(
                    f"the state belongs to another system than '{self.name}'; make it with system.state(...)."
                )
            return state
        return self.state(state)

    def bare(self, state: StateGiven) -> State:
        """Positions, velocities and time of a state without its parameters and inputs: as a sensor gives them."""
        x = self.as_state(state)
        return x if x.p is None and x.u is None else State(x.q, x.v, x.t, x.layout)

    def velocity_vector(self, x: Any, what: str) -> np.ndarray:
        """(nv,) from an array, or from a mapping by joint or velocity names (the rest zero)."""
        if isinstance(x, Mapping):
            return self.state(v=x).v
        return listed(x, self.v_names, what)

    def velocity_index(self, name: str) -> int:
        """Place of a velocity, by its name, in v."""
        if name not in self.v_names:
            raise unknown("velocity", name, self.v_names)
        return self.v_names.index(name)

    def input_vector(self, u: Inputs, *, finite: bool = True) -> np.ndarray:
        """(nu,) inputs; finite=False lets NaN and infinities of a controller pass, which a run tells of itself."""
        if u is None:
            return np.zeros(len(self.u_names))
        if not isinstance(u, Mapping):
            return listed(u, self.u_names, "the array of inputs", finite)
        zero = {name: np.zeros(n) for name, n in self.input_sizes.items()}
        return vector_of(filled(u, zero, "input", finite))

    def parameter_vector(self, p: Parameters) -> np.ndarray:
        """(np,) in the order of p_names: parameters p given by name or as an array; None for the declared ones."""
        if p is None:
            return vector_of(self.parameters)
        if not isinstance(p, Mapping):
            return listed(p, self.p_names, "the array of parameters")
        return vector_of(filled(p, self.parameters, "parameter"))
