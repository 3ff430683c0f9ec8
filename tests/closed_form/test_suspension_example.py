"""The examples of a double wishbone against its constraints, solved with SciPy from the hard points alone."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

FOLDER = Path(__file__).parents[2] / "examples" / "suspension"


def hard_points():
    rows = csv.reader((FOLDER / "hard_points.csv").read_text().splitlines()[1:])
    return {r[0]: np.array([float(x) for x in r[1:]]) / 1e3 for r in rows if not r[0].startswith("#")}


def placed(P, angle, at="wheel centre"):
    """The wheel's axle and a point of the knuckle.

    The lower ball is where its arm has it; three gaps, of the upper ball on its circle and of the rod, give R.
    """
    n = (P["lca front"] - P["lca rear"]) / np.linalg.norm(P["lca front"] - P["lca rear"])
    ball = P["lca rear"] + Rotation.from_rotvec(angle * n).apply(P["lca ball"] - P["lca rear"])
    axis = (P["uca rear"] - P["uca front"]) / np.linalg.norm(P["uca rear"] - P["uca front"])

    def gaps(x):
        R = Rotation.from_rotvec(x)
        upper, rod = (ball + R.apply(P[k] - P["lca ball"]) for k in ("uca ball", "tie rod ball"))
        return [
            (upper - P["uca ball"]) @ axis,
            np.linalg.norm(upper - P["uca front"]) - np.linalg.norm(P["uca ball"] - P["uca front"]),
            np.linalg.norm(rod - P["rack end"]) - np.linalg.norm(P["tie rod ball"] - P["rack end"]),
        ]

    turn, info, *_ = fsolve(gaps, np.zeros(3), xtol=1e-13, full_output=True)
    assert np.abs(info["fvec"]).max() < 1e-13
    R = Rotation.from_rotvec(turn)
    return R.as_matrix()[:, 1], ball + R.apply(P[at] - P["lca ball"])


def test_camber_and_toe_are_those_of_the_hard_points(capsys):
    found = runpy.run_path(str(FOLDER / "double_wishbone.py"))
    assert len((FOLDER / "double_wishbone.py").read_text().splitlines()) <= 25
    assert len(capsys.readouterr().out.splitlines()) == 25
    P = hard_points()
    assert len(P) == 15
    travel = found["travel"]
    for k in (0, 6, 12, 20, 24):
        wheel, centre = placed(P, travel["lower"][k])
        assert found["camber"][k] == pytest.approx(np.degrees(np.arcsin(wheel[2])), abs=1e-8)
        assert found["toe"][k] == pytest.approx(np.degrees(np.arctan2(-wheel[0], wheel[1])), abs=1e-8)
        np.testing.assert_allclose(travel.position("wheel")[k], centre, atol=1e-10)


def test_hard_points_that_are_parameters_vary_sweeps_tolerances_and_designs():
    names = runpy.run_path(str(FOLDER / "hard_points_varied.py"))
    found, P, angles = names["main"](), hard_points(), names["TRAVEL"]["lower"]

    def toe(points, angle):
        wheel, _ = placed(points, angle)
        return np.degrees(np.arctan2(-wheel[0], wheel[1]))

    for curve, height in zip(found["steer"], (0.245, 0.25)):
        points = P | {"tie rod ball": np.array([*P["tie rod ball"][:2], height])}
        np.testing.assert_allclose(curve, [toe(points, a) for a in angles], atol=1e-8)
    share = {}
    for ball in names["BALLS"]:
        for k in range(3):
            ends = [toe(P | {ball: P[ball] + s * 0.5e-3 * np.eye(3)[k]}, angles[-1]) for s in (1, -1)]
            share[f"{ball}[{k}]"] = (ends[0] - ends[1]) ** 2
    whole = sum(share.values())
    for name, part in found["stack"].contributions("toe").items():
        assert part == pytest.approx(share[name] / whole, abs=1e-3)

    def scrub(y, z):
        points = P | {"uca ball": np.array([P["uca ball"][0], y, z])}
        return sum((placed(points, a, "contact patch")[1][1] - 0.75) ** 2 for a in angles)

    y, z = (found["found"][f"uca ball[{k}]"] for k in (1, 2))
    best, h = scrub(y, z), 1e-3
    assert best < 0.01 * scrub(*P["uca ball"][1:])
    assert all(scrub(y + a * h, z + b * h) > best for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)))
