"""Which way the elbow points: a map of a hundred thousand runs of the five-bar.

Each point of the map is a run of `da.ensemble`. Across: the speed at which both cranks start to turn, the same way;
up: their angle at the start. The colour tells which way the middle links are folded after 1.5 s. Two runs that leave
neighbouring points apart have passed a straight position on different sides; where that happens next to the singular
position, in which all links lie on one line, the map splits again and again.
"""

import numpy as np
from common import Map, Picture, publish

import dalembert as da
from dalembert import zoo

TIMES = np.linspace(0, 1.5, 31)


def starts(system: da.System, angles: np.ndarray, speeds: np.ndarray) -> list[da.State]:
    """Symmetric positions; both cranks turn the same way, each at the speed."""
    states = []
    for a in angles:
        x = system.state(zoo.five_bar_start(a)[0])
        admissible = np.linalg.svd(system.constraint_matrix(x))[2][2:]
        left, right = admissible[:, 0], admissible.sum(axis=1)  # rates of the two cranks
        alike = np.array([left[1] - right[1], right[0] - left[0]]) @ admissible
        states += [system.state(x.q, speed * alike / alike[0]) for speed in speeds]
    return states


def main(out, size=None) -> dict[str, object]:
    size = size or (320 if out is not None else 16)
    system = zoo.five_bar().compile()
    angles, speeds = np.linspace(-1.3, -0.2, size), np.linspace(-2.0, 2.0, size)
    states = starts(system, angles, speeds)
    options = {"t_eval": TIMES, "rtol": 1e-7, "atol": 1e-8, "keep": "outputs"}
    runs = da.ensemble(system, states, TIMES[-1], outputs={"fold": lambda t, s: s["C"]}, **options)
    way = np.sign(np.sin(runs.outputs["fold"])).reshape(size, size, -1)
    k = size * (size // 2) + size // 4
    one = runs.run(k)
    rows = {
        "runs": len(runs),
        "that succeeded": int(runs.success.sum()),
        "that met or passed a singular position": int((runs.passages > 0).sum()),
        "part that points the other way after 1.5 s": float((way[:, :, -1] != way[:, :, 0]).mean()),
        "mirror images that agree (part)": float((way[:, :, -1] == way[:, ::-1, -1]).mean()),
        "largest error of the energy (J)": float(np.nanmax(np.abs(runs.energy_error))),
    }
    panels = [
        Map(
            "the fold after 1.5 s: as at the start (dark), the other way (bright)",
            way[:, :, -1],
            ("speed of the cranks (rad/s)", speeds),
            ("angle of the cranks (rad)", angles),
        ),
    ]
    pictures = [Picture(system, [one.state(0), one.state(-1)], title="one of the runs: start (pale) and end")]
    return publish(out, "passage_map", rows, pictures, panels, animated=one, width=7.0)
