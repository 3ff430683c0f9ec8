"""Types of systems and states for packages that stand below them, and of the arguments users give.

`System` and `State` of `dalembert.system` satisfy `SystemLike` and `StateLike`. Packages below `system` in the import
order use the protocols, packages above it the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError


class RowsLike(Protocol):
    """The rows of the constraints; m of them."""

    @property
    def of(self) -> tuple[str, ...]:
        """(m,) name of the constraint of each row."""

    @property
    def trivial(self) -> tuple[str, ...]:
        """constraint.row of the rows that always hold and were left out."""

    @property
    def holonomic(self) -> np.ndarray:
        """(m,) bool."""

    @property
    def angular(self) -> np.ndarray:
        """(m,) bool: the row is in radians, its multiplier a moment."""

    @property
    def own(self) -> np.ndarray:
        """(m,) bool: the row is in a unit of the user's."""

    @property
    def dense(self) -> bool:
        """Whether rows couple so many velocities that equations are solved in loops."""

    @property
    def branch_of(self) -> tuple[str, ...]:
        """Name of the constraint of each number that is positive on the branch the user means."""

    @property
    def branch_signs(self) -> tuple[str, ...]:
        """What is wrong where it is negative."""


class LayoutLike(Protocol):
    """The tree of a mechanism and the places of its names in q and v."""

    @property
    def joints(self) -> Mapping[str, Any]:
        """Attachments of the tree's joints by name, parents first."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that motions may depend on, by where it is in the description: texts and numbers."""

    @property
    def tree(self) -> Any:
        """The `recursions.tree.Tree`."""

    @property
    def mechanism(self) -> Any:
        """The description it was made from."""

    @property
    def length(self) -> float:
        """A length of the mechanism's size, m."""

    def q_slice(self, joint: str) -> slice:
        """The place of a joint's coordinates in q."""

    def v_slice(self, joint: str) -> slice:
        """The place of a joint's velocities in v."""

    def frame(self, frame: Any) -> Any:
        """A frame from itself, a body, or the name of either."""


class StateLike(Protocol):
    """Positions and velocities of a mechanism at a time."""

    @property
    def q(self) -> np.ndarray:
        """(nq,)."""

    @property
    def v(self) -> np.ndarray:
        """(nv,)."""

    @property
    def t(self) -> float:
        """Time, s."""

    @property
    def layout(self) -> Any:
        """The layout of the mechanism it is a state of."""

    def replace(self, q: Any = None, v: Any = None, t: float | None = None, evidence: Any = None) -> StateLike:
        """This state with some of its parts changed."""


class RunLike(Protocol):
    """A run of a simulation: N states of a system."""

    @property
    def system(self) -> SystemLike:
        """The system that moved."""

    @property
    def p(self) -> np.ndarray:
        """(parameters,)."""

    @property
    def t(self) -> np.ndarray:
        """(N,) times, s."""

    @property
    def q(self) -> np.ndarray:
        """(N, nq)."""

    @property
    def v(self) -> np.ndarray:
        """(N, nv)."""

    @property
    def message(self) -> str:
        """A sentence about its end."""

    @property
    def passages(self) -> tuple[Any, ...]:
        """Singular positions it passed: each with start, end (s) and rank."""

    @property
    def kinetic_energy(self) -> np.ndarray:
        """(N,) J."""

    @property
    def potential_energy(self) -> np.ndarray:
        """(N,) J."""

    @property
    def energy(self) -> np.ndarray:
        """(N,) J."""

    @property
    def energy_error(self) -> np.ndarray:
        """(N,) J."""

    @property
    def residuals(self) -> np.ndarray:
        """(N,) largest |Φ|, m or rad."""

    def state(self, k: int = -1) -> StateLike:
        """State number k."""

    def rate(self, name: str) -> np.ndarray:
        """(N,) or (N, k) velocities by name."""

    def __getitem__(self, name: str) -> np.ndarray:
        """(N,) or (N, k) coordinates by name."""


#: a state as users give it: a state, positions by name, or an array q; the last two are at rest
StateGiven = StateLike | Mapping[str, Any] | ArrayLike
#: parameters as users give them: by name (the rest the state's, or the system's), as an array of all, or None
Parameters = Mapping[str, Any] | ArrayLike | None
#: inputs as users give them: by name (the rest the state's, or zero), as an array of all, or None
Inputs = Mapping[str, Any] | ArrayLike | None
#: constraints switched on or off by name, or None: all on
Active = Mapping[str, bool] | None


