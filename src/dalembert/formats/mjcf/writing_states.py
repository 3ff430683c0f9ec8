"""Named states as keyframes of MJCF."""

from __future__ import annotations

import numpy as np

from dalembert.formats.mjcf.document import Document, Node
from dalembert.mechanism.joints.attachment import Attachment


def write_states(d: Document) -> None:
    """Named states as keyframes; joints in the order of the written tree."""
    if not d.m.states or any(a.joint.kind == "screw" for a in d.m.joints.values()):
        return
    order = {name: n for n, name in enumerate(_written_joints(d))}
    joints = sorted((a for a in d.m.joints.values() if a.joint.nq), key=lambda a: order[_first(d, a)])
    for state in d.m.states.values():
        qpos: list[float] = []
        qvel: list[float] = []
        for a in joints:
            q = _given(a.name, a.coordinates, state.q, a.joint.neutral())
            v = _given(a.name, a.velocities, state.v, np.zeros(a.joint.nv))
            if a.joint.kind == "free":
                R = np.array(a.joint.transform(q).R, dtype=float)
                q, v = np.concatenate([q[4:], q[:4]]), np.concatenate([R @ v[3:], v[:3]])
            qpos.extend(q)
            qvel.extend(v)
        key = d.section("keyframe").add("key", name=d.name("key", state.name), time=state.t or None, qpos=qpos)
        if any(qvel):
            key.attributes["qvel"] = Node("", x=qvel).attributes["x"]
        controls = (
            [child.attributes["name"] for child in d.sections["actuator"].children] if "actuator" in d.sections else []
        )
        values = [state.u[name][0] if len(state.u.get(name, ())) == 1 else 0.0 for name in controls]
        if any(values):
            key.attributes["ctrl"] = Node("", x=values).attributes["x"]


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


def _given(name: str, parts: list[str], given: dict[str, tuple[float, ...]], default: np.ndarray) -> np.ndarray:
    """The numbers of a joint in a state, given for the joint or for its parts."""
    x = np.array(given.get(name, default), dtype=float)
    for n, part in enumerate(parts):
        if part in given and part != name:
            x[n] = given[part][0]
    return x
