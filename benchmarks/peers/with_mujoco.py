"""MuJoCo: RK4 with constraints as stiff as its step allows (solref = 2h, solimp = 0.9999); softer is less accurate.

`mj_step` takes many steps in one call, so that nothing of Python is in its time.
"""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np

from benchmarks.motions import Motion, Outcome
from benchmarks.peers import Families, Setting

STEPS = [1 / n for n in (20, 40, 80, 160, 320, 640, 1280, 2500, 5000, 10000, 20000, 40000)]
STOPS = 500  # states kept of a run
mujoco.set_mju_user_warning(lambda text: None)  # of steps that are too long; their errors show it


def families(motion: Motion) -> Families:
    """RK4 over its steps."""
    models = {h: mujoco.MjModel.from_xml_string(motion.model.mujoco_xml(h, warm=True)) for h in STEPS}

    def solve(h: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
        model = models[h]
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = motion.q, motion.v
        n = round(duration / h)
        ends = np.linspace(0, n, min(n, STOPS) + 1).round().astype(int)
        q, v = np.empty((len(ends), model.nq)), np.empty((len(ends), model.nv))
        q[0], v[0] = motion.q, motion.v
        for k, steps in enumerate(np.diff(ends)):
            mujoco.mj_step(model, data, nstep=int(steps))
            q[k + 1], v[k + 1] = data.qpos, data.qvel
        return q, v

    def judge(path: tuple[np.ndarray, np.ndarray]) -> Outcome:
        return motion.judge(*path)

    return [[Setting(f"h = {h:g}", partial(solve, h), judge) for h in STEPS]]