class ArgumentsLike(Protocol):
    """Arguments that users give, as arrays and states; see `dalembert.system.arguments`."""

    def as_state(self, state: StateGiven) -> StateLike: ...
    def resolve(
        self, state: StateGiven, u: Any, p: Parameters, *, search: bool = False
    ) -> tuple[Any, Any, Parameters]: ...
    def begin(self, state: StateGiven, p: Parameters) -> tuple[Any, Parameters]: ...
    def belonging(self, x: Any, p: Parameters, u: np.ndarray | None = None) -> Any: ...
    def velocity_vector(self, x: Any, what: str) -> np.ndarray: ...
    def input_vector(self, u: Any) -> np.ndarray: ...
    def parameter_vector(self, p: Parameters) -> np.ndarray: ...
    def active_rows(self, active: Active) -> np.ndarray: ...

    @property
    def input_sizes(self) -> dict[str, int]: ...


class SystemLike(Protocol):
    """A compiled mechanism: the questions that lower packages ask of it; see `System` for what each means."""

    @property
    def name(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def q_names(self) -> list[str]: ...
    @property
    def v_names(self) -> list[str]: ...
    @property
    def u_names(self) -> list[str]: ...
    @property
    def p_names(self) -> list[str]: ...
    @property
    def row_names(self) -> list[str]: ...
    @property
    def layout(self) -> LayoutLike: ...
    @property
    def rows(self) -> RowsLike: ...
    @property
    def description(self) -> Any: ...
    @property
    def arguments(self) -> ArgumentsLike: ...
    @property
    def kernels(self) -> Any: ...
    @property
    def memo(self) -> Callable[[Any, Callable[[], Any]], Any]: ...

    def state(self, q: Any = None, v: Any = None, t: float = 0.0) -> StateLike: ...
    def named_state(self, name: str) -> StateLike: ...
    def function(self, name: str, *, rows: tuple[int, ...] | None = None) -> Any: ...
    def kernel(
        self, name: str, *, frame: Any = None, axes: str = "body", rows: tuple[int, ...] | None = None, lanes: int = 1
    ) -> Any: ...
    def evaluate(
        self,
        name: str,
        state: StateGiven,
        *,
        frame: Any = None,
        rows: tuple[int, ...] | None = None,
        u: Any = None,
        p: Parameters = None,
        **more: Any,
    ) -> Any: ...
    def rates(self, state: StateGiven) -> np.ndarray: ...
    def plus(self, q: Any, delta: Any) -> np.ndarray: ...
    def minus(self, q1: Any, q0: Any) -> np.ndarray: ...
    def mass_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray: ...
    def constraint_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray: ...
    def residuals(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray: ...
    def assemble(
        self,
        q: Mapping[str, Any] | None = None,
        v: Mapping[str, Any] | None = None,
        *,
        guess: Any = None,
        t: float = 0.0,
        p: Parameters = None,
        attempts: int | None = None,
        frames: Mapping[Any, Any] | None = None,
        limits: bool | None = None,
    ) -> StateLike: ...
    def project(
        self, state: StateGiven, *, p: Parameters = None, active: Active = None, tolerance: float = 1e-11
    ) -> StateLike: ...


def positions_only(system: SystemLike, what: str) -> None:
    """Refuse a system with a constraint that binds velocities; what: the rest of the sentence, what follows from it."""
    for name, holonomic in zip(system.rows.of, system.rows.holonomic):
        if not holonomic:
            raise ArgumentError(f"'{name}' binds velocities{what}")


def check_system(system: Any) -> None:
    """Refuse an argument `system` that is no compiled system.

    >>> check_system("four-bar")
    Traceback (most recent call last):
    dalembert.errors.ArgumentError: system is 'four-bar' (str); needed: a System, as mechanism.compile() returns it.
    """
    kind = type(system)
    if not (hasattr(kind, "kernel") and hasattr(kind, "assemble")):  # isinstance of a Protocol takes 100 µs
        raise ArgumentError(f"system is {checks.shown(system)}; needed: a System, as mechanism.compile() returns it.")
