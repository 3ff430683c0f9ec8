"""Constraint sets of RBDL: loops along axes of the predecessor's frame, and contacts of points.

Axes between the same two frames belong together: the motions they forbid are those of a joint, or, where they are
translations only, planes in which a point stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import unknown
from dalembert.formats.notes import Notes
from dalembert.formats.rbdl.node import LuaNode
from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import Cylindrical, Fixed, Joint, Planar, Prismatic, Revolute, Spherical
from dalembert.mechanism.mechanism import Mechanism

#: (translations, rotations) that are forbidden: the joint that allows the rest, about the axis that is left
JOINTS: dict[tuple[int, int], Any] = {(3, 2): Revolute, (2, 3): Prismatic, (2, 2): Cylindrical, (1, 2): Planar}
SETTINGS = ("stabilization_coefficient", "enable_stabilization", "baumgarte_enabled")


def add_constraints(model: LuaNode, m: Mechanism, notes: Notes, wanted: str | None) -> None:
    """Add one constraint set; the others, and settings of RBDL's solver, are noted."""
    sets = model.child("constraint_sets")
    names = [k for k in sets.table if isinstance(k, str)] if sets is not None else []
    if wanted and wanted not in names:
        raise unknown("constraint set", wanted, names, "read_rbdl")
    chosen = names[0] if wanted is None and names else wanted
    for name in names:
        if name != chosen:
            notes.add(LuaNode(sets.table[name], model.file, f"constraint set '{name}'"), "is not taken")  # type: ignore[union-attr]
    if not chosen or sets is None:
        return
    groups: dict[Any, tuple[LuaNode, Frame, Frame, list[np.ndarray]]] = {}
    for e in sets.children(chosen):
        kind = e.text("constraint_type")
        if kind == "contact":
            _contact(e, m, notes)
        elif kind == "loop":
            a, b = _end(e, m, "predecessor"), _end(e, m, "successor")
            places = [np.round(x.astype(float), 12).tobytes() for T in (a.T, b.T) for x in (T.R, T.p)]
            key = (a.body.name, b.body.name, *places)
            groups.setdefault(key, (e, a, b, []))[3].extend(_axes(e, "axis", "axis_sets", 6))
        else:
            raise e.error(f"has the constraint_type '{kind[:60]}'; needed: 'loop' or 'contact'.")
        solver = [k for k in SETTINGS if k in e.table]
        if solver:
            notes.add(e, f"settings of RBDL's solver have no meaning here: {', '.join(solver)}")
    for e, a, b, axes in groups.values():
        _loop(e, m, a, b, axes, chosen if len(axes) > 1 == len(groups) else e.text("name", "loop"))


def _axes(e: LuaNode, one: str, several: str, n: int) -> list[np.ndarray]:
    """The axes of a constraint, given alone or as a list."""
    if several in e.table:
        values = LuaNode(e.table[several], e.file, f"'{several}' of {e}").table.items_in_order()
    else:
        values = [e.table.get(one)]
    out = [e.array(x, n, f"'{several if several in e.table else one}'") for x in values]
    if not out or any(not x.any() for x in out):
        raise e.error(f"has no {one}; needed: {n} numbers that are not all 0.")
    return [x / np.abs(x).max() for x in out]  # directions: of huge and tiny numbers there is no norm


def frame_of(e: LuaNode, m: Mechanism, name: str) -> Frame:
    """A body or frame of the mechanism by its name in the file."""
    if name == "ROOT":
        return m.ground.frame
    found = m.bodies[name].frame if name in m.bodies else m.frames.get(name)
    if found is None:
        raise e.error(f"asks for '{name[:60]}', which is not there.")
    return found


def _end(e: LuaNode, m: Mechanism, side: str) -> Frame:
    """The frame on one side of a loop: a local frame by name, or a body and a place on it."""
    if f"{side}_local_frame" in e.table:
        return frame_of(e, m, e.text(f"{side}_local_frame"))
    T = e.place(f"{side}_transform")
    return frame_of(e, m, e.text(f"{side}_body")).at(T.p, rotation=T.R)


