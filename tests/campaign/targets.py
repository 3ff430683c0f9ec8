"""Public callables, each with a good call; a new one joins by adding a row.

A row is {dotted name: (callable, {argument: good value})}. Values that are functions named `fresh_…` are called for
every use.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

import dalembert as da
from dalembert import analysis, charts, control, view, zoo


class Target(NamedTuple):
    """A callable and the arguments of a good call."""

    call: Callable[..., Any]
    good: dict[str, Any]


# --- what the calls are made on -----------------------------------------------------------------------------------


def bench() -> da.Mechanism:
    """A small mechanism with something of everything that methods refer to."""
    m = da.Mechanism("bench", gravity=(0, -9.81, 0))
    m.add_parameter("L", 0.5)
    m.add_parameter("g", [1.0, 2.0])
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod(1.0, 1.0)) for n in ("a", "b"))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    c = m.add_body("c", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("C", da.Free(), m.ground, c)
    d = m.add_body("d", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("D", da.Spherical(), m.ground.at(0, 0, 1), d)
    m.add_body("loose", mass=1.0, inertia=(1, 1, 1))
    m.add_input("push")
    m.add_frame("tip", b.at(1, 0, 0))
    return m


def on_mechanism(method: str) -> Callable[..., Any]:
    """A method of a fresh mechanism; what it accepts must also compile, or be refused then."""

    def call(**arguments: Any) -> Any:
        m = bench()
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
def forced() -> control.ForcesAlong:
    return control.inverse_dynamics_along(four_bar()[0], run())


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


# --- rows ---------------------------------------------------------------------------------------------------------

AXIS = {"axis": "z"}
JOINTS = {
    **{f"dalembert.{k.__name__}": Target(k, AXIS) for k in (da.Revolute, da.Prismatic, da.Cylindrical, da.Planar)},
    "dalembert.Screw": Target(da.Screw, {"axis": "z", "pitch": 0.1}),
    "dalembert.Universal": Target(da.Universal, {"first": "x", "second": "y"}),
}

SOLIDS = {
    "dalembert.rod": Target(da.rod, {"mass": 1.0, "length": 1.0, "axis": "x"}),
    "dalembert.box": Target(da.box, {"mass": 1.0, "sides": (1.0, 2.0, 3.0)}),
    "dalembert.cylinder": Target(da.cylinder, {"mass": 1.0, "radius": 0.1, "length": 1.0, "axis": "z"}),
    "dalembert.disc": Target(da.disc, {"mass": 1.0, "radius": 0.1, "axis": "z"}),
    "dalembert.sphere": Target(da.sphere, {"mass": 1.0, "radius": 0.1}),
    "dalembert.planar": Target(da.planar, {"moment": 0.1, "axis": "z"}),
    "dalembert.Table": Target(da.Table, {"times": [0.0, 1.0, 2.0], "values": [0.0, 0.5, 0.0], "ends": "cyclic"}),
    "dalembert.Table.at": Target(lambda **a: da.Table([0, 1], [1, 2]).at(**a), {"t": 0.5}),
    "dalembert.rotation": Target(da.rotation, {"axis": "z", "angle": 0.3}),
}

ADDING: dict[str, dict[str, Any]] = {
    "add_parameter": {"name": "new", "value": 0.5},
    "add_input": {"name": "new", "size": 2},
    "add_body": {
        "name": "new",
        "mass": 1.0,
        "com": (0.1, 0.0, 0.0),
        "inertia": (1.0, 1.0, 1.0),
        "inertia_axes": np.eye(3),
        "physical": True,
    },
    "add_frame": {"name": "new", "frame": "a"},
    "add_joint": {
        "name": "new",
        "joint": da.Universal("x", "y"),
        "parent": "a",
        "child": "loose",
        "stiffness": 1.0,
        "rest": (0.1, 0.2),
        "damping": 0.1,
        "friction": [0.1, 0.2],
        "armature": 0.01,
        "limits": (-1.0, 1.0),
    },
    "add_motor": {"name": "new", "joint": "A"},
    "add_joint_force": {"name": "new", "joint": "A", "value": law},
    "add_wrench": {"name": "new", "frame": "tip", "force": (1.0, 0, 0), "moment": (0, 0, 1.0), "axes": "world"},
    "add_spring": {"name": "new", "a": "a", "b": "b", "stiffness": 10.0, "damping": 0.1, "rest_length": 0.1},
    "add_actuator": {"name": "new", "a": "a", "b": "tip", "limits": (-1.0, 2.0)},
    "add_servo": {
        "name": "new", "coordinate": "A", "stiffness": 1.0, "damping": 0.1, "rate": True, "limits": (-1.0, 2.0),
    },
    "add_kinematic_input": {"name": "new", "coordinate": "A"},
    "add_potential": {"name": "new", "energy": energy},
    "merge": {"other": zoo.chain(2), "prefix": "part ", "at": "tip", "parameters": {}},
    "add_cable": {"name": "new", "points": ["a", "b", "c"], "tension": 1.0},
    "close_loop": {"name": "new", "joint": da.Revolute("z"), "a": "tip", "b": "ground"},
    "add_rod": {"name": "new", "a": "a", "b": "c", "length": 1.0},
    "add_contact": {
        "name": "new", "frame": "a", "on": "c", "radius": 0.1, "restitution": 0.5, "friction": 0.2,
        "static_friction": 0.3,
    },
    "add_rope": {"name": "new", "points": ["a", "c"], "length": 1.0, "restitution": 0.5},
    "add_point_on_line": {"name": "new", "point": "tip", "line": "ground", "axis": "x"},
    "add_point_in_plane": {"name": "new", "point": "tip", "plane": "ground", "normal": "y"},
    "add_coupling": {"name": "new", "coefficients": {"A": 1.0, "B": -2.0}, "offset": 0.1},
    "add_driver": {"name": "new", "coordinate": "A", "motion": motion},
    "add_point_driver": {"name": "new", "frame": "c", "motion": motion3},
    "add_rolling": {"name": "new", "wheel": "c", "radius": 0.3, "on": "ground", "axis": "y"},
    "add_rolling_discs": {
        "name": "new", "a": "a", "radius_a": 0.3, "b": "c", "radius_b": 0.2, "axis": "z", "inside": False,
    },
    "add_skate": {"name": "new", "frame": "c", "sideways": "y"},
    "add_constraint": {"name": "new", "holonomic": law},
    "add_state": {"name": "new", "q": {"A": 0.1}, "v": {"D": [0.0, 0.0, 1.0]}, "u": {"push": 1.0}, "t": 0.5},
    "save": {"path": lambda: folder() / "m.yaml"},
    "compile": {"backend": "casadi"},
}  # fmt: skip
SHAPE = {"kind": "box", "size": (0.1, 0.2, 0.3), "colour": (1.0, 0.0, 0.0, 1.0), "name": "crate"}


@cache
def at_home() -> da.System:
    """A system with a state that has a name."""
    m = zoo.four_bar()
    m.add_state("home", q={"A": 0.6})
    return m.compile("casadi")


@cache
def tables() -> Path:
    """A file of RBDL's tables."""
    path = folder() / "model.lua"
    path.write_text('return { frames = { { name = "a" } }, constraint_sets = { s = {} } }')
    return path


