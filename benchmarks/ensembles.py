"""Many runs at once: CPU time of one run out of many, alone and side by side, beside tools that make many runs.

The motions are those of `simulation`, from starts that differ by a thousandth of a radian, with the fastest setting
that reaches L2. Times are CPU times of one core; the last table has threads. MuJoCo is run by `mj_step` and by its
`rollout`, the function that it has for many runs, in one thread.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

import dalembert as da
from benchmarks.motions import DURATION, Motion, five_bar, four_bar, ladder, two_arms
from benchmarks.peers import ours, with_mujoco, with_pinocchio
from benchmarks.timing import Table, address_loop, interleaved, versus
from benchmarks.work_precision import fastest, search
from dalembert.native.bound import Bound

LEVEL = "L2"
LANES = (8, 16)
STEPS = (1, 2, 4, 8)
SIZES = (1, 4, 16, 64, 256, 1024, 4096)
PICTURE = Path(__file__).with_name("ensembles.png")


def starts(motion: Motion, n: int) -> list[da.State]:
    """n states next to the start, on the manifold."""
    rng = np.random.default_rng(0)
    system, x = motion.system, motion.start
    moved = [system.plus(x, 1e-3 * rng.standard_normal(system.nv)) for _ in range(n)]
    return [system.project(system.state(q, x.v)) for q in moved]


def run(quick: bool = False) -> list[Table]:
    """The tables of this part; draws `benchmarks/ensembles.png`."""
    table = Table(
        f"One of many runs of {DURATION:g} s at {LEVEL}: CPU µs on one core",
        ["problem", "setting", "alone", *(f"{w} lanes" for w in LANES), "alone / lanes ≥ 3", "MuJoCo",
         "MuJoCo rollout", "Pinocchio + SciPy", "rollout / lanes ≥ 30", "Pinocchio / lanes ≥ 100"],
    )  # fmt: skip
    for motion in (five_bar(), four_bar(), two_arms(), ladder(10, "osc")):
        mine, stepped, pinocchio = (
            fastest(search(tool.families(motion), 1.0 if quick else 3.0, LEVEL), LEVEL)
            for tool in (ours, with_mujoco, with_pinocchio)
        )
        assert mine is not None
        method, tolerance = mine.setting.label.split()
        options = {"method": method, "rtol": float(tolerance), "atol": float(tolerance)}
        best = timed(motion, 256 if motion.name.startswith("P3") else 64 if quick else 1024, 2 if quick else 4, options)
        wide = min(best[w] for w in LANES)
        rolled = None if stepped is None else rolled_out(motion, float(stepped.setting.label.split()[-1]))
        peers = [None if peer is None else 1e6 * peer.seconds for peer in (stepped, pinocchio)]
        table.add(
            motion.name, mine.setting.label, *best.values(), best[1] / wide, peers[0], rolled, peers[1],
            rolled and min(rolled, peers[0] or rolled) / wide, peers[1] and peers[1] / wide,
        )  # fmt: skip
    table.notes.append(f"- {versus(min(row[5] for row in table.rows), 3.0)}, alone over lanes")
    return [table, evaluations(quick), growth(quick), overhead(quick), threads(quick)]


def timed(motion: Motion, n: int, rounds: int, options: dict[str, Any]) -> dict[int, float]:
    """CPU µs of a run by lanes, of n runs; 1: by `simulate`, of a quarter of them."""
    many = starts(motion, n)
    best = dict.fromkeys((1, *LANES), math.inf)
    for _ in range(rounds):
        for w in best:
            few = many[: max(1, n // 4)] if w == 1 else many
            began = process_time()
            if w == 1:
                for x in few:
                    da.simulate(motion.system, x, DURATION, **options)
            else:
                runs = da.ensemble(motion.system, few, DURATION, lanes=w, workers=1, **options)
                assert runs.success.all(), runs
            best[w] = min(best[w], 1e6 * (process_time() - began) / len(few))
    return best


def rolled_out(motion: Motion, h: float, n: int = 4) -> float:
    """CPU µs of a run by MuJoCo's `rollout` with the step h (s)."""
    model = mujoco.MjModel.from_xml_string(motion.model.mujoco_xml(h, warm=True))
    data, kind = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = np.empty((n, mujoco.mj_stateSize(model, kind)))
    for state, x in zip(states, starts(motion, n)):
        data.qpos[:], data.qvel[:] = x.q, x.v
        mujoco.mj_getState(model, data, state, kind)
    best = math.inf
    for _ in range(2):
        began = process_time()
        rollout.rollout(model, data, states, nstep=round(DURATION / h))
        best = min(best, 1e6 * (process_time() - began) / n)
    return best


