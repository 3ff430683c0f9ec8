"""Writing the model format: from a `Mechanism` to data, to a text, and to a file."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, ModelFileError
from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.comments import kept
from dalembert.formats.model.contacts import contact_data, joint_data
from dalembert.formats.model.emit import yaml_text
from dalembert.formats.model.forces import MAKE_INPUTS
from dalembert.formats.model.laws_written import constraint_data, force_data
from dalembert.formats.model.writing import Data, Writing, checked_name, each_or_one, is_zero, vector
from dalembert.formats.saving import save
from dalembert.mechanism.inertia import check_inertia

if TYPE_CHECKING:
    from dalembert.mechanism.body import Body
    from dalembert.mechanism.joints.attachment import Attachment
    from dalembert.mechanism.mechanism import Mechanism
    from dalembert.mechanism.notes import Note
    from dalembert.mechanism.shapes import Collider, Shape

HEAD = f"# yaml-language-server: $schema={words.SCHEMA_NAME}"


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> list[Note]:
    """Write a mechanism to a file, JSON where it ends in .json, else YAML; nothing is left out, so no notes.

    The comments of a YAML file of the same mechanism that is there already are kept.
    """
    where = checks.path(path, "path", error=ModelFileError)
    data = data_of(mechanism)
    if where.suffix.lower() == ".json":
        save(where, _json(data))
    else:
        save(where, kept(where, mechanism, data, yaml_text(data, HEAD), data_of))
    return []


def text_of(mechanism: Mechanism, *, json: bool = False) -> str:
    """The text of a mechanism in the format of this library.

    mechanism: what is written; json: as JSON in place of YAML.
    """
    data = data_of(mechanism)
    return _json(data) if json else yaml_text(data, HEAD)


def _json(data: Data) -> str:
    return json.dumps({"$schema": words.SCHEMA_NAME, **data}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def data_of(m: Mechanism) -> Data:
    """All that a mechanism holds, as plain data."""
    w = Writing(m)
    data: Data = {"dalembert": words.VERSION, "name": checked_name(m.name, "the mechanism"), "units": "SI"}
    gravity = w.finished({"gravity": vector(m.gravity)}, "gravity")
    sections: Data = {
        "parameters": {name: _one_or_all(x) for name, x in m.parameters.values.items()},
        "let": gravity.get("let", {}),
        "inputs": _inputs(m),
        "gravity": gravity["gravity"],
        "points": _points(w, m),
        "bodies": {b.name: _body(w, b) for b in m.bodies.values() if b is not m.ground or b.shapes or b.colliders},
        "frames": {name: w.finished(w.place(frame, name=False), f"frame '{name}'") for name, frame in m.frames.items()},
        "joints": {a.name: _joint(w, a) for a in m.joints.values()},
        "forces": {name: force_data(w, f) for name, f in m.forces.items()},
        "constraints": {name: constraint_data(w, c) for name, c in m.constraints.items()},
        "contacts": {name: contact_data(w, c) for name, c in m.contacts.items()},
        "states": {name: _state(s) for name, s in m.states.items()},
    }
    for section, elements in sections.items():
        if isinstance(elements, dict):
            for name in elements:
                checked_name(name, f"one of the {section}")
        if elements:
            data[section] = elements
    return data


def _one_or_all(x: np.ndarray) -> Any:
    values = [float(e) for e in x]
    return values[0] if len(values) == 1 else values


def _points(w: Writing, m: Mechanism) -> Data:
    """Points of the drawing; not those that are long expressions of parameters."""
    written = {name: w.finished({"at": vector(p)}, f"point '{name}'") for name, p in m.points.items()}
    return {name: data["at"] for name, data in written.items() if "let" not in data}


def _inputs(m: Mechanism) -> Data:
    """The inputs with their sizes; none where motors and actuators, in their order, make them all."""
    motors = [name for name, f in m.forces.items() if f.kind in MAKE_INPUTS]
    return {} if list(m.inputs) == motors else {name: u.numel() for name, u in m.inputs.items()}


def _body(w: Writing, body: Body) -> Data:
    data: Data = {}
    what = f"body '{body.name}'"
    if body is not w.m.ground:
        data["mass"] = body.mass
        if not is_zero(body.com):
            data["com"] = vector(body.com)
        J = body.inertia
        if not is_zero(J):
            off = [J[i, j] for i in range(3) for j in range(3) if i != j]
            data["inertia"] = vector(np.diag(J)) if is_zero(off) else [vector(row) for row in J]
            try:
                check_inertia(w.m.parameters.number(J, what), what, True)
            except DescriptionError:
                data["physical"] = False
        if not is_zero(body.drawn.p):
            data["at"] = vector(body.drawn.p)
        if not np.array_equal(body.drawn.R, np.eye(3)):
            data["rotation"] = [vector(row) for row in body.drawn.R]
    if body.shapes:
        data["shapes"] = [_shape(shape) for shape in body.shapes]
    if body.colliders:
        data["colliders"] = [_collider(x) for x in body.colliders]
    return w.finished(data, what)


def _shape(shape: Shape) -> Data:
    data: Data = {"type": shape.kind}
    if shape.name:
        data["name"] = shape.name
    if shape.size:
        data["size"] = vector(shape.size) if len(shape.size) > 1 else vector(shape.size)[0]
    if not is_zero(shape.pose.p):
        data["at"] = vector(shape.pose.p)
    if not np.array_equal(shape.pose.R, np.eye(3)):
        data["rotation"] = [vector(row) for row in shape.pose.R]
    if shape.colour is not None:
        data["colour"] = list(shape.colour)
    if shape.file is not None:
        data["file"] = shape.file
    if shape.scale != (1.0, 1.0, 1.0):
        data["scale"] = list(shape.scale)
    return data


def _collider(x: Collider) -> Data:
    own = {f.name: getattr(x, f.name) for f in fields(x)[1:] if getattr(x, f.name) != f.default}
    return {**_shape(x.shape), **{key: list(y) if isinstance(y, tuple) else y for key, y in own.items()}}


def _joint(w: Writing, a: Attachment) -> Data:
    if a.flipped:
        a = a.inverted()
    what = f"joint '{a.name}'"
    kind, own = w.joint(a.joint, what)
    data: Data = {"type": kind, **own, "parent": w.place(a.parent), "child": w.place(a.child)}
    for key in ("stiffness", "damping", "armature"):
        x = getattr(a, key)
        if not is_zero(x):
            data[key] = each_or_one(x)
    if not np.array_equal(a.rest, a.joint.neutral()):
        data["rest"] = vector(a.rest) if a.joint.nq > 1 else vector(a.rest)[0]
    if np.isfinite(a.limits).any():
        pairs = [[float(x) if np.isfinite(x) else None for x in pair] for pair in a.limits]
        data["limits"] = pairs[0] if len(pairs) == 1 else pairs
    data |= joint_data(a)
    if a.tree is not None:
        data["tree"] = a.tree
    return w.finished(data, what)


def _state(state: Any) -> Data:
    data: Data = {}
    for key in ("q", "v", "u"):
        given = getattr(state, key)
        if given:
            data[key] = {name: x[0] if len(x) == 1 else list(x) for name, x in given.items()}
    return data if state.t == 0.0 else {**data, "t": state.t}
