"""Discrete optimal control on the exact derivatives of the variational midpoint rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from dalembert.analysis.at_states import StateRows, state_rows
from dalembert.analysis.motion_columns import motion_columns
from dalembert.checks import array, choice, flag, function, number, shown, whole
from dalembert.control.optimal_problem import CostedMotion, OptimalProblem
from dalembert.control.optimal_search import search, search_from_far
from dalembert.control.plan import MotionPlan
from dalembert.control.references import LimitsGiven, checked_path
from dalembert.control.stage_costs import Cost
from dalembert.errors import ArgumentError
from dalembert.hints import explained
from dalembert.mechanism.constraints.expression import Expression
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.simulation.results.powers import Powers
from dalembert.simulation.results.run import Run
from dalembert.simulation.simulate import simulate
from dalembert.statics.limits import Bounds
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

MOST = 100_000  # steps: more is a slip of the pen
#: where a search may start: a motion, inputs, or states and inputs; None for its own guesses
Guess = Union["OptimalMotion", MotionPlan, np.ndarray, "tuple[Any, Any]", None]


@dataclass(frozen=True, eq=False)
class OptimalMotion(Powers):
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
    costs: tuple[float, ...]  # after each iteration, the first of the guess; with a path, with what its limits cost
    slope: float  # the largest derivative of the cost by an input that is free to move
    violation: float  # how far the limits of the path are exceeded
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
        x = self.system.state(self.q[k], self.v[k], float(self.t[k]))
        return self.system.arguments.belonging(x, self.p, self.u[min(k % len(self.t), len(self.u) - 1)])

    @property
    def vdot(self) -> np.ndarray:
        """(N + 1, nv) accelerations under the inputs held from there on, at the end under the last ones."""
        return self._dynamics[0]

    def _records(self) -> StateRows:
        u = np.vstack([self.u, self.u[-1:]])
        return state_rows(self.system, self.q, self.v, u, self.p, self.t)

    def _columns(self) -> Columns:
        """Over t: q, v and the inputs held from there on; none at the end."""
        u = np.vstack([self.u, np.full((1, self.u.shape[1]), np.nan)])
        values, units = motion_columns(self.system, self.q, self.v, u)
        return Columns(self.system.name, "t", self.t, values, {"t": "s", **units})

    def inputs(self, t: float, state: Any = None) -> np.ndarray:
        """(inputs,) at a time t (s), without feedback; state: not used."""
        return self.u[self._step_at(t)]

    def feedback(self, t: float, state: Any) -> np.ndarray:
        """(inputs,) at a time t (s) and a state, with gains, within the limits: a controller for period=motion.step."""
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
        x = self.state(0) if start is None else start
        return simulate(
            self.system, x, float(self.t[-1] - self.t[0]), u=law, period=self.step, p=self.p, method=method, **options
        )

    def __repr__(self) -> str:
        return f"<motion of '{self.system.name}' in {len(self.u)} steps: cost {self.cost:.6g}; {self.message}>"


@explained
def optimal_motion(
    system: System,
    start: StateGiven,
    duration: float,
    cost: Cost,
    final: Callable[[Any], Any],
    *,
    steps: int = 100,
    method: str | None = None,
    limits: LimitsGiven = None,
    bounds: Sequence[tuple[Expression, float, float]] = (),
    guess: Guess = None,
    p: Parameters = None,
    max_iterations: int = 200,
    tolerance: float = 1e-9,
    allowed: float = 1e-6,
) -> OptimalMotion:
    """The motion from a state that makes Σ h cost(x_k, u_k) + final(x_N) least, in steps of the variational rule.

    system, start: the mechanism, with holonomic constraints or none, and the state it starts from. duration: s, in
    `steps` steps of equal length h. cost: f(state, inputs), an expression per second: the state as in force laws,
    `s["A"]`, `s.rate("A")`, `s.position("tip")`, `s.t` (so that it may track a motion), inputs by name, `u["push"]`.
    final: f(state).

    method: "newton", the projection-operator Newton method with exact second derivatives of the steps; or "ilqr", which
    leaves these out, costs less for each iteration, and keeps limits of inputs while it searches.
    Default: "newton", and "ilqr" with limits.
    limits: of inputs, one number, or by name a bound or (lower, upper), kept by "ilqr" alone.
    bounds: (function, lower, upper) each, the function an expression of the state as in `plan_motion`, kept at all
    states after the start to `allowed`, in the function's own units (augmented Lagrangian method).
    guess: where to start: a motion found before or a MotionPlan, whose states are followed; inputs (steps, inputs); or
    (states, inputs): steps + 1 states, or an array of q and v, that are followed with the gains of the cost, whether or
    not the mechanism can move along them, and inputs (steps, inputs) or None. Default: the better motion of two
    searches, one from no inputs or rest at the start, one along the states of least cost at each time.
    p: parameters. The search ends
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
    start, _, p = system.arguments.resolve(start, None, p)
    duration, tolerance, allowed = (
        number(x, what, above=0.0)
        for x, what in ((duration, "the duration"), (tolerance, "tolerance"), (allowed, "allowed"))
    )
    steps = whole(steps, "steps", least=1, most=MOST)
    most = whole(max_iterations, "max_iterations", least=1, most=2**31 - 1)
    if method is not None:
        choice(method, ("newton", "ilqr"), "method")
    function(cost, "cost"), function(final, "final")
    if not system.u_names:
        raise ArgumentError(f"'{system.name}' has no inputs to plan with; add one with add_motor(name, joint).")
    inputs = Bounds.of(system.u_names, limits, "input")
    limited = bool(np.isfinite(inputs.lower).any() or np.isfinite(inputs.upper).any())
    if method == "newton" and limited:
        raise ArgumentError('method "newton" has no limits of inputs; needed with limits: method="ilqr", the default.')
    newton = not limited if method is None else method == "newton"
    parameters = np.array(system.arguments.parameter_vector(p), dtype=float)
    both = inputs.lower, inputs.upper
    problem = OptimalProblem(system, start, duration, steps, cost, final, both, checked_path(bounds), parameters)
    searches = [search(problem, _first(problem, guess), newton, most, tolerance, allowed)]
    if guess is None and (led := problem.along_least_cost()) is not None:
        searches.append(search_from_far(problem, led, newton, most, tolerance, allowed))
    found = min(searches, key=lambda x: (x.violation > allowed, x.motion.cost))
    motion, slopes = found.motion, found.slopes
    q, v = np.split(motion.x, [system.nq], axis=1)
    return OptimalMotion(
        system, motion.t, q, v, motion.u, found.gains,
        slopes.momentum, slopes.multipliers, motion.cost, tuple(found.costs), found.slope, found.violation,
        found.success, found.message, both, parameters,
    )  # fmt: skip


