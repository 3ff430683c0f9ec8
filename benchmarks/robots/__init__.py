"""Whole robots with closed loops, and machines of many parts, beside Pinocchio, MuJoCo and Exudyn.

Robots are read from a collection of model files ($DALEMBERT_CORPUS) and closed by `assemble`; planar loops on a free
body, ladders and chains are described here. Pinocchio and Exudyn get the very tree and loops that dalembert has read,
joint by joint, MuJoCo the file that `Mechanism.save` writes.
"""

from __future__ import annotations

from benchmarks.robots import acceleration, growth, linear, motion
from benchmarks.robots.files import robots
from benchmarks.timing import Table


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    rounds = 20 if quick else 60
    found = robots()
    tables = [acceleration.table(found, rounds), linear.table(found, rounds), motion.table(found, quick)]
    if len(found) == 1:
        tables[0].notes.append("No collection of model files was found; set DALEMBERT_CORPUS to its folder.")
    return [*tables, growth.table((100, 300) if quick else (100, 300, 1000))]
