"""Forces in the joints: what each passes on, which of it is determinate, and the power it brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.analysis.mobility import determinate
from dalembert.errors import unknown
from dalembert.mechanism.constraints import LoopJoint
from dalembert.protocols import Inputs, Parameters
from dalembert.rank import rank_policy
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.system.acceleration import Acceleration
    from dalembert.system.system import System


T = TypeVar("T")

ROUNDING = 1e-9  # of the largest number of a table: smaller ones are printed as zero


class Named(dict[str, T], Generic[T]):
    """Values by name; a name that is not there is looked up `beside` them, or refused with the ones that are."""

    def __init__(self, kind: str, values: Mapping[str, T], beside: Mapping[str, T] | None = None):
        super().__init__(values)
        self.kind, self.beside = kind, {} if beside is None else beside

    def __missing__(self, name: Any) -> T:
        if name in self.beside:
            return self.beside[name]
        raise unknown(self.kind, name, [*self, *self.beside])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reactions:
    """Forces in joints and constraints at a state: wrenches (moment; force), each (6,), in N m and N.

    The wrench of joint `add_joint(name, joint, a, b)` acts on frame b, in b's axes, and holds everything that the joint
    passes on: bearing forces, springs, motors. That of a joint which closes a loop holds what its constraints exert.
    Where constraints are redundant the multipliers are the shortest ones (those of rows left out are zero) and some
    components are not determinate: they depend on more than rigid bodies.
    """

    acceleration: Acceleration  # that goes with them
    multipliers: dict[str, float]  # by row name, N or N m
    joints: dict[str, np.ndarray]  # wrench of each joint of the tree; those that close loops are found by name too
    loops: dict[str, np.ndarray]  # wrench of each joint that closes a loop
    determinate: dict[str, np.ndarray]  # per joint and loop, (6,) bool
    determinate_rows: dict[str, bool]  # whether the multiplier of each row is determinate
    power: dict[str, float]  # per constraint and kinematic input: W brought in; zero for constraints that rest
    units: dict[str, str]  # of each multiplier: "N" or "N m"
    drives: dict[str, float]  # force of the drive of each kinematic input, N or N m

    def __str__(self) -> str:
        """A table of the wrenches; components that rigid bodies do not determine have a question mark."""
        least = ROUNDING * max([0.0, *(float(np.abs(W).max()) for W in (self.joints | self.loops).values())])

        def cell(x: float, sure: bool) -> str:
            return f"{x if abs(x) > least else 0.0:.5g}" + ("" if sure else " ?")

        cells = [["", "Mx", "My", "Mz (N m)", "Fx", "Fy", "Fz (N)"]]
        for values, word in ((self.joints, ""), (self.loops, " (loop)")):
            cells += [[name + word, *map(cell, W, self.determinate[name])] for name, W in values.items()]
        widths = [max(len(row[k]) for row in cells) for k in range(7)]
        lines = [f"{row[0]:{widths[0]}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths[1:])) for row in cells]
        if not all(k.all() for k in self.determinate.values()):
            lines.append("? not determinate: depends on more than rigid bodies")
        if self.multipliers:
            shown = [f"{name} {x:.5g} {self.units[name]}" for name, x in self.multipliers.items()]
            lines.append("multipliers: " + ", ".join(shown))
        if self.drives:
            lines.append("drives (N or N m): " + ", ".join(f"{name} {x:.5g}" for name, x in self.drives.items()))
        powers = [f"{name} {x:.5g}" for name, x in self.power.items() if abs(x) > least]
        if powers:
            lines.append("power (W): " + ", ".join(powers))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<reactions of {len(self.joints)} joints and {len(self.loops)} loops>"


def reactions(system: System, x: State, a: Acceleration, u: Inputs, p: Parameters, on: np.ndarray) -> Reactions:
    """The reactions that go with an acceleration."""
    rows = system.rows
    loops = [c.name for c in system.description.constraints if isinstance(c, LoopJoint)]

    def wrenches(multipliers: np.ndarray) -> dict[str, np.ndarray]:
        lam = np.concatenate([multipliers, np.zeros(len(rows.all_named) - len(multipliers))])
        joints = system.evaluate("reactions", x, a=a.vdot, lam=lam, u=u, p=p)
        out = dict(zip(system.description.whole.joints, joints))
        return out | {name: system.evaluate("loop_wrench", x, frame=name, lam=lam, p=p) for name in loops}

    base = wrenches(a.multipliers)
    A = system.constraint_matrix(x, p=p)
    free, determinate_rows = _free_multipliers(system, x, p, on)
    known = {name: np.ones(6, dtype=bool) for name in base}
    policy = rank_policy(system, p)
    unit = np.repeat([policy.length, 1.0], 3)  # moments are compared as forces at the mechanism's length
    size = max([1.0, *(np.abs(W / unit).max() for W in base.values())])
    for n in free:
        more = size * n
        more[: len(a.multipliers)] += a.multipliers
        change = {name: (W - base[name]) / unit for name, W in wrenches(more).items()}
        largest = max(size, *(np.abs(W).max() for W in change.values()))  # n exerts `size`: less of it is rounding
        for name, W in change.items():
            known[name] &= policy.absent(W / largest)
    power = dict.fromkeys(dict.fromkeys(rows.of), 0.0)
    for k, name in enumerate(rows.of):
        power[name] += float(a.multipliers[k] * (A[k] @ x.v))
    drives = {}
    if system.description.prescribed:
        lam = np.concatenate([a.multipliers, np.zeros(len(rows.left_out))])
        forces = np.atleast_1d(system.evaluate("driving_forces", x, a=a.vdot, lam=lam, u=u, p=p))
        drives = dict(zip(system.description.prescribed, forces.tolist()))
        power |= {name: drives[name] * float(x.v[d]) for name, d in system.description.prescribed.items()}
    closing = {name: base[name] for name in loops}
    return Reactions(
        a,
        Named("row", dict(zip(rows.names, a.multipliers.tolist()))),
        Named("joint", {name: base[name] for name in system.description.whole.joints}, beside=closing),
        Named("loop", closing),
        Named("joint or loop", known),
        Named("row", dict(zip(rows.names, determinate_rows.tolist())) | dict.fromkeys(rows.trivial, False)),
        Named("constraint or kinematic input", power),
        Named("row", {name: "N m" if turns else "N" for name, turns in zip(rows.names, rows.angular)}),
        Named("kinematic input", drives),
    )


def _free_multipliers(system: System, x: State, p: Parameters, on: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers that exert nothing in all, (sets, rows), and which of the rows' multipliers are determinate, (m,).

    The rows left out when compiling come last, each of them free by itself.
    """
    m, trivial = len(on), len(system.rows.left_out)
    free, known = np.eye(m + trivial)[m:], np.ones(m, dtype=bool)
    if on.any():
        here = tangent(system, x, p, on)
        null = np.zeros((len(here.A) - here.rank, m + trivial))
        policy = rank_policy(system, p)
        null[:, np.flatnonzero(on)] = here.revealed.dependencies / here.scale
        null /= np.abs(null[:, :m] * policy.units / policy.length).max(axis=1, keepdims=True)
        free, known[on] = np.vstack([null, free]), determinate(here, policy)
    return free, known