def _first(problem: OptimalProblem, guess: Guess) -> CostedMotion:
    """The motion to start from."""
    system = problem.system
    if guess is None:
        found = problem.first()
    elif isinstance(guess, (OptimalMotion, MotionPlan)):
        if not guess.system.layout.same(system.layout):
            raise ArgumentError(f"guess is {shown(guess)}; needed: a motion of '{system.name}'.")
        planned = isinstance(guess, MotionPlan)
        u = guess.u if planned else np.vstack([guess.u, guess.u[-1:]])
        found = problem.resampled(guess.t - guess.t[0], guess.q, guess.v, u, middle=planned)
    elif isinstance(guess, tuple):
        found = problem.along(*_states_and_inputs(problem, guess))
    else:
        found = problem.by_inputs(array(guess, (problem.steps, problem.nu), "guess"))
    if found is None:
        raise ArgumentError(
            f"the guess of a motion of '{system.name}' cannot be followed in steps of {problem.h:g} s; take more "
            "steps, or another guess."
        )
    return found


def _states_and_inputs(problem: OptimalProblem, guess: tuple[Any, ...]) -> tuple[list[State], np.ndarray]:
    """States at the beginning and after each step, and inputs."""
    system, N = problem.system, problem.steps
    if len(guess) != 2:
        raise ArgumentError(f"guess is a tuple of {len(guess)}; needed: (states, inputs).")
    states, inputs = guess
    if not isinstance(states, (list, tuple, np.ndarray)) or len(states) != N + 1:
        raise ArgumentError(
            f"the states of the guess are {shown(states)}; needed: {N + 1} states, or an array ({N + 1}, "
            f"{system.nq + system.nv}) of q and v, one more than there are steps."
        )
    if isinstance(states, np.ndarray):
        x = array(states, (N + 1, system.nq + system.nv), "the states of the guess")
        states = [system.state(row[: system.nq], row[system.nq :]) for row in x]
    times = problem.start.t + problem.h * np.arange(N + 1)
    at = [system.arguments.as_state(x).replace(t=float(t)) for x, t in zip(states, times)]
    u = np.zeros((N, problem.nu)) if inputs is None else array(inputs, (N, problem.nu), "the inputs of the guess")
    return [system.project(x, p=problem.p) for x in at], u
