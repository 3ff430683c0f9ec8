"""Inverse dynamics of closed chains: the smallest actuator forces for a motion (Aghili 21, 43, 46-47, 53-62).

The equations are those of `native.allocation`. A solution exists for every admissible motion just where KᵀB has as many
independent rows as the mechanism has freedoms: that is (56), which with N ∩ N⊥ = 0 means that no admissible motion
leaves all actuators at rest (62). The motions K z with zᵀKᵀB = 0 are those that no actuator can drive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from dalembert.checks import number, vector
from dalembert.control.allocator import Allocator
from dalembert.control.bounds import Cone, MotionBounds
from dalembert.control.evidence import ActuatorForces, explain
from dalembert.control.measures import Measure
from dalembert.control.plant import Plant
from dalembert.control.references import LimitsGiven, MetricGiven
from dalembert.hints import explained
from dalembert.protocols import Active, Parameters, StateGiven, check_system
from dalembert.system.system import System


@explained
def actuator_forces(
    system: System,
    state: StateGiven,
    vdot: Mapping[str, Any] | ArrayLike | None = None,
    *,
    actuated: Iterable[str] | None = None,
    metric: MetricGiven = "euclidean",
    limits: LimitsGiven = None,
    reactions: Mapping[str, Any] | None = None,
    cones: Iterable[Cone] | None = None,
    accelerations: LimitsGiven = None,
    measures: Mapping[str, Measure] | None = None,
    epsilon: float = 0.0,
    p: Parameters = None,
    active: Active = None,
    tolerance: float = 1e-9,
) -> ActuatorForces:
    """The smallest actuator forces that give a constrained mechanism accelerations v̇ (inverse dynamics).

    vdot: v̇, (nv,), whose forbidden part is removed in the mass metric and reported; or by name, and the rest
    follows, as small as the constraints allow; None is the smallest of all, v̇ = 0 at rest. actuated: names of inputs,
    joints or velocities; default: the inputs, or all velocities if there are none.

    metric: what a small force is. "euclidean": Σu². {name: scale}: Σ(u/scale)², for unlike units or actuators (limits,
    a characteristic length). "mass": τᵀM⁻¹τ of τ = B u. Weights W, (nv,) or (nv, nv), of velocities: τᵀW⁻¹τ (47),
    such as `analysis.subspaces.characteristic_length` makes them. limits: {actuator: bound or (lower, upper)}, or one
    bound for all. reactions: the same for multipliers by row ("loop.row"), say (0, inf) for a contact that can only
    push. cones: friction cones of multipliers, a list of `Cone`. accelerations: bounds of v̇ by velocity. measures:
    {name: `combination` or `force_along`}, to bound under their names and to read in the result.

    p: parameters. active: {constraint: False} switches constraints off. epsilon: singular values of A up to it count as
    zero (68), in the units of its rows; 0: rounding alone decides. tolerance: singular values of A count as zero up to
    this part of the largest, those of KᵀB up to this part of the largest of R⁻ᵀB, M = RᵀR.

    Trouble is in the result's status and message, with names.

    >>> from dalembert import control, zoo
    >>> system = zoo.five_bar().compile()
    >>> state = system.state(*zoo.five_bar_start(0.5))
    >>> lift = control.actuator_forces(system, state, {"A": 1.0})
    >>> lift.success, lift.reach, lift.redundancy
    (True, 2, 0)
    >>> one = control.actuator_forces(system, state, {"A": 1.0}, actuated=["left"])
    >>> one.reach, one.mobility, one.status.name
    (1, 2, 'UNREACHED')
    """
    check_system(system)
    x, _, p = system.arguments.resolve(state, None, p)
    plant = Plant(system, actuated, p=p, measures=measures)

    def make() -> Allocator:
        motion = MotionBounds.of(system, None, None, accelerations)
        small = number(epsilon, "epsilon", least=0.0)
        return Allocator(plant, metric, limits, reactions, cones, tolerance, motion=motion, epsilon=small)

    plain = isinstance(metric, str) and isinstance(tolerance, float)
    plain = plain and not any(x is not None for x in (limits, reactions, cones, accelerations, measures))
    plain = plain and epsilon == 0.0
    key = ("forces", plant.actuators, metric, tolerance, plant.p.tobytes()) if plain else None
    allocator = make() if key is None else system.memo(key, make)
    a, off = allocator.take(), None
    allocator.switch(a, active)
    if vdot is None or isinstance(vdot, Mapping):
        off = allocator.complete(a, x, vdot or {})
    else:
        a.wanted_motion[:] = vector(vdot, system.nv, "vdot")
    found = explain(allocator, a, x, off=off)
    allocator.give(a)
    return found


__all__ = ["ActuatorForces", "actuator_forces"]
