"""Results of a search for actuator forces: the forces by cause, their cost, and the motions they cannot produce."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.control.allocator import INADMISSIBLE, Allocator
from dalembert.control.bounds import BROKEN
from dalembert.control.native.workspace import GIVEN, TASK, Allocation
from dalembert.control.reachability import PositionSearch
from dalembert.errors import unknown
from dalembert.outcome import Spoken
from dalembert.rank import reach
from dalembert.system.state import State

ROUNDING = 1e-11  # of an acceleration that was itself computed, with constraints of some condition
LOST = 1e-8  # of its terms: what may be missing of the motion
RESOLVED = 1e-4  # of LOST: what forces that balance each other leave


class Verdict(Spoken):
    """How the search for actuator forces ended."""

    DONE = 0, "the motion is produced"
    UNREACHED = 1, "the actuators cannot produce this motion"
    LIMITED = 2, "the motion is possible, but not within the limits"
    INADMISSIBLE = 3, "the constraints do not allow this acceleration; the nearest they allow is produced"
    UNSOLVED = 4, "the mass matrix is not positive definite, the cost of forces not definite, or a number not finite"
    FORCES_MISSED = 5, "constraint forces asked for are not produced; motions asked for are"
    OUT_OF_REACH = 6, "the task is not reached: no position of the mechanism was found where it takes its reference"
    CONTRADICTED = 7, "no actuator forces keep all bounds; forces and motions come as near to theirs as they can"
    YIELDED = 8, "rows of the task yield to those of higher priority"
    DAMPED = 9, "the motion is damped next to a singular position"


@dataclass(frozen=True, eq=False)
class ActuatorForces:
    """Actuator forces for a motion, with their cost, the constraint forces, and the motions that cannot be produced.

    Condition numbers are over the singular values that count, and infinite where none does.
    """

    u: np.ndarray  # (na,) N or N m, in the order of `names`
    names: tuple[str, ...]  # of the actuators
    vdot: np.ndarray  # (nv,) the acceleration that results
    multipliers: np.ndarray  # (m,) the shortest λ
    rows: tuple[str, ...]  # their names
    force: np.ndarray  # (nv,) Aᵀλ
    inertia: np.ndarray  # (na,) the part of u that accelerates, before limits
    coriolis: np.ndarray  # (na,) that answers Coriolis and centrifugal terms
    gravity: np.ndarray  # (na,) that holds the weight
    passive: np.ndarray  # (na,) that works against springs, dampers and other described forces
    internal: np.ndarray  # (na,) that moves nothing and brings constraint forces to what is wanted, before limits
    limited: np.ndarray  # (na,) the change that limits make: u is the sum of these six
    cost: float  # √(uᵀG u)
    mobility: int  # nv − rank A
    reach: int  # rank of KᵀB: freedoms the actuators can drive
    task_rank: int  # rank of J K: rows of the task that can be followed independently; 0 without a task
    condition: float  # σ_max(R⁻ᵀB) / σ_min(KᵀB), M = RᵀR: what forces would drive without constraints, and drive here
    task_condition: float  # σ_max(J R⁻¹) / σ_min(J K), the same of the task, its rows of one size; 1 without
    undriven: tuple[dict[str, float], ...]  # motions that no actuator drives, by velocity, largest entry 1
    missing: dict[str, float]  # the part of the acceleration that does not come about
    task_missing: dict[str, float]  # acceleration asked for less that which results, by row of the task
    missing_forces: dict[str, float]  # forces asked for less those that result, by row or measure, where they differ
    measures: dict[str, float]  # combinations of multipliers, by name
    broken: dict[str, float]  # bounds of constraint forces and motions that are not kept, and by how much
    inadmissible: float  # what was asked misses the constraints by this: ‖A v̇ + γ‖∞, or in the entries named
    active: tuple[str, ...]  # limits that hold u where it is, or that contradict each other
    status: Verdict

    @property
    def success(self) -> bool:
        """Whether the motion and the constraint forces that were asked for are produced."""
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
        if self.status in (Verdict.YIELDED, Verdict.DAMPED):
            text += ": " + ", ".join(f"{row} misses {x:.3g}" for row, x in self.task_missing.items())
        if self.status == Verdict.CONTRADICTED:
            text += ": " + ", ".join(f"{name} is missed by {x:.3g}" for name, x in self.broken.items())
        if self.missing_forces:
            why = f"{', '.join(self.active)} hold it there" if self.active else "no forces to spare change it"
            text += ": " if self.status == Verdict.FORCES_MISSED else "; "
            text += ", ".join(self._forces_in_words()) + f" ({why})"
        return text

    def _forces_in_words(self) -> list[str]:
        """Each constraint force that is missed: what was asked, and what is given."""
        given = {**dict(zip(self.rows, self.multipliers)), **self.measures}
        return [f"{row} is {given[row]:.4g}, asked {given[row] + x:.4g}" for row, x in self.missing_forces.items()]

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise unknown("actuator", name, self.names)
        return float(self.u[self.names.index(name)])

    def __repr__(self) -> str:
        forces = ", ".join(f"{n} = {x:.6g}" for n, x in zip(self.names, self.u))
        return f"<inverse dynamics: {forces}; {self.reach} of {self.mobility} freedoms driven; {self.message}>"


def explain(
    allocator: Allocator, a: Allocation, state: State, mode: int = GIVEN, off: tuple[float, bool] | None = None,
    goal: np.ndarray | None = None,
) -> ActuatorForces:  # fmt: skip
    """Forces with all the evidence; off: by how much what was asked is not admissible, and whether that counts.

    goal: (nt,) the value of the task that is to be within reach, if there is one.
    """
    problem, names, plant = a.problem, allocator.system.v_names, allocator.plant
    if allocator.run(a, state.t, state, mode) != 0:
        return _nothing(allocator)
    missed, inadmissible = _inadmissible(allocator, a) if off is None else off
    p, driven, limited = a.mobility, a.reach, a.limited
    u = a.u.copy()
    before = a.before.copy() if allocator.bounded or a.layered else u
    acting = allocator.holding(a, state)
    K, R, U = a.K[:p], np.triu(problem.upper), np.triu(a.cost)
    N, free = K @ a.B, K @ problem.f
    given, required = free + N @ u, a.required_force.copy()
    asked = given if mode == TASK and driven < p else a.along[:p].copy()
    a.required_force[:] = problem.M @ (a.c + asked @ K) - problem.f
    a.u[:], a.motion[:] = before, a.c + asked @ K
    allocator.carry(a)
    usual = np.abs(problem.multipliers).max(initial=0.0)  # before limits
    parts = _by_cause(allocator, a, state)
    parts["internal"] = before - sum(parts.values())
    parts["limited"] = u - before
    a.u[:], a.motion[:], a.required_force[:] = u, a.c + given @ K, required
    a.required_force[:] = problem.M @ a.motion - problem.f
    allocator.carry(a)
    short = (given - asked) @ K  # v̇ that results, less that asked for
    # forces that meet K in the mass metric: of the motion, of what is required for it, and of the actuators
    terms = np.linalg.norm(R @ (a.c + asked @ K)) + np.linalg.norm(asked - free) + np.linalg.norm(np.abs(N) @ np.abs(u))
    behind = _task_missed(allocator, a) if mode == TASK else {}
    lost = bool(behind) if mode == TASK else bool(np.linalg.norm(given - asked) > LOST * terms)
    left = np.linalg.svd(N)[0] if driven < p else N
    B = np.linalg.solve(U.T, a.B.T).T  # in the metric of forces
    J = a.J / a.row_size[:, None]
    status = Verdict.DONE
    broken = allocator.broken(a, state, BROKEN, usual)
    first = {name for name, level in zip(plant.task.names, a.priority) if level == 1}
    if broken:
        status = Verdict.CONTRADICTED
    elif lost and limited == 2:
        status = Verdict.LIMITED
    elif lost and a.priorities > 1 and not first & behind.keys():
        status = Verdict.YIELDED
    elif lost:
        status = Verdict.DAMPED if a.damping > 0.0 else Verdict.UNREACHED
    elif inadmissible:
        status = Verdict.INADMISSIBLE
    unset = _forces_missed(allocator, a)
    if status == Verdict.DONE and unset:
        status = Verdict.FORCES_MISSED
    if goal is not None and status in (Verdict.DONE, Verdict.FORCES_MISSED):
        reached = PositionSearch(plant).nearest(state, None, state.t, goal, a.active).reached
        status = status if reached else Verdict.OUT_OF_REACH
    return ActuatorForces(
        u=u,
        names=plant.actuators.names,
        vdot=a.motion.copy(),
        multipliers=problem.multipliers.copy(),
        rows=tuple(allocator.system.row_names),
        force=problem.force.copy(),
        **parts,
        cost=float(np.linalg.norm(U @ u)),
        mobility=p,
        reach=driven,
        task_rank=a.task_rank if mode == TASK else 0,
        condition=_condition(K @ B, np.linalg.solve(R.T, B), driven),
        task_condition=_condition(J @ K.T, np.linalg.solve(R.T, J.T), a.task_rank) if mode == TASK else 1.0,
        undriven=tuple(_named(names, K.T @ left[:, k]) for k in range(driven, p)),
        missing=_named(names, -short, relative=False) if lost else {},
        task_missing=behind,
        missing_forces=unset,
        measures=dict(zip(plant.measures, (a.S @ problem.multipliers).tolist())),
        broken=broken,
        inadmissible=missed,
        active=acting,
        status=status,
    )


def _inadmissible(allocator: Allocator, a: Allocation) -> tuple[float, bool]:
    """By how much the wanted motion misses the constraints, and whether that is more than rounding."""
    A, gamma, v = a.problem.A, a.problem.gamma, a.wanted_motion
    free = np.linalg.solve(a.problem.M, a.problem.f)  # v̇ may be what is left of it
    motion = np.abs(v) + np.abs(free)
    missed, terms = np.abs(A @ v + gamma), np.abs(A) @ motion + np.abs(gamma)
    far = reach(allocator.system, allocator.plant.p)  # rounding of an acceleration is that of its largest part
    counts = missed > INADMISSIBLE * terms + ROUNDING * (np.abs(A) @ far) * (motion / far).max(initial=0.0)
    return float(missed.max(initial=0.0)), bool(counts.any())


def _task_missed(allocator: Allocator, a: Allocation) -> dict[str, float]:
    """The task's acceleration that was asked for less the one that results, by row, where they differ."""
    P, D = np.split(np.abs(a.gains), 2)
    theta, rate, acceleration = np.split(np.abs(a.reference), 3)
    K = a.K[: a.mobility]
    given = a.J @ (a.motion - a.c)
    pull = P @ (theta + np.abs(a.theta)) + D @ (rate + np.abs(a.rate))
    terms = acceleration + (np.abs(a.J @ K.T) @ np.abs(K @ a.J.T) @ pull if a.impedance else pull) + np.abs(a.bias)
    terms += np.abs(a.J) @ (np.abs(a.motion) + np.abs(a.c))
    forces = np.abs(K) @ np.abs(a.problem.f) + np.abs(K @ a.B) @ np.abs(a.u)  # whose balance is rounded
    terms += RESOLVED * np.abs(a.J @ K.T) @ forces
    names, off = allocator.plant.task.names, a.desired - given
    return {name: float(x) for name, x, t in zip(names, off, terms) if abs(x) > 1e-7 * t}


