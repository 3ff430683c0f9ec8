"""The tree of a mechanism: which of its joints carry bodies, which close loops.

Joints are described between any two bodies, in any order. Where each body is the child of one of them, up from the
ground, they are a tree as they stand. Otherwise a spanning tree of least cost is taken; what is left over closes loops.

The same rules choose in model files that are graphs (`formats.plan`):

- Joints with `tree=True`, and those whose coordinate something needs (motors, servos, drivers, couplings, armature, dry
  friction, stops), are in it.
- Then come joints beside massless bodies, which should carry others, and joints with springs, limits or a place in a
  named state.
- Of the others, those with many degrees of freedom are cut first; then paths from the ground are short, so that loops
  are cut in their middle; then the name decides. Nothing depends on the order of description.

A joint that the tree meets from its second body is turned round (`joints.inverse`); its coordinates stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.mechanism.body import Body
from dalembert.mechanism.constraints import Constraint, LoopJoint
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.forces import CutJointSpring
from dalembert.mechanism.forces.along import ElasticCoupling
from dalembert.mechanism.joints import Fixed
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.spanning import carrying_tree, joint_cost
from dalembert.mechanism.values import is_exact_zero

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism


def with_tree(m: Mechanism) -> Mechanism:
    """The mechanism with joints that are a tree and loops as constraints; itself where that is how it is described."""
    free = {name: a for name, a in m.joints.items() if a.tree is not False}
    if len(free) == len(m.joints) and _is_tree(m, free.values()):
        return m
    needed = _needed(m)
    tree = _spanning(m, free, needed)
    out = m.snapshot()
    out.joints = {name: tree[name] for name in m.joints if name in tree}
    cut = {name: a for name, a in m.joints.items() if name not in tree}
    _check_cut(cut, needed, m)
    loops = {name: LoopJoint(name, a.joint, a.parent, a.child) for name, a in cut.items()}
    out.constraints = {**loops, **m.constraints}
    for name, a in cut.items():
        if not all(is_exact_zero(x) for x in (*a.stiffness, *a.damping)):
            force = _free_name(name, out.forces)
            out.forces[force] = CutJointSpring(force, loops[name], a.stiffness, a.rest, a.damping)
    for f in torsion_springs(m):
        if f.spring_of.name in cut:
            out.forces[f.name] = _in_loop(f, loops[f.spring_of.name])
    return out


def torsion_springs(m: Mechanism) -> list[Any]:
    """Springs along one coordinate, which act on a joint in a loop as well as on one in the tree."""
    return [f for f in m.forces.values() if isinstance(f, ElasticCoupling) and f.spring_of is not None]


def springs_in_joints(m: Mechanism) -> Mechanism:
    """The mechanism with its torsion springs as springs and dampers of the joints, as formats have them."""
    out = m.snapshot()
    for f in torsion_springs(m):
        a, k = out.joints.get(f.spring_of.name), f.terms[0][1]
        if a is None or a.joint.nq != a.joint.nv:
            continue
        stiffness, rest, damping = a.stiffness.astype(object), a.rest.astype(object), a.damping.astype(object)
        if is_exact_zero(stiffness[k]):
            rest[k] = f.rest
        elif not is_exact_zero(f.stiffness):
            rest[k] = (stiffness[k] * rest[k] + f.stiffness * f.rest) / (stiffness[k] + f.stiffness)
        stiffness[k], damping[k] = stiffness[k] + f.stiffness, damping[k] + f.damping
        out.joints[a.name] = replace(a, stiffness=stiffness, rest=rest, damping=damping)
        del out.forces[f.name]
    return out


def _in_loop(f: ElasticCoupling, loop: LoopJoint) -> CutJointSpring:
    """A torsion spring along the coordinate of a joint that closes a loop."""
    (_, k, _), nv = f.terms[0], loop.joint.nv
    stiffness, rest, damping = (np.zeros(nv, dtype=object) for _ in range(3))
    stiffness[k], rest[k], damping[k] = f.stiffness, f.rest, f.damping
    return CutJointSpring(f.name, loop, stiffness, rest, damping)


def _is_tree(m: Mechanism, joints: Iterable[Attachment]) -> bool:
    """Whether each body is the child of one joint; that they all reach the ground is checked by `Layout`."""
    children = [a.child.body.name for a in joints]
    return len(set(children)) == len(children) and m.ground.name not in children


def _spanning(m: Mechanism, joints: dict[str, Attachment], needed: dict[str, str]) -> dict[str, Attachment]:
    """The joints of the tree, each outward from the ground; bodies and joints go by name, nothing by its order."""
    sides = sorted(joints.values(), key=lambda a: a.name)
    bodies = sorted(m.bodies, key=lambda name: (name != m.ground.name, name))
    number = {name: k for k, name in enumerate(bodies)}
    light = {number[b.name] for b in m.bodies.values() if b is not m.ground and _massless(b)}
    wanted = {q.partition(".")[0] for s in m.states.values() for q in s.q}
    wanted |= {f.spring_of.name for f in torsion_springs(m)}
    pairs = [(number[a.parent.body.name], number[a.child.body.name]) for a in sides]
    costs = [
        joint_cost(
            a.joint.nv,
            needed=a.name in needed or isinstance(a.joint, Fixed),
            preferred=_loaded(a) or a.name in wanted or not light.isdisjoint(pair),
        )
        for a, pair in zip(sides, pairs)
    ]
    out = {}
    for k, node in carrying_tree(len(bodies), pairs, costs, light):
        a = sides[k]
        out[a.name] = a if a.child.body.name == bodies[node] else a.inverted()
    return out


def _loaded(a: Attachment) -> bool:
    """Whether it has a spring, a damper or limits."""
    sprung = not all(is_exact_zero(x) for x in (*a.stiffness, *a.damping))
    return sprung or bool((abs(a.limits) != float("inf")).any())


def _needed(m: Mechanism) -> dict[str, str]:
    """{joint: why it must have a coordinate}."""
    out: dict[str, str] = {}
    for a in m.joints.values():
        if a.tree:
            out[a.name] = "tree=True"
        elif not a.joint.closure and not isinstance(a.joint, Fixed):
            out[a.name] = "no constraint to offer"
        elif any(f is not None for f in a.friction) or a.stops is not None:
            out[a.name] = "dry friction" if a.stops is None else "stops"
        elif not all(is_exact_zero(x) for x in a.armature):
            out[a.name] = "an armature"
    springs = torsion_springs(m)
    elements: list[Any] = [f for f in m.forces.values() if f not in springs]
    elements += [*m.constraints.values(), *m.contacts.values()]
    for element in elements:
        for name in joints_of(element, m):
            out.setdefault(name, f"{element.kind} '{element.name}'")
    return out


def joints_of(element: Any, m: Mechanism) -> set[str]:
    """Names of the joints whose coordinates a force or constraint acts on."""
    values: list[Any] = [*vars(element).values()]
    if isinstance(element, Expressions) and element.recipe is not None:
        values += [_coordinates(x, m) for x in element.recipe[1]]
    out: set[str] = set()
    while values:
        x = values.pop()
        if isinstance(x, Attachment):
            out.add(x.name)
        elif isinstance(x, (list, tuple, set)):
            values += x
        elif isinstance(x, Constraint) and x is not element:
            values += vars(x).values()
    return out


def _coordinates(x: Any, m: Mechanism) -> list[Attachment]:
    """The joints that texts in an argument of a constraint name."""
    texts = [x] if isinstance(x, str) else list(x) if isinstance(x, dict) else []
    joints = (m.joints.get(t) or m.joints.get(t.rpartition(".")[0]) for t in texts if isinstance(t, str))
    return [a for a in joints if a is not None]


def _check_cut(cut: dict[str, Attachment], needed: dict[str, str], m: Mechanism) -> None:
    for name, a in cut.items():
        if name in needed and a.tree is False:
            raise DescriptionError(
                f"joint '{name}' is to close a loop (tree=False), but needs a coordinate: it has {needed[name]}. Leave "
                "tree=False away, or take that from it."
            )
        if name in needed:
            if not a.joint.closure and a.joint.nv:
                raise DescriptionError(
                    f"joint '{name}' is {a.joint.kind} and forbids no motion, but its bodies are connected by others "
                    "that are needed in the tree; leave it out."
                )
            others = ", ".join(f"'{n}' ({why})" for n, why in needed.items() if n != name)
            raise DescriptionError(
                f"joint '{name}' has {needed[name]} and closes a loop in which every other joint needs its coordinate "
                f"too: {others}. One of them must do without."
            )
        if a.joint.nq != a.joint.nv and not all(is_exact_zero(x) for x in (*a.stiffness, *a.damping)):
            raise DescriptionError(
                f"joint '{name}' closes a loop and has stiffness or damping, which a {a.joint.kind} joint has only in "
                "the tree. Add tree=True to it, or use add_bushing."
            )


def _massless(body: Body) -> bool:
    return all(is_exact_zero(x) for x in (body.mass, *body.inertia.ravel()))


def _free_name(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += " spring"
    return name
