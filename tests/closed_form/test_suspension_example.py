"""The example of a double wishbone against its constraints, solved with SciPy from the hard points alone."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

FOLDER = Path(__file__).parents[2] / "examples" / "suspension"


def test_camber_and_toe_are_those_of_the_hard_points(capsys):
    """The lower ball is where its arm has it; three gaps, of the upper ball on its circle and of the rod, give R."""
    found = runpy.run_path(str(FOLDER / "double_wishbone.py"))
    assert len((FOLDER / "double_wishbone.py").read_text().splitlines()) <= 25
    assert len(capsys.readouterr().out.splitlines()) == 25
    rows = [
        r for r in csv.reader((FOLDER / "hard_points.csv").read_text().splitlines()[1:]) if not r[0].startswith("#")
    ]
    P = {r[0]: np.array([float(x) for x in r[1:]]) / 1e3 for r in rows}
    assert len(P) == 15
    axis = (P["uca rear"] - P["uca front"]) / np.linalg.norm(P["uca rear"] - P["uca front"])

    def place(angle):
        n = (P["lca front"] - P["lca rear"]) / np.linalg.norm(P["lca front"] - P["lca rear"])
        ball = P["lca rear"] + Rotation.from_rotvec(angle * n).apply(P["lca ball"] - P["lca rear"])

        def gaps(x):
            R = Rotation.from_rotvec(x)
            upper, rod = (ball + R.apply(P[k] - P["lca ball"]) for k in ("uca ball", "tie rod ball"))
            return [
                (upper - P["uca ball"]) @ axis,
                np.linalg.norm(upper - P["uca front"]) - np.linalg.norm(P["uca ball"] - P["uca front"]),
                np.linalg.norm(rod - P["rack end"]) - np.linalg.norm(P["tie rod ball"] - P["rack end"]),
            ]

        R = Rotation.from_rotvec(fsolve(gaps, np.zeros(3), xtol=1e-13))
        return R.as_matrix()[:, 1], ball + R.apply(P["wheel centre"] - P["lca ball"])

    travel = found["travel"]
    for k in (0, 6, 12, 20, 24):
        wheel, centre = place(travel["lower"][k])
        assert found["camber"][k] == pytest.approx(np.degrees(np.arcsin(wheel[2])), abs=1e-8)
        assert found["toe"][k] == pytest.approx(np.degrees(np.arctan2(-wheel[0], wheel[1])), abs=1e-8)
        np.testing.assert_allclose(travel.position("wheel")[k], centre, atol=1e-10)