def _forces_missed(allocator: Allocator, a: Allocation) -> dict[str, float]:
    """Wanted multipliers and measures less those that result, by name, where they differ."""
    forces, names = allocator.forces_of(a), allocator.plant.force_names
    least = 1e-12 * np.abs(forces).max(initial=0.0)
    return {
        names[int(np.argmax(row))]: float(wanted - x)
        for row, wanted, x in zip(a.pick, a.wanted, a.pick @ forces)
        if abs(wanted - x) > 1e-7 * (abs(wanted) + abs(x)) + least
    }


def _condition(left: np.ndarray, whole: np.ndarray, rank: int) -> float:
    """The largest singular value of a map over the smallest, of `rank`, of what the constraints leave of it."""
    if rank == 0:
        return np.inf
    return float(np.linalg.norm(whole, 2) / np.linalg.svd(left, compute_uv=False)[rank - 1])


def _by_cause(allocator: Allocator, a: Allocation, state: State) -> dict[str, np.ndarray]:
    """u by cause: the shortest forces are linear in what is required (before limits)."""
    system, p = allocator.system, allocator.plant.p
    gravity = system.gravity_vector(state, p=p)
    coriolis = system.coriolis_vector(state, p=p)
    required = a.required_force.copy()
    inertia = a.problem.M @ a.motion
    passive = required - inertia - coriolis - gravity
    parts = {"inertia": inertia, "coriolis": coriolis, "gravity": gravity, "passive": passive}
    found = {name: allocator.forces(a, part) for name, part in parts.items()}
    a.required_force[:] = required
    return found


