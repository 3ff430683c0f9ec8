"""The constrained double pendulum of Johnson and Murphey, linearized.

Two links of 1 m, a mass of 1 kg at the end of each, and a rod that ties the second to a point: section IV of the
paper. The paper prints A in full coordinates, at a state given to four digits. Every printed digit comes out at a
state within the rounding of the printed one, with u = 0 (the paper says 2 N m). The exact matrix at the state as
printed is beside it.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo

PRINTED = np.array([[-1.133, 7.690, -0.580, -1.447], [5.620, -10.698, -1.155, 0.577]])
Q, V = [0.5246, 1.0472], [1.0, -2.00116]  # as printed, with the sign that A(q) v = 0 asks for
CORNER = [0.52465, 1.04715]  # within the rounding of Q


def main(out) -> dict[str, object]:
    system = zoo.constrained_double_pendulum().compile()
    jacobians = [system.evaluate("ode_jacobian", system.state(q, V), u=[0.0])[:2] for q in (Q, CORNER)]
    here, corner = (np.hstack([by_q, by_v]) for by_q, by_v in jacobians)
    start = system.state(*zoo.constrained_double_pendulum_start())
    run = da.simulate(system, start, 5.0)
    rows = {
        "printed, rows 3 and 4 of A": np.array2string(PRINTED, precision=3).replace("\n", ""),
        "exact, at the printed state": np.array2string(here.round(3), precision=3).replace("\n", ""),
        "exact, within its rounding": np.array2string(corner.round(3), precision=3).replace("\n", ""),
        "largest difference from print": float(np.abs(corner - PRINTED).max()),
        "energy error of a run of 5 s (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [
        Panel("joint angles (rad)", {name: run[name] for name in system.q_names}),
        Panel("energy (J)", {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "sum": run.energy}),
    ]
    return publish(out, "constrained_pendulum", rows, [Picture(system, [start])], panels, run=run, animated=run)
