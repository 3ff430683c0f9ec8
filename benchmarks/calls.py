"""The price of a call from Python: what a user waits for an answer, checks and result object included.

Small mechanisms, so that the call counts and not the arithmetic: the four-bar of the zoo (P2) and its five-bar (P1).
"""

from __future__ import annotations

from itertools import cycle

import numpy as np

import dalembert as da
from benchmarks import models
from benchmarks.timing import Table, interleaved, python_loop
from dalembert import control, zoo


def calls() -> dict[str, tuple[str, dict[str, object]]]:
    """Each call as an expression and the names in it."""
    four, five = zoo.four_bar().compile(), zoo.five_bar().compile()
    x = four.state(*zoo.four_bar_start(np.pi / 2, 2.0))
    y = five.state(*zoo.five_bar_start(0.5))
    model = models.tilted_four_bar()
    tilted = model.mechanism().compile()
    z = tilted.state(*models.consistent_state(model, tilted))
    ahead = control.quintic({"A": y["A"], "B": y["B"]}, {"A": y["A"] - 0.3, "B": y["B"]}, 1.0)
    law = control.motion_control(five, control.coordinates("A", "B"), ahead)
    motion = da.simulate(four, x, 1.0)
    along = [motion(t) for t in np.linspace(0.0, 1.0, 50)]
    for there in along:  # compiled before it is timed: the best coordinates change on the way
        da.linearize(four, there)
    four_bar = {"s": four, "x": x, "da": da, "run": da.simulate(four, x, 10.0)}
    five_bar = {"s": five, "x": y, "control": control, "law": law, "wanted": {"A": 1.0, "B": 0.5}}
    return {
        "mass matrix": ("s.mass_matrix(x)", four_bar),
        "acceleration": ("s.acceleration(x)", four_bar),
        "acceleration, dependent rows": ("s.acceleration(x)", {"s": tilted, "x": z}),
        "acceleration, null space by name": ("s.acceleration(x, formulation='nullspace')", four_bar),
        "linear model": ("da.linearize(s, x, independent=['A'])", four_bar),
        "linear model, coordinates not named": ("da.linearize(s, x)", four_bar),
        "the same along a motion": ("da.linearize(s, next(path))", {**four_bar, "path": cycle(along)}),
        "report": ("s.report(x)", four_bar),
        "assembly": ("s.assemble({'A': 0.6}, v={'A': 2.0})", four_bar),
        "run of 1 µs": ("da.simulate(s, x, 1e-6)", four_bar),
        "run of 10 s, rtol 1e-4": ("da.simulate(s, x, 10.0, rtol=1e-4, atol=1e-4)", four_bar),
        "run of 10 s, rtol 1e-10": ("da.simulate(s, x, 10.0, rtol=1e-10, atol=1e-10)", four_bar),
        "10,000 steps of RK4": ("da.simulate(s, x, 10.0, method='rk4', step=1e-3)", four_bar),
        "state between records": ("run(3.3)", four_bar),
        "control update": ("law(0.3, x)", five_bar),
        "inverse dynamics of the closed chain": ("control.actuator_forces(s, x, wanted)", five_bar),
    }


def run(quick: bool = False) -> list[Table]:
    """The table of all calls."""
    routes = {name: python_loop(call, **names) for name, (call, names) in calls().items()}
    times = interleaved(routes, 30 if quick else 120, 5e-3)
    table = Table("The price of a call: µs", ["call", "µs"])
    for name, seconds in times.items():
        table.add(name, 1e6 * seconds)
    return [table]
