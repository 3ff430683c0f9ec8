"""Joint reactions against Newton and Euler: they balance weights and inertia on every body, and do no work.

The bodies' balance alone would hold with any multipliers; that what a joint passes on has no part along the motions it
leaves free is what tells them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rigid import IDENTITY, LONG, Pose, Rigid, axial
from statics import freedoms

import dalembert as da

if TYPE_CHECKING:
    from compared import Outcome
    from plans import Plan

CLOSE = 1e-7  # relative to the forces at work
BY_JOINTS = ("driver", "coupling")  # other constraints that act through joints alone


def compare_balance(out: Outcome, plan: Plan, system: da.System, x: da.State, condition: float) -> None:
    """Of plans whose bodies are held by joints, by cut ones, and by what acts through them."""
    if any(c.kind not in BY_JOINTS for c in plan.others) or any(j.armature for j in plan.joints):
        return
    found = system.constraint_forces(x)
    if not found.acceleration.success:
        return
    rigid, vdot = Rigid(plan), found.acceleration.vdot
    poses, (first, second) = rigid.poses(x.q), rigid.moving(x.q, x.v, vdot)
    zero = [np.zeros(6, dtype=LONG) for _ in plan.bodies]
    force, terms = [f.copy() for f in zero], [f.copy() for f in zero]
    for j, wrench in [(j, found.joints[j.name]) for j in plan.joints] + [(j, found.loops[j.name]) for j in plan.loops]:
        b = (poses[j.child] if j.child >= 0 else IDENTITY) @ j.at_child
        moment, push = b.R @ wrench[:3], b.R @ wrench[3:]
        for k, sign in ((j.child, 1), (j.parent, -1)):
            if k >= 0:
                centre = poses[k].p + poses[k].R @ plan.bodies[k].com
                own = np.concatenate([moment + np.cross(b.p - centre, push), push])
                force[k] += sign * own
                terms[k] += np.abs(own)
    worst, size = 0.0, 0.0
    for k, body in enumerate(plan.bodies):
        R = poses[k].R
        I = R @ body.inertia @ R.T
        w, alpha = axial(first[k][:, :3] @ R.T), axial(second[k][:, :3] @ R.T)
        needed = np.concatenate([I @ alpha + np.cross(w, I @ w), body.mass * (second[k][:, 3] - plan.gravity)])
        unit = np.repeat([plan.size, 1.0], 3)
        worst = max(worst, float(np.abs((force[k] - needed) / unit).max()))
        size = max(size, float(((terms[k] + np.abs(needed)) / unit).max()))
    close, off = CLOSE * max(1.0, condition / 1e2), worst / max(size, 1e-300)
    out.check(off < close, f"reactions do not balance the bodies by {off:.1e}")
    driven = {k for c in plan.others for k in (c.values[0] if c.kind == "coupling" else [c.values[0]])}
    for i, j in enumerate([*plan.joints, *plan.loops]):
        tree = i < len(plan.joints)
        if tree and driven & set(range(rigid.first_velocity(i), rigid.first_velocity(i + 1))):
            continue
        a, b = ((poses[k] if k >= 0 else IDENTITY) @ at for k, at in ((j.parent, j.at_parent), (j.child, j.at_child)))
        T = Pose(a.R.T @ b.R, a.R.T @ (b.p - a.p))
        wrench = (found.joints if tree else found.loops)[j.name]
        S = freedoms(j, T) / np.repeat([1.0, plan.size], 3)[:, None]
        work = S.T @ np.concatenate([T.R @ wrench[:3] / plan.size, T.R @ wrench[3:]])
        off = float(np.abs(work).max(initial=0.0)) / max(size, 1e-300)
        out.check(off < close, f"the reaction in {j.name} works along what it leaves free, by {off:.1e}")
