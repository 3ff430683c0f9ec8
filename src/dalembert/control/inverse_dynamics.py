"""Inverse dynamics of closed chains: the smallest actuator forces for a motion (Aghili 21, 43, 46-47, 53-62).

The equations are those of `law`. A solution exists for every admissible motion just where KᵀB has as many independent
rows as the mechanism has freedoms: that is (56), which with N ∩ N⊥ = 0 says that no admissible motion leaves all
actuators at rest (62). The motions K z with zᵀKᵀB = 0 are those that no actuator can drive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.limits import Bounds, least_change, nearest_in_bounds
from dalembert.control.native.law import (
    CONSTANT,
    FREE,
    GIVEN,
    MASS_COST,
    MOBILITY,
    REACH,
    STATUS,
    TASK,
    WEIGHTED,
    carried,
    options_of,
    shortest_forces,
    update,
)
from dalembert.control.native.room import make_memory
from dalembert.control.plant import Plant
from dalembert.errors import ArgumentError, unknown
from dalembert.outcome import Spoken


class Verdict(Spoken):
    """How the search for actuator forces ended."""

    DONE = 0, "the motion is produced"
    UNREACHED = 1, "the actuators cannot produce this motion"
    LIMITED = 2, "the motion is possible, but not within the limits"
    INADMISSIBLE = 3, "the constraints do not allow this acceleration; the nearest they allow is produced"
    UNSOLVED = 4, "the mass matrix is not positive definite, the cost of forces not definite, or a number not finite"


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Actuator forces for a motion, with what they cost, what the constraints carry, and what cannot be done."""

    u: np.ndarray  # (na,) N or N m, in the order of `names`
    names: tuple[str, ...]  # of the actuators
    vdot: np.ndarray  # (nv,) the acceleration that results
    multipliers: np.ndarray  # (m,) the shortest λ
    force: np.ndarray  # (nv,) Aᵀλ
    inertia: np.ndarray  # (na,) the part of u that accelerates, before limits
    coriolis: np.ndarray  # (na,) that answers Coriolis and centrifugal terms
    gravity: np.ndarray  # (na,) that holds the weight
    passive: np.ndarray  # (na,) that works against springs, dampers and other described forces
    cost: float  # √(uᵀG u)
    mobility: int  # nv − rank A
    reach: int  # rank of KᵀB: freedoms the actuators can drive
    undriven: tuple[dict[str, float], ...]  # motions that no actuator drives, by velocity, largest entry 1
    missing: dict[str, float]  # the part of the acceleration that does not come about
    inadmissible: float  # what was asked misses the constraints by this: ‖A v̇ + γ‖∞, or in the entries named
    active: tuple[str, ...]  # limits that hold u where it is, or that contradict each other
    status: Verdict

    @property
    def success(self) -> bool:
        """Whether the motion that was asked for is produced."""
        return self.status == Verdict.DONE

    @property
    def redundancy(self) -> int:
        """Actuators beyond what the motion needs: as many independent forces change nothing but constraint forces."""
        return len(self.names) - self.reach

    @property
    def message(self) -> str:
        """The verdict in words, with names."""
        text = self.status.sentence
        if self.status == Verdict.UNREACHED and self.undriven:
            text += ": none of them drives " + "; nor ".join(_motion(z) for z in self.undriven)
        if self.status == Verdict.LIMITED:
            text += f": {', '.join(self.active)} contradict it"
        return text

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise unknown("actuator", name, self.names)
        return float(self.u[self.names.index(name)])

    def __repr__(self) -> str:
        forces = ", ".join(f"{n} = {x:.6g}" for n, x in zip(self.names, self.u))
        return f"<inverse dynamics: {forces}; {self.reach} of {self.mobility} freedoms driven; {self.message}>"


