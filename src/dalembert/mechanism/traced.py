"""The state of a mechanism while it is traced: forces and users' expressions are functions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DalembertError, DescriptionError, unknown
from dalembert.mechanism.body import Frame
from dalembert.mechanism.layout import TreeLayout
from dalembert.recursions import kinematics
from dalembert.recursions.tree import ROOT, Moving
from dalembert.spatial import AdInverse, Transform
from dalembert.symbols import array, to_sx, zeros


class TracedState:
    """Coordinates, velocities, frames and time as traced numbers."""

    def __init__(self, layout: TreeLayout, at: Moving, t: Any):
        self.layout, self.at, self.t = layout, at, t

    def q(self, joint: str) -> np.ndarray:
        """Coordinates of a joint."""
        return self.at.q[self.layout.q_slice(joint)]

    def v(self, joint: str) -> np.ndarray:
        """Velocities of a joint."""
        return self.at.v[self.layout.v_slice(joint)]

    def cut_joint(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of a joint that closes a loop (Spencer's virtual coordinates), angles in (−π, π].

        v = S⁺ V, S having orthogonal columns.
        """
        loop: Any = self.layout.loop(name)
        r = loop.relative(self)
        q = array(loop.joint.locate(Transform(r.R, r.p)))
        S = loop.joint.screws(q)
        return q, array([(S[:, k] @ r.V) / (S[:, k] @ S[:, k]) for k in range(loop.joint.nv)])

    def pose(self, frame: Frame) -> Transform:
        """T_0f."""
        link, offset = self.layout.locate(frame)
        return kinematics.pose(self.at, link, offset)

    def position(self, frame: Frame) -> np.ndarray:
        """Origin of the frame in the ground, (3,)."""
        return self.pose(frame).p

    def twist(self, frame: Frame) -> np.ndarray:
        """(ω; v) of the frame in its own axes."""
        link, offset = self.layout.locate(frame)
        return kinematics.twist(self.at, link, offset)

    def velocity(self, frame: Frame) -> np.ndarray:
        """Velocity of the frame's origin in the ground's axes, (3,)."""
        return self.pose(frame).R @ self.twist(frame)[3:]

    def user(self) -> UserState:
        """This state as CasADi expressions, for users' functions."""
        return UserState(self)


class UserState:
    """The state a user's function receives: CasADi expressions by name.

    `s["A"]` coordinates and `s.rate("A")` velocities of a joint (a scalar for one, else a column), `s.t` time in s;
    of frames (or their names) `s.position` and `s.velocity` (3, ground axes), `s.rotation` (3, 3), `s.pose` (4, 4),
    `s.twist` (6, own axes, or the ground's with axes="world");
    of springs, cables and actuators `s.length` and `s.length_rate`. A `State` answers the same with numbers.
    """

    def __init__(self, traced: TracedState):
        self._s = traced
        self._frame = traced.layout.frame
        self.t: ca.SX = to_sx([traced.t])

    @property
    def traced(self) -> TracedState:
        """The state itself, for functions of the library."""
        return self._s

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of make(), evaluated once in this state for a key: what several forces or constraints share."""
        shared = vars(getattr(self, "_s", self)).setdefault("shared", {})
        if key not in shared:
            shared[key] = make()
        return shared[key]

    def __getitem__(self, name: str) -> ca.SX:
        names = self._s.layout.q_names
        if (found := self._s.layout.cut_coordinate(name, "q")) is not None:
            return to_sx(self._s.cut_joint(found[0])[0][found[1]])
        return to_sx([self._s.at.q[names.index(name)]] if name in names else self._s.q(name))

    def rate(self, name: str) -> ca.SX:
        """Velocities of a joint, or one of them by its name."""
        names = self._s.layout.v_names
        if (found := self._s.layout.cut_coordinate(name, "v")) is not None:
            return to_sx(self._s.cut_joint(found[0])[1][found[1]])
        return to_sx([self._s.at.v[names.index(name)]] if name in names else self._s.v(name))

    def position(self, frame: Any) -> ca.SX:
        """Origin of a frame in the ground, (3,), m."""
        return to_sx(self._s.position(self._frame(frame)))

    def rotation(self, frame: Any) -> ca.SX:
        """(3, 3) rotation from the frame's axes to the ground's."""
        return to_sx(self._s.pose(self._frame(frame)).R)

    def velocity(self, frame: Any) -> ca.SX:
        """Velocity of a frame's origin in the ground's axes, (3,), m/s."""
        return to_sx(self._s.velocity(self._frame(frame)))

    def pose(self, frame: Any) -> ca.SX:
        """(4, 4) pose of a frame in the ground."""
        upper = ca.horzcat(self.rotation(frame), self.position(frame))
        return ca.vertcat(upper, ca.SX([[0.0, 0.0, 0.0, 1.0]]))

    def twist(self, frame: Any, axes: str = "body") -> ca.SX:
        """(ω; v) of a frame's origin, (6,), in the frame's own axes or the ground's ("world")."""
        V = self._own_twist(frame)
        if checks.choice(axes, ("body", "world"), "axes") == "body":
            return V
        R = self.rotation(frame)
        return ca.vertcat(R @ V[:3], R @ V[3:])

    def length(self, name: str) -> ca.SX:
        """Length of the spring, cable or actuator of this name, m."""
        points = [self.position(f) for f in line_points(self._forces, name)]
        return sum((ca.norm_2(b - a) for a, b in pairwise(points)), ca.SX(0))

    def length_rate(self, name: str) -> ca.SX:
        """Rate of the length of the spring, cable or actuator of this name, m/s; not where two points coincide."""
        points = [(self.position(f), self.velocity(f)) for f in line_points(self._forces, name)]
        return sum((ca.dot(w - v, b - a) / ca.norm_2(b - a) for (a, v), (b, w) in pairwise(points)), ca.SX(0))

    @property
    def _forces(self) -> Mapping[str, Any]:
        return self._s.layout.mechanism.forces

    def _own_twist(self, frame: Any) -> ca.SX:
        return to_sx(self._s.twist(self._frame(frame)))


