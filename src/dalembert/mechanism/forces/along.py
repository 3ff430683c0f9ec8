"""Springs, dampers and clutches along a combination of coordinates, e = Σ cᵢ qᵢ − rest: one joint, a gear, a shaft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.mechanism.curves import Curve, Law, corners, is_nothing, response, stored
from dalembert.mechanism.forces.force import Force, Value, evaluate
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState
from dalembert.mechanism.values import is_exact_zero
from dalembert.symbols import Scalar, positive_part, tanh, where_less, zeros

Term = tuple[Attachment, int, Any]  # a joint, the place of a coordinate in it, its coefficient


class Along(Force):
    """A force T along e, which takes the power T ė. Of two sides the first term is one, all others the other."""

    terms: Sequence[Term]
    rest: Any = 0.0
    wheels: Sequence[Any] = ()  # (frame, radius, axis) of what turns, for pictures
    path: Sequence[Any] = ()  # (frame, radius, axis, sense) of what a belt runs around

    def value(self, s: TracedState) -> Any:
        """e."""
        return sum((c * s.q(joint.name)[k] for joint, k, c in self.terms), 0.0) - self.rest

    def rate(self, s: TracedState) -> Any:
        """ė."""
        return sum((c * s.v(joint.name)[k] for joint, k, c in self.terms), 0.0)

    def exert(self, load: Load, T: Any, shares: Sequence[Any] | None = None) -> None:
        """Put −cᵢ T on every coordinate, times its share."""
        for n, (joint, k, c) in enumerate(self.terms):
            tau = zeros(joint.joint.nv)
            tau[k] = -(c * T) if shares is None else -(c * T * shares[n])
            load.joint(joint.name, tau)

    def describe(self) -> str:
        return f"{self.kind} of {', '.join(joint.coordinates[k] for joint, k, _ in self.terms)}"


class ElasticCoupling(Along):
    """T = k(e) + d(ė), k and d numbers or curves.

    With an efficiency η < 1 a side that receives power gets η of the force. The first term is one side, the others are
    the other, with the speeds w₁ = c₁ v₁ and w₂ = Σ cᵢ vᵢ; a side receives where T w < 0, and gets the share

        s = 1 − (1 − η) max(0, −sign(T) tanh(w/creep))                                                           (1)

    so that (1 − η) |T w| tanh(|w|/creep) is lost, nothing at rest, and nothing is ever gained.
    """

    kind = "elastic coupling"

    def __init__(
        self, name: str, terms: Sequence[Term], stiffness: Law, damping: Law, rest: Any, efficiency: Any, creep: Any
    ):
        self.name, self.terms, self.rest = name, tuple(terms), rest
        self.stiffness, self.damping, self.efficiency, self.creep = stiffness, damping, efficiency, creep

    @property
    def _lossless(self) -> bool:
        return not isinstance(self.efficiency, Scalar) and self.efficiency == 1.0

    @property
    def spring_of(self) -> Attachment | None:
        """The joint, if it is a spring and damper of numbers along one of its coordinates, as `add_joint` has them."""
        joint, _, c = self.terms[0]
        curved = isinstance(self.stiffness, Curve) or isinstance(self.damping, Curve)
        alone = len(self.terms) == 1 and not isinstance(c, Scalar) and c == 1.0
        return joint if alone and not curved and self._lossless else None

    def _force(self, s: TracedState) -> Any:
        T = response(self.stiffness, self.value(s))
        return T if is_nothing(self.damping) else T + response(self.damping, self.rate(s))

    def act(self, s: TracedState, load: Load) -> None:
        T = self._force(s)
        if self._lossless:
            self.exert(load, T)
            return
        shares = [self._share(T, w) for w in self._sides(s)]
        self.exert(load, T, shares[:1] + shares[1:] * (len(self.terms) - 1))

    def _sides(self, s: TracedState) -> list[Any]:
        """w₁ and w₂."""
        speeds = [c * s.v(joint.name)[k] for joint, k, c in self.terms]
        return [speeds[0], sum(speeds[1:], 0.0)]

    def _share(self, T: Any, w: Any) -> Any:
        turning = tanh(w / self.creep)
        received = where_less(T, 0.0, lambda: turning, lambda: -turning)
        return 1.0 - (1.0 - self.efficiency) * positive_part(received)  # (1)

    @property
    def bends(self) -> bool:
        laws = self.stiffness, self.damping
        return not self._lossless or any(getattr(law, "breaks", ()) for law in laws)

    def kinks(self, s: TracedState) -> list[Any]:
        at = [*corners(self.stiffness, self.value(s)), *corners(self.damping, self.rate(s))]
        return at if self._lossless else [*at, self._force(s), *(w for w in self._sides(s) if isinstance(w, Scalar))]

    @property
    def conservative(self) -> bool:
        return is_nothing(self.damping) and self._lossless

    def energy(self, s: TracedState) -> Any:
        return stored(self.stiffness, self.value(s))


class StickingCoupling(Along):
    """Dry friction along ė that sticks: in runs, where it is a row or a force (`contacts.friction`); none elsewhere.

    Its force is at most capacity times that of the law, which begins at 1.
    """

    kind, sticks = "sticking coupling", True

    def __init__(self, name: str, terms: Sequence[Term], capacity: Any, law: Any):
        self.name, self.terms, self.capacity, self.law = name, tuple(terms), capacity, law

    def act(self, s: TracedState, load: Load) -> None:
        """Nothing here."""


class SlippingCoupling(Along):
    """T = capacity · tanh(ė/creep): dry friction that creeps; capacity (N m, N) is a number, an input or f(state)."""

    kind = "slipping coupling"

    def __init__(self, name: str, terms: Sequence[Term], capacity: Value, creep: Any):
        self.name, self.terms, self.capacity, self.creep = name, tuple(terms), capacity, creep

    def given(self) -> list[tuple[str, Value, tuple[int, ...]]]:
        return [(f"the capacity of {self.kind} '{self.name}'", self.capacity, ())]

    def act(self, s: TracedState, load: Load) -> None:
        capacity = evaluate(self.capacity, s, (), f"the capacity of {self.kind} '{self.name}'")
        if not is_exact_zero(capacity):
            self.exert(load, capacity * tanh(self.rate(s) / self.creep))
