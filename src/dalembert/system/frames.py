"""Motion of frames of a system: poses, twists, Jacobians, with their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.protocols import Parameters, StateGiven
from dalembert.spatial import AdInverse, Transform
from dalembert.system.second_order import FrameDerivatives
from dalembert.system.second_order import frame_derivatives as derivatives_of_frame

if TYPE_CHECKING:
    from dalembert.system.system import System

LONG = 40  # velocities of a chain whose derivatives are no longer one piece of straight-line code


def pose(system: System, state: StateGiven, frame: Any, *, p: Parameters = None) -> np.ndarray:
    """(4, 4) pose of a frame (or body, or name) in the ground."""
    return system.kernels.evaluate("pose", state, frame, "world", p=p)


def twist(system: System, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None) -> np.ndarray:
    """(ω; v) of a frame's origin, in the frame's own ("body") or the ground's ("world") axes, (6,)."""
    return system.kernels.evaluate("twist", state, frame, axes, p=p)


def jacobian(system: System, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None) -> np.ndarray:
    """J, (6, nv), with twist = J v in the same axes."""
    return system.kernels.evaluate("jacobian", state, frame, axes, p=p)


def jacobian_rate(
    system: System, state: StateGiven, frame: Any, *, axes: str = "body", p: Parameters = None
) -> np.ndarray:
    """J̇ v, (6,): the rate of the twist when v̇ = 0."""
    return system.kernels.evaluate("jacobian_rate", state, frame, axes, p=p)


def jacobian_derivatives(
    system: System, state: StateGiven, frame: Any, vdot: Any = None, *, p: Parameters = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂J/∂q (6, nv, nv), J̇ (6, nv) and J̈ (6, nv) of `jacobian` in the frame's own axes, with accelerations vdot.

    [:, c, k] of the first is the derivative of column c along velocity k (δ at q ⊕ δ).
    """
    given = np.zeros(system.nv) if vdot is None else system.arguments.velocity_vector(vdot, "vdot")
    if system.nv <= LONG:
        by_q, rate, second = system.kernels.evaluate(
            "jacobian_derivatives", state, frame, "body", p=p, more={"a": given}
        )
        return by_q.reshape(6, system.nv, system.nv), rate, second
    rate, second = system.kernels.evaluate("jacobian_rates", state, frame, "body", p=p, more={"a": given})
    body = system.layout.frame(frame).body  # whose kernel serves all its frames
    by_q, offset = along_each(system, "jacobian_along", state, p, body), _offset(system, state, frame, p)
    carried = AdInverse(Transform(offset[:3, :3], offset[:3, 3])) @ np.moveaxis(by_q, 0, -1).reshape(6, -1)
    return carried.reshape(6, system.nv, system.nv), rate, second


def _offset(system: System, state: StateGiven, frame: Any, p: Parameters) -> np.ndarray:
    """(4, 4) the pose of a frame in its body."""
    return np.linalg.solve(pose(system, state, system.layout.frame(frame).body, p=p), pose(system, state, frame, p=p))


def frame_derivatives(system: System, state: StateGiven, frame: Any, *, p: Parameters = None) -> FrameDerivatives:
    """The pose of a frame with its first and second derivatives by q, as arrays and by the names of coordinates.

    Quaternion joints are varied along their three velocities (δ at q ⊕ δ).

    >>> import dalembert as da
    >>> m = da.Mechanism("arm")
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bar", mass=1.0, com=(1.0, 0, 0)))
    >>> bar = m.compile().frame_derivatives({"A": 0.0}, m.bodies["bar"].at(2.0, 0, 0))
    >>> bar.d("A")[:3, 3], bar.d("A", "A")[:3, 3]    # of the position, m
    (array([0., 2., 0.]), array([-2.,  0.,  0.]))
    """
    body = system.layout.frame(frame).body  # whose kernels serve all its frames
    J, g = jacobian(system, state, body, p=p), pose(system, state, body, p=p)
    J_dq = along_each(system, "jacobian_along", state, p, body) if system.nv else np.zeros((0, 6, 0))
    offset = _offset(system, state, frame, p)
    return derivatives_of_frame(g, J, np.moveaxis(J_dq, 0, -1), offset, tuple(system.v_names))


def frame_acceleration(
    system: System, state: StateGiven, frame: Any, vdot: Any, *, axes: str = "body", p: Parameters = None
) -> np.ndarray:
    """d/dt of the twist, J v̇ + J̇ v, (6,): in world axes, angular acceleration and acceleration of the point.

    vdot: accelerations v̇, (nv,) or by name.
    """
    given = system.arguments.velocity_vector(vdot, "vdot")
    return system.kernels.evaluate("frame_acceleration", state, frame, axes, p=p, more={"a": given})


def along_each(system: System, name: str, state: StateGiven, p: Parameters, frame: Any = None) -> Any:
    """The outputs of a function of a direction dq, along every velocity: the direction first."""
    x, _, p = system.arguments.resolve(state, None, p)
    kernel = system.kernels.kernel(name, frame, lanes=4 if system.backend == "native" else 1)
    given = {"q": x.q, "v": x.v, "dq": np.eye(system.nv), "p": system.arguments.parameter_vector(p)}
    return kernel.batch(*(given[argument] for argument in kernel.names_in))
