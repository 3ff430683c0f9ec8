"""Discrete optimal control on the exact derivatives of the variational midpoint rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import array, choice, flag, function, number, shown, whole
from dalembert.control import sweeps
from dalembert.control.plan import MotionPlan
from dalembert.control.references import LimitsGiven
from dalembert.control.stage_costs import Cost, Expansions, StageCost
from dalembert.errors import ArgumentError, DalembertError
from dalembert.linearization.discrete import DiscreteStep, advanced, discrete_step
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.simulation.run import Run
from dalembert.simulation.simulate import simulate
from dalembert.statics.limits import Bounds
from dalembert.system.state import State
from dalembert.system.system import System

MOST = 100_000  # steps: more is a slip of the pen
SHORTEST = 2.0**-20  # part of a step of the search below which it ends


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """A motion of least cost in N steps of the variational midpoint rule, and the feedback that keeps it."""

    system: System
    t: np.ndarray  # (N + 1,) s
    q: np.ndarray  # (N + 1, nq)
    v: np.ndarray  # (N + 1, nv)
    u: np.ndarray  # (N, inputs), each held for one step
    gains: np.ndarray  # (N, inputs, 2 nv) u = u_k + gains · (q ⊖ q_k, v − v_k): the regulator that the cost defines
    momentum: np.ndarray  # (N + 1, nv) M v
    multipliers: np.ndarray  # (N, rows) impulses of the constraints
    cost: float
    costs: tuple[float, ...]  # after each iteration, the first of the guess
    slope: float  # the largest derivative of the cost by an input that is free to move
    success: bool
    message: str
    limits: tuple[np.ndarray, np.ndarray]  # (inputs,) each
    p: np.ndarray

    @property
    def step(self) -> float:
        """Length of a step, s."""
        return float(self.t[1] - self.t[0])

    def state(self, k: int) -> State:
        """The state at the k-th time, k from 0; negative k count from the end."""
        k = whole(k, "k", least=-len(self.t), most=len(self.t) - 1)
        return self.system.state(self.q[k], self.v[k], float(self.t[k]))

    def inputs(self, t: float, state: Any = None) -> np.ndarray:
        """(inputs,) at a time t (s), without feedback; state: not used."""
        return self.u[self._step_at(t)]

    def feedback(self, t: float, state: Any) -> np.ndarray:
        """(inputs,) at a time t (s) and a state, with gains, within the limits: a controller for hold=motion.step."""
        k = self._step_at(t)
        x = np.concatenate([self.system.minus(np.asarray(state.q), self.q[k]), np.asarray(state.v) - self.v[k]])
        return np.clip(self.u[k] + self.gains[k] @ x, *self.limits)

    def _step_at(self, t: float) -> int:
        after = min(max(number(t, "t") - self.t[0], 0.0), float(self.t[-1] - self.t[0]))
        return min(int(after / self.step + 1e-6), len(self.u) - 1)

    def simulate(
        self, *, feedback: bool = False, start: StateGiven | None = None, method: str = "variational", **options: Any
    ) -> Run:
        """The motion in `da.simulate`: the same steps, or with another method.

        feedback: whether the gains act. start: another state to start from. method: "variational" takes the steps of
        the motion itself. options: those of `da.simulate`.
        """
        law: Callable[..., np.ndarray] = self.feedback if flag(feedback, "feedback") else self.inputs
        if isinstance(method, str) and method == "variational":
            options["step"] = self.step
        x = self.state(0) if start is None else self.system.as_state(start)
        return simulate(
            self.system, x, float(self.t[-1] - self.t[0]), u=law, hold=self.step, p=self.p, method=method, **options
        )

    def __repr__(self) -> str:
        return f"<motion of '{self.system.name}' in {len(self.u)} steps: cost {self.cost:.6g}; {self.message}>"


def optimal_motion(
    system: System,
    start: StateGiven,
    duration: float,
    cost: Cost,
    final: Callable[[Any], Any],
    *,
    steps: int = 100,
    method: str = "newton",
    limits: LimitsGiven = None,
    guess: OptimalMotion | MotionPlan | np.ndarray | None = None,
    p: Parameters = None,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
) -> OptimalMotion:
    """The motion from a state that makes Σ h cost(x_k, u_k) + final(x_N) least, in steps of the variational rule.

    system, start: the mechanism, with holonomic constraints or none, and the state it starts from. duration: s, in
    `steps` steps of equal length h. cost: f(state, inputs), an expression per second: the state as in force laws,
    `s["A"]`, `s.rate("A")`, `s.position("tip")`, `s.t` (so that it may track a motion), inputs by name, `u["push"]`.
    final: f(state).

    method: "newton", the projection-operator Newton method with exact second derivatives of the steps; or "ilqr", which
    leaves these out, costs less for each iteration, and keeps limits of inputs while it searches.
    limits: of inputs, one number, or by name a bound or (lower, upper); with them method is "ilqr".
    guess: where to start: a motion found before or a MotionPlan, whose states are followed, or inputs (steps, inputs);
    default: the better of no inputs and of following rest at the start. p: parameters. The search ends
    when an iteration would change the cost by less than tolerance of it, or after max_iterations.

    Trouble is in the result's message; `motion.simulate()` takes the same steps, `motion.simulate(feedback=True,
    start=…)` shows how the gains bring it back.

    >>> from dalembert import control, zoo
    >>> system = zoo.cart_pole().compile()
    >>> start = system.state({"cart": 0.3, "phi1": 0.2})
    >>> motion = control.optimal_motion(
    ...     system, start, 2.0, lambda s, u: s["cart"] ** 2 + 10 * s["phi1"] ** 2 + 0.1 * u["push"] ** 2,
    ...     lambda s: 10 * (s["cart"] ** 2 + s["phi1"] ** 2 + s.rate("cart") ** 2 + s.rate("phi1") ** 2), steps=40)
    >>> motion.success, bool(abs(motion.simulate().state(-1)["phi1"] - motion.state(-1)["phi1"]) < 1e-9)
    (True, True)
    """
    check_system(system)
    x = system.as_state(start)
    duration, tolerance = (number(d, w, above=0.0) for d, w in ((duration, "the duration"), (tolerance, "tolerance")))
    steps = whole(steps, "steps", least=1, most=MOST)
    most = whole(max_iterations, "max_iterations", least=1, most=2**31 - 1)
    choice(method, ("newton", "ilqr"), "method")
    function(cost, "cost"), function(final, "final")
    if not system.u_names:
        raise ArgumentError(f"'{system.name}' has no inputs to plan with; add one with add_motor(name, joint).")
    bounds = Bounds.of(system.u_names, limits, "input")
    limited = bool(np.isfinite(bounds.lower).any() or np.isfinite(bounds.upper).any())
    if method == "newton" and limited:
        raise ArgumentError('method "newton" has no limits of inputs; needed with limits: method="ilqr".')
    problem = _Problem(system, x, duration, steps, cost, final, (bounds.lower, bounds.upper), p)
    return _search(problem, problem.first(guess), method == "newton", most, tolerance)


@dataclass(frozen=True, eq=False)
class _Motion:
    """Inputs, the states they lead to, and the cost."""

    states: list[State]
    u: np.ndarray
    cost: float


class _Problem:
    """The problem of `optimal_motion`, and the motion along given inputs."""

    def __init__(
        self,
        system: System,
        start: State,
        duration: float,
        steps: int,
        cost: Cost,
        final: Callable[[Any], Any],
        limits: tuple[np.ndarray, np.ndarray],
        p: Parameters,
    ):
        self.system, self.start, self.steps, self.h, self.limits = system, start, steps, duration / steps, limits
        self.p = np.array(system.parameter_vector(p), dtype=float)
        self.stage = StageCost(system, cost, "cost")
        self.last = StageCost(system, _of_state(final), "final")
        self.nu, self.n = len(system.u_names), 2 * system.nv

    def expand(self, motion: _Motion) -> tuple[Expansions, Expansions]:
        """The stage costs, times h, and the final one."""
        q, v, t = (np.array([getattr(x, k) for x in motion.states]) for k in ("q", "v", "t"))
        l = self.stage.at(q[:-1], v[:-1], motion.u, self.p, t[:-1])
        h = self.h
        end = self.last.at(q[-1:], v[-1:], np.zeros((1, self.nu)), self.p, t[-1:])
        return Expansions(h * l.value, h * l.gradient, h * l.hessian), end

    def slopes(self, motion: _Motion) -> list[DiscreteStep]:
        """Every step with its derivatives."""
        return [discrete_step(self.system, x, self.h, u=u, p=self.p) for x, u in zip(motion.states, motion.u)]

    def away(self, x: State, other: State) -> np.ndarray:
        """(2 nv,) x less another state."""
        return np.concatenate([self.system.minus(x.q, other.q), x.v - other.v])

    def moved(self, x: State, d: np.ndarray) -> State:
        nv = self.system.nv
        return self.system.state(self.system.plus(x, d[:nv]), x.v + d[nv:], x.t)

    def followed(self, states: list[State], u: np.ndarray, K: np.ndarray) -> _Motion | None:
        """The motion of inputs u + K (x less the states wanted); None where a step cannot be taken."""
        x, found, used = self.start, [self.start], np.zeros_like(u)
        for k in range(self.steps):
            used[k] = np.clip(u[k] + K[k] @ self.away(x, states[k]), *self.limits)
            if not np.isfinite(used[k]).all():
                return None
            try:
                x = advanced(self.system, x, self.h, used[k], self.p)
            except DalembertError:
                return None
            found.append(x)
        motion = _Motion(found, used, 0.0)
        l, end = self.expand(motion)
        cost = float(l.value.sum() + end.value[0])
        return _Motion(found, used, cost) if np.isfinite(cost) else None

    def first(self, guess: Any) -> _Motion:
        """The motion to start from."""
        N, nu, none = self.steps, self.nu, np.zeros((self.steps, self.nu, self.n))
        if isinstance(guess, (OptimalMotion, MotionPlan)):
            found = self._along(guess)
        elif guess is not None:
            found = self.followed([self.start] * N, array(guess, (N, nu), "guess"), none)
        else:
            rest = [self.start.replace(v=np.zeros(self.system.nv), t=self.start.t + k * self.h) for k in range(N + 1)]
            plain = self.followed([self.start] * N, np.zeros((N, nu)), none)
            found = self._projected(rest, np.zeros((N, nu))) if self._may_rest(rest[0]) else None
            found = min((x for x in (found, plain) if x is not None), key=lambda x: x.cost, default=None)
        if found is None:
            raise ArgumentError(
                f"the guess of a motion of '{self.system.name}' cannot be followed in steps of {self.h:g} s; take more "
                "steps, or another guess."
            )
        return found

    def _along(self, guess: OptimalMotion | MotionPlan) -> _Motion | None:
        """The states of a guess at our times, followed with the gains of the cost."""
        if not guess.system.layout.same(self.system.layout):
            raise ArgumentError(f"guess is {shown(guess)}; needed: a motion of '{self.system.name}'.")
        t = self.start.t + self.h * np.arange(self.steps + 1)
        old = guess.t - guess.t[0] + self.start.t
        known = guess.u if isinstance(guess, MotionPlan) else np.vstack([guess.u, guess.u[-1:]])
        middle = t[:-1] + (0.5 * self.h if isinstance(guess, MotionPlan) else 0.0)
        u = np.column_stack([np.interp(middle, old, x) for x in known.T])
        states = []
        for time in t:
            k = int(np.clip(np.searchsorted(old, time, side="right") - 1, 0, len(old) - 2))
            s = float(np.clip((time - old[k]) / (old[k + 1] - old[k]), 0.0, 1.0))
            q = self.system.plus(guess.q[k], s * self.system.minus(guess.q[k + 1], guess.q[k]))
            v = (1 - s) * guess.v[k] + s * guess.v[k + 1]
            states.append(self.system.project(self.system.state(q, v, float(time)), p=self.p))
        return self._projected(states, u)

    def _may_rest(self, x: State) -> bool:
        """Whether a state at rest is on the constraints: not where drivers move them."""
        return not self.system.rows.of or bool(np.abs(self.system.speed_residuals(x, p=self.p)).max() < 1e-9)

    def _projected(self, states: list[State], u: np.ndarray) -> _Motion | None:
        """The motion that follows a curve, with the gains of the cost along it."""
        motion = _Motion(states, u, np.inf)
        steps, (l, end) = self.slopes(motion), self.expand(motion)
        free = np.full((self.steps, self.nu), -np.inf), np.full((self.steps, self.nu), np.inf)
        found = sweeps.backward(*_matrices(steps), l, end, free, 1e-12)
        return None if found is None else self.followed(states, u, found.K)


def _of_state(final: Callable[[Any], Any]) -> Cost:
    """f(state) as f(state, inputs); equal for equal functions, so that nothing is compiled twice."""
    return _Final(final)


@dataclass(frozen=True)
class _Final:
    f: Callable[[Any], Any]

    def __call__(self, state: Any, inputs: Any) -> Any:
        return self.f(state)


def _matrices(steps: list[DiscreteStep]) -> tuple[np.ndarray, np.ndarray]:
    """A (N, 2 nv, 2 nv) and B (N, 2 nv, inputs)."""
    whole_ = np.array([np.vstack([s.derivative("q"), s.derivative("v")]) for s in steps])
    n = 2 * steps[0].system.nv
    return whole_[:, :, :n], whole_[:, :, n : n + len(steps[0].u)]


def _bent(steps: list[DiscreteStep], p: np.ndarray) -> list[np.ndarray]:
    """Σ p_i ∂²f_i of every step, by (x, u), symmetric."""
    out, nv = [], steps[0].system.nv
    size = 2 * nv + len(steps[0].u)
    for step, costate in zip(steps, p[1:]):
        one = np.eye(2 * nv + len(step.u) + len(step.p))[:size]
        H = np.array([costate[:nv] @ step.second("q", d) + costate[nv:] @ step.second("v", d) for d in one])[:, :size]
        out.append(0.5 * (H + H.T))
    return out


def _search(problem: _Problem, motion: _Motion, newton: bool, most: int, tolerance: float) -> OptimalMotion:
    """Iterations to the least cost."""
    damping, costs, message, success = 0.0, [motion.cost], "", False
    steps, (l, end) = problem.slopes(motion), problem.expand(motion)
    for iteration in range(most + 1):
        A, B = _matrices(steps)
        bounds = problem.limits[0] - motion.u, problem.limits[1] - motion.u
        regulator = sweeps.backward(A, B, l, end, bounds, max(damping, 1e-14))
        sweep, curved = regulator, False
        if newton:
            p = sweeps.costates(A, l, end, problem.n)
            exact = sweeps.backward(A, B, l, end, bounds, damping, _bent(steps, p))
            sweep, curved = (exact, True) if exact is not None else (regulator, False)
        if regulator is None or sweep is None:
            message = "the cost has no curvature by some input; give every input a cost"
            break
        if -(sweep.slope + sweep.curve) <= tolerance * (abs(motion.cost) + 1e-300) * 1e-2 or sweep.slope == 0.0:
            message, success = f"found in {iteration} iterations", True
            break
        if iteration == most:
            message = f"not found in {most} iterations; raise max_iterations, or start from a better guess"
            break
        better, part = _line(problem, motion, sweep, regulator if curved else None, A, B)
        if better is None:
            if damping < 1e8:
                damping = max(1e-6, 10.0 * damping)
                continue
            message = "no step lowers the cost any more; rounding, or a cost that is not smooth"
            success = -(sweep.slope + sweep.curve) <= 1e-6 * abs(motion.cost)
            break
        damping = 0.0 if part == 1.0 and damping < 1e-5 else damping / 3.0
        motion = better
        costs.append(motion.cost)
        steps, (l, end) = problem.slopes(motion), problem.expand(motion)
    t = np.array([x.t for x in motion.states])
    gains = np.zeros((problem.steps, problem.nu, problem.n)) if regulator is None else regulator.K
    slope = np.nan if sweep is None else sweep.steepest
    return OptimalMotion(
        problem.system, t, np.array([x.q for x in motion.states]), np.array([x.v for x in motion.states]), motion.u,
        gains, np.array([steps[0].momentum_before, *(s.momentum for s in steps)]),
        np.array([s.multipliers for s in steps]), motion.cost, tuple(costs), slope, success, message,
        problem.limits, problem.p,
    )  # fmt: skip


def _line(
    problem: _Problem,
    motion: _Motion,
    sweep: sweeps.Sweep,
    regulator: sweeps.Sweep | None,
    A: np.ndarray,
    B: np.ndarray,
) -> tuple[_Motion | None, float]:
    """The first of ever shorter steps that lowers the cost as it should, and its length.

    With a regulator the curve x + s z, u + s w, z and w the linear motion of the sweep, is followed by its gains: the
    projection of a curve on motions. Without one the gains of the sweep act, as in DDP.
    """
    states, z, w = motion.states, [np.zeros(problem.n)], []
    if regulator is not None:
        for k in range(problem.steps):
            w.append(sweep.k[k] + sweep.K[k] @ z[-1])
            z.append(A[k] @ z[-1] + B[k] @ w[-1])
    part = 1.0
    while part > SHORTEST:
        if regulator is None:
            trial = problem.followed(states, motion.u + part * sweep.k, sweep.K)
        else:
            wanted = [problem.moved(x, part * d) for x, d in zip(states, z)]
            trial = problem.followed(wanted, motion.u + part * np.array(w), regulator.K)
        expected = part * sweep.slope + part * part * sweep.curve
        if trial is not None and trial.cost <= motion.cost + 1e-4 * min(expected, 0.0):
            return trial, part
        part *= 0.5
    return None, 0.0
