"""MuJoCo's compiler on the checked text: the numbers of the model, and the element that each of them comes from.

Meshes are opened only where the inertia of a moving body depends on them, by this library and not by MuJoCo;
elsewhere a mesh is a shape for display, and its geom becomes a small sphere without mass, which keeps its place.
"""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import errors
from dalembert.errors import ModelFileError
from dalembert.formats.mjcf.source import Source
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element, shown

MAX_FACES = 500_000


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """MuJoCo's model of a file, and where its parts are written."""

    mujoco: Any  # the module
    model: Any  # MuJoCo's MjModel
    root: Element
    elements: dict[str, list[Element]]  # by kind ("body", "joint", …), in the order of the model
    meshes: dict[int, tuple[str, tuple[float, ...]]]  # geom: (file, scale) of its mesh
    keyframes: bool  # whether keyframes fit the coordinates
    contacts: list[Element]  # <pair> and <exclude>
    replaced: dict[int, tuple[int, int]]  # contype and conaffinity of geoms whose meshes are not opened

    def name(self, kind: str, k: int) -> str:
        """The name of a part in the file, '' where it has none."""
        of = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        return self.mujoco.mj_id2name(self.model, of, k) or ""


def compiled(source: Source, notes: Notes, base: str | None) -> Compiled:
    """The compiled model; what MuJoCo refuses is a `ModelFileError` at the element it names."""
    mujoco = errors.extra("mujoco", "mjcf", "reading MJCF files")
    try:
        spec = mujoco.MjSpec.from_string(source.main, include=source.include)
        fused = bool(spec.compiler.fusestatic)
        spec.compiler.fusestatic = spec.compiler.discardvisual = False
        keyframes = not (_changed_base(spec, base) or source.sizes_change)
        if not keyframes:
            for key in list(spec.keys):
                notes.add(source.at(key.info), "keyframes of another number of coordinates or controls are left out")
                spec.delete(key)
        bits = [(geom, (int(geom.contype), int(geom.conaffinity))) for geom in spec.geoms]
        kept = _meshes(mujoco, spec, source, notes, fused)
        model = _compile(spec)
        if fused and spec.compiler.settotalmass > 0.0:  # of the bodies that fusing would leave
            counted = sum(float(model.body_mass[body.id]) for body, _, counts in _bodies(spec, source, fused) if counts)
            spec.compiler.settotalmass *= float(model.body_mass[1:].sum()) / counted if counted > 0.0 else 1.0
            model = _compile(spec)
    except ModelFileError:
        raise
    except Exception as error:  # MuJoCo raises ValueError, its binding others
        raise _refused(source, str(error)) from None
    _check_finite(model, source.root)
    _switch_off(model)
    kinds = {"joint": "joints", "body": "bodies", "geom": "geoms", "site": "sites", "tendon": "tendons"}
    kinds |= {"actuator": "actuators", "equality": "equalities", "key": "keys"}
    elements = {}
    for kind, plural in kinds.items():
        parts = sorted(getattr(spec, plural), key=lambda part: part.id)
        elements[kind] = [source.at(part.info) for part in parts]
    meshes = {geom.id: info for geom, info in kept}
    replaced = {geom.id: given for geom, given in bits if given != (geom.contype, geom.conaffinity)}
    return Compiled(mujoco, model, source.root, elements, meshes, keyframes, source.contacts, replaced)


def _compile(spec: Any) -> Any:
    """MuJoCo's model; that it will give up settotalmass one day is no matter of the file."""
    if spec.compiler.settotalmass <= 0.0:
        return spec.compile()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*settotalmass")
        return spec.compile()


def _check_finite(model: Any, root: Element) -> None:
    """Refuse a model with numbers that overflowed."""
    for name in (
        "body_mass",
        "body_inertia",
        "body_pos",
        "body_quat",
        "body_ipos",
        "body_iquat",
        "jnt_pos",
        "jnt_axis",
    ):
        if not np.isfinite(getattr(model, name)).all():
            raise root.error(f"gives a model whose {name.replace('_', ' ')} is not finite.")


