"""How far a call walks: functions of the library that it enters, their files, and how often it goes from file to file.

    python tools/walks.py            # a run, an assembly, an impact, a drag and others, each for the second time
    python tools/walks.py --files    # and the functions of each file

A reader who follows a call in the source opens these files. Machine code is not walked: the native loop is one step.
"""

import argparse
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import dalembert as da
from dalembert import zoo
from dalembert.studio.dragging import Dragging, Pull

SOURCE = str(Path(da.__file__).parent)


def walk(call):
    """[(file, function)] of all calls of functions of the library, in order; comprehensions are part of theirs."""
    entered = []

    def enter(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name[0] != "<":
            entered.append((code.co_filename[len(SOURCE) + 1 :], code.co_qualname))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


def calls():
    """{what: a function}."""
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(0.6))
    ball = da.Mechanism("ball", gravity=(0, 0, -9.81))
    body = ball.add_body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    ball.add_joint("height", da.Prismatic("z"), ball.ground, body)
    ball.add_contact("floor", body, radius=0.1, restitution=0.5)
    falling = ball.compile()
    dragging, pull = Dragging(system), [Pull("coupler", (0.6, 0.0, 0.0), (0.4, 0.36, 0.0))]
    return {
        "the README's run": lambda: da.simulate(system, x, 10.0),
        "one assembly": lambda: system.assemble({"A": 0.6}, v={"A": 2.0}),
        "one impact": lambda: da.simulate(falling, {"height": 1.0}, 0.6),
        "one linear model": lambda: da.linearize(system, x, independent=["A"]),
        "one sweep": lambda: system.sweep({"A": [0.6, 0.8, 1.0]}, x),
        "one drag": lambda: dragging.drag(x.q, pull, seconds=60.0),
    }


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", action="store_true", help="the functions of each file too")
    asked = parser.parse_args()
    print(f"{'':20}{'functions':>10}{'files':>8}{'changes of file':>18}{'calls':>8}")
    for what, call in calls().items():
        call()
        entered = walk(call)
        changes = sum(a[0] != b[0] for a, b in pairwise(entered))
        print(f"{what:20}{len(set(entered)):10}{len({f for f, _ in entered}):8}{changes:18}{len(entered):8}")
        if asked.files:
            of = defaultdict(dict)
            for file, function in entered:
                of[file][function] = of[file].get(function, 0) + 1
            for file, functions in of.items():
                print(f"    {file}: " + ", ".join(f if n == 1 else f"{f} × {n}" for f, n in functions.items()))


if __name__ == "__main__":
    main()
