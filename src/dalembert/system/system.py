"""A compiled mechanism: its equations, evaluated by name or by array."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

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
from dalembert.protocols import Parameters, StateGiven
from dalembert.system import kept
from dalembert.system.constraints import ConstraintQuestions
from dalembert.system.diagonal import Diagonal
from dalembert.system.state import State, frozen
from dalembert.system.trace import Description
from dalembert.system.vectors import filled

S = TypeVar("S", bound="System")
KEPT = 32  # things that other packages keep with a system


@hinted
class System(ConstraintQuestions):
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

        kept.checked(self._digest, check)

    def _set_up(self, layout: TreeLayout, backend: str) -> None:
        self.layout, self.backend = layout, backend
        mechanism = layout.mechanism
        self.name = mechanism.name
        self.nq, self.nv = self.layout.tree.nq, self.layout.tree.nv
        self.q_names, self.v_names = self.layout.q_names, self.layout.v_names
        self.u_names = _element_names(mechanism.inputs)
        self.p_names = _element_names(mechanism.parameters.symbols)
        use_parameters(self, {name: x.copy() for name, x in mechanism.parameters.values.items()})
        self.input_sizes = {name: u.numel() for name, u in mechanism.inputs.items()}
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
        self._forces = self.description.forces
        self._kept: dict[Any, Any] = {}
        self._functions, self._kernels = {}, {}
        self.changed = None

    # --- systems made from this one -------------------------------------------------------------------------------

    def with_parameters(self, values: Mapping[str, Any] | None = None, **named: Any) -> System:
        """A system with other default parameters, a mapping of values or named; nothing is compiled again."""
        given = {**({} if values is None else checks.mapping(values, "values")), **named}
        other = _twin(self, type(self))
        use_parameters(other, filled(given, self.parameters, "parameter"))
        if given:
            unset = filled(given, {name: np.full(len(x), np.nan) for name, x in self.parameters.items()}, "parameter")
            now = ~np.isnan(vector_of(unset))
            other.changed = now if self.changed is None else now | self.changed
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

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """A value that another package keeps with the system under a hashable key; the oldest are dropped.

        make: the function that makes it when it is first asked for.
        """
        found = self._kept.get(key)
        if found is None:
            oldest, *others = (*self._kept, None)  # a copy: other threads may add to it
            if len(others) >= KEPT:
                self._kept.pop(oldest, None)
            found = self._kept[key] = make()
        return found

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
        return _restored, (self.layout, self.backend, self.parameters, self._removed(), self.changed)

    def named_state(self, name: str) -> State:
        """The state that the mechanism knows by this name (`Mechanism.add_state`), with its inputs."""
        states = self.layout.mechanism.states
        if not isinstance(name, str) or name not in states:
            raise unknown("state", name, states)
        found = states[name]
        return self.state(found.q, found.v, found.t, u=found.u or None)

    @property
    def diagonal(self) -> Diagonal:
        """The diagonal equations of motion ν̇ + C(q, ν) = ε of Jain & Rodriguez, and the factor of M they rest on."""
        return Diagonal(self)

    # --- outside Python -------------------------------------------------------------------------------------------

    def export_c(
        self,
        folder: str | os.PathLike[str],
        state: StateGiven | None = None,
        *,
        p: Parameters = None,
        name: str | None = None,
        precision: str = "double",
        frames: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        independent: Sequence[Any] | None = None,
        active: Sequence[str] | None = None,
        controllers: Mapping[str, Any] | None = None,
        examples: bool = True,
    ) -> tuple[Path, ...]:
        """Write the mechanism as one C99 file and its header, for any computer or controller; returns the files.

        The C has no dependency but libm, no heap, no global state and no input or output: derivatives, multipliers,
        projections, steps, energies, and inverse dynamics where the mechanism has inputs. docs/export_c.md lists all.

        folder: where the files go; it is made. state: the start that is written, and where independent rows are chosen
        among redundant ones; by default the assembled neutral position. p: parameters, members of a struct in C.
        name: the prefix of all names in C; by default the mechanism's. precision: "double" or "float".
        frames: names whose poses and twists are wanted. outputs: as in `linearize`, functions of q and v.
        independent: coordinates of the exact linear model, as in `linearize`; [] chooses them, None leaves it out.
        active: coordinates from which all others are found, positions and velocities: what a robot's driver needs.
        controllers: {name: what `lqr` or `control.computed_torque` makes}. examples: whether to write a `main.c`, a
        cycle of a controller and a `CMakeLists.txt` too.

        >>> import tempfile
        >>> from dalembert import zoo
        >>> system = zoo.five_bar().compile()
        >>> [f.name for f in system.export_c(tempfile.mkdtemp(), system.state(*zoo.five_bar_start()))]
        ['five_bar.c', 'five_bar.h', 'main.c', 'realtime.c', 'CMakeLists.txt']
        """
        from dalembert.export.c import export_c

        return export_c(
            self, folder, state, p=p, name=name, precision=precision, frames=frames, outputs=outputs,
            independent=independent, active=active, controllers=controllers, examples=examples,
        )  # fmt: skip

    def export_fmu(
        self,
        path: str | os.PathLike[str],
        state: StateGiven | None = None,
        *,
        p: Parameters = None,
        name: str | None = None,
        frames: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        rtol: float = 1e-9,
        atol: float = 1e-10,
        platforms: Sequence[str] | None = None,
        version: str = "2.0",
        kind: str = "co-simulation",
    ) -> Path:
        """Write the mechanism as an FMU, with its sources; returns the file.

        For co-simulation the C of `export_c` and its adaptive steps run inside, over singular positions too. For model
        exchange another program's solver integrates independent coordinates, in charts that are changed at events;
        docs/export_fmu.md has the variables. Needs a C compiler, or the extra `export`, which brings one.

        path: the file, which ends with .fmu; it is replaced. state: where it starts; by default the assembled neutral
        position. p: parameters, which the FMU has as fixed ones. name: its identifier; by default the mechanism's.
        frames: names whose poses are outputs. outputs: as in `linearize`, functions of q and v. rtol, atol: tolerances,
        parameters of the FMU too. platforms: of "linux64", "win64", "darwin64", for version 3.0 of
        "x86_64-linux", "aarch64-linux", and so on with windows and darwin; default: this computer's. version: "2.0" or
        "3.0" of FMI. kind: "co-simulation" or "model-exchange".
        """
        from dalembert.export.fmu import export_fmu

        return export_fmu(
            self, path, state, p=p, name=name, frames=frames, outputs=outputs, rtol=rtol, atol=atol,
            platforms=platforms, version=version, kind=kind,
        )  # fmt: skip

    def __str__(self) -> str:
        return str(self.mechanism)

    def _repr_html_(self) -> str:
        """A picture of the neutral position, where loops are closed there, and the description, for notebooks."""
        from dalembert.view.notebook import picture_of_neutral

        return picture_of_neutral(self) + self.mechanism._repr_html_()

    def __repr__(self) -> str:
        sizes = f"nq = {self.nq}, nv = {self.nv}, {len(self.u_names)} inputs, {len(self.p_names)} parameters"
        return f"<system '{self.name}': {sizes}>"


def redescribed(system: System, description: Description, kind: type[S]) -> S:
    """A system of a class with other constraints, forces or parameters on the same tree; nothing is traced yet."""
    other = _twin(system, kind)
    for name in [n for n in vars(other) if isinstance(getattr(type(system), n, None), cached_property)]:
        del vars(other)[name]
    other._functions, other._kernels, other.description = {}, {}, description
    return other


def _twin(system: System, kind: type[S]) -> S:
    """A system that shares everything but what other packages keep with it."""
    other = object.__new__(kind)
    vars(other).update(vars(system), _kept={})
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
    system.changed = changed
    return system


def _element_names(symbols: Mapping[str, ca.SX]) -> list[str]:
    return [name if x.numel() == 1 else f"{name}[{k}]" for name, x in symbols.items() for k in range(x.numel())]


def use_parameters(system: System, parameters: dict[str, np.ndarray]) -> None:
    """Have a system that is being made use other values of its parameters where none are given."""
    system.parameters, system.defaults = parameters, frozen(vector_of(parameters))
