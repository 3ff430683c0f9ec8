"""A stage of USD, composed of files inside one folder only, and its prims with units and places."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import errors
from dalembert.errors import ModelFileError
from dalembert.formats.folder import Folder
from dalembert.spatial import Transform, quaternion_matrix

NAME = "dalembert:name"  # of prims whose name here is no identifier of USD
MAX_PRIMS = 100_000
MAX_LAYERS = 1000
MAX_BYTES = 64 * 2**20
SHEAR = 1e-5  # of the axes of a body, which are given in single precision


@dataclass(frozen=True, slots=True)
class Origin:
    """A prim as notes and errors name it; USD keeps no lines."""

    path: str
    file: str
    line: int = 0

    def __str__(self) -> str:
        return self.path

    def error(self, text: str) -> ModelFileError:
        """The error that this `text` (a sentence that goes on after its name), to be raised."""
        return ModelFileError(f"prim {self.path} {text}", self.file)


class UsdStage:
    """A composed stage: prims in order, their places in metres and the units of masses."""

    def __init__(self, path: Path, folder: Folder):
        self.pxr = modules()
        self.path, self.file = path.resolve(), path.name
        root = self._checked(self.path, folder)
        Usd, Geom, Physics = self.pxr["Usd"], self.pxr["UsdGeom"], self.pxr["UsdPhysics"]
        with self.sound():
            self.stage = Usd.Stage.Open(root)
            self.length = float(Geom.GetStageMetersPerUnit(self.stage))
            self.mass = float(Physics.GetStageKilogramsPerUnit(self.stage))
            self.up = str(Geom.GetStageUpAxis(self.stage))
        if not (0.0 < self.length < np.inf and 0.0 < self.mass < np.inf):
            raise ModelFileError("has metersPerUnit or kilogramsPerUnit that is not positive.", self.file)
        self.places: dict[str, tuple[Transform, np.ndarray]] = {}

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Errors of USD as errors of the file."""
        try:
            yield
        except self.pxr["Tf"].ErrorException as error:
            text, line = _first(error, self.path)
            raise ModelFileError(f"is no sound stage: {text}", self.file, line) from None

    def prims(self) -> Iterator[Any]:
        """Prims that are active and defined, those inside instances too, outer before inner."""
        within = self.pxr["Usd"].TraverseInstanceProxies(self.pxr["Usd"].PrimDefaultPredicate)
        for k, prim in enumerate(self.stage.Traverse(within)):
            if k >= MAX_PRIMS:
                raise ModelFileError(f"has more than {MAX_PRIMS} prims, the most that is read.", self.file)
            yield prim

    def origin(self, prim: Any) -> Origin:
        """A prim for notes and errors."""
        return Origin(str(prim.GetPath()), self.file)

    def name(self, prim: Any) -> str:
        """The name of a prim in the mechanism."""
        given = self.value(prim, NAME)
        return given if isinstance(given, str) and given.strip() else str(prim.GetName())

    def place(self, prim: Any) -> tuple[Transform, np.ndarray]:
        """Place of a prim in the world (m), and the factors by which its own lengths are scaled, units included."""
        path = str(prim.GetPath())
        if path not in self.places:
            cache = self.pxr["UsdGeom"].XformCache()
            M = np.array(cache.GetLocalToWorldTransform(prim), dtype=float).T
            scale = np.linalg.norm(M[:3, :3], axis=0)
            if not np.isfinite(M).all() or not (scale > 0.0).all():
                raise self.origin(prim).error("has a transformation that is not finite or flattens it.")
            R = M[:3, :3] / scale
            if np.linalg.det(R) < 0.0:
                R, scale = R * -1.0, scale * -1.0
            if np.abs(R.T @ R - np.eye(3)).max() > SHEAR:
                raise self.origin(prim).error("is sheared by its transformations; needed: turns and scales along axes.")
            U, _, V = np.linalg.svd(R)
            self.places[path] = Transform(U @ V, M[:3, 3] * self.length), scale * self.length
        return self.places[path]

    def value(self, prim: Any, name: str, default: Any = None) -> Any:
        """The value of an attribute, the default where there is none."""
        attribute = prim.GetAttribute(name)
        found = attribute.Get() if attribute else None
        return default if found is None else found

    def number(self, prim: Any, name: str, default: float) -> float:
        """A number that is not NaN."""
        return float(self.numbers(prim, name, [default])[0])

    def numbers(self, prim: Any, name: str, default: Any) -> np.ndarray:
        """Numbers none of which is NaN."""
        found = self.value(prim, name)
        try:
            x = np.atleast_1d(np.array(default if found is None else found, dtype=float))
        except (TypeError, ValueError):
            raise self.origin(prim).error(f"has {name} = {str(found)[:60]}; needed: numbers.") from None
        if np.isnan(x).any() or x.shape != np.atleast_1d(default).shape:
            raise self.origin(prim).error(f"has {name} = {str(found)[:60]}; needed: {np.size(default)} number(s).")
        single = "float" in str(prim.GetAttribute(name).GetTypeName().cppTypeName) if found is not None else False
        return _as_written(x) if single or str(type(found).__name__).endswith("f") else x

    def rotation(self, prim: Any, name: str) -> np.ndarray:
        """The rotation of a quaternion, the identity where it is absent or zero."""
        found = self.value(prim, name)
        q = np.zeros(4) if found is None else np.array([found.GetReal(), *found.GetImaginary()], dtype=float)
        q = _as_written(q) if str(type(found).__name__).endswith("f") else q
        size = float(np.linalg.norm(q))
        if not np.isfinite(size):
            raise self.origin(prim).error(f"has {name} that is not finite.")
        return np.eye(3) if size == 0.0 else np.array(quaternion_matrix(q / size), dtype=float)

    def applied(self, prim: Any) -> list[str]:
        """Names of the schemas that are applied, those of unknown plugins too."""
        return [str(x) for x in prim.GetPrimTypeInfo().GetAppliedAPISchemas()]

    def target(self, prim: Any, name: str) -> Any:
        """The prim that a relationship names, None where it names none."""
        relation = prim.GetRelationship(name)
        paths = relation.GetTargets() if relation else []
        if len(paths) > 1:
            raise self.origin(prim).error(f"names {len(paths)} prims by {name}; needed: one.")
        if not paths:
            return None
        found = self.stage.GetPrimAtPath(paths[0])
        if not found:
            raise self.origin(prim).error(f"asks by {name} for {paths[0]}, which is not there.")
        return found

    def _checked(self, path: Path, folder: Folder) -> Any:
        """The root layer, with every layer that it needs inside the folder."""
        layers, waiting, root, total = set[Path](), [path], None, 0
        while waiting:
            one = waiting.pop()
            if one in layers:
                continue
            layers.add(one)
            total += _size(one, folder.shown(one))
            if len(layers) > MAX_LAYERS or total > MAX_BYTES:
                most = f"{MAX_LAYERS} layers or {MAX_BYTES} bytes"
                raise ModelFileError(f"needs more than {most}, the most that is read.", self.file)
            layer = self._layer(one, folder.shown(one))
            root = layer if root is None else root
            at = Origin(f"in {folder.shown(one)}", self.file)
            for asked in layer.GetCompositionAssetDependencies():
                name = str(asked).removeprefix("./")
                waiting.append(folder.resolve(name, at, near=one.parent))  # type: ignore[arg-type]
        return root

    def _layer(self, path: Path, shown: str) -> Any:
        try:
            layer = self.pxr["Sdf"].Layer.FindOrOpen(str(path))
            if layer is not None:
                layer.Reload(force=True)  # the file may have changed since another read
        except self.pxr["Tf"].ErrorException as error:
            text, line = _first(error, path)
            raise ModelFileError(f"is no layer of USD: {text}", shown, line) from None
        if layer is None:
            raise ModelFileError("is no layer of USD that can be opened.", shown)
        return layer


def modules() -> dict[str, Any]:
    """The modules of USD, by name."""
    names = ("Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics")
    return {name: errors.extra(f"pxr.{name}", "usd", "reading and writing USD files") for name in names}


def _size(path: Path, shown: str) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise ModelFileError(f"could not be read: {error.strerror}.", shown) from None


def _as_written(x: np.ndarray) -> np.ndarray:
    """Numbers of single precision as the shortest decimals that mean them: 1.2, not 1.2000000476837158.

    >>> _as_written(np.array([1.2000000476837158, -np.inf]))
    array([ 1.2, -inf])
    """
    return np.array([float(str(np.float32(v))) for v in x])


def _first(error: Exception, path: Path) -> tuple[str, int]:
    """The first sentence of an error of USD, and its line in the file, 0 where it names none."""
    found = error.args[0] if error.args else error
    text = str(getattr(found, "commentary", found)).strip().splitlines() or ["it says no more"]
    place, _, rest = text[0].partition(f"{path}:")[2].partition(" ")
    line = place.partition(":")[0]
    said = rest if line.isdigit() and rest else text[0].replace(f"{path.parent}{os.sep}", "")
    return said[:200], int(line) if line.isdigit() else 0
