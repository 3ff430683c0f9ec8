"""The gradient of a run: an integral over 10 s of a five-bar with twenty parameters, against the run itself.

Processor time counts: a gradient is longer than a time slice, so that its clock time is that of others, too.
"""

from __future__ import annotations

from time import thread_time
from timeit import Timer

import numpy as np

import dalembert as da
from benchmarks.timing import Table, versus
from dalembert import zoo

SPAN = 2.5  # m: no singular position


def five_bar() -> da.System:
    """Length, mass, centre of mass, inertia and damping of every link are parameters."""
    m = da.Mechanism("five-bar", gravity=(0, -9.81, 0))
    before = m.ground.at()
    for k, (joint, length, mass, J) in enumerate(zip("ABCD", (1, 1.5, 1.5, 1), (2, 3, 3, 2), (1, 2, 2, 1))):
        given = {"l": length, "m": mass, "c": length / 2, "J": J, "d": 0.01}
        p = {name: m.add_parameter(f"{name}{k}", value) for name, value in given.items()}
        link = m.add_body(f"link {k}", mass=p["m"], com=(p["c"], 0, 0), inertia=(J, J, p["J"]), physical=False)
        m.add_joint(joint, da.Revolute("z"), before, link, damping=p["d"])
        before = link.at(p["l"], 0, 0)
    m.close_loop("E", da.Revolute("z"), before, m.ground.at(SPAN, 0, 0))
    return m.compile()


def run(quick: bool = False) -> list[Table]:
    """Times of the run, of its gradient both ways, and of one-sided differences."""
    system = five_bar()
    x = system.project(system.state(*zoo.five_bar_start(-np.pi + 0.2, branch=-1, span=SPAN)))
    motion = da.simulate(system, x, 10.0)
    of, wrt, held = {"G": da.Integral("kinetic_energy")}, system.p_names, ["A", "D"]
    names = {"da": da, "s": system, "x": x, "run": motion, "of": of, "wrt": wrt, "held": held}
    gradient = "da.sensitivities(run, of=of, wrt=wrt, held=held, method='{}')"
    calls = {"the run": "da.simulate(s, x, 10.0)"}
    calls |= {f"{way} gradient": gradient.format(way) for way in ("adjoint", "forward")}
    routes = {name: Timer(call, timer=thread_time, globals=names) for name, call in calls.items()}
    both = [da.sensitivities(motion, of=of, wrt=wrt, held=held, method=way).jacobian for way in ("adjoint", "forward")]
    difference = float(np.abs(both[0] - both[1]).max() / np.abs(both[0]).max())
    rounds = [{name: route.timeit(1) for name, route in routes.items()} for _ in range(40 if quick else 150)]
    times = {name: min(turn[name] for turn in rounds) for name in routes}
    table = Table("Sensitivities of a run, 20 parameters", ["route", "ms", "times the run", "between both ways"])
    for name, seconds in times.items():
        ratio = seconds / times["the run"]
        told = versus(ratio, 10.0, at_most=True) if name == "adjoint gradient" else f"{ratio:.3g}"
        table.add(name, 1e3 * seconds, told, None if name == "the run" else difference)
    return [table]
