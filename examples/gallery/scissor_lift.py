"""A scissor lift: three stages, seven loops, one degree of freedom.

The cylinder lies in the lowest stage, where its lever is worst when the platform is low. The force that holds the
load comes from `system.sweep` at rest, and must agree with virtual work: F dl = W dh.
"""

import numpy as np
from common import Panel, Picture, publish
from scipy.interpolate import CubicSpline

import dalembert as da

STAGES, LENGTH, LOW, LOAD = 3, 1.6, 0.25, 400.0  # arms of 1.6 m, drawn at 0.25 rad; kg on the platform
MASS = 15.0  # kg, of an arm


def lift() -> da.Linkage:
    """Left pins L0, L1, …, right ones R0, …, the middles M1, …; the foot R0 and the platform's far end slide."""
    wide, high = LENGTH * np.cos(LOW), LENGTH * np.sin(LOW)
    pins = {f"L{k}": (0.0, k * high) for k in range(STAGES + 1)}
    pins |= {f"R{k}": (wide, k * high) for k in range(STAGES + 1)}
    pins |= {f"M{k}": (wide / 2, (k - 0.5) * high) for k in range(1, STAGES + 1)}
    pins |= {"base": (0.5, 0.0), "eye": (0.7 * wide, 0.7 * high), "edge": (1.2 * wide, STAGES * high)}
    bodies = {}
    for k in range(1, STAGES + 1):  # one arm of each stage rises to the right, the other to the left
        bodies[f"up {k}"] = f"L{k - 1} M{k} R{k}" + (" eye" if k == 1 else "")
        bodies[f"down {k}"] = f"M{k} R{k - 1} L{k}"
    bodies["platform"] = f"L{STAGES} edge"
    mass = dict.fromkeys(bodies, MASS) | {"platform": LOAD}
    m = da.Linkage("scissor lift", pins, "L0 base", bodies, mass=mass)
    m.bodies["platform"].add_shape("box", (1.2 * wide, 0.12, 0.6), at=(0.6 * wide, 0.06, 0.0))
    m.add_point_on_line("foot", m.pin("R0"), m.ground, "x")
    m.add_point_on_line("roller", m.pin(f"R{STAGES}"), m.bodies["platform"], "x")
    m.add_cylinder("cylinder", "base", "eye", masses=(4.0, 4.0))
    return m


def main(out) -> dict[str, object]:
    system = lift().compile()
    rise = system.sweep({"cylinder": np.linspace(0.0, 0.32, 33)}, system.state(), speed=0.05)
    rest = system.sweep({"cylinder": rise["cylinder"]}, system.state())
    height = rise.position("platform")[:, 1]
    work = np.array([system.potential_energy(x) for x in map(rest.state, range(len(rest)))])
    slope = CubicSpline(rest["cylinder"], work)(rest["cylinder"], 1)
    force = rest.driving_force("cylinder")
    rows = {
        "constraint rows, of rank": f"{len(system.row_names)}, {system.report(system.state()).rank}",
        "height of the platform from, to (m)": f"{height[0]:.3f}, {height[-1]:.3f}",
        "holding force from, to (kN)": f"{force[0] / 1e3:.2f}, {force[-1] / 1e3:.2f}",
        "difference from dV/dl of a spline, relative": float(np.abs(force / slope - 1)[2:-2].max()),
    }
    panels = [
        Panel("height of the platform (m)", {"": (rise["cylinder"], height)}, xlabel="cylinder (m)"),
        Panel("force in the cylinder (kN)", {"at rest": (height, force / 1e3)}, xlabel="height (m)"),
    ]
    picture = Picture(system, [rise.state(k) for k in (0, 12, 32)])
    return publish(out, "scissor_lift", rows, [picture], panels, animated=rise)