@cache
def written() -> Path:
    """A model file."""
    path = folder() / "kept.yaml"
    bench().save(path)
    return path


DESCRIBING = {
    "dalembert.Mechanism": Target(da.Mechanism, {"name": "new", "gravity": (0.0, 0.0, -9.81)}),
    **{f"dalembert.Mechanism.{name}": Target(on_mechanism(name), good) for name, good in ADDING.items()},
    "dalembert.Body.at": Target(
        lambda **a: bench().bodies["a"].at(**a), {"x": 0.1, "y": 0.0, "z": 0.2, "rotation": da.rotation("x", 0.1)}
    ),
    "dalembert.Frame.at": Target(lambda **a: bench().frames["tip"].at(**a), {"x": 0.1, "y": 0.0, "z": 0.2}),
    "dalembert.Shape": Target(da.Shape, {**SHAPE, "pose": (np.eye(3), (0.0, 0.0, 1.0)), "scale": (1.0, 1.0, 1.0)}),
    "dalembert.Body.add_shape": Target(
        lambda **a: bench().bodies["a"].add_shape(**a),
        {**SHAPE, "at": (0.0, 0.0, 1.0), "rotation": da.rotation("x", 0.1)},
    ),
    "dalembert.read": Target(da.read, {"path": written, "strict": False}),
    "dalembert.read_model": Target(da.read_model, {"path": written, "strict": False}),
    "dalembert.System.named_state": Target(lambda **a: at_home().named_state(**a), {"name": "home"}),
}

