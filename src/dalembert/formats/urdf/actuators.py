"""Transmissions and interfaces of a URDF as motors: inputs that drive joints."""

from __future__ import annotations

from dalembert.formats.graph import Edge
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element, shown


def motors(root: Element, edges: dict[str, Edge], notes: Notes) -> dict[str, tuple[str, Element]]:
    """Motors by name: (the name of the edge, the element); edges by names of the file. Rotors go to the edges.

    An input is the force or torque at the joint: that of the actuator times its reduction.
    """
    found: dict[str, tuple[str, Element]] = {}
    for e in (e for e in root.children if e.tag in ("transmission", "dalembert:transmission")):
        joints, actuators = e.findall("joint"), e.findall("actuator")
        if len(joints) != 1 or len(actuators) > 1:
            notes.add(e, f"connects {len(actuators)} actuator(s) and {len(joints)} joint(s); only simple ones are read")
            continue
        edge = _edge(joints[0], edges, notes)
        if edge is None:
            continue
        limit = edge.origin.only("limit")
        if limit is not None and limit.number("effort", None, finite=False) == 0.0:
            notes.add(e, f"joint '{edge.name}' may exert no effort (limit 0); it gets no motor")
        elif not edge.joint.nv:
            notes.add(e, f"joint '{edge.name}' is fixed; it gets no motor")
        else:
            actuator = actuators[0] if actuators else e
            _rotor(actuator, edge)
            _add(found, (actuator.name if actuators else "") or edge.name, edge, e, notes)
            for r in (*e.findall("mechanicalReduction"), *actuator.findall("mechanicalReduction")):
                if r.text and r.text.strip() not in ("1", "1.0"):  # some name a macro that was never expanded
                    notes.add(r, "the input is the force at the joint, after the reduction")
    for control in root.findall("ros2_control"):
        for j in control.findall("joint"):
            if j.findall("command_interface"):
                edge = _edge(j, edges, notes)
                if edge is not None and edge.joint.nv and all(name != edge.name for name, _ in found.values()):
                    _add(found, edge.name, edge, j, notes)
    return found


def _add(found: dict[str, tuple[str, Element]], name: str, edge: Edge, e: Element, notes: Notes) -> None:
    if any(other == edge.name for other, _ in found.values()):
        notes.add(e, f"joint '{edge.name}' has a motor already")
        return
    fresh, k = name, 1
    while fresh in found:
        k += 1
        fresh = f"{name}_{k}"
    if fresh != name:
        notes.add(e, f"the name '{name}' is taken; the motor is called '{fresh}' here")
    edge.driven = True
    found[fresh] = edge.name, e


def _edge(e: Element, edges: dict[str, Edge], notes: Notes) -> Edge | None:
    """The joint that a motor drives; None, noted, where the file has none of its name: parts of robots keep motors."""
    name = e.required("name")
    if name not in edges:
        notes.add(e, f"joint {shown(name)} is not there; its motor is left out")
    return edges.get(name)


def _rotor(actuator: Element, edge: Edge) -> None:
    """Drake's rotor: its inertia at the joint is that at the motor times the square of the gear ratio."""
    inertia, ratio = actuator.only("drake:rotor_inertia"), actuator.only("drake:gear_ratio")
    if inertia is None:
        return
    J, n = inertia.number("value"), ratio.number("value") if ratio is not None else 1.0
    if J < 0.0:
        raise inertia.error(f"has the value {J:g} (kg m²); needed: no negative one.")
    if edge.joint.nv != 1:
        raise inertia.error(f"is on joint '{edge.name}', which is {edge.joint.kind}; needed: one coordinate.")
    edge.armature += J * n * n
