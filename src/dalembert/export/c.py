"""`export_c`: a mechanism as one C99 file and its header."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalembert import checks
from dalembert.errors import FileError
from dalembert.export.contents import Contents, make_contents
from dalembert.export.examples import cmake_text, main_text, realtime_text
from dalembert.export.header import header_text
from dalembert.export.source import c_text
from dalembert.protocols import Parameters, StateGiven
from dalembert.system.system import System


def export_c(
    system: System,
    folder: str | os.PathLike[str],
    state: StateGiven | None = None,
    *,
    p: Parameters = None,
    name: str | None = None,
    precision: str = "double",
    frames: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    independent: Sequence[Any] | None = None,
    active: Sequence[str] | None = None,
    controllers: Mapping[str, Any] | None = None,
    examples: bool = True,
) -> tuple[Path, ...]:
    """Write a mechanism as C; see `System.export_c`."""
    place, wanted = checks.path(folder, "folder"), checks.flag(examples, "examples")
    c = make_contents(system, state, p, name, precision, frames, outputs, independent, active, controllers)
    texts = source_files(c)
    if wanted:
        texts |= {"main.c": main_text(c), "realtime.c": realtime_text(c), "CMakeLists.txt": cmake_text(c)}
    return written(place, texts)


def source_files(c: Contents) -> dict[str, str]:
    """The C file and the header, by name."""
    text, work, _ = c_text(c)
    return {f"{c.prefix}.c": text, f"{c.prefix}.h": header_text(c, work)}


def written(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Files of these texts in a folder, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return tuple(folder / name for name in texts)
