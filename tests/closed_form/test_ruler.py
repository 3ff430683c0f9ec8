"""The marks of the ruler that are said to lie on a plateau do: three times as large or small, no motion is wrong.

Of motions that meet or miss singular configurations and are known to forty digits, every ninth; each is right, or said
not to be determined. `make campaign` moves every mark and takes all motions.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
import test_near_misses as near
from near_miss_table import MARKS, marked, outcomes

from dalembert import ruler

SOURCE = Path(ruler.__file__).read_text(encoding="utf-8")
PLATEAUS = re.findall(r"^    (\w+): float = .*plateau$", SOURCE, re.M)
CASES = near.CASES[::9]
RTOL = 1e-9
FACTORS = pytest.mark.parametrize("factor", [1 / 3, 3.0], ids=["a third", "three times"])


def test_most_marks_are_said_to_lie_on_a_plateau():
    assert len(PLATEAUS) > 0.5 * len(MARKS)


@FACTORS
@pytest.mark.parametrize("name", PLATEAUS)
def test_a_mark_on_a_plateau_may_be_three_times_as_large_or_small(name, factor):
    wrong = []
    with marked(name, factor) as (own, made):
        for k, case in enumerate(CASES):
            options = {"coordinates": "tangent"} if k % 2 and case["mechanism"] != "sarrus" else {}
            run, error = near.ran(case, RTOL, **own, **options)
            if all(p.determined for p in run.passages) and error > near.TIMES * RTOL:
                wrong.append((case["mechanism"], case["miss"], options, error / RTOL))
    assert not wrong
    assert made  # they had this mark: no layout of another one was taken


ALOUD = {("zero", 3.0), ("shift", 1 / 3)}  # runs that may fail: above `hit`; steps that are moved by too much


@FACTORS
@pytest.mark.dear
@pytest.mark.parametrize("name", MARKS)
def test_no_motion_is_wrong_where_a_mark_is_three_times_as_large_or_small(name, factor):
    with marked(name, factor) as (own, _):
        found = Counter(verdict for _, verdict, _ in outcomes("auto", RTOL, **own))
    assert not found["wrong"]
    assert not found["failed"] or (name, factor) in ALOUD
