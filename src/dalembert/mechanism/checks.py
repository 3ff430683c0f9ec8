"""Checks of a whole description that no single call can make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, UnknownName, unknown
from dalembert.mechanism.constraints import Constraint, LoopJoint
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.contacts import Unilateral
from dalembert.mechanism.forces import Potential
from dalembert.mechanism.forces.force import evaluate
from dalembert.mechanism.joints import Joint, Universal
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.local import LocalState
from dalembert.mechanism.values import Defaults, is_exact_zero
from dalembert.recursions.articulated_body import joint_inertias
from dalembert.recursions.tree import ROOT, Link, Placed, Tree
from dalembert.spatial import RigidInertia, Transform
from dalembert.symbols import Scalar, all_numbers, array, to_sx

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

LARGEST = 1e150  # kg, kg m, kg m²: the product of two of them is a finite number


def check_joint(joint: Any, what: str, defaults: Defaults) -> None:
    """Refuse what is no joint, and axes of parameters that are none at the default values."""
    if not isinstance(joint, Joint):
        hint = f" Write da.{joint.__name__}()." if isinstance(joint, type) and issubclass(joint, Joint) else ""
        raise DescriptionError(
            f"{what} has the type {checks.shown(joint)}; needed: a joint such as da.Revolute('z').{hint}"
        )
    if all_numbers(joint.orientation):
        return
    axes = joint.given if isinstance(joint, Universal) else (joint.given,)  # type: ignore[attr-defined]
    units = []
    for axis in axes:
        n = defaults.number(axis, f"the axis of {what}")
        if not np.all(np.isfinite(n)) or not np.any(n):
            raise DescriptionError(
                f"the axis of {what} is {n.tolist()} at the default parameters; needed: three finite numbers, "
                "not all 0."
            )
        units.append(n / np.linalg.norm(n))
    if len(units) == 2 and abs(units[0] @ units[1]) > 1e-9:
        angle = np.degrees(np.arccos(np.clip(units[0] @ units[1], -1, 1)))
        raise DescriptionError(
            f"the axes of {what} meet at {angle:.6g}° at the default parameters; they must be perpendicular."
        )


def no_joint(kind: str, name: str, known: Iterable[str], constraints: Iterable[Constraint], where: str) -> UnknownName:
    """The error for a joint or coordinate that the tree does not have; a cut joint is told apart."""
    cut = [c.name for c in constraints if isinstance(c, LoopJoint)]
    if isinstance(name, str) and (name in cut or name.partition(".")[0] in cut):
        return UnknownName(
            f"{where} asks for {kind} '{name}', but that joint closes a loop: it is not part of the tree and has no "
            f"coordinate of its own. Take one of the tree ({', '.join(known)}), or describe that joint by add_joint "
            "with tree=True, so that another one closes the loop."
        )
    return unknown(kind, name, known, where)


def check_armature(joint: Joint, armature: np.ndarray, what: str) -> None:
    """½ Σ armature v² must bring no velocity terms: on quaternion joints only an isotropic one does."""
    if joint.nq == joint.nv or all(is_exact_zero(a) for a in armature):
        return
    if joint.kind == "free":
        raise DescriptionError(
            f"{what} is on a free joint, which has no rotor; give the body more mass or inertia instead."
        )
    if len({repr(a) for a in armature}) > 1:
        raise DescriptionError(f"{what} differs from axis to axis; a spherical joint takes one number for all three.")


def check_masses(layout: TreeLayout, defaults: Defaults) -> None:
    """Refuse a mechanism whose mass matrix is singular wherever it stands, naming the coordinates that move no mass.

    M is positive definite exactly when every D_i = S_iᵀ A_i S_i of the articulated-body recursion is. A link with mass
    and a positive definite inertia makes its own D so; only mechanisms with other links are looked at, at a seeded
    random configuration, with the parameters at their defaults.
    """
    tree = layout.tree
    numeric = _numeric(tree, defaults)
    if solid(layout, defaults, numeric):
        return
    still: list[str] = []
    at = _somewhere(numeric)
    for i, (D, scale) in enumerate(zip(joint_inertias(at), _locked_scales(at))):
        value, vector = _least_relative(np.array(D, dtype=float), scale)
        if value <= 1e-12:
            still.append(layout.v_names[tree.links[i].v.start + int(np.argmax(np.abs(vector)))])
    if still:
        names = ", ".join(f"'{n}'" for n in still)
        move, body = ("moves", "body it carries") if len(still) == 1 else ("move", "bodies they carry")
        raise DescriptionError(
            f"the mass matrix is singular: {names} {move} no mass. Give the {body} mass or inertia, or the joint an "
            "armature."
        )


def solid(layout: TreeLayout, defaults: Defaults, numeric: Tree | None = None) -> bool:
    """Whether no motion anywhere moves no mass, because each link by itself resists its joint.

    Of the joints that move, the first from the ground moves its link as if it were alone. Links with mass and a
    positive definite inertia resist any joint; a rod without inertia about its own axis, say, resists an axis across
    it. How much they do, of what the joint carries, bounds every D_i of the articulated-body recursion from below.
    """
    numeric = _numeric(layout.tree, defaults) if numeric is None else numeric
    for link in numeric.links:
        m, h, J = float(link.inertia.m), link.inertia.h.astype(float), link.inertia.J.astype(float)
        most = float(np.nan_to_num(np.abs(J), nan=np.inf).max())  # ∞ − ∞ where m c² is beyond all numbers
        if not all(x <= LARGEST for x in (abs(m), float(np.abs(h).max()), most)):
            raise DescriptionError(
                f"what joint '{link.name}' carries has a mass of {m:.3g} kg and moments of inertia up to "
                f"{most:.3g} kg m² about its frame; needed: at most {LARGEST:g}. Check masses and centres "
                "of mass, in kg and m."
            )
    weak = [i for i, link in enumerate(numeric.links) if not _solid(link.inertia)]
    if not weak:
        return True
    one_way = all(numeric.links[i].joint.nv == 1 for i in weak)  # other screws turn with their joint
    if not one_way or not all(has_numbers(layout.tree.links[i].inertia) for i in weak):
        return False
    at = _somewhere(numeric)
    scales = _locked_scales(at)
    for i in weak:
        S = at.S(i).astype(float)[:, 0]
        own = float(S @ numeric.links[i].inertia.matrix().astype(float) @ S)
        if not own > 1e-9 * float(scales[i][0]):
            return False
    return True


def has_numbers(inertia: RigidInertia) -> bool:
    """Whether no parameter is in an inertia."""
    return all_numbers(array([inertia.m, *inertia.h, *inertia.J.ravel()]))


def check_laws(layout: TreeLayout, mechanism: Mechanism) -> None:
    """Refuse what a user wrote as a function or expression where it gives NaN, the wrong shape, or an unknown symbol.

    Each is evaluated once, on links that stand alone, so that its formula is no longer than what was written.
    """
    laws = [
        (force, what, value, shape)
        for force in mechanism.forces.values()
        for what, value, shape in force.given()
        if callable(value) or not all_numbers(array(value))
    ]
    written = [c for c in mechanism.constraints.values() if isinstance(c, Expressions)]
    gaps = [c for c in mechanism.contacts.values() if isinstance(c, Unilateral)]
    if not laws and not written and not gaps:
        return
    t = ca.SX.sym("t")
    s = LocalState(layout, Scalar(t))
    parameters, inputs = mechanism.parameters.symbols, mechanism.inputs
    state = [s.z, s.w, t, *parameters.values()]
    for force, what, value, shape in laws:
        x = evaluate(value, s, shape, what)
        x = to_sx([x] if shape == () else x)
        if isinstance(force, Potential):
            check_potential(x, what, s, t, inputs)
        check_expression(x, what, [*state, *inputs.values()], {})
    for constraint in written:
        for what, row in constraint.given(s):
            check_expression(row, what, state, inputs)
    for contact in gaps:
        gap, what = contact.given(s), f"the gap of {contact.kind} '{contact.name}'"
        check_expression(gap, what, state, inputs)
        if ca.depends_on(gap, s.w):
            raise DescriptionError(f"{what} depends on velocities; needed: an expression of positions and time.")


def check_potential(V: ca.SX, what: str, s: LocalState, t: ca.SX, inputs: Mapping[str, ca.SX]) -> None:
    """Refuse an energy that is not one of the position alone."""
    used = {"velocities": s.w, "time": t, **{f"input '{name}'": u for name, u in inputs.items()}}
    for name, symbols in used.items():
        if ca.depends_on(V, symbols):
            raise DescriptionError(
                f"{what} depends on {name}; needed: an expression of positions and parameters. Write such a force with "
                "add_joint_force or add_wrench."
            )


def check_expression(x: ca.SX, what: str, symbols: list[ca.SX], forbidden: Mapping[str, ca.SX]) -> None:
    """Refuse an expression of other symbols than these, or with NaN in it."""
    f = ca.Function("law", symbols, [x], {"allow_free": True})
    if f.has_free():
        free = ", ".join(sorted(f.get_free()))
        why = (
            "is an input; a constraint depends on the state, on time and on parameters. To let an input move a "
            "coordinate, use add_kinematic_input or add_servo"
        )
        if ca.Function("law", [*symbols, *forbidden.values()], [x], {"allow_free": True}).has_free():
            why = "is neither an input nor a parameter of this mechanism; declare it with add_input or add_parameter"
        raise DescriptionError(f"{what} uses {free}, which {why}.")
    for k in range(f.n_instructions()):
        if f.instruction_id(k) == ca.OP_CONST and np.isnan(f.instruction_constant(k)):
            raise DescriptionError(
                f"{what} has NaN in it; was a CasADi symbol turned into a float? math.sin, NumPy and SciPy give NaN of "
                "symbols: use CasADi's functions (casadi.sin)."
            )


def check_free_symbols(function: ca.Function, known: dict[str, list[str]]) -> None:
    """Refuse expressions with symbols the mechanism does not know."""
    if function.has_free():
        have = "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in known.items())
        raise DescriptionError(
            f"an expression of the description uses {', '.join(sorted(function.get_free()))}, which is neither an "
            f"input nor a parameter of this mechanism ({have}). Declare it with add_input or add_parameter."
        )


def _locked_scales(at: Placed) -> list[np.ndarray]:
    """(nv_i,) of each link: what a velocity of its joint can move at most, the mass carried or the trace of inertia."""
    scales = []
    for i, C in enumerate(_carried(at)):
        diagonal = np.array([np.trace(C.J)] * 3 + [C.m] * 3, dtype=float)
        scales.append(diagonal @ (at.S(i).astype(float) ** 2) + at.tree.links[i].armature.astype(float))
    return scales


def _carried(at: Placed) -> list[RigidInertia]:
    """Inertia of each link and everything beyond it, about the link: tips to base."""
    beyond = [link.inertia for link in at.tree.links]
    for i in reversed(range(len(beyond))):
        parent = at.tree.links[i].parent
        if parent != ROOT:
            beyond[parent] = beyond[parent] + beyond[i].seen_from(at.T(i))
    return beyond


def _least_relative(D: np.ndarray, scale: np.ndarray) -> tuple[float, np.ndarray]:
    """Smallest eigenvalue of D in units of the scale, and its direction."""
    s = np.sqrt(np.where(scale > 0, scale, 1.0))
    values, vectors = np.linalg.eigh(D / np.outer(s, s))
    return float(values[0]), vectors[:, 0]


def _solid(I: RigidInertia) -> bool:
    m, h, J = float(I.m), I.h.astype(float), I.J.astype(float)
    if m <= 0.0:
        return False
    Jc = J - (h @ h * np.eye(3) - np.outer(h, h)) / m
    return bool(np.linalg.eigvalsh(Jc)[0] > 1e-9 * np.abs(J).max())


def _numeric(tree: Tree, defaults: Defaults) -> Tree:
    """The tree with every parameter at its default."""

    def number(x: Any) -> np.ndarray:
        return array(x) if all_numbers(array(x)) else array(defaults.number(array(x), "the description"))

    links = []
    for k in tree.links:
        I = RigidInertia(float(number([k.inertia.m])[0]), number(k.inertia.h), number(k.inertia.J))
        T = Transform(number(k.placement.R), number(k.placement.p))
        links.append(Link(k.name, k.parent, _with_numbers(k.joint, number), T, I, number(k.armature), k.q, k.v))
    return Tree(links)


def _with_numbers(joint: Any, number: Any) -> Any:
    """A screw's pitch may be a parameter; axes are in the placements."""
    pitch = getattr(joint, "pitch", None)
    return joint if pitch is None else type(joint)("z", pitch=float(number([pitch])[0]))


def _somewhere(tree: Tree) -> Placed:
    """A tree at a seeded random configuration."""
    rng = np.random.default_rng(20040601)

    def position(joint: Any) -> np.ndarray:
        return np.array(joint.plus(array(joint.neutral()), array(rng.uniform(-1, 1, joint.nv))), dtype=float)

    return tree.at(np.concatenate([np.zeros(0), *(position(link.joint) for link in tree.links)]))
