"""Forces as tendons, actuators and gravity compensation of MJCF."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.formats.mjcf.actuators import BallPath, FreePath, SiteWrench
from dalembert.formats.mjcf.document import Document, XmlNode
from dalembert.formats.mjcf.laws import (
    EVERYTHING,
    ActuatorForce,
    BallHigherOrder,
    FreeForce,
    HigherOrder,
    Scaled,
    TendonForce,
)
from dalembert.formats.mjcf.paths import JointPath, SliderCrank
from dalembert.formats.mjcf.writing_tendons import tendon_node
from dalembert.mechanism.forces import Cable, Force, JointForce, Spring, Wrench
from dalembert.symbols import all_numbers, array, to_sx


def write_forces(d: Document) -> None:
    """Add what MJCF has for each force; laws that act in several places are written once."""
    done: dict[int, bool] = {}
    for force in d.m.forces.values():
        law = _law(force)
        if law is not None:
            if id(law) not in done:
                done[id(law)] = _along(d, force.name, law)
            written = done[id(law)]
        else:
            written = _written(d, force)
        if not written:
            d.note(f"{force.kind} '{force.name}'", "is not written: MJCF has no such force")


def _law(force: Force) -> Any:
    """The law along a path that a force is part of."""
    for value in (getattr(force, n, None) for n in ("value", "tension", "force")):
        law = value
        while isinstance(law, Scaled):
            law = law.law
        law = law if isinstance(law, (TendonForce, ActuatorForce)) else getattr(law, "law", None)
        while isinstance(law, Scaled):
            law = law.law
        if isinstance(law, (TendonForce, ActuatorForce)):
            return law
    return None


def _along(d: Document, name: str, law: Any) -> bool:
    """A tendon with a spring and damper, or an actuator along a joint or tendon."""
    path, gear = law.path, 1.0
    if hasattr(path, "gear") and hasattr(path, "path"):
        path, gear = path.path, path.gear
    if isinstance(law, TendonForce):
        tendon = tendon_node(d, name, path)
        if tendon is not None:
            _spring(tendon, law.stiffness, law.damping, law.lower, law.upper)
        return tendon is not None
    own = next((n for n, u in d.m.inputs.items() if ca.is_equal(u, law.u)), name)
    target = _target(d, path, gear)
    if target is None:
        tendon = tendon_node(d, own, path)
        if tendon is None:
            return False
        target = {"tendon": tendon.attributes["name"], "gear": gear}
    d.actuator(
        "general",
        d.name("actuator", own),
        (own, 0),
        **target,
        gaintype="affine",
        gainprm=law.gain,
        biastype="affine",
        biasprm=law.bias,
        ctrlrange=law.control if law.control != EVERYTHING else None,
        forcerange=law.force if law.force != EVERYTHING else None,
    )
    return True


def _target(d: Document, path: Any, gear: float) -> dict[str, Any] | None:
    """The target of an actuator that does not drive a tendon, with its gear."""
    if isinstance(path, JointPath) and len(path.terms) == 1 and path.terms[0][0] in d.coordinates:
        return {"joint": d.coordinates[path.terms[0][0]], "gear": path.terms[0][1] * gear}
    if isinstance(path, (BallPath, FreePath)):
        return {"jointinparent" if path.in_parent else "joint": d.coordinates[path.joint], "gear": path.gear}
    if isinstance(path, SiteWrench):
        return {"site": path.site, "gear": path.gear}
    if isinstance(path, SliderCrank):
        return {"cranksite": path.crank, "slidersite": path.slider, "cranklength": path.rod, "gear": gear}
    return None


def _spring(tendon: XmlNode, stiffness: Any, damping: Any, lower: float, upper: float) -> None:
    given = {"stiffness": stiffness, "damping": damping, "springlength": [lower, upper]}
    tendon.attributes |= XmlNode("", **given).attributes


def _written(d: Document, force: Force) -> bool:
    if isinstance(force, JointForce):
        return isinstance(force.value, (HigherOrder, BallHigherOrder)) or _motor(d, force)
    if isinstance(force, Spring):
        return _line(d, force)
    if isinstance(force, Cable):
        return _driven_line(d, force)
    if not isinstance(force, Wrench):
        return False
    for law in (force.force, force.moment):
        if isinstance(law, FreeForce):
            return law.joint in d.references  # written with its joint
    return _lift(d, force) or _thruster(d, force)


def _motor(d: Document, force: JointForce) -> bool:
    """Forces that are inputs times numbers."""
    a = force.joint
    found = None if callable(force.value) and not isinstance(force.value, ca.SX) else _gains(d, force.value)
    if found is None:
        return False
    for name, (n, gains) in found.items():
        for k in range(n):
            if not np.any(gains[:, k]):
                continue
            own = d.name("actuator", name if n == 1 else f"{name}_{(a.joint.velocity_names[k] or k)}")
            if own != name:
                d.note(f"input '{name}'", f"is written in parts; '{own}' is one of them")
            if a.joint.kind == "free":
                site = d.site(f"{own}_site", a.child)
                d.actuator("motor", own, (name, k), site=site, gear=[*gains[3:, k], *gains[:3, k]])
            elif a.joint.kind == "spherical":
                d.actuator("motor", own, (name, k), joint=d.coordinates[a.name], gear=[*gains[:, k], 0, 0, 0])
            else:
                rows = np.flatnonzero(gains[:, k])
                for row in rows:
                    part = own if len(rows) == 1 else d.name("actuator", f"{own}_{row}")
                    target = d.coordinates[a.coordinates[row]]
                    d.actuator("motor", part, (name, k), joint=target, gear=gains[row, k])
    return True


def _gains(d: Document, value: Any) -> dict[str, tuple[int, np.ndarray]] | None:
    """{input: (its size, (nv, size) gains)} of a value that is linear in inputs, with numbers as gains; else None."""
    f = to_sx(array(value).ravel())
    out: dict[str, tuple[int, np.ndarray]] = {}
    rest = f
    for name, u in d.m.inputs.items():
        slope = ca.jacobian(f, u)
        if any(ca.depends_on(slope, other) for other in d.m.inputs.values()):
            return None
        gains = d.number(array(ca.densify(slope)).reshape(f.numel(), u.numel()))
        if np.any(gains):
            out[name] = u.numel(), gains
        rest = ca.substitute(rest, u, ca.SX.zeros(u.shape))
    if not out or np.any(d.number(array(ca.densify(rest)))):
        return None
    return out


def _line(d: Document, force: Spring) -> bool:
    """A spring, or a cable that only pulls, through points."""
    k, c, rest = (float(d.number([x])[0]) for x in (force.stiffness, force.damping, force.rest_length))
    if force.slack and c:
        return False
    _spring(_points(d, force), [k, 0, 0], [c, 0, 0], 0.0 if force.slack else rest, rest)
    return True


def _points(d: Document, force: Any) -> XmlNode:
    sites = [d.site(f"{force.name}_{n + 1}", frame) for n, frame in enumerate(force.points)]
    tendon = d.section("tendon").add("spatial", name=d.name("tendon", force.name))
    for site in sites:
        tendon.add("site", site=site)
    return tendon


def _driven_line(d: Document, force: Cable) -> bool:
    """A cable whose tension is an input."""
    if callable(force.tension) and not isinstance(force.tension, ca.SX):
        return False
    found = _gains(d, force.tension)
    if found is None:
        return False
    tendon = _points(d, force).attributes["name"]
    for name, (n, gains) in found.items():
        for k in np.flatnonzero(gains[0]):
            own = d.name("actuator", name if n == 1 else f"{name}_{k}")
            d.actuator("motor", own, (name, int(k)), tendon=tendon, gear=-gains[0, k])
    return True


def _thruster(d: Document, force: Wrench) -> bool:
    """Inputs that push and turn a frame in its own axes."""
    values = (force.force, force.moment)
    if force.axes != "body" or any(callable(x) and not isinstance(x, ca.SX) for x in values):
        return False
    found = _gains(d, [*array(force.force), *array(force.moment)])
    if found is None:
        return False
    site = d.site(f"{force.name}_site", force.frame)
    for name, (n, gains) in found.items():
        for k in range(n):
            own = d.name("actuator", name if n == 1 else f"{name}_{k}")
            d.actuator("motor", own, (name, k), site=site, gear=gains[:, k])
    return True


def _lift(d: Document, force: Wrench) -> bool:
    """A constant force against gravity at a centre of mass."""
    if any(callable(x) and not isinstance(x, ca.SX) for x in (force.force, force.moment)):
        return False
    if not all_numbers(array(force.force)) or not all_numbers(array(force.moment)) or force.axes != "world":
        return False
    f, g = d.number(force.force), d.number(d.m.gravity)
    body = force.frame.body
    mass = float(d.number([body.mass])[0])
    at = d.number(force.frame.T.p) - d.number(body.com)
    if (
        np.any(d.number(force.moment))
        or not np.any(g)
        or mass == 0.0
        or np.abs(at).max() > 1e-12 * (1 + np.abs(at).max())
    ):
        return False
    share = -float(f @ g) / float(g @ g) / mass
    if np.abs(f + share * mass * g).max() > 1e-12 * np.abs(f).max():
        return False
    node = d.nodes[body.name]
    total = float(node.attributes.get("gravcomp", "0")) + share
    node.attributes["gravcomp"] = repr(total)
    return True
