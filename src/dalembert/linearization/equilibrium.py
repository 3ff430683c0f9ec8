"""Equilibria and steady motions of constrained mechanisms.

A motion is steady if the velocities named in `steady` stay constant: all of them by default. Their accelerations are
what Newton's method brings to zero, with the exact linear model in these coordinates:

    v̇ + A_q δ + A_v δv = 0,   δ along positions that are not held, δv along speeds that are to be found           (1)

Motions are measured in radians and lengths of the mechanism, accelerations beside those that it has by itself
(`_Scale`), so that the answer does not depend on units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, state_rows
from dalembert.analysis.by_name import joints_and_loops
from dalembert.analysis.motion_columns import motion_columns
from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.hints import explained, hinted
from dalembert.lazy import cached_property
from dalembert.linearization.linearize import linearize
from dalembert.linearization.model import LinearModel
from dalembert.linearization.stops import FLAT, rest_on_stops, softest
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import rank_policy, reach
from dalembert.statics.balance import StaticBalance, not_acting, unseen
from dalembert.statics.limits import Bounds, least_change
from dalembert.system.reactions import Reactions
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

ROUNDS = 60
STRIDE = 0.5  # rad, or lengths of the mechanism: of a step
ON_AXIS = 1e-7  # of the largest eigenvalue: rounding of a pair at 0, the root of that of its square
SADDLES = 20  # unstable positions that a search for a stable one passes
ASIDE = 0.05  # rad, or lengths of the mechanism: the first step away from one
SHARP = 1e-10  # accuracy of Newton steps: light parts accelerate a billion times more than heavy ones


@hinted
@dataclass(frozen=True, eq=False)
class Equilibrium(AtStates):
    """A state in which nothing accelerates, with the inputs that hold it."""

    state: State
    u: np.ndarray  # (inputs,)
    residual: float  # largest |v̇| that is left, rad/s² or m/s²
    iterations: int  # of Newton's method
    multipliers: np.ndarray  # (rows used,)
    model: LinearModel  # the linear model there, of the mechanism without its stops
    stops: dict[str, float] = field(default_factory=dict)  # N or N m on coordinates that lean on a bound, by name

    @cached_property
    def stability(self) -> str:
        """Whether small disturbances stay small: "asymptotically stable", "stable", "neutral" or "unstable".

        By the eigenvalues of the linear model: all of them left of the axis; some on it, but none at 0, as those of
        oscillations without damping; some at 0; one to its right. On stops, which the model does not have, by the
        stiffness of the motions that are left.
        """
        op, values = self.model.operating, self.model.eigenvalues
        if self.stops:
            held = [op.system.v_names.index(name) for name in self.stops]
            least = softest(StaticBalance(op.system, op.state, self.u, op.p, held))[0]
            return "stable" if least > FLAT else "unstable" if least < -FLAT else "neutral"
        small = ON_AXIS * float(np.abs(values).max(initial=0.0))
        if (values.real > small).any():
            return "unstable"
        if (values.real < -small).all():
            return "asymptotically stable"
        return "neutral" if (np.abs(values) <= small).any() else "stable"

    @property
    def stable(self) -> bool:
        """Whether no small disturbance grows, to first order: `stability` is not "unstable"."""
        return self.stability != "unstable"

    @property
    def message(self) -> str:
        """How well it rests, its stability, and what does not act on it."""
        kind = self.stability
        if kind == "unstable" and not self.stops:
            growth = float(self.model.eigenvalues.real.max())
            kind = f"unstable: a disturbance grows e-fold in {1 / growth:.3g} s; stable=True looks for a stable one"
        return f"|v̇| ≤ {self.residual:.1e}, {kind}{'. ' if (more := not_acting(self.state.layout)) else ''}{more}"

    @property
    def system(self) -> System:
        """The mechanism."""
        return self.model.operating.system

    @property
    def vdot(self) -> np.ndarray:
        """(nv,) accelerations that are left, rad/s² or m/s²."""
        return self._dynamics[0]

    def reactions(self, joint: str) -> np.ndarray:
        """(6,) moment (N m) and force (N) in a joint, tree or cut, by its name; see `System.constraint_forces`."""
        tree, _ = joints_and_loops(self.system, joint)
        return (self._held.joints if joint in tree else self._held.loops)[joint]

    def _records(self) -> StateRows:
        x = self.state
        return state_rows(self.system, x.q, x.v, self.u, self.model.operating.p, x.t)

    @cached_property
    def _held(self) -> Reactions:
        """Forces in every joint, those of the stops included."""
        return self.system.constraint_forces(self.state, self.stops or None, u=self.u, p=self.model.operating.p)

    @cached_property
    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        return self._held.acceleration.vdot, self._held.acceleration.multipliers

    def _columns(self) -> Columns:
        """One row: positions, inputs, multipliers of the rows used, forces on stops, the residual, the stability."""
        system = self.model.operating.system
        values, units = motion_columns(system, self.state.q[None], self.state.v[None], self.u[None])
        values |= {f"stop.{name}": np.array([force]) for name, force in self.stops.items()}
        values |= {"residual": np.array([self.residual]), "stability": np.array([self.stability], dtype=object)}
        return Columns(system.name, "row", np.arange(1), values, units)

    def __repr__(self) -> str:
        return f"<equilibrium of '{self.model.operating.system.name}': {self.message}; {self.state!r}>"


@explained
def equilibrium(
    system: System,
    guess: StateGiven | None = None,
    *,
    solve_for: str = "q",
    q: Mapping[str, float] | None = None,
    v: Mapping[str, float | None] | None = None,
    steady: Iterable[str] | None = None,
    bounds: Mapping[str, Any] | None = None,
    stable: bool = False,
    u: Inputs = None,
    p: Parameters = None,
    tolerance: float = 1e-9,
) -> Equilibrium:
    """A configuration in which a mechanism rests or moves steadily, and the inputs that keep it there.

    guess: positions to start from, by name, as an array or a state. q: coordinates with given values. p:
    parameters, by name or as an array. tolerance: largest acceleration that counts as rest, as part of those that
    weights, inputs and a displacement by a radian or a length of the mechanism cause.
    solve_for="q": a configuration that rests under the inputs u, stable or not, from the guess by Newton's method with
    the exact linear model; coordinates in `q` stay. Where this finds none and nothing is held, one downhill
    of the guess. solve_for="u": the inputs of least size that hold the configuration of the guess (with `q` in
    it), from u if they enter nonlinearly.

    bounds: {name: bound or (lower, upper)}, None for no bound on a side; (0, None) for tendons, which only pull. With
    solve_for="u" names are inputs. With "q" they are coordinates at rest: those that reach a bound lean on it as on a
    stop, `stops` has the forces, and the way to the equilibrium leads downhill. Contacts, ropes and rigid stops do not
    act; `message` names them. stable=True, at rest with "q": go downhill, as friction would, to one that is not
    unstable. `stability` and `message` always tell which kind was found.

    v: velocities of a steady motion by name; None for one that is constant and to be found. The others come out as
    small as the constraints allow. steady: names of the velocities that stay constant, as many as the mechanism has
    freedoms; default all velocities, which a turn has in body axes but not in those of the ground. What is not steady
    follows.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.loader().compile()
    >>> rest = da.equilibrium(system, zoo.loader_start()[0], solve_for="u")
    >>> [round(float(x)) for x in rest.u], rest.residual < 1e-9       # N, in the lift and the tilt cylinder
    ([102229, 47666], True)
    """
    check_system(system)
    checks.choice(solve_for, ("q", "u"), "solve_for")
    tolerance = checks.number(tolerance, "tolerance", above=0.0)
    held = _by_name(system, q, "q")
    asked = {} if v is None else checks.mapping(v, "v")
    unknown_speeds = [n for n, value in asked.items() if value is None]
    moving = _by_name(system, {n: 0.0 if value is None else value for n, value in asked.items()}, "v")
    constant = None if steady is None else _names(system, steady)
    if unknown_speeds and constant is None:
        raise ArgumentError(f"the speed of '{unknown_speeds[0]}' is to be found; name what is constant in steady=[].")
    names = system.u_names if solve_for == "u" else system.v_names
    limits = Bounds.of(names, bounds, "input" if solve_for == "u" else "coordinate")
    if solve_for == "u":
        limits = limits.within(system.layout.mechanism.forces)
    start, u, p = system.arguments.resolve({} if guess is None else guess, u, p, search=True)
    if unknown_speeds:
        moving |= {n: float(start.v[system.v_names.index(n)]) for n in unknown_speeds}
    if constant is not None:
        moving = {**dict.fromkeys(constant, 0.0), **moving}
    for d in system.description.prescribed.values():
        held.setdefault(system.v_names[d], float(start[system.v_names[d]]))
    given = system.arguments.input_vector(u)
    if checks.flag(stable, "stable") and (solve_for == "u" or moving):
        raise ArgumentError(
            "stable=True looks for a position of rest; leave out solve_for='u', v= and steady=, or stable=."
        )
    if (bounds is not None or stable) and solve_for == "q":
        if moving:
            raise ArgumentError("bounds of coordinates are for rest; leave out v= and steady=, or bounds=.")
        return _on_stops(system, start, given, p, held, limits, tolerance, stable)
    x = system.assemble(held or None, moving or None, guess=start.q, p=p, t=start.t)
    if solve_for == "u":
        return _inputs(system, x, given, p, tolerance, limits, constant)
    try:
        return _configuration(system, x, given, p, held, moving, tolerance, unknown_speeds, constant)
    except AssemblyError as near:
        if moving or held:
            raise
        try:
            return _on_stops(system, start, given, p, held, limits, tolerance, False)
        except (AssemblyError, ArgumentError) as below:
            more = "" if str(below) in str(near) else f" Nor was one found downhill: {below}"
            raise AssemblyError(f"{near}{more}") from below


def _names(system: System, given: Any) -> list[str]:
    if isinstance(given, str) or not isinstance(given, (list, tuple, set, frozenset, Mapping)):
        raise ArgumentError(f"steady is {checks.shown(given)}; needed: a list of velocities.")
    for name in given:
        if not isinstance(name, str) or name not in system.v_names:
            raise unknown("velocity", name, system.v_names, "steady")
    return list(given)


def _by_name(system: System, given: Mapping[str, float] | None, what: str) -> dict[str, float]:
    """Numbers by the names of velocities."""
    out: dict[str, float] = {}
    for name, value in ({} if given is None else checks.mapping(given, what)).items():
        if not isinstance(name, str) or name not in system.v_names:
            raise unknown("coordinate", name, system.v_names, what)
        out[name] = checks.number(value, f"{what}['{name}']")
    return out


def _inputs(
    system: System,
    x: State,
    u: np.ndarray,
    p: Parameters,
    tolerance: float,
    limits: Bounds,
    steady: list[str] | None,
) -> Equilibrium:
    if not len(u):
        raise ArgumentError(f"'{system.name}' has no inputs to solve for; add motors, or take solve_for='q'.")
    model, rounds, changing = linearize(system, x, u=u, p=p, independent=steady), 0, True
    while rounds < ROUNDS and changing:
        scale, n = _scale(model, u), len(model.positions)
        effect = model.B[n:] / scale.speeds[:, None]
        B = rank_policy(accuracy=SHARP).reveal(effect)
        new = u + B.solve(-model.rate[n:] / scale.speeds)
        if rounds < ROUNDS // 2:  # the smallest; where they enter nonlinearly and this goes in circles, the next ones
            new = new - B.null @ (B.null.T @ new)
        if not limits.hold(new):
            G, h, names = limits.rows(new, B.null)
            w, weights = least_change(G, h)
            if w is None:
                acting = [name for name, z in zip(names, weights) if z > 1e-9 * max(weights.max(), 1e-300)]
                raise AssemblyError(
                    f"'{system.name}' does not rest: the inputs cannot hold it within their bounds; "
                    f"{', '.join(acting)} contradict it."
                )
            new = new + B.null @ w
        new = np.clip(new, limits.lower, limits.upper)  # they hold but for rounding
        usual = max(np.abs(new).max(), scale.acceleration / max(np.abs(effect).max(initial=0.0), 1e-300))
        changing, u = bool(np.abs(new - u).max() > 1e-10 * usual), new
        model, rounds = linearize(system, x, u=u, p=p, independent=steady), rounds + 1
    return _checked(model, u, rounds, tolerance, "the inputs cannot hold it there: what is left pulls along", steady)


def _on_stops(
    system: System,
    start: State,
    u: np.ndarray,
    p: Parameters,
    held: Mapping[str, float],
    limits: Bounds,
    tolerance: float,
    stable: bool,
) -> Equilibrium:
    x = system.assemble(held or None, guess=start.q, p=p, t=start.t)
    x, stops, rounds = rest_on_stops(system, x, u, p, held, limits)
    for _ in range(SADDLES if stable else 0):
        fixed = [system.v_names.index(name) for name in (*held, *stops)]
        least, motion = softest(StaticBalance(system, x, u, p, fixed))
        if least >= -FLAT:
            break
        x = system.assemble(held or None, guess=system.plus(x, ASIDE * motion), p=p, t=x.t)
        x, stops, more = rest_on_stops(system, x, u, p, held, limits)
        rounds += more
    a = system.acceleration(x, dict(stops), u=u, p=p)
    model = linearize(system, x, u=u, p=p)
    left = float(np.abs(a.vdot).max(initial=0.0))
    if not np.abs(a.vdot / reach(system, p)).max(initial=0.0) <= tolerance * _scale(model, u).acceleration:
        raise AssemblyError(f"'{system.name}' does not rest within its bounds: {left:.3g} rad/s² or m/s² are left.")
    return Equilibrium(model.operating.state, u, left, rounds, a.multipliers, model, stops)


def _configuration(
    system: System,
    x: State,
    u: np.ndarray,
    p: Parameters,
    held: Mapping[str, float],
    speeds: Mapping[str, float],
    tolerance: float,
    wanted: list[str],
    steady: list[str] | None,
) -> Equilibrium:
    model, rounds, moved, far = linearize(system, x, u=u, p=p, independent=steady), 0, np.inf, reach(system, p)
    while rounds < ROUNDS and moved > 1e-14:
        scale, n = _scale(model, u), len(model.positions)
        if _left(model, steady).max(initial=0.0) <= 1e-3 * tolerance * scale.acceleration:
            break
        rate, move = model.rate[n:] / scale.speeds, model.operating.Kq * scale.positions
        slopes = model.A[n:] / scale.speeds[:, None]
        # small motions that leave what is held: a basis of y with C_held Kq y = 0
        rows = move[[system.v_names.index(name) for name in held]] if held else np.zeros((0, n))
        free = rank_policy().reveal(rows).null if held else np.eye(n)
        fast = [[c.name for c in model.operating.speeds].index(name) for name in wanted]
        faster = slopes[:, n:][:, fast] * scale.speeds[fast]
        y = _least(np.hstack([slopes[:, :n] * scale.positions @ free, faster]), -rate)
        change = dict(zip(wanted, (y[free.shape[1] :] * scale.speeds[fast]).tolist()))
        step = move @ free @ y[: free.shape[1]]
        try:
            model, speeds = _improved(system, model, x, u, p, step, held, speeds, change, steady)
        except (AssemblyError, ArgumentError) as error:
            raise AssemblyError(
                f"'{system.name}' does not rest: no equilibrium was found near the guess. The search comes to a "
                f"position from which it cannot go on: {error} Begin at another guess."
            ) from error
        moved = float(np.abs(system.minus(model.operating.state.q, x.q) / far).max(initial=0.0))
        moved += float(np.abs(y[free.shape[1] :]).sum())
        x, rounds = model.operating.state, rounds + 1
    why = "no equilibrium was found near the guess: what is left accelerates"
    if held:
        why = (
            f"with {', '.join(held)} at the given value no equilibrium was found (q= exerts no force; to lock a "
            "coordinate, drive it: m.add_driver(name, coordinate, value)): what is left accelerates"
        )
    return _checked(model, u, rounds, tolerance, why, steady)


def _improved(
    system: System,
    old: LinearModel,
    x: State,
    u: np.ndarray,
    p: Parameters,
    step: np.ndarray,
    held: Mapping[str, float],
    speeds: Mapping[str, float],
    change: Mapping[str, float],
    steady: list[str] | None,
) -> tuple[LinearModel, Mapping[str, float]]:
    """The model and speeds after a step, shortened until the accelerations fall (or hardly any of it is left)."""
    before = np.linalg.norm(_left(old, steady))  # of all velocities: the model's own may be others after the step
    size = min(1.0, STRIDE / max(float(np.abs(step / reach(system, p)).max(initial=0.0)), 1e-300))
    while True:
        try:
            faster = {**speeds, **{name: speeds[name] + size * value for name, value in change.items()}}
            y = system.assemble(held or None, faster or None, guess=system.plus(x, size * step), p=p, t=x.t)
            new = linearize(system, y, u=u, p=p, independent=steady)
            if np.linalg.norm(_left(new, steady)) < before or size < 1e-4:
                return new, faster
        except (AssemblyError, ArgumentError):
            if size < 1e-4:
                raise
        size /= 2


def _least(X: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest y that brings X y nearest to `right`."""
    return rank_policy(accuracy=SHARP).reveal(X).solve(right)


