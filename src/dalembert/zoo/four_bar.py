"""Four-bar linkages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, bar, heading, meet, normal, unit

#: a four-bar that peers are compared on: uniform bars of 2 kg/m (masses 1, 3, 2.4 kg), started at 90° and 2 rad/s
PEER_FOUR_BAR = {"ground": 1.5, "crank": 0.5, "coupler": 1.5, "rocker": 1.2}


@checked
def four_bar(
    *,
    ground: float = 0.55,
    crank: float = 0.20,
    coupler: float = 0.60,
    rocker: float = 0.40,
    masses: Sequence[float] = (1.0, 1.5, 1.2),
    gravity: float = 9.81,
) -> Mechanism:
    """Four uniform bars in the x-y plane, y up: crank on A, coupler on B, rocker on D, closed at C; a motor at A.

    Joint A is at the origin, D at (ground, 0). A and D are angles from x, B is the coupler's from the crank. The
    defaults are a crank-rocker chosen for this library.

    ground, crank, coupler and rocker are lengths (m); masses of crank, coupler and rocker in kg, gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> x = system.state(*zoo.four_bar_start(0.6, speed=2.0))
    >>> bool(abs(system.residuals(x)).max() < 1e-12 and abs(system.speed_residuals(x)).max() < 1e-12)
    True
    """
    m = Mechanism("four-bar", gravity=(0, -gravity, 0))
    bars = {"crank": crank, "coupler": coupler, "rocker": rocker}
    a, b, c = (bar(m, name, mass, length) for mass, (name, length) in zip(masses, bars.items()))
    m.add_joint("A", Revolute("z"), m.ground, a)
    m.add_joint("B", Revolute("z"), a.at(crank), b)
    m.add_joint("D", Revolute("z"), m.ground.at(ground), c)
    m.close_loop("C", Revolute("z"), b.at(coupler), c.at(rocker))
    m.add_frame("coupler point", b.at(coupler / 2))
    m.add_motor("torque", "A")
    return m


@checked
def four_bar_start(
    angle: float = 0.6,
    speed: float = 0.0,
    *,
    ground: float = 0.55,
    crank: float = 0.20,
    coupler: float = 0.60,
    rocker: float = 0.40,
    branch: int = +1,
) -> Start:
    """The crank at `angle` turning at `speed`; branch +1 has C to the left of the line from B to D, −1 to the right.

    ground, crank, coupler and rocker are those of `four_bar` (m).
    """
    B, D = crank * unit(angle), np.array([ground, 0.0])
    C = meet(B, coupler, D, rocker, branch)
    beta, delta = heading(B, C), heading(D, C)
    rates = np.column_stack([coupler * normal(beta), -rocker * normal(delta)])
    w_beta, w_delta = np.linalg.solve(rates, -speed * crank * normal(angle))
    return {"A": angle, "B": beta - angle, "D": delta}, {"A": speed, "B": w_beta - speed, "D": w_delta}


@checked
def parallel_four_bar(
    *,
    lengths: Sequence[float] = (0.8, 0.5),
    masses: Sequence[float] = (1.6, 1.0, 1.6, 1.0),
    gravity: float = 9.81,
) -> Mechanism:
    """The parallel four-bar robot of Spencer (2004), section 2.4.1: four bars, two degrees of freedom.

    Links 1 (length L₁) and 2 (L₂) turn about the origin, link 3 (L₁) hangs on the tip of link 2, link 4 (L₂) on that of
    link 3 and meets the tip of link 1 in point "A". q₁ and q₂ are angles from x, q₃ and q₄ relative. On the
    parallelogram q₃ = q₁ − q₂ and q₄ = q₂ − q₁ − π (2.48). The paper gives no numbers: lengths and masses are chosen.

    lengths are L₁ and L₂ (m), masses those of links 1 to 4 (kg); gravity acts along −y (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.parallel_four_bar().compile()
    >>> system.acceleration(zoo.parallel_four_bar_start(1.0, 0.2)[0]).rank          # 4 − 2 = 2
    2
    """
    m = Mechanism("parallel four-bar", gravity=(0, -gravity, 0))
    L1, L2 = lengths
    one, two, three, four = (bar(m, f"link {k + 1}", masses[k], (L1, L2)[k % 2]) for k in range(4))
    m.add_joint("q1", Revolute("z"), m.ground, one)
    m.add_joint("q2", Revolute("z"), m.ground, two)
    m.add_joint("q3", Revolute("z"), two.at(L2), three)
    m.add_joint("q4", Revolute("z"), three.at(L1), four)
    m.close_loop("A", Revolute("z"), four.at(L2), one.at(L1))
    m.add_motor("tau1", "q1")
    m.add_motor("tau2", "q2")
    return m


@checked
def parallel_four_bar_start(q1: float = 1.0, q2: float = 0.2, w1: float = 0.0, w2: float = 0.0) -> Start:
    """Links 1 and 2 at their angles, turning at w1 and w2; the rest follows from (2.48).

    q1 and q2 in rad, w1 and w2 in rad/s.
    """
    return (
        {"q1": q1, "q2": q2, "q3": q1 - q2, "q4": q2 - q1 - np.pi},
        {"q1": w1, "q2": w2, "q3": w1 - w2, "q4": w2 - w1},
    )
