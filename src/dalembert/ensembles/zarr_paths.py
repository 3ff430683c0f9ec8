"""Dense paths of an ensemble as Zarr arrays beside the rows of its runs, for xarray to read while they are written.

    paths.zarr    q (run, t, coordinate), v (run, t, speed), outputs (run, t); of_path and d_path of derivatives

The paths of a part are written before its rows, whose file completes it: runs without rows are made again, and what a
crash left of their paths is overwritten. Zarr replaces a chunk as a whole. NaN: not made yet, or not known.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.ensembles.parts import Part
from dalembert.ensembles.plan import Plan
from dalembert.ensembles.sensitivities import blank_slopes
from dalembert.errors import FileError, extra

CHUNK = 2**17  # numbers, about, of whole runs
AXES = "_ARRAY_DIMENSIONS"  # where xarray looks for the names of axes


class ZarrPaths:
    """The paths of n runs in a folder."""

    def __init__(self, folder: Path, plan: Plan, n: int) -> None:
        zarr = extra("zarr", "zarr", "paths of an ensemble in Zarr")
        self.plan = plan
        system, times = plan.setup.system, plan.wanted
        place = folder / "paths.zarr"
        names: dict[str, Any] = {"run": np.arange(n), "t": times}
        shapes: dict[str, tuple[str, ...]] = dict.fromkeys(plan.outputs, ("run", "t"))
        if plan.keep == "states":
            names |= {"coordinate": list(system.q_names), "speed": list(system.v_names)}
            shapes |= {"q": ("run", "t", "coordinate"), "v": ("run", "t", "speed")}
        if "path" in blank_slopes(plan, 0):
            assert plan.slopes is not None
            _, ends, wrt = plan.slopes.names(system)
            names |= {"quantity": list(ends), "wrt": list(wrt)}
            shapes |= {"of_path": ("run", "t", "quantity"), "d_path": ("run", "t", "quantity", "wrt")}
        if taken := sorted(set(plan.outputs) & {*names, "q", "v", "of_path", "d_path"}):
            raise FileError(f"output '{taken[0]}' has the name of another array of paths.zarr. Give it another name.")
        try:
            if not (place / ".zgroup").exists():
                self._create(zarr, place, names, shapes)
            self.group = zarr.open_group(str(place), mode="r+")
            self.arrays = {name: self.group[name] for name in shapes}
        except (OSError, KeyError, ValueError) as error:
            raise FileError(f"'{place}' cannot be used: {error}") from error

    def _create(self, zarr: Any, place: Path, names: dict[str, Any], shapes: dict[str, tuple[str, ...]]) -> None:
        """Make the arrays and their coordinates."""
        about = {"system": self.plan.setup.system.name}
        group = zarr.create_group(str(place), overwrite=True, attributes=about, zarr_format=2)  # 3 has no names yet
        for name, values in names.items():
            x = np.asarray(values)
            units = {"units": "s"} if name == "t" else {}
            axes = {AXES: [name], **units}
            array = group.create_array(name, shape=x.shape, dtype=x.dtype, fill_value=None, attributes=axes)
            array[...] = x
        for name, dims in shapes.items():
            shape = tuple(len(names[d]) for d in dims)
            runs = max(1, CHUNK // max(1, int(np.prod(shape[1:]))))
            chunks = (min(runs, shape[0]), *(max(k, 1) for k in shape[1:]))
            group.create_array(
                name, shape=shape, chunks=chunks, dtype="f8", fill_value=np.nan, attributes={AXES: list(dims)}
            )

    def write(self, rows: np.ndarray, part: Part) -> None:
        """Keep the paths of a part, whose runs are `rows`."""
        values = dict(part.outputs)
        if part.states is not None:
            nq = self.plan.setup.system.nq
            values |= {"q": part.states[..., :nq], "v": part.states[..., nq:]}
        if "path" in part.slopes:
            values |= {"of_path": part.slopes["path"][..., 0], "d_path": part.slopes["path"][..., 1:]}
        for name, x in values.items():
            for here, there in _pieces(rows):
                self.arrays[name][there] = x[here]

    def read(self, rows: np.ndarray, part: Part) -> None:
        """Put the paths of the runs `rows` into a part."""
        values = {name: np.empty((len(rows), *array.shape[1:])) for name, array in self.arrays.items()}
        for name, x in values.items():
            for here, there in _pieces(rows):
                x[here] = self.arrays[name][there]
        part.outputs = {name: values[name] for name in self.plan.outputs}
        if "q" in values:
            part.states = np.concatenate([values["q"], values["v"]], axis=2)
        if "of_path" in values:
            part.slopes["path"] = np.concatenate([values["of_path"][..., None], values["d_path"]], axis=-1)


def _pieces(rows: np.ndarray) -> list[tuple[slice, slice]]:
    """Places in a part and in an array of runs that follow each other."""
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    ends = [0, *cuts.tolist(), len(rows)]
    return [(slice(a, b), slice(int(rows[a]), int(rows[a]) + b - a)) for a, b in pairwise(ends) if b > a]
