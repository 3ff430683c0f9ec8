"""Worst error over tolerance of every mechanism that is known to forty digits, with every formulation.

    python tests/closed_form/near_miss_table.py --rtol 1e-9

All motions of near_misses.json and platform.json are run, and those of parallel_cranks.py that end or start beside a
position. Counted are those that are "right" (all passages determined,
the error within the stated multiple of rtol), that are "said" not to be determined, and that are "wrong"; the worst
error is of those that claim to be determined. Formulations that a mechanism is not defined for are left out.
"""

import argparse
import sys
from collections import defaultdict

import parallel_cranks as cranks
import test_near_misses as planar
import test_platform as spatial

ALL = {
    "auto": {},
    **planar.OPTIONS,
    "augmented": {"formulation": "augmented"},
    "admissible": {"formulation": "admissible"},
    "named": {"coordinates": "partition"},
}

UNDEFINED = {
    ("sarrus", "tangent"),  # its legs are singular as a chart
    ("platform", "named"),  # a quaternion has no coordinates that could lead
}


def outcomes(name, rtol):
    """(mechanism, verdict, error / rtol) of every motion with one formulation."""
    motions = [(case["mechanism"], planar.ran, case) for case in planar.CASES]
    motions += [("platform", spatial.ran, case) for case in spatial.CASES]
    motions += [(case["mechanism"], cranks.ran, case) for case in cranks.motions()]
    for mechanism, ran, case in motions:
        if (mechanism, name) in UNDEFINED:
            continue
        try:
            run, error = ran(case, rtol, **ALL[name])
        except AssertionError as trouble:
            yield mechanism, "wrong", float("inf")
            print(f"{mechanism}, {name}: {trouble}", file=sys.stderr)
            continue
        if not all(p.determined for p in run.passages):
            yield mechanism, "said", 0.0
        else:
            yield mechanism, "right" if error <= planar.TIMES * rtol else "wrong", error / rtol


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rtol", type=float, default=1e-9)
    parser.add_argument("--only", nargs="*", default=list(ALL), choices=list(ALL))
    given = parser.parse_args()
    wrong = 0
    for name in given.only:
        counts, worst = defaultdict(lambda: defaultdict(int)), defaultdict(float)
        for mechanism, verdict, error in outcomes(name, given.rtol):
            counts[mechanism][verdict] += 1
            worst[mechanism] = max(worst[mechanism], error)
        for mechanism, found in counts.items():
            wrong += found["wrong"]
            print(
                f"{name:12}{mechanism:22}right {found['right']:3}  said {found['said']:3}  wrong {found['wrong']:3}"
                f"  worst {worst[mechanism]:8.3g} rtol",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
