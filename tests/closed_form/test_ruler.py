"""The marks of the ruler that are said to lie on a plateau do: three times as large or small, no motion is wrong.

Of motions that meet or miss singular configurations and are known to forty digits, every sixth; each is right, or said
not to be determined.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import test_near_misses as near

from dalembert import ruler
from dalembert.simulation import layout

SOURCE = Path(ruler.__file__).read_text(encoding="utf-8")
PLATEAUS = re.findall(r"^    (\w+): float = .*plateau$", SOURCE, re.M)
CASES = near.CASES[::6]
RTOL = 1e-9


def marked(monkeypatch, name, factor):
    make = ruler.make_ruler

    def other(*given):
        marks = make(*given)
        return replace(marks, **{name: factor * getattr(marks, name)})

    monkeypatch.setattr(layout, "make_ruler", other)
    monkeypatch.setattr(ruler.Ruler, name, factor * getattr(ruler.Ruler, name))  # where no run is asked


def test_most_marks_are_said_to_lie_on_a_plateau():
    assert len(PLATEAUS) > 25


@pytest.mark.parametrize("factor", [1 / 3, 3.0], ids=["a third", "three times"])
@pytest.mark.parametrize("name", PLATEAUS)
def test_a_mark_on_a_plateau_may_be_three_times_as_large_or_small(name, factor, monkeypatch):
    marked(monkeypatch, name, factor)
    wrong = []
    for k, case in enumerate(CASES):
        options = {"coordinates": "tangent"} if k % 2 and case["mechanism"] != "sarrus" else {}
        # a keyword of its own makes a layout of its own: none is shared with runs of the usual ruler
        run, error = near.ran(case, RTOL, max_step=1e3 * factor, **options)
        if all(p.determined for p in run.passages) and error > near.TIMES * RTOL:
            wrong.append((case["mechanism"], case["miss"], options, error / RTOL))
    assert not wrong
