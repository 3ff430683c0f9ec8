"""The diagonal equations of motion of a system, asked by name: ν̇ + C(q, ν) = ε (Jain & Rodriguez)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.dynamics import carried
from dalembert.system.inertia import check_mass
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.system.system import System


class Diagonal:
    """M = m mᵀ by the innovations factor m, in O(N); `system.diagonal`.

        ν = mᵀ v     total rates of the joints; the kinetic energy is ½ νᵀν
        ε = m⁻¹ τ    working forces; their power is νᵀε
        ν̇ + C(q, ν) = ε,   νᵀ C(q, ν) = 0

    With `normalized=False` the variables are ξ = B^−ᵀ ν and κ = B ε, D = B Bᵀ the block-diagonal joint inertia:
    D ξ̇ + C(q, ξ) = κ. ξ is in the units of v, κ in those of τ. A floating base, trees, all joints, armature, described
    forces and gravity are included; constraints are not, except in `whitened` and `delassus`.

    In all methods `state` is a `State`, a mapping of names to positions, or q (nq,);
    `p` are parameters and `u` inputs, by name or as an array; `tau` are joint forces τ, (nv,) or by name
    of velocity; `y` is a vector as `pack` makes it, at the time `t` (s).

    >>> from dalembert import zoo
    >>> system = zoo.chain(3).compile()
    >>> x = system.state({"J1": 0.3}, v={"J1": 1.0, "J3": -2.0})
    >>> nu = system.diagonal.total_rates(x)
    >>> bool(np.isclose(0.5 * nu @ nu, system.kinetic_energy(x)))
    True
    >>> system.diagonal.joint_rates(x, nu).round(12)
    array([ 1.,  0., -2.])
    """

    def __init__(self, system: System):
        self.system = system

    # --- variables --------------------------------------------------------------------------------------------------

    def total_rates(self, state: StateGiven, *, normalized: bool = True, p: Parameters = None) -> np.ndarray:
        """ν = mᵀ v (or ξ) of the state's velocity, (nv,): table 1."""
        return self._value("total_rates", normalized, state, p=p)

    def joint_rates(
        self, state: StateGiven, rates: Any, *, normalized: bool = True, p: Parameters = None
    ) -> np.ndarray:
        """v = m^−ᵀ ν (or of ξ), (nv,): table 1. Of the state only the position counts."""
        return self._value("joint_rates", normalized, state, dq=self._vector(rates, "rates"), p=p)

    def working_forces(
        self, state: StateGiven, tau: Any, *, normalized: bool = True, p: Parameters = None
    ) -> np.ndarray:
        """ε = m⁻¹ τ (or κ), (nv,): table 2. τ is an array or a mapping by velocity names."""
        return self._value(
            "working_forces", normalized, state, tau=self.system.arguments.velocity_vector(tau, "tau"), p=p
        )

    def joint_forces(
        self, state: StateGiven, working: Any, *, normalized: bool = True, p: Parameters = None
    ) -> np.ndarray:
        """τ = m ε (or of κ), (nv,): table 2."""
        return self._value("joint_forces", normalized, state, tau=self._vector(working, "working"), p=p)

    # --- the mass matrix --------------------------------------------------------------------------------------------

    def solve(self, state: StateGiven, x: Any, *, p: Parameters = None) -> np.ndarray:
        """M⁻¹ x, (nv,), without forming M."""
        check_mass(self.system, state, p)
        return self.system.evaluate("solve_mass", state, tau=self._vector(x, "x"), p=p)

    def log_determinant(self, state: StateGiven, *, p: Parameters = None) -> float:
        """Log det M."""
        check_mass(self.system, state, p)
        return float(self.system.evaluate("log_determinant", state, p=p))

    def whitened(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """Ã = A m^−ᵀ, (m, nv): the constraints in the coordinates ν, where the mass metric is the Euclidean one."""
        check_mass(self.system, state, p)
        return self.system.evaluate("whitened", state, p=p)

    def delassus(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """A M⁻¹ Aᵀ = Ã Ãᵀ, (m, m), without forming M: the inverse of the operational-space inertia."""
        check_mass(self.system, state, p)
        return self.system.evaluate("delassus", state, p=p)

    def mobility(self, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None) -> np.ndarray:
        """J M⁻¹ Jᵀ, (6, 6), of a frame: the twist a unit impulse gives it; the inverse of its operational inertia.

        In the frame's own ("body") or the ground's ("world") axes. Constraints do not count.
        """
        check_mass(self.system, state, p)
        return self.system.evaluate("mobility", state, frame=frame, axes=axes, p=p)

    # --- dynamics ---------------------------------------------------------------------------------------------------

    def coriolis(self, state: StateGiven, *, normalized: bool = True, p: Parameters = None) -> np.ndarray:
        """C(q, ν) (or C(q, ξ)) at the state's velocity, (nv,): algorithm 7.1. It does no work: νᵀ C(q, ν) = 0."""
        check_mass(self.system, state, p)
        return self._value("diagonal_coriolis", normalized, state, p=p)

    def acceleration(
        self,
        state: StateGiven,
        tau: Any = None,
        *,
        u: Inputs = None,
        p: Parameters = None,
        wrenches: Mapping[Any, Any] | None = None,
        normalized: bool = True,
    ) -> np.ndarray:
        """ν̇ (or ξ̇), (nv,), under τ, described forces, gravity and wrenches: algorithm 8.1, arguments as ABA's.

        Constraints act on the tree by their forces Aᵀλ, which do no work in total rates either: νᵀ Ãᵀλ = 0.
        """
        given = np.zeros(self.system.nv) if tau is None else self.system.arguments.velocity_vector(tau, "tau")
        given = given + carried(self.system, state, wrenches, p)
        check_mass(self.system, state, p)
        if self.system.rows.of:
            held = self.system.acceleration(state, given, u=u, p=p).multipliers
            given = given + self.system.constraint_matrix(state, p=p).T @ held
        return self._value("diagonal_dynamics", normalized, state, tau=given, u=u, p=p)

    # --- in time ----------------------------------------------------------------------------------------------------

    def right_hand_side(
        self, *, u: Inputs = None, p: Parameters = None, normalized: bool = True
    ) -> Callable[[float, np.ndarray], np.ndarray]:
        """f(t, y) = ẏ of y = (q, ν) (or (q, ξ)), for an integrator; u are constant inputs. See `pack`, `unpack`.

        >>> from dalembert import zoo
        >>> from scipy.integrate import solve_ivp
        >>> system = zoo.chain(2).compile()
        >>> d, x = system.diagonal, system.state({"J1": 0.5})
        >>> run = solve_ivp(d.right_hand_side(), (0, 1), d.pack(x), rtol=1e-10, atol=1e-10)
        >>> end = d.unpack(run.y[:, -1], t=1.0)
        >>> bool(abs(system.energy(end) - system.energy(x)) < 1e-7)
        True
        """
        self.check()
        kernel = self.system.kernel("diagonal_ode" if normalized else "diagonal_ode_xi")
        fixed = {"u": self.system.arguments.input_vector(u), "p": self.system.arguments.parameter_vector(p)}
        nq = self.system.nq

        def f(t: float, y: np.ndarray) -> np.ndarray:
            given = {"q": y[:nq], "v": y[nq:], "t": np.array([t]), **fixed}
            rates, change, *_ = kernel(*(given[name] for name in kernel.names_in))
            return np.concatenate([rates, change])

        return f

    def pack(self, state: StateGiven, *, normalized: bool = True, p: Parameters = None) -> np.ndarray:
        """(q, ν) (or (q, ξ)) of a state, (nq + nv,)."""
        x = self.system.arguments.as_state(state)
        return np.concatenate([x.q, self.total_rates(x, normalized=normalized, p=p)])

    def unpack(self, y: Any, *, t: float = 0.0, normalized: bool = True, p: Parameters = None) -> State:
        """The state of (q, ν) (or (q, ξ)); quaternions are normalized."""
        y = np.asarray(y, dtype=float)
        n = self.system.nq + self.system.nv
        if y.shape != (n,):
            raise ArgumentError(f"y has shape {y.shape}; needed: ({n},), positions and then total rates.")
        x = self.system.arguments.belonging(self.system.state(y[: self.system.nq], t=t), p)
        return x.replace(v=self.joint_rates(x, y[self.system.nq :], normalized=normalized, p=p))

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _value(self, name: str, normalized: bool, state: StateGiven, **more: Any) -> Any:
        return self.system.evaluate(name if normalized else f"{name}_xi", state, **more)

    def _vector(self, x: Any, what: str) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        if x.shape != (self.system.nv,):
            raise ArgumentError(f"{what} has shape {x.shape}; needed: ({self.system.nv},), one number per velocity.")
        return x

    def check(self) -> None:
        """Refuse a system with constraints, to which an integration of (q, ν) does not keep."""
        if self.system.rows.of:
            raise ArgumentError(
                f"'{self.system.name}' has constraints ({', '.join(dict.fromkeys(self.system.rows.of))}), and the "
                "diagonal equations in time are those of a tree: nothing would hold (q, ν) on the constraints. "
                "Simulate it with formulation='auto', which is the same motion; system.diagonal.total_rates(state) and "
                "system.diagonal.acceleration(state) give ν and ν̇ at its states."
            )
