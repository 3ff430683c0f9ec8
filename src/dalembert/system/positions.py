"""Positions of a constrained mechanism: assembled, led along its branch, projected; what the constraints are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dalembert.analysis.assembly import assemble as _assemble
from dalembert.analysis.assembly import project as _project
from dalembert.analysis.mobility import Report
from dalembert.analysis.mobility import report as _report
from dalembert.analysis.subspaces import Subspaces
from dalembert.analysis.subspaces import subspaces as _subspaces
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.formulation_options import metric_factor, of_mass

if TYPE_CHECKING:
    from dalembert.analysis.sweep import Sweep
    from dalembert.charts import LocalChart
    from dalembert.system.system import System


def assemble(
    system: System,
    q: Mapping[str, Any] | None = None,
    v: Mapping[str, Any] | None = None,
    *,
    guess: Any = None,
    t: float = 0.0,
    p: Parameters = None,
    active: Mapping[str, bool] | None = None,
    tolerance: float = 1e-11,
    branches: int | str = 1,
    attempts: int | None = None,
    seed: int = 0,
    frames: Mapping[Any, Any] | None = None,
    limits: bool | None = None,
) -> Any:
    """A state on the manifold: the named coordinates and velocities are held, the rest follows from the guess.

    q, v: held coordinates and velocities of joints of the tree, by name. guess: positions by name, an array q, or a
    state; default neutral. t: time, s. active: {constraint: False} switches constraints off. tolerance: residual
    that counts as closed, rad or lengths of the mechanism. Velocities that are not held come out as small as the
    constraints allow (in the mass metric). The state's `evidence` has residuals, iterations and rank.
    With branches > 1, a list of up to that many different assemblies, found from random starts with this seed; with
    branches="all" every assembly mode that random starts over all configurations find, as `AssemblyModes`, with an
    estimate of their number. attempts: starts after which the search gives up, the first from the guess and the
    others around it (default 12; of "all" 4096); it ends sooner when several come to the same gap.
    frames: {frame: where it is held}, the inverse kinematics: a point (3,), None where it is free, a rotation
    (3, 3), a pose (4, 4), or a mapping such as {"position": (x, y, z), "z": direction} of position, rotation and
    one axis, in the ground. From a guess with open loops, these are closed first and the frames walked to their
    goals from there; of that position and the one that Newton's method finds, the nearer to the guess is taken.
    limits: whether coordinates must be within the limits of their joints; default with frames they must.
    Raises AssemblyError where nothing closes, naming the constraints in conflict and their gaps where they come
    nearest. In a singular position the velocity is one that a motion has.

    >>> import dalembert as da
    >>> m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
    >>> a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    >>> m.add_joint("A", da.Revolute("z"), m.ground, a)
    >>> m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0, 0), b)
    >>> m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
    >>> x = m.compile().assemble(guess={"A": 0.9, "B": 2.0})
    >>> round(x["A"] / 3.141592653589793, 9), round(x["B"] / 3.141592653589793, 9)
    (0.333333333, 0.666666667)
    """
    found = _assemble(system, q, v, guess, t, p, active, tolerance, branches, attempts, seed, frames, limits)
    return found[0] if branches == 1 else found


def sweep(
    system: System,
    along: Mapping[str, Any] | None = None,
    state: StateGiven | None = None,
    *,
    frames: Mapping[Any, Any] | None = None,
    held: Mapping[str, Any] | None = None,
    speed: Any = None,
    acceleration: Any = None,
    u: Inputs = None,
    p: Parameters = None,
    progress: Callable[[float], Any] | None = None,
    limits: str = "mark",
    through: bool = False,
) -> Sweep:
    """Positions, velocities, accelerations and forces as coordinates, frames or parameters go through values.

    The mechanism is led from each value to the next by continuation with step control, so it stays on its branch.
    Dead points (what is led turns back) and branch points on the way are found and named in `points`. What cannot
    be reached is told in `message`, with all that was reached before.

    along: {name: K values} of coordinates of the tree, parameters, or "t" (s); several go together, along straight
    lines. state: one on the branch that is meant, from which the first values are reached along it; positions by
    name are a guess; default assembled. frames: {frame: K goals} as in `assemble`, such as (K, 3) points or
    (K, 4, 4) poses. held: coordinates that stay, by name. speed, acceleration: those of what is led, by name or one
    for all values: a number or (K,), for frames a velocity (3,) or a twist (6,) in the ground's axes, or K of them;
    default at rest. u: inputs that act besides what leads. progress: called with the part that is done.

    limits: where a joint passes a limit, "mark" it in `points`, "stop" there, or "ignore" it. through: go on behind
    dead points of the one coordinate that is led, which then goes back through its values, until it comes to the
    first or the last of them.

    >>> import numpy as np
    >>> from dalembert import zoo
    >>> system = zoo.slider_crank().compile()
    >>> turn = system.sweep({"A": np.radians([0, 90, 180])}, speed=10.0)
    >>> turn["guide"].round(4), turn.rate("guide").round(4) + 0.0
    (array([0.6   , 0.4243, 0.3   ]), array([ 0. , -1.5,  0. ]))
    """
    from dalembert.analysis.sweeping import sweep as _sweep

    return _sweep(
        system, along, state, frames=frames, held=held, speed=speed, acceleration=acceleration, u=u, p=p,
        progress=progress, limits=limits, through=through,
    )  # fmt: skip


def walk(
    system: System,
    state: StateGiven,
    to: Mapping[str, Any] | None = None,
    *,
    frames: Mapping[Any, Any] | None = None,
    held: Mapping[str, Any] | None = None,
    p: Parameters = None,
) -> Any:
    """The state at rest at other values of coordinates, on the branch of a state whose loops are closed.

    to: {name: value} of coordinates, parameters, or "t". frames: {frame: goal} as in `assemble`. held: coordinates
    that stay at a value, by name. What is led goes along straight lines. Raises AssemblyError where the branch ends
    before it, with the place and the reason.

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> x = system.walk(system.state(*zoo.four_bar_start(0.6)), to={"A": 3.9})
    >>> bool(abs(x["D"] - zoo.four_bar_start(3.9)[0]["D"]) < 1e-10)
    True
    """
    from dalembert.analysis.sweeping import walk as _walk

    return _walk(system, state, to, frames=frames, held=held, p=p)


def project(
    system: System,
    state: StateGiven,
    *,
    p: Parameters = None,
    active: Mapping[str, bool] | None = None,
    tolerance: float = 1e-11,
) -> Any:
    """The state on the manifold nearest a given one, in the mass metric: position first, then velocity.

    active, tolerance: as in `assemble`.
    """
    x, p = system.arguments.begin(state, p)
    return _project(system, x, p, active, tolerance)


def subspaces(
    system: System,
    state: StateGiven,
    *,
    metric: Any = "mass",
    p: Parameters = None,
    active: Mapping[str, bool] | None = None,
    tolerance: float = 1e-9,
    epsilon: float = 0.0,
) -> Subspaces:
    """Admissible and constrained motion at a state: projectors, bases, inertias.

    metric: as in `acceleration`. active: {constraint: False} switches constraints off. tolerance: singular values
    of A up to this part of the largest count as zero. epsilon: those of A up to this count as zero whatever the
    largest is, in the units of its rows (Aghili 68): next to a singular position a constraint is then ignored.
    """
    W = None
    if not of_mass(metric):
        _, factor = metric_factor(metric, system.nv)
        W = factor.T @ factor
    x, _, p = system.arguments.resolve(state, None, p)
    return _subspaces(system, x, p, system.arguments.active_rows(active), W, tolerance, epsilon)


def chart(system: System, state: StateGiven, coordinates: Any = "tangent", *, p: Parameters = None) -> LocalChart:
    """Independent coordinates around a state on the manifold, with Ψ, its inverse and its derivatives.

    coordinates: names of joint coordinates, of the tree or cut, "partition", "tangent", or a `da.Chart`, as in
    `simulate`. p: parameters, by name or as an array.

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> x = system.state(*zoo.four_bar_start(0.6))
    >>> chart = system.chart(x, ["A"])
    >>> y = chart.state([0.7])
    >>> bool(abs(chart.coordinates(y) - 0.7).max() < 1e-12), chart.K(y).shape
    (True, (3, 1))
    """
    from dalembert.charts import choose

    return choose(system, state, p, coordinates)


def report(
    system: System, state: StateGiven | None = None, *, p: Parameters = None, active: Mapping[str, bool] | None = None
) -> Report:
    """Mobility, redundancy, determinate forces and distance to singularity at a state (default: assembled).

    active: {constraint: False} switches constraints off.
    """
    x, _, p = system.arguments.resolve(assemble(system, p=p, active=active) if state is None else state, None, p)
    return _report(system, x, p, system.arguments.active_rows(active))
