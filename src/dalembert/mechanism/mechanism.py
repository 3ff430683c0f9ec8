"""Describing a mechanism: bodies, joints, forces, inputs and parameters, all by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.forks import undisturbed
from dalembert.hints import hinted
from dalembert.mechanism import pickling, show
from dalembert.mechanism.body import Body
from dalembert.mechanism.building import Buildable
from dalembert.mechanism.editing import Editable
from dalembert.mechanism.machinery import Machinery
from dalembert.mechanism.notes import Note
from dalembert.mechanism.states import NamedState, named_state
from dalembert.mechanism.touching import Touchable
from dalembert.mechanism.values import Defaults
from dalembert.spatial import rotation

if TYPE_CHECKING:
    from dalembert.system.system import System


@hinted
class Mechanism(Buildable, Machinery, Touchable, Editable):
    """Bodies, the joints between them, forces and constraints, described by name.

    Elements are added by methods, each under a `name` by which results give it back. gravity is the acceleration of
    free fall in the ground's axes, m/s². Masses, lengths, stiffnesses and other numbers may be expressions of
    parameters. A mechanism can be pickled, and copied with `copy.deepcopy`.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> rod = m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    >>> m.add_joint("pivot", da.Revolute("z"), m.ground, rod)
    >>> m.compile().forward_dynamics({"pivot": 0.0}).round(6)      # 3g/2l
    array([-14.715])
    """

    own_parts: tuple[str, ...] = ()  # attributes of a subclass that are part of the description

    def __init__(self, name: str = "mechanism", gravity: Sequence[Any] = (0.0, 0.0, -9.81)):
        self.name = checks.name(name, "the name of a mechanism", error=DescriptionError)
        super().__init__()
        self.states: dict[str, NamedState] = {}
        self.borrowed: tuple[ca.SX, ...] = ()  # symbols of merged mechanisms, for which functions of these were written
        self.notes: list[Note] = []  # what the reader of a model file left out or repaired
        self.gravity = gravity

    # --- states -------------------------------------------------------------------------------------------------

    def add_state(self, name: str, q: Any = None, v: Any = None, u: Any = None, t: float = 0.0) -> None:
        """Name a state: positions q and velocities v by joint or coordinate, inputs u by name, the time t (s).

        What is not named is neutral, at rest and zero. Nothing is assembled. `System.named_state` gives it back.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("rod", mass=1.0, com=(1, 0, 0)))
        >>> m.add_state("up", q={"A": 1.5}, v={"A": 0.1})
        >>> m.compile().named_state("up")["A"]
        1.5
        """
        self._new(name, self.states, "state")
        self.states[name] = named_state(self, name, q, v, u, t)

    # --- parts --------------------------------------------------------------------------------------------------

    def merge(
        self,
        other: Mechanism,
        prefix: str = "",
        *,
        at: Any = None,
        parameters: Mapping[str, Any] | None = None,
        mirror: str | None = None,
    ) -> dict[str, Body]:
        """Add a copy of another mechanism, its ground mounted on the frame `at`; returns its bodies by their old names.

        other: the mechanism, which stays as it is; it can be merged several times. prefix: what every name of its
        elements, inputs and parameters begins with here, such as "left_". at: a body, a frame or a name, default the
        ground. parameters: what parameters of the other mechanism are here, numbers or expressions of parameters of
        this one, which so become common; the others are declared here, under the prefix. mirror: "x", "y" or "z"
        reflects the copy in the plane of its ground normal to that axis: a right side from a left one, whose joints
        have the same coordinates as the other's in mirrored positions. Gravity is that of this
        mechanism. What the other one says in the axes of its ground (wrenches, drivers of points, functions of the
        state) is in those of this ground.

        >>> import dalembert as da
        >>> leg = da.Mechanism("leg")
        >>> L = leg.add_parameter("L", 0.4)
        >>> thigh = leg.add_body("thigh", mass=2.0, com=(0, 0, -L / 2), inertia=da.rod_inertia(2.0, L, axis="z"))
        >>> leg.add_joint("hip", da.Revolute("y"), leg.ground, thigh)
        >>> drive = leg.add_motor("hip drive", "hip")
        >>> m = da.Mechanism("walker")
        >>> trunk = m.add_body("trunk", mass=10.0, inertia=(1, 1, 1))
        >>> m.add_joint("float", da.Planar("y"), m.ground, trunk)
        >>> L = m.add_parameter("L", 0.4)
        >>> left = m.merge(leg, "left_", at=trunk.at(0, 0.1, 0), parameters={"L": L})
        >>> right = m.merge(leg, "right_", at=trunk.at(0, -0.1, 0), parameters={"L": L})
        >>> m.compile().u_names, right["thigh"]
        (['left_hip drive', 'right_hip drive'], <body 'right_thigh'>)
        """
        from dalembert.mechanism.merging import Merging

        if not isinstance(other, Mechanism):
            raise DescriptionError(f"what is merged is {checks.shown(other)}; needed: a Mechanism.")
        if not isinstance(prefix, str) or "." in prefix:
            raise DescriptionError(f"the prefix is {checks.shown(prefix)}; needed: a string without dots, as 'left_'.")
        mount = self._frame(self.ground if at is None else at, f"merging '{other.name}'")
        if mirror is not None:
            checks.choice(mirror, "xyz", f"mirror of merging '{other.name}'", error=DescriptionError)
        given = {} if parameters is None else parameters
        return Merging(self, other.snapshot(), prefix, mount, given, mirror).merge()

    def merge_around(
        self,
        other: Mechanism,
        count: int,
        prefix: str = "part {}_",
        *,
        axis: Any = "z",
        at: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Body]]:
        """Add copies of another mechanism, evenly around an axis: legs of a platform, fingers of a gripper.

        count: how many. other, at and parameters as in `merge`; prefix has {} where the number of the copy goes, from
        1. axis: a letter or three numbers, through the origin of the frame `at`; the first copy is not turned. Returns
        the bodies of each copy by their old names.

        >>> import dalembert as da
        >>> finger = da.Mechanism("finger")
        >>> link = finger.add_body("link", mass=0.1, com=(0, 0, 0.05))
        >>> finger.add_joint("root", "revolute", finger.ground, link, axis="y")
        >>> hand = da.Mechanism("gripper")
        >>> fingers = hand.merge_around(finger, 3, "finger {} ")
        >>> list(hand.joints)
        ['finger 1 root', 'finger 2 root', 'finger 3 root']
        """
        count = checks.whole(count, "the count of copies", least=1, most=10**4, error=DescriptionError)
        if not isinstance(prefix, str) or (prefix.count("{}") != 1 and count > 1):
            raise DescriptionError(
                f"the prefix is {checks.shown(prefix)}; needed: a text with one {{}}, as 'leg {{}} '."
            )
        mount = self._frame(self.ground if at is None else at, "merge_around")
        turns = (rotation(axis, 2 * np.pi * k / count) for k in range(count))
        return [
            self.merge(other, prefix.replace("{}", str(k)), at=mount.at(rotation=R), parameters=parameters)
            for k, R in enumerate(turns, start=1)
        ]

    # --- what comes of it ---------------------------------------------------------------------------------------

    @property
    def gravity(self) -> np.ndarray:
        """(3,) acceleration of free fall, m/s²; may be set, also to an expression of parameters."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = self.parameters.checked(value, (3,), "gravity")

    def compile(self, backend: str = "native") -> System:
        """The equations of this mechanism, ready to be evaluated; later additions do not change them.

        backend: "native" (machine code, made when first used and kept on disk) or "casadi" (CasADi's virtual machine).
        """
        with undisturbed():
            from dalembert.system.system import System

            return System(self, backend)

    def save(self, path: str | os.PathLike[str]) -> list[Note]:
        """Write the mechanism to a file, in the format of its suffix, and give what that format cannot say.

        path: .yaml, .yml and .json are the format of this library, which holds everything, bit by bit; .urdf, .sdf and
        .xml (MJCF) hold what those can say. `da.read` reads them all. A function that cannot be traced is refused.

        >>> import dalembert as da, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     said = da.zoo.rolling_disc().save(pathlib.Path(folder) / "disc.urdf")
        >>> len(said) > 0                                          # URDF has no rolling contact
        True
        """
        from dalembert.formats import write

        return write(self, path)

    def snapshot(self) -> Mechanism:
        """A mechanism with the elements of this one, to which none are added when they are added here."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.parameters = Defaults(dict(self.parameters.symbols), dict(self.parameters.values))
        for part in ("bodies", "joints", "frames", "forces", "constraints", "contacts", "inputs", "states"):
            setattr(other, part, dict(getattr(self, part)))
        other.points = other.parameters.points = dict(self.points)
        other.notes = list(self.notes)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.restored, pickling.reduced(self)

    def __str__(self) -> str:
        return show.text(self)

    def __repr__(self) -> str:
        return f"<mechanism '{self.name}': {len(self.bodies) - 1} bodies, {len(self.joints)} joints>"

    def _repr_html_(self) -> str:
        return show.html(self)
