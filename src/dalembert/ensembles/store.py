"""Results of an ensemble on disk as they come: a folder that survives a crash, and from which the rest is made.

    study.json               format, version, number of runs, a digest of everything that the results depend on
    part-<run>-<sum>.arrow   Arrow files (Feather), one row a run; <run> is the first, <sum> the CRC-32 of the file
    paths.zarr               where asked for: dense paths, instead of lists in the rows (`zarr_paths`)

A part is written under another name and then renamed, so a file that is there is whole: `pyarrow.dataset`, pandas and
others may read the folder while runs are being made. One that does not have its sum was damaged since: it is removed
with a warning, and its runs are made again. Columns: run, status, success, t, message; q.…, v.…, work.… at
the end; steps, margin and the other evidence; output.… and states, lists over the times of t_eval; event.…, lists of
times. With derivatives: end.…, d.end.….…, the same of path (lists), least and greatest, and no_derivatives.
"""

from __future__ import annotations

import json
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.disk.atomic import is_unfinished, replacing, sweep
from dalembert.ensembles.lanes import Batch
from dalembert.ensembles.parts import COUNTS, EVIDENCE, EnsemblePart
from dalembert.ensembles.plan import EnsemblePlan
from dalembert.ensembles.sensitivities import blank_slopes, slope_columns
from dalembert.ensembles.zarr_paths import ZarrPaths
from dalembert.errors import FileError, extra
from dalembert.simulation.files import arguments
from dalembert.simulation.files.fingerprint import description
from dalembert.simulation.hybrid.switch import named_switches
from dalembert.simulation.status import Status

FORMAT, VERSION = "dalembert ensemble", 4
NAME = re.compile(r"part-\d+-([0-9a-f]{8})\.arrow")
TOLD = 8  # runs or files that a warning names


