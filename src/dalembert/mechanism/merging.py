"""A mechanism as a part of another: its elements copied under new names and mounted on a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import Constraint, Expressions
from dalembert.mechanism.curves import Curve
from dalembert.mechanism.joints import Joint
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.mirroring import check_mirrored, mirror_matrix, mirrored_joint, mirrored_shape
from dalembert.mechanism.motions import Constant, Table
from dalembert.mechanism.shapes import Collider, Shape
from dalembert.mechanism.states import NamedState
from dalembert.mechanism.traced import UserState
from dalembert.spatial import Transform
from dalembert.symbols import Scalar, all_numbers, array, element, to_sx

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism


class MergedPart:
    """Names, symbols and bodies of a merged mechanism, mapped to those of the mechanism it became part of."""

    def __init__(self, prefix: str, mount: Frame, old: list[ca.SX], new: list[ca.SX], mirror: str | None = None):
        self.prefix, self.mount, self.old, self.new = prefix, mount, old, new
        self.mirror = None if mirror is None else mirror_matrix(mirror)
        self.bodies: dict[str, Body] = {}
        self.frames: dict[str, Frame] = {}

    def name(self, own: str) -> str:
        """The name of an element."""
        return self.prefix + own

    def sx(self, x: ca.SX) -> ca.SX:
        """An expression with the symbols of the whole."""
        return ca.substitute([x], self.old, self.new)[0] if self.old else x

    def value(self, x: Any) -> Any:
        """Numbers, expressions and arrays of them with the symbols of the whole."""
        if isinstance(x, ca.SX):
            return self.sx(x)
        if isinstance(x, Scalar):
            return element(self.sx(x.sx))
        if isinstance(x, np.ndarray) and x.dtype == object:
            out = np.empty(x.shape, dtype=object)
            for k, e in np.ndenumerate(x):
                out[k] = self.value(e)
            return out
        if isinstance(x, (list, tuple)):
            return type(x)(self.value(e) for e in x)
        return x

    def transform(self, T: Transform) -> Transform:
        """A place on a body."""
        R, p = self.value(T.R), self.value(T.p)
        if self.mirror is None:
            return Transform(R, p)
        return Transform(self.mirror @ array(R) @ self.mirror, self.mirror @ array(p))

    def frame(self, frame: Any) -> Frame:
        """A frame, a body, or the name of one."""
        if isinstance(frame, str):
            if frame in self.frames:
                return self.frames[frame]
            if frame != "ground" and frame not in self.bodies:
                raise unknown("frame or body", frame, [*self.frames, "ground", *self.bodies])
            return self.mount if frame == "ground" else self.bodies[frame].frame
        if isinstance(frame, Body):
            frame = frame.frame
        T = self.transform(frame.T)
        if frame.body.name == "ground":
            return Frame(self.mount.body, self.mount.T @ T)
        return Frame(self.bodies[frame.body.name], T)

    def function(self, f: Any) -> Any:
        """A function of the state or of time."""
        if self.mirror is not None and not isinstance(f, (Table, Curve, Constant)):
            raise DescriptionError("a function of the state cannot be mirrored; add what uses it on each side.")
        if isinstance(f, (Table, Curve)) or isinstance(getattr(f, "function", None), ca.Function):  # no symbols in it
            return f
        return Constant(self.value(f.value)) if isinstance(f, Constant) else PartLaw(f, self)


class PartLaw:
    """A function of the state, or of time, that was written for a part alone."""

    def __init__(self, law: Any, part: MergedPart):
        self.law, self.part = law, part

    def __call__(self, x: Any) -> Any:
        """Its value in a state of the whole, or at a time."""
        return self.part.value(self.law(PartState(x, self.part) if isinstance(x, UserState) else x))


class PartState(UserState):
    """A state of the whole as a function written for the part sees it, by the names of the part."""

    def __init__(self, whole: UserState, part: MergedPart):
        self._whole, self._part, self.t = whole, part, whole.t

    def once(self, key: Any, make: Any) -> Any:
        return self._whole.once((id(self._part), key), make)

    def __getitem__(self, name: str) -> ca.SX:
        return self._whole[self._part.name(name)]

    def rate(self, name: str) -> ca.SX:
        return self._whole.rate(self._part.name(name))

    def position(self, frame: Any) -> ca.SX:
        return self._whole.position(self._part.frame(frame))

    def rotation(self, frame: Any) -> ca.SX:
        return self._whole.rotation(self._part.frame(frame))

    def velocity(self, frame: Any) -> ca.SX:
        return self._whole.velocity(self._part.frame(frame))

    def length(self, name: str) -> ca.SX:
        return self._whole.length(self._part.name(name))

    def length_rate(self, name: str) -> ca.SX:
        return self._whole.length_rate(self._part.name(name))

    def _own_twist(self, frame: Any) -> ca.SX:
        return self._whole._own_twist(self._part.frame(frame))


class Merging:
    """One mechanism on its way into another."""

    def __init__(
        self,
        m: Mechanism,
        other: Mechanism,
        prefix: str,
        mount: Frame,
        given: Mapping[str, Any],
        mirror: str | None = None,
    ):
        self.m, self.other, self.prefix = m, other, prefix
        if mirror is not None:
            check_mirrored(other, mirror)
        self.given = self._parameters(given)
        self._check_names()
        old, new = [], []
        for name, x in other.parameters.symbols.items():
            old.append(x)
            if name in self.given:
                new.append(self.given[name])
            else:
                new.append(m.add_parameter(prefix + name, other.parameters.values[name]))
        for name, u in other.inputs.items():
            old.append(u)
            new.append(m.add_input(prefix + name, u.numel()))
        known = [*m.borrowed, *m.parameters.symbols.values(), *m.inputs.values()]
        m.borrowed = (*m.borrowed, *(x for x in (*other.borrowed, *old) if not any(x is y for y in known)))
        self.part = MergedPart(prefix, mount, old, new, mirror)

    def _parameters(self, given: Mapping[str, Any]) -> dict[str, ca.SX]:
        out = {}
        for name, value in checks.mapping(given, "parameters of merge", error=DescriptionError).items():
            if name not in self.other.parameters.symbols:
                raise unknown("parameter", name, self.other.parameters.symbols, f"merging '{self.other.name}'")
            size = self.other.parameters.symbols[name].numel()
            out[name] = to_sx(self.m.parameters.checked(value, (size,), f"parameter '{name}' of '{self.other.name}'"))
        return out

    def _check_names(self) -> None:
        """Refuse names that are taken, before anything is added."""
        m, other = self.m, self.other
        for own, tables in (
            ([b for b in other.bodies if b != "ground"], {"body": m.bodies, "frame": m.frames}),
            (other.frames, {"frame": m.frames, "body": m.bodies}),
            (other.joints, {"joint": m.joints, "constraint": m.constraints}),
            (other.constraints, {"constraint": m.constraints, "joint": m.joints, "contact": m.contacts}),
            (other.contacts, {"contact": m.contacts, "constraint": m.constraints, "joint": m.joints}),
            (other.forces, {"force": m.forces}),
            (other.states, {"state": m.states}),
            (other.inputs, {"input": m.inputs, "parameter": m.parameters.symbols}),
            (
                [p for p in other.parameters.symbols if p not in self.given],
                {"parameter": m.parameters.symbols, "input": m.inputs},
            ),
        ):
            for name in own:
                for kind, taken in tables.items():
                    m._new(self.prefix + name, taken, kind)  # type: ignore[arg-type]

    def merge(self) -> dict[str, Body]:
        """Copy everything."""
        m, other, part = self.m, self.other, self.part
        for body in other.bodies.values():
            if body is not other.ground:
                part.bodies[body.name] = m.bodies[part.name(body.name)] = self._body(body)
        self._ground_shapes()
        for name, frame in other.frames.items():
            part.frames[name] = m.frames[part.name(name)] = part.frame(frame)
        for a in other.joints.values():
            self._joint(a)
        for c in other.constraints.values():
            m.constraints[part.name(c.name)] = self._constraint(c)
        for contact in other.contacts.values():
            m.contacts[part.name(contact.name)] = self._copied(contact)
        for f in other.forces.values():
            m.forces[part.name(f.name)] = self._copied(f)
        for s in other.states.values():
            m.states[part.name(s.name)] = self._state(s)
        m.notes += other.notes
        return dict(part.bodies)

    def _body(self, body: Body) -> Body:
        value = self.part.value
        mass, com, J = value(body.mass), value(body.com), value(body.inertia)
        if (S := self.part.mirror) is not None:
            com, J = S @ array(com), S @ array(J) @ S
        name, shapes, drawn = self.part.name(body.name), self._shapes(body.shapes), self._drawn(body)
        return Body(name, mass, com, J, self.m.parameters, shapes, drawn, self._colliders(body))

    def _drawn(self, body: Body) -> Transform:
        """Its place in the drawing of the whole, where the part's is mounted."""
        return self.part.mount.drawn @ self.part.transform(body.drawn)

    def _colliders(self, body: Body) -> list[Collider]:
        """What may touch, with labels of the part."""
        own, shapes = self.part.name, self._shapes([c.shape for c in body.colliders])
        return [
            replace(c, shape=shape, apart=tuple(map(own, c.apart)), together=tuple(map(own, c.together)))
            for c, shape in zip(body.colliders, shapes)
        ]

    def _shapes(self, given: Iterable[Shape]) -> list[Shape]:
        """Shapes in parameters of the whole."""
        shapes = [shape.evaluated(lambda x, _: array(self.part.value(x))) for shape in given]
        S = self.part.mirror
        return shapes if S is None else [mirrored_shape(shape, S) for shape in shapes]

    def _ground_shapes(self) -> None:
        mount, ground = self.part.mount, self.other.ground
        if ground.shapes or ground.colliders:
            if not all_numbers(np.concatenate([mount.T.R.ravel(), mount.T.p])):
                raise DescriptionError(
                    f"the ground of '{self.other.name}' has shapes, and the frame it is mounted on depends on "
                    "parameters; mount it on a frame of numbers, or leave the shapes out."
                )
            T = Transform(mount.T.R.astype(float), mount.T.p.astype(float))
            mount.body.shapes.extend(shape.moved(T) for shape in self._shapes(ground.shapes))
            mount.body.colliders.extend(replace(c, shape=c.shape.moved(T)) for c in self._colliders(ground))

    def _joint(self, a: Attachment) -> None:
        part = self.part
        new = replace(
            a,
            name=part.name(a.name),
            joint=self._moved(a.joint),
            parent=part.frame(a.parent),
            child=part.frame(a.child),
            **{key: part.value(getattr(a, key)) for key in ("stiffness", "damping", "rest", "armature")},
        )
        self.m.joints[new.name] = new

    def _constraint(self, c: Constraint) -> Constraint:
        if isinstance(c, Expressions) and c.recipe is not None:
            make, arguments = c.recipe
            return make(*(self._argument(x) for x in arguments))
        return self._copied(c)

    def _argument(self, x: Any) -> Any:
        """An argument of what made a constraint: every text is the name of an element."""
        if isinstance(x, str):
            return self.part.name(x)
        if isinstance(x, dict):
            return {self.part.name(q): self.part.value(value) for q, value in x.items()}
        return self._moved(x)

    def _copied(self, element: Any) -> Any:
        """A force or constraint with all it holds."""
        new = copy(element)
        for key, x in vars(element).items():
            setattr(new, key, self.part.name(x) if key == "name" else self._moved(x))
        return new

    def _moved(self, x: Any) -> Any:
        part = self.part
        if isinstance(x, Frame):
            return part.frame(x)
        if isinstance(x, Attachment):
            return self.m.joints[part.name(x.name)]
        if isinstance(x, Constraint):
            return self.m.constraints[part.name(x.name)]
        if isinstance(x, Joint):
            new = copy(x)
            vars(new).update({key: part.value(value) for key, value in vars(x).items()})
            return new if part.mirror is None else mirrored_joint(new, part.mirror)
        if isinstance(x, (list, tuple)):
            return type(x)(self._moved(e) for e in x)
        if callable(x) and not isinstance(x, ca.SX):
            return part.function(x)
        return part.value(x)

    def _state(self, s: NamedState) -> NamedState:
        name = self.part.name

        def named(given: Mapping[str, Any]) -> dict[str, Any]:
            return {name(key): x for key, x in given.items()}

        return replace(s, name=name(s.name), q=named(s.q), v=named(s.v), u=named(s.u))
