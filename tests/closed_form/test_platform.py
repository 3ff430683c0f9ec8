"""A platform whose joint has a quaternion, through and beside its flat position, against forty digits."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import platform_truth as truth
import pytest

import dalembert as da

CASES = json.loads(Path(__file__).with_name("platform.json").read_text())
NAMES = [f"{case['miss']:.0e} {k}" for k, case in enumerate(CASES)]
TIMES = 300.0  # rtol: error at the end that is allowed where every passage is determined


@cache
def platform():
    m = da.Mechanism("platform", gravity=(0, 0, -truth.GRAVITY))
    plate = m.add_body("plate", mass=truth.MASS, inertia=truth.INERTIA)
    m.add_joint("plate", da.Free(), m.ground, plate)
    for k, (top, base) in enumerate(zip(truth.TOPS, truth.BASES), start=1):
        m.add_rod(f"leg {k}", m.ground.at(*base), plate.at(*top), length=truth.LENGTH)
    return m.compile()


def rotation(q):
    w, x, y, z = q
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def ran(case, rtol, **options):
    """A run, and its error at the end: of rotation and place, and of velocities over the largest of them."""
    system = platform()
    x = system.state(np.array(case["q"]), np.array(case["v"]))
    run = da.simulate(system, x, case["duration"], rtol=rtol, atol=0.1 * rtol, **options)
    assert run.success, (case["miss"], rtol, options, run.message)
    pose = max(np.abs(rotation(run.q[-1][:4]) - case["end_R"]).max(), np.abs(run.q[-1][4:] - case["end_p"]).max())
    return run, max(pose, np.abs(run.v[-1] - case["end_v"]).max() / np.abs(case["end_v"]).max())


def check(case, rtol, **options):
    run, error = ran(case, rtol, **options)
    if all(p.determined for p in run.passages):
        assert error <= TIMES * rtol
    return run, error
