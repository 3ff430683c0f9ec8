"""Peaucellier's linkage: a straight line drawn by hinges alone.

Eight bars turn circles into a straight line, exactly: the pen stays on it to rounding over the whole reach. The
rhombus lies flat where both arms meet: there the crank ends, and a sweep that goes farther says so.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert.zoo.planar import meet

LONG, SHORT, CRANK = 1.0, 0.4, 0.35  # m: the two arms from O, the sides of the rhombus, the crank about C
BODIES = {"crank": "C P", "arm 1": "O A", "arm 2": "O B", "side 1": "A P", "side 2": "B P"}
BODIES |= {"side 3": "A pen", "side 4": "B pen"}


def pins() -> dict[str, np.ndarray]:
    """O and C are fixed, |OC| = |CP|: P moves on a circle through O, so its inverse, the pen, on a line."""
    O, C, P = np.zeros(2), np.array([CRANK, 0.0]), np.array([2 * CRANK, 0.0])
    A, B = meet(O, LONG, P, SHORT, 1), meet(O, LONG, P, SHORT, -1)
    return {"O": O, "C": C, "P": P, "A": A, "B": B, "pen": meet(A, SHORT, B, SHORT, 1)}


def main(out) -> dict[str, object]:
    m = da.Linkage("Peaucellier linkage", pins(), "O C", BODIES, mass=0.3)
    m.add_frame("pen", m.pin("pen"))
    system = m.compile()
    start = system.walk(system.state(), to={"C": -0.9})
    sweep = system.sweep({"C": np.linspace(-0.9, 0.9, 181)}, start, speed=1.0)
    pen = sweep.position("pen")
    line = (LONG**2 - SHORT**2) / (2 * CRANK)
    beyond = system.sweep({"C": np.array([0.0, 2.0])}, system.state())
    rows = {
        "the line is at x = (L² − l²)/2c (m)": line,
        "distance of the pen from it (m)": float(np.abs(pen[:, 0] - line).max()),
        "length of the line drawn (m)": float(np.ptp(pen[:, 1])),
        "constraint rows, of rank": f"{len(system.row_names)}, {system.report(start).rank}",
        "the arms meet at a crank angle of (rad)": float(2 * np.arccos((LONG - SHORT) / (2 * CRANK))),
        "a sweep beyond": beyond.message,
    }
    picture = Picture(system, [sweep.state(k) for k in (0, 45, 130, 180, 90)], [pen])
    panels = [
        Panel("height of the pen (m)", {"": (sweep["C"], pen[:, 1])}, xlabel="crank (rad)"),
        Panel("distance from the line (m)", {"": (sweep["C"], np.abs(pen[:, 0] - line) + 1e-17)}, True, "crank (rad)"),
    ]
    return publish(out, "peaucellier", rows, [picture], panels, animated=sweep, traces=["pen"])
