"""Passive forces of joints and bodies beyond what joints hold themselves: higher orders, free joints, compensation."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.mjcf.bodies import BALL, FREE
from dalembert.formats.mjcf.laws import BallHigherOrder, FreeForce, FreeMoment, HigherOrder
from dalembert.formats.mjcf.reading import Reading, dampers, unused

Pair = tuple[float, float]


def read_passive(r: Reading) -> None:
    """Add polynomial springs and dampers of joints, springs of free joints, and what gravity does not pull."""
    model = r.model
    for k, name in enumerate(r.joints):
        kind, d, q = int(model.jnt_type[k]), int(model.jnt_dofadr[k]), int(model.jnt_qposadr[k])
        stiffness, own, drives = (
            _pair(model, "jnt_stiffnesspoly", k),
            _pair(model, "dof_dampingpoly", d),
            dampers(model, k),
        )
        damping = (own[0] + float(drives[1]), own[1] + float(drives[2]))
        law: Any
        if kind == FREE:
            _free(r, k, name, (float(model.jnt_stiffness[k]), *stiffness), damping)
        elif any(stiffness) or any(damping):
            if kind == BALL:
                law = BallHigherOrder(name, tuple(model.qpos_spring[q : q + 4].tolist()), stiffness, damping)
            else:
                law = HigherOrder(name, float(model.qpos_spring[q]), stiffness, damping)
            r.m.add_joint_force(unused(f"{name}_passive", r.m.forces), name, law)
        _notes(r, k)
    g = np.array(r.m.gravity, dtype=float)
    for b in range(1, model.nbody):
        lift = float(model.body_gravcomp[b] * model.body_mass[b])
        if lift and np.any(g):
            name = unused(f"{r.of.name('body', b) or f'body{b}'}_gravcomp", r.m.forces)
            r.m.add_wrench(name, r.places[b].at(model.body_ipos[b].tolist()), force=(-lift * g).tolist())
    for frame, mass in r.gravity_off:
        if np.any(g):
            name = unused(f"{frame.body.name}_armature", r.m.forces)
            r.m.add_wrench(name, frame, force=(-mass * g).tolist())


def _free(r: Reading, k: int, name: str, stiffness: tuple[float, ...], damping: Pair) -> None:
    """Springs of a free joint pull its body's origin and turn the body, each by its own distance."""
    if not any(damping) and not any(stiffness):
        return
    body = r.m.joints[name].child.body
    q = int(r.model.jnt_qposadr[k])
    x = r.model.qpos_spring[q : q + 7]
    at = (name, body.name, (*x[3:].tolist(), *x[:3].tolist()), stiffness, damping)
    r.m.add_wrench(unused(f"{name}_spring", r.m.forces), body, force=FreeForce(*at))
    r.m.add_wrench(unused(f"{name}_turning_spring", r.m.forces), body, moment=FreeMoment(*at), axes="body")


def _pair(model: Any, name: str, k: int) -> Pair:
    values = getattr(model, name, None)
    return (0.0, 0.0) if values is None else (float(values[k, 0]), float(values[k, 1]))


def _notes(r: Reading, k: int) -> None:
    """Note the properties of a joint that are not modelled."""
    model, d = r.model, int(r.model.jnt_dofadr[k])
    if model.dof_frictionloss[d] > 0.0 and model.jnt_type[k] <= BALL:
        r.note("joint", k, f"dry friction (frictionloss {model.dof_frictionloss[d]:g}) of its type is not modelled")
    if model.jnt_limited[k] and not (r.stops and model.jnt_type[k] > BALL):
        kept = "kept as data" if model.jnt_type[k] > BALL else "left out"
        r.note("joint", k, f"its limits are {kept} and do not stop the motion")
    if getattr(model, "jnt_springyield", np.zeros(model.njnt))[k] > 0.0:
        r.note("joint", k, "plastic springs (springyield) are not modelled: it stays elastic")
    if model.jnt_actfrclimited[k]:
        r.note("joint", k, "the limit of its actuators' force (actuatorfrcrange) is not kept")
    if model.jnt_actgravcomp[k]:
        r.note("joint", k, "gravity compensation acts on the bodies, not through the actuators (actuatorgravcomp)")
