"""Runs against the equations of `rigid`: their states must satisfy the integral of the accelerations found there.

A run is asked for its states at Gauss's nodes c_i of a time D. With v̇_i and q̇_i of the rigid bodies in these states,

    v(c_i D) = v(0) + D Σ_j a_ij v̇_j,   q(c_i D) = q(0) + D Σ_j a_ij q̇_j,   a_ij = ∫₀^c_i ℓ_j                       (1)

hold for the true motion up to what the last Legendre coefficients of v̇ and q̇ tell, and D is made so short that this
is below the tolerance. States that satisfy (1) are the motion, up to a factor that a short D keeps near one: nothing
of the library's integrators, formulations or projections is needed to say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from plans import Plan
from rigid import Rigid

import dalembert as da

if TYPE_CHECKING:
    from compared import Outcome

NODES = 10
RTOL = 1e-9
TIMES = 300.0  # rtol: what a run may miss, times the condition of the constraints over 100 where it is larger
OTHERS: list[dict[str, Any]] = [
    {"formulation": "nullspace"},
    {"formulation": "nullspace", "options": {"metric": "euclidean"}},
    {"formulation": "projection"},
    {"formulation": "admissible"},
    {"formulation": "partition"},
    {"formulation": "lagrange"},
    {"formulation": "augmented"},
    {"coordinates": "tangent"},
    {"coordinates": "partition"},
    {"stabilization": "energy"},
    {"stabilization": "none"},
    {"stabilization": "baumgarte"},  # its constants, 1/s, are those of the plan's pace
    {"stabilization": da.Projection(metric="euclidean")},
    {"stabilization": da.Projection(directions="frozen")},
    {"method": "dopri5"},
    {"method": "sdirk4", "rtol": 1e-7},
]


def _gauss() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes in (0, 1); integrals to each and to 1, (n + 1, n); Legendre coefficients of values there, (n, n)."""
    x, _ = np.polynomial.legendre.leggauss(NODES)
    to_coefficients = np.linalg.inv(np.polynomial.legendre.legvander(x, NODES - 1))
    ends = np.append(x, 1.0)
    integrals = np.column_stack(
        [np.polynomial.legendre.legval(ends, np.polynomial.legendre.legint(e, lbnd=-1)) / 2 for e in np.eye(NODES)]
    )
    return (x + 1) / 2, integrals @ to_coefficients, to_coefficients


NODE, INTEGRAL, LEGENDRE = _gauss()


