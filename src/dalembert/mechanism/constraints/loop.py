"""Closed loops: a joint that is cut out of the tree and kept as constraints (Spencer A.2.1, A.3.2).

Frame a carries the joint's own axes x, y, z, frame b is where the other half of the cut must be. The rows say which
motions of b in a the joint forbids; the positions it allows are the virtual joint's coordinates (`Joint.locate`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.relative import Jet, Relative, RelativeConstraint
from dalembert.mechanism.joints import Joint
from dalembert.mechanism.traced import TracedState
from dalembert.symbols import cos, eye, sin, sqrt

X, Y, Z = eye(3)


def _thread(r: Relative, pitch: Any) -> Jet:
    """h sin(z/h − θ): zero on the thread, whatever the number of turns. θ is the angle of b's x axis about z."""
    phi = r.along(Z) * (1.0 / pitch)
    return (phi.sin() * r.cosine(X, X) - phi.cos() * r.cosine(Y, X)) * pitch


#: row name: (its jet, whether it is an angle); rotations are signed so that λ is the moment about +x, +y, +z on b
ROWS: dict[str, tuple[Callable[[Relative, Any], Jet], bool]] = {
    "x": (lambda r, j: r.along(X), False),
    "y": (lambda r, j: r.along(Y), False),
    "z": (lambda r, j: r.along(Z), False),
    "rx": (lambda r, j: -r.cosine(Y, Z), True),
    "ry": (lambda r, j: r.cosine(X, Z), True),
    "rz": (lambda r, j: r.cosine(Y, X), True),
    "cross": (lambda r, j: r.cosine(X, Y), True),
    "thread": (lambda r, j: _thread(r, j.pitch), False),
}


class LoopJoint(RelativeConstraint):
    """A joint of any type between two frames, beside the tree."""

    kind = "loop"

    def __init__(self, name: str, joint: Joint, a: Frame, b: Frame):
        self.name, self.joint, self.a, self.b = name, joint, a, b

    def jets(self, s: TracedState) -> tuple[Relative, list[tuple[str, Jet, bool]]]:
        r = self.relative(s)
        return r, [(name, ROWS[name][0](r, self.joint), ROWS[name][1]) for name in self.joint.closure]

    def branch_signs(self, s: TracedState) -> dict[str, Any]:
        """Axes kept parallel must not be antiparallel: z·Rz, and where the angle about z is kept, x·Rx.

        On a thread it is |h| cos(z/h − θ), beside the row h sin(z/h − θ).
        """
        r, closure = self.relative(s), self.joint.closure
        signs: dict[str, Any] = {}
        if "rx" in closure and "ry" in closure:
            signs["z"] = r.R[2, 2]
        if "rz" in closure:
            signs["x"] = r.R[0, 0]
        if "thread" in closure:
            h = self.joint.pitch  # type: ignore[attr-defined]
            turn = r.p[2] / h
            signs["thread"] = sqrt(h * h) * (cos(turn) * r.R[0, 0] + sin(turn) * r.R[1, 0])
        return signs

    def relative(self, s: TracedState) -> Relative:
        """b in a, in the joint's own axes."""
        return s.at.once(("relative", self), lambda: Relative(s, self.a, self.b, self.joint.orientation))

    def describe(self) -> str:
        return f"{self.joint!r} between {self.a.body.name} and {self.b.body.name}"
