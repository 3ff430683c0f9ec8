"""A hoist starts under load: DC motor, planetary gears, a flat belt that slips and grips, a rope over a sheave.

The belt slips, with the force of Euler and Eytelwein, while the drum gathers speed, and grips when both rims are as
fast. Then motor and load settle at the speed that the motor's constants and Willis's formula say.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

SUN, PLANET, RING = 20, 20, 60  # teeth
WHEELS, DISTANCE, FRICTION, PRETENSION = (0.10, 0.20), 0.7, 0.35, 150.0  # of the belt: m, m, 1, N
DRUM, LOAD, VOLTS, TORQUE, OHM = 0.08, 25.0, 24.0, 0.1, 0.4


def hoist():
    m = da.Mechanism("hoist", gravity=(0, -9.81, 0))
    places = {"motor": (0, 0), "planet": (0, 0.04), "drum": (DISTANCE, 0), "sheave": (1.3, 1.5)}
    m.add_points({**places, "load": (1.3 + DRUM, -3.0)})
    for name, J in (("sun", 1e-3), ("ring", 0.02), ("carrier", 0.01)):
        body = m.add_body(name, mass=1.0, inertia=da.planar_inertia(J), at="motor")
        m.add_joint(name, "revolute", m.ground, body, at="motor")
    planet = m.add_body("planet", mass=0.2, inertia=da.planar_inertia(1e-4), at="planet")
    m.add_joint("planet", "revolute", "carrier", planet, at="planet")
    m.add_gear("sun and planet", "sun", "planet", teeth=(SUN, PLANET), carrier="carrier")
    m.add_gear("planet and ring", "planet", "ring", teeth=(PLANET, RING), inside=True, carrier="carrier")
    m.add_driver("housing", "ring", 0.0)
    m.add_dc_motor("voltage", "sun", torque_constant=TORQUE, resistance=OHM)
    for name, J in (("drum", 0.05), ("sheave", 0.01)):
        m.add_joint(name, "revolute", m.ground, m.add_body(name, mass=5.0, inertia=(J, J, J), at=name), at=name)
    m.add_joint("lift", "prismatic", m.ground, m.add_body("load", mass=LOAD, at="load"), at="load", axis="y")
    m.add_belt("belt", "carrier", "drum", radii=WHEELS, friction=FRICTION, pretension=PRETENSION, distance=DISTANCE)
    pulleys = [da.Pulley(n, DRUM, turn=-1) for n in ("drum", "sheave")]
    m.add_pulley_rope("rope", [*pulleys, "load"])
    return m.compile()


def main(out, span: float = 3.0) -> dict[str, object]:
    system = hoist()
    run = da.simulate(system, {}, span, u={"voltage": VOLTS}, rtol=1e-8, atol=1e-10)
    (grips,) = (s.t for s in run.switches)
    most = 2 * PRETENSION * np.tanh(FRICTION * np.arccos((WHEELS[1] - WHEELS[0]) / DISTANCE))  # N, half the wrap
    rims, gripping = (run.rate("carrier") * WHEELS[0], run.rate("drum") * WHEELS[1]), run.t > grips + 1e-9
    gathers = (WHEELS[1] * most - LOAD * 9.81 * DRUM) / (0.05 + 0.01 + LOAD * DRUM**2)  # rad/s² of the drum, slipping
    torque = LOAD * 9.81 * DRUM * WHEELS[0] / WHEELS[1] * SUN / (SUN + RING)  # at the sun, in the end
    steady = (VOLTS - OHM * torque / TORQUE) / TORQUE * SUN / (SUN + RING) * WHEELS[0] / WHEELS[1] * DRUM
    rows = {
        "changes": ", ".join(s.what for s in run.switches),
        "the belt grips at (s)": grips,
        "drum as it grips, and by Euler (rad/s)": f"{run.rate('drum')[~gripping][-1]:.6f}, {gathers * grips:.6f}",
        "slip while it grips, at most (m/s)": float(np.abs(rims[0] - rims[1])[gripping].max()),
        "sun by carrier (Willis: 4)": float(run.rate("sun")[-1] / run.rate("carrier")[-1]),
        "speed of the load, and of the motor's constants (m/s)": f"{run.rate('lift')[-1]:.5f}, {steady:.5f}",
        "energy error (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [Panel("speed of the rims (m/s)", {"motor's wheel": rims[0], "drum's wheel": rims[1]})]
    panels.append(Panel("load (m)", {"height": run["lift"]}))
    return publish(out, "hoist", rows, [Picture(system, [run.state(len(run.t) // 2)])], panels, run=run, animated=run)
