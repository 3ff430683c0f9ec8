"""A compiled mechanism: its equations, evaluated by name or by array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import hinted
from dalembert.lazy import cached_property
from dalembert.mechanism.checks import check_laws, check_masses
from dalembert.mechanism.forces import JointSpringDamper
from dalembert.mechanism.joints import Fixed
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.topology import with_tree
from dalembert.mechanism.touching import compliant_stops
from dalembert.mechanism.values import is_exact_zero, vector_of
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system import constraints, dynamics, exporting, frames, moving, positions, trace_cache
from dalembert.system.acceleration import Solver
from dalembert.system.arguments import Arguments
from dalembert.system.diagonal import Diagonal
from dalembert.system.inertia import Inertias
from dalembert.system.kernels import Kernels
from dalembert.system.memo import Memo
from dalembert.system.rows import RowChoice, RowNames
from dalembert.system.state import State, frozen
from dalembert.system.trace import Description
from dalembert.system.vectors import filled

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

S = TypeVar("S", bound="System")


@hinted
class System:
    """The equations of motion of a mechanism; made by `Mechanism.compile`.

        M(q) v̇ + h(q, v) = τ + Q(q, v, u, p, t) + Aᵀλ,   Φ(q, t) = 0,   A(q, t) v + b(q, t) = 0

    h holds the Coriolis, centrifugal and gravity terms, Q what the described springs, dampers, motors and other forces
    exert, τ what is given besides, Aᵀλ what the constraints do. Nothing is compiled before it is first used. A system
    can be pickled: it travels as its mechanism and is traced again on arrival.

    Arguments that many methods share:

    - state: a `State`, a mapping of joint names to positions (at rest), or an array q (at rest)
    - frame: a frame (`body.at(...)`), a body, or the name of either; axes: "body" (the frame's own) or "world"
    - a, tau: accelerations and forces along the velocities, (nv,), arrays or mappings by name (the rest zero)
    - u: inputs, an array or a mapping by name; the rest are those of the state, else zero
    - p: parameters, an array or a mapping by name; the rest are those the state was made with, else the system's. A
      state whose loops close with its own parameters and not with these is refused
    - wrenches: {frame: (moment; force)} at the frame's origin in its own axes

    >>> import dalembert as da
    >>> m = da.Mechanism("cart", gravity=(0, 0, -9.81))
    >>> cart = m.add_body("cart", mass=2.0)
    >>> m.add_joint("rail", da.Prismatic("x"), m.ground, cart)
    >>> u = m.add_motor("push", "rail")
    >>> system = m.compile()
    >>> system.forward_dynamics({"rail": 0.3}, u={"push": 4.0})
    array([2.])
    """

    def __init__(self, mechanism: Mechanism, backend: str = "native"):
        checks.choice(backend, ("native", "casadi"), "backend")
        if not isinstance(mechanism, Mechanism):
            raise ArgumentError(f"mechanism is {checks.shown(mechanism)}; needed: a Mechanism.")
        layout = TreeLayout(with_tree(mechanism.snapshot()))
        self._set_up(layout, backend)

        def check() -> None:
            check_masses(layout, mechanism.parameters)
            check_laws(layout, mechanism)

        trace_cache.checked(self.kernels.digest, check)

    def _set_up(self, layout: TreeLayout, backend: str) -> None:
        self.layout, self.backend = layout, backend
        mechanism = layout.mechanism
        self.name = mechanism.name
        self.nq, self.nv = self.layout.tree.nq, self.layout.tree.nv
        self.q_names, self.v_names = self.layout.q_names, self.layout.v_names
        self.u_names = _element_names(mechanism.inputs)
        self.p_names = _element_names(mechanism.parameters.symbols)
        self.parameters = {name: x.copy() for name, x in mechanism.parameters.values.items()}
        springs = [
            JointSpringDamper(joint)
            for joint in self.layout.joints.values()
            if not all(is_exact_zero(x) for x in [*joint.stiffness, *joint.damping])
        ]
        self.description = Description(
            self.layout,
            TreeLayout(mechanism, lump=False) if any(_fixed(a) for a in layout.joints.values()) else layout,
            mechanism.gravity,
            (*springs, *compliant_stops(self.layout.joints.values()), *mechanism.forces.values()),
            tuple(mechanism.constraints.values()),
            dict(mechanism.inputs),
            dict(mechanism.parameters.symbols),
        )
        self.arguments, self.kernels = Arguments(self), Kernels(self)
        self._inertias, self.memo = Inertias(layout), Memo()

    # --- what users ask and give --------------------------------------------------------------------------------------

    def state(self, q: Any = None, v: Any = None, t: float = 0.0, *, p: Parameters = None, u: Inputs = None) -> State:
        """A state from positions q and velocities v, arrays or by name, at the time t (s).

        What is not named is neutral and at rest. Quaternions are normalized. p, u: the parameters and inputs it belongs
        to, which the questions about it then take from it.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
        >>> m.compile().state({"ball": da.rotation("z", 0.2)}, v={"ball.wz": 3.0}).rate("ball")
        array([0., 0., 3.])
        """
        return self.arguments.state(q, v, t, p, u)

    def named_state(self, name: str) -> State:
        """The state that the mechanism knows by this name (`Mechanism.add_state`), with its inputs."""
        states = self.layout.mechanism.states
        if not isinstance(name, str) or name not in states:
            raise unknown("state", name, states)
        found = states[name]
        return self.state(found.q, found.v, found.t, u=found.u or None)

    def function(self, name: str, *, frame: Any = None, axes: str = "body", rows: RowChoice = None) -> ca.Function:
        """The traced equations of a name (see docs/evaluating.md) as a `casadi.Function`, for optimizing with CasADi.

        Its arguments are those of (q, v, a or tau, u, p, t) that are not empty, in this order, by these names.
        frame: a frame, body or name, for functions of a frame; axes: its own ("body") or the ground's ("world"). rows:
        indices of the constraint rows to use, where not all.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_joint("A", da.Revolute("x"), m.ground, m.add_body("b", mass=1.0, com=(0, 1, 0)))
        >>> m.compile().function("inverse_dynamics")
        Function(inverse_dynamics:(q,v,a)->(inverse_dynamics) SXFunction)
        """
        return self.kernels.function(name, frame, axes, rows)

    def kernel(
        self, name: str, *, frame: Any = None, axes: str = "body", rows: RowChoice = None, lanes: int = 1
    ) -> Kernel:
        """The compiled form of `function`: called with arrays, in batches, or from Numba by its address.

        frame, axes: as in `function`; for "cut_joint" and "loop_wrench" frame is the name of a loop. rows: indices of
        the constraint rows to use, where not all. lanes: states computed at once, 1, 2, 4, 8 or 16.
        """
        return self.kernels.kernel(name, frame, axes, rows, lanes)

    def evaluate(
        self,
        name: str,
        state: StateGiven,
        *,
        frame: Any = None,
        axes: str = "body",
        rows: RowChoice = None,
        u: Inputs = None,
        p: Parameters = None,
        **more: Any,
    ) -> Any:
        """The value of a function of `kernel` at a state; inputs u and parameters p matter only where it has them.

        frame, axes, rows: as in `kernel`. more: its other arguments by name (a, tau, dq, …).
        """
        return self.kernels.evaluate(name, state, frame, axes, rows, u, p, more)

    @property
    def rows(self) -> RowNames:
        """The rows of the constraints: names, kinds, and which were left out."""
        return self.kernels.facts[0]

    @property
    def row_names(self) -> list[str]:
        """constraint.row of each row, in the order of Φ, A and λ."""
        return self.rows.names

    @property
    def work_names(self) -> tuple[str, ...]:
        """Whose work a simulation keeps account of: "inputs", "forces" (without potential), "drivers"."""
        return self.kernels.facts[1]

    @cached_property
    def _solver(self) -> Solver:
        """The prepared data of `acceleration` for the default parameters."""
        return Solver(self)

    # --- the subjects of its questions, a module each -----------------------------------------------------------------

    rates, plus, minus = moving.rates, moving.plus, moving.minus

    pose, twist, jacobian, jacobian_rate = frames.pose, frames.twist, frames.jacobian, frames.jacobian_rate
    jacobian_derivatives, frame_derivatives = frames.jacobian_derivatives, frames.frame_derivatives
    frame_acceleration = frames.frame_acceleration

    mass_matrix, bias, gravity_vector = dynamics.mass_matrix, dynamics.bias, dynamics.gravity_vector
    coriolis_vector, applied_forces = dynamics.coriolis_vector, dynamics.applied_forces
    input_matrix, forward_dynamics = dynamics.input_matrix, dynamics.forward_dynamics
    inverse_dynamics, inverse_dynamics_derivatives = dynamics.inverse_dynamics, dynamics.inverse_dynamics_derivatives
    kinetic_energy, potential_energy, energy = dynamics.kinetic_energy, dynamics.potential_energy, dynamics.energy
    lagrangian, momentum, center_of_mass = dynamics.lagrangian, dynamics.momentum, dynamics.center_of_mass

    residuals, speed_residuals = constraints.residuals, constraints.speed_residuals
    constraint_matrix, constraint_gamma = constraints.constraint_matrix, constraints.constraint_gamma
    acceleration, constraint_forces = constraints.acceleration, constraints.constraint_forces

    assemble, project, sweep, walk = positions.assemble, positions.project, positions.sweep, positions.walk
    report, subspaces, chart = positions.report, positions.subspaces, positions.chart

    export_c, export_fmu = exporting.export_c, exporting.export_fmu

    @property
    def diagonal(self) -> Diagonal:
        """The diagonal equations of motion ν̇ + C(q, ν) = ε of Jain & Rodriguez, and the factor of M they rest on."""
        return Diagonal(self)

    # --- systems made from this one -------------------------------------------------------------------------------

    def with_parameters(self, values: Mapping[str, Any] | None = None, **named: Any) -> System:
        """A system with other default parameters, a mapping of values or named; nothing is compiled again."""
        given = {**({} if values is None else checks.mapping(values, "values")), **named}
        other = _twin(self, type(self))
        use_parameters(other, filled(given, self.parameters, "parameter"))
        if given:
            unset = filled(given, {name: np.full(len(x), np.nan) for name, x in self.parameters.items()}, "parameter")
            now = ~np.isnan(vector_of(unset))
            before = self.arguments.changed
            other.arguments.changed = now if before is None else now | before
        return other

    def without(self, *constraints: str) -> System:
        """A system without some constraints (names): a loop that opens, a contact that ends.

        States pass from one to the other. To close a loop again, `project` a state of the open one that has come near.

        >>> from dalembert import zoo
        >>> system = zoo.four_bar().compile()
        >>> system.without("C").acceleration(system.state(*zoo.four_bar_start(0.6))).rank
        0
        """
        known = {c.name: c for c in self.description.constraints}
        for name in constraints:
            if not isinstance(name, str) or name not in known:
                raise unknown("constraint", name, known)
        rest = tuple(c for name, c in known.items() if name not in constraints)
        return redescribed(self, replace(self.description, constraints=rest), type(self))

    def with_constraints(self, *constraints: str) -> System:
        """A system in which some constraints (names) that had been removed hold again.

        >>> from dalembert import zoo
        >>> system = zoo.four_bar().compile()
        >>> opened = system.without("C")
        >>> len(opened.rows.of), len(opened.with_constraints("C").rows.of) == len(system.rows.of)
        (0, True)
        """
        known = self.layout.mechanism.constraints
        for name in constraints:
            if not isinstance(name, str) or name not in known:
                raise unknown("constraint", name, known)
        held = {*constraints, *(c.name for c in self.description.constraints)}
        again = tuple(c for name, c in known.items() if name in held)
        return redescribed(self, replace(self.description, constraints=again), type(self))

    def _removed(self) -> list[str]:
        """Constraints of the mechanism that were taken away."""
        kept = {c.name for c in self.description.constraints}
        return [name for name in self.layout.mechanism.constraints if name not in kept]

    @property
    def mechanism(self) -> Mechanism:
        """A copy of the mechanism this system is of, with the system's own parameters and constraints."""
        m = self.layout.mechanism.snapshot()
        for name in self._removed():
            del m.constraints[name]
        m.parameters.values.update(self.parameters)
        return m

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.layout, self.backend, self.parameters, self._removed(), self.arguments.changed)

    def __str__(self) -> str:
        return str(self.mechanism)

    def _repr_html_(self) -> str:
        """A picture of the neutral position, where loops are closed there, and the description, for notebooks."""
        from dalembert.view.notebook import picture_of_neutral

        return picture_of_neutral(self) + self.mechanism._repr_html_()

    def __repr__(self) -> str:
        sizes = f"nq = {self.nq}, nv = {self.nv}, {len(self.u_names)} inputs, {len(self.p_names)} parameters"
        return f"<system '{self.name}': {sizes}>"


