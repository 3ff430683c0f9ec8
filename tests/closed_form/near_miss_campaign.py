"""A seeded search for runs that pass a singular position too near to be resolved, and claim more than they know.

    python tests/closed_form/near_miss_campaign.py 60 --seed 5

Each case draws a mechanism, a miss (of a position, 1e-9 to 1e-7 rad; or of a length, 4e-15 to 4e-12 m, so that branches
avoid each other at σ ≈ the root of it), a direction and a speed; the truth has forty digits (planar_truth.py). A run
may be right, or say of a passage that the start does not determine the motion. One line is printed for each case: its
verdict and its error at each of three tolerances.
"""

import argparse

import numpy as np
import planar_motions as truth
from test_near_misses import TIMES, ran

CONES = ("five-bar", "five-bar on a slide", "3-RRR")
AVOIDED = ("four-bar", "slider-crank", "ladder 1", "ladder 2")  # branches that cross where x is zero
ROUNDED = 4e-15  # m: lengths that differ by less count as equal ones, rounded
TOLERANCES = (1e-6, 1e-9, 1e-11)


def drawn(seed, kinds=CONES + AVOIDED):
    """A case of a seed, with its truth."""
    rng = np.random.default_rng(seed)
    mechanism, miss = str(rng.choice(kinds)), float(10.0 ** rng.uniform(-9, -7))
    speed = float(rng.choice([1.0, 2.5, 6.0]))
    if mechanism in CONES:
        return truth.beside(mechanism, miss, seed, speed, 0.5 / speed, 0.5 / speed)
    x = float(ROUNDED * 10.0 ** rng.uniform(0, 3) * rng.choice([-1.0, 1.0]))
    if mechanism == "four-bar":
        angles = truth.change_point(truth.CHANGE_POINT["coupler"] + x, rng.uniform(0.6, 1.0))
        return truth.started(mechanism, x, angles, 0, -speed - 2.0, 1.2 / (speed + 2.0) + 0.2)
    if mechanism == "slider-crank":
        return truth.started(mechanism, x, [0.5, -1.0], 0, speed + 3.0, 3.0 / (speed + 3.0))
    loops, flat = int(mechanism.split()[1]), np.pi / 2
    return truth.started(mechanism, x, [flat] + [-flat, flat] * loops, 0, -speed, 1.0)


def judged(case, rtol):
    """(verdict, error) of a run of a case: "right", "said" (a passage is not determined), or "wrong"."""
    run, error = ran(case, rtol)
    if not all(p.determined for p in run.passages):
        return "said", error
    return "right" if error <= TIMES * rtol else "wrong", error


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=CONES + AVOIDED)
    given = parser.parse_args()
    for seed in range(given.seed, given.seed + given.count):
        case, found = drawn(seed, tuple(given.only)), []
        for rtol in TOLERANCES:
            try:
                found.append("{} {:.0e}".format(*judged(case, rtol)))
            except AssertionError as trouble:
                found.append(f"failed: {trouble}")
        print(seed, case["mechanism"], f"{case['miss']:.1e}", *found, sep="; ", flush=True)


if __name__ == "__main__":
    main()