def line_points(forces: Mapping[str, Any], name: str) -> Sequence[Frame]:
    """The points of a spring, cable or actuator by name."""
    lines = {n: f.points for n, f in forces.items() if hasattr(f, "points")}
    if not isinstance(name, str) or name not in lines:
        raise unknown("spring, cable or actuator", name, lines)
    return lines[name]


def on_expressions(f: Any, s: TracedState, what: str) -> Any:
    """The value of a user's function f for a state as expressions; errors of CasADi become `DescriptionError`."""
    try:
        return f(s.user())
    except DalembertError:
        raise
    except Exception as error:  # Python's max, if and the like, or a fault in the function
        raise DescriptionError(
            f"{what} could not be evaluated on expressions: {type(error).__name__}: {error}. Use CasADi's functions "
            "(casadi.fmax, casadi.if_else, casadi.sin) in place of Python's."
        ) from error


class Load:
    """The sum of all forces: wrenches on links (in link frames) and forces along joint velocities."""

    def __init__(self, state: TracedState):
        self._s = state
        self.wrenches: dict[int, np.ndarray] = {}  # by link
        self.tau = zeros(state.at.tree.nv)

    @staticmethod
    def of(forces: Iterable[Any], state: TracedState) -> Load:
        """The sum of some forces in a state."""
        load = Load(state)
        for force in forces:
            force.act(state, load)
        return load

    def wrench(self, frame: Frame, W: np.ndarray) -> None:
        """Add (moment; force) at the frame's origin in the frame's axes."""
        link, offset = self._s.layout.locate(frame)
        if link != ROOT:
            self.on_link(link, AdInverse(offset).T @ array(W))

    def on_link(self, link: int, W: np.ndarray) -> None:
        """Add (moment; force) at a link's origin in its axes."""
        self.wrenches[link] = self.wrenches[link] + W if link in self.wrenches else W

    def force(self, frame: Frame, f: np.ndarray) -> None:
        """Add a force at the frame's origin in the ground's axes."""
        self.wrench(frame, np.concatenate([zeros(3), self._s.pose(frame).R.T @ f]))

    def joint(self, joint: str, tau: np.ndarray) -> None:
        """Add a force along a joint's velocities."""
        dofs = self._s.layout.v_slice(joint)
        self.tau[dofs] = self.tau[dofs] + tau
