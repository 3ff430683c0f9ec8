"""Methods that add what drives turn: gears, racks, planetary sets, differentials, belts, clutches, brakes.

All act on e = Σ cᵢ qᵢ − offset of some coordinates: rigid ones as a coupling e = 0, elastic ones by a force of e and
ė (`ElasticCoupling`), those that slip by a force of ė (`SlippingCoupling`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.constraining import Constrainable
from dalembert.mechanism.contacts import Friction
from dalembert.mechanism.curves import Curve, law_of
from dalembert.mechanism.forces.along import ElasticCoupling, SlippingCoupling, StickingCoupling, Term
from dalembert.mechanism.forcing import Forceable
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.wheels import gear_wheels, picture, wheels_of
from dalembert.symbols import is_number

CREEP = 0.01  # rad/s (m/s): the speed at which friction has tanh(1) = 76 % of its force; a hundredth of a slow shaft's


class Drivetrain(Forceable, Constrainable):
    """The part of `Mechanism` that adds gears, belts, clutches and brakes."""

    def add_torsion_spring(
        self, name: str, coordinate: Any, *, stiffness: Any, damping: Any = 0.0, rest: Any = 0.0
    ) -> None:
        """A spring and damper along one coordinate of a joint, beside those that `add_joint` gave it.

        coordinate: its name, or a joint that has one. stiffness (N m/rad or N/m) and damping (N m s/rad or N s/m):
        numbers, or a `da.Curve` or table (x, y) of the force over q − rest, or over its rate; rest in rad or m. With
        numbers the joint may close a loop.

        >>> import dalembert as da
        >>> m = da.Mechanism("play", gravity=(0, 0, 0))
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("arm", mass=1.0, inertia=(1, 1, 1)))
        >>> m.add_torsion_spring("play", "A", stiffness=da.Curve([-1, -0.1, 0.1, 1], [-9, 0, 0, 9]))
        >>> m.compile().forward_dynamics({"A": 0.3}).round(9)
        array([-2.])
        """
        what = f"torsion spring '{name}'"
        at, index = self._coordinate_of(coordinate, what)
        self._elastic(what, name, {at.coordinates[index]: 1.0}, stiffness, damping, rest, 1.0, CREEP)

    def add_elastic_coupling(
        self,
        name: str,
        coefficients: Mapping[Any, Any],
        *,
        stiffness: Any,
        damping: Any = 0.0,
        offset: Any = 0.0,
        efficiency: Any = 1.0,
        creep: Any = CREEP,
    ) -> None:
        """A force k(e) + d(ė) along e = Σ cᵢ qᵢ − offset: a shaft, a gear whose teeth give, a belt, an anti-roll bar.

        coefficients name each qᵢ with its cᵢ, as in `add_coupling`; each coordinate gets −cᵢ times the force.
        stiffness, damping: numbers, or a `da.Curve` or table (x, y). efficiency: the part (0 to 1) of the force that a
        side gets which receives power; the first coordinate is one side, all others the other. creep: the speed in ė
        of a side (rad/s or m/s) below which less is lost; nothing is at rest, so it does not lock itself.
        """
        what = f"elastic coupling '{name}'"
        self._elastic(what, name, coefficients, stiffness, damping, offset, efficiency, creep)

    def add_gear(
        self,
        name: str,
        a: Any,
        b: Any,
        *,
        ratio: Any = None,
        teeth: Any = None,
        inside: bool = False,
        carrier: Any = None,
        offset: Any = 0.0,
        stiffness: Any = None,
        damping: Any = 0.0,
        efficiency: Any = 1.0,
        creep: Any = CREEP,
    ) -> None:
        """A gear pair: coordinate a turns `ratio` times as fast as b, seen from the carrier that holds both.

        a, b, carrier: coordinates, or joints that have one. ratio: negative where they turn in opposite senses; or
        teeth=(z_a, z_b), for which it is −z_b/z_a, with `inside` (a ring gear) z_b/z_a. A bevel pair or a worm takes a
        ratio whose sign follows from the axes; a worm's is teeth over threads. carrier: the coordinate of a moving arm
        (default: it does not move), on which a wheel may sit, or turn beside it: (q_a − q_c) = ratio (q_b − q_c) +
        offset, without q_c for a wheel whose joint is on the arm's body.

        Rigid without a stiffness; with one (N m/rad at a, a number or a `da.Curve`, so that it may have play) elastic,
        with damping, efficiency and creep as in `add_elastic_coupling`, a on the first side.

        >>> import dalembert as da
        >>> m = da.Mechanism("reduction", gravity=(0, 0, 0))
        >>> for n in "ab":
        ...     m.add_joint(n, da.Revolute("z"), m.ground, m.add_body(f"wheel {n}", mass=1.0, inertia=(1, 1, 2)))
        >>> m.add_gear("mesh", "a", "b", teeth=(20, 60))
        >>> x = m.compile().assemble(q={"a": 0.3}, v={"a": 3.0})
        >>> round(x.rate("b"), 9)
        -1.0
        """
        what = f"gear '{name}'"
        i = self._ratio(ratio, teeth, inside, what)
        (qa, ja), (qb, jb) = (self._turning(x, what) for x in (a, b))
        terms = [(qa, 1.0), (qb, -i)]
        if carrier is not None:
            qc, jc = self._turning(carrier, what)
            for j in (ja, jb):
                if j is not jc and j.child.body is jc.child.body:
                    raise DescriptionError(
                        f"{what} has a wheel on joint '{j.name}', whose second body is the carrier "
                        f"'{j.child.body.name}'; name the carrier first there: it measures the wheel's angle."
                    )
            terms.append((qc, sum(c for c, j in ((-1.0, ja), (i, jb)) if j.parent.body is not jc.child.body)))
        wheels = gear_wheels(ja, jb, None if carrier is None else jc, i, inside)
        self._tied(what, name, terms, offset, stiffness, damping, efficiency, creep, wheels)

    def add_rack(
        self, name: str, pinion: Any, rack: Any, *, radius: Any, offset: Any = 0.0, stiffness: Any = None,
        damping: Any = 0.0, efficiency: Any = 1.0, creep: Any = CREEP,
    ) -> None:  # fmt: skip
        """A rack and pinion, or a drum and its rope: rack = radius × pinion + offset; radius in m, negative to reverse.

        pinion, rack: coordinates, or joints that have one. With a stiffness (N m/rad at the pinion) elastic; damping,
        efficiency, creep: as in `add_elastic_coupling`, the pinion on the first side.
        """
        what = f"rack '{name}'"
        r = self.parameters.scalar(radius, f"the radius of {what}")
        terms = [
            (self._turning(pinion, what)[0], 1.0),
            (self._named(rack, what), -1.0 / self._not_zero(r, radius, what)),
        ]
        shift = self.parameters.scalar(offset, f"the offset of {what}")
        wheels = wheels_of([(self._turning(pinion, what)[1], r)])
        self._tied(what, name, terms, -shift / r, stiffness, damping, efficiency, creep, wheels)

    def add_planetary(self, name: str, sun: Any, ring: Any, carrier: Any, *, teeth: Any, offset: Any = 0.0) -> None:
        """A planetary set by the coordinates of sun, ring and carrier: (q_s − q_c) z_s + (q_r − q_c) z_r = offset.

        This is Willis's formula. teeth: (z_s, z_r); a negative z_r for a set with pairs of planets. The planets have no
        mass here: build them with `add_gear` and `carrier=` where they matter. Fix one of the three with
        `add_driver(name, joint, 0)`.
        """
        what = f"planetary set '{name}'"
        zs, zr = self._pair(teeth, "teeth", what)
        s, r, c = (self._turning(x, what)[0] for x in (sun, ring, carrier))
        self._tied(what, name, [(s, zs), (r, zr), (c, -(zs + zr))], offset)

    def add_differential(self, name: str, case: Any, left: Any, right: Any, *, offset: Any = 0.0) -> None:
        """A differential by the coordinates of its case and its shafts, left and right: 2 q_c = q_l + q_r + offset."""
        what = f"differential '{name}'"
        c, a, b = (self._turning(x, what)[0] for x in (case, left, right))
        self._tied(what, name, [(c, 2.0), (a, -1.0), (b, -1.0)], offset)

    def add_belt(
        self,
        name: str,
        a: Any,
        b: Any,
        *,
        radii: Any,
        crossed: bool = False,
        offset: Any = 0.0,
        stiffness: Any = None,
        damping: Any = 0.0,
        efficiency: Any = 1.0,
        pretension: Any = None,
        friction: Any = None,
        distance: Any = None,
        creep: Any = None,
    ) -> None:
        """A belt or chain between two wheels: r_a q_a = r_b q_b + offset (m), with radii=(r_a, r_b) in m.

        a, b: coordinates, or joints that have one; crossed: b turns the other way. Rigid (a chain, a toothed belt)
        without more; elastic with a stiffness (N/m along the belt, both spans), damping and efficiency as in
        `add_elastic_coupling`. With friction, the coefficient μ, a flat belt that slips: it takes pretension F₀ (N in
        each span at rest) and the distance of the axes (m), and sticks in runs up to the force
        T_max = 2 F₀ (e^{μβ} − 1)/(e^{μβ} + 1) of Euler and Eytelwein, β the smaller angle of wrap; the tight span then
        has F₀ + T/2, the slack one F₀ − T/2. creep: as in `add_slipping_coupling`, T = T_max tanh(slip/creep).
        """
        what = f"belt '{name}'"
        checks.flag(crossed, f"crossed of {what}", error=DescriptionError)
        ra, rb = self._pair(radii, "radii", what)
        terms = [(self._turning(a, what)[0], ra), (self._turning(b, what)[0], rb if crossed else -rb)]
        wheels = wheels_of([(self._turning(a, what)[1], ra), (self._turning(b, what)[1], rb)])
        path = [(*wheel, sense) for wheel, sense in zip((*wheels, *wheels[:1]), (1, -1 if crossed else 1, 1))]
        if friction is None:
            if pretension is not None or distance is not None:
                raise DescriptionError(f"{what} has a pretension or a distance and no friction; give friction=.")
            slow = CREEP if creep is None else creep
            self._tied(what, name, terms, offset, stiffness, damping, efficiency, slow, wheels, path)
            return
        if stiffness is not None or pretension is None or distance is None:
            raise DescriptionError(f"{what} has friction; it takes pretension= and distance=, and no stiffness.")
        mu, F0, far = (
            self.parameters.scalar(x, f"the {n} of {what}", least=0.0)
            for n, x in (("friction", friction), ("pretension", pretension), ("distance", distance))
        )
        T = euler_limit(mu, F0, far, ra, rb, crossed)
        self.add_slipping_coupling(name, self._distinct(terms, what), capacity=T, creep=creep)
        picture(self.forces, name, wheels, path)

    def add_slipping_coupling(
        self, name: str, coefficients: Mapping[Any, Any], *, capacity: Any, static: Any = None, creep: Any = None
    ) -> None:
        """Friction of a capacity against ė = Σ cᵢ vᵢ; each coordinate gets −cᵢ times this.

        coefficients name each coordinate with its cᵢ, as in `add_coupling`. capacity (N m or N): a number or an
        expression of parameters; then it sticks as the friction of joints does: exactly, in `da.simulate`, up to the
        force `static` (default: the capacity), and does nothing elsewhere. Or, with creep, a force law everywhere:
        capacity × tanh(ė/creep), of which 76 % act at the slip creep, rad/s or m/s; it is never quite at rest under
        load. A capacity that is an input (the pressure on plates times what it gives) or f(state) creeps, by default
        at 0.01.
        """
        what = f"slipping coupling '{name}'"
        terms = self._terms(coefficients, what)
        if creep is None and self._is_constant(capacity):
            self._add_force(StickingCoupling(name, terms, *self._dry(capacity, static, what)))
            return
        if static is not None:
            raise DescriptionError(
                f"{what} has static= and creeps, as its capacity changes or creep= is given; what creeps does not "
                "stick. Leave one of them away."
            )
        slow = self._creep(CREEP if creep is None else creep, what)
        self._add_force(SlippingCoupling(name, terms, self._value(capacity, (), f"the capacity of {what}"), slow))

    def add_clutch(self, name: str, a: Any, b: Any, *, capacity: Any, static: Any = None, creep: Any = None) -> None:
        """A clutch between the coordinates a and b: friction of a capacity against their slip v_a − v_b.

        a, b: names, or joints that have one; capacity, static, creep: as in `add_slipping_coupling`. One whose capacity
        is constant locks exactly, in runs; one that an input presses creeps.

        >>> import dalembert as da
        >>> m = da.Mechanism("clutch", gravity=(0, 0, 0))
        >>> for n in ("engine", "shaft"):
        ...     m.add_joint(n, da.Revolute("z"), m.ground, m.add_body(n, mass=1.0, inertia=(1, 1, 2)))
        >>> pedal = m.add_input("pedal")
        >>> m.add_clutch("clutch", "engine", "shaft", capacity=8.0 * pedal)
        >>> system = m.compile()
        >>> system.forward_dynamics(system.state(v={"engine": 3.0}), u={"pedal": 0.5}).round(9)
        array([-2.,  2.])
        """
        what = f"clutch '{name}'"
        terms = self._distinct([(self._named(a, what), 1.0), (self._named(b, what), -1.0)], what)
        self.add_slipping_coupling(name, terms, capacity=capacity, static=static, creep=creep)

    def add_brake(self, name: str, coordinate: Any, *, capacity: Any, static: Any = None, creep: Any = None) -> None:
        """A brake on a coordinate, or a joint that has one: friction of a capacity against its motion.

        capacity, static, creep: as in `add_slipping_coupling`; one of constant capacity holds exactly, in runs.

        >>> import dalembert as da
        >>> m = da.Mechanism("brake", gravity=(0, 0, 0))
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("drum", mass=1.0, inertia=(1, 1, 2)))
        >>> m.add_brake("brake", "A", capacity=4.0)
        >>> system = m.compile()
        >>> run = da.simulate(system, system.state(v={"A": 8.0}), 9.0)
        >>> [s.what for s in run.switches], round(float(run["A"][-1]), 9)            # J ω²/2T = 16 rad
        (['brake sticks'], 16.0)
        """
        terms = {self._named(coordinate, f"brake '{name}'"): 1.0}
        self.add_slipping_coupling(name, terms, capacity=capacity, static=static, creep=creep)

    def add_one_way_clutch(self, name: str, a: Any, b: Any = None, *, damping: Any) -> None:
        """A freewheel: a, in rad/s or m/s, cannot become faster than b (default: 0) but by the creep of its damping.

        a, b: coordinates, or joints that have one; damping × (v_a − v_b) (N m s/rad or N s/m) acts while v_a > v_b,
        nothing else.
        """
        what = f"one-way clutch '{name}'"
        d = checks.number(damping, f"the damping of {what}", above=0.0, error=DescriptionError)
        terms = [(self._named(a, what), 1.0), *([] if b is None else [(self._named(b, what), -1.0)])]
        self._elastic(
            what, name, self._distinct(terms, what), 0.0, Curve([-1.0, 0.0, 1.0], [0.0, 0.0, d]), 0.0, 1.0, CREEP
        )

    # --- what they share ----------------------------------------------------------------------------------------

    def _named(self, coordinate: Any, what: str) -> str:
        at, index = self._coordinate_of(coordinate, what)
        return at.coordinates[index]

    def _turning(self, coordinate: Any, what: str) -> tuple[str, Attachment]:
        """The name of a coordinate that is an angle, and its joint."""
        at, index = self._coordinate_of(coordinate, what)
        if not at.joint.angular[index]:
            raise DescriptionError(
                f"{what} asks for coordinate '{at.coordinates[index]}', which slides; needed: an angle. For a slide "
                "take add_rack, or add_coupling."
            )
        return at.coordinates[index], at

    def _terms(self, coefficients: Mapping[Any, Any], what: str) -> list[Term]:
        out = []
        for q, c in checks.mapping(coefficients, f"the coefficients of {what}", error=DescriptionError).items():
            at, index = self._coordinate_of(q, what)
            out.append((at, index, self.parameters.scalar(c, f"the coefficient of {at.coordinates[index]} in {what}")))
        if not out:
            raise DescriptionError(f"{what} names no coordinate; give at least one, such as {{'A': 1, 'B': -2}}.")
        return out

    @staticmethod
    def _distinct(terms: list[tuple[str, Any]], what: str) -> dict[str, Any]:
        """Coefficients by coordinate, each of which may be there once."""
        names = [q for q, _ in terms]
        for q in names:
            if names.count(q) > 1:
                raise DescriptionError(f"{what} names coordinate '{q}' twice; its sides must differ.")
        return {q: getattr(c, "sx", c) for q, c in terms}

    def _tied(
        self, what: str, name: str, given: list[tuple[str, Any]], offset: Any, stiffness: Any = None,
        damping: Any = 0.0, efficiency: Any = 1.0, creep: Any = CREEP, wheels: Sequence[Any] = (),
        path: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Rigid without a stiffness, else elastic."""
        terms = self._distinct(given, what)
        if stiffness is not None:
            self._elastic(what, name, terms, stiffness, damping, offset, efficiency, creep)
            picture(self.forces, name, wheels, path)
            return
        if (
            efficiency.__class__ not in (int, float)
            or efficiency != 1
            or damping.__class__ not in (int, float)
            or damping
        ):
            raise DescriptionError(
                f"{what} has a damping or an efficiency and no stiffness; a rigid one loses nothing. Give stiffness=."
            )
        self.add_coupling(name, terms, getattr(offset, "sx", offset))
        picture(self.constraints, name, wheels, path)

    def _elastic(
        self, what: str, name: str, coefficients: Any, stiffness: Any, damping: Any, offset: Any, efficiency: Any,
        creep: Any,
    ) -> None:  # fmt: skip
        terms = self._terms(coefficients, what)
        k, d = (law_of(self.parameters, x, f"the {n} of {what}")
                for n, x in (("stiffness", stiffness), ("damping", damping)))  # fmt: skip
        rest = self.parameters.scalar(offset, f"the offset of {what}")
        eta = self.parameters.scalar(efficiency, f"the efficiency of {what}", least=0.0)
        checks.number(self._now(eta, what), f"the efficiency of {what}", above=0.0, most=1.0, error=DescriptionError)
        self._add_force(ElasticCoupling(name, terms, k, d, rest, eta, self._creep(creep, what)))

    def _is_constant(self, capacity: Any) -> bool:
        """Whether a value stays as it is in a run: numbers, and expressions of parameters."""
        if not isinstance(capacity, ca.SX):
            return not callable(capacity)
        return not ca.depends_on(capacity, ca.vertcat(*self.inputs.values()))

    def _dry(self, capacity: Any, static: Any, what: str) -> tuple[Any, Friction]:
        """The unit of a friction law, and the law in it."""
        T = self.parameters.scalar(capacity, f"the capacity of {what}", least=0.0)
        if is_number(T):
            most = (
                None if static is None else checks.number(static, f"static of {what}", least=T, error=DescriptionError)
            )
            return 1.0, Friction(T, most)
        if static is not None:
            raise DescriptionError(f"{what} has static= and a capacity that depends on parameters; needed: a number.")
        checks.number(self._now(T, what), f"the capacity of {what}", above=0.0, error=DescriptionError)
        return T, Friction(1.0)

    def _creep(self, given: Any, what: str) -> Any:
        creep = self.parameters.scalar(given, f"the creep of {what}")
        checks.number(self._now(creep, what), f"the creep of {what}", above=0.0, error=DescriptionError)
        return creep

    def _now(self, x: Any, what: str) -> float:
        """A number at the default parameters."""
        return float(self.parameters.number(self.parameters.checked(x, (), what), what))

    def _ratio(self, ratio: Any, teeth: Any, inside: bool, what: str) -> Any:
        checks.flag(inside, f"inside of {what}", error=DescriptionError)
        if (ratio is None) == (teeth is None):
            raise DescriptionError(f"{what} needs either a ratio or teeth=(z_a, z_b), not both and not neither.")
        if ratio is not None:
            if inside:
                raise DescriptionError(f"{what} has a ratio, whose sign says how b turns; inside= belongs to teeth=.")
            return self._not_zero(self.parameters.scalar(ratio, f"the ratio of {what}"), ratio, what)
        za, zb = self._pair(teeth, "teeth", what)
        return zb / za if inside else -(zb / za)

    def _pair(self, given: Any, noun: str, what: str) -> tuple[Any, Any]:
        """Two numbers, neither 0."""
        a, b = (getattr(x, "sx", x) for x in self.parameters.checked(given, (2,), f"the {noun} of {what}"))
        for x in (a, b):
            self._not_zero(x, given, what)
        return a, b

    def _not_zero(self, x: Any, given: Any, what: str) -> Any:
        if self._now(getattr(x, "sx", x), what) == 0.0:
            raise DescriptionError(f"{what} is given {checks.shown(given)}; needed: no 0.")
        return x


def euler_limit(friction: Any, pretension: Any, distance: Any, ra: Any, rb: Any, crossed: bool) -> Any:
    """The largest force of a flat belt between two wheels, N: T₁/T₂ = e^{μβ} where T₁ + T₂ = 2 F₀."""
    mu, F0, a, ra, rb = (getattr(x, "sx", x) for x in (friction, pretension, distance, ra, rb))
    ra, rb = ca.fabs(ra), ca.fabs(rb)
    wrap = ca.pi + 2 * ca.asin((ra + rb) / a) if crossed else ca.pi - 2 * ca.asin(ca.fabs(ra - rb) / a)
    return 2 * F0 * ca.tanh(mu * wrap / 2)  # (e^x − 1)/(e^x + 1) = tanh(x/2)
