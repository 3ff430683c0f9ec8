"""The elements and attributes of URDF that are read, and what is said about others."""

from __future__ import annotations

from typing import Any

from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element

#: what an element may hold: (its attributes, its children)
Spec = tuple[str, dict[str, Any]]

ORIGIN: Spec = ("xyz rpy quat_xyzw", {})
VALUE: Spec = ("value", {})
NAMED: Spec = ("name", {})
END: Spec = ("link", {"origin": ORIGIN})
MATERIAL: Spec = ("name", {"color": ("rgba", {})})
GEOMETRY: Spec = (
    "",
    {
        "box": ("size", {}),
        "sphere": ("radius", {}),
        "cylinder": ("radius length", {}),
        "capsule": ("radius length", {}),
        "drake:capsule": ("radius length", {}),
        "drake:ellipsoid": ("a b c", {}),
        "ellipsoid": ("a b c", {}),
        "mesh": ("filename scale", {}),
    },
)
SHAPE: Spec = ("name", {"origin": ORIGIN, "geometry": GEOMETRY, "material": MATERIAL})
LINK: Spec = (
    "name",
    {
        "inertial": ("", {"origin": ORIGIN, "mass": VALUE, "inertia": ("ixx ixy ixz iyy iyz izz", {})}),
        "visual": SHAPE,
        "collision": SHAPE,
        "dalembert:frame": ORIGIN,
    },
)
DYNAMICS: Spec = ("damping friction armature spring_stiffness spring_reference", {})
JOINT: Spec = (
    "name type independent",
    {
        "parent": ("link", {}),
        "child": ("link", {}),
        "origin": ORIGIN,
        "axis": ("xyz", {}),
        "limit": ("lower upper effort velocity drake:acceleration acceleration jerk deceleration", {}),
        "dynamics": DYNAMICS,
        "dalembert:dynamics": DYNAMICS,
        "mimic": ("joint multiplier offset name", {}),
        "drake:mimic": ("joint multiplier offset", {}),
        "drake:screw_thread_pitch": VALUE,
    },
)
ACTUATOR: Spec = (
    "name",
    {
        "mechanicalReduction": ("", {}),
        "hardwareInterface": ("", {}),
        "drake:rotor_inertia": VALUE,
        "drake:gear_ratio": VALUE,
    },
)
TRANSMISSION: Spec = (
    "name type",
    {
        "type": ("", {}),
        "joint": ("name", {"hardwareInterface": ("", {})}),
        "actuator": ACTUATOR,
        "mechanicalReduction": ("", {}),
    },
)
ROBOT: Spec = (
    "name version",
    {
        "link": LINK,
        "dalembert:loops": ("file", {}),
        "joint": JOINT,
        "drake:joint": JOINT,
        "material": MATERIAL,
        "frame": ("name link xyz rpy", {}),
        "fixed_frame": ("name", {"parent": ("link", {}), "origin": ORIGIN}),
        "transmission": TRANSMISSION,
        "dalembert:transmission": TRANSMISSION,
        "ros2_control": ("name type", {"joint": ("name", {"command_interface": ("name", {})})}),
        "loop": (
            "name type",
            {"predecessor": END, "successor": END, "axis": ("xyz", {}), "drake:screw_thread_pitch": VALUE},
        ),
        "coupling": ("name type", {"predecessor": ("link", {}), "successor": ("link", {}), "ratio": VALUE}),
        "loop_joint": (
            "name type",
            {
                **{f"link{k}": ("link xyz rpy", {}) for k in (1, 2)},
                **{k: ("link", {}) for k in ("parent", "child")},
                **dict.fromkeys(("parent_origin", "child_origin"), ORIGIN),
                "axis": ("xyz frame", {}),
            },
        ),
        "constraint": (
            "name type",
            {
                **{k: ("link", {}) for k in ("parent", "child")},
                **dict.fromkeys(("parent_origin", "child_origin"), ORIGIN),
                **{k: ("xyz", {}) for k in ("parent_axis", "child_axis")},
            },
        ),
        "gazebo": (
            "reference",
            {
                "joint": (
                    "name type",
                    {
                        "parent": ("", {}),
                        "child": ("", {}),
                        "pose": ("", {}),
                        "axis": ("", {"xyz": ("", {})}),
                        "axis2": ("", {"xyz": ("", {})}),
                    },
                )
            },
        ),
        **{
            f"drake:{kind}_constraint": (
                "name",
                {
                    **{f"drake:{kind}_constraint_body_{b}": NAMED for b in "AB"},
                    **{f"drake:{kind}_constraint_p_{p}": VALUE for p in ("AP", "BQ")},
                    **{f"drake:{kind}_constraint_{x}": VALUE for x in ("distance", "stiffness", "damping")},
                },
            )
            for kind in ("ball", "distance")
        },
    },
)

#: why what is not read is left out
REASONS = {
    "sensor": "sensors are not modelled",
    "gazebo": "settings of Gazebo are not read",
    "plugin": "plugins are not run",
    "texture": "textures are not shown",
    "safety_controller": "controllers are not read",
    "calibration": "calibration is not read",
    "hardware": "hardware is not modelled",
    "state_interface": "interfaces of ROS are not read",
    "joint_properties": "an old form of <dynamics>, which urdfdom ignores too",
    "drake:proximity_properties": "contacts are not modelled",
    "drake:collision_filter_group": "contacts are not modelled",
    "verbose": "contacts are not modelled",
    "contact": "contacts are not modelled",
    "contact_coefficients": "contacts are not modelled",
    "drake:linear_bushing_rpy": "bushings are not modelled; the bodies are not joined by it",
    "drake:tendon_constraint": "inequalities are not modelled",
    "drake:coupler_constraint": "is not read",
}


def survey(root: Element, notes: Notes) -> None:
    """Note every element and attribute of a robot that is not read."""
    waiting: list[tuple[Element, Spec | None]] = [(root, ROBOT)]
    while waiting:
        element, spec = waiting.pop()
        if spec is None:
            notes.add(element, REASONS.get(element.tag, "is not an element that is read here; it is left out"))
            continue
        known, children = spec
        for name in element.attrib:
            if name not in known.split() and not name.startswith("xml"):
                notes.add(element, f"attribute '{name[:60]}' is not read")
        for child in reversed(element.children):
            settings = child.tag == "gazebo" and child.find("joint") is None
            waiting.append((child, None if settings else children.get(child.tag)))
