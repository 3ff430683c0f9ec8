"""What the calls are made on."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

import dalembert as da
from dalembert import analysis, charts, control, zoo


class Target(NamedTuple):
    """A callable and the arguments of a good call."""

    call: Callable[..., Any]
    good: dict[str, Any]


def made(good: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call: functions of the table that make a value are called, what could be changed is copied."""

    def one(value: Any) -> Any:
        name = getattr(value, "__name__", "")
        if callable(value) and (name.startswith(("fresh_", "<lambda>")) or hasattr(value, "cache_info")):
            return value()
        return copy.copy(value) if isinstance(value, (dict, list, np.ndarray)) else value

    return {name: one(value) for name, value in good.items()}


def bench() -> da.Mechanism:
    """A small mechanism with something of everything that methods refer to."""
    m = da.Mechanism("bench", gravity=(0, -9.81, 0))
    m.add_parameter("L", 0.5)
    m.add_parameter("g", [1.0, 2.0])
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in ("a", "b"))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    c = m.add_body("c", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("C", da.Free(), m.ground, c)
    d = m.add_body("d", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("D", da.Spherical(), m.ground.at(0, 0, 1), d)
    m.add_body("loose", mass=1.0, inertia=(1, 1, 1))
    m.add_input("push")
    m.add_frame("tip", b.at(1, 0, 0))
    for body, kind, size in ((a, "sphere", 0.1), (b, "box", (0.1, 0.2, 0.3)), (c, "capsule", (0.1, 0.5))):
        body.add_shape(kind, size)
    return m


def on_mechanism(method: str) -> Callable[..., Any]:
    """A method of a fresh mechanism; what it accepts must also compile, or be refused then."""

    def call(**arguments: Any) -> Any:
        m = bench()
        for shaft in "EF":
            m.add_joint(shaft, da.Revolute("z"), m.ground, m.add_body(f"shaft {shaft}", mass=1.0, inertia=(1, 1, 1)))
        if method == "compile":
            m.add_joint("rest", da.Free(), m.ground, "loose")
        result = getattr(m, method)(**arguments)
        carried = {"ground", *(j.child.body.name for j in m.joints.values())}
        for k, body in enumerate(b for b in m.bodies if b not in carried):
            m.add_joint(f"rest {k}", da.Free(), m.ground, body)
        m.compile("casadi")
        return result

    return call


@cache
def system() -> da.System:
    """A closed chain with a motor and parameters."""
    m = bench()
    m.add_joint("rest", da.Prismatic("x"), m.ground, "loose")
    m.close_loop("loop", da.Revolute("z"), "tip", m.ground.at(0.8, 0, 0))
    m.add_motor("motor", "A")
    m.add_spring("line", "ground", "tip", stiffness=1.0)
    return m.compile("casadi")


@cache
def state() -> da.State:
    a = np.arccos(0.4)
    return system().state({"A": a, "B": -2 * a}, v={"rest": 1.0})


@cache
def four_bar() -> tuple[da.System, da.State]:
    s = zoo.four_bar().compile()
    return s, s.state(*zoo.four_bar_start(0.6, speed=2.0))


@cache
def run() -> Any:
    return da.simulate(*four_bar(), 0.1)


@cache
def chain() -> da.System:
    return zoo.chain(3).compile("casadi")


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="dalembert-campaign-"))


@cache
def sprung_run() -> Any:
    m = zoo.four_bar()
    m.add_spring("line", "ground", "coupler", stiffness=1.0)
    s = m.compile()
    return da.simulate(s, s.state(*zoo.four_bar_start(0.6, speed=2.0)), 0.05)


def on_sprung_run(method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(sprung_run(), method)(**arguments)


def on_system(method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(system(), method)(**arguments)


def on_state(method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(state(), method)(**arguments)


def on_run(method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(run(), method)(**arguments)


@cache
def led() -> da.System:
    m = zoo.four_bar()
    m.add_kinematic_input("lead", "A")
    return m.compile()


@cache
def led_run() -> da.Run:
    return da.simulate(led(), led().assemble({"A": 0.6}), 0.05, u={"lead": 1.0})


@cache
def model() -> da.LinearModel:
    return da.linearize(*four_bar(), independent=["A"])


@cache
def trajectory() -> da.LinearTrajectory:
    return da.linearize_along(four_bar()[0], run(), independent=["A"])


@cache
def curved() -> analysis.Curvature:
    return analysis.curvature(chain(), {"J1": 0.3})


@cache
def decoupled() -> analysis.DecouplingCoordinates:
    return analysis.decoupling_coordinates(zoo.cart_pole().compile(backend="casadi"), {"phi1": 0.3})


@cache
def chart() -> charts.LocalChart:
    return charts.named(*four_bar(), ["A"])


@cache
def held() -> da.StaticForces:
    return da.static_forces(*four_bar(), {"coupler": (0.0, -5.0, 0.0)})


@cache
def mapped() -> da.Workspace:
    return da.workspace(four_bar()[0], {"A": [0.5, 0.6, 0.7]}, four_bar()[1])


@cache
def forced() -> control.ActuatorForcesAlong:
    return control.actuator_forces_along(four_bar()[0], run())


def on_model(method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(model(), method)(**arguments)


def on_chart(method: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(chart(), method)(**arguments)


def angle(q: Any, y: Any) -> Any:
    return q[0] - y


def quasi(q: Any) -> Any:
    return ca.horzcat(1.0, q[0], 0.0)


def fresh_q() -> np.ndarray:
    return state().q.copy()


def fresh_v() -> np.ndarray:
    return state().v.copy()


def law(s: Any) -> Any:
    return -s["A"]


def motion(t: Any) -> Any:
    return 0.1 * ca.sin(t)


def energy(s: Any) -> Any:
    return s["A"] ** 2


def motion3(t: Any) -> Any:
    return [ca.cos(t), ca.sin(t), 0.0]


@cache
def tables() -> Path:
    """A file of RBDL's tables."""
    path = folder() / "model.lua"
    path.write_text('return { frames = { { name = "a" } }, constraint_sets = { s = {} } }')
    return path


@cache
def dataset() -> Path:
    """A dataset of Adams."""
    path = folder() / "model.adm"
    path.write_text("title\nUNITS/SYSTEM=MKS\nPART/1, GROUND\nPART/2, MASS=1, CM=3\nMARKER/3, PART=2\nEND\n")
    return path


@cache
def stage() -> Path:
    """A stage of USD."""
    path = folder() / "model.usda"
    path.write_text(
        '#usda 1.0\ndef Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n'
        "{\n    float physics:mass = 1\n}\n"
    )
    return path


STATE = {"state": state}
SYSTEM = {"system": system, "state": state}
FOUR_BAR = {"system": lambda: four_bar()[0], "state": lambda: four_bar()[1]}
CHARTED = {"state": lambda: four_bar()[1]}


@cache
def saved() -> Path:
    """A file with a run."""
    path = folder() / "kept.arrow"
    da.simulate(*four_bar(), 0.05).save(path)
    return path


@cache
def path() -> control.Trajectory:
    return control.quintic({"A": 0.6}, {"A": 0.8}, 0.5)
