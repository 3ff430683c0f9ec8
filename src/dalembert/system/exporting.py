"""A system outside Python: as C, as an FMU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.protocols import Parameters, StateGiven

if TYPE_CHECKING:
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
    """Write the mechanism as one C99 file and its header, for any computer or controller; returns the files.

    The C has no dependency but libm, no heap, no global state and no input or output: derivatives, multipliers,
    projections, steps, energies, and inverse dynamics where the mechanism has inputs. docs/export_c.md lists all.

    folder: where the files go; it is made. state: the start that is written, and where independent rows are chosen
    among redundant ones; by default the assembled neutral position. p: parameters, members of a struct in C.
    name: the prefix of all names in C; by default the mechanism's. precision: "double" or "float".
    frames: names whose poses and twists are wanted. outputs: as in `linearize`, functions of q and v.
    independent: coordinates of the exact linear model, as in `linearize`; [] chooses them, None leaves it out.
    active: coordinates from which all others are found, positions and velocities: what a robot's driver needs.
    controllers: {name: what `lqr` or `control.computed_torque` makes}. examples: whether to write a `main.c`, a
    cycle of a controller and a `CMakeLists.txt` too.

    >>> import tempfile
    >>> from dalembert import zoo
    >>> system = zoo.five_bar().compile()
    >>> [f.name for f in system.export_c(tempfile.mkdtemp(), system.state(*zoo.five_bar_start()))]
    ['five_bar.c', 'five_bar.h', 'main.c', 'realtime.c', 'CMakeLists.txt']
    """
    from dalembert.export.c import export_c as _export_c

    return _export_c(
        system, folder, state, p=p, name=name, precision=precision, frames=frames, outputs=outputs,
        independent=independent, active=active, controllers=controllers, examples=examples,
    )  # fmt: skip


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
    """Write the mechanism as an FMU, with its sources; returns the file.

    For co-simulation the C of `export_c` and its adaptive steps run inside, over singular positions too. For model
    exchange another program's solver integrates independent coordinates, in charts that are changed at events;
    docs/export_fmu.md has the variables. Needs a C compiler, or the extra `export`, which brings one.

    path: the file, which ends with .fmu; it is replaced. state: where it starts; by default the assembled neutral
    position. p: parameters, which the FMU has as fixed ones. name: its identifier; by default the mechanism's.
    frames: names whose poses are outputs. outputs: as in `linearize`, functions of q and v. rtol, atol: tolerances,
    parameters of the FMU too. platforms: of "linux64", "win64", "darwin64", for version 3.0 of
    "x86_64-linux", "aarch64-linux", and so on with windows and darwin; default: this computer's. version: "2.0" or
    "3.0" of FMI. kind: "co-simulation" or "model-exchange".
    """
    from dalembert.export.fmu import export_fmu as _export_fmu

    return _export_fmu(
        system, path, state, p=p, name=name, frames=frames, outputs=outputs, rtol=rtol, atol=atol,
        platforms=platforms, version=version, kind=kind,
    )  # fmt: skip