STATE = {"state": state}
P = {"p": {"L": 0.6}}
U = {"u": {"motor": 1.0}}
FRAME = {**STATE, "frame": "tip", **P}
ASKING: dict[str, dict[str, Any]] = {
    "state": {"q": fresh_q, "v": fresh_v, "t": 0.1},
    "with_parameters": {"values": {"L": 0.6}},
    "rates": STATE,
    "plus": {"q": fresh_q, "delta": fresh_v},
    "minus": {"q1": fresh_q, "q0": state},
    "function": {"name": "pose", "frame": "tip", "axes": "world"},
    "kernel": {"name": "jacobian", "frame": "tip", "axes": "world", "lanes": 1},
    "pose": FRAME,
    "twist": {**FRAME, "axes": "body"},
    "jacobian": {**FRAME, "axes": "world"},
    "jacobian_rate": {**FRAME, "axes": "world"},
    "jacobian_derivatives": {**FRAME, "a": fresh_v},
    "frame_acceleration": {**FRAME, "a": fresh_v, "axes": "body"},
    "mass_matrix": {**STATE, **P},
    "bias": {**STATE, **P},
    "gravity_vector": {**STATE, **P},
    "coriolis_vector": {**STATE, **P},
    "applied_forces": {**STATE, **U, **P},
    "input_matrix": {**STATE, **P},
    "inverse_dynamics": {**STATE, "a": fresh_v, **U, **P, "wrenches": {"tip": np.zeros(6)}},
    "inverse_dynamics_derivatives": {**STATE, "a": fresh_v, **U, **P},
    "forward_dynamics": {**STATE, "tau": fresh_v, **U, **P, "wrenches": {"tip": np.zeros(6)}},
    "check_mass": {**STATE, **P},
    "kinetic_energy": {**STATE, **P},
    "potential_energy": {**STATE, **P},
    "energy": {**STATE, **P},
    "momentum": {**STATE, "about": "center", **P},
    "center_of_mass": {**STATE, **P},
    "residuals": {**STATE, **P},
    "constraint_matrix": {**STATE, **P},
    "speed_residuals": {**STATE, **P},
    "constraint_gamma": {**STATE, **P},
    "cut_joint": {**STATE, "loop": "loop", **P},
    "acceleration": {
        **STATE, "tau": fresh_v, **U, **P, "formulation": "nullspace", "metric": "mass", "tolerance": 1e-10,
        "active": {"loop": True},
    },
    "constraint_forces": {**STATE, **U, **P},
    "subspaces": {**STATE, **P, "metric": "mass", "active": {"loop": True}, "tolerance": 1e-9},
    "report": {**STATE, **P, "active": {"loop": True}},
    "assemble": {
        "q": {"rest": 0.9}, "v": {"rest": 1.0}, "guess": {"A": 1.2, "B": -2.3}, "t": 0.0, "tolerance": 1e-11,
        "branches": 1, "seed": 3, "active": {"loop": True}, "frames": {"c": (0.1, 0.2, 0.3)}, "limits": True,
    },
    "sweep": {
        "path": {"rest": [0.1, 0.2]}, **STATE, "frames": {"tip": [(0.8, 0.0, 0.0)] * 2}, "held": {},
        "speed": {"rest": 1.0}, "acceleration": {"rest": [1.0, 2.0]}, "limits": "mark", "through": False, **U, **P,
    },
    "walk": {**STATE, "to": {"rest": 0.3}, "frames": {"tip": (0.8, 0.0, 0.0)}, "held": {}, **P},
    "project": {**STATE, **P, "active": {"loop": True}, "tolerance": 1e-11},
}  # fmt: skip

EVALUATING = {
    **{f"dalembert.System.{name}": Target(on_system(name), good) for name, good in ASKING.items()},
    "dalembert.System.holding": Target(lambda name: system().without("loop").holding(name), {"name": "loop"}),
    "dalembert.System.without": Target(lambda name: system().without(name), {"name": "loop"}),
    "dalembert.State.replace": Target(on_state("replace"), {"q": {"A": 0.9}, "v": fresh_v, "t": 1.0}),
    "dalembert.State.rate": Target(on_state("rate"), {"name": "A"}),
    "dalembert.State.__getitem__": Target(on_state("__getitem__"), {"name": "A"}),
    "dalembert.State.length": Target(on_state("length"), {"name": "line"}),
    "dalembert.State.length_rate": Target(on_state("length_rate"), {"name": "line"}),
    "dalembert.State.position": Target(on_state("position"), {"frame": "tip"}),
    "dalembert.State.rotation": Target(on_state("rotation"), {"frame": "tip"}),
    "dalembert.State.pose": Target(on_state("pose"), {"frame": "tip"}),
    "dalembert.State.velocity": Target(on_state("velocity"), {"frame": "tip"}),
    "dalembert.State.twist": Target(on_state("twist"), {"frame": "tip", "axes": "world"}),
    "dalembert.Kernel": Target(
        lambda **a: da.Kernel(system().function("mass_matrix"), **a), {"lanes": 1, "backend": "casadi", "chunk": 1000}
    ),
    "dalembert.Kernel.__call__": Target(
        lambda q, v: system().kernel("rates")(q, v), {"q": fresh_q, "v": fresh_v}
    ),
    "dalembert.Kernel.batch": Target(
        lambda q, v: system().kernel("rates").batch(q, v), {"q": lambda: np.tile(state().q, (3, 1)), "v": fresh_v}
    ),
}  # fmt: skip


def _zoo() -> dict[str, Target]:
    """The functions of the zoo with their own defaults as the good call."""
    from inspect import signature

    exact = {
        "pendulum": {"t": 0.1, "amplitude": 1.0},
        "pendulum_period": {"amplitude": 1.0},
        "spinning_pendulum": {"t": [0.1, 0.2], "speed": 9.0},
        "chain_frequencies": {"links": 3, "length": 1.0},
        "free_top": {"t": 0.1, "omega": (1.0, 2.0, 3.0), "transverse": 1.0, "axial": 2.0},
        "precession_rates": {"I1": 0.002, "I3": 0.001, "mgl": 0.3, "tilt": 0.5, "spin": 120.0},
        "sleeping_top": {"I1": 0.002, "I3": 0.001, "mgl": 0.3, "spin": 120.0},
        "sleigh": {"t": 0.1, "mass": 1.0, "inertia": 0.4, "ahead": 0.2, "final": 1.0},
        "disc_spin": {"lean": 0.3, "yaw_rate": 1.7, "radius": 0.4},
        "disc_growth": {"spin": 2.0, "radius": 0.4},
    }
    rows = {f"dalembert.zoo.exact.{name}": Target(getattr(zoo.exact, name), good) for name, good in exact.items()}
    for entry in zoo.CATALOG.values():
        for f in (entry.build, entry.start):
            good = {n: p.default for n, p in signature(f).parameters.items()}
            if good:
                rows[f"dalembert.zoo.{f.__name__}"] = Target(f, good)
    rows["dalembert.zoo.StewartGeometry"] = Target(
        zoo.StewartGeometry, {"base_radius": 3.0, "base_spread": 2.5, "platform_radius": 1.0, "height": 2.0}
    )
    return rows


