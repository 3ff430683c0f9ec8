"""The Whipple bicycle: it steers itself, and stays upright by itself between 4.3 and 6.0 m/s.

Four bodies, two wheels that roll without slip, three degrees of freedom. The parameters are those of the benchmark of
Meijaard, Papadopoulos, Ruina and Schwab (2007), whose eigenvalues at 5 m/s are printed beside those of the exact
linear model. Nothing is derived by hand.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

BASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10  # m, m, rad: the benchmark's w, c and λ; here z is up and x forward
PRINTED = (-14.07838969279822, -0.77534188219585 + 4.46486771378823j, -0.32286642900409)  # at 5 m/s


def moments(xx, yy, zz, xz):
    return [[xx, 0, xz], [0, yy, 0], [xz, 0, zz]]


def bicycle() -> da.Mechanism:
    m = da.Mechanism("bicycle")
    frame = m.add_body("frame", mass=85.0, com=(0.3, 0, 0.9), inertia=moments(9.2, 11.0, 2.8, -2.4))
    fork = m.add_body("fork", mass=4.0, com=(0.9 - BASE, 0, 0.7), inertia=moments(0.05892, 0.06, 0.00708, 0.00756))
    m.add_joint("float", da.Free(), m.ground, frame)
    axis = (-np.sin(TILT), 0.0, np.cos(TILT))  # it meets the ground TRAIL ahead of the front contact
    head = np.array([BASE + TRAIL, 0, 0]) + 0.9 * np.array(axis)
    m.add_joint("steer", da.Revolute(axis), frame.at(*head), fork.at(*(head - (BASE, 0, 0))))
    wheels = (("rear", frame, 2.0, 0.3, (0.0603, 0.12, 0.0603)), ("front", fork, 3.0, 0.35, (0.1405, 0.28, 0.1405)))
    for name, body, mass, radius, inertia in wheels:
        disc = m.add_body(f"{name} wheel", mass=mass, inertia=inertia)
        m.add_joint(name, da.Revolute("y"), body.at(0, 0, radius), disc)
        m.add_rolling(f"{name} contact", disc, radius=radius, axis="y")
    return m


def eigenvalues(system: da.System, speed: float) -> np.ndarray:
    """Of the upright motion at a speed (m/s)."""
    x = system.assemble({"steer": 0.0}, v={"float.vx": speed, "steer": 0.0, "float.wx": 0.0, "float.wz": 0.0})
    model = da.linearize(system, x, independent=["float.wx", "steer", "rear"]).without()
    return np.sort_complex(model.eigenvalues)


def main(out, count: int = 39) -> dict[str, object]:
    system = bicycle().compile()
    speeds = np.linspace(0.5, 10.0, count)
    at5 = eigenvalues(system, 5.0)
    near = [at5[np.argmin(np.abs(at5 - wanted))] for wanted in PRINTED]
    found = [eigenvalues(system, v) for v in speeds]
    upright = [v for v, e in zip(speeds, found) if e.real.max() < 1e-6]
    x = system.assemble({"steer": 0.0}, v={"float.vx": 4.6, "float.wx": 0.5, "steer": 0.0, "float.wz": 0.0})
    run = da.simulate(system, x, 5.0)
    names = ("castering", "weave", "capsize")
    rows = {f"{n} at 5 m/s, found − printed (1/s)": float(abs(a - b)) for n, a, b in zip(names, near, PRINTED)}
    rows["stable from, to (m/s)"] = f"{min(upright):.2f}, {max(upright):.2f}"
    parts = {". ": (np.repeat(speeds, 5), np.clip(np.real(found).ravel(), -8, 8))}
    kicked = {"roll rate (rad/s)": run.rate("float.wx"), "steering (rad)": run["steer"]}
    panels = [Panel("real parts of the eigenvalues (1/s)", parts, xlabel="speed (m/s)"), Panel("kicked", kicked)]
    return publish(out, "bicycle", rows, [Picture(system, [run.state(0)])], panels, run=run, animated=run)
