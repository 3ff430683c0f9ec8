"""Methods that add machines' larger elements: motors by their constants, cams, muscles, tyres, ropes over pulleys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.constraints import pulley_rope
from dalembert.mechanism.curves import Curve
from dalembert.mechanism.drivetrain import CREEP, Drivetrain
from dalembert.mechanism.forces.dc_motor import DCMotor
from dalembert.mechanism.forces.limited import force_limits
from dalembert.mechanism.forces.muscle import Muscle
from dalembert.mechanism.forces.tyre import Tyre
from dalembert.mechanism.motions import Table
from dalembert.mechanism.values import described


@dataclass(frozen=True)
class Pulley:
    """A pulley of a rope (`Mechanism.add_pulley_rope`), fixed to the body that it turns with.

    frame: a body, frame or name, its origin the pulley's centre. radius in m. axis: the letter of the frame's axis
    about which it turns. turn: 1 where the rope runs around it counterclockwise about this axis, −1 clockwise.
    """

    frame: Any
    radius: Any
    axis: str = "z"
    turn: int = 1

    def __post_init__(self) -> None:
        checks.choice(self.axis, "xyz", "the axis of a pulley", error=DescriptionError)
        if checks.whole(self.turn, "the turn of a pulley", error=DescriptionError) not in (1, -1):
            raise DescriptionError(f"the turn of a pulley is {checks.shown(self.turn)}; needed: 1 or -1.")


class Machinery(Drivetrain):
    """The part of `Mechanism` that adds motors, cams, muscles, tyres and ropes over pulleys."""

    def add_dc_motor(
        self,
        name: str,
        coordinate: Any,
        *,
        torque_constant: Any,
        resistance: Any,
        back_emf: Any = None,
        ratio: Any = 1.0,
        efficiency: Any = 1.0,
        limits: Any = None,
    ) -> ca.SX:
        """A DC motor behind a gear, whose voltage (V) is an input of this name; returns the input's symbol.

        coordinate: its name, or a joint that has one. torque_constant kₜ (N m/A), resistance R (Ω), back_emf kₑ
        (V s/rad; default: equal to kₜ), ratio n of the rotor's speed to the coordinate's: the force is
        n kₜ (u − kₑ n v)/R. efficiency (0 to 1) of the gear; limits (lower, upper) of the voltage. The rotor's inertia
        J belongs to the joint: armature = n² J. The inductance is neglected.

        >>> import dalembert as da
        >>> m = da.Mechanism("drive", gravity=(0, 0, 0))
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("wheel", mass=1.0, inertia=(1e-3, 1e-3, 2e-3)))
        >>> u = m.add_dc_motor("motor", "A", torque_constant=0.05, resistance=2.0, ratio=10.0)
        >>> run = da.simulate(m.compile(), {}, 1.0, u={"motor": 12.0})
        >>> round(float(run.rate("A")[-1]), 6)                                                     # u/(kₑ n)
        24.0
        """
        what = f"dc motor '{name}'"
        at, index = self._coordinate_of(coordinate, what)
        number = self.parameters.scalar
        kt, R = (
            number(torque_constant, f"the torque constant of {what}"),
            number(resistance, f"the resistance of {what}"),
        )
        ke = kt if back_emf is None else number(back_emf, f"the back EMF of {what}")
        checks.number(self._now(R, what), f"the resistance of {what}", above=0.0, error=DescriptionError)
        n = number(ratio, f"the ratio of {what}")
        eta, bounds = self._part_of(efficiency, f"the efficiency of {what}"), force_limits(limits, what)
        self._new(name, self.forces, "force")
        u = self.add_input(name)
        self._add_force(DCMotor(name, at, index, u, (kt, ke, R), n, eta, CREEP, bounds))
        return u

    def add_cam(self, name: str, cam: Any, follower: Any, *, lift: Any) -> None:
        """A cam that leads a follower in both directions, as one in a groove: follower = lift(angle of the cam).

        cam, follower: coordinates, or joints that have one; the cam's is an angle. lift: a table (angles, lifts) of one
        turn in rad and in the follower's unit, through which a periodic spline goes, a `da.Table`, a `da.Curve`, or a
        function of the angle, a CasADi expression. The multiplier of its row is the force on the follower: a cam that
        only pushes leaves where that becomes negative.

        >>> import numpy as np, dalembert as da
        >>> m = da.Mechanism("valve", gravity=(0, 0, 0))
        >>> m.add_joint("shaft", da.Revolute("y"), m.ground, m.add_body("cam", mass=1.0, inertia=(1, 1, 1)))
        >>> m.add_joint("valve", da.Prismatic("z"), m.ground, m.add_body("stem", mass=0.1))
        >>> m.add_cam("profile", "shaft", "valve", lift=([0, 1.6, 3.1, 4.7, 2 * np.pi], [0, 5e-3, 0.01, 5e-3, 0]))
        >>> x = m.compile("casadi").assemble({"shaft": 3.1 + 2 * np.pi}, {"shaft": 100.0})
        >>> round(x["valve"], 9)
        0.01
        """
        what = f"cam '{name}'"
        angle, moved = self._turning(cam, what)[0], self._named(follower, what)
        if angle == moved:
            raise DescriptionError(f"{what} names coordinate '{angle}' twice; its two sides must differ.")
        if isinstance(lift, tuple) and len(lift) == 2:
            lift = Table(*lift, ends="cyclic")
        checks.function(lift, f"the lift of {what}", error=DescriptionError)
        self.add_constraint(name, holonomic={"lift": lambda s: s[moved] - lift(s[angle])})

    def add_muscle(
        self,
        name: str,
        points: Sequence[Any],
        *,
        strength: Any,
        optimal_length: Any,
        tendon: Any = 0.0,
        speed: Any = 10.0,
        at: Any = None,
    ) -> ca.SX:
        """A muscle of Hill's type through points; its activation (0 to 1) is an input of this name, which is returned.

        points: two or more bodies, frames or names; at: with bodies, as many points of the drawing. strength: its force
        (N) at optimal_length (m) of the fibres, fully active and at rest; tendon: the length (m) of the path that is
        tendon and does not give; speed: optimal lengths per second at which it shortens without force. The curves are
        those of Thelen (2003). `state.length(name)` and `state.length_rate(name)` are of the whole path; its moment arm
        about a joint is −∂L/∂q, what a cable of tension 1 exerts.
        """
        what = f"muscle '{name}'"
        if not isinstance(points, (list, tuple)) or len(points) < 2:
            raise DescriptionError(f"{what} has the points {checks.shown(points)}; needed: at least two, in a list.")
        path = self._places(points, at, what)
        F, l0, v = (
            self._above_zero(x, f"the {n} of {what}")
            for n, x in (("strength", strength), ("optimal length", optimal_length), ("speed", speed))
        )
        slack = self.parameters.scalar(tendon, f"the tendon of {what}", least=0.0)
        self._new(name, self.forces, "force")
        u = self.add_input(name)
        self._add_force(Muscle(name, path, u, F, l0, slack, v))
        return u

    def add_tyre(
        self,
        name: str,
        wheel: Any,
        *,
        radius: Any,
        stiffness: Any,
        damping: Any = 0.0,
        longitudinal: Any = (),
        lateral: Any = (),
        on: Any = None,
        axis: str = "y",
        road: Any = None,
        slow: Any = 0.1,
        at: Any = None,
    ) -> None:
        """A tyre: a wheel's frame at its centre, radius in m, turning about `axis`, on the road z = h(x) of frame `on`.

        wheel, on: bodies, frames or names, on the ground by default; at: with a body, the wheel's centre as drawn.
        stiffness (N/m), damping (N s/m): vertical. Slip
        makes horizontal forces: longitudinal over the slip κ, lateral over the slip angle α in rad, each four numbers
        (B, C, D, E) of the Magic Formula with D as a part of the load, one number K for the force K × slip (N), or
        nothing. With both the direction of the slip shares them. road: h over x as a `da.Curve` or a table (x, h), in
        m; flat by default. slow (m/s): around this speed slip turns into friction, so that it may stand.

        >>> import dalembert as da
        >>> m = da.Mechanism("hop", gravity=(0, 0, -10.0))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("wheel", mass=20.0))
        >>> m.add_tyre("tyre", "wheel", radius=0.3, stiffness=2e5, damping=500.0)
        >>> round(float(da.equilibrium(m.compile(), {"z": 0.29}).state["z"]), 9)               # r − m g/k
        0.299
        """
        what = f"tyre '{name}'"
        rim, ground = self._drawn(wheel, at, what), self._frame(self.ground if on is None else on, what)
        if rim.body is ground.body:
            raise DescriptionError(f"{what} rolls body '{rim.body.name}' on itself; its two sides must differ.")
        letter = "xyz".index(checks.choice(axis, "xyz", f"the axis of {what}", error=DescriptionError))
        r, k = (
            self._above_zero(radius, f"the radius of {what}"),
            self._above_zero(stiffness, f"the stiffness of {what}"),
        )
        d = self.parameters.scalar(damping, f"the damping of {what}", least=0.0)
        slips = (self._slip(x, f"the {n} law of {what}")
                 for n, x in (("longitudinal", longitudinal), ("lateral", lateral)))  # fmt: skip
        surface = Curve(*road) if isinstance(road, tuple) and len(road) == 2 else road
        if surface is not None and not isinstance(surface, Curve):
            raise DescriptionError(
                f"the road of {what} is {checks.shown(road)}; needed: a da.Curve, or a table (x, h)."
            )
        v = self._above_zero(slow, f"the speed slow of {what}")
        self._add_force(Tyre(name, rim, ground, r, letter, k, d, *slips, road=surface, slow=v))

    def add_pulley_rope(self, name: str, points: Sequence[Any], *, at: Any = None) -> None:
        """A rope that does not stretch, from a point around pulleys to a point; it turns them, without slip.

        points: bodies, frames or names, and `da.Pulley` for what it runs around; two or more; at: with bodies, as many
        points of the drawing. All pulleys of a straight piece turn about parallel axes, in one plane. It stays taut, as
        long as it is in the start: its rows are of velocities, one for each straight piece, "piece 1" and so on, their
        multipliers the tensions.

        >>> import dalembert as da
        >>> m = da.Mechanism("Atwood", gravity=(0, -10.0, 0))
        >>> wheel = m.add_body("wheel", mass=2.0, inertia=da.disc_inertia(2.0, 0.1))
        >>> m.add_joint("turn", da.Revolute("z"), m.ground, wheel)
        >>> for n, mass, x in (("left", 3.0, -0.1), ("right", 1.0, 0.1)):
        ...     m.add_joint(n, da.Prismatic("y"), m.ground.at(x, -1.0), m.add_body(n, mass=mass))
        >>> m.add_pulley_rope("rope", ["left", da.Pulley(wheel, 0.1, turn=-1), "right"])
        >>> system = m.compile()
        >>> system.acceleration(system.state()).vdot.round(9)             # a = (m₁ − m₂) g/(m₁ + m₂ + J/r²) = 4
        array([40., -4.,  4.])
        """
        what = f"rope '{name}'"
        if not isinstance(points, (list, tuple)) or len(points) < 2:
            raise DescriptionError(
                f"{what} has the points {checks.shown(points)}; needed: at least two places, in a list."
            )
        stations: list[tuple[Any, ...]] = []
        frames = self._places([x.frame if isinstance(x, Pulley) else x for x in points], at, what)
        for frame, x in zip(frames, points):
            if isinstance(x, Pulley):
                r = self._above_zero(x.radius, f"the radius of a pulley of {what}")
                stations.append((frame, getattr(r, "sx", r), "xyz".index(x.axis), x.turn))
            else:
                stations.append((frame, 0.0, 2, 0))
        for (a, *_), (b, *_) in pairwise(stations):
            if a.body is b.body:
                raise DescriptionError(f"a piece of {what} is between body '{a.body.name}' and itself.")
        self._constrain(pulley_rope(name, stations))

    def _slip(self, given: Any, what: str) -> tuple[Any, ...]:
        """(B, C, D, E), (K,), or ()."""
        if given is None or (isinstance(given, (list, tuple)) and not given):
            return ()
        x = described(given, what, "four numbers (B, C, D, E), or one")
        return tuple(self.parameters.checked(x, (1,) if x.size == 1 else (4,), what))

    def _above_zero(self, given: Any, what: str) -> Any:
        x = self.parameters.scalar(given, what)
        checks.number(self._now(x, what), what, above=0.0, error=DescriptionError)
        return x

    def _part_of(self, given: Any, what: str) -> Any:
        x = self._above_zero(given, what)
        checks.number(self._now(x, what), what, most=1.0, error=DescriptionError)
        return x
