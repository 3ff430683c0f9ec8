"""Controllers in C: the numbers of a regulator, or of computed torque."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.native.workspace import CONSTANT
from dalembert.control.projected import ProjectedControl
from dalembert.errors import ArgumentError
from dalembert.export.names import identifier
from dalembert.linearization.lqr import Regulator
from dalembert.simulation.state_units import plain_rates
from dalembert.system.system import System

Numbers = Callable[[Iterable[float]], str]


@dataclass(frozen=True, eq=False)
class ExportedLaw:
    """A controller: its name in C, whether it follows a task, and the values of the template's words."""

    name: str
    task: bool
    counts: dict[str, int]
    integers: dict[str, list[int]]
    numbers: dict[str, np.ndarray]
    coordinates: tuple[str, ...]

    def words(self, numbers: Numbers) -> dict[str, str]:
        """Words of the template `laws.c` and what they stand for."""
        out = {"LAW_NAME": self.name, **{k: str(n) for k, n in self.counts.items()}}
        out |= {k: ", ".join(map(str, x)) for k, x in self.integers.items()}
        return out | {k: numbers(np.ravel(x).tolist()) for k, x in self.numbers.items()}


def law_of(system: System, name: str, given: Any) -> ExportedLaw:
    """The law of a controller made for this system."""
    own = given.system if isinstance(given, ProjectedControl) else given.model.operating.system
    if own.layout.tree.nv != system.nv or list(own.v_names) != list(system.v_names):
        raise ArgumentError(f"controller '{name}' was made for another mechanism, '{own.name}'.")
    return _regulator(system, name, given) if isinstance(given, Regulator) else _task(system, name, given)


def _regulator(system: System, name: str, law: Regulator) -> ExportedLaw:
    at, states = law.model.operating, law.model.state_names
    if list(law.model.input_names) != list(system.u_names):
        raise ArgumentError(f"regulator '{name}' sets {', '.join(law.model.input_names)}; needed: all inputs.")
    coordinates = [*at.coordinates, *at.speeds]
    places, offsets = [], []
    for state in states:
        k = at.names.index(state)
        index = coordinates[k].index
        if index is None:
            raise ArgumentError(
                f"regulator '{name}' reads '{state}', which is a function of the state; exported are regulators whose "
                "coordinates are those of joints of the tree."
            )
        moving = k >= len(at.coordinates)
        places.append(index + system.nv * moving)
        offsets.append(float(at.state.v[index]) if moving else 0.0)
    limits = np.tile([-np.inf, np.inf], (len(system.u_names), 1)) if law.limits is None else law.limits
    return ExportedLaw(
        identifier(name).lower(),
        False,
        {"LAW_STATES": len(states)},
        {"LAW_PLACES": places},
        {
            "LAW_Q0": at.state.q, "LAW_K": law.K, "LAW_U0": at.u, "LAW_LIMITS": limits,
            "LAW_OFFSET": np.array(offsets),
        },
        tuple(states),
    )  # fmt: skip


def _task(system: System, name: str, law: ProjectedControl) -> ExportedLaw:
    a, plant = law.allocator.template, law.plant
    plain = {
        "forces": not law.force_names, "integral": not np.any(law.integral_gain), "metric": a.cost_kind == CONSTANT,
        "stiffness": a.impedance == 0, "priorities, weights": a.layered == 0, "free_damping": a.free_damping == 0.0,
        "damping": a.damping == 0.0, "epsilon": a.epsilon == 0.0, "active": law.active is None,
        "positions, speeds, accelerations": not len(law.allocator.motion.freedom),
        "reactions, cones": not (len(law.allocator.reactions.C) or law.allocator.reactions.cones),
        "out_of_reach": law.out_of_reach == "follow",
    }  # fmt: skip
    plain["metric"] = plain["metric"] and bool((np.asarray(a.cost) == np.eye(len(a.cost))).all())
    odd = [option for option, usual in plain.items() if not usual]
    if odd:
        raise ArgumentError(
            f"controller '{name}' has {'; '.join(odd)}; exported is motion control with gains, actuators and their "
            "limits. Leave the option out."
        )
    rates, q_names = plain_rates(system), list(system.q_names)
    names = tuple(law.task.names)
    if any(n not in q_names or rates[q_names.index(n)] < 0 for n in names):
        raise ArgumentError(
            f"controller '{name}' follows {', '.join(names)}; exported are tasks of coordinates of the tree's joints."
        )
    q = [q_names.index(n) for n in names]
    low, high = np.zeros(len(system.u_names)), np.zeros(len(system.u_names))
    used = list(plant.actuators.inputs)
    low[used], high[used] = law.allocator.bounds.lower, law.allocator.bounds.upper
    return ExportedLaw(
        identifier(name).lower(),
        True,
        {"LAW_COUNT": len(names)},
        {"LAW_Q_PLACES": q, "LAW_V_PLACES": [int(rates[k]) for k in q]},
        {
            "LAW_GP": law.gains[0], "LAW_GD": law.gains[1], "LAW_SIZES": law.workspace.sizes, "LAW_LOW": low,
            "LAW_HIGH": high,
        },
        names,
    )  # fmt: skip
