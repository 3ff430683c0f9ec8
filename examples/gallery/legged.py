"""Shared by the cases of the quadruped `examples/models/quadruped.yaml`: the model, its legs, what is measured."""

from pathlib import Path

import casadi as ca
import numpy as np

import dalembert as da

MODEL = Path(__file__).parents[1] / "models" / "quadruped.yaml"
FEET = [f"{leg} foot" for leg in ("FL", "FR", "HL", "HR")]
FRICTION, HALF_WIDTH, UPPER, LOWER, STAND, G = 0.7, 0.15, 0.10, 0.20, 0.22, 9.81  # -, m, m, m, m, m/s²
STEP = {"method": "moreau", "step": 1e-3}


def robot():
    """The system, its stance after a second on its feet, and its weight in N."""
    system = da.read(MODEL).compile()
    settled = da.simulate(system, system.named_state("stance"), 1.0, **STEP).state()
    return system, settled.replace(t=0.0), G * float(system.mass_matrix(settled)[5, 5])


def hips(leg, swing, r):
    """Angles of the hips of a leg of length r (m) that swings by an angle, in CasADi."""
    opening = ca.acos((r**2 + UPPER**2 - LOWER**2) / (2 * r * UPPER))
    return {f"{leg} a": swing + opening, f"{leg} b": swing - opening}


def tilt(run):
    """Degrees between the trunk's axis and the vertical."""
    return np.degrees(2 * np.arcsin(np.minimum(np.hypot(run["trunk.qx"], run["trunk.qy"]), 1.0)))


def evidence(runs):
    """Rows of how well loops and contacts were kept."""
    return {
        "loops closed to (m)": max(float(np.abs(r.residuals).max()) for r in runs),
        "feet in the floor, at most (m)": max(float(r.penetration.max()) for r in runs),
        "contact problems solved to, of their speeds": max(float(r.contact_residuals.max()) for r in runs),
    }
