"""Springs and dampers of joints that close loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.constraints.loop import LoopJoint
from dalembert.mechanism.constraints.relative import Relative
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.traced import Load, TracedState
from dalembert.mechanism.values import is_exact_zero
from dalembert.spatial import Transform
from dalembert.symbols import array, zeros


class CutJointSpring(Force):
    """τ = −k (q − q_rest) − d v along the coordinates of a joint that is cut: exact where the loop is closed.

    q and v are those that the joint would have in a tree (`state[joint]`); the wrench S τ / |S|² acts on one of the
    two bodies and its reaction on the other. Angles are in (−π, π], where a spring jumps.
    """

    kind = "cut joint spring"

    def __init__(self, name: str, loop: LoopJoint, stiffness: np.ndarray, rest: np.ndarray, damping: np.ndarray):
        self.name, self.loop, self.stiffness, self.rest, self.damping = name, loop, stiffness, rest, damping

    def act(self, s: TracedState, load: Load) -> None:
        r = self.loop.relative(s)
        q = self._position(r)
        W = zeros(6)
        for k, screw in enumerate(self.loop.joint.screws(q).T):
            size = screw @ screw
            tau = -self.stiffness[k] * (q[k] - self.rest[k]) - self.damping[k] * (screw @ r.V) / size
            W = W + screw * (tau / size)
        r.exert(W, load)

    @property
    def conservative(self) -> bool:
        return all(is_exact_zero(d) for d in self.damping)

    def energy(self, s: TracedState) -> Any:
        stretch = self._position(self.loop.relative(s)) - self.rest
        return 0.5 * (self.stiffness * stretch) @ stretch

    def _position(self, r: Relative) -> np.ndarray:
        return array(self.loop.joint.locate(Transform(r.R, r.p)))
