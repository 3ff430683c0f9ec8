"""Simulation in time: a native loop over compiled kernels, with careful steps where constraints become dependent."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError, unknown
from dalembert.integrators.tableaus import METHODS, tableau
from dalembert.simulation.solution import Passage, Solution, Status

CLOSE = 1e-4  # s: steps by which a singularity is approached and passed
CHUNK = 2000  # records between looks at the clock, the keyboard and the sample times
NEAR = 1e-4  # of the rows' usual size, and of the angle between rows: nearer to a singularity the rank is revealed


def simulate(
    system: Any,
    state: Any,
    t: Any,
    *,
    u: Any = None,
    p: Any = None,
    hold: float | None = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-10,
    step: float | None = None,
    corrections: int = 2,
    on_singularity: str = "continue",
    max_steps: int = 10_000_000,
) -> Solution:
    """Integrate the motion from a state, on the constraint manifold, and return it with its evidence.

    t: a duration (s), a span (start, end), or an increasing array of times at which states are wanted. u: constant
    inputs (array or by name), or with a sampling period `hold` (s) a function u(t, state) of a digital controller, held
    between samples. method: "dop853" or "dopri5" (adaptive, rtol and atol), "rk4" (fixed `step`, s). After every step
    positions are corrected up to `corrections` times and velocities filtered, in the mass metric; 0 leaves the drift.
    on_singularity: "continue" or "stop" where the constraints become dependent.

    Trouble returns what was computed, with `status` and `message`; Ctrl-C too.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> run = da.simulate(m.compile(), {"A": 0.1}, 2.0)
    >>> run.success, bool(abs(run.energy - run.energy[0]).max() < 1e-8)
    (True, True)
    """
    return _Run(system, state, t, u, p, hold, method, rtol, atol, step, corrections, on_singularity, max_steps).go()


class _Run:
    """One simulation: the native loop between samples, and what it cannot do."""

    def __init__(
        self, system, state, t, u, p, hold, method, rtol, atol, step, corrections, on_singularity, max_steps
    ) -> None:
        from dalembert.integrators import explicit

        if method not in METHODS:
            raise unknown("method", method, METHODS)
        if method == "rk4" and not (step and step > 0):
            raise ArgumentError("method 'rk4' has a fixed step; give it as step=0.001 (s).")
        if on_singularity not in ("continue", "stop"):
            raise ArgumentError(f"on_singularity is {on_singularity!r}; needed: 'continue' or 'stop'.")
        if callable(u) and not (hold and hold > 0):
            raise ArgumentError("u is a function of (t, state); give its sampling period as hold=0.01 (s).")
        self.loop, self.system, self.p = explicit, system, p
        self.start = _on_manifold(system, system._as_state(state), p)
        self.times = _times(t, self.start.t)
        self.control: Any = u if callable(u) else None
        self.hold = hold if callable(u) else None
        self.u = system._u(None if callable(u) else u)
        self.on_singularity, self.max_steps, self.corrections = on_singularity, max_steps, int(corrections)
        self.sampled = isinstance(t, (list, tuple, np.ndarray)) and len(np.shape(t)) == 1 and len(t) > 2
        self.method = tableau(method)
        self.nq, n = system.nq, system.nq + system.nv
        self.x = np.concatenate([self.start.q, self.start.v])
        self.stages = np.zeros((len(self.method.b) + 2, n))
        span = self.times[-1] - self.times[0]
        first = step or min(1e-3, span / 100 if span > 0 else 1e-3)
        size = system.constraint_size if system.rows.of else 0.0
        self.numbers = np.array([first, 1e-4, rtol, atol, NEAR**2, (NEAR * size) ** 2, 1e-14, 0, 0, 1.0, CLOSE])
        self.counts = np.zeros(4, dtype=np.int64)
        self.keep = independent_rows(system, self.start, p) if system.rows.of else None
        self._choose_kernels()
        quaternions = system.nq != system.nv
        if not system.rows.of and not quaternions:
            self.corrections = 0
        self.T, self.X = [np.array([self.times[0]])], [self.x[None].copy()]
        self.wanted, self.buffers = set(self.times.tolist()), (np.empty(CHUNK), np.empty((CHUNK, n)))
        self.passages: list[Passage] = []
        self.clock, self.shown = time.perf_counter(), False

    def _choose_kernels(self) -> None:
        """The three kernels, over rows that are independent where some are redundant for good."""
        rows = self.system.rows if self.keep is None else self.system.rows.only(self.keep)
        self.ode = self._called("ode", 0)
        self.correct = self._called("correct", int(rows.holonomic.sum()) if rows.of else 0)
        self.filter = self._called("filter", len(rows.of))

    def _chosen_anew(self, t: float) -> bool:
        """Whether other rows carry the redundant ones here; then they are taken from now on."""
        if self.keep is None:
            return False
        state = self.system.state(self.x[: self.nq], self.x[self.nq :], t)
        keep = independent_rows(self.system, state, self.p)
        if keep is None or keep == self.keep:
            return False
        held = self._held_inputs().copy()
        self.keep = keep
        self._choose_kernels()
        if len(held):
            self.ode.given[self.u_at] = held
        return True

    def _called(self, name: str, rows: int) -> Any:
        """A kernel with its inputs laid out; u and p filled in."""
        kernel = self.system.kernel(name, self.keep)
        given, at, place = np.zeros(max(1, kernel.x_size)), 0, -1
        for argument, size in zip(kernel.names_in, kernel.n_in):
            if argument == "p":
                given[at : at + size] = self.system._p(self.p)
            elif argument == "u":
                given[at : at + size] = self.u
                self.u_at = slice(at, at + size)
            elif argument == "t":
                place = at
            at += size
        out, work = np.zeros(kernel.y_size), np.zeros(max(1, kernel.work_size))
        return self.loop.Called(kernel.address, given, place, out, work, rows)

    def go(self) -> Solution:
        t, status, message = float(self.times[0]), Status.DONE, ""
        try:
            for target in self._targets():
                if self.control is not None:
                    self._sample(t)
                t, status = self._advance(t, target)
                self._progress(t)
                if status != Status.DONE:
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except _ControllerError as error:
            status, message = Status.CALLBACK, f"the controller raised {error} at t = {t:g} s"
        if self.shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
        return self._solution(status, message or self._sentence(status, t))

    def _targets(self) -> list[float]:
        """Where the native loop must stop: sample times of the user and of the controller, and the end."""
        stops = set(self.times[1:].tolist())
        if self.hold:
            count = int(np.ceil((self.times[-1] - self.times[0]) / self.hold - 1e-9))
            stops |= {self.times[0] + k * self.hold for k in range(1, count)}
        return sorted(stops)

    def _advance(self, t: float, target: float) -> tuple[float, Status]:
        """To the target time, natively where possible."""
        loop = self.loop
        times, states = self.buffers
        while t < target:
            outcome, t, count = loop.advance(
                self.ode, self.correct, self.filter, self.method, t, target, self.x, self.nq, self.stages,
                self.numbers, self.counts, self.corrections, times, states,
            )  # fmt: skip
            if not self.sampled:
                self._record(times[:count], states[:count])
            if outcome == loop.UNHEALTHY and not self._chosen_anew(t):
                if self.on_singularity == "stop":
                    return t, Status.SINGULAR
                t, status = self._careful_step(t, target)
                if status != Status.DONE:
                    return t, status
                if not self.sampled:
                    self._record(np.array([t]), self.x[None])
            elif outcome in (loop.TOO_SMALL, loop.NOT_FINITE, loop.DRIFTED):
                return t, {
                    loop.TOO_SMALL: Status.STEP_TOO_SMALL,
                    loop.NOT_FINITE: Status.NOT_FINITE,
                    loop.DRIFTED: Status.DRIFTED,
                }[outcome]
            if self.counts[loop.STEPS] >= self.max_steps:
                return t, Status.STEPS
            self._progress(t)
        if self.sampled and target in self.wanted:
            self._record(np.array([t]), self.x[None])
        return t, Status.DONE

    def _careful_step(self, t: float, target: float) -> tuple[float, Status]:
        """One short step of RK4 by the null-space formulation, which reveals the rank."""
        loop, (A, b, c, *_) = self.loop, tableau("rk4")
        h = (
            min(self.numbers[loop.H], CLOSE, target - t)
            if self.method.exponent
            else min(self.numbers[loop.H], target - t)
        )
        last = h == target - t
        rank = len(self.system.rows.of)
        K: list[np.ndarray] = []
        for i in range(len(b)):
            x = self.x + h * sum((A[i, j] * K[j] for j in range(i)), np.zeros_like(self.x))
            at = self.system.state(x[: self.nq], x[self.nq :], t + c[i] * h)
            a = self.system.acceleration(
                at, u=self._held_inputs(), p=self.p, formulation="nullspace", floor=NEAR, tolerance=NEAR
            )
            if not a.success or not np.isfinite(a.vdot).all():
                return t, Status.UNSOLVED
            rank = min(rank, a.rank)
            K.append(np.concatenate([self.system.rates(at), a.vdot]))
        self.x[:] = self.x + h * sum((w * k for w, k in zip(b, K)), np.zeros_like(self.x))
        after = target if last else t + h
        self.counts[loop.STEPS] += 1
        self.counts[loop.EVALUATIONS] += len(b)
        if self.corrections:
            loop.return_to_manifold(
                self.correct, self.filter, after, self.x, self.nq, self.corrections, self.counts, self.numbers
            )
        if self.passages and self.passages[-1].end == t:
            old = self.passages.pop()
            self.passages.append(Passage(old.start, float(after), min(rank, old.rank), old.steps + 1))
        else:
            self.passages.append(Passage(float(t), float(after), rank, 1))
        return float(after), Status.DONE

    def _held_inputs(self) -> np.ndarray:
        return self.ode.given[self.u_at] if len(self.u) else np.zeros(0)

    def _sample(self, t: float) -> None:
        """Ask the controller."""
        state = self.system.state(self.x[: self.nq], self.x[self.nq :], t)
        try:
            self.ode.given[self.u_at] = self.system._u(self.control(t, state))
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise _ControllerError(f"{type(error).__name__}: {error}") from error

    def _record(self, times: np.ndarray, states: np.ndarray) -> None:
        self.T.append(times.copy())
        self.X.append(states.copy())

    def _progress(self, t: float) -> None:
        """A line on a terminal for runs of more than two seconds."""
        now = time.perf_counter()
        if now - self.clock > 2.0 and sys.stderr.isatty():
            done = (t - self.times[0]) / max(self.times[-1] - self.times[0], 1e-300)
            sys.stderr.write(f"\rsimulating '{self.system.name}': t = {t:.4g} s, {100 * done:.0f} %")
            self.shown = True

    def _sentence(self, status: Status, t: float) -> str:
        return status.sentence if status == Status.DONE else f"at t = {t:.6g} s {status.sentence}"

    def _solution(self, status: Status, message: str) -> Solution:
        X, loop = np.concatenate(self.X), self.loop
        return Solution(
            np.concatenate(self.T),
            X[:, : self.nq],
            X[:, self.nq :],
            status,
            message,
            int(self.counts[loop.STEPS]),
            int(self.counts[loop.REJECTED]),
            int(self.counts[loop.EVALUATIONS]),
            int(self.counts[loop.CORRECTIONS]),
            float(self.numbers[loop.POSITION]),
            float(self.numbers[loop.SPEED]),
            float(self.numbers[loop.WORST]),
            tuple(self.passages),
            self.system,
            self.p,
        )


class _ControllerError(Exception):
    """What a user's controller raised, in words."""


def _on_manifold(system: Any, x: Any, p: Any) -> Any:
    """The start, brought onto the manifold where it misses it by rounding only."""
    if not system.rows.of:
        return x
    gaps = np.abs(system.residuals(x, p=p)), np.abs(system.speed_residuals(x, p=p))
    for gap, what in zip(gaps, ("position", "velocity")):
        if gap.max() > 1e-5:
            worst = int(np.argmax(gap))
            raise ArgumentError(
                f"the start does not satisfy the constraints: the {what} misses row '{system.row_names[worst]}' by "
                f"{gap[worst]:.3g}. Find one that does with system.assemble(...), or system.project(state)."
            )
    return system.project(x, p=p) if max(gap.max() for gap in gaps) > 1e-12 else x


def _times(t: Any, start: float) -> np.ndarray:
    x = np.asarray(t, dtype=float)
    if x.shape == ():
        x = np.array([start, start + float(x)])
    if x.ndim != 1 or len(x) < 2 or not np.all(np.isfinite(x)) or np.any(np.diff(x) < 0):
        raise ArgumentError(f"t is {t!r}; needed: a duration (s), a span (start, end), or increasing times.")
    return x
