"""Runs as tables: columns with the names they have in files, and arrays with named dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.motion_columns import (
    columns,
    input_units,
    joined,
    motion_columns,
    multiplier_units,
    position_units,
    speed_units,
)
from dalembert.errors import extra
from dalembert.tables import Columns

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run

ENERGIES = ("kinetic_energy", "potential_energy")


def run_columns(run: Run) -> Columns:
    """Columns as in files, then energies and multipliers."""
    system = run.system
    values, units = joined(
        motion_columns(system, run.q, run.v),
        ({f"work.{name}": x for name, x in run.work.items()}, {f"work.{name}": "J" for name in run.work}),
        columns("u", run.u, system.u_names, input_units(system)),
        ({"margin": run.margin}, {"margin": "1"}),
        ({name: getattr(run, name) for name in ENERGIES}, dict.fromkeys(ENERGIES, "J")),
        columns("lambda", run.multipliers, system.row_names, multiplier_units(system)),
    )
    return Columns(system.name, "t", run.t, values, {"t": "s", **units})


def to_xarray(run: Run) -> Any:
    """An `xarray.Dataset` with named dimensions."""
    xarray = extra("xarray", "xarray", "a labelled array of a run")
    system, t = run.system, ("t",)
    along = {  # variable: (values, dimension, names along it, units along it)
        "q": (run.q, "coordinate", system.q_names, position_units(system)),
        "v": (run.v, "speed", system.v_names, speed_units(system)),
        "u": (run.u, "input", system.u_names, input_units(system)),
        "multipliers": (run.multipliers, "row", system.row_names, multiplier_units(system)),
    }
    coords: dict[str, Any] = {"t": (t, run.t, {"units": "s"}), "source": ("source", list(run.work))}
    variables: dict[str, Any] = {}
    for name, (values, dimension, names, units) in along.items():
        variables[name] = ((*t, dimension), values)
        coords[dimension] = (dimension, np.array(names, dtype=str))
        coords[f"{dimension}_units"] = (dimension, np.array(units, dtype=str))
    work = np.hstack([np.zeros((len(run.t), 0)), *(x[:, None] for x in run.work.values())])
    variables["work"] = ((*t, "source"), work, {"units": "J"})
    variables |= {name: (t, getattr(run, name), {"units": "J"}) for name in ENERGIES}
    variables["margin"] = (t, run.margin, {"units": "1"})
    return xarray.Dataset(variables, coords, {"system": system.name})
