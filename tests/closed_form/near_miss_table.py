"""Worst error over tolerance of every mechanism that is known to forty digits, with every formulation.

    python tests/closed_form/near_miss_table.py --rtol 1e-9
    python tests/closed_form/near_miss_table.py --only auto tangent --marks         # of the ruler, × 3 and / 3
    python tests/closed_form/near_miss_table.py --only auto --marks hit --times 30000

All motions of near_misses.json and platform.json are run, and those of parallel_cranks.py that end or start beside a
position. Counted are those that are "right" (all passages determined, the error within the stated multiple of rtol),
that are "said" not to be determined, and that are "wrong", as are runs that have failed; the worst error is of those
that claim to be determined. Formulations that a mechanism is not defined for are left out.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace

import parallel_cranks as cranks
import test_near_misses as planar
import test_platform as spatial

from dalembert import ruler
from dalembert.simulation import layout

MARKS = [field.name for field in fields(ruler.Ruler)]

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


def outcomes(name, rtol, **options):
    """(mechanism, verdict, error / rtol) of every motion with one formulation, and options of its own."""
    motions = [(case["mechanism"], planar.ran, case) for case in planar.CASES]
    motions += [("platform", spatial.ran, case) for case in spatial.CASES]
    motions += [(case["mechanism"], cranks.ran, case) for case in cranks.motions()]
    for mechanism, ran, case in motions:
        if (mechanism, name) in UNDEFINED:
            continue
        try:
            run, error = ran(case, rtol, **ALL[name], **options)
        except AssertionError as trouble:
            yield mechanism, "failed", float("inf")
            print(f"{mechanism}, {name}: {trouble}", file=sys.stderr)
            continue
        if not all(p.determined for p in run.passages):
            yield mechanism, "said", 0.0
        else:
            yield mechanism, "right" if error <= planar.TIMES * rtol else "wrong", error / rtol


@contextmanager
def marked(name: str, factor: float) -> Iterator[tuple[dict[str, float], list[ruler.Ruler]]]:
    """Runs with one mark of the ruler so many times as large: options that they need, and the rulers that are made.

    A layout is kept with its system. The options have it that none is made but for this mark.
    """
    make, made, usual = ruler.make_ruler, [], getattr(ruler.Ruler, name, None)

    def other(*given):
        marks = make(*given)
        made.append(replace(marks, **{name: factor * getattr(marks, name)}))
        return made[-1]

    layout.make_ruler = other
    if usual is not None:
        setattr(ruler.Ruler, name, factor * usual)  # where no run is asked
    try:
        yield {"max_step": 1e3 * (1.0 + factor) + MARKS.index(name)}, made
    finally:
        layout.make_ruler = make
        if usual is not None:
            setattr(ruler.Ruler, name, usual)


def moved(names, factors, only, rtol):
    """How many motions are wrong, of all marks that are moved; a line for each."""
    wrong = 0
    for name in names:
        for factor in factors:
            with marked(name, factor) as (options, _):
                found = Counter(verdict for one in only for _, verdict, _ in outcomes(one, rtol, **options))
            wrong += found["wrong"] + found["failed"]
            told = (f"{what} {found[what]:4}" for what in ("right", "said", "wrong", "failed"))
            print(f"{name:14}× {factor:<8.3g}", *told, sep="  ", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rtol", type=float, default=1e-9)
    parser.add_argument("--only", nargs="*", default=list(ALL), choices=list(ALL))
    parser.add_argument("--marks", nargs="*", choices=MARKS, help="move these, or all, in place of the table")
    parser.add_argument("--times", nargs="*", type=float, default=[1 / 3, 3.0], help="so many times as large")
    given, wrong = parser.parse_args(), 0
    if given.marks is not None:
        return 1 if moved(given.marks or MARKS, given.times, given.only, given.rtol) else 0
    for name in given.only:
        counts, worst = defaultdict(lambda: defaultdict(int)), defaultdict(float)
        for mechanism, verdict, error in outcomes(name, given.rtol):
            counts[mechanism][verdict] += 1
            worst[mechanism] = max(worst[mechanism], error)
        for mechanism, found in counts.items():
            found["wrong"] += found["failed"]
            wrong += found["wrong"]
            print(
                f"{name:12}{mechanism:22}right {found['right']:3}  said {found['said']:3}  wrong {found['wrong']:3}"
                f"  worst {worst[mechanism]:8.3g} rtol",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
