"""`export_fmu`: a mechanism as an FMU, FMI 2.0 or 3.0, for co-simulation or model exchange, with its sources inside."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError, FileError
from dalembert.export.c import source_files, written
from dalembert.export.compilers import PLATFORMS, build_library, own_platform
from dalembert.export.contents import Contents, make_contents
from dalembert.export.model_description import model_description
from dalembert.export.model_description_3 import build_description, model_description_3
from dalembert.export.names import identifiers
from dalembert.export.source import flags, prefixed
from dalembert.export.templating import decided, filled, template
from dalembert.protocols import Parameters, StateGiven
from dalembert.system.system import System

KINDS = ("co-simulation", "model-exchange")
MOST_STEPS = 100_000  # of integration in one communication step


def export_fmu(
    system: System,
    path: str | os.PathLike[str],
    state: StateGiven | None = None,
    *,
    p: Parameters = None,
    name: str | None = None,
    frames: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    rtol: float = 1e-9,
    atol: float = 1e-10,
    platforms: Sequence[str] | None = None,
    version: str = "2.0",
    kind: str = "co-simulation",
) -> Path:
    """Write a mechanism as an FMU; see `System.export_fmu`."""
    place = checks.path(path, "path")
    if place.suffix.lower() != ".fmu":
        raise ArgumentError(f"path is '{place}'; needed: a file that ends with .fmu.")
    tolerances = checks.number(rtol, "rtol", above=0.0, below=1.0), checks.number(atol, "atol", above=0.0)
    version, kind = checks.choice(version, tuple(PLATFORMS), "version"), checks.choice(kind, KINDS, "kind")
    wanted = _platforms(platforms, version)
    c = make_contents(system, state, p, name, "double", frames, outputs, None, None, None, purpose=kind)
    if c.exchanged and not sum(c.free):
        raise ArgumentError(
            f"'{system.name}' has no freedom, so model exchange has no state to integrate. "
            "Use kind='co-simulation', or free a joint."
        )
    texts = source_files(c)
    guid = hashlib.sha256("".join([*texts.values(), repr(tolerances)]).encode()).hexdigest()[:32]
    texts[f"fmi{version[0]}.c"] = fmi_text(c, guid, tolerances, version)
    written_as = model_description if version == "2.0" else model_description_3
    description = written_as(c, guid, tolerances)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sources = [f for f in written(folder, texts) if f.suffix == ".c"]
        libraries = {}
        for each in wanted:
            libraries[each] = folder / (c.prefix + PLATFORMS[version][each][1])
            build_library(sources, libraries[each], each, version)
        try:
            with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("modelDescription.xml", description)
                if version == "3.0":
                    archive.writestr("sources/buildDescription.xml", build_description(c))
                for key, text in texts.items():
                    archive.writestr(f"sources/{key}", text)
                for each, library in libraries.items():
                    archive.write(library, f"binaries/{each}/{library.name}")
        except OSError as error:
            raise FileError(f"{place} cannot be written: {error.strerror or error}.") from error
    return place


def fmi_text(c: Contents, guid: str, tolerances: tuple[float, float], version: str) -> str:
    """The functions of FMI around the mechanism."""
    members = identifiers(c.system.p_names)
    reading = [f"    c->parameters[{k}] = c->memory.p.{m};" for k, m in enumerate(members)]
    writing = [f"    c->memory.p.{m} = c->parameters[{k}];" for k, m in enumerate(members)]
    poses = 12 * len(c.frames)
    words = {
        "GUID": guid,
        "ROOM_NU": str(max(1, len(c.system.u_names))),
        "ROOM_NP": str(max(1, len(members))),
        "ROOM_NY": str(max(1, len(c.outputs))),
        "ROOM_POSES": str(max(1, poses)),
        "COUNT_Y": str(len(c.outputs)),
        "COUNT_POSES": str(poses),
        "START_RTOL": repr(tolerances[0]),
        "START_ATOL": repr(tolerances[1]),
        "MOST_STEPS": str(MOST_STEPS),
        "COUNT_STATES": str(sum(c.free) if c.exchanged else 0),
        "COUNT_INDICATORS": "1" if c.charted else "0",
        "FMI2_TYPE": "0" if c.exchanged else "1",
        "FMI3_TYPE": "1" if c.exchanged else "0",
        "KIND": KINDS[c.exchanged],
        "GET_PARAMETERS": "\n".join(reading),
        "SET_PARAMETERS": "\n".join(writing),
    }
    own = {**flags(c), "HAS_FMI3": version == "3.0", "HAS_COSIMULATION": not c.exchanged}
    text = template("fmu.c") + template(f"fmi{version[0]}.c")
    return prefixed(c, filled(decided(text, own), words)).replace("PREFIX.h", f"{c.prefix}.h")


def _platforms(given: Any, version: str) -> tuple[str, ...]:
    known = tuple(PLATFORMS[version])
    if given is None:
        own = own_platform(version)
        if own is None:
            raise ArgumentError(
                f"FMI {version} has no folder for this computer; name platforms=, some of {', '.join(known)}."
            )
        return (own,)
    if not isinstance(given, list | tuple) or not given:
        raise ArgumentError(f"platforms is {checks.shown(given)}; needed: a list of {', '.join(known)}.")
    return tuple(dict.fromkeys(checks.choice(x, known, "an element of platforms") for x in given))
