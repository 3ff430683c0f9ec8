"""Steps next to a singular position: by factorizations that reveal the rank, landed by them too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations import are_rows_known, make_landing, make_precise, make_precise_rows
from dalembert.formulations.precise import PreciseRows
from dalembert.integrators.methods import METHODS
from dalembert.native.bound import NOTHING, Bound
from dalembert.protocols import StateLike
from dalembert.recursions.momentum import kinetic_energy
from dalembert.ruler import Ruler
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.state_units import quaternion_places, state_units
from dalembert.symbols import array
from dalembert.system.formulation_options import formulation_options, of_mass
from dalembert.system.functions import potential
from dalembert.system.state import State

LANDINGS = 12  # Newton steps, at most, from where a motion is carried to
FEW = 24  # rows that are factored as a whole, and recombined in twice the precision; more ones by their elements


class Careful(NamedTuple):
    """Careful steps of a run, and what lands them."""

    rows: tuple[int, ...] | None  # of the usual steps
    stepper: Stepper
    position: Bound
    velocity: Bound
    low: np.ndarray  # (nq,) low part of the last position that was landed
    exact: bool  # whether rows are computed in twice the precision
    units: np.ndarray  # (nq,) of the coordinates: 1 rad, or the length of the mechanism

    def reveal(self, sigma: float) -> None:
        """Count singular values of the rows up to σ as zero."""
        landings = self.position, self.velocity, *(self.stepper.fields.get(name) for name in ("correct", "filter"))
        for function in (self.stepper.ode, *landings):
            if function is not None:
                function.w.problem.tolerance = function.w.problem.floor = sigma

    def phi(self, x: StateLike) -> np.ndarray:
        """(m,) holonomic Φ of a state in twice the precision."""
        nq, f = len(x.q), self.position
        self.low[:] = 0.0
        return f.at(x.t, x.q)[nq : nq + f.rows].copy()

    def land(self, x: State, least: float) -> State | None:
        """The nearest state on the manifold; None where σ is less than `least` on the way, or none is near."""
        nq, nv, f, g = len(x.q), len(x.v), self.position, self.velocity
        q, moved = x.q, np.inf
        self.low[:] = 0.0
        for _ in range(LANDINGS):
            before, out = moved, f.at(x.t, q)
            if not out[nq + f.rows] >= least**2:
                return None
            moved = float(np.abs((out[:nq] - q) / self.units).max())
            q = out[:nq].copy()
            if moved <= Ruler.exact or moved >= before:  # settled, or as near as rounding lets it
                break
        if not moved <= Ruler.unlanded:
            return None
        out = g.at(x.t, np.concatenate([q, x.v]))
        return x.replace(q=q, v=out[:nv]) if out[nv + g.rows] >= least**2 else None


def careful(layout: RunLayout, rows: tuple[int, ...] | None) -> Careful:
    """The careful steps of a run that uses these rows; they use all of them."""
    s, system, dop853 = layout.setup, layout.system, METHODS["dop853"]
    known, low = _rows_are_known(layout), np.zeros(system.nq)
    cut = layout.ruler.zero * layout.ruler.hit
    options: dict[str, Any] = {"tolerance": cut, "floor": cut, "safety": 1.0}
    if s.formulation == "auto":
        options = {**s.options, **options}
    usual = layout.traced_equations.usual_rank(rows)
    if _by_elements(layout, options, usual):
        ode = layout.traced_equations.sparse_formulation(options)
    else:
        ode = layout.traced_equations.formulation("nullspace", options, None, usual, _precise(layout, None, low))
    ode.trust(0.0, 0.0)
    fields: dict[str, Any] = {
        "regime.careful": 1,
        "regime.across": layout.ruler.across,
        "regime.until": (layout.ruler.clear * layout.ruler.near) ** 2,
        "regime.followed": 0.0,
        "step.rtol": max(layout.ruler.tightest, s.rtol),
        "step.atol": max(layout.ruler.tightest, s.atol),
    }
    position, velocity = correct, filter_ = _landings(layout, options, usual, low, "mass")
    if s.projection is not None and system.rows.of:
        weights = s.projection.weights(system.nv)
        if weights is not None:
            correct, filter_ = _landings(layout, options, usual, low, weights)
        fields |= {"correct": correct, "filter": filter_, "energies": _energies(layout)}
        fields["manifold.kept_below"] = 1.0 if s.projection.energy else layout.ruler.far
        fields |= {"manifold.frozen": 0, "manifold.restore_energy": 0}
        fields |= {"manifold.filter_velocities": 1, "manifold.project_every": 1}
        fields |= {"low": low, "low_before": np.zeros(system.nq), "regime.precise": correct.owner.exact}
        if correct.owner.exact:
            fields |= {"manifold.max_corrections": 4, "manifold.tolerance": 1e-22 * min(1.0, layout.policy.length)}
    units = state_units(system, system.nq + system.nv, layout.policy.length)[: system.nq]
    return Careful(rows, Stepper(ode, dop853, dop853.make(0), fields), position, velocity, low, known, units)


def land_record(layout: RunLayout, rows: tuple[int, ...] | None, t: float, record: np.ndarray) -> None:
    """Bring a record beside a singular configuration, made by ordinary steps, onto the manifold, in place.

    Elimination knows its velocity to ε/σ² only. Here Φ is computed in twice the precision, which leaves ε/σ.
    """
    nq, n = layout.system.nq, layout.system.nq + layout.system.nv
    steps = lease(layout, rows)
    landed = steps.land(layout.system.state(record[:nq], record[nq:n], t), 0.0)
    give_back(layout, steps)
    if landed is not None:
        record[:nq], record[nq:n] = landed.q, landed.v


def _energies(layout: RunLayout) -> Bound:
    """Kinetic and potential energy of a motion that keeps their sum, but for works.

    Not where drivers or kinematic inputs give velocities, which cannot be scaled, or where the potential changes with
    time.
    """
    s, system = layout.setup, layout.system
    if "drivers" in system.work_names or system.description.prescribed:
        return NOTHING
    kernel = system.kernels.custom(
        ("energies",), ("q", "v", "p", "t"), lambda trace: array([kinetic_energy(trace.at), potential(trace)])
    )
    return NOTHING if "t" in kernel.names_in else Bound.of(kernel, {"p": s.p})


def _landings(
    layout: RunLayout, options: Mapping[str, Any], usual: int, low: np.ndarray, metric: Any
) -> tuple[Bound, Bound]:
    """The nearest position and velocity on the manifold; low: (nq,) where low parts of positions are."""
    position, velocity = (_nearest(layout, name, options, usual, low, metric) for name in ("position", "velocity"))
    return position, velocity


def _nearest(
    layout: RunLayout, name: str, options: Mapping[str, Any], usual: int, low: np.ndarray, metric: Any
) -> Bound:
    s, system = layout.setup, layout.system
    rows = None
    if name == "position" and not system.rows.holonomic.all():
        rows = tuple(np.flatnonzero(system.rows.holonomic).tolist())
    sparse = _by_elements(layout, {"metric": metric}, usual)
    if sparse:
        chosen = layout.traced_equations.sparse_options(options, rows)
    else:
        chosen = formulation_options(
            system, "nullspace", s.p, metric=metric, rows=rows,
            tolerance=options["tolerance"], floor=options["floor"], safety=options["safety"],
        )  # fmt: skip
        chosen["usual_rank"] = usual if rows is None else 0
    return make_landing(
        name,
        system.kernel("sparse_equations" if sparse else "equations", rows=rows),
        system.kernel("plus"),
        layout.traced_equations.values(None),
        nq=system.nq,
        nv=system.nv,
        rows=layout.traced_equations.usual_rank(rows),
        powers=layout.traced_equations.plain_powers,
        options=chosen,
        rounding=4e-16 * layout.policy.length,
        program=(lambda places: make_precise(system, rows, places)) if name == "position" else None,
        low=low,
        rates=system.kernel("rates"),
        turns=quaternion_places(system),
        sparse=sparse,
        precise_rows=_precise(layout, rows, low) if name == "velocity" and not sparse else None,
    )


def _rows_are_known(layout: RunLayout) -> bool:
    """Whether rows are computed in twice the precision: few ones, of known operations, whose steps are projected."""
    system = layout.system
    few = 0 < len(system.rows.of) <= FEW and layout.setup.projection is not None
    return few and are_rows_known(system, None)


def _precise(
    layout: RunLayout, rows: tuple[int, ...] | None, low: np.ndarray
) -> Callable[[Mapping[str, slice]], PreciseRows] | None:
    """Rows in twice the precision, by the places of inputs; None where they are not known."""
    if not _rows_are_known(layout):
        return None
    size = layout.equations.usual_rank(rows), layout.system.nv
    return lambda places: make_precise_rows(layout.system, rows, places, low, size)


def _by_elements(layout: RunLayout, options: Mapping[str, Any], usual: int) -> bool:
    """Whether rows can be factored by their elements: none depends on others for good, in the mass metric, undamped."""
    undamped = not (options.get("damping") or (0.0, 0.0))[1]
    if _rows_are_known(layout):
        return False
    return usual == len(layout.system.rows.of) and of_mass(options.get("metric", "mass")) and undamped


# --- kept for the next singular position ------------------------------------------------------------------------------

MOST = 4  # of a layout and its rows


def lease(layout: RunLayout, rows: tuple[int, ...] | None) -> Careful:
    """Careful steps for a run that uses these rows: those of an earlier singular position, or new ones."""
    try:
        return layout.careful[rows].pop()
    except (KeyError, IndexError):
        return careful(layout, rows)


def give_back(layout: RunLayout, steps: Careful) -> None:
    """Keep careful steps that are no longer taken."""
    alike = layout.careful.setdefault(steps.rows, [])
    if len(alike) < MOST:
        alike.append(steps)
