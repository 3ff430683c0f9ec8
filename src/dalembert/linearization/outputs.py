"""Outputs of a linear model: names, values, and slopes with respect to q, v, v̇ and λ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.charts.leaders import name_and_function
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.traced import UserState, on_expressions
from dalembert.mechanism.values import described
from dalembert.protocols import Parameters
from dalembert.recursions.momentum import gravity_energy, kinetic_energy
from dalembert.symbols import array, to_sx
from dalembert.system.kernels import frame_key
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace

KINDS = ("rate", "acceleration", "position", "velocity", "multiplier")
ENERGIES = ("energy", "kinetic_energy", "potential_energy")
Given = str | tuple[str, Callable[[UserState], Any]]  # an output as users give it


@dataclass(frozen=True, eq=False)
class Outputs:
    """Names of the outputs, their values and slopes; `of_vdot` and `of_multipliers` pick from v̇ and λ."""

    names: tuple[str, ...]
    value: np.ndarray  # (k,)
    q: np.ndarray  # (k, nv)
    v: np.ndarray  # (k, nv)
    t: np.ndarray  # (k,)
    of_vdot: np.ndarray  # (k, nv)
    of_multipliers: np.ndarray  # (k, rows used)

    @property
    def dynamic(self) -> bool:
        """Whether any output is an acceleration or a multiplier."""
        return bool(self.of_vdot.any() or self.of_multipliers.any())


def outputs(
    system: System,
    given: Sequence[Given],
    at: tuple[State, np.ndarray, Parameters],
    rows: Sequence[str],
    unknowable: set[str],
    vdot: np.ndarray,
    lam: np.ndarray,
) -> Outputs:
    """Read what was asked for at a state, u and p: see `linearize`. `rows` names the rows whose multipliers λ has."""
    nv = system.nv
    names: list[str] = []
    scalars: list[tuple[str, Any]] = []  # (kind, argument) of what is a function of q and v
    picks: list[tuple[str, int] | None] = []
    for item in given:
        for name, scalar, pick in read_output(system, item, rows, unknowable):
            names.append(name)
            picks.append(pick)
            if scalar is not None:
                scalars.append(scalar)
    n = len(names)
    value, by_q, by_v, by_t = np.zeros(n), np.zeros((n, nv)), np.zeros((n, nv)), np.zeros(n)
    of_vdot, of_lam = np.zeros((n, nv)), np.zeros((n, len(rows)))
    plain = [i for i, pick in enumerate(picks) if pick is None]
    if plain:
        kernel = system.kernels.custom(
            ("outputs", *(_key(s) for s in scalars)),
            ("q", "v", "u", "p", "t"),
            lambda s: _traced(s, scalars),
            None,
            ("value", "by_q", "by_v", "by_t"),
        )
        value[plain], by_q[plain], by_v[plain], by_t[plain] = system.kernels.at(kernel, *at, {})
    for i, pick in enumerate(picks):
        if pick is None:
            continue
        kind, k = pick
        if kind == "acceleration":
            value[i], of_vdot[i, k] = vdot[k], 1.0
        else:
            value[i], of_lam[i, k] = lam[k], 1.0
    return Outputs(tuple(names), value, by_q, by_v, by_t, of_vdot, of_lam)


def read_output(system: System, item: Given, rows: Sequence[str], unknowable: set[str]) -> list[tuple[str, Any, Any]]:
    """(name, (kind, argument) or None, (kind, index) or None) of each scalar output of an item."""
    if not isinstance(item, str):
        pair = name_and_function(item, "outputs")
        return [(pair[0], ("function", pair), None)]
    if item in ENERGIES:
        return [(item, (item, None), None)]
    if item in system.v_names:
        return [(item, ("coordinate", system.v_names.index(item)), None)]
    kind, _, name = item.partition(":")
    if kind not in KINDS:
        raise unknown("output", item, [*system.v_names, *ENERGIES, *(f"{kind}:…" for kind in KINDS)])
    if kind in ("rate", "acceleration"):
        index = system.arguments.velocity_index(name)
        return [(item, ("rate", index), None) if kind == "rate" else (item, None, ("acceleration", index))]
    if kind == "multiplier":
        known = [row for row in rows if row not in unknowable]
        if name in known:
            return [(item, None, ("multiplier", list(rows).index(name)))]
        if name in system.row_names or name in system.rows.trivial:
            raise ArgumentError(
                f"the multiplier of row '{name}' is not determinate: redundant rows share its load. "
                f"Determinate here: {', '.join(known) or 'none'}."
            )
        raise unknown("row", name, known)
    frame, _, letter = name.partition("@")
    axes = letter or "xyz"
    if any(x not in "xyz" for x in axes):
        raise ArgumentError(f"output '{item}' asks for component '{letter}'; needed: x, y or z, as in '{kind}:tip@x'.")
    found = system.layout.frame(frame)
    return [(f"{kind}:{frame}@{x}", (kind, (found, "xyz".index(x))), None) for x in axes]


def _key(scalar: tuple[str, Any]) -> Any:
    kind, what = scalar
    return (kind, frame_key(what[0]), what[1]) if kind in ("position", "velocity") else (kind, what)


def _traced(s: Trace, scalars: Sequence[tuple[str, Any]]) -> tuple[Any, ...]:
    """Values and slopes of functions of q and v: a short formula each, differentiated by CasADi."""
    values = [output_value(s, kind, what) for kind, what in scalars]
    nv = s.tree.nv
    shifts = [k for k, (kind, _) in enumerate(scalars) if kind == "coordinate"]
    f = ca.vertcat(*values)
    N = ca.SX(s.tree.nq, nv)
    for link in s.tree.links:
        one = np.eye(link.joint.nv).astype(object)
        N[link.q, link.v] = to_sx(np.column_stack([link.joint.rates(s.q[link.q], e) for e in one]))
    by_q, by_v = (ca.densify(x) for x in (ca.jacobian(f, s.sx["q"]) @ N, ca.jacobian(f, s.sx["v"])))
    q, v = (_matrix(x, len(values), nv) for x in (by_q, by_v))
    for k in shifts:  # a tangent coordinate, which need not be an entry of q
        q[k] = np.eye(nv)[scalars[k][1]]
    t = _matrix(ca.densify(ca.jacobian(f, s.sx["t"])), len(values), 1)
    return array(f).reshape(-1), q, v, t.reshape(-1)


def _matrix(x: ca.SX, rows: int, columns: int) -> np.ndarray:
    return array(x).reshape(rows, columns)


def output_value(s: Trace, kind: str, what: Any) -> ca.SX:
    """One output that is a function of q and v, traced; kind and what: as `read_output` gives them."""
    if kind == "coordinate":
        name = s.d.layout.v_names[what]
        names = s.d.layout.q_names
        return to_sx([s.q[names.index(name)]]) if name in names else ca.SX(0)
    if kind == "rate":
        return to_sx([s.v[what]])
    if kind in ("position", "velocity"):
        frame, k = what
        return to_sx([getattr(s.state, kind)(frame)[k]])
    if kind == "function":
        x = described(on_expressions(what[1], s.state, f"output '{what[0]}'"), f"output '{what[0]}'")
        if x.size != 1:
            raise ArgumentError(f"output '{what[0]}' has {x.size} values; needed: one expression.")
        return to_sx(x.reshape(1))
    total: Any = 0.0
    if kind != "potential_energy":
        total = total + kinetic_energy(s.at)
    if kind != "kinetic_energy":
        total = total + gravity_energy(s.at, s.d.gravity) + sum((f.energy(s.state) for f in s.d.forces), 0.0)
    return to_sx([total])
