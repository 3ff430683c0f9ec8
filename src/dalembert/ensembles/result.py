"""The result of an ensemble."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import StateRows, state_rows
from dalembert.analysis.motion_columns import motion_columns, position_units, speed_units
from dalembert.ensembles.assembling import sides
from dalembert.ensembles.lanes import Batch
from dalembert.ensembles.parts import COUNTS, EVIDENCE, EnsemblePart
from dalembert.ensembles.plan import EnsemblePlan, run_alone
from dalembert.ensembles.sensitivities import RunSensitivities, as_result, blank_slopes, slope_columns
from dalembert.ensembles.summary import Extremes, Summary, extremes
from dalembert.ensembles.variation import Variation
from dalembert.errors import ArgumentError, extra
from dalembert.hints import hinted
from dalembert.lazy import cached_property
from dalembert.simulation.results.powers import Powers
from dalembert.simulation.results.run import Run
from dalembert.simulation.status import Status
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

UNITS = ("1", "m or rad", "m/s or rad/s", "J", "J")  # of EVIDENCE


@hinted
@dataclass(frozen=True, eq=False)
class Ensemble(Powers):
    """Many runs of one system, one row a run. `e["A"]` is coordinate A: (n,) at the end, or (n, T) at t_eval.

    Velocities, frames, energies and forces in joints have the names they have in a `Run`, and the same axes.

    Runs that were not made, or ended early, have NaN where nothing is known.
    """

    system: System
    p: np.ndarray  # (n, np) parameters
    u: np.ndarray  # (n, nu) constant inputs
    varied: Mapping[str, np.ndarray]  # (n,) or (n, k): values that differ from run to run, by name
    t: np.ndarray  # (T,) times of t_eval, s; empty without
    start: tuple[np.ndarray, np.ndarray]  # (n, nq), (n, nv)
    t_end: np.ndarray  # (n,) time reached, s
    q_end: np.ndarray  # (n, nq)
    v_end: np.ndarray  # (n, nv)
    work: Mapping[str, np.ndarray]  # (n,) J done by the end, as in `Run.work`
    q: np.ndarray | None  # type: ignore[assignment]  # (n, T, nq); None where states are not kept
    v: np.ndarray | None  # type: ignore[assignment]  # (n, T, nv)
    outputs: Mapping[str, np.ndarray]  # (n, T)
    status: np.ndarray  # (n,) whole numbers: `Status(k)`
    messages: Mapping[int, str]  # {run: what is wrong with it}, of those that did not succeed
    events: Mapping[str, Mapping[int, np.ndarray]]  # {event: {run: times, s}}
    passages: np.ndarray  # (n,) singular positions met or passed
    alone: np.ndarray  # (n,) whether a run was made alone, not side by side with others
    steps: np.ndarray  # (n,)
    rejected: np.ndarray  # (n,)
    evaluations: np.ndarray  # (n,)
    corrections: np.ndarray  # (n,)
    margin: np.ndarray  # (n,) least squared sine between constraint rows
    drift: np.ndarray  # (n,) largest ‖Φ‖∞ of a step before it was corrected
    speed_drift: np.ndarray  # (n,)
    motion_energy: np.ndarray  # (n,) J: largest kinetic energy, about; NaN for runs made alone
    energy_error: np.ndarray  # (n,) J: energy at the end, less that of the start and the work done since
    sensitivities: RunSensitivities | None  # with respect to `wrt`; None without
    _summaries: Mapping[str, Summary]  # of outputs, where their paths are not kept
    _part: EnsemblePart  # of all runs
    _plan: EnsemblePlan
    _runs: Batch
    _held: tuple[str, ...] = ()  # coordinates from which the starts were assembled

    def __len__(self) -> int:
        return len(self.status)

    def state(self, k: int, j: int | None = None) -> State:
        """The last state of run k, or that at the j-th time of t_eval; negative numbers count from the end."""
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        if j is None:
            x = self.system.state(self.q_end[k], self.v_end[k], float(self.t_end[k]))
        else:
            j = checks.whole(j, "j", least=-len(self.t), most=len(self.t) - 1)
            q, v = (self._kept(y)[k, j] for y in (self.q, self.v))
            if not np.isfinite(q).all():
                raise ArgumentError(f"run {k} does not reach t = {self.t[j]:g} s: {self.messages.get(k % len(self))}")
            x = self.system.state(q, v, float(self.t[j]))
        return self.system.arguments.belonging(x, self.p[k], self.u[k])

    def run(self, k: int) -> Run:
        """Run k once more, alone, with every step and all its evidence."""
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        if self.status[k] == Status.NOT_BEGUN:
            raise ArgumentError(f"run {k} did not begin: {self.messages[k % len(self)]}")
        return run_alone(self._plan, self._runs, k, None)

    def mean(self, name: str) -> np.ndarray:
        """(T,), or () without t_eval: mean of an output or a coordinate over the runs that have a value.

        name: of the output, or of the coordinate.

        >>> import dalembert as da
        >>> m = da.Mechanism("ball", gravity=(0, 0, -10.0))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
        >>> runs = da.ensemble(m.compile(), {"z": [0.0, 1.0, 5.0]}, 1.0, t_eval=[0.0, 1.0])
        >>> runs.mean("z").round(9).tolist(), runs.standard_deviation("z").round(4).tolist()
        ([2.0, -3.0], [2.6458, 2.6458])
        """
        return self._moments(name)[0]

    def standard_deviation(self, name: str) -> np.ndarray:
        """(T,), or () without t_eval: standard deviation over the runs with a value, by n − 1; name: as in `mean`."""
        return self._moments(name)[1]

    def _moments(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(name, str) and name in self._summaries:
            return self._summaries[name].moments()
        x = np.asarray(self.values(name), dtype=float)
        known = np.isfinite(x)
        count, total = known.sum(axis=0), np.where(known, x, 0.0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):  # none, or one that has no spread
            mean = np.asarray(total / count)
            spread = np.asarray(np.sqrt((np.where(known, x - mean, 0.0) ** 2).sum(axis=0) / (count - 1)))
        return mean, np.where(count > 1, spread, np.nan)

    def quantiles(self, name: str, levels: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """(len(levels), T), or (len(levels),) without t_eval: quantiles of an output or a coordinate over the runs.

        name: of the output, or of the coordinate. levels: between 0 and 1. Runs without a value do not count.
        """
        wanted = checks.vector(levels, None, "levels")
        if not len(wanted) or wanted.min() < 0.0 or wanted.max() > 1.0:
            raise ArgumentError(f"levels is {levels!r}; needed: numbers between 0 and 1.")
        if isinstance(name, str) and name in self._summaries:
            return self._summaries[name].quantiles(wanted)
        return np.asarray(np.nanquantile(self.values(name), wanted, axis=0))

    def extremes(self, name: str) -> Extremes:
        """Least and greatest values over the times of t_eval, (n,) each, and their times (s).

        name: of the output, or of the coordinate.

        >>> import dalembert as da
        >>> m = da.Mechanism("ball", gravity=(0, 0, -10.0))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
        >>> runs = da.ensemble(m.compile(), {"z": 0.0}, 1.0, v={"z": [2.0, 4.0]}, t_eval=[0.0, 0.2, 0.4, 1.0])
        >>> peak = runs.extremes("z")
        >>> peak.greatest.round(6).tolist(), peak.t_greatest.tolist()           # v²/2g at v/g
        ([0.2, 0.8], [0.2, 0.4])
        """
        if isinstance(name, str) and name in self._summaries:
            return self._summaries[name].extremes
        if not len(self.t):
            raise ArgumentError("extremes are those over the times of t_eval; make the ensemble with t_eval.")
        return extremes(self.t, self.values(name))

    def plot(self, names: Any = None, path: Any = None) -> Any:
        """Quantiles over time, or histograms of the ends without t_eval, as a Matplotlib figure (extra `view`).

        names: of outputs and coordinates, by default all: one panel each, with the median, the mean, the middle half
        and nine tenths of the runs. path: a file to write to.
        """
        from dalembert.view.bands import plot_ensemble

        return plot_ensemble(self, names, path)

    def values(self, name: str) -> np.ndarray:
        """(n, T), or (n,) without t_eval: values of an output or a coordinate, by its name."""
        return self.outputs[name] if isinstance(name, str) and name in self.outputs else self[name]

    @cached_property
    def success(self) -> np.ndarray:
        """(n,) whether a run reached its end, or a terminal event, with closed loops and a right energy balance."""
        good = np.isin(self.status, (Status.DONE, Status.EVENT))
        good[list(self.messages)] = False
        return good

    @cached_property
    def determined(self) -> np.ndarray:
        """(n,) whether the motion through the singular positions of a run was determined, as in `Passage`."""
        self._part.look_at_passages(self.system, self.p)
        return self._part.determined

    @cached_property
    def side(self) -> np.ndarray:
        """(n,) 1 or −1 where loops were assembled from named coordinates: runs that differ start on other branches.

        The sign of the determinant of the rows of loops and of what is held; 0 where it has none: states were given,
        or the held coordinates do not determine the others.
        """
        return sides(self.system, self._held, self.start[0], self.p) if self._held else np.zeros(len(self))

    @property
    def vdot(self) -> np.ndarray:
        """(n, T, nv) accelerations, or (n, nv) at the ends without t_eval, rad/s² or m/s²."""
        return self._dynamics[0]

    @property
    def multipliers(self) -> np.ndarray:
        """(n, T, m) of the constraint rows `system.row_names`, or (n, m) at the ends without t_eval, N or N m."""
        return self._dynamics[1]

    @cached_property
    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        if self._plan.setup.controller is not None or self._plan.hybrid:
            what = "contacts and switches have" if self._plan.hybrid else "a controller has"
            raise ArgumentError(
                f"accelerations and forces are not known here: the runs do not keep what {what} done. Ask one of them: "
                "runs.run(k).reactions(joint)."
            )
        return super()._dynamics

    def animate(self, path: Any, *, k: int = 0, **options: Any) -> Any:
        """The k-th run, made once more, as one HTML file at path; options of `dalembert.view.animate`."""
        return self.run(k).animate(path, **options)

    def _records(self) -> StateRows:
        p, u = self.p, self.u
        if not len(self.t):
            return state_rows(self.system, self.q_end, self.v_end, u, p, self.t_end)
        return state_rows(self.system, self._kept(self.q), self._kept(self.v), u[:, None], p[:, None], self.t)

    def _kept(self, x: np.ndarray | None) -> np.ndarray:
        if x is None:
            raise ArgumentError("states at t_eval were not kept; make the ensemble with keep='states'.")
        return x

    def _columns(self) -> Columns:
        """One row a run: what was varied, states at the end, status and evidence.

        A varied value whose name is that of another column (a parameter t) has the prefix "given.".
        """
        motion, units = motion_columns(self.system, self.q_end, self.v_end)
        works = {f"work.{name}": x for name, x in self.work.items()}
        slopes = {
            name: self._part.slopes[where][:, i, j]
            for name, (where, i, j) in slope_columns(self._plan).items()
            if where != "path"
        }
        results = {
            "t": self.t_end,
            **motion,
            **works,
            "status": np.array([Status(s).name for s in self.status], dtype=object),
            "success": self.success,
            **{name: getattr(self, name) for name in ("passages", "determined", *COUNTS, *EVIDENCE)},
            **slopes,
        }
        given = {name: x for name, x in self.varied.items() if x.ndim == 1}
        units |= {"t": "s", **dict.fromkeys(works, "J"), **dict(zip(EVIDENCE, UNITS))}
        values = beside(given, "given.", {"run", *results}) | results
        return Columns(self.system.name, "run", np.arange(len(self)), values, units)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` with the dimensions run, t, coordinate and speed; of derivatives also quantity and wrt.

        Derivatives with respect to `wrt` are `d_end`, `d_path`, `d_least` and `d_greatest`; where only some quantities
        have them (integrals have no path), their dimension is path_quantity. What was varied has the prefix "given.";
        an output whose name is that of another variable or dimension (q, status) has the prefix "output.". Units are
        attributes; where they differ along a dimension they are a coordinate: `data.coordinate_units`.
        """
        xarray = extra("xarray", "xarray", "a labelled array of an ensemble")
        system, run = self.system, ("run",)
        coords: dict[str, Any] = {
            "run": np.arange(len(self)),
            "coordinate": np.array(system.q_names, dtype=str),
            "speed": np.array(system.v_names, dtype=str),
            "coordinate_units": ("coordinate", np.array(position_units(system), dtype=str)),
            "speed_units": ("speed", np.array(speed_units(system), dtype=str)),
            **{f"given.{name}": (run, x) for name, x in self.varied.items() if x.ndim == 1},
        }
        variables: dict[str, Any] = {
            "q_end": ((*run, "coordinate"), self.q_end),
            "v_end": ((*run, "speed"), self.v_end),
            "t_end": (run, self.t_end, {"units": "s"}),
            "status": (run, self.status),
            "success": (run, self.success),
            **{name: (run, getattr(self, name)) for name in ("passages", *COUNTS)},
            **{name: (run, getattr(self, name), {"units": unit}) for name, unit in zip(EVIDENCE, UNITS, strict=True)},
        }
        if len(self.t):
            coords["t"] = ("t", self.t, {"units": "s"})
            if self.q is not None:
                variables |= {"q": ((*run, "t", "coordinate"), self.q), "v": ((*run, "t", "speed"), self.v)}
        if self.sensitivities is not None:
            labelled, more = self.sensitivities.labelled()
            variables, coords = variables | labelled, coords | more
        if len(self.t):
            outputs = beside(self.outputs, "output.", {"t", *variables, *coords})
            variables |= {name: ((*run, "t"), x) for name, x in outputs.items()}
        return xarray.Dataset(variables, coords, {"system": system.name})

    def __repr__(self) -> str:
        kinds, counts = np.unique(self.status, return_counts=True)
        ended = ", ".join(f"{count} {Status(kind).name}" for kind, count in zip(kinds, counts))
        fewer = min(int((self.side > 0).sum()), int((self.side < 0).sum()))
        mixed = f"; {fewer} start on another branch than the rest, see side" if fewer else ""
        return (
            f"<ensemble of {len(self)} runs of '{self.system.name}': {ended}; {int(self.success.sum())} succeeded, "
            f"{int((self.passages > 0).sum())} passed singular positions, {int(self.alone.sum())} made alone{mixed}>"
        )


