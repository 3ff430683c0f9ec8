"""Whether every velocity of a system moves mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import AssemblyError
from dalembert.lazy import cached_property
from dalembert.mechanism.checks import has_numbers, solid
from dalembert.mechanism.layout import TreeLayout
from dalembert.protocols import Parameters, StateGiven
from dalembert.rank import massless

if TYPE_CHECKING:
    from dalembert.system.system import System


class Inertias:
    """What is known of the inertias of a layout whatever its state is."""

    def __init__(self, layout: TreeLayout):
        self.layout = layout

    @cached_property
    def solid(self) -> bool:
        """Whether every velocity moves mass at any state, with the declared parameters."""
        return solid(self.layout, self.layout.mechanism.parameters)

    @cached_property
    def are_numbers(self) -> bool:
        """Whether no parameter is in them."""
        return all(has_numbers(link.inertia) for link in self.layout.tree.links)


def varies_inertia(system: System, p: Parameters) -> bool:
    """Whether parameters p are given that masses or inertias depend on."""
    return p is not None and not system._inertias.are_numbers


def massless_velocity(system: System, state: StateGiven, p: Parameters = None) -> str | None:
    """A velocity, by name, that moves no mass at a state; None where there is none."""
    safe = system._inertias.solid
    if safe and system._inertias.are_numbers:
        return None
    x, _, p = system.arguments.resolve(state, None, p)
    return None if safe and p is None else massless(system, x, p)


def check_mass(system: System, state: StateGiven, p: Parameters = None) -> None:
    """Raise `AssemblyError` for a state in which some velocity moves no mass, naming it."""
    still = massless_velocity(system, state, p)
    if still is not None:
        raise AssemblyError(
            f"the mass matrix is singular at this configuration: '{still}' moves no mass there, or negative mass. "
            "Give the bodies it moves mass and inertia (by their parameters too), or its joint an armature, or "
            "take another configuration."
        )
