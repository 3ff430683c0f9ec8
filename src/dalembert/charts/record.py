"""Charts as plain data, for files and other processes, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.charts.leaders import leader
from dalembert.charts.local import LocalChart
from dalembert.charts.making import along_directions, of_leaders
from dalembert.errors import ArgumentError, FileError
from dalembert.protocols import Parameters
from dalembert.system.system import System

ARRAYS, NAMES = ("start", "directions", "reference"), ("names", "speed_names", "selected")


def recorded(chart: LocalChart | None) -> dict[str, Any] | None:
    """Everything of a chart but functions of the user's own; `own` says whether it has such. None of none."""
    if chart is None:
        return None
    written = chart.kind == "named" and any(isinstance(k, tuple) and callable(k[-1]) for k in chart.key[1:])
    return {
        "kind": chart.kind,
        "own": written or chart.kind == "custom" or chart.velocities is not None,
        "time": float(chart.time),
        **{name: list(getattr(chart, name)) for name in NAMES},
        **{name: np.asarray(getattr(chart, name)).tolist() for name in ARRAYS},
    }


def restored(
    system: System, p: Parameters, data: Mapping[str, Any] | None, original: LocalChart | None = None
) -> LocalChart | None:
    """The chart that was recorded; one with functions of the user's own has them from `original`, or none.

    It is not checked again: it was when it was made.
    """
    if data is None:
        return None
    names, selected = tuple(data["names"]), tuple(int(k) for k in data["selected"])
    n = len(names)
    numbers: dict[str, Any] = {name: np.array(data[name], dtype=float) for name in ARRAYS}
    sizes = {"start": n, "directions": n * system.nv, "reference": system.nq}
    wrong = [name for name, size in sizes.items() if numbers[name].shape != (size,)]
    if wrong or not all(0 <= k < n for k in selected) or not len(data["speed_names"]) <= n:
        raise FileError(
            f"the record of a chart does not fit '{system.name}' ({', '.join(wrong) or 'velocities'}); it was damaged."
        )
    common: dict[str, Any] = {"names": names, "selected": selected, "time": data["time"]}
    common["speed_names"] = tuple(data["speed_names"])
    if data["own"] and original is not None and original.names == names and original.kind == data["kind"]:
        return replace(original, **common, **numbers)
    led = () if len(selected) == len(names) else (selected,)
    if data["own"]:
        return LocalChart(system, p, (data["kind"], object()), R=_lost, **common, **numbers)
    if data["kind"] == "tangent":
        R = along_directions(system)
        return LocalChart(system, p, ("tangent", len(names), *led), R=R, **common, **numbers)
    chosen = tuple(leader(system, name) for name in names)
    key = ("named", *(c.key for c in chosen), *led)
    return LocalChart(system, p, key, R=of_leaders(system, chosen), leaders=() if led else chosen, **common, **numbers)


def _lost(*_: Any) -> Any:
    raise ArgumentError(
        "this chart was written with functions of your own, which are not kept with a run that was saved or sent to "
        "another process. Make it anew: system.chart(state, coordinates)."
    )