def redescribed(
    system: System,
    description: Description,
    kind: type[S],
    arguments: type[Arguments] = Arguments,
    kernels: type[Kernels] = Kernels,
) -> S:
    """A system of a class with other constraints, forces or parameters on the same tree; nothing is traced yet.

    arguments, kernels: the classes of its parts.
    """
    other = _twin(system, kind)
    for name in [n for n in vars(other) if isinstance(getattr(type(system), n, None), cached_property)]:
        del vars(other)[name]
    other.description = description
    other.arguments, other.kernels = arguments.like(system.arguments, other), kernels(other, system.kernels.forces)
    return other


def _twin(system: System, kind: type[S]) -> S:
    """A system that shares everything but what is kept with it."""
    other = object.__new__(kind)
    vars(other).update(vars(system), memo=Memo())
    other.arguments = type(system.arguments).like(system.arguments, other)
    other.kernels = system.kernels.of(other)
    vars(other).pop("_solver", None)
    return other


def _fixed(attachment: Attachment) -> bool:
    return isinstance(attachment.joint, Fixed)


def _restored(
    layout: TreeLayout,
    backend: str,
    parameters: Mapping[str, np.ndarray],
    removed: Sequence[str],
    changed: np.ndarray | None,
) -> System:
    """A system from what it is pickled as."""
    system = object.__new__(System)
    system._set_up(layout, backend)
    system = system.without(*removed)
    use_parameters(system, dict(parameters))
    system.arguments.changed = changed
    return system


def _element_names(symbols: Mapping[str, ca.SX]) -> list[str]:
    return [name if x.numel() == 1 else f"{name}[{k}]" for name, x in symbols.items() for k in range(x.numel())]


def use_parameters(system: System, parameters: dict[str, np.ndarray]) -> None:
    """Have a system that is being made use other values of its parameters where none are given."""
    system.parameters, system.arguments.defaults = parameters, frozen(vector_of(parameters))
