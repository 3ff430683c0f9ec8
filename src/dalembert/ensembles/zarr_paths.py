"""Dense paths of an ensemble as Zarr arrays beside the rows of its runs, for xarray to read while they are written.

    paths.zarr    q (run, t, coordinate), v (run, t, speed), outputs (run, t); of_path and d_path of derivatives

The paths of a part are written before its rows, whose file completes it: runs without rows are made again, and what a
crash left of their paths is overwritten. The rows have a checksum of the paths of each run: a run whose paths are not
those is made again. Chunks have checksums of their own, for other readers. NaN: not made yet, or not known.
"""

from __future__ import annotations

import shutil
import warnings
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.disk.atomic import new_folder, sweep
from dalembert.ensembles.parts import EnsemblePart
from dalembert.ensembles.plan import EnsemblePlan
from dalembert.ensembles.sensitivities import blank_slopes
from dalembert.errors import FileError, extra

CHUNK = 2**17  # numbers, about, of whole runs
AXES = "_ARRAY_DIMENSIONS"  # where xarray looks for the names of axes


class ZarrPaths:
    """The paths of n runs in a folder."""

    def __init__(self, folder: Path, plan: EnsemblePlan, n: int) -> None:
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
        self.place, self.names, self.shapes = place, {name: np.asarray(x) for name, x in names.items()}, shapes
        try:
            sweep(folder, place.name)
            if place.exists() and not self._opened(zarr):
                warnings.warn(
                    f"'{place}' is damaged: its arrays are not those of this study. The runs are made again.",
                    RuntimeWarning,
                    stacklevel=2,
                )
                shutil.rmtree(place)
            if not place.exists():
                with new_folder(place) as new:
                    self._create(zarr, new)
                if not self._opened(zarr):
                    raise OSError("its arrays are not those of this study")
        except OSError as error:
            raise FileError(f"'{place}' cannot be used: {error}") from error

    def _opened(self, zarr: Any) -> bool:
        """Open the arrays; whether they are those of this study."""
        try:
            group = zarr.open_group(str(self.place), mode="r+")
            self.arrays = {name: group[name] for name in self.shapes}
            for name, x in self.names.items():
                if group[name].shape != x.shape or group[name].dtype != x.dtype:
                    return False
                found = _read(group[name])
                if found is None or not np.array_equal(found, x):
                    group[name][...] = x
            layout = {name: (array.shape, array.chunks, array.dtype) for name, array in self.arrays.items()}
        except FileNotFoundError:
            return False
        except OSError:  # of the disk: nothing is known of what is there
            raise
        except Exception:  # of Zarr, its codecs and JSON: there are many
            return False
        return layout == {name: (*self._layout(dims), np.dtype("f8")) for name, dims in self.shapes.items()}

    def _layout(self, dims: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape of an array, and of its chunks, which are whole runs."""
        shape = tuple(len(self.names[d]) for d in dims)
        runs = max(1, CHUNK // max(1, int(np.prod(shape[1:]))))
        return shape, (max(1, min(runs, shape[0])), *(max(k, 1) for k in shape[1:]))

    def _create(self, zarr: Any, place: Path) -> None:
        """Make the arrays and their coordinates."""
        codec = extra("numcodecs", "zarr", "paths of an ensemble in Zarr").Zstd(level=1, checksum=True)
        about = {"system": self.plan.setup.system.name}
        group = zarr.create_group(str(place), overwrite=True, attributes=about, zarr_format=2)  # 3 has no names yet
        for name, x in self.names.items():
            axes = {AXES: [name], **({"units": "s"} if name == "t" else {})}
            array = group.create_array(
                name, shape=x.shape, dtype=x.dtype, fill_value=None, attributes=axes, compressors=codec
            )
            array[...] = x
        for name, dims in self.shapes.items():
            shape, chunks = self._layout(dims)
            group.create_array(
                name, shape=shape, chunks=chunks, dtype="f8", fill_value=np.nan, attributes={AXES: list(dims)},
                compressors=codec,
            )  # fmt: skip

    def write(self, rows: np.ndarray, part: EnsemblePart) -> np.ndarray:
        """Keep the paths of a part, whose runs are `rows`; returns their checksums."""
        values = self._values(part)
        for name, x in values.items():
            for here, there in _pieces(rows):
                try:
                    self.arrays[name][there] = x[here]
                except OSError:
                    raise
                except Exception:  # a chunk that other runs are in is damaged: these are made again next time
                    self._drop(name, there)
                    self.arrays[name][there] = x[here]
        return _sums(values, len(rows))

    def read(self, rows: np.ndarray, part: EnsemblePart) -> np.ndarray:
        """Put the paths of the runs `rows` into a part; returns their checksums."""
        values = {name: np.empty((len(rows), *array.shape[1:])) for name, array in self.arrays.items()}
        for name, x in values.items():
            for here, there in _pieces(rows):
                x[here] = self._found(name, there)
        part.outputs = {name: values[name] for name in self.plan.outputs}
        if "q" in values:
            part.states = np.concatenate([values["q"], values["v"]], axis=2)
        if "of_path" in values:
            part.slopes["path"] = np.concatenate([values["of_path"][..., None], values["d_path"]], axis=-1)
        return _sums(self._values(part), len(rows))

    def _values(self, part: EnsemblePart) -> dict[str, np.ndarray]:
        """The paths of a part by the arrays they are in."""
        values = dict(part.outputs)
        if part.states is not None:
            nq = self.plan.setup.system.nq
            values |= {"q": part.states[..., :nq], "v": part.states[..., nq:]}
        if "path" in part.slopes:
            values |= {"of_path": part.slopes["path"][..., 0], "d_path": part.slopes["path"][..., 1:]}
        return values

    def _found(self, name: str, there: slice) -> np.ndarray:
        """Rows of an array; NaN where a chunk cannot be read, which is removed."""
        array = self.arrays[name]
        whole = _read(array, there)
        if whole is not None:
            return whole
        out = np.full((there.stop - there.start, *array.shape[1:]), np.nan)
        for k in self._chunks(name, there):
            a, b = max(there.start, k * array.chunks[0]), min(there.stop, (k + 1) * array.chunks[0])
            rows = _read(array, slice(a, b))
            if rows is None:
                self._drop(name, slice(a, b))
            else:
                out[a - there.start : b - there.start] = rows
        return out

    def _chunks(self, name: str, there: slice) -> range:
        """Numbers of the chunks that rows of an array are in."""
        runs = self.arrays[name].chunks[0]
        return range(there.start // runs, -(-there.stop // runs))

    def _drop(self, name: str, there: slice) -> None:
        """Remove the chunks that rows of an array are in."""
        for k in self._chunks(name, there):
            key = ".".join([str(k), *"0" * (self.arrays[name].ndim - 1)])
            (self.place / name / key).unlink(missing_ok=True)


def _read(array: Any, where: Any = ...) -> np.ndarray | None:
    """Part of an array; None where its chunks cannot be decoded, for which codecs raise errors of many kinds.

    Trouble of the disk or the memory is no damage, and nothing may be removed for it.
    """
    try:
        return np.asarray(array[where])
    except (OSError, MemoryError) as error:
        raise FileError(f"'{array.name}' of the store cannot be read: {type(error).__name__}: {error}") from error
    except Exception:
        return None


def _sums(values: dict[str, np.ndarray], count: int) -> np.ndarray:
    """(count,) CRC-32 of the paths of each run; all NaN count alike."""
    out = np.zeros(count, dtype=np.uint32)
    for name in sorted(values):
        x = np.where(np.isnan(values[name]), np.nan, values[name])
        for k in range(count):
            out[k] = zlib.crc32(x[k].tobytes(), int(out[k]))
    return out


def _pieces(rows: np.ndarray) -> list[tuple[slice, slice]]:
    """Places in a part and in an array of runs that follow each other."""
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    ends = [0, *cuts.tolist(), len(rows)]
    return [(slice(a, b), slice(int(rows[a]), int(rows[a]) + b - a)) for a, b in pairwise(ends) if b > a]
