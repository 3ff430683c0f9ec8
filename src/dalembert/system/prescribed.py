"""Coordinates led by kinematic inputs: their accelerations u are given, and the forces μ that this takes follow.

Let v = (v_r, v_d), d led. M v̇ = f + Aᵀλ + (0; μ), A v̇ + γ = 0 and v̇_d = u are

    M_rr v̇_r = f_r − M_rd u + A_rᵀ λ,   A_r v̇_r + (γ + A_d u) = 0                                          (1)
    μ = (M v̇ − f − Aᵀλ)_d                                                                                 (2)

(1), beside M_dd v̇_d = M_dd u, has the form of the equations where nothing is led, and as many of them (`equations`).
So a formulation, an elimination or a projection that knows nothing of led coordinates solves it: what is led moves as
it is told and carries no constraint force (Featherstone's hybrid dynamics, section 9.2, with constraints).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import ArgumentError, DescriptionError
from dalembert.mechanism.forces import Force, KinematicInput
from dalembert.mechanism.layout import TreeLayout
from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.elimination import TreeFactor, eliminate, mass_factor
from dalembert.recursions.sparse import Sparse, dense
from dalembert.symbols import array, is_number, to_sx, zeros

if TYPE_CHECKING:
    from dalembert.recursions.innovations import Innovations
    from dalembert.system.rows import ConstraintRows
    from dalembert.system.trace import Trace


def led_velocities(layout: TreeLayout, forces: Sequence[Force]) -> dict[str, int]:
    """The place in v that each kinematic input leads, by its name."""
    led = [f for f in forces if isinstance(f, KinematicInput)]
    return {f.name: layout.v_slice(f.joint.name).start + f.index for f in led}


class Led:
    """The led coordinates of a trace; false where there is none."""

    def __init__(self, s: Trace):
        self.s = s
        self.places = list(led_velocities(s.d.layout, s.d.forces).values())
        inputs = [array(f.value).ravel()[0] for f in s.d.forces if isinstance(f, KinematicInput)]
        self.accelerations = zeros(len(inputs))
        self.accelerations[:] = inputs

    def __bool__(self) -> bool:
        return bool(self.places)

    def refuse(self, what: str) -> None:
        """Refuse what is made for coordinates that forces move."""
        if self:
            name = next(iter(led_velocities(self.s.d.layout, self.s.d.forces)))
            raise ArgumentError(
                f"{what} cannot be had with kinematic inputs, and '{name}' is one; use another formulation, or a motor."
            )

    def mass(self, M: np.ndarray) -> np.ndarray:
        """M without what couples led coordinates to others."""
        if not self:
            return M
        M = M.copy()
        for d in self.places:
            own = M[d, d]
            M[d, :], M[:, d] = 0.0, 0.0
            M[d, d] = own
        return M

    def factor(self) -> TreeFactor | Innovations:
        """A factor of `mass`."""
        return TreeFactor(self.mass(composite_body(self.s.at))) if self else mass_factor(self.s.at)

    def columns(self, A: np.ndarray) -> np.ndarray:
        """A with 0 in the columns of what is led."""
        if not self or not len(A):
            return A
        A = A.copy()
        A[:, self.places] = 0.0
        return A

    def sparse(self, rows: ConstraintRows) -> Sparse:
        """A of some rows by its elements, with nothing in the columns of what is led."""
        return rows.sparse.without(self.places) if self else rows.sparse

    def still(self, x: np.ndarray) -> np.ndarray:
        """x, (nv, …), with 0 where something is led."""
        if not self:
            return x
        x = x.copy()
        x[self.places] = 0.0
        return x

    def right(
        self, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, given: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The right-hand sides of (1) for given accelerations (led, …) of what is led: (nv, …) and (m, …)."""
        if not self:
            return f, gamma
        f = self.still(f - M[:, self.places] @ given)
        for k, d in enumerate(self.places):
            f[d] = M[d, d] * given[k]
        return f, gamma + A[:, self.places] @ given if len(A) else gamma

    def equations(
        self, M: np.ndarray, f: np.ndarray, A: np.ndarray, gamma: np.ndarray, given: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """M, f, A and γ of (1); given: accelerations of what is led, by default the inputs."""
        if not self:
            return M, f, A, gamma
        self._check(A)
        f, gamma = self.right(M, f, A, gamma, self.accelerations if given is None else given)
        return self.mass(M), f, self.columns(A), gamma

    def solve(
        self, f: np.ndarray, A: np.ndarray | Sparse, gamma: np.ndarray, given: np.ndarray | None = None
    ) -> tuple[np.ndarray, ...]:
        """v̇, λ and the margin of the elimination; given: as in `equations`."""
        if not self:
            return eliminate(mass_factor(self.s.at), f, A, gamma)
        M, f, A, gamma = self.equations(composite_body(self.s.at), f, dense(A), gamma, given)
        return eliminate(TreeFactor(M), f, A, gamma)

    def force(self, M: np.ndarray, f: np.ndarray, A: np.ndarray, vdot: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """(led,) μ of (2)."""
        out = zeros(len(self.places))
        for k, d in enumerate(self.places):
            out[k] = M[d] @ vdot - f[d] - (A[:, d] @ lam if len(lam) else 0.0)
        return out

    def by(self, x: ca.SX) -> np.ndarray:
        """(led, len(x)) derivatives of the led accelerations with respect to symbols x."""
        J = ca.jacobian(to_sx(self.accelerations), x)
        return array(ca.densify(J)).reshape(len(self.places), x.numel())

    def _check(self, A: np.ndarray) -> None:
        for name, row, free in zip(self.s.rows.of, A, self.columns(A)):
            if all(_is_zero(x) for x in free) and not all(_is_zero(x) for x in row):
                led = [self.s.d.layout.v_names[d] for d in self.places if not _is_zero(row[d])]
                raise DescriptionError(
                    f"constraint '{name}' ties {', '.join(led)} alone, which kinematic inputs lead: nothing is left "
                    "that could give way. Remove the constraint, or one of the inputs."
                )


def _is_zero(x: Any) -> bool:
    return is_number(x) and x == 0.0
