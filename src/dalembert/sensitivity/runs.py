"""Derivatives of a whole run: the variational equations of its motion, forward, or their transpose, backward.

    δ̇ = δv − B(v) δ,   δv̇ = v̇_q δ + v̇_v δv + v̇_θ                     along the motion, in tangent coordinates

Both use the same steps, those the run accepted, with coefficients from its dense output. Where an event ended the run,
its time moves too: δT = −(g_x δx + g_θ) / ġ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.sensitivity import gauss
from dalembert.sensitivity.equations import Control, SensitivityEquations
from dalembert.sensitivity.following import following, held_names
from dalembert.sensitivity.guards import moving_end
from dalembert.sensitivity.quantities import Quantity, Values, check_determinate, quantities, values
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.targets import Targets
from dalembert.sensitivity.variation import VariationalEquations
from dalembert.simulation.callbacks import expression, traced_inputs
from dalembert.simulation.results.run import Run, continuation, positions_met
from dalembert.simulation.setup import Setup
from dalembert.simulation.singular.passages import Met
from dalembert.simulation.status import Status
from dalembert.system.state import State
from dalembert.system.system import System

METHODS = ("auto", "forward", "adjoint")
BESIDE = 1e-3  # rtol / σ² up to which a run beside a singular position is differentiated: to 1e-4 of its derivatives


def of_run(run: Run, of: Any, wrt: Any, held: Any, at: Any, method: str) -> Sensitivities:
    """See `sensitivities`."""
    check_run(run)
    targets, asked = Targets.of(run.system, wrt), quantities(run.system, of)
    times = None if at is None else times_of(run, at)
    if times is not None and (method == "adjoint" or any(y.integral for y in asked)):
        raise ArgumentError("at several times derivatives are taken forward, and of no integrals; leave out at=.")
    motion = RunDerivatives(run, targets, asked, held)
    backward = method == "adjoint" or (method == "auto" and len(asked) < len(targets.names) and times is None)
    return motion.adjoint() if backward else motion.forward(times)


def times_of(run: Run, at: Any) -> np.ndarray:
    """(N,) s: increasing times of the run."""
    times = checks.increasing(at, "at")
    if times[0] < run.t[0] or times[-1] > run.t[-1]:
        raise ArgumentError(f"at is {checks.shown(at)}; the run goes from {run.t[0]:g} to {run.t[-1]:g} s.")
    return times


def check_run(run: Run) -> None:
    """Refuse runs that have no derivative, or not enough of a record for one."""
    if run.phases:
        raise ArgumentError(
            "the structure of the run changes; derivatives through switches, impacts and friction are not there. Ask "
            "for those of a phase, run.phases[k]."
        )
    if run.status not in (Status.DONE, Status.EVENT):
        raise ArgumentError(f"the run did not reach its end: {run.message}.")
    between, passed = continuation(run), positions_met(run)
    if between is None:
        raise ArgumentError(
            "only recorded times of this run are known: it was made with t_eval, comes from a file or from another "
            "process. Simulate without t_eval, and give the times to sensitivities(..., at=times)."
        )
    if passed:
        _check_distance(run, min(passed, key=lambda met: met.sigma))
    check_controller(between.layout.setup)


def _check_distance(run: Run, met: Met) -> None:
    """Refuse runs through singular positions, and those that are not exact enough beside them.

    Derivatives of the accelerations grow like 1/σ² there, and so do what errors of the run do to them.
    """
    if met.sigma <= met.hit or run.rtol is None:
        raise ArgumentError(
            f"at t = {met.t:g} s the run passes a singular position, where a motion need not depend "
            "smoothly on parameters. Differentiate runs that keep away from it."
        )
    if run.rtol > BESIDE * met.sigma**2:
        raise ArgumentError(
            f"at t = {met.t:g} s the run passes a singular position at a distance (least singular value) of "
            f"{met.sigma:.1e}, where its errors grow too much for derivatives. Simulate it with "
            f"rtol={BESIDE * met.sigma**2:.1e} or less, or one that keeps away."
        )


def check_controller(setup: Setup) -> None:
    """Refuse controllers whose derivatives are not known."""
    if setup.controller is not None and (setup.period or not isinstance(setup.controller, expression)):
        raise ArgumentError(
            "the inputs of this run come from a sampled controller, or from one that is no da.expression; its "
            "derivatives are not known. Wrap it in da.expression and leave out period."
        )


def end_and_path(run: Run, of: Any, wrt: Any, held: Any, at: np.ndarray) -> tuple[Sensitivities, Sensitivities | None]:
    """Derivatives at the end of a run, and at times `at` (T,) within it of all quantities but integrals, if any."""
    check_run(run)
    motion = RunDerivatives(run, Targets.of(run.system, wrt), quantities(run.system, of), held)
    if not len(at):
        backward = len(motion.asked) < motion.m
        return (motion.adjoint() if backward else motion.forward(None)), None
    passed = motion.passed(at)
    return motion.ended(passed), motion.along(passed) if motion.end else None


def check_held(system: System, start: State, u: np.ndarray, p: np.ndarray, wrt: Any, held: Any) -> None:
    """Refuse names that are not known, and `held` left out where coordinates must follow the loops."""
    names = held_names(system, held)
    targets = Targets.of(system, wrt)
    rows = independent_rows(system, start, p) if system.rows.of else None
    eq = SensitivityEquations(system, rows, targets, many=True)
    if names is None:
        known = eq.known(start.q[None], start.v[None], np.array([start.t]), u[None], p)
        following(eq, [start], known, None)


class Passed(NamedTuple):
    """What a pass forward over the steps of a run finds."""

    at: np.ndarray  # (T,) s
    slopes: np.ndarray  # (T, n, m) of (δ, δv) at these times
    end: np.ndarray  # (n, m) at the end of the run
    sums: np.ndarray  # (k,) integrals
    total: np.ndarray  # (k, m) their derivatives
    closure: float


class RunDerivatives(VariationalEquations):
    """The derivatives of a run, forward and backward."""

    def __init__(self, run: Run, targets: Targets, asked: list[Quantity], held: Any, start: np.ndarray | None = None):
        """start: (n, m) derivatives of the first state, where they do not follow from what is held."""
        between = continuation(run)
        assert between is not None
        system, setup = run.system, between.layout.setup
        self.run, self.system, self.setup = run, system, setup
        self.end = [y for y in asked if not y.integral]
        self.sums = [y for y in asked if y.integral]
        self.asked = asked
        control = None
        if setup.controller is not None:
            if targets.u:
                raise ArgumentError("the inputs of this run come from its controller; wrt can name no input.")
            f = setup.controller.f
            control = Control(f, lambda s: traced_inputs(system, s, f))
        first = run.state(0)
        rows = independent_rows(system, first, run.p) if system.rows.of else None
        self.eq = SensitivityEquations(system, rows, targets, many=len(run.t) > 8, control=control)
        self.names, self.m, self.n = targets.names, len(targets.names), 2 * system.nv
        last = run.state(-1)
        check_determinate(system, last, self._inputs(-1), run.p, self.end)
        if start is not None:
            self.start = start
            return
        known = self._known(run.q[:1], run.v[:1], run.t[:1])
        dq, dv = following(self.eq, [first], known, held_names(system, held))
        self.start = np.concatenate([dq[0], dv[0]])

    def _inputs(self, k: int) -> Any:
        return self.run.u[k] if self.run.u.shape[1] else None

    # --- ends ---------------------------------------------------------------------------------------------------

    def _at(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> Values:
        """The quantities that are no integrals, at states."""
        return values(self.eq, self.end, self._known(q, v, t))

    def _last(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (k,), slopes by the last state (k, n) and direct ones (k, m) of all quantities, in their order.

        Of integrals there is only what the end of the run does to them.
        """
        run, k = self.run, len(self.asked)
        value, by_x, direct = np.zeros(k), np.zeros((k, self.n)), np.zeros((k, self.m))
        q, v, t = run.q[-1:], run.v[-1:], run.t[-1:]
        ends = [i for i, y in enumerate(self.asked) if not y.integral]
        if self.end:
            y = self._at(q, v, t)
            value[ends], by_x[ends], direct[ends] = y.value[0], y.x[0], y.theta[0]
        if run.status is Status.EVENT:
            known = self._known(q, v, t)
            moving = np.concatenate([v[0], self.eq.slopes(known)["vdot"][0]])
            rate = np.zeros(k)
            if self.end:
                rate[ends] = y.x[0] @ moving + y.t[0]
            if self.sums:
                inside = [i for i, y in enumerate(self.asked) if y.integral]
                rate[inside] = values(self.eq, self.sums, known).value[0]
            end_x, end_theta = moving_end(self.eq, run, known, moving)
            by_x -= np.outer(rate, end_x)
            direct -= np.outer(rate, end_theta)
        elif any(y.kind == "time" for y in self.end):
            raise ArgumentError("the run was not ended by an event: its last time is fixed.")
        return value, by_x, direct

    # --- the two ways -------------------------------------------------------------------------------------------

    def forward(self, at: np.ndarray | None) -> Sensitivities:
        """One column for each parameter, from the start to the end."""
        return self.ended(self.passed(np.zeros(0))) if at is None else self.along(self.passed(at))

    def passed(self, at: np.ndarray) -> Passed:
        """The columns at the end and at times (T,), from one pass over the steps."""
        run, nv, n, k = self.run, self.system.nv, self.n, len(self.sums)
        t = np.union1d(run.t, at) if len(at) else run.t
        S, total, sums = self.start, np.zeros((k, self.m)), np.zeros(k)
        places = np.searchsorted(t, at).tolist()
        kept, wanted = {0: S}, set(places)
        for first, known, h, T, X, inner in self._steps(t):
            F = self.eq.targets.spread(self.eq.driven(known).reshape(len(h), gauss.STAGES * nv, -1))
            forced = X @ F
            for i in range(len(h)):
                moved = T[i] @ S + forced[i]
                S = moved[:n]
                total += moved[n:]
                if first + i + 1 in wanted:
                    kept[first + i + 1] = S
            if inner is not None:
                weights = (h[:, None] * gauss.B).ravel()
                sums += weights @ inner.value
                total += np.einsum("w,wkm->km", weights, inner.theta)
        return Passed(at, np.array([kept[i] for i in places]), S, sums, total, self._closure(S))

    def ended(self, x: Passed) -> Sensitivities:
        """Derivatives at the end."""
        value, by_x, direct = self._last()
        inside = [i for i, y in enumerate(self.asked) if y.integral]
        jacobian = by_x @ x.end + direct
        jacobian[inside] += x.total
        value[inside] = x.sums
        return self._result(value, jacobian, "forward", None, x.closure)

    def along(self, x: Passed) -> Sensitivities:
        """Derivatives of all quantities but integrals at the times of the pass."""
        q, v = self.run(x.at)
        y, names = self._at(q, v, x.at), tuple(y.name for y in self.end)
        return Sensitivities(names, self.names, y.value, y.x @ x.slopes + y.theta, x.at, "forward", x.closure)

    def adjoint(self) -> Sensitivities:
        """One row for each quantity, from the end to the start."""
        run, nv, n, s = self.run, self.system.nv, self.n, gauss.STAGES
        k, inside = len(self.sums), [i for i, y in enumerate(self.asked) if y.integral]
        value, mu, gradient = self._last()
        chosen = np.zeros((len(self.asked), k))
        chosen[inside] = np.eye(k)
        for _, known, h, T, X, inner in reversed(list(self._steps(run.t))):
            ends = np.empty((len(h), len(self.asked), n + k))
            ends[..., n:] = chosen
            for i in reversed(range(len(h))):
                ends[i, :, :n] = mu
                mu = ends[i] @ T[i]
            w = (ends @ X).reshape(len(h), -1, s, nv)
            for j in range(len(self.asked)):
                along = self.eq.gradient(known, np.ascontiguousarray(w[:, j]).reshape(-1, nv))
                gradient[j] += self.eq.targets.spread(along.sum(axis=0))
            if inner is not None:
                weights = (h[:, None] * gauss.B).ravel()
                value[inside] += weights @ inner.value
                gradient[inside] += np.einsum("w,wkm->km", weights, inner.theta)
        return self._result(value, gradient + mu @ self.start, "adjoint", None, None)

    def _closure(self, S: np.ndarray) -> float:
        """By how much the last column of δ misses A δ + ∂Φ = 0, over its terms."""
        if not self.eq.m:
            return 0.0
        run, nv, h = self.run, self.system.nv, self.eq.holonomic
        by = self.eq.closure(self._known(run.q[-1:], run.v[-1:], run.t[-1:]))
        A, phi = by["A"][0][h], self.eq.targets.spread(by["phi"])[0][h]
        terms = np.abs(A) @ np.abs(S[:nv]) + np.abs(phi)
        return float(np.abs(A @ S[:nv] + phi).max(initial=0.0) / max(terms.max(initial=0.0), 1e-300))

    def _result(
        self, value: np.ndarray, jacobian: np.ndarray, method: str, t: np.ndarray | None, closure: float | None
    ) -> Sensitivities:
        names = tuple(y.name for y in self.asked)
        return Sensitivities(names, self.names, value, jacobian, t, method, closure)


def states_known(states: list[State]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and t of states, one under another."""
    return np.array([x.q for x in states]), np.array([x.v for x in states]), np.array([x.t for x in states])
