"""Results of an ensemble on disk as they come: a folder that survives a crash, and from which the rest is made.

    study.json         format, version, number of runs, and a digest of everything that the results depend on
    part-<run>.arrow   Arrow files (Feather), one row a run; <run> is the first of the part
    paths.zarr         where asked for: dense paths, instead of lists in the rows (`zarr_paths`)

A part is written under another name and then renamed, so a file that is there is whole: `pyarrow.dataset`, pandas and
others may read the folder while runs are being made. Columns: run, status, success, t, message; q.…, v.…, work.… at
the end; steps, margin and the other evidence; output.… and states, lists over the times of t_eval; event.…, lists of
times. With derivatives: end.…, d.end.….…, the same of path (lists), least and greatest, and no_derivatives.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.ensembles import fingerprint
from dalembert.ensembles.lanes import Batch
from dalembert.ensembles.parts import COUNTS, EVIDENCE, Part
from dalembert.ensembles.plan import Plan
from dalembert.ensembles.sensitivities import blank_slopes, slope_columns
from dalembert.ensembles.zarr_paths import ZarrPaths
from dalembert.errors import FileError, extra
from dalembert.simulation.files.atomic import replacing
from dalembert.simulation.phases.switch import named_switches
from dalembert.simulation.setup import Span
from dalembert.simulation.status import Status

FORMAT, VERSION = "dalembert ensemble", 3


class Store:
    """A folder with the results of one ensemble."""

    def __init__(self, path: Any, plan: Plan, batch: Batch, paths: str = "arrow") -> None:
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
            if not place.exists():
                if any(self.folder.iterdir()):
                    raise FileError(f"'{self.folder}' holds other files; needed: a new folder, or one of this study.")
                with replacing(place) as new:
                    new.write_text(json.dumps(study, indent=1) + "\n")
                return
            found = json.loads(place.read_text())
        except (OSError, ValueError) as error:
            raise FileError(f"'{self.folder}' cannot be used as a store: {error}") from error
        if found != study:
            raise FileError(
                f"'{self.folder}' holds results of another study: system, states, parameters, times, options or "
                "functions differ. Give another folder."
            )

    def done(self) -> Iterator[tuple[np.ndarray, Part]]:
        """Parts that are there, each run once."""
        seen: set[int] = set()
        for path in sorted(self.folder.glob("part-*.arrow")):
            try:
                table = self.feather.read_table(path, memory_map=False)
                table.validate(full=True)  # lengths against buffers: NumPy would read what is not there
                rows, part = self._part(table)
            except (OSError, KeyError, ValueError, self.pyarrow.ArrowException) as error:
                raise FileError(
                    f"'{path}' is not a part of this study: {error}. Delete it to make its runs again."
                ) from error
            new = np.array([int(k) not in seen for k in rows], dtype=bool)
            seen.update(int(k) for k in rows)
            yield rows[new], _chosen(part, new)

    def kept(self, made: Iterator[tuple[np.ndarray, Part]]) -> Iterator[tuple[np.ndarray, Part]]:
        """Yield the parts, each written to the store first."""
        for rows, part in made:
            whole = part.status != Status.INTERRUPTED
            part.look_at_passages(self.plan.setup.system, self.batch.p[rows])
            if whole.any():
                self._write(rows[whole], _chosen(part, whole))
            yield rows, part

    def _write(self, rows: np.ndarray, part: Part) -> None:
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
                self.dense.write(rows, part)
            with replacing(self.folder / f"part-{rows[0]:09d}.arrow") as new:
                self.feather.write_feather(pa.table(columns), str(new), compression="uncompressed")
        except OSError as error:
            raise FileError(f"'{self.folder}' cannot be written: {error}. What is there stays.") from error

    def _part(self, table: Any) -> tuple[np.ndarray, Part]:
        system, times = self.plan.setup.system, len(self.plan.wanted)

        def column(name: str) -> np.ndarray:
            return np.asarray(table[name].to_numpy())

        rows, nx = column("run"), system.nq + system.nv
        states, outputs = None, {} if self.dense is not None else self.plan.outputs
        if self.plan.keep == "states" and times and self.dense is None:
            states = _stacked(table["states"], len(rows)).reshape(len(rows), times, nx)
        texts = table["message"].to_pylist()
        events = {name: table[f"event.{name}"].to_pylist() for name in self.plan.setup.events}
        part = Part(
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
        if self.dense is not None:
            self.dense.read(rows, part)
        return rows, part


def _digest(plan: Plan, batch: Batch) -> str:
    """Digest of the equations, the runs, the options and the functions."""
    setup, system = plan.setup, plan.setup.system
    found = hashlib.sha256(system.function("ode").serialize().encode())
    for x in (batch.q, batch.v, batch.t, batch.p, batch.u, plan.wanted):
        found.update(np.ascontiguousarray(x).tobytes())
    options = setup.described(Span(system.state(), 0.0, None, np.zeros(0)))
    kept = plan.keep == "states"  # outputs are there in any case
    functions = [
        *((name, fingerprint.of_output(system, f)) for name, f in plan.outputs.items()),
        *((name, fingerprint.of_event(system, event)) for name, event in setup.events.items()),
        fingerprint.of_controller(system, setup.controller) if plan.controllers is None else "",
        fingerprint.of(plan.controllers),
    ]
    found.update(repr([sorted(options.items()), functions, kept, plan.lanes, _changes(plan)]).encode())
    if plan.slopes is not None:
        found.update(repr([plan.slopes.described(system), plan.keep]).encode())
    return found.hexdigest()


def _changes(plan: Plan) -> list[str]:
    """Key of the changes of structure."""
    switches = named_switches(plan.changes.get("switches"), plan.setup.system)
    return [fingerprint.of(switches), repr(plan.changes.get("stops"))]


def _chosen(part: Part, which: np.ndarray) -> Part:
    """Some rows of a part."""
    places = {int(k): i for i, k in enumerate(np.flatnonzero(which))}
    return Part(
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
