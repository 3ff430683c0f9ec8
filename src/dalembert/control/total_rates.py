"""Controllers in total rates (Jain & Rodriguez, section 8): one joint does not disturb another.

    ν̇ + C(q, ν) = ε,   νᵀC = 0

Control 8.1, rate feedback: brings the mechanism to rest.

    ε = −c ν                                   ½ νᵀν falls at the rate νᵀ c ν                                    (8.4)

Control 8.2, regulation of a frame's pose Y = (p, r₁, r₂, r₃), the r being its axes, to Ŷ:

    ε = −c ν + ℓ Jᵀ k (Ŷ − Y),  Ẏ = J v        ½ νᵀν + ½ (Ŷ − Y)ᵀ k (Ŷ − Y) falls at the rate νᵀ c ν              (8.6)

Departures. In (8.6) the sign before the error is wrong, and its gain c₂ stands on the wrong side of the operators: only
with k next to the error is there a Lyapunov function (the paper's c₂ does if it is a number). The moment of the three
axes is k Σ r_i × r̂_i. Gravity and the described forces, which the paper leaves out, are compensated.

Closed chains: constraint forces do no work, νᵀ Ãᵀλ = 0, so both functions fall at the same rates. Only the admissible
part of τ = m ε counts, and the inputs are the smallest with Kᵀ B u = Kᵀ τ.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import array, flag, number, vector
from dalembert.compiler import Kernel
from dalembert.control.actuator_forces import actuator_forces
from dalembert.control.allocator import Allocator
from dalembert.control.evidence import Verdict
from dalembert.control.native.workspace import FREE, Controller
from dalembert.control.plant import Plant
from dalembert.control.projected import IDLE
from dalembert.control.task import FrameGiven
from dalembert.errors import ArgumentError, AssemblyError, DalembertError
from dalembert.lazy import cached_property
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.recursions.body_jacobians import body_jacobian
from dalembert.recursions.innovations import Innovations
from dalembert.recursions.kinematics import in_world_axes
from dalembert.recursions.newton_euler import newton_euler
from dalembert.spatial import cross
from dalembert.symbols import array as symbolic
from dalembert.symbols import to_sx, zeros
from dalembert.system.inertia import check_mass
from dalembert.system.kernels import frame_key
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace

#: damping as users give it: a number, (nv,) numbers, or by velocity names
DampingGiven = Mapping[str, float] | ArrayLike


class TotalRateFeedback:
    """ε = −c ν (Control 8.1). Call it as u(t, state), s and a `State`; `forces(state)` are the generalized forces.

    system: a tree, or a closed chain whose constraints do not move with time. damping: c > 0 (1/s), a number, an array
    (nv,), or a mapping by velocity names (the rest 1). compensate=False leaves gravity and the described forces
    uncompensated; then `lyapunov` need not fall. p: parameters. The inputs must drive every motion of the mechanism: u
    is B⁻¹ τ where each velocity of a tree has a motor, else the smallest forces with the power of τ in every
    admissible motion. Runs in machine code.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> from dalembert.control import TotalRateFeedback
    >>> m = zoo.chain(2)
    >>> motors = [m.add_motor(f"M{k}", f"J{k}") for k in (1, 2)]
    >>> system = m.compile()
    >>> stop = TotalRateFeedback(system, damping=2.0)
    >>> run = da.simulate(system, system.state({"J1": 0.5}, v={"J2": 3.0}), 3.0, u=stop, period=0.01)
    >>> bool(stop.lyapunov(run.state(-1)) < 1e-4 * stop.lyapunov(run.state(0)))
    True
    """

    def __init__(self, system: System, *, damping: DampingGiven = 1.0, compensate: bool = True, p: Parameters = None):
        check_system(system)
        self.system, self.compensate, self.p = (
            system,
            flag(compensate, "compensate"),
            np.array(system.arguments.parameter_vector(p)),
        )
        self.damping = _gains(system, damping)
        if prescribed := system.description.prescribed:
            raise ArgumentError(
                f"'{system.name}' has kinematic inputs ({', '.join(prescribed)}), which prescribe motion; total rates "
                "are controlled by forces. Compile it without them."
            )

    def forces(self, state: StateGiven) -> np.ndarray:
        """τ = m ε at a state, (nv,), with the compensation of gravity and of the described forces at u = 0."""
        x = self.system.arguments.bare(state)
        check_mass(self.system, x, self.p)
        return self.system.kernels.at(self._kernel, x, None, self.p, {})

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at a state; the time t (s) matters only to forces that know it."""
        x = self.system.arguments.bare(state).replace(t=number(t, "t"))
        tau, plant = self.forces(x), self._drive
        if isinstance(plant, np.ndarray):
            return plant @ tau
        a = plant.take()
        if plant.run(a, x.t, x, FREE) != 0:
            raise DalembertError(f"no forces were found at t = {x.t:g} s: {Verdict.UNSOLVED.sentence}.")
        u = plant.plant.inputs(plant.forces(a, tau))
        plant.give(a)
        return u

    def lyapunov(self, state: StateGiven) -> float:
        """The Lyapunov function at a state: the kinetic energy, J."""
        return float(self.system.kinetic_energy(self.system.arguments.bare(state), p=self.p))

    def decrease(self, state: StateGiven) -> float:
        """Rate at which `lyapunov` falls at a state: νᵀ c ν, W."""
        nu = self.system.diagonal.total_rates(self.system.arguments.bare(state), p=self.p)
        return float(nu @ (self.damping * nu))

    @property
    def is_native(self) -> bool:
        """Whether it runs in compiled loops, `simulate`'s among them, without Python."""
        return self.system.backend == "native"

    def native_controller(self) -> Bound:
        """The controller as a native function with memory of its own: x is q, v and t, y the inputs."""
        drive, system = self._drive, self.system
        if isinstance(drive, np.ndarray):
            key = ("total_rate_inputs", *self._key(), drive.tobytes())
            kernel = system.kernels.custom(key, ("q", "v", "p", "t"), lambda s: drive @ self._traced(s))
            return Bound.of(kernel, {"p": self.p})
        a, idle = drive.template.copy(), Bound.of(IDLE.kernel, {})
        a.mode = FREE
        nq, n, nu = system.nq, system.nq + system.nv, len(system.u_names)
        controller = Controller(
            nq=nq, nu=nu, na=drive.plant.na, allocate=address("allocate"), allocation=a, trajectory=idle, forces=idle,
            pulls=1, pull=Bound.of(self._kernel, {"p": self.p}),
            inputs=np.array(drive.plant.actuators.inputs, dtype=np.int64),
        )  # fmt: skip
        bound = Bound.around(address("follow"), np.zeros(n + 1), np.zeros(nu), controller, n, self)
        bound.slices = {"q": slice(nq), "v": slice(nq, n), "t": slice(n, n + 1)}
        return bound

    @cached_property
    def _kernel(self) -> Kernel:
        """The compiled form of `forces`."""
        return self.system.kernels.custom(("total_rate_forces", *self._key()), ("q", "v", "p", "t"), self._traced)

    def _key(self) -> tuple[object, ...]:
        """What tells this law from others of the same system."""
        return self.compensate, self.damping.tobytes()

    def _traced(self, s: Trace) -> np.ndarray:
        """τ = m (−c ν), and what is compensated: g − Q at u = 0."""
        factor = Innovations(s.at)
        tau = factor.m(-self.damping * factor.m_transposed(s.v)) + self._wanted(s)
        if not self.compensate:
            return tau
        still = s.tree.moving(s.q, zeros(s.tree.nv))
        held = newton_euler(still, zeros(s.tree.nv), s.d.gravity, s.load.wrenches) - s.load.tau
        u = s.sx["u"]
        if u.numel():
            held = symbolic(ca.densify(ca.substitute(to_sx(held), u, ca.SX.zeros(u.shape))))
        return tau + held

    def _wanted(self, s: Trace) -> np.ndarray | float:
        """Forces towards a goal."""
        return 0.0

    @cached_property
    def _drive(self) -> np.ndarray | Allocator:
        """B⁻¹ of a tree whose inputs act the same way everywhere, so that u = B⁻¹ τ; else the allocation of forces."""
        system = self.system
        plant = Plant(system, system.u_names or None, p=self.p)
        try:
            somewhere = system.assemble({}, p=self.p) if system.rows.of else system.state()
            self._check_reach(somewhere)
        except AssemblyError:
            pass  # no position is known: u is the nearest there is wherever the run goes
        if not system.rows.of:
            rng = np.random.default_rng(0)
            found = [system.plus(system.state(), rng.uniform(-1, 1, system.nv)) for _ in range(2)]
            one, two = (plant.values(0.0, system.state(q))[4] for q in found)
            if one.shape[0] == one.shape[1] and np.abs(one - two).max(initial=0.0) <= 1e-12 * np.abs(one).max():
                return np.linalg.inv(one)
        return Allocator(plant)

    def _check_reach(self, x: State) -> None:
        """Refuse inputs that leave motions of the mechanism without a force."""
        name = self.system.name
        if not self.system.u_names:
            idle = ", ".join(self.system.v_names)
            raise ArgumentError(
                f"{type(self).__name__} needs forces for every motion of '{name}', but nothing drives {idle}; add "
                "motors with add_motor(name, joint), or use forces(state) instead of inputs."
            )
        found = actuator_forces(self.system, x, actuated=self.system.u_names, p=self.p)
        if found.reach < found.mobility:
            raise ArgumentError(
                f"{type(self).__name__} needs forces for every motion of '{name}', but its inputs drive {found.reach} "
                f"of {found.mobility}: {found.message} Add motors with add_motor(name, joint), or use forces(state)."
            )


