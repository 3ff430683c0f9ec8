"""Static forces: what inputs hold loads at a position, and what the joints carry, for many load cases at once.

With K the motions the constraints allow and B u what the inputs exert, at rest

    Kᵀ B u = Kᵀ (g − Σ Jᵀ W),   Aᵀ λ = g − B u − Σ Jᵀ W                                                        (1)

g being weight and springs, W the loads. u is the smallest that (1) and its bounds allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, state_rows
from dalembert.analysis.by_name import joints_and_loops, row_columns
from dalembert.analysis.motion_columns import columns, input_units, joined, multiplier_units, position_units
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import explained, hinted
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.statics.balance import StaticBalance, not_acting, unseen
from dalembert.statics.limits import Bounds, least_change
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

Case = tuple[tuple[Any, np.ndarray], ...]  # frames, and wrenches on them in the ground's axes
MISSED = 1e-8  # of the forces at work: what may be missing of a load


@hinted
@dataclass(frozen=True, eq=False)
class StaticForces(AtStates):
    """Inputs and joint forces for L load cases at a position at rest, or at each of S positions.

    `forces["lift"]` are the values of an input, (L,), of several positions (S, L); `reactions("C")` are moment and
    force in a joint. Where the inputs cannot hold a case, `success` is False, its rows are NaN, and its entry in
    `messages` gives the reason. The arrays are described for one position; those of several begin with S.
    """

    system: System
    q: np.ndarray  # (nq,) positions
    u: np.ndarray  # (L, inputs) N or N m
    multipliers: np.ndarray  # (L, rows) the shortest where constraints are redundant
    success: np.ndarray  # (L,) bool
    messages: tuple[str, ...]  # (L,) "" where it is held; of several positions one after another
    _states: tuple[State, ...] = field(repr=False)
    _loads: tuple[Case, ...] = field(repr=False)  # per position and case: frame, wrench in the ground
    _p: tuple[Any, ...] = field(repr=False)  # per position

    def __len__(self) -> int:
        return len(self.u)

    def __repr__(self) -> str:
        without = f"; {told}" if (told := not_acting(self.system.layout)) else ""
        of = f" at {len(self)} positions" if self.q.ndim > 1 else ""
        held = f"{int(self.success.sum())} of {self.success.size} load cases{of} held"
        return f"<static forces of '{self.system.name}': {held}{without}>"

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of an input by its name, (L,) or (S, L); else of a coordinate, one or (S,)."""
        layout = self.system.layout
        if name not in self.system.u_names and (name in layout.q_names or name in layout.joints):
            return super().__getitem__(name)
        if not isinstance(name, str) or name not in self.system.u_names:
            raise unknown("input", name, self.system.u_names)
        return self.u[..., self.system.u_names.index(name)]

    def state(self, k: int = 0) -> State:
        """The position number k, k from 0; negative k count from the end."""
        return self._states[checks.whole(k, "k", least=-len(self._states), most=len(self._states) - 1)]

    def _records(self) -> StateRows:
        t = np.array([x.t for x in self._states]).reshape(self.q.shape[:-1])
        p = np.array([self.system.arguments.parameter_vector(p) for p in self._p])
        return state_rows(self.system, self.q, p=p.reshape((*self.q.shape[:-1], p.shape[-1])), t=t)

    def _accelerations(self) -> np.ndarray:
        return np.zeros((*self.q.shape[:-1], self.system.nv))

    def multiplier(self, name: str) -> np.ndarray:
        """(L,) multiplier of a row ("C.x"), or (L, k) of the k rows of a constraint ("C"), by its name, N or N m."""
        return self.multipliers[..., row_columns(self.system.rows, name)]

    def reactions(self, joint: str) -> np.ndarray:
        """(L, 6) moment (N m) and force (N) in a joint, tree or cut, by its name; see `System.constraint_forces`."""
        system = self.system
        tree, loops = joints_and_loops(system, joint)
        several = self.multipliers.reshape(self.success.size, self.multipliers.shape[-1])
        lam, u = np.pad(several, ((0, 0), (0, len(system.rows.left_out)))), self.u.reshape(len(several), -1)
        still, cases = np.zeros(system.nv), self.success.shape[-1]
        out = np.full((len(several), 6), np.nan)
        for k in np.flatnonzero(self.success):
            x, p = self._states[k // cases], self._p[k // cases]
            if joint in loops:
                out[k] = system.evaluate("loop_wrench", x, frame=joint, lam=lam[k], p=p)
            else:
                own = system.evaluate("reactions", x, a=still, lam=lam[k], u=u[k], p=p)
                out[k] = own[tree.index(joint)] - self._carried(joint, self._loads[k], x, p)
        return out.reshape(*self.success.shape, 6)

    def _carried(self, joint: str, loads: Case, x: State, p: Parameters) -> np.ndarray:
        """(6,) the loads beyond a joint of the tree, at the frame of its reaction and in its axes."""
        whole, total = self.system.description.whole, np.zeros(6)
        a = whole.joints[joint]
        at, sign = a.loaded, -1.0 if a.flipped else 1.0
        T = self.system.pose(x, at, p=p)
        for frame, W in loads:
            if joint in _carriers(whole, frame.body.name):
                arm = self.system.pose(x, frame, p=p)[:3, 3] - T[:3, 3]
                moment, force = W[:3] + np.cross(arm, W[3:]), W[3:]
                total += sign * np.concatenate([T[:3, :3].T @ moment, T[:3, :3].T @ force])
        return total

    def _columns(self) -> Columns:
        """One row a load case: inputs "u.lift", multipliers "lambda.C.x", whether it is held; "q.B" of many."""
        system, cases = self.system, self.success.shape[-1]
        rows = self.success.size
        values, units = joined(
            columns("u", self.u.reshape(rows, -1), system.u_names, input_units(system)),
            columns("lambda", self.multipliers.reshape(rows, -1), system.row_names, multiplier_units(system)),
        )
        if self.q.ndim == 1:
            return Columns(system.name, "case", np.arange(rows), {**values, "success": self.success}, units)
        at, at_units = columns("q", np.repeat(self.q, cases, axis=0), system.q_names, position_units(system))
        where = {"position": np.repeat(np.arange(len(self)), cases), "case": np.tile(np.arange(cases), len(self))}
        every = {**where, **at, **values, "success": self.success.ravel()}
        return Columns(system.name, "row", np.arange(rows), every, at_units | units, along="position", by="case")


@explained
def static_forces(
    system: System,
    state: StateGiven | Sequence[StateGiven],
    loads: Sequence[Mapping[Any, Any]] | Mapping[Any, Any] | None = None,
    *,
    limits: Mapping[str, Any] | float | None = None,
    u: Inputs = None,
    axes: str = "world",
    p: Parameters = None,
) -> StaticForces:
    """The smallest inputs that hold a mechanism in a position under loads, and the forces in its joints.

    system: a compiled `System`. state: a position, which is at rest; or several: a list of them, a sweep, a run, or
    what `assemble_many` returns. loads: one load case, or a list of them; each {frame:
    force (3 numbers, N) or wrench (moment; force) (6 numbers)} at the frame's origin, in the ground's axes ("world") or
    the frame's own (axes="body"). None: the weight alone. limits: {input: bound or (lower, upper)}, None for no bound
    on a side, such as (0, None) for a tendon that only pulls; one number bounds all. u: what inputs are near, default
    zero. p: parameters.

    >>> import dalembert as da
    >>> loader = da.zoo.loader().compile()
    >>> x = loader.state(*da.zoo.loader_start())
    >>> down = [{"bucket": (0, 0, -F)} for F in (0.0, 1e4)]
    >>> forces = da.static_forces(loader, x, down)
    >>> forces["lift"].round(-2)                                                       # N, in the lift cylinder
    array([102200., 154100.])
    """
    check_system(system)
    if not system.u_names:
        raise ArgumentError(
            f"'{system.name}' has no inputs to hold it; add motors (mechanism.add_motor).{unseen(system.layout)}"
        )
    bounds = Bounds.of(system.u_names, limits, "input").within(system.layout.mechanism.forces)
    checks.choice(axes, ("world", "body"), "axes")
    given, many = _positions(state)
    found = [_at(system, one, _listed(loads), bounds, u, axes, p) for one in given]
    values, rows = (np.array([one[k] for one in found]) for k in (0, 1))
    messages = tuple(why for one in found for why in one[2])
    held = np.array([not why for why in messages], dtype=bool).reshape(values.shape[:2])
    cases = tuple(case for one in found for case in one[3])
    states, own = tuple(one[4] for one in found), tuple(one[5] for one in found)
    q = np.array([x.q for x in states])
    if not many:
        q, values, rows, held = q[0], values[0], rows[0], held[0]
    return StaticForces(system, q, values, rows, held, messages, states, cases, own)


def _positions(given: Any) -> tuple[list[Any], bool]:
    """The positions that are asked for, and whether there are several."""
    if callable(getattr(given, "state", None)) and np.ndim(getattr(given, "q", ())) == 2:  # a run, a sweep
        several = [given.state(k) for k in range(len(given.q))]
    elif isinstance(given, (list, tuple)) and given and all(hasattr(x, "q") or isinstance(x, Mapping) for x in given):
        several = list(given)
    elif np.ndim(getattr(given, "q", ())) == 2 and hasattr(given, "__getitem__"):  # those of `assemble_many`
        several = [given[k] for k in range(len(given))]
    else:
        return [given], False
    if not several:
        raise ArgumentError("state has no positions; needed: one, or more.")
    return several, True


def _at(
    system: System, state: StateGiven, loads: list[Any], limits: Bounds, u: Inputs, axes: str, p: Parameters
) -> tuple[np.ndarray, np.ndarray, list[str], list[Case], State, Any]:
    """Inputs (L, nu), multipliers (L, rows), messages and loads in one position; it, and its parameters."""
    x, u, p = system.arguments.resolve(state, u, p)
    x = system.arguments.belonging(x.replace(v=np.zeros(system.nv)), p)
    start = np.array(system.arguments.input_vector(u))
    cases = [_case(system, x, one, axes, p) for one in loads]
    at = StaticBalance(system, x, start, p, led=False)
    B = system.evaluate("input_matrix", x, p=p).reshape(system.nv, -1)
    for name, d in system.description.prescribed.items():  # the force of its drive
        k = system.u_names.index(name)
        B[d, k], start[k] = 1.0, 0.0
    N = (at.free.T @ B) if at.free.shape[1] else np.zeros((0, B.shape[1]))
    f = at.policy.reveal(N)
    Z = f.null
    values, rows = np.full((len(cases), B.shape[1]), np.nan), np.full((len(cases), len(at.A)), np.nan)
    messages = []
    for k, loads_k in enumerate(cases):
        load = at.load - sum(
            (system.jacobian(x, fr, axes="world", p=p).T @ W for fr, W in loads_k), np.zeros(system.nv)
        )
        why, more = _allocated(system, at, load, N, f, Z, limits, start)
        without = unseen(system.layout) if why else ""
        messages.append(f"{why}.{without}" if without else why)
        if not why:
            values[k] = start + more
            rows[k] = at.carrying(load - B @ more)
    return values, rows, messages, cases, x, p


def _allocated(
    system: System,
    at: StaticBalance,
    load: np.ndarray,
    N: np.ndarray,
    f: Any,
    Z: np.ndarray,
    limits: Bounds,
    start: np.ndarray,
) -> tuple[str, np.ndarray]:
    """The change of the inputs from `start` that balances a load within the limits, or a sentence why there is none."""
    wanted = at.free.T @ load
    more = f.solve(wanted)
    left = wanted - N @ more
    if np.abs(left).max(initial=0.0) > MISSED * np.abs(load * at.reach).max(initial=0.0):
        motion = at.free @ left
        name = system.v_names[int(np.argmax(np.abs(motion / at.reach)))]
        return (
            f"the inputs cannot hold it: {np.abs(left).max():.3g} N m (or N times its length) pull along '{name}'",
            more,
        )
    if limits.hold(start + more):
        return "", np.clip(start + more, limits.lower, limits.upper) - start
    G, h, names = limits.rows(start + more, Z)
    w, weights = least_change(G, h)
    if w is None:
        acting = [n for n, z in zip(names, weights) if z > 1e-9 * max(weights.max(), 1e-300)]
        return f"the inputs cannot hold it within their bounds: {', '.join(acting)} contradict it", more
    return "", np.clip(start + more + Z @ w, limits.lower, limits.upper) - start


def _listed(loads: Any) -> list[Any]:
    if loads is None:
        return [{}]
    if isinstance(loads, Mapping):
        return [loads]
    if not isinstance(loads, (list, tuple)) or not loads:
        raise ArgumentError(f"loads is {checks.shown(loads)}; needed: a load case {{frame: force}}, or a list of them.")
    return list(loads)


def _case(system: System, x: State, given: Any, axes: str, p: Parameters) -> Case:
    """Frames and wrenches in the ground's axes, (6,)."""
    out = []
    for name, value in checks.mapping(given, "a load case").items():
        frame = system.layout.frame(name)
        W = checks.array(value, None, f"the load on '{name}'")
        if W.shape not in ((3,), (6,)):
            raise ArgumentError(f"the load on '{name}' has shape {W.shape}; needed: a force (3,) or a wrench (6,).")
        W = np.concatenate([np.zeros(3), W]) if W.shape == (3,) else W
        if axes == "body":
            R = system.pose(x, frame, p=p)[:3, :3]
            W = np.concatenate([R @ W[:3], R @ W[3:]])
        out.append((frame, W))
    return tuple(out)


def _carriers(whole: Any, body: str) -> list[str]:
    """Joints of the tree between a body and the ground."""
    of = {a.child.body.name: (name, a.parent.body.name) for name, a in whole.joints.items()}
    found = []
    while body in of:
        joint, body = of[body]
        found.append(joint)
    return found
