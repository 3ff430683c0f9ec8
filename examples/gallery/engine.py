"""A four-cylinder engine: first-order forces cancel, second-order ones add up.

Four slider-cranks on one shaft at 0°, 180°, 180°, 0°: a redundant set of loops. At a constant speed the pistons shake
the block vertically at twice the speed of the shaft. The sum of the forces on the block is compared with the exact
acceleration of the pistons, and with the textbook's estimate 4 m r²/l ω² cos 2φ.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

RADIUS, ROD, PISTON, PITCH = 0.045, 0.15, 0.5, 0.09  # m, m, kg, m
SPEED = 2 * np.pi * 50  # rad/s: 3000 turns a minute
PHASES = (0.0, np.pi, np.pi, 0.0)


def engine() -> da.Mechanism:
    m = da.Mechanism("inline four", gravity=(0, 0, 0))
    shaft = m.add_body("shaft", mass=10.0, inertia=da.cylinder_inertia(10.0, 0.04, 0.4, "x"))
    m.add_joint("shaft", da.Revolute("x"), m.ground, shaft)
    for k, phase in enumerate(PHASES, start=1):
        x = (k - 2.5) * PITCH
        rod = m.add_body(f"rod {k}", mass=1e-6, com=(0, 0, ROD / 2), inertia=da.rod_inertia(1e-6, ROD, "z"))
        piston = m.add_body(f"piston {k}", mass=PISTON, inertia=da.cylinder_inertia(PISTON, 0.04, 0.05, "z"))
        m.add_joint(f"pin {k}", da.Revolute("x"), shaft.at(x, -RADIUS * np.sin(phase), RADIUS * np.cos(phase)), rod)
        m.add_joint(f"piston {k}", da.Prismatic("z"), m.ground.at(x, 0, ROD), piston)
        m.close_loop(f"gudgeon {k}", da.Revolute("x"), rod.at(0, 0, ROD), piston)
    return m


def main(out) -> dict[str, object]:
    system = engine().compile()
    start = system.assemble({"shaft": 0.0}, guess={f"piston {k}": RADIUS * np.cos(p) for k, p in enumerate(PHASES, 1)})
    angles = np.linspace(0, 2 * np.pi, 145)
    turn = system.sweep({"shaft": angles}, start, speed=SPEED)
    rises = np.array([turn.joint_acceleration(f"piston {k}") for k in range(1, 5)])
    exact = np.sqrt(ROD**2 - (RADIUS * np.sin(angles)) ** 2) + RADIUS * np.cos(angles) - ROD
    shaking = PISTON * rises.sum(axis=0)
    second = 4 * PISTON * RADIUS**2 / ROD * SPEED**2
    textbook = -second * np.cos(2 * angles)
    spectrum = 2 * np.abs(np.fft.rfft(shaking[:-1])) / 144
    rows = {
        "piston 1 against the closed form (m)": float(np.abs(turn["piston 1"] - exact).max()),
        "shaking force, first order (N)": float(spectrum[1]),
        "shaking force, second order (N)": float(spectrum[2]),
        "  4 m r²/l ω² (N)": float(second),
        "torque on the shaft, largest (N m)": float(np.abs(turn.driving_force("shaft")).max()),
    }
    degrees = np.degrees(angles)
    panels = [
        Panel("acceleration of pistons 1 and 2 (1000 m/s²)", {str(k): (degrees, rises[k - 1] / 1e3) for k in (1, 2)}),
        Panel("force on the block (N)", {"exact": (degrees, -shaking), "4 m r²/l ω² cos 2φ": (degrees, -textbook)}),
        Panel("torque that keeps the speed (N m)", {"": (degrees, turn.driving_force("shaft"))}),
    ]
    for panel in panels:
        panel.xlabel = "shaft (degrees)"
    return publish(out, "engine", rows, [Picture(system, [turn.state(10)])], panels, animated=turn, speed=0.01)
