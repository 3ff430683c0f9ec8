"""Control."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import dalembert as da
from dalembert import control, zoo
from targets.models import FOUR_BAR, Target, energy, forced, four_bar, law, led, motion, path, run


def _on(owner: Callable[[], Any], method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(owner(), method)(**arguments)


def _used(task: control.Task) -> Any:
    """A controller of the task: a frame or a coordinate is looked up then."""
    return control.motion_control(four_bar()[0], task, np.zeros(len(task.names)))


@cache
def arms() -> da.System:
    """A closed chain with more motors than freedoms, so that it has forces to set."""
    return zoo.two_arms().compile()


@cache
def arms_start() -> da.State:
    return arms().state(*zoo.two_arms_start(0.1, 0.55))


@cache
def motored() -> da.System:
    """An open chain with a motor on every joint."""
    m = zoo.chain(2)
    for k in (1, 2):
        m.add_motor(f"M{k}", f"J{k}")
    return m.compile("casadi")


@cache
def bent() -> da.State:
    return motored().state({"J1": 0.3}, v={"J2": 1.0})


@cache
def motion_law() -> control.ProjectedControl:
    return control.motion_control(four_bar()[0], control.coordinates("A"), path(), limits={"torque": 50.0})


@cache
def force_law() -> control.ProjectedControl:
    return control.force_control(arms(), {"grip.x": -30.0}, force_gains=(1.0, 2.0), sensor=control.force_sensor(arms()))


def effort(state: Any, u: Any) -> Any:
    return sum(x**2 for x in u.values())


def resting(state: Any) -> Any:
    return state.rate("A") ** 2


@cache
def optimal() -> control.OptimalMotion:
    return control.optimal_motion(*four_bar(), 0.1, effort, resting, steps=3, max_iterations=2)


@cache
def straight() -> control.MotionPlan:
    return control.straight_motion(*four_bar(), {"A": 0.7}, 0.2, 4)


def inputs(t: float, state: Any) -> np.ndarray:
    return np.array([1.0])


def measured(t: float, state: Any, u: Any) -> dict[str, float]:
    return {"grip.x": -29.0}


def regulation() -> Any:
    return control.PoseRegulation(motored(), "link 2", (0.1, 0.2, 0.0))


def told(t: float) -> Any:
    return [0.6], [0.0], [0.0]


@cache
def discrete() -> da.LinearModel:
    return da.linearize(*four_bar()).discretize(0.01)


@cache
def regulated() -> da.Regulator:
    return da.lqr(discrete(), 1.0, 1.0)


@cache
def estimated() -> da.Estimator:
    return da.kalman(discrete(), 1.0, 1.0)


ONE = {"law": inputs, "system": lambda: four_bar()[0]}
AT = {"t": 0.1, "state": lambda: four_bar()[1]}
MOVING = {"system": lambda: four_bar()[0], "task": lambda: control.coordinates("A"), "reference": path}
COMMON = {"actuated": ["torque"], "metric": {"torque": 2.0}, "p": {}, "tolerance": 1e-9}
MOTION = {**COMMON, "rate": 10.0, "limits": {"torque": (-50.0, 50.0)}, "active": {"C": True}, "free_damping": 0.1}
SET = {"forces": {"grip.x": -30.0}, "force_gains": (1.0, 2.0), "sensor": measured}
BOUNDED = {"limits": {"torque": 500.0}, "scales": {"torque": 10.0}}
CONTROLLING = {
    "dalembert.control.quintic": Target(
        control.quintic, {"start": {"A": 0.0}, "end": {"A": 1.0}, "duration": 1.0, "at": 0.0}
    ),
    "dalembert.control.lead": Target(
        control.lead,
        {"system": led, "motions": {"lead": control.constant([0.6])}, "rate": 1.0, "others": {"torque": 1.0}},
    ),
    "dalembert.control.Lead": Target(control.Lead, {"f": energy}),
    "dalembert.control.Lead.at": Target(lambda **a: control.lead(led(), {"lead": 0.6}).at(**a), {"t": 0.1}),
    "dalembert.control.constant": Target(control.constant, {"value": {"A": 0.0}}),
    "dalembert.control.trapezoid": Target(
        control.trapezoid, {"start": [0.0], "end": [1.0], "speed": 1.0, "acceleration": [2.0], "at": 0.1}
    ),
    "dalembert.control.waypoints": Target(
        control.waypoints, {"times": [0.0, 1.0, 2.0], "points": {"A": [0.0, 1.0, 0.5]}, "degree": 5}
    ),
    "dalembert.control.piecewise": Target(
        control.piecewise, {"breaks": [0.0, 1.0], "coefficients": np.ones((1, 3, 1)), "names": ["A"]}
    ),
    "dalembert.control.Trajectory": Target(
        control.Trajectory, {"motion": motion, "names": ["A"], "span": (0.0, 1.0)}
    ),
    "dalembert.control.Trajectory.__call__": Target(lambda t: path()(t), {"t": 0.1}),
    "dalembert.control.Trajectory.sampled": Target(lambda times: path().sampled(times), {"times": [0.1, 0.2]}),
    "dalembert.control.Trajectory.ordered": Target(lambda names: path().ordered(names), {"names": ["A"]}),
    "dalembert.control.Task": Target(control.Task, {"rows": {"A": law}}),
    "dalembert.control.Task.__add__": Target(
        lambda other: control.coordinates("B") + other, {"other": lambda: control.coordinates("A")}
    ),
    "dalembert.control.coordinates": Target(
        lambda a, b: _used(control.coordinates(a, b)), {"a": "A", "b": "B"}
    ),
    "dalembert.control.position": Target(
        lambda **a: _used(control.position(**a)), {"frame": "coupler", "components": "xy", "name": "tip"}
    ),
    "dalembert.control.orientation": Target(
        lambda **a: _used(control.orientation(**a)), {"frame": "coupler", "about": np.eye(3), "name": "tip"}
    ),
    "dalembert.control.pose": Target(
        lambda **a: _used(control.pose(**a)), {"frame": "coupler", "about": np.eye(3), "name": "tip"}
    ),
    "dalembert.control.actuator_forces": Target(
        control.actuator_forces,
        {
            **FOUR_BAR, "vdot": {"A": 1.0}, "reactions": {"C.x": 100.0}, "active": {"C": True},
            "limits": 50.0, **COMMON,
        },
    ),
    "dalembert.control.actuator_forces_along": Target(
        control.actuator_forces_along,
        {
            "system": lambda: four_bar()[0], "motion": {"A": np.linspace(0.6, 0.9, 8)}, "times": np.linspace(0, 1, 8),
            "state": lambda: four_bar()[1], "actuated": ["torque"], "metric": "euclidean", "limits": 500.0,
            "cyclic": False, "p": {}, "tolerance": 1e-9,
        },
    ),
    "dalembert.control.actuator_forces_along (run)": Target(
        control.actuator_forces_along, {"system": lambda: four_bar()[0], "motion": run}
    ),
    "dalembert.control.ActuatorForcesAlong.state": Target(lambda **a: forced().state(**a), {"k": 0}),
    "dalembert.control.ActuatorForcesAlong.__call__": Target(lambda **a: forced()(**a), {"t": 0.05, "state": None}),
    "dalembert.control.actuator_forces (array)": Target(
        control.actuator_forces, {**FOUR_BAR, "vdot": np.ones(3), "metric": np.ones(3)}
    ),
    "dalembert.control.motion_control": Target(control.motion_control, {**MOVING, **MOTION}),
    "dalembert.control.motion_control (options)": Target(
        lambda **a: control.motion_control(**a)(0.0, four_bar()[1]),
        {
            **MOVING, "stiffness": (50.0, 5.0), "integral": 1.0, "priorities": {"A": 1}, "weights": {"A": 2.0},
            "positions": {"A": (-9.0, 9.0)}, "speeds": {"A": 50.0}, "accelerations": 1e4, "limit_rate": 40.0,
            "epsilon": 1e-9, "damping": 1e-3, "out_of_reach": "follow", "reactions": {"C.x": 1e4},
            "measures": {"pull": control.combination({"C.x": 1.0})},
        },
    ),
    "dalembert.control.Observed": Target(
        lambda **a: control.Observed(**a)(0.0, four_bar()[1]),
        {"regulator": regulated, "estimator": estimated, "sensor": None, "noise": 0.1, "seed": 1},
    ),
    "dalembert.control.Observed.__call__": Target(
        lambda **a: control.Observed(regulated(), estimated())(**a), {"t": 0.1, "state": lambda: four_bar()[1]}
    ),
    "dalembert.control.PredictiveControl": Target(
        lambda **a: control.PredictiveControl(**a)(0.0, four_bar()[1]),
        {"model": discrete, "horizon": 5, "Q": 1.0, "R": 1.0, "limits": {"torque": 5.0}, "bounds": {"A": 0.5}},
    ),
    **{
        f"dalembert.control.PredictiveControl.{name}": Target(
            lambda name=name, **a: getattr(control.PredictiveControl(discrete(), 3), name)(**a), given
        )
        for name, given in (
            ("__call__", {"t": 0.1, "state": lambda: four_bar()[1]}), ("plan", {"state": lambda: four_bar()[1]}),
            ("explain", {"t": 0.1, "state": lambda: four_bar()[1]}),
        )
    },
    "dalembert.kalman": Target(da.kalman, {"model": discrete, "Q": 1.0, "R": {"A": 1.0}}),
    "dalembert.Estimator": Target(da.Estimator, {"L": np.eye(2), "covariance": np.eye(2), "model": discrete}),
    "dalembert.control.combination": Target(control.combination, {"rows": {"C.x": 1.0}}),
    "dalembert.control.force_along": Target(
        lambda **a: control.actuator_forces(*four_bar(), measures={"f": control.force_along(**a)}),
        {"loop": "C", "axis": "x", "frame": "ground", "kind": "force"},
    ),
    "dalembert.control.Measure": Target(
        lambda **a: control.actuator_forces(*four_bar(), measures={"f": control.Measure(**a)}),
        {"rows": (("C.x", 1.0),), "wrenches": ()},
    ),
    "dalembert.control.Measure.__mul__": Target(
        lambda factor: control.combination({"C.x": 1.0}) * factor, {"factor": 2.0}
    ),
    "dalembert.control.Measure.__add__": Target(
        lambda other: control.combination({"C.x": 1.0}) + other, {"other": lambda: control.combination({"C.y": 1.0})}
    ),
    "dalembert.control.Measure.__sub__": Target(
        lambda other: control.combination({"C.x": 1.0}) - other, {"other": lambda: control.combination({"C.y": 1.0})}
    ),
    "dalembert.control.motion_control (gains)": Target(
        lambda **a: control.motion_control(**a)(0.0, four_bar()[1]), {**MOVING, "gains": (100.0, [20.0])}
    ),
    "dalembert.control.motion_control (function)": Target(control.motion_control, {**MOVING, "reference": told}),
    "dalembert.control.computed_torque": Target(
        control.computed_torque,
        {"system": lambda: four_bar()[0], "reference": {"A": 0.7}, "coordinates": ["A"], **MOTION},
    ),
    "dalembert.control.force_control": Target(
        lambda **a: control.force_control(**a)(0.0, arms_start()), {"system": arms, **SET}
    ),
    "dalembert.control.hybrid_control": Target(
        control.hybrid_control,
        {
            "system": arms, "task": lambda: control.position("object", "xy"), "reference": [0.1, 0.5], **SET,
            "rate": 5.0,
        },
    ),
    "dalembert.control.ProjectedControl": Target(control.ProjectedControl, {**MOVING, **MOTION}),
    **{
        f"dalembert.control.ProjectedControl.{name}": Target(_on(motion_law, name), AT)
        for name in ("__call__", "explain", "error")
    },
    **{
        f"dalembert.control.ProjectedControl.{name} (forces)": Target(
            _on(force_law, name), {"t": 0.1, "state": arms_start}
        )
        for name in ("__call__", "explain", "error")
    },
    "dalembert.control.force_sensor": Target(control.force_sensor, {"plant": arms, "p": {}}),
    "dalembert.control.force_sensor.__call__": Target(
        lambda **a: control.force_sensor(arms())(**a), {"t": 0.1, "state": arms_start, "u": [0.0] * 6}
    ),
    "dalembert.control.PDControl": Target(
        control.PDControl, {**MOVING, "gains": (50.0, 5.0), "actuated": ["torque"], "metric": "mass", "p": {}}
    ),
    "dalembert.control.PDControl.__call__": Target(
        lambda **a: control.PDControl(four_bar()[0], control.coordinates("A"), [0.7], gains=(50.0, 5.0))(**a), AT
    ),
    "dalembert.control.Sampled": Target(control.Sampled, {"law": inputs, "period": 0.1}),
    "dalembert.control.Sampled.__call__": Target(lambda **a: control.Sampled(inputs, 0.1)(**a), AT),
    "dalembert.control.Saturated": Target(
        control.Saturated, {"law": inputs, "limits": {"torque": 1.0}, "names": ["torque"]}
    ),
    "dalembert.control.Saturated.__call__": Target(lambda **a: control.Saturated(inputs, 0.5, ["torque"])(**a), AT),
    "dalembert.control.Noisy": Target(control.Noisy, {**ONE, "position": 0.1, "velocity": np.ones(3), "seed": 1}),
    "dalembert.control.Noisy.__call__": Target(
        lambda **a: control.Noisy(inputs, four_bar()[0], position=0.1)(**a), AT
    ),
    "dalembert.control.Delayed": Target(control.Delayed, {"law": inputs, "delay": 0.1, "before": [0.0]}),
    "dalembert.control.Delayed.__call__": Target(lambda **a: control.Delayed(inputs, 0.1)(**a), AT),
    "dalembert.control.TotalRateFeedback": Target(
        control.TotalRateFeedback, {"system": motored, "damping": {"J1": 2.0}, "compensate": True, "p": {}}
    ),
    "dalembert.control.PoseRegulation": Target(
        control.PoseRegulation,
        {
            "system": motored, "frame": "link 2", "target": np.eye(4), "damping": 2.0, "stiffness": (1.0, 2.0),
            "compensate": False,
        },
    ),
    **{
        f"dalembert.control.PoseRegulation.{name}": Target(_on(regulation, name), {"state": bent})
        for name in ("forces", "error", "lyapunov", "decrease")
    },
    "dalembert.control.PoseRegulation.__call__": Target(_on(regulation, "__call__"), {"t": 0.1, "state": bent}),
    "dalembert.control.straight_motion": Target(
        control.straight_motion,
        {
            "system": lambda: four_bar()[0], "start": lambda: four_bar()[1], "goal": {"A": 0.7}, "duration": 0.2,
            "intervals": 3, **BOUNDED,
        },
    ),
    "dalembert.control.plan_motion": Target(
        control.plan_motion,
        {
            "system": lambda: four_bar()[0], "start": lambda: four_bar()[1], "goal": {"A": 0.7}, "duration": (0.1, 0.3),
            "minimize": "effort", "intervals": 3, "positions": {"A": (0.0, 1.0)}, "speeds": {"A": 10.0},
            "bounds": [(law, -5.0, 5.0)], "cost": effort, "stop": True, "guess": straight, "max_iterations": 5,
            "tolerance": 1e-6, **BOUNDED,
        },
    ),
    "dalembert.control.optimal_motion": Target(
        control.optimal_motion,
        {
            "system": lambda: four_bar()[0], "start": lambda: four_bar()[1], "duration": 0.1, "cost": effort,
            "final": resting, "steps": 3, "method": "ilqr", "limits": None, "bounds": [(law, -5.0, 5.0)], "guess": None,
            "p": None, "max_iterations": 3, "tolerance": 1e-6, "allowed": 1e-6,
        },
    ),
    "dalembert.control.OptimalMotion.state": Target(lambda k: optimal().state(k), {"k": 1}),
    "dalembert.control.OptimalMotion.inputs": Target(lambda t: optimal().inputs(t), {"t": 0.01}),
    "dalembert.control.OptimalMotion.feedback": Target(lambda t: optimal().feedback(t, four_bar()[1]), {"t": 0.01}),
    "dalembert.control.OptimalMotion.simulate": Target(
        lambda **a: optimal().simulate(**a),
        {"feedback": True, "start": lambda: four_bar()[1], "method": "variational"},
    ),
    "dalembert.control.MotionPlan.state": Target(lambda k: straight().state(k), {"k": 1}),
    "dalembert.control.MotionPlan.__call__": Target(lambda t: straight()(t), {"t": 0.1}),
    "dalembert.control.MotionPlan.sampled": Target(lambda period: straight().sampled(period), {"period": 0.01}),
    "dalembert.control.MotionPlan.reference": Target(lambda name: straight().reference(name), {"name": "A"}),
}  # fmt: skip