class PoseRegulation(TotalRateFeedback):
    """ε = −c ν + ℓ Jᵀ k (Ŷ − Y) (Control 8.2): a frame goes to a pose and stays there.

    system, damping, compensate, p, and t and state (a `State`) of the calls: as in `TotalRateFeedback`. frame: a frame,
    body or name. target: its pose, (4, 4), or position, (3,), in the ground. stiffness: N/m, and N m for the axes (not
    used for a position).

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

    def _key(self) -> tuple[object, ...]:
        given = self.stiffness.tobytes(), self.target.tobytes(), self.target.shape
        return *super()._key(), frame_key(self.frame), *given

    def _wanted(self, s: Trace) -> np.ndarray:
        T, W = s.state.pose(self.frame), zeros(6)
        if self.target.shape == (3,):
            W[3:] = self.stiffness[0] * (self.target - T.p)
        else:
            axes = zip(T.R.T, self.target[:3, :3].T)
            W[:3] = self.stiffness[1] * sum((cross(r, wanted) for r, wanted in axes), zeros(3))  # Σ r × r̂
            W[3:] = self.stiffness[0] * (self.target[:3, 3] - T.p)
        link, offset, R = s.frame(self.frame, "world")
        return in_world_axes(R, body_jacobian(s.at, link, offset)).T @ W


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
