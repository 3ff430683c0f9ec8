"""Motions that meet singular positions, or pass them by 1e-2 … 1e-9 rad, against forty digits (planar_truth.py)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import planar_truth as truth
import pytest

import dalembert as da
from dalembert import zoo

CASES = json.loads(Path(__file__).with_name("near_misses.json").read_text())


@cache
def built(mechanism, x):
    """The mechanism of a case, compiled, and the names of its coordinates in the order of the table."""
    if mechanism == "five-bar":
        return zoo.five_bar().compile(), list("ABCD")
    if mechanism == "driven five-bar":
        m = zoo.five_bar()
        m.add_driver("crank", "A", lambda t: x + truth.RATE * t)
        return m.compile(), list("ABCD")
    if mechanism == "five-bar on a slide":
        return sliding_five_bar().compile(), ["slide", *"ABCD"]
    if mechanism == "3-RRR":
        return zoo.planar_3rrr(proximal=0.325, distal=0.325).compile(), "A1 B1 C1 A2 B2 A3 B3".split()
    if mechanism.startswith("ladder"):
        loops = int(mechanism.split()[1])
        names = ["A0", *(f"{letter}{k}" for k in range(1, loops + 1) for letter in "BA")]
        return ladder(truth.rungs(loops, x)).compile(), names
    if mechanism == "four-bar":
        lengths = {**truth.CHANGE_POINT, "coupler": truth.CHANGE_POINT["coupler"] + x}
        return zoo.four_bar(**lengths).compile(), list("ABD")
    if mechanism == "slider-crank":
        return slider_crank(1.0 + x).compile(), ["q1", "q2"]
    return zoo.sarrus().compile(), ["A1", "B1"]


def sliding_five_bar():
    m = da.Mechanism("five-bar on a slide", gravity=(0, -9.81, 0))
    base = m.add_body("base", mass=truth.BASE)
    m.add_joint("slide", da.Prismatic("x"), m.ground, base)
    before, five = base.at(), truth.FIVE_BAR
    for joint, length, mass, inertia in zip("ABCD", five["lengths"], five["masses"], five["inertias"]):
        link = m.add_body(f"link {joint}", mass=mass, com=(length / 2, 0, 0), inertia=(0, inertia, inertia))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length)
    m.close_loop("E", da.Revolute("z"), before, base.at(five["span"]))
    return m


def ladder(couplers):
    """zoo.ladder with couplers of any length."""
    m = da.Mechanism("ladder", gravity=(0, -9.81, 0))
    bar = lambda name, length: m.add_body(  # noqa: E731
        name, mass=1.0, com=(length / 2, 0, 0), inertia=(0, length**2 / 12, length**2 / 12)
    )
    before = bar("crank 0", 1.0)
    m.add_joint("A0", da.Revolute("z"), m.ground, before)
    for k, length in enumerate(couplers, start=1):
        coupler, crank = bar(f"coupler {k}", length), bar(f"crank {k}", 1.0)
        m.add_joint(f"B{k}", da.Revolute("z"), before.at(1.0), coupler)
        m.add_joint(f"A{k}", da.Revolute("z"), m.ground.at(float(k)), crank)
        m.close_loop(f"C{k}", da.Revolute("z"), coupler.at(length), crank.at(1.0))
        before = crank
    return m


def slider_crank(rod):
    m = da.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    one, two = m.add_body("crank", mass=1.0, com=(1, 0, 0)), m.add_body("rod", mass=1.0, com=(rod, 0, 0))
    m.add_joint("q1", da.Revolute("z"), m.ground, one)
    m.add_joint("q2", da.Revolute("z"), one.at(1.0), two)
    m.add_point_on_line("C", m.add_frame("tip", two.at(rod)), m.ground.at(), "x")
    return m


def start(case):
    system, names = built(case["mechanism"], case["x"])
    if case["mechanism"] == "sarrus":
        return system.state(*zoo.sarrus_start(case["q"][0], case["v"][0]))
    return system.state(dict(zip(names, case["q"])), dict(zip(names, case["v"])))


def ran(case, rtol=1e-9, **options):
    """A run, and its error at the end: of positions, and of velocities over the largest of them."""
    system, names = built(case["mechanism"], case["x"])
    run = da.simulate(system, start(case), case["duration"], rtol=rtol, atol=0.1 * rtol, **options)
    assert run.success, (case["mechanism"], case["miss"], rtol, options, run.message)
    q = np.array([run[name][-1] for name in names]) - case["end_q"]
    v = np.array([run.v[-1][system.v_names.index(name)] for name in names]) - case["end_v"]
    return run, max(np.abs(q).max(), np.abs(v).max() / np.abs(case["end_v"]).max())