class _Scale(NamedTuple):
    """Units in which the coordinates of a linear model move the mechanism by about a radian, or by its length."""

    positions: np.ndarray  # (positions,)
    speeds: np.ndarray  # (velocities,)
    acceleration: float  # rad/s², or lengths/s²: usual ones, by weights, forces and displacements by a unit


def _scale(model: LinearModel, u: np.ndarray) -> _Scale:
    op, n = model.operating, len(model.positions)
    system, x, far = op.system, op.state, reach(op.system, op.p)
    moved = [np.abs(K / far[:, None]).max(axis=0, initial=0.0) for K in (op.Kq, op.Kv)]
    positions, speeds = (1.0 / np.maximum(size, 1e-300) for size in moved)
    slopes = np.abs(model.A[n:]) / speeds[:, None]
    pace = float(np.abs(x.v / far).max(initial=0.0))
    loads = np.abs(system.gravity_vector(x, p=op.p)) + np.abs(system.applied_forces(x, u=u, p=op.p))
    inertia = np.maximum(system.evaluate("mass_diagonal", x, p=op.p), 1e-300)
    causes = (
        (slopes[:, :n] * positions).max(initial=0.0),
        (slopes[:, n:] * speeds).max(initial=0.0) * pace,
        pace**2,
        (loads / inertia / far)[loads > 0].max(initial=0.0),
    )
    return _Scale(positions, speeds, float(max(causes)))