def compare_runs(out: Outcome, plan: Plan, system: da.System, x: da.State, truth_at: Any) -> None:
    """A default run and two others. truth_at(q, v, t): the equations at a state."""
    rigid, rng = Rigid(plan), np.random.default_rng([plan.seed, 11])
    if not system.nv:
        return
    units = _units(plan, rigid)
    speed = max(float(np.abs(x.v / rigid.reach).max()), 1.0 / plan.pace)
    duration = 0.5 / speed
    for _ in range(6):
        at = np.append(NODE, 1.0) * duration
        run = da.simulate(system, x, duration, t_eval=at, rtol=RTOL, atol=0.1 * RTOL, max_steps=20_000)
        if len(run.t) < len(at):
            duration *= 0.25
            continue
        truths = [truth_at(q, v, t) for q, v, t in zip(run.q, run.v, run.t)]
        if any(not t.sure or t.rank != truths[0].rank or t.condition > 1e4 for t in truths):
            duration *= 0.25
            continue
        vdot = np.array([t.acceleration(np.zeros(system.nv))[0] for t in truths[:-1]])
        qdot = np.array([rigid.rates(q, v) for q, v in zip(run.q[:-1], run.v[:-1])])
        vdot, qdot = vdot / rigid.reach / speed, qdot / units
        tail = max(np.abs((LEGENDRE @ y)[-2:]).max() for y in (vdot, qdot)) * duration
        if tail < RTOL:
            break
        duration *= 0.5
    else:
        out.skipped.append("no run: nearly singular at once, or too quick for the nodes")
        out.check(run.success or _blocked(run, truth_at), f"run: {run.message}")
        return
    out.check(run.success, f"run: {run.message} {run.warnings}")
    condition = max(t.condition for t in truths)
    close = TIMES * RTOL * max(1.0, condition / 1e2)
    for name, start, rate, here in (("v", x.v, vdot, run.v / rigid.reach / speed), ("q", x.q, qdot, run.q / units)):
        scale = rigid.reach * speed if name == "v" else units
        off = np.abs(here - start / scale - duration * INTEGRAL @ rate).max()
        out.check(off < close, f"run: {name} misses its integral by {off:.1e}, condition {condition:.0e}")
    _claims(out, plan, rigid, run, x, truths, close, speed)
    full = len(system.rows.of) == truths[0].rank
    for k in rng.choice(len(OTHERS), 2, replace=False):
        chosen = OTHERS[k]
        if chosen.get("formulation") in ("lagrange", "augmented") and not full:
            continue
        name = " ".join(str(y) for y in chosen.values())
        rtol = chosen.get("rtol", RTOL)
        given = {"rtol": rtol, "atol": 0.1 * rtol, "max_steps": 20_000, **chosen}
        if name == "baumgarte":
            given["stabilization"] = da.Baumgarte(5.0 / plan.pace, 5.0 / plan.pace)
        try:
            other = da.simulate(system, x, duration, t_eval=at, **given)
        except da.DalembertError as error:
            quaternions = any(j.kind in ("spherical", "free") for j in plan.joints)
            expected = quaternions and (
                "Take coordinates='tangent'" in str(error) or "tangent chart does" in str(error)
            )
            out.check(expected and name == "partition", f"run with {name}: {error}")
            continue
        out.check(other.success, f"run with {name}: {other.message} {other.warnings}")
        if len(other.t) == len(run.t):
            off = max(
                np.abs((other.q - run.q) / units).max(initial=0.0),
                np.abs((other.v - run.v) / rigid.reach).max() / speed,
            )
            out.check(off < close * rtol / RTOL, f"run with {name}: off by {off:.1e}, condition {condition:.0e}")


def _units(plan: Plan, rigid: Rigid) -> np.ndarray:
    """Of coordinates: sizes and radians, numbers of quaternions one by one."""
    units: list[float] = []
    for k, j in enumerate(plan.joints):
        first = rigid.first_velocity(k)
        n = {"spherical": 3, "free": 6}.get(j.kind)
        own = rigid.reach[first : rigid.first_velocity(k + 1)].tolist()
        units += [1.0, *own] if n else own
    return np.array(units)


def _blocked(run: da.Run, truth_at: Any) -> bool:
    """Whether a run that did not reach its end stands in a singular position."""
    last = truth_at(run.q[-1], run.v[-1], run.t[-1])
    return not last.sure or last.condition > 1e3


def _claims(
    out: Outcome, plan: Plan, rigid: Rigid, run: da.Run, x: da.State, truths: Any, close: float, speed: float
) -> None:
    """Closed loops, admissible velocities, a right energy balance with the work of drivers, no invented passage."""
    phi = max(np.abs(t.phi).max(initial=0.0) for t in truths)
    out.check(phi < 1e-9, f"run: loops are open by {phi:.1e}")
    missed = max(np.abs(t.A @ v + t.b).max(initial=0.0) for t, v in zip(truths, run.v)) / speed
    out.check(missed < 1e-8, f"run: velocities miss the constraints by {missed:.1e}")
    kinetic = np.array([0.5 * v @ t.M @ v for t, v in zip(truths, run.v)])
    potential = np.array([rigid.potential(q) for q in run.q])
    begin = truths[0].rigid.dynamics(x.q, x.v)[0]
    change = kinetic + potential - 0.5 * x.v @ begin @ x.v - rigid.potential(x.q)
    work = sum(run.work.values(), np.zeros(len(run.t)))
    moved = kinetic.max() + np.ptp(potential) + np.abs(work).max(initial=0.0)
    floor = plan.mass * plan.size**2 * speed**2  # of energies that mean something
    off = np.abs(change - work).max() / max(moved, floor)
    out.check(off < 10 * close, f"run: energy and work differ by {off:.1e}")
    out.check(set(run.work) <= {"drivers"}, f"run: works of {set(run.work)}")
    out.check(not any(p.met for p in run.passages), f"run: invented passages {run.passages}")
