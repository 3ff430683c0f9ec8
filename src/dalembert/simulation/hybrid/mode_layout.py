"""The layout of a mode: its watcher sees the guards of the mode, then the events of the user and of switches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.formulations.mode_rows import mode_guards
from dalembert.integrators.run_record import TURNS
from dalembert.lazy import cached_property
from dalembert.native.bound import NOTHING, Bound
from dalembert.simulation.callbacks import Callback, expression, scalar_of
from dalembert.simulation.equations import RunEquations
from dalembert.simulation.events import Event, as_python
from dalembert.simulation.hybrid.guards import guard_values
from dalembert.simulation.hybrid.mode_equations import ModeEquations, is_selected
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.hybrid.state import Numbers
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.setup import Setup
from dalembert.symbols import array
from dalembert.system.state import State
from dalembert.system.trace import Trace

ARGUMENTS = ("q", "v", "u", "p", "t")
PACE = 0.25  # of a segment's age: steps in which a force or a speed could change its sign twice are not longer


class ModeLayout(RunLayout):
    """The functions of segments in a mode."""

    def __init__(
        self, setup: Setup, given: Mapping[str, Event], base_p: np.ndarray, control: Callback | None,
        rows: tuple[int, ...] | None, numbers: Numbers,
    ):  # fmt: skip
        """given: events of the user, and of switches, which see the mechanism's own parameters base_p.

        rows: constraint rows by which the forces of guards are found. numbers: of the mode.
        """
        assert isinstance(setup.system, PhaseSystem)
        self.given, self.base_p, self.guard_rows, self.control = dict(given), base_p, rows, control
        self.phase, self.guards, self.mode_numbers = setup.system, setup.system.watched, numbers
        paced = not setup.method.fixed and any(g.kind not in ("closes", "turns") for g in self.guards)
        self.pace = PACE if paced else 0.0
        super().__init__(setup)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunLayout(self.setup).__reduce__()

    def steering(self) -> Callback:
        assert self.control is not None
        return self.control

    @property
    def inputs_of_events(self) -> int:
        if not self.is_native or not isinstance(self.equations, ModeEquations):
            return super().inputs_of_events
        known = self.phase.changeable.program.slices
        return known["u"].start if "u" in known else 0

    @property
    def directions(self) -> list[int]:
        own = [TURNS if guard.kind == "turns" else -1 for guard in self.guards]
        return own + super().directions[len(own) :]

    @cached_property
    def equations(self) -> RunEquations:
        """Of rows selected from all there are, or traced for the mode."""
        return ModeEquations(self.setup, self.policy, self.mode_numbers) if is_selected(self.setup) else self.traced

    @cached_property
    def traced(self) -> RunEquations:
        """The functions that are traced for the mode."""
        return RunEquations(self.setup, self.policy)

    @property
    def traced_equations(self) -> RunEquations:
        return self.traced

    @cached_property
    def is_native(self) -> bool:
        """Whether all events are in machine code."""
        return all(isinstance(e.g, expression) for e in self.given.values())

    @cached_property
    def callbacks(self) -> list[Callback]:
        if self.is_native and isinstance(self.equations, ModeEquations):
            return [c for c in (self.controller,) if c is not None and c.is_python]
        return super().callbacks

    def user_events(self) -> Bound:
        """Events of the user and of switches, all in machine code, of the mechanism's own state."""
        equations, functions = self.equations, {name: e.g for name, e in self.given.items()}
        assert isinstance(equations, ModeEquations)
        if not functions:
            return NOTHING

        def values(s: Trace) -> Any:
            return array([scalar_of(s, g.f, f"event '{name}'") for name, g in functions.items()])

        key = ("mode_events", *(g.f for g in functions.values()))
        return Bound.of(equations.whole.kernels.custom(key, ARGUMENTS, values), {"p": equations.p})

    def watching(self) -> Callback:
        equations, functions = self.equations, {name: e.g for name, e in self.given.items()}
        if not isinstance(equations, ModeEquations):
            return self._traced_guards()
        back = Callback(self.phase, self.setup.p, len(self.setup.events))
        users = self.user_events() if self.is_native else NOTHING
        inner = mode_guards(
            equations.data.rows(self.guard_rows, users=users, events=len(functions) if self.is_native else 0)
        )
        if self.is_native:
            back.bound = inner
            return back
        return self._with_python(back, inner, functions)

    def _with_python(self, back: Callback, inner: Bound, functions: Mapping[str, Any]) -> Callback:
        """Guards, and events that are functions of Python."""
        users = [as_python(self.phase.changeable.base, name, g, self.base_p) for name, g in functions.items()]

        def both(t: float, state: State, *u: np.ndarray) -> np.ndarray:
            if "u" in inner.slices and u:
                inner["u"][:] = u[0]
            first = inner.at(t, np.concatenate([state.q, state.v]))[: len(self.guards)]
            return np.concatenate([first, [g(t, state) for g in users]])

        back.python(both, self.base_p, self.setup.nu)
        return back

    def _traced_guards(self) -> Callback:
        system, p, functions = self.phase, self.setup.p, {name: e.g for name, e in self.given.items()}
        back = Callback(system, p, len(self.setup.events))
        if all(isinstance(g, expression) for g in functions.values()):

            def values(s: Trace) -> Any:
                users = [scalar_of(s, g.f, f"event '{name}'") for name, g in functions.items()]
                return array([*guard_values(system, s), *users])

            key = ("phase_events", *(g.f for g in functions.values()))
            back.bound = Bound.of(system.kernels.custom(key, ARGUMENTS, values, rows=self.guard_rows), {"p": p})
            return back
        kernel = system.kernels.custom(
            ("phase_events",), ARGUMENTS, lambda s: guard_values(system, s), rows=self.guard_rows
        )
        return self._with_python(back, Bound.of(kernel, {"p": p}), functions)