def _left(model: LinearModel, steady: list[str] | None) -> np.ndarray:
    """|v̇| of what is to be steady, in rad/s² or lengths of the mechanism/s²."""
    op = model.operating
    left, names = np.abs(op.vdot / reach(op.system, op.p)), op.system.v_names
    return left if steady is None else left[[names.index(name) for name in steady]]


def _balanced(model: LinearModel, u: np.ndarray) -> bool:
    """Whether forces balance at rest but for rounding, which light parts between heavy ones turn into accelerations."""
    op = model.operating
    if op.state.v.any() or not op.system.rows.of or not op.system.rows.holonomic.all():
        return False
    at = StaticBalance(op.system, op.state, u, op.p)
    return bool(np.abs(at.left).max(initial=0.0) <= SHARP * np.abs(at.load * at.reach).max(initial=0.0))


def _checked(
    model: LinearModel, u: np.ndarray, iterations: int, tolerance: float, why: str, steady: list[str] | None = None
) -> Equilibrium:
    op, left = model.operating, _left(model, steady)
    chosen = [op.system.v_names.index(name) for name in steady or op.system.v_names]
    largest = float(np.abs(op.vdot[chosen]).max(initial=0.0))
    if not left.max(initial=0.0) <= tolerance * _scale(model, u).acceleration and not _balanced(model, u):
        worst = chosen[int(np.argmax(left))]
        raise AssemblyError(
            f"'{op.system.name}' does not rest: {why} '{op.system.v_names[worst]}', by {abs(op.vdot[worst]):.3g} "
            f"rad/s² or m/s².{unseen(op.system.layout)}"
        )
    return Equilibrium(op.state, u, largest, iterations, op.multipliers, model)