def beside(named: Mapping[str, np.ndarray], prefix: str, taken: Collection[str]) -> dict[str, np.ndarray]:
    """Values by name; those whose names are taken, or taken by one of the others with it, have the prefix."""
    out: dict[str, np.ndarray] = {}
    for name, x in named.items():
        free = name
        while free in taken or (free != name and free in named):
            free = prefix + free
        out[free] = x
    return out


def collect(
    plan: EnsemblePlan,
    batch: Batch,
    variation: Variation,
    refused: Mapping[int, str],
    made: Iterator[tuple[np.ndarray, EnsemblePart]],
) -> Ensemble:
    """Put parts together, in the order of the runs."""
    setup, system, n, times = plan.setup, plan.setup.system, len(batch), len(plan.wanted)
    nq, nx = system.nq, system.nq + system.nv
    blank = np.full((n, nx + len(system.work_names)), np.nan)
    whole = EnsemblePart(
        status=np.full(n, Status.INTERRUPTED, dtype=np.int64), x=blank, t=batch.t[:, 0].copy(),
        counts=np.zeros((n, 4), dtype=np.int64), evidence=np.full((n, 5), np.nan), passages=np.zeros(n, dtype=np.int64),
        determined=np.ones(n, dtype=bool), alone=np.zeros(n, dtype=bool),
        states=np.full((n, times, nx), np.nan) if plan.keep == "states" and times else None,
        outputs={} if plan.keep == "summary" else {name: np.full((n, times), np.nan) for name in plan.outputs},
        messages=dict(refused), events={name: {} for name in setup.events}, slopes=blank_slopes(plan, n),
    )  # fmt: skip
    whole.status[list(refused)] = Status.NOT_BEGUN
    summaries = {name: Summary(n, plan.wanted) for name in plan.outputs if plan.keep == "summary"}
    for rows, part in made:
        for name in ("status", "x", "t", "counts", "evidence", "passages", "determined", "alone"):
            getattr(whole, name)[rows] = getattr(part, name)
        if whole.states is not None:
            whole.states[rows] = part.states
        for name, slopes in whole.slopes.items():
            slopes[rows] = part.slopes[name]
        whole.no_slopes |= {int(rows[k]): text for k, text in part.no_slopes.items()}
        for name, values in part.outputs.items():
            if name in summaries:
                summaries[name].add(rows, values)
            else:
                whole.outputs[name][rows] = values
        whole.met |= {int(rows[k]): met for k, met in part.met.items()}
        whole.messages |= {int(rows[k]): text for k, text in part.messages.items()}
        for name, hits in part.events.items():
            whole.events[name] |= {int(rows[k]): t for k, t in hits.items()}
    for k in np.flatnonzero(~np.isin(whole.status, (Status.DONE, Status.EVENT))):
        whole.messages.setdefault(int(k), f"at t = {whole.t[k]:.6g} s {Status(whole.status[k]).sentence}")
        if plan.slopes is not None:
            whole.no_slopes.setdefault(int(k), whole.messages[int(k)])
    kept = whole.states
    return Ensemble(
        system=system, p=batch.p, u=batch.u, varied=variation.varied, t=plan.wanted, start=(batch.q, batch.v),
        t_end=whole.t, q_end=whole.x[:, :nq], v_end=whole.x[:, nq:nx],
        work={name: whole.x[:, nx + k] for k, name in enumerate(system.work_names)},
        q=None if kept is None else kept[:, :, :nq], v=None if kept is None else kept[:, :, nq:],
        outputs=whole.outputs, status=whole.status, messages=whole.messages, events=whole.events,
        passages=whole.passages, alone=whole.alone,
        **{name: whole.counts[:, k] for k, name in enumerate(COUNTS)},
        **{name: whole.evidence[:, k] for k, name in enumerate(EVIDENCE)},
        sensitivities=as_result(plan, whole.slopes, whole.no_slopes), _summaries=summaries, _part=whole,
        _plan=plan, _runs=batch, _held=tuple(variation.groups["states"]) if system.rows.of else (),
    )  # fmt: skip