def growth(quick: bool) -> Table:
    """CPU time of a run over the number of runs; draws the picture."""
    table = Table("Five-bar, CPU µs of a run of 10 s over the number of runs", ["made", *map(str, SIZES)])
    motion, options = five_bar(), {"rtol": 1e-6, "atol": 1e-6}
    many, lines = starts(motion, SIZES[-1]), {}
    for label, w in (("alone", 1), *((f"{w} lanes", w) for w in LANES)):
        lines[label] = []
        for n in SIZES:
            best = math.inf
            for _ in range(1 if quick or n > 1000 else 3):
                began = process_time()
                da.ensemble(motion.system, many[:n], DURATION, lanes=w, workers=1, **options)
                best = min(best, 1e6 * (process_time() - began) / n)
            lines[label].append(best)
        table.add(label, *lines[label])
    draw(lines)
    return table


def overhead(quick: bool) -> Table:
    """What a run costs beyond its integration: runs of 1, 2, 4 and 8 equal steps, extrapolated to none."""
    table = Table(
        "CPU µs of a run, of 10,000, by its steps",
        ["problem", "starts", *map(str, STEPS), "a step", "beyond its steps ≤ 2", "ms of the call itself"],
    )
    h = 1e-6
    for motion in (five_bar(), ladder(10, "osc")):
        system, listed = motion.system, starts(motion, 10_000)
        n = len(listed)
        q, v = np.array([x.q for x in listed]), np.array([x.v for x in listed])
        rows = da.States(system, q, v, np.zeros(n), np.tile(system.arguments.parameter_vector(None), (n, 1)), {})
        for form, many in (("a list of states", listed), ("`States`", rows)):
            best = dict.fromkeys((0, *STEPS), math.inf)
            for _ in range(2 if quick else 10):
                for k in best:
                    few = many if k else listed[:16]
                    began = process_time()
                    da.ensemble(system, few, max(k, 1) * h, workers=1, step=h, max_step=h)
                    best[k] = min(best[k], process_time() - began)
            each = [1e6 * (best[k] - best[0]) / (n - 16) for k in STEPS]
            table.add(motion.name, form, *each, *np.polyfit(STEPS, each, 1), 1e3 * best[0])
    return table


def evaluations(quick: bool) -> Table:
    """The functions of a run, alone and in lanes: what lanes could gain if a run were nothing but these."""
    table = Table(
        "CPU ns of one evaluation for one run",
        ["problem", "function", "alone", *(f"{w} lanes" for w in LANES), "alone / lanes"],
    )
    for motion in (five_bar(), four_bar(), two_arms(), ladder(10, "osc")):
        for name, what in (("ode", "right-hand side"), ("correct", "landing")):
            bound = {w: _filled(motion, name, w) for w in (1, *LANES)}
            routes = {str(w): address_loop(b.address, b.at_x, b.at_y, b.at_w) for w, b in bound.items()}
            found = interleaved(routes, 20 if quick else 60)
            each = [1e9 * found[str(w)] / w for w in bound]
            table.add(motion.name, what, *each, each[0] / min(each[1:]))
    return table


def _filled(motion: Motion, name: str, lanes: int) -> Bound:
    """A function with the start of the motion in every lane."""
    system, x = motion.system, motion.start
    kernel = system.kernel(name, lanes=lanes)
    bound = Bound.of(kernel, {})
    values = {
        "q": x.q,
        "v": x.v,
        "t": [0.0],
        "u": system.arguments.input_vector(None),
        "p": system.arguments.parameter_vector(None),
    }
    bound.x[:] = np.repeat(np.concatenate([values[argument] for argument in kernel.names_in]), lanes)
    return bound


def threads(quick: bool) -> Table:
    """Wall and CPU time over workers."""
    table = Table("Five-bar, runs of 10 s", ["workers", "runs", "s", "runs/s", "CPU s"])
    motion = five_bar()
    many = starts(motion, 512 if quick else 4096)
    for workers in range(1, (os.cpu_count() or 1) + 1):
        best, spent = math.inf, math.inf
        for _ in range(3):
            began, used = perf_counter(), process_time()
            da.ensemble(motion.system, many, DURATION, rtol=1e-6, atol=1e-6, workers=workers)
            best, spent = min(best, perf_counter() - began), min(spent, process_time() - used)
        table.add(workers, len(many), best, round(len(many) / best), spent)
    return table


def draw(lines: dict[str, list[float]]) -> None:
    """The picture beside this file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for label, values in lines.items():
        axes.loglog(SIZES, values, marker="o", label=label)
    axes.set(xlabel="runs in the ensemble", ylabel="CPU µs per run of 10 s, one core", title="Five-bar at L2")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)
