"""Controllers in total rates (Jain & Rodriguez, section 8): one joint does not disturb another.

    ν̇ + C(q, ν) = ε,   νᵀC = 0

Control 8.1, rate feedback: brings the mechanism to rest.

    ε = −c ν                                   ½ νᵀν falls at the rate νᵀ c ν                                    (8.4)

Control 8.2, regulation of a frame's pose Y = (p, r₁, r₂, r₃), the r being its axes, to Ŷ:

    ε = −c ν + ℓ Jᵀ k (Ŷ − Y),  Ẏ = J v        ½ νᵀν + ½ (Ŷ − Y)ᵀ k (Ŷ − Y) falls at the rate νᵀ c ν              (8.6)

Departures. In (8.6) the sign before the error is wrong, and its gain c₂ stands on the wrong side of the operators: only
with k next to the error is there a Lyapunov function (the paper's c₂ does if it is a number). The moment of the three
axes is k Σ r_i × r̂_i. Gravity and the described forces, which the paper leaves out, are compensated.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import array, flag, number, vector
from dalembert.control.task import FrameGiven
from dalembert.errors import ArgumentError
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.system.state import State
from dalembert.system.system import System

#: damping as users give it: a number, (nv,) numbers, or by velocity names
DampingGiven = Mapping[str, float] | ArrayLike


class TotalRateFeedback:
    """ε = −c ν (Control 8.1). Call it as u(t, state); `forces(state)` are the generalized forces.

    system: an open chain. damping: c > 0 (1/s), a number, an array (nv,), or a mapping by velocity names (the rest 1).
    compensate=False leaves gravity and the described forces uncompensated; then `lyapunov` need not fall. p:
    parameters. For inputs, every velocity must have a motor.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> from dalembert.control import TotalRateFeedback
    >>> m = zoo.chain(2)
    >>> motors = [m.add_motor(f"M{k}", f"J{k}") for k in (1, 2)]
    >>> system = m.compile()
    >>> stop = TotalRateFeedback(system, damping=2.0)
    >>> run = da.simulate(system, system.state({"J1": 0.5}, v={"J2": 3.0}), 3.0, u=stop, hold=0.01)
    >>> bool(stop.lyapunov(run.state(-1)) < 1e-4 * stop.lyapunov(run.state(0)))
    True
    """

    def __init__(self, system: System, *, damping: DampingGiven = 1.0, compensate: bool = True, p: Parameters = None):
        check_system(system)
        system.parameter_vector(p)
        self.system, self.compensate, self.p = system, flag(compensate, "compensate"), p
        self.damping = _gains(system, damping)
        system.diagonal.check()

    def forces(self, state: StateGiven) -> np.ndarray:
        """τ = m ε at a state, (nv,), with the compensation of gravity and of the described forces at u = 0."""
        x, d = self.system.as_state(state), self.system.diagonal
        tau = d.joint_forces(x, -self.damping * d.total_rates(x, p=self.p), p=self.p) + self._wanted(x)
        if self.compensate:
            tau = tau + self.system.gravity_vector(x, p=self.p) - self.system.applied_forces(x, p=self.p)
        return tau

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at a state; they do not depend on the time t."""
        number(t, "t")
        return self._inputs @ self.forces(state)

    def lyapunov(self, state: StateGiven) -> float:
        """The Lyapunov function at a state: the kinetic energy, J."""
        return float(self.system.kinetic_energy(state, p=self.p))

    def decrease(self, state: StateGiven) -> float:
        """Rate at which `lyapunov` falls at a state: νᵀ c ν, W."""
        nu = self.system.diagonal.total_rates(self.system.as_state(state), p=self.p)
        return float(nu @ (self.damping * nu))

    def _wanted(self, x: State) -> np.ndarray | float:
        """Forces towards a goal."""
        return 0.0

    @cached_property
    def _inputs(self) -> np.ndarray:
        """u = B⁺ τ, with Q = Q₀ + B u: B must reach every velocity, and always in the same way."""
        system, units = self.system, np.eye(len(self.system.u_names))
        rng, found = np.random.default_rng(0), []
        for _ in range(2):
            x = system.state(system.plus(system.state(), rng.uniform(-1, 1, system.nv)))
            zero = system.applied_forces(x, p=self.p)
            columns = [system.applied_forces(x, u=e, p=self.p) - zero for e in units]
            found.append(np.array(columns).reshape(len(units), system.nv).T)
        B = found[0]
        idle = [name for name, row in zip(system.v_names, B) if not row.any()]
        if idle or np.linalg.matrix_rank(B) < system.nv:
            what = f"nothing drives {', '.join(idle)}" if idle else "its inputs do not drive each velocity by itself"
            raise ArgumentError(
                f"{type(self).__name__} needs a motor for every velocity of '{system.name}', but {what}; add motors "
                "with add_motor(name, joint), or use forces(state) instead of inputs."
            )
        if np.abs(B - found[1]).max() > 1e-12 * np.abs(B).max():
            raise ArgumentError(
                f"inputs of '{system.name}' act differently in different positions; {type(self).__name__} takes motors "
                "on joints (add_motor). Use forces(state) and turn them into your inputs."
            )
        return np.linalg.pinv(B)


