"""A run made of phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.manifold import tangent_of_motion
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.simulation.hybrid.hybrid_run import HybridRun, PhaseEnergy, some_records
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.hybrid.mode_data import ModeData
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.hybrid.switch import Switched
from dalembert.simulation.results.contact_evidence import ContactRun, broken_laws
from dalembert.simulation.results.run import Run
from dalembert.simulation.results.warnings import Warnings
from dalembert.simulation.singular.passages import Met
from dalembert.simulation.status import Status
from dalembert.system.system import System

LOOKED_AT = 24  # phases whose closure is looked at
KEPT = 1e-4  # of the largest force: what a contact may pull, or friction exceed its bound. Sound runs keep 1e-10
ROUNDED = 8.0  # roundings of the time: how exactly a change is located
COUNTS = ("steps", "rejected", "evaluations", "corrections")


@dataclass(frozen=True, eq=False, repr=False)
class PhasedRun(ContactRun):
    """A run whose structure changes: at a change its histories have two rows, the state before and that after it.

    `phases` are runs of their own, each of the system with the constraints that hold in it: `run.phases[k].system` can
    be linearized at `run.phases[k].state()`. `switches` tells what happened between them. `gaps` and `penetration` tell
    how far contacts are apart, and overlap, `contact_residuals` how well forces kept the laws of contact and friction.
    """

    _energies: tuple[PhaseEnergy, ...] = ()

    # --- states -------------------------------------------------------------------------------------------------

    def phase(self, t: float) -> Run:
        """The phase at a time (s); at a change, the one after it."""
        t = checks.number(t, "t")
        starts = [p.t[0] for p in self.phases if len(p.t)]
        known = [p for p in self.phases if len(p.t)]
        if not known or not known[0].t[0] <= t <= known[-1].t[-1]:
            raise ArgumentError(f"t is {t:g}; the run goes from {self.t[0]:g} to {self.t[-1]:g} s.")
        return known[max(int(np.searchsorted(starts, t, side="right")) - 1, 0)]

    def __call__(self, t: Any) -> Any:
        times = checks.array(t, None, "t")
        flat = np.atleast_1d(times)
        if flat.ndim != 1 or not len(flat) or flat.min() < self.t[0] or flat.max() > self.t[-1]:
            raise ArgumentError(f"t is {t!r}; the run goes from {self.t[0]:g} to {self.t[-1]:g} s.")
        found = []
        for x in flat.tolist():
            phase = self.phase(x)
            at = phase.state(0) if x <= phase.t[0] else phase.state() if x >= phase.t[-1] else phase(x)
            found.append(at)
        if times.ndim == 0:
            return found[0]
        return np.array([x.q for x in found]), np.array([x.v for x in found])

    def inputs(self, t: Any) -> np.ndarray:
        found = []
        for x in np.atleast_1d(checks.array(t, None, "t")).tolist():
            phase = self.phase(x)
            at_end = 0 if x <= phase.t[0] else -1 if x >= phase.t[-1] else None
            found.append(phase.inputs(x) if at_end is None else phase.u[at_end])
        return np.array(found) if np.ndim(t) else found[0]

    def resampled(self, times: Any, changes: bool = False) -> PhasedRun:
        """The run with records at other times, (N,) s, increasing; at a change, that after it.

        changes: with further records, on both sides of every change.
        """
        t = checks.increasing(times, "times")
        if t[0] < self.t[0] or t[-1] > self.t[-1]:
            raise ArgumentError(f"times is {checks.shown(times)}; the run goes from {self.t[0]:g} to {self.t[-1]:g} s.")
        known = [p for p in self.phases if len(p.t)]
        phases = []
        for p in self.phases:
            if not len(p.t):
                phases.append(p)
                continue
            at = t[(t >= p.t[0]) & ((t < p.t[-1]) | (p is known[-1]))]
            at = np.union1d(at, p.t[[0, -1]]) if checks.flag(changes, "changes") else at
            here = np.isin(p.t, at)
            phases.append(some_records(p, here) if len(at) == here.sum() else p.resampled(at))
        parts = self._energies, self.switches, list(self.t_events), self.status, self._message
        return joined_phases(self.system, self.p, phases, *parts)

    @property
    def is_known_between(self) -> bool:
        return all(p.is_known_between for p in self.phases if len(p.t) > 1)

    # --- per phase ----------------------------------------------------------------------------------------------

    def _joined(self, of: Callable[[Run], np.ndarray]) -> np.ndarray:
        """Values of every phase, stacked."""
        parts = [of(p) for p in self.phases if len(p.t)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        return self._joined(lambda p: p.kinetic_energy)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        return self._joined(lambda p: p.potential_energy)

    @cached_property
    def residuals(self) -> np.ndarray:
        return self._joined(lambda p: p.residuals)

    @cached_property
    def speed_residuals(self) -> np.ndarray:
        return self._joined(lambda p: p.speed_residuals)

    @cached_property
    def rank(self) -> np.ndarray:
        return self._joined(lambda p: p.rank)

    @cached_property
    def condition(self) -> np.ndarray:
        return self._joined(lambda p: p.condition)

    @cached_property
    def indicator(self) -> np.ndarray:
        return self._joined(lambda p: p.indicator)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """(N, k) of A in the metric of the run, falling; NaN where a phase has fewer."""
        width = max((p.singular_values.shape[1] for p in self.phases if len(p.t)), default=0)
        return self._joined(
            lambda p: np.pad(
                p.singular_values, ((0, 0), (0, width - p.singular_values.shape[1])), constant_values=np.nan
            )
        )

    @cached_property
    def passages(self) -> Any:
        return tuple(x for p in self.phases for x in p.passages)

    @cached_property
    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        names = self.system.rows.names
        multipliers = np.stack([self._row(name) for name in names], axis=1) if names else np.zeros((len(self.t), 0))
        return self._joined(lambda p: p.vdot), multipliers

    def _row(self, name: str) -> np.ndarray:
        """(N,) the multiplier of a row; 0 where it does not hold."""
        one_sided = name in {f"{n}.gap" for n in self.contact_names}

        def of(p: Run) -> np.ndarray:
            names, system = p.system.rows.names, p.system
            if name in (known := self._selected(p)):
                found = known[name]
            elif isinstance(system, PhaseSystem) and name in system.contact_rows:
                found = _shared(p)[:, system.contact_rows.index(name)]
            elif name in names:
                found = p.multipliers[:, names.index(name)]
            else:
                return np.zeros(len(p.t))
            if one_sided:  # at a change it is zero but for rounding, or for a slip that has no direction any more
                found = found.copy()
                found[[0, -1]] = np.maximum(found[[0, -1]], 0.0)
            return found

        return self._joined(of)

    def _selected(self, phase: Run) -> dict[str, np.ndarray]:
        """Multipliers of contacts and of joints that stick in a phase, by row, where its rows are a selection."""
        system, known = phase.system, self._of_phases
        if not isinstance(system, PhaseSystem) or system.kernels.selected_from is None:
            return {}
        if id(phase) not in known:
            data = ModeData(system, phase.p, system.numbers_in(phase.p))
            own = system.changeable.base.layout.mechanism.constraints
            found = data.forces(phase.t, phase.q, phase.v, phase.u)
            known[id(phase)] = {row: x for row, x in found.items() if row.rpartition(".")[0] not in own}
            for name in system.mode.given:
                row = system.changeable.row_names[system.changeable.friction_row(name)]
                known[id(phase)][row] = np.full(len(phase.t), float(data.numbers["force", name][0]))
        return known[id(phase)]

    @cached_property
    def _of_phases(self) -> dict[int, dict[str, np.ndarray]]:
        return {}

    def multiplier(self, name: str) -> np.ndarray:
        """History of the multiplier of a row ("C.x", "floor.gap"), (N,), or of the k rows of a constraint, (N, k).

        name: of a row, a constraint or a contact of any phase; 0 where it does not hold.
        """
        rows = dict.fromkeys([*self._candidates(), *(pair for p in self.phases for pair in _named_rows(p))])
        order = self.phases[0].system.changeable.row_index if self.phases else {}  # type: ignore[attr-defined]
        found = sorted((n for n, of in rows if name in (n, of)), key=lambda n: order.get(n, 0))
        if not isinstance(name, str) or not found:
            raise unknown("row or constraint", name, dict.fromkeys([x for pair in rows for x in pair]))
        out = np.stack([self._row(n) for n in found], axis=1)
        return out[:, 0] if out.shape[1] == 1 else out

    def _candidates(self) -> list[tuple[str, str]]:
        """(row, constraint) of the system's own rows and the gaps of its contacts."""
        rows = self.system.rows
        own = list(zip(rows.names, rows.of))
        return [*own, *((f"{n}.gap", n) for n in self.contact_names)]

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Contacts, ropes and stops of the run."""
        return tuple(self.phases[0].system.changeable.contacts) if self.phases else ()  # type: ignore[attr-defined]

    @property
    def _changeable(self) -> Changeable:
        return self.phases[0].system.changeable  # type: ignore[attr-defined]

    @cached_property
    def contact_residuals(self) -> np.ndarray:
        """(N,) by how much forces miss the laws of contact and dry friction, over the largest force of the phase.

        A contact that bears does not pull, what sticks needs no more friction than there is.
        """
        return self._joined(self._laws_missed)

    def _laws_missed(self, p: Run) -> np.ndarray:
        """(N,) `contact_residuals` of one phase."""
        system = p.system
        if not isinstance(system, PhaseSystem) or not (system.mode.touching or system.mode.sticking):
            return np.zeros(len(p.t))
        forces = self._selected(p) or dict(zip(system.rows.names, p.multipliers.T))
        if system.mode.shared and system.kernels.selected_from is None:
            forces |= dict(zip(system.contact_rows, _shared(p).T))
        return broken_laws(system.changeable, system.mode, forces, len(p.t))

    def reactions(self, joint: str) -> np.ndarray:
        def of(p: Run) -> np.ndarray:
            cut = [c.name for c in self.system.layout.mechanism.constraints.values()]
            held = [c.name for c in p.system.description.constraints]
            return np.zeros((len(p.t), 6)) if joint in cut and joint not in held else p.reactions(joint)

        return self._joined(of)

    def power(self, name: str, kind: str | None = None) -> np.ndarray:
        def of(p: Run) -> np.ndarray:
            known = list(self.system.layout.mechanism.constraints)
            held = [c.name for c in p.system.description.constraints]
            if name in known and name not in held:
                return np.zeros(len(p.t))
            return p.power(name, kind)

        return self._joined(of)

    # --- evidence -----------------------------------------------------------------------------------------------

    @cached_property
    def _warnings(self) -> Any:
        return PhasedWarnings(self)


class PhasedBalance(Warnings):
    """The balance of a run of phases, whose energies are those of its phases."""

    def _at(self, looked_at: np.ndarray, name: str) -> Any:
        return getattr(self.run, name)[looked_at]


class PhasedWarnings:
    """Warnings of a run of phases: closure of each phase, energy balance of the whole, laws of contacts."""

    def __init__(self, run: PhasedRun) -> None:
        phases = [p for p in run.phases if len(p.t)]
        some = np.unique(np.linspace(0, max(len(phases) - 1, 0), LOOKED_AT).astype(int))[: len(phases)]
        found = [PhasedBalance(run, closure=False), *(Warnings(phases[k], balance=False) for k in some)]
        self.sound = all(w.sound for w in found)
        self.sentences = list(dict.fromkeys(s for w in found for s in w.sentences))
        for p in phases:
            # forces take a kernel of their own where rows are no selection, and are 0/0 in singular positions
            if p.system.kernels.selected_from is None or p._met:
                continue
            missed = run._laws_missed(p)
            k = int(np.argmax(missed))
            if not missed[k] <= KEPT and not _as_located(run, p, missed):
                self.sound = False
                self.sentences.append(
                    f"forces miss the laws of contact and friction at t = {p.t[k]:.6g} s, by {missed[k]:.2g} of the "
                    "largest of that phase"
                )
                break


def _as_located(run: PhasedRun, phase: Run, missed: np.ndarray) -> bool:
    """Whether laws are missed at the end of a phase alone, and not just before: by rounding of the time of a change.

    Forces of contacts that slide turn with their slips: the faster, the less of these is left.
    """
    end = float(phase.t[-1])
    just = end - ROUNDED * np.spacing(end)
    if not bool((missed[:-1] <= KEPT).all()) or not float(phase.t[-2]) < just:
        return False
    return bool(run._laws_missed(phase.resampled(np.array([just])))[0] <= KEPT)


def _named_rows(phase: Run) -> list[tuple[str, str]]:
    """(row, constraint or contact) of a phase."""
    system, rows = phase.system, phase.system.rows
    shared = system.mode.shared if isinstance(system, PhaseSystem) else ()
    return [*zip(rows.names, rows.of), *((row, row.rpartition(".")[0]) for row in shared)]


def _shared(phase: Run) -> np.ndarray:
    """(N, k) multipliers of the rows of contacts of a phase in which some are redundant."""
    system = phase.system
    assert isinstance(system, PhaseSystem)
    arguments = ("q", "v", "u", "p", "t", "lam")
    return phase._through(
        lambda lanes: system.kernels.custom(("contact_forces",), arguments, system.contact_forces, lanes=lanes),
        lam=np.hstack([phase.multipliers, np.zeros((len(phase.t), len(system.rows.left_out)))]),  # of all rows
    )


def joined(run: HybridRun, status: Status, message: str) -> PhasedRun:
    """The whole of a hybrid run."""
    setup, parts = run.problem.setup, (run.phases, run.energies, run.changes)
    return joined_phases(run.problem.whole, setup.p, *parts, list(setup.events), status, message)


def joined_phases(
    system: System, p: np.ndarray, phases: Sequence[Run], energies: Sequence[PhaseEnergy], switches: Sequence[Switched],
    events: list[str], status: Status, message: str,
) -> PhasedRun:  # fmt: skip
    """Phases as one run."""
    impacts = {s.t for s in switches if s.impulse}
    phases = [_left_open(x, impacts) if x._met else x for x in phases]
    t_events, x_events = _events(phases, events, system.nq + system.nv) if events else ({}, {})
    last = phases[-1]
    joint: dict[str, Any] = {n: np.concatenate([getattr(x, n) for x in phases]) for n in ("t", "q", "v", "u", "margin")}
    joint |= {name: sum([getattr(x, name) for x in phases]) for name in COUNTS}
    joint |= {name: max([getattr(x, name) for x in phases]) for name in ("drift", "speed_drift")}
    return PhasedRun(
        **joint,
        system=system,
        p=p,
        work=_work(phases, energies),
        status=status,
        _message=message,
        error=last.error,
        charts=(),
        t_events=t_events,
        x_events=x_events,
        rtol=last.rtol,
        remarks=tuple(dict.fromkeys([remark for x in phases for remark in x.remarks])),
        metric=last.metric,
        _met=tuple([met for x in phases for met in x._met]),
        phases=tuple(phases),
        switches=tuple(switches),
        _energies=tuple(energies),
    )


def _left_open(phase: Run, impacts: set[float]) -> Run:
    """The phase with what impulses in a singular position leave open: along which branch the motion goes on.

    Not where the mechanism stays in a position that no motion leads out of.
    """
    if not len(phase.t) or phase.t[0] not in impacts:
        return phase
    here = tangent_of_motion(phase.system, phase.state(0), phase.p).sigma

    def left_open(m: Met) -> bool:
        stays = bool(m.determined) and not any(m.v)
        return m.start == phase.t[0] and m.sigma <= m.hit and here[m.usual - 1] <= m.hit and not stays

    return replace(phase, _met=tuple(replace(m, determined=False) if left_open(m) else m for m in phase._met))


def _events(phases: Any, names: list[str], n: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    found = {name: [p for p in phases if len(p.t_events.get(name, ()))] for name in names}
    t = {name: np.concatenate([np.zeros(0), *(p.t_events[name] for p in with_it)]) for name, with_it in found.items()}
    x = {
        name: np.concatenate([np.zeros((0, n)), *(p.x_events[name] for p in with_it)])
        for name, with_it in found.items()
    }
    return t, x


def _work(phases: Any, energies: Any) -> Mapping[str, np.ndarray]:
    """Works since the start: those of the phases one after another, and what changes of structure added."""
    names = list(dict.fromkeys([*(n for p in phases for n in p.work), "impacts"]))
    out: dict[str, list[np.ndarray]] = {name: [] for name in names}
    total = dict.fromkeys(names, 0.0)
    for phase, more in zip(phases, energies):
        total["impacts"] += more.gained
        for name in names:
            out[name].append(total[name] + phase.work.get(name, np.zeros(len(phase.t))))
            total[name] += more.works.get(name, 0.0)
    return {name: np.concatenate(parts) for name, parts in out.items()}
