"""Loops of a URDF in a YAML file beside it, as Gepetto's parallel robots have them (arXiv 2504.04767).

closed_loop: [[frame, frame], …]    names of links or joints that are one place
type: [3d | 6d, …]                  positions only, or positions and axes (as where nothing is said)
name_mot: [joint, …]                joints with motors
joint_name: [joint, …]              joints that are not what the URDF says, but of
joint_type: [SPHERICAL | UJOINT_XY | FIXED, …], and by this library CYLINDRICAL and SCREW, along the axis of the URDF
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ModelFileError
from dalembert.formats.folder import Folder
from dalembert.formats.graph import IDENTITY, Edge
from dalembert.formats.urdf.joints import joint_of
from dalembert.formats.urdf.robot import Robot
from dalembert.formats.xml import Element, contents, shown
from dalembert.mechanism.joints import Fixed, Joint, Spherical, Universal
from dalembert.spatial import Transform

SUFFIXES = (".loops.yaml", ".yaml", ".yml")
KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")


_SPEAKS = re.compile(rb"""^[\s{"'-]*(closed_loop|joint_type)\b""", re.MULTILINE)
_MODEL = re.compile(rb"""^[\s{"']*dalembert["']?\s*:""", re.MULTILINE)


def find(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> Path | None:
    """The file of loops beside robot.urdf: the first of robot.loops.yaml, robot.yaml and robot.yml that is one."""
    folder = Folder(path.parent)
    for suffix in suffixes:
        name = path.with_suffix(suffix).name
        if (path.parent / name).is_file() and holds_loops(found := folder.resolve(name)):
            return found
    return None


def beside(path: Path) -> Path:
    """The file of loops of a written URDF: robot.loops.yaml."""
    return path.with_suffix(SUFFIXES[0])


def check_free(path: Path) -> None:
    """Refuse to write the file of loops of a URDF over something else."""
    found = beside(path)
    if os.path.lexists(found) and not (found.is_file() and holds_loops(found)):
        raise ModelFileError(
            f"has '{found.name}' beside it, which is no file of loops; its loops have no place. Choose another name.",
            str(path),
        )


def named(e: Element, path: Path | None) -> Path | None:
    """The file of loops that <dalembert:loops> names, None where it says that there is none."""
    name = e.get("file")
    if not name:
        return None
    hint = "Put it beside the URDF, or name it by loops=."
    if path is None:
        raise e.error(f"names the file of loops {shown(name)}, which a text has not beside it. Name it by loops=.")
    if os.path.exists(path.parent / name):
        found = Folder(path.parent).resolve(name, e)
        if holds_loops(found):
            return found
        raise e.error(f"names the file of loops {shown(name)}, which holds none. {hint}")
    moved = find(path)  # both were renamed
    if moved is None:
        raise e.error(f"names the file of loops {shown(name)}, which is not there. {hint}")
    return moved


def owner(path: Path) -> Path | None:
    """The URDF whose loops a file holds: robot.urdf beside robot.yaml, robot.yml or robot.loops.yaml."""
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            urdf = path.with_name(path.name[: -len(suffix)] + ".urdf")
            if path.is_file() and urdf.is_file() and holds_loops(path):
                return urdf
    return None


def holds_loops(path: Path) -> bool:
    """Whether a line of a file begins with closed_loop or joint_type, and it is no model of this library."""
    data = contents(path, path.name)
    return _SPEAKS.search(data) is not None and _MODEL.search(data) is None


class Sidecar:
    """The entries of such a file, checked."""

    def __init__(self, path: Path):
        from dalembert.formats import yaml

        self.file = path.name
        self.data = yaml.load(path, file=self.file)
        if not isinstance(self.data, dict):
            raise ModelFileError("holds no table; needed: closed_loop and type, as lists.", self.file, 1)

    def replace(self, robot: Robot) -> None:
        """Give joints the types that the file asks for."""
        names, kinds = self._words("joint_name"), self._words("joint_type")
        if len(names) != len(kinds):
            raise self._error("joint_type", f"has {len(kinds)} entries for {len(names)} of joint_name.")
        for name, kind in zip(names, kinds):
            edge = robot.joints.get(name)
            if edge is None:
                robot.notes.add(self._origin("joint_name"), f"there is no joint {shown(name)} to be {shown(kind)}")
                continue
            joint = self._kind(kind, edge)
            if edge.joint.nv != joint.nv:
                edge.limits = None
                edge.rest, edge.stiffness = None, 0.0
                if not isinstance(edge.damping, float) and len(edge.damping) != joint.nv:
                    edge.damping = 0.0
            edge.joint = joint

    def close(self, robot: Robot) -> None:
        """Add the loops and motors that the file asks for, and note what is not read."""
        pairs, kinds = self._list("closed_loop"), self._words("type")
        if kinds and len(kinds) != len(pairs):
            raise self._error("type", f"has {len(kinds)} entries for {len(pairs)} of closed_loop.")
        for k, pair in enumerate(pairs):
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(x, str) for x in pair):
                raise self._error("closed_loop", f"has entry {k + 1} {shown(str(pair))}; needed: two names.")
            kind = kinds[k].lower() if kinds else "6d"
            if kind not in ("3d", "6d"):
                raise self._error("type", f"has {shown(kinds[k])}; needed: 3d or 6d.")
            (a, Ta), (b, Tb) = (self._frame(robot, name) for name in pair)
            joint = Spherical() if kind == "3d" else Fixed()
            robot.close(Edge(_common(*pair), self._origin("closed_loop"), joint, a, b, Ta, Tb, cut=True))
        for name in self._words("name_mot"):
            if name in robot.joints:
                robot.joints[name].driven = True
            else:
                robot.notes.add(self._origin("name_mot"), f"there is no joint {shown(name)} to have a motor")
        for key in self.data:
            if key not in KEYS:
                robot.notes.add(self._origin(str(key)), "is not read")

    def motors(self, robot: Robot) -> list[Edge]:
        """Joints with motors."""
        return [robot.joints[name] for name in self._words("name_mot") if name in robot.joints]

    def _frame(self, robot: Robot, name: str) -> tuple[str, Transform]:
        """The link that carries a frame: a link of the name, or what a joint of the name carries."""
        if name in robot.links or name in robot.aliases:
            return robot.link(name, self._origin("closed_loop")), IDENTITY
        if name in robot.joints:
            return robot.joints[name].child, robot.joints[name].at_child
        raise self._error("closed_loop", f"asks for {shown(name)}, which is neither a link nor a joint.")

    def _kind(self, kind: str, edge: Edge) -> Joint:
        word = kind.upper()
        if word == "SPHERICAL":
            return Spherical()
        if word == "FIXED":
            return Fixed()
        if word in ("CYLINDRICAL", "SCREW"):
            return joint_of(edge.origin, word.lower(), getattr(edge.joint, "axis", np.array([1.0, 0.0, 0.0])))
        axes = word.removeprefix("UJOINT_").lower()
        if word.startswith("UJOINT_") and len(set(axes)) == len(axes) == 2 and set(axes) <= set("xyz"):
            return Universal(axes[0], axes[1])
        raise self._error(
            "joint_type",
            f"has {shown(kind)}; needed: SPHERICAL, CYLINDRICAL, SCREW, FIXED, UJOINT_XY or other two axes.",
        )

    def _list(self, key: str) -> list[Any]:
        value = self.data.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._error(key, f"is {shown(str(value))}; needed: a list.")
        return value

    def _words(self, key: str) -> list[str]:
        values = self._list(key)
        for x in values:
            if not isinstance(x, str):
                raise self._error(key, f"has {shown(str(x))}; needed: names.")
        return values

    def _origin(self, key: str) -> Element:
        line = getattr(self.data, "lines", {}).get(key, 1)
        return Element(key, {}, self.file, line)

    def _error(self, key: str, text: str) -> ModelFileError:
        return self._origin(key).error(text)


def _common(a: str, b: str) -> str:
    """The name of a loop: what the names of its frames share where they differ by an A and a B, else both.

    >>> _common("closedloop1_A", "closedloop1_B"), _common("left_B_3D", "left_A_3D"), _common("knee", "rod")
    ('closedloop1', 'left_3D', 'knee__rod')
    """
    for k in range(min(len(a), len(b))):
        if {a[k], b[k]} == {"A", "B"} and a[:k] + a[k + 1 :] == b[:k] + b[k + 1 :]:
            name = re.sub(r"_+$", "", a[:k]) + a[k + 1 :]
            if name:
                return name
    return f"{a}__{b}"
