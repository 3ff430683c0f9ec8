"""Exact linear models of constrained mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.linearization.coordinates import Coordinate, Given, best_choice, coordinate, refusal
from dalembert.linearization.long_chains import tree_model
from dalembert.linearization.model import LinearModel
from dalembert.linearization.operating import Operating
from dalembert.linearization.outputs import outputs as read_outputs
from dalembert.linearization.traced import NAMES, linear
from dalembert.system.tree import LONG

CLOSED = 1e-6  # m or rad, and their rates: farther from the manifold there is no model
CHOICE = 1e-12  # squared sine of the angle between chosen coordinates below which they are refused


def linearize(
    system: Any,
    state: Any,
    *,
    u: Any = None,
    p: Any = None,
    independent: Sequence[Given] | None = None,
    positions: Sequence[Given] | None = None,
    outputs: Sequence[Any] | None = None,
) -> LinearModel:
    """The linear model ẋ = rate + A x + B δu, y = output + C x + D δu of a mechanism near a state on its manifold.

    A is exact to rounding at any state, at rest or in motion, with redundant, driven and nonholonomic constraints.

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
    x = system._as_state(state)
    check_closed(system, x, p)
    given = None if independent is None else [coordinate(system, name) for name in independent]
    others = [] if positions is None else [coordinate(system, name) for name in positions]
    keep = system._kept if system.rows.of else None
    for attempt in range(2):
        chosen, more = _coordinates(system, x, p, given, others, keep)
        result = evaluate(system, x, u, p, chosen, more, keep)
        if system.rows.of and not system._healthy(result["health"], result["vdot"]):
            if attempt:
                raise singular(system, x, p)
            keep = independent_rows(system, x, p)
            if keep is None or keep == system._kept:
                raise singular(system, x, p)
            continue
        break
    system._kept = keep
    health = result["health"]
    used = system.rows if keep is None else system.rows.only(keep)
    enough = len(chosen) + len(used.of) == system.nv == len(chosen) + len(more) + int(used.holonomic.sum())
    if not (
        enough and np.isfinite(health).all() and min(health[2], health[3]) > CHOICE and np.isfinite(result["A"]).all()
    ):
        raise _bad_choice(system, x, p, keep, chosen, more)
    return _model(system, x, u, p, chosen, more, keep, result, outputs)


def evaluate(
    system: Any,
    x: Any,
    u: Any,
    p: Any,
    velocities: Sequence[Coordinate],
    more: Sequence[Coordinate],
    keep: tuple[int, ...] | None,
) -> dict[str, np.ndarray]:
    """What the traced linear model gives at a state, by the names of `traced.NAMES`; dense algebra for large trees."""
    if not system.rows.of and system.nv > LONG and [c.index for c in velocities] == list(range(system.nv)):
        return tree_model(system, x, u, p)
    return dict(zip(NAMES, system._called(linear_kernel(system, velocities, more, keep), x, u, p, {})))


def linear_kernel(
    system: Any, velocities: Sequence[Coordinate], more: Sequence[Coordinate] = (), keep: tuple[int, ...] | None = None
) -> Any:
    """The compiled linear model in these coordinates: a `Kernel` of (q, v, u, p, t) with the outputs `traced.NAMES`."""
    key = ("linear", keep, tuple(c.key for c in velocities), tuple(c.key for c in more))
    v, q = list(velocities), [*velocities, *more]
    return system.built(key, ("q", "v", "u", "p", "t"), lambda s: linear(s, q, v), keep, NAMES)


def _coordinates(
    system: Any, x: Any, p: Any, given: Any, others: list[Coordinate], keep: Any
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
    system: Any, x: Any, u: Any, p: Any, chosen: Any, more: Any, keep: Any, r: dict[str, Any], outputs: Any
) -> LinearModel:
    q, v = (*chosen, *more), tuple(chosen)
    names = (*(c.name for c in q), *(f"{c.name} rate" for c in v))
    n, inputs = len(names), len(system.u_names)
    health = r["health"]
    rank = len(r["multipliers"])
    worst = max(system._estimate(health, rank), float(min(health[2], health[3])) ** -0.5)
    op = Operating(
        system, x, system._u(u), p, names, q, v, r["Kq"], r["Kv"], r["Dv"], r["vdot"], r["multipliers"], keep, worst
    )
    A, B = r["A"], r["B"].reshape(n, inputs)
    if outputs is None:
        C, D, late, value, seen = np.eye(n), np.zeros((n, inputs)), np.zeros(n), np.zeros(n), names
    else:
        C, D, late, value, seen = _outputs(system, x, u, p, op, r, outputs)
    return LinearModel(
        A, B, C, D, r["time"], late, r["rate"], value, names, tuple(system.u_names), seen,
        tuple(c.name for c in q), tuple(c.name for c in v), None, op,
    )  # fmt: skip