def inverse_dynamics(
    system: Any,
    state: Any,
    acceleration: Any = None,
    *,
    actuated: Iterable[str] | None = None,
    metric: Any = "euclidean",
    limits: Mapping[str, Any] | float | None = None,
    reactions: Mapping[str, Any] | None = None,
    p: Any = None,
    active: Mapping[str, bool] | None = None,
    tolerance: float = 1e-9,
) -> InverseDynamics:
    """The smallest actuator forces that give a constrained mechanism an acceleration.

    acceleration: v̇, (nv,), whose forbidden part is removed in the mass metric and reported; or by name, and the rest
    follows, as small as the constraints allow; None is the smallest of all, v̇ = 0 at rest. actuated: names of inputs,
    joints or velocities; default: the inputs, or all velocities if there are none.

    metric: what a small force is. "euclidean": Σu². {name: scale}: Σ(u/scale)², for unlike units or actuators (limits,
    a characteristic length). "mass": τᵀM⁻¹τ of τ = B u. Weights W, (nv,) or (nv, nv), of velocities: τᵀW⁻¹τ (47),
    such as `analysis.subspaces.characteristic_length` makes them. limits: {actuator: bound or (lower, upper)}, or one
    bound for all. reactions: the same for multipliers by row ("loop.row"), say (0, inf) for a contact that can only
    push. active: {constraint: False} switches constraints off. tolerance: of the rank of A.

    Trouble is in the result's status and message, with names.

    >>> from dalembert import control, zoo
    >>> system = zoo.five_bar().compile()
    >>> state = system.state(*zoo.five_bar_start(0.5))
    >>> lift = control.inverse_dynamics(system, state, {"A": 1.0})
    >>> lift.success, lift.reach, lift.redundancy
    (True, 2, 0)
    >>> one = control.inverse_dynamics(system, state, {"A": 1.0}, actuated=["left"])
    >>> one.reach, one.mobility, one.status.name
    (1, 2, 'UNREACHED')
    """
    solver = Allocator(Plant(system, actuated, p=p), metric, limits, reactions, tolerance)
    x = system._as_state(state)
    solver.switch(active)
    if acceleration is None or isinstance(acceleration, Mapping):
        off = solver.complete(x, acceleration or {})
        return solver.answer(x, off=off)
    solver.room.asked[:] = system._velocities(acceleration, "acceleration")
    return solver.answer(x)


