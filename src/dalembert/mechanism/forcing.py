"""Methods that add forces: motors, actuators, servos, springs, bushings, cables, wrenches, potentials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.curves import Curve, law_of
from dalembert.mechanism.elements import Elements
from dalembert.mechanism.forces import (
    Actuator,
    Bushing,
    Cable,
    CutJointSpring,
    Force,
    JointForce,
    KinematicInput,
    Potential,
    Servo,
    Spring,
    Wrench,
)
from dalembert.mechanism.forces.limited import force_limits
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.values import described, is_exact_zero, per_dof, shaped
from dalembert.symbols import all_numbers, array, zeros


class Forceable(Elements):
    """The part of `Mechanism` that adds forces."""

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

    def add_actuator(
        self, name: str, a: Any, b: Any, *, limits: Any = None, stroke: Any = None, at: Any = None
    ) -> ca.SX:
        """An input of this name (N) that drives two points apart, along the line between them: a cylinder, a jack.

        a and b are bodies, frames or names; at: with bodies, two points of the drawing. A negative force draws them
        together. limits: (lower, upper) in N, 0
        between them, None for no limit; beyond, the force stays at the limit. `state.length(name)` and
        `state.length_rate(name)` are the distance of the points and its rate. stroke: (shortest, longest) length in m,
        None for no end: rigid stops, which are the strut "name shortest" and the rope "name longest" (see `add_strut`,
        `add_rope`) and act in `da.simulate`. Returns the input's symbol.

        >>> import dalembert as da
        >>> m = da.Mechanism("hoist", gravity=(0, -9.81, 0))
        >>> boom = m.add_body("boom", mass=20.0, com=(1.0, 0, 0), inertia=da.rod_inertia(20.0, 2.0))
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
        sides = self._places((a, b), at, what)
        bounds = force_limits(limits, what)
        ends = self._stroke(stroke, what)
        self._new(name, self.forces, "force")
        u = self.add_input(name)
        self._add_force(Actuator(name, sides, u, bounds))
        if stroke is not None:
            m: Any = self
            for end, add, length in zip(("shortest", "longest"), (m.add_strut, m.add_rope), ends):
                if length is not None:
                    add(f"{name} {end}", *((sides,) if end == "longest" else sides), length=length)
        return u

    def add_servo(
        self, name: str, coordinate: Any, *, stiffness: Any, damping: Any = 0.0, rate: bool = False, limits: Any = None
    ) -> ca.SX:
        """A drive that brings a coordinate to where an input of this name wants it; returns the input's symbol.

        coordinate: its name, or a joint that has one. The force is stiffness (N m/rad or N/m) times the distance to the
        wanted position (rad or m), less damping (N m s/rad or N s/m) times the velocity. rate=True: the input has a
        second number, the wanted velocity, and the damping acts on the difference to it. limits: (lower, upper) of the
        force, 0 between them. To move a coordinate exactly as an input says, see `add_kinematic_input`.

        >>> import dalembert as da
        >>> m = da.Mechanism("door", gravity=(0, 0, 0))
        >>> leaf = m.add_body("leaf", mass=20.0, com=(0.4, 0, 0), inertia=da.box_inertia(20.0, (0.8, 0.04, 2.0)))
        >>> m.add_joint("hinge", da.Revolute("z"), m.ground, leaf)
        >>> wanted = m.add_servo("opener", "hinge", stiffness=60.0, damping=30.0)
        >>> run = da.simulate(m.compile(), {}, 8.0, u={"opener": 1.2})
        >>> round(float(run["hinge"][-1]), 3)
        1.2
        """
        what = f"servo '{name}'"
        at, index = self._coordinate_of(coordinate, what)
        number = self.parameters.scalar
        k, d = number(stiffness, f"the stiffness of {what}"), number(damping, f"the damping of {what}")
        checks.flag(rate, f"rate of {what}", error=DescriptionError)
        bounds = force_limits(limits, what)
        self._new(name, self.forces, "force")
        u = self.add_input(name, 2 if rate else 1)
        self._add_force(Servo(name, at, index, u, k, d, bounds))
        return u

    def add_kinematic_input(self, name: str, coordinate: Any) -> ca.SX:
        """An input of this name that is the acceleration of a coordinate, rad/s² or m/s²; returns the input's symbol.

        coordinate: its name, or a joint that has one. Position and velocity of the coordinate are part of the state;
        its drive exerts whatever force the acceleration takes (`system.driving_forces`, `run.driving_force`), and its
        work counts with that of drivers. To follow a motion that is known as a function of time, use `add_driver`, or
        `control.lead` with this input.

        >>> import dalembert as da
        >>> m = da.Mechanism("crane", gravity=(0, 0, -10.0))
        >>> trolley = m.add_body("trolley", mass=50.0)
        >>> rail = m.add_joint("rail", da.Prismatic("x"), m.ground, trolley)
        >>> hook = m.add_joint("rope", da.Revolute("y"), trolley, m.add_body("hook", mass=100.0, com=(0, 0, -5.0)))
        >>> a = m.add_kinematic_input("trolley", rail)
        >>> m.compile().acceleration({}, u={"trolley": 2.0}).vdot.round(9)       # the rope is left behind: a / 5 m
        array([2. , 0.4])
        """
        at, index = self._coordinate_of(coordinate, f"kinematic input '{name}'")
        for other in self.forces.values():
            if isinstance(other, KinematicInput) and (other.joint is at and other.index == index):
                raise DescriptionError(
                    f"kinematic input '{name}' leads coordinate '{at.coordinates[index]}', which '{other.name}' leads "
                    "already; remove one of them."
                )
        self._new(name, self.forces, "force")
        u = self.add_input(name)
        self._add_force(KinematicInput(name, at, index, u))
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
        >>> a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
        >>> m.add_joint("A", da.Revolute("z"), m.ground, a)
        >>> m.add_joint("B", da.Prismatic("x"), m.ground, b)
        >>> m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b)
        >>> m.add_cut_joint_spring("bearing", "C", damping=0.1)
        """
        what = f"spring '{name}'"
        checks.name(loop, f"the loop of {what}", error=DescriptionError)
        cut = self.constraints.get(loop)
        if not isinstance(cut, LoopJoint):
            raise unknown("loop", loop, [n for n, c in self.constraints.items() if isinstance(c, LoopJoint)], what)
        nv, given = cut.joint.nv, self.parameters
        if cut.joint.nq != nv or not nv:
            raise DescriptionError(
                f"{what} is on loop '{loop}', closed by a {cut.joint.kind} joint, which has no coordinate along which "
                "a spring could act; use add_bushing between its two frames."
            )
        k, q, d = (
            per_dof(x, nv, given, f"the {n} of {what}")
            for n, x in (("stiffness", stiffness), ("rest position", rest), ("damping", damping))
        )
        self._add_force(CutJointSpring(name, cut, k, q, d))

    def add_bushing(self, name: str, a: Any, b: Any, *, stiffness: Any, damping: Any = 0.0, at: Any = None) -> None:
        """Stiffness and damping in six directions between the frames a and b, which may have a joint between them.

        a and b are bodies, frames or names; at: with bodies, the point of the drawing where it is, in the ground's
        axes. Nothing acts where the frames coincide. stiffness, damping: six numbers, about x,
        y, z (N m/rad, N m s/rad) and along x, y, z (N/m, N s/m) of a, or a symmetric matrix (6, 6) in this order; one
        number 0 for none. Each of the six may be a `da.Curve` of its angle, displacement or speed. The rotation of b
        in a is measured by its rotation vector, axis times angle, up to half a turn; the displacement of b's origin by
        its components in the axes of a.

        >>> import dalembert as da
        >>> m = da.Mechanism("engine on a mount", gravity=(0, 0, -10.0))
        >>> engine = m.add_body("engine", mass=100.0, inertia=(5, 5, 5))
        >>> m.add_joint("free", da.Free(), m.ground, engine)
        >>> m.add_bushing("mount", m.ground, engine, stiffness=(1e3, 1e3, 1e3, 1e5, 1e5, 2e5), damping=[10.0] * 6)
        >>> rest = da.equilibrium(m.compile(), {})
        >>> round(float(rest.state["free"][6]), 6)                                    # m g / k
        -0.005
        """
        what = f"bushing '{name}'"
        one, other = (self._drawn(x, at, what) for x in (a, b))
        given = [_split(x) for x in (stiffness, damping)]
        K, C = (self._six(x, f"the {n} of {what}") for n, (x, _) in zip(("stiffness", "damping"), given))
        self._add_force(Bushing(name, one, other, K, C, (given[0][1], given[1][1])))

    def add_wrench(
        self, name: str, frame: Any, *, force: Any = None, moment: Any = None, axes: str = "world", at: Any = None
    ) -> None:
        """A force (N) at a frame's origin and a moment (N m), in "world" or "body" axes; each may be f(state).

        at: with a body, the point of it where the force acts, as drawn.
        """
        checks.choice(axes, ("world", "body"), f"axes of wrench '{name}'", error=DescriptionError)
        where = self._drawn(frame, at, f"wrench '{name}'")
        f = self._value(zeros(3) if force is None else force, (3,), f"the force of wrench '{name}'")
        m = self._value(zeros(3) if moment is None else moment, (3,), f"the moment of wrench '{name}'")
        self._add_force(Wrench(name, where, f, m, axes))

    def add_spring(
        self,
        name: str,
        a: Any,
        b: Any,
        *,
        stiffness: Any = None,
        damping: Any = 0.0,
        rest_length: Any = 0.0,
        force: Any = None,
        at: Any = None,
    ) -> None:
        """A spring and damper in line between the points a and b; it pushes when shorter than `rest_length` (m).

        a and b are bodies, frames or names; at: with bodies, two points of the drawing. stiffness in N/m, damping in
        N s/m, rest_length "drawn" is the distance of the two in the drawing. Either may be a `da.Curve`, or a table
        (x, y): the force over the stretch, or over its rate. force: in place of these the force (N) that draws them
        together, an expression or f(state), such as lambda s: 5e3 * (s.length("strut") - 0.3) ** 3, without energy.

        >>> import dalembert as da
        >>> m = da.Mechanism("buffer", gravity=(0, 0, 0))
        >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("car", mass=2.0))
        >>> m.add_spring("buffer", m.ground, "car", stiffness=([-0.1, 0.0, 0.1], [-800, 0, 200]), rest_length=0.5)
        >>> system = m.compile()
        >>> system.forward_dynamics({"x": 0.45}), round(float(system.potential_energy({"x": 0.45})), 9)
        (array([200.]), 10.0)
        """
        what = f"spring '{name}'"
        if (force is None) == (stiffness is None):
            raise DescriptionError(f"{what} needs either a stiffness or a force, not both and not neither.")
        if force is None:
            self._add_force(self._spring(name, [a, b], at, stiffness, damping, rest_length, slack=False))
        else:
            self._add_force(Cable(name, self._places((a, b), at, what), self._value(force, (), f"the force of {what}")))

    def add_damper(self, name: str, a: Any, b: Any, *, damping: Any, at: Any = None) -> None:
        """A damper in line between the points a and b, bodies, frames or names: damping times the speed of its length.

        damping: N s/m, or a `da.Curve` or a table (speeds, forces) of the speed with which it becomes longer. at: with
        bodies, two points of the drawing.

        >>> import dalembert as da
        >>> m = da.Mechanism("door closer", gravity=(0, 0, 0))
        >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("piston", mass=2.0))
        >>> m.add_damper("oil", m.ground.at(-1), "piston", damping=da.Curve([-1, 0, 1], [-50, 0, 400]))
        >>> system = m.compile()
        >>> system.forward_dynamics(system.state(v={"x": 0.5})), system.forward_dynamics(system.state(v={"x": -0.5}))
        (array([-100.]), array([12.5]))
        """
        self._add_force(self._spring(name, [a, b], at, 0.0, damping, 0.0, slack=False, kind="damper"))

    def add_cable(
        self,
        name: str,
        points: Sequence[Any],
        *,
        tension: Any = None,
        stiffness: Any = None,
        damping: Any = 0.0,
        rest_length: Any = 0.0,
        at: Any = None,
    ) -> None:
        """A cable through points, without friction: of given tension (N; a number, an input, f(state)), or elastic.

        An elastic one has stiffness (N/m), damping (N s/m) and rest_length (m, or "drawn": as it is in the drawing),
        pulls and never pushes. at: with bodies as points, as many points of the drawing.
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
            self._add_force(self._spring(name, points, at, stiffness, damping, rest_length, slack=True))
        else:
            path = self._places(points, at, f"cable '{name}'")
            self._add_force(Cable(name, path, self._value(tension, (), f"the tension of cable '{name}'")))

    def _stroke(self, stroke: Any, what: str) -> tuple[Any, Any]:
        """(shortest, longest) length, None where there is no end."""
        if stroke is None:
            return None, None
        if not isinstance(stroke, (list, tuple)) or len(stroke) != 2:
            raise DescriptionError(
                f"the stroke of {what} is {checks.shown(stroke)}; needed: (shortest, longest), in m."
            )
        low, high = (
            None if x is None else self.parameters.scalar(x, f"the stroke of {what}", least=0.0) for x in stroke
        )
        numbers = [self.parameters.number(array([x]), what)[0] for x in (low, high) if x is not None]
        if len(numbers) == 2 and not numbers[0] < numbers[1]:
            raise DescriptionError(
                f"the stroke of {what} is {checks.shown(stroke)}; the shortest must be below the longest."
            )
        return tuple(getattr(x, "sx", x) for x in (low, high))  # type: ignore[return-value]

    def _coordinate_of(self, coordinate: Any, what: str) -> tuple[Attachment, int]:
        """The joint of a coordinate, and its place there."""
        q = coordinate.name if isinstance(coordinate, Attachment) else coordinate
        self._coordinate(q, what)
        at = self.joints.get(q) or self.joints[q.rpartition(".")[0]]
        return at, at.coordinates.index(q)

    def _add_force(self, force: Force) -> None:
        self._new(force.name, self.forces, "force")
        self.forces[force.name] = force

    def _six(self, given: Any, what: str) -> np.ndarray:
        """(6, 6) from six numbers, a symmetric matrix, or one number 0."""
        x = described(given, what, "six numbers (three about, three along the axes), or a symmetric matrix (6, 6)")
        if x.size == 1 and is_exact_zero(x.ravel()[0]):
            return zeros(6, 6)
        if x.shape != (6, 6):
            diagonal, x = self.parameters.checked(x, (6,), what), zeros(6, 6)
            x[np.diag_indices(6)] = diagonal
        x = self.parameters.checked(x, (6, 6), what)
        numbers = self.parameters.number(x, what)
        if not np.abs(numbers - numbers.T).max() <= 1e-9 * np.abs(numbers).max():
            raise DescriptionError(f"{what} is not symmetric; needed: six numbers, or a symmetric matrix (6, 6).")
        return x

    def _spring(
        self, name: str, points: Any, at: Any, stiffness: Any, damping: Any, rest_length: Any, *, slack: bool,
        kind: str = "",
    ) -> Spring:  # fmt: skip
        kind = kind or ("cable" if slack else "spring")
        path = self._places(points, at, f"{kind} '{name}'")
        if isinstance(rest_length, str) and rest_length == "drawn":
            rest_length = self._drawn_length(path)
        number = self.parameters.scalar
        law = number if slack else partial(law_of, self.parameters)
        return Spring(
            name,
            path,
            law(stiffness, f"the stiffness of {kind} '{name}'"),
            law(damping, f"the damping of {kind} '{name}'"),
            number(rest_length, f"the rest length of {kind} '{name}'", least=0.0),
            slack,
        )

    def _value(self, value: Any, shape: tuple[int, ...], what: str) -> Any:
        """Shape and numbers are checked now; expressions and functions also when the mechanism is compiled."""
        if callable(value) and not isinstance(value, ca.SX):
            return value
        x = shaped(value, shape, what)
        return self.parameters.checked(x, shape, what) if all_numbers(x) else x


def _split(given: Any) -> tuple[Any, tuple[tuple[int, Curve], ...]]:
    """Six numbers, and (direction, curve) of those that are curves."""
    if not isinstance(given, (list, tuple)) or not any(isinstance(x, Curve) for x in given):
        return given, ()
    numbers = [0.0 if isinstance(x, Curve) else x for x in given]
    return numbers, tuple((k, x) for k, x in enumerate(given) if isinstance(x, Curve))
