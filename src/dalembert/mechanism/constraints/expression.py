"""Constraints written as expressions: of coordinates and frames (Φ), or linear in the velocities (A v + b).

Their derivatives come from CasADi's differentiation of the expression itself, which is as short as what was written:

    A v = ∂Φ/∂q N(q) v,  b = ∂Φ/∂t,  γ = d/dt (A v + b) at v̇ = 0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DescriptionError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.constraint import Constraint, Row
from dalembert.mechanism.traced import Load, TracedState, UserState, on_expressions
from dalembert.mechanism.values import described
from dalembert.spatial import cross
from dalembert.symbols import array, to_sx, zeros

Expression = Callable[[UserState], Any]
#: (state, multipliers by row) → (frame, force, point) in the ground's axes
Forces = Callable[[UserState, Mapping[str, ca.SX]], list[tuple[Frame, ca.SX, ca.SX]]]


class Expressions(Constraint):
    """Rows given as functions of the state: holonomic ones return Φ, Pfaffian ones A v + b."""

    def __init__(
        self,
        name: str,
        kind: str,
        *,
        holonomic: Sequence[tuple[str, Expression]] = (),
        pfaffian: Sequence[tuple[str, Expression]] = (),
        positive: Expression | None = None,
        forces: Forces | None = None,
        angular: bool = False,
        own: bool = False,
        text: str = "",
        wheels: Sequence[tuple[Frame, Any, int | None]] = (),
        path: Sequence[tuple[Frame, Any, int, int]] = (),
    ):
        """`forces` says where the rows' forces act; without it they act inside the joints.

        `angular` says that rows are in radians, `own` that they are in units of the user's; else they are in metres.
        `wheels` are (frame, radius, axis) of what rolls, for pictures; a sphere has no axis, a blade no radius;
        `path` the points and pulleys that a rope or belt runs around, as in `pulleys`.
        """
        self.name, self.kind, self.text, self.angular, self.forces = name, kind, text, angular, forces
        self.own = own
        self.holonomic, self.pfaffian, self.positive = tuple(holonomic), tuple(pfaffian), positive
        self.wheels, self.path = tuple(wheels), tuple(path)

    recipe: tuple[Callable[..., Expressions], tuple[Any, ...]] | None = None  # what made it, where that was a function

    def __reduce__(self) -> Any:
        """By what made it: its rows may be functions inside functions, which do not pickle."""
        return super().__reduce__() if self.recipe is None else self.recipe

    def rows(self, s: TracedState) -> list[Row]:
        d = RowDerivatives(s)
        out = []
        for name, f in self.holonomic:
            phi = evaluated_row(f, s, f"row '{name}' of constraint '{self.name}'")
            out.append(d.row(name, phi, d.rate(phi), True, self.angular, self.own))
        for name, f in self.pfaffian:
            speed = evaluated_row(f, s, f"row '{name}' of constraint '{self.name}'")
            if not d.is_linear(speed):
                raise DescriptionError(
                    f"row '{name}' of constraint '{self.name}' is not linear in the velocities; "
                    "needed: A(q, t) v + b(q, t)."
                )
            out.append(d.row(name, ca.SX(0), speed, False, self.angular, self.own))
        return out

    def given(self, s: TracedState) -> list[tuple[str, ca.SX]]:
        """(what it is, its value in the state s) of each row a user wrote."""
        if self.kind not in ("driver", "constraint"):
            return []
        rows = [(f"row '{name}' of {self.kind} '{self.name}'", f) for name, f in (*self.holonomic, *self.pfaffian)]
        return [(what, evaluated_row(f, s, what)) for what, f in rows]

    def exert(self, s: TracedState, multipliers: Mapping[str, Any], load: Load) -> None:
        if self.forces is None:
            super().exert(s, multipliers, load)
            return
        known = {name: to_sx([multipliers.get(name, 0.0)]) for name, _ in (*self.holonomic, *self.pfaffian)}
        for frame, force, point in self.forces(s.user(), known):
            arm = array(point) - s.position(frame)
            f = array(force)
            R = s.pose(frame).R
            load.wrench(frame, np.concatenate([R.T @ cross(arm, f), R.T @ f]))

    def branch_signs(self, s: TracedState) -> dict[str, Any]:
        return {} if self.positive is None else {"side": array(self.positive(s.user())).ravel()[0]}

    def describe(self) -> str:
        return self.text or self.kind


def by_recipe(make: Callable[..., Expressions]) -> Callable[..., Expressions]:
    """A function that makes a constraint, which then remembers how it was made."""

    @wraps(make)
    def made(*arguments: Any) -> Expressions:
        constraint = make(*arguments)
        constraint.recipe = made, arguments
        return constraint

    return made


class RowDerivatives:
    """Time derivatives along q̇ = N(q) v with v̇ = 0, and A as the derivative with respect to v."""

    def __init__(self, s: TracedState):
        at = s.at
        self.q, self.v, self.t = to_sx(at.q), to_sx(at.v), to_sx([s.t])
        rates = zeros(len(at.q))
        for link in at.tree.links:
            rates[link.q] = link.joint.rates(at.q[link.q], at.v[link.v])
        self.q_rate = to_sx(rates)

    def rate(self, f: ca.SX) -> ca.SX:
        """ḟ at v̇ = 0."""
        return ca.jtimes(f, self.q, self.q_rate) + ca.jtimes(f, self.t, ca.SX(1))

    def is_linear(self, speed: ca.SX) -> bool:
        """Whether an expression is affine in v."""
        return not ca.depends_on(ca.jacobian(speed, self.v), self.v)

    def row(self, name: str, phi: ca.SX, speed: ca.SX, holonomic: bool, angular: bool, own: bool = False) -> Row:
        A = array(ca.densify(ca.jacobian(speed, self.v)).T)
        b = ca.substitute(speed, self.v, ca.SX.zeros(self.v.shape))
        phi_, b_, gamma = (array(x).ravel()[0] for x in (phi, b, self.rate(speed)))
        return Row(name, phi_, A.reshape(-1), b_, gamma, holonomic, angular, own)


def evaluated_row(f: Expression, s: TracedState, what: str) -> ca.SX:
    """The one value of a function of the state, an expression."""
    given = on_expressions(f, s, what)
    x = described(given, what, "one expression a row")
    if x.size != 1:
        raise DescriptionError(f"{what} has {x.size} values; needed: one expression a row.")
    return to_sx(x.reshape(1))
