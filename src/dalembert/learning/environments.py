"""`environment` and `environments`: systems behind the interface of Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.ensembles.variation import MOST
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.hints import explained
from dalembert.learning.worlds import ALLOWED, StateFunction, Worlds
from dalembert.protocols import Parameters
from dalembert.system.system import System

if TYPE_CHECKING:
    import gymnasium


class EnvironmentTask:
    """The part shared by one environment and many: worlds, observations, rewards."""

    def __init__(
        self, system: System, states: Any, n: int, period: Any, actions: Any, reward: Any, observe: Any, ends: Any,
        duration: Any, p: Parameters, v: Any, guess: Any, options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        if not hasattr(system, "constraint_matrix"):
            raise ArgumentError(f"system is {checks.shown(system)}; needed: a compiled System, from m.compile().")
        checks.keywords(options, ALLOWED, "options of an environment", of="simulate")
        self.system, self.n = system, n
        period = checks.number(period, "period", least=1e-12)
        self.duration = np.inf if duration is None else checks.number(duration, "duration", least=period)
        self.chosen, self.low, self.high = _limits(system, actions)
        self.worlds = Worlds(system, states, n, period, {} if p is None else checks.mapping(p, "p"), v, guess, options)
        self.begun = self.worlds.t.copy()
        checks.function(reward, "reward")
        self.reward = StateFunction(reward, "reward", inputs=True, size=1)
        self.observe = StateFunction(observe, "observe")
        self.ends = None if ends is None else StateFunction(ends, "ends", size=1)
        self.size = self.worlds.evaluate(self.observe).shape[1]

    def begin(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New starts for these rows; (len(rows),) how often each was drawn again because it was not possible."""
        again = self.worlds.begin(rows, int(rng.integers(2**63)))
        self.begun[rows] = self.worlds.t[rows]
        return again

    def seen(self) -> np.ndarray:
        """(n, size) observations."""
        return self.worlds.evaluate(self.observe).astype(np.float32)

    def step(self, rows: np.ndarray, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[int, str]]:
        """One step of these rows: rewards, whether each has come to an end, or to the duration's, and what failed."""
        asked = checks.array(actions, (self.n, len(self.chosen)), "actions")
        u = np.tile(self.system.arguments.input_vector(None), (self.n, 1))
        u[:, self.chosen] = np.clip(asked, self.low, self.high)
        failed = self.worlds.advance(rows, u[rows])
        rewards = self.worlds.evaluate(self.reward, u)[:, 0]
        over = np.zeros(self.n, dtype=bool) if self.ends is None else self.worlds.evaluate(self.ends)[:, 0] != 0.0
        over[list(failed)] = True
        late = self.worlds.t - self.begun >= self.duration - 0.5 * self.worlds.period
        idle = np.ones(self.n, dtype=bool)
        idle[rows] = False
        rewards[idle], over[idle], late[idle] = 0.0, False, False
        return rewards, over, late & ~over, failed


