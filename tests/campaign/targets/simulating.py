"""Simulations, runs and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import dalembert as da
from targets.models import (
    FOUR_BAR,
    Target,
    dataset,
    folder,
    four_bar,
    led_run,
    on_run,
    on_sprung_run,
    saved,
    stage,
    tables,
)


@cache
def many_runs() -> da.Ensemble:
    """Two runs."""
    system, x = four_bar()
    return da.ensemble(system, x, 0.05, n=2, t_eval=[0.0, 0.05], workers=1)


def on_ensemble(method: str) -> Callable[..., Any]:
    """A method of an ensemble."""
    return lambda **arguments: getattr(many_runs(), method)(**arguments)


SIMULATING = {
    "dalembert.simulate": Target(
        da.simulate,
        {
            **FOUR_BAR, "t": 0.05, "u": [0.0], "method": "dop853", "rtol": 1e-9, "atol": 1e-10, "step": 0.01,
            "max_step": 0.01, "stabilization": "projection", "formulation": "auto", "on_singularity": "continue",
            "max_steps": 1000,
        },
    ),
    "dalembert.simulate, sampled": Target(
        da.simulate,
        {
            **FOUR_BAR, "t": (0.0, 0.05), "u": lambda: (lambda t, s: [0.0]), "period": 0.01, "t_eval": [0.0, 0.02],
            "method": "rk4", "step": 0.01, "formulation": "nullspace", "options": {"tolerance": 1e-9},
            "events": lambda: {"turn": lambda t, s: s["A"]},
        },
    ),
    "dalembert.simulate, charted": Target(da.simulate, {**FOUR_BAR, "t": 0.05, "coordinates": ["A"], "p": None}),
    "dalembert.ensemble": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": lambda: four_bar()[1], "t": 0.05, "n": 2, "p": None, "u": [0.0],
            "t_eval": [0.0, 0.02], "outputs": lambda: {"angle": lambda t, s: s["A"]}, "keep": "outputs",
            "sampling": "random", "seed": 0, "workers": 1, "lanes": 8, "executor": None, "rtol": 1e-6,
        },
    ),
    "dalembert.ensemble, assembled": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": {"A": [0.6, 0.7]}, "t": (0.0, 0.05), "v": {"A": 1.0},
            "guess": lambda: four_bar()[1], "u": {"torque": [0.0, 1.0]}, "method": "dopri5", "max_steps": 1000,
        },
    ),
    "dalembert.ensemble, differentiated": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": lambda: four_bar()[1], "t": 0.05, "n": 2, "u": [0.0],
            "wrt": ["input:torque", "held:A"], "of": ["A", "energy"], "held": ["A"], "t_eval": [0.0, 0.02],
        },
    ),
    "dalembert.ensemble, controlled": Target(
        da.ensemble,
        {
            "system": lambda: four_bar()[0], "states": lambda: four_bar()[1], "t": 0.05, "vary": {"torque": [0.0, 1.0]},
            "controllers": lambda: (lambda k, values: lambda t, s: [values["torque"]]), "rtol": 1e-6,
        },
    ),
    "dalembert.Ensemble.rate": Target(on_ensemble("rate"), {"name": "A"}),
    "dalembert.Ensemble.state": Target(on_ensemble("state"), {"k": 1}),
    "dalembert.Ensemble.run": Target(on_ensemble("run"), {"k": 1}),
    "dalembert.Ensemble.extremes": Target(on_ensemble("extremes"), {"name": "A"}),
    "dalembert.Ensemble.mean": Target(on_ensemble("mean"), {"name": "A"}),
    "dalembert.Ensemble.standard_deviation": Target(on_ensemble("standard_deviation"), {"name": "A"}),
    "dalembert.Ensemble.quantiles": Target(on_ensemble("quantiles"), {"name": "A", "levels": [0.1, 0.9]}),
    "dalembert.Projection": Target(
        da.Projection,
        {"corrections": 2, "directions": "updated", "every": 1, "velocities": True, "metric": "mass", "energy": False},
    ),
    "dalembert.Baumgarte": Target(da.Baumgarte, {"alpha": 5.0, "beta": 5.0}),
    "dalembert.Switch": Target(
        da.Switch,
        {"open": "C", "close": ["D"], "at": 1.0, "restitution": 0.5, "reach": 0.1, "once": True},
    ),
    "dalembert.Stops": Target(da.Stops, {"restitution": 0.0, "stiffness": 10.0, "damping": 1.0}),
    "dalembert.Friction": Target(da.Friction, {"coulomb": 1.0, "static": 2.0, "stribeck": 0.1, "load": 0.0}),
    "dalembert.Event": Target(da.Event, {"g": lambda: (lambda t, s: 1.0), "direction": 0, "terminal": False}),
    "dalembert.Run.state": Target(on_run("state"), {"k": 1}),
    "dalembert.Run.__call__": Target(on_run("__call__"), {"t": 0.05}),
    "dalembert.Run.inputs": Target(on_run("inputs"), {"t": 0.05}),
    "dalembert.Run.resampled": Target(on_run("resampled"), {"times": [0.0, 0.05]}),
    "dalembert.Run.phase": Target(on_run("phase"), {"t": 0.05}),
    "dalembert.Run.rate": Target(on_run("rate"), {"name": "A"}),
    "dalembert.Run.chart": Target(on_run("chart"), {"k": 1}),
    "dalembert.Run.joint_acceleration": Target(on_run("joint_acceleration"), {"name": "A"}),
    "dalembert.Run.reactions": Target(on_run("reactions"), {"joint": "A"}),
    "dalembert.Run.length": Target(on_sprung_run("length"), {"name": "line"}),
    "dalembert.Run.length_rate": Target(on_sprung_run("length_rate"), {"name": "line"}),
    "dalembert.Run.position": Target(on_run("position"), {"frame": "coupler"}),
    "dalembert.Run.rotation": Target(on_run("rotation"), {"frame": "coupler"}),
    "dalembert.Run.pose": Target(on_run("pose"), {"frame": "coupler"}),
    "dalembert.Run.velocity": Target(on_run("velocity"), {"frame": "coupler"}),
    "dalembert.Run.twist": Target(on_run("twist"), {"frame": "coupler", "axes": "world"}),
    "dalembert.Run.acceleration": Target(on_run("acceleration"), {"frame": "coupler"}),
    "dalembert.Run.multiplier": Target(on_run("multiplier"), {"name": "C"}),
    "dalembert.Run.driving_force": Target(lambda **a: led_run().driving_force(**a), {"name": "lead"}),
    "dalembert.Run.power": Target(on_run("power"), {"name": "torque", "kind": "input"}),
    "dalembert.Run.save": Target(on_run("save"), {"path": lambda: folder() / "run.dal"}),
    "dalembert.read_run": Target(da.read_run, {"path": saved, "system": lambda: four_bar()[0]}),
    "dalembert.read_urdf": Target(
        da.read_urdf,
        {"path": '<robot name="r"><link name="a"/></robot>', "strict": False, "base": "free", "merge_fixed": True,
         "loops": None, "xacro": False},
    ),
    "dalembert.read_rbdl": Target(da.read_rbdl, {"path": tables, "strict": False, "constraints": "s"}),
    "dalembert.read_adams": Target(da.read_adams, {"path": dataset, "strict": False, "merge_fixed": True}),
    "dalembert.read_usd": Target(
        da.read_usd,
        {"path": stage, "strict": False, "base": "fixed", "merge_fixed": True, "folder": None, "stops": None},
    ),
}  # fmt: skip
