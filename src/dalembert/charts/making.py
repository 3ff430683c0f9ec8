"""The charts of each kind: by names, along the tangent space, of any R(q, y)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.manifold import Tangent
from dalembert.analysis.manifold import tangent as tangent_at
from dalembert.charts.description import Chart
from dalembert.charts.leaders import Coordinate, Given, leader, named_list
from dalembert.charts.local import LocalChart
from dalembert.charts.point import ChartPoint
from dalembert.charts.speeds import Speeds, leading
from dalembert.errors import ArgumentError, DalembertError
from dalembert.mechanism.values import described
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.rank import independent
from dalembert.symbols import to_sx
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace


def choose(
    system: System, state: StateGiven, p: Parameters, wanted: str | Sequence[Given] | Callable[..., Any] | Chart
) -> LocalChart:
    """The chart of `coordinates`, as a user gives it to `simulate` or `system.chart`."""
    chart = wanted if isinstance(wanted, Chart) else Chart(wanted)
    given, velocities = chart.coordinates, chart.velocities
    if callable(given):
        assert chart.start is not None
        return custom(system, state, given, chart.start, p, velocities)
    if isinstance(given, str) and given == "tangent":
        return tangent(system, state, p, velocities)
    if isinstance(given, str):
        return named(system, state, None if given == "partition" else [given], p, velocities)
    return named(system, state, given, p, velocities)


def renewed(
    system: System, state: StateGiven, p: Parameters, wanted: str | Sequence[Given] | Callable[..., Any] | Chart
) -> LocalChart:
    """A chart of the kind of `wanted` around another state: by the coordinates that are best there, or tangent."""
    given = wanted.coordinates if isinstance(wanted, Chart) else wanted
    by_names = given != "tangent" if isinstance(given, str) else not callable(given)
    return named(system, state, p=p) if by_names else tangent(system, state, p)


def check(system: System, wanted: str | Sequence[Given] | Callable[..., Any] | Chart) -> None:
    """Refuse `coordinates` that no state has a chart of: names that are none of the system's."""
    given = (wanted if isinstance(wanted, Chart) else Chart(wanted)).coordinates
    if not callable(given) and given not in ("partition", "tangent"):
        for name in named_list([given] if isinstance(given, str) else given, "names"):
            leader(system, name)


def named(
    system: System,
    state: StateGiven,
    names: Sequence[Given] | None = None,
    p: Parameters = None,
    velocities: Any = None,
) -> LocalChart:
    """The chart whose y are coordinates of joints (2.33), of the tree or cut, or functions of the state.

    names: of the coordinates, or (name, function of the state); by default those of the tree along which the admissible
    motions span best. p: parameters, by name or as an array. velocities: as in `Chart`.
    """
    check_system(system)
    x, _, p = system.arguments.resolve(state, None, p)
    if names is None:
        names, free = best(system, x, p), system.nv - tangent_at(system, x, p, system.rows.holonomic).rank
        if len(names) < free:
            raise ArgumentError(
                f"'{system.name}' has {free} degrees of freedom here and {len(names)} coordinates that could lead: "
                "those of quaternion joints have no rates of their own. Take coordinates='tangent'."
            )
    chosen = [leader(system, name) for name in named_list(names, "names")]
    own = tuple(c.name for c in chosen)
    if len(set(own)) < len(own):
        raise ArgumentError(f"coordinates has {', '.join(own)}; needed: each name once.")
    R = of_leaders(system, chosen)
    start = np.array([x.q[system.q_names.index(c.name)] if c.row is None else 0.0 for c in chosen])
    chart = _chart(system, x, p, ("named", *(c.key for c in chosen)), own, R, start, leading(system, velocities))
    chart = _finished(chart, x)
    return replace(chart, leaders=tuple(chosen)) if chart.plain else chart


def tangent(system: System, state: StateGiven, p: Parameters = None, velocities: Any = None) -> LocalChart:
    """The chart whose y are motions along the admissible directions at a state (Spencer 3.1); it always exists.

    R = s Kᵀ M (q ⊖ q̄) − y with Kᵀ M K = 1, q̄ the state's configuration; s makes y the motion of the coordinate that
    moves most, in rad or m. With nonholonomic constraints the first directions are those of admissible velocities. p:
    parameters, by name or as an array. velocities: as in `Chart`.
    """
    check_system(system)
    x, _, p = system.arguments.resolve(state, None, p)
    t, holonomic = tangent_at(system, x, p), system.rows.holonomic
    basis = t.revealed.null
    if not holonomic.all():
        wide = tangent_at(system, x, p, holonomic).revealed.null
        rest = np.linalg.svd(wide - basis @ (basis.T @ wide))[0][:, : wide.shape[1] - basis.shape[1]]
        basis = np.hstack([basis, rest])
    most = np.abs(np.linalg.solve(t.R, basis)).max(axis=0, initial=0.0)
    rows = most[:, None] * (basis.T @ t.R)
    dof, R = len(rows), along_directions(system)
    names = tuple(f"y{k}" for k in range(dof))
    made = _chart(system, x, p, ("tangent", dof), names, R, np.zeros(dof), leading(system, velocities), rows.ravel())
    return _finished(made, x)


Equation = Callable[[Trace, ca.SX, ca.SX, ca.SX], Any]  # R of a trace, y, directions (dof, nv), reference (nq,)


def of_leaders(system: System, chosen: Sequence[Coordinate]) -> Equation:
    """R of a named chart: each leader's value, less its y."""
    return lambda s, y, C, reference: ca.vertcat(*(c.gap(system, s, y[i]) for i, c in enumerate(chosen)))


