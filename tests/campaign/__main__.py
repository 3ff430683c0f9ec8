"""`python -m tests.campaign N --seed S`: random closed mechanisms S, S + 1, … against oracles that share no code."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from compared import Outcome, compare  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="mechanisms")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--small", action="store_true", help="mechanisms of one or two bodies, ten times as fast")
    only = parser.add_mutually_exclusive_group()
    for name, what in {"runs": "runs", "units": "copies in other units", "linear": "matrices of linear models"}.items():
        only.add_argument(f"--{name}", dest="only", action="store_const", const=name, help=f"compare {what} alone")
    given = parser.parse_args()
    began, wrong, checked, skipped = time.time(), 0, 0, Counter[str]()
    for seed in range(given.seed, given.seed + given.count):
        try:
            out = compare(seed, given.small, given.only)
        except Exception:
            out = Outcome([traceback.format_exc().strip().replace("\n", " | ")[-600:]])
        wrong, checked = wrong + bool(out.wrong), checked + out.checked
        skipped.update(out.skipped)
        for sentence in out.wrong:
            print(f"seed {seed}: {sentence}", flush=True)
        done = seed - given.seed + 1
        if sys.stderr.isatty() or done % 100 == 0:
            print(f"\r{done} of {given.count}, {wrong} disagree", end="", file=sys.stderr, flush=True)
    print(
        f"\n{given.count} mechanisms, {checked} comparisons, {wrong} mechanisms disagree, {time.time() - began:.0f} s"
    )
    for why, count in skipped.most_common():
        print(f"  not compared in {count}: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
