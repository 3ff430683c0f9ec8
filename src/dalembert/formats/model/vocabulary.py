"""The words of the format: which keys each kind of element has, what stands behind them, and which must be there.

A key that ends in '!' must be there. What stands behind a key is one of the definitions of the schema.
"""

from __future__ import annotations

VERSION = 1
SCHEMA_NAME = f"dalembert-model-{VERSION}.schema.json"

Keys = dict[str, str]

MODEL: Keys = {
    "dalembert!": "version",
    "$schema": "text",
    "name": "text",
    "units": "units",
    "parameters": "parameters",
    "let": "let",
    "inputs": "inputs",
    "gravity": "vector",
    "points": "points",
    "bodies": "bodies",
    "frames": "frames",
    "joints": "joints",
    "forces": "forces",
    "constraints": "constraints",
    "contacts": "contacts",
    "states": "states",
}
BODY: Keys = {
    "mass": "value",
    "com": "vector",
    "inertia": "inertia",
    "inertia_axes": "rotation",
    "physical": "flag",
    "solids": "solids",
    "at": "point",
    "rotation": "rotation",
    "shapes": "shapes",
    "colliders": "colliders",
    "let": "let",
}
GROUND: Keys = {"shapes": "shapes", "colliders": "colliders"}
#: solids whose inertia follows from the mass of their body
SOLIDS: dict[str, Keys] = {
    "point": {},
    "rod": {"length!": "value", "axis": "letter"},
    "box": {"sides!": "vector"},
    "cylinder": {"radius!": "value", "length!": "value", "axis": "letter"},
    "disc": {"radius!": "value", "axis": "letter"},
    "sphere": {"radius!": "value"},
    "planar": {"moment!": "value", "axis": "letter"},
}
#: solids of a density, which add up to the mass of their body; a prism has an outline, and its thickness as size
WEIGHED: Keys = {
    "type!": "solid kind",
    "size!": "size",
    "outline": "outline",
    "density!": "value",
    "at": "vector",
    "rotation": "rotation",
    "colour": "numbers",
}
WEIGHED_KINDS = ("box", "sphere", "ellipsoid", "cylinder", "capsule", "tube", "cone", "prism")
PLACE: Keys = {"body!": "text", "at": "point", "rotation": "rotation"}
FRAME: Keys = {**PLACE, "let": "let"}
TURN: Keys = {"axis!": "axis", "angle!": "value"}
QUATERNION: Keys = {"quaternion!": "numbers"}
SHAPE: Keys = {
    "type!": "shape kind",
    "size": "size",
    "at": "vector",
    "rotation": "rotation",
    "colour": "numbers",
    "file": "text",
    "scale": "numbers",
    "name": "text",
}
#: a shape that may touch others: what is said of its contacts, besides
COLLIDER: Keys = {
    **SHAPE,
    "friction": "number",
    "restitution": "number",
    "combine": "rule of a pair",
    "group": "bits",
    "against": "bits",
    "apart": "labels",
    "together": "labels",
}
#: joint types and what each has of its own
JOINTS: dict[str, Keys] = {
    "fixed": {},
    "revolute": {"axis": "axis or points"},
    "prismatic": {"axis": "axis or points"},
    "screw": {"axis": "axis or points", "pitch!": "value"},
    "cylindrical": {"axis": "axis or points"},
    "universal": {"first": "axis", "second": "axis"},
    "planar": {"axis": "axis or points"},
    "spherical": {},
    "free": {},
}
ATTACHMENT: Keys = {
    "parent": "place",
    "child": "place",
    "between": "two places",  # in place of parent and child
    "at": "point",
    "stiffness": "values",
    "rest": "values",
    "damping": "values",
    "friction": "frictions",
    "armature": "values",
    "limits": "limits",
    "stops": "stops",
    "tree": "flag",
    "let": "let",
}
FRICTION: Keys = dict.fromkeys(("coulomb", "static", "stribeck", "load", "exponent"), "number")
STOPS: Keys = {"restitution": "number", "stiffness": "number", "damping": "number"}
OUTLINE: Keys = {"type!": "kind of outline", "size!": "size"}  # of what touches
CONTACTS: dict[str, Keys] = {
    "contact": {
        "frame!": "place",
        "at": "point",
        "on": "place",
        "radius": "value",
        "on_radius": "value",
        "shape": "outline of a contact",
        "on_shape": "outline of a contact",
        "restitution": "number",
        "friction": "number",
        "static_friction": "number",
    },
    "rope": {"through!": "places", "at": "places in drawing", "length": "value", "restitution": "number"},
    "strut": {"between!": "places", "at": "places in drawing", "length": "value", "restitution": "number"},
    "unilateral constraint": {"gap!": "value", "angular": "flag", "restitution": "number"},
}
FORCES: dict[str, Keys] = {
    "motor": {"joint!": "text"},
    "joint force": {"joint!": "text", "value!": "values"},
    "wrench": {"frame!": "place", "at": "point", "force": "vector", "moment": "vector", "axes": "axes"},
    "spring": {
        "between!": "places",
        "at": "places in drawing",
        "stiffness!": "law",
        "damping": "law",
        "rest_length": "value",
    },
    "damper": {"between!": "places", "at": "places in drawing", "damping!": "law"},
    "bushing": {"between!": "places", "at": "point", "stiffness!": "laws or rows", "damping": "laws or rows"},
    "torsion spring": {"coordinate!": "text", "stiffness!": "law", "damping": "law", "rest": "value"},
    "elastic coupling": {
        "coefficients!": "values by name",
        "stiffness!": "law",
        "damping": "law",
        "offset": "value",
        "efficiency": "value",
        "creep": "value",
        "wheels": "wheels",
        "path": "path",
    },
    "dc motor": {
        "coordinate!": "text",
        "torque_constant!": "value",
        "resistance!": "value",
        "back_emf": "value",
        "ratio": "value",
        "efficiency": "value",
        "limits": "limits",
    },
    "muscle": {
        "through!": "places",
        "at": "places in drawing",
        "strength!": "value",
        "optimal_length!": "value",
        "tendon": "value",
        "speed": "value",
    },
    "tyre": {
        "wheel!": "place",
        "at": "point",
        "radius!": "value",
        "stiffness!": "value",
        "damping": "value",
        "longitudinal": "values",
        "lateral": "values",
        "on": "place",
        "axis": "letter",
        "road": "curve",
        "slow": "value",
    },
    "slipping coupling": {
        "coefficients!": "values by name",
        "capacity!": "value",
        "static": "number",
        "creep": "value",
        "wheels": "wheels",
        "path": "path",
    },
    "cable": {
        "through!": "places",
        "at": "places in drawing",
        "tension": "value",
        "stiffness": "value",
        "damping": "value",
        "rest_length": "value",
    },
    "actuator": {"between!": "places", "at": "places in drawing", "limits": "limits", "stroke": "stroke"},
    "servo": {"coordinate!": "text", "stiffness!": "value", "damping": "value", "rate": "flag", "limits": "limits"},
    "kinematic input": {"coordinate!": "text"},
    "potential": {"energy!": "value"},
    "cut joint spring": {"loop!": "text", "stiffness": "values", "rest": "values", "damping": "values"},
}
CONSTRAINTS: dict[str, Keys] = {
    "loop": {"joint!": "joint type", "between!": "places", "at": "point"},  # and what the joint has of its own
    "rod": {"between!": "places", "at": "places in drawing", "length": "value"},
    "point on line": {"point!": "place", "line!": "place", "at": "point", "axis": "axis or points"},
    "point in plane": {"point!": "place", "plane!": "place", "at": "point", "normal": "axis or points"},
    "coupling": {"coefficients!": "values by name", "offset": "value", "wheels": "wheels", "path": "path"},
    "gear": {
        "a!": "text",
        "b!": "text",
        "ratio": "value",
        "teeth": "pair",
        "inside": "flag",
        "carrier": "text",
        "offset": "value",
    },
    "rack": {"pinion!": "text", "rack!": "text", "radius!": "value", "offset": "value"},
    "planetary": {"sun!": "text", "ring!": "text", "carrier!": "text", "teeth!": "pair", "offset": "value"},
    "differential": {"case!": "text", "left!": "text", "right!": "text", "offset": "value"},
    "belt": {"a!": "text", "b!": "text", "radii!": "pair", "crossed": "flag", "offset": "value"},
    "driver": {"coordinate!": "text", "motion!": "motion"},
    "point driver": {"frame!": "place", "at": "point", "motion!": "motion of a point"},
    "rolling": {"wheel!": "place", "at": "point", "radius!": "value", "plane": "place", "axis": "letter"},
    "rolling discs": {
        "a!": "place",
        "radius_a!": "value",
        "b!": "place",
        "radius_b!": "value",
        "at": "places in drawing",
        "axis": "letter",
        "inside": "flag",
    },
    "pulley rope": {"path!": "path", "at": "places in drawing"},
    "skate": {"frame!": "place", "at": "point", "sideways": "letter"},
    "expression": {"holonomic": "values by name", "pfaffian": "values by name"},
}
#: a motion through points of time
TABLE: Keys = {"times!": "numbers", "values!": "table", "ends": "ends"}
#: a law of one variable through points
CURVE: Keys = {"x!": "numbers", "y!": "numbers", "smooth": "flag", "beyond": "beyond"}
#: what a rope runs around
PULLEY: Keys = {"pulley!": "place", "radius!": "value", "axis": "letter", "turn": "number"}
#: a wheel of a coupling, for pictures
WHEEL: Keys = {"wheel!": "place", "radius!": "number", "axis": "letter"}
#: keys that every force and constraint may have besides its type
LOCAL: Keys = {"let": "let", "frames": "local frames"}
STATE: Keys = {"q": "numbers by name", "v": "numbers by name", "u": "numbers by name", "t": "value"}


def names(keys: Keys) -> list[str]:
    """The keys without their marks."""
    return [key.rstrip("!") for key in keys]


def required(keys: Keys) -> list[str]:
    """The keys that must be there."""
    return [key[:-1] for key in keys if key.endswith("!")]
