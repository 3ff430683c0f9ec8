"""A one-sided constraint by a gap of one's own: cams, slots, teeth, play, whatever is a formula of the position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from dalembert.mechanism.constraints.expression import evaluated_row
from dalembert.mechanism.contacts.one_sided import OneSided
from dalembert.mechanism.traced import TracedState, UserState


class Unilateral(OneSided):
    """value(s) ≥ 0; λ acts along the joint velocities, λ ∂gap/∂q."""

    kind = "unilateral constraint"
    acts = False

    def __init__(self, name: str, value: Callable[[UserState], Any], restitution: float, angular: bool):
        self.name, self.value, self.restitution, self.angular = name, value, restitution, angular

    def gap(self, s: UserState) -> Any:
        return self.value(s)

    def given(self, s: TracedState) -> ca.SX:
        """What a user wrote, in the state s."""
        return evaluated_row(self.value, s, f"the gap of unilateral constraint '{self.name}'")
