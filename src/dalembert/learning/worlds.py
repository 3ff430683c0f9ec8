"""Copies of one system that go on together, step by step, with inputs held during a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.ensembles.ensemble import CHOICES, OPTIONS
from dalembert.ensembles.lanes import Batch, Lanes
from dalembert.ensembles.parts import make_runs
from dalembert.ensembles.plan import EnsemblePlan, usual_lanes
from dalembert.ensembles.starts import Starts, belonging_to
from dalembert.ensembles.variation import Variation
from dalembert.errors import ArgumentError
from dalembert.learning.stepped import NOT_MADE, SteppedWorlds
from dalembert.mechanism.traced import on_expressions
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.setup import Span, make_choices, make_setup
from dalembert.simulation.status import Status
from dalembert.symbols import array
from dalembert.system.system import System
from dalembert.system.trace import Trace

#: options of `simulate` that an environment passes on
REFUSED = ("period", "events", "coordinates", "options", "switches", "stops")
ALLOWED = [name for name in OPTIONS if name not in REFUSED]
DRAWS = 100  # of a start: if a hundredth of the draws is possible, one of three such searches ends in vain, else fewer


class Worlds:
    """n copies: positions q (n, nq), velocities v (n, nv), times t (n,) s, parameters p (n, np)."""

    def __init__(
        self, system: System, states: Any, n: int, period: float, p: Mapping[str, Any], v: Any, guess: Any,
        options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.guess = guess
        self.system, self.n, self.period, self.states, self.given_p = system, n, period, states, dict(p)
        self.given_v = {} if v is None else dict(checks.mapping(v, "v"))
        self.q, self.v, self.t = np.zeros((n, system.nq)), np.zeros((n, system.nv)), np.zeros(n)
        self.p = np.tile(system.arguments.parameter_vector(None), (n, 1))
        self.stepping: SteppedWorlds | None = None
        self.drawn = callable(states) or any(
            hasattr(x, "ppf") for of in (states, p, self.given_v) if isinstance(of, Mapping) for x in of.values()
        )
        given = {**OPTIONS, **options}
        choices = make_choices.__wrapped__(*(given[name] for name in CHOICES))
        self.begin(np.arange(n), 0)
        state = system.state(self.q[0], self.v[0], float(self.t[0]))
        span = Span(state, self.t[0] + period, None, system.arguments.input_vector(None))
        setup = make_setup(system, choices, span, self.p[0], phases=True)
        self.stepping = SteppedWorlds(setup, choices, n) if setup.method_name == "moreau" else None
        if self.stepping is not None:
            self.begin(np.arange(n), 0)  # again: now starts beyond a contact are refused
        wide = usual_lanes(setup)
        self.plan = EnsemblePlan(setup, None, {}, "outputs", wide)
        self.lanes = Lanes(lay_out(Segment(RunLayout(setup), span)), wide) if wide > 1 and n > 1 else None

    def begin(self, rows: np.ndarray, seed: int) -> np.ndarray:
        """Put the worlds of these rows at new starts, with new parameters, drawn by the seed.

        Starts that are not possible (loops that do not close, no mass) are drawn again; returns (len(rows),) how often.
        """
        again, todo, seeds = np.zeros(len(rows), dtype=int), np.arange(len(rows)), np.random.default_rng(seed)
        for _ in range(DRAWS if self.drawn else 1):
            refused = self._put(rows[todo], seed)
            if not refused:
                return again
            todo, seed = todo[list(refused)], int(seeds.integers(2**63))
            again[todo] += 1
        why = next(iter(refused.values()))
        if not self.drawn:
            raise ArgumentError(f"an episode cannot start: {why}")
        raise ArgumentError(
            f"an episode cannot start in {DRAWS} draws: {why} Take distributions of states and p whose values are "
            "mostly possible."
        )

    def _put(self, rows: np.ndarray, seed: int) -> dict[int, str]:
        """Draw starts for these rows; returns {place among them: why it is not possible}."""
        groups = {
            "p": self.given_p, "u": {}, "v": self.given_v,
            "states": dict(self.states) if isinstance(self.states, Mapping) else {},
        }  # fmt: skip
        variation = Variation(groups, len(rows), None, "random", seed)
        own = belonging_to(self.system, self.states, self.guess)[1]
        p = variation.matrix("p", self.system.p_names, own)
        starts = Starts(self.system, self.states, self.guess, variation, p)
        good = np.setdiff1d(np.arange(len(rows)), list(starts.refused))
        put = rows[good]
        self.q[put], self.v[put], self.t[put], self.p[put] = starts.q[good], starts.v[good], starts.t[good], p[good]
        refused = dict(starts.refused)
        if self.stepping is not None:
            refused |= {int(good[i]): why for i, why in self.stepping.begin(self, put).items()}
        return dict(sorted(refused.items()))

    def advance(self, rows: np.ndarray, u: np.ndarray) -> dict[int, str]:
        """One step of the worlds of these rows with inputs u (len(rows), nu); returns the sentences of those that fail.

        A world that fails stays where it is.
        """
        if not len(rows):
            return {}
        if self.stepping is not None:
            return self.stepping.advance(self, rows, u)
        times = self.t[rows, None] + self.period * np.array([0.0, 1.0])
        batch = Batch(self.q[rows], self.v[rows], times, self.p[rows], u, rows, {})
        part, *_ = make_runs(self.plan, batch, lambda: True, self.lanes)
        good = part.status == Status.DONE
        self.put(rows[good], part.x[good], part.t[good])
        return {
            int(rows[k]): NOT_MADE.format(part.messages.get(int(k), Status(part.status[k]).sentence))
            for k in np.flatnonzero(~good)
        }

    def put(self, rows: np.ndarray, x: np.ndarray, t: np.ndarray) -> None:
        """Put the worlds of these rows where x (q, v and what follows) says."""
        nq, n = self.system.nq, self.system.nq + self.system.nv
        self.q[rows], self.v[rows], self.t[rows] = x[:, :nq], x[:, nq:n], t

    def evaluate(self, f: StateFunction, u: np.ndarray | None = None) -> np.ndarray:
        """(n, size) values of a function at the present states."""
        kernel = f.kernel(self.system, self.plan.lanes)
        known = {"q": self.q, "v": self.v, "p": self.p, "t": self.t[:, None], "u": u}
        return np.asarray(kernel.batch(*(known[name] for name in kernel.names_in))).reshape(self.n, -1)


class StateFunction:
    """A function f(t, state), or f(t, state, u) with inputs by name, written in CasADi; None is that of (q, v)."""

    def __init__(self, f: Callable[..., Any] | None, what: str, inputs: bool = False, size: int | None = None) -> None:
        self.f, self.what, self.inputs, self.size = f, what, inputs, size
        if f is not None:
            checks.function(f, what)

    def kernel(self, system: System, lanes: int) -> Any:
        """The machine code."""
        arguments = ("q", "v", "p", "t", "u") if self.inputs else ("q", "v", "p", "t")
        return system.kernels.custom((self.what, self.f), arguments, lambda s: self._value(system, s), lanes=lanes)

    def _value(self, system: System, s: Trace) -> np.ndarray:
        f = self.f
        if f is None:
            return np.concatenate([s.q, s.v])
        more = ({name: s.sx["u"][k] for k, name in enumerate(system.u_names)},) if self.inputs else ()
        made = on_expressions(lambda state: f(state.t, state, *more), s.state, self.what)
        try:
            value = ca.SX(ca.vertcat(*np.atleast_1d(np.asarray(made, dtype=object)).ravel()))
        except (NotImplementedError, ValueError) as error:  # of CasADi: no number; of NumPy: a ragged list
            raise ArgumentError(f"{self.what} gives {checks.shown(made)}; needed: numbers or expressions.") from error
        if self.size is not None and value.numel() != self.size:
            raise ArgumentError(f"{self.what} gives {value.numel()} numbers; needed: {self.size}.")
        if not value.numel():
            raise ArgumentError(f"{self.what} gives no number.")
        return array(ca.vec(value))
