"""Functions of the state for the diagonal equations of motion: what `system.functions` lists, traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.recursions.diagonal import DiagonalDynamics, dense
from dalembert.recursions.innovations import Innovations
from dalembert.recursions.kinematics import in_world_axes
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.tree import ROOT
from dalembert.spatial import AdInverse
from dalembert.symbols import zeros


def _dynamics(s: Any) -> DiagonalDynamics:
    """At (q, v)."""
    s.led.refuse("the diagonal equations of motion")
    factor = Innovations(s.at)
    return DiagonalDynamics(s.at, factor, factor.total(s.v))


def _coriolis(s: Any, normalized: bool) -> np.ndarray:
    d = _dynamics(s)
    return d.factor.unroot(d.coriolis()) - d.turning() if normalized else d.coriolis()


def _forward(s: Any, normalized: bool) -> np.ndarray:
    """Algorithm 8.1: ν̇ or ξ̇ of (q, v) and the forces, by a sweep outward and one inward."""
    d = _dynamics(s)
    driven = d.driven(s.tau + s.load.tau, s.d.gravity, s.load.wrenches)
    return rate_of(d, driven, normalized)


def rate_of(d: DiagonalDynamics, driven: np.ndarray, normalized: bool) -> np.ndarray:
    """Rates of the total rates under forces `driven`: normalized by the factor's roots, or divided by its blocks."""
    return d.factor.unroot(driven) + d.turning() if normalized else d.factor.divide(driven)


def _whitened(s: Any, factor: Innovations) -> np.ndarray:
    """Ã = A ℓᵀ, row by row: each reaches only the joints between its bodies and the ground."""
    return np.array([factor.ell(row) for row in s.rows.A], dtype=object).reshape(s.rows.A.shape)


def _delassus(s: Any) -> np.ndarray:
    """A M⁻¹ Aᵀ = Ã Ãᵀ."""
    W = _whitened(s, Innovations(s.at))
    return W @ W.T if W.size else zeros(len(W), len(W))


def _constrained(s: Any) -> tuple[Any, ...]:
    """ε, Ã and γ: all a formulation needs in the coordinates ν, where the mass matrix is 1."""
    s.led.refuse("the metric 'innovations'")
    factor = Innovations(s.at)
    f = s.tau + s.load.tau - newton_euler(s.at, zeros(s.tree.nv), s.d.gravity, s.load.wrenches)
    return factor.ell(f), _whitened(s, factor), s.rows.gamma


def _mobility(s: Any, frame: Any, axes: str) -> np.ndarray:
    """J M⁻¹ Jᵀ of a frame."""
    link, offset, R = s.frame(frame, axes)
    if link == ROOT:
        return zeros(6, 6)
    X = AdInverse(offset)
    Omega = X @ (X @ Innovations(s.at).mobility(link)).T
    return Omega if R is None else in_world_axes(R, in_world_axes(R, Omega).T)


#: the same for a question about a frame
DIAGONAL_FRAME: dict[str, tuple[tuple[str, ...], Callable[[Any, Any, str], Any]]] = {
    "mobility": (("q", "p"), _mobility),
}

#: name: (arguments, value of a trace)
DIAGONAL: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "total_rates": (("q", "v", "p"), lambda s: Innovations(s.at).m_transposed(s.v)),
    "total_rates_xi": (("q", "v", "p"), lambda s: Innovations(s.at).total(s.v)),
    "joint_rates": (("q", "dq", "p"), lambda s: Innovations(s.at).ell_transposed(s.dq)),
    "joint_rates_xi": (("q", "dq", "p"), lambda s: Innovations(s.at).rates(s.dq)),
    "working_forces": (("q", "tau", "p"), lambda s: Innovations(s.at).ell(s.tau)),
    "working_forces_xi": (("q", "tau", "p"), lambda s: Innovations(s.at).working(s.tau)),
    "joint_forces": (("q", "tau", "p"), lambda s: Innovations(s.at).m(s.tau)),
    "joint_forces_xi": (("q", "tau", "p"), lambda s: Innovations(s.at).applied(s.tau)),
    "solve_mass": (("q", "tau", "p"), lambda s: Innovations(s.at).solve(s.tau)),
    "log_determinant": (("q", "p"), lambda s: Innovations(s.at).log_determinant()),
    "diagonal_coriolis": (("q", "v", "p"), lambda s: _coriolis(s, True)),
    "diagonal_coriolis_xi": (("q", "v", "p"), lambda s: _coriolis(s, False)),
    "diagonal_dynamics": (("q", "v", "tau", "u", "p", "t"), lambda s: _forward(s, True)),
    "diagonal_dynamics_xi": (("q", "v", "tau", "u", "p", "t"), lambda s: _forward(s, False)),
    "whitened": (("q", "p", "t"), lambda s: _whitened(s, Innovations(s.at))),
    "delassus": (("q", "p", "t"), _delassus),
    "diagonal_constrained": (("q", "v", "tau", "u", "p", "t"), _constrained),
    "spatial_operators": (("q", "v", "p"), lambda s: dense(s.at)),
}

#: names of the outputs of those that have several
DIAGONAL_OUTPUTS: dict[str, tuple[str, ...]] = {
    "diagonal_constrained": ("epsilon", "whitened", "gamma"),
    "spatial_operators": ("H", "E", "M", "P", "D", "H_rate", "Omega", "P_rate"),
}
