"""A car on wheels that do not slip sideways."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Planar, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def car(
    *,
    wheelbase: float = 2.5,
    mass: float = 1200.0,
    inertia: float = 1500.0,
    ahead: float = 1.2,
    fork_mass: float = 40.0,
    fork_inertia: float = 1.0,
) -> Mechanism:
    """The single-track car (or tricycle): a chassis in the x-y plane, a rear axle and a steered front wheel.

    The chassis frame is at the rear axle, x forward, centre of mass `ahead` of it; `inertia` is about that. Joint
    "float" (planar) and "steer" (the front fork, at the wheelbase). Each axle is a skate: four velocities, two rows, of
    which none can be integrated. Inputs: "drive" (N, along x at the rear axle) and "steering" (N m). Numbers are
    chosen.

    wheelbase and ahead in m, mass and fork_mass in kg, inertia and fork_inertia (about the fork's axis) in kg m².

    >>> from dalembert import zoo
    >>> system = zoo.car().compile()
    >>> x = system.state(*zoo.car_start(speed=10.0, steer=0.1))
    >>> round(x.rate("float.angle"), 6), bool(abs(system.speed_residuals(x)).max() < 1e-12)      # v tan δ / wheelbase
    (0.401339, True)
    """
    m = Mechanism("car", gravity=(0, 0, 0))
    chassis = m.add_body("chassis", mass=mass, com=(ahead, 0, 0), inertia=(inertia / 2, inertia / 2, inertia))
    fork = m.add_body("fork", mass=fork_mass, inertia=(fork_inertia / 2, fork_inertia / 2, fork_inertia))
    m.add_joint("float", Planar("z"), m.ground, chassis)
    m.add_joint("steer", Revolute("z"), chassis.at(wheelbase), fork, limits=(-0.7, 0.7))
    m.add_skate("rear", chassis)
    m.add_skate("front", fork)
    m.add_wrench("drive", chassis, force=(m.add_input("drive"), 0, 0), axes="body")
    m.add_motor("steering", "steer")
    return m


@checked
def car_start(speed: float = 5.0, steer: float = 0.1, *, wheelbase: float = 2.5) -> Start:
    """At the origin, heading along x with `speed` at the rear axle and the steering held at `steer`.

    wheelbase is that of `car` (m).
    """
    return {"steer": steer}, {"float": [speed, 0.0, speed * np.tan(steer) / wheelbase]}
