"""Forces of a model file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.cursor import FileNode
from dalembert.formats.model.places import drawn, pictured, place
from dalembert.formats.model.scope import CONFIGURATION, FORCE, Scope
from dalembert.mechanism.curves import BEYOND, Curve
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.wheels import picture

Types = dict[str, dict[str, str]]
#: types of forces that come with an input of their name
MAKE_INPUTS = ("motor", "actuator", "servo", "kinematic input", "dc motor", "muscle")


def kind_of(node: FileNode, kinds: Types, noun: str) -> str:
    """The type of an element."""
    node.table()
    found = node.get("type")
    if found is None:
        raise node.error(f"has no 'type', which a {noun} needs; one of {', '.join(kinds)}.")
    return found.choice(kinds)


def local(m: Mechanism, node: FileNode, outer: Scope, may: Any) -> Scope:
    """The names of a force or constraint: with frames and definitions of its own."""
    scope = Scope(m, outer)
    if (frames := node.get("frames")) is not None:
        for name, value in frames.named():
            if name in m.frames or name in m.bodies:
                raise value.error("is the name of a frame or body already; choose another.")
            scope.frames[name] = place(value, scope)
    scope.define(node.get("let"), may)
    return scope


def places(node: FileNode, scope: Scope, count: int | None = None) -> list[Any]:
    """Several frames."""
    return [place(n, scope) for n in node.items(count)]


def per_dof(node: FileNode, scope: Scope, keys: Iterable[str]) -> dict[str, Any]:
    """Values of those keys that are present: each a value or a list of values."""
    return {
        key: scope.values(value.items()) if isinstance(value.value, list) else scope.value(value)
        for key in keys
        if (value := node.get(key)) is not None
    }


def limits(node: FileNode) -> np.ndarray:
    """(lower, upper) or a list of such pairs; null: none."""

    def pair(nodes: list[FileNode]) -> list[float]:
        low, high = (n.value if n.value is None else n.number() for n in nodes)
        return [-np.inf if low is None else low, np.inf if high is None else high]

    items = node.items()
    if items and all(isinstance(n.value, list) for n in items):
        return np.array([pair(n.items(2)) for n in items])
    return np.array(pair(node.items(2)))


def add_force(m: Mechanism, name: str, node: FileNode, outer: Scope) -> None:
    """Add the force that a node describes."""
    kind = kind_of(node, words.FORCES, "force")
    node.keys({"type!": "", **words.FORCES[kind], **words.LOCAL}, f"a {kind}")
    scope = local(m, node, outer, FORCE)
    with node.here():
        _ADD[kind](m, name, node, scope)


def _motor(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    m.add_motor(name, node.child("joint").text())


def _actuator(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    given, stroke = node.get("limits"), node.get("stroke")
    m.add_actuator(
        name,
        *places(node.child("between"), scope, 2),
        limits=None if given is None else limits(given),
        stroke=None if stroke is None else [None if n.value is None else scope.value(n) for n in stroke.items(2)],
        at=drawn(node, scope, several=True),
    )


def _servo(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    given, rate = node.get("limits"), node.get("rate")
    gains = {key: scope.value(value) for key in ("stiffness", "damping") if (value := node.get(key)) is not None}
    m.add_servo(
        name,
        node.child("coordinate").text(),
        **gains,
        rate=False if rate is None else rate.flag(),
        limits=None if given is None else limits(given),
    )


def _kinematic_input(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    m.add_kinematic_input(name, node.child("coordinate").text())


def _potential(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    m.add_potential(name, scope.law([node.child("energy")], CONFIGURATION))


def _joint_force(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    value = node.child("value")
    m.add_joint_force(
        name,
        node.child("joint").text(),
        scope.values(value.items() if isinstance(value.value, list) else [value], FORCE),
    )


def _wrench(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    given = {key: scope.vector(value, 3, FORCE) for key in ("force", "moment") if (value := node.get(key)) is not None}
    axes = node.get("axes")
    m.add_wrench(
        name,
        place(node.child("frame"), scope),
        **given,
        at=drawn(node, scope),
        axes="world" if axes is None else axes.choice(["world", "body"]),
    )


def _elastic(node: FileNode, scope: Scope) -> dict[str, Any]:
    found = given(node, scope, ("stiffness", "damping"))
    if (rest := node.get("rest_length")) is not None:
        found["rest_length"] = "drawn" if rest.value == "drawn" else scope.value(rest)
    return found | {"at": drawn(node, scope, several=True)}


def given(node: FileNode, scope: Scope, keys: Iterable[str]) -> dict[str, Any]:
    """Those of the keys that are present: numbers, expressions of parameters, or curves."""
    return {key: law(value, scope) for key in keys if (value := node.get(key)) is not None}


def law(node: FileNode, scope: Scope) -> Any:
    """A number, an expression of parameters, or a curve."""
    if not isinstance(node.value, dict):
        return scope.value(node)
    node.keys(words.CURVE, "a curve")
    smooth, beyond = node.get("smooth"), node.get("beyond")
    with node.here():
        return Curve(
            node.child("x").numbers(),
            node.child("y").numbers(),
            smooth=False if smooth is None else smooth.flag(),
            beyond="linear" if beyond is None else beyond.choice(BEYOND),
        )


def coefficients(node: FileNode, scope: Scope) -> dict[str, Any]:
    """Values by the names of coordinates."""
    return {q: scope.value(c) for q, c in node.child("coefficients").named()}


def _spring(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    m.add_spring(name, *places(node.child("between"), scope, 2), **_elastic(node, scope))


def _damper(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    ends, at = places(node.child("between"), scope, 2), drawn(node, scope, several=True)
    m.add_damper(name, *ends, damping=law(node.child("damping"), scope), at=at)


def _torsion_spring(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    m.add_torsion_spring(name, node.child("coordinate").text(), **given(node, scope, ("stiffness", "damping", "rest")))


def _elastic_coupling(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    keys = ("stiffness", "damping", "offset", "efficiency", "creep")
    m.add_elastic_coupling(name, coefficients(node, scope), **given(node, scope, keys))
    picture(m.forces, name, *pictured(node, scope))


def _dc_motor(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    bounds, keys = node.get("limits"), ("torque_constant", "resistance", "back_emf", "ratio", "efficiency")
    m.add_dc_motor(
        name,
        node.child("coordinate").text(),
        **given(node, scope, keys),
        limits=None if bounds is None else limits(bounds),
    )


def _muscle(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    keys = ("strength", "optimal_length", "tendon", "speed")
    at = drawn(node, scope, several=True)
    m.add_muscle(name, places(node.child("through"), scope), **given(node, scope, keys), at=at)


def _tyre(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    on, about = node.get("on"), node.get("axis")
    m.add_tyre(
        name,
        place(node.child("wheel"), scope),
        **given(node, scope, ("radius", "stiffness", "damping", "road", "slow")),
        **per_dof(node, scope, ("longitudinal", "lateral")),
        on=None if on is None else place(on, scope),
        axis="y" if about is None else about.choice("xyz"),
        at=drawn(node, scope),
    )


def _slipping_coupling(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    capacity = scope.value(node.child("capacity"), FORCE)
    more = given(node, scope, ("static", "creep"))
    m.add_slipping_coupling(name, coefficients(node, scope), capacity=capacity, **more)
    picture(m.forces, name, *pictured(node, scope))


def _bushing(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    six: dict[str, Any] = {}
    for key in ("stiffness", "damping"):
        if (value := node.get(key)) is not None:
            rows = value.items()
            matrix = any(isinstance(n.value, list) for n in rows)
            laws = any(isinstance(n.value, dict) for n in rows)
            six[key] = (
                [scope.values(n.items()) for n in rows]
                if matrix
                else [law(n, scope) for n in rows]
                if laws
                else scope.values(rows)
            )
    m.add_bushing(name, *places(node.child("between"), scope, 2), **six, at=drawn(node, scope))


def _cable(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    tension = node.get("tension")
    elastic = _elastic(node, scope)
    if tension is not None:
        if "damping" in elastic or "rest_length" in elastic:
            raise node.error("a cable of given tension has neither damping nor rest_length; remove them.")
        elastic["tension"] = scope.value(tension, FORCE)
    m.add_cable(name, places(node.child("through"), scope), **elastic)


def _cut_joint_spring(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    m.add_cut_joint_spring(name, node.child("loop").text(), **per_dof(node, scope, ("stiffness", "rest", "damping")))


_ADD = {
    "motor": _motor,
    "actuator": _actuator,
    "servo": _servo,
    "kinematic input": _kinematic_input,
    "potential": _potential,
    "joint force": _joint_force,
    "wrench": _wrench,
    "spring": _spring,
    "damper": _damper,
    "torsion spring": _torsion_spring,
    "elastic coupling": _elastic_coupling,
    "dc motor": _dc_motor,
    "muscle": _muscle,
    "tyre": _tyre,
    "slipping coupling": _slipping_coupling,
    "bushing": _bushing,
    "cable": _cable,
    "cut joint spring": _cut_joint_spring,
}
