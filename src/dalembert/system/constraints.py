"""Equations of a constrained mechanism: residuals, accelerations, forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dalembert import checks
from dalembert.formulations import FORMULATIONS
from dalembert.outcome import Outcome
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.acceleration import Acceleration, eliminated, refused, solved
from dalembert.system.formulation_options import check_options
from dalembert.system.inertia import massless_velocity
from dalembert.system.reactions import Reactions, reactions
from dalembert.system.state import State

if TYPE_CHECKING:
    import numpy as np

    from dalembert.system.system import System

#: metric, variant, tolerance, floor, safety and independent of `acceleration` by default
USUAL = ("mass", 0, 1e-10, 1e-13, 100.0, ())


def residuals(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """Φ(q, t), (m,), m or rad; 0 for Pfaffian rows."""
    return _of_constraints(system, "residuals", state, p)[0]


def constraint_matrix(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """A(q, t), (m, nv)."""
    return _of_constraints(system, "constraints", state, p)[1]


def speed_residuals(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """A v + b, (m,)."""
    return _of_constraints(system, "residuals", state, p)[1]


def constraint_gamma(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """γ = Ȧ v + ḃ, (m,)."""
    return _of_constraints(system, "gamma", state, p)


def _of_constraints(system: System, name: str, state: StateGiven, p: Parameters) -> Any:
    """A function of the constraints themselves: those that close them ask with any parameters, loops being open."""
    if p is not None and isinstance(state, State) and state.p is not None and state.p is not p:
        state, p = system.arguments.begin(state, p)[0], None
    return system.kernels.evaluate(name, state, p=p)


def acceleration(
    system: System,
    state: StateGiven,
    tau: Any = None,
    *,
    u: Inputs = None,
    p: Parameters = None,
    formulation: str = "auto",
    metric: Any = "mass",
    variant: int = 0,
    tolerance: float = 1e-10,
    floor: float = 1e-13,
    safety: float = 100.0,
    damping: tuple[float, float] | None = None,
    independent: Iterable[str] = (),
    scale: float | None = None,
    active: Mapping[str, bool] | None = None,
) -> Acceleration:
    """Accelerations and constraint forces, redundant and singular constraints included.

    formulation: "auto" takes compiled sparse elimination where the constraints are safely independent (the angle of
    every row to the others above 1e-4 rad in the mass metric), and else "nullspace";
    "nullspace", "admissible", "projection", "partition", "lagrange" or "augmented" by name. variant: which of its
    paper's variants. metric: "mass", "euclidean", or weights (nv,) or (nv, nv); "innovations" is "mass" by Jain &
    Rodriguez' factor in O(N) a row instead of a Cholesky factor. tolerance: singular values below
    tolerance × the largest count as zero, and those below floor × the rows' usual size; safety: how near to that
    the SVD decides instead of QR. damping = (threshold, largest) softens the solution where the smallest singular
    value is below threshold, both in usual lengths of the rows. independent: names of the leading velocities for
    "partition". scale: σ of M_c″ for "projection", variant 2, Aghili's γ of (29), in the units of M in the metric;
    by default the mean of M's diagonal, and `subspaces(state, metric=...).best_scale` is the one of the smallest
    condition number. active: {constraint: False} switches constraints off.
    Trouble is in the result's status and message, not raised.

    >>> import dalembert as da
    >>> m = da.Mechanism("bead on a wire", gravity=(0, 0, -9.81))
    >>> bead = m.add_body("bead", mass=2.0, inertia=(1, 1, 1))
    >>> m.add_joint("float", da.Free(), m.ground, bead)
    >>> m.add_point_in_plane("table", bead, m.ground)
    >>> a = m.compile().acceleration({})
    >>> float(a.multipliers[0]), a.rank                             # the table carries the weight
    (19.62, 1)
    """
    own = system.arguments
    x = state if state.__class__ is State and state.layout is own.layout else own.as_state(state)
    if x.p is not x.u or x._defaults is not own.defaults:  # the same: both None
        x, u, p = own.resolve(x, u, p)
    plain = damping is scale is active is None and independent.__class__ is tuple and metric.__class__ is str
    numbers = tolerance.__class__ is floor.__class__ is safety.__class__ is float and variant.__class__ is int
    given = metric, variant, tolerance, floor, safety, independent
    usual = plain and numbers and given == USUAL and formulation.__class__ is str
    quick = eliminated(system, x, tau, u, p) if usual and formulation == "auto" else None
    if quick is not None:
        return quick
    if active is not None:
        checks.mapping(active, "active")
    if massless_velocity(system, x, p) is not None:
        return refused(system, Outcome.MASS_SINGULAR)
    if usual and formulation == "auto":
        formulation = "nullspace"
    elif not (usual and formulation in FORMULATIONS):
        checks.choice(formulation, ["auto", *FORMULATIONS], "formulation")
        formulation = "nullspace" if formulation == "auto" else formulation
        options = check_options(
            system, formulation, metric=metric, variant=variant, tolerance=tolerance, floor=floor,
            safety=safety, damping=damping, independent=independent, scale=scale,
        )  # fmt: skip
        return solved(system, x, tau, u, p, formulation, **options, active=active)
    return solved(
        system, x, tau, u, p, formulation, metric=metric, variant=variant, tolerance=tolerance, floor=floor,
        safety=safety, damping=damping, independent=(), scale=None, active=active,
    )  # fmt: skip


def constraint_forces(
    system: System, state: StateGiven, tau: Any = None, *, u: Inputs = None, p: Parameters = None, **options: Any
) -> Reactions:
    """Forces in every joint, tree joints included, with the acceleration that goes with them; options as above.

    >>> import dalembert as da
    >>> m = da.Mechanism("post", gravity=(0, 0, -10.0))
    >>> m.add_joint("foot", da.Fixed(), m.ground, m.add_body("post", mass=2.0, com=(0.5, 0, 0)))
    >>> [float(x) for x in m.compile().constraint_forces({}).joints["foot"]]     # moment, then force
    [0.0, -10.0, 0.0, 0.0, 0.0, 20.0]
    """
    x, u, p = system.arguments.resolve(state, u, p)
    a = acceleration(system, x, tau, u=u, p=p, **options)
    return reactions(system, x, a, u, p, system.arguments.active_rows(options.get("active")))