def _switch_off(model: Any) -> None:
    """Springs and dampers that a flag of the file switches off are zero."""
    for flag, noun in ((1 << 5, "stiffness"), (1 << 6, "damping")):
        if model.opt.disableflags & flag:
            for name in (f"jnt_{noun}", f"dof_{noun}", f"tendon_{noun}", f"actuator_{noun}"):
                for array in (getattr(model, name, None), getattr(model, f"{name}poly", None)):
                    if array is not None:
                        array[:] = 0.0


def _refused(source: Source, message: str) -> ModelFileError:
    """MuJoCo's sentence at the place it means."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = " ".join(line for line in lines if not re.match(r"Element .*line \d+", line)) or message
    said = re.sub(r"^((XML )?Error:\s*)+", "", said).rstrip(".")
    return source.at(message).error(f"is refused by MuJoCo's compiler: {said}.")


def _changed_base(spec: Any, base: str | None) -> bool:
    """Fix or free the bodies on the ground; whether there was any to change."""
    if base is None:
        return False
    change = False
    for body in spec.worldbody.bodies:
        free = [j for j in body.joints if j.type.name.endswith("FREE")]
        if base == "fixed":
            for joint in free:
                spec.delete(joint)
                change = True
        elif not body.joints and _carries_joints(body) and not body.mocap:
            body.add_freejoint()
            change = True
    return change


def _carries_joints(body: Any) -> bool:
    waiting = list(body.bodies)
    while waiting:
        b = waiting.pop()
        if b.joints:
            return True
        waiting.extend(b.bodies)
    return False


# --- meshes -----------------------------------------------------------------------------------------------------------


def _meshes(
    mujoco: Any, spec: Any, source: Source, notes: Notes, fused: bool
) -> list[tuple[Any, tuple[str, tuple[float, ...]]]]:
    """Replace what is only displayed, load what inertias need; (geom, (file, scale)) of meshes."""
    of, all_count = mujoco.mjtGeom, spec.compiler.settotalmass > 0.0
    meshes = {mesh.name: mesh for mesh in spec.meshes}
    files = {name: mesh.file for name, mesh in meshes.items()}
    shapes, used = [], set()
    for body, moving, counts in _bodies(spec, source, fused):
        needs = (moving or (all_count and counts)) and _from_geoms(mujoco, spec, body)
        for geom in body.geoms:
            at = source.at(geom.info)
            mesh = meshes.get(geom.meshname)
            if geom.type == of.mjGEOM_SDF and mesh is not None and (mesh.file or len(mesh.uservert)):
                notes.add(at, "a signed distance field is taken as its mesh")
                geom.type = of.mjGEOM_MESH
            if geom.type in (of.mjGEOM_HFIELD, of.mjGEOM_SDF):
                if needs and _heavy(spec, geom):
                    field = "height field" if geom.type == of.mjGEOM_HFIELD else "signed distance field of a plugin"
                    raise at.error(
                        f"gives {_called(body)} its inertia by a {field}, which is not read. Give the body an "
                        "<inertial>, or the geom the mass 0."
                    )
                notes.add(at, "height fields and signed distance fields are not kept")
                _small(of, geom)
                continue
            if not geom.meshname:
                continue
            if mesh is None:
                raise at.error(f"asks for mesh {shown(geom.meshname)}, which no <mesh> describes.")
            if mesh.file:
                shapes.append((geom, (files[mesh.name], tuple(float(x) for x in mesh.scale))))
            if needs and _heavy(spec, geom):
                used.add(geom.meshname)
                if mesh.file and mesh.file == files[mesh.name]:
                    _load(spec, source, mesh, at, body)
                continue
            if not mesh.file:
                notes.add(at, "its mesh is written in the file and is not kept as a shape")
            _small(of, geom)
    for name, mesh in meshes.items():
        if name not in used:
            spec.delete(mesh)
    return shapes


def _small(of: Any, geom: Any) -> None:
    """A sphere without mass in the place of a geom."""
    geom.type, geom.meshname, geom.hfieldname, geom.size = of.mjGEOM_SPHERE, "", "", [1e-3, 0.0, 0.0]
    geom.mass, geom.contype, geom.conaffinity = 0.0, 0, 0


def _bodies(spec: Any, source: Source, fused: bool) -> Iterable[tuple[Any, bool, bool]]:
    """Every body, whether joints can move it, and whether its mass counts in settotalmass.

    The world's does not, nor that of bodies that `fusestatic` makes part of it: those without joints that nothing
    names and that hold no site of a sensor of forces.
    """
    waiting = [(spec.worldbody, False, False)]
    while waiting:
        body, moving, counts = waiting.pop()
        yield body, moving, counts
        for child in body.bodies:
            own = not fused or child.joints or child.mocap
            own = own or source.is_named(child.name, [site.name for site in child.sites])
            waiting.append((child, moving or bool(child.joints), counts or bool(own)))


def _from_geoms(mujoco: Any, spec: Any, body: Any) -> bool:
    """Whether the inertia of a body comes from its geoms."""
    rule, of = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    return rule == of.mjINERTIAFROMGEOM_TRUE or (rule == of.mjINERTIAFROMGEOM_AUTO and not body.explicitinertial)


def _heavy(spec: Any, geom: Any) -> bool:
    """Whether a geom adds to the inertia of its body."""
    low, high = spec.compiler.inertiagrouprange
    return low <= geom.group <= high and geom.mass != 0.0 and (geom.density != 0.0 or geom.mass == geom.mass)


def _load(spec: Any, source: Source, mesh: Any, geom: Element, body: Any) -> None:
    """Give MuJoCo the bytes of a mesh that an inertia depends on."""
    try:
        path = source.folder.resolve(mesh.file, geom)
    except ModelFileError as error:
        reason = str(error).partition(shown(mesh.file))[2].removeprefix(", ").removeprefix("and ")
        raise geom.error(
            f"gives {_called(body)} its inertia by the mesh file {shown(mesh.file)}, which is not read: {reason} Put "
            "the file there, or give the body an <inertial>."
        ) from None
    data = source.folder.contents(path, geom)
    _check_mesh(data, path.suffix.lower(), geom, mesh.file)
    name = f"mesh{len(spec.assets)}{path.suffix.lower()}"
    spec.assets[name] = data
    mesh.file = name


def _called(body: Any) -> str:
    return f"body {shown(body.name)}" if body.name else "its body"


def _check_mesh(data: bytes, suffix: str, geom: Element, file: str) -> None:
    """Refuse a mesh whose counts do not fit its size, before MuJoCo believes them."""
    what = f"depends on the mesh file {shown(file)}, "
    if suffix == ".stl":
        faces = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
        if not 0 < faces <= MAX_FACES or len(data) != 84 + 50 * faces:
            raise geom.error(f"{what}which is no binary STL of at most {MAX_FACES} faces.")
    elif suffix == ".msh":
        counts = struct.unpack_from("<4i", data) if len(data) >= 16 else (-1,) * 4
        n, normals, texture, faces = counts
        if min(counts) < 0 or len(data) != 16 + 12 * (n + normals) + 8 * texture + 12 * faces or faces > MAX_FACES:
            raise geom.error(f"{what}which is no MSH file of at most {MAX_FACES} faces.")
    elif suffix == ".obj":
        if b"\0" in data or data.count(b"\n") > 4 * MAX_FACES:
            raise geom.error(f"{what}which is no OBJ text of at most {4 * MAX_FACES} lines.")
    else:
        raise geom.error(f"{what}of a kind that is not read; needed: .stl, .obj or .msh.")
