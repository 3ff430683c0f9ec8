"""Many assemblies, inverse dynamics and sweeps at once, by the kernels' lanes: one row a variant of the mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.branch.closing import close
from dalembert.branch.rows import BranchRows, Factored
from dalembert.compiler.target import host
from dalembert.ensembles.assembling import admissible, held_rows
from dalembert.ensembles.starts import Starts, States, belonging_to
from dalembert.ensembles.sweeps import Sweeps
from dalembert.ensembles.variation import Variation
from dalembert.errors import ArgumentError, DalembertError, unknown
from dalembert.hints import explained
from dalembert.linearization.many import resolved_rows, rows_of
from dalembert.protocols import check_system
from dalembert.system.state import State
from dalembert.system.system import System

STRIDE = 0.2  # rad, or of the mechanism's length: what is led moves by less between two positions
BESIDE = 0.3  # of a step along the branch: what a correction to it may be, that it stays on the branch


def assemble_many(
    system: System,
    q: Mapping[str, Any],
    v: Mapping[str, Any] | None = None,
    *,
    n: int | None = None,
    p: Any = None,
    guess: Any = None,
) -> States:
    """Assemble many variants of a mechanism, as `System.assemble` does one by one.

    system: a compiled `System`. q, v: held coordinates and velocities by name, each a number or one for each variant.
    p: parameters by name, the same. n: how many variants, where no array tells it. guess: as in `System.assemble`.
    Each variant is assembled from the guess and comes to the branch of the call for one, whatever the others are. All
    take the steps of that search side by side; where it does not close a variant, `System.assemble` does, or says why
    there is no state.

    >>> import numpy as np, dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> states = da.assemble_many(system, {"A": np.linspace(0.5, 0.7, 5)})
    >>> states.q.shape, bool(abs(system.residuals(states[3])).max() < 1e-12)
    ((5, 3), True)
    """
    check_system(system)
    groups = {
        "p": {} if p is None else dict(checks.mapping(p, "p")), "states": dict(checks.mapping(q, "q")),
        "v": {} if v is None else dict(checks.mapping(v, "v")), "u": {},
    }  # fmt: skip
    variation = Variation(groups, n, None, "random", 0)
    P = variation.matrix("p", system.p_names, belonging_to(system, groups["states"], guess)[1])
    starts = Starts(system, groups["states"], guess, variation, P).need_one()
    return States(system, starts.q, starts.v, starts.t, P, starts.refused)


def inverse_dynamics_many(system: System, states: Any, vdot: Any, *, u: Any = None, p: Any = None) -> np.ndarray:
    """τ = M v̇ + h − Q, (n, nv), at many states, as `System.inverse_dynamics` gives it at one.

    system: a compiled `System`. states: a sequence of n states, or anything with q (n, nq), v (n, nv) and t: a `Run`, a
    `Sweep`, `States`. vdot: (n, nv) accelerations, or (nv,) for all. u, p: inputs and parameters, the same for all or
    (n, k); default: those of the states, the run or the sweep.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.cart_pole().compile()
    >>> run = da.simulate(system, zoo.cart_pole_start()[0], 1.0)
    >>> bool(abs(da.inverse_dynamics_many(system, run, run.vdot)).max() < 1e-9)   # nothing else acts
    True
    """
    check_system(system)
    q, v, t, U, P = _arrays(system, states, u, p)
    n = len(q)
    a = rows_of(vdot, lambda x: system.arguments.velocity_vector(x, "vdot"), n, system.nv, "vdot")
    given = {"q": q, "v": v, "t": t[:, None], "a": a, "u": U, "p": P}
    kernel = system.kernel("inverse_dynamics", lanes=host().width)
    return np.asarray(kernel.batch(*(given[name] for name in kernel.names_in))).reshape(n, system.nv)


@explained
def sweep_many(
    system: System,
    along: Mapping[str, Any],
    *,
    n: int | None = None,
    p: Any = None,
    guess: Any = None,
    speed: Any = None,
    acceleration: Any = None,
) -> Sweeps:
    """Lead many variants of a mechanism along one path, as `System.sweep` does one by one.

    system: a compiled `System`. along: {coordinate: K values}, which go together along straight lines. p: parameters by
    name, each a number or one for each variant. n: how many variants, where no array tells it. guess: from which each
    variant is assembled at the first values, as in `assemble_many`. speed, acceleration: those of what is led, by name
    or one number for all; default 0.

    All variants go along together, a step along the branch and its correction at a time. One whose correction is not
    small beside the step, or that comes close to a singular position, is led by `System.sweep` instead, which stays on
    the branch, and tells of dead points.

    >>> import numpy as np, dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> turn = da.sweep_many(system, {"A": np.linspace(0.5, 1.0, 11)}, n=3, speed=2.0)
    >>> turn["B"].shape, bool(turn.success.all())
    ((3, 11), True)
    """
    check_system(system)
    values = {name: checks.vector(x, None, f"along['{name}']") for name, x in checks.mapping(along, "along").items()}
    for name in values:
        if name not in system.q_names or name not in system.v_names:
            raise unknown("coordinate that can be led", name, [x for x in system.q_names if x in system.v_names])
    counts = {len(x) for x in values.values()}
    if len(counts) != 1 or 0 in counts:
        raise ArgumentError("along has nothing to lead, or not as many values of each; needed: K ≥ 1 values of each.")
    (K,) = counts
    wanted = np.column_stack(list(values.values()))
    first = assemble_many(system, dict(zip(values, wanted[0].tolist())), n=n, p=p, guess=guess)
    N, messages = len(first), dict(first.messages)
    good = np.ones(N, dtype=bool)
    good[list(messages)] = False
    out = [np.full((N, K, size), np.nan) for size in (system.nq, system.nv, system.nv)]
    rates, bends = (_led(given, values, what) for given, what in ((speed, "speed"), (acceleration, "acceleration")))
    like = int(np.argmax(good))
    Q = np.where(good[:, None], first.q, first.q[like])
    rows = independent_rows(system, system.state(Q[like]), first.p[like]) if system.rows.of else None
    held = held_rows(system, list(values), first.p, 0.0, np.tile(wanted[0], (N, 1)))
    assert held is not None  # quaternions are refused above
    follow = Follower(held, rows, Q, good, wanted[0])
    began = good.copy()
    for k in range(K):
        follow.go(wanted[k])
        for whole, part in zip(out, follow.motion(rates, bends)):
            whole[:, k] = part
    alone = began & ~good
    for k in map(int, np.flatnonzero(alone)):
        _by_itself(system, values, first[k], first.p[k], (speed, acceleration), [x[k] for x in out], messages, k)
    for x in out:
        x[~began] = np.nan
    q, v, vdot = out
    return Sweeps(system, values, q, v, vdot, first.p, alone, messages)


class Follower:
    """n variants on their way: positions Q (n, nq), at values `here` of what is led; `good` (n,) becomes False."""

    def __init__(
        self, rows: BranchRows, independent: Sequence[int] | None, Q: np.ndarray, good: np.ndarray, here: np.ndarray
    ) -> None:
        """independent: of the constraints, those that are; None where all are."""
        self.rows, self.good, self.Q, self.here = rows, good, Q, here
        self.independent = np.arange(len(rows.on)) if independent is None else np.array(independent)
        self.every = np.arange(len(Q))

    def go(self, there: np.ndarray) -> None:
        """Lead all variants to the values `there` (k,)."""
        rows, way = self.rows, there - self.here
        parts = max(1, int(np.ceil(np.abs(way / rows.reach[:, rows.held_v]).max(initial=0.0) / STRIDE)))
        positions = np.intersect1d(self.independent, rows.positions)
        for j in range(parts if way.any() else 0):
            along = self._along(positions)
            step = along.shortest(self._right(np.zeros((1, len(positions))), way / parts))
            self.good &= along.regular & np.isfinite(step).all(axis=1)
            step[~self.good] = 0.0
            ahead = rows.plus(self.Q, step, self.every)
            rows.want[:] = ahead[:, rows.held] = self.here + way * (j + 1) / parts
            found = close(rows, ahead, self.good)
            self.good &= found.ok & (found.first <= BESIDE * np.abs(step).max(axis=1, initial=0.0) + 1e-9)
            self.Q = np.where(self.good[:, None], found.q, self.Q)
        self.here = there

    def motion(self, rates: np.ndarray, bends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations where what is led has rates and second rates (k,)."""
        rows, n = self.rows, len(self.Q)
        V = admissible(rows, self.Q, rows.held_v, np.tile(rates, (n, 1)), np.zeros(rows.system.nv), self.good)
        along, gamma = self._along(self.independent), np.zeros((n, 0))
        self.good &= along.regular
        if len(self.independent):
            gamma = rows.values("gamma", self.Q, self.every, v=V).reshape(n, -1)[:, self.independent]
            gamma = gamma / rows.phi_units[:, self.independent]
        a = along.shortest(self._right(-gamma, bends)) * rows.reach
        bad = ~self.good
        return tuple(np.where(bad[:, None], np.nan, x) for x in (self.Q, V, a))  # type: ignore[return-value]

    def _along(self, which: np.ndarray) -> Factored:
        """Constraints `which` and what is led, scaled."""
        rows = self.rows
        A = rows.constraints(self.Q, self.every)[1][:, which] / rows.phi_units[:, which][:, :, None]
        E = np.eye(rows.system.nv)[rows.held_v] / rows.reach[:, rows.held_v][:, :, None]
        return rows.factored(self.Q, self.every, np.concatenate([A, E], axis=1) * rows.reach[:, None], which)

    def _right(self, of_rows: np.ndarray, led: np.ndarray) -> np.ndarray:
        """(n, rows + k) right-hand sides: of the constraint rows, and what is led."""
        n = len(self.Q)
        return np.hstack([np.broadcast_to(of_rows, (n, of_rows.shape[1])), led / self.rows.reach[:, self.rows.held_v]])


