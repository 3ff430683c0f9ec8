"""Where the runs of an ensemble start: given, assembled for each run's parameters, or made by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.ensembles.assembling import assembled
from dalembert.ensembles.variation import Variation
from dalembert.errors import ArgumentError, DalembertError
from dalembert.rank import row_units
from dalembert.simulation.setup import CLOSED, MANY_TURNS, check_resolution, on_manifold
from dalembert.system.inertia import check_mass, varies_inertia
from dalembert.system.state import State
from dalembert.system.system import System

TOGETHER = 256  # mass matrices that are factored at once


@dataclass(frozen=True, eq=False)
class States(Sequence[State]):
    """n states of one system, one row a variant; rows that cannot be assembled are NaN and have a message."""

    system: System
    q: np.ndarray  # (n, nq)
    v: np.ndarray  # (n, nv)
    t: np.ndarray  # (n,) s
    p: np.ndarray  # (n, np) parameters
    messages: dict[int, str]  # {row: why there is none}

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, k: Any) -> Any:
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        if k % len(self) in self.messages:
            raise ArgumentError(f"row {k} has no state: {self.messages[k % len(self)]}")
        return self.system.arguments.belonging(self.system.state(self.q[k], self.v[k], float(self.t[k])), self.p[k])

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))


class Starts:
    """(n, nq) positions, (n, nv) velocities and (n,) times; refused: {run: why it cannot begin}."""

    def __init__(
        self,
        system: System,
        states: Any,
        guess: Any,
        variation: Variation,
        p: np.ndarray,
        u: np.ndarray | None = None,
    ) -> None:
        n, self.system, self.p, self.u = variation.n, system, p, u
        self.refused = dict(variation.refused)
        self.varied, self.guess = variation, guess
        self.q, self.v, self.t = np.zeros((n, system.nq)), np.zeros((n, system.nv)), np.zeros(n)
        make, todo = self._maker(states), np.ones(n, dtype=bool)
        if make is None:
            x = system.arguments.as_state(states)
            self.q[:], self.v[:], self.t[:] = x.q, x.v, x.t
        elif isinstance(states, Mapping):
            todo = self._assemble() if system.rows.of else self._place()
        elif isinstance(states, States) and system.layout.same(states.system.layout):
            self.q[:], self.v[:], self.t[:] = states.q, states.v, states.t
            self.refused = states.messages | self.refused
            todo[:] = False
        elif is_sequence(states) and _are_of(system, states):
            np.concatenate([x.q for x in states], out=self.q.reshape(-1))
            np.concatenate([x.v for x in states], out=self.v.reshape(-1))
            self.t[:] = [x.t for x in states]
            todo[:] = False
        if make is not None:
            for k in np.flatnonzero(todo):
                if int(k) not in variation.refused:
                    self._put(int(k), make)
        self._close()
        self._weigh()
        self.q[list(self.refused)] = self.v[list(self.refused)] = np.nan

    def need_one(self) -> Starts:
        """The starts, of which one or more can begin; raises ArgumentError where none can."""
        if len(self.refused) == len(self.q):
            raise ArgumentError(f"no run can begin; the first one: {self.refused[0]}")
        return self

    def _assemble(self) -> np.ndarray:
        """Assemble all runs side by side, each from the guess; (n,) whether a run is still to be made by itself."""
        system, groups, guess = self.system, self.varied.groups, self.guess
        todo = np.ones(len(self.q), dtype=bool)
        todo[list(self.refused)] = False
        known = {*system.layout.joints, *system.q_names}, {*system.layout.joints, *system.v_names}
        if not (known[0].issuperset(groups["states"]) and known[1].issuperset(groups["v"])):
            return todo  # `System.assemble` refuses them
        try:
            start = (
                system.state(guess) if guess is None or isinstance(guess, Mapping) else system.arguments.as_state(guess)
            )
        except DalembertError:
            return todo
        good = todo.copy()
        q, v = assembled(system, start.replace(t=0.0), groups["states"], groups["v"], self.p, good)
        self.q[good], self.v[good] = q[good], v[good]
        return todo & ~good

    def _place(self) -> np.ndarray:
        """Put coordinates and velocities in place, all runs at once; (n,) whether a run is still to be made."""
        layout, groups = self.system.layout, self.varied.groups
        x, todo = self.system.state(), np.ones(len(self.q), dtype=bool)
        if self.system.nq != self.system.nv:  # quaternions are normalized one by one
            return todo
        for out, start, given, names, where in (
            (self.q, x.q, groups["states"], layout.q_names, layout.q_slice),
            (self.v, x.v, groups["v"], layout.v_names, layout.v_slice),
        ):
            out[:] = start
            if not all(name in names or name in layout.joints for name in given):
                return todo  # of which the first run tells
            for name, values in given.items():
                places = [names.index(name)] if name in names else np.arange(len(start))[where(name)]
                if values.size != len(todo) * len(places):
                    return todo
                out[:, places] = values.reshape(len(todo), -1)
        return np.asarray(~(np.isfinite(self.q).all(axis=1) & np.isfinite(self.v).all(axis=1)))

    def _maker(self, states: Any) -> Callable[[int], State] | None:
        """The function that makes the start of run k; None where all are the same."""
        system, p = self.system, self.p  # those of a state that a function makes follow from it
        if isinstance(states, Mapping):
            q, v = self.varied.groups["states"], self.varied.groups["v"]
            if not system.rows.of:
                return lambda k: system.state(_at(q, k), v=_at(v, k))
            return lambda k: system.assemble(_at(q, k), v=_at(v, k), p=p[k], guess=self.guess)
        if callable(states):
            everything, groups = self.varied.varied, self.varied.groups

            def made(k: int) -> State:
                x = system.arguments.as_state(states(k, _at(everything, k)))
                if x.p is not None or x.u is not None:
                    x, inputs, p = system.arguments.resolve(x, *(_at(groups.get(name, {}), k) or None for name in "up"))
                    self.p[k] = system.arguments.parameter_vector(p)
                    if self.u is not None:
                        self.u[k] = system.arguments.input_vector(inputs)
                return x

            return made
        if is_sequence(states):
            return lambda k: system.arguments.as_state(states[k])
        return None

    def _put(self, k: int, make: Callable[[int], State]) -> None:
        try:
            x = make(k)
        except DalembertError as error:
            self.refused[k] = str(error)
        except Exception as error:  # of a function that makes states
            self.refused[k] = f"states({k}, …) raised {type(error).__name__}: {error}"
        else:
            self.q[k], self.v[k], self.t[k] = x.q, x.v, x.t

    def _close(self) -> None:
        """Bring starts that miss the manifold by rounding onto it; refuse those that miss it by more."""
        system = self.system
        if not system.rows.of:
            return
        kernel = system.kernel("residuals")
        known = {"q": self.q, "v": self.v, "p": self.p, "t": self.t[:, None]}
        phi, speed = kernel.batch(*(known[name] for name in kernel.names_in))
        units = row_units(system)
        gaps = np.maximum(np.abs(phi), np.abs(speed)) / units
        wrong = np.abs(self.q).max(axis=1) > MANY_TURNS
        if system.rows.branch_of:
            kernel = system.kernel("branch")
            wrong |= (kernel.batch(*(known[name] for name in kernel.names_in)).reshape(len(self.q), -1) < 0).any(axis=1)
        for k in np.flatnonzero(~(gaps.max(axis=1) <= CLOSED) | wrong):
            if int(k) in self.refused:
                continue
            try:
                check_resolution(system, system.state(self.q[k], self.v[k], float(self.t[k])))
                x = on_manifold(system, system.state(self.q[k], self.v[k], float(self.t[k])), self.p[k])
                self.q[k], self.v[k] = x.q, x.v
            except DalembertError as error:
                self.refused[int(k)] = str(error)

    def _weigh(self) -> None:
        """Refuse runs whose parameters make a velocity move no mass, or a negative one."""
        system = self.system
        if not varies_inertia(system, self.p):
            return
        kernel, known = system.kernel("mass_matrix"), {"q": self.q, "p": self.p}
        for first in range(0, len(self.q), TOGETHER):
            some = slice(first, first + TOGETHER)
            M = kernel.batch(*(known[name][some] for name in kernel.names_in))
            try:
                if np.isfinite(np.linalg.cholesky(M)).all():
                    continue
            except np.linalg.LinAlgError:
                pass
            for k in range(len(self.q))[some]:
                if k not in self.refused:
                    self._check_mass(k)

    def _check_mass(self, k: int) -> None:
        try:
            check_mass(self.system, self.system.state(self.q[k], self.v[k], float(self.t[k])), self.p[k])
        except DalembertError as error:
            self.refused[k] = str(error)


def belonging_to(system: System, states: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, (nu,) or (n, nu), and parameters, (np,) or (n, np), of the states of runs, or of the guess for them."""
    if isinstance(states, States) and states.system.layout is system.layout:
        return np.zeros(len(system.u_names)), states.p
    search = isinstance(states, Mapping)
    one = guess if search else states
    several = is_sequence(states) and not isinstance(states, np.ndarray)
    given: list[Any] = [x if isinstance(x, State) else {} for x in (states if several else [one])]
    known = [system.arguments.resolve(x, None, None, search=search) for x in given]
    rows = [(system.arguments.input_vector(u), system.arguments.parameter_vector(p)) for _, u, p in known]
    U, P = (np.array(x) for x in zip(*rows))
    return (U, P) if several else (U[0], P[0])


def is_sequence(states: Any) -> bool:
    """Whether states holds one state a run."""
    if isinstance(states, States) or (isinstance(states, np.ndarray) and states.ndim == 2):
        return True
    return isinstance(states, Sequence) and not isinstance(states, str) and bool(states) and not _is_number(states[0])


def _are_of(system: System, states: Sequence[Any]) -> bool:
    """Whether all are states of the system's mechanism."""
    if set(map(type, states)) != {State}:
        return False
    return all(map(system.layout.same, {x.layout for x in states}))


def _is_number(x: Any) -> bool:
    return np.ndim(x) == 0 and not isinstance(x, (State, Mapping))


def _at(values: Mapping[str, np.ndarray], k: int) -> dict[str, Any]:
    return {name: x[k] if x.ndim > 1 else float(x[k]) for name, x in values.items()}