def _limits(system: System, actions: Any) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Inputs that an agent sets, and their least and greatest values."""
    names = list(system.u_names)
    given = checks.mapping(actions, "actions")
    if not given:
        raise ArgumentError(f"actions is empty; needed: limits of inputs, among {', '.join(names) or 'none'}.")
    places, low, high = [], [], []
    for name, limits in given.items():
        if name not in names:
            raise unknown("input", name, names)
        a, b = checks.array(limits, (2,), f"actions['{name}']")
        if not a < b:
            raise ArgumentError(f"actions['{name}'] is ({a:g}, {b:g}); needed: a least and a greater value.")
        places.append(names.index(name))
        low.append(a)
        high.append(b)
    return places, np.array(low), np.array(high)


@explained
def environment(
    system: System,
    states: Any,
    *,
    period: float,
    actions: Mapping[str, tuple[float, float]],
    reward: Callable[..., Any],
    observe: Callable[..., Any] | None = None,
    ends: Callable[..., Any] | None = None,
    duration: float | None = None,
    p: Mapping[str, Any] | None = None,
    v: Mapping[str, Any] | None = None,
    guess: Any = None,
    **options: Any,
) -> gymnasium.Env[Any, Any]:
    """A `gymnasium.Env` of a system (extra `learning`).

    system: a compiled `System`. states: where an episode starts: a state, coordinates by name with numbers or
    distributions of `scipy.stats` (and velocities v), or a function, as in `ensemble`. p: parameters, numbers or
    distributions, drawn anew for each episode. guess: where loops are assembled from, as in `System.assemble`.
    period: s from one action to the next; an action is held in between. The motion is integrated with error control, or
    with a fixed `step` by the methods that have one: method="moreau" for robots on the ground (docs/contacts.md).
    actions: {input: (least, greatest)} in N or N m; actions beyond are cut off; other inputs are as in `simulate`.
    reward: f(t, state, u) after each step, u the inputs by name. observe: f(t, state), the numbers that an agent sees;
    positions and velocities by default. ends: f(t, state), not zero where an episode is over. All three are written in
    CasADi, as in `da.expression`, and run as machine code.
    duration: s after which an episode is cut off. options: of `simulate`, such as rtol, method and step.

    A start that was drawn and is not possible (loops that do not close) is drawn again; info["redrawn"] is how often.
    A step that cannot be made ends the episode; info["message"] says why.

    >>> import casadi as ca, dalembert as da
    >>> from scipy.stats import uniform
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> motor = m.add_motor("motor", "A")
    >>> env = da.environment(
    ...     m.compile(), {"A": uniform(-0.1, 0.2)}, period=0.05, actions={"motor": (-2, 2)}, duration=5.0,
    ...     reward=lambda t, s, u: -ca.cos(s["A"]) - 0.01 * u["motor"] ** 2,
    ...     observe=lambda t, s: [ca.cos(s["A"]), ca.sin(s["A"]), s.rate("A")],
    ... )
    >>> seen, info = env.reset(seed=1)
    >>> seen, reward, ended, cut_off, info = env.step([1.0])
    >>> seen.shape, ended, cut_off
    ((3,), False, False)
    """
    extra("gymnasium", "learning", "an environment")
    from dalembert.learning.gym import Environment

    return Environment(
        EnvironmentTask(system, states, 1, period, actions, reward, observe, ends, duration, p, v, guess, options)
    )


@explained
def environments(
    system: System,
    states: Any,
    n: int,
    *,
    period: float,
    actions: Mapping[str, tuple[float, float]],
    reward: Callable[..., Any],
    observe: Callable[..., Any] | None = None,
    ends: Callable[..., Any] | None = None,
    duration: float | None = None,
    p: Mapping[str, Any] | None = None,
    v: Mapping[str, Any] | None = None,
    guess: Any = None,
    **options: Any,
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """A `gymnasium.vector.VectorEnv` of n copies of a system, whose steps run side by side in lanes (extra `learning`).

    Copies with contacts go on by themselves, those of method="moreau" in as many threads as there are processors.

    n: how many copies; the others as in `environment`: system, states, period (s), actions, reward, observe, ends,
    duration (s), p (parameters), v, guess and options. A copy whose episode is over starts again with the next step, as
    Gymnasium has it (`AutoresetMode.NEXT_STEP`). The copies go on as single environments do, within the tolerances,
    whatever copies are beside them.

    >>> import casadi as ca, dalembert as da
    >>> from scipy.stats import uniform
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> motor = m.add_motor("motor", "A")
    >>> envs = da.environments(
    ...     m.compile(), {"A": uniform(-0.1, 0.2)}, 64, period=0.05, actions={"motor": (-2, 2)}, duration=5.0,
    ...     reward=lambda t, s, u: -ca.cos(s["A"]),
    ... )
    >>> seen, info = envs.reset(seed=1)
    >>> seen, rewards, ended, cut_off, info = envs.step(envs.action_space.sample())
    >>> seen.shape, rewards.shape
    ((64, 2), (64,))
    """
    extra("gymnasium", "learning", "environments")
    from dalembert.learning.gym import Environments

    n = checks.whole(n, "n", least=1, most=MOST)
    return Environments(
        EnvironmentTask(system, states, n, period, actions, reward, observe, ends, duration, p, v, guess, options)
    )
