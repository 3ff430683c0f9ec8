"""Actuators as inputs: gain · u + bias along the joint, tendon, slider-crank or site that they drive."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.formats.mjcf.bodies import BALL, FREE
from dalembert.formats.mjcf.laws import EVERYTHING, ActuatorForce, Scaled, rotation_vector
from dalembert.formats.mjcf.paths import FramePath, JointPath, SliderCrank
from dalembert.formats.mjcf.reading import Reading, control, output, unused
from dalembert.formats.mjcf.tendons import Tendons, exert
from dalembert.mechanism.traced import UserState

ON_JOINT, IN_PARENT, SLIDER_CRANK, ON_TENDON, ON_SITE, ON_BODY, SO3 = range(7)
FIXED, AFFINE = range(2)  # gains; a bias is none or affine
LAST_GROUP = 30  # of those that can be switched off
NAMES = {ON_BODY: "adhesion", SO3: "control of an orientation (so3)"}


def read_actuators(r: Reading, tendons: Tendons, how: str) -> None:
    """Add an input for each actuator; how: "laws" as written, "forces" without gain and bias, "none"."""
    model = r.model
    if how == "none":
        return
    for k in range(len(model.actuator_trntype)):
        kind, group = int(model.actuator_trntype[k]), int(model.actuator_group[k])
        if 0 <= group <= LAST_GROUP and model.opt.disableactuator >> group & 1:
            r.note("actuator", k, f"its group {group} is switched off (actuatorgroupdisable): it is left out")
            continue
        name = r.label("actuator", k, r.m.inputs, r.m.parameters.symbols)
        path = _path(r, k, kind, tendons)
        if path is None:
            r.note("actuator", k, f"{NAMES.get(kind, 'its transmission')} is not modelled: it is left out")
            continue
        law = _law(r, k, path, r.m.add_input(name), how)
        r.inputs[k] = name
        _apply(r, k, name, path, law)


def _law(r: Reading, k: int, path: Any, u: ca.SX, how: str) -> ActuatorForce:
    model = r.model
    gain_kind, bias_kind = int(model.actuator_gaintype[k]), int(model.actuator_biastype[k])
    gain, bias = [float(x) for x in model.actuator_gainprm[k, :3]], [float(x) for x in model.actuator_biasprm[k, :3]]
    if gain_kind == FIXED:
        gain[1:] = [0.0, 0.0]
    if bias_kind == 0:
        bias = [0.0, 0.0, 0.0]
    if how == "forces" or gain_kind > AFFINE or bias_kind > AFFINE:
        if how != "forces":
            r.note("actuator", k, "muscles, motors with currents and the like are not modelled: the input is its force")
        gain, bias = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        r.force_inputs.add(k)
    elif model.actuator_dyntype[k] != 0:
        r.note("actuator", k, "its activation has no dynamics here: the input is the activation")
    if getattr(model, "actuator_delay", np.zeros(k + 1))[k] > 0.0:
        r.note("actuator", k, f"its delay of {model.actuator_delay[k]:g} s is not modelled: the input acts at once")
    limits = _ranges(r, k)
    acts, exerts = "act" if model.actuator_dyntype[k] != 0 else "ctrl", "force"
    if k in r.force_inputs:
        acts = ""
    kept = {n: limits.pop(n, EVERYTHING) if r.ranges else EVERYTHING for n in (acts, exerts)}
    if limits:
        r.note("actuator", k, f"its limits ({', '.join(f'{n}range' for n in limits)}) are not kept")
    return ActuatorForce(path, u, tuple(gain), tuple(bias), kept[acts], kept[exerts])  # type: ignore[arg-type]


def _ranges(r: Reading, k: int) -> dict[str, tuple[float, float]]:
    """The ranges of an actuator that are in force: of ctrl, force and act."""
    model = r.model
    places = {"ctrl": control(model, k), "force": k, "act": k}
    of = {n: getattr(model, f"actuator_{n}range")[x] for n, x in places.items() if _limited(model, n, x)}
    return {n: (float(x[0]), float(x[1])) for n, x in of.items()}


def _limited(model: Any, name: str, place: int) -> bool:
    return bool(getattr(model, f"actuator_{name}limited")[place])


def _path(r: Reading, k: int, kind: int, tendons: Tendons) -> Any:
    """The length that an actuator acts along, gear included; None where it is not modelled."""
    model, target = r.model, int(r.model.actuator_trnid[k, 0])
    gear = model.actuator_gear[output(model, k)].copy()
    if kind in (ON_JOINT, IN_PARENT):
        name, type_ = r.joints[target], int(model.jnt_type[target])
        if type_ == BALL:
            return BallPath(name, tuple(gear[:3].tolist()), kind == IN_PARENT)
        if type_ == FREE:
            return FreePath(name, r.m.joints[name].child.body.name, tuple(gear.tolist()), kind == IN_PARENT)
        return JointPath(((name, float(gear[0])),))
    if kind == ON_TENDON:
        path = tendons.paths[target]
        return None if path is None else _geared(path, float(gear[0]))
    if kind == SLIDER_CRANK:
        crank, slider = (r.sites[int(x)] for x in model.actuator_trnid[k, :2])
        return _geared(SliderCrank(crank, slider, float(model.actuator_cranklength[k])), float(gear[0]))
    if kind == ON_SITE and model.actuator_trnid[k, 1] < 0:
        return SiteWrench(r.sites[target], tuple(gear.tolist()))
    return None


def _geared(path: Any, gear: float) -> Any:
    if isinstance(path, JointPath):
        return JointPath(tuple((joint, c * gear) for joint, c in path.terms))
    return path if gear == 1.0 else Geared(path, gear)


def _apply(r: Reading, k: int, name: str, path: Any, law: ActuatorForce) -> None:
    plain = not any(law.gain[1:]) and not any(law.bias) and law.control == law.force == EVERYTHING
    if isinstance(path, (BallPath, FreePath)):
        r.m.add_joint_force(unused(name, r.m.forces), path.joint, OnJoint(path, law))
    elif isinstance(path, JointPath) and len(path.terms) == 1 and plain:
        joint, c = path.terms[0]
        r.m.add_joint_force(unused(name, r.m.forces), joint, c * law.gain[0] * law.u)
    elif isinstance(path, Geared) and not isinstance(path.path, (BallPath, FreePath)):
        exert(r, name, path.path, Scaled(law, path.gear))
    else:
        exert(r, name, path, law)


class Geared(FramePath):
    """A path whose length counts `gear` times."""

    def __init__(self, path: FramePath, gear: float):
        self.path, self.gear = path, gear

    def length(self, s: UserState) -> ca.SX:
        """gear L."""
        return self.gear * self.path.length(s)

    def speed(self, s: UserState) -> ca.SX:
        """gear L̇."""
        return self.gear * self.path.speed(s)


class BallPath:
    """The turn of a ball joint about an axis (with the gear as its length), in its child's or its parent's axes."""

    def __init__(self, joint: str, gear: tuple[float, ...], in_parent: bool):
        self.joint, self.gear, self.in_parent = joint, gear, in_parent

    def axis(self, s: UserState) -> ca.SX:
        """∂L̇/∂ω."""
        gear = ca.SX(list(self.gear))
        return matrix(s[self.joint]).T @ gear if self.in_parent else gear

    def length(self, s: UserState) -> ca.SX:
        """axis · rotation vector."""
        return ca.dot(self.axis(s), rotation_vector(s[self.joint]))

    def speed(self, s: UserState) -> ca.SX:
        """axis · ω."""
        return ca.dot(self.axis(s), s.rate(self.joint))


class FreePath:
    """A force (ground's axes) on the origin of a free body and a moment (its own axes); it has no length."""

    def __init__(self, joint: str, body: str, gear: tuple[float, ...], in_parent: bool):
        self.joint, self.body, self.gear, self.in_parent = joint, body, gear, in_parent

    def axis(self, s: UserState) -> ca.SX:
        """∂L̇/∂(ω; v) of the twist in the body's axes."""
        R = s.rotation(self.body)
        turn = ca.SX(list(self.gear[3:]))
        return ca.vertcat(R.T @ turn if self.in_parent else turn, R.T @ ca.SX(list(self.gear[:3])))

    def length(self, s: UserState) -> ca.SX:
        """0, as in MuJoCo."""
        return ca.SX(0)

    def speed(self, s: UserState) -> ca.SX:
        """axis · twist."""
        return ca.dot(self.axis(s), s.rate(self.joint))


class SiteWrench(FramePath):
    """A force and a moment on a site, in its axes: gear (force, moment); it has no length."""

    def __init__(self, site: str, gear: tuple[float, ...]):
        self.site, self.gear = site, gear

    @property
    def frames(self) -> list[str]:
        return [self.site]

    def length(self, s: UserState) -> ca.SX:
        """0, as in MuJoCo."""
        return ca.SX(0)

    def shares(self, s: UserState) -> Any:
        R = s.rotation(self.site)
        return {self.site: (R @ ca.SX(list(self.gear[:3])), R @ ca.SX(list(self.gear[3:])))}


class OnJoint:
    """A law along the axis of a path of a ball or free joint."""

    def __init__(self, path: Any, law: Any):
        self.path, self.law = path, law

    def __call__(self, s: UserState) -> ca.SX:
        return self.path.axis(s) * self.law(s)


def matrix(q: ca.SX) -> ca.SX:
    """The rotation matrix of a unit quaternion (w, x, y, z)."""
    w, v = q[0], q[1:4]
    K = ca.skew(v)
    return ca.SX(np.eye(3)) + 2 * w * K + 2 * (K @ K)
