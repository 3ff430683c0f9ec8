"""Pictures, analyses and charts."""

from __future__ import annotations

from typing import Any

import dalembert as da
from dalembert import analysis, charts, view
from targets.models import (
    CHARTED,
    FOUR_BAR,
    Target,
    angle,
    chain,
    curved,
    decoupled,
    folder,
    four_bar,
    on_chart,
    quasi,
    run,
    system,
)


def opened_studio(**arguments: Any) -> str:
    """A studio, closed again."""
    with view.studio(**arguments, open=False) as studio:
        return repr(studio)


VIEWING = {
    "dalembert.view.studio": Target(
        opened_studio,
        {**FOUR_BAR, "run": None, "duration": 1.0, "u": None, "p": None, "outputs": [], "port": 0,
         "source": "system = ..."},
    ),
    "dalembert.view.plot": Target(
        view.plot, {"run": run, "names": ["A"], "panels": ["positions"], "path": lambda: folder() / "plot.png"}
    ),
    "dalembert.view.animate": Target(
        view.animate, {"run": run, "path": lambda: folder() / "run.html", "traces": ["coupler"], "speed": 1.0}
    ),
    "dalembert.view.snapshot": Target(
        view.snapshot,
        {**FOUR_BAR, "path": lambda: folder() / "s.png", "p": {}, "ax": None, "names": True},
    ),
}  # fmt: skip
ANALYSIS = {
    "dalembert.analysis.curvature": Target(analysis.curvature, {"system": chain, "state": {"J1": 0.3}, "samples": 1}),
    "dalembert.analysis.Curvature.sectional": Target(
        lambda **a: curved().sectional(**a), {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0]}
    ),
    "dalembert.analysis.decoupling_coordinates": Target(
        analysis.decoupling_coordinates, {"system": lambda: decoupled().system, "state": {"phi1": 0.3}, "p": None}
    ),
    **{
        f"dalembert.analysis.DecouplingCoordinates.{method}": Target(
            lambda method=method, **a: getattr(decoupled(), method)(**a), given
        )
        for method, given in {
            **{key: {"state": {"phi1": 0.5}} for key in ("value", "jacobian", "rates")},
            "forces": {"state": {"phi1": 0.5}, "tau": [1.0, 0.0]},
            "state": {"theta": [0.1, 0.05], "rates": [1.0, 0.0]},
        }.items()
    },
    "dalembert.analysis.operators": Target(analysis.operators, {"system": chain, "state": {"J1": 0.3}}),
    "dalembert.analysis.Operators.along": Target(
        lambda **a: analysis.operators(chain(), {"J1": 0.3}).along(**a), {"velocity": [1.0, 0.0, 0.5]}
    ),
    "dalembert.analysis.characteristic_length": Target(
        analysis.characteristic_length, {"system": system, "length": 0.5}
    ),
    "dalembert.analysis.effort_limits": Target(analysis.effort_limits, {"system": system, "limits": {"A": 1.0}}),
    "dalembert.Subspaces.constraint_inertia": Target(
        lambda **a: four_bar()[0].subspaces(four_bar()[1]).constraint_inertia(**a), {"variant": 2, "scale": 1.0}
    ),
    "dalembert.Subspaces.energies": Target(
        lambda **a: four_bar()[0].subspaces(four_bar()[1]).energies(**a), {"v": [1.0, 0.0, 0.5]}
    ),
}  # fmt: skip
CHARTING = {
    "dalembert.Chart": Target(da.Chart, {"coordinates": angle, "start": [0.6], "velocities": ["A"]}),
    "dalembert.System.chart": Target(
        lambda **a: four_bar()[0].chart(**a), {**CHARTED, "coordinates": ["A"], "p": None}
    ),
    "dalembert.charts.named": Target(charts.named, {**FOUR_BAR, "names": ["A"], "p": None, "velocities": ["B"]}),
    "dalembert.charts.tangent": Target(charts.tangent, {**FOUR_BAR, "p": None, "velocities": ["B"]}),
    "dalembert.charts.custom": Target(
        charts.custom, {**FOUR_BAR, "R": angle, "start": [0.6], "p": None, "velocities": quasi}
    ),
    "dalembert.LocalChart.state": Target(
        on_chart("state"), {"y": [0.65], "rate": [1.0], "guess": CHARTED["state"], "t": 0.1, "tolerance": 1e-12}
    ),
    "dalembert.LocalChart.coordinates": Target(on_chart("coordinates"), {**CHARTED, "guess": [0.6]}),
    "dalembert.LocalChart.rate": Target(on_chart("rate"), CHARTED),
    "dalembert.LocalChart.carried": Target(on_chart("carried"), CHARTED),
    "dalembert.LocalChart.right_hand_side": Target(
        on_chart("right_hand_side"), {"t": 0.0, "y": [0.6, 0.1], "u": [0.0], "guess": None, "tolerance": 1e-12}
    ),
    "dalembert.LocalChart.reach": Target(on_chart("reach"), {"direction": [1.0]}),
    **{
        f"dalembert.LocalChart.{method}": Target(on_chart(method), {**CHARTED, "y": [0.6]})
        for method in ("K", "K_speed", "K_rate", "bias", "derivative", "condition")
    },
    "dalembert.linearize_stabilized": Target(
        da.linearize_stabilized, {**FOUR_BAR, "stabilization": "baumgarte", "u": [0.0], "p": None}
    ),
}  # fmt: skip
