"""How far a regulator can be trusted: a thousand machines that are not quite the one it was made for.

A load stands on two parallel cranks, upright, where it falls at the slightest touch. The motor of one crank holds it up
with the gains that `da.lqr` finds for the nominal machine, and with no more torque than it has. Then the load, the
crank's length and the strength of the motor are drawn at random. `da.ensemble` runs them all from the same push.
Which of them stand at the end can be told from the exact linear model of each: the eigenvalues of A − B K.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish
from scipy.stats import uniform

import dalembert as da

NOMINAL = {"load": 4.0, "length": 0.5, "strength": 1.0}  # kg, m, of the motor
TOP, PUSH, TORQUE = np.pi / 2, 0.05, 40.0  # rad, rad, N m


def lift() -> da.System:
    m = da.Mechanism("load on parallel cranks", gravity=(0, -9.81, 0))
    load, length, strength = (m.add_parameter(name, value) for name, value in NOMINAL.items())
    cranks = [m.add_body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(0, 0.02, 0.02)) for name in ("left", "right")]
    table = m.add_body("table", mass=load, com=(0.3, 0.1, 0), inertia=(0, 0.3, 0.3))
    m.add_joint("A", da.Revolute("z"), m.ground.at(), cranks[0], damping=0.05)
    m.add_joint("B", da.Revolute("z"), cranks[0].at(length, 0, 0), table)
    m.add_joint("C", da.Revolute("z"), m.ground.at(0.6, 0, 0), cranks[1])
    m.close_loop("D", da.Revolute("z"), cranks[1].at(length, 0, 0), table.at(0.6, 0, 0))
    m.add_joint_force("motor", "A", strength * m.add_input("torque"))
    return m.compile()


def main(out, n=None) -> dict[str, object]:
    n = n or (1000 if out is not None else 128)
    top = (system := lift()).assemble({"A": TOP}, guess={"A": TOP, "B": -TOP, "C": TOP})
    K = da.lqr(da.linearize(system, top, independent=["A"]), [4000.0, 40.0], 1.0).K

    def held(t, s):
        asked = -K[0, 0] * (s["A"] - TOP) - K[0, 1] * s.rate("A")
        return {"torque": ca.fmax(-TORQUE, ca.fmin(TORQUE, asked))}

    spread = {"load": uniform(1.0, 14.0), "length": uniform(0.3, 0.5), "strength": uniform(0.2, 1.0)}
    options = {"p": spread, "n": n, "sampling": "sobol", "seed": 1, "guess": top, "u": da.expression(held)}
    runs = da.ensemble(system, {"A": TOP + PUSH}, 6.0, **options)
    stands = np.abs(runs["A"] - TOP) < 2 * PUSH
    models = da.linearize_many(system, [top] * n, independent=["A"], p=runs.p)
    told = np.linalg.eigvals(models.A - models.B @ K).real.max(axis=1) < 0
    rows = {
        "gains (N m/rad, N m s/rad)": f"{K[0, 0]:.1f}, {K[0, 1]:.1f}",
        "machines": n,
        "runs that succeeded": int(runs.success.sum()),
        "that stand after 6 s": int(stands.sum()),
        "that should, by the eigenvalues of their linear models": int(told.sum()),
        "for which both say the same": int((stands == told).sum()),
    }
    groups = {".stands": stands, ".falls": ~stands, ".unlike its linear model": stands != told}
    dots = {name: (runs.varied["load"][which], runs.varied["strength"][which]) for name, which in groups.items()}
    pictures = [Picture(system, [runs.state(int(np.argmin(stands))), top], title="upright, and fallen (pale)")]
    return publish(out, "robust_regulator", rows, pictures, [Panel("strength of the motor", dots, xlabel="load (kg)")])