class PoseRegulation(TotalRateFeedback):
    """ε = −c ν + ℓ Jᵀ k (Ŷ − Y) (Control 8.2): a frame goes to a pose and stays there.

    system, damping, compensate, p: as in `TotalRateFeedback`. frame: a frame, body or name. target: its pose, (4, 4),
    or position, (3,), in the ground. stiffness: N/m, and N m for the axes (not used for a position).

    The motion ends at a pose where Jᵀ k (Ŷ − Y) = 0: the target, or, on a path of measure zero, a singular position or
    an orientation half a turn away.
    """

    def __init__(
        self,
        system: System,
        frame: FrameGiven,
        target: ArrayLike,
        *,
        damping: DampingGiven = 1.0,
        stiffness: tuple[float, float] = (1.0, 1.0),
        compensate: bool = True,
        p: Parameters = None,
    ):
        super().__init__(system, damping=damping, compensate=compensate, p=p)
        self.frame, self.target = system.layout.frame(frame), array(target, None, "the target")
        if self.target.shape not in ((3,), (4, 4)):
            raise ArgumentError(f"the target has shape {self.target.shape}; needed: a pose (4, 4) or a position (3,).")
        if self.target.shape == (4, 4) and not np.allclose(self.target[:3, :3] @ self.target[:3, :3].T, np.eye(3)):
            raise ArgumentError("the target's rotation is not one: its columns must be orthonormal.")
        self.stiffness = vector(stiffness, 2, "stiffness")
        if not (self.stiffness > 0).all():
            raise ArgumentError(f"stiffness is {stiffness!r}; needed: two positive numbers, N/m and N m.")

    def error(self, state: StateGiven) -> np.ndarray:
        """Ŷ − Y at a state: (3,) of the position, and for a pose (12,) with the three axes."""
        T = self.system.pose(state, self.frame, p=self.p)
        if self.target.shape == (3,):
            return self.target - T[:3, 3]
        return np.concatenate([self.target[:3, 3] - T[:3, 3], (self.target - T)[:3, :3].T.ravel()])

    def lyapunov(self, state: StateGiven) -> float:
        """The Lyapunov function at a state: kinetic energy and half the squared error times the stiffness, J."""
        e = self.error(state)
        weights = np.repeat(self.stiffness, [3, len(e) - 3])
        return float(self.system.kinetic_energy(state, p=self.p) + 0.5 * e @ (weights * e))

    def _wanted(self, x: State) -> np.ndarray:
        T = self.system.pose(x, self.frame, p=self.p)
        W = np.zeros(6)
        if self.target.shape == (3,):
            W[3:] = self.stiffness[0] * (self.target - T[:3, 3])
        else:
            W[:3] = self.stiffness[1] * np.cross(T[:3, :3], self.target[:3, :3], axis=0).sum(axis=1)  # Σ r × r̂
            W[3:] = self.stiffness[0] * (self.target - T)[:3, 3]
        return self.system.jacobian(x, self.frame, axes="world", p=self.p).T @ W


def _gains(system: System, damping: DampingGiven) -> np.ndarray:
    """(nv,) positive damping, 1/s."""
    if isinstance(damping, Mapping):
        c = system.state(v=np.ones(system.nv)).replace(v=damping).v
    else:
        c = array(damping, None, "damping")
        if c.shape not in ((), (system.nv,)):
            raise ArgumentError(f"damping has shape {c.shape}; needed: a number, or ({system.nv},), one per velocity.")
        c = np.full(system.nv, c) if c.shape == () else c
    if not (np.isfinite(c).all() and (c > 0).all()):
        raise ArgumentError(f"damping is {damping!r}; needed: positive numbers (1/s), one or one per velocity.")
    return c