SYSTEM = {"system": system, "state": state}
FOUR_BAR = {"system": lambda: four_bar()[0], "state": lambda: four_bar()[1]}
CHARTED = {"state": lambda: four_bar()[1]}


def opened_studio(**arguments: Any) -> str:
    """A studio, closed again."""
    with view.studio(**arguments, open=False) as studio:
        return repr(studio)


VIEWING = {
    "dalembert.view.studio": Target(
        opened_studio,
        {**FOUR_BAR, "run": None, "time": 1.0, "u": None, "p": None, "outputs": [], "port": 0,
         "source": "system = ..."},
    ),
    "dalembert.view.plot": Target(
        view.plot, {"run": run, "names": ["A"], "panels": ["positions"], "path": lambda: folder() / "plot.png"}
    ),
    "dalembert.view.animate": Target(
        view.animate, {"run": run, "path": lambda: folder() / "run.html", "traces": ["coupler"], "speed": 1.0}
    ),
    "dalembert.view.snapshot": Target(
        view.snapshot,
        {**FOUR_BAR, "path": lambda: folder() / "s.png", "p": {}, "axes": None, "names": True},
    ),
}  # fmt: skip

ANALYSIS = {
    "dalembert.analysis.curvature": Target(analysis.curvature, {"system": chain, "state": {"J1": 0.3}, "samples": 1}),
    "dalembert.analysis.Curvature.sectional": Target(
        lambda **a: curved().sectional(**a), {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0]}
    ),
    "dalembert.analysis.decoupling_coordinates": Target(
        analysis.decoupling_coordinates, {"system": lambda: decoupled().system, "state": {"phi1": 0.3}, "p": None}
    ),
    **{
        f"dalembert.analysis.DecouplingCoordinates.{method}": Target(
            lambda method=method, **a: getattr(decoupled(), method)(**a), given
        )
        for method, given in {
            **{key: {"state": {"phi1": 0.5}} for key in ("value", "jacobian", "rates")},
            "forces": {"state": {"phi1": 0.5}, "tau": [1.0, 0.0]},
            "state": {"theta": [0.1, 0.05], "rates": [1.0, 0.0]},
        }.items()
    },
    "dalembert.analysis.operators": Target(analysis.operators, {"system": chain, "state": {"J1": 0.3}}),
    "dalembert.analysis.Operators.along": Target(
        lambda **a: analysis.operators(chain(), {"J1": 0.3}).along(**a), {"velocity": [1.0, 0.0, 0.5]}
    ),
    "dalembert.analysis.characteristic_length": Target(
        analysis.characteristic_length, {"system": system, "length": 0.5}
    ),
    "dalembert.analysis.effort_limits": Target(analysis.effort_limits, {"system": system, "limits": {"A": 1.0}}),
    "dalembert.Subspaces.constraint_inertia": Target(
        lambda **a: four_bar()[0].subspaces(four_bar()[1]).constraint_inertia(**a), {"variant": 2, "scale": 1.0}
    ),
    "dalembert.Subspaces.energies": Target(
        lambda **a: four_bar()[0].subspaces(four_bar()[1]).energies(**a), {"v": [1.0, 0.0, 0.5]}
    ),
}  # fmt: skip

CHARTING = {
    "dalembert.Chart": Target(da.Chart, {"coordinates": angle, "start": [0.6], "velocities": ["A"]}),
    "dalembert.System.chart": Target(
        lambda **a: four_bar()[0].chart(**a), {**CHARTED, "coordinates": ["A"], "p": None}
    ),
    "dalembert.charts.named": Target(charts.named, {**FOUR_BAR, "names": ["A"], "p": None, "velocities": ["B"]}),
    "dalembert.charts.tangent": Target(charts.tangent, {**FOUR_BAR, "p": None, "velocities": ["B"]}),
    "dalembert.charts.custom": Target(
        charts.custom, {**FOUR_BAR, "R": angle, "start": [0.6], "p": None, "velocities": quasi}
    ),
    "dalembert.LocalChart.state": Target(
        on_chart("state"), {"y": [0.65], "rate": [1.0], "guess": CHARTED["state"], "t": 0.1, "tolerance": 1e-12}
    ),
    "dalembert.LocalChart.coordinates": Target(on_chart("coordinates"), {**CHARTED, "guess": [0.6]}),
    "dalembert.LocalChart.rate": Target(on_chart("rate"), CHARTED),
    "dalembert.LocalChart.carried": Target(on_chart("carried"), CHARTED),
    "dalembert.LocalChart.reach": Target(on_chart("reach"), {"direction": [1.0]}),
    **{
        f"dalembert.LocalChart.{method}": Target(on_chart(method), {**CHARTED, "y": [0.6]})
        for method in ("K", "K_speed", "K_rate", "bias", "derivative", "condition")
    },
    "dalembert.linearize_stabilized": Target(
        da.linearize_stabilized, {**FOUR_BAR, "stabilization": "baumgarte", "u": [0.0], "p": None}
    ),
}  # fmt: skip


