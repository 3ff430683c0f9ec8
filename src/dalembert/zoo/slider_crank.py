"""Slider-cranks."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Prismatic, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, bar


@checked
def slider_crank(
    *,
    crank: float = 0.15,
    rod: float = 0.45,
    offset: float = 0.0,
    crank_mass: float = 1.0,
    rod_mass: float = 1.5,
    slider_mass: float = 2.0,
    gravity: float = 9.81,
) -> Mechanism:
    """Crank, rod and slider in the x-y plane, y up; the slider moves along x at the height `offset`.

    Crank and rod are uniform bars. A is the crank's angle from x, B the rod's from the crank, "guide" the slider's x;
    the wrist pin C closes the loop. Inputs: "torque" at A, "gas" along the guide. All numbers are chosen. With equal
    links and no offset it locks or branches at A = ±π/2 (see `equal_slider_crank`).

    crank and rod are lengths (m), crank_mass, rod_mass and slider_mass in kg, gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.slider_crank().compile()
    >>> q, v = zoo.slider_crank_start(0.0)
    >>> round(q["guide"], 9), system.acceleration(q).rank
    (0.6, 2)
    """
    m = Mechanism("slider-crank", gravity=(0, -gravity, 0))
    a, b = bar(m, "crank", crank_mass, crank), bar(m, "rod", rod_mass, rod)
    slider = m.add_body("slider", mass=slider_mass)
    m.add_joint("A", Revolute("z"), m.ground, a)
    m.add_joint("B", Revolute("z"), a.at(crank), b)
    m.add_joint("guide", Prismatic("x"), m.ground.at(0, offset), slider)
    m.close_loop("C", Revolute("z"), b.at(rod), slider)
    m.add_motor("torque", "A")
    m.add_motor("gas", "guide")
    return m


@checked
def slider_crank_start(
    angle: float = 0.5, speed: float = 0.0, *, crank: float = 0.15, rod: float = 0.45, offset: float = 0.0
) -> Start:
    """The crank at `angle` turning at `speed`, the slider in front of it.

    crank, rod and offset are those of `slider_crank` (m).
    """
    beta = float(np.arcsin((offset - crank * np.sin(angle)) / rod))
    w_beta = -speed * crank * np.cos(angle) / (rod * np.cos(beta))
    x = float(crank * np.cos(angle) + rod * np.cos(beta))
    vx = -speed * crank * np.sin(angle) - w_beta * rod * np.sin(beta)
    return {"A": angle, "B": beta - angle, "guide": x}, {"A": speed, "B": w_beta - speed, "guide": vx}


@checked
def equal_slider_crank(*, mass: float = 1.0, length: float = 1.0, gravity: float = 9.81) -> Mechanism:
    """The slider-crank of Aghili, section 8: equal links, cut at the right support, singular at q₁ = nπ/2, n odd.

    Two links with point masses at their ends, as M and h of (66) imply; the tip "C" may not leave the x axis (65). q1
    is the first link's angle from x, q2 the second's from the first. Motors "tau1" and "tau2". The paper gives
    no numbers: mass and length are chosen. At the singularities the linkage may fold (tip at the origin, q₁ free) or
    slide on.

    mass (kg) and length (m) are a link's; gravity acts along −y (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.equal_slider_crank(length=0.5).compile()
    >>> system.constraint_matrix({"q1": 0.4, "q2": -0.8}).round(6)                 # l c₁ (2, 1)
    array([[0.921061, 0.46053 ]])
    """
    m = Mechanism("slider-crank, equal links", gravity=(0, -gravity, 0))
    one, two = (m.add_body(name, mass=mass, com=(length, 0, 0)) for name in ("crank", "rod"))
    m.add_joint("q1", Revolute("z"), m.ground, one)
    m.add_joint("q2", Revolute("z"), one.at(length), two)
    m.add_point_on_line("C", m.add_frame("tip", two.at(length)), m.ground.at(), "x")
    m.add_motor("tau1", "q1")
    m.add_motor("tau2", "q2")
    return m


@checked
def equal_slider_crank_start(angle: float = 0.5, speed: float = 0.0) -> Start:
    """On the branch that slides: q₂ = −2 q₁ (the paper adds a full turn).

    angle is q₁ (rad), speed its rate (rad/s).
    """
    return {"q1": angle, "q2": -2 * angle}, {"q1": speed, "q2": -2 * speed}
