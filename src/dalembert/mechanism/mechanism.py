"""Describing a mechanism: bodies, joints, forces, inputs and parameters, all by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DescriptionError, unknown
from dalembert.mechanism import pickling, show
from dalembert.mechanism.body import Body, Frame, ground_body, turned_inertia
from dalembert.mechanism.checks import check_armature, check_joint, no_joint
from dalembert.mechanism.constraining import Constrainable
from dalembert.mechanism.constraints import Constraint, Loop
from dalembert.mechanism.forces import (
    Actuator,
    Cable,
    CutJointSpring,
    Force,
    JointForce,
    Potential,
    Servo,
    Spring,
    Wrench,
)
from dalembert.mechanism.forces.limited import force_limits
from dalembert.mechanism.inertia import inertia_matrix
from dalembert.mechanism.joints import Joint
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.notes import Note
from dalembert.mechanism.states import NamedState, named_state
from dalembert.mechanism.values import Defaults, per_dof, shaped
from dalembert.symbols import all_numbers, zeros

if TYPE_CHECKING:
    from dalembert.system.system import System


class Mechanism(Constrainable):
    """A tree of bodies with constraints, described by name.

    Elements are added by methods, each under a `name` by which results give it back. gravity is the acceleration of
    free fall in the ground's axes, m/s². Masses, lengths, stiffnesses and other numbers may be expressions of
    parameters. A mechanism can be pickled, and copied with `copy.deepcopy`.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> rod = m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod(1.0, 1.0))
    >>> m.add_joint("pivot", da.Revolute("z"), m.ground, rod)
    >>> m.compile().forward_dynamics({"pivot": 0.0}).round(6)      # 3g/2l
    array([-14.715])
    """

    def __init__(self, name: str = "mechanism", gravity: Sequence[Any] = (0.0, 0.0, -9.81)):
        self.name = checks.name(name, "the name of a mechanism", error=DescriptionError)
        self.parameters = Defaults()
        self.ground = ground_body(self.parameters)
        self.bodies: dict[str, Body] = {"ground": self.ground}
        self.joints: dict[str, Attachment] = {}
        self.carriers: dict[str, Attachment] = {}  # of each body, the joint it hangs on
        self.frames: dict[str, Frame] = {}
        self.forces: dict[str, Force] = {}
        self.constraints: dict[str, Constraint] = {}
        self.inputs: dict[str, ca.SX] = {}
        self.states: dict[str, NamedState] = {}
        self.borrowed: tuple[ca.SX, ...] = ()  # symbols of merged mechanisms, for which functions of these were written
        self.notes: list[Note] = []  # what the reader of a model file left out or repaired
        self.gravity = gravity

    # --- symbols ------------------------------------------------------------------------------------------------

    def add_parameter(self, name: str, value: Any) -> ca.SX:
        """A number (or vector of numbers) that can be changed at run time without compiling again; value: its default.

        Returns a CasADi symbol to use in place of any number of the description, or inside expressions.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> L = m.add_parameter("L", 0.5)
        >>> rod = m.add_body("rod", mass=2.0, com=(L / 2, 0, 0), inertia=da.rod(2.0, L))
        """
        self._new(name, self.parameters.symbols, "parameter")
        self._new(name, self.inputs, "input")
        what = f"the value of parameter '{name}'"
        x = np.atleast_1d(checks.array(value, None, what, error=DescriptionError))
        if x.ndim != 1 or not x.size:
            raise DescriptionError(f"{what} has shape {x.shape}; needed: one number or a list of numbers.")
        self.parameters.values[name] = x.copy()
        self.parameters.symbols[name] = symbol = ca.SX.sym(name, len(x))
        return symbol

    def add_input(self, name: str, size: int = 1) -> ca.SX:
        """An input u of the mechanism, of `size` numbers; returns a CasADi symbol for use in forces."""
        self._new(name, self.inputs, "input")
        self._new(name, self.parameters.symbols, "parameter")
        size = checks.whole(size, f"the size of input '{name}'", least=1, most=10**6, error=DescriptionError)
        self.inputs[name] = symbol = ca.SX.sym(name, size)
        return symbol

    # --- bodies and joints --------------------------------------------------------------------------------------

    def add_body(
        self,
        name: str,
        mass: Any = 0.0,
        com: Sequence[Any] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        *,
        inertia_axes: Any = None,
        physical: bool = True,
    ) -> Body:
        """A rigid body: mass (kg), centre of mass `com` (m, body frame), inertia about the centre of mass (kg m²).

        inertia is a 3×3 matrix or three principal moments, in body axes or in `inertia_axes` (a rotation whose columns
        are those axes). da.point, rod, box, cylinder, sphere and disc compute it. A body may be massless where
        others give its joints inertia. physical=False accepts principal moments that break the triangle inequality.
        """
        self._new(name, self.bodies, "body")
        self._new(name, self.frames, "frame")
        what = f"body '{name}'"
        checks.flag(physical, f"physical of {what}", error=DescriptionError)
        m = self.parameters.scalar(mass, f"the mass of {what}", least=0.0)
        c = self.parameters.checked(com, (3,), f"the centre of mass of {what}")
        J = inertia_matrix(inertia, f"the inertia of {what}", self.parameters, physical)
        if inertia_axes is not None:
            J = turned_inertia(J, self.parameters.rotation(inertia_axes, f"the inertia axes of {what}"))
        body = self.bodies[name] = Body(name, m, c, J, self.parameters)
        return body

    def add_frame(self, name: str, frame: Frame) -> Frame:
        """Give a frame (`body.at(...)`) a name by which poses and Jacobians can be asked for."""
        self._new(name, self.frames, "frame")
        self._new(name, self.bodies, "body")
        self.frames[name] = self._frame(frame, f"frame '{name}'")
        return frame

    def add_joint(
        self,
        name: str,
        joint: Joint,
        parent: Any,
        child: Any,
        *,
        stiffness: Any = 0.0,
        rest: Any = None,
        damping: Any = 0.0,
        friction: Any = 0.0,
        armature: Any = 0.0,
        limits: Any = None,
    ) -> Attachment:
        """Hang `child` on `parent`, each a body, a frame (`body.at(...)`) or a name, by a `joint` (da.Revolute("z")).

        Per joint, one number or one for each degree of freedom: a spring (stiffness, N m/rad or N/m) with rest position
        `rest` (default: the neutral one), damping and viscous friction (N m s/rad or N s/m; they add up), armature
        (rotor inertia, kg m² or kg), limits (lower, upper), which are kept as data.

        Returns the joint, which motors, joint forces, drivers and couplings take in place of its name.
        """
        what = f"joint '{name}'"
        self._new(name, self.joints, "joint")
        self._new(name, self.constraints, "constraint")
        if "." in name:
            raise DescriptionError(f"{what} has a dot in its name, which sets off its coordinates; use '_'.")
        check_joint(joint, what, self.parameters)
        a, b = self._frame(parent, what), self._frame(child, what)
        if b.body is self.ground:
            raise DescriptionError(
                f"{what} has the ground as its child; swap parent and child (and the sign of its motion)."
            )
        if a.body is b.body:
            raise DescriptionError(f"{what} connects body '{a.body.name}' with itself; parent and child must differ.")
        if other := self.carriers.get(b.body.name):
            raise DescriptionError(
                f"{what} would give body '{b.body.name}' a second parent: it already hangs on joint '{other.name}' of "
                f"body '{other.parent.body.name}'. Close the loop with close_loop('{name}', ...) instead."
            )
        nv, given = joint.nv, self.parameters
        J = per_dof(armature, nv, given, f"the armature of {what}", least=0.0)
        check_armature(joint, J, f"the armature of {what}")
        added = self.joints[name] = self.carriers[b.body.name] = Attachment(
            name,
            joint,
            a,
            b,
            stiffness=per_dof(stiffness, nv, given, f"the stiffness of {what}"),
            damping=per_dof(damping, nv, given, f"the damping of {what}")
            + per_dof(friction, nv, given, f"the friction of {what}", least=0.0),
            rest=self._rest(joint, rest, what),
            armature=J,
            limits=_limits(joint, limits, what),
        )
        return added

    # --- forces -------------------------------------------------------------------------------------------------

    def add_motor(self, name: str, joint: Any) -> ca.SX:
        """An input of this name (one per degree of freedom) that drives a joint: N m or N. Returns its symbol.

        joint: what `add_joint` returned, or its name.
        """
        at = self._joint(joint, f"motor '{name}'")
        if at.joint.nv == 0:
            raise DescriptionError(f"motor '{name}' is on joint '{at.name}', which is fixed; nothing can be driven.")
        u = self.add_input(name, at.joint.nv)
        self._add_force(JointForce(name, at, u, kind="motor"))
        return u

    def add_actuator(self, name: str, a: Any, b: Any, *, limits: Any = None) -> ca.SX:
        """An input of this name (N) that drives two points apart, along the line between them: a cylinder, a jack.

        a and b are bodies, frames or names; a negative force draws them together. limits: (lower, upper) in N, 0
        between them; beyond, the force stays at the limit. `state.length(name)` and `state.length_rate(name)` are the
        distance of the points and its rate. Returns the input's symbol.

        >>> import dalembert as da
        >>> m = da.Mechanism("hoist", gravity=(0, -9.81, 0))
        >>> boom = m.add_body("boom", mass=20.0, com=(1.0, 0, 0), inertia=da.rod(20.0, 2.0))
        >>> m.add_joint("pivot", da.Revolute("z"), m.ground, boom)
        >>> push = m.add_actuator("cylinder", m.ground.at(0.5, -0.8), boom.at(1.2), limits=(-500, 2000))
        >>> system = m.compile()
        >>> x = system.state({"pivot": 0.3})
        >>> round(float(x.length("cylinder")), 4)
        1.3233
        >>> system.forward_dynamics(x, u={"cylinder": 300.0}).round(3)
        array([2.276])
        """
        what = f"actuator '{name}'"
        at = [self._frame(p, what) for p in (a, b)]
        bounds = force_limits(limits, what)
        self._new(name, self.forces, "force")
        u = self.add_input(name)
        self._add_force(Actuator(name, at, u, bounds))
        return u

    def add_servo(
        self, name: str, coordinate: Any, *, stiffness: Any, damping: Any = 0.0, rate: bool = False, limits: Any = None
    ) -> ca.SX:
        """A drive that brings a coordinate to where an input of this name wants it; returns the input's symbol.

        coordinate: its name, or a joint that has one. The force is stiffness (N m/rad or N/m) times the distance to the
        wanted position (rad or m), less damping (N m s/rad or N s/m) times the velocity. rate=True: the input has a
        second number, the wanted velocity, and the damping acts on the difference to it. limits: (lower, upper) of the
        force, 0 between them. A driver, which follows a motion exactly, takes no input: a wanted position that jumps
        would ask for infinite forces.

        >>> import dalembert as da
        >>> m = da.Mechanism("door", gravity=(0, 0, 0))
        >>> leaf = m.add_body("leaf", mass=20.0, com=(0.4, 0, 0), inertia=da.box(20.0, (0.8, 0.04, 2.0)))
        >>> m.add_joint("hinge", da.Revolute("z"), m.ground, leaf)
        >>> wanted = m.add_servo("opener", "hinge", stiffness=60.0, damping=30.0)
        >>> run = da.simulate(m.compile(), {}, 8.0, u={"opener": 1.2})
        >>> round(float(run["hinge"][-1]), 3)
        1.2
        """
        what = f"servo '{name}'"
        q = coordinate.name if isinstance(coordinate, Attachment) else coordinate
        self._coordinate(q, what)
        at = self.joints.get(q) or self.joints[q.rpartition(".")[0]]
        number = self.parameters.scalar
        k, d = number(stiffness, f"the stiffness of {what}"), number(damping, f"the damping of {what}")
        checks.flag(rate, f"rate of {what}", error=DescriptionError)
        bounds = force_limits(limits, what)
        self._new(name, self.forces, "force")
        u = self.add_input(name, 2 if rate else 1)
        self._add_force(Servo(name, at, at.coordinates.index(q), u, k, d, bounds))
        return u

    def add_potential(self, name: str, energy: Any) -> None:
        """A potential energy V (J) and the forces −∂V/∂q that come of it; it counts in `potential_energy`.

        energy: a function of the state that returns one CasADi expression of coordinates, positions and rotations of
        frames, and parameters; neither of velocities, nor of time, nor of inputs.

        >>> import dalembert as da
        >>> m = da.Mechanism("well", gravity=(0, 0, 0))
        >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("bead", mass=2.0))
        >>> m.add_potential("double well", lambda s: (s["x"] ** 2 - 1) ** 2)
        >>> system = m.compile()
        >>> system.forward_dynamics({"x": 0.5}), float(system.potential_energy({"x": 0.5}))
        (array([0.75]), 0.5625)
        """
        what = f"the energy of potential '{name}'"
        self._add_force(
            Potential(
                name, checks.function(energy, f"{what}, such as lambda s: 5 * s['A'] ** 2,", error=DescriptionError)
            )
        )

    def add_joint_force(self, name: str, joint: Any, value: Any) -> None:
        """A force along a joint's velocities: value, (nv,), is numbers, an expression of inputs and parameters or f(s).

        joint: what `add_joint` returned, or its name.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> bob = m.add_body("bob", mass=1.0, com=(0, 0, -1.0))
        >>> m.add_joint("pivot", da.Revolute("y"), m.ground, bob)
        >>> m.add_joint_force("stop", "pivot", lambda s: -5.0 * s["pivot"] ** 3)
        """
        what = f"joint force '{name}'"
        at = self._joint(joint, what)
        self._add_force(JointForce(name, at, self._value(value, (at.joint.nv,), f"the value of {what}")))

    def add_cut_joint_spring(
        self, name: str, loop: str, *, stiffness: Any = 0.0, rest: Any = 0.0, damping: Any = 0.0
    ) -> None:
        """A spring and damper along the joint that closes a loop: what `add_joint` takes, for a joint that is cut.

        loop: the name given to `close_loop`. One number or one for each degree of freedom: stiffness (N m/rad or N/m),
        position `rest` of zero force (rad or m, default 0), damping (N m s/rad or N s/m). Joints with quaternions have
        none.

        >>> import dalembert as da
        >>> m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
        >>> a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod(1.0, 1.0)) for n in "ab")
        >>> m.add_joint("A", da.Revolute("z"), m.ground, a)
        >>> m.add_joint("B", da.Prismatic("x"), m.ground, b)
        >>> m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b)
        >>> m.add_cut_joint_spring("bearing", "C", damping=0.1)
        """
        what = f"spring '{name}'"
        checks.name(loop, f"the loop of {what}", error=DescriptionError)
        cut = self.constraints.get(loop)
        if not isinstance(cut, Loop):
            raise unknown("loop", loop, [n for n, c in self.constraints.items() if isinstance(c, Loop)], what)
        nv, given = cut.joint.nv, self.parameters
        if cut.joint.nq != nv or not nv:
            raise DescriptionError(
                f"{what} is on loop '{loop}', closed by a {cut.joint.kind} joint, which has no coordinate along which "
                "a spring could act; use add_spring between two points."
            )
        k, q, d = (
            per_dof(x, nv, given, f"the {n} of {what}")
            for n, x in (("stiffness", stiffness), ("rest position", rest), ("damping", damping))
        )
        self._add_force(CutJointSpring(name, cut, k, q, d))

    def add_wrench(self, name: str, frame: Any, *, force: Any = None, moment: Any = None, axes: str = "world") -> None:
        """A force (N) at a frame's origin and a moment (N m), in "world" or "body" axes; each may be f(state)."""
        checks.choice(axes, ("world", "body"), f"axes of wrench '{name}'", error=DescriptionError)
        at = self._frame(frame, f"wrench '{name}'")
        f = self._value(zeros(3) if force is None else force, (3,), f"the force of wrench '{name}'")
        m = self._value(zeros(3) if moment is None else moment, (3,), f"the moment of wrench '{name}'")
        self._add_force(Wrench(name, at, f, m, axes))

    def add_spring(
        self, name: str, a: Any, b: Any, *, stiffness: Any, damping: Any = 0.0, rest_length: Any = 0.0
    ) -> None:
        """A spring and damper in line between the points a and b; it pushes when shorter than `rest_length` (m).

        a and b are bodies, frames or names; stiffness in N/m, damping in N s/m.
        """
        self._add_force(self._spring(name, [a, b], stiffness, damping, rest_length, slack=False))

    def add_cable(
        self,
        name: str,
        points: Sequence[Any],
        *,
        tension: Any = None,
        stiffness: Any = None,
        damping: Any = 0.0,
        rest_length: Any = 0.0,
    ) -> None:
        """A cable through points, without friction: of given tension (N; a number, an input, f(state)), or elastic.

        An elastic one has stiffness (N/m), damping (N s/m) and rest_length (m), pulls and never pushes.
        """
        if isinstance(points, (str, bytes)) or not isinstance(points, Sequence):
            raise DescriptionError(
                f"the points of cable '{name}' are {checks.shown(points)}; needed: a list of frames."
            )
        if (tension is None) == (stiffness is None):
            raise DescriptionError(f"cable '{name}' needs either a tension or a stiffness, not both and not neither.")
        if len(points) < 2:
            raise DescriptionError(f"cable '{name}' runs through {len(points)} point(s); needed: two or more.")
        if tension is None:
            self._add_force(self._spring(name, points, stiffness, damping, rest_length, slack=True))
        else:
            at = [self._frame(p, f"cable '{name}'") for p in points]
            self._add_force(Cable(name, at, self._value(tension, (), f"the tension of cable '{name}'")))

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
        self, other: Mechanism, prefix: str = "", *, at: Any = None, parameters: Mapping[str, Any] | None = None
    ) -> dict[str, Body]:
        """Add a copy of another mechanism, its ground mounted on the frame `at`; returns its bodies by their old names.

        other: the mechanism, which stays as it is; it can be merged several times. prefix: what every name of its
        elements, inputs and parameters begins with here, such as "left_". at: a body, a frame or a name, default the
        ground. parameters: what parameters of the other mechanism are here, numbers or expressions of parameters of
        this one, which so become common; the others are declared here, under the prefix. Gravity is that of this
        mechanism. What the other one says in the axes of its ground (wrenches, drivers of points, functions of the
        state) is in those of this ground.

        >>> import dalembert as da
        >>> leg = da.Mechanism("leg")
        >>> L = leg.add_parameter("L", 0.4)
        >>> thigh = leg.add_body("thigh", mass=2.0, com=(0, 0, -L / 2), inertia=da.rod(2.0, L, axis="z"))
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
        return Merging(self, other.snapshot(), prefix, mount, {} if parameters is None else parameters).merge()

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
        for part in ("bodies", "joints", "carriers", "frames", "forces", "constraints", "inputs", "states"):
            setattr(other, part, dict(getattr(self, part)))
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

    # --- helpers ------------------------------------------------------------------------------------------------

    def _new(self, name: str, taken: dict[str, Any], kind: str) -> None:
        if name.__class__ is str and name and name not in taken:
            return
        article = "an" if kind[0] in "aeiou" else "a"
        checks.name(name, f"the name of {article} {kind}", error=DescriptionError)
        if name in taken:
            raise DescriptionError(
                f"there is {article} {kind} '{name}' already; names must differ. Known: {', '.join(taken)}."
            )

    def _frame(self, frame: Any, where: str) -> Frame:
        if isinstance(frame, Body):
            frame = frame.frame
        if isinstance(frame, str):
            found = self.frames.get(frame) or (self.bodies[frame].frame if frame in self.bodies else None)
            if found is None:
                raise unknown("body", frame, [*self.bodies, *self.frames], where)
            return found
        if not isinstance(frame, Frame):
            raise DescriptionError(
                f"{where} asks for {checks.shown(frame)}; needed: a body, a frame (body.at(...)) or a name."
            )
        if self.bodies.get(frame.body.name) is not frame.body:
            raise DescriptionError(f"{where} asks for {frame}, which belongs to another mechanism.")
        return frame

    def _joint(self, name: Any, where: str) -> Attachment:
        if isinstance(name, Attachment):
            if self.joints.get(name.name) is not name:
                raise DescriptionError(f"{where} asks for {name}, which belongs to another mechanism.")
            return name
        checks.name(name, f"the joint of {where}", error=DescriptionError)
        if name not in self.joints:
            raise no_joint("joint", name, self.joints, self.constraints.values(), where)
        return self.joints[name]

    def _add_force(self, force: Force) -> None:
        self._new(force.name, self.forces, "force")
        self.forces[force.name] = force

    def _spring(self, name: str, points: Any, stiffness: Any, damping: Any, rest_length: Any, *, slack: bool) -> Spring:
        kind = "cable" if slack else "spring"
        at = [self._frame(p, f"{kind} '{name}'") for p in points]
        number = self.parameters.scalar
        return Spring(
            name,
            at,
            number(stiffness, f"the stiffness of {kind} '{name}'"),
            number(damping, f"the damping of {kind} '{name}'"),
            number(rest_length, f"the rest length of {kind} '{name}'", least=0.0),
            slack,
        )

    def _value(self, value: Any, shape: tuple[int, ...], what: str) -> Any:
        """Shape and numbers are checked now; expressions and functions also when the mechanism is compiled."""
        if callable(value) and not isinstance(value, ca.SX):
            return value
        x = shaped(value, shape, what)
        return self.parameters.checked(x, shape, what) if all_numbers(x) else x

    def _rest(self, joint: Joint, rest: Any, what: str) -> np.ndarray:
        if rest is None:
            return joint.neutral().astype(object)
        what = f"the rest position of {what}"
        if joint.nq == joint.nv:
            return self.parameters.checked(rest, (joint.nq,), what)
        try:
            return joint.normalized(checks.vector(joint.position_from(rest), joint.nq, what)).astype(object)
        except ArgumentError as error:
            raise DescriptionError(f"{what}: {error}") from error


def _limits(joint: Joint, limits: Any, what: str) -> np.ndarray:
    """(nv, 2), infinite where none are given."""
    if limits is None:
        return np.array([(-np.inf, np.inf)] * joint.nv).reshape(-1, 2)
    x = checks.array(limits, None, f"the limits of {what}", finite=False, error=DescriptionError)
    x = np.array([x.tolist()] * joint.nv).reshape(-1, 2) if x.shape == (2,) else x
    if x.shape != (joint.nv, 2):
        raise DescriptionError(
            f"the limits of {what} have shape {x.shape}; needed: (lower, upper), or {joint.nv} such pairs."
        )
    if any(low > high for low, high in x.tolist()):
        raise DescriptionError(f"the limits of {what} are {x.tolist()}; each lower one must not exceed its upper one.")
    return x