@cache
def pendulum() -> tuple[da.System, da.Run]:
    """With a parameter, and a run of it."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L = m.add_parameter("L", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
    m.add_motor("torque", "A")
    system = m.compile()
    return system, da.simulate(system, {"A": 1.0}, 0.1, u={"torque": 1.0})


def swing(p: Any) -> da.Sensitivities:
    return da.sensitivities(da.simulate(pendulum()[0], {"A": 1.0}, 0.1, p=p), of=["A"], wrt=["L"])


SENSITIVITIES = {
    "dalembert.sensitivities": Target(
        da.sensitivities,
        {
            "subject": lambda: pendulum()[1], "of": ["A", "position:bob@x"], "wrt": ["L", "held:A"], "held": ["A"],
            "at": [0.0, 0.05], "method": "forward",
        },
    ),
    "dalembert.sensitivities of a state": Target(
        da.sensitivities,
        {
            "subject": lambda: pendulum()[0], "state": {"A": 1.0}, "of": {"a": "acceleration:A"}, "wrt": ["L"],
            "held": ["A"], "u": [1.0], "p": {"L": 2.0},
        },
    ),
    "dalembert.sensitivities of a model": Target(
        da.sensitivities,
        {"subject": lambda: da.linearize(pendulum()[0], {"A": 0.1}), "of": ["frequency:0", "mode:0"], "wrt": ["L"]},
    ),
    "dalembert.Sensitivities.d": Target(lambda **a: swing({"L": 1.0}).d(**a), {"of": "A", "wrt": "L"}),
    "dalembert.Sensitivities.gradient": Target(lambda **a: swing({"L": 1.0}).gradient(**a), {"of": "A"}),
    "dalembert.Integral": Target(
        lambda **a: da.sensitivities(pendulum()[1], of={"x": da.Integral(**a)}, wrt=["L"]), {"what": "energy"}
    ),
    "dalembert.Residuals": Target(
        lambda **a: da.Residuals(**a)([1.1]), {"model": lambda: swing, "wrt": ["L"], "target": [0.9], "scale": 0.1}
    ),
    "dalembert.Residuals.jacobian": Target(lambda **a: da.Residuals(swing, ["L"]).jacobian(**a), {"x": [1.1]}),
    "dalembert.Residuals.to_casadi": Target(lambda **a: da.Residuals(swing, ["L"]).to_casadi(**a), {"x": [1.1]}),
    "dalembert.Residuals.at": Target(lambda **a: da.Residuals(swing, ["L"]).at(**a), {"x": [1.1]}),
    "dalembert.regressor": Target(
        da.regressor,
        {
            "system": lambda: pendulum()[0], "motion": ([[0.1], [0.2]], [[1.0], [2.0]], [[0.0], [1.0]]), "u": [1.0],
            "p": {"L": 1.0}, "bodies": ["bob"], "wrt": [],
        },
    ),
}  # fmt: skip

LINEARIZING = {
    "dalembert.linearize": Target(
        da.linearize,
        {**FOUR_BAR, "u": [0.0], "p": {}, "independent": ["A"], "positions": None, "outputs": ["A", "energy"]},
    ),
    "dalembert.linearize_many": Target(
        da.linearize_many,
        {
            "system": lambda: four_bar()[0], "states": lambda: [four_bar()[1]] * 2, "u": [0.0], "p": None,
            "independent": ["A"],
        },
    ),
    "dalembert.assemble_many": Target(
        da.assemble_many,
        {
            "system": lambda: four_bar()[0], "q": {"A": [0.6, 0.7]}, "v": {"A": 1.0}, "n": 2, "p": {},
            "guess": lambda: four_bar()[1],
        },
    ),
    "dalembert.States.__getitem__": Target(
        lambda **a: da.assemble_many(four_bar()[0], {"A": [0.6, 0.7]}).__getitem__(**a), {"k": 1}
    ),
    "dalembert.sweep_many": Target(
        da.sweep_many,
        {
            "system": lambda: four_bar()[0], "path": {"A": [0.6, 0.7, 0.8]}, "n": 2, "p": {},
            "guess": lambda: four_bar()[1], "speed": 1.0, "acceleration": {"A": 0.0},
        },
    ),
    "dalembert.Sweeps.__getitem__": Target(
        lambda **a: da.sweep_many(four_bar()[0], {"A": [0.6, 0.7]}, n=2).__getitem__(**a), {"name": "A"}
    ),
    "dalembert.inverse_dynamics_many": Target(
        da.inverse_dynamics_many,
        {
            "system": lambda: four_bar()[0], "states": lambda: [four_bar()[1]] * 2, "a": lambda: np.zeros((2, 3)),
            "u": [0.0], "p": None,
        },
    ),
    "dalembert.linearize_full": Target(da.linearize_full, {**FOUR_BAR, "u": [0.0]}),
    "dalembert.FullLinearization.underlying": Target(
        lambda **a: da.linearize_full(*four_bar()).underlying(**a),
        {"P": lambda: da.linearize_full(*four_bar()).projector},
    ),
    "dalembert.linearize_along": Target(
        da.linearize_along, {"system": lambda: four_bar()[0], "run": run, "u": [0.0], "independent": ["A"]}
    ),
    "dalembert.step_map": Target(da.step_map, {**FOUR_BAR, "step": 1e-3, "method": "rk4", "u": [0.0]}),
    "dalembert.discrete_step": Target(da.discrete_step, {**FOUR_BAR, "step": 1e-3, "u": [0.0]}),
    "dalembert.equilibrium": Target(
        da.equilibrium,
        {
            "system": lambda: four_bar()[0], "guess": lambda: four_bar()[1], "solve_for": "u", "holding": {"A": 0.6},
            "speeds": {"A": 0.0}, "u": [0.0], "tolerance": 1e-9, "bounds": {"torque": (-100.0, None)}, "steady": ["A"],
        },
    ),
    "dalembert.equilibrium (stops)": Target(
        da.equilibrium,
        {
            "system": lambda: four_bar()[0], "guess": lambda: four_bar()[1], "bounds": {"D": (1.2, None)},
            "holding": {}, "u": [0.0], "p": {},
        },
    ),
    "dalembert.stiffness": Target(
        da.stiffness,
        {**FOUR_BAR, "frame": "coupler", "springs": {"A": 100.0}, "locked": [], "axes": "world", "u": [0.0], "p": {}},
    ),
    "dalembert.static_forces": Target(
        da.static_forces,
        {
            **FOUR_BAR, "loads": [{"coupler": (0.0, -5.0, 0.0)}], "bounds": {"torque": 100.0}, "u": [0.0],
            "axes": "world", "p": {},
        },
    ),
    "dalembert.StaticForces.reactions": Target(lambda **a: held().reactions(**a), {"joint": "B"}),
    "dalembert.StaticForces.multiplier": Target(lambda **a: held().multiplier(**a), {"name": "C.x"}),
    "dalembert.workspace": Target(
        da.workspace,
        {
            "system": lambda: four_bar()[0], "grid": {"A": [0.5, 0.6, 0.7]}, "state": lambda: four_bar()[1], "held": {},
            "frames": {}, "of": "coupler", "actuated": ["A"], "metric": "mass", "limits": True, "branches": 1,
            "seed": 0, "p": {},
        },
    ),
    "dalembert.Workspace.state": Target(lambda i: mapped().state(i), {"i": 1}),
    "dalembert.Workspace.on": Target(lambda **a: mapped().on(**a), {"k": 0}),
    "dalembert.Workspace.plot": Target(lambda **a: mapped().plot(**a).clear(), {"what": "serial", "path": None}),
    "dalembert.second_derivatives": Target(
        da.second_derivatives,
        {
            **FOUR_BAR, "u": [0.0], "of": "multipliers", "inputs": True, "parameters": True, "along": np.zeros(7),
            "weights": None,
        },
    ),
    "dalembert.parameter_slopes": Target(da.parameter_slopes, {"model": model}),
    "dalembert.lqr": Target(
        da.lqr, {"model": model, "Q": np.eye(2), "R": np.eye(1), "limits": {"torque": (-1.0, 1.0)}}
    ),
    "dalembert.lqr_along": Target(
        da.lqr_along, {"trajectory": trajectory, "Q": np.eye(2), "R": [1.0], "final": {"A": 1.0}}
    ),
    "dalembert.Regulator.__call__": Target(lambda **a: da.lqr(model())(**a), {"t": 0.0, **CHARTED}),
    "dalembert.Tracker.__call__": Target(lambda **a: da.lqr_along(trajectory())(**a), {"t": 0.01, **CHARTED}),
    "dalembert.LinearModel.zeros": Target(on_model("zeros"), {"inputs": ["torque"], "outputs": ["A"]}),
    "dalembert.LinearModel.frequency_response": Target(on_model("frequency_response"), {"omega": [1.0, 2.0]}),
    "dalembert.LinearModel.discretize": Target(on_model("discretize"), {"step": 0.01}),
    "dalembert.LinearModel.without": Target(on_model("without"), {"names": []}),
    "dalembert.LinearModel.deviation": Target(on_model("deviation"), CHARTED),
    "dalembert.LinearModel.motion": Target(on_model("motion"), {"x": [0.1, 0.2]}),
    "dalembert.Mode.states": Target(lambda **a: model().modes[0].states(**a), {"amplitude": 0.01, "frames": 3}),
    "dalembert.LinearTrajectory.reference": Target(lambda **a: trajectory().reference(**a), {"t": 0.01}),
    "dalembert.LinearTrajectory.deviation": Target(lambda **a: trajectory().deviation(**a), {"t": 0.01, **CHARTED}),
}  # fmt: skip


@cache
def many_runs() -> da.Ensemble:
    """Two runs."""
    system, x = four_bar()
    return da.ensemble(system, x, 0.05, n=2, t_eval=[0.0, 0.05], workers=1)


def on_ensemble(method: str) -> Callable[..., Any]:
    """A method of an ensemble."""
    return lambda **arguments: getattr(many_runs(), method)(**arguments)


@cache
def saved() -> Path:
    """A file with a run."""
    path = folder() / "kept.arrow"
    da.simulate(*four_bar(), 0.05).save(path)
    return path


SIMULATING = {
    "dalembert.simulate": Target(
        da.simulate,
        {
            **FOUR_BAR, "t": 0.05, "u": [0.0], "method": "dop853", "rtol": 1e-9, "atol": 1e-10, "step": 0.01,
            "max_step": 0.01, "stabilization": "projection", "formulation": "auto", "on_singularity": "continue",
            "max_steps": 1000,
        },
    ),
    "dalembert.simulate, sampled": Target(
        da.simulate,
        {
            **FOUR_BAR, "t": (0.0, 0.05), "u": lambda: (lambda t, s: [0.0]), "hold": 0.01, "t_eval": [0.0, 0.02],
            "method": "rk4", "step": 0.01, "formulation": "nullspace", "options": {"tolerance": 1e-9},
            "events": lambda: {"turn": lambda t, s: s["A"]},
        },
    ),
    "dalembert.simulate, charted": Target(da.simulate, {**FOUR_BAR, "t": 0.05, "coordinates": ["A"], "p": None}),
    "dalembert.ensemble": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": lambda: four_bar()[1], "t": 0.05, "n": 2, "p": None, "u": [0.0],
            "t_eval": [0.0, 0.02], "outputs": lambda: {"angle": lambda t, s: s["A"]}, "keep": "outputs",
            "sampling": "random", "seed": 0, "workers": 1, "lanes": 8, "executor": None, "rtol": 1e-6,
        },
    ),
    "dalembert.ensemble, assembled": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": {"A": [0.6, 0.7]}, "t": (0.0, 0.05), "v": {"A": 1.0},
            "guess": lambda: four_bar()[1], "u": {"torque": [0.0, 1.0]}, "method": "dopri5", "max_steps": 1000,
        },
    ),
    "dalembert.ensemble, controlled": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": lambda: four_bar()[1], "t": 0.05, "vary": {"torque": [0.0, 1.0]},
            "controllers": lambda: (lambda k, values: lambda t, s: [values["torque"]]), "rtol": 1e-6,
        },
    ),
    "dalembert.Ensemble.rate": Target(on_ensemble("rate"), {"name": "A"}),
    "dalembert.Ensemble.state": Target(on_ensemble("state"), {"k": 1}),
    "dalembert.Ensemble.run": Target(on_ensemble("run"), {"k": 1}),
    "dalembert.Ensemble.extremes": Target(on_ensemble("extremes"), {"name": "A"}),
    "dalembert.Ensemble.quantiles": Target(on_ensemble("quantiles"), {"name": "A", "levels": [0.1, 0.9]}),
    "dalembert.Projection": Target(
        da.Projection,
        {"corrections": 2, "directions": "updated", "every": 1, "velocities": True, "metric": "mass", "energy": False},
    ),
    "dalembert.Baumgarte": Target(da.Baumgarte, {"alpha": 5.0, "beta": 5.0}),
    "dalembert.Switch": Target(
        da.Switch,
        {"open": "C", "close": ["D"], "at": 1.0, "restitution": 0.5, "reach": 0.1, "once": True},
    ),
    "dalembert.Stops": Target(da.Stops, {"restitution": 0.0, "stiffness": 10.0, "damping": 1.0}),
    "dalembert.Friction": Target(da.Friction, {"coulomb": 1.0, "static": 2.0, "stribeck": 0.1, "load": 0.0}),
    "dalembert.Event": Target(da.Event, {"g": lambda: (lambda t, s: 1.0), "direction": 0, "terminal": False}),
    "dalembert.Run.state": Target(on_run("state"), {"k": 1}),
    "dalembert.Run.__call__": Target(on_run("__call__"), {"t": 0.05}),
    "dalembert.Run.phase": Target(on_run("phase"), {"t": 0.05}),
    "dalembert.Run.rate": Target(on_run("rate"), {"name": "A"}),
    "dalembert.Run.chart": Target(on_run("chart"), {"k": 1}),
    "dalembert.Run.joint_acceleration": Target(on_run("joint_acceleration"), {"name": "A"}),
    "dalembert.Run.reactions": Target(on_run("reactions"), {"joint": "A"}),
    "dalembert.Run.length": Target(on_sprung_run("length"), {"name": "line"}),
    "dalembert.Run.length_rate": Target(on_sprung_run("length_rate"), {"name": "line"}),
    "dalembert.Run.position": Target(on_run("position"), {"frame": "coupler"}),
    "dalembert.Run.rotation": Target(on_run("rotation"), {"frame": "coupler"}),
    "dalembert.Run.pose": Target(on_run("pose"), {"frame": "coupler"}),
    "dalembert.Run.velocity": Target(on_run("velocity"), {"frame": "coupler"}),
    "dalembert.Run.twist": Target(on_run("twist"), {"frame": "coupler", "axes": "world"}),
    "dalembert.Run.acceleration": Target(on_run("acceleration"), {"frame": "coupler"}),
    "dalembert.Run.multiplier": Target(on_run("multiplier"), {"name": "C"}),
    "dalembert.Run.driving_force": Target(lambda **a: led_run().driving_force(**a), {"name": "lead"}),
    "dalembert.Run.power": Target(on_run("power"), {"name": "torque", "kind": "input"}),
    "dalembert.Run.save": Target(on_run("save"), {"path": lambda: folder() / "run.dal"}),
    "dalembert.load": Target(da.load, {"path": saved, "system": lambda: four_bar()[0]}),
    "dalembert.read_urdf": Target(
        da.read_urdf,
        {"path": '<robot name="r"><link name="a"/></robot>', "strict": False, "base": "free", "merge_fixed": True,
         "loops": None, "xacro": False},
    ),
    "dalembert.read_rbdl": Target(da.read_rbdl, {"path": tables, "strict": False, "constraints": "s"}),
}  # fmt: skip


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
def path() -> control.Trajectory:
    return control.quintic({"A": 0.6}, {"A": 0.8}, 0.5)


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
        lambda **a: _used(control.position(**a)), {"frame": "coupler", "axes": "xy", "name": "tip"}
    ),
    "dalembert.control.orientation": Target(
        lambda **a: _used(control.orientation(**a)), {"frame": "coupler", "about": np.eye(3), "name": "tip"}
    ),
    "dalembert.control.pose": Target(
        lambda **a: _used(control.pose(**a)), {"frame": "coupler", "about": np.eye(3), "name": "tip"}
    ),
    "dalembert.control.inverse_dynamics": Target(
        control.inverse_dynamics,
        {
            **FOUR_BAR, "acceleration": {"A": 1.0}, "reactions": {"C.x": 100.0}, "active": {"C": True},
            "limits": 50.0, **COMMON,
        },
    ),
    "dalembert.control.inverse_dynamics_along": Target(
        control.inverse_dynamics_along,
        {
            "system": lambda: four_bar()[0], "motion": {"A": np.linspace(0.6, 0.9, 8)}, "times": np.linspace(0, 1, 8),
            "state": lambda: four_bar()[1], "actuated": ["torque"], "metric": "euclidean", "limits": 500.0,
            "cyclic": False, "p": {}, "tolerance": 1e-9,
        },
    ),
    "dalembert.control.inverse_dynamics_along (run)": Target(
        control.inverse_dynamics_along, {"system": lambda: four_bar()[0], "motion": run}
    ),
    "dalembert.control.ForcesAlong.state": Target(lambda **a: forced().state(**a), {"k": 0}),
    "dalembert.control.ForcesAlong.__call__": Target(lambda **a: forced()(**a), {"t": 0.05, "state": None}),
    "dalembert.control.inverse_dynamics (array)": Target(
        control.inverse_dynamics, {**FOUR_BAR, "acceleration": np.ones(3), "metric": np.ones(3)}
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
            ("__call__", {"t": 0.1, "state": lambda: four_bar()[1]}), ("plan", {"state": lambda: four_bar()[1]})
        )
    },
    "dalembert.kalman": Target(da.kalman, {"model": discrete, "process": 1.0, "measurement": {"A": 1.0}}),
    "dalembert.Estimator": Target(da.Estimator, {"L": np.eye(2), "covariance": np.eye(2), "model": discrete}),
    "dalembert.control.combination": Target(control.combination, {"rows": {"C.x": 1.0}}),
    "dalembert.control.force_along": Target(
        lambda **a: control.inverse_dynamics(*four_bar(), measures={"f": control.force_along(**a)}),
        {"loop": "C", "axis": "x", "axes": "ground", "kind": "force"},
    ),
    "dalembert.control.Measure": Target(
        lambda **a: control.inverse_dynamics(*four_bar(), measures={"f": control.Measure(**a)}),
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
            "path": [(law, -5.0, 5.0)], "cost": effort, "stop": True, "guess": straight, "max_iterations": 5,
            "tolerance": 1e-6, **BOUNDED,
        },
    ),
    "dalembert.control.optimal_motion": Target(
        control.optimal_motion,
        {
            "system": lambda: four_bar()[0], "start": lambda: four_bar()[1], "duration": 0.1, "cost": effort,
            "final": resting, "steps": 3, "method": "ilqr", "limits": None, "path": [(law, -5.0, 5.0)], "guess": None,
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
    "dalembert.control.MotionPlan.held": Target(lambda period: straight().held(period), {"period": 0.01}),
    "dalembert.control.MotionPlan.reference": Target(lambda name: straight().reference(name), {"name": "A"}),
}  # fmt: skip

TARGETS: dict[str, Target] = {
    **JOINTS, **SOLIDS, **DESCRIBING, **EVALUATING, **_zoo(), **VIEWING, **ANALYSIS, **CHARTING, **LINEARIZING,
    **SENSITIVITIES, **SIMULATING, **CONTROLLING,
}  # fmt: skip