def _loop(e: LuaNode, m: Mechanism, a: Frame, b: Frame, axes: list[np.ndarray], name: str) -> None:
    """The joint that forbids motions of b in a along these axes, or planes."""
    name = name.replace(".", "_")
    turns, slides = ([x[part] for x in axes if x[part].any()] for part in (slice(0, 3), slice(3, 6)))
    if any(x[:3].any() and x[3:].any() for x in axes):
        raise e.error("forbids a rotation and a translation by one axis; needed: one of them in each.")
    joint = _allowing(turns, slides)
    if joint is not None:
        m.close_loop(name, joint, a, b)
        return
    if turns:
        raise e.error(
            f"forbids {len(slides)} translation(s) and {len(turns)} rotation(s) that no joint does; needed: those of a "
            "fixed, revolute, prismatic, cylindrical, planar or ball joint, or translations alone."
        )
    for k, n in enumerate(slides, 1):
        m.add_point_in_plane(name if len(slides) == 1 else f"{name}_{k}", b, a, normal=(n / np.linalg.norm(n)).tolist())


def _allowing(turns: list[np.ndarray], slides: list[np.ndarray]) -> Joint | None:
    """The joint that forbids the spans of these rotations and translations; None where there is none."""
    (r, free_r), (t, free_t) = (_span(x) for x in (turns, slides))
    if (t, r) == (3, 3):
        return Fixed()
    if (t, r) == (3, 0):
        return Spherical()
    kind = JOINTS.get((t, r))
    if kind is None:
        return None
    free = free_r if r == 2 else free_t
    along = free_t if t == 2 else free if t == 3 else slides[0] / np.linalg.norm(slides[0])
    if abs(abs(float(free @ along)) - 1.0) > 1e-9:  # e.g. planes of translation that are not those of the rotation
        return None
    return kind(_tidy(free))


def _span(vectors: list[np.ndarray]) -> tuple[int, np.ndarray]:
    """The dimension of what vectors span, and where it is 2 the direction across."""
    if not vectors:
        return 0, np.zeros(3)
    _, s, V = np.linalg.svd(np.array([v / np.linalg.norm(v) for v in vectors]), full_matrices=True)
    return int((s > 1e-9).sum()), V[2] * (1.0 if V[2][np.argmax(np.abs(V[2]))] > 0 else -1.0)


def _tidy(n: np.ndarray) -> Any:
    exact = np.round(n)
    return exact.tolist() if np.abs(n - exact).max() < 1e-12 else n.tolist()


def _contact(e: LuaNode, m: Mechanism, notes: Notes) -> None:
    """A point that stays, along normals of the ground, where it is in the neutral position."""
    if "point_name" in e.table:
        point = frame_of(e, m, e.text("point_name"))
    else:
        point = frame_of(e, m, e.text("body")).at(e.numbers("point", 3, (0.0, 0.0, 0.0)))
    at = _neutral(m, point)
    name = e.text("name", "contact").replace(".", "_")
    normals = _axes(e, "normal", "normal_sets", 3)
    notes.add(e, "is taken as a constraint both ways, at the place where the point is in the neutral position")
    for k, n in enumerate(normals, 1):
        label = name if len(normals) == 1 else f"{name}_{k}"
        m.add_point_in_plane(label, point, m.ground.at(at), normal=(n / np.linalg.norm(n)).tolist())


def _neutral(m: Mechanism, point: Frame) -> np.ndarray:
    """Where a point is when every joint is neutral: joints are the identity there."""
    T, body = point.T, point.body
    while body is not m.ground:
        joint = m.carriers[body.name]
        T = joint.parent.T @ joint.child.T.inverse() @ T
        body = joint.parent.body
    return np.asarray(T.p, dtype=float)
