"""A force and a moment on a frame."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.forces.force import Force, Value, evaluate
from dalembert.mechanism.traced import Load, TracedState


class Wrench(Force):
    """`force` (N) at the frame's origin and `moment` (N m), in the frame's ("body") or the ground's ("world") axes."""

    kind = "wrench"

    def __init__(self, name: str, frame: Frame, force: Value, moment: Value, axes: str):
        self.name, self.frame, self.force, self.moment, self.axes = name, frame, force, moment, axes

    def given(self) -> list[tuple[str, Value, tuple[int, ...]]]:
        of = f"of wrench '{self.name}'"
        return [(f"the force {of}", self.force, (3,)), (f"the moment {of}", self.moment, (3,))]

    def act(self, s: TracedState, load: Load) -> None:
        f = evaluate(self.force, s, (3,), f"the force of wrench '{self.name}'")
        m = evaluate(self.moment, s, (3,), f"the moment of wrench '{self.name}'")
        if self.axes == "world":
            R = s.pose(self.frame).R
            m, f = R.T @ m, R.T @ f
        load.wrench(self.frame, np.concatenate([m, f]))
