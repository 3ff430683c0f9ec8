"""Questions about a constrained mechanism: residuals, accelerations, forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert import checks
from dalembert.analysis.assembly import assemble, project
from dalembert.analysis.mobility import Report, report
from dalembert.analysis.subspaces import Subspaces, subspaces
from dalembert.errors import unknown
from dalembert.formulations import FORMULATIONS
from dalembert.lazy import cached_property
from dalembert.outcome import Outcome
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.acceleration import Acceleration, Solver, eliminated, refused, solved
from dalembert.system.formulation_options import check_options, metric_factor, of_mass
from dalembert.system.reactions import Reactions, reactions
from dalembert.system.state import State
from dalembert.system.tree import TreeQuestions

if TYPE_CHECKING:
    from dalembert.analysis.sweep import Sweep
    from dalembert.charts import LocalChart
    from dalembert.system.system import System

#: metric, variant, tolerance, floor, safety and independent of `acceleration` by default
USUAL = ("mass", 0, 1e-10, 1e-13, 100.0, ())


class ConstraintQuestions(TreeQuestions):
    """The part of `System` that knows constraints."""

    @property
    def row_names(self) -> list[str]:
        """constraint.row of each row, in the order of Φ, A and λ."""
        return self.rows.names

    def residuals(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """Φ(q, t), (m,), m or rad; 0 for Pfaffian rows."""
        return self._of_constraints("residuals", state, p)[0]

    def constraint_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """A(q, t), (m, nv)."""
        return self._of_constraints("constraints", state, p)[1]

    def speed_residuals(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """A v + b, (m,)."""
        return self._of_constraints("residuals", state, p)[1]

    def constraint_gamma(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """γ = Ȧ v + ḃ, (m,)."""
        return self._of_constraints("gamma", state, p)

    def _of_constraints(self, name: str, state: StateGiven, p: Parameters) -> Any:
        """A function of the constraints themselves: those that close them ask with any parameters, loops being open."""
        if p is not None and isinstance(state, State) and state.p is not None and state.p is not p:
            state, p = self.begin(state, p)[0], None
        return self.evaluate(name, state, p=p)

    def cut_joint(self, state: StateGiven, loop: str, *, p: Parameters = None) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of the joint that closes a loop: Spencer's virtual coordinates. Angles in (−π, π]."""
        return self.evaluate("cut_joint", state, frame=loop, p=p)

    def acceleration(
        self,
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
        x = state if state.__class__ is State and state.layout is self.layout else self.as_state(state)
        if x.p is not x.u or x.defaults is not self.defaults:  # the same: both None
            x, u, p = self.resolve(x, u, p)
        plain = damping is scale is active is None and independent.__class__ is tuple and metric.__class__ is str
        numbers = tolerance.__class__ is floor.__class__ is safety.__class__ is float and variant.__class__ is int
        given = metric, variant, tolerance, floor, safety, independent
        usual = plain and numbers and given == USUAL and formulation.__class__ is str
        quick = eliminated(self, x, tau, u, p) if usual and formulation == "auto" else None  # type: ignore[arg-type]
        if quick is not None:
            return quick
        if active is not None:
            checks.mapping(active, "active")
        if self._massless(x, p) is not None:
            return refused(_whole(self), Outcome.MASS_SINGULAR)
        if usual and formulation == "auto":
            formulation = "nullspace"
        elif not (usual and formulation in FORMULATIONS):
            checks.choice(formulation, ["auto", *FORMULATIONS], "formulation")
            formulation = "nullspace" if formulation == "auto" else formulation
            options = check_options(
                _whole(self), formulation, metric=metric, variant=variant, tolerance=tolerance, floor=floor,
                safety=safety, damping=damping, independent=independent, scale=scale,
            )  # fmt: skip
            return solved(_whole(self), x, tau, u, p, formulation, **options, active=active)
        return solved(
            _whole(self), x, tau, u, p, formulation, metric=metric, variant=variant, tolerance=tolerance, floor=floor,
            safety=safety, damping=damping, independent=(), scale=None, active=active,
        )  # fmt: skip

    @property
    def solver(self) -> Solver:
        """The prepared data of `acceleration` for the default parameters."""
        found = self._solver
        if found.parameters is not self.parameters:
            found = self.__dict__["_solver"] = Solver(_whole(self))
        return found

    @cached_property
    def _solver(self) -> Solver:
        return Solver(_whole(self))

    def constraint_forces(
        self, state: StateGiven, tau: Any = None, *, u: Inputs = None, p: Parameters = None, **options: Any
    ) -> Reactions:
        """Forces in every joint, tree joints included, with the acceleration that goes with them; options as above.

        >>> import dalembert as da
        >>> m = da.Mechanism("post", gravity=(0, 0, -10.0))
        >>> m.add_joint("foot", da.Fixed(), m.ground, m.add_body("post", mass=2.0, com=(0.5, 0, 0)))
        >>> [float(x) for x in m.compile().constraint_forces({}).joints["foot"]]     # moment, then force
        [0.0, -10.0, 0.0, 0.0, 0.0, 20.0]
        """
        x, u, p = self.resolve(state, u, p)
        a = self.acceleration(x, tau, u=u, p=p, **options)
        return reactions(_whole(self), x, a, u, p, self.active_rows(options.get("active")))

    def subspaces(
        self,
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
            _, factor = metric_factor(metric, self.nv)
            W = factor.T @ factor
        x, _, p = self.resolve(state, None, p)
        return subspaces(_whole(self), x, p, self.active_rows(active), W, tolerance, epsilon)

    def chart(self, state: StateGiven, coordinates: Any = "tangent", *, p: Parameters = None) -> LocalChart:
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

        return choose(_whole(self), state, p, coordinates)

    def report(
        self, state: StateGiven | None = None, *, p: Parameters = None, active: Mapping[str, bool] | None = None
    ) -> Report:
        """Mobility, redundancy, determinate forces and distance to singularity at a state (default: assembled).

        active: {constraint: False} switches constraints off.
        """
        x, _, p = self.resolve(self.assemble(p=p, active=active) if state is None else state, None, p)
        return report(_whole(self), x, p, self.active_rows(active))

    def assemble(
        self,
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
        found = assemble(_whole(self), q, v, guess, t, p, active, tolerance, branches, attempts, seed, frames, limits)
        return found[0] if branches == 1 else found

    def sweep(
        self,
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
        from dalembert.analysis.sweeping import sweep

        return sweep(
            _whole(self), along, state, frames=frames, held=held, speed=speed, acceleration=acceleration, u=u, p=p,
            progress=progress, limits=limits, through=through,
        )  # fmt: skip

    def walk(
        self,
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
        from dalembert.analysis.sweeping import walk

        return walk(_whole(self), state, to, frames=frames, held=held, p=p)

    def project(
        self,
        state: StateGiven,
        *,
        p: Parameters = None,
        active: Mapping[str, bool] | None = None,
        tolerance: float = 1e-11,
    ) -> Any:
        """The state on the manifold nearest a given one, in the mass metric: position first, then velocity.

        active, tolerance: as in `assemble`.
        """
        x, p = self.begin(state, p)
        return project(_whole(self), x, p, active, tolerance)

    def active_rows(self, active: Mapping[str, bool] | None) -> np.ndarray:
        """(m,) bool: which rows count when the constraints named in `active` are switched on or off."""
        on = np.ones(len(self.rows.of), dtype=bool)
        for name, value in ({} if active is None else checks.mapping(active, "active")).items():
            if not isinstance(name, str) or name not in self.rows.of:
                raise unknown("constraint", name, dict.fromkeys(self.rows.of))
            on[[c == name for c in self.rows.of]] = checks.flag(value, f"active['{name}']")
        return on


def _whole(part: ConstraintQuestions) -> System:
    """The system that this is a part of."""
    return cast("System", part)
