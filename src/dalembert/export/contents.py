"""What an export consists of: the request, checked, with everything that is decided before C is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.charts.leaders import Coordinate, named_list
from dalembert.control.projected import ProjectedControl
from dalembert.errors import ArgumentError, DescriptionError, unknown
from dalembert.export import kernels
from dalembert.export.kernels import CKernel
from dalembert.export.laws import ExportedLaw, law_of
from dalembert.export.names import identifier
from dalembert.linearization.linearize import linearize
from dalembert.linearization.lqr import Regulator
from dalembert.linearization.outputs import read_output
from dalembert.linearization.plan import in_motions
from dalembert.mechanism.body import Frame
from dalembert.protocols import check_system
from dalembert.rank import RankPolicy, rank_policy
from dalembert.simulation.state_units import gap_unit, plain_rates
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System


@dataclass(frozen=True, eq=False)
class Contents:
    """A mechanism as it leaves: its kernels, names and numbers."""

    system: System
    prefix: str
    single: bool
    start: State
    p: np.ndarray
    rows: RowChoice  # of elimination; None: all
    rank: int  # of the constraints away from singular positions
    policy: RankPolicy
    gap: float  # unit of residuals
    kernels: tuple[CKernel, ...]
    frames: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[str, ...]  # of the linear model
    active: tuple[tuple[str, int, int], ...]  # name, places in q and v
    laws: tuple[ExportedLaw, ...]

    def has(self, name: str) -> bool:
        """Whether a kernel is part of it."""
        return any(k.name == name for k in self.kernels)

    @property
    def chosen(self) -> int:
        """Rows of positions among those of elimination."""
        on = self.system.rows.holonomic
        return int((on if self.rows is None else on[list(self.rows)]).sum()) if self.system.rows.of else 0

    @property
    def exchanged(self) -> bool:
        """Whether it is integrated from outside, in charts."""
        return self.has("carried")

    @property
    def charted(self) -> bool:
        """Whether its charts end: those of trees without quaternions do not."""
        return self.exchanged and bool(self.system.rows.of or self.turns)

    @property
    def free(self) -> tuple[int, int]:
        """Independent coordinates and velocities."""
        return self.system.nv - self.chosen, self.system.nv - self.rank

    @property
    def turns(self) -> list[int]:
        """Velocities of joints whose position is a quaternion, as far as they turn."""
        layout = self.system.layout
        return [
            layout.v_slice(name).start + k
            for name, a in layout.joints.items()
            if a.joint.nq != a.joint.nv
            for k, turning in enumerate(a.joint.angular)
            if turning
        ]


def make_contents(
    system: Any,
    state: Any,
    p: Any,
    name: Any,
    precision: Any,
    frames: Any,
    outputs: Any,
    independent: Any,
    active: Any,
    controllers: Any,
    purpose: str = "",
) -> Contents:
    """Check a request and choose rows, coordinates and kernels.

    purpose: "co-simulation" adds derivatives of accelerations and outputs along given directions and their adjoints,
    "model-exchange" charts of independent coordinates.
    """
    check_system(system)
    single = checks.choice(precision, ("double", "float"), "precision") == "float"
    prefix = identifier(system.name if name is None else checks.name(name, "name")).lower()
    refuse_one_sided(system)
    x, _, p = system.arguments.resolve(system.assemble(p=p) if state is None else state, None, p)
    vector = np.array(system.arguments.parameter_vector(p), dtype=float)
    x = system.project(x, p=p) if system.rows.of else x
    rows = independent_rows(system, x, p) if system.rows.of else None
    rank = len(system.rows.of) if rows is None else len(rows)
    parts = kernels.running(system, rows)
    laws = tuple(law_of(system, key, given) for key, given in _controllers(controllers).items())
    inverse = _input_matrix(system, any(law.task for law in laws))
    if system.rows.of or inverse:
        parts.append(kernels.equations(system))
    parts += [inverse] if inverse else []
    placed = _frames(system, frames)
    if placed:
        parts += [kernels.poses(system, placed), kernels.twists(system, placed)]
    named, scalars = _outputs(system, outputs)
    if named:
        parts.append(kernels.outputs(system, scalars))
    states: tuple[str, ...] = ()
    if independent is not None:
        part, states = _linear(system, x, p, rows, named_list(independent, "independent"))
        parts.append(part)
    followed = _active(system, active)
    if followed:
        parts.append(kernels.constraints(system))
    if any(not law.task for law in laws):
        parts.append(kernels.minus(system))
    if purpose == "co-simulation":
        parts += [kernels.directional(system, rows, scalars), kernels.adjoint(system, rows, scalars)]
    if purpose == "model-exchange":
        there = {part.name for part in parts}
        parts += [part for part in kernels.in_chart(system) if part.name not in there]
    policy = rank_policy(system, p)
    return Contents(
        system, prefix, single, x, vector, rows, rank, policy, gap_unit(system), tuple(parts), tuple(placed), named,
        states, followed, laws,
    )  # fmt: skip


def refuse_one_sided(system: System) -> None:
    """Refuse mechanisms whose structure changes on the way."""
    if system.layout.is_hybrid:
        raise ArgumentError(
            f"'{system.name}' has contacts, ropes, rigid stops or dry friction, whose changes of structure are not "
            "exported. Leave them out, or make them compliant: stiffness and damping are exported as any force is."
        )


def _controllers(given: Any) -> dict[str, Any]:
    out = dict(checks.mapping({} if given is None else given, "controllers"))
    for key, law in out.items():
        checks.name(key, "the name of a controller")
        if not isinstance(law, Regulator | ProjectedControl):
            raise ArgumentError(
                f"controller '{key}' is {checks.shown(law)}; exported are what da.lqr and control.computed_torque make."
            )
    return out


def _input_matrix(system: System, needed: bool) -> CKernel | None:
    """The kernel of B, where inputs are forces and the applied forces are affine in them."""
    if not system.u_names or system.description.prescribed:
        return None
    try:
        return kernels.input_matrix(system)
    except DescriptionError:
        if needed:
            raise
        return None


def _frames(system: System, given: Any) -> dict[str, Frame]:
    out: dict[str, Frame] = {}
    for item in named_list(given, "frames"):
        found = system.layout.frame(item)
        out[item if isinstance(item, str) else getattr(item, "name", None) or found.body.name] = found
    return out


def _outputs(system: System, given: Any) -> tuple[tuple[str, ...], list[tuple[str, Any]]]:
    names, scalars = list[str](), list[tuple[str, Any]]()
    for item in named_list(given, "outputs"):
        for name, scalar, pick in read_output(system, item, (), set()):
            if pick is not None or scalar is None:
                raise ArgumentError(
                    f"output '{name}' is an acceleration or a multiplier; exported outputs are functions of q and v. "
                    "The function …_acceleration of the export gives both."
                )
            names.append(name)
            scalars.append(scalar)
    return tuple(names), scalars


def _linear(
    system: System, x: State, p: Any, rows: RowChoice, independent: Sequence[Any]
) -> tuple[CKernel, tuple[str, ...]]:
    """The kernel of the linear model in these coordinates, by default the best ones at the state."""
    model = linearize(system, x, p=p, independent=list(independent) or None)
    at = model.operating
    if in_motions(system, len(at.speeds)):
        raise ArgumentError(
            f"the linear model of '{system.name}' with {len(at.speeds)} freedoms is too long for straight-line C. "
            "Leave independent= out and linearize in Python."
        )
    coordinates: tuple[Coordinate, ...] = at.coordinates
    return kernels.linear_model(system, coordinates, at.speeds, at.rows if at.rows is not None else rows), at.names


def _active(system: System, given: Any) -> tuple[tuple[str, int, int], ...]:
    """Active coordinates with their places in q and v."""
    if given is None:
        return ()
    names = named_list(given, "active")
    rates = plain_rates(system)
    plain = [n for k, n in enumerate(system.q_names) if rates[k] >= 0]
    out = []
    for name in names:
        if not isinstance(name, str) or name not in plain:
            raise unknown("coordinate", name, plain, "active")
        k = system.q_names.index(name)
        out.append((name, k, int(rates[k])))
    if len({name for name, _, _ in out}) < len(out) or not out:
        raise ArgumentError(f"active is {names}; needed: names of coordinates, each once.")
    if not (system.rows.of and system.rows.holonomic.all()):
        raise ArgumentError(
            f"active names the coordinates that determine the others of '{system.name}' through constraints on "
            "positions; it has none, or others besides. Leave active= out."
        )
    return tuple(out)
