"""Model files: readers and writers, chosen by the name and the content of a file."""

from __future__ import annotations

import inspect
import os
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert import checks
from dalembert.errors import MissingExtra, ModelFileError

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism
    from dalembert.mechanism.notes import Note

#: format: (what reads it, what writes it), each a module and a function in it
FORMATS = {
    "model": ("model.reader:read_model", "model.writer:write"),
    "urdf": ("urdf:read_urdf", "urdf.writer:write"),
    "sdf": ("sdf:read_sdf", "sdf.writer:write"),
    "mjcf": ("mjcf:read_mjcf", "mjcf.writer:write"),
    "rbdl": ("rbdl:read_rbdl", ""),
    "adams": ("adams:read_adams", ""),
    "usd": ("usd:read_usd", "usd.writer:write"),
}
#: suffix: format; .xml is told by its first element
SUFFIXES = {
    ".yaml": "model",
    ".yml": "model",
    ".json": "model",
    ".urdf": "urdf",
    ".xacro": "urdf",
    ".sdf": "sdf",
    ".world": "sdf",
    ".mjcf": "mjcf",
    ".lua": "rbdl",
    ".adm": "adams",
    ".usda": "usd",
    ".usd": "usd",
    ".usdc": "usd",
}
ROOTS = {"mujoco": "mjcf", "robot": "urdf", "sdf": "sdf", "gazebo": "sdf"}


def read(path: str | os.PathLike[str], *, strict: bool = False, **options: Any) -> Mechanism:
    """The mechanism of a model file.

    The suffix says the format: .yaml, .yml and .json (`read_model`), .urdf and .xacro (`read_urdf`), .sdf and .world
    (`read_sdf`), .lua (`read_rbdl`), .usda, .usd and .usdc (`read_usd`), .adm (`read_adams`); an .xml file is told by
    its first element (mujoco, robot, sdf). strict=True refuses a file with anything that has no meaning here, which is
    otherwise listed in `notes` of the mechanism. options: those of the reader.

    >>> import dalembert as da, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "four_bar.json"
    ...     _ = da.zoo.four_bar().save(path)
    ...     da.read(path)
    <mechanism 'four-bar': 3 bodies, 3 joints>
    """
    where = checks.path(path, "path", error=ModelFileError)
    kind = format_of(where, reading=True)
    reader = _find(kind, 0, where)
    known = [name for name, x in inspect.signature(reader).parameters.items() if x.kind is x.KEYWORD_ONLY]
    checks.keywords(options, known, f"options of reading {kind} files")
    return reader(where, strict=strict, **options)


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> list[Note]:
    """Write a mechanism to a file, in the format of its suffix; gives what that format cannot say."""
    where = checks.path(path, "path", error=ModelFileError)
    from dalembert.formats.urdf.sidecar import owner
    from dalembert.mechanism.joints.numeric import axes_at_defaults
    from dalembert.mechanism.topology import springs_in_joints, with_tree

    kind = format_of(where, reading=False)
    if kind == "model" and (urdf := owner(where)) is not None:
        raise ModelFileError(
            f"holds the loops of '{urdf.name}' beside it, which a model would replace. Choose another name.", str(where)
        )
    return _find(kind, 1, where)(
        mechanism if kind == "model" else axes_at_defaults(springs_in_joints(with_tree(mechanism))), where
    )


def format_of(path: Path, *, reading: bool) -> str:
    """The format of a file: "model", "urdf", "sdf", "mjcf", "usd", "rbdl" or "adams"; the last two are read only."""
    suffix = path.suffix.lower()
    others = {".xacro", ".usd", ".usdc"}  # programs that make URDF, and binary files
    written = {s for s, name in SUFFIXES.items() if FORMATS[name][1]} - others
    if suffix in (SUFFIXES if reading else written):
        return SUFFIXES[suffix]
    if suffix == ".xml" and not reading:
        return "mjcf"
    if suffix == ".xml":
        tag = _first_element(path)
        if tag in ROOTS:
            return ROOTS[tag]
        raise ModelFileError(f"begins with the element <{tag}>; needed: <mujoco>, <robot> (URDF) or <sdf>.", str(path))
    known = [s for s in SUFFIXES if reading or s in written]
    raise ModelFileError(
        f"has the suffix '{suffix}', which belongs to no format that is {'known' if reading else 'written'}; needed: "
        f"{', '.join(known)} or .xml.",
        str(path),
    )


def _first_element(path: Path) -> str:
    """The tag of the first element of an XML file, '' where there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(65536)
    except OSError as error:
        raise ModelFileError(f"could not be read: {error.strerror}.", str(path)) from None
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    head = data.decode("utf-16" if wide else "utf-8", "replace")
    found = re.search(r"<([A-Za-z_][\w.:-]{0,60})", re.sub(r"<!--.*?(-->|\Z)", "", head, flags=re.DOTALL))
    return found[1] if found else ""


def _find(name: str, which: int, path: Path) -> Any:
    module, function = FORMATS[name][which].split(":")
    try:
        return getattr(import_module(f"dalembert.formats.{module}"), function)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("dalembert.formats"):
            raise
        verb = "read" if which == 0 else "written"
        raise MissingExtra(f"'{path}' cannot be {verb}: this version has no code for {name} files.") from None
