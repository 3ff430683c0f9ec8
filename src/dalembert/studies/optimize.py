"""`optimize`: dimensions for which a mechanism, led through some positions, comes nearest to what is wanted there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.hints import explained
from dalembert.protocols import StateGiven, check_system
from dalembert.sensitivity.quantities import quantities
from dalembert.sensitivity.residuals import Residuals
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.sensitivities import sensitivities
from dalembert.studies.design import Design
from dalembert.system.state import State
from dalembert.system.system import System


@explained
def optimize(
    system: System,
    parameters: Mapping[str, tuple[float, float]] | Sequence[str],
    along: Mapping[str, Any],
    target: Mapping[str, Any],
    *,
    limits: Mapping[str, tuple[Any, float | None, float | None]] | None = None,
    guess: StateGiven | None = None,
    attempts: int = 0,
    seed: int = 0,
    max_evaluations: int = 300,
) -> Design:
    """Parameters for which quantities of a mechanism are nearest to their targets in K positions of its path.

    Minimizes Σ (quantity − target)² with exact derivatives: by SciPy's `least_squares`, with `limits` by IPOPT. In
    every trial the mechanism is assembled in the first position from the guess and led to each next one along its
    branch. Trials that cannot be assembled all the way, or that meet a dead point, count as infinitely bad.

    parameters: {name: (least, greatest)}, or names without bounds. along: {coordinate: K values}, as many coordinates
    as there are degrees of freedom; they hold in each position. target: {quantity: K values}, quantities as in
    `da.sensitivities` ("position:P@x", "position:P" with (K, 3) values, "D", "reaction:A@fx"). limits: {name:
    (quantity, least, greatest)}, which hold in all positions; None leaves one side open. A quantity is a name or a
    function of the state, such as the sine of a transmission angle.

    system: the mechanism, whose own parameters the search begins with. guess: positions on the branch that is meant.
    max_evaluations: of each search, at most. attempts: as many further searches from random parameters between the
    bounds, with this seed; the best is returned.

    >>> import numpy as np
    >>> import dalembert as da
    >>> m = da.Mechanism("crank and slider")
    >>> r, l = m.add_parameter("r", 0.2), m.add_parameter("l", 0.7)
    >>> crank, rod, slide = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("crank", "rod", "slide"))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, crank)
    >>> m.add_joint("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    >>> m.add_joint("guide", da.Prismatic("x"), m.ground, slide)
    >>> m.close_loop("C", da.Revolute("z"), rod.at(l, 0, 0), slide)
    >>> angles = np.radians([0, 45, 90, 135, 180])
    >>> wanted = 0.28 * np.cos(angles) + np.sqrt(0.62**2 - (0.28 * np.sin(angles)) ** 2)
    >>> found = da.optimize(
    ...     m.compile(), {"r": (0.1, 0.5), "l": (0.3, 1.0)}, {"A": angles}, {"guide": wanted}, guess={"guide": 0.8},
    ... )
    >>> found.success, round(found["r"], 2), round(found["l"], 2)
    (True, 0.28, 0.62)
    """
    check_system(system)
    names, low, high = _bounds(system, parameters)
    path = _path(along)
    wanted = {q: checks.array(x, None, f"target[{q!r}]") for q, x in checks.mapping(target, "target").items()}
    if not wanted:
        raise ArgumentError("target is empty; needed: {quantity: values}, what the mechanism should do.")
    count = len(next(iter(path.values())))
    of, values = _targets(system, wanted, count)
    bounded = _limits(limits)
    first = np.clip([dict(zip(system.p_names, system.arguments.parameter_vector(None)))[n] for n in names], low, high)
    model = DesignModel(system, names, path, guess)
    miss = Residuals(lambda p: model(p, of), names, values)
    kept = None if not bounded else Residuals(lambda p: model(p, {n: q for n, q, _, _ in bounded}), names)
    most = checks.whole(max_evaluations, "max_evaluations", least=1)
    rng, trials = np.random.default_rng(checks.whole(seed, "seed", least=0)), [first]
    if checks.whole(attempts, "attempts", least=0):
        if not np.isfinite([low, high]).all():
            raise ArgumentError("attempts draws parameters between their bounds; needed: {name: (least, greatest)}.")
        trials += [low + (high - low) * rng.uniform(size=len(names)) for _ in range(attempts)]
    best: tuple[float, np.ndarray, bool] | None = None
    for x in trials:
        if miss.at(x) is None:
            continue
        x, done = _search(miss, kept, bounded, x, low, high, most)
        if miss.at(x) is None:
            continue
        cost = float((miss(x) ** 2).sum()) if _inside(kept, bounded, x) else np.inf
        if best is None or cost < best[0]:
            best = cost, x, done
    if best is None:
        raise AssemblyError(
            f"'{system.name}' cannot be led through all positions with the parameters to begin with "
            f"({', '.join(f'{n} = {x:.4g}' for n, x in zip(names, first))}): {model.why} Give others, another guess, "
            "or attempts=."
        )
    return _design(system, model, miss, kept, bounded, names, (low, high), path, values, best, first)


class DesignModel:
    """Quantities and their derivatives in all positions at trial parameters."""

    why = ""  # the last trial failed

    def __init__(self, system: System, names: tuple[str, ...], path: dict[str, np.ndarray], guess: Any):
        self.system, self.names, self.path, self.guess = system, names, path, guess
        self._last: tuple[tuple[float, ...], list[State]] | None = None

    def __call__(self, p: Mapping[str, float], of: Any) -> Sensitivities:
        states = self.states(p)
        return sensitivities(self.system, states, of=of, wrt=list(self.names), held=list(self.path), p=p)

    def states(self, p: Mapping[str, float]) -> list[State]:
        """The mechanism in all positions; AssemblyError where it does not reach one."""
        key = tuple(p.values())
        if self._last is None or self._last[0] != key:
            begin = {name: float(x[0]) for name, x in self.path.items()}
            try:
                start = self.system.assemble(begin, guess=self.guess, p=p)
            except AssemblyError as error:
                self.why = str(error)
                raise
            swept = self.system.sweep(self.path, start, p=p, limits="ignore")
            if not swept.success or len(swept) < len(next(iter(self.path.values()))):
                self.why = swept.message
                raise AssemblyError(swept.message)
            self._last = key, [swept.state(k) for k in range(len(swept))]
        return self._last[1]


def _search(
    miss: Residuals,
    kept: Residuals | None,
    bounded: list[Any],
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    most: int,
) -> tuple[np.ndarray, bool]:
    """The nearest minimum, and whether the search converged."""
    if kept is None:
        from scipy.optimize import least_squares

        room = 1e-9 * np.minimum(high - low, 1.0)  # the method wants to begin between the bounds
        found = least_squares(
            miss, np.clip(x, low + room, high - room), jac=miss.jacobian, bounds=(low, high), x_scale="jac",
            xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=most,
        )  # fmt: skip
        return found.x, bool(found.status > 0)
    import casadi as ca

    count = len(kept(x)) // len(bounded)
    f, g, variable = miss.to_casadi(x), kept.to_casadi(x), ca.MX.sym("x", len(x))
    problem: Any = {"x": variable, "f": 0.5 * ca.sumsqr(f(variable)), "g": g(variable)}
    quiet: dict[str, Any] = {
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "ipopt.max_iter": most,
        "ipopt.tol": 1e-9,
    }
    solve = ca.nlpsol("solve", "ipopt", problem, {"ipopt.hessian_approximation": "limited-memory", **quiet})
    sides = np.array([(a, b) for _, _, a, b in bounded])
    ends = np.tile(sides, (count, 1))
    out = solve(x0=x, lbx=low, ubx=high, lbg=ends[:, 0], ubg=ends[:, 1])
    return np.clip(out["x"].full().ravel(), low, high), bool(solve.stats()["success"])


def _inside(kept: Residuals | None, bounded: list[Any], x: np.ndarray) -> bool:
    """Whether the limits hold, to 1e-6 of their sizes."""
    if kept is None:
        return True
    found = kept(x).reshape(-1, len(bounded))
    low, high = np.array([(a, b) for _, _, a, b in bounded]).T
    room = 1e-6 * np.maximum(1.0, np.abs(found).max(axis=0))
    return bool(((found >= low - room) & (found <= high + room)).all())


def _design(
    system: System, model: DesignModel, miss: Residuals, kept: Residuals | None, bounded: list[Any],
    names: tuple[str, ...],
    box: tuple[np.ndarray, np.ndarray], path: dict[str, np.ndarray], values: np.ndarray,
    best: tuple[float, np.ndarray, bool], first: np.ndarray,
) -> Design:  # fmt: skip
    cost, x, done = best
    at = miss.at(x)
    assert at is not None
    p = dict(zip(names, x.tolist()))
    before = miss.at(first)
    limited = {} if kept is None else dict(zip((n for n, _, _, _ in bounded), kept(x).reshape(-1, len(bounded)).T))
    edge = 1e-6 * np.maximum(1.0, np.abs(x))
    return Design(
        system=system.with_parameters(p),
        names=names,
        estimate=x,
        first=first,
        path=path,
        of=at.of,
        target=values,
        reached=at.value,
        before=None if before is None else before.value,
        limited=limited,
        at_bound=tuple(n for n, a, b, c, e in zip(names, x, *box, edge) if a - b < e or c - a < e),
        states=tuple(model.states(p)),
        success=bool(done and np.isfinite(cost)),
        kept=bool(np.isfinite(cost)),
    )


def _bounds(system: System, given: Any) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names of parameters, and their least and greatest values."""
    if isinstance(given, str) or not isinstance(given, (Sequence, Mapping)) or not len(given):
        raise ArgumentError(f"parameters is {checks.shown(given)}; needed: {{name: (least, greatest)}}, or names.")
    for name in given:
        if name not in system.p_names:
            raise unknown("parameter", name, system.p_names)
    if not isinstance(given, Mapping):
        return tuple(given), np.full(len(given), -np.inf), np.full(len(given), np.inf)
    pairs = np.array([checks.vector(pair, 2, f"parameters[{n!r}]", finite=False) for n, pair in given.items()])
    for name, (a, b) in zip(given, pairs):
        if not a < b:
            raise ArgumentError(f"parameters[{name!r}] is ({a:g}, {b:g}); needed: (least, greatest), in this order.")
    return tuple(given), *pairs.T


def _path(along: Any) -> dict[str, np.ndarray]:
    path = {n: checks.vector(x, None, f"along[{n!r}]") for n, x in checks.mapping(along, "along").items()}
    if not path or len({len(x) for x in path.values()}) > 1 or not len(next(iter(path.values()))):
        raise ArgumentError(f"along is {checks.shown(along)}; needed: {{coordinate: K values}}, K alike for all.")
    return path


def _targets(system: System, wanted: Mapping[str, np.ndarray], count: int) -> tuple[list[str], np.ndarray]:
    """Quantities, and (K, k) their targets."""
    columns = []
    for name, values in wanted.items():
        width = len(quantities(system, [name]))
        if values.shape not in ((count,), (count, width)) or (values.ndim == 1 and width > 1):
            needed = f"({count},)" if width == 1 else f"({count}, {width})"
            raise ArgumentError(
                f"target[{name!r}] has shape {values.shape}; needed: {needed}, a row for each position."
            )
        columns.append(values.reshape(count, width))
    return list(wanted), np.hstack(columns)


def _limits(given: Any) -> list[tuple[str, Any, float, float]]:
    """(name, quantity, least, greatest) of each limit."""
    out = []
    for name, one in checks.mapping({} if given is None else given, "limits").items():
        if not isinstance(one, Sequence) or isinstance(one, str) or len(one) != 3:
            raise ArgumentError(f"limits[{name!r}] is {checks.shown(one)}; needed: (quantity, least, greatest).")
        quantity, low, high = one
        a = -np.inf if low is None else checks.number(low, f"limits[{name!r}][1]")
        b = np.inf if high is None else checks.number(high, f"limits[{name!r}][2]")
        if not a < b:
            raise ArgumentError(f"limits[{name!r}] leaves nothing between {a:g} and {b:g}; needed: least < greatest.")
        out.append((str(name), quantity, a, b))
    return out
