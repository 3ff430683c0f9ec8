"""A ladder of four-bars: one degree of freedom, as many loops as you like."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, bar


@checked
def ladder(loops: int = 2, *, length: float = 1.0, mass: float = 1.0, gravity: float = 9.81) -> Mechanism:
    """The N-loop four-bar of the IFToMM benchmark library (A02): N+1 parallel cranks joined by N couplers.

    Uniform bars of one length and mass in the x-y plane, y up, the cranks' supports one length apart on x. A0 … AN are
    the cranks' angles from x, Bk the angle of coupler k from crank k − 1, loop Ck joins coupler k with crank k. With
    the cranks flat (A = 0 or π) all bars are in line and the constraints lose rank. Motor "torque" on A0.

    loops is N; length (m) and mass (kg) are a bar's; gravity acts along −y (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.ladder(5).compile()
    >>> system.nv - system.acceleration(zoo.ladder_start(5)[0]).rank
    1
    """
    m = Mechanism(f"ladder of {loops}", gravity=(0, -gravity, 0))
    before = bar(m, "crank 0", mass, length)
    m.add_joint("A0", Revolute("z"), m.ground, before)
    for k in range(1, loops + 1):
        coupler, crank = bar(m, f"coupler {k}", mass, length), bar(m, f"crank {k}", mass, length)
        m.add_joint(f"B{k}", Revolute("z"), before.at(length), coupler)
        m.add_joint(f"A{k}", Revolute("z"), m.ground.at(k * length), crank)
        m.close_loop(f"C{k}", Revolute("z"), coupler.at(length), crank.at(length))
        before = crank
    m.add_motor("torque", "A0")
    return m


@checked
def ladder_start(loops: int = 2, angle: float = np.pi / 2, speed: float = -1.0) -> Start:
    """All cranks at one angle and speed. The default is the benchmark's; (−π/2, 4) swings and is never singular.

    loops is N, angle (rad) and speed (rad/s) are each crank's.
    """
    q, v = {"A0": angle}, {"A0": speed}
    for k in range(1, loops + 1):
        q |= {f"A{k}": angle, f"B{k}": -angle}
        v |= {f"A{k}": speed, f"B{k}": -speed}
    return q, v
