"""Total rates of an arm: each joint has an equation of its own.

Jain and Rodriguez' diagonal equations ν̇ + C(q, ν) = ε for an arm of seven joints, in O(N). The kinetic energy is ½
νᵀν and the Coriolis term does no work. A controller in total rates (their Control 8.2) brings the hand to a point;
its Lyapunov function falls all the way.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo
from dalembert.control import PoseRegulation

GOAL = (1.5, 1.0, -3.5)  # m


def main(out, span: float = 6.0) -> dict[str, object]:
    m = zoo.chain(7, axes=("y", "x"))
    for k in range(1, 8):
        m.add_motor(f"M{k}", f"J{k}")
    system = m.compile()
    tip = next(iter(system.layout.frames))
    reach = PoseRegulation(system, tip, GOAL, damping=4.0, stiffness=(40.0, 1e-3))
    start = system.state({f"J{k}": 0.3 for k in range(1, 8)})
    run = da.simulate(system, start, span, u=reach, period=0.005, t_eval=np.linspace(0, span, 121))
    states = [run.state(k) for k in range(len(run.t))]
    d = system.diagonal
    nu = np.array([d.total_rates(x) for x in states])
    coriolis = np.array([d.coriolis(x) for x in states])
    falls = np.array([reach.lyapunov(x) for x in states])
    rows = {
        "½ νᵀν against the kinetic energy (J)": float(np.abs(0.5 * (nu**2).sum(axis=1) - run.kinetic_energy).max()),
        "power of the Coriolis term, at most (W)": float(np.abs((nu * coriolis).sum(axis=1)).max()),
        "largest rise of the Lyapunov function (J)": float(np.diff(falls).max()),
        "distance of the hand from its goal at the end (m)": float(np.linalg.norm(run.position(tip)[-1] - GOAL)),
    }
    panels = [
        Panel("total rates ν (√J)", {f"ν{k + 1}": nu[:, k] for k in range(7)}),
        Panel("Lyapunov function (J)", {"": falls}, log=True),
        Panel("position of the hand (m)", dict(zip("xyz", run.position(tip).T))),
    ]
    picture = Picture(system, [states[0], states[30], states[-1]], [run.position(tip)])
    return publish(out, "total_rates", rows, [picture], panels, run=run, animated=run, traces=[tip])
