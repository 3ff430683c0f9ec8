"""Chains: pendulums of many links."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.mechanism.inertia import cylinder_inertia
from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def chain(
    links: int = 7,
    *,
    axes: Sequence[str] = ("y",),
    length: float = 1.0,
    mass: float = 1.0,
    bobs: bool = True,
    gravity: float = 9.81,
) -> Mechanism:
    """A chain of equal links that hangs down z where all angles are zero; joint J1 … Jn turns about the next of `axes`.

    bobs=True: point masses at the ends of massless links, the n-fold pendulum whose frequencies are
    `exact.chain_frequencies`. bobs=False: uniform rods of 5 % radius. axes = ("y", "x") in turn, with rods, is a common
    spatial chain to time recursions on. Frame "tip" at the end.

    links is their number, length (m) and mass (kg) are a link's; gravity in m/s².

    >>> from dalembert import zoo
    >>> zoo.chain(50, axes=("y", "x"), bobs=False).compile()
    <system 'chain of 50': nq = 50, nv = 50, 0 inputs, 0 parameters>
    """
    m = Mechanism(f"chain of {links}", gravity=(0, 0, -gravity))
    before = m.ground.at()
    for k in range(links):
        if bobs:
            link = m.add_body(f"link {k + 1}", mass=mass, com=(0, 0, -length))
        else:
            solid = cylinder_inertia(mass, 0.05 * length, length)
            link = m.add_body(f"link {k + 1}", mass=mass, com=(0, 0, -length / 2), inertia=solid)
        m.add_joint(f"J{k + 1}", Revolute(axes[k % len(axes)]), before, link)
        before = link.at(0, 0, -length)
    m.add_frame("tip", before)
    return m


@checked
def chain_start(angle: float = 0.3) -> Start:
    """At rest, straight, the first joint turned by `angle`."""
    return {"J1": angle}, {}
