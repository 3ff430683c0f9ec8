"""What torsion springs, motors, clutches, brakes and racks look like: parts on the joints on which they act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanism.constraints import Expressions
from dalembert.mechanism.curves import Curve, is_nothing
from dalembert.mechanism.forces.along import Along, ElasticCoupling, SlippingCoupling, StickingCoupling
from dalembert.mechanism.forces.dc_motor import DCMotor
from dalembert.spatial import Transform
from dalembert.view.attachments import turn_to
from dalembert.view.scene import DrawnLink, DrawnSolid, Place, SceneJoint

if TYPE_CHECKING:
    from dalembert.view.automatic import Furniture

LINING, MOTOR = "#30363d", "#b06000"
TURNS = 2.5  # of a spiral


def machine_parts(f: Furniture) -> None:
    """Add the parts of all elements that act on coordinates to a scene."""
    joints = {j.name: j for j in f.s.joints}
    for force in f.s.system.description.forces:
        if isinstance(force, DCMotor) and (j := joints.get(force.joint.name)) is not None:
            motor(f, j, force.name)
        if not isinstance(force, Along) or force.wheels or force.path:
            continue
        on = [joints[joint.name] for joint, _, _ in force.terms if joint.name in joints]
        if isinstance(force, (StickingCoupling, SlippingCoupling)) or is_freewheel(force):
            if all(j.glyph == "pin" for j in on):
                grip(f, on, force.name)
        elif len(on) == 1:
            coil(f, on[0], force.name)
    for element in [*f.s.system.description.constraints, *f.s.system.description.forces]:
        wheels: Any = getattr(element, "wheels", ())
        if wheels and (slide := joints.get(slid_by(element))) is not None:
            bar(f, wheels[0], slide)


def is_freewheel(force: Any) -> bool:
    """Whether an elastic coupling has nothing but a damping on one side."""
    one_sided = isinstance(force, ElasticCoupling) and is_nothing(force.stiffness) and isinstance(force.damping, Curve)
    return bool(one_sided and 0.0 in np.asarray(force.damping.y, dtype=float)[[0, -1]])


def slid_by(element: Any) -> str:
    """The second joint of a rack and its pinion; "" of other elements."""
    if isinstance(element, Expressions):
        names = list(element.recipe[1][1]) if element.recipe is not None and element.kind == "coupling" else []
    else:
        names = [joint.name for joint, _, _ in getattr(element, "terms", ())]
    return str(names[1]) if len(names) == 2 and len(element.wheels) == 1 else ""


def sides(j: SceneJoint) -> tuple[Place, Place]:
    """The side of a joint that turns, and the one that carries it."""
    return (j.b, j.a) if j.b.body else (j.a, j.b)


def before(f: Furniture, place: Place, far: float) -> Transform:
    """A place in front of all bodies of a planar picture; in space `far` along its axis."""
    if f.flat:
        x = f.lifted(place.body, place.T.p, max(f.layer) + far / f.r)
        return Transform(turn_to(f.own(place.body, f.normal)), x)
    return Transform(place.T.R, place.T.p + far * place.T.R[:, 2])


def coil(f: Furniture, j: SceneJoint, name: str) -> None:
    """A torsion spring: a spiral around a hinge, a coil along a slide."""
    if j.glyph == "slider":
        f.scene.links.append(DrawnLink("spring", name, (j.a, j.b)))
        return
    if j.glyph != "pin":
        return
    place = sides(j)[1]
    T = before(f, place, 1.6 * f.r)
    turn = np.linspace(0.0, 2 * np.pi * TURNS, 16 * int(2 * TURNS) + 1)
    r = f.r * (0.8 + 3.6 * turn / turn[-1])
    x = np.column_stack([r * np.cos(turn), r * np.sin(turn), 0 * turn])
    points = (Place("", place.body, Transform(np.eye(3), T.p + T.R @ p)) for p in x)
    f.scene.links.append(DrawnLink("cable", name, tuple(points)))


def motor(f: Furniture, j: SceneJoint, name: str) -> None:
    """A motor: its housing, on what carries a hinge, on the side away from what it turns."""
    if j.glyph != "pin":
        return
    place = sides(j)[1]
    T = before(f, place, 2.0 * f.r if f.flat else -3.2 * f.r)
    size = (2.0 * f.r, f.r) if f.flat else (1.7 * f.r, 3.2 * f.r)
    f.add(place.body, DrawnSolid("cylinder", size, T, MOTOR, joint=j.name))


def grip(f: Furniture, on: Sequence[SceneJoint], name: str) -> None:
    """A clutch: the discs of two shafts in one line, face to face. A brake: a disc between two pads."""
    turned = [sides(j)[0] for j in on]
    if len(on) == 1:
        disc(f, turned[0], 3.0 * f.r, 1.2 * f.r, on[0].name)
        carrier = sides(on[0])[1]
        T = before(f, carrier, 1.2 * f.r)
        for side in (1.0, -1.0):
            at = Transform(T.R, T.p + side * 3.0 * f.r * T.R[:, 1])
            f.add(carrier.body, DrawnSolid("box", (2.4 * f.r, 1.2 * f.r, 1.4 * f.r), at, LINING, joint=on[0].name))
        return
    if len(on) != 2:
        return
    x = [f.world(p.body, p.T.p)[0] for p in turned]
    n = f.poses[turned[0].body][0, :3, :3] @ turned[0].T.R[:, 2]
    apart = (x[1] - x[0]) @ n
    if np.linalg.norm(x[1] - x[0] - apart * n) > 1e-6 * f.scene.length:
        return  # not on one line
    if f.flat:
        for k, place in enumerate(turned):
            disc(f, place, (3.4 - 1.2 * k) * f.r, (1.2 + 0.4 * k) * f.r, on[k].name)
        return
    middle, sign = x[0] + apart / 2 * n, 1.0 if apart >= 0 else -1.0
    for k, place in enumerate(turned):
        R = f.poses[place.body][0, :3, :3]
        at = middle + (0.45 if k else -0.45) * sign * f.r * n - f.poses[place.body][0, :3, 3]
        T = Transform(turn_to(R.T @ n), R.T @ at)
        f.add(place.body, DrawnSolid("cylinder", (3.0 * f.r, 0.7 * f.r), T, joint=on[k].name))


def disc(f: Furniture, place: Place, radius: float, far: float, name: str) -> None:
    """A disc on a body, around a joint's axis."""
    T = before(f, place, far)
    f.add(place.body, DrawnSolid("cylinder", (radius, 0.5 * f.r), T, joint=name))


