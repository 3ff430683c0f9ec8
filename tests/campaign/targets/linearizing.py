"""Sensitivities, linear models, ensembles and files."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import dalembert as da
from targets.models import CHARTED, FOUR_BAR, Target, folder, four_bar, held, mapped, model, on_model, run, trajectory


@cache
def pendulum() -> tuple[da.System, da.Run]:
    """With a parameter, and a run of it."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L = m.add_parameter("L", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
    m.add_motor("torque", "A")
    system = m.compile()
    return system, da.simulate(system, {"A": 1.0}, 0.1, u={"torque": 1.0})


def swing(p: Any) -> da.Sensitivities:
    return da.sensitivities(da.simulate(pendulum()[0], {"A": 1.0}, 0.1, p=p), of=["A"], wrt=["L"])


@cache
def fitted() -> da.Fit:
    return da.fit(pendulum()[0], {"t": [0.1, 0.2, 0.3], "A": [0.9, 0.8, 0.7]}, ["L"], {"A": 1.0})


SENSITIVITIES = {
    "dalembert.sensitivities": Target(
        da.sensitivities,
        {
            "subject": lambda: pendulum()[1], "of": ["A", "position:bob@x"], "wrt": ["L", "held:A"], "held": ["A"],
            "at": [0.0, 0.05], "method": "forward",
        },
    ),
    "dalembert.sensitivities of a state": Target(
        da.sensitivities,
        {
            "subject": lambda: pendulum()[0], "state": {"A": 1.0}, "of": {"a": "acceleration:A"}, "wrt": ["L"],
            "held": ["A"], "u": [1.0], "p": {"L": 2.0},
        },
    ),
    "dalembert.sensitivities of a model": Target(
        da.sensitivities,
        {"subject": lambda: da.linearize(pendulum()[0], {"A": 0.1}), "of": ["frequency:0", "mode:0"], "wrt": ["L"]},
    ),
    "dalembert.Sensitivities.d": Target(lambda **a: swing({"L": 1.0}).d(**a), {"of": "A", "wrt": "L"}),
    "dalembert.Sensitivities.gradient": Target(lambda **a: swing({"L": 1.0}).gradient(**a), {"of": "A"}),
    "dalembert.Integral": Target(
        lambda **a: da.sensitivities(pendulum()[1], of={"x": da.Integral(**a)}, wrt=["L"]), {"what": "energy"}
    ),
    "dalembert.fit": Target(
        da.fit,
        {
            "system": lambda: pendulum()[0], "data": {"t": [0.1, 0.2, 0.3], "A": [0.9, 0.8, 0.7]},
            "parameters": {"L": 1.0}, "state": {"A": 1.0}, "v": {"A": 0.0}, "t": 0.0, "guess": {"A": 1.0}, "u": [0.0],
            "sigma": 0.1, "bounds": {"L": (0.5, 2.0)}, "rtol": 1e-6, "max_evaluations": 3,
        },
    ),
    "dalembert.Fit.confidence": Target(lambda **a: fitted().confidence(**a), {"level": 0.9}),
    "dalembert.Fit.plot": Target(lambda **a: fitted().plot(**a), {"names": ["A"], "path": "fit.png"}),
    "dalembert.study": Target(
        da.study,
        {
            "system": lambda: pendulum()[0], "parameters": {"L": (0.9, 1.1)},
            "results": lambda: {"end": lambda e: e["A"]},
            "along": None, "states": {"A": 0.5}, "t": 0.1, "method": "latin", "n": 4, "seed": 1, "guess": None,
            "speed": None, "options": {"workers": 1},
        },
    ),
    "dalembert.optimize": Target(
        da.optimize,
        {
            "system": lambda: pendulum()[0], "parameters": {"L": (0.5, 2.0)}, "along": {"A": [0.1, 0.2]},
            "target": {"position:bob@x": [0.1, 0.2]}, "limits": {"low": ("position:bob@y", -5.0, None)},
            "guess": {"A": 0.1}, "attempts": 1, "seed": 2, "max_evaluations": 20,
        },
    ),
    "dalembert.Residuals": Target(
        lambda **a: da.Residuals(**a)([1.1]), {"model": lambda: swing, "wrt": ["L"], "target": [0.9], "scale": 0.1}
    ),
    "dalembert.Residuals.jacobian": Target(lambda **a: da.Residuals(swing, ["L"]).jacobian(**a), {"x": [1.1]}),
    "dalembert.Residuals.to_casadi": Target(lambda **a: da.Residuals(swing, ["L"]).to_casadi(**a), {"x": [1.1]}),
    "dalembert.Residuals.at": Target(lambda **a: da.Residuals(swing, ["L"]).at(**a), {"x": [1.1]}),
    "dalembert.regressor": Target(
        da.regressor,
        {
            "system": lambda: pendulum()[0], "motion": ([[0.1], [0.2]], [[1.0], [2.0]], [[0.0], [1.0]]), "u": [1.0],
            "p": {"L": 1.0}, "bodies": ["bob"], "wrt": [],
        },
    ),
}  # fmt: skip
LINEARIZING = {
    "dalembert.linearize": Target(
        da.linearize,
        {**FOUR_BAR, "u": [0.0], "p": {}, "independent": ["A"], "positions": None, "outputs": ["A", "energy"]},
    ),
    "dalembert.linearize_many": Target(
        da.linearize_many,
        {
            "system": lambda: four_bar()[0], "states": lambda: [four_bar()[1]] * 2, "u": [0.0], "p": None,
            "independent": ["A"],
        },
    ),
    "dalembert.assemble_many": Target(
        da.assemble_many,
        {
            "system": lambda: four_bar()[0], "q": {"A": [0.6, 0.7]}, "v": {"A": 1.0}, "n": 2, "p": {},
            "guess": lambda: four_bar()[1],
        },
    ),
    "dalembert.States.__getitem__": Target(
        lambda **a: da.assemble_many(four_bar()[0], {"A": [0.6, 0.7]}).__getitem__(**a), {"k": 1}
    ),
    "dalembert.AssemblyModes.__getitem__": Target(
        lambda **a: four_bar()[0].assemble({"A": 0.6}, branches="all").__getitem__(**a), {"k": 1}
    ),
    "dalembert.sweep_many": Target(
        da.sweep_many,
        {
            "system": lambda: four_bar()[0], "along": {"A": [0.6, 0.7, 0.8]}, "n": 2, "p": {},
            "guess": lambda: four_bar()[1], "speed": 1.0, "acceleration": {"A": 0.0},
        },
    ),
    "dalembert.Sweeps.__getitem__": Target(
        lambda **a: da.sweep_many(four_bar()[0], {"A": [0.6, 0.7]}, n=2).__getitem__(**a), {"name": "A"}
    ),
    "dalembert.inverse_dynamics_many": Target(
        da.inverse_dynamics_many,
        {
            "system": lambda: four_bar()[0], "states": lambda: [four_bar()[1]] * 2, "vdot": lambda: np.zeros((2, 3)),
            "u": [0.0], "p": None,
        },
    ),
    "dalembert.linearize_full": Target(da.linearize_full, {**FOUR_BAR, "u": [0.0]}),
    "dalembert.FullLinearization.underlying": Target(
        lambda **a: da.linearize_full(*four_bar()).underlying(**a),
        {"P": lambda: da.linearize_full(*four_bar()).projector},
    ),
    "dalembert.linearize_along": Target(
        da.linearize_along,
        {"system": lambda: four_bar()[0], "run": run, "u": [0.0], "independent": ["A"], "times": [0.0, 0.05]},
    ),
    "dalembert.step_map": Target(da.step_map, {**FOUR_BAR, "step": 1e-3, "method": "rk4", "u": [0.0]}),
    "dalembert.discrete_step": Target(da.discrete_step, {**FOUR_BAR, "step": 1e-3, "u": [0.0]}),
    "dalembert.equilibrium": Target(
        da.equilibrium,
        {
            "system": lambda: four_bar()[0], "guess": lambda: four_bar()[1], "solve_for": "u", "q": {"A": 0.6},
            "v": {"A": 0.0}, "u": [0.0], "tolerance": 1e-9, "bounds": {"torque": (-100.0, None)}, "steady": ["A"],
        },
    ),
    "dalembert.equilibrium (stops)": Target(
        da.equilibrium,
        {
            "system": lambda: four_bar()[0], "guess": lambda: four_bar()[1], "bounds": {"D": (1.2, None)},
            "q": {}, "u": [0.0], "p": {},
        },
    ),
    "dalembert.stiffness": Target(
        da.stiffness,
        {**FOUR_BAR, "frame": "coupler", "springs": {"A": 100.0}, "held": [], "axes": "world", "u": [0.0], "p": {}},
    ),
    "dalembert.static_forces": Target(
        da.static_forces,
        {
            **FOUR_BAR, "loads": [{"coupler": (0.0, -5.0, 0.0)}], "limits": {"torque": 100.0}, "u": [0.0],
            "axes": "world", "p": {},
        },
    ),
    "dalembert.StaticForces.reactions": Target(lambda **a: held().reactions(**a), {"joint": "B"}),
    "dalembert.StaticForces.multiplier": Target(lambda **a: held().multiplier(**a), {"name": "C.x"}),
    "dalembert.workspace": Target(
        da.workspace,
        {
            "system": lambda: four_bar()[0], "grid": {"A": [0.5, 0.6, 0.7]}, "state": lambda: four_bar()[1], "held": {},
            "frames": {}, "of": "coupler", "actuated": ["A"], "metric": "mass", "limits": True, "branches": 1,
            "seed": 0, "p": {},
        },
    ),
    "dalembert.Workspace.state": Target(lambda i: mapped().state(i), {"i": 1}),
    "dalembert.Workspace.on": Target(lambda **a: mapped().on(**a), {"k": 0}),
    "dalembert.Workspace.plot": Target(lambda **a: mapped().plot(**a).clear(), {"name": "serial", "path": None}),
    "dalembert.second_derivatives": Target(
        da.second_derivatives,
        {
            **FOUR_BAR, "u": [0.0], "of": "multipliers", "inputs": True, "parameters": True, "direction": np.zeros(7),
            "weights": None,
        },
    ),
    "dalembert.parameter_slopes": Target(da.parameter_slopes, {"model": model}),
    "dalembert.lqr": Target(
        da.lqr, {"model": model, "Q": np.eye(2), "R": np.eye(1), "limits": {"torque": (-1.0, 1.0)}}
    ),
    "dalembert.lqr_along": Target(
        da.lqr_along, {"trajectory": trajectory, "Q": np.eye(2), "R": [1.0], "final": {"A": 1.0}}
    ),
    "dalembert.Regulator.__call__": Target(lambda **a: da.lqr(model())(**a), {"t": 0.0, **CHARTED}),
    "dalembert.Tracker.__call__": Target(lambda **a: da.lqr_along(trajectory())(**a), {"t": 0.01, **CHARTED}),
    "dalembert.LinearModel.zeros": Target(on_model("zeros"), {"inputs": ["torque"], "outputs": ["A"]}),
    "dalembert.LinearModel.frequency_response": Target(on_model("frequency_response"), {"omega": [1.0, 2.0]}),
    "dalembert.LinearModel.frequencies": Target(on_model("frequencies"), {"decades": 1.0, "points": 20}),
    "dalembert.LinearModel.margins": Target(on_model("margins"), {"input": "torque", "output": "A"}),
    "dalembert.LinearModel.plot": Target(
        on_model("plot"),
        {"kind": "bode", "inputs": ["torque"], "outputs": ["A"], "omega": [1.0], "path": lambda: folder() / "g.png"},
    ),
    "dalembert.LinearModel.discretize": Target(on_model("discretize"), {"step": 0.01}),
    "dalembert.LinearModel.reduce": Target(on_model("reduce"), {"states": 2}),
    "dalembert.LinearModel.animate": Target(on_model("animate"), {"path": lambda: folder() / "mode.html", "mode": 0}),
    "dalembert.LinearModel.save": Target(on_model("save"), {"path": lambda: folder() / "model.npz"}),
    "dalembert.Regulator.save": Target(
        lambda **a: da.lqr(model()).save(**a), {"path": lambda: folder() / "regulator.json"}
    ),
    "dalembert.LinearModel.without": Target(on_model("without"), {"names": []}),
    "dalembert.LinearModel.deviation": Target(on_model("deviation"), CHARTED),
    "dalembert.LinearModel.motion": Target(on_model("motion"), {"x": [0.1, 0.2]}),
    "dalembert.Mode.states": Target(lambda **a: model().modes[0].states(**a), {"amplitude": 0.01, "n": 3}),
    "dalembert.LinearTrajectory.reference": Target(lambda **a: trajectory().reference(**a), {"t": 0.01}),
    "dalembert.LinearTrajectory.deviation": Target(lambda **a: trajectory().deviation(**a), {"t": 0.01, **CHARTED}),
}  # fmt: skip
