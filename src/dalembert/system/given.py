"""What users give to a system, as arrays: states, velocities, inputs and parameters, by name or in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.layout import Layout
from dalembert.mechanism.values import vector_of
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.state import State, make_state


class Given:
    """The part of `System` that knows names and sizes."""

    name: str
    layout: Layout
    nq: int
    nv: int
    q_names: list[str]
    v_names: list[str]
    u_names: list[str]
    p_names: list[str]
    parameters: dict[str, np.ndarray]  # declared values
    input_sizes: dict[str, int]

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


def _listed(x: Any, names: Sequence[str], what: str, finite: bool = True) -> np.ndarray:
    """(len(names),) numbers."""
    values = checks.array(x, None, what) if finite else checks.reals(x, what)
    if values.shape != (len(names),):
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise ArgumentError(f"{what} has shape {values.shape}; needed: ({len(names)},), that is {shown or 'none'}.")
    return values