def _named(names: list[str], motion: np.ndarray, relative: bool = True) -> dict[str, float]:
    largest = np.abs(motion).max(initial=0.0)
    if largest == 0.0:
        return {}
    k = int(np.argmax(np.abs(motion)))
    scaled = motion / motion[k] if relative else motion
    return {
        name: float(np.round(x, 12)) if relative else float(x)
        for name, x, y in zip(names, scaled, motion)
        if abs(y) > 1e-9 * largest
    }


def _nothing(allocator: Allocator) -> ActuatorForces:
    """The evidence where there are no forces."""
    plant = allocator.plant
    nan, n, m = np.full(plant.na, np.nan), np.full(plant.n, np.nan), np.full(plant.m, np.nan)
    parts = dict.fromkeys(("inertia", "coriolis", "gravity", "passive", "internal", "limited"), nan)
    return ActuatorForces(
        u=nan,
        names=plant.actuators.names,
        vdot=n,
        multipliers=m,
        rows=tuple(allocator.system.row_names),
        force=n,
        **parts,
        cost=np.nan,
        mobility=0,
        reach=0,
        task_rank=0,
        condition=np.inf,
        task_condition=np.inf,
        undriven=(),
        missing={},
        task_missing={},
        missing_forces={},
        measures=dict.fromkeys(plant.measures, np.nan),
        broken={},
        inadmissible=np.nan,
        active=(),
        status=Verdict.UNSOLVED,
    )


def _motion(z: Mapping[str, float]) -> str:
    return "(" + ", ".join(f"{name}: {x:.3g}" for name, x in list(z.items())[:6]) + ")"
