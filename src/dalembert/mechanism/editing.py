"""Editing a description: copies, and elements that are removed, renamed or replaced."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from dalembert import checks
from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.body import Body
from dalembert.mechanism.elements import Elements
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.swapping import TABLES, Swap, referred

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

DATA = (
    "stiffness",
    "damping",
    "armature",
    "limits",
    "friction",
    "stops",
    "tree",
)  # of a joint, besides its place and type


class Editable(Elements):
    """The part of `Mechanism` that changes what is there."""

    def copy(self, name: str | None = None) -> Mechanism:
        """A mechanism of its own with all that this one has, under another name if one is given.

        Bodies, joints, parameters and inputs are its own: take them by name, `m.bodies[...]`,
        `m.parameters.symbols[...]`.

        >>> import dalembert as da
        >>> m = da.zoo.four_bar()
        >>> stiff = m.copy("stiff")
        >>> stiff.add_torsion_spring("coil", "A", stiffness=5.0)
        >>> len(m.forces), len(stiff.forces)
        (1, 2)
        """
        from dalembert.mechanism.merging import Merging

        m: Any = self
        other: Any = type(m)(m.name if name is None else name)
        merging = Merging(other, m.snapshot(), "", other.ground.frame, {})
        merging.merge()
        other.gravity = merging.part.value(m.gravity)
        other.points.update({point: merging.part.value(p) for point, p in m.points.items()})
        for part in m.own_parts:
            setattr(other, part, deepcopy(merging.part.value(getattr(m, part))))
        return other

    def remove(self, name: str, *, kind: str | None = None, dependents: bool = False) -> list[str]:
        """Take out the element of a name, and a motor's input with it; returns what was taken out.

        kind: "body", "joint", "frame", "force", "constraint", "contact" or "state", where several have this name.
        dependents: what is made with it goes too (the joints of a body, the springs on it); without, it is refused
        where there is any. Functions of the state that name it are found when the mechanism is compiled. Parameters
        and inputs of their own stay.

        >>> import dalembert as da
        >>> m = da.zoo.four_bar()
        >>> m.remove("C")
        ["constraint 'C'"]
        >>> m.compile().report(m.compile().state()).mobility
        3
        """
        checks.flag(dependents, "dependents", error=DescriptionError)
        kind = self._kind_of(name, kind)
        taken = self._with_dependents(kind, name)
        if len(taken) > 1 and not dependents:
            others = ", ".join(f"{k} '{n}'" for k, n in taken[1:])
            raise DescriptionError(
                f"{kind} '{name}' is part of {others}; remove these before, or pass dependents=True to remove all."
            )
        for k, n in taken:
            removed = getattr(self, TABLES[k]).pop(n)
            if k == "force" and removed.input_units:
                self.inputs.pop(n)
        return [f"{k} '{n}'" for k, n in taken]

    def rename(self, name: str, new: str, *, kind: str | None = None) -> None:
        """Give an element a `new` name, also where others and functions of the state use it; kind as in `remove`.

        What `add_body` and `add_joint` returned before for it, and for the joints of a body, is no longer of this
        mechanism: take them by name.

        >>> import dalembert as da
        >>> m = da.zoo.four_bar()
        >>> m.rename("A", "crank", kind="joint")
        >>> m.compile().q_names
        ['crank', 'B', 'D']
        """
        kind = self._kind_of(name, kind)
        taken = [*({"body": ("frames", "bodies"), "frame": ("frames", "bodies")}.get(kind, (TABLES[kind],)))]
        if kind in ("joint", "constraint", "contact"):
            taken = ["joints", "constraints", "contacts"]
        if kind == "force" and name in self.inputs:
            taken += ["inputs"]
            self._new(new, self.parameters.symbols, "parameter")
        for table in taken:
            self._new(new, getattr(self, table), {v: k for k, v in TABLES.items()}.get(table, "input"))
        if kind in ("joint", "constraint", "contact") and "." in new:
            raise DescriptionError(f"{kind} '{new}' has a dot in its name; use '_'.")
        Swap(self, kind, name, new).everywhere()

    def replace(self, name: str, *, kind: str | None = None, **changes: Any) -> Body | Attachment:
        """Give a body or joint other values, by the keywords of `add_body` or `add_joint`; returns the new one.

        name, kind: as in `remove`; changes: what changes, all else stays. A joint of another type keeps no springs,
        limits and the like. Others are removed and added again.

        >>> import dalembert as da
        >>> m = da.zoo.four_bar()
        >>> m.replace("crank", mass=3.0)
        <body 'crank'>
        >>> m.replace("A", damping=0.2).damping
        array([0.2], dtype=object)
        """
        kind = self._kind_of(name, kind)
        scratch: Any = self.snapshot()  # type: ignore[attr-defined]
        old: Any = getattr(scratch, TABLES[kind]).pop(name)
        new: Any
        if isinstance(old, Body) and old is not self.ground:
            given = {"mass": old.mass, "com": old.com, "inertia": old.inertia, "physical": False}
            made = scratch.add_body(name, **({**given, **changes} if "solid" not in changes else changes))
            drawn = made.drawn if {"at", "rotation"} & set(changes) else old.drawn
            shapes = list(made.shapes or old.shapes)
            new = Body(name, made.mass, made.com, made.inertia, self.parameters, shapes, drawn, list(old.colliders))
        elif isinstance(old, Attachment):
            joint = changes.pop("joint", old.joint)
            same = type(joint) is type(old.joint)
            given = {"tree": old.tree} | {key: getattr(old, key) for key in (*DATA, "rest") if same}
            given |= {"friction": [0.0 if f is None else f for f in old.friction]} if same and old.friction else {}
            given |= {"limits": None} if same and not old.joint.nv else {}
            ends = old.parent, old.child
            a, b = (changes.pop(key, end.body if "at" in changes else end) for key, end in zip("ab", ends))
            new = scratch.add_joint(name, joint, a, b, **{**given, **changes})
        else:
            raise DescriptionError(f"{kind} '{name}' cannot be replaced; m.remove('{name}'), and add it again.")
        Swap(self, kind, name, name, new).everywhere()
        return new

    def _kind_of(self, name: Any, kind: str | None) -> str:
        """The kind of the element of a name; refused if there is none, or several."""
        if kind is not None:
            checks.choice(kind, tuple(TABLES), "kind", error=DescriptionError)
        tables = {k: getattr(self, table) for k, table in TABLES.items() if kind in (None, k)}
        found = [k for k, table in tables.items() if isinstance(name, str) and name in table]
        if found == ["body"] and name == "ground":
            raise DescriptionError("the ground belongs to every mechanism; it can be neither removed nor changed.")
        if not found:
            raise unknown(kind or "element", name, dict.fromkeys(n for table in tables.values() for n in table))
        if len(found) > 1:
            raise DescriptionError(f"'{name}' is a {' and a '.join(found)}; pass kind={found[0]!r}, or {found[1]!r}.")
        return found[0]

    def _with_dependents(self, kind: str, name: str) -> list[tuple[str, str]]:
        """An element and all that is made with it, and with those."""
        out, waiting = [(kind, name)], [(kind, name)]
        while waiting:
            k, n = waiting.pop(0)
            x = getattr(self, TABLES[k])[n]
            names = {n, *x.coordinates, *x.velocities} if isinstance(x, Attachment) else set()
            for other, table in TABLES.items():
                for called, element in getattr(self, table).items():
                    uses = any(part is x or (isinstance(part, str) and part in names) for part in referred(element))
                    if element is not x and uses and (other, called) not in out:
                        out.append((other, called))
                        waiting.append((other, called))
        return out
