"""A plan in other units of length, mass and time: every answer must be the same one in those units.

Units are powers of two, so that numbers of one kind keep their digits. What differs all the same has compared metres
with radians, or something with a constant that has a unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from plans import Body, Link, Other, Plan, build
from rigid import Pose, Rigid

import dalembert as da
from dalembert import control

if TYPE_CHECKING:
    from compared import Outcome

UNITS = [(20, 0, 0), (-20, 0, 0), (0, 20, 0), (0, -20, 0), (0, 0, 20), (0, 0, -20), (-20, 20, 10), (16, -10, -16)]
CLOSE = 1e-6  # relative, of numbers
ROUNDING = 1e-8  # of numbers that are zero but for rounding, where others of their kind are about 1
FORMULATIONS = ("auto", "nullspace", "projection", "admissible", "partition", "lagrange", "augmented")


class Units(NamedTuple):
    length: float = 1.0
    mass: float = 1.0
    clock: float = 1.0


def compare_units(out: Outcome, plan: Plan) -> None:
    """All answers of a plan of ordinary size, mass and pace beside those of two copies of it in other units."""
    plan = rescaled(plan, Units(1 / plan.size, 1 / plan.mass, 1 / plan.pace))
    usual = answers(plan, Units())
    for k in (plan.seed % len(UNITS), (plan.seed + 3) % len(UNITS)):
        by = Units(*(2.0**power for power in UNITS[k]))
        found = answers(rescaled(plan, by), by)
        for what in sorted({*usual, *found}):
            one, other = usual.get(what), found.get(what)
            if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
                size = max(float(np.abs(one).max(initial=0.0)), ROUNDING / CLOSE)
                same = one.shape == other.shape and np.abs(one - other).max(initial=0.0) <= CLOSE * size
            else:
                same = type(one) is type(other) and one == other
            out.check(same, f"units 2^{UNITS[k]}: {what} is {_short(other)}, not {_short(one)}")


def _short(x: Any) -> str:
    return str(x)[:150].replace("\n", " ")


def answers(plan: Plan, by: Units) -> dict[str, Any]:
    """What the library says of a plan, numbers in the given units."""
    system, rigid = build(plan), Rigid(plan)
    rate, place = np.where(rigid.turning, 1.0, by.length), _places(plan, by)
    try:
        x = system.project(system.state(plan.q, plan.v))
    except da.AssemblyError as error:
        return {"assembly": str(error).split(":")[0]}
    out: dict[str, Any] = {"position": x.q / place, "velocity": x.v / rate * by.clock}
    report = system.report(x)
    out |= {name: getattr(report, name) for name in ("rank", "generic_rank", "trivial", "closed", "determinate")}
    out["redundant"] = {name: sorted(made_of) for name, made_of in report.redundant.items()}
    if report.to_singularity is not None and report.to_singularity[0] < report.horizon:
        far, of = report.to_singularity
        out["to singularity"], out["of"] = np.array(far / rate[system.v_names.index(of)]), of
    for name in FORMULATIONS:
        a = system.acceleration(x, plan.tau, formulation=name)
        out[f"{name}: status"] = a.status.name
        if a.success:
            out[name] = a.vdot / rate * by.clock**2
    reactions = system.constraint_forces(x, plan.tau)
    out["reactions"] = {name: known.tolist() for name, known in reactions.determinate.items()}
    out["multipliers"] = reactions.determinate_rows
    out["decoupled"] = system.subspaces(x).decoupled
    if system.nv > report.rank:
        out |= _motions(system, x, by, rate, place)
    return out


def _motions(system: da.System, x: da.State, by: Units, rate: np.ndarray, place: np.ndarray) -> dict[str, Any]:
    """Control forces, linear models, rest and a run."""
    out: dict[str, Any] = {}
    names = system.v_names[::2]
    scales = {name: float(1.0 / rate[2 * k]) for k, name in enumerate(names)}
    r = control.actuator_forces(system, x, 0.3 * rate / by.clock**2, actuated=names, metric=scales)
    out["reach"] = (r.reach, r.success)
    try:
        out["independent"] = da.linearize(system, x).velocities
    except da.DalembertError as error:
        out["independent"] = type(error)
    try:
        rest = da.equilibrium(system, x.replace(v=0 * x.v))
        out["rest"] = rest.state.q / place
    except da.DalembertError as error:
        out["rest"] = type(error)
    run = da.simulate(system, x, 0.6 * by.clock, rtol=1e-7, atol=1e-8, max_steps=3000)
    out["run: status"], out["run: steps"] = run.status.name, (run.steps, run.rejected)
    out["run: passages"] = [(p.met, p.determined, p.branches, p.rank, p.rows) for p in run.passages]
    out["run: success"], out["run: end"] = (run.success, len(run.warnings)), run.q[-1] / place
    return out


def rescaled(plan: Plan, by: Units) -> Plan:
    """The same mechanism in other units."""
    L, M, T = by
    rate = np.where(Rigid(plan).turning, 1.0, L)

    def pose(x: Pose) -> Pose:
        return Pose(x.R, x.p * L)

    def link(j: Link) -> Link:
        armature = j.armature * M * L**2  # of angles: slides have none
        return replace(j, at_parent=pose(j.at_parent), at_child=pose(j.at_child), pitch=j.pitch * L, armature=armature)

    def other(c: Other) -> Other:
        values = c.values
        if c.kind in ("rod", "sphere", "disc"):
            values = (values[0] * L,)
        elif c.kind == "point driver":
            values = (values[0] * L, values[1] * L / T, values[2] / T)
        elif c.kind == "driver":
            k = values[0]
            values = (k, values[1] * rate[k], values[2] * rate[k] / T, values[3] / T)
        elif c.kind == "coupling":
            unit = 1.0 if (rate[values[0]] == 1.0).all() else L  # of the row: metres where a slide is coupled
            values = (values[0], [x * unit / rate[k] for k, x in zip(values[0], values[1])], values[2] * unit)
        a, b = (None if x is None else (x[0], pose(x[1])) for x in (c.a, c.b))
        return Other(c.name, c.kind, a, b, values)

    return Plan(
        plan.seed, plan.size * L, plan.mass * M, plan.pace * T, plan.gravity * L / T**2,
        [Body(b.name, b.mass * M, b.com * L, b.inertia * M * L**2) for b in plan.bodies],
        [link(j) for j in plan.joints], [link(j) for j in plan.loops], [other(c) for c in plan.others],
        plan.q * _places(plan, by), plan.v * rate / T, plan.tau * M * L**2 / T**2 / rate,
    )  # fmt: skip


def _places(plan: Plan, by: Units) -> np.ndarray:
    """(nq,) units of coordinates: those of velocities, and 1 for the numbers of quaternions."""
    out: list[float] = []
    rigid = Rigid(plan)
    for k, j in enumerate(plan.joints):
        own = np.where(rigid.turning[rigid.first_velocity(k) : rigid.first_velocity(k + 1)], 1.0, by.length).tolist()
        out += [1.0, *own] if j.kind in ("spherical", "free") else own
    return np.array(out)