def along_directions(system: System) -> Equation:
    """R of a tangent chart: C (q ⊖ q̄) − y."""
    minus = system.function("minus")
    return lambda s, y, C, reference: C @ minus(s.sx["q"], reference) - y


def custom(
    system: System,
    state: StateGiven,
    R: Callable[[ca.SX, ca.SX], Any],
    start: ArrayLike,
    p: Parameters = None,
    velocities: Any = None,
) -> LocalChart:
    """The chart of any R(q, y) = 0 around a state.

    R: function of the coordinate vector q and of y that gives a CasADi expression. start: y of the state, or a guess
    of it. p: parameters, by name or as an array. velocities: as in `Chart`.
    """
    check_system(system)
    x, _, p = system.arguments.resolve(state, None, p)
    start = np.atleast_1d(checks.array(start, None, "start"))
    checks.vector(start, None, "start")
    checks.function(R, "R")
    q, y = ca.SX.sym("q", system.nq), ca.SX.sym("y", len(start))
    rows = _expressions(R, q, y)
    if rows.numel() != len(start):
        raise ArgumentError(f"R has {rows.numel()} rows for {len(start)} coordinates y; needed: as many rows as y.")
    if ca.Function("R", [q, y], [rows], {"allow_free": True}).has_free():
        raise ArgumentError("R(q, y) contains other symbols than q and y; needed: an expression of these alone.")
    names = tuple(f"y{k}" for k in range(len(start)))
    key, own = ("custom", R, len(start)), leading(system, velocities)
    made = _chart(system, x, p, key, names, lambda s, y, C, reference: _expressions(R, s.sx["q"], y), start, own)
    return _finished(made, x)


def _expressions(R: Callable[[ca.SX, ca.SX], Any], q: ca.SX, y: ca.SX) -> ca.SX:
    """R(q, y) as a column; what goes wrong in a user's function becomes a sentence."""
    try:
        value = R(q, y)
    except DalembertError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"R(q, y) could not be evaluated on expressions: {type(error).__name__}: {error}"
        ) from error
    return to_sx(described(value, "the value of R(q, y)").reshape(-1))


def _chart(
    system: System,
    x: State,
    p: Parameters,
    key: tuple[Any, ...],
    names: tuple[str, ...],
    R: Equation,
    start: np.ndarray,
    own: Speeds | None,
    directions: np.ndarray | None = None,
) -> LocalChart:
    """A chart around x, w = ẏ but for velocities of its own; not yet checked."""
    directions = np.zeros(len(start) * system.nv) if directions is None else directions
    made = LocalChart(
        system, p, key, names, R, start, directions, x.q.copy(), x.t, tuple(range(len(names))), None, names
    )
    if own is None:
        return made
    return replace(made, key=(*key, own.key), selected=(), velocities=own.C, speed_names=own.names)


def _finished(chart: LocalChart, x: State) -> LocalChart:
    """The chart with y of the state for its start; refuses one that is none there, saying why (2.27), (2.28)."""
    system = chart.system
    free = system.nv - tangent_at(system, x, chart.p, system.rows.holonomic).rank
    if chart.dof != free:
        raise ArgumentError(
            f"{chart.dof} coordinates ({', '.join(chart.names)}) for '{system.name}', which has {free} degrees of "
            f"freedom here; needed: {free}."
        )
    fast = system.nv - tangent_at(system, x, chart.p).rank
    if chart.velocities is not None and chart.speeds != fast:
        raise ArgumentError(
            f"{chart.speeds} independent velocities ({', '.join(chart.speed_names)}) for '{system.name}', whose "
            f"velocities have {fast} degrees of freedom here; needed: {fast}."
        )
    chart = replace(chart, start=chart.coordinates(x))
    if chart.velocities is None and fast < free:
        chart = _selected(chart, x, fast)
    if free:
        ChartPoint(chart, x, chart.start).check(_instead(chart, x))
    return chart


def _selected(chart: LocalChart, x: State, count: int) -> LocalChart:
    """The chart with the rates of some y as velocities: the first of a tangent chart, the best of a named one."""
    if chart.kind == "custom":
        raise ArgumentError(
            f"velocities of '{chart.system.name}' have {count} degrees of freedom, its positions {chart.dof}: "
            "constraints are nonholonomic. Say which velocities lead: da.Chart(R, start, velocities=...)."
        )
    led = tuple(range(count))
    if chart.kind == "named":
        t = tangent_at(chart.system, x, chart.p)
        led = tuple(independent(ChartPoint(chart, x, chart.start).still["D1"] @ t.admissible, count))
    names = tuple(f"{chart.names[k]} rate" for k in led)
    return replace(chart, key=(*chart.key, led), selected=led, speed_names=names)


def _instead(chart: LocalChart, x: State) -> str:
    """A sentence on what to use in place of coordinates that are not independent."""
    other = best(chart.system, x, chart.p)
    if set(other) == set(chart.names):
        return "coordinates of joints do not determine the motion here, a tangent chart does."
    return f"the best choice here is {', '.join(other)}, and a tangent chart always exists."


def best(system: System, x: State, p: Parameters) -> list[str]:
    """The coordinates, not those of quaternions, along which the admissible motions span best, in the mass metric."""
    t: Tangent = tangent_at(system, x, p, system.rows.holonomic)
    M, known = system.mass_matrix(x, p=p), [n for n in system.q_names if n in system.v_names]
    K, index = t.admissible, [system.v_names.index(n) for n in known]
    return [known[k] for k in independent((K * np.sqrt(np.diag(M))[:, None])[index], K.shape[1])]
