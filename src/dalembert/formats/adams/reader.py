"""Datasets of Adams/Solver (.adm) to mechanisms: parts, markers, joints, motions, forces of a stated subset.

A statement that is not known is refused with its line, as is an argument that is not: what a dataset leaves unsaid is
zero, so that nothing may be passed over. Statements on output and pictures are noted.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, ModelFileError
from dalembert.formats.adams.functions import function_of_time
from dalembert.formats.adams.statements import NUMBER, Statement, statements
from dalembert.formats.adams.units import Units
from dalembert.formats.drawn import add_drawn
from dalembert.formats.graph import WORLD, Edge, FileLink, Graph, build
from dalembert.formats.notes import Notes
from dalembert.formats.xml import contents
from dalembert.formats.yaml import decoded
from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import (
    Cylindrical,
    Fixed,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import Transform

MAX_BYTES = 16 * 2**20
#: of a joint whose z axes agree, or for HOOKE and UNIVERSAL whose cross axes are y or z of J, then x or z of I
JOINTS: dict[str, Any] = {
    "REVOLUTE": lambda: Revolute("z"), "TRANSLATIONAL": lambda: Prismatic("z"), "CYLINDRICAL": lambda: Cylindrical("z"),
    "SPHERICAL": Spherical, "FIXED": Fixed, "PLANAR": lambda: Planar("z"), "HOOKE": lambda: Universal("y", "x"),
    "UNIVERSAL": lambda: Universal("y", "x"), "SCREW": None,
}  # fmt: skip
#: between z of a marker of UNIVERSAL and the cross axis here: J's z becomes y, I's z becomes x
CROSS = {
    "J": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "I": np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
}
PASSED_OVER = ("GRAPHICS", "REQUEST", "OUTPUT", "RESULTS", "MREQUEST", "LIST", "DEBUG", "INTEGRATOR", "SOLVER", "IC")


def read_adams(path: str | os.PathLike[str], *, strict: bool = False, merge_fixed: bool = True) -> Mechanism:
    """The mechanism of a dataset of Adams/Solver, .adm.

    path: the file. Read are UNITS, ACCGRAV, PART, MARKER, JOINT (fixed, revolute, translational, cylindrical,
    spherical, planar, Hooke, universal, screw), MOTION along a joint by a function of time, GCON that keeps a distance,
    SPRINGDAMPER in a line and SFORCE along an axis; anything else is refused with its line. strict=True refuses
    statements on output and pictures too, which are otherwise in `notes`. merge_fixed=False keeps a body for every
    part.

    Parts are called part_2, …, joints joint_1, …, after their identifiers; markers are frames marker_201, …. A joint's
    coordinate is the motion of its I marker as seen from its J marker. Where a mechanism is drawn away from zero, the
    state "drawn" has its coordinates. Velocities of parts are refused.
    """
    checks.flag(strict, "strict")
    checks.flag(merge_fixed, "merge_fixed")
    where = checks.path(path, "path", error=ModelFileError)
    file, notes = where.name, Notes(strict)
    text = decoded(contents(where, file, MAX_BYTES), file)
    if not text.strip():
        raise ModelFileError(
            "the file is empty; needed: statements of an Adams data set, such as PART and JOINT.", file
        )
    reader = _DatasetReader(list(statements(text, file)), notes, file)
    try:
        m = reader.read(where.stem, merge_fixed)
    except ModelFileError:
        raise
    except DescriptionError as error:
        raise ModelFileError(str(error), file) from error
    m.notes.extend(notes.done())
    return m


class _DatasetReader:
    """One dataset on its way to a mechanism."""

    def __init__(self, given: list[Statement], notes: Notes, file: str):
        self.notes, self.file = notes, file
        self.of: dict[str, dict[str, Statement]] = {}
        for e in given:
            if e.name in PASSED_OVER:
                notes.add(e, "is on output or analysis, and has no meaning here")
            elif e.name not in READ:
                raise e.error(f"is a statement that is not read; known: {', '.join(READ)}.")
            elif e.identifier.lstrip("0") in self.of.setdefault(e.name, {}):
                raise e.error(f"has the identifier of the statement on line {self.of[e.name][_id(e.identifier)].line}.")
            else:
                self.of[e.name][_id(e.identifier)] = e
        self.units = Units.of(next(iter(self.of.get("UNITS", {}).values()), None), file)
        self.parts = self.of.get("PART", {})
        self.markers = self.of.get("MARKER", {})

    def read(self, title: str, merge_fixed: bool) -> Mechanism:
        graph = Graph(title, gravity=self._gravity())
        if not any("GROUND" not in e.flags for e in self.parts.values()):
            raise ModelFileError("has no PART that moves; there is nothing to read.", self.file)
        for key, e in self.parts.items():
            if "GROUND" in e.flags:
                e.refuse_others("GROUND")
            else:
                graph.links.append(self._link(key, e))
        links = {link.name: link for link in graph.links}
        for key in self.markers:
            part, T = self._marker(key)
            (graph.frames if part == WORLD else links[part].frames)[f"marker_{key}"] = T
        for key, e in self.of.get("JOINT", {}).items():
            graph.edges.append(self._joint(key, e))
        for e in self.of.get("MOTION", {}).values():
            joint = self._named("JOINT", e)
            next(x for x in graph.edges if x.name == f"joint_{joint}").driven = True
        m = build(graph, self.notes, base="free", merge_fixed=merge_fixed)
        add_drawn(m, graph)
        for key, e in self.of.get("MOTION", {}).items():
            self._motion(m, key, e)
        for key, e in self.of.get("GCON", {}).items():
            self._distance(m, key, e)
        for kind, add in (("SPRINGDAMPER", self._spring), ("SFORCE", self._force)):
            for key, e in self.of.get(kind, {}).items():
                add(m, key, e)
        return m

    # --- parts and markers ----------------------------------------------------------------------------------------

    def _gravity(self) -> list[float]:
        given = self.of.get("ACCGRAV", {})
        if not given:
            return [0.0, 0.0, 0.0]
        e = next(iter(given.values()))
        e.refuse_others("IGRAV", "JGRAV", "KGRAV")
        return [self.units.acceleration * e.number(k) if k in e.values else 0.0 for k in ("IGRAV", "JGRAV", "KGRAV")]

    def _link(self, key: str, e: Statement) -> FileLink:
        e.refuse_others("MASS", "CM", "IM", "IP", "QG", "REULER", "EXACT")
        link = FileLink(f"part_{key}", e, pose=self._placed(e, "QG"))
        mass = self.units.mass * (e.number("MASS") if "MASS" in e.values else 0.0)
        if mass == 0.0:
            return link
        center = self._own(e, "CM", key)
        inertia = self._own(e, "IM", key) if "IM" in e.values else center
        link.mass, link.com = mass, center.p
        if "IP" in e.values:
            given = e.numbers("IP", 6)
            if len(given) < 3:
                raise e.error("has fewer than 3 moments of inertia in IP.")
            xx, yy, zz, xy, xz, yz = [*given, *[0.0] * (6 - len(given))]
            J = self.units.mass * self.units.length**2 * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            J = inertia.R @ J @ inertia.R.T
            r = inertia.p - center.p
            link.inertia = J - mass * (r @ r * np.eye(3) - np.outer(r, r))
        return link

    def _own(self, e: Statement, key: str, part: str) -> Transform:
        """A marker of a part, in the part."""
        found, T = self._marker(self._named("MARKER", e, key))
        if found != f"part_{part}":
            raise e.error(f"has the marker {e.values[key]} as {key}, which belongs to another part.")
        return T

    def _named(self, kind: str, e: Statement, key: str | None = None) -> str:
        """The identifier that an argument names, of a statement that is there."""
        text = e.text(key or kind)
        found = _id(text)
        if found not in self.of.get(kind, {}):
            raise e.error(f"asks for {kind}/{text[:20]}, which is not there.")
        return found

    def _marker(self, key: str) -> tuple[str, Transform]:
        """The part of a marker ("world" for the ground), and its place in it."""
        e = self.markers[key]
        e.refuse_others("PART", "QP", "REULER", "ZP", "XP")
        part = self._named("PART", e)
        T = self._placed(e, "QP")
        if "ZP" in e.values:
            T = Transform(self._pointed(e, T.p), T.p)
        elif "XP" in e.values:
            raise e.error("has XP without ZP.")
        return (WORLD if "GROUND" in self.parts[part].flags else f"part_{part}"), T

    def _placed(self, e: Statement, key: str) -> Transform:
        a, b, c = e.triple("REULER", angles=True)
        return Transform(_about_z(a) @ _about_x(b) @ _about_z(c), self.units.length * e.triple(key))

    def _pointed(self, e: Statement, p: np.ndarray) -> np.ndarray:
        """Axes of which z points to ZP, and x lies in the plane of XP."""
        if "REULER" in e.values:
            raise e.error("has both REULER and ZP; needed: one of them.")
        z = self.units.length * e.triple("ZP") - p
        x = self.units.length * e.triple("XP") - p if "XP" in e.values else np.eye(3)[int(np.argmin(np.abs(z)))]
        y = np.cross(z, x)
        if not np.linalg.norm(z) > 0.0 or not np.linalg.norm(y) > 1e-9 * np.linalg.norm(z) * np.linalg.norm(x):
            raise e.error("has ZP or XP that say no direction.")
        z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
        return np.column_stack([np.cross(y, z), y, z])

    def _end(self, m: Mechanism, e: Statement, key: str) -> Frame:
        """The frame of a marker in the mechanism."""
        return m.frames[f"marker_{self._named('MARKER', e, key)}"]

    # --- joints, motions, forces ----------------------------------------------------------------------------------

    def _joint(self, key: str, e: Statement) -> Edge:
        kinds = [k for k in e.flags if k in JOINTS]
        if len(kinds) != 1 or len(e.flags) != 1:
            raise e.error(f"is of the kind {', '.join(e.flags)[:40] or '(none)'}; known: {', '.join(JOINTS)}.")
        kind = kinds[0]
        e.refuse_others(kind, "I", "J", *(["PITCH"] if kind == "SCREW" else []))
        ends = {k: self._marker(self._named("MARKER", e, k)) for k in ("I", "J")}
        if kind == "UNIVERSAL":
            ends = {k: (part, Transform(T.R @ CROSS[k], T.p)) for k, (part, T) in ends.items()}
        joint: Joint = self._screw(e) if kind == "SCREW" else JOINTS[kind]()
        (inner, at), (outer, there) = ends["J"], ends["I"]
        return Edge(f"joint_{key}", e, joint, inner, outer, at, there)

    def _screw(self, e: Statement) -> Joint:
        return Screw("z", pitch=self.units.length * e.number("PITCH") / (2 * np.pi))

    def _motion(self, m: Mechanism, key: str, e: Statement) -> None:
        e.refuse_others("JOINT", "FUNCTION", "ROTATION", "TRANSLATION", "DISPLACEMENT")
        name = f"joint_{self._named('JOINT', e)}"
        attachment = m.joints.get(name)
        joint = None if attachment is None else attachment.joint
        turning = isinstance(joint, Revolute) or (isinstance(joint, Cylindrical) and "ROTATION" in e.flags)
        sliding = isinstance(joint, Prismatic) or (isinstance(joint, Cylindrical) and "TRANSLATION" in e.flags)
        if attachment is None or turning == sliding or ("ROTATION" in e.flags and sliding and not turning):
            raise e.error(
                f"moves {name}; needed: a revolute or translational joint, or a cylindrical one with ROTATION or "
                "TRANSLATION, that is no other joint's loop."
            )
        k = 0 if not isinstance(joint, Cylindrical) else next(
            i for i, angular in enumerate(joint.angular) if bool(angular) == turning
        )  # fmt: skip
        f, unit = function_of_time(e, e.text("FUNCTION")), 1.0 if turning else self.units.length
        m.add_driver(f"motion_{key}", attachment.coordinates[k], lambda t: unit * f(t / self.units.time) + 0.0 * t)

    def _distance(self, m: Mechanism, key: str, e: Statement) -> None:
        e.refuse_others("I", "FUNCTION")
        found = re.fullmatch(
            rf"\s*DM\(\s*(\d+)\s*,\s*(\d+)\s*\)\s*-\s*({NUMBER})\s*", e.text("FUNCTION"), re.IGNORECASE
        )
        if found is None:
            raise e.error("has a function that is not read; known: DM(i, j)-length.")
        for one in found.groups()[:2]:
            if _id(one) not in self.markers:
                raise e.error(f"asks for MARKER/{one[:20]}, which is not there.")
        a, b = (m.frames[f"marker_{_id(x)}"] for x in found.groups()[:2])
        m.add_rod(f"gcon_{key}", a, b, length=self.units.length * float(found[3]))

    def _spring(self, m: Mechanism, key: str, e: Statement) -> None:
        e.refuse_others("I", "J", "TRANSLATION", "K", "C", "LENGTH", "FORCE")
        if "TRANSLATION" not in e.flags:
            raise e.error("is no spring of TRANSLATION, the kind that is read.")
        k, c, rest, force = (e.number(n) if n in e.values else 0.0 for n in ("K", "C", "LENGTH", "FORCE"))
        k, c = k * self.units.force / self.units.length, c * self.units.force * self.units.time / self.units.length
        rest *= self.units.length
        if force and not k:
            raise e.error("has a FORCE without K.")
        rest += self.units.force * force / k if k else 0.0
        ends = self._end(m, e, "I"), self._end(m, e, "J")
        m.add_spring(f"springdamper_{key}", *ends, stiffness=k, damping=c, rest_length=rest)

    def _force(self, m: Mechanism, key: str, e: Statement) -> None:
        e.refuse_others("I", "J", "TRANSLATION", "TRANSLATIONAL", "ACTIONONLY", "FUNCTION")
        if not {"TRANSLATION", "TRANSLATIONAL"} & set(e.flags):
            raise e.error("is no force of TRANSLATION, the kind that is read.")
        f, i, j = function_of_time(e, e.text("FUNCTION")), self._end(m, e, "I"), self._end(m, e, "J")
        unit = self.units.force
        if "ACTIONONLY" not in e.flags:
            raise e.error("acts on both parts; needed: ACTIONONLY, along z of its J marker.")

        def force(s: Any) -> Any:
            return unit * f(s.t / self.units.time) * s.pose(j)[:3, 2]

        m.add_wrench(f"sforce_{key}", i, force=force)


READ = ("UNITS", "ACCGRAV", "PART", "MARKER", "JOINT", "MOTION", "GCON", "SPRINGDAMPER", "SFORCE")


def _id(text: str) -> str:
    """An identifier without zeros before it.

    >>> _id("0102"), _id("0")
    ('102', '0')
    """
    return text.strip().lstrip("0") or "0"


def _about_z(a: float) -> np.ndarray:
    return _tidy([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])


def _about_x(a: float) -> np.ndarray:
    return _tidy([[1.0, 0.0, 0.0], [0.0, np.cos(a), -np.sin(a)], [0.0, np.sin(a), np.cos(a)]])


def _tidy(R: Any) -> np.ndarray:
    """A rotation whose entries of rounding are zeros, and those beside ±1 these."""
    R = np.array(R)
    exact = np.round(R)
    return np.where(np.abs(R - exact) < 1e-15, exact, R)
