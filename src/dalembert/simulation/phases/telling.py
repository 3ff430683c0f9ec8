"""The story of a run of phases: its switches, told as they happen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.simulation.phases.impact import Impact
from dalembert.simulation.phases.mode import Changeable, Mode
from dalembert.simulation.phases.switch import Switched
from dalembert.system.state import State

Numbers = Mapping[tuple[str, str], Any]  # of a phase, by what they are and of what


@dataclass(eq=False)
class Story:
    """Switches so far, and the mode they have come to."""

    changeable: Changeable
    mode: Mode
    switches: list[Switched] = field(default_factory=list)
    aims: dict[str, np.ndarray] = field(default_factory=dict)  # directions of what slides in that mode
    certain: int = 0  # switches up to here do not depend on the phase that follows

    def tell(
        self, state: State, kind: str, of: str, names: Collection[str], impact: Impact | None = None, note: str = ""
    ) -> None:
        """Add a switch of some constraints or contacts, or of nothing where there are none."""
        if not names:
            return
        contact = self.changeable.contacts.get(next(iter(names)))
        roped = contact is not None and contact.kind == "rope"
        word = {"hit": "taut", "rests": "stays taut", "left": "slack"}.get(kind, kind) if roped else kind
        v = state.v
        self.switches.append(
            Switched(
                state.t, f"{', '.join(names)} {word}", kind, of, v.copy(),
                v.copy() if impact is None else impact.v.copy(), {} if impact is None else impact.impulse,
                0.0 if impact is None else impact.lost, note,
            )
        )  # fmt: skip

    def compare(
        self, state: State, mode: Mode, values: Numbers, touching: Collection[str], rested: Collection[str]
    ) -> None:
        """Tell what came and went, between the mode of the story and the one that follows, with its numbers.

        rested: contacts of which it has been told that they came to rest.
        """
        before, after = self.mode.touched, mode.touched
        for name in before:
            if name not in after:
                self.tell(state, "unloaded" if name in (*touching, *mode.waiting) else "left", name, [name])
        for name, how in after.items():
            if name not in before:
                if name not in rested:
                    self.tell(state, "rests" if how != "slides" else "slides", name, [name])
            elif how != before[name]:
                self.tell(state, how, name, [name])
        for name in self.changeable.frictions:
            if (name in self.mode.sticking) != (name in mode.sticking):
                self.tell(state, "sticks" if name in mode.sticking else "slides", name, [name])
        for name, aim in _aims(values).items():
            if name in self.aims and float(aim @ self.aims[name]) < 0.0:
                self.tell(state, "reverses", name, [name])

    def take_back(self) -> None:
        """Forget what was told of a phase that did not come about."""
        del self.switches[self.certain :]

    def go_on(self, mode: Mode, values: Numbers) -> None:
        """The mode, with its numbers, in which the run goes on."""
        self.mode, self.aims = mode, _aims(values)


def _aims(values: Numbers) -> dict[str, np.ndarray]:
    """Directions of what slides, by contact and velocity."""
    return {name: np.atleast_1d(x) for (what, name), x in values.items() if what in ("sign", "aim")}