def _by_itself(
    system: System, values: dict[str, np.ndarray], start: State, p: np.ndarray, motion: Any, out: list[np.ndarray],
    messages: dict[int, str], k: int,
) -> None:  # fmt: skip
    """Lead variant k by `System.sweep`."""
    for x in out:
        x[:] = np.nan
    try:
        found = system.sweep(dict(values), start, speed=motion[0], acceleration=motion[1], p=p, limits="ignore")
    except DalembertError as error:
        messages[k] = str(error)
        return
    for x, part in zip(out, (found.q, found.v, found.vdot)):
        x[: len(part)] = part
    if not found.success:
        messages[k] = found.message


def _led(given: Any, names: Mapping[str, Any], what: str) -> np.ndarray:
    """(k,) rates of what is led, from a number for all or numbers by name."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise unknown(f"coordinate that is led, in {what},", name, list(names))
        return np.array([checks.number(given.get(name, 0.0), f"{what} of '{name}'") for name in names])
    return np.full(len(names), 0.0 if given is None else checks.number(given, what))


def _arrays(system: System, states: Any, u: Any, p: Any) -> tuple[np.ndarray, ...]:
    """Positions, velocities, times, inputs and parameters, n rows each, of states in whatever form they are given."""
    if all(hasattr(states, name) for name in "qvt"):
        q = checks.array(states.q, (None, system.nq), "states.q")
        n = len(q)
        t = np.broadcast_to(checks.reals(states.t, "states.t"), (n,))
        v = checks.array(states.v, (n, system.nv), "states.v")
        U, P = _own(system, states, n)
        if u is None and p is None:
            return q, v, t, U, P
        rows = zip(q, v, t.tolist(), P, U)
        known = [State(*x[:3], system.layout, None, x[3], x[4], system.arguments.defaults) for x in rows]
        return q, v, t, *resolved_rows(system, known, u, p)
    needed = "a list of states, a Run, a Sweep or States"
    known = [system.arguments.as_state(x) for x in checks.items(states, "states", needed)]
    if not known:
        raise ArgumentError("states is empty; needed: one state, or more.")
    return *(np.array([getattr(x, name) for x in known]) for name in "qvt"), *resolved_rows(system, known, u, p)


def _own(system: System, states: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, nu) and parameters (n, np) of a run, a sweep or States; zero and the default ones where unknown."""
    u, p = getattr(states, "u", None), getattr(states, "p", None)
    if callable(getattr(states, "parameters", None)) and len(system.p_names):  # of a sweep, which may lead them
        p = np.array([states.parameters(k) for k in range(n)])
    U = np.zeros(len(system.u_names)) if u is None else checks.reals(u, "states.u")
    P = (
        system.arguments.defaults if p is None else checks.reals(p, "states.p")[..., : len(system.p_names)]
    )  # a phase has more
    return np.broadcast_to(U, (n, len(system.u_names))), np.broadcast_to(P, (n, len(system.p_names)))