class Store:
    """A folder with the results of one ensemble."""

    def __init__(self, path: Any, plan: EnsemblePlan, batch: Batch, paths: str = "arrow") -> None:
        self.pyarrow = extra("pyarrow", "files", "the store of an ensemble")
        self.feather = extra("pyarrow.feather", "files", "the store of an ensemble")
        self.folder, self.plan, self.batch = checks.path(path, "store"), plan, batch
        system = plan.setup.system
        self.names = [
            *(f"q.{name}" for name in system.q_names),
            *(f"v.{name}" for name in system.v_names),
            *(f"work.{name}" for name in system.work_names),
        ]
        dense = paths == "zarr" and len(plan.wanted) > 0
        self.slopes = {name: x for name, x in slope_columns(plan).items() if not (dense and x[0] == "path")}
        study = {"format": FORMAT, "version": VERSION, "runs": len(batch), "digest": _digest(plan, batch)}
        self._open(study | ({"paths": "zarr"} if dense else {}))
        self.dense = ZarrPaths(self.folder, plan, len(batch)) if dense else None

    def _open(self, study: dict[str, Any]) -> None:
        """Make the folder, or see that it is of this study."""
        place = self.folder / "study.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            sweep(self.folder)
            if not place.exists():
                if not all(map(is_unfinished, self.folder.iterdir())):
                    raise FileError(f"'{self.folder}' holds other files; needed: a new folder, or one of this study.")
                with replacing(place) as new:
                    new.write_text(json.dumps(study, indent=1) + "\n")
                return
            found = json.loads(place.read_text())
        except (OSError, ValueError) as error:
            raise FileError(f"'{self.folder}' cannot be used as a store: {error}") from error
        version = found.get("version") if isinstance(found, dict) else None
        if version != VERSION:
            raise FileError(f"'{place}' has version {version}; needed: {VERSION}. Give another folder.")
        if found != study:
            raise FileError(
                f"'{self.folder}' holds results of another study: system, states, parameters, times, options or "
                "functions differ. Give another folder."
            )

    def done(self) -> Iterator[tuple[np.ndarray, EnsemblePart]]:
        """Parts that are there, each run once; what is damaged is not there."""
        seen: set[int] = set()
        damaged: list[str] = []
        lost: set[int] = set()  # runs whose paths are not those that were written
        for path in sorted(x for x in self.folder.glob("part-*.arrow") if NAME.fullmatch(x.name)):
            try:
                data = path.read_bytes()
                if path.name != self._name(path, data):
                    damaged.append(path.name)
                    path.unlink()
                    continue
                rows, part, whole = self._part(self.feather.read_table(self.pyarrow.BufferReader(data)))
            except (OSError, KeyError, ValueError, self.pyarrow.ArrowException) as error:
                raise FileError(
                    f"'{path}' is not a part of this study: {error}. Delete it to make its runs again."
                ) from error
            new = whole & np.array([int(k) not in seen for k in rows], dtype=bool)
            seen.update(rows[new].tolist())
            lost.update(rows[~whole].tolist())
            yield rows[new], _chosen(part, new)
        if damaged:
            self._warn(damaged, "damaged and removed")
        if lost - seen:
            self._warn([f"run {k}" for k in sorted(lost - seen)], "without the paths that it had in paths.zarr")

    @staticmethod
    def _name(path: Path, data: bytes) -> str:
        """The name that a part must have."""
        return f"{path.name[: path.name.rindex('-')]}-{zlib.crc32(data):08x}.arrow"

    def _warn(self, what: list[str], how: str) -> None:
        names = ", ".join(what[:TOLD]) + (f" and {len(what) - TOLD} more" if len(what) > TOLD else "")
        warnings.warn(f"'{self.folder}': {names} {how}; made again.", RuntimeWarning, stacklevel=4)

    def kept(self, made: Iterator[tuple[np.ndarray, EnsemblePart]]) -> Iterator[tuple[np.ndarray, EnsemblePart]]:
        """Yield the parts, each written to the store first."""
        for rows, part in made:
            whole = part.status != Status.INTERRUPTED
            part.look_at_passages(self.plan.setup.system, self.batch.p[rows])
            if whole.any():
                self._write(rows[whole], _chosen(part, whole))
            yield rows, part

    def _write(self, rows: np.ndarray, part: EnsemblePart) -> None:
        pa = self.pyarrow
        columns: dict[str, Any] = {
            "run": rows.astype(np.int64), "status": part.status, "t": part.t,
            "message": pa.array([part.messages.get(k) for k in range(len(rows))], pa.string()),
            **{name: part.x[:, k].copy() for k, name in enumerate(self.names)},
            **{name: part.counts[:, k].copy() for k, name in enumerate(COUNTS)},
            **{name: part.evidence[:, k].copy() for k, name in enumerate(EVIDENCE)},
            "success": part.success,
            "passages": part.passages, "determined": part.determined, "alone": part.alone,
        }  # fmt: skip
        if self.dense is None:
            columns |= {f"output.{name}": _lists(pa, values) for name, values in part.outputs.items()}
            if part.states is not None and part.states.shape[1]:
                columns["states"] = _lists(pa, part.states.reshape(len(rows), -1))
        for name, (where, i, j) in self.slopes.items():
            values = part.slopes[where][..., i, j]
            columns[name] = _lists(pa, values) if values.ndim == 2 else values.copy()
        if self.slopes:
            texts = [part.no_slopes.get(k) for k in range(len(rows))]
            columns["no_derivatives"] = pa.array(texts, pa.string())
        for name, hits in part.events.items():
            columns[f"event.{name}"] = pa.array([hits.get(k, np.zeros(0)).tolist() for k in range(len(rows))])
        try:
            if self.dense is not None:
                columns["paths"] = self.dense.write(rows, part)
            sink = pa.BufferOutputStream()
            self.feather.write_feather(pa.table(columns), sink, compression="uncompressed")
            data = sink.getvalue()
            with replacing(self.folder / f"part-{rows[0]:09d}-{zlib.crc32(data):08x}.arrow") as new:
                new.write_bytes(data)
        except OSError as error:
            raise FileError(f"'{self.folder}' cannot be written: {error}. What is there stays.") from error

    def _part(self, table: Any) -> tuple[np.ndarray, EnsemblePart, np.ndarray]:
        """Runs of a table, what became of them, and which of them have the paths that were written."""
        system, times = self.plan.setup.system, len(self.plan.wanted)

        def column(name: str) -> np.ndarray:
            return np.asarray(table[name].to_numpy())

        rows, nx = column("run"), system.nq + system.nv
        states, outputs = None, {} if self.dense is not None else self.plan.outputs
        if self.plan.keep == "states" and times and self.dense is None:
            states = _stacked(table["states"], len(rows)).reshape(len(rows), times, nx)
        texts = table["message"].to_pylist()
        events = {name: table[f"event.{name}"].to_pylist() for name in self.plan.setup.events}
        part = EnsemblePart(
            status=column("status"), x=np.column_stack([column(name) for name in self.names]), t=column("t"),
            counts=np.column_stack([column(name) for name in COUNTS]),
            evidence=np.column_stack([column(name) for name in EVIDENCE]), passages=column("passages"),
            determined=column("determined"), alone=column("alone"), states=states,
            outputs={name: _stacked(table[f"output.{name}"], len(rows)) for name in outputs},
            messages={k: text for k, text in enumerate(texts) if text is not None},
            events={name: {k: np.array(t) for k, t in enumerate(all_t) if t} for name, all_t in events.items()},
        )  # fmt: skip
        part.slopes = blank_slopes(self.plan, len(rows))
        for name, (where, i, j) in self.slopes.items():
            values = _stacked(table[name], len(rows)) if where == "path" else column(name)
            part.slopes[where][..., i, j] = values
        if self.slopes:
            part.no_slopes = {k: x for k, x in enumerate(table["no_derivatives"].to_pylist()) if x is not None}
        if self.dense is None:
            return rows, part, np.ones(len(rows), dtype=bool)
        return rows, part, self.dense.read(rows, part) == column("paths")


