"""A compiled mechanism: its equations, evaluated by name or by array."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.checks import check_masses
from dalembert.mechanism.forces import JointSpringDamper
from dalembert.mechanism.functions import FRAME_FUNCTIONS, FUNCTIONS, Description, trace
from dalembert.mechanism.layout import Layout
from dalembert.mechanism.state import State, make_state
from dalembert.mechanism.values import is_exact_zero, vector_of

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.mechanism.mechanism import Mechanism


class System:
    """The equations of motion M(q) v̇ + h(q, v) = τ + Q(q, v, u, p, t) of a mechanism; made by `Mechanism.compile`.

    h holds the Coriolis, centrifugal and gravity terms, Q what the described springs, dampers, motors and other forces
    exert, τ what is given besides. States may be `State` objects, mappings of joint names to positions, or
    arrays q (at rest). u and p are arrays or mappings by name; p defaults to the declared values and may name only what
    changes.
    Nothing is compiled before it is first used.

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
        self.name = mechanism.name
        self.backend = backend
        self.layout = Layout(list(mechanism.bodies.values()), list(mechanism.joints.values()), mechanism.frames)
        check_masses(self.layout, mechanism.parameters)
        self.nq, self.nv = self.layout.tree.nq, self.layout.tree.nv
        self.q_names, self.v_names = self.layout.q_names, self.layout.v_names
        self.u_names = _element_names(mechanism.inputs)
        self.p_names = _element_names(mechanism.parameters.symbols)
        self.parameters = {name: x.copy() for name, x in mechanism.parameters.values.items()}
        self._inputs = {name: u.numel() for name, u in mechanism.inputs.items()}
        self._text, self._html = str(mechanism), mechanism._repr_html_()
        springs = [
            JointSpringDamper(joint)
            for joint in self.layout.joints.values()
            if not all(is_exact_zero(x) for x in [*joint.stiffness, *joint.damping])
        ]
        self._description = Description(
            self.layout,
            mechanism.gravity,
            (*springs, *mechanism.forces.values()),
            dict(mechanism.inputs),
            dict(mechanism.parameters.symbols),
        )
        self._functions: dict[Any, ca.Function] = {}
        self._kernels: dict[Any, Kernel] = {}

    # --- states -------------------------------------------------------------------------------------------------

    def state(self, q: Any = None, v: Any = None, t: float = 0.0) -> State:
        """A state from arrays or by name; what is not named is neutral and at rest. Quaternions are normalized.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
        >>> m.compile().state({"ball": da.rotation("z", 0.2)}, v={"ball.wz": 3.0}).rate("ball")
        array([0., 0., 3.])
        """
        return make_state(self.layout, q, v, t)

    def with_parameters(self, **values: Any) -> System:
        """The same system with other default parameters; nothing is compiled again."""
        other = copy(self)
        other.parameters = dict(self.parameters)
        for name, value in values.items():
            other.parameters[name] = self._sized(name, value, self.parameters, "parameter")
        return other

    # --- motion of frames ---------------------------------------------------------------------------------------

    def pose(self, state: Any, frame: Any, *, p: Any = None) -> np.ndarray:
        """(4, 4) pose of a frame (or body, or name) in the ground."""
        return self._about(frame, "pose", "world", state, p=p)

    def twist(self, state: Any, frame: Any, *, axes: str = "body", p: Any = None) -> np.ndarray:
        """(ω; v) of a frame's origin, in the frame's own ("body") or the ground's ("world") axes, (6,)."""
        return self._about(frame, "twist", axes, state, p=p)

    def jacobian(self, state: Any, frame: Any, *, axes: str = "body", p: Any = None) -> np.ndarray:
        """J, (6, nv), with twist = J v in the same axes."""
        return self._about(frame, "jacobian", axes, state, p=p)

    def jacobian_rate(self, state: Any, frame: Any, *, axes: str = "body", p: Any = None) -> np.ndarray:
        """J̇ v, (6,): the rate of the twist when v̇ = 0."""
        return self._about(frame, "jacobian_rate", axes, state, p=p)

    def frame_acceleration(self, state: Any, frame: Any, a: Any, *, axes: str = "world", p: Any = None) -> np.ndarray:
        """d/dt of the twist, J v̇ + J̇ v, (6,): in world axes, angular acceleration and acceleration of the point."""
        return self._about(frame, "acceleration", axes, state, a=self._velocities(a, "a"), p=p)

    # --- dynamics -----------------------------------------------------------------------------------------------

    def mass_matrix(self, state: Any, *, p: Any = None) -> np.ndarray:
        """M(q), (nv, nv)."""
        return self._value("mass_matrix", state, p=p)

    def bias(self, state: Any, *, p: Any = None) -> np.ndarray:
        """h(q, v), (nv,): Coriolis, centrifugal and gravity terms."""
        return self._value("bias", state, p=p)

    def gravity_vector(self, state: Any, *, p: Any = None) -> np.ndarray:
        """g(q), (nv,): the gravity terms of h."""
        return self._value("gravity", state, p=p)

    def coriolis_vector(self, state: Any, *, p: Any = None) -> np.ndarray:
        """h(q, v) − g(q), (nv,)."""
        return self._value("coriolis", state, p=p)

    def applied_forces(self, state: Any, *, u: Any = None, p: Any = None) -> np.ndarray:
        """Q(q, v, u, p, t), (nv,): what springs, dampers, motors and other described forces exert."""
        return self._value("applied", state, u=u, p=p)

    def inverse_dynamics(
        self, state: Any, a: Any, *, u: Any = None, p: Any = None, wrenches: Mapping[Any, Any] | None = None
    ) -> np.ndarray:
        """τ = M a + h − Q − Σ Jᵀ W, (nv,): the forces that, beside the described ones, give the acceleration a.

        wrenches: {frame: (moment; force)} at the frame's origin in its own axes.
        """
        tau = self._value("inverse_dynamics", state, a=self._velocities(a, "a"), u=u, p=p)
        return tau - self._carried(state, wrenches, p)

    def forward_dynamics(
        self,
        state: Any,
        tau: Any = None,
        *,
        u: Any = None,
        p: Any = None,
        wrenches: Mapping[Any, Any] | None = None,
    ) -> np.ndarray:
        """v̇ = M⁻¹ (τ + Q + Σ Jᵀ W − h), (nv,), in O(N); τ defaults to zero."""
        given = np.zeros(self.nv) if tau is None else self._velocities(tau, "tau")
        return self._value("forward_dynamics", state, tau=given + self._carried(state, wrenches, p), u=u, p=p)

    def kinetic_energy(self, state: Any, *, p: Any = None) -> float:
        """½ vᵀ M v, J."""
        return float(self._value("kinetic_energy", state, p=p))

    def potential_energy(self, state: Any, *, p: Any = None) -> float:
        """Of gravity (zero at the ground's origin) and of springs, J."""
        return float(self._value("potential_energy", state, p=p))

    def energy(self, state: Any, *, p: Any = None) -> float:
        """Kinetic and potential energy together, J."""
        return self.kinetic_energy(state, p=p) + self.potential_energy(state, p=p)

    def momentum(self, state: Any, *, about: str = "center", p: Any = None) -> np.ndarray:
        """(angular; linear), (6,), in the ground's axes, about the "center" of mass or the ground's "origin"."""
        L = self._value("momentum", state, p=p)
        if about == "origin":
            return L
        if about != "center":
            raise ArgumentError(f"momentum about {about!r}; needed: 'center' or 'origin'.")
        return np.concatenate([L[:3] - np.cross(self.center_of_mass(state, p=p), L[3:]), L[3:]])

    def center_of_mass(self, state: Any, *, p: Any = None) -> np.ndarray:
        """(3,) of everything that moves, in the ground."""
        return self._value("center_of_mass", state, p=p)

    # --- coordinates --------------------------------------------------------------------------------------------

    def rates(self, state: Any) -> np.ndarray:
        """q̇ = N(q) v, (nq,)."""
        return self._value("rates", state)

    def plus(self, q: Any, delta: Any) -> np.ndarray:
        """q ⊕ δ, (nq,): where the constant velocity δ leads in unit time."""
        return self.kernel("plus")(*self._used("plus", q=self._as_state(q).q, dq=self._velocities(delta, "delta")))

    def minus(self, q1: Any, q0: Any) -> np.ndarray:
        """δ with q0 ⊕ δ = q1, (nv,)."""
        return self.kernel("minus")(*self._used("minus", q1=self._as_state(q1).q, q=self._as_state(q0).q))

    # --- functions and kernels ----------------------------------------------------------------------------------

    def function(self, name: str, frame: Any = None, axes: str = "body") -> ca.Function:
        """The traced equations as a `casadi.Function`, for planning or optimizing with CasADi.

        Its arguments are those of (q, v, a or tau, u, p, t) that are not empty, in this order, by these names.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("A", da.Revolute("x"), m.ground, m.add_body("b", mass=1.0, com=(0, 1, 0)))
        >>> m.compile().function("inverse_dynamics")
        Function(inverse_dynamics:(q,v,a)->(inverse_dynamics) SXFunction)
        """
        key = self._key(name, frame, axes)
        if key not in self._functions:
            self._functions[key] = self._trace(*key)
        return self._functions[key]

    def kernel(self, name: str, frame: Any = None, axes: str = "body", *, lanes: int = 1) -> Kernel:
        """The compiled form of `function`: called with arrays, in batches, or from Numba by its address."""
        from dalembert.compiler import Kernel

        key = (*self._key(name, frame, axes), lanes)
        if key not in self._kernels:
            self._kernels[key] = Kernel(self.function(name, frame, axes), lanes=lanes, backend=self.backend)
        return self._kernels[key]

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        sizes = f"nq = {self.nq}, nv = {self.nv}, {len(self.u_names)} inputs, {len(self.p_names)} parameters"
        return f"<system '{self.name}': {sizes}>"

    # --- helpers ------------------------------------------------------------------------------------------------

    def _key(self, name: str, frame: Any, axes: str) -> tuple[str, Any, str]:
        if name in FUNCTIONS:
            return name, None, ""
        if name not in FRAME_FUNCTIONS:
            raise unknown("function", name, [*FUNCTIONS, *FRAME_FUNCTIONS])
        if axes not in ("body", "world"):
            raise ArgumentError(f"axes are {axes!r}; needed: 'body' (the frame's own) or 'world'.")
        return name, frame if isinstance(frame, str) else self.layout.frame(frame), axes

    def _trace(self, name: str, frame: Any, axes: str) -> ca.Function:
        if name in FUNCTIONS:
            return trace(self._description, name, *FUNCTIONS[name])
        arguments, of_frame = FRAME_FUNCTIONS[name]
        at = self.layout.frame(frame)
        return trace(self._description, name, arguments, lambda s: of_frame(s, at, axes))

    def _used(self, name: str, frame: Any = None, axes: str = "body", **arguments: Any) -> list[np.ndarray]:
        return [arguments[n] for n in self.function(name, frame, axes).name_in()]

    def _value(self, name: str, state: Any, u: Any = None, p: Any = None, **arguments: Any) -> Any:
        x = self._as_state(state)
        known = dict(q=x.q, v=x.v, t=np.array([x.t]), u=self._u(u), p=self._p(p), **arguments)
        return self.kernel(name)(*self._used(name, **known))

    def _about(self, frame: Any, name: str, axes: str, state: Any, p: Any = None, **arguments: Any) -> np.ndarray:
        x = self._as_state(state)
        known = dict(q=x.q, v=x.v, p=self._p(p), **arguments)
        return self.kernel(name, frame, axes)(*(known[n] for n in self.function(name, frame, axes).name_in()))

    def _as_state(self, state: Any) -> State:
        if isinstance(state, State):
            if state.layout is not self.layout:
                raise ArgumentError(
                    f"the state belongs to another system than '{self.name}'; make it with system.state(...)."
                )
            return state
        return self.state(state)

    def _velocities(self, x: Any, what: str) -> np.ndarray:
        """(nv,) from an array, or from a mapping by joint or velocity names (the rest zero)."""
        if isinstance(x, Mapping):
            return self.state(v=x).v
        x = np.asarray(x, dtype=float)
        if x.shape != (self.nv,):
            raise ArgumentError(
                f"{what} has shape {x.shape}; needed: ({self.nv},), that is {', '.join(self.v_names[:8])}."
            )
        return x

    def _carried(self, state: Any, wrenches: Mapping[Any, Any] | None, p: Any) -> np.ndarray:
        """Σ Jᵀ W."""
        total = np.zeros(self.nv)
        for frame, W in (wrenches or {}).items():
            W = np.asarray(W, dtype=float)
            if W.shape != (6,):
                raise ArgumentError(
                    f"the wrench on {frame!r} has shape {W.shape}; needed: six numbers, (moment; force)."
                )
            total += self.jacobian(state, frame, p=p).T @ W
        return total

    def _u(self, u: Any) -> np.ndarray:
        zero = {name: np.zeros(n) for name, n in self._inputs.items()}
        return self._vector(u, zero, "input", len(self.u_names))

    def _p(self, p: Any) -> np.ndarray:
        return self._vector(p, self.parameters, "parameter", len(self.p_names))

    def _vector(self, given: Any, start: dict[str, np.ndarray], kind: str, n: int) -> np.ndarray:
        if given is None or isinstance(given, Mapping):
            values = dict(start)
            for name, value in (given or {}).items():
                values[name] = self._sized(name, value, start, kind)
            return vector_of(values)
        x = np.asarray(given, dtype=float)
        if x.shape != (n,):
            raise ArgumentError(
                f"the {kind}s have shape {x.shape}; needed: ({n},), that is {', '.join(start) or 'none'}."
            )
        return x

    def _sized(self, name: str, value: Any, known: Mapping[str, np.ndarray], kind: str) -> np.ndarray:
        if name not in known:
            raise unknown(kind, name, known)
        x = np.atleast_1d(np.asarray(value, dtype=float))
        if x.shape != known[name].shape:
            raise ArgumentError(f"{kind} '{name}' is given {x.size} number(s); needed: {known[name].size}.")
        return x


def _element_names(symbols: Mapping[str, ca.SX]) -> list[str]:
    return [name if x.numel() == 1 else f"{name}[{k}]" for name, x in symbols.items() for k in range(x.numel())]