class Allocator:
    """A plant with a metric and limits: runs the kernel, then keeps the limits and gathers the evidence."""

    def __init__(
        self,
        plant: Plant,
        metric: Any = "euclidean",
        limits: Any = None,
        reactions: Any = None,
        tolerance: float = 1e-9,
        select: Iterable[int] = (),
        damping: float = 0.0,
    ):
        self.plant, self.system = plant, plant.system
        memory = make_memory(plant, list(select), damping)
        self.room, self._memory = memory.room, memory[:3]
        self.options = options_of(plant.system, tolerance)
        self.kind = self._metric(metric)
        self.bounds = Bounds.of(plant.actuators.names, limits, "actuator")
        self.reactions = Bounds.of(plant.system.row_names, reactions, "row")
        self.bounded = limits is not None or reactions is not None

    def switch(self, active: Mapping[str, bool] | None) -> None:
        """Switch constraints on and off."""
        self.room.on[:] = self.system.active_rows(active)

    def run(self, t: float, state: Any, mode: int) -> int:
        """The native update; u, v̇ and ranks are then in the room. Limits are not kept yet."""
        plant = self.plant
        plant.place(t, state)
        return update(plant.kernel.address, plant.x, plant.y, plant.w, *self._memory, self.options, mode, self.kind)

    def allocate(self) -> None:
        """The shortest forces for what stands in room.need, into room.u."""
        r, p = self.room, int(self.room.info[MOBILITY])
        shortest_forces(r.K, r.B, r.need, r.cost, p, r.N, r.ints[1], r.marks[1], r.right[1], r.u)

    def _carry(self) -> None:
        """What the constraints carry with room.need and room.u."""
        r, w = self.room, self.room.work
        carried(r.B, r.u, r.need, w.factor, w.upper, w.n1, w.force, w.multipliers)

    def limited(self) -> tuple[np.ndarray, tuple[str, ...], bool]:
        """u within the limits, the limits that matter, and whether the motion is kept."""
        room, (Z, N, r) = self.room, self.null_forces()
        start = room.u.copy()
        self._carry()
        if not self.bounded or (self.bounds.hold(start) and self.reactions.hold(room.work.multipliers)):
            return start, (), True
        null = self._lambda(-room.B @ Z)
        blocks = [self.bounds.rows(start, Z), self.reactions.rows(room.work.multipliers, null)]
        G, h = np.vstack([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
        names = [*blocks[0][2], *blocks[1][2]]
        w, z = least_change(G, h)
        acting = tuple(name for name, weight in zip(names, z) if weight > 1e-9 * max(z.max(), 1e-300))
        if w is not None:
            return start + Z @ w, acting, True
        return nearest_in_bounds(N, r, self.bounds, start), acting, False

    def null_forces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Z (na, nz), forces that move nothing, orthonormal in the cost; N = KᵀB and r = Kᵀ(M v̇ − f)."""
        room, p = self.room, int(self.room.info[MOBILITY])
        N, r = room.K[:p] @ room.B, room.K[:p] @ room.need
        U = np.triu(room.cost)
        _, _, Vt = np.linalg.svd(np.linalg.solve(U.T, N.T).T)
        return np.linalg.solve(U, Vt[int(room.info[REACH]) :].T), N, r

    def complete(self, state: Any, named: Mapping[str, Any]) -> float:
        """The smallest admissible v̇ with the named entries, into room.asked; returns by how much they are missed."""
        room, layout, names = self.room, self.system.layout, self.system.v_names
        values = self.system._velocities(named, "acceleration")
        chosen = [
            k
            for key in named
            for k in (range(len(names))[layout.v_slice(key)] if key not in names else [names.index(key)])
        ]
        room.asked[:] = 0.0
        if self.run(state.t, state, GIVEN) != 0:
            return 0.0
        K, c = room.K[: room.info[MOBILITY]].T, room.motion
        y = np.linalg.lstsq(K[chosen], values[chosen] - c[chosen], rcond=1e-10)[0]
        room.asked[:] = c + K @ y
        return float(np.abs(room.asked[chosen] - values[chosen]).max(initial=0.0))

    def answer(self, state: Any, mode: int = GIVEN, off: float | None = None) -> InverseDynamics:
        """Forces with all the evidence; off: how far from admissible what was asked is, where that is known."""
        room = self.room
        if self.run(state.t, state, mode) != 0:
            return self._nothing()
        wanted = room.motion.copy()
        if off is None:
            off = float(np.abs(room.work.A @ room.asked + room.work.gamma).max(initial=0.0))
        p, reach = int(room.info[MOBILITY]), int(room.info[REACH])
        u, acting, kept = self.limited()
        parts = self._parts(state)
        _, N, r = self.null_forces()
        short = room.K[:p].T @ (N @ u - r)  # v̇ that results, less that wanted: KᵀMK = 1
        room.u[:], room.motion[:] = u, wanted + short
        room.need[:] += room.work.M @ short
        self._carry()
        left = np.linalg.svd(N)[0]
        undriven = tuple(self._named(room.K[:p].T @ left[:, k]) for k in range(reach, p))
        scale = 1e-8 * (1.0 + np.abs(wanted).max(initial=0.0))
        lost = np.abs(short).max(initial=0.0) > scale
        size = (
            np.abs(room.work.gamma).max(initial=0.0) + np.abs(room.work.A).max(initial=0.0) * np.abs(room.asked).max()
        )
        status = Verdict.DONE
        if lost:
            status = Verdict.LIMITED if not kept else Verdict.UNREACHED
        elif not kept:
            status = Verdict.LIMITED
        elif mode == TASK and self._task_missed():
            status = Verdict.UNREACHED
        elif off > 1e-7 * max(size, 1e-300):
            status = Verdict.INADMISSIBLE
        return InverseDynamics(
            u=u.copy(),
            names=self.plant.actuators.names,
            vdot=room.motion.copy(),
            multipliers=room.work.multipliers.copy(),
            force=room.work.force.copy(),
            **parts,
            cost=float(np.linalg.norm(np.triu(room.cost) @ u)),
            mobility=p,
            reach=reach,
            undriven=undriven,
            missing=self._named(-short, relative=False) if lost else {},
            inadmissible=off,
            active=acting,
            status=status,
        )

    def _task_missed(self) -> bool:
        """Whether the task's acceleration is not what was wished."""
        r, nt = self.room, self.plant.nt
        P, D = np.split(r.gains, 2)
        wish = r.wish[2 * nt :] + P @ (r.wish[:nt] - r.theta) + D @ (r.wish[nt : 2 * nt] - r.rate)
        return bool(
            np.abs(r.J @ r.motion + r.bias - wish).max(initial=0.0) > 1e-7 * (1.0 + np.abs(wish).max(initial=0.0))
        )

    def _parts(self, state: Any) -> dict[str, np.ndarray]:
        """u by cause: the shortest forces are linear in what is needed (before limits)."""
        room, system, p = self.room, self.system, self.plant.p
        gravity = system.gravity_vector(state, p=p)
        coriolis = system.coriolis_vector(state, p=p)
        need = room.need.copy()
        inertia = room.work.M @ room.motion
        passive = need - inertia - coriolis - gravity
        parts = {"inertia": inertia, "coriolis": coriolis, "gravity": gravity, "passive": passive}
        for name, part in parts.items():
            room.need[:] = part
            self.allocate()
            parts[name] = room.u.copy()
        room.need[:] = need
        return parts

    def _lambda(self, forces: np.ndarray) -> np.ndarray:
        """The shortest λ of each column of Aᵀλ."""
        return (
            np.linalg.lstsq(self.room.work.A.T, forces, rcond=1e-10)[0]
            if self.plant.m
            else np.zeros((0, forces.shape[1]))
        )

    def _named(self, motion: np.ndarray, relative: bool = True) -> dict[str, float]:
        largest = np.abs(motion).max(initial=0.0)
        if largest == 0.0:
            return {}
        k = int(np.argmax(np.abs(motion)))
        scaled = motion / motion[k] if relative else motion
        return {
            name: float(np.round(x, 12)) if relative else float(x)
            for name, x, y in zip(self.system.v_names, scaled, motion)
            if abs(y) > 1e-9 * largest
        }

    def _nothing(self) -> InverseDynamics:
        nan = np.full(self.plant.na, np.nan)
        n, m = np.full(self.plant.n, np.nan), np.full(self.plant.m, np.nan)
        return InverseDynamics(
            nan,
            self.plant.actuators.names,
            n,
            m,
            n,
            nan,
            nan,
            nan,
            nan,
            np.nan,
            0,
            0,
            (),
            {},
            np.nan,
            (),
            Verdict.UNSOLVED,
        )

    def _metric(self, metric: Any) -> int:
        room, names = self.room, self.plant.actuators.names
        if isinstance(metric, Mapping):
            for name, scale in metric.items():
                if name not in names:
                    raise unknown("actuator", name, names, "the metric")
                if not float(scale) > 0:
                    raise ArgumentError(f"the scale of actuator '{name}' is {scale}; needed: a positive number.")
                room.cost[names.index(name), names.index(name)] = 1.0 / float(scale)
            return CONSTANT
        if isinstance(metric, str):
            if metric not in ("euclidean", "mass"):
                raise unknown("metric", metric, ["euclidean", "mass"])
            return CONSTANT if metric == "euclidean" else MASS_COST
        self.system._metric(metric, room.weight)
        return WEIGHTED


def _motion(z: Mapping[str, float]) -> str:
    return "(" + ", ".join(f"{name}: {x:.3g}" for name, x in list(z.items())[:6]) + ")"


__all__ = ["FREE", "GIVEN", "STATUS", "TASK", "Allocator", "InverseDynamics", "Verdict", "inverse_dynamics"]
