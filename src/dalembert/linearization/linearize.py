"""Exact linear models of constrained mechanisms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.analysis.mobility import independent_rows
from dalembert.branch.mirrors import refuse_mirrored
from dalembert.charts.leaders import Coordinate, Given, coordinate, named_list
from dalembert.errors import ArgumentError
from dalembert.hints import explained
from dalembert.linearization.best import Best
from dalembert.linearization.coordinates import best_choice, refusal
from dalembert.linearization.model import LinearModel
from dalembert.linearization.operating import Operating
from dalembert.linearization.outputs import Given as GivenOutput
from dalembert.linearization.outputs import outputs as read_outputs
from dalembert.linearization.plan import Found, LinearPlan, Remembered, remembered
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import CLOSED, RankPolicy, angular_velocities, rank_policy
from dalembert.records import filled
from dalembert.system.derivatives import ACCELERATION_DERIVATIVES
from dalembert.system.inertia import check_mass
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System


@explained
def linearize(
    system: System,
    state: StateGiven,
    *,
    u: Inputs = None,
    p: Parameters = None,
    independent: Sequence[Given] | None = None,
    positions: Sequence[Given] | None = None,
    outputs: Sequence[GivenOutput] | None = None,
) -> LinearModel:
    """The linear model ẋ = rate + A x + B δu, y = output + C x + D δu of a mechanism near a state on its manifold.

    A is exact to rounding at any state, at rest or in motion, with redundant, driven and nonholonomic constraints.

    state: a `State`, positions by name, or an array q. u: inputs, p: parameters, by name or as arrays.

    independent: the coordinates of the model, by name: of tree joints ("A", "ball.wx"), of joints that close loops
    ("C", "C.angle"), or (name, function of the state). By default those that determine the rest best. positions: with
    nonholonomic constraints there are more positions than velocities; names for the others, chosen if not given.
    States are the positions, then their rates ("A rate"). Angles of quaternion joints are small rotations about the
    child's axes.

    outputs (default: the states): a coordinate "A", "rate:A", "acceleration:A", "position:tip" (three) or
    "position:tip@x" of a frame in the ground, "velocity:tip@x", "multiplier:loop.row", "energy", "kinetic_energy",
    "potential_energy", or (name, function of the state).

    Raises ArgumentError where the state is off the manifold, where the constraints are singular, and where the
    coordinates do not determine the rest, naming ones that do.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.five_bar().compile()
    >>> model = da.linearize(system, system.state(*zoo.five_bar_start()))
    >>> model.A.shape, model.stable
    ((4, 4), False)
    """
    if system.__class__ is not System:
        check_system(system)
    x, u, p = system.arguments.resolve(state, u, p)
    inputs = system.arguments.input_vector(u)
    if p is not None or u is not None:
        x = system.arguments.belonging(x, p, inputs)
    check_mass(system, x, p)
    memory = remembered(system)
    policy = memory.policy if p is None else rank_policy(system, p)
    given = {"q": x.q, "v": x.v, "u": inputs, "p": system.arguments.parameter_vector(p), "t": x.t}
    if independent is None and positions is None:
        plan, found = _in_best(system, memory, x, p, given, policy)
    else:
        plan = memory.known(independent, positions)
        found = None if plan is None or not plan.judges else plan.judge(given, policy)
    if plan is None or found is None:  # asked for the first time, or there is something to be told
        check_closed(system, x, p, given, memory, policy)
        plan = _plan(system, memory, x, p, independent, positions, memory.rows)
        found = plan.at(system, given, policy)
        if found is None:
            plan, found = _on_other_rows(system, memory, x, inputs, p, given, plan, independent, positions)
        if independent is None and positions is None:
            memory.best = Best.of(system, plan, given)
    return _model(system, x, inputs, p, plan, found, policy, outputs)


def _in_best(
    system: System, memory: Remembered, x: State, p: Parameters, given: Mapping[str, Any], policy: RankPolicy
) -> tuple[LinearPlan | None, Found | None]:
    """The plan in the best coordinates and its outputs, starting from those that were best at another state.

    None where they are not certain, and where there is something to be told.
    """
    best = memory.best
    if best is None or best.plan.rows != memory.rows:
        return None, None
    here = best.known(given)
    if not here and not best.judges:
        return None, None
    for _ in range(2):
        plan = best.plan
        if plan.judges:
            found = plan.judge(given, policy)
        else:
            check_closed(system, x, p, given, memory, policy)
            found = plan.at(system, given, policy)
        if found is None or here:
            return plan, found
        places = best.places(given, found, policy)
        if places == best.chosen:
            return plan, found
        if places is None:
            break
        k, all_ = len(plan.velocities), [Coordinate(system.v_names[i], i) for i in places]
        memory.best = best = Best.of(system, memory.plan(system, all_[:k], all_[k:], plan.rows), given)
    return None, None


def _plan(
    system: System,
    memory: Remembered,
    x: State,
    p: Parameters,
    independent: Sequence[Given] | None,
    positions: Sequence[Given] | None,
    rows: RowChoice,
) -> LinearPlan:
    """The plan for the coordinates asked for, or for the best ones at a state."""
    if independent is not None and independent.__class__ is not list:
        independent = named_list(independent, "independent")
    if positions is not None and positions.__class__ is not list:
        positions = named_list(positions, "positions")
    key = None if independent is None else (*independent, None, *(positions or ()), rows)
    plan = memory.known(independent, positions, rows)
    if plan is None:
        given = None if independent is None else [coordinate(system, name) for name in independent]
        others = [] if positions is None else [coordinate(system, name) for name in positions]
        _check_besides(given or [], others)
        chosen, more = _coordinates(system, x, p, given, others)
        plan = memory.plan(system, chosen, more, rows)
        if key is not None and _hashable(key) and (others or not system.rows.of or system.rows.holonomic.all()):
            memory.by_names[key] = plan
    return plan


def _check_besides(independent: Sequence[Coordinate], positions: Sequence[Coordinate]) -> None:
    """Refuse positions that are independent coordinates already."""
    own = {c.name for c in independent}
    twice = [c.name for c in positions if c.name in own]
    if twice:
        rest = [c.name for c in positions if c.name not in own]
        repair = f"Give positions={rest}." if rest else "Leave positions= out."
        raise ArgumentError(
            f"positions repeats {', '.join(map(repr, twice))} of independent; needed: those besides. {repair}"
        )


def _on_other_rows(
    system: System,
    memory: Remembered,
    x: State,
    u: np.ndarray,
    p: Parameters,
    given: Mapping[str, Any],
    plan: LinearPlan,
    independent: Sequence[Given] | None,
    positions: Sequence[Given] | None,
) -> tuple[LinearPlan, Found]:
    """The plan on rows chosen at this state and its outputs, or an error that gives the reason."""
    rows = independent_rows(system, x, p) if system.rows.of else None
    if rows != plan.rows:
        plan = _plan(system, memory, x, p, independent, positions, rows)
    found = plan.at(system, given, rank_policy(system, p))
    if found is not None:
        memory.rows = rows
        return plan, found
    if system.rows.of and _near_singular(system, x, u, p, rows):
        raise singular(system, x, p)
    raise _bad_choice(system, x, p, rows, plan.velocities, plan.more)


def _hashable(key: tuple[Any, ...]) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _near_singular(system: System, x: State, u: Inputs, p: Parameters, rows: RowChoice) -> bool:
    """Whether the rows themselves are too nearly dependent, whatever the coordinates."""
    on = np.ones(len(system.rows.of), dtype=bool) if rows is None else np.isin(np.arange(len(system.rows.of)), rows)
    if tangent(system, x, p, on).rank < on.sum():
        return True
    d = slopes(system, x, u, p, rows)
    return not (rank_policy(system, p).separates(d["margin"]) and np.isfinite(d["vdot"]).all())


def _coordinates(
    system: System, x: State, p: Parameters, given: list[Coordinate] | None, others: list[Coordinate]
) -> tuple[list[Coordinate], list[Coordinate]]:
    """The coordinates of velocities, and those that positions have besides."""
    holonomic = system.rows.holonomic
    if given is not None and (holonomic.all() or others):
        return given, others
    if not system.rows.of:
        return [Coordinate(name, k) for k, name in enumerate(system.v_names)] if given is None else given, []
    A, M = system.constraint_matrix(x, p=p), system.mass_matrix(x, p=p)
    chosen = given
    if chosen is None:
        chosen = [Coordinate(system.v_names[k], k) for k in best_choice(system, p, A, M)]
    if holonomic.all() or others:
        return chosen, others
    first = [c.index for c in chosen if c.index is not None]
    if len(first) < len(chosen):
        raise ArgumentError(
            "with nonholonomic constraints and coordinates that are not the tree's own, name the other positions: "
            "positions=[...]."
        )
    wide = best_choice(system, p, A[holonomic], M, holonomic, first)
    return chosen, [Coordinate(system.v_names[k], k) for k in wide[len(first) :]]


def _model(
    system: System,
    x: State,
    u: np.ndarray,
    p: Parameters,
    plan: LinearPlan,
    found: Found,
    policy: RankPolicy,
    outputs: Sequence[GivenOutput] | None,
) -> LinearModel:
    A, B, time, rate = found[0][:4]
    B = B if B.shape == plan.shape_of_B else B.reshape(plan.shape_of_B)
    at = system, x, u, p, plan, found, policy
    fields = {**plan.model, "A": A, "B": B, "time": time, "rate": rate, "late": (_operating, at)}
    if outputs is not None:
        fields["operating"] = operating = _operating(*at)
        Kt, Dt = found[0][7:9]
        fields |= _outputs(system, x, u, p, operating, Kt, Dt, outputs)
    return filled(LinearModel, fields)


def _operating(
    system: System, x: State, u: np.ndarray, p: Parameters, plan: LinearPlan, found: Found, policy: RankPolicy
) -> Operating:
    """The operating point of a model."""
    (_, _, _, _, Kq, Kv, Dv, _, _, vdot, multipliers, _), margin = found
    at = {"system": system, "state": x, "u": u, "p": p, "Kq": Kq, "Kv": Kv, "Dv": Dv, "vdot": vdot}
    more = {"multipliers": multipliers, "condition": plan.condition(policy, margin)}
    return filled(Operating, {**plan.operating, **at, **more})


def _outputs(
    system: System,
    x: State,
    u: np.ndarray,
    p: Parameters,
    op: Operating,
    Kt: np.ndarray,
    Dt: np.ndarray,
    given: Sequence[GivenOutput],
) -> dict[str, Any]:
    """C, D, the time column, the values and the names of the outputs, as fields of a model."""
    given = named_list(given, "outputs")
    rows = system.row_names if op.rows is None else [system.row_names[k] for k in op.rows]
    unknowable = set()
    if op.rows is not None and any(isinstance(name, str) and name.startswith("multiplier:") for name in given):
        unknowable = {name for name, known in system.report(x, p=p).determinate.items() if not known}
    out = read_outputs(system, given, (x, u, p), rows, unknowable, op.vdot, op.multipliers)
    nq, nv = op.Kq.shape[1], op.Kv.shape[1]
    by_q, by_v, by_u, by_t = out.q, out.v, np.zeros((len(out.names), len(system.u_names))), out.t
    if out.dynamic:
        d = slopes(system, x, u, p, op.rows)
        P, L = out.of_vdot, out.of_multipliers
        by_q, by_v, by_u, by_t = (
            old + sum(S @ d[f"{z}_{k}"].reshape(S.shape[1], old.shape[1]) for z, S in (("vdot", P), ("multipliers", L)))
            for k, old in (("q", by_q), ("v", by_v), ("u", by_u), ("t", by_t[:, None]))
        )
        by_t = by_t[:, 0]
    C = np.hstack([by_q @ op.Kq + by_v @ op.Dv, by_v @ op.Kv]).reshape(len(out.names), nq + nv)
    late = by_t + by_q @ Kt + by_v @ Dt
    return {"C": C, "D": by_u, "output_time": late, "output": out.value, "output_names": out.names}


def slopes(system: System, x: State, u: Inputs, p: Parameters, rows: RowChoice) -> dict[str, np.ndarray]:
    """v̇ and λ by elimination on some rows with their derivatives, by the names `ACCELERATION_DERIVATIVES`."""
    return dict(zip(ACCELERATION_DERIVATIVES, system.evaluate("acceleration_derivatives", x, rows=rows, u=u, p=p)))


def check_closed(
    system: System, x: State, p: Parameters, given: Mapping[str, Any], memory: Remembered, policy: RankPolicy
) -> None:
    """Refuse a state that is off the constraints, in position or velocity, naming the row."""
    kernel = memory.closure
    if kernel is None:
        return
    position, velocity = kernel(*map(given.__getitem__, kernel.names_in))
    if max(position, velocity) < policy.closed:
        return
    phi, speed = system.evaluate("residuals", x, p=p)
    for gap, what in zip((np.abs(phi), np.abs(speed)), ("position", "velocity")):
        if not (gap < CLOSED * policy.units).all():
            worst = int(np.nanargmax(gap / policy.units)) if not np.isnan(gap).all() else 0
            raise ArgumentError(
                f"the state is not on the constraints: the {what} misses row '{system.row_names[worst]}' by "
                f"{gap[worst]:.3g}. Find one that is with system.assemble(...), or system.project(state)."
            )
    refuse_mirrored(system, x, p)


def singular(system: System, x: State, p: Parameters) -> ArgumentError:
    """The error for a state where the constraints lose rank, or nearly do."""
    report = system.report(x, p=p)
    policy, A = rank_policy(system, p), system.constraint_matrix(x, p=p)
    white = A * np.where(angular_velocities(system), 1.0, policy.length) / policy.units[:, None]
    geometric = policy.reveal(white, 1.0)
    condition = geometric.sigma[0] / geometric.sigma[geometric.rank - 1]
    if not report.singular and condition < 1e-3 * report.condition:
        return ArgumentError(
            f"the constraints of '{system.name}' tie bodies together whose masses differ too much for an exact linear "
            f"model (condition {report.condition:.2g} in the mass metric, {condition:.2g} in lengths). Give the "
            "lightest bodies more mass."
        )
    if report.isolated:
        return ArgumentError(
            f"'{system.name}' is in an isolated configuration: the constraints admit {report.mobility} velocities to "
            "first order, but no motion leads away. There is no linear model of it; take another state."
        )
    return ArgumentError(
        f"'{system.name}' is in a singular configuration: the constraints have rank {report.rank} here and "
        f"{report.generic_rank} nearby, mobility {report.mobility} here and {report.generic_mobility} nearby. The "
        "constraint manifold has no tangent space there, and no linear model; take a state beside it."
        if report.singular
        else f"the constraints of '{system.name}' are too nearly dependent here for an exact linear model (condition "
        f"{report.condition:.2g}): a singular configuration is close by. Take a state farther from it."
    )


def _bad_choice(
    system: System,
    x: State,
    p: Parameters,
    rows: RowChoice,
    chosen: Sequence[Coordinate],
    more: Sequence[Coordinate],
) -> ArgumentError:
    """The error for coordinates that do not determine the motion: velocities first, then positions."""
    A, M = system.constraint_matrix(x, p=p), system.mass_matrix(x, p=p)

    def slopes_of(coordinates: Sequence[Coordinate]) -> np.ndarray:
        out = np.zeros((len(coordinates), system.nv))
        for k, c in enumerate(coordinates):
            if c.row is None:
                out[k, c.index] = 1.0
            else:
                row = c.row
                kernel = system.kernels.custom(
                    ("coordinate", c.key),
                    ("q", "p", "t"),
                    lambda s, row=row: row.rows(s.state)[0].dense(s.tree.nv),
                    None,
                )
                out[k] = system.kernels.at(kernel, x, None, p, {})
        return out

    wide = [*chosen, *more]
    if not system.rows.holonomic.all() and len(chosen) + (len(A) if rows is None else len(rows)) == system.nv:
        h = system.rows.holonomic
        return refusal(system, p, [c.name for c in wide], slopes_of(wide), A[h], M, h)
    return refusal(system, p, [c.name for c in chosen], slopes_of(chosen), A, M)
