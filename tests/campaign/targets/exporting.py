"""What leaves for other programs, and what comes from them: tables, pages, files of other formats, environments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import dalembert as da
from dalembert import view
from targets.models import FOUR_BAR, Target, folder, forced, four_bar, held, mapped, model, run
from targets.simulating import many_runs

MJCF = '<mujoco><worldbody><body name="rod"><joint name="A"/><geom size="0.1"/></body></worldbody></mujoco>'
SDF = '<sdf version="1.9"><model name="rod"><link name="rod"><inertial><mass>1</mass></inertial></link></model></sdf>'


@cache
def mjcf() -> Path:
    """A file of MuJoCo."""
    path = folder() / "rod.xml"
    path.write_text(MJCF)
    return path


@cache
def swept() -> da.Sweep:
    """Four positions of a crank."""
    return four_bar()[0].sweep({"A": [0.6, 0.7, 0.8, 0.9]}, four_bar()[1])


def on_sweep(method: str) -> Callable[..., Any]:
    """A method of a sweep."""
    return lambda **arguments: getattr(swept(), method)(**arguments)


def environment(make: Callable[..., Any]) -> Callable[..., Any]:
    """An environment, with one step taken in it."""

    def call(**arguments: Any) -> Any:
        world = make(**arguments)
        world.reset(seed=1)
        return world.step(world.action_space.sample())

    return call


ENVIRONMENT = {
    "system": lambda: four_bar()[0], "states": {"A": 0.6}, "period": 0.01, "actions": {"torque": (-1.0, 1.0)},
    "reward": lambda: (lambda t, s, u: -s["A"] ** 2), "duration": 0.1, "v": {"A": 1.0}, "guess": lambda: four_bar()[1],
}  # fmt: skip
EXPORTING = {
    **{f"dalembert.Run.{name}": Target(lambda name=name: getattr(run(), name)(), {})
       for name in ("to_pandas", "to_xarray", "summary")},
    "dalembert.Run.plot": Target(lambda **a: run().plot(**a), {"names": ["A"], "path": lambda: folder() / "run.png"}),
    "dalembert.Run.animate": Target(lambda **a: run().animate(**a), {"path": lambda: folder() / "run.html"}),
    "dalembert.Ensemble.to_pandas": Target(lambda: many_runs().to_pandas(), {}),
    "dalembert.Ensemble.to_xarray": Target(lambda: many_runs().to_xarray(), {}),
    "dalembert.Workspace.to_xarray": Target(lambda: mapped().to_xarray(), {}),
    "dalembert.StaticForces.to_pandas": Target(lambda: held().to_pandas(), {}),
    "dalembert.control.ActuatorForcesAlong.to_pandas": Target(lambda: forced().to_pandas(), {}),
    **{f"dalembert.LinearModel.{name}": Target(lambda name=name: getattr(model(), name)(), {})
       for name in ("to_control", "to_scipy", "table")},
    "dalembert.ensemble, stored": Target(
        lambda store, paths: da.ensemble(*four_bar(), 0.05, n=2, t_eval=[0.05], workers=1, store=store, paths=paths),
        {"store": lambda: folder() / "study", "paths": "arrow"},
    ),
    "dalembert.ensemble, stored in Zarr": Target(
        lambda store: da.ensemble(*four_bar(), 0.05, n=2, t_eval=[0.05], workers=1, store=store, paths="zarr"),
        {"store": lambda: folder() / "dense"},
    ),
    "dalembert.System.export_c": Target(
        lambda **arguments: four_bar()[0].export_c(**arguments),
        {
            "folder": lambda: folder() / "c", "state": lambda: four_bar()[1], "p": None, "name": "linkage",
            "precision": "double", "frames": ["coupler"], "outputs": ["A", "energy"], "independent": ["A"],
            "active": ["A"], "controllers": None, "examples": True,
        },
    ),
    "dalembert.System.export_fmu": Target(
        lambda **arguments: four_bar()[0].export_fmu(**arguments),
        {
            "path": lambda: folder() / "linkage.fmu", "state": lambda: four_bar()[1], "p": None, "name": "linkage",
            "frames": ["coupler"], "outputs": ["A", "energy"], "rtol": 1e-9, "atol": 1e-10, "platforms": None,
            "version": "3.0", "kind": "co-simulation",
        },
    ),
    "dalembert.view.export_html": Target(
        view.export_html, {**FOUR_BAR, "path": lambda: folder() / "live.html", "traces": ["coupler"], "modes": False}
    ),
    "dalembert.view.export_gltf": Target(
        view.export_gltf, {"run": run, "path": lambda: folder() / "run.glb", "fps": 30.0}
    ),
    "dalembert.view.scene": Target(
        view.scene, {"system": lambda: four_bar()[0], "q": None, "traces": ["coupler"], "p": None}
    ),
    "dalembert.read_mjcf": Target(
        da.read_mjcf, {"path": mjcf, "strict": False, "base": None, "merge_fixed": True, "actuators": "laws"}
    ),
    "dalembert.read_sdf": Target(
        da.read_sdf, {"path": SDF, "strict": False, "base": "free", "merge_fixed": True, "model": "rod"}
    ),
    "dalembert.environment": Target(environment(da.environment), ENVIRONMENT),
    "dalembert.environments": Target(environment(da.environments), {**ENVIRONMENT, "n": 2}),
    **{f"dalembert.Sweep.{name}": Target(on_sweep(name), {"frame": "coupler"})
       for name in ("acceleration", "pose", "position", "rotation", "twist", "velocity")},
    "dalembert.Sweep.power": Target(on_sweep("power"), {"name": "A"}),
    "dalembert.Sweep.animate": Target(on_sweep("animate"), {"path": lambda: folder() / "sweep.html"}),
    "dalembert.Workspace.position": Target(lambda **a: mapped().position(**a), {"frame": "coupler"}),
    "dalembert.StaticForces.animate": Target(lambda **a: held().animate(**a), {"path": lambda: folder() / "held.html"}),
    "dalembert.Ensemble.reactions": Target(lambda **a: many_runs().reactions(**a), {"joint": "A"}),
    "dalembert.Ensemble.power": Target(lambda **a: many_runs().power(**a), {"name": "A", "kind": "joint"}),
    "dalembert.Ensemble.state": Target(lambda **a: many_runs().state(**a), {"k": 0, "j": None}),
    "dalembert.Sweep.save": Target(on_sweep("save"), {"path": lambda: folder() / "sweep.npz"}),
    "dalembert.Sweep.plot": Target(on_sweep("plot"), {"names": ["q"], "path": lambda: folder() / "sweep.png"}),
    "dalembert.Sweep.to_csv": Target(on_sweep("to_csv"), {"path": lambda: folder() / "sweep.csv"}),
    "dalembert.Ensemble.plot": Target(
        lambda **a: many_runs().plot(**a), {"names": ["A"], "path": lambda: folder() / "runs.png"}
    ),
    "dalembert.Ensemble.values": Target(lambda **a: many_runs().values(**a), {"name": "A"}),
    "dalembert.Sweep.state": Target(on_sweep("state"), {"k": 1}),
    "dalembert.Sweep.constraint_forces": Target(on_sweep("constraint_forces"), {"k": 1}),
    "dalembert.Sweep.rate": Target(on_sweep("rate"), {"name": "A"}),
    "dalembert.Sweep.joint_acceleration": Target(on_sweep("joint_acceleration"), {"name": "A"}),
    "dalembert.Sweep.driving_force": Target(on_sweep("driving_force"), {"name": "A"}),
    "dalembert.Sweep.multiplier": Target(on_sweep("multiplier"), {"name": "C"}),
    "dalembert.Sweep.reactions": Target(on_sweep("reactions"), {"joint": "A"}),
}  # fmt: skip
