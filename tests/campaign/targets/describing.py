"""Joints, solids, and methods of mechanisms."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert import zoo
from targets.models import Target, bench, energy, folder, law, motion, motion3, on_mechanism

AXIS = {"axis": "z"}
JOINTS = {
    **{f"dalembert.{k.__name__}": Target(k, AXIS) for k in (da.Revolute, da.Prismatic, da.Cylindrical, da.Planar)},
    "dalembert.Screw": Target(da.Screw, {"axis": "z", "pitch": 0.1}),
    "dalembert.Universal": Target(da.Universal, {"first": "x", "second": "y"}),
}
SOLIDS = {
    "dalembert.rod_inertia": Target(da.rod_inertia, {"mass": 1.0, "length": 1.0, "axis": "x"}),
    "dalembert.box_inertia": Target(da.box_inertia, {"mass": 1.0, "sides": (1.0, 2.0, 3.0)}),
    "dalembert.cylinder_inertia": Target(da.cylinder_inertia, {"mass": 1.0, "radius": 0.1, "length": 1.0, "axis": "z"}),
    "dalembert.disc_inertia": Target(da.disc_inertia, {"mass": 1.0, "radius": 0.1, "axis": "z"}),
    "dalembert.sphere_inertia": Target(da.sphere_inertia, {"mass": 1.0, "radius": 0.1}),
    "dalembert.planar_inertia": Target(da.planar_inertia, {"moment": 0.1, "axis": "z"}),
    "dalembert.Table": Target(da.Table, {"times": [0.0, 1.0, 2.0], "values": [0.0, 0.5, 0.0], "ends": "cyclic"}),
    "dalembert.Table.at": Target(lambda **a: da.Table([0, 1], [1, 2]).at(**a), {"t": 0.5}),
    "dalembert.Curve": Target(
        da.Curve, {"x": [0.0, 1.0, 2.0], "y": [0.0, 5.0, 2.0], "smooth": True, "beyond": "linear"}
    ),
    "dalembert.Curve.at": Target(lambda **a: da.Curve([0, 1], [1, 2]).at(**a), {"x": 0.5}),
    "dalembert.Pulley": Target(
        lambda **a: zoo.chain(2).add_pulley_rope("r", ["ground", da.Pulley(**a), "ground"]),
        {"frame": "link 1", "radius": 0.1, "axis": "z", "turn": -1},
    ),
    "dalembert.solid": Target(
        da.solid,
        {
            "kind": "box",
            "size": (1.0, 2.0, 3.0),
            "density": 1000.0,
            "at": (0.1, 0.2, 0.3),
            "rotation": np.eye(3),
            "colour": (1.0, 0.0, 0.0, 1.0),
        },
    ),
    "dalembert.rotation": Target(da.rotation, {"axis": "z", "angle": 0.3}),
}
SKETCHING: dict[str, dict[str, Any]] = {
    "add_pin": {"name": "new", "where": ("A", 1.0, "B", 1.0, 1)},
    "pin": {"name": "B"},
    "add_bar": {"name": "new", "pins": "B C", "mass": 1.0, "density": 2.0},
    "add_slider": {"name": "new", "pin": "C", "direction": (1.0, 0.0), "on": "bar", "mass": 1.0},
    "add_wheel": {"name": "new", "pin": "B", "radius": 0.1, "mass": 1.0, "width": 0.02},
    "add_cylinder": {"name": "new", "a": "A", "b": "C", "masses": (1.0, 2.0)},
}


def on_linkage(method: str) -> Any:
    def call(**arguments: Any) -> Any:
        m = da.Linkage("bench", {"A": (0, 0), "B": (1, 0), "C": (1, 1)}, "A", {"bar": "A B"})
        return getattr(m, method)(**arguments)

    return call


TWO = [(0.1, 0.2), (0.3, 0.4, 0.5)]  # points of the drawing
THREE = [*TWO, (1.0, 2.0)]
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
        "at": (0.1, 0.2, 0.3),
        "rotation": np.eye(3),
    },
    "add_points": {"points": {"new": (1.0, 2.0, 3.0)}, "parameters": ["new"], "unit": "mm"},
    "add_frame": {"name": "new", "frame": "a", "at": TWO[0]},
    "add_joint": {
        "name": "new",
        "joint": da.Universal("x", "y"),
        "a": "a",
        "b": "loose",
        "tree": True,
        "stiffness": 1.0,
        "rest": (0.1, 0.2),
        "damping": 0.1,
        "friction": [0.1, 0.2],
        "armature": 0.01,
        "limits": (-1.0, 1.0),
    },
    "add_motor": {"name": "new", "joint": "A"},
    "add_joint_force": {"name": "new", "joint": "A", "value": law},
    "add_wrench": {
        "name": "new", "frame": "a", "force": (1.0, 0, 0), "moment": (0, 0, 1.0), "axes": "world", "at": TWO[0],
    },
    "add_bushing": {"name": "new", "a": "a", "b": "b", "stiffness": (1.0,) * 6, "damping": (0.1,) * 6, "at": TWO[0]},
    "add_spring": {"name": "new", "a": "a", "b": "b", "stiffness": 10.0, "damping": 0.1, "rest_length": 0.1, "at": TWO},
    "add_damper": {"name": "new", "a": "a", "b": "b", "damping": 10.0, "at": TWO},
    "add_torsion_spring": {"name": "new", "coordinate": "A", "stiffness": 1.0, "damping": 0.1, "rest": 0.2},
    "add_elastic_coupling": {
        "name": "new", "coefficients": {"A": 1.0, "B": -2.0}, "stiffness": 1.0, "damping": 0.1, "offset": 0.1,
        "efficiency": 0.9, "creep": 0.1,
    },
    "add_slipping_coupling": {"name": "new", "coefficients": {"A": 1.0, "B": -2.0}, "capacity": law, "creep": 0.1},
    "add_gear": {
        "name": "new", "a": "A", "b": "B", "teeth": (20, 60), "inside": True, "carrier": "E", "offset": 0.1,
        "stiffness": 10.0, "damping": 0.1, "efficiency": 0.9, "creep": 0.1,
    },
    "add_rack": {
        "name": "new", "pinion": "A", "rack": "B", "radius": 0.1, "offset": 0.1, "stiffness": 10.0, "damping": 0.1,
        "efficiency": 0.9, "creep": 0.1,
    },
    "add_planetary": {"name": "new", "sun": "A", "ring": "E", "carrier": "F", "teeth": (20, 60), "offset": 0.1},
    "add_differential": {"name": "new", "case": "A", "left": "E", "right": "F", "offset": 0.1},
    "add_cam": {"name": "new", "cam": "A", "follower": "B", "lift": ([0.0, 2.0, 4.0, 6.2], [0.0, 0.1, 0.1, 0.0])},
    "add_belt": {
        "name": "new", "a": "A", "b": "B", "radii": (0.1, 0.2), "crossed": True, "offset": 0.1, "stiffness": 10.0,
        "damping": 0.1, "efficiency": 0.9, "creep": 0.1,
    },
    "add_clutch": {"name": "new", "a": "A", "b": "B", "capacity": 2.0, "static": 3.0},
    "add_brake": {"name": "new", "coordinate": "A", "capacity": law, "creep": 0.1},
    "add_one_way_clutch": {"name": "new", "a": "A", "b": "B", "damping": 10.0},
    "add_dc_motor": {
        "name": "new", "coordinate": "A", "torque_constant": 0.1, "resistance": 2.0, "back_emf": 0.1, "ratio": 10.0,
        "efficiency": 0.9, "limits": (-12.0, 12.0),
    },
    "add_muscle": {
        "name": "new", "points": ["a", "b", "c"], "strength": 100.0, "optimal_length": 0.3, "tendon": 0.1,
        "speed": 10.0,
        "at": THREE,
    },
    "add_tyre": {
        "name": "new", "wheel": "c", "radius": 0.3, "stiffness": 1e5, "damping": 10.0,
        "longitudinal": (10.0, 1.6, 1.0, 0.5), "lateral": 5e4, "on": "ground", "axis": "y",
        "road": ([0.0, 1.0], [0.0, 0.1]), "slow": 0.1,
        "at": (0.1, 0.2),
    },
    "add_pulley_rope": {"name": "new", "points": ["a", "c", "ground"], "at": THREE},
    "add_unilateral": {"name": "new", "gap": energy, "restitution": 0.5, "angular": True},
    "add_strut": {"name": "new", "a": "a", "b": "c", "length": 0.5, "restitution": 0.5, "at": TWO},
    "add_actuator": {"name": "new", "a": "a", "b": "b", "limits": (-1.0, 2.0), "stroke": (0.1, 3.0), "at": TWO},
    "add_servo": {
        "name": "new", "coordinate": "A", "stiffness": 1.0, "damping": 0.1, "rate": True, "limits": (-1.0, 2.0),
    },
    "add_kinematic_input": {"name": "new", "coordinate": "A"},
    "add_potential": {"name": "new", "energy": energy},
    "merge": {"other": zoo.chain(2), "prefix": "part ", "at": "tip", "parameters": {}, "mirror": "y"},
    "merge_around": {
        "other": zoo.chain(2), "count": 3, "prefix": "leg {} ", "axis": "z", "at": "tip", "parameters": {},
    },
    "add_cable": {"name": "new", "points": ["a", "b", "c"], "tension": 1.0, "at": THREE},
    "close_loop": {"name": "new", "joint": da.Revolute("z"), "a": "b", "b": "ground", "at": TWO[0]},
    "add_rod": {"name": "new", "a": "a", "b": "c", "length": 1.0, "at": TWO},
    "add_contact": {
        "name": "new", "frame": "a", "on": "c", "radius": 0.0, "on_radius": 0.0, "shape": ("capsule", (0.1, 0.2)),
        "on_shape": ("capsule", (0.1, 0.3)), "restitution": 0.5, "friction": 0.2, "static_friction": 0.3,
        "at": (0.1, 0.2),
    },
    "add_contacts": {
        "floor": "tip", "bodies": ["a", "b", "c"], "between": [("a", "c")], "exclude": [("a", "b")], "friction": 0.5,
        "restitution": 0.1, "shapes": "drawn", "meshes": folder,
    },
    "add_rope": {"name": "new", "points": ["a", "c"], "length": 1.0, "restitution": 0.5, "at": TWO},
    "add_point_on_line": {"name": "new", "point": "b", "line": "ground", "axis": "x", "at": TWO[0]},
    "add_point_in_plane": {"name": "new", "point": "b", "plane": "ground", "normal": "y", "at": TWO[0]},
    "add_coupling": {"name": "new", "coefficients": {"A": 1.0, "B": -2.0}, "offset": 0.1},
    "add_driver": {"name": "new", "coordinate": "A", "motion": motion},
    "add_point_driver": {"name": "new", "frame": "c", "motion": motion3, "at": TWO[0]},
    "add_rolling": {"name": "new", "wheel": "c", "radius": 0.3, "on": "ground", "axis": "y", "at": TWO[0]},
    "add_rolling_discs": {
        "name": "new", "a": "a", "radius_a": 0.3, "b": "c", "radius_b": 0.2, "axis": "z", "inside": False,
        "at": TWO,
    },
    "add_skate": {"name": "new", "frame": "c", "sideways": "y", "at": TWO[0]},
    "add_constraint": {"name": "new", "holonomic": law},
    "copy": {"name": "another"},
    "remove": {"name": "tip", "kind": "frame", "dependents": True},
    "rename": {"name": "A", "new": "new", "kind": "joint"},
    "replace": {"name": "a", "kind": "body", "mass": 2.0, "com": (0.1, 0, 0), "inertia": (1, 1, 1)},
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
def written() -> Path:
    """A model file."""
    path = folder() / "kept.yaml"
    bench().save(path)
    return path


DESCRIBING = {
    "dalembert.Linkage": Target(
        da.Linkage,
        {
            "name": "new",
            "pins": {"A": (0.0, 0.0), "B": ("A", 1.0, 0.5)},
            "ground": "A",
            "bodies": {"bar": "A B"},
            "density": 2.0,
            "mass": {"bar": 1.0},
            "parameters": {"k": 1.0},
            "gravity": (0.0, -9.81, 0.0),
        },
    ),
    **{f"dalembert.Linkage.{name}": Target(on_linkage(name), good) for name, good in SKETCHING.items()},
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
    "dalembert.Body.add_collider": Target(
        lambda **a: bench().bodies["a"].add_collider(**a),
        {
            "shape": da.Shape("sphere", 0.1),
            "friction": 0.5,
            "restitution": 0.2,
            "combine": "greatest",
            "group": 1,
            "against": 3,
            "apart": ["left"],
            "together": ["feet"],
        },
    ),
    "dalembert.read": Target(da.read, {"path": written, "strict": False}),
    "dalembert.read_model": Target(da.read_model, {"path": written, "strict": False}),
    "dalembert.System.named_state": Target(lambda **a: at_home().named_state(**a), {"name": "home"}),
}
