"""Methods of systems and states, and the zoo."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da
from dalembert import zoo
from targets.models import STATE, Target, fresh_q, fresh_v, on_state, on_system, state, system

P = {"p": {"L": 0.6}}
U = {"u": {"motor": 1.0}}
FRAME = {**STATE, "frame": "tip", **P}
ASKING: dict[str, dict[str, Any]] = {
    "state": {"q": fresh_q, "v": fresh_v, "t": 0.1},
    "with_parameters": {"values": {"L": 0.6}},
    "rates": STATE,
    "plus": {"q": fresh_q, "delta": fresh_v},
    "minus": {"q1": fresh_q, "q0": state},
    "function": {"name": "pose", "frame": "tip", "axes": "world"},
    "kernel": {"name": "jacobian", "frame": "tip", "axes": "world", "lanes": 1},
    "pose": FRAME,
    "twist": {**FRAME, "axes": "body"},
    "jacobian": {**FRAME, "axes": "world"},
    "jacobian_rate": {**FRAME, "axes": "world"},
    "jacobian_derivatives": {**FRAME, "vdot": fresh_v},
    "frame_derivatives": FRAME,
    "frame_acceleration": {**FRAME, "vdot": fresh_v, "axes": "body"},
    "mass_matrix": {**STATE, **P},
    "bias": {**STATE, **P},
    "gravity_vector": {**STATE, **P},
    "coriolis_vector": {**STATE, **P},
    "applied_forces": {**STATE, **U, **P},
    "input_matrix": {**STATE, **P},
    "inverse_dynamics": {**STATE, "vdot": fresh_v, **U, **P, "wrenches": {"tip": np.zeros(6)}},
    "inverse_dynamics_derivatives": {**STATE, "vdot": fresh_v, **U, **P},
    "forward_dynamics": {**STATE, "tau": fresh_v, **U, **P, "wrenches": {"tip": np.zeros(6)}},
    "kinetic_energy": {**STATE, **P},
    "potential_energy": {**STATE, **P},
    "energy": {**STATE, **P},
    "lagrangian": {**STATE, **P},
    "momentum": {**STATE, "about": "center", **P},
    "center_of_mass": {**STATE, **P},
    "residuals": {**STATE, **P},
    "constraint_matrix": {**STATE, **P},
    "speed_residuals": {**STATE, **P},
    "constraint_gamma": {**STATE, **P},
    "acceleration": {
        **STATE, "tau": fresh_v, **U, **P, "formulation": "nullspace", "metric": "mass", "tolerance": 1e-10,
        "active": {"loop": True},
    },
    "constraint_forces": {**STATE, **U, **P},
    "subspaces": {**STATE, **P, "metric": "mass", "active": {"loop": True}, "tolerance": 1e-9},
    "report": {**STATE, **P, "active": {"loop": True}},
    "assemble": {
        "q": {"rest": 0.9}, "v": {"rest": 1.0}, "guess": {"A": 1.2, "B": -2.3}, "t": 0.0, "tolerance": 1e-11,
        "branches": 1, "seed": 3, "active": {"loop": True}, "frames": {"c": (0.1, 0.2, 0.3)}, "limits": True,
    },
    "sweep": {
        "along": {"rest": [0.1, 0.2]}, **STATE, "frames": {"tip": [(0.8, 0.0, 0.0)] * 2}, "held": {},
        "speed": {"rest": 1.0}, "acceleration": {"rest": [1.0, 2.0]}, "limits": "mark", "through": False, **U, **P,
    },
    "walk": {**STATE, "to": {"rest": 0.3}, "frames": {"tip": (0.8, 0.0, 0.0)}, "held": {}, **P},
    "project": {**STATE, **P, "active": {"loop": True}, "tolerance": 1e-11},
}  # fmt: skip
EVALUATING = {
    **{f"dalembert.System.{name}": Target(on_system(name), good) for name, good in ASKING.items()},
    "dalembert.System.with_constraints": Target(
        lambda name: system().without("loop").with_constraints(name), {"name": "loop"}
    ),
    "dalembert.System.without": Target(lambda name: system().without(name), {"name": "loop"}),
    "dalembert.FrameDerivatives.d": Target(
        lambda **a: system().frame_derivatives(state(), "tip").d(**a), {"first": "A", "second": "B"}
    ),
    "dalembert.State.replace": Target(on_state("replace"), {"q": {"A": 0.9}, "v": fresh_v, "t": 1.0}),
    "dalembert.State.rate": Target(on_state("rate"), {"name": "A"}),
    "dalembert.State.__getitem__": Target(on_state("__getitem__"), {"name": "A"}),
    "dalembert.State.length": Target(on_state("length"), {"name": "line"}),
    "dalembert.State.length_rate": Target(on_state("length_rate"), {"name": "line"}),
    "dalembert.State.position": Target(on_state("position"), {"frame": "tip"}),
    "dalembert.State.rotation": Target(on_state("rotation"), {"frame": "tip"}),
    "dalembert.State.pose": Target(on_state("pose"), {"frame": "tip"}),
    "dalembert.State.velocity": Target(on_state("velocity"), {"frame": "tip"}),
    "dalembert.State.twist": Target(on_state("twist"), {"frame": "tip", "axes": "world"}),
    "dalembert.Kernel": Target(
        lambda **a: da.Kernel(system().function("mass_matrix"), **a), {"lanes": 1, "backend": "casadi", "chunk": 1000}
    ),
    "dalembert.Kernel.__call__": Target(
        lambda q, v: system().kernel("rates")(q, v), {"q": fresh_q, "v": fresh_v}
    ),
    "dalembert.Kernel.batch": Target(
        lambda q, v: system().kernel("rates").batch(q, v), {"q": lambda: np.tile(state().q, (3, 1)), "v": fresh_v}
    ),
}  # fmt: skip


def zoo_targets() -> dict[str, Target]:
    """The functions of the zoo with their own defaults as the good call."""
    from inspect import signature

    exact = {
        "pendulum": {"t": 0.1, "amplitude": 1.0},
        "pendulum_period": {"amplitude": 1.0},
        "spinning_pendulum": {"t": [0.1, 0.2], "speed": 9.0},
        "chain_frequencies": {"links": 3, "length": 1.0},
        "free_top": {"t": 0.1, "omega": (1.0, 2.0, 3.0), "transverse": 1.0, "axial": 2.0},
        "precession_rates": {"I1": 0.002, "I3": 0.001, "mgl": 0.3, "tilt": 0.5, "spin": 120.0},
        "sleeping_top": {"I1": 0.002, "I3": 0.001, "mgl": 0.3, "spin": 120.0},
        "sleigh": {"t": 0.1, "mass": 1.0, "inertia": 0.4, "ahead": 0.2, "final": 1.0},
        "disc_spin": {"lean": 0.3, "yaw_rate": 1.7, "radius": 0.4},
        "disc_growth": {"spin": 2.0, "radius": 0.4},
    }
    rows = {f"dalembert.zoo.exact.{name}": Target(getattr(zoo.exact, name), good) for name, good in exact.items()}
    for entry in zoo.CATALOG.values():
        for f in (entry.build, entry.start):
            good = {n: p.default for n, p in signature(f).parameters.items()}
            if good:
                rows[f"dalembert.zoo.{f.__name__}"] = Target(f, good)
    rows["dalembert.zoo.StewartGeometry"] = Target(
        zoo.StewartGeometry, {"base_radius": 3.0, "base_spread": 2.5, "platform_radius": 1.0, "height": 2.0}
    )
    return rows
