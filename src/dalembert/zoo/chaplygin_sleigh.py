"""The Chaplygin sleigh: a body in a plane on one skate."""

from __future__ import annotations

from dalembert.mechanism.joints import Planar
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def chaplygin_sleigh(*, mass: float = 1.3, inertia: float = 0.4, ahead: float = 0.25) -> Mechanism:
    """A body that slides in the x-y plane with a blade at its frame's origin along its x axis.

    The centre of mass is `ahead` of the blade, `inertia` is about it. Planar joint "float"; the blade forbids
    sideways velocity. It gains speed until it goes straight: `exact.sleigh` is the motion. Numbers are chosen.

    >>> from dalembert import zoo
    >>> system = zoo.chaplygin_sleigh().compile()
    >>> x = system.state(*zoo.chaplygin_sleigh_start(speed=1.0, turn=2.0))
    >>> system.acceleration(x).vdot.round(6)                     # a ω², v ω, −m a v ω/(I + m a²)
    array([ 1.      ,  2.      , -1.350649])
    """
    m = Mechanism("Chaplygin sleigh", gravity=(0, 0, 0))
    body = m.add_body("sleigh", mass=mass, com=(ahead, 0, 0), inertia=(inertia / 2, inertia / 2, inertia))
    m.add_joint("float", Planar("z"), m.ground, body)
    m.add_skate("blade", body)
    return m


@checked
def chaplygin_sleigh_start(speed: float = 1.0, turn: float = 1.0) -> Start:
    """At the origin, heading along x with `speed`, turning at `turn` rad/s."""
    return {}, {"float": [speed, 0.0, turn]}