def _outputs(system: Any, x: Any, u: Any, p: Any, op: Operating, r: dict[str, Any], given: Any) -> tuple[Any, ...]:
    """C, D, the time column, the values and the names of the outputs."""
    rows = system.row_names if op.rows is None else [system.row_names[k] for k in op.rows]
    unknowable = set()
    if op.rows is not None and any(isinstance(name, str) and name.startswith("multiplier:") for name in given):
        unknowable = {name for name, known in system.report(x, p=p).determinate.items() if not known}
    out = read_outputs(system, given, (x, u, p), rows, unknowable, r["vdot"], r["multipliers"])
    nq, nv = op.Kq.shape[1], op.Kv.shape[1]
    by_q, by_v, by_u, by_t = out.q, out.v, np.zeros((len(out.names), len(system.u_names))), out.t
    if out.dynamic:
        d = slopes(system, x, u, p, op.rows)
        P, L = out.of_vdot, out.of_multipliers
        by_q, by_v, by_u, by_t = (
            old + P @ d[f"vdot_{k}"].reshape(len(P.T), -1) + L @ d[f"multipliers_{k}"].reshape(len(L.T), -1)
            for k, old in (("q", by_q), ("v", by_v), ("u", by_u), ("t", by_t[:, None]))
        )
        by_t = by_t[:, 0]
    C = np.hstack([by_q @ op.Kq + by_v @ op.Dv, by_v @ op.Kv]).reshape(len(out.names), nq + nv)
    return C, by_u, by_t + by_q @ r["Kt"] + by_v @ r["Dt"], out.value, out.names


def slopes(system: Any, x: Any, u: Any, p: Any, keep: Any) -> dict[str, np.ndarray]:
    from dalembert.system.derivatives import ACCELERATION_DERIVATIVES

    return dict(zip(ACCELERATION_DERIVATIVES, system._value("acceleration_derivatives", x, target=keep, u=u, p=p)))


def check_closed(system: Any, x: Any, p: Any) -> None:
    if not system.rows.of:
        return
    phi, A, b = system._value("constraints", x, p=p)
    gaps = np.abs(phi), np.abs(A @ x.v + b)
    for gap, what in zip(gaps, ("position", "velocity")):
        if not gap.max() < CLOSED:
            worst = int(np.argmax(gap))
            raise ArgumentError(
                f"the state is not on the constraints: the {what} misses row '{system.row_names[worst]}' by "
                f"{gap[worst]:.3g}. Find one that is with system.assemble(...), or system.project(state)."
            )


def singular(system: Any, x: Any, p: Any) -> ArgumentError:
    report = system.report(x, p=p)
    return ArgumentError(
        f"'{system.name}' is in a singular configuration: the constraints have rank {report.rank} here and "
        f"{report.generic_rank} nearby, mobility {report.mobility} here and {report.generic_mobility} nearby. The "
        "constraint manifold has no tangent space there, and no linear model; take a state beside it."
        if report.singular
        else f"the constraints of '{system.name}' are too nearly dependent here for an exact linear model (condition "
        f"{report.condition:.2g}): a singular configuration is close by. Take a state farther from it."
    )


def _bad_choice(system: Any, x: Any, p: Any, keep: Any, chosen: Any, more: Any) -> ArgumentError:
    """Says which coordinates fail, for velocities first, then for positions."""
    A, M = system.constraint_matrix(x, p=p), system.mass_matrix(x, p=p)

    def rows(coordinates: Sequence[Coordinate]) -> np.ndarray:
        out = np.zeros((len(coordinates), system.nv))
        for k, c in enumerate(coordinates):
            if c.row is None:
                out[k, c.index] = 1.0
            else:
                row = c.row
                kernel = system.built(
                    ("coordinate", c.key), ("q", "p", "t"), lambda s, row=row: row.rows(s.state)[0].A, None
                )
                out[k] = system._called(kernel, x, None, p, {})
        return out

    wide = [*chosen, *more]
    if not system.rows.holonomic.all() and len(chosen) + (len(A) if keep is None else len(keep)) == system.nv:
        h = system.rows.holonomic
        return refusal(system, p, [c.name for c in wide], rows(wide), A[h], M, h)
    return refusal(system, p, [c.name for c in chosen], rows(chosen), A, M)
