"""Runs as tables of other libraries: pandas and xarray, with names and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import extra
from dalembert.mechanism.joints import Joint
from dalembert.simulation.saving import extra_names

if TYPE_CHECKING:
    from dalembert.simulation.run import Run
    from dalembert.system.system import System

ENERGIES = ("kinetic_energy", "potential_energy")


def to_pandas(run: Run) -> Any:
    """A `pandas.DataFrame`; columns as in files, then energies and multipliers."""
    pandas = extra("pandas", "pandas", "a table of a run")
    system = run.system
    names = [
        *(f"q.{n}" for n in system.q_names),
        *(f"v.{n}" for n in system.v_names),
        *extra_names(system),
        *ENERGIES,
        *(f"lambda.{n}" for n in system.row_names),
    ]
    columns = [run.q, run.v, *_columns(run.work.values()), run.u, *_columns([run.margin])]
    columns += [*_columns(getattr(run, name) for name in ENERGIES), run.multipliers]
    table = pandas.DataFrame(np.hstack(columns), index=pandas.Index(run.t, name="t"), columns=names)
    units = [
        *position_units(system),
        *speed_units(system),
        *("J" for _ in system.work_names),
        *_inputs(system),
        "1",
        "J",
        "J",
    ]
    table.attrs["units"] = {"t": "s", **dict(zip(names, [*units, *_multipliers(system)], strict=True))}
    table.attrs["system"] = system.name
    return table


def to_xarray(run: Run) -> Any:
    """An `xarray.Dataset` with named dimensions."""
    xarray = extra("xarray", "xarray", "a labelled array of a run")
    system, t = run.system, ("t",)
    along = {  # variable: (values, dimension, names along it, units along it)
        "q": (run.q, "coordinate", system.q_names, position_units(system)),
        "v": (run.v, "speed", system.v_names, speed_units(system)),
        "u": (run.u, "input", system.u_names, _inputs(system)),
        "multipliers": (run.multipliers, "row", system.row_names, _multipliers(system)),
    }
    coords: dict[str, Any] = {"t": (t, run.t, {"units": "s"}), "source": ("source", list(system.work_names))}
    variables: dict[str, Any] = {}
    for name, (values, dimension, names, units) in along.items():
        variables[name] = ((*t, dimension), values)
        coords[dimension] = (dimension, np.array(names, dtype=str))
        coords[f"{dimension}_units"] = (dimension, np.array(units, dtype=str))
    work = np.hstack([np.zeros((len(run.t), 0)), *_columns(run.work.values())])
    variables["work"] = ((*t, "source"), work, {"units": "J"})
    variables |= {name: (t, getattr(run, name), {"units": "J"}) for name in ENERGIES}
    variables["margin"] = (t, run.margin, {"units": "1"})
    return xarray.Dataset(variables, coords, {"system": system.name})


def _columns(values: Any) -> list[np.ndarray]:
    return [x[:, None] for x in values]


def position_units(system: System) -> list[str]:
    """rad or m of each coordinate; the numbers of a quaternion have none."""
    return [unit for a in system.layout.joints.values() for unit in _of_joint(a.joint)]


def _of_joint(joint: Joint) -> list[str]:
    if joint.nq == joint.nv:
        return ["rad" if turns else "m" for turns in joint.angular]
    return [*("1" for _ in range(4)), *("m" for _ in range(joint.nq - 4))]  # a unit quaternion comes first


def speed_units(system: System) -> list[str]:
    """rad/s or m/s of each velocity."""
    return ["rad/s" if turns else "m/s" for a in system.layout.joints.values() for turns in a.joint.angular]


def _inputs(system: System) -> list[str]:
    """Those of motors, actuators and servos; nothing is known of other inputs."""
    known = {f.name: f.input_units for f in system.layout.mechanism.forces.values()}
    return [unit for name, n in system.input_sizes.items() for unit in known.get(name) or [""] * n]


def _multipliers(system: System) -> list[str]:
    return [_force(turns) for turns in system.rows.angular]


def _force(turns: bool) -> str:
    return "N m" if turns else "N"