def bar(f: Furniture, wheel: tuple[Any, float, int], slide: SceneJoint) -> None:
    """The bar of a rack, or the rope of a drum: along a slide, from the wheel to what slides, and past both."""
    place, radius = f.s.place(wheel[0]), float(wheel[1])
    moved, _ = sides(slide)
    if f.given[moved.body]:
        return
    R, p = f.poses[moved.body][0, :3, :3], f.poses[moved.body][0, :3, 3]
    a = R @ moved.T.R[:, 2]
    n = f.poses[place.body][0, :3, :3] @ place.T.R[:, wheel[2]]
    centre, block = f.world(place.body, place.T.p)[0], f.world(moved.body, moved.T.p)[0]
    out = np.cross(a, n)
    if np.linalg.norm(out) < 1e-6:
        return
    out = out / np.linalg.norm(out)
    side = 1.0 if (block - centre) @ out >= 0 else -1.0
    tangent = centre + side * (radius + 0.5 * f.r) * out
    way = float((block - tangent) @ a)
    past = 4 * f.r if abs(way) > radius else max(4 * f.r, radius)
    low, high = min(0.0, way) - past, max(0.0, way) + past
    x = R.T @ (tangent + (low + high) / 2 * a - p)
    if f.flat:
        x = f.lifted(moved.body, x, f.layer[moved.body])
    T = Transform(turn_to(R.T @ a, R.T @ out), x)
    f.add(moved.body, DrawnSolid("box", (f.r, f.r, high - low), T, joint=slide.name))
