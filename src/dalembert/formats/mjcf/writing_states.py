"""Named states as keyframes of MJCF."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.mjcf.document import Document, text
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import TracedState
from dalembert.spatial import matrix_quaternion


def write_states(d: Document) -> None:
    """Named states as keyframes; joints in the order of the written tree."""
    if not d.m.states:
        return
    order = {name: n for n, name in enumerate(_written_joints(d))}
    joints = [a for a in d.m.joints.values() if a.joint.nq and a.child.body.name not in d.left_out]
    joints.sort(key=lambda a: order[_first(d, a)])
    for state in d.m.states.values():
        here = d.state(state.q, state.v)
        parts = [_coordinates(d, here, a) for a in joints]
        qpos, qvel = ([float(x) for part in parts for x in part[k]] for k in (0, 1))
        key = d.section("keyframe").add("key", name=d.name("key", state.name), time=state.t or None, qpos=qpos)
        if any(qvel):
            key.attributes["qvel"] = text(qvel)
        controls = [state.u[name][k] if name in state.u else 0.0 for name, k in d.controls]
        if any(controls):
            key.attributes["ctrl"] = text(controls)


def _coordinates(d: Document, s: TracedState, a: Attachment) -> tuple[Any, Any]:
    """qpos and qvel of the joints of MJCF that a joint is written as.

    A free joint of MJCF is the pose of its body in the world, its linear velocity in the world's axes, its angular one
    in the body's.
    """
    if a.joint.kind == "free":
        pose, twist = d.numeric(s.pose(a.child)), d.number(s.twist(a.child))
        quaternion = np.array(matrix_quaternion(pose.R), dtype=float)
        return [*pose.p, *quaternion], [*(pose.R @ twist[3:]), *twist[:3]]
    q, v = d.number(s.q(a.name)), d.number(s.v(a.name))
    if a.joint.kind == "screw":
        pitch = float(d.number([a.joint.pitch])[0])  # type: ignore[attr-defined]
        return [*q, pitch * q[0]], [*v, pitch * v[0]]
    return q, v


def _written_joints(d: Document) -> list[str]:
    out: list[str] = []
    waiting = [d.section("worldbody")]
    while waiting:
        node = waiting.pop()
        out.extend(c.attributes["name"] for c in node.children if c.tag == "joint")
        waiting.extend(reversed([c for c in node.children if c.tag == "body"]))
    return out


def _first(d: Document, a: Attachment) -> str:
    return d.coordinates.get(a.name) or d.coordinates[a.coordinates[0]]