def _digest(plan: EnsemblePlan, batch: Batch) -> str:
    """Digest of the description, the equations, the runs, and all that is asked of them."""
    setup, system = plan.setup, plan.setup.system
    asked = {f.name: getattr(plan, f.name) for f in fields(plan)}
    asked |= {
        "setup": arguments.of_setup(setup) | ({} if plan.controllers is None else {"u": ""}),
        "outputs": {name: arguments.of_output(system, f) for name, f in plan.outputs.items()},
        "keep": plan.keep if plan.slopes is not None else plan.keep == "states",  # outputs are there in any case
        "changes": {**plan.changes, "switches": named_switches(plan.changes.get("switches"), system)},
        "slopes": None if plan.slopes is None else plan.slopes.described(system),
        "samples": plan.wanted,
    }
    runs = {f.name: getattr(batch, f.name) for f in fields(batch)}
    of = [description(system), system.function("ode").serialize(), asked, runs]
    return arguments.of(system, of)


def _chosen(part: EnsemblePart, which: np.ndarray) -> EnsemblePart:
    """Some rows of a part."""
    places = {int(k): i for i, k in enumerate(np.flatnonzero(which))}
    return EnsemblePart(
        **{name: getattr(part, name)[which] for name in ("status", "x", "t", "counts", "evidence", "passages")},
        determined=part.determined[which], alone=part.alone[which],
        states=None if part.states is None else part.states[which],
        outputs={name: values[which] for name, values in part.outputs.items()},
        messages={places[k]: text for k, text in part.messages.items() if k in places},
        events={name: {places[k]: t for k, t in hits.items() if k in places} for name, hits in part.events.items()},
        slopes={name: x[which] for name, x in part.slopes.items()},
        no_slopes={places[k]: text for k, text in part.no_slopes.items() if k in places},
    )  # fmt: skip


def _lists(pa: Any, values: np.ndarray) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).ravel()), values.shape[1])


def _stacked(column: Any, count: int) -> np.ndarray:
    return np.asarray(column.combine_chunks().flatten().to_numpy(zero_copy_only=False)).reshape(count, -1)
